"""Run a kernel under watch: the interpreter, with arrays that record every access and barriers that are judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.checking.memory import Fault, Memory, Moment, Tracked
from host_to_device.standins.numba_cuda import helpers
from host_to_device.standins.numba_cuda.interpreting import WARP_SIZE, Interpreter, as_seen, interpreted
from host_to_device.standins.numba_cuda.rewriting import Program

FULL = (1 << WARP_SIZE) - 1


@dataclass
class BarrierFault:
    """Threads of a block that do not wait together, or lanes of a warp that a warp operation misses."""

    kind: str  # "barrier divergence" or "warp synchronisation"
    line: int
    block: int
    thread: int
    text: str


def _atomics() -> dict[str, Callable]:
    """Return the atomic helpers as a check has them: each one access, recorded as an atomic."""
    plain = {each.__name__: each for each in helpers.KERNEL_HELPERS if each.__name__.startswith("atomic_")}

    def recorded(name: str) -> Callable:
        def on_one_element(old: Any, *values: Any) -> Any:
            cell = [old]
            plain[name](*((cell, *values) if name == "atomic_compare_and_swap" else (cell, 0, *values)))
            return cell[0]

        if name == "atomic_compare_and_swap":
            return lambda array, *values: array.atomic(0, lambda old: on_one_element(old, *values))
        return lambda array, index, *values: array.atomic(index, lambda old: on_one_element(old, *values))

    return {name: recorded(name) for name in plain}


class Watch(Interpreter):
    """Runs the blocks of one launch and reports what goes wrong.

    Parameters
    ----------
    program, grid, block, order, seconds
        As for `Interpreter`.
    shared
        The shared arrays of a block.
    report
        Called with every `Fault` and `BarrierFault`.
    """

    def __init__(
        self,
        program: Program,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: tuple[np.ndarray, ...],
        report: Callable[[Fault | BarrierFault], None],
        order: Iterable[int] | None = None,
        seconds: float = math.inf,
    ) -> None:
        self.moment = Moment()
        self.report = report
        self.current = (0, 0)
        own = {**_atomics(), "fence": self.moment.fence, "local": self.local}
        super().__init__(program, grid, block, (), order, seconds, interpreted(program, own))
        self.memories: list[Memory] = []
        tracked = []
        over_same_bytes: dict[int, Memory] = {}
        for array, description in zip(shared, program.shared, strict=True):
            memory = Memory(array, description.name or "a shared array", "shared", self.moment, report)
            if description.shape is None:
                # Dynamic arrays lie over the same bytes: the record is kept by byte, in one place.
                memory = over_same_bytes.setdefault(array.dtype.itemsize, memory)
            self.memories.append(memory)
            tracked.append(Tracked.whole(memory, as_seen(array)))
        self.shared = tuple(tracked)

    @property
    def at(self) -> tuple[int, int]:
        return self.current

    @at.setter
    def at(self, value: tuple[int, int]) -> None:
        self.current = value
        self.moment.block, self.moment.thread = value
        self.moment.turn.clear()

    def local(self, shape: tuple[int, ...], dtype: np.dtype) -> Tracked:
        array = np.zeros(shape, dtype)
        return Tracked.whole(
            Memory(array, "a local array", "local", self.moment, self.report), as_seen(array)
        )

    def watch(self, name: str, array: np.ndarray) -> Tracked:
        """Return an argument as the checked kernel sees it."""
        memory = Memory(array, name, "global", self.moment, self.report)
        self.memories.append(memory)
        return Tracked.whole(memory, as_seen(array))

    def run(self, blocks: Iterable[int], arguments: tuple) -> None:
        for block in blocks:
            self.moment.epoch = 0
            self.moment.warp_epochs.clear()
            for memory in self.memories:
                if memory.space == "shared":
                    memory.forget()
            super().run([block], arguments)

    def last_line(self) -> int:
        """Return the learner's line of the last access, for a kernel that did not come to an end."""
        lines = [
            access.place[1]
            for memory in self.memories
            for cell in memory.cells.values()
            for access in cell
            if access is not None and (access.block, access.thread) == self.at
        ]
        return lines[-1] if lines else self.program.kernel.tree.lineno

    # -- waits, judged

    def release_block(self, waiting: dict[int, Any], answers: dict[int, Any]) -> None:
        lines: dict[int, list[int]] = {}
        for thread, asked in waiting.items():
            lines.setdefault(asked if type(asked) is int else asked[1], []).append(thread)
        block = self.moment.block
        gone = self.threads - len(waiting)
        if waiting and gone:
            line, threads = next(iter(lines.items()))
            self.report(
                BarrierFault(
                    "barrier divergence",
                    line,
                    block,
                    threads[0],
                    f"{len(waiting)} threads wait at the barrier and {gone} have left the kernel without it",
                )
            )
        elif len(lines) > 1:
            (line, threads), (other, others) = list(lines.items())[:2]
            self.report(
                BarrierFault(
                    "barrier divergence",
                    line,
                    block,
                    threads[0],
                    f"{len(threads)} threads wait at line {line} and {len(others)} at line {other}",
                )
            )
        self.moment.pass_barrier(block, list(waiting))
        super().release_block(waiting, answers)

    def release_warps(self, waiting: dict[int, Any], answers: dict[int, Any]) -> bool:
        groups: dict[tuple[int, str, int], list[int]] = {}
        for thread, asked in waiting.items():
            if type(asked) is not int and asked[0] not in (
                "syncthreads_count",
                "syncthreads_and",
                "syncthreads_or",
            ):
                groups.setdefault((thread // WARP_SIZE, asked[0], asked[1]), []).append(thread)
        for (warp, name, line), threads in groups.items():
            self.judge_warp(warp, name, line, threads, {thread: waiting[thread] for thread in threads})
            self.moment.warp_epochs[warp] = self.moment.warp_epochs.get(warp, 0) + 1
            self.moment.turn.clear()
        return super().release_warps(waiting, answers)

    def judge_warp(self, warp: int, name: str, line: int, threads: list[int], asked: dict[int, Any]) -> None:
        """Report lanes that a mask names and that do not come, and lanes that come and are not named."""
        lanes = {thread % WARP_SIZE for thread in threads}
        there = {lane for lane in range(WARP_SIZE) if warp * WARP_SIZE + lane < self.threads}
        for thread in threads:
            mask = int(asked[thread][2]) & FULL if len(asked[thread]) > 2 else FULL
            named = {lane for lane in there if mask >> lane & 1}
            missing = named - lanes
            if thread % WARP_SIZE not in named:
                text = f"cuda.{name}: lane {thread % WARP_SIZE} takes part, and its mask does not name it"
            elif missing:
                text = f"cuda.{name}: the mask names {len(missing)} lanes that are not there, lane {min(missing)} first"
            else:
                continue
            self.report(BarrierFault("warp synchronisation", line, self.moment.block, thread, text))
            return
