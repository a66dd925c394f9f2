"""Run notebooks and solutions on the stand-in and store their outputs (`make outputs`).

The stored outputs are what a reader of the site sees; the tests hold them against a fresh run.
"""

import os
import sys
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from authoring import notebooks  # noqa: E402

FOLDERS = ("notebooks", "solutions")
CELL_SECONDS = 120


def store(path: Path) -> None:
    """Run one notebook in its own folder and write it back with its outputs."""
    notebook = notebooks.read(path)
    NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": path.parent}}).execute()
    notebooks.write(notebook, path)


def main(arguments: list[str]) -> int:
    os.environ["H2D_MACHINE"] = "stand-in"
    os.environ["H2D_PROGRESS"] = "off"
    os.environ["H2D_MEASUREMENTS"] = os.devnull  # figures are stored without the records of whoever runs this
    os.environ["PYTHONPATH"] = str(ROOT)
    paths = [Path(name).resolve() for name in arguments]
    paths = paths or [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.ipynb"))]
    for path in paths:
        if path.suffix != ".ipynb" or not path.is_file():
            print(
                f"{path.name} is not a notebook: give the path of a notebook, or nothing for all",
                file=sys.stderr,
            )
            return 2
        print(f"{path.relative_to(ROOT)} …", end=" ", flush=True)
        try:
            store(path)
        except CellExecutionError as problem:
            print(f"stopped; the file is as it was\n{problem}", file=sys.stderr)
            return 1
        print("stored")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
