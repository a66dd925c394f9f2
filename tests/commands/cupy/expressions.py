"""Hold programs of array expressions against the real CuPy: `python -m tests.commands.cupy.expressions`.

Without a choice: the stored programs on the stand-in, and a table by kind of difference.

`--by-hand`      ask the rehearsal's CuPy for the outcomes of the programs by hand, and store them
`--seeds A B`    make the programs of the seeds from A up to B, ask for their outcomes, and print each difference with
                 the smallest program that shows it; with `--store` keep the outcomes instead
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

KEPT_AFTER = 50  # programs: an interrupted run loses no more


def main() -> int:
    asked = arguments()
    if not asked.by_hand and asked.seeds is None:
        return stored_on_stand_in()
    real = Real(dict(os.environ) if asked.gpu else run.environment(cupy=True))
    where = "CuPy 14.2.0 on this machine's GPU" if asked.gpu else "CuPy 14.2.0 on the rehearsal"
    if asked.by_hand:
        programs = {name: storing.statements(text) for name, text in WRITTEN.items()}
        store(storing.BY_HAND, where, programs, real)
        return 0
    programs = {f"seed {seed}": generating.program(seed) for seed in range(*asked.seeds)}
    if asked.store:
        store(storing.FROM_SEEDS, where, programs, real)
        return 0
    return compare(programs, real)


def store(path, where, programs, real) -> None:
    """Ask for the outcomes of programs and store them beside those of other programs."""
    kept = {each.name: each for each in storing.read(path)} if path.exists() else {}
    kept = {name: each for name, each in kept.items() if name not in programs}
    for number, (name, statements) in enumerate(programs.items(), 1):
        right = real.ask(statements)
        if right is None:
            print(f"{name}: it cannot be run: {statements}", flush=True)
        else:
            kept[name] = storing.Stored(name, statements, right)
        if number % KEPT_AFTER == 0 or number == len(programs):
            storing.write(path, where, list(kept.values()))
    real.close()


def compare(programs, real) -> int:
    """Print where the stand-in's outcomes differ from the real CuPy's, with the smallest programs that show it."""
    imports.redirect()
    import cupy

    found = []
    for name, statements in programs.items():
        right = real.ask(statements)
        if right is None:
            print(f"{name}: it cannot be run: {statements}", flush=True)
            continue
        found.append(difference(statements, right, outcome(statements, cupy)))
        if found[-1]:
            kind, words = found[-1]
            print(f"{name}: {kind}: {words}")
            small = shrinking.smallest(statements, kind, real, cupy)
            print("    " + "\n".join(small).replace("\n", "\n    "), flush=True)
    real.close()
    table({"from seeds": found})
    return any(found)


def stored_on_stand_in() -> int:
    """Print where the stand-in's outcomes differ from the stored ones."""
    imports.redirect()
    import cupy

    rows = {}
    for what, path in (("by hand", storing.BY_HAND), ("from seeds", storing.FROM_SEEDS)):
        rows[what] = []
        for each in storing.read(path):
            found = difference(each.statements, each.outcome, outcome(each.statements, cupy))
            rows[what].append(found)
            if found:
                print(f"{each.name}: {found[0]}: {found[1]}")
    table(rows)
    return any(map(any, rows.values()))


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
