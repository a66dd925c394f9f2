"""Runs programs with the installed library, and prints one line for each."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable

from tests.corpora.cupy.case import Program


def arguments(description: str, *flags: tuple[str, str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help="names or kinds of programs; all if none is given")
    for flag, meaning in flags:
        parser.add_argument(flag, action="store_true", help=meaning)
    return parser.parse_args()


def chosen(names: Iterable[str], programs: list[Program]) -> list[Program]:
    """Return the programs with the given names or kinds; without names, all programs.

    Raises
    ------
    SystemExit
        If there is no such program or kind: the message names it.
    """
    names = list(names)
    kinds = {kind for program in programs for kind in program.kinds}
    known = {program.name for program in programs} | kinds
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no such program or kind: {', '.join(unknown)} (kinds: {', '.join(sorted(kinds))})")
    return [
        program
        for program in programs
        if not names or program.name in names or set(program.kinds) & set(names)
    ]


def report(programs: list[Program], differs: Callable[[Program], str | None]) -> list[Program]:
    """Run the programs, print the outcome of each and a summary; return those with the right outcome.

    `differs` runs one and says what is not as expected, as `tests.corpora.cupy.case.difference` does.
    """
    right, start = [], time.perf_counter()
    for program in programs:
        began = time.perf_counter()
        wrong = differs(program)
        if wrong is None:
            right.append(program)
        words = f": {wrong}" if wrong else ""
        print(
            f"{'differs' if wrong else 'ok':8}{time.perf_counter() - began:7.2f} s  {program.name}{words}",
            flush=True,
        )
    unseen = sum(program.seen_on_gpu is None for program in programs)
    print(
        f"{len(right)} of {len(programs)} as expected in {time.perf_counter() - start:.1f} s; "
        f"{unseen} of them recorded from no run on a real GPU"
    )
    return right
