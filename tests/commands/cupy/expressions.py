"""Hold programs of array expressions against the real CuPy: `python -m tests.commands.cupy.expressions`.

Without a choice: the stored programs on the stand-in, and a table by kind of difference; `--figures` also writes it to
the page about the stand-ins.

`--by-hand`      ask the rehearsal's CuPy for the outcomes of the programs by hand, and store them
`--seeds A B`    make the programs of the seeds from A up to B, ask for their outcomes, and print each difference with
                 the smallest program that shows it; with `--store` keep the outcomes instead
`--gpu`          ask the CuPy of this machine's GPU, not the rehearsal's
"""

import argparse
import os
import sys

from host_to_device.standins import imports
from rehearsal import run
from tests.corpora.cupy.expressions import generating, shrinking, storing
from tests.corpora.cupy.expressions.asking import Real
from tests.corpora.cupy.expressions.running import KINDS, difference, outcome
from tests.corpora.cupy.expressions.written import WRITTEN
from tests.corpora.kernels.generated import figures

KEPT_AFTER = 50  # programs: an interrupted run loses no more


def main() -> int:
    asked = arguments()
    if not asked.by_hand and asked.seeds is None:
        return stored_on_stand_in(asked.figures)
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

    table = figures.Table(("same", *KINDS))
    for name, statements in programs.items():
        right = real.ask(statements)
        if right is None:
            print(f"{name}: it cannot be run: {statements}", flush=True)
            continue
        found = difference(statements, right, outcome(statements, cupy))
        table.count("from seeds", "stand-in", found[0] if found else "same")
        if found:
            kind, words = found
            print(f"{name}: {kind}: {words}")
            small = shrinking.smallest(statements, kind, real, cupy)
            print("    " + "\n".join(small).replace("\n", "\n    "), flush=True)
    real.close()
    print(table)
    return int(any(counts.keys() != {"same"} for counts in table.counts.values()))


def stored_on_stand_in(write: bool) -> int:
    """Print where the stand-in's outcomes differ from the stored ones."""
    imports.redirect()
    import cupy

    table = figures.Table(("same", *KINDS))
    for path in (storing.BY_HAND, storing.FROM_SEEDS):
        for each in storing.read(path):
            found = difference(each.statements, each.outcome, outcome(each.statements, cupy))
            kind = "from seeds" if path == storing.FROM_SEEDS else f"by hand: {each.name.rpartition(' ')[0]}"
            table.count(kind, "stand-in", found[0] if found else "same")
            if found:
                print(f"{each.name}: {found[0]}: {found[1]}")
    print(table)
    if write:
        figures.write("array expressions", table, storing.where(storing.FROM_SEEDS))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--seeds", nargs=2, type=int, metavar=("A", "B"))
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--figures", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
