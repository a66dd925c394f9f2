"""Hold programs of array expressions against the real CuPy: `python -m tests.commands.cupy.expressions`.

Without a choice: the stored programs on the stand-in, and a table by kind of difference.

`--by-hand`      ask the rehearsal's CuPy for the outcomes of the programs by hand, and store them
`--seeds A B`    make the programs of the seeds from A up to B, ask for their outcomes, and print each difference with
                 the smallest program that shows it; `--store` also keeps programs and outcomes
`--gpu`          ask the CuPy of this machine's GPU, not the rehearsal's
"""

import argparse
import os
import sys
from collections import Counter

from host_to_device.standins import imports
from rehearsal import run
from tests.corpora.cupy.expressions import generating, shrinking, storing
from tests.corpora.cupy.expressions.asking import Real
from tests.corpora.cupy.expressions.running import KINDS, difference, outcome
from tests.corpora.cupy.expressions.written import WRITTEN


def main() -> int:
    asked = arguments()
    imports.redirect()
    import cupy

    if not asked.by_hand and asked.seeds is None:
        rows = {}
        for what, path in (("by hand", storing.BY_HAND), ("from seeds", storing.FROM_SEEDS)):
            rows[what] = [
                difference(each.statements, each.outcome, outcome(each.statements, cupy))
                for each in storing.read(path)
            ]
            for each, found in zip(storing.read(path), rows[what], strict=True):
                if found:
                    print(f"{each.name}: {found[0]}: {found[1]}")
        table(rows)
        return any(map(any, rows.values()))

    real = Real(dict(os.environ) if asked.gpu else run.environment(cupy=True))
    where = "CuPy on this machine's GPU" if asked.gpu else "CuPy 14.2.0 on the rehearsal"
    if asked.by_hand:
        programs = {name: storing.statements(text) for name, text in WRITTEN.items()}
    else:
        programs = {f"seed {seed}": generating.program(seed) for seed in range(*asked.seeds)}
    stored, found = [], []
    for name, statements in programs.items():
        right = real.ask(statements)
        if right is None:
            print(f"{name}: the rehearsal cannot run it: {statements}", flush=True)
            continue
        stored.append(storing.Stored(name, statements, right))
        differs = difference(statements, right, outcome(statements, cupy))
        found.append(differs)
        if differs:
            print(f"{name}: {differs[0]}: {differs[1]}", flush=True)
            if asked.seeds:
                small = shrinking.smallest(statements, differs[0], real, cupy)
                print("    " + "\n    ".join("\n".join(small).splitlines()), flush=True)
    real.close()
    if asked.by_hand:
        storing.write(storing.BY_HAND, where, stored)
    elif asked.store:
        storing.write(storing.FROM_SEEDS, where, stored)
    table({"by hand" if asked.by_hand else "from seeds": found})
    return any(found)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--seeds", nargs=2, type=int, metavar=("A", "B"))
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    return parser.parse_args()


def table(rows) -> None:
    """Print how many programs gave the same, and how many differ in which way."""
    print("\n| programs | in all | same | " + " | ".join(KINDS) + " |\n|" + "---|" * (len(KINDS) + 3))
    for what, found in rows.items():
        kinds = Counter(each[0] for each in found if each)
        numbers = len(found), sum(each is None for each in found), *(kinds[kind] for kind in KINDS)
        print(f"| {what} | " + " | ".join(map(str, numbers)) + " |")


if __name__ == "__main__":
    sys.exit(main())
