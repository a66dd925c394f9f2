"""What device memory held, from its changes in order: the peak, what was alive then, and what each line allocated.

A recorder adds changes. `History` keeps the last of them, and folds the earlier ones into a state: which blocks are alive,
and which line allocated each. So the peak and the sums cover all changes, however many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from host_to_device.counting.lines import code_of, place_of

KEPT = 50_000  # changes that are kept one by one
REFUSALS = 20  # refused allocations that are kept
LONGEST = 60  # characters of a line of code in a table

BEFORE = "before the block"

Site = tuple[str, int, str]  # file, line, library


class Change(NamedTuple):
    """One change of device memory, as a recorder reports it.

    Attributes
    ----------
    kind
        "allocation", "free", "refused", or "released": free blocks of a pool went back to the device, or came from there.
    pool, key
        The pool, None where there is none, and the block in it: no other block alive has the same two.
    nbytes
        Bytes of the block, or of the allocation that was refused.
    held
        Bytes that the pool holds afterwards, free blocks included; None if that has not changed.
    library
        "PyTorch", "CuPy" or "Numba".
    file, line
        The reader's line; "" and 0 where no line caused it, and for frees.
    """

    kind: str
    pool: Hashable
    key: Hashable
    nbytes: int
    held: int | None
    library: str
    file: str = ""
    line: int = 0


class MemoryEvent(NamedTuple):
    """One change of device memory on a timeline.

    Attributes
    ----------
    kind
        "allocation", "free", "refused", or "released": a pool gave cached memory back to the device.
    nbytes
        Bytes that were allocated (positive) or freed (negative), 0 for "released"; bytes that were refused.
    library
        "PyTorch", "CuPy" or "Numba".
    file, line
        The reader's line that allocated the block: also for a free, because memory is freed where its last reference ends,
        and that may be no line at all. "" and 0 where no line of the reader's did.
    allocated, reserved
        Bytes that are allocated afterwards, and bytes that the libraries' pools hold afterwards.
    """

    kind: str
    nbytes: int
    library: str
    file: str
    line: int
    allocated: int
    reserved: int

    @property
    def place(self) -> str:
        """The reader's line, in words."""
        return place_of(self.file, self.line)

    @property
    def code(self) -> str:
        """The code of that line."""
        return code_of(self.file, self.line)


@dataclass(frozen=True)
class Held:
    """The blocks of memory that one line has allocated.

    Attributes
    ----------
    nbytes, blocks
        Their bytes, and their number.
    library
        "PyTorch", "CuPy" or "Numba".
    file, line
        The reader's line; "" and 0 for memory that no line of the reader's allocated, or that is older than the recording.
    place, code
        The line in words, and its code.
    """

    nbytes: int
    blocks: int
    library: str
    file: str
    line: int
    place: str
    code: str


@dataclass(frozen=True)
class Refusal:
    """An allocation that was refused because memory had run out.

    Attributes
    ----------
    nbytes
        Its bytes, rounded up as the library's allocator does.
    file, line, place, code
        The reader's line that was to allocate them, the line in words, and its code.
    library
        "PyTorch", "CuPy" or "Numba".
    allocated, reserved
        Bytes that were allocated at that moment, and bytes that the libraries' pools held.
    alive
        What was allocated at that moment, by line, the largest first.
    number
        How many changes came before it.
    """

    nbytes: int
    file: str
    line: int
    place: str
    code: str
    library: str
    allocated: int
    reserved: int
    alive: tuple[Held, ...]
    number: int


def short(code: str) -> str:
    """Return a line of code, cut where it is too long for a table."""
    return code if len(code) <= LONGEST else f"{code[: LONGEST - 2]} …"


