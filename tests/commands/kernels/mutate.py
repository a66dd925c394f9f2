"""Mutate every right kernel and see what the check says: `python -m tests.commands.kernels.mutate [names of cases…]`.

Each mutant (see `mutating`) takes the place of its kernel in the case. The case then runs on the stand-in, in
order and in two shuffled orders, to see whether a result changes, and every launch of the mutant is checked.
As outputs the check is given the parameters whose every element the right kernel writes. A mutant is

- caught, if the check finds something that it does not find in the right kernel;
- a survivor, if it changes a result and the check finds nothing;
- harmless otherwise.

`survivors.toml` lists the survivors, each under the reason why the check lets it pass; `--write` brings it up to
date: what has been caught since goes, and what is new comes under no reason, for somebody to look at.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import sys
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from host_to_device.standins import imports

imports.redirect()

from numba import cuda  # noqa: E402

from host_to_device.checking import check  # noqa: E402
from tests.commands.kernels.mutating import OPERATORS, Mutant, mutants  # noqa: E402
from tests.corpora.kernels.case import Case, Launch, _to_device, differences, run  # noqa: E402
from tests.corpora.kernels.corpus import ALL  # noqa: E402

LISTED = Path(__file__).with_name("survivors.toml")
SCHEDULES = 3
SEEDS = None, 1, 2  # orders on the stand-in; None: as the threads count
SECONDS = 3.0  # a case whose check takes longer is left out
UNEXPLAINED = "not looked at yet"
VERDICTS = "caught", "harmless", "survivor"


@dataclass(frozen=True)
class Judged:
    """What came of one mutant."""

    case: str
    function: str
    operator: str
    before: str
    after: str
    verdict: str
    found: tuple[str, ...]  # kinds of findings
    wrong: str  # how the result differs, if it does

    @property
    def key(self) -> tuple[str, ...]:
        return self.case, self.function, self.operator, self.before, self.after


@dataclass(frozen=True)
class Right:
    """What the check says of one launch of the right kernel."""

    outputs: tuple[str, ...]  # parameters whose every element it writes
    any_order: tuple[str, ...]
    kinds: frozenset[str]  # of findings: none, but for a few cases
    seconds: float


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep what kernels print and warn of to themselves."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def launched(launch: Launch, values: dict[str, Any], kernel: Any, **how) -> Any:
    """Check this launch if `how` is given, and launch it otherwise."""
    # Interpreted: to compile a mutant takes longer than to run it.
    callee = check(kernel, interpreted=True, **how) if how else kernel
    return callee[launch.grid, launch.block, 0, launch.shared](*(values[name] for name in launch.arguments))


def on_device(case: Case) -> tuple[list[Launch], dict[str, Any]]:
    given = case.fresh()
    return case.plan(given), {name: _to_device(value, cuda) for name, value in given.items()}


def parameters(launch: Launch) -> list[str]:
    code = launch.kernel.py_func.__code__
    return list(code.co_varnames[: code.co_argcount])


def right(case: Case) -> list[Right]:
    """Check every launch of the right kernels."""
    plan, values = on_device(case)
    found = []
    for launch in plan:
        named = dict(zip(parameters(launch), launch.arguments, strict=True))
        arrays = [name for name, given in named.items() if hasattr(values[given], "copy_to_host")]
        any_order = tuple(name for name in arrays if named[name] in case.unordered)
        began = time.monotonic()
        report = launched(
            launch, values, launch.kernel, schedules=SCHEDULES, seconds=SECONDS, any_order=any_order
        )
        seconds = time.monotonic() - began
        outputs = tuple(
            name
            for name in arrays
            if "unwritten output"
            not in kinds_of(launched(launch, values, launch.kernel, outputs=[name], schedules=1))
        )
        found.append(Right(outputs, any_order, kinds_of(report), seconds))
        launched(launch, values, launch.kernel)
    return found


def kinds_of(report: Any) -> frozenset[str]:
    return frozenset(finding.kind for finding in report.findings)


def with_kernel(case: Case, original: Any, kernel: Any) -> Case:
    """Return the case with another kernel in the place of this one."""

    def plan(given: dict[str, Any]) -> list[Launch]:
        return [
            replace(launch, kernel=kernel) if launch.kernel is original else launch
            for launch in case.plan(given)
        ]

    return replace(case, launches=plan)


def wrong(case: Case, seconds: float) -> str:
    """Say what is wrong with the case's results, in the first order in which something is."""
    for seed in SEEDS:
        try:
            with cuda.stand_in(interpreted=True, seconds=seconds, seed=seed):
                found = differences(case, run(case, cuda))
        except Exception as problem:
            found = [f"{type(problem).__name__}: {problem}"]
        if found:
            order = "" if seed is None else f" (shuffled by seed {seed})"
            return f"{found[0]}{order}"
    return ""


