"""The explorer of latency hiding: warps that take turns on one scheduler while their requests are under way.

One scheduler of a streaming multiprocessor issues one instruction in a cycle, of any warp that is not waiting. Every
warp repeats the same two things: it issues `work` instructions and then `requests` loads, and it waits until all of
these have come back. Memory begins one request every `gap` cycles, in the order in which they were issued, and
each takes `latency` cycles from there. So what is simulated is a closed queueing network with two stations.

Nothing in the simulation knows Little's law (Little, "A Proof for the Queuing Formula L = λW", Operations Research 9,
1961): how many requests are under way is counted over all cycles, how many return and how long each took is counted
by itself, and the first is the product of the other two.

The scheduler goes on with the warp that it has as long as that can issue, and then takes the one that has been ready
the longest. A real one chooses anew in each cycle and has instruction latencies to hide as well; AMD's compute units
and their wavefronts differ in the numbers and not in the idea.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from typing import Any

from host_to_device.exploring.explorer import IDLE_FILL, INK, QUIET, WARNING, Explorer

LINE = "var(--h2d-line, #d9d9d9)"
WORK, WAIT, READY = "var(--h2d-blue, #0072b2)", IDLE_FILL, "var(--h2d-orange-soft, #fbe5d6)"
BOUND = "var(--h2d-quiet, #6b6b6b)"

# What each slider moves: label, smallest and largest value, unit.
SLIDERS = {
    "warps": ("warps", 1, 16, ""),
    "work": ("instructions between loads", 1, 100, ""),
    "requests": ("loads at a time", 1, 8, ""),
    "latency": ("latency", 20, 1_000, "cycles"),
    "gap": ("memory begins a load every", 1, 100, "cycles"),
}
ROUNDS, WARMUP = 60, 20  # that every warp makes at least, and those of them that are not looked at

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
        Requests under way, the mean over the cycles.
    rate
        Requests that came back, a cycle.
    waited
        Cycles that a request took, from its issue to its return, the mean.
    turns
        For each warp, the cycles in which it began to issue, stopped, and had everything back, from cycle 0 on.
    """

    busy: float
    under_way: float
    rate: float
    waited: float
    turns: tuple[tuple[tuple[int, int, int], ...], ...]


