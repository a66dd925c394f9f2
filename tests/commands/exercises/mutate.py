"""Break every solution in every simple way and see whether its check says so: `python -m tests.commands.exercises.mutate`.

A mutant (see `mutating`) takes the place of its solution cell; the cells of the set run up to the exercise's end,
and `answer` says what a learner would be told. A mutant is

- wrong, if the check rejects it;
- raised, if it does not even run: the check rejects it, too, with the error's words;
- hung, if it does not come to an end;
- a survivor, if it is called right.

The first three are killed. A survivor is a fault of the check, unless it computes the same as the solution and
keeps its promises: then it is equivalent, and `equivalent.toml` lists it under a reason that somebody has written.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import linecache
import multiprocessing
import os
import queue
import random
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from authoring import notebooks
from authoring.solutions import BEGIN, HEADING
from host_to_device.exercises import definition
from tests.commands.exercises.mutating import OPERATORS, Change, changes

ROOT = Path(__file__).resolve().parents[3]
SOLUTIONS = ROOT / "solutions"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
KILLED = "wrong", "raised", "hung"
VERDICTS = *KILLED, "survivor"
SECONDS = 2.0  # at least so long a mutant may run at first, and five times as long as the solution
GRACE = 20.0  # after so long beyond that, its process is ended
MOST_EQUIVALENT = 0.1


@dataclass(frozen=True)
class Cell:
    """A code cell of a solution notebook; `exercise` is "" before the first one."""

    id: str
    exercise: str
    source: str
    graded: bool

    @property
    def solution(self) -> bool:
        return BEGIN in self.source


@dataclass(frozen=True)
class Mutant:
    """A change of one solution cell."""

    path: Path
    exercise: str
    cell: str
    change: Change

    @property
    def key(self) -> tuple[str, ...]:
        return self.exercise, self.cell, self.change.operator, self.change.before, self.change.after


@dataclass(frozen=True)
class Judged:
    """What came of one mutant, and what the learner is told."""

    mutant: Mutant
    verdict: str
    said: str
    seconds: float

    @property
    def key(self) -> tuple[str, ...]:
        return self.mutant.key


def cells_of(path: Path) -> list[Cell]:
    """Return the code cells of a set, each with the exercise that it belongs to."""
    found, exercise = [], ""
    for cell in notebooks.read(path).cells:
        if cell.cell_type == "markdown":
            title = HEADING.match(cell.source)
            exercise = title[1] if title else exercise
        elif cell.cell_type == "code":
            graded = cell.metadata.get("nbgrader", {}).get("grade", False)
            found.append(Cell(cell.id, exercise, cell.source, graded))
    return found


def mutants_of(path: Path) -> list[Mutant]:
    """Return every mutant of a set's solutions."""
    return [
        Mutant(path, cell.exercise, cell.id, change)
        for cell in cells_of(path)
        if cell.solution
        for change in changes(cell.source)
    ]


# -- judging, in a process of its own


