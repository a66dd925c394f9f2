"""Run a kernel interpreted, one access at a time: the caller says which thread makes the next one.

The check lets a thread run as far as its next barrier. To show what a race does, two threads have to take turns
between their accesses. So here every access ends a *turn* of its thread, and every access, barrier and fence is an
`Event`, with the values before and after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from host_to_device.checking.accesses import ATOMIC, NONSENSE, READ, WRITE, Fault, Memory, Tracked, of_shared
from host_to_device.checking.interpreted import BarrierFault, Switching, Watch
from host_to_device.standins.numba_cuda.interpreting import Lower, shared_arrays
from host_to_device.standins.numba_cuda.launching import Launch
from host_to_device.standins.numba_cuda.rewriting import GRID_SYNC, PREFIX, Program

QUANTUM = 1_000  # turns after which another thread has its turn: the first may wait for it in a loop
RETURNS = "returns"  # what a thread yields at a `return` of the kernel

Thread = tuple[int, int]  # the numbers of a block and of a thread in it


@dataclass
class Event:
    """One access, one barrier or fence, or how a thread stops before a barrier.

    Attributes
    ----------
    kind
        "read", "write", "atomic", "barrier", "warp barrier", "grid barrier", "fence" or "block fence"; "wait" at a
        barrier that not all threads reach, or "leave" where a thread leaves the kernel without reaching it.
    by
        The threads: one, or those that pass a barrier together.
    turn
        The turn of the first thread, counted from 1.
    place
        File and line; for a barrier, those of its first thread.
    memory, address
        The number of the allocation and the address in it, as `Memory` counts it.
    array, index, space
        The element, and its memory.
    before, after
        The element's value before and after the access; before is None where no thread has stored one.
    same
        Whether a store found its own value in the element.
    epoch
        The barriers that the block has passed.
    site
        Where in the code the turn ended: two accesses of one site are the same one in two rounds of a loop.
    outside
        The fault of an access outside of its array; None for all others.
    """

    kind: str
    by: tuple[Thread, ...]
    turn: int
    place: tuple[str, int]
    memory: int = 0
    address: int = 0
    array: str = ""
    index: tuple[int, ...] = ()
    space: str = ""
    before: Any = None
    after: Any = None
    same: bool = False
    epoch: int = 0
    site: tuple[int, ...] = ()
    outside: Fault | None = None

    @property
    def is_access(self) -> bool:
        return bool(self.space)

    @property
    def element(self) -> tuple[int, int]:
        return self.memory, self.address


class _Stepping(Switching):
    """Lets the other threads take their turns after every access."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.within = False  # the kernel or device function
        self.is_kernel = False
        self.depth = 0  # of functions and comprehensions in it: no turn can end there

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self.within:
            return self.visit_inner(node)
        self.within, self.is_kernel = True, node.name == self.program.kernel.tree.name
        found: Any = super().visit_FunctionDef(node)
        # A function without any access is a generator, too.
        never = ast.If(ast.Constant(False), [ast.Expr(ast.Yield(None))], [])
        found.body.insert(0, never)
        return found

    def visit_inner(self, node: Any) -> ast.AST:
        self.depth += 1
        found = self.generic_visit(node)
        self.depth -= 1
        return found

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_inner

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        if self.depth or not self.is_kernel:
            return node
        return [ast.copy_location(ast.Expr(ast.Yield(ast.Constant(RETURNS))), node), node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return Lower.visit_Call(self, node) if self.depth else super().visit_Call(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        ours = isinstance(node.value, ast.Name) and node.value.id.startswith(PREFIX)
        return node if ours or self.depth or not isinstance(node.ctx, ast.Load) else _then_yield(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self.ended(node, node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return self.ended(node, [node.target])

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        found: Any = super().visit_AugAssign(node)
        if self.depth or not _stores([node.target]):
            return found
        pair = ast.Tuple([ast.Yield(None), found.value], ast.Load())
        found.value = ast.copy_location(ast.Subscript(pair, ast.Constant(1), ast.Load()), node.value)
        return [found, _end_of_turn(node)]

    def ended(self, node: ast.Assign | ast.AnnAssign, targets: list[ast.expr]) -> Any:
        """Return an assignment, followed by the end of the turn where it stores in an array."""
        self.generic_visit(node)
        return node if self.depth or not _stores(targets) else [node, _end_of_turn(node)]


def _stores(targets: list[ast.expr]) -> bool:
    """Return whether one of these targets is an element or a field."""
    parts = [each for target in targets for each in ast.walk(target)]
    return any(isinstance(each, ast.Subscript | ast.Attribute) for each in parts)


def _end_of_turn(node: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(ast.Yield(None)), node)


def _then_yield(node: ast.expr) -> ast.expr:
    pair = ast.Tuple([node, ast.Yield(None)], ast.Load())
    return ast.copy_location(ast.Subscript(pair, ast.Constant(0), ast.Load()), node)


@dataclass
class _Block:
    """One block that runs: its threads that have not left the kernel, what they wait at, and what they get there."""

    number: int
    running: dict[int, Any]
    waiting: dict[int, Any] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)


class OutOfTurns(Exception):
    """The turns for playing a finding are used up."""


class Stepper(Watch):
    """Runs some blocks of a launch turn by turn, and keeps its events.

    Parameters
    ----------
    program
        The kernel, typed for the launch's arguments.
    launch
        The launch.
    warp_size
        32 or 64 lanes.
    most
        How many turns there may be.
    """

    def __init__(self, program: Program, launch: Launch, warp_size: int, most: int) -> None:
        self.events: list[Event] = []
        # Each fault with the places of its accesses in `events`; the second is None where there is one access or none.
        self.faults: list[tuple[Fault | BarrierFault, int, int | None]] = []
        self.turns: dict[Thread, int] = {}
        self.left = most
        self.fresh_arrays: Callable = lambda: shared_arrays(launch.arrays, launch.shared)
        self.numbers: dict[int, int] = {}  # of the allocations, by their `Memory`
        self.bytes: dict[int, np.ndarray] = {}  # what each allocation held at its last event
        self.kept: list[Memory] = []  # so that no other gets the `id` of one
        self.stored: set[tuple[int, int]] = set()  # elements of shared memory in which a thread has stored
        self.open: tuple[Event, Tracked] | None = None  # an atomic whose new value is not there yet
        self.last: dict[tuple, int] = {}  # access by element, thread and place → its last event
        super().__init__(
            program, launch.grid, launch.block, self.fresh_arrays(), self.take, warp_size=warp_size
        )
        self.blocks: dict[int, _Block] = {}
        self.entered: int | None = None
        self.arrived: dict[Thread, int] = {}  # the threads at the last barrier, and their lines
        self.returned: dict[
            Thread, int
        ] = {}  # the line of the `return` by which a thread has left the kernel

    def form(self, program: Program, switch: bool) -> tuple[type[Lower], Program]:
        functions = {name: replace(each, waits=True) for name, each in program.functions.items()}
        return _Stepping, replace(program, kernel=replace(program.kernel, waits=True), functions=functions)

    # -- memory

    def watch(self, named: dict[str, np.ndarray]) -> dict[str, Tracked]:
        found = super().watch(named)
        self.listen(self.memories[-1])
        return found

    def shared_of(self, block: int) -> tuple:
        fresh = of_shared(self.fresh_arrays(), self.program.shared, self.moment, self.report)
        own = [
            old if each.captured is not None else new
            for old, new, each in zip(self.shared, fresh, self.program.shared, strict=True)
        ]
        for memory in dict.fromkeys(each.memory for each in own):
            if memory.space == "shared":
                memory.forget(NONSENSE)
            self.listen(memory)
        return tuple(own)

    def listen(self, memory: Memory) -> None:
        """Take down the accesses to an allocation from now on."""
        if id(memory) in self.numbers:
            return
        self.kept.append(memory)
        self.numbers[id(memory)] = len(self.numbers)
        self.bytes[id(memory)] = _bytes_of(memory).copy()
        touch = memory.touch

        def heard(address: int, kind: str, place: tuple[str, int], same: bool, of: Tracked) -> None:
            self.hear(memory, address, kind, place, same, of)
            touch(address, kind, place, same, of)

        memory.touch = heard  # type: ignore[method-assign]

    def hear(
        self, memory: Memory, address: int, kind: str, place: tuple[str, int], same: bool, of: Tracked
    ) -> None:
        """Take down one access; the bytes of an element that are recorded one by one are one access."""
        self.settle()
        at, whole = self.at, of.whole
        index = whole.index_of(address)
        number = self.numbers[id(memory)]
        event = self.events[-1] if self.events else None
        part = (
            event is not None
            and (event.by[0], event.turn, event.kind, event.place) == (at, self.turns[at], kind, place)
            and (event.memory, event.array, event.index) == (number, of.name, index)
            and event.address < address
        )
        if not part:
            stored = not memory.fresh or (number, address) in self.stored
            old = self.old_value(memory, whole, index) if stored else None
            new = _value(whole, index)
            event = Event(
                kind, (at,), self.turns[at], place, number, address, of.name, index, memory.space, old, new, same,
                self.moment.epoch,
            )  # fmt: skip
            self.events.append(event)
            if kind == ATOMIC:
                self.open = event, whole
            elif kind == WRITE:
                self.keep(memory, whole, index)
        if kind != READ:
            self.stored.add((number, address))
        self.last[number, address, at, kind, place] = len(self.events) - 1

    def settle(self) -> None:
        """Give the last atomic its new value, now that it has stored it."""
        if self.open is not None:
            event, whole = self.open
            event.after = _value(whole, event.index)
            self.keep(whole.memory, whole, event.index)
            self.open = None

    def old_value(self, memory: Memory, whole: Tracked, index: tuple[int, ...]) -> Any:
        begin, end = _span(memory, whole, index)
        return self.bytes[id(memory)][begin:end].view(whole.raw.dtype)[0]

    def keep(self, memory: Memory, whole: Tracked, index: tuple[int, ...]) -> None:
        begin, end = _span(memory, whole, index)
        self.bytes[id(memory)][begin:end] = _bytes_of(memory)[begin:end]

    def take(self, fault: Fault | BarrierFault) -> None:
        """Take in a fault, with the events that it is about."""
        now = len(self.events) - 1
        if isinstance(fault, Fault) and fault.other is not None:
            event, other = self.events[now], fault.other
            thread = other.block, other.thread
            before = self.last.get((*event.element, thread, other.kind, other.place))
            if before is None:  # another part of the element
                same = [
                    k
                    for (memory, _, at, kind, place), k in self.last.items()
                    if (memory, at, kind, place) == (event.memory, thread, other.kind, other.place)
                    and self.events[k].index == event.index
                ]
                before = max(same, default=None)
            if before is not None:
                self.faults.append((fault, now, before))
        elif isinstance(fault, BarrierFault):
            self.faults.append((fault, now, None))
        elif fault.kind == "out of bounds":
            self.settle()
            access = fault.access
            self.events.append(Event(
                access.kind, (self.at,), self.turns[self.at], access.place, -1, -1, fault.array, fault.index, fault.space,
                epoch=self.moment.epoch, outside=fault,
            ))  # fmt: skip
            self.faults.append((fault, now + 1, None))

    # -- turns

    def begin(self, blocks: Iterable[int], arguments: tuple) -> None:
        """Begin these blocks: each of their threads stands before its first line."""
        for number in blocks:
            self.enter_block(number)
            shared = self.shared_of(number)
            threads = {
                thread: self.function(self.position(number, thread), shared, None, *arguments)
                for thread in self.order
            }
            self.blocks[number] = _Block(number, threads)

    def enter_block(self, number: int) -> None:
        if self.entered != number:
            if self.entered is not None:
                self.leave(self.entered)
            self.enter(number)
            self.entered = number
        if number in self.blocks:
            self.running = self.blocks[number].running

    def can_run(self, at: Thread) -> bool:
        block = self.blocks[at[0]]
        return at[1] in block.running and at[1] not in block.waiting

    def turn(self, at: Thread) -> None:
        """Give one thread one turn."""
        if self.left <= 0:
            raise OutOfTurns
        self.left -= 1
        number, thread = at
        self.enter_block(number)
        block, begin = self.blocks[number], len(self.events)
        self.at = at
        self.turns[at] = self.turns.get(at, 0) + 1
        try:
            asked = block.running[thread].send(block.answers.pop(thread, None))
        except StopIteration:
            del block.running[thread]
        else:
            if type(asked) is str:
                self.returned[at] = next(self.frames()).f_lineno
            elif asked is not None:
                block.waiting[thread] = asked
            for event in self.events[begin:]:
                event.site = tuple(frame.f_lasti for frame in self.frames())
        self.settle()

    def run_on(self, at: Thread, before: int | None = None, quantum: int = QUANTUM) -> bool:
        """Let a thread run until it waits or ends, or stands before a turn; return whether it did anything."""
        done = 0
        while done < quantum and self.can_run(at) and self.turns.get(at, 0) + 1 != before:
            self.turn(at)
            done += 1
        return done > 0

    def release(self, number: int, held: bool = False) -> bool:
        """Release what waits in a block none of whose threads can run; return whether anything was released.

        With `held`, the caller holds a thread of the block: then only lanes that lack no other lane go on.
        """
        block = self.blocks[number]
        if not block.waiting:
            return False
        self.enter_block(number)
        if held and not self.some_complete(block.waiting):
            return False
        if self.release_warps(block.waiting, block.answers):
            return True
        if held:
            return False
        self.for_grid = {
            thread: asked
            for thread, asked in block.waiting.items()
            if type(asked) is not int and asked[0] == GRID_SYNC
        }
        rest = {thread: asked for thread, asked in block.waiting.items() if thread not in self.for_grid}
        if not rest:
            return False
        self.release_block(rest, block.answers)
        block.waiting = self.for_grid
        return True

    def some_complete(self, waiting: dict[int, Any]) -> bool:
        """Return whether a group of lanes that wait together lacks no lane."""
        groups: dict[tuple, list[int]] = {}
        full = (1 << self.warp_size) - 1
        for thread, asked in waiting.items():
            if type(asked) is not int and asked[0] in (*self.takers, "syncwarp"):
                mask = int(asked[2]) & full if len(asked) > 2 else full
                groups.setdefault((thread // self.warp_size, asked[0], asked[1], mask), []).append(thread)
        return bool(groups) and not any(self.missing(key, threads) for key, threads in groups.items())

    def release_whole_grid(self) -> bool:
        """Release the grid, if all threads that are left wait at its barrier."""
        left = {number: block for number, block in self.blocks.items() if block.running}
        if not left or any(len(block.waiting) < len(block.running) for block in left.values()):
            return False
        at_grid = all(
            type(asked) is not int and asked[0] == GRID_SYNC
            for block in left.values()
            for asked in block.waiting.values()
        )
        if at_grid:
            waiting = [(number, thread) for number, block in left.items() for thread in block.waiting]
            number, thread = waiting[0]
            self.arrived = {at: left[at[0]].waiting[at[1]][1] for at in waiting}
            self.note("grid barrier", waiting, left[number].waiting[thread][1])
            self.release_grid({number: block.waiting for number, block in left.items()}, len(self.blocks))
            for block in left.values():
                block.waiting = {}
        return at_grid

    # -- barriers and fences

    def release_block(self, waiting: dict[int, Any], answers: dict[int, Any]) -> None:
        assert self.entered is not None
        lines = {thread: asked if type(asked) is int else asked[1] for thread, asked in waiting.items()}
        for_grid = {thread: asked[1] for thread, asked in self.for_grid.items()}
        self.arrived = {(self.entered, thread): line for thread, line in (lines | for_grid).items()}
        self.note("barrier", [(self.entered, thread) for thread in waiting], min(lines.values()))
        super().release_block(waiting, answers)

    def exchange(
        self, key: tuple[int, str, int, int], threads: list[int], waiting: dict, answers: dict
    ) -> None:
        if key[1] == "syncwarp":
            assert self.entered is not None
            self.note("warp barrier", [(self.entered, thread) for thread in threads], key[2])
        super().exchange(key, threads, waiting, answers)

    def fence(self, device: bool = True) -> None:
        self.note(
            "fence" if device else "block fence", [self.at], [frame.f_lineno for frame in self.frames()][-1]
        )
        super().fence(device)

    def frames(self) -> Iterator[Any]:
        """Yield the frames in which the running thread stands, the kernel's first."""
        generator: Any = self.running.get(self.at[1])
        while getattr(generator, "gi_frame", None) is not None:
            yield generator.gi_frame
            generator = generator.gi_yieldfrom

    def note(self, kind: str, by: list[Thread], line: int) -> None:
        self.settle()
        place = self.files.get(line, self.program.kernel.filename), line
        turn = self.turns.get(by[0], 0)
        self.events.append(Event(kind, tuple(by), turn, place, epoch=self.moment.epoch))


def _bytes_of(memory: Memory) -> np.ndarray:
    return memory.array.reshape(-1).view(np.uint8)


def _span(memory: Memory, whole: Tracked, index: tuple[int, ...]) -> tuple[int, int]:
    """Return where an element begins and ends in its allocation, in bytes."""
    begin = whole.address_of(index) * memory.unit if whole.shape else whole.base * memory.unit
    return begin, begin + whole.raw.dtype.itemsize


def _value(whole: Tracked, index: tuple[int, ...]) -> Any:
    return whole.raw[index].copy() if whole.shape else whole.raw[()]
