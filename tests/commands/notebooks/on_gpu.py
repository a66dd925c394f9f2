"""Run the lessons' notebooks and solutions on this machine's GPU: `python -m tests.commands.notebooks.on_gpu [NN …]`.

It prints the cells of each that passed and that failed, as `python -m rehearsal.notebooks` does. `--to FOLDER` keeps the
notebooks as they ran. Several at once (`--jobs`) share the GPU, so their times are not to be trusted.
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat

from rehearsal.notebooks import HEAD, Outcome, chosen, rows, run_notebook
from rehearsal.run import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="NN", help="only these lessons, by their numbers")
    parser.add_argument("--jobs", type=int, default=1, help="notebooks at once (%(default)s)")
    parser.add_argument("--seconds", type=int, default=120, help="limit of a cell (%(default)s)")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="keep the notebooks here as they ran")
    given = parser.parse_args()
    environment = {**os.environ, "H2D_MACHINE": "gpu", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    if given.to:
        given.to.mkdir(parents=True, exist_ok=True)

    def run(path: Path) -> Outcome:
        outcome = run_notebook(path, environment, given.seconds)
        if given.to:
            nbformat.write(outcome.notebook, given.to / "-".join(path.parts[-2:]))
        return outcome

    failed = 0
    print(HEAD, flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        for outcome in pool.map(run, chosen(given.lessons)):
            print(rows(outcome), flush=True)
            failed += len(outcome.failed) + len(outcome.cannot)
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())
