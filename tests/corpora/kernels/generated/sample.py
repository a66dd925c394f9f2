"""The stored samples of generated programs, each with what the real compiler made of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from tests.corpora.kernels.generated import cuda_cpp, typed

FOLDER = Path(__file__).parent
FIRST = 100_000  # seeds that nothing else uses
COUNTS = {typed: 105, cuda_cpp: 56}  # programs by generator


def stored(generator: Any = typed) -> list[tuple[Any, dict[str, Any]]]:
    """Return the programs of a generator with the real compiler's results."""
    lines = [json.loads(line) for line in file_of(generator).read_text().splitlines()]
    return [(generator.Program(**line["program"]), line["real"]) for line in lines]


def store(real: Any, generator: Any = typed) -> str:
    """Generate the programs, run them with the real compiler, and keep both."""
    programs = generator.programs(COUNTS[generator], FIRST)
    lines = [
        json.dumps({"program": dataclasses.asdict(program), "real": result})
        for program, result in zip(programs, real.results(programs), strict=True)
    ]
    file_of(generator).write_text("\n".join(lines) + "\n")
    return f"{len(lines)} programs, {file_of(generator).stat().st_size:,} bytes"


def file_of(generator: Any) -> Path:
    return FOLDER / f"{generator.__name__.rpartition('.')[2]}.jsonl"