class State:
    """What is alive at one moment.

    Parameters
    ----------
    before
        By pool, bytes that were allocated before the recording began.
    held
        By pool, bytes that it holds, free blocks included.
    """

    def __init__(self, before: dict[Hashable, int] | None = None, held: dict[Hashable, int] | None = None):
        self.before, self.held = dict(before or {}), dict(held or {})
        self.alive: dict[tuple[Hashable, Hashable], tuple[int, Site]] = {}
        self.allocated = sum(self.before.values())
        self.loose = 0  # bytes outside of pools
        self.of_pools = sum(self.held.values())

    def copy(self) -> State:
        """Return a copy that changes by itself."""
        other = State(self.before, self.held)
        other.alive = dict(self.alive)
        other.allocated, other.loose, other.of_pools = self.allocated, self.loose, self.of_pools
        return other

    def apply(self, change: Change) -> tuple[int, Site]:
        """Change the state, and return the bytes as an event has them, and the line that allocated them."""
        kind, pool, key, nbytes, held, library, file, line = change
        site = file, line, library
        shown = nbytes
        if kind == "allocation":
            self.alive[pool, key] = nbytes, site
            self.allocated += nbytes
            self.loose += nbytes if pool is None else 0
        elif kind == "free":
            found = self.alive.pop((pool, key), None)
            if found is None:
                nbytes = min(nbytes, self.before.get(pool, 0))
                self.before[pool] = self.before.get(pool, 0) - nbytes
            else:
                nbytes, site = found
            self.allocated -= nbytes
            self.loose -= nbytes if pool is None else 0
            shown = -nbytes
        elif kind == "released":
            shown = 0
        if held is not None and pool is not None:
            self.of_pools += held - self.held.get(pool, 0)
            self.held[pool] = held
        return shown, site

    @property
    def reserved(self) -> int:
        """Bytes that the pools hold, and bytes outside of pools."""
        return self.of_pools + self.loose

    def event(self, change: Change) -> MemoryEvent:
        """Change the state, and return the change as an event."""
        nbytes, (file, line, library) = self.apply(change)
        return MemoryEvent(change.kind, nbytes, library, file, line, self.allocated, self.reserved)

    def by_line(self) -> tuple[Held, ...]:
        """Return what is alive by line, the largest first; what is older than the recording is one entry."""
        sums: Counter[Site] = Counter()
        blocks: Counter[Site] = Counter()
        for nbytes, site in self.alive.values():
            sums[site] += nbytes
            blocks[site] += 1
        found = [_held(site, sums[site], blocks[site]) for site in sums]
        if older := sum(self.before.values()):
            found.append(Held(older, 0, "", "", 0, BEFORE, ""))
        return tuple(sorted(found, key=lambda each: (-each.nbytes, each.file, each.line)))


def _held(site: Site, nbytes: int, blocks: int) -> Held:
    file, line, library = site
    return Held(nbytes, blocks, library, file, line, place_of(file, line), code_of(file, line))


class History:
    """The changes of one recording.

    Parameters
    ----------
    state
        What is alive when it begins.
    kept
        How many changes are kept one by one; up to twice as many while it records.
    """

    def __init__(self, state: State, kept: int = KEPT) -> None:
        self.start = state.copy()  # before the first change that is kept
        self.changes: list[Change] = []
        self.left_out = 0  # changes that are not kept one by one
        self.refusals: list[Refusal] = []
        self.peak, self.peak_reserved = state.allocated, state.reserved
        self.at_peak = state.by_line()
        self.peak_change: Change | None = None  # None: the peak was there when the recording began
        self.peak_number = -1  # how many changes came before the peak's
        self._kept = kept
        self._sums: Counter[Site] = Counter()
        self._blocks: Counter[Site] = Counter()

    def add(self, changes: Iterable[Change]) -> None:
        """Add changes, in their order."""
        self.changes += changes
        if len(self.changes) >= 2 * self._kept:
            self._fold(len(self.changes) - self._kept)

    def _fold(self, count: int) -> None:
        """Work through the oldest changes, and keep only the state after them."""
        self.start = self._survey(self.changes[:count])
        del self.changes[:count]
        self.left_out += count

    def _survey(self, changes: list[Change]) -> State:
        """Find the peak, the refusals and the sums of these changes, which follow on `start`; return the state after them."""
        state, best = self.start.copy(), -1
        for number, change in enumerate(changes):
            nbytes, site = state.apply(change)
            if change.kind == "allocation":
                self._sums[site] += nbytes
                self._blocks[site] += 1
                if state.allocated > self.peak:
                    self.peak, best = state.allocated, number
            elif change.kind == "refused" and len(self.refusals) < REFUSALS:
                self.refusals.append(_refusal(change, state, self.left_out + number))
            if state.reserved > self.peak_reserved:
                self.peak_reserved = state.reserved
        if best >= 0:
            self.peak_number, self.peak_change = self.left_out + best, changes[best]
            fullest = self.start.copy()
            for change in changes[: best + 1]:
                fullest.apply(change)
            self.at_peak = fullest.by_line()
        return state

    def finish(self) -> State:
        """End the recording: keep as many changes as there is room for, and return the state at the end."""
        if len(self.changes) > self._kept:
            self._fold(len(self.changes) - self._kept)
        return self._survey(self.changes)

    def events(self) -> tuple[MemoryEvent, ...]:
        """Return the changes that are kept, as events."""
        state = self.start.copy()
        return tuple(state.event(change) for change in self.changes)

    def by_line(self) -> tuple[Held, ...]:
        """Return what each line has allocated altogether, the most bytes first."""
        found = [_held(site, self._sums[site], self._blocks[site]) for site in self._sums]
        return tuple(sorted(found, key=lambda each: (-each.nbytes, each.file, each.line)))


def _refusal(change: Change, state: State, number: int) -> Refusal:
    file, line = change.file, change.line
    return Refusal(
        change.nbytes,
        file,
        line,
        place_of(file, line),
        code_of(file, line),
        change.library,
        state.allocated,
        state.reserved,
        state.by_line(),
        number,
    )
