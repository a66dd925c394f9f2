"""Drawings of the book: SVG that stands inside the page, so that it follows light and dark.

`{drawing}` takes the name of a file in this folder: `name.svg`, drawn by hand, or `name.py`, whose `draw()`
returns a matplotlib figure. Both use the colours of `host_to_device.rendering.palette`; in the page these become CSS
variables that `_static/book.css` sets for light and for dark.
"""

import importlib
import io
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from host_to_device.rendering.svg import in_page

HERE = Path(__file__).parent

# In pixels. Where a drawing would have to be so small that its letters get smaller, it scrolls.
SMALLEST_LETTERS = 9


def matplotlib_svg(name: str) -> str:
    """Run `draw()` of `book/drawings/<name>.py` and return its figure as SVG text."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    module = importlib.reload(importlib.import_module(f"book.drawings.{name}"))
    style = HERE.parent.parent / "host_to_device" / "figures.mplstyle"
    # Text stays text, and ids do not change from one build to the next.
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
    }
    with plt.style.context([str(style), settings]):
        figure = module.draw()
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", "", out.getvalue(), flags=re.S)
    return re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", svg, count=1, flags=re.S)


def legible_width(svg: str) -> int:
    """Return the width in pixels below which the drawing's smallest letters cannot be read; 0 if it has none."""
    letters = [float(size) for size in re.findall(r"font-size[:=]\s*\"?([\d.]+)", svg)]
    box = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+)', svg)
    return round(SMALLEST_LETTERS / min(letters) * float(box[1])) if letters and box else 0


def prepared(svg: str, name: str, alt: str) -> str:
    """Return SVG for the page: its ids its own, its colours the theme's, its alternative text in place."""
    return in_page(svg, name, alt, f"min-width: {legible_width(svg)}px")


class Drawing(SphinxDirective):
    """`{drawing} name` with `:alt:`, optional `:name:` and `:class:`, and the caption as its content."""

    required_arguments = 1
    has_content = True
    option_spec = {  # noqa: RUF012 - the directive interface wants a plain attribute
        "alt": directives.unchanged_required,
        "name": directives.unchanged,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        hand_made, computed = HERE / f"{name}.svg", HERE / f"{name}.py"
        if "alt" not in self.options:
            raise self.error(f"drawing {name}: say in :alt: what the picture shows")
        if hand_made.exists():
            self.env.note_dependency(str(hand_made))
            svg = hand_made.read_text(encoding="utf-8")
        elif computed.exists():
            self.env.note_dependency(str(computed))
            svg = matplotlib_svg(name)
        else:
            raise self.error(
                f"drawing {name}: neither {hand_made.name} nor {computed.name} is in book/drawings"
            )
        figure = nodes.figure(classes=["drawing", *self.options.get("class", [])])
        figure += nodes.raw("", prepared(svg, name, self.options["alt"]), format="html")
        if self.content:
            caption = nodes.caption("", "", *self.parse_inline(" ".join(self.content))[0])
            self.set_source_info(caption)
            figure += caption
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]


def setup(app: Sphinx) -> None:
    app.add_directive("drawing", Drawing)
