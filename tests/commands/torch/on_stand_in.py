"""Run the programs with the stand-in for PyTorch's device: `python -m tests.commands.torch.on_stand_in [names…]`."""

import os
import sys

from tests.corpora.cupy import runner
from tests.corpora.torch import corpus
from tests.corpora.torch.case import Place


def stand_in() -> Place:
    """Return the stand-ins: two devices of PyTorch, CuPy and `numba.cuda`."""
    os.environ["H2D_MACHINE"] = "stand-in"  # a GPU that is there stays out of it
    import host_to_device as h2d
    from host_to_device.standins import imports

    imports.redirect()
    import cupy
    import torch
    from numba import cuda

    return Place(torch, h2d, cp=cupy, cuda=cuda)


def main() -> int:
    asked = runner.arguments(__doc__)
    programs = runner.chosen(asked.names, corpus.ALL)
    right = runner.report(programs, stand_in().difference)
    return 0 if len(right) == len(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
