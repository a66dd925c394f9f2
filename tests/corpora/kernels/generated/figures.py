"""Counts what became of generated programs, by kind and mode, and keeps the figures for the page about the stand-ins."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path

FILE = Path(__file__).resolve().parents[4] / "book" / "generated_programs.json"


class Table:
    """How many programs of a kind had which outcome in which mode."""

    def __init__(self, outcomes: tuple[str, ...]) -> None:
        self.outcomes = outcomes
        self.counts: dict[tuple[str, str], Counter] = {}

    def count(self, kind: str, mode: str, outcome: str) -> None:
        column = next(each for each in self.outcomes if outcome.startswith(each))
        self.counts.setdefault((kind, mode), Counter())[column] += 1

    def rows(self) -> list[list[str | int]]:
        """Return a row for each kind and mode, and one for all kinds of a mode."""
        total: dict[str, Counter] = {}
        for (_, mode), counts in self.counts.items():
            total.setdefault(mode, Counter()).update(counts)
        each = [*sorted(self.counts.items()), *((("all", mode), counts) for mode, counts in total.items())]
        return [
            [kind, mode, sum(counts.values()), *(counts[name] for name in self.outcomes)]
            for (kind, mode), counts in each
        ]

    def __str__(self) -> str:
        lines = [("kind", "mode", "programs", *self.outcomes), *(tuple(map(str, row)) for row in self.rows())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def write(name: str, table: Table, versions: str = "") -> None:
    """Keep a table for the page; the rows of modes that did not run stay as they were."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    ran = {mode for _, mode in table.counts}
    others = [row for row in kept.get(name, {}).get("rows", []) if row[1] not in ran]
    kept[name] = {
        "date": datetime.date.today().isoformat(),
        "versions": versions or kept.get(name, {}).get("versions", ""),
        "columns": ["kind", "mode", "programs", *table.outcomes],
        "rows": sorted([*others, *table.rows()], key=lambda row: (row[0] == "all", row[0], row[1])),
    }
    FILE.write_text(json.dumps(kept, indent=1) + "\n")
