"""The stored sample of generated programs, each with what the real compiler made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.corpora.kernels.generated import typed
from tests.corpora.kernels.generated.typed import Program

FILE = Path(__file__).with_name("sample.jsonl")
FIRST, COUNT = 100_000, 105  # seeds that nothing else uses


def stored() -> list[tuple[Program, dict[str, Any]]]:
    """Return the programs with the results of the real numba-cuda."""
    lines = [json.loads(line) for line in FILE.read_text().splitlines()]
    return [(Program(**line["program"]), line["real"]) for line in lines]


def store(real) -> str:
    """Generate the programs, run them with the real numba-cuda, and keep both."""
    programs = typed.programs(COUNT, FIRST)
    lines = [
        json.dumps({"program": typed.as_json(program), "real": result})
        for program, result in zip(programs, real.results(programs), strict=True)
    ]
    FILE.write_text("\n".join(lines) + "\n")
    return f"{len(lines)} programs, {FILE.stat().st_size:,} bytes"
