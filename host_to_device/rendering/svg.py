"""Parts of an SVG picture: the picture itself, its words, its boxes. Coordinates are in the SVG's own units."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def text(
    x: float,
    y: float,
    words: str,
    fill: str,
    anchor: str = "start",
    size: float = 12,
    bold: bool = False,
    more: str = "",
) -> str:
    """Return words at a place; `anchor` is "start", "middle" or "end", `more` holds further attributes."""
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:.4g}" y="{y:.4g}" font-size="{size:g}" text-anchor="{anchor}" fill="{fill}"{weight}'
        f"{f' {more}' if more else ''}>{escape(words)}</text>"
    )


def box(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    """Return a rectangle; `more` holds further attributes, such as `rx="3"`."""
    place = f'x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}"'
    return f'<rect {place} fill="{fill}"{f" {more}" if more else ""}/>'


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
        The part of the plane that is shown: x and y of its corner, width and height.
    width
        Pixels at which it is drawn where there is room; that of `view` where it is left out.
    kind
        The class of the style sheet.
    """
    box_ = " ".join(f"{number:g}" for number in view)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box_}" role="img" aria-label="{escape(alt)}" '
        f'class="{kind}" style="width: {view[2] if width is None else width:g}px; max-width: 100%; height: auto; '
        f'font-family: inherit">{"".join(parts)}</svg>'
    )
