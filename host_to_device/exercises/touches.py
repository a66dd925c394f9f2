"""Which thread touched which element: watch a student's kernel once, and say and draw what its threads write.

The launch runs interpreted, under the watch of `h2d.check`, and only where a picture of it can be read: up to
`MOST_THREADS` threads and `MOST_ELEMENTS` elements an array, in one or two dimensions.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from host_to_device.checking.accesses import ATOMIC, READ, WRITE, Fault, OutOfBudget, Tracked
from host_to_device.checking.interpreted import Watch
from host_to_device.checking.notes import Notes
from host_to_device.checking.options import CheckOptions
from host_to_device.checking.schedules import Run
from host_to_device.exercises import safety
from host_to_device.exercises.judging import element
from host_to_device.exercises.student_runs import FILLS, InOut, Out, filled, shape_of
from host_to_device.rendering import svg
from host_to_device.rendering.palette import (
    BLUE,
    BLUE_SOFT,
    GREEN_SOFT,
    IDLE,
    INK,
    ORANGE_SOFT,
    QUIET,
    WARNING,
)
from host_to_device.standins import events
from host_to_device.standins.kernels import is_raw, stand_in_of
from host_to_device.standins.numba_cuda.errors import KernelStopped
from host_to_device.standins.numba_cuda.interpreting import shared_arrays
from host_to_device.standins.numba_cuda.launching import Launch, time_limit

MOST_THREADS = MOST_ELEMENTS = 64
MOST_ACCESSES = 20_000  # of all threads together
MOST_SECONDS = 2.0

Index = tuple[int, ...]


class _Seen(Notes):
    """Gets every access in place of the notes on performance."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.barriers = 0
        # Kind, array, place in its memory in bytes, block, thread of the block, barriers passed.
        self.accesses: set[tuple[str, str, int, int, int, int]] = set()

    def access(
        self, place: Any, kind: str, space: str, name: str, address: int, size: int, block: int, thread: int
    ) -> None:
        if space == "global":
            self.accesses.add((kind, name, address, block, thread, self.barriers))

    def barrier(self, block: int) -> None:
        self.barriers += 1

    def end_of_block(self, block: int) -> None:
        pass


