"""`python -m rehearsal PROGRAM …`: run a Python program on the rehearsal. `-c CODE` and `-m MODULE` work, too."""

import sys

from rehearsal import build, run

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        sys.exit(run.run(sys.argv[1:]))
    except build.BuildError as problem:
        sys.exit(str(problem))