def findings(case: Case, kernel: Any, rights: list[Right]) -> tuple[str, ...]:
    """Check every launch of a mutant until something is found; return the kinds."""
    plan, values = on_device(case)
    for launch, known in zip(plan, rights, strict=True):
        if launch.kernel is kernel:
            for patience in 10, 50:  # on a busy machine the shorter time can end before the check
                report = launched(
                    launch,
                    values,
                    kernel,
                    outputs=known.outputs,
                    any_order=known.any_order,
                    schedules=SCHEDULES,
                    seconds=max(patience / 5, patience * known.seconds),
                )
                new = kinds_of(report) - known.kinds
                if new or not report.partial:
                    break
            if new:
                return tuple(sorted(new))
            if report.partial:
                return ()
        try:
            with cuda.stand_in(interpreted=True, seconds=2):
                launched(launch, values, launch.kernel)
        except Exception:
            return ()
    return ()


def judge(case: Case, original: Any, mutant: Mutant, rights: list[Right]) -> Judged:
    change = mutant.change
    with silence():
        kernel = mutant.kernel()
        changed = with_kernel(case, original, kernel)
        found = findings(changed, kernel, rights)
        seconds = max(2.0, 10 * sum(each.seconds for each in rights))
        text = wrong(changed, seconds)
    verdict = "caught" if found else "survivor" if text else "harmless"
    return Judged(
        case.name, mutant.function, mutant.operator, change.before, change.after, verdict, found, text
    )


def kernels_of(case: Case) -> list[Any]:
    """Return the kernels of a case, each once, in the order of their launches."""
    return list({id(launch.kernel): launch.kernel for launch in case.plan(case.fresh())}.values())


def all_mutants(cases: Iterable[Case]) -> list[tuple[str, int, int]]:
    """Return every mutant as a case's name, the number of its kernel there, and its number among that one's."""
    return [
        (case.name, place, number)
        for case in cases
        for place, kernel in enumerate(kernels_of(case))
        for number in range(len(mutants(kernel)))
    ]


def judged_of(task: tuple[str, list[tuple[int, int]]]) -> tuple[list[Judged], str]:
    """Judge these mutants of a case; return what came of them, or why the case is left out."""
    name, wanted = task
    case = next(each for each in ALL if each.name == name)
    with silence(), cuda.stand_in(interpreted=True):
        rights = right(case)
    slowest = max(each.seconds for each in rights)
    if slowest > SECONDS:
        return [], f"{name}: its check takes {slowest:.1f} s"
    made: dict[int, list[Mutant]] = {}
    found = []
    for place, number in wanted:
        kernel = kernels_of(case)[place]
        if place not in made:
            made[place] = mutants(kernel)
        found.append(judge(case, kernel, made[place][number], rights))
    return found, ""


def by_case(chosen: list[tuple[str, int, int]]) -> list[tuple[str, list[tuple[int, int]]]]:
    tasks: dict[str, list[tuple[int, int]]] = {}
    for name, place, number in chosen:
        tasks.setdefault(name, []).append((place, number))
    return list(tasks.items())


