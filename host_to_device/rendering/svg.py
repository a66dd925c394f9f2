"""Parts of an SVG picture: the picture itself, its words, its shapes. Lengths are in the SVG's own units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

from host_to_device.rendering.palette import INK, QUIET, themed


def element(tag: str, words: str | None = None, **attributes: Any) -> str:
    """Return an SVG element.

    Parameters
    ----------
    tag
        Its name: "rect", "path".
    words
        The text inside it; None closes the element at once.
    attributes
        Its attributes by name, with underscores for hyphens: `stroke_width=2`. Numbers are rounded to hundredths.
    """
    given = "".join(
        f' {name.replace("_", "-")}="{_number(value) if isinstance(value, int | float) else escape(str(value))}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{given}/>" if words is None else f"<{tag}{given}>{escape(words)}</{tag}>"


def text(
    x: float, y: float, words: str, fill: str = INK, anchor: str = "start", size: float = 12, **more: Any
) -> str:
    """Return words whose baseline is at y; `anchor` says what of them is at x: "start", "middle" or "end"."""
    return element("text", words, x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **more)


def box(x: float, y: float, width: float, height: float, fill: str, **more: Any) -> str:
    """Return a rectangle with its upper left corner at x and y."""
    return element("rect", x=x, y=y, width=width, height=height, fill=fill, **more)


def circle(x: float, y: float, radius: float, fill: str, **more: Any) -> str:
    """Return a circle around x and y."""
    return element("circle", cx=x, cy=y, r=radius, fill=fill, **more)


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, **more: Any) -> str:
    """Return a straight line from the first point to the second."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)


def arrow_down(x: float, top: float, bottom: float) -> list[str]:
    """Return an arrow between two boxes that stand one above the other."""
    head = f"{_number(x)},{_number(bottom - 3)} {_number(x - 4)},{_number(bottom - 10)} {_number(x + 4)},{_number(bottom - 10)}"
    return [
        line(x, top + 2, x, bottom - 9, QUIET, stroke_width=1.5),
        element("polygon", points=head, fill=QUIET),
    ]


def curve(points: Iterable[tuple[float, float]], stroke: str, **more: Any) -> str:
    """Return a line through all these points."""
    path = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
    return element("polyline", points=path, fill="none", stroke=stroke, **more)


def picture(
    parts: Iterable[str],
    alt: str,
    view: tuple[float, float, float, float],
    width: float | None = None,
    kind: str = "h2d-drawing",
) -> str:
    """Return a whole picture.

    Parameters
    ----------
    parts
        What is drawn, from the back to the front.
    alt
        What the picture shows, for readers who do not see it.
    view
        The part of the plane that is shown: x and y of its upper left corner, width and height.
    width
        Pixels that the picture takes where there is room; the width of `view` where this is left out.
    kind
        The picture's class in the style sheet.
    """
    shown = " ".join(map(_number, view))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{shown}" role="img" aria-label="{escape(alt)}" '
        f'class="{kind}" style="width: {view[2] if width is None else width:.0f}px; max-width: 100%; height: auto; '
        f'font-family: inherit">{"".join(parts)}</svg>'
    )


def in_page(text: str, name: str, alt: str, style: str) -> str:
    """Return a whole SVG for a page with other pictures: its ids begin with `name`, its colours follow the page.

    Parameters
    ----------
    text
        The picture, with its head.
    name
        The picture's name, which no other picture of the page has.
    alt
        What the picture shows, for readers who do not see it.
    style
        The CSS of the picture itself.
    """
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", text)
    own = f'role="img" aria-label="{escape(alt)}" class="h2d-drawing" style="{style}"'
    return themed(text.strip()).replace("<svg ", f"<svg {own} ", 1)


def _number(value: float) -> str:
    return f"{round(value, 2):g}"
