"""The allocator explorer: a small program on a model of PyTorch's caching allocator, one step at a time.

The model has sizes and addresses only. Its rules are those of PyTorch's documentation ("CUDA semantics", Memory
management) and source (c10/core/AllocatorConfig.h; c10/cuda/CUDACachingAllocator.cpp: `round_size`,
`get_allocation_size`, `get_free_block`, `should_split`, `free_block`, `release_cached_blocks`, and the note "Expandable
Segments"), for one stream and without options:

- A tensor takes a multiple of 512 bytes.
- Up to 1 MiB it comes from a segment of 2 MiB, below 10 MiB from one of 20 MiB, and from 10 MiB on it needs a segment of
  its own size, rounded up to 2 MiB. Both kinds of tensors never share a segment.
- The smallest free block that fits is taken. What remains of it becomes a block if it has 512 bytes (small tensors) or
  more than 1 MiB (large ones).
- A freed block joins its free neighbours. Its segment stays reserved.
- Before an allocation is refused, and in `empty_cache()`, all segments without a tensor go back to the driver.

With `expandable_segments` there is one segment for small tensors and one for large ones. It grows by pages of 2 MiB or 20
MiB, at the lowest address where the tensor fits, and gives back pages on which no tensor lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from host_to_device.exploring.explorer import Choice, Explorer, Number, Picture
from host_to_device.rendering import svg, units
from host_to_device.rendering.palette import (
    BLUE,
    BLUE_SOFT,
    INK,
    LINE,
    ORANGE,
    ORANGE_SOFT,
    QUIET,
    WARNING,
)
from host_to_device.rendering.table import Table

MIB = 2**20
SMALLEST = 512  # bytes of a block, and what all sizes are multiples of
SMALL = MIB  # bytes of the largest tensor that comes from a small segment
SMALL_SEGMENT, LARGE_SEGMENT = 2 * MIB, 20 * MIB
OWN_SEGMENT, ROUND_OWN = 10 * MIB, 2 * MIB  # from this size on a segment of its own, in multiples of 2 MiB


def rounded(nbytes: int) -> int:
    """Return the bytes of the block that a tensor of `nbytes` takes."""
    return max(1, -(-nbytes // SMALLEST)) * SMALLEST


def segment_bytes(size: int) -> int:
    """Return the bytes of the segment that a block of `size` bytes needs if no free block fits."""
    if size <= SMALL:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if size < OWN_SEGMENT else -(-size // ROUND_OWN) * ROUND_OWN


@dataclass
class Block:
    """A part of a segment.

    Attributes
    ----------
    start
        Its first byte in the segment.
    size
        Its bytes.
    tensor
        The name of the tensor that has it; "" if no tensor has it.
    mapped
        Whether there is memory behind its addresses. Only an expandable segment has blocks without.
    """

    start: int
    size: int
    tensor: str = ""
    mapped: bool = True

    @property
    def is_free(self) -> bool:
        """Whether it is memory that no tensor has."""
        return self.mapped and not self.tensor


@dataclass
class Segment:
    """Blocks with consecutive addresses.

    Attributes
    ----------
    small
        Whether it is for small tensors.
    blocks
        Its blocks by address.
    page
        Bytes by which it grows and shrinks; 0 if it cannot.
    """

    small: bool
    blocks: list[Block]
    page: int = 0

    @property
    def reserved(self) -> int:
        """The bytes of memory that it has."""
        return sum(block.size for block in self.blocks if block.mapped)

    def cut(self, block: Block, size: int) -> None:
        """Cut a block in two, the first with `size` bytes."""
        rest = Block(block.start + size, block.size - size, block.tensor, block.mapped)
        block.size = size
        self.blocks.insert(self.blocks.index(block) + 1, rest)

    def join(self) -> None:
        """Join neighbours that no tensor has and that are both memory, or both not."""
        joined: list[Block] = []
        for block in self.blocks:
            last = joined[-1] if joined else None
            if last and not last.tensor and not block.tensor and last.mapped == block.mapped:
                last.size += block.size
            else:
                joined.append(block)
        self.blocks = joined

    def room(self, at: int) -> int:
        """Return the bytes without a tensor from the block at a place on, with and without memory."""
        found = 0
        for block in self.blocks[at:]:
            if block.tensor:
                break
            found += block.size
        return found


@dataclass
class Allocator:
    """A model of PyTorch's caching allocator for one stream.

    Attributes
    ----------
    capacity
        Bytes of memory that the driver has.
    expandable
        Whether segments are expandable.
    segments
        The segments in the order in which they were made.
    given_back
        Bytes that went back to the driver so far.
    """

    capacity: int
    expandable: bool = False
    segments: list[Segment] = field(default_factory=list)
    given_back: int = 0

    @property
    def reserved(self) -> int:
        """Bytes of all segments."""
        return sum(segment.reserved for segment in self.segments)

    @property
    def allocated(self) -> int:
        """Bytes of all blocks that tensors have."""
        return sum(block.size for segment in self.segments for block in segment.blocks if block.tensor)

    @property
    def largest(self) -> int:
        """Bytes of the largest block that no tensor has; 0 if there is none."""
        return max(
            (block.size for each in self.segments for block in each.blocks if block.is_free), default=0
        )

    def allocate(self, tensor: str, nbytes: int) -> bool:
        """Give a tensor a block; return whether there was one."""
        size = rounded(nbytes)
        small = size <= SMALL
        found = self._best(size, small) or self._new(size, small)
        if found is None:
            self.empty_cache()
            found = self._new(size, small)
        if found is None:
            return False
        segment, block = found
        rest = block.size - size
        if rest >= SMALLEST if small or self.expandable else rest > SMALL:
            segment.cut(block, size)
        block.tensor = tensor
        return True

    def free(self, tensor: str) -> None:
        """Take a tensor's block from it; nothing happens if it has none."""
        for segment in self.segments:
            for block in segment.blocks:
                if block.tensor == tensor:
                    block.tensor = ""
            segment.join()

    def empty_cache(self) -> None:
        """Give memory on which no tensor lies back to the driver: whole segments, or whole pages."""
        before = self.reserved
        for segment in self.segments:
            if segment.page:
                _unmap(segment)
        self.segments = [
            each for each in self.segments if each.page or len(each.blocks) > 1 or each.blocks[0].tensor
        ]
        self.given_back += before - self.reserved

    def _best(self, size: int, small: bool) -> tuple[Segment, Block] | None:
        """Return the smallest free block that fits; of expandable segments, the one that can grow the least."""
        fits = [
            (block.size, number, block.start, segment, block)
            for number, segment in enumerate(self.segments)
            for block in segment.blocks
            if segment.small == small and block.is_free and block.size >= size
        ]
        fits.sort(key=lambda each: each[:3])
        for place, (*_, segment, block) in enumerate(fits):
            rest = fits[place + 1 :]
            if not segment.page or not rest or _can_reach(*rest[0][3:]) >= _can_reach(segment, block):
                return segment, block
        return None

    def _new(self, size: int, small: bool) -> tuple[Segment, Block] | None:
        """Return a free block of new memory; None if the driver has too little."""
        if self.expandable:
            return self._grown(size, small)
        nbytes = segment_bytes(size)
        if self.reserved + nbytes > self.capacity:
            return None
        segment = Segment(small, [Block(0, nbytes)])
        self.segments.append(segment)
        return segment, segment.blocks[0]

    def _grown(self, size: int, small: bool) -> tuple[Segment, Block] | None:
        """Return a block of an expandable segment after it has grown, at the lowest address where `size` bytes fit."""
        for segment in (each for each in self.segments if each.small == small):
            for at, block in enumerate(segment.blocks):
                if block.mapped:
                    continue
                first = at - 1 if at and segment.blocks[at - 1].is_free else at
                if segment.room(first) >= size:
                    return self._map(segment, segment.blocks[first].start, size)
        page = SMALL_SEGMENT if small else LARGE_SEGMENT
        addresses = (
            -(-(self.capacity + self.capacity // 8) // page) * page
        )  # as PyTorch: an eighth more than memory
        segment = Segment(small, [Block(0, addresses, mapped=False)], page)
        self.segments.append(segment)
        return self._map(segment, 0, size)

    def _map(self, segment: Segment, start: int, size: int) -> tuple[Segment, Block] | None:
        """Put pages behind the addresses from `start` on that have none, until a free block there has `size` bytes."""
        while True:
            at = max(place for place, each in enumerate(segment.blocks) if each.start <= start)
            block = segment.blocks[at]
            if block.mapped and block.size >= size:
                return segment, block
            missing = segment.blocks[at + 1] if block.mapped else block
            wanted = min(size - block.size if block.mapped else size, missing.size)
            pages = -(-wanted // segment.page) * segment.page
            if self.reserved + pages > self.capacity:
                return None
            if pages < missing.size:
                segment.cut(missing, pages)
            missing.mapped = True
            segment.join()


def _can_reach(segment: Segment, block: Block) -> int:
    """Return the bytes of a free block with the addresses without memory behind it."""
    after = segment.blocks[segment.blocks.index(block) + 1 :]
    return block.size + (after[0].size if after and not after[0].mapped else 0)


def _unmap(segment: Segment) -> None:
    """Take the memory from all pages of an expandable segment on which no tensor lies."""
    for block in list(segment.blocks):
        if not block.is_free:
            continue
        begin = -(-block.start // segment.page) * segment.page
        end = (block.start + block.size) // segment.page * segment.page
        if begin >= end:
            continue
        if begin > block.start:
            segment.cut(block, begin - block.start)
            block = segment.blocks[segment.blocks.index(block) + 1]
        if end < block.start + block.size:
            segment.cut(block, end - block.start)
        block.mapped = False
    segment.join()


CAPACITY = 142 * MIB  # of the explorer's small GPU; all of it is the driver's at first
FEATURES = tuple(f"f{number}" for number in range(1, 9))
STEPS = 15
BATCHES = (4, 8, 12, 20)
SEGMENTS = {"fixed": "the default", "expandable": "expandable_segments"}
DOES = {"no": "nothing", "yes": "empty_cache()"}


@dataclass(frozen=True)
class Step:
    """A step of the program, and the memory after it.

    Attributes
    ----------
    code
        The step's line.
    wanted
        Bytes of the tensor that it makes; 0 if it makes none.
    refused
        Whether the allocation was refused.
    given_back
        Bytes that went back to the driver, by `empty_cache()` or before a new segment.
    allocated, reserved, largest
        Bytes of all tensors' blocks, of all segments, and of the largest block without a tensor.
    segments
        The segments; each is a list of blocks.
    """

    code: str
    wanted: int
    refused: bool
    given_back: int
    allocated: int
    reserved: int
    largest: int
    segments: tuple[tuple[Block, ...], ...]

    @property
    def unallocated(self) -> int:
        """Reserved bytes without a tensor."""
        return self.reserved - self.allocated


def lines(batch: int, *, empty: bool) -> Iterator[tuple[str, dict[str, int], tuple[str, ...]]]:
    """Yield the steps of the program: the code, the bytes of the tensor that it makes, the tensors that it deletes."""
    yield "scale = one number", {"scale": 4}, ()
    yield "weights = 14 MiB", {"weights": 14 * MIB}, ()
    for name in FEATURES:
        yield f"{name} = {batch} MiB", {name: batch * MIB}, ()
    yield f"del {', '.join(FEATURES[::2])}", {}, FEATURES[::2]
    yield DOES["yes" if empty else "no"], {}, ()
    yield f"big = {6 * batch} MiB", {"big": 6 * batch * MIB}, ()
    yield f"del {', '.join(FEATURES[1::2])}", {}, FEATURES[1::2]
    yield f"more = {6 * batch} MiB", {"more": 6 * batch * MIB}, ()


def run(batch: int, *, expandable: bool, empty: bool) -> list[Step]:
    """Return all steps. The program catches the error of a refused allocation and goes on without the tensor."""
    allocator, found = Allocator(CAPACITY, expandable), []
    for code, made, deleted in lines(batch, empty=empty):
        refused, allocator.given_back = False, 0
        for name, nbytes in made.items():
            refused = not allocator.allocate(name, nbytes)
        for name in deleted:
            allocator.free(name)
        if code == DOES["yes"]:
            allocator.empty_cache()
        found.append(
            Step(
                code,
                sum(made.values()),
                refused,
                allocator.given_back,
                allocator.allocated,
                allocator.reserved,
                allocator.largest,
                tuple(tuple(replace(block) for block in each.blocks) for each in allocator.segments),
            )
        )
    return found


# Lengths in the SVG's own units: the picture's width, a row of the program, the height of the memory, a letter of a name.
WIDTH, ROW, HIGH, LETTER = 460, 17, 34, 6
LEFT, ALLOCATED, RESERVED = (
    22,
    352,
    WIDTH - 2,
)  # where the code begins and where the two columns of numbers end
SCALE = (WIDTH - 4) / CAPACITY
TENSOR, FREE = (BLUE_SOFT, BLUE), (ORANGE_SOFT, ORANGE)


@dataclass(frozen=True)
class AllocatorPicture(Picture):
    """A program and the memory of a caching allocator after one of its steps; see `explore_allocator`."""

    batch: int = 8
    step: int = 13
    segments: str = "fixed"
    empty: str = "no"

    controls: ClassVar = {
        "batch": Choice("batch", {size: str(size) for size in BATCHES}, ordered=True),
        "step": Number("step", 1, STEPS),
        "segments": Choice("segments", SEGMENTS),
        "empty": Choice("step 12", DOES),
    }
    key: ClassVar = (
        f"A model of PyTorch's allocator on a GPU of {CAPACITY // MIB} MiB; nothing was run. Blue has a tensor, orange is "
        "reserved but unallocated, the rest is the driver's. A frame is a segment, or pages without a gap. "
        "The program catches the error of a refused allocation and goes on."
    )
    folded: ClassVar = "The numbers of the message, if an allocation were refused here, and all blocks"

    @cached_property
    def steps(self) -> list[Step]:
        """All steps of the program."""
        return run(self.batch, expandable=self.segments == "expandable", empty=self.empty == "yes")

    @property
    def now(self) -> Step:
        """The step that the picture shows."""
        return self.steps[self.step - 1]

    @property
    def warns(self) -> bool:
        """Whether this step's allocation was refused."""
        return self.now.refused

    @property
    def needs(self) -> int:
        """Bytes of the segment or of the pages that the message of a refused allocation names; 0 if there is none."""
        return segment_bytes(rounded(self.now.wanted)) if self.now.refused else 0

    def summary(self) -> str:
        """Return what the picture shows, in a few sentences."""
        now = self.now
        free = CAPACITY - now.reserved
        whole = "segment" if self.segments == "fixed" else "page of 20 MiB"
        said = (
            f"Step {self.step}, {now.code}: {_mib(now.allocated)} allocated, {_mib(now.reserved)} reserved, "
            f"{_mib(free)} free. "
        )
        if now.code == DOES["yes"]:
            if now.given_back:
                return (
                    f"{said}empty_cache() gave {_mib(now.given_back)} back to the driver. It freed no tensor."
                )
            return f"{said}empty_cache() gave nothing back: each {whole} holds a tensor. {_largest(now)}"
        if now.given_back:
            said += f"Before it asked the driver again, PyTorch gave {_mib(now.given_back)} back by itself. "
        if not now.refused:
            return said + _largest(now)
        said += f"Refused: {_mib(now.wanted)} were wanted. "
        if now.wanted > free + now.unallocated:
            return f"{said}Only {_mib(free + now.unallocated)} of the GPU have no tensor: free tensors, or make them smaller."
        return (
            f"{said}{_mib(free)} free and {_mib(now.unallocated)} unallocated would be enough together. But the largest "
            f"unallocated block has {_mib(now.largest)}, and PyTorch cannot give a {whole} back that holds a tensor. "
            "The memory is fragmented."
        )

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        done = "; ".join(
            f"{number}: {each.code}{', refused' if each.refused else ''}"
            for number, each in enumerate(self.steps[: self.step], 1)
        )
        memory = "; ".join(
            ", ".join(f"{block.tensor or 'unallocated'} {_mib(block.size)}" for block in each)
            for each in _runs(self.now)
        )
        return f"The steps of a program. {done}. Below, the segments of the memory to scale. {memory}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: the program with its numbers, and the memory after the step."""
        parts = [
            svg.text(ALLOCATED, 12, "allocated", TENSOR[1], "end"),
            svg.text(RESERVED, 12, "reserved", WARNING, "end"),
        ]
        y = 12.0
        for number, each in enumerate(self.steps, 1):
            y += ROW
            later: dict[str, Any] = {"opacity": 0.5} if number > self.step else {}
            colour = WARNING if each.refused and not later else INK
            if number == self.step:
                parts.append(svg.box(0, y - 13, WIDTH, ROW, BLUE_SOFT, rx=3))
            parts.append(svg.text(LEFT - 4, y, str(number), QUIET, "end", **later))
            parts.append(svg.text(LEFT + 2, y, each.code, colour, **later))
            if later:
                continue
            if each.refused:
                parts.append(svg.text(LEFT + 190, y, "refused", WARNING, "end"))
            parts.append(svg.text(ALLOCATED, y, _mib(each.allocated), anchor="end"))
            parts.append(svg.text(RESERVED, y, _mib(each.reserved), anchor="end"))
        memory, y = self._memory(y + 14)
        return svg.picture([*parts, *memory], self.alt(), (0, 0, WIDTH, y), WIDTH * 1.35)

    def _memory(self, top: float) -> tuple[list[str], float]:
        """Return the memory to scale, and the height of the picture."""
        parts = [svg.box(2, top, CAPACITY * SCALE, HIGH, "none", stroke=LINE)]
        x = 2.0
        for each in _runs(self.now):
            begin = x
            for block in each:
                width = block.size * SCALE
                fill, _ = TENSOR if block.tensor else FREE
                parts.append(svg.box(x, top, width, HIGH, fill, stroke=LINE, stroke_width=0.5))
                if width >= LETTER * len(block.tensor) + 2 and block.tensor:
                    parts.append(svg.text(x + width / 2, top + 21, block.tensor, anchor="middle", size=10))
                x += width
            parts.append(svg.box(begin, top, x - begin, HIGH, "none", stroke=INK, stroke_width=1.2))
        y = top + HIGH
        if self.now.refused:
            width, names = self.now.wanted * SCALE, f"wanted: {_mib(self.now.wanted)}"
            parts.append(svg.box(2, y + 6, width, 10, "none", stroke=WARNING, stroke_width=1.5))
            parts.append(
                svg.text(min(width + 8, WIDTH - 130), y + (15 if width < WIDTH - 140 else 30), names, WARNING)
            )
            y += 22 if width < WIDTH - 140 else 34
        return parts, y + 8

    def table(self) -> Table:
        """Return the numbers of the message that a refused allocation would have, and the blocks."""
        now = self.now
        tried = f"{_mib(self.needs)} (for a tensor of {_mib(now.wanted)})" if now.refused else "–"
        rows = [
            ("Tried to allocate", tried),
            ("total capacity", _mib(CAPACITY)),
            ("free", _mib(CAPACITY - now.reserved)),
            ("this process has", _mib(now.reserved)),
            ("allocated by PyTorch", _mib(now.allocated)),
            ("reserved by PyTorch but unallocated", _mib(now.unallocated)),
            ("largest unallocated block (not in the message)", _mib(now.largest)),
        ]
        for number, each in enumerate(_runs(now), 1):
            blocks = ", ".join(f"{block.tensor or 'unallocated'} {_mib(block.size)}" for block in each)
            rows.append((f"segment {number}, {_mib(sum(block.size for block in each))}", blocks))
        caption = (
            f"Computed by the model after step {self.step}, {now.code}; no program printed these numbers"
        )
        return Table(caption, ("number", "value"), tuple(rows))


def _runs(step: Step) -> list[list[Block]]:
    """Return the blocks that are memory, by segments; gaps of an expandable segment cut it."""
    found: list[list[Block]] = []
    for each in step.segments:
        found.append([])
        for block in each:
            if block.mapped:
                found[-1].append(block)
            else:
                found.append([])
    return [each for each in found if each]


def _largest(step: Step) -> str:
    if not step.unallocated:
        return "No block is unallocated."
    return f"{_mib(step.unallocated)} are unallocated; the largest block has {_mib(step.largest)}."


def _mib(nbytes: int) -> str:
    return units.amount(nbytes) if 0 < nbytes < MIB else f"{nbytes / MIB:.2f} MiB".replace(".00 ", " ")


def explore_allocator(
    batch: int = 8, step: int = 13, segments: str = "fixed", empty: str = "no"
) -> Explorer[AllocatorPicture]:
    """Show why PyTorch can refuse an allocation although memory is free; a slider moves through a small program.

    The program makes eight tensors, deletes every second one, and then wants one large tensor. A model of PyTorch's
    caching allocator computes where each tensor lies, on a GPU of 142 MiB. Nothing is run, and no message is printed.

    Parameters
    ----------
    batch
        4, 8, 12 or 20: the MiB of each of the eight tensors; the large tensor has six times as many.
    step
        The step after which the memory is shown, 1 to 15.
    segments
        "fixed": PyTorch's default. "expandable": with `expandable_segments:True`.
    empty
        "yes": the program calls `torch.cuda.empty_cache()` in step 12. "no": it does not.

    Raises
    ------
    ValueError
        If a value is not one of these.

    Examples
    --------
    >>> explorer = h2d.explore_allocator(batch=8, step=13)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    Step 13, big = 48 MiB: 46 MiB allocated, 96 MiB reserved, 46 MiB free. Refused: 48 MiB were wanted...
    """
    return Explorer(AllocatorPicture(batch, step, segments, empty))
