"""Generated cooperative kernels against `h2d.check`: `python -m tests.commands.kernels.cooperative_kernels`.

The truth of each kernel is known by construction. The command checks each kernel, interpreted and compiled, runs the right
ones in several orders, prints every kernel that is judged wrongly, and then the table by kind and mode.

    --first 1000 --count 700    700 kernels, from seed 1000
    --schedules 20              more orders of threads and blocks
    --shrink                    shrinks each finding to the smallest kernel
    --figures                   writes the table to the page "Stand-ins: how we know"
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace

from host_to_device.standins import imports

imports.redirect()

from tests.corpora.kernels.generated import checking, cooperative, figures  # noqa: E402
from tests.corpora.kernels.generated.cooperative import Kernel, Loop  # noqa: E402


def smaller(kernel: Kernel) -> Iterator[Kernel]:
    """Yield kernels with a step, a loop, a block or a warp less."""
    steps = kernel.steps
    for k, each in enumerate(steps):
        yield replace(kernel, steps=steps[:k] + steps[k + 1 :])
        if isinstance(each, Loop):
            for j in range(len(each.body)):
                body = each.body[:j] + each.body[j + 1 :]
                yield replace(
                    kernel, steps=steps[:k] + ((replace(each, body=body),) if body else ()) + steps[k + 1 :]
                )
            yield replace(kernel, steps=steps[:k] + each.body + steps[k + 1 :])
        elif each.guard:
            yield replace(kernel, steps=(*steps[:k], replace(each, guard=0), *steps[k + 1 :]))
    if kernel.blocks > 1:
        yield replace(kernel, blocks=1)
    if kernel.threads > 32:
        yield replace(kernel, threads=32)


def smallest(kernel: Kernel, interpreted: bool, outcome: str) -> Kernel:
    """Return the smallest kernel with the same outcome; the truth is computed anew for each."""
    found = True
    while found:
        found = False
        for each in smaller(kernel):
            if checking.judge(each, interpreted).outcome == outcome:
                kernel, found = each, True
                break
    return kernel


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=700, help="how many kernels")
    parser.add_argument("--modes", default="compiled,interpreted", help="of the check")
    parser.add_argument("--schedules", type=int, default=3)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--figures", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    table, failed = (
        figures.Table((checking.SAME, checking.FOUND, checking.MISSED, checking.ALARM, checking.DIFFERENT)),
        0,
    )
    for kernel in cooperative.kernels(asked.count, asked.first):
        for mode in asked.modes.split(","):
            interpreted = mode == "interpreted"
            verdict = checking.judge(kernel, interpreted, asked.schedules)
            table.count(kernel.kind, mode, verdict.outcome)
            if verdict.outcome not in checking.FAULTS:
                continue
            failed += 1
            print(f"{mode}, {kernel.name}: {verdict.outcome}: {verdict.words}", flush=True)
            if asked.shrink:
                print(cooperative.as_text(smallest(kernel, interpreted, verdict.outcome)), flush=True)
    print(table)
    if asked.figures:
        figures.write("cooperative kernels", table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
