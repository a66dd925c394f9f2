"""`h2d.occupancy`: how many blocks of a kernel fit on a multiprocessor at a time, and which resource limits them.

A block gets its warps, registers and shared memory when it starts and keeps them until it ends, so the resource that
runs out first limits how many blocks are resident together. Occupancy is the share of the multiprocessor's warp slots
that they fill. It is computed, not measured, by the rules of NVIDIA's `cuda_occupancy.h` and, for AMD, by the limits in
LLVM's back end.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from host_to_device.hardware import gpus
from host_to_device.inspecting.needs import Needs, needs_of
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, DARK, GREEN, INK, LINE, ORANGE, PURPLE, QUIET
from host_to_device.rendering.table import Table

REGISTERS, SHARED, WARPS, BLOCKS = "registers", "shared memory", "warps", "blocks"
SCALAR = "scalar registers"

COLOURS = {REGISTERS: BLUE, SHARED: ORANGE, WARPS: GREEN, BLOCKS: PURPLE, SCALAR: QUIET}
LETTERS = {
    REGISTERS: "r",
    SHARED: "s",
    WARPS: "w",
    BLOCKS: "b",
    SCALAR: "c",
}  # the letter says in black and white what the colour says


@dataclass(frozen=True)
class Fit:
    """How often a block of one size fits on a multiprocessor."""

    threads: int
    blocks: int
    warps: int
    occupancy: float
    limits: dict[str, float]  # blocks that each resource has room for; infinite if a block takes none of it
    taken: dict[str, int]  # units of each resource that one block takes, as they are allocated

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resource with the least room; more than one if they tie."""
        return tuple(name for name, blocks in self.limits.items() if blocks == self.blocks)


def fit(architecture: gpus.Architecture, needs: Needs, threads: int) -> Fit:
    """Return how many blocks of `threads` threads fit on a multiprocessor; 0 if the block cannot run at all."""
    a = architecture
    warps = _divided(threads, a.warp_size)
    registers = _rounded(needs.registers * a.warp_size, a.register_unit)  # of a warp
    shared = _rounded(needs.shared + a.shared_reserved, a.shared_unit)
    limits = {
        REGISTERS: _by_registers(a, needs.registers, registers, warps),
        SHARED: _by_shared(a, needs.shared, shared),
        WARPS: a.warps_per_multiprocessor // warps if threads <= a.threads_per_block else 0,
        BLOCKS: a.blocks_per_multiprocessor,
    }
    taken = {REGISTERS: registers * warps, SHARED: shared, WARPS: warps, BLOCKS: 1}
    if a.vendor == "AMD":
        if warps == 1:  # a work-group of one wavefront needs no barrier slot
            limits[BLOCKS] = math.inf
        if a.scalar_registers and needs.scalar_registers:
            of_wave = _rounded(needs.scalar_registers, a.scalar_register_unit or 1)
            limits[SCALAR] = a.scalar_registers // of_wave * a.parts // warps
            taken[SCALAR] = of_wave * warps
    blocks = int(min(limits.values()))
    return Fit(threads, blocks, blocks * warps, blocks * warps / a.warps_per_multiprocessor, limits, taken)


def _by_registers(a: gpus.Architecture, of_thread: int, of_warp: int, warps: int) -> float:
    """Return the blocks that registers have room for. A warp's registers lie in one part, so leftovers do not add up."""
    if of_warp == 0:
        return math.inf
    in_part = a.registers_per_multiprocessor // a.parts // of_warp  # warps
    if of_thread > a.registers_per_thread or _divided(warps, a.parts) > in_part:
        return 0
    return in_part * a.parts // warps


def _by_shared(a: gpus.Architecture, asked: int, allocated: int) -> float:
    if asked > a.shared_per_block:
        return 0
    return a.shared_per_multiprocessor // allocated if allocated else math.inf


