"""Which newer releases of the packages that we pin break the notebooks: `python tools/forecast.py`.

Each package whose newest release our pins forbid is tried alone, beside the other pins, and every notebook runs with it.
The report names the package, the release and the notebooks that fail, on standard output and in the summary of a
workflow. It is a report: the exit status is 0 whatever breaks. PyTorch is not tried, because a newer build for the CPU is
not among the packages that pip finds.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import colab_packages

ROOT = Path(__file__).resolve().parent.parent
# What runs the notebooks, of the pins of the groups "book", "course" and "test".
TRIED = ("numpy", "numba", "matplotlib", "ipywidgets", "ipykernel", "dask", "distributed")
BESIDE = ("torch", "nbclient", "anywidget", "pytest", "nbval")
QUIET = ("-m", "pip", "--disable-pip-version-check", "--quiet")


@dataclass
class Row:
    """What became of the notebooks with one newer release."""

    name: str
    pinned: str
    newest: str
    problem: str = ""  # why it cannot be installed beside the other pins
    failed: list[str] = field(default_factory=list)  # cells that do not fail with our pins


def pinned(pyproject: str) -> dict[str, str]:
    """Return the pinned versions of all groups by name."""
    groups = tomllib.loads(pyproject)["dependency-groups"]
    lines = [Requirement(line) for name in ("book", "course", "test") for line in groups[name]]
    return {each.name: str(each.specifier).removeprefix("==") for each in lines}


def newest(python: Path, name: str) -> str:
    """Return the newest release that pip finds for this Python."""
    words = [python, *QUIET, "install", "--dry-run", "--no-deps", "--ignore-installed", "--report", "-", name]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    [found] = json.loads(done.stdout)["install"]
    return found["metadata"]["version"]


def report(rows: list[Row], on: str, broken: list[str]) -> str:
    """Return the report as Markdown; `broken` are cells that fail with our own pins."""
    lines = [f"# Forecast: newer releases than our pins ({on})", ""]
    lines += [f"With our pins these cells fail already: {', '.join(broken)}", ""] if broken else []
    lines += ["| package | pinned | newest | what it breaks |", "|---|---|---|---|"]
    for row in rows:
        what = row.problem or (
            f"{len(row.failed)} cells: {', '.join(row.failed[:5])}" if row.failed else "nothing"
        )
        lines.append(f"| {row.name} | {row.pinned} | {row.newest} | {what} |")
    if not rows:
        lines.append("| (none) | | | our pins are the newest releases |")
    return "\n".join(lines) + "\n"


def try_one(python: Path, row: Row, pins: dict[str, str], folder: Path, notebooks: list[Path]) -> Row:
    """Install one newer release beside the other pins, run the notebooks, and fill in the row."""
    place, constraints = folder / row.name, folder / f"{row.name}.txt"
    others = [f"{name}=={version}" for name, version in pins.items() if name not in (row.name, "torch")]
    constraints.write_text("\n".join(others) + "\n")
    words = ["install", "--target", place, "--constraint", constraints, f"{row.name}=={row.newest}"]
    done = subprocess.run([python, *QUIET, *words], capture_output=True, text=True)
    if done.returncode:
        reasons = [
            line.strip() for line in done.stderr.splitlines() if "depends on" in line or "requires" in line
        ]
        said = reasons or done.stderr.strip().splitlines() or ["pip says nothing"]
        row.problem = f"cannot be installed beside the other pins: {said[0][:200]}"
        return row
    copies = folder / f"{row.name}-notebooks"
    copies.mkdir()
    failed, passed, said = colab_packages.run_notebooks(python, notebooks, copies, str(place))
    row.failed = sorted(failed)
    if not passed:
        row.problem = f"no cell runs: {said.strip().splitlines()[-1][:200]}"
    return row


def main(arguments: list[str]) -> int:
    """Try the packages that are named, or all of `TRIED`."""
    pins = pinned((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = arguments or list(TRIED)
    if unknown := [name for name in names if name not in pins]:
        print(f"tools/forecast.py: pyproject.toml pins no {', '.join(unknown)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="host-to-device-forecast-") as scratch:
        folder = Path(scratch)
        venv.create(folder / "environment", with_pip=True)
        python = folder / "environment" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        wanted = [f"{name}=={pins[name]}" for name in (*TRIED, *BESIDE)]
        subprocess.run([python, *QUIET, "install", *wanted, ROOT], check=True)
        notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
        (folder / "notebooks").mkdir()
        rows = [Row(name, pins[name], newest(python, name)) for name in names]
        rows = [row for row in rows if Version(row.newest) > Version(row.pinned)]
        broken, _, _ = colab_packages.run_notebooks(python, notebooks, folder / "notebooks")
        for row in rows:
            try_one(python, row, pins, folder, notebooks)
            row.failed = [cell for cell in row.failed if cell not in broken]
            print(f"{row.name} {row.newest}: {row.problem or f'{len(row.failed)} cells fail'}", flush=True)
    text = report(rows, colab_packages.datetime.date.today().isoformat(), sorted(broken))
    print(text)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as stream:
            stream.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
