"""How many notebooks of others run on the stand-in: `python -m benchmarks.others FOLDER`.

Each notebook runs in a process of its own, with limits of time and memory, in a copy of the folder. A cell that fails
does not end the notebook. Nothing is fetched: Python code reaches no network, and pip finds no package.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from host_to_device.support import child_processes

ROOT = Path(__file__).parent.parent
SECONDS = 120.0  # for a notebook
START_SECONDS = 60.0  # until its first cell begins
GIB = 4.0
NO_COPY = (".git", ".ipynb_checkpoints", "__pycache__", ".venv", "node_modules")
NOWHERE = "http://nowhere.invalid:9"  # a proxy that is not there, for programs that a notebook starts


class BadInput(Exception):
    """The folder cannot be run; one line says why."""


@dataclass
class Outcome:
    """What became of a notebook.

    Attributes
    ----------
    name
        Its path in the folder.
    cells, ran
        Its cells of code, and those that ran without an error.
    problem
        The first error in one line, or why the notebook cannot be run; nothing if it ran whole.
    whole
        Whether it ran whole.
    """

    name: str
    cells: int = 0
    ran: int = 0
    problem: str = ""
    whole: bool = False


def notebooks_in(folder: Path) -> list[Path]:
    """Return the notebooks below a folder, as paths in it.

    Raises
    ------
    BadInput
        If there is no such folder, or no notebook in it.
    """
    if not folder.is_dir():
        raise BadInput(
            f"{folder} is {'a file, not' if folder.exists() else 'not'} a folder: name a folder of notebooks"
        )
    found = [path.relative_to(folder) for path in folder.rglob("*.ipynb")]
    found = sorted(path for path in found if not set(path.parts) & set(NO_COPY))
    if not found:
        raise BadInput(f"{folder} has no notebooks (*.ipynb): name a folder that has some")
    return found


def cells_of(path: Path) -> list[str]:
    """Return a notebook's cells of code, without those that have none.

    Raises
    ------
    BadInput
        If the file is no notebook, or one in another language.
    """
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
        language = notebook.metadata.get("kernelspec", {}).get("language", "python")
        cells = [cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    except Exception as problem:  # nbformat raises many kinds for a file that is damaged
        raise BadInput(f"cannot be read as a notebook: {_line(problem)}") from None
    if language.lower() not in ("python", "python3", "ipython"):
        raise BadInput(f"is written in {language}, not in Python")
    return cells


def _line(problem: Exception) -> str:
    words = " ".join(str(problem).split())
    return words[:160] or type(problem).__name__


def run(copy: Path, name: Path, seconds: float = SECONDS, gib: float = GIB) -> Outcome:
    """Run a notebook of a folder that may change.

    Parameters
    ----------
    copy
        A copy of the folder.
    name
        The notebook's path in it.
    seconds
        The limit of all its cells.
    gib
        The memory that its process may ask for, in GiB.
    """
    outcome = Outcome(name.as_posix())
    try:
        cells = cells_of(copy / name)
    except BadInput as problem:
        outcome.problem = str(problem)
        return outcome
    outcome.cells = len(cells)
    with tempfile.TemporaryDirectory(prefix="others-") as scratch:
        given, lines = Path(scratch) / "cells.json", Path(scratch) / "lines"
        given.write_text(json.dumps(cells), encoding="utf-8")
        lines.touch()
        status = _process(given, lines, (copy / name).parent, seconds, gib)
        rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()[1:]]
    outcome.ran = sum(not row["error"] for row in rows)
    outcome.problem = next(
        (f"cell {number}: {row['error']}" for number, row in enumerate(rows, 1) if row["error"]), ""
    )
    if len(rows) < len(cells) and not outcome.problem:
        how = (
            f"not done after {seconds:g} s" if status is None else f"ended its process (exit status {status})"
        )
        outcome.problem = f"cell {len(rows) + 1}: {how}"
    outcome.whole = outcome.ran == outcome.cells
    return outcome


def _process(given: Path, lines: Path, where: Path, seconds: float, gib: float) -> int | None:
    """Run the cells; return the exit status, or None if the time was over."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "H2D_MACHINE": "stand-in",
        "MPLBACKEND": "agg",
        "IPYTHONDIR": str(given.parent),
        "PIP_NO_INDEX": "1",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE),
    }
    command = [
        sys.executable,
        "-m",
        "benchmarks.other_notebook",
        str(given),
        str(lines),
        str(int(gib * 2**30)),
    ]
    process = subprocess.Popen(
        command, cwd=where, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        begins = time.monotonic() + START_SECONDS
        while not lines.stat().st_size and process.poll() is None and time.monotonic() < begins:
            time.sleep(0.05)  # the limit is the cells', not that of the libraries that start
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        child_processes.end(process)


def report(folder: Path, seconds: float = SECONDS, gib: float = GIB) -> Iterator[str]:
    """Run the notebooks of a folder, which stays as it is, and return the lines of the table.

    Raises
    ------
    BadInput
        If there is no such folder, or no notebook in it.
    """
    names = notebooks_in(folder)
    width = max(8, *(len(name.as_posix()) for name in names))
    with tempfile.TemporaryDirectory(prefix="others-") as scratch:
        copy = Path(scratch) / "folder"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*NO_COPY), ignore_dangling_symlinks=True)
        yield f"{'notebook':<{width}}  cells    ran  whole  first error"
        outcomes = []
        for name in names:
            each = run(copy, name, seconds, gib)
            outcomes.append(each)
            whole = "yes" if each.whole else "no"
            yield f"{each.name:<{width}}  {each.cells:>5}  {each.ran:>5}  {whole:<5}  {each.problem}".rstrip()
    whole = sum(each.whole for each in outcomes)
    ran, cells = sum(each.ran for each in outcomes), sum(each.cells for each in outcomes)
    yield f"{whole} of {len(outcomes)} notebooks ran whole, {ran} of {cells} cells ran"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 2 if there is nothing to run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.others", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of notebooks; it stays as it is")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit of a notebook (%(default)g)")
    parser.add_argument("--gib", type=float, default=GIB, help="memory of a notebook's process (%(default)g)")
    asked = parser.parse_args(arguments)
    try:
        for line in report(asked.folder, asked.seconds, asked.gib):
            print(line, flush=True)
    except BadInput as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
