"""Runs the blocks of a compiled launch: on all cores where that changes no result, else on one core in order.

Whether it changes a result is what `independence` proves. A launch runs its first blocks on one core; if the others
would take long enough, further cores take parts of them. An error is the one that the blocks in order would raise.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda import independence
from host_to_device.standins.numba_cuda.interpreting import shared_arrays

PARTS = 32  # in how many parts a launch is run
SMALL = 4096  # threads: a smaller launch runs in one part
# Threads from which a kernel with shared memory always runs in parts. Every part begins with zeros in its shared memory,
# so the size alone decides what a kernel finds there that reads before it writes.
LARGE = 65_536
PAYS = 300e-6  # seconds that the other parts must take for a second core to pay


@functools.cache
def cores() -> int:
    """Return how many cores run a launch: those of this process, fewer if NUMBA_NUM_THREADS or OMP_NUM_THREADS say so."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        if (asked := os.environ.get(name, "")).isdecimal() and int(asked):
            count = min(count, int(asked))
    return max(1, min(count, 16))


@dataclass(frozen=True)
class Failed:
    """What a part of a launch raised, and the block and the thread whose turn it was."""

    part: int
    problem: BaseException
    block: int
    thread: int


class Run:
    """One run of a compiled launch, a `launching.Launch`, over all of its blocks."""

    def __init__(
        self, launch: Any, function: Callable, values: tuple, order: np.ndarray, blocks: np.ndarray
    ) -> None:
        self.launch, self.function, self.values = launch, function, values
        self.order, self.blocks = order, blocks
        self.has_shared = any(each.captured is None for each in launch.arrays)
        self.ends = self.parts()  # where each part ends among the blocks
        self.taken = 0  # how many parts are taken
        self.failed: Failed | None = None
        self.stopping = False
        self.lock = threading.Lock()
        self.threads: list[threading.Thread] = []
        # For each thread its part, and what compiled code shares with it: whether to stop, the block and the thread in turn.
        self.at: list[tuple[int, np.ndarray]] = []

    def parts(self) -> list[int]:
        """Return where each part ends. A launch that is small has one part."""
        count, threads = len(self.blocks), len(self.blocks) * len(self.order)
        if threads < (LARGE if self.has_shared else SMALL) or (cores() == 1 and not self.has_shared):
            return [count]
        return sorted({max(1, count * part // PARTS) for part in range(1, PARTS + 1)})

    def within(self, seconds: float) -> None:
        """Run all parts within a time limit; `failed` says afterwards what was raised, if anything."""
        ends = time.monotonic() + seconds
        self.start()
        try:
            # In steps: where a wait cannot be interrupted (Windows), Ctrl-C arrives between two steps.
            while (alive := self.alive()) and (left := ends - time.monotonic()) > 0:
                alive[0].join(min(left, 0.1))
        finally:
            self.stop_from(0)
            while alive := self.alive():
                alive[0].join()

    def alive(self) -> list[threading.Thread]:
        with self.lock:
            return [thread for thread in self.threads if thread.is_alive()]

    def start(self) -> None:
        """Start one more thread, unless the launch is stopping."""
        with self.lock:
            if self.stopping:
                return
            number = len(self.threads)
            self.at.append((0, np.zeros(3, np.int64)))
            self.threads.append(threading.Thread(target=self.work, args=(number,), daemon=True))
            self.threads[-1].start()

    def stop_from(self, part: int) -> None:
        """Stop the threads that run this part or a later one."""
        with self.lock:
            self.stopping = True
            for at, stop in self.at:
                if at >= part:
                    stop[0] = 1

    def work(self, number: int) -> None:
        """Run parts until there are no more."""
        stop = self.at[number][1]
        while True:
            with self.lock:
                part = self.taken
                if part == len(self.ends) or self.failed is not None:
                    return
                self.taken += 1
                self.at[number] = part, stop
            began = time.perf_counter()
            try:
                self.run(part, stop)
            except BaseException as problem:
                with self.lock:
                    if self.failed is None or part < self.failed.part:
                        self.failed = Failed(part, problem, int(stop[1]), int(stop[2]))
                self.stop_from(part + 1)
                return
            if part == 0 and len(self.ends) > 1:
                self.share(time.perf_counter() - began)

    def run(self, part: int, stop: np.ndarray) -> None:
        launch, first = self.launch, self.ends[part - 1] if part else 0
        shared = shared_arrays(launch.arrays, launch.shared)
        place = launch.grid, launch.block, self.order, self.blocks
        self.function(first, self.ends[part], *place, shared, stop, *self.values)

    def share(self, seconds: float) -> None:
        """Start a thread for each other core, if the other parts take long enough and may run at the same time."""
        launch = self.launch
        pays = seconds * (len(self.blocks) - self.ends[0]) / self.ends[0] > PAYS
        if (
            pays
            and cores() > 1
            and independence.keep_apart(launch.kernel.program, launch.grid, launch.block, self.values)
        ):
            for _ in range(min(cores(), len(self.ends) - 1) - 1):
                self.start()
        elif not self.has_shared:
            self.ends[1:] = [len(self.blocks)]
