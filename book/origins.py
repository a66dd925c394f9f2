"""Stamps of origin: the words measured, recorded, counted, predicted, compiled, raised … link to the table that explains them.

A stamp stands in the caption of a figure or a table, below a listing, or in what a cell has printed. A caption's words
are linked wherever they stand in it, each once; in other text only the phrases that the library and the book write as
stamps. The pages keep their text as it is: links are set when a page is written.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PAGE, ANCHOR = "chapters/measurements", "measured-origins"

# The words of the table, as captions have them.
WORDS = re.compile(r"\b(measured|recorded|counted|predicted|compiled|stand-in|documented|raised)\b", re.I)

# What the library and the book write as a stamp; the group is the word that becomes the link.
STAMPS = re.compile(
    r"\b(predicted)(?=, not measured)"
    r"|\b(counted)(?=, not measured| on: | here, )"
    r"|\b(compiled)(?= (?:for|on) [^<>\n]{1,200}\bnot\s+run)"
    r"|\b(raised)(?= in our tests without a GPU)"
    r"|(?<=Asked of: )(stand-in)",
    re.I,
)

TAG = re.compile(r"(<!--.*?-->|<[^>]*>)", re.S)
NAME = re.compile(r"</?\s*([A-Za-z][\w-]*)")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Nothing in them becomes a link: they are links themselves, no text of the page, or headings.
SPARED = {
    "a",
    "button",
    "script",
    "style",
    "svg",
    "template",
    "textarea",
    "title",
    *(f"h{n}" for n in range(1, 7)),
}
CAPTION = re.compile(r"class=([\"'])[^\"']*\b(caption-text|h2d-stamp)\b")


def linked(body: str, href: str) -> str:
    """Return the HTML of a page with its stamps of origin as links.

    Parameters
    ----------
    body
        The page's HTML.
    href
        Where the links lead.
    """
    parts: list[str] = []
    spared = 0  # how many open elements spare their text
    captions: list[
        tuple[str, int]
    ] = []  # open captions: name of the element, open elements of that name within
    seen: set[str] = set()

    def link(found: re.Match[str]) -> str:
        word = next(filter(None, found.groups()))
        if captions and word.lower() in seen:
            return found[0]
        seen.add(word.lower())
        return f'<a class="h2d-origin" href="{href}">{word}</a>'

    for part in TAG.split(body):
        if not part.startswith("<"):
            parts.append(part if spared else (WORDS if captions else STAMPS).sub(link, part))
            continue
        parts.append(part)
        found = NAME.match(part)
        if found is None:
            continue
        name, closes = found[1].lower(), part.startswith("</")
        if name in VOID or part.endswith("/>"):
            continue
        if name in SPARED:
            spared = max(0, spared + (-1 if closes else 1))
        if captions and captions[-1][0] == name:
            depth = captions[-1][1] + (-1 if closes else 1)
            captions[-1] = name, depth
            if not depth:
                captions.pop()
        elif not closes and not captions and (name == "caption" or CAPTION.search(part)):
            captions.append((name, 1))
            seen.clear()
    return "".join(parts)


def link_stamps(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Set the links of one page."""
    if doctree is None or app.builder.format != "html" or not context.get("body"):
        return
    here = "" if page == PAGE else app.builder.get_relative_uri(page, PAGE)
    context["body"] = linked(context["body"], f"{here}#{ANCHOR}")


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", link_stamps)
