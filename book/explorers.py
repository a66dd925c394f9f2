"""`{epoch-explorer}` and others: an explorer of the library in a page, with menus for some of its controls.

The build draws the picture for every choice of the menus. The page shows the first one; `explorers.js` fetches the others
from this site when the reader first picks something, and shows them. The explorer in a notebook moves all its controls.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book import scripts
from host_to_device.exploring import allocator, epochs, sharing
from host_to_device.exploring.explorer import Picture

SCRIPT = Path(__file__).parent / "explorers.js"
MARK = "h2d-page-explorer"


@dataclass(frozen=True)
class InPage:
    """An explorer as a page shows it.

    Attributes
    ----------
    picture
        Draws the picture of one value for each menu.
    menus
        The menus by the names of their controls: the words of each value.
    first
        The values that the page begins with.
    """

    picture: Callable[..., Picture]
    menus: Mapping[str, Mapping[Any, str]]
    first: tuple[Any, ...]

    def drawn(self, values: tuple[Any, ...]) -> Picture:
        """Return the picture of a value for each menu."""
        return self.picture(**dict(zip(self.menus, values, strict=True)))

    def parts(self, values: tuple[Any, ...]) -> list[str]:
        """Return the picture of some values in four parts: the drawing, the sentences, whether they warn, the table."""
        picture = self.drawn(values)
        table = picture.table()
        return [
            picture.svg(),
            picture.summary(),
            "warns" * picture.warns,
            table._repr_html_() if table else "",
        ]

    def data(self) -> dict[str, list[str]]:
        """Return all pictures, by the places of the values in their menus: "0 2"."""
        places = [range(len(menu)) for menu in self.menus.values()]
        values = [tuple(menu) for menu in self.menus.values()]
        return {
            " ".join(map(str, at)): self.parts(
                tuple(menu[place] for menu, place in zip(values, at, strict=True))
            )
            for at in itertools.product(*places)
        }


def _epoch(explanation: str, third: int) -> epochs.EpochPicture:
    return epochs.EpochPicture(**epochs.best(explanation), third=third)


EXPLORERS = {
    "epoch": InPage(
        _epoch,
        {
            "explanation": {name: each.title for name, each in epochs.EXPLANATIONS.items()},
            "third": {batch: f"{batch:,}" for batch in (256, 4096, 20_480)},
        },
        ("fixed, linear, pairs", 4096),
    ),
    "allocator": InPage(
        allocator.AllocatorPicture,
        {
            "batch": {size: str(size) for size in allocator.BATCHES},
            "step": {
                10: "10, all tensors made",
                12: "12, every second deleted",
                13: "13, a large tensor",
                15: "15, all eight deleted",
            },
            "segments": allocator.SEGMENTS,
            "empty": allocator.DOES,
        },
        (8, 13, "fixed", "no"),
    ),
    "sharing": InPage(
        sharing.SharingPicture,
        {
            "case": {name: words for name, words in sharing.CASES.items() if name != "own"},
            "jobs": {count: str(count) for count in (1, 2, 3, 4, 8)},
            "mode": sharing.MODES,
            "cores": {count: str(count) for count in (8, 1)},
        },
        ("two", 3, "slices", 8),
    ),
}


class ExplorerInPage(SphinxDirective):
    """An explorer with its menus; without JavaScript it shows the picture that the page begins with."""

    name_of = ""

    def run(self) -> list[nodes.Node]:
        of = EXPLORERS[self.name_of]
        picture = of.drawn(of.first)
        for path in (str(SCRIPT), inspect.getfile(type(picture)), inspect.getfile(Picture)):
            self.env.note_dependency(path)
        labels = []
        for (name, menu), first in zip(of.menus.items(), of.first, strict=True):
            options = "".join(
                f"<option{' selected' * (value == first)}>{escape(words)}</option>"
                for value, words in menu.items()
            )
            label = picture.controls[name].description
            labels.append(
                f'<label>{escape(label[0].upper() + label[1:])} <select name="{name}">{options}</select></label>'
            )
        drawing, said, warns, table = of.parts(of.first)
        folded = escape(picture.folded)
        html = (
            f'<div class="{MARK}"><form hidden autocomplete="off" aria-label="What the {self.name_of} explorer shows" data-script="{_file(self.name_of)}">'
            f"{''.join(labels)}</form>"
            f'<div class="h2d-page-explorer-drawing">{drawing}</div>'
            f'<p class="h2d-page-explorer-key">{escape(picture.key)}</p>'
            f'<p class="h2d-page-explorer-said" aria-live="polite" data-warns="{warns}">{escape(said)}</p>'
            f"<details><summary>{folded}</summary>"
            f'<div class="h2d-page-explorer-table" role="region" aria-label="{folded}" tabindex="0">{table}</div>'
            "</details><noscript>Other choices can be picked where JavaScript is allowed.</noscript></div>"
        )
        return [nodes.raw("", html, format="html")]


def _file(name: str) -> str:
    return f"explorer-{name}.js"


def write_data(app: Sphinx, exception: Exception | None) -> None:
    """Put the pictures beside the site's scripts, a script for each explorer."""
    if exception or app.builder.format != "html":
        return
    for name, each in EXPLORERS.items():
        text = json.dumps(each.data(), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
        script = f'(window.h2dExplorers ??= {{}})["{_file(name)}"] = {text};\n'
        (Path(app.outdir) / "_static" / _file(name)).write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> None:
    for name in EXPLORERS:
        directive = type(f"{name.title()}Explorer", (ExplorerInPage,), {"name_of": name})
        app.add_directive(f"{name}-explorer", directive)
    scripts.load_where(app, MARK, SCRIPT)
    app.connect("build-finished", write_data)
