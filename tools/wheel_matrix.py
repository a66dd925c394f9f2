"""Read which CUDA and cuDNN each framework's wheel asks for, and store it (`python -m tools.wheel_matrix`).

The rows come from the wheels' own metadata, `Requires-Dist` (Python's core metadata specification), which pip reads
from the configured package index without fetching the wheels. A pip of our own, in a folder of its own, asks for one
wheel at a time, and for no longer than `SECONDS`. A row that could not be had this time keeps what was stored, with
the day on which it was read; so a part of the index, or none of it, spoils nothing.

    python -m tools.wheel_matrix              # every row
    python -m tools.wheel_matrix torch==2.13  # the rows that begin so
"""

import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "host_to_device" / "diagnosing" / "wheel_versions.json"
PIP = "pip==26.3"  # reads metadata alone, in a dry run with fast-deps
SECONDS = 60  # for one wheel

# What is asked: a wheel, with the extra that brings CUDA's libraries where they are not brought anyway.
WHEELS = (
    "torch==1.13.1",
    "torch==2.0.1",
    "torch==2.1.2",
    "torch==2.3.1",
    "torch==2.4.1",
    "torch==2.5.1",
    "torch==2.6.0",
    "torch==2.7.1",
    "torch==2.8.0",
    "torch==2.9.1",
    "torch==2.10.0",
    "torch==2.11.0",
    "torch==2.12.0",
    "torch==2.13.0",
    "torch==2.14.0",
    "torch==2.15.0",
    "tensorflow[and-cuda]==2.15.1",
    "tensorflow[and-cuda]==2.18.1",
    "tensorflow[and-cuda]==2.20.0",
    "jax-cuda12-plugin[with-cuda]==0.4.38",
    "jax-cuda12-plugin[with-cuda]==0.7.2",
    "jax-cuda13-plugin[with-cuda]==0.7.2",
    "cupy-cuda12x==13.6.0",
    "cupy-cuda13x==14.2.0",
)
# Wheels are chosen as on Linux; each for the first of these Pythons that it was built for.
PYTHONS = ("3.11", "3.12", "3.10")
PLATFORMS = tuple(f"manylinux{name}_x86_64" for name in ("_2_28", "_2_27", "_2_17", "2014", "1"))

