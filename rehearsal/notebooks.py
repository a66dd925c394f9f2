"""Run the lessons' notebooks and solutions in GPU mode: `python -m rehearsal.notebooks [NN …]`.

It prints a table: of each notebook, the cells that passed, that failed, and that cannot run here and why. The exit status
is the number of cells that failed, at most 100.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from rehearsal import build, run
from rehearsal.versions import ALL, TODAY, Versions

FOLDERS = ("notebooks", "solutions")
SECONDS = 120  # for one cell
# What the rehearsal has not: the words of an error, and the reason that the table gives.
CANNOT = {
    r"Torch not compiled with CUDA|PyTorch finds no GPU|CUDA-enabled PyTorch": "PyTorch's CUDA kernels are machine code",
    r"there is no (cufft|cusparse|cusolver|cublas)\w+ here": "a function of NVIDIA's libraries that is not ours",
    r"the rehearsal has no|the rehearsal cannot run": "refused by name",
}


@dataclass
class Outcome:
    """What became of a notebook's cells; `failed` and `cannot` hold a number and a line for each cell.

    `notebook` is the notebook as it has run, with its outputs.
    """

    path: Path
    notebook: NotebookNode
    passed: int = 0
    failed: list[tuple[int, str]] = field(default_factory=list)
    cannot: list[tuple[int, str]] = field(default_factory=list)


def error_of(outputs: list[NotebookNode]) -> tuple[str, str] | None:
    """Return the last error of a cell, in one line, and everything that the cell wrote; None if there is no error."""
    errors = [each for each in outputs if each.output_type == "error"]
    if not errors:
        return None
    text = "".join(each.text for each in outputs if each.output_type == "stream")
    line = f"{errors[-1].ename}: {errors[-1].evalue}".strip()
    return " ".join(line.split())[:300], line + text


def note(outcome: Outcome, number: int, cell: NotebookNode) -> None:
    """Note what became of a cell that has run."""
    error = error_of(cell.outputs)
    if error is None or "raises-exception" in cell.metadata.get("tags", []):
        outcome.passed += 1
        return
    line, everything = error
    for words, reason in CANNOT.items():
        if re.search(words, everything):
            outcome.cannot.append((number, reason))
            return
    outcome.failed.append((number, line))


def run_notebook(
    path: Path, environment: dict[str, str], seconds: int = SECONDS, versions: Versions = TODAY
) -> Outcome:
    """Run a notebook, cell by cell, each even if one before it failed, and return what became of them.

    Parameters
    ----------
    path
        The notebook. It is not changed.
    environment
        The environment of its kernel, of `run.environment`.
    seconds
        The limit of one cell; a cell that takes longer is interrupted, and has failed.
    versions
        The versions that `environment` is for: the kernel is their Python.
    """
    notebook = nbformat.read(path, 4)
    outcome = Outcome(path, notebook)
    client = NotebookClient(
        notebook,
        timeout=seconds,
        interrupt_on_timeout=True,
        allow_errors=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    kernel = client.create_kernel_manager().kernel_spec
    kernel.argv[0] = str(versions.interpreter())  # type: ignore[union-attr]
    with client.setup_kernel(env=environment):
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            try:
                client.execute_cell(cell, number)
            except CellTimeoutError:
                outcome.failed.append((number, f"it took longer than {seconds} s"))
            except DeadKernelError:
                outcome.failed.append((number, "the kernel ended, and with it the notebook"))
                break
            else:
                note(outcome, number, cell)
    return outcome


HEAD = f"{'program':<38}{'passed':>8}{'failed':>8}{'cannot run':>12}"


def rows(outcome: Outcome) -> str:
    """Return a notebook's row of the table, and below it a line for each cell that did not pass."""
    name = "/".join(outcome.path.parts[-2:])
    lines = [f"{name:<38}{outcome.passed:>8}{len(outcome.failed):>8}{len(outcome.cannot):>12}"]
    for kind, cells in (("failed", outcome.failed), ("cannot run", outcome.cannot)):
        lines += [f"    cell {number}, {kind}: {line}" for number, line in cells]
    return "\n".join(lines)


def chosen(lessons: Sequence[str], only: str | None = None) -> list[Path]:
    """Return the notebooks and solutions of these lessons, given by their numbers, or of all; `only` names one folder."""
    return [
        path
        for folder in FOLDERS
        if only in (None, folder)
        for path in sorted((run.ROOT / folder).glob("*.ipynb"))
        if not lessons or path.name[:2] in lessons
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.notebooks", description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="NN", help="only these lessons, by their numbers")
    parser.add_argument("--only", choices=FOLDERS, help="only the notebooks, or only the solutions")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at once (%(default)s)")
    parser.add_argument("--versions", choices=ALL, default="today", help="of the libraries (%(default)s)")
    given = parser.parse_args(arguments)
    versions = ALL[given.versions]
    paths = chosen(given.lessons, given.only)
    try:
        environment = run.environment(cupy=True, versions=versions)
    except build.BuildError as problem:
        print(problem, file=sys.stderr)
        return 1
    environment["PYTHONPATH"] += f":{run.ROOT}"
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # the kernel's debugger says nothing
    failed = 0
    print(HEAD, flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        for outcome in pool.map(lambda path: run_notebook(path, environment, versions=versions), paths):
            print(rows(outcome), flush=True)
            failed += len(outcome.failed)
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())
