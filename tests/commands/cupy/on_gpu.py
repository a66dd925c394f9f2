"""Run the corpus with real CuPy on this machine's GPU: `python -m tests.commands.cupy.on_gpu [names or kinds…]`.

`--record` writes down where each program gave the expected outcome, in `tests/corpora/cupy/seen_on_gpu.json`.
"""

import datetime
import sys

from tests.corpora.cupy import collecting, corpus, runner
from tests.corpora.cupy.case import difference


def main() -> int:
    asked = runner.arguments(__doc__, ("--record", "write down which programs gave their outcome here"))
    try:
        import cupy
    except ImportError as error:
        print(f"no CuPy here: {error}")
        return 2
    if not cupy.cuda.is_available():
        print("no GPU that CuPy can use")
        return 2
    if not cupy.__file__ or "host_to_device" in cupy.__file__:
        print("this is the stand-in: python -m tests.commands.cupy.on_stand_in runs the corpus with it")
        return 2
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    where = f"{name}, CuPy {cupy.__version__}, {datetime.date.today()}"
    print(where)
    programs = runner.chosen(asked.names, corpus.ALL)
    right = runner.report(programs, lambda program: difference(program, cupy))
    if asked.record:
        collecting.write(corpus.SEEN, programs, right, where)
    return 0 if len(right) == len(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
