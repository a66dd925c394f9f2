"""Every program of the corpus, with what is known of its runs on real GPUs.

`python -m tests.parity.on_gpu --record` writes `seen_on_gpu.json`; a program that has changed since its run
counts as never seen.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from tests.parity import (
    arrays,
    computing,
    elementwise,
    fusing,
    indexing,
    libraries,
    mixing,
    raw,
    running,
    scalars,
)
from tests.parity.case import Program

MODULES = arrays, scalars, mixing, indexing, computing, libraries, elementwise, raw, fusing, running
SEEN = Path(__file__).with_name("seen_on_gpu.json")


def seen() -> dict[str, dict[str, str]]:
    """Return the record of runs on real GPUs: name -> `{"where": …, "digest": …}`."""
    return json.loads(SEEN.read_text()) if SEEN.exists() else {}


def _collect() -> list[Program]:
    record, found = seen(), []
    for module in MODULES:
        for program in vars(module).values():
            if not isinstance(program, Program):
                continue
            entry = record.get(program.name, {})
            known = entry.get("digest") == program.digest()
            found.append(dataclasses.replace(program, seen_on_gpu=entry["where"] if known else None))
    return found


ALL = _collect()
