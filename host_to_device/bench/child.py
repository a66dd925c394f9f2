"""What has to be measured in a process of its own; prints JSON.

`python -m host_to_device.bench.child simulator RUNS NAME SIZE [NAME SIZE]…` times Numba's simulator;
`… child first NAME SIZE` times the first launch of a kernel on the stand-in.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings


def simulator(runs: int, rows: list[tuple[str, int]]) -> list[list[float]]:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    warnings.simplefilter("ignore")
    from host_to_device.bench.simt import timed

    return [timed(name, size, runs, warm_up=0) for name, size in rows]


def first(name: str, size: int) -> list[float]:
    """Return the seconds for importing Numba and the stand-in, and for the first launch."""
    began = time.perf_counter()
    from host_to_device.standins import imports

    imports.redirect()
    from host_to_device.bench.kernels import PROBLEMS

    imported = time.perf_counter() - began
    problem = PROBLEMS[name](size)
    began = time.perf_counter()
    problem.launch()
    return [imported, time.perf_counter() - began]


def main(arguments: list[str]) -> None:
    if arguments[0] == "first":
        found = first(arguments[1], int(arguments[2]))
    else:
        names, sizes = arguments[2::2], map(int, arguments[3::2])
        found = simulator(int(arguments[1]), list(zip(names, sizes, strict=True)))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
