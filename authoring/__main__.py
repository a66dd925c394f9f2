"""`python -m authoring solutions exercises`: write the student notebooks."""

import sys
from pathlib import Path

from authoring.building import MarkerError, build


def main(arguments: list[str]) -> int:
    """Run the command; return its exit status."""
    if len(arguments) != 2:
        print("usage: python -m authoring SOLUTIONS EXERCISES", file=sys.stderr)
        return 2
    try:
        written = build(*map(Path, arguments))
    except (MarkerError, FileNotFoundError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print("\n".join(str(path) for path in written))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
