"""`python -m rehearsal [--cupy] PROGRAM …`: run a Python program on the rehearsal, with CuPy if `--cupy` is given.

`-c CODE` and `-m MODULE` work in place of a program.
"""

import sys

from rehearsal import build, run

if __name__ == "__main__":
    arguments = sys.argv[1:]
    cupy = arguments[:1] == ["--cupy"]
    if not arguments[cupy:]:
        sys.exit(__doc__)
    try:
        sys.exit(run.run(arguments[cupy:], cupy=cupy))
    except build.BuildError as problem:
        sys.exit(str(problem))
