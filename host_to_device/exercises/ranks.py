"""Ranks as threads: run one function as every rank of a group, count its messages, and stop when the ranks hang.

An exercise on several devices needs no processes: each rank is a thread, a message is a copy of an array, and a group in
which every rank waits is stopped at once, without a time-out.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Hang(RuntimeError):
    """No rank can go on; the message says for what each of them waits."""


class _Stopped(BaseException):
    """Ends a rank whose group has failed."""


@dataclass(frozen=True)
class Ran:
    """What the ranks returned and sent, one element a rank: `results`, `messages` and `bytes`."""

    results: list[Any]
    messages: list[int]
    bytes: list[int]


class Worker:
    """One rank of a group: `rank`, `world`, and the operations that reach the other ranks."""

    def __init__(self, group: _Group, rank: int) -> None:
        self._group, self.rank, self.world = group, rank, group.world

    def send(self, array: np.ndarray) -> None:
        """Send a copy of one NumPy array to the right neighbour, the last rank to rank 0; it never waits."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"send takes one NumPy array, not {type(array).__name__}")
        group = self._group
        with group.news:
            group.messages[self.rank] += 1
            group.bytes[self.rank] += array.nbytes
            group.boxes[(self.rank + 1) % self.world].append(array.copy())
            group.news.notify_all()

    def receive(self) -> np.ndarray:
        """Return the next array that the left neighbour has sent; wait until there is one."""
        group = self._group
        box = group.boxes[self.rank]
        with group.news:
            group.wait(self.rank, lambda: bool(box), "in receive")
            return box.popleft()

    def all_reduce(self, array: Any) -> Any:
        """Return the sum of this array, or number, over all ranks; wait until every rank has called it equally often.

        Raises
        ------
        ValueError
            If the arrays of two ranks have different shapes.
        """
        group = self._group
        with group.news:
            place = group.calls[self.rank]
            group.calls[self.rank] += 1
            if place == len(group.given):
                group.given.append({})
            given = group.given[place]
            given[self.rank] = np.array(array)
            group.news.notify_all()
            group.wait(self.rank, lambda: len(given) == self.world, "in all_reduce")
        parts = [given[rank] for rank in range(self.world)]
        if len({part.shape for part in parts}) > 1:
            shapes = ", ".join(f"{part.shape} of rank {rank}" for rank, part in enumerate(parts))
            raise ValueError(f"all_reduce adds arrays of one shape, but it got {shapes}")
        total = sum(parts[1:], parts[0])
        return total.copy() if total.ndim else total.item()


class _Group:
    """What the ranks of one run share."""

    def __init__(self, world: int) -> None:
        self.world, self.news = world, threading.Condition()
        self.boxes: list[deque] = [deque() for _ in range(world)]
        self.messages, self.bytes, self.calls = [0] * world, [0] * world, [0] * world
        self.given: list[dict[int, np.ndarray]] = []
        self.waits: dict[int, tuple[Callable[[], bool], str]] = {}
        self.done: set[int] = set()
        self.problem, self.stopped = "", False

    def wait(self, rank: int, ready: Callable[[], bool], where: str) -> None:
        """Wait until `ready()`; raise `Hang` when no rank can go on. The caller holds `news`."""
        self.waits[rank] = ready, where
        while not ready():
            self.look()
            if self.stopped:
                raise _Stopped
            if self.problem:
                raise Hang(self.problem)
            self.news.wait()
        del self.waits[rank]

    def look(self) -> None:
        """Note a hang if every rank that has not returned waits in vain. The caller holds `news`."""
        live = set(range(self.world)) - self.done
        if self.problem or not live or any(rank not in self.waits or self.waits[rank][0]() for rank in live):
            return
        waiting = ", ".join(f"rank {rank} waits {self.waits[rank][1]}" for rank in sorted(live))
        ended = ", ".join(f"rank {rank} has returned" for rank in sorted(self.done))
        self.problem = f"{waiting}{', but ' * bool(ended)}{ended}"
        self.news.notify_all()


def run_ranks(world: int, function: Callable[[Worker], Any]) -> Ran:
    """Call `function(worker)` in one thread for each of `world` ranks; return what they returned and sent.

    Parameters
    ----------
    world
        The number of ranks, 1 or more.
    function
        What every rank runs; its argument is that rank's `Worker`.

    Raises
    ------
    Hang
        If no rank can go on. No thread is left behind.
    Exception
        What the first rank to fail has raised.
    """
    group = _Group(world)
    results: list[Any] = [None] * world
    errors: list[BaseException] = []

    def one(rank: int) -> None:
        try:
            results[rank] = function(Worker(group, rank))
        except _Stopped:
            pass
        except BaseException as error:
            with group.news:
                errors.append(error)
                group.stopped = group.stopped or not isinstance(error, Hang)
        finally:
            with group.news:
                group.done.add(rank)
                group.look()
                group.news.notify_all()

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(world)]
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        with group.news:
            group.stopped = True
            group.news.notify_all()
        for each in threads:
            if each.is_alive() and each.ident is not None:  # an endless loop, when the time is up
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(each.ident), ctypes.py_object(_Stopped)
                )
    for error in sorted(errors, key=lambda error: isinstance(error, Hang)):
        raise error
    return Ran(results, group.messages, group.bytes)
