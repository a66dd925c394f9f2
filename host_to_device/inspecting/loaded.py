"""What `h2d.stack` returns: the products that a process has loaded, as text, as a picture and as a table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from host_to_device.inspecting.layers import AMD, FRAMEWORK, KERNEL, LAYERS, LIBRARIES, MATH, USER
from host_to_device.inspecting.owners import SITE, Owner
from host_to_device.rendering import svg
from host_to_device.rendering.palette import (
    BLUE,
    BLUE_SOFT,
    DARK,
    GREEN,
    GREEN_SOFT,
    INK,
    ORANGE,
    ORANGE_SOFT,
    QUIET,
)
from host_to_device.rendering.table import Table

WIDTH, INDENT, ASIDE, ROW, BETWEEN = 372, 11, 36, 17, 18  # lengths in the SVG's own units
LETTERS = 54  # that fit into a line
COLOURS = {  # fill and edge; LIBRARY for the other layers
    USER: (ORANGE_SOFT, ORANGE),
    KERNEL: (GREEN_SOFT, GREEN),
}
LIBRARY = BLUE_SOFT, BLUE


@dataclass(frozen=True)
class Loaded:
    """One product of a layer that the process has loaded.

    Attributes
    ----------
    layer, product
        Its layer and its name: "CUDA libraries", "cuDNN".
    version
        Its version, or None where neither a package nor the file's name tells it.
    files
        The paths of its files; the one that it is known by comes first.
    owner
        Who brought it.
    inside
        The product into whose file it is linked; "" for files of its own.
    """

    layer: str
    product: str
    version: str | None
    files: tuple[str, ...]
    owner: Owner
    inside: str = ""

    @property
    def name(self) -> str:
        """The product, and into which other one it is linked."""
        return f"{self.product} (inside {self.inside})" if self.inside else self.product

    def __str__(self) -> str:
        inside = f"(inside {self.inside})" if self.inside else ""
        return " ".join(filter(None, (self.product, self.version, inside)))


@dataclass(frozen=True)
class Stack:
    """What a process has loaded, by layer; printed, it is a text, and in a notebook a picture.

    Attributes
    ----------
    process
        Whose stack it is: "this process", "process 1234".
    loaded
        What it has loaded, in the order of the layers.
    absent
        Why a layer is empty, by layer.
    remarks
        What stands out.
    """

    process: str
    loaded: tuple[Loaded, ...]
    absent: dict[str, str]
    remarks: tuple[str, ...] = ()

    @property
    def layers(self) -> dict[str, list[tuple[str, str | None, str]]]:
        """For each layer, from the program down, its products: name, version or None, path of the first file."""
        return {
            layer: [(each.name, each.version, each.files[0]) for each in self.of(layer)] for layer in LAYERS
        }

    def of(self, layer: str) -> list[Loaded]:
        """Return what of a layer is loaded."""
        return [each for each in self.loaded if each.layer == layer]

    def title(self, layer: str) -> str:
        """Return what a layer is called here: by ROCm's name where AMD's libraries are loaded."""
        amd = any(each.product in ("HIP runtime", "ROCr") for each in self.loaded)
        return AMD.get(layer, layer) if amd else layer

    def __repr__(self) -> str:
        if not self.loaded:
            return "\n".join(self.remarks)
        lines = [f"Loaded in {self.process}, from the program down to the driver:"]
        for layer in LAYERS:
            lines.append(self.title(layer))
            for each in self.of(layer):
                lines += [f"  {each}, from {each.owner}", f"    {short(each.files)}"]
            lines += [f"  {self.absent[layer]}"] if layer in self.absent else []
        return "\n".join([*lines, *self.remarks])

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self)} | ({"text/html": page(self)} if self.loaded else {})


def short(files: Sequence[str]) -> str:
    """Return the names of one or two files, or how many there are with the name of the first library among them."""
    names = [path if path.startswith(("/proc/", "/dev/")) else Path(path).name for path in files]
    if len(names) > 2 and not names[0].startswith("lib"):
        return f"{len(names)} modules"
    return ", ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more files"


def shown(path: str) -> str:
    """Return a path without the folder of the environment or of the user in front of it."""
    inside = SITE.fullmatch(path)
    home = str(Path.home())
    if inside:
        return inside[2]
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def table(stack: Stack) -> Table:
    """Return the files by layer."""
    rows = [
        (
            shown(each.files[0]),
            stack.title(each.layer),
            each.name,
            each.version or "–",
            str(each.owner),
            f"{len(each.files) - 1 or '–'}",
        )
        for each in stack.loaded
    ]
    header = ("file", "layer", "what it is", "version", "from", "more files")
    return Table(f"What {stack.process} has loaded", header, tuple(rows), (5,), stack.remarks)


def alt(stack: Stack) -> str:
    """Return what the picture shows, in words."""
    said = [
        f"{stack.title(layer)}: {', '.join(map(str, stack.of(layer))) or stack.absent[layer]}"
        for layer in LAYERS
    ]
    return f"What {stack.process} has loaded, a box for each layer, from the program down. {'; '.join(said)}."


def drawing(stack: Stack) -> str:
    """Return the picture: a box for each layer, dashed where it is empty, with arrows for the direction of calls."""
    parts, y, framework = [], 2.0, 0.0
    for layer in LAYERS:
        # The libraries for the CPU call nothing below them: their box stands aside, and the calls to CUDA pass it.
        left = ASIDE if layer == MATH else 1
        if layer == LIBRARIES:
            parts += svg.arrow_down(ASIDE / 2, framework, y)
        elif y > 2:
            parts += svg.arrow_down(WIDTH / 2, y - BETWEEN, y)
        lines = _lines(stack, layer, round(LETTERS * (WIDTH - left) / WIDTH))
        high = ROW * (len(lines) + 1) + 10
        fill, edge = COLOURS.get(layer, LIBRARY)
        look = {"stroke": edge}
        if layer in stack.absent:
            fill, look = "none", {"stroke": QUIET, "stroke_dasharray": "4 4"}
        parts.append(svg.box(left, y, WIDTH - 1 - left, high, fill, rx=6, **look))
        parts.append(svg.text(left + INDENT, y + ROW, stack.title(layer), font_weight=700))
        for number, (words, colour) in enumerate(lines, 2):
            parts.append(svg.text(left + INDENT, y + ROW * number, words, colour))
        y += high + BETWEEN
        framework = y - BETWEEN if layer == FRAMEWORK else framework
    return svg.picture(parts, alt(stack), (0, 0, WIDTH, y - BETWEEN + 2))


def _lines(stack: Stack, layer: str, letters: int) -> list[tuple[str, str]]:
    """Return the lines of a layer's box with their colours: what each owner brought, or why the layer is empty."""
    if layer in stack.absent:
        return [(line, QUIET) for line in textwrap.wrap(stack.absent[layer], letters)]
    lines = []
    brought = sorted(stack.of(layer), key=lambda each: each.owner.by)
    for by, group in groupby(brought, key=lambda each: each.owner.by):
        whole = [str(each).replace(" ", "\N{NO-BREAK SPACE}") for each in group]
        lines += [(line, INK) for line in textwrap.wrap(", ".join(whole), letters, break_on_hyphens=False)]
        lines.append((f"from {by}", QUIET))
    return lines


def page(stack: Stack) -> str:
    """Return the picture as HTML, and below it what stands out and the files as a table."""
    remarks = "".join(f"<p>{escape(each)}</p>" for each in stack.remarks)
    files = table(stack)
    return (
        f'{DARK}<figure class="h2d-figure" style="margin: 1rem 0; padding: 0">{drawing(stack)}</figure>{remarks}'
        "<details><summary>The files as a table</summary>"
        f'<div role="region" aria-label="Table: {escape(files.caption)}" tabindex="0" style="overflow-x: auto">'
        f"{files._repr_html_()}</div></details>"
    )