def namespace_of(cells: Iterable[Cell], changed: str = "", text: str = "") -> dict[str, Any]:
    """Run cells as a notebook does, one of them with another text; return what they define."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        if cell.graded:
            continue
        source = TransformerManager().transform_cell(text if cell.id == changed else cell.source)
        file = f"<{cell.id}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), names)
    return names


def answered(exercise: str, names: dict[str, Any]) -> Any:
    """Ask `answer` for its verdict on the objects in `names`, as a cell of their notebook would."""
    asked: dict[str, Any] = {}
    names["_asked"] = asked
    exec(
        "from host_to_device.exercises import answer as _answer\n"
        f"_asked['answer'] = _answer({exercise!r}, strict=False)",
        names,
    )
    return asked["answer"]


class Bench:
    """A set's cells, ready to be run with a mutant among them."""

    def __init__(self, path: Path) -> None:
        self.cells = cells_of(path)
        self.seconds: dict[str, float] = {}  # how long the check of the solution takes, by exercise
        self.allowed: dict[str, float] = {}  # how long a learner's run may take

    def until_end_of(self, exercise: str) -> list[Cell]:
        last = max(place for place, cell in enumerate(self.cells) if cell.exercise == exercise)
        return self.cells[: last + 1]

    def limit(self, exercise: str) -> float:
        """Return how long a mutant may run; the solution has to be right, and its time is the measure."""
        if exercise not in self.seconds:
            names = namespace_of(self.until_end_of(exercise))
            self.allowed[exercise] = definition.in_notebook[exercise].seconds
            for _ in range(2):  # the first time compiles
                began = time.monotonic()
                answer = answered(exercise, names)
                self.seconds[exercise] = time.monotonic() - began
                if not answer.right:
                    raise ValueError(f"{exercise}: the solution is not called right: {answer.text}")
        return max(SECONDS, 5 * self.seconds[exercise])

    def judge(self, exercise: str, cell: str, text: str) -> tuple[str, str]:
        """Return the verdict on a changed cell, and what the learner is told."""
        first_limit = self.limit(exercise)
        for seconds in (
            first_limit,
            None,
        ):  # a busy machine is slow: what seems to hang has all its time again
            try:
                names = namespace_of(self.until_end_of(exercise), cell, text)
            except Exception as problem:
                return "raised", f"{type(problem).__name__}: {problem}"
            if seconds is not None:
                definition.in_notebook[exercise].seconds = seconds
            answer = answered(exercise, names)
            if verdict_of(answer) != "hung":
                break
        return verdict_of(answer), answer.text


def verdict_of(answer: Any) -> str:
    """Return what became of a mutant from what `answer` says of it."""
    if answer.right:
        return "survivor"
    if "the check itself has an error" in answer.text:
        return "broken"
    if "Does a loop never end" in answer.text:
        return "hung"
    return "raised" if "your code raised" in answer.text else "wrong"


def work(connection: Any) -> None:
    """Judge what comes through the connection until it closes; nothing of it reaches the user's progress."""
    os.environ["H2D_MACHINE"] = "stand-in"
    benches: dict[Path, Bench] = {}
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        os.environ["H2D_PROGRESS"] = str(Path(folder) / "progress.json")
        sys.stdout = sys.stderr = nowhere
        while True:
            try:
                path, exercise, cell, text = connection.recv()
            except EOFError:
                return
            try:
                bench = benches.setdefault(path, Bench(path))
                connection.send(("limit", bench.limit(exercise) + bench.allowed[exercise]))
                connection.send(bench.judge(exercise, cell, text))
            except Exception as problem:
                connection.send(("broken", f"{type(problem).__name__}: {problem}"))


