"""Run the cases on this machine's GPU: `python -m tests.commands.kernels.on_gpu [names or kinds…]`."""

import sys

from tests.corpora.kernels import runner


def main() -> int:
    asked = runner.arguments(__doc__)
    from numba import cuda

    if not cuda.is_available():
        print("no GPU that Numba can use")
        return 2
    from tests.corpora.kernels.corpus import ALL

    print(cuda.get_current_device().name)
    return runner.report(runner.chosen(asked.names, ALL), cuda, asked.seed)


if __name__ == "__main__":
    sys.exit(main())