def _divided(count: int, size: int) -> int:
    return -(-count // size)


def _rounded(count: int, unit: int) -> int:
    return _divided(count, unit) * unit


class Occupancy:
    """The result of `h2d.occupancy`: for the given block size, and for every other one.

    Attributes
    ----------
    gpu
        The GPU, a row of `host_to_device.hardware.gpus`.
    threads_per_block
        Threads of a block.
    blocks, warps
        Blocks and warps that are resident on a multiprocessor at a time.
    occupancy
        The share of the multiprocessor's warp slots that these warps fill: 0 to 1.
    limited_by
        The resources that limit the number of blocks: "registers", "shared memory", "warps", "blocks".
    limits
        The number of blocks that each resource has room for.
    over_sizes
        (threads per block, occupancy, limiting resources) for every block size of whole warps.
    """

    def __init__(self, gpu: gpus.GPU, threads: int, needs_at: Callable[[int], Needs], of: str = "") -> None:
        self.gpu, self.threads_per_block, self.of = gpu, threads, of
        self.needs = needs_at(threads)
        a = gpu.architecture
        self._fit = fit(a, self.needs, threads)
        sizes = range(a.warp_size, a.threads_per_block + 1, a.warp_size)
        self._fits = tuple(fit(a, needs_at(size), size) for size in sizes)
        self.blocks, self.warps, self.occupancy = self._fit.blocks, self._fit.warps, self._fit.occupancy
        self.limited_by, self.limits = self._fit.limited_by, self._fit.limits

    @property
    def over_sizes(self) -> tuple[tuple[int, float, tuple[str, ...]], ...]:
        return tuple((each.threads, each.occupancy, each.limited_by) for each in self._fits)

    @property
    def _words(self) -> tuple[str, str, str]:
        """The maker's words for a multiprocessor, warps and blocks."""
        if self.gpu.vendor == "NVIDIA":
            return "SM", "warps", "blocks"
        return ("WGP" if "RDNA" in self.gpu.architecture.family else "CU"), "wavefronts", "work-groups"

    def summary(self) -> str:
        """Return the result in a sentence or two."""
        unit, warps, blocks = self._words
        a = self.gpu.architecture
        if not self.blocks:
            return f"It cannot run: {self._too_much()}."
        text = (
            f"{_count(self.blocks, blocks)} of {self.threads_per_block:,} threads on {_with_article(unit)} at a "
            f"time: {self.warps} of {a.warps_per_multiprocessor} {warps}, occupancy {self.occupancy:.0%}. "
        )
        text += (
            f"All {warps[:-1]} slots are in use."
            if self.occupancy == 1
            else f"Limited by {_listed(self.limited_by)}."
        )
        if empty := -self.threads_per_block % a.warp_size:
            whole = self._fit.taken[WARPS]
            text += f" The last of a block's {whole} {warps} has {empty} lane{'s' * (empty > 1)} without a thread."
        return text

    def _too_much(self) -> str:
        a, needs = self.gpu.architecture, self.needs
        if needs.registers > a.registers_per_thread:
            return f"{needs.registers} registers a thread, and there are {a.registers_per_thread} at most"
        if needs.shared > a.shared_per_block:
            return f"{needs.shared:,} bytes of shared memory a block, and there are {a.shared_per_block:,} at most"
        return (
            f"{self.threads_per_block:,} threads with {needs.registers} registers each take "
            f"{self._fit.taken[REGISTERS]:,} registers as they are allocated, more than the "
            f"{a.registers_per_multiprocessor:,} of a multiprocessor have room for"
        )

    def title(self) -> str:
        """Return what the table shows, and that it was computed."""
        shared = f", {self.needs.shared:,} bytes of shared memory a block" if self.needs.shared else ""
        of = f"{self.of}: " if self.of else ""
        return (
            f"{of}{self.threads_per_block:,} threads a block, {self.needs.registers} registers a thread{shared}, "
            f"on the {self.gpu.vendor} {self.gpu.name} ({self.gpu.architecture.target}); computed, not run"
        )

    def table(self) -> Table:
        """Return a table: for each resource what a block takes, what there is, and the blocks it has room for."""
        a, (unit, warps, blocks) = self.gpu.architecture, self._words
        there = {
            REGISTERS: a.registers_per_multiprocessor,
            SHARED: a.shared_per_multiprocessor,
            WARPS: a.warps_per_multiprocessor,
            BLOCKS: a.blocks_per_multiprocessor,
            SCALAR: (a.scalar_registers or 0) * a.parts,
        }
        names = {WARPS: warps, BLOCKS: blocks, SHARED: "shared memory, bytes"}
        rows = tuple(
            (
                names.get(name, name),
                f"{self._fit.taken[name]:,}",
                f"{there[name]:,}",
                "any number" if math.isinf(limit) else f"{limit:,}",
            )
            for name, limit in self.limits.items()
        )
        header = ("", f"a {blocks[:-1]} takes", f"{_with_article(unit)} has", f"room for {blocks}")
        return Table(self.title(), header, rows, (1, 2, 3), (self.summary(), self._best()))

    def _best(self) -> str:
        most = max(each.occupancy for each in self._fits)
        sizes = [each.threads for each in self._fits if each.occupancy == most]
        if not most:
            return "No block size of whole warps can run."
        shown = f"{', '.join(map(str, sizes[:6]))}{', …' if len(sizes) > 6 else ''}"
        return f"The most over all block sizes is {most:.0%}, with {shown} threads."

    def __repr__(self) -> str:
        return str(self.table())

    def alt(self) -> str:
        """Return what the picture shows, in words."""
        runs: list[list[Any]] = []
        for each in self._fits:
            key = (f"{each.occupancy:.0%}", each.limited_by)
            if runs and runs[-1][2] == key:
                runs[-1][1] = each.threads
            else:
                runs.append([each.threads, each.threads, key])
        said = [
            f"{first if first == last else f'{first} to {last}'} threads: {share}, {_listed(by)}"
            for first, last, (share, by) in runs
        ]
        return f"Occupancy over threads a block, with what limits it. {'; '.join(said)}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: a bar for each block size, in the colour and with the letter of its limiting resource."""
        left, right, top, bottom, width, height = 40, 16, 26, 54, 490, 256
        a = self.gpu.architecture
        plot, tall = width - left - right, height - top - bottom
        step = plot / len(self._fits)
        parts = []
        for share in (0, 0.25, 0.5, 0.75, 1):
            y = top + tall * (1 - share)
            parts.append(svg.line(left, y, width - right, y, LINE))
            parts.append(svg.text(left - 6, y + 4, f"{share:.0%}", anchor="end"))
        parts.append(svg.text(2, 11, f"occupancy of {_with_article(self._words[0])}", QUIET))
        for place, each in enumerate(self._fits):
            x, high = left + place * step, tall * each.occupancy
            mine = each.threads == self.threads_per_block
            by = each.limited_by[0]
            bar = (x + step * 0.12, top + tall - high, step * 0.76, high)
            parts.append(svg.box(*bar, COLOURS[by], fill_opacity=1 if mine else 0.55))
            parts.append(svg.text(x + step / 2, top + tall + 12, LETTERS[by], COLOURS[by], "middle", 10))
            if each.threads % 128 == 0:
                parts.append(svg.text(x + step / 2, top + tall + 26, str(each.threads), anchor="middle"))
        x = left + (self.threads_per_block / a.warp_size - 0.5) * step
        y = top + tall * (1 - self.occupancy)
        parts.append(
            svg.element("path", d=f"M{x:.1f} {max(y - 3, top):.1f} l-4 -7 h8 z", fill=INK)
            if self.blocks
            else svg.text(x, top + tall - 4, "×", anchor="middle", size=14)
        )
        parts.append(
            svg.text((left + width - right) / 2, top + tall + 40, "threads a block", QUIET, "middle")
        )
        seen = [name for name in COLOURS if any(name == each.limited_by[0] for each in self._fits)]
        x = float(left)
        for name in seen:
            parts.append(svg.box(x, height - 9, 9, 9, COLOURS[name]))
            parts.append(svg.text(x + 13, height, f"{LETTERS[name]}: {name}"))
            x += 36 + 6.4 * len(name)
        return svg.picture(parts, self.alt(), (0, 0, width, height + 4), width * 1.3)

    def html(self) -> str:
        """Return the picture as HTML, and below it the result in words and as a table."""
        return (
            f'{DARK}<figure class="h2d-figure" style="margin: 1rem 0; padding: 0">{self.svg()}'
            f'<figcaption style="margin: 0.5rem 0; max-width: 68ch; text-align: left">{escape(self.title())}. '
            f"{escape(self.summary())}</figcaption></figure>"
            f"<details><summary>What each resource has room for</summary>{self.table()._repr_html_()}</details>"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}


def _with_article(unit: str) -> str:
    return f"{'an' if unit == 'SM' else 'a'} {unit}"


def _count(number: int, things: str) -> str:
    return f"{number:,} {things if number != 1 else things[:-1]}"


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def occupancy(
    kernel: Any,
    threads_per_block: int | tuple[int, ...] = 256,
    gpu: str = "A100",
    *,
    shared: int | Callable[[int], int] = 0,
    **how: Any,
) -> Occupancy:
    """Return how many blocks of a kernel fit on a GPU's multiprocessor at a time, and which resource limits them.

    Parameters
    ----------
    kernel
        A kernel, as for `h2d.show`: it is compiled for the GPU, and the compiler gives its registers and its static
        shared memory. Or the number of registers per thread.
    threads_per_block
        Threads of a block, or its shape.
    gpu
        The GPU's name, "A100" or "MI300X"; `host_to_device.hardware.gpus` has the table.
    shared
        Bytes of dynamic shared memory per block, in addition to what the kernel declares; or a function that returns them
        for a number of threads.
    how
        For a kernel, `types`, `args` and `entry` as for `h2d.show`.

    Raises
    ------
    ValueError
        The table has no such GPU, a block cannot have this size, or registers or bytes are not whole numbers.

    Examples
    --------
    >>> h2d.occupancy(40, 256, "A100").occupancy
    0.75
    """
    found = gpus.find(gpu)
    threads = _threads(threads_per_block, found.architecture)
    dynamic = shared if callable(shared) else lambda _size: shared
    if isinstance(kernel, numbers.Integral) and not isinstance(kernel, bool):
        if how:
            raise ValueError(f"{next(iter(how))} is for a kernel, but the call gives a number of registers")
        whole, name = Needs(_whole("registers", kernel, 0)), ""
    else:
        whole, name = needs_of(kernel, found.architecture.target, **how)

    def needs_at(size: int) -> Needs:
        more = _whole("shared", dynamic(size), 0)
        return Needs(whole.registers, whole.shared + more, whole.scalar_registers)

    return Occupancy(found, threads, needs_at, name)


def _threads(given: Any, a: gpus.Architecture) -> int:
    sizes = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"threads_per_block is {given!r}: give a number, or a shape of one to three numbers")
    threads = math.prod(_whole("threads_per_block", size, 1) for size in sizes)
    if threads > a.threads_per_block:
        raise ValueError(
            f"threads_per_block is {given!r}: a block has {a.threads_per_block:,} threads at most"
        )
    return threads


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} is {value!r}: give a whole number from {least}")
    return int(value)