def simulate(warps: int, work: int, requests: int, latency: int, gap: int) -> Simulated:
    """Let so many warps take turns on one scheduler, and count.

    Parameters
    ----------
    warps
        Warps of this scheduler.
    work
        Instructions that a warp issues before it loads.
    requests
        Loads that it then issues one after another, before it waits for all of them.
    latency
        Cycles from the beginning of a request to its return.
    gap
        Cycles between the beginnings of two requests: memory takes no more.
    """
    ready, memory, clock = (
        [0] * warps,
        0,
        0,
    )  # cycles from which a warp can issue, memory can begin, time is now
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
        ready[warp] = back_at[-1]  # requests are begun in order, so the last one is back last
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
class LatencyPicture:
    """Warps over time, and how busy they keep their scheduler; see `explore_latency` for the parameters."""

    warps: int = 6
    work: int = 40
    requests: int = 1
    latency: int = 400
    gap: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            value, (_, low, high, unit) = getattr(self, field.name), SLIDERS[field.name]
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(
                    f"{field.name} is {value!r}: the picture takes a whole number from {low:,} to {high:,} {unit}".rstrip()
                )

    def simulated(self, warps: int) -> Simulated:
        """Return what the simulation counts with so many warps."""
        return simulate(warps, self.work, self.requests, self.latency, self.gap)

    @cached_property
    def now(self) -> Simulated:
        return self.simulated(self.warps)

    def bound(self, warps: int) -> float:
        """Return the share of cycles in which so many warps can issue at best: by waiting, by memory, by the scheduler.

        By Little's law: requests under way are at most warps × requests, each takes a latency at least, and a warp
        comes round once in a turn of issuing and waiting.
        """
        turn = self.work + self.requests
        by_latency = warps * turn / (turn + self.latency)
        by_memory = turn / (self.requests * self.gap)
        return min(1.0, by_latency, by_memory)

    @property
    def enough(self) -> int:
        """Warps from which on more of them can change nothing, by the bound: the ceiling is reached."""
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
        return text + f"More warps gain nothing: what limits is {limit}."

    def alt(self) -> str:
        """Return what the picture shows, for those who do not see it."""
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
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" '
            f'style="width: {WIDTH * 1.3:.0f}px; max-width: 100%; height: auto; font-family: inherit">'
            f"{''.join(parts + curve)}</svg>"
        )

    def _timeline(self) -> tuple[list[str], int]:
        window, low = self._window, self.now.turns[0][WARMUP][0]
        scale = (WIDTH - LEFT - RIGHT) / window
        parts, issuing = [], []

        def bar(began: int, ended: int, y: int, fill: str) -> str:
            began, ended = max(began - low, 0), min(ended - low, window)
            if ended <= began:
                return ""
            width = max(0.6, (ended - began) * scale)
            return f'<rect x="{LEFT + began * scale:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 3}" fill="{fill}"/>'

        for warp, turns in enumerate(self.now.turns):
            y = 4 + warp * ROW
            if self.warps <= 4 or warp in (0, self.warps - 1):
                parts.append(_text(LEFT - 6, y + 8, f"warp {warp}", QUIET, "end"))
            # Ready from the last return on, and not yet chosen; then issuing; then waiting.
            for (_, _, back), (began, ended, returned) in zip(((0, 0, 0), *turns), turns, strict=False):
                parts.append(bar(back, began, y, READY))
                parts.append(bar(began, ended, y, WORK))
                parts.append(bar(ended, returned, y, WAIT))
                issuing.append((began, ended))
        y = 8 + self.warps * ROW
        parts.append(_text(LEFT - 6, y + 8, "scheduler", INK, "end"))
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - RIGHT}" height="{ROW - 3}" fill="none" stroke="{LINE}"/>'
        )
        parts += [bar(began, ended, y, WORK) for began, ended in issuing]
        y += ROW + 12
        parts.append(_text(LEFT, y, "0", QUIET, "start"))
        parts.append(_text(WIDTH - RIGHT, y, f"{window:,} cycles", QUIET, "end"))
        for place, (fill, name) in enumerate(((WORK, "issuing"), (WAIT, "waiting"), (READY, "ready"))):
            x = LEFT + 70 + 80 * place
            parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{fill}" stroke="{LINE}"/>')
            parts.append(_text(x + 15, y, name, INK, "start"))
        return parts, y

    def _curve(self, top: int) -> tuple[list[str], int]:
        most = SLIDERS["warps"][2]

        def x(warps: float) -> float:
            return LEFT + (WIDTH - LEFT - RIGHT) * (warps - 1) / (most - 1)

        def y(share: float) -> float:
            return top + CURVE * (1 - share)

        parts = []
        for share in (0, 0.5, 1):
            parts.append(
                f'<line x1="{LEFT}" y1="{y(share):.1f}" x2="{WIDTH - RIGHT}" y2="{y(share):.1f}" stroke="{LINE}"/>'
            )
            parts.append(_text(LEFT - 6, y(share) + 4, f"{share:.0%}", INK, "end"))
        for warps in (1, 4, 8, 12, 16):
            parts.append(_text(x(warps), top + CURVE + 17, str(warps), INK, "middle"))
        parts.append(_text((LEFT + WIDTH - RIGHT) / 2, top + CURVE + 35, "warps", QUIET, "middle"))
        parts.append(_text(LEFT, top - 10, "share of cycles with an instruction", QUIET, "start"))
        bound = " ".join(f"{x(w):.1f},{y(self.bound(w)):.1f}" for w in range(1, most + 1))
        parts.append(
            f'<polyline points="{bound}" fill="none" stroke="{BOUND}" stroke-width="1.5" stroke-dasharray="5 4"/>'
        )
        for warps in range(1, most + 1):
            share = self.now.busy if warps == self.warps else self.simulated(warps).busy
            here = warps == self.warps
            parts.append(
                f'<circle cx="{x(warps):.1f}" cy="{y(share):.1f}" r="{6 if here else 3.5}" '
                f'fill="{WARNING if here else WORK}"/>'
            )
        return parts, top + CURVE + 42

    def html(self) -> str:
        """Return the picture with its sentences below it."""
        return f'<div class="h2d-explorer">{self.svg()}<p>{escape(self.summary())}</p></div>'

    def _repr_html_(self) -> str:
        return self.html()


class LatencyExplorer(Explorer):
    """Sliders and the picture where a kernel runs; the picture alone in a static page."""

    picture: LatencyPicture

    def widget(self) -> Any:
        """Return the sliders and the picture as one ipywidgets box."""
        import ipywidgets

        sliders = {
            name: ipywidgets.IntSlider(
                value=getattr(self.picture, name),
                min=low,
                max=high,
                description=f"{label} ({unit})" if unit else label,
                style={"description_width": "15em"},
                layout={"width": "min(100%, 34em)"},
                continuous_update=False,  # a picture is sixteen simulations
            )
            for name, (label, low, high, unit) in SLIDERS.items()
        }
        view = ipywidgets.HTML(self.picture.html())

        def redraw(_change: object) -> None:
            self.picture = LatencyPicture(**{name: slider.value for name, slider in sliders.items()})
            view.value = self.picture.html()

        for slider in sliders.values():
            slider.observe(redraw, names="value")
        return ipywidgets.VBox([*sliders.values(), view])


def explore_latency(
    warps: int = 6, work: int = 40, requests: int = 1, latency: int = 400, gap: int = 1
) -> LatencyExplorer:
    """Show how warps that take turns hide the latency of memory; sliders move every number.

    A simulation of one scheduler of a streaming multiprocessor, counted and not measured: it issues one instruction
    a cycle, of any warp that is not waiting for its loads.

    Parameters
    ----------
    warps
        Warps of this scheduler, 1 to 16. A streaming multiprocessor of a T4 has 32 for its four, an H100's 64
        (NVIDIA, "CUDA C++ Programming Guide", Compute Capabilities).
    work
        Instructions that a warp issues between its loads, 1 to 100.
    requests
        Loads that it issues one after another before it waits for them, 1 to 8.
    latency
        Cycles until a load is back, 20 to 1,000.
    gap
        Cycles from which on memory begins the next load, 1 to 100: its bandwidth.

    Raises
    ------
    ValueError
        If a number is not a whole one within these limits.
    """
    return LatencyExplorer(LatencyPicture(warps, work, requests, latency, gap))


def _text(x: float, y: float, text: str, fill: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
