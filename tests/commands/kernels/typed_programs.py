"""Generated programs of mixed types against the real numba-cuda: `python -m tests.commands.kernels.typed_programs`.

It runs each program on the stand-in, compiled and interpreted, and with the real compiler on the rehearsal, prints every
program that is not the same, and then the table by kind and mode.

    --first 1000 --count 700    700 programs, from seed 1000
    --keep FILE                 keeps the real compiler's results there, so that another run need not ask again
    --shrink                    shrinks each finding to the smallest program
    --figures                   writes the table to the page "Stand-ins: how we know"
    --store                     stores a sample with the real compiler's results for `make test`
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

from host_to_device.standins import imports

imports.redirect()

from tests.corpora.kernels.generated import figures, judging, sample, shrinking, typed  # noqa: E402
from tests.corpora.kernels.generated.typed import Program  # noqa: E402

AT_ONCE = 140


def smallest(program: Program, mode: str, outcome: str, real: judging.Real) -> Program:
    """Return the smallest program of the same parameters with the same outcome."""

    def shows(sources: list[str]) -> list[bool]:
        tried = [dataclasses.replace(program, source=source) for source in sources]
        found = [judging.on_stand_in(each, judging.MODES[mode]) for each in tried]
        verdicts = map(judging.judge, tried, real.results(tried), found)
        return [verdict.outcome == outcome for verdict in verdicts]

    return dataclasses.replace(program, source=shrinking.shrink(program.source, shows))


def known(programs: list[Program], real: judging.Real, kept: Path | None) -> list[dict[str, Any]]:
    """Return the real compiler's results, from the file if it has them."""
    found = json.loads(kept.read_text()) if kept and kept.exists() else {}
    missing = [each for each in programs if each.source not in found]
    found |= dict(
        zip((each.source for each in missing), real.results(missing) if missing else [], strict=True)
    )
    if kept and missing:
        kept.write_text(json.dumps(found))
    return [found[each.source] for each in programs]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=700, help="how many programs")
    parser.add_argument("--modes", default="compiled,interpreted", help="of the stand-in")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--store", action="store_true")
    asked = parser.parse_args()
    with judging.real() as real:
        if asked.store:
            print(sample.store(real))
            return 0
        table, failed = (
            figures.Table(
                ("same", "refused by name", "not judged", "silently different", "accepted", "failed")
            ),
            0,
        )
        programs = typed.programs(asked.count, asked.first)
        for start in range(0, len(programs), AT_ONCE):
            some = programs[start : start + AT_ONCE]
            results = known(some, real, asked.keep)
            for mode in asked.modes.split(","):
                for program, right in zip(some, results, strict=True):
                    verdict = judging.judge(program, right, judging.on_stand_in(program, judging.MODES[mode]))
                    table.count(program.kind, mode, verdict.outcome)
                    if verdict.outcome == judging.SAME:
                        continue
                    print(f"{mode}, {program.name}: {verdict.outcome}: {verdict.words[:300]}", flush=True)
                    failed += verdict.outcome in judging.FAULTS
                    if asked.shrink and verdict.outcome in judging.FAULTS:
                        print(smallest(program, mode, verdict.outcome, real).source, flush=True)
    print(table)
    if asked.figures:
        figures.write("typed programs", table, f"numba-cuda {importlib.metadata.version('numba-cuda')}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
