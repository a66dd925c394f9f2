"""Run the cases on Numba's own simulator: `python -m tests.commands.kernels.on_simulator [names or kinds…]`.

Numba's simulator has no warps and a few gaps more; `--extended` fills them (see `simulator_extras`) and runs
the cases that need it, too. What it cannot do is Numba's wide arithmetic: its numbers are NumPy's.
"""

import os
import sys
import warnings

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

from tests.corpora.kernels import runner

UNKNOWN = "max_registers", "lineinfo", "launch_bounds"  # options of `cuda.jit` that it would refuse


def main() -> int:
    warnings.simplefilter("ignore")  # its scalars overflow, its random numbers run as objects, and it says so
    asked = runner.arguments(__doc__, ("--extended", "fill the gaps of the simulator"))
    from numba import cuda

    simulated = cuda.jit
    cuda.jit = lambda *given, **options: simulated(
        *given, **{n: options[n] for n in options if n not in UNKNOWN}
    )
    if asked.extended:
        from tests.corpora.kernels import simulator_extras

        simulator_extras.install()
    from tests.corpora.kernels.corpus import ALL

    cases = runner.chosen(asked.names, ALL)
    left_out = [case for case in cases if not case.simulator]
    if asked.extended:
        left_out = [case for case in left_out if "wider than NumPy" in case.kinds]
    status = runner.report([case for case in cases if case not in left_out], cuda, asked.seed)
    if left_out:
        print(f"not for the simulator: {', '.join(case.name for case in left_out)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
