"""`python -m authoring solutions exercises`: write the student notebooks and the shipped checks."""

import sys
from pathlib import Path

from authoring.building import SETS, MarkerError, build


def main(arguments: list[str]) -> int:
    if len(arguments) not in (2, 3):
        print("usage: python -m authoring SOLUTIONS EXERCISES [CHECKS]", file=sys.stderr)
        return 2
    try:
        written = build(*map(Path, arguments), *([SETS] if len(arguments) == 2 else []))
    except (MarkerError, FileNotFoundError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print("\n".join(str(path) for path in written))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
