"""Every program for PyTorch, with what is known of its runs on real GPUs.

`python -m tests.commands.torch.on_gpu --record` writes `seen_on_gpu.json` in this folder.
"""

from __future__ import annotations

from pathlib import Path

from tests.corpora.cupy import collecting
from tests.corpora.torch import (
    computing,
    counting,
    counting_arrays,
    devices,
    memory,
    mismatches,
    modules,
    moving,
    placing,
    saving,
    training,
    values,
)

# Memory first: later ones leave workspaces on a GPU, and with them parts of segments.
PLACEMENT = memory, placing, moving, values, computing, devices, mismatches, modules, saving, training
COUNTING = counting, counting_arrays
SEEN = Path(__file__).with_name("seen_on_gpu.json")


def seen() -> collecting.Record:
    """Return the record of runs on real GPUs."""
    return collecting.read(SEEN)


PLACEMENT_PROGRAMS = collecting.programs_of(PLACEMENT, seen())
COUNTING_PROGRAMS = collecting.programs_of(COUNTING, seen())
ALL = PLACEMENT_PROGRAMS + COUNTING_PROGRAMS
