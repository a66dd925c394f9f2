"""Count how the lines of a kernel use memory and warps: the notes on performance of a check.

A note is not an error: a kernel with every possible note may be right, and the fastest way to do what it does.
The figures are counted, not measured, by the rules that NVIDIA documents:

- *Sectors a request.* The accesses that the lanes of a warp make together are one request, and global memory
  serves it in as many transactions of 32 bytes as its addresses touch sectors, on compute capability 6.0 and
  higher; allocations begin at a multiple of 256 bytes (CUDA C++ Best Practices Guide, "Coalesced Access to Global
  Memory").
- *Bank conflicts.* Shared memory has 32 banks; successive words of 4 bytes lie in successive banks. A request is as
  many-way a conflict as the worst bank has to serve different words; lanes at the same word do not conflict (CUDA
  C++ Programming Guide, "Compute Capability 5.x, Shared Memory"). Elements of 8 bytes are served for one half of
  the warp after the other, and only lanes of the same half conflict (CUDA C Programming Guide 4.x, "Compute
  Capability 2.x, Shared Memory, 64-Bit Accesses"; later editions are silent on it). Elements of 16 bytes
  are served by quarters in the same way (NVIDIA, GTC 2019, S9593, cuTENSOR).
- *Divergence.* A warp executes one common instruction at a time; lanes that are on another path are disabled
  meanwhile (CUDA C++ Programming Guide, "SIMT Architecture").
- *Idle threads.* Threads that touch no global memory, and lanes that have no thread because the block is not
  a multiple of the warp.

The limits of the counts:

- Lanes run one after another here, so their accesses have to be grouped into requests: for each line, array and kind
  of access, the n-th access of one lane and the n-th of the others are one request, if the lanes make them in the same
  iteration of the innermost loop around the line. Iterations are counted since the last barrier of the block. It is an
  approximation if the lanes enter that loop in different iterations of a loop around it, or if the line belongs to a
  function that they call in different iterations. Divergence is counted without regard to iterations:
  `if (i + k) % 2` in a loop over k looks as if all lanes took part.
- The unit is a line, not an instruction: accesses that the compiler keeps in a register, merges, unrolls or
  predicates are counted as the source has them, and caches are left out. Alternatives within one line
  (`a[i] if c else a[j]`) count as one request.
- Atomics are counted as any other access. The figures leave out that lanes with an atomic on the same address wait
  for each other.
- With a warp of 64 the same rules are applied to more lanes. Sectors and banks are NVIDIA's: AMD's caches have
  longer lines, and its shared memory serves other groups of lanes for elements of more than 4 bytes.
"""

from __future__ import annotations

import ast
import linecache
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SECTOR = 32  # bytes
BANKS = 32
WORD = 4  # bytes, the width of a bank
# A warp may have this many requests open at one line and array, so that a long loop does not fill the memory.
MOST_OPEN = 1024

Place = tuple[str, int]  # file and line


@dataclass(frozen=True)
class Note:
    """One figure about one line, or about the launch.

    Attributes
    ----------
    kind
        "sectors a request", "bank conflicts", "divergence" or "idle threads".
    file, line
        Where; an idle-threads note is about the launch and has "" and None.
    array
        The array's name, or "" for divergence and idle threads.
    number
        The main figure: sectors a request (mean), ways of a bank conflict (mean; 1 is none), lanes that take part
        when a warp executes the line (mean), or threads, or lanes without a thread, in all blocks seen.
    text
        The same in a sentence.
    access
        "read", "write" or "atomic" for the first two kinds, otherwise "".
    requests
        How many requests, executions by a warp, or threads (or lanes) the figure is about.
    ideal
        The best possible `number`: the fewest sectors that hold the bytes, 1, all lanes that exist, or 0.
    worst
        The worst single request or execution: most sectors, most ways, fewest lanes; for idle threads `number` again.
    partial
        Whether some requests were left out because too many were open at once.
    """

    kind: str
    file: str
    line: int | None
    array: str
    number: float
    text: str
    access: str = ""
    requests: int = 0
    ideal: float = 0.0
    worst: float = 0.0
    partial: bool = False


