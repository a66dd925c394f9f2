"""Mark one notebook: run it in the sandbox, ask for the runs of its exercises, and judge outside what comes back.

A cell or an exercise that hangs, or ends the process, costs itself only: the notebook starts again without it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host_to_device.exercises import answering, catalogue
from host_to_device.exercises.verdicts import Judged, Verdict, verdict
from host_to_device.grading import frames, runs
from host_to_device.grading.fork_server import Warm
from host_to_device.grading.sandbox import Limits, Sandbox
from host_to_device.grading.watching import Watch
from host_to_device.support import child_processes

STARTING = 60.0  # seconds until the process answers for the first time; a cold disk is slow
GRACE = 5.0  # seconds after a limit inside, until the process is ended from outside
FORGED = "the notebook wrote into the grader's messages"
STARTS = 6  # how often a notebook is started again without what has ended it


@dataclass(frozen=True)
class Patience:
    """Time limits in seconds: of a cell, and of everything together."""

    cell: float = 30.0
    whole: float = 300.0


@dataclass(frozen=True)
class Ran:
    """How a cell ended: the beginning of what it printed, and its error or ""."""

    printed: str = ""
    error: str = ""


@dataclass
class Marked:
    """The result of a notebook: a verdict for each exercise, how each cell ended, and what the log says."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    cells: dict[int, Ran] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)


class _Ended(Exception):
    """The process has ended, or has been ended; the message says why, in the student's words."""


def seed_of(seed: int, number: str) -> int:
    """Return the seed of an exercise's cases: the same for all students, and unlike that of any other exercise."""
    content = f"{seed} {number}".encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:4], "big") % (2**31 - 10_000) + 1_000


def mark(
    cells: Sequence[str],
    numbers: Sequence[str],
    seed: int,
    sandbox: Sandbox | Warm,
    limits: Limits | None = None,
    patience: Patience | None = None,
) -> Marked:
    """Mark a notebook.

    Parameters
    ----------
    cells
        The code of its cells.
    numbers
        The exercises to judge.
    seed
        A number that the students do not know. The same seed gives the same cases.
    sandbox
        How its process is shut in.
    limits, patience
        What it may use, and how long it may take.
    """
    limits, patience = limits or Limits(), patience or Patience()
    marked = Marked()
    left_out: set[int] = set()
    until = time.monotonic() + patience.whole
    waiting = list(numbers)
    for _ in range(STARTS):
        notebook = _Notebook(cells, left_out, sandbox, limits, patience, until)
        try:
            with notebook:
                for place, ran in notebook.run():
                    marked.cells[place] = ran
                while waiting:
                    marked.verdicts[waiting[0]] = _judged(waiting[0], notebook, seed_of(seed, waiting[0]))
                    waiting.pop(0)
                break
        except _Ended as why:
            if time.monotonic() >= until:
                marked.log.append(f"stopped after {patience.whole:g} s")
                break
            if notebook.at is not None:  # a cell
                left_out.add(notebook.at)
                marked.cells[notebook.at] = Ran(error=str(why))
                marked.log.append(f"cell {notebook.at + 1}: {why}; run again without it")
            elif notebook.has_run and waiting:
                number = waiting.pop(0)
                marked.verdicts[number] = verdict(catalogue.find(number)(), Judged(str(why)))
                marked.log.append(f"{number}: {why}")
            else:
                marked.log.append(f"the notebook could not be started: {why}")
    for number in waiting:
        marked.verdicts[number] = verdict(
            catalogue.find(number)(), Judged("the notebook was stopped before this exercise could run")
        )
    return marked


@functools.lru_cache(maxsize=64)
def _asked(number: str, seed: int) -> dict[str, Any]:
    """Return what the sandbox is asked for an exercise: the same for every notebook of a class."""
    source = runs.stripped(catalogue.find(number))
    return {"number": number, "source": source, "given": answering.given_of(number, seed)}


def _judged(number: str, notebook: _Notebook, seed: int) -> Verdict:
    asked = _asked(number, seed)
    collected = notebook.collect(asked, catalogue.find(number).seconds * len(asked["given"]))
    return answering.judge(number, seed, collected)


class _Notebook:
    """One process with the notebook; `at` is the cell that runs, `has_run` says whether all cells have run."""

    def __init__(
        self,
        cells: Sequence[str],
        left_out: set[int],
        sandbox: Sandbox | Warm,
        limits: Limits,
        patience: Patience,
        until: float,
    ) -> None:
        self.cells, self.left_out, self.sandbox = cells, left_out, sandbox
        self.limits, self.patience, self.until = limits, patience, until
        self.at: int | None = None
        self.has_run = False

    def __enter__(self) -> _Notebook:
        self.folder = tempfile.TemporaryDirectory()
        self.process = self.sandbox.start(
            "host_to_device.grading.inside", self.limits, Path(self.folder.name)
        )
        self.watch = Watch(self.process.pid, self.limits)
        self.reader = frames.Reader()
        self.messages: list[Mapping[str, Any]] = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.stop()
        child_processes.end(self.process)
        self.selector.close()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # what was not sent
                stream.close()  # type: ignore[union-attr]
        self.folder.cleanup()

    def run(self) -> Iterator[tuple[int, Ran]]:
        """Run the cells; yield the place of each with how it ended."""
        self._send({"cells": list(self.cells), "left out": self.left_out, "seconds": self.patience.cell})
        message = self._next(STARTING)
        while "ran" not in message:
            self.at = _place(message.get("starts"), len(self.cells))
            message = self._next(self.patience.cell + GRACE)
            if message.get("cell") != self.at:
                raise _Ended(FORGED)
            yield self.at, Ran(_text(message.get("printed"), 2_000), _text(message.get("error"), 500))
            self.at = None
            message = self._next(self.patience.cell)
        self.has_run = True

    def collect(self, exercise: dict[str, Any], seconds: float) -> Any:
        """Return what an exercise's run gives, as plain values of which nothing is trusted."""
        self._send(exercise)
        if self._next(GRACE + seconds).get("exercise") != exercise["number"]:
            raise _Ended(FORGED)
        return self._next(GRACE + seconds).get("collected")

    def _send(self, value: Any) -> None:
        try:
            frames.send_trusted(self.process.stdin, value)  # type: ignore[arg-type]
        except (BrokenPipeError, OSError):
            raise _Ended(self._why()) from None

    def _next(self, seconds: float) -> Mapping[str, Any]:
        """Return the next message."""
        until = min(time.monotonic() + seconds, self.until)
        while not self.messages:
            left = until - time.monotonic()
            if left <= 0:
                raise _Ended("it did not end in time, and did not let itself be stopped")
            if not self.selector.select(min(left, 0.5)):
                continue
            piece = self.process.stdout.read1(1 << 20)  # type: ignore[union-attr]
            if not piece:
                raise _Ended(self._why())
            try:
                self.messages += self.reader.feed(piece)
            except ValueError:
                raise _Ended(FORGED) from None
        return self.messages.pop(0)

    def _why(self) -> str:
        """Return why the process has ended."""
        if self.watch.said:
            return self.watch.said
        try:
            status = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "it closed the connection to the grader"
        number = -status if status < 0 else status - 128
        if number in {each.value for each in signal.Signals}:
            return f"it ended the process ({signal.Signals(number).name})"
        return f"it ended the process (exit {status})"


def _place(value: Any, count: int) -> int:
    if type(value) is not int or not 0 <= value < count:
        raise _Ended(FORGED)
    return value


def _text(value: Any, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""
