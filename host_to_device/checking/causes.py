"""Gather the faults that the schedules of a check report, and turn each distinct cause into a finding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from host_to_device.checking.accesses import Access, Fault
from host_to_device.checking.interpreted import BarrierFault
from host_to_device.checking.racing import Party, advice_for, does, kind_of_race, pair_of, race_text
from host_to_device.checking.report import Finding
from host_to_device.standins.numba_cuda.launching import Launch

OF_A_BLOCK = "Put cuda.syncthreads() between the two: in a block of several warps, threads of other warps race here as well."


@dataclass
class Cause:
    """The fault that was reported first, how often and by which threads, and whether several warps took part."""

    fault: Fault | BarrierFault
    schedule: int
    count: int = 0
    beyond_warp: bool = False
    # The threads that made it, by block; compiled code counts the accesses alone, and then it is None.
    threads: set[tuple[int, int]] | None = field(default_factory=set)


class Causes:
    """The distinct causes of the faults of one launch.

    Parameters
    ----------
    launch
        The launch, for the positions of blocks and threads.
    warp_size
        32 or 64 lanes.
    """

    def __init__(self, launch: Launch, warp_size: int) -> None:
        self.launch, self.warp_size = launch, warp_size
        self.schedule = 0  # the one that runs
        self.by_key: dict[tuple, Cause] = {}
        self.of_block = False  # whether lanes of one warp lack a barrier of the block (`Run.lacks_a_barrier`)

    def note(self, fault: Fault | BarrierFault, times: int = 1, beyond_warp: bool = False) -> None:
        """Take in a fault that the running schedule reports."""
        key = key_of(fault)
        cause = self.by_key.get(key)
        if cause is None:
            cause = self.by_key[key] = Cause(fault, self.schedule)
        if self.schedule == cause.schedule:  # how often it happens in one launch
            cause.count += times
            if times > 1:
                cause.threads = None
            elif cause.threads is not None and isinstance(fault, Fault):
                cause.threads.add((fault.access.block, fault.access.thread))
        cause.beyond_warp = cause.beyond_warp or beyond_warp or self._beyond_warp(fault)

    def _beyond_warp(self, fault: Fault | BarrierFault) -> bool:
        if isinstance(fault, BarrierFault) or fault.other is None:
            return False
        one, other = fault.access, fault.other
        return one.block != other.block or one.thread // self.warp_size != other.thread // self.warp_size

    def forget(self, schedule: int) -> None:
        """Drop what a schedule has reported, because it runs again."""
        self.by_key = {key: each for key, each in self.by_key.items() if each.schedule != schedule}

    def if_used(self) -> list[Cause]:
        """Return the causes that are errors only if the result depends on them, such as uninitialised reads."""
        return [each for each in self.by_key.values() if each.fault.if_used]

    def drop_if_used(self) -> None:
        """Drop the causes that `if_used` returns, because no result depends on them."""
        self.by_key = {key: each for key, each in self.by_key.items() if not each.fault.if_used}

    def within_warp(self) -> bool:
        """Return whether lanes of one warp race in shared memory, and no threads of different warps."""
        races = [
            each
            for each in self.by_key.values()
            if isinstance(each.fault, Fault) and each.fault.other is not None and each.fault.space == "shared"
        ]
        return bool(races) and not any(each.beyond_warp for each in races)

    def findings(self) -> list[Finding]:
        """Return a finding for each cause.

        Accesses of one line outside of several arrays are one finding: the line lacks one guard.
        """
        return [self._finding(*each) for each in self._together()]

    def faults(self) -> list[Fault | BarrierFault]:
        """Return the fault that was reported first for each of the `findings`."""
        return [each[0].fault for each in self._together()]

    def _together(self) -> list[list[Cause]]:
        """Return the causes of each finding."""
        together: dict[Any, list[Cause]] = {}
        for key, cause in self.by_key.items():
            fault = cause.fault
            if isinstance(fault, Fault) and fault.kind == "out of bounds":
                key = fault.access.place
            together.setdefault(key, []).append(cause)
        return list(together.values())

    def _finding(self, cause: Cause, *others: Cause) -> Finding:
        fault = cause.fault
        if isinstance(fault, BarrierFault):
            place = self.launch.position(fault.block, fault.thread)
            advice = "Let the lane take part, or take the value of a lane that does." if fault.if_used else ""
            aside = f"{'first ' if cause.count > 1 else ''}in {self.launch.place(fault.block, fault.thread)}"
            return Finding(
                fault.kind,
                fault.text,
                fault.file,
                (fault.line,),
                *place,
                cause.count,
                advice=advice,
                aside=aside,
            )
        access, kind, pair, advice, aside = fault.access, fault.kind, "", "", ""
        threads = len(cause.threads or ()) if fault.other is None else 0
        thread = self.launch.place(access.block, access.thread)
        lines = [access.place[1]]
        if fault.other is not None:
            kind, pair, text = self._race(fault, fault.other)
            advice = advice_for(pair, access.block == fault.other.block) if kind == "race" else ""
            advice = OF_A_BLOCK if kind != "race" and self.of_block else advice
            lines += [fault.other.place[1]] if fault.other.place[1] != lines[0] else []
        elif kind == "out of bounds":
            text, advice = f"{thread} {outside(fault)}", _guard(fault)
            aside = _listed([_element(each.fault) for each in others if isinstance(each.fault, Fault)])
            aside += " too" if aside else ""
        else:
            text = f"{thread} reads {_element(fault)} in {fault.space} memory before any thread has stored a value there"
        return Finding(
            kind,
            text,
            access.place[0],
            tuple(lines),
            *self.launch.position(access.block, access.thread),
            cause.count,
            fault.array,
            fault.index,
            fault.space,
            pair,
            advice,
            threads,
            aside,
        )

    def _race(self, fault: Fault, other: Access) -> tuple[str, str, str]:
        """Return the kind, the pair and the text of two accesses that nothing orders."""
        first, second = (
            Party(each.kind, each.place[1], *self.launch.position(each.block, each.thread))
            for each in (fault.access, other)
        )
        pair = pair_of(first, second)
        # Races between lanes of one warp lack a syncwarp, unless threads of other warps race as well.
        beyond = any(
            each.beyond_warp
            for each in self.by_key.values()
            if isinstance(each.fault, Fault) and each.fault.space == "shared"
        )
        return (
            kind_of_race(fault.space, pair, beyond),
            pair,
            race_text(_element(fault), fault.space, first, second, self.launch.grid, self.launch.block),
        )


def key_of(fault: Fault | BarrierFault) -> tuple:
    """Return what makes two faults the same cause."""
    if isinstance(fault, BarrierFault):
        # The operation of a warp, which stands before the colon, is a part of the cause.
        operation = fault.text.split(":")[0] if fault.kind.startswith("warp") else ""
        return fault.kind, fault.file, fault.line, operation
    if fault.other is not None:
        return fault.kind, fault.array, frozenset((fault.access.place, fault.other.place))
    return fault.kind, fault.array, fault.access.place


def essence(fault: Fault | BarrierFault) -> tuple:
    """Return what two runs in the same order have in common about a fault."""
    if isinstance(fault, BarrierFault):
        return fault.kind, fault.line, fault.block, fault.thread
    return fault.kind, fault.array, fault.index, fault.access.place


def _element(fault: Fault) -> str:
    return f"{fault.array}[{', '.join(map(str, fault.index))}]" if fault.index else fault.array


def _listed(words: list[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def _is_before(fault: Fault) -> bool:
    """Return whether an index is outside because it is negative, and inside if it is counted from the end."""
    return all(-size <= k < size for k, size in zip(fault.index, fault.shape, strict=False))


def _guard(fault: Fault) -> str:
    """Return advice for an access out of bounds; an empty string where the general advice is the right one."""
    if _is_before(fault):
        return "Guard the access: test that the index is 0 or more."
    if len(fault.shape) == 1:
        return f"Guard the access, such as if i < {fault.array}.size for an index i, or launch fewer threads."
    return ""


def outside(fault: Fault) -> str:
    """Return what a thread does outside of an array, and where the array ends."""
    text = f"{does(fault.access.kind, _element(fault))}, but {fault.array}"
    if _is_before(fault):
        return f"{text} begins at index 0: Numba counts a negative index from the end, which is rarely meant"
    if len(fault.shape) == 1:
        size = fault.shape[0]
        return f"{text} has {size:,} element{'s' * (size != 1)}"
    return f"{text} has the shape {fault.shape}"