class _Site(NamedTuple):
    """What distinguishes one stream of memory requests from another."""

    place: Place
    kind: str
    space: str
    name: str
    size: int


@dataclass
class _Total:
    """The sums over the memory requests, or executions by a warp, of one site."""

    requests: int = 0
    figure: int = 0
    ideal: int = 0
    worst: int = 0
    fewer: int = 0  # executions without some of the lanes
    partial: bool = False


class _Gathering:
    """The memory requests of one warp at one site that still lack lanes."""

    __slots__ = ("counts", "cut", "iterations", "lanes", "open", "site")

    def __init__(self, site: _Site, warp: int, lanes: int) -> None:
        self.site, self.lanes = site, lanes  # `lanes` have a thread
        self.iterations = [0] * warp  # by lane: the iteration of its last access
        self.counts = [0] * warp  # by lane: how many accesses it has made in this iteration
        self.open: dict[int, array] = {}  # occurrence → addresses by lane, and how many lanes it has
        self.cut = 1 << 63  # from this occurrence on, nothing is kept; `sys.maxsize` has 31 bits in a browser


@dataclass
class _Block:
    """The open memory requests and counts of a block that is running."""

    gatherings: dict[tuple, _Gathering] = field(default_factory=dict)  # by site and warp
    lines: dict[tuple[Place, int], list[int]] = field(default_factory=dict)  # place and warp → count by lane
    touched: set[int] = field(default_factory=set)  # threads that have accessed global memory


