"""Every program of the corpus, with the record of its runs on real GPUs.

`python -m tests.commands.cupy.on_gpu --record` writes `seen_on_gpu.json`; a program that has changed since its run
counts as never seen.
"""

from __future__ import annotations

from pathlib import Path

from tests.corpora.cupy import (
    arrays,
    collecting,
    computing,
    elementwise,
    fusing,
    headers,
    indexing,
    libraries,
    mixing,
    raw,
    running,
    scalars,
    vectorizing,
)
from tests.corpora.cupy.case import Program

MODULES = (
    arrays,
    scalars,
    mixing,
    indexing,
    computing,
    libraries,
    elementwise,
    raw,
    headers,
    fusing,
    running,
    vectorizing,
)
SEEN = Path(__file__).with_name("seen_on_gpu.json")


def seen() -> collecting.Record:
    """Return the record of runs on real GPUs."""
    return collecting.read(SEEN)


def _collect() -> list[Program]:
    return collecting.programs_of(MODULES, seen())


ALL = _collect()
