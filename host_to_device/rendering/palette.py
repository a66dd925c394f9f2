"""The colours of the library and the book, each once, and the variables by which a page replaces them."""

from __future__ import annotations

import re

# For light pages; colour-blind safe, after Okabe and Ito (2008). `_static/book.css` sets a variable for each colour,
# to one value in light and to another in dark.
COLOURS = {
    "ink": "#1a1a1a",
    "quiet": "#6b6b6b",
    "line": "#d9d9d9",
    "paper": "#ffffff",
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "purple": "#aa4499",
    "blue-soft": "#dcebf7",
    "orange-soft": "#fbe5d6",
    "green-soft": "#dcf2ea",
    "idle": "#ece9e4",
    "orange-text": "#b84a00",
}


def variable(name: str) -> str:
    """Return a colour as CSS: the page's variable, and the colour itself for pages that do not set the variable.

    Raises
    ------
    KeyError
        If the palette has no colour of this name.
    """
    return f"var(--h2d-{name}, {COLOURS[name]})"


def themed(svg: str) -> str:
    """Return SVG text with each colour of the palette replaced by its variable."""
    names = {colour: name for name, colour in COLOURS.items()}
    return re.sub(
        rf"(?:{'|'.join(names)})\b", lambda found: variable(names[found[0].lower()]), svg, flags=re.I
    )


INK, QUIET, LINE, IDLE = map(variable, ("ink", "quiet", "line", "idle"))
BLUE, ORANGE, GREEN, PURPLE = map(variable, ("blue", "orange", "green", "purple"))
BLUE_SOFT, ORANGE_SOFT, GREEN_SOFT = map(variable, ("blue-soft", "orange-soft", "green-soft"))
WARNING = variable("orange-text")

# For front ends that have a dark theme of their own: JupyterLab, VS Code, Colab. In their light themes the colours
# themselves hold, and in the book those of its style sheet.
DARK = """<style>
body[data-jp-theme-light="false"] .h2d-figure, body.vscode-dark .h2d-figure, html[theme="dark"] .h2d-figure {
  --h2d-ink: #e6e8eb; --h2d-quiet: #a4acb6; --h2d-line: #414a55; --h2d-paper: #15191e; --h2d-blue: #56b4e9;
  --h2d-orange: #f2955a; --h2d-orange-text: #f2955a;
  --h2d-green: #3fc79d; --h2d-purple: #d793cd; color: #e6e8eb; }
</style>"""
