"""Keeps programs with the outcomes of the real CuPy: one program a line."""

from __future__ import annotations

import ast
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.corpora.cupy.expressions.running import Outcome

HERE = Path(__file__).parent
BY_HAND = HERE / "by_hand.jsonl"
FROM_SEEDS = HERE / "from_seeds.jsonl"

# Programs whose outcome says nothing, and why: they are not stored.
NOT_JUDGED = {
    "seed 100": "a variance that a GPU's sum may round to another float is converted to an integer",
    "seed 976": "an element is assigned twice, and any of the values may stay",
    "seed 1139": "the bits of a NaN are read as an integer",
    "seed 1180": "a shift by more bits than the type has, which C leaves undefined",
    "seed 1416": "a float32 below the smallest normal one, which CuPy's -ftz=true takes for zero: the page says so",
    "seed 1422": "an array is assigned to elements of itself, and threads read what others have written",
    "seed 1726": "an array is assigned to elements of itself, and threads read what others have written",
    "seed 1829": "a shift by more bits than the type has, which C leaves undefined",
}


@dataclass(frozen=True)
class Stored:
    """A program with the real CuPy's outcome."""

    name: str
    statements: list[str]
    outcome: Outcome


def statements(text: str) -> list[str]:
    """Return the statements of a program, each with all of its lines."""
    lines = text.splitlines()
    found = []
    for node in ast.parse(text).body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        found.append("\n".join(lines[first - 1 : node.end_lineno]))
    return found


def read(path: Path) -> list[Stored]:
    """Return the stored programs of a file, without the line that says which CuPy gave the outcomes."""
    return [Stored(**json.loads(line)) for line in path.read_text().splitlines()[1:]]


def where(path: Path) -> str:
    """Return which CuPy gave the outcomes of a file."""
    return json.loads(path.read_text().splitlines()[0])["where"]


def write(path: Path, where: str, programs: list[Stored]) -> None:
    """Store programs; `where` says which CuPy gave their outcomes."""
    judged = (each for each in programs if each.name not in NOT_JUDGED)
    lines = [json.dumps({"where": where}), *(json.dumps(asdict(each)) for each in judged)]
    path.write_text("\n".join(lines) + "\n")
