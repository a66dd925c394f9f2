"""`python -m rehearsal [--cupy] [--versions NAME] PROGRAM …`: run a Python program on the rehearsal.

`--cupy` adds CuPy. `--versions colab` takes the versions that Google Colab ships instead of today's pins. `-c CODE` and
`-m MODULE` work in place of a program.
"""

import argparse
import sys

from rehearsal import build, run
from rehearsal.versions import ALL

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m rehearsal", usage=__doc__, add_help=False)
    parser.add_argument("--cupy", action="store_true")
    parser.add_argument("--versions", choices=ALL, default="today")
    arguments = sys.argv[1:]
    # Ours come first: what follows the first other word belongs to the program.
    ours = 0
    while arguments[ours:] and arguments[ours].startswith("--"):
        ours += 2 if arguments[ours] == "--versions" else 1
    given = parser.parse_args(arguments[:ours])
    if not arguments[ours:]:
        sys.exit(__doc__)
    try:
        sys.exit(run.run(arguments[ours:], cupy=given.cupy, versions=ALL[given.versions]))
    except build.BuildError as problem:
        sys.exit(str(problem))