class Worker:
    """A process that judges; it is ended, and another takes its place, when a mutant does not come to an end."""

    def __init__(self) -> None:
        self.process: Any = None

    def judge(self, mutant: Mutant) -> Judged:
        began = time.monotonic()
        if self.process is None or not self.process.is_alive():
            context = multiprocessing.get_context("spawn")
            self.connection, theirs = context.Pipe()
            self.process = context.Process(target=work, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
        try:
            self.connection.send((mutant.path, mutant.exercise, mutant.cell, mutant.change.text))
            limit, verdict, said = 120.0, "limit", 0.0
            while verdict == "limit" and self.connection.poll(limit):
                verdict, said = self.connection.recv()
                limit = said + GRACE if verdict == "limit" else limit
            if verdict == "limit":
                verdict, said = "hung", f"its process was ended after {limit:.0f} s"
                self.end()
        except (EOFError, OSError):
            verdict, said = "raised", "it ended the process"
            self.end()
        if verdict == "broken":
            raise RuntimeError(f"{mutant.exercise} cannot be judged: {said}")
        return Judged(mutant, verdict, said, time.monotonic() - began)

    def judge_solution(self, mutant: Mutant) -> None:
        """Have the solution judged where this mutant of it was."""
        source = next(cell.source for cell in cells_of(mutant.path) if cell.id == mutant.cell)
        again = self.judge(replace(mutant, change=Change("none", "", "", source)))
        if again.verdict != "survivor":
            raise RuntimeError(
                f"{mutant.exercise}: after its mutants, not even the solution is right: {again.said}"
            )

    def end(self) -> None:
        if self.process is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
            self.process = None


def judge_all(mutants: Iterable[Mutant], jobs: int = 1) -> Iterator[Judged]:
    """Judge mutants in `jobs` processes, in the order in which they come to an end.

    Before a process ends it is given the solutions again: had a mutant left it in a state in which nothing is right
    any more, the verdicts after it would mean nothing.

    Raises
    ------
    RuntimeError
        If a mutant, or a solution, cannot be judged.
    """
    waiting: queue.Queue = queue.Queue()
    done: queue.Queue = queue.Queue()
    for mutant in mutants:
        waiting.put(mutant)

    def serve() -> None:
        worker = Worker()
        judged: dict[str, Mutant] = {}
        try:
            while not waiting.empty():
                with contextlib.suppress(queue.Empty):
                    mutant = waiting.get_nowait()
                    done.put(worker.judge(mutant))
                    judged[mutant.exercise] = mutant
            for mutant in judged.values():
                worker.judge_solution(mutant)
        except Exception as problem:
            done.put(problem)
        finally:
            worker.end()
            done.put(None)

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(min(jobs, waiting.qsize()))]
    for thread in threads:
        thread.start()
    at_work = len(threads)
    try:
        while at_work:
            judged = done.get()
            if isinstance(judged, Exception):
                raise judged
            if judged is None:
                at_work -= 1
            else:
                yield judged
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        for thread in threads:
            thread.join()


# -- the list of equivalent mutants


def listed(path: Path = EQUIVALENT) -> dict[tuple[str, ...], str]:
    """Return the mutants that are called equivalent, each with its reason.

    Raises
    ------
    ValueError
        If a reason is missing, or a mutant stands in the list twice.
    """
    found: dict[tuple[str, ...], str] = {}
    for group in tomllib.loads(path.read_text(encoding="utf-8")).get("reason", []):
        text = group.get("text", "").strip()
        if len(text.split()) < 5:
            raise ValueError(f"{path.name}: {text!r} is no reason: say why the mutant computes the same")
        for entry in group["mutants"]:
            if tuple(entry) in found:
                raise ValueError(f"{path.name}: listed twice: {entry}")
            found[tuple(entry)] = text
    return found


def problems(judged: list[Judged], equivalent: dict[tuple[str, ...], str]) -> list[str]:
    """Return what is not as it must be, one line each: survivors, stale entries, too many called equivalent."""
    found = []
    for each in judged:
        if each.verdict == "survivor" and each.key not in equivalent:
            found.append(f"survivor: {each.key}")
        elif each.verdict != "survivor" and each.key in equivalent:
            found.append(f"called equivalent, and {each.verdict}: {each.key}: {each.said}")
    return found


def too_many(mutants: list[Mutant], equivalent: Iterable[tuple[str, ...]]) -> list[str]:
    """Name the sets in which more than one mutant in ten is called equivalent, and entries that are no mutants."""
    keys = {mutant.key for mutant in mutants}
    found = [f"listed, and there is no such mutant: {key}" for key in equivalent if key not in keys]
    made = Counter(mutant.exercise[:2] for mutant in mutants)
    called = Counter(key[0][:2] for key in equivalent if key in keys)
    for number, count in called.items():
        if count > MOST_EQUIVALENT * made[number]:
            found.append(f"set {number}: {count} of {made[number]} mutants are called equivalent")
    return found


def sample(mutants: list[Mutant], count: int, seed: int = 0) -> list[Mutant]:
    """Draw mutants so that every set has its turn before any has a second one; in a set, operators and exercises."""
    shuffled = mutants[:]
    random.Random(seed).shuffle(shuffled)
    seen: Counter = Counter()
    chosen = []
    while shuffled and len(chosen) < count:
        next_one = min(
            shuffled,
            key=lambda each: (
                seen[each.path],
                seen[each.change.operator],
                seen[each.exercise],
                each.exercise,
            ),
        )
        shuffled.remove(next_one)
        seen[next_one.change.operator] += 1
        seen[next_one.exercise] += 1
        seen[next_one.path] += 1
        chosen.append(next_one)
    return sorted(chosen, key=lambda each: mutants.index(each))


