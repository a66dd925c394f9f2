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

# The same colours for dark pages, as in `_static/book.css`.
DARK_COLOURS = {
    "ink": "#e6e8eb",
    "quiet": "#a4acb6",
    "line": "#414a55",
    "paper": "#15191e",
    "blue": "#56b4e9",
    "orange": "#f2955a",
    "green": "#3fc79d",
    "purple": "#d793cd",
    "blue-soft": "#17364b",
    "orange-soft": "#4b2c18",
    "green-soft": "#153a2f",
    "idle": "#2c3138",
    "orange-text": "#f2955a",
}

# What shows colours in a notebook, by class. Each of these brings `DARK` with it.
SHOWN = ("figure", "listing", "explorer", "timeline", "animation")
# How front ends mark a dark theme: JupyterLab, VS Code (also with high contrast), Colab. The system's own theme says nothing
# about theirs. In their light themes the colours themselves hold, and in the book those of its style sheet.
DARK_THEMES = (
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
    "body.vscode-high-contrast:not(.vscode-high-contrast-light)",
    'html[theme="dark"]',
)


def dark(*shown: str) -> str:
    """Return the style that gives what has these classes (without `h2d-`) its dark colours in a dark notebook."""
    return f"""<style>
:is({", ".join(DARK_THEMES)}) :is({", ".join(f".h2d-{each}" for each in shown)}) {{
  {" ".join(f"--h2d-{name}: {colour};" for name, colour in DARK_COLOURS.items())} color: {DARK_COLOURS["ink"]}; }}
</style>"""


DARK = dark(*SHOWN)
