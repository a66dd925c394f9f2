"""Directives of the page "Reading the machine's words", which show the listings of `python -m book.machine_words`.

`{machine-words} guard` shows an idiom: its source, and side by side the lines of its PTX, SASS and GCN that matter, with a
sentence at each. `{machine-words-explorer}` shows any kernel for any two architectures; its script,
`machine_words.js`, loads the listings when the reader first picks a kernel.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book import scripts
from book.machine_words import HERE, IDIOMS, SIDE_BY_SIDE, Idiom, reference, sentences

SCRIPT = Path(__file__).parent / "machine_words.js"
DATA = "machine-words-data.js"  # beside the site's other scripts
BY_NAME = {idiom.name: idiom for idiom in IDIOMS}
MOST = 2  # lines shown of one key instruction
FIRST = ("guard", "PTX sm_90", "SASS sm_90")  # the first kernel and listings of the explorer


def code(text: str) -> str:
    """Return a sentence as HTML; words between backticks become code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def rows_of(idiom: Idiom, name: str) -> list[dict[str, Any]]:
    """Return the lines of one stored listing with their sentences: number, source line, text, sentence, whether key."""
    kind, arch = name.removeprefix("Numba ").split()
    place = sentences.Place(idiom, kind, arch, python=name.startswith("Numba"))
    found = []
    for number, source, text in idiom.stored()["listings"][name]:
        said = None if number is None else sentences.sentence(text, place)
        key = number is not None and re.search(idiom.key[kind], text) is not None
        found.append({"number": number, "source": source, "text": text, "said": said, "key": key})
    return found


def as_list(rows: list[dict[str, Any]], label: str) -> str:
    """Return lines of a listing as an HTML list."""
    if not rows:
        return f'<div class="h2d-words-none" aria-label="{escape(label)}: nothing of this line">–</div>'
    items = "".join(item(row) for row in rows)
    return f'<ul aria-label="{escape(label)}">{items}</ul>'


def item(row: dict[str, Any]) -> str:
    """Return one line of a listing."""
    if row["number"] is None:
        return f'<li class="h2d-words-gap">… {escape(row["text"])} …</li>'
    said = f'<span class="h2d-words-said">{code(row["said"])}</span>' if row["said"] else ""
    mark = ' class="h2d-words-key"' if row["key"] else ""
    return f'<li{mark}><span class="h2d-words-number">{row["number"]}</span><code>{escape(row["text"])}</code>{said}</li>'


def matter(rows: list[dict[str, Any]], beside: str | None = None) -> list[dict[str, Any]]:
    """Return the lines of a listing that matter: of each key instruction the first ones, and the lines beside them."""
    found: list[dict[str, Any]] = []
    shown: dict[str, int] = {}
    for row in rows:
        if row["number"] is None:
            continue
        word = re.match(r"(?:@\S+ )?\w*", row["text"])[0]
        if row["key"] and shown.get(word, 0) < MOST:
            shown[word] = shown.get(word, 0) + 1
            found.append(row)
        elif beside and re.search(beside, row["text"]):
            found.append(row)
    return found


def side_by_side(idiom: Idiom) -> str:
    """Return the lines that matter of an idiom's listings, in three columns."""
    columns = []
    for kind, arch in SIDE_BY_SIDE:
        name = f"{kind} {arch}"
        rows = rows_of(idiom, name)
        label = name.replace(" ", ", ")
        shown = as_list(matter(rows, idiom.beside.get(kind)), label)
        columns.append(
            f'<div class="h2d-words-col"><div class="h2d-words-name">{escape(label)}</div>{shown}</div>'
        )
    label = escape(f"{idiom.title}: the lines that matter in PTX, SASS and GCN")
    return (
        f'<div class="h2d-words" role="region" aria-label="{label}" tabindex="0">'
        f'<div class="h2d-words-cols">{"".join(columns)}</div></div>'
    )


def stamp(idiom: Idiom) -> str:
    """Return the date and the compilers of the listings."""
    stored = idiom.stored()
    tools = ", ".join(f"{name} {version}" for name, version in stored["compilers"].items())
    return f"Compiled on {stored['date']} with {tools}; not run."