def sectors(addresses: Iterable[int], size: int) -> tuple[int, int]:
    """Return how many sectors of 32 bytes one request touches, and the fewest that could hold its bytes.

    Parameters
    ----------
    addresses
        Of the elements, one for each active lane, in bytes from an allocation that begins at a sector.
    size
        Bytes of an element.

    Notes
    -----
    CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory", compute capability 6.0 and higher. The same
    element asked for by several lanes is fetched once.
    """
    different = set(addresses)
    touched = {
        sector
        for address in different
        for sector in range(address // SECTOR, (address + size - 1) // SECTOR + 1)
    }
    # Elements of a view may overlap, and then share bytes: never more than what is touched.
    return len(touched), min(len(touched), -(-len(different) * size // SECTOR))


def conflict_ways(lanes: Iterable[int | None], size: int) -> int:
    """Return the bank-conflict degree of one request to shared memory (1 = none).

    Parameters
    ----------
    lanes
        The address of every lane's element in bytes, lane 0 first; None (or a negative number) for an inactive one.
    size
        Bytes of an element.

    Notes
    -----
    32 banks, 4 bytes wide; the lanes are taken in groups that fill the banks' 128 bytes once: a warp of 32 whole for
    elements up to 4 bytes, by halves for 8, by quarters for 16. Sources as in the module's description. Other sizes
    are grouped in the same way, which is an approximation.
    """
    words = -(-size // WORD)
    together = max(1, BANKS // words)
    every = list(lanes)
    worst = 1
    for first in range(0, len(every), together):
        asked = {
            word
            for address in every[first : first + together]
            if address is not None and address >= 0
            for word in range(address // WORD, (address + size - 1) // WORD + 1)
        }
        if asked:
            worst = max(worst, *Counter(word % BANKS for word in asked).values())
    return worst


def loops_around(source: str) -> dict[int, int]:
    """Return, for each line in the body of a loop, the first line of the innermost such loop.

    The result is empty for a text that is not Python. The first line of a loop belongs to the loop around it.
    """
    try:
        loops = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.For | ast.While)]
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for loop in sorted(loops, key=lambda each: each.lineno):  # an inner loop begins later
        for line in range(max(loop.lineno + 1, loop.body[0].lineno), (loop.body[-1].end_lineno or 0) + 1):
            found[line] = loop.lineno
    return found


class Notes:
    """Gathers the accesses and executed lines of a launch, and makes notes of them.

    It keeps sums by line. It keeps single accesses only while a memory request lacks lanes: at the latest until
    the next barrier or the end of the block, and at most `MOST_OPEN` memory requests by warp, line and array.

    Parameters
    ----------
    warp
        Threads in a warp.
    threads
        Threads in a block. Thread numbers count x first, then y, then z, as CUDA's warps do.
    """

    def __init__(self, *, warp: int = 32, threads: int) -> None:
        self.warp, self.threads = warp, threads
        self.blocks = 0  # blocks that have ended
        self._running: dict[int, _Block] = {}
        self._sites: dict[_Site, _Total] = {}
        self._lines: dict[Place, _Total] = {}
        self._idle = self._blocks_with_idle = 0
        self._none = array("q", [-1] * warp + [0])
        self._loops: dict[
            str, dict[int, int]
        ] = {}  # file → line → the first line of the innermost loop around it

    def access(
        self,
        place: Place,
        kind: str,
        space: str,
        name: str,
        address: int,
        size: int,
        block: int,
        thread: int,
    ) -> None:
        """Take in one access of one thread.

        Parameters
        ----------
        place
            File and line.
        kind
            "read", "write" or "atomic".
        space
            "global", "shared" or "local"; local memory is left out.
        name
            The learner's name for the array.
        address
            Of the element, in bytes from the start of its allocation, which begins at a multiple of 256 bytes.
        size
            Bytes of the element.
        block, thread
            Numbers of the block and of the thread that makes it.
        """
        if space == "local":
            return
        running = self._running.get(block) or self._begin(block)
        if space == "global":
            running.touched.add(thread)
        warp, lane = divmod(thread, self.warp)
        key = place, kind, space, name, size, warp
        gathering = running.gatherings.get(key)
        if gathering is None:
            site = _Site(place, kind, space, name, size)
            gathering = running.gatherings[key] = _Gathering(site, self.warp, self._lanes(warp))
        iteration = self._iteration(running, place, warp, lane)
        if iteration != gathering.iterations[lane]:
            gathering.iterations[lane], gathering.counts[lane] = iteration, 0
        occurrence = iteration << 32 | gathering.counts[lane]
        gathering.counts[lane] += 1
        request = gathering.open.get(occurrence)
        if request is None:
            # Once one occurrence has been left out, all later ones are, for every lane: a request with only
            # the last lanes in it would look divergent.
            if occurrence >= gathering.cut or len(gathering.open) >= MOST_OPEN:
                gathering.cut = min(gathering.cut, occurrence)
                self._sites.setdefault(gathering.site, _Total()).partial = True
                return
            request = gathering.open[occurrence] = self._none[:]
        request[lane] = address
        request[-1] += 1
        if request[-1] == gathering.lanes:
            del gathering.open[occurrence]
            self._add(gathering.site, request)

    def ran(self, place: Place, block: int, thread: int) -> None:
        """Take in that a thread executes a line (file and line)."""
        running = self._running.get(block) or self._begin(block)
        warp, lane = divmod(thread, self.warp)
        counts = running.lines.get((place, warp))
        if counts is None:
            counts = running.lines[place, warp] = [0] * self._lanes(warp)
        counts[lane] += 1

    def barrier(self, block: int) -> None:
        """Take in that all threads of a block have reached a barrier of the block.

        Accesses before and after it are never one memory request. Without this call the figures are less exact if lanes
        reach a line in different iterations of a loop with a barrier in it.
        """
        running = self._running.get(block)
        if running is None:
            return
        for gathering in running.gatherings.values():
            for request in gathering.open.values():
                self._add(gathering.site, request)
        for (place, _), counts in running.lines.items():
            total = self._lines.setdefault(place, _Total(worst=self.warp))
            # Lanes that execute the line n times or more take part in its n-th execution.
            executions = max(counts)
            total.requests += executions
            total.figure += sum(counts)
            total.ideal += executions * len(counts)
            total.fewer += executions - min(counts)
            total.worst = min(total.worst, counts.count(executions))
        running.gatherings.clear()
        running.lines.clear()

    def end_of_block(self, block: int) -> None:
        """Take in that a block has ended. Call it once for every block, also for one that did nothing."""
        self.barrier(block)
        running = self._running.pop(block, None) or _Block()
        idle = self.threads - len(running.touched)
        self.blocks += 1
        self._idle += idle
        self._blocks_with_idle += idle > 0

    def result(self) -> tuple[Note, ...]:
        """Return the notes by line, then kind, with those about the launch last. Running blocks end here."""
        for block in list(self._running):
            self.end_of_block(block)
        found = [
            self._of_sectors(site, total) if site.space == "global" else self._of_banks(site, total)
            for site, total in self._sites.items()
        ]
        found += [self._of_divergence(place, total) for place, total in self._lines.items() if total.fewer]
        found += self._of_idle_threads()
        return tuple(
            sorted(
                found,
                key=lambda note: (
                    note.line is None,
                    note.file,
                    note.line or 0,
                    note.kind,
                    note.array,
                    note.access,
                ),
            )
        )

    # -- gathering

    def _begin(self, block: int) -> _Block:
        return self._running.setdefault(block, _Block())

    def _iteration(self, running: _Block, place: Place, warp: int, lane: int) -> int:
        """Return how often a lane has begun an iteration of the innermost loop around a line; 0 without a loop."""
        file, line = place
        loops = self._loops.get(file)
        if loops is None:
            loops = self._loops[file] = loops_around("".join(linecache.getlines(file)))
        if line not in loops:
            return 0
        counts = running.lines.get(((file, loops[line]), warp))
        return counts[lane] if counts else 0

    def _lanes(self, warp: int) -> int:
        """Return how many lanes of a warp have a thread."""
        return min(self.warp, self.threads - warp * self.warp)

    def _add(self, site: _Site, request: array) -> None:
        total = self._sites.get(site)
        if total is None:
            total = self._sites[site] = _Total()
        addresses = request[:-1]
        if site.space == "global":
            figure, ideal = sectors([each for each in addresses if each >= 0], site.size)
        else:
            figure, ideal = conflict_ways(addresses, site.size), 1
        total.requests += 1
        total.figure += figure
        total.ideal += ideal
        total.worst = max(total.worst, figure)

    # -- notes

    def _of_sectors(self, site: _Site, total: _Total) -> Note:
        mean, ideal = total.figure / total.requests, total.ideal / total.requests
        verdict = (
            "the minimum for these bytes"
            if total.figure == total.ideal
            else f"{_figure(ideal)} would be enough"
        )
        text = (
            f"{_accesses(site)} in global memory: {_figure(mean)} sectors a memory request, {verdict} "
            f"({_requests(total)}{_worst(total, mean)})"
        )
        return self._note("sectors a request", site, total, mean, ideal, text)

    def _of_banks(self, site: _Site, total: _Total) -> Note:
        mean = total.figure / total.requests
        if total.worst == 1:
            verdict = "no bank conflicts"
        elif total.worst == mean:
            verdict = f"{total.worst}-way bank conflicts"
        else:
            verdict = f"{_figure(mean)}-way bank conflicts on average, {total.worst}-way at worst"
        text = f"{_accesses(site)} in shared memory: {verdict} ({_requests(total)})"
        return self._note("bank conflicts", site, total, mean, 1.0, text)

    @staticmethod
    def _note(kind: str, site: _Site, total: _Total, mean: float, ideal: float, text: str) -> Note:
        file, line = site.place
        return Note(
            kind,
            file,
            line,
            site.name,
            mean,
            text,
            site.kind,
            total.requests,
            ideal,
            float(total.worst),
            total.partial,
        )

    @staticmethod
    def _of_divergence(place: Place, total: _Total) -> Note:
        mean, there = total.figure / total.requests, total.ideal / total.requests
        text = (
            f"{_figure(mean)} of {_figure(there)} lanes take part on average when a warp executes this line "
            f"({total.fewer:,} of {total.requests:,} executions lack lanes; the fewest in one are {total.worst})"
        )
        return Note(
            "divergence",
            *place,
            "",
            mean,
            text,
            requests=total.requests,
            ideal=there,
            worst=float(total.worst),
        )

    def _of_idle_threads(self) -> Iterator[Note]:
        if self._idle:
            threads = self.blocks * self.threads
            text = (
                f"{self._idle:,} of {threads:,} threads read and write nothing in global memory, "
                f"in {self._blocks_with_idle:,} of {self.blocks:,} blocks"
            )
            yield self._launch(self._idle, threads, text)
        warps = -(-self.threads // self.warp)
        missing = warps * self.warp - self.threads
        if missing and self.blocks:
            lanes = warps * self.warp
            text = (
                f"{missing} of the {lanes} lanes of each block have no thread: {self.threads} is not a "
                f"multiple of the warp size, {self.warp}"
            )
            yield self._launch(missing * self.blocks, lanes * self.blocks, text)

    @staticmethod
    def _launch(number: int, of: int, text: str) -> Note:
        return Note("idle threads", "", None, "", float(number), text, requests=of, worst=float(number))


def _accesses(site: _Site) -> str:
    return f"{site.kind}s of {site.name}"


def _requests(total: _Total) -> str:
    some = "the first " if total.partial else ""
    return f"{some}{total.requests:,} request{'s' * (total.requests != 1)}"


def _worst(total: _Total, mean: float) -> str:
    return f", {total.worst} at worst" if total.worst > mean and total.figure > total.ideal else ""


def _figure(value: float) -> str:
    """Return a mean with at most two decimals; "about 3" for one that only rounds to a whole number."""
    if value == int(value):
        return f"{int(value):,}"
    text = f"{value:,.2f}"
    return f"about {text.removesuffix('.00')}" if text.endswith(".00") else text.rstrip("0")


@contextmanager
def line_events(notes: Notes, files: Iterable[str], current: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Call `notes.ran` for every line of these files that this thread of the machine executes.

    A tracer that is already set (by a debugger or a coverage tool) still gets its events, and is set again afterwards.
    A function of another file costs one comparison of file names a call, and nothing a line. Enter this only around
    the run of the kernel: host code in these files would be counted as well.

    Parameters
    ----------
    notes
        Gets the lines.
    files
        File names, as code objects have them (`co_filename`).
    current
        Returns the numbers of the running block and thread.
    """
    watched = frozenset(files)
    before = sys.gettrace()

    def tell(frame: Any) -> None:
        block, thread = current()
        notes.ran((frame.f_code.co_filename, frame.f_lineno), block, thread)

    def of_line(frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            tell(frame)
        return of_line

    def of_line_and(theirs: Callable) -> Callable:
        def of_both(frame: Any, event: Any, argument: Any) -> Any:
            nonlocal theirs
            if event == "line":
                tell(frame)
            theirs = theirs(frame, event, argument) or theirs
            return of_both

        return of_both

    # Python calls this when a function begins and when a generator resumes, so earlier generators count too.
    def of_call(frame: Any, event: Any, argument: Any) -> Any:
        mine = frame.f_code.co_filename in watched
        if before is None:
            return of_line if mine else None
        theirs = before(frame, event, argument)
        # A tracer in C, such as coverage's, sets itself when it is called.
        if sys.gettrace() is not of_call:
            sys.settrace(of_call)
        if not mine:
            return theirs
        return of_line if theirs is None else of_line_and(theirs)

    sys.settrace(of_call)
    try:
        yield
    finally:
        sys.settrace(before)
