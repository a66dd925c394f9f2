"""The latency explorer: warps take turns on one scheduler while their loads are under way.

One scheduler of a streaming multiprocessor issues one instruction in a cycle, of any warp that is not waiting. Every
warp repeats two steps: it issues `work` instructions and then `requests` loads, and it waits until all of these loads
have returned. Memory begins one load every `gap` cycles, in the order of issue, and each load returns `latency` cycles
later. This is a closed queueing network with two stations.

The simulation does not use Little's law (Little, "A Proof for the Queuing Formula L = λW", Operations Research 9,
1961). It counts three numbers independently: how many loads are under way over all cycles, how many return, and how
long each takes. The first is the product of the other two.

The scheduler stays with its warp as long as that warp can issue, and then takes the warp that has been ready the
longest. A real scheduler chooses anew in each cycle and also has instruction latencies to hide. AMD's compute units
and their wavefronts differ in the numbers, not in the principle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from host_to_device.exploring.explorer import Explorer, Number, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, IDLE, LINE, ORANGE_SOFT, QUIET, WARNING

MOST_WARPS = 16
WORK, WAIT, READY = BLUE, IDLE, ORANGE_SOFT
ROUNDS, WARMUP = 60, 20  # the rounds that each warp makes at least; the first of them are not counted

LEFT, WIDTH, ROW, RIGHT = 76, 500, 11, 12  # of the picture, in the SVG's own units
CURVE = 150  # height of the lower part


@dataclass(frozen=True)
class Simulated:
    """What was counted while the simulation ran in its steady state.

    Attributes
    ----------
    busy
        Share of the cycles in which an instruction was issued.
    under_way
        Loads under way, the mean over the cycles.
    rate
        Loads that returned, a cycle.
    waited
        Cycles that a load took, from its issue to its return, the mean.
    turns
        For each warp, the cycles in which it began to issue, stopped, and had all its loads, from cycle 0 on.
    """

    busy: float
    under_way: float
    rate: float
    waited: float
    turns: tuple[tuple[tuple[int, int, int], ...], ...]


def simulate(warps: int, work: int, requests: int, latency: int, gap: int) -> Simulated:
    """Let warps take turns on one scheduler, and count.

    Parameters
    ----------
    warps
        Warps of this scheduler.
    work
        Instructions that a warp issues before it loads.
    requests
        Loads that a warp then issues one after another, before it waits for all of them.
    latency
        Cycles from the beginning of a load to its return.
    gap
        Cycles between the beginnings of two loads: the bandwidth of memory.
    """
    ready = [0] * warps  # the cycle from which each warp can issue
    memory = 0  # the cycle from which memory can begin a load
    clock = 0
    issued_at: list[int] = []
    back_at: list[int] = []
    turns: list[list[tuple[int, int, int]]] = [[] for _ in range(warps)]
    while min(map(len, turns)) < ROUNDS:
        warp = min(range(warps), key=lambda each: (ready[each], each))
        began = max(clock, ready[warp])
        clock = began + work + requests
        for load in range(requests):
            issued_at.append(began + work + load + 1)
            begun = max(issued_at[-1], memory)
            memory = begun + gap
            back_at.append(begun + latency)
        ready[warp] = back_at[-1]  # memory begins the loads in order, so the last one returns last
        turns[warp].append((began, clock, ready[warp]))

    # Whole rounds of the first warp, so that no part of a period weighs more than another.
    low, high = turns[0][WARMUP][0], turns[0][len(turns[0]) - 1][0]
    span = high - low
    issuing = sum(_overlap(began, ended, low, high) for turn in turns for began, ended, _ in turn)
    requests_made = list(zip(issued_at, back_at, strict=True))
    cycles_under_way = sum(_overlap(issued, back, low, high) for issued, back in requests_made)
    inside = [back - issued for issued, back in requests_made if low <= back < high]
    return Simulated(
        busy=issuing / span,
        under_way=cycles_under_way / span,
        rate=len(inside) / span,
        waited=sum(inside) / max(1, len(inside)),
        turns=tuple(map(tuple, turns)),
    )


def _overlap(began: int, ended: int, low: int, high: int) -> int:
    return max(0, min(ended, high) - max(began, low))


@dataclass(frozen=True)
class LatencyPicture(Picture):
    """Warps over time, and how busy they keep their scheduler; see `explore_latency` for the parameters."""

    warps: int = 6
    work: int = 40
    requests: int = 1
    latency: int = 400
    gap: int = 1

    controls: ClassVar = {
        "warps": Number("warps", 1, MOST_WARPS),
        "work": Number("instructions between loads", 1, 100),
        "requests": Number("loads at a time", 1, 8),
        "latency": Number("latency", 20, 1_000, "cycles"),
        "gap": Number("memory begins a load every", 1, 100, "cycles"),
    }
    slow: ClassVar = True  # a picture is sixteen simulations

    def simulated(self, warps: int) -> Simulated:
        """Return what the simulation counts with `warps` warps."""
        return simulate(warps, self.work, self.requests, self.latency, self.gap)

    @cached_property
    def now(self) -> Simulated:
        """What the simulation counts with the number of warps that the reader chose."""
        return self.simulated(self.warps)

    def bound(self, warps: int) -> float:
        """Return the largest share of cycles in which `warps` warps can issue: limited by latency, memory or scheduler.

        By Little's law: at most warps × requests loads are under way, each takes at least the latency, and a warp
        comes round once in a turn of issuing and waiting.
        """
        turn = self.work + self.requests
        by_latency = warps * turn / (turn + self.latency)
        by_memory = turn / (self.requests * self.gap)
        return min(1.0, by_latency, by_memory)

    @property
    def enough(self) -> int:
        """The number of warps that reaches the ceiling of the bound; more warps change nothing."""
        turn = self.work + self.requests
        ceiling = min(1.0, turn / (self.requests * self.gap))
        return math.ceil(ceiling * (turn + self.latency) / turn - 1e-9)

    def summary(self) -> str:
        """Return what the picture shows, in a few sentences."""
        now = self.now
        text = (
            f"{self.warps} warp{'s' * (self.warps > 1)}: an instruction is issued in {now.busy:.0%} of the cycles. "
            f"Counted: {now.under_way:.2f} loads under way. "
            f"Little's law: {now.rate:.4f} loads a cycle × {now.waited:.0f} cycles = {now.rate * now.waited:.2f}. "
        )
        if self.warps < self.enough:
            return text + f"By the bound, {self.enough} warps would be enough."
        limit = "memory" if self.bound(self.warps) < 1 else "the scheduler"
        return text + f"More warps change nothing: {limit} is the limit."

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        return (
            f"Above, a row for each warp over {self._window} cycles: short stretches of issuing, then a long wait for "
            "the loads. Below, the share of cycles in which the scheduler issues against the number of warps, 1 to 16, "
            f"with the bound as a dashed line. {self.summary()}"
        )

    @property
    def _window(self) -> int:
        """Cycles that the picture shows: two turns of a warp in the steady state, in round numbers."""
        first = self.now.turns[0]
        span = 2 * (first[-1][0] - first[WARMUP][0]) / (len(first) - 1 - WARMUP)
        step = 10 ** math.floor(math.log10(span))
        return math.ceil(span / step) * step

    def svg(self) -> str:
        """Return the picture: each warp's turns, the scheduler's, and below them the curve over the number of warps."""
        parts, height = self._timeline()
        curve, height = self._curve(height + 44)
        return svg.picture(parts + curve, self.alt(), (0, 0, WIDTH, height), WIDTH * 1.3)

    def _timeline(self) -> tuple[list[str], int]:
        """Return the upper part and its height: the turns of the warps and of the scheduler over time."""
        window, low = self._window, self.now.turns[0][WARMUP][0]
        scale = (WIDTH - LEFT - RIGHT) / window
        parts, issuing = [], []

        def bar(began: int, ended: int, y: int, fill: str) -> str:
            began, ended = max(began - low, 0), min(ended - low, window)
            if ended <= began:
                return ""
            width = max(0.6, (ended - began) * scale)
            return svg.box(LEFT + began * scale, y, width, ROW - 3, fill)

        for warp, turns in enumerate(self.now.turns):
            y = 4 + warp * ROW
            if self.warps <= 4 or warp in (0, self.warps - 1):
                parts.append(svg.text(LEFT - 6, y + 8, f"warp {warp}", QUIET, "end"))
            # Ready from the last return on until the scheduler takes the warp; then issuing; then waiting.
            for (_, _, back), (began, ended, returned) in zip(((0, 0, 0), *turns), turns, strict=False):
                parts.append(bar(back, began, y, READY))
                parts.append(bar(began, ended, y, WORK))
                parts.append(bar(ended, returned, y, WAIT))
                issuing.append((began, ended))
        y = 8 + self.warps * ROW
        parts.append(svg.text(LEFT - 6, y + 8, "scheduler", anchor="end"))
        parts.append(svg.box(LEFT, y, WIDTH - LEFT - RIGHT, ROW - 3, "none", stroke=LINE))
        parts += [bar(began, ended, y, WORK) for began, ended in issuing]
        y += ROW + 12
        parts.append(svg.text(LEFT, y, "0", QUIET))
        parts.append(svg.text(WIDTH - RIGHT, y, f"{window:,} cycles", QUIET, "end"))
        for place, (fill, name) in enumerate(((WORK, "issuing"), (WAIT, "waiting"), (READY, "ready"))):
            x = LEFT + 70 + 80 * place
            parts.append(svg.box(x, y - 9, 10, 10, fill, stroke=LINE))
            parts.append(svg.text(x + 15, y, name))
        return parts, y

    def _curve(self, top: int) -> tuple[list[str], int]:
        """Return the lower part and its height: the share of busy cycles over the number of warps, and its bound."""
        every = range(1, MOST_WARPS + 1)

        def x(warps: float) -> float:
            return LEFT + (WIDTH - LEFT - RIGHT) * (warps - 1) / (len(every) - 1)

        def y(share: float) -> float:
            return top + CURVE * (1 - share)

        parts = []
        for share in (0, 0.5, 1):
            parts.append(svg.line(LEFT, y(share), WIDTH - RIGHT, y(share), LINE))
            parts.append(svg.text(LEFT - 6, y(share) + 4, f"{share:.0%}", anchor="end"))
        for warps in (1, 4, 8, 12, 16):
            parts.append(svg.text(x(warps), top + CURVE + 17, str(warps), anchor="middle"))
        parts.append(svg.text((LEFT + WIDTH - RIGHT) / 2, top + CURVE + 35, "warps", QUIET, "middle"))
        parts.append(svg.text(LEFT, top - 10, "share of cycles with an instruction", QUIET))
        bound = [(x(warps), y(self.bound(warps))) for warps in every]
        parts.append(svg.curve(bound, QUIET, stroke_width=1.5, stroke_dasharray="5 4"))
        for warps in every:
            if warps == self.warps:
                parts.append(svg.circle(x(warps), y(self.now.busy), 6, WARNING))
            else:
                parts.append(svg.circle(x(warps), y(self.simulated(warps).busy), 3.5, WORK))
        return parts, top + CURVE + 42


def explore_latency(
    warps: int = 6, work: int = 40, requests: int = 1, latency: int = 400, gap: int = 1
) -> Explorer[LatencyPicture]:
    """Show how warps that take turns hide the latency of memory; sliders move every number.

    It simulates one scheduler of a streaming multiprocessor, which issues one instruction a cycle, of any warp that is
    not waiting for its loads. The numbers are counted in the simulation, not measured.

    Parameters
    ----------
    warps
        Warps of this scheduler, 1 to 16. A streaming multiprocessor of a T4 has 32 for its four, an H100's 64
        (NVIDIA, "CUDA C++ Programming Guide", Compute Capabilities).
    work
        Instructions that a warp issues between its loads, 1 to 100.
    requests
        Loads that a warp issues one after another before it waits for them, 1 to 8.
    latency
        Cycles until a load returns, 20 to 1,000.
    gap
        Cycles until memory begins the next load, 1 to 100: its bandwidth.

    Raises
    ------
    ValueError
        If a number is not a whole number within these limits.

    Examples
    --------
    >>> explorer = h2d.explore_latency(warps=6)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    6 warps: an instruction is issued in 56% of the cycles...
    """
    return Explorer(LatencyPicture(warps, work, requests, latency, gap))