class MachineWords(SphinxDirective):
    """One idiom: its source, its listings, and their stamp; or one stored listing alone."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"lines": directives.unchanged_required}  # noqa: RUF012  docutils reads it as a class attribute

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in BY_NAME:
            raise self.error(f"machine-words: there is no idiom {name!r}, only {', '.join(BY_NAME)}")
        idiom = BY_NAME[name]
        for path in (idiom.path, Path(sentences.__file__), *(HERE / "kernels").glob(f"{name}.*")):
            self.env.note_dependency(str(path))
        if len(self.arguments) > 1:
            return self._alone(idiom, self.arguments[1])
        found: list[nodes.Node] = []
        for language, text in self._sources(idiom):
            if found:
                found.append(nodes.paragraph("", "The same for AMD:"))
            block = nodes.literal_block(text, text, language=language)
            block["linenos"] = True
            found.append(block)
        return [*found, nodes.raw("", side_by_side(idiom), format="html")]

    def _sources(self, idiom: Idiom) -> list[tuple[str, str]]:
        both = [("cuda", idiom.source("SASS")), ("cuda", idiom.source("GCN"))]
        return both[: 1 if both[0] == both[1] else 2]

    def _alone(self, idiom: Idiom, name: str) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        if name.startswith("Numba"):
            text = (HERE / "kernels" / f"{idiom.name}.py").read_text(encoding="utf-8")
            block = nodes.literal_block(text, text, language="python")
            block["linenos"] = True
            found.append(block)
        rows = rows_of(idiom, name)
        if "lines" in self.options:
            wanted = {int(each) for each in self.options["lines"].split(",")}
            if missing := wanted - {row["number"] for row in rows}:
                raise self.error(f"machine-words: {idiom.name}, {name} has no line {min(missing)}")
            rows = [row for row in rows if row["number"] in wanted]
        html = (
            f'<div class="h2d-words h2d-words-alone">{as_list(rows, name)}</div>'
            f'<p class="h2d-words-stamp">{escape(name.replace(" sm", ", sm"))}.</p>'
        )
        return [*found, nodes.raw("", html, format="html")]


class Stamp(SphinxDirective):
    """The date and the compilers of all listings of the page."""

    def run(self) -> list[nodes.Node]:
        return [nodes.paragraph("", line) for line in dict.fromkeys(map(stamp, IDIOMS))]


class Explorer(SphinxDirective):
    """Any kernel for any two architectures; without JavaScript it shows the first kernel."""

    def run(self) -> list[nodes.Node]:
        for idiom in IDIOMS:
            self.env.note_dependency(str(idiom.path))
        self.env.note_dependency(str(SCRIPT))
        name, left, right = FIRST
        idiom = BY_NAME[name]
        kernels = "".join(
            f'<option value="{each.name}"{" selected" * (each.name == name)}>{escape(each.title)}</option>'
            for each in IDIOMS
        )

        def targets(chosen: str) -> str:
            return "".join(
                f'<option{" selected" * (each == chosen)} value="{each}">{escape(each.replace(" ", ", "))}</option>'
                for each in idiom.stored()["listings"]
            )

        columns = "".join(
            f'<div class="h2d-words-col" data-side="{side}"><div class="h2d-words-name">{escape(each.replace(" ", ", "))}'
            f"</div>{as_list(rows_of(idiom, each), each)}</div>"
            for side, each in (("left", left), ("right", right))
        )
        html = (
            f'<div class="h2d-words-explorer" data-script="{DATA}"><form hidden aria-label="Which kernel, for which '
            f'architectures"><label>Kernel <select name="kernel">{kernels}</select></label>'
            f'<label>Left <select name="left">{targets(left)}</select></label>'
            f'<label>Right <select name="right">{targets(right)}</select></label></form>'
            f'<pre class="h2d-words-source" tabindex="0" aria-label="The kernel\'s source"><code>'
            f"{escape(idiom.source('SASS'))}</code></pre>"
            f'<div class="h2d-words-cols" aria-live="polite">{columns}</div>'
            "<noscript>Other kernels and architectures can be picked where JavaScript is allowed.</noscript></div>"
        )
        return [nodes.raw("", html, format="html")]


def data() -> dict[str, Any]:
    """Return all listings and sources that the explorer can show."""
    found = {}
    for idiom in IDIOMS:
        listings = {
            name: [
                [row["number"], row["source"], row["text"], row["said"], int(row["key"])]
                for row in rows_of(idiom, name)
            ]
            for name in idiom.stored()["listings"]
        }
        sources = {"cu": idiom.source("SASS")}
        if idiom.source("GCN") != sources["cu"]:
            sources["hip"] = idiom.source("GCN")
        if idiom.python:
            sources["py"] = (HERE / "kernels" / f"{idiom.name}.py").read_text(encoding="utf-8")
        found[idiom.name] = {"sources": sources, "listings": listings}
    return found


def write_data(app: Sphinx, exception: Exception | None) -> None:
    """Put the script's listings beside the site's scripts."""
    if exception or app.builder.format != "html":
        return
    text = json.dumps(data(), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    (Path(app.outdir) / "_static" / DATA).write_text(f"window.h2dMachineWords = {text};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_directive("machine-words", MachineWords)
    app.add_directive("machine-words-explorer", Explorer)
    app.add_directive("machine-words-stamp", Stamp)
    app.add_directive("machine-words-entries", reference.Entries)
    app.add_directive("machine-words-search", reference.Search)
    scripts.load_where(app, "h2d-words-explorer", SCRIPT)
    scripts.load_where(app, "h2d-mw-search", reference.SCRIPT)
    app.connect("build-finished", write_data)