def touches(
    kernel: Any,
    arguments: Sequence[Any],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Launch a kernel once on the stand-in, interpreted, and return which thread touched which element.

    The launch gets half of the time that is left, and 2 s at most. A kernel that raises, or that does not end, leaves
    what its threads touched until then.

    Parameters
    ----------
    kernel
        The student's kernel, made by `cuda.jit`.
    arguments, grid, block
        As for `run_kernel`; nothing is changed.
    names
        What to call the arguments; by default the names of the kernel's parameters.

    Returns
    -------
    dict
        "grid" and "block" are the launch configuration along x and y. "threads" is the number of threads in the grid;
        thread t is in block `t // (block[0] * block[1])`, and blocks and threads count along x first. "idle" has the
        threads that touch no array. "stopped" is None, or a dict of the "thread" in which the launch stopped early
        and the reason as "text". "arrays" has a dict for each array of one or two dimensions, by name: "shape";
        "role" ("input", "output" or "in-out"); "reads", "writes" and "atomics", sorted lists of `[thread, *index]`;
        "beyond", a sorted list of `[thread, "read" or "write", *index]` for the accesses outside the array; "clashes",
        the indices of the elements that several threads write, neither atomically nor with a barrier in between.
        The dict is empty if the launch is too large for a picture, if it has three dimensions, or if no thread runs:
        the kernel is not written yet, or the launch is refused.
    """
    sizes = [
        math.prod(shape_of(each)) if isinstance(each, Out | InOut) else each.size
        for each in arguments
        if isinstance(each, Out | InOut | np.ndarray)
    ]
    if is_raw(kernel) or max(sizes, default=0) > MOST_ELEMENTS:
        return {}
    sides: list[Any] = [tuple(each) if isinstance(each, list | tuple) else each for each in (grid, block)]
    with events.unheard(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about host arrays that a launch copies
        try:
            launch = Launch(stand_in_of(kernel, "touches"), *sides)
            if (
                math.prod((*launch.grid, *launch.block)) > MOST_THREADS
                or launch.grid[2] * launch.block[2] > 1
            ):
                return {}
            values = launch.prepare(tuple(map(_fresh, arguments)), {}, [])
        except Exception:  # the launch is refused
            return {}
        return _watched(launch, values, arguments, names)


def _fresh(argument: Any) -> Any:
    if isinstance(argument, Out):
        return filled(shape_of(argument), argument.dtype, FILLS[0])
    array = argument.array if isinstance(argument, InOut) else argument
    return array.copy() if isinstance(array, np.ndarray) else array


def _watched(
    launch: Launch, values: tuple, arguments: Sequence[Any], names: Sequence[str] | None
) -> dict[str, Any]:
    """Run a launch under watch and return what `touches` returns."""
    seconds = min(
        MOST_SECONDS, safety.BUSY * safety.seconds_left() / 2
    )  # below the limit of the processor's time
    options = CheckOptions((), (), (), 1, seconds, MOST_ACCESSES, 32, "7.5", False, False, True)
    program = launch.kernel.program
    run = Run(launch.kernel, program, options, launch, values, time.monotonic(), [])
    seen, faults = _Seen(), list[Any]()
    watch = Watch(
        run.typed,
        launch.grid,
        launch.block,
        shared_arrays(launch.arrays, launch.shared),
        faults.append,
        seconds=seconds,
        accesses=MOST_ACCESSES,
        notes=seen,
    )
    _, given = run.arguments(watch)
    stopped: str | None = None
    try:
        with time_limit(seconds):
            watch.run(range(run.blocks), given)
    except (KernelStopped, OutOfBudget):
        stopped = f"{launch.place(*watch.at)} did not end"
    except NotImplementedError:
        return {}
    except Exception as problem:
        stopped = run.failed(problem, watch).text
    per_block = run.threads
    parameters = program.kernel.parameters
    roles = {
        parameter: "output" if isinstance(each, Out) else "in-out" if isinstance(each, InOut) else "input"
        for parameter, each in zip(parameters, arguments, strict=True)
    }
    called = dict(zip(parameters, parameters if names is None else names, strict=True))
    arrays = {
        called[name]: {
            "shape": list(tracked.shape),
            "role": roles[name],
            **_of_array(name, tracked, seen, faults, per_block),
        }
        for name, tracked in zip(parameters, given, strict=True)
        if isinstance(tracked, Tracked) and len(tracked.shape) in (1, 2)
    }
    busy = {each[0] for array in arrays.values() for kind in _KINDS.values() for each in array[kind]}
    busy |= {each[0] for array in arrays.values() for each in array["beyond"]}
    threads = per_block * run.blocks
    return {
        "grid": list(launch.grid[:2]),
        "block": list(launch.block[:2]),
        "threads": threads,
        "idle": [thread for thread in range(threads) if thread not in busy],
        "stopped": stopped and {"thread": watch.at[0] * per_block + watch.at[1], "text": stopped},
        "arrays": arrays,
    }


_KINDS = {READ: "reads", WRITE: "writes", ATOMIC: "atomics"}


def _of_array(name: str, tracked: Tracked, seen: _Seen, faults: list, per_block: int) -> dict[str, list]:
    """Return the accesses to one array."""
    found: dict[str, set[tuple[int, ...]]] = {kind: set() for kind in _KINDS}
    writes = defaultdict(set)
    for kind, of, address, block, thread, barriers in seen.accesses:
        if of == name:
            index = tracked.index_of(address // tracked.memory.unit)
            if not all(0 <= k < size for k, size in zip(index, tracked.shape, strict=True)):
                continue  # what the check gives a kernel for a row outside the array lies in memory of its own
            found[kind].add((block * per_block + thread, *index))
            if kind == WRITE:
                writes[index].add((block, thread, barriers))
    beyond = {
        (
            fault.access.block * per_block + fault.access.thread,
            READ if fault.access.kind == READ else WRITE,
            *fault.index,
        )
        for fault in faults
        if isinstance(fault, Fault)
        and (fault.kind, fault.space, fault.array) == ("out of bounds", "global", name)
    }
    # A barrier orders the threads of a block; nothing orders the blocks.
    clashes = [
        index
        for index, by in writes.items()
        if any(
            one[0] != other[0] or (one[1] != other[1] and one[2] == other[2])
            for one, other in combinations(by, 2)
        )
    ]
    return {
        **{_KINDS[kind]: [list(each) for each in sorted(accesses)] for kind, accesses in found.items()},
        "beyond": [list(each) for each in sorted(beyond)],
        "clashes": [list(each) for each in sorted(clashes)],
    }


# -- what the threads write in one array


class _Writing:
    """What the threads of a launch write in one array, for its words and its picture."""

    def __init__(self, touched: dict[str, Any], name: str) -> None:
        array = touched["arrays"][name]
        self.name, self.touched, self.threads = name, touched, touched["threads"]
        self.shape: Index = tuple(array["shape"])
        self.stopped = touched["stopped"]
        self.flat = touched["grid"][1] == touched["block"][1] == 1
        self.written: dict[int, set[Index]] = defaultdict(set)
        self.writers: dict[Index, set[int]] = defaultdict(set)
        for thread, *index in (*array["writes"], *array["atomics"]):
            self.written[thread].add(tuple(index))
            self.writers[tuple(index)].add(thread)
        self.beyond: list[tuple[int, Index]] = [
            (thread, tuple(index)) for thread, kind, *index in array["beyond"] if kind == WRITE
        ]
        busy = {*self.written, *(thread for thread, _ in self.beyond)}
        self.idle = [thread for thread in range(self.threads) if thread not in busy]
        self.clashes = [tuple(index) for index in array["clashes"]]
        # After an early end, and in an array that had values before, an unwritten element is no fault.
        may_stay = self.stopped or array["role"] != "output"
        # Numba counts a negative index from the end, so such a write reaches an element.
        counted_back = {(k[0] + self.shape[0],) for _, k in self.beyond if len(k) == 1 and k[0] < 0}
        reached = {*self.writers, *counted_back}
        self.unwritten = [] if may_stay else [k for k in np.ndindex(self.shape) if k not in reached]

    def position(self, thread: int) -> Index:
        """Return a thread's x, or x and y, in the whole grid."""
        if self.flat:
            return (thread,)
        (blocks, _), (width, height) = self.touched["grid"], self.touched["block"]
        block, thread = divmod(thread, width * height)
        return block % blocks * width + thread % width, block // blocks * height + thread // width

    def label(self, thread: int) -> str:
        return ", ".join(map(str, self.position(thread)))

    def fill(self, thread: int) -> str:
        """Return the colour of a thread's block; neighbouring blocks differ."""
        (blocks, _), (width, height) = self.touched["grid"], self.touched["block"]
        block = thread // (width * height)
        return (BLUE_SOFT, GREEN_SOFT)[(block % blocks + block // blocks) % 2]


def words(touched: dict[str, Any], array: str = "out") -> str:
    """Return what the threads write in an array, as a line of text.

    Parameters
    ----------
    touched
        What `touches` has returned.
    array
        The array's name.

    Returns
    -------
    str
        Such as "8 threads, 5 elements of out: threads 0 to 4 write their own elements; threads 5 to 7 write nothing.";
        empty if there is no such array.
    """
    if array not in touched.get("arrays", {}):
        return ""
    of = _Writing(touched, array)
    elements = " × ".join(map(str, of.shape))
    head = f"{of.threads} thread{'s' * (of.threads > 1)}, {elements} element{'s' * (of.shape != (1,))} of {array}: "
    if not of.writers and not of.beyond:
        said = ["no thread writes an element"]
    else:
        one_axis = of.flat and len(of.shape) == 1
        said = _in_one_axis(of) if one_axis else _in_two_axes(of)
        if of.idle:
            said.append(f"{_threads(of.idle, of)} {_verb(of.idle)} nothing")
            if of.stopped:
                said[-1] += " before the kernel stopped"
        if of.unwritten:
            said.append(f"no thread writes {_elements(of.unwritten, of)}")
        if of.clashes:
            many = len(of.clashes) > 1
            numbers = {len(of.writers[index]) for index in of.clashes}
            each = f"{numbers.pop()} threads{' each' * many}" if len(numbers) == 1 else "several threads each"
            said.append(f"{_elements(of.clashes, of)} {'are' if many else 'is'} written by {each}")
    for name, each in touched["arrays"].items():
        readers = sorted({thread for thread, kind, *_ in each["beyond"] if kind == READ})
        if readers:
            said.append(f"{_threads(readers, of)} {_verb(readers, 'read')} outside the array {name}")
    if of.stopped:
        said.append(f"the kernel stopped: {of.stopped['text']}")
    return head + "; ".join(said).removesuffix(".") + "."


def _in_one_axis(of: _Writing) -> list[str]:
    """Return clauses about the writes of a one-dimensional grid in a one-dimensional array."""
    said = []
    own = [thread for thread, written in sorted(of.written.items()) if written == {(thread,)}]
    if own:
        theirs = "their own elements" if len(own) > 1 else "its own element"
        said.append(f"{_threads(own, of)} {_verb(own)} {theirs}")
    by_elements = defaultdict(list)
    for thread, written in sorted(of.written.items()):
        if thread not in own:
            by_elements[tuple(sorted(written))].append(thread)
    singles = [threads[0] for written, threads in by_elements.items() if len(written) == len(threads) == 1]
    if singles:
        elements = [k for thread in singles for (k,) in of.written[thread]]
        said.append(
            f"{_threads(singles, of)} {_verb(singles)} element{'s' * (len(singles) > 1)} {_series(elements)}"
        )
    groups = [(written, threads) for written, threads in by_elements.items() if threads[0] not in singles]
    for cells, threads in groups[:4]:
        every = " all" * (len(threads) > 2)
        said.append(f"{_threads(threads, of)}{every} {_verb(threads)} {_elements(cells, of)}")
    if more := sum(len(threads) for _, threads in groups[4:]):
        said.append(f"{more} more thread{'s write' if more > 1 else ' writes'} other elements")
    for where, outside, note in (
        (
            "before the start",
            [each for each in of.beyond if each[1][0] < 0],
            ", which Numba counts from the end",
        ),
        ("beyond the end", [each for each in of.beyond if each[1][0] >= 0], ""),
    ):
        if outside:
            threads = sorted({thread for thread, _ in outside})
            indices = list(dict.fromkeys(index[0] for _, index in outside))  # in the order of the threads
            places = f"ind{'ices' if len(indices) > 1 else 'ex'} {_series(indices)}{note}"
            said.append(f"{_threads(threads, of)} {_verb(threads)} {where} of {of.name}, at {places}")
    return said


def _in_two_axes(of: _Writing) -> list[str]:
    """Return clauses about the writes of a grid or in an array of two dimensions."""
    said = []
    rest = set(of.written)
    if not of.flat and len(of.shape) == 2:
        orders: list[tuple[str, Callable[[Index], Index]]] = [
            ("y, x", lambda at: at[::-1]),
            ("x, y", lambda at: at),
        ]
        own = [
            ({thread for thread in rest if of.written[thread] == {index_at(of.position(thread))}}, order)
            for order, index_at in orders
        ]
        theirs, order = max(own, key=lambda each: len(each[0]))
        if theirs:
            rest -= theirs
            whose = "their" if len(theirs) > 1 else "its"
            said.append(f"{_count(theirs)} {_verb(theirs)} {of.name}[{order}] at {whose} own x and y")
    if rest:
        elements = sorted({index for thread in rest for index in of.written[thread]})
        other = "other " * bool(said)
        written = f"{len(elements)} {other}elements" if len(elements) > 1 else _elements(elements, of)
        said.append(f"{_threads(sorted(rest), of)} {_verb(rest)} {written}")
    if of.beyond:
        outside = sorted({thread for thread, _ in of.beyond})
        first = element(of.name, of.beyond[0][1])
        where = f"outside the array {of.name}, the first at {first}"
        said.append(f"{_threads(outside, of)} {_verb(outside)} {where}")
    return said


def _count(threads: Collection[int]) -> str:
    return f"{len(threads)} thread{'s' * (len(threads) > 1)}"


def _verb(threads: Collection[int], verb: str = "write") -> str:
    return verb if len(threads) > 1 else f"{verb}s"


def _threads(threads: Sequence[int], of: _Writing) -> str:
    """Name threads: "threads 5 to 7"; of a two-dimensional grid "4 threads", or the only one by its x and y."""
    if of.flat:
        return f"thread{'s' * (len(threads) > 1)} {_series(threads)}"
    return _count(threads) if len(threads) > 1 else f"thread ({of.label(threads[0])})"


def _elements(indices: Sequence[Index], of: _Writing) -> str:
    """Name elements: "elements 5 to 7"; of two dimensions "4 elements, the first out[0, 3]", or "out[0, 3]"."""
    if len(of.shape) == 1:
        return f"element{'s' * (len(indices) > 1)} {_series([k for (k,) in indices])}"
    first = element(of.name, indices[0])
    return f"{len(indices)} elements (the first is {first})" if len(indices) > 1 else first


def _series(numbers: Sequence[int], most: int = 5) -> str:
    """Return numbers in their order, with stretches that go up or down by 1 as "0 to 4"."""
    stretches: list[list[int]] = []
    for number in numbers:
        last = stretches[-1] if stretches else []
        step = number - last[-1] if last else 0
        if abs(step) == 1 and (len(last) == 1 or step == last[1] - last[0]):
            last.append(number)
        else:
            stretches.append([number])
    texts = [
        f"{each[0]} to {each[-1]}" if len(each) > 2 else " and ".join(map(str, each)) for each in stretches
    ]
    if len(stretches) > 1 and all(len(each) < 3 for each in stretches):
        texts = [str(number) for number in numbers]
    if len(texts) > most:
        return ", ".join(texts[:most]) + ", …"
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


# -- the picture

# Lengths are in the SVG's own units, which are pixels where there is room: a page of 390 px has room for `WIDTH`.
WIDTH, CELL, BETWEEN, LINE_HEIGHT, SMALL = 350, 36, 66, 17, 12
IN_A_ROW = 16  # threads, or elements, that fit into the width with their numbers
OUTSIDE = 6  # indices outside an array of one dimension that are drawn


def picture(touched: dict[str, Any], array: str = "out") -> str:
    """Return a picture of what the threads write in an array.

    Up to 16 threads and elements of one dimension are two rows, with a line from each thread to the elements that it
    writes. Otherwise a cell for each element has the thread that writes it.

    Parameters
    ----------
    touched
        What `touches` has returned.
    array
        The array's name.

    Returns
    -------
    str
        An SVG whose alt text is `words`; empty if there is no such array.
    """
    if array not in touched.get("arrays", {}):
        return ""
    of = _Writing(touched, array)
    outside = sorted({index for _, index in of.beyond}, key=lambda index: _distance(index, of.shape))
    drawn = [index for index in outside if len(index) == len(of.shape) and _distance(index, of.shape) < 1000]
    in_rows = (
        of.flat and len(of.shape) == 1 and max(of.threads, of.shape[0] + len(drawn[:OUTSIDE])) <= IN_A_ROW
    )
    if in_rows:
        drawn = drawn[:OUTSIDE]
    elif len(of.shape) == 1:
        drawn = [index for index in drawn if index[0] > 0 and _distance(index, of.shape) <= OUTSIDE]
    else:  # two rows and columns on each side
        drawn = [index for index in drawn if _distance(index, of.shape) <= 2]
    parts, width, height = (_rows if in_rows else _cells)(of, sorted(drawn))
    captions = _captions(of, in_rows, len(outside) - len(drawn), bool(drawn))
    for k, (text, colour) in enumerate(captions):
        parts.append(svg.text(0, height + (k + 1) * LINE_HEIGHT, text, colour, size=SMALL))
        width = max(width, len(text) * SMALL * 0.53)
    view = (-2, -2, width + 4, height + len(captions) * LINE_HEIGHT + 8)
    return svg.picture(parts, words(touched, array), view)


def _distance(index: Index, shape: Index) -> int:
    return max(max(-k, k - size + 1) for k, size in zip(index, shape, strict=False))


def _captions(of: _Writing, in_rows: bool, hidden: int, drawn: bool) -> list[tuple[str, str]]:
    """Return the lines below the picture: what its marks mean."""
    found = []
    if not in_rows and of.writers:
        which = "number" if of.flat else "x, y"
        found.append((f"In each cell: {which} of the thread that writes it", QUIET))
    if of.idle:
        text = "Grey: this thread writes nothing"
        found.append((text if in_rows else f"{len(of.idle)} of {of.threads} threads write nothing", QUIET))
    several = {index: len(threads) for index, threads in of.writers.items() if len(threads) > 1}
    for indices, how, colour in (
        (several.keys() - of.clashes, ", one after another", QUIET),
        (set(of.clashes), "", WARNING),
    ):
        if indices:
            numbers = sorted({several[index] for index in indices})
            marks = ", ".join(f"{number}×" for number in numbers)
            threads = numbers[0] if len(numbers) == 1 else "several"
            found.append((f"{marks}: {threads} threads write this element{how}", colour))
    if of.unwritten:
        found.append(("Hatched: no thread writes this element", WARNING))
    if drawn:
        found.append(("Dashed: written, but outside the array", WARNING))
    if hidden:
        found.append(
            (f"{hidden} more ind{'ices' if hidden > 1 else 'ex'} outside the array written", WARNING)
        )
    if of.stopped:
        found.append((f"The kernel stopped in thread {of.label(of.stopped['thread'])}", WARNING))
    return found


def _box(of: _Writing, index: Index, x: float, y: float, side: float, inside: bool) -> list[str]:
    """Return the box of an element, without its text, and the colour of the text."""
    size, more = side, {"rx": 5}
    if not inside:
        return [svg.box(x, y, size, size, ORANGE_SOFT, stroke=WARNING, stroke_dasharray="3 3", **more)]
    if index in of.clashes:
        return [svg.box(x, y, size, size, ORANGE_SOFT, stroke=WARNING, **more)]
    if index in of.writers:
        return [svg.box(x, y, size, size, of.fill(min(of.writers[index])), **more)]
    if index not in of.unwritten:
        return [svg.box(x, y, size, size, "none", stroke=QUIET, **more)]
    parts = [svg.box(x, y, size, size, "none", stroke=WARNING, **more)]
    for part in (0.35, 0.7, 1.3, 1.65):  # hatching, from the left or lower edge to the upper or right one
        low, high = max(0.0, part - 1) * size, min(1.0, part) * size
        parts.append(svg.line(x + low, y + high, x + high, y + low, WARNING, stroke_opacity=0.45))
    return parts


def _rows(of: _Writing, outside: list[Index]) -> tuple[list[str], float, float]:
    """Return the threads above the elements, with lines between them, and the width and height of that."""
    per_block = of.touched["block"][0]
    blocks = of.threads // per_block
    size = of.shape[0]
    before, after = [k for (k,) in outside if k < 0], [k for (k,) in outside if k >= 0]
    left, gap = len(before) + 0.4 * bool(before), 0.3 if blocks < 5 else 0.15  # in steps
    columns = max(left + of.threads + gap * (blocks - 1), left + size + len(after) + 0.4 * bool(after))
    step = min(CELL + 4, WIDTH / columns)
    side = step - min(4, step / 7)
    font = min(14, side * 0.6)
    at_thread = [step * (left + k + gap * (k // per_block)) for k in range(of.threads)]
    at_element = {k: step * (left + k) for k in range(size)}
    at_element |= {k: step * place for place, k in enumerate(before)}
    at_element |= {k: step * (left + size + 0.4 + place) for place, k in enumerate(after)}
    parts, wide = [], per_block * step >= 50
    title = f"Threads, in blocks 0 to {blocks - 1}" if blocks > 1 and not wide else "Threads"
    parts.append(svg.text(0, SMALL, title, QUIET, size=SMALL))
    y = SMALL + 8.0
    if blocks > 1:
        y += LINE_HEIGHT
        for block in range(blocks):
            start = at_thread[block * per_block]
            end = at_thread[(block + 1) * per_block - 1] + side
            label = f"block {block}" if wide else str(block)
            parts.append(svg.text((start + end) / 2, y - 7, label, QUIET, "middle", SMALL))
            parts.append(svg.line(start, y - 2, end, y - 2, QUIET))
        y += 3
    lower = y + side + BETWEEN
    baseline = side / 2 + font * 0.36
    lines = [(thread, k) for thread, written in of.written.items() for (k,) in written]
    lines += [(thread, k) for thread, (k,) in of.beyond if k in at_element]
    for thread, k in sorted(lines):
        warns = (k,) in of.clashes or not 0 <= k < size
        x1, x2 = at_thread[thread] + side / 2, at_element[k] + side / 2
        colour = WARNING if warns else BLUE
        parts.append(svg.line(x1, y + side, x2, lower - 2, colour, stroke_width=1.5))
        parts.append(svg.circle(x2, lower - 2, 2.5, colour))
    for thread, x in enumerate(at_thread):
        idle = thread in of.idle
        edge: dict[str, Any] = {"stroke": QUIET, "stroke_dasharray": "3 3"} if idle else {}
        colour = QUIET if idle else INK
        if of.stopped and thread == of.stopped["thread"]:
            edge, colour = {"stroke": WARNING}, WARNING
        parts.append(svg.box(x, y, side, side, IDLE if idle else of.fill(thread), rx=side / 2, **edge))
        parts.append(svg.text(x + side / 2, y + baseline, str(thread), colour, "middle", font))
    under = lower + side + SMALL + 2
    for k, x in at_element.items():
        inside = 0 <= k < size
        parts += _box(of, (k,), x, lower, side, inside)
        bad = not inside or (k,) in of.clashes or (k,) in of.unwritten
        colour = WARNING if bad else INK
        fits = min(font, (side - 3) / (0.6 * len(str(k))))
        parts.append(svg.text(x + side / 2, lower + baseline, str(k), colour, "middle", fits))
        if len(of.writers.get((k,), ())) > 1:
            number = f"{len(of.writers[(k,)])}×"
            parts.append(svg.text(x + side / 2, under, number, colour, "middle", min(SMALL, font)))
    if any(len(threads) > 1 for threads in of.writers.values()):
        under += LINE_HEIGHT
    parts.append(svg.text(0, under, f"Elements of {of.name}", QUIET, size=SMALL))
    return parts, columns * step, under + 6


def _cells(of: _Writing, outside: list[Index]) -> tuple[list[str], float, float]:
    """Return the elements as cells with the threads that write them, and the width and height of that."""
    wrap = 8 if len(of.shape) == 1 else 0  # a one-dimensional array in rows of eight
    inside = list(np.ndindex(of.shape))
    places = {index: divmod(index[0], wrap) if wrap else index for index in (*inside, *outside)}
    ends = [{place[axis] for place in places.values()} for axis in (0, 1)]
    rows, columns = (range(min(each), max(each) + 1) for each in ends)
    label, top = 26.0, 2.0 * LINE_HEIGHT + 6
    step = max(28.0, min(CELL + 4, (WIDTH - label) / len(columns)))
    side = step - 4
    font = min(14, side * (0.42 if of.flat else 0.37))
    title = f"Elements of {of.name}" if wrap else f"Elements {of.name}[row, column]"
    parts = [svg.text(0, SMALL, title, QUIET, size=SMALL)]
    for place, column in enumerate(columns):
        text = f"+{column}" if wrap else str(column)
        parts.append(svg.text(label + place * step + side / 2, top - 6, text, QUIET, "middle", SMALL))
    for place, row in enumerate(rows):
        text = str(row * wrap if wrap else row)
        parts.append(svg.text(label - 8, top + place * step + side / 2 + 4, text, QUIET, "end", SMALL))
    beyond = defaultdict(set)
    for thread, index in of.beyond:
        beyond[index].add(thread)
    for index, (row, column) in places.items():
        x, y = label + (column - columns[0]) * step, top + (row - rows[0]) * step
        parts += _box(of, index, x, y, side, index not in outside)
        threads = of.writers.get(index) or beyond.get(index)
        if threads:
            text = of.label(min(threads)) if len(threads) == 1 else f"{len(threads)}×"
            bad = index in outside or index in of.clashes
            parts.append(
                svg.text(
                    x + side / 2, y + side / 2 + font * 0.36, text, WARNING if bad else INK, "middle", font
                )
            )
    return parts, label + len(columns) * step, top + len(rows) * step