def judge_all(tasks: list, jobs: int = 1) -> Iterator[tuple[list[Judged], str]]:
    """Judge the mutants of each case, in order."""
    if jobs == 1:
        yield from map(judged_of, tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(judged_of, tasks)


# -- the list of survivors


def listed() -> dict[tuple[str, ...], str]:
    """Return the survivors that are known, each with its reason."""
    if not LISTED.exists():
        return {}
    groups = tomllib.loads(LISTED.read_text())["reason"]
    return {tuple(entry): group["text"] for group in groups for entry in group["survivors"]}


def write(survivors: dict[tuple[str, ...], str]) -> None:
    """Write the list: survivors by reason, the reasons in the order in which they come."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for key, reason in survivors.items():
        groups.setdefault(reason, []).append(key)
    lines = [
        "# Mutants of right kernels that change a result and pass the check, by the reason why they pass.",
        "# Written by `python -m tests.commands.kernels.mutate --write`; the reasons are written by people, and kept.",
        "# Each entry: case, function, operator, the line before, the line after.",
    ]
    for reason, keys in groups.items():
        lines += ["", "[[reason]]", f"text = {_toml(reason)}", f"count = {len(keys)}", "survivors = ["]
        lines += [f"    [{', '.join(map(_toml, key))}]," for key in keys]
        lines += ["]"]
    LISTED.write_text("\n".join(lines) + "\n")


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a basic string of TOML is written as JSON's is


def brought_up_to_date(judged: list[Judged]) -> dict[tuple[str, ...], str]:
    """Return the survivors to be listed: of the mutants judged those that survive, and all others as before."""
    before = listed()
    looked_at = {each.key for each in judged}
    survive = {each.key for each in judged if each.verdict == "survivor"}
    kept = {key: reason for key, reason in before.items() if key not in looked_at or key in survive}
    return kept | {each.key: UNEXPLAINED for each in judged if each.key in survive and each.key not in before}


# -- the command


def table(judged: list[Judged]) -> str:
    counts = Counter((each.operator, each.verdict) for each in judged)
    lines = [f"{'':24}{'made':>8}" + "".join(f"{verdict:>10}" for verdict in VERDICTS)]
    for operator in (*OPERATORS, "all"):
        row = [
            sum(n for (name, what), n in counts.items() if what == verdict and operator in (name, "all"))
            for verdict in VERDICTS
        ]
        lines.append(f"{operator:24}{sum(row):8}" + "".join(f"{n:10}" for n in row))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of cases; all if none is given")
    parser.add_argument("--operator", choices=list(OPERATORS), help="only the mutants of this operator")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help=f"bring {LISTED.name} up to date")
    parser.add_argument("--save", type=Path, help="write every verdict to this file, as JSON lines")
    asked = parser.parse_args()
    unknown = set(asked.names) - {case.name for case in ALL}
    if unknown:
        raise SystemExit(f"no such case: {', '.join(sorted(unknown))}")
    cases = [case for case in ALL if not asked.names or case.name in asked.names]
    chosen = all_mutants(cases)
    if asked.operator:
        made = {(case.name, n): mutants(k) for case in cases for n, k in enumerate(kernels_of(case))}
        chosen = [each for each in chosen if made[each[:2]][each[2]].operator == asked.operator]
    if asked.sample is not None:
        chosen = sorted(random.Random(asked.seed).sample(chosen, min(asked.sample, len(chosen))))
    tasks = by_case(chosen)
    judged, left_out = [], []
    began = time.monotonic()
    for number, (found, why_not) in enumerate(judge_all(tasks, asked.jobs), 1):
        judged += found
        left_out += [why_not] if why_not else []
        counts = Counter(each.verdict for each in found)
        words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
        name = tasks[number - 1][0]
        print(f"[{number}/{len(tasks)}] {time.monotonic() - began:6.1f} s  {name}: {words}", flush=True)
    known = listed()
    survivors = [each for each in judged if each.verdict == "survivor"]
    new = [each for each in survivors if each.key not in known]
    for each in new:
        print(f"new survivor: {each.case}, {each.function}, {each.operator}")
        print(f"    {each.before}\n    {each.after}\n    {each.wrong}")
    surviving = {each.key for each in survivors}  # two kernels that one function made share their keys
    gone = [each for each in judged if each.key in known and each.key not in surviving]
    for each in gone:
        print(f"now {each.verdict}: {each.case}, {each.function}: {each.after}  {', '.join(each.found)}")
    for line in left_out:
        print(f"left out: {line}")
    print(table(judged))
    print(f"{len(new)} new survivors, {len(gone)} listed ones that are none any more")
    if asked.save:
        asked.save.write_text("".join(json.dumps(vars(each)) + "\n" for each in judged))
    if asked.write:
        write(brought_up_to_date(judged))
        return 0
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