CUDNN = re.compile(r"nvidia-cudnn-cu(\d+)")
# Of these the first that a wheel names tells the release of CUDA that it brings.
RUNTIMES = (re.compile(r"cuda-toolkit"), re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?"))


def row_of(requires: list[str], extra: str = "") -> dict[str, str | None]:
    """Return what `Requires-Dist` lines say of CUDA, cuDNN and Triton on Linux.

    Parameters
    ----------
    requires
        The lines, as in the metadata: `nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"`.
    extra
        The extra that is asked for, or nothing.

    Returns
    -------
    dict
        `cudnn` and `cuda`, the version or range asked for, `cudnn_for`, the major release of CUDA in cuDNN's name, and
        `triton`; None where nothing is asked for. What this cannot read is passed over, as pip would refuse it.
    """
    environment = {
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "python_version": PYTHONS[0],
        "python_full_version": f"{PYTHONS[0]}.0",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": extra,
    }
    row: dict[str, str | None] = dict.fromkeys(("cuda", "cudnn", "cudnn_for", "triton"))
    runtimes: dict[int, str] = {}
    for line in requires:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        if wanted.marker is not None and not wanted.marker.evaluate(environment):
            continue
        version = asked(wanted)
        if found := CUDNN.fullmatch(wanted.name):
            row["cudnn"], row["cudnn_for"] = version, found[1]
        elif wanted.name == "triton":
            row["triton"] = version
        for place, pattern in enumerate(RUNTIMES):
            if pattern.fullmatch(wanted.name):
                runtimes[place] = version
    if runtimes:
        row["cuda"] = runtimes[min(runtimes)]
    return row


def asked(wanted: Requirement) -> str:
    """Return the version of an exact requirement, or the range as it stands, lower bound first."""
    each = sorted(
        wanted.specifier, key=lambda one: (not one.operator.startswith((">", "=", "~")), one.version)
    )
    if len(each) == 1 and each[0].operator == "==":
        return each[0].version
    return ", ".join(map(str, each)) or "any"


def install_client(folder: Path) -> Path:
    """Install a pip that can read metadata alone, in a folder of its own, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", PIP], check=True, timeout=5 * SECONDS)
    return python


def ask(python: Path, wheel: str, folder: Path) -> list[str]:
    """Return the `Requires-Dist` lines of a wheel.

    Raises
    ------
    LookupError
        The index did not give them: its last line, or that the time was up.
    """
    report = folder / "report.json"
    exactly = wheel.replace("==", "===")  # not a local build of that version, as 2.13.0+cpu
    problem = "no answer"
    for version in PYTHONS:
        report.unlink(missing_ok=True)
        command = [python, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed"]
        command += ["--use-feature=fast-deps", "--only-binary", ":all:", "--target", folder / "nothing"]
        command += ["--python-version", version, "--report", report]
        command += [option for name in PLATFORMS for option in ("--platform", name)]
        try:
            done = subprocess.run([*command, exactly], capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise LookupError(f"no answer within {SECONDS} s") from None
        if done.returncode == 0 and report.exists():
            found = json.loads(report.read_text(encoding="utf-8"))["install"][0]["metadata"]
            return found.get("requires_dist", [])
        problem = (done.stderr.strip().splitlines() or [problem])[-1]
        if "No matching distribution" not in problem:
            break
    raise LookupError(problem)


def renewed(
    stored: dict[str, dict], wheels: list[str], read: Callable[[str], list[str]], today: str
) -> tuple[dict[str, dict], list[str]]:
    """Return the rows after asking for some wheels again, and which of them could not be had.

    Parameters
    ----------
    stored
        The rows by wheel.
    wheels
        Which to ask for.
    read
        Gives the `Requires-Dist` lines of a wheel, or raises LookupError.
    today
        The day that a row which is read now gets, as 2026-11-22.
    """
    rows, failed = dict(stored), []
    for place, wheel in enumerate(wheels, 1):
        print(f"{place} of {len(wheels)}  {wheel} …", end=" ", flush=True)
        try:
            lines = read(wheel)
        except LookupError as problem:
            failed.append(wheel)
            kept = f"kept as of {stored[wheel]['read']}" if wheel in stored else "left out"
            print(f"{kept}: {without_address(str(problem))}")
            continue
        extra = re.search(r"\[(.+?)\]", wheel)
        rows[wheel] = row_of(lines, extra[1] if extra else "") | {"read": today}
        print(rows[wheel]["cudnn"] or "asks for no cuDNN")
    return rows, failed


def without_address(text: str) -> str:
    """Return a message without the addresses in it, which are those of one machine's index."""
    return re.sub(r"\b\w+://\S+", "the index", text)


def load() -> dict[str, dict]:
    """Return the stored rows by wheel, in the order of `WHEELS`."""
    return json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}


def main(arguments: list[str]) -> int:
    chosen = [wheel for wheel in WHEELS if not arguments or wheel.startswith(tuple(arguments))]
    if not chosen:
        print(
            f"wheel_matrix: no row begins with {' or '.join(arguments)}: give the beginning of a line of WHEELS"
        )
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            python = install_client(folder / "client")
        except subprocess.SubprocessError:
            print(
                f"wheel_matrix: {PIP} could not be installed, so nothing was read: is there a package index?"
            )
            return 1
        today = datetime.now(UTC).date().isoformat()
        rows, failed = renewed(load(), chosen, lambda wheel: ask(python, wheel, folder), today)
    rows = {wheel: rows[wheel] for wheel in WHEELS if wheel in rows}
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{STORED.relative_to(ROOT)}: {len(chosen) - len(failed)} of {len(chosen)} rows read today")
    return 0 if len(failed) < len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
