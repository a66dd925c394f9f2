"""Run the corpus with the stand-in for CuPy: `python -m tests.commands.cupy.on_stand_in [names or kinds…]`."""

import sys

from host_to_device.standins import imports
from tests.corpora.cupy import corpus, runner
from tests.corpora.cupy.case import difference


def main() -> int:
    asked = runner.arguments(__doc__)
    programs = runner.chosen(asked.names, corpus.ALL)
    imports.redirect()
    if "cupy" not in imports.REDIRECTED:
        print("there is no stand-in for CuPy yet: host_to_device/standins/imports.py does not redirect it")
        return 2
    import cupy

    right = runner.report(programs, lambda program: difference(program, cupy))
    return 0 if len(right) == len(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