# -- the command


def table(judged: list[Judged], equivalent: Iterable[tuple[str, ...]], of: Callable[[Judged], str]) -> str:
    """Return a table of verdicts with the share killed, one line each operator or exercise."""
    equivalent = set(equivalent)
    rows: dict[str, Counter] = {}
    for each in judged:
        verdict = "equivalent" if each.key in equivalent and each.verdict == "survivor" else each.verdict
        for name in (of(each), "all"):
            rows.setdefault(name, Counter())[verdict] += 1
    rows["all"] = rows.pop("all", Counter())
    heads = *VERDICTS, "equivalent"
    lines = [f"{'':24}{'made':>8}" + "".join(f"{head:>12}" for head in heads) + f"{'killed':>10}"]
    for name, row in rows.items():
        counted = row.total() - row["equivalent"]
        killed = sum(row[verdict] for verdict in KILLED)
        share = f"{100 * killed / counted:9.1f}%" if counted else f"{'-':>10}"
        lines.append(f"{name:24}{row.total():8}" + "".join(f"{row[head]:12}" for head in heads) + share)
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", dest="sets", action="append", help="number of a set, as 02; all if none")
    parser.add_argument("--exercise", help="number of an exercise, as 02.1")
    parser.add_argument("--operator", choices=list(OPERATORS), help="only the mutants of this operator")
    parser.add_argument("--sample", type=int, help="so many mutants, of every operator in turn")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--list", action="store_true", help="list the mutants and judge none")
    parser.add_argument("--save", type=Path, help="write every verdict to this file, as JSON lines")
    asked = parser.parse_args(arguments)
    paths = [
        path
        for path in sorted(SOLUTIONS.glob("*.ipynb"))
        if not asked.sets or path.stem.split("-")[0] in asked.sets
    ]
    if not paths:
        raise SystemExit(f"no such set: {', '.join(asked.sets or [])}")
    every = [mutant for path in paths for mutant in mutants_of(path)]
    mutants = [
        mutant
        for mutant in every
        if asked.exercise in (None, mutant.exercise) and asked.operator in (None, mutant.change.operator)
    ]
    mutants = sample(mutants, asked.sample) if asked.sample is not None else mutants
    if asked.list:
        for mutant in mutants:
            print(f"{mutant.exercise} {mutant.cell}, {mutant.change.operator}")
            print(f"    - {mutant.change.before}\n    + {mutant.change.after}")
        print(f"{len(mutants)} mutants")
        return 0
    equivalent = listed()
    judged: list[Judged] = []
    began = time.monotonic()
    for each in judge_all(mutants, asked.jobs):
        judged.append(each)
        what = "equivalent" if each.verdict == "survivor" and each.key in equivalent else each.verdict
        change = each.mutant.change
        print(
            f"[{len(judged)}/{len(mutants)}] {time.monotonic() - began:6.1f} s  {each.mutant.exercise} "
            f"{each.mutant.cell}, {change.operator}: {what}",
            flush=True,
        )
        if what == "survivor":
            print(f"    - {change.before}\n    + {change.after}", flush=True)
    numbers = {path.stem.split("-")[0] for path in paths}
    here = {key: reason for key, reason in equivalent.items() if key[0][:2] in numbers}
    faults = problems(judged, equivalent) + too_many(every, here)
    print(table(judged, equivalent, lambda each: each.mutant.change.operator))
    print(table(judged, equivalent, lambda each: each.mutant.exercise))
    print("\n".join(faults) if faults else "every mutant is killed, or equivalent for a written reason")
    if asked.save:
        entries = [
            {"key": each.key, "verdict": each.verdict, "said": each.said, "seconds": round(each.seconds, 3)}
            for each in judged
        ]
        asked.save.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
