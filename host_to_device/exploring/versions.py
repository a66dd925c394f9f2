"""The compatibility explorer: a wheel, a driver and a GPU, what they have and accept, and what happens.

It shows what `h2d.runs_on` decides, and draws what the decision looked at: the GPU code of the wheel, what the driver
accepts, and the GPU. The layer that decides is marked.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from host_to_device.diagnosing import matrix
from host_to_device.diagnosing.compatibility import (
    MINOR_VERSIONS,
    NEW_PTX,
    NO_DEVICE,
    NO_IMAGE,
    OLD_DRIVER,
    Outcome,
    fitting,
    runs_on,
)
from host_to_device.diagnosing.machine_code import Wheel, known_wheels
from host_to_device.exploring.explorer import Choice, Explorer, Picture
from host_to_device.hardware.gpus import GPUS
from host_to_device.rendering import svg
from host_to_device.rendering.palette import (
    BLUE,
    BLUE_SOFT,
    GREEN,
    GREEN_SOFT,
    INK,
    LINE,
    ORANGE,
    ORANGE_SOFT,
    QUIET,
    WARNING,
    variable,
)
from host_to_device.rendering.table import Table

WHEELS = {f"{each.name} {each.version}": each for each in known_wheels()}
# The compute capability of each of NVIDIA's GPUs in the table of hardware, from the name of its compile target (sm_90).
NUMBERS = {gpu.name: int(gpu.architecture.target[3:]) for gpu in GPUS if gpu.vendor == "NVIDIA"}
CARDS = {
    name: f"{number // 10}.{number % 10}" for name, number in sorted(NUMBERS.items(), key=lambda row: row[1])
}
PAPER = variable("paper")
WHEEL, DRIVER, GPU = "the wheel", "the driver", "the GPU"
DECIDES = {OLD_DRIVER: DRIVER, NO_DEVICE: DRIVER, NEW_PTX: DRIVER, NO_IMAGE: WHEEL}
YES, NO, UNUSED = "✓", "✗", "·"
WORDS = {YES: "yes", NO: "no", UNUSED: "not asked"}

# Lengths in the SVG's own units: the picture, the margin in a box, a line of text, the gap of the arrows, a letter of a chip.
WIDTH, INDENT, ROW, BETWEEN, LETTER = 372, 11, 18, 18, 7
LETTERS = 52  # that fit into a line


@dataclass(frozen=True)
class CompatibilityPicture(Picture):
    """What happens with a wheel, a driver and a GPU, as a picture; see `explore_compatibility` for the parameters."""

    driver: str = "12.8"
    wheel: str = "torch 2.6.0"
    card: str = "RTX PRO 6000 Blackwell"

    controls: ClassVar = {
        "driver": Choice("driver for CUDA", tuple(matrix.drivers_by_cuda()), ordered=True),
        "wheel": Choice("wheel", {name: f"{name} (CUDA {each.cuda})" for name, each in WHEELS.items()}),
        "card": Choice("GPU", {name: f"{name} ({capability})" for name, capability in CARDS.items()}),
    }
    key: ClassVar = (
        "Decided from versions; nothing was run. ✓ is met, ✗ is not met, · was not asked. "
        "A filled number is code that this GPU can use. The layer with the thick edge decides."
    )
    folded: ClassVar = "The same wheel and driver with other GPUs, as a table"

    @property
    def built(self) -> Wheel:
        """The wheel with its GPU code."""
        return WHEELS[self.wheel]

    @property
    def capability(self) -> str:
        """The compute capability of the GPU."""
        return CARDS[self.card]

    @cached_property
    def outcome(self) -> Outcome:
        """What happens."""
        return runs_on(self.built, self.driver, self.capability)

    @property
    def warns(self) -> bool:
        """Whether it fails."""
        return self.outcome.kind == "fails"

    @property
    def decides(self) -> str:
        """The layer that decides; "" where the outcome is not known."""
        by_kind = {"runs": WHEEL, "compiles": DRIVER if self.built.ptx else WHEEL}
        return DECIDES.get(self.outcome.message) or by_kind.get(self.outcome.kind, "")

    def accepted(self) -> list[tuple[str, str]]:
        """Return what the driver accepts, each with a mark: met, not met, or not asked."""
        outcome, major = self.outcome, int(self.driver.partition(".")[0])
        limit = f"{major}.x" if major >= MINOR_VERSIONS else self.driver
        old, hidden = outcome.message == OLD_DRIVER, outcome.message == NO_DEVICE
        known = matrix.drives(self.driver, self.capability)
        uses_ptx = outcome.message == NEW_PTX or (outcome.kind == "compiles" and bool(self.built.ptx))
        return [
            (NO if old else YES, f"programs built for CUDA up to {limit}"),
            (
                UNUSED if old or known is None else NO if hidden else YES,
                f"the GPU's compute capability {self.capability}",
            ),
            (
                UNUSED if not uses_ptx else NO if outcome.message == NEW_PTX else YES,
                f"PTX of CUDA up to {self.driver}",
            ),
        ]

    def summary(self) -> str:
        """Return what the picture shows, in two sentences."""
        outcome = self.outcome
        what = {
            "runs": "its machine code runs.",
            "compiles": "kernels are compiled first.",
            "fails": f"it fails. CUDA says: {outcome.message.rstrip('.')}.",
            "not known": "the outcome is not known.",
        }[outcome.kind]
        return f"{self.wheel} on {self.card} with a driver for CUDA {self.driver}: {what} {outcome.why}"

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        wheel = self.built
        code = "; ".join(
            f"{kind} for {', '.join(found)}"
            for kind, found in (("machine code", wheel.sass), ("PTX", wheel.ptx))
            if found
        )
        accepted = "; ".join(f"{words}: {WORDS[mark]}" for mark, words in self.accepted())
        deciding = f" {self.decides[0].upper()}{self.decides[1:]} decides." if self.decides else ""
        return (
            f"Three layers. The wheel {self.wheel}, {'built for' if code else 'for'} CUDA {wheel.cuda}{'' if code else ' or newer'}, has {code or 'no GPU code'}. "
            f"The driver accepts {accepted}. The GPU is {self.card}, compute capability {self.capability}.{deciding} "
            f"{self.summary()}"
        )

    def svg(self) -> str:
        """Return the picture: the wheel, the driver and the GPU as boxes from above, and below them what happens."""
        parts: list[str] = []
        y = 2.0
        for layer, (fill, edge), draw in (
            (WHEEL, (BLUE_SOFT, BLUE), self._wheel),
            (DRIVER, (ORANGE_SOFT, ORANGE), self._driver),
            (GPU, ("none", INK), self._gpu),
        ):
            inside, high = draw(y)
            thick = layer == self.decides
            look: dict[str, Any] = {"stroke": edge, "stroke_width": 4 if thick else 1}
            parts.append(svg.box(2, y, WIDTH - 4, high, fill, rx=6, **look))
            parts += inside
            if thick:
                parts.append(svg.text(WIDTH - INDENT, y + ROW, "decides", INK, "end", font_weight=700))
            parts += svg.arrow_down(WIDTH / 2, y + high, y + high + BETWEEN)
            y += high + BETWEEN
        y = self._outcome(parts, y)
        return svg.picture(parts, self.alt(), (0, 0, WIDTH, y + 2), WIDTH * 1.2)

    def _wheel(self, top: float) -> tuple[list[str], float]:
        """Return what stands in the wheel's box, and the box's height."""
        wheel, y = self.built, top + ROW
        parts = [svg.text(INDENT, y, f"wheel: {self.wheel}", font_weight=700)]
        y += ROW
        if not wheel.sass and not wheel.ptx:
            parts.append(svg.text(INDENT, y, f"for CUDA {wheel.cuda} or newer"))
            parts.append(svg.text(INDENT, y + ROW, "no GPU code: it compiles each kernel at run time"))
            return parts, y + ROW - top + 10
        parts.append(svg.text(INDENT, y, f"built for CUDA {wheel.cuda}"))
        usable = fitting(wheel, self.capability)
        for kind, found, used in (("machine code", wheel.sass, usable[0]), ("PTX", wheel.ptx, usable[1])):
            y += ROW
            parts.append(svg.text(INDENT, y, f"{kind}:{'' if found else ' none'}"))
            if found:
                y += 8
                chips, y = _chips(found, used, y)
                parts += chips
        return parts, y - top + 10

    def _driver(self, top: float) -> tuple[list[str], float]:
        """Return what stands in the driver's box, and the box's height."""
        first = matrix.drivers_by_cuda()[self.driver]
        y = top + ROW
        parts = [
            svg.text(INDENT, y, f"driver for CUDA {self.driver}", font_weight=700),
            svg.text(INDENT, y + ROW, f"such as {first} on Linux; it accepts"),
        ]
        y += ROW
        for mark, words in self.accepted():
            y += ROW
            weight: dict[str, Any] = {"font_weight": 700} if mark == NO else {}
            parts.append(svg.text(INDENT + 6, y, mark, INK, "middle", 14, font_weight=700))
            parts.append(svg.text(INDENT + 20, y, words, **weight))
        return parts, y - top + 10

    def _gpu(self, top: float) -> tuple[list[str], float]:
        """Return what stands in the GPU's box, and the box's height."""
        return [
            svg.text(INDENT, top + ROW, f"GPU: {self.card}", font_weight=700),
            svg.text(INDENT, top + 2 * ROW, f"compute capability {self.capability}"),
        ], 2 * ROW + 10

    def _outcome(self, parts: list[str], y: float) -> float:
        """Draw what happens below the layers, and return where it ends."""
        said = {
            "runs": "runs: the driver loads machine code",
            "compiles": "compiles first, then runs",
            "fails": "fails",
            "not known": "not known",
        }[self.outcome.kind]
        lines = textwrap.wrap(f"“{self.outcome.message}”", LETTERS) if self.outcome.message else []
        high = ROW * (len(lines) + 1) + 10
        good = self.outcome.kind in ("runs", "compiles")
        fill, edge = (GREEN_SOFT, GREEN) if good else ("none", WARNING if self.warns else QUIET)
        parts.append(svg.box(2, y, WIDTH - 4, high, fill, rx=6, stroke=edge, stroke_width=2))
        colour = WARNING if self.warns else INK
        parts.append(
            svg.text(
                INDENT,
                y + ROW,
                f"{YES if good else NO if self.warns else '?'} {said}",
                colour,
                font_weight=700,
            )
        )
        parts += [svg.text(INDENT, y + ROW * number, line, colour) for number, line in enumerate(lines, 2)]
        return y + high

    def table(self) -> Table:
        """Return what happens with the same wheel and driver on each GPU."""
        rows = []
        for card, capability in CARDS.items():
            outcome = runs_on(self.built, self.driver, capability)
            rows.append((card, outcome.kind, capability, outcome.message or outcome.why))
        caption = f"{self.wheel} with a driver for CUDA {self.driver}, by GPU"
        return Table(
            caption, ("GPU", "outcome", "compute capability", "CUDA's message, or the rule"), tuple(rows)
        )


def _chips(found: Iterable[str], used: list[str], top: float) -> tuple[list[str], float]:
    """Return the compute capabilities in small boxes, those that the GPU can use filled; and where the last row ends."""
    parts, x, y = [], float(INDENT), top
    for each in found:
        wide = LETTER * len(each) + 12
        if x + wide > WIDTH - INDENT:
            x, y = float(INDENT), y + ROW + 4
        fits = each in used
        look: dict[str, Any] = {"stroke": GREEN if fits else LINE, "stroke_width": 2 if fits else 1}
        parts.append(svg.box(x, y, wide, ROW, GREEN_SOFT if fits else PAPER, rx=4, **look))
        weight = {"font_weight": 700} if fits else {}
        parts.append(svg.text(x + wide / 2, y + 13, each, INK if fits else QUIET, "middle", **weight))
        x += wide + 5
    return parts, y + ROW


def explore_compatibility(
    driver: str = "12.8", wheel: str = "torch 2.6.0", card: str = "RTX PRO 6000 Blackwell"
) -> Explorer[CompatibilityPicture]:
    """Show whether a wheel runs with a driver on a GPU, and which layer decides; a slider and menus change each.

    `h2d.runs_on` decides it from the versions and from the GPU code that `h2d.known_wheels()` lists; nothing is run.

    Parameters
    ----------
    driver
        The newest release of CUDA that the driver supports, from "9.0" to "13.3"; `nvidia-smi` shows it.
    wheel
        Name and version of a wheel of `h2d.known_wheels()`, such as "torch 2.13.0".
    card
        The GPU, such as "T4", "A10", "H100 SXM" or "RTX 4090".

    Raises
    ------
    ValueError
        If the explorer does not have the driver, the wheel or the GPU; the message lists those that it has.

    Examples
    --------
    >>> explorer = h2d.explore_compatibility()  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    torch 2.6.0 on RTX PRO 6000 Blackwell with a driver for CUDA 12.8: it fails. CUDA says: no kernel image...
    """
    return Explorer(CompatibilityPicture(driver, wheel, card))
