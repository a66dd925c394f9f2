"""Run numba-cuda's own tests on Numba's simulator and store which pass: `python -m tests.commands.others.on_simulator`.

`tests/others/test_numba_cuda.py` holds the stand-in against them: each of these tests has to pass on it, too, unless it is
internal to numba-cuda or the driver's.
"""

from __future__ import annotations

import json
import sys

from tests.others import running, suites


def main() -> int:
    suite = suites.numba_cuda(simulated=True)
    found = {}
    for file in suites.files(suite):
        outcomes = running.outcomes(suite, file)
        found[file] = [one.test.partition("::")[2] for one in outcomes if one.outcome == "passed"]
        print(f"{file}: {len(found[file])} pass", flush=True)
    suites.SIMULATOR.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
