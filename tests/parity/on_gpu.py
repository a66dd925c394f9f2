"""Run the corpus with real CuPy on this machine's GPU: `python -m tests.parity.on_gpu [names or kinds…]`.

`--record` writes down where each program gave the expected outcome, in `tests/parity/seen_on_gpu.json`.
"""

import datetime
import json
import sys

from tests.parity import corpus, runner


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
        print("this is the stand-in: python -m tests.parity.on_stand_in runs the corpus with it")
        return 2
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    where = f"{name}, CuPy {cupy.__version__}, {datetime.date.today()}"
    print(where)
    programs = runner.chosen(asked.names)
    right = runner.report(programs, cupy)
    if asked.record:
        record = corpus.seen() | {one.name: {"where": where, "digest": one.digest()} for one in right}
        wrong = {one.name for one in programs} - {one.name for one in right}
        record = {name: record[name] for name in sorted(record) if name not in wrong}
        corpus.SEEN.write_text(json.dumps(record, indent=1) + "\n")
        print(f"recorded: {len(right)} programs in {corpus.SEEN.name}")
    return 0 if len(right) == len(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
