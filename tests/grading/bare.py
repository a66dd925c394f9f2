"""A plain runner of an attack, for `test_bare`: runs the cells in this process and asks `h2d.answer`, as a naive grader does.

`python bare.py NOTEBOOK RESULT`. It writes what it found as JSON, if it comes so far. The test runs it inside a
bubblewrap of its own, where nothing but a throw-away folder can be harmed.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

MARKER, SECRET = Path("/home/others/marks.csv"), Path("/home/others/solutions/02-secret.ipynb")


def run(cells, result):
    """Run the cells; write the verdicts of 02.a and 02.1, and what the notebook left behind."""
    from IPython.core.interactiveshell import InteractiveShell

    import host_to_device as h2d

    shell = InteractiveShell.instance(history_load_length=0)
    said, errors = {}, 0
    for cell in cells[:-2]:
        errors += not shell.run_cell(cell, store_history=False).success
    for number in ("02.a", "02.1"):
        names, printed = {**shell.user_ns, "h2d": h2d}, io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(f"verdict = h2d.answer({number!r})", names)
        said[number] = bool(names["verdict"]) or f"{number} is right" in printed.getvalue()
    result.write_text(json.dumps({"said": said, "errors": errors, **left_behind()}))


def left_behind():
    """Return what of this machine a notebook has changed or seen."""
    others = [each for each in os.listdir("/proc") if each.isdigit() and int(each) not in (1, 2, os.getpid())]
    here = [each for each in Path("/tmp").rglob("*")]
    return {"marker": MARKER.exists(), "processes": len(others), "files": len(here)}


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
