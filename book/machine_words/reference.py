"""The reference of the page "Reading the machine's words": `{machine-words-entries} memory` shows a group of entries.

Each entry is a section with an anchor: what the instruction does, its words in PTX, SASS and GCN with a line of a stored
listing and the remark of `h2d.show`, the line of the source, and the sections that teach it. `{machine-words-search}` is the
field that filters the entries; `reference.js` does that on the page, and without it every entry stays visible.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from book.machine_words import EXAMPLES, EXAMPLES_FILE, HERE, IDIOMS, KINDS, SIDE_BY_SIDE
from book.machine_words.entries import ENTRIES, GROUPS, Entry
from host_to_device.inspecting import remarks
from host_to_device.inspecting.instructions import Instruction

SCRIPT = HERE / "reference.js"
SEPARATORS = "._ :"
LONGEST = 72  # letters of a shown instruction


@dataclass(frozen=True)
class Shown:
    """A line of a stored listing: the instruction, the remark of `h2d.show`, and its line of the source."""

    text: str
    remark: str
    source: int | None


def plain(text: str) -> str:
    """Return an instruction for comparison with words: lower case, and any predicate as `@p`."""
    text = re.sub(r"@!?%?u?p(?:t\b|\d*)", "@p", text.lower())
    text = re.sub(r"^(mov\.u32) \S+ (%(?:n?tid|n?ctaid|laneid))\b.*", r"\1 \2", text)
    text = re.sub(r"^(s_\w+) (exec\w*), .*", r"\1 \2", text)
    return text


def _fits(text: str, word: str) -> bool:
    rest = text[len(word) :]
    return text.startswith(word) and (not rest or rest[0] in SEPARATORS or rest[0].isdigit())


@cache
def _words(kind: str) -> list[tuple[str, Entry]]:
    found = [(plain(word), entry) for entry in ENTRIES for word in entry.words(kind)]
    return sorted(found, key=lambda each: -len(each[0]))


def entry_of(kind: str, text: str) -> Entry | None:
    """Return the entry of an instruction of "PTX", "SASS" or "GCN"; None if there is none."""
    bare = re.sub(r"^@\S+ ", "", text)
    for entry in ENTRIES:
        if (pattern := entry.only.get(kind)) and re.fullmatch(pattern, bare):
            return entry
    if bare != text:
        for word, entry in _words(kind):
            if word.startswith("@p ") and _fits(plain(text), word):
                return entry
    for word, entry in _words(kind):
        if not word.startswith("@") and _fits(plain(bare), word):
            return entry
    return None


@cache
def _examples() -> dict[str, Any]:
    return json.loads(EXAMPLES_FILE.read_text(encoding="utf-8"))


def instructions(kind: str, rows: list[list[Any]]) -> list[Instruction]:
    """Return the rows of a stored listing as instructions, as `h2d.show` reads them."""
    found: list[Instruction] = []
    labels: list[str] = []
    for number, source, text in rows:
        if number is None:
            continue
        if text.endswith(":"):
            labels.append(text[:-1])
            continue
        guard, op, operands = re.fullmatch(r"(@\S+ )?(\S+) ?(.*)", text).groups()
        jump = re.search(r"\$?\.?L[\w]+$", operands) if re.match(r"bra|BRA|BSSY|s_c?branch", op) else None
        target = jump[0].lstrip("$") if jump else None
        place = ("", source) if source else None
        found.append(Instruction(op, operands, (guard or "").strip(), place, tuple(labels), target))
        labels = []
    return found


def _listing(example: str, kind: str) -> tuple[list[list[Any]], dict[str, int], tuple[str, ...]]:
    arch = dict(SIDE_BY_SIDE)[kind]
    for idiom in IDIOMS:
        if idiom.name == example:
            stored, names = idiom.stored(), tuple(name for name, _ in idiom.parameters)
            return stored["listings"][f"{kind} {arch}"], stored["resources"].get(f"{kind} {arch}", {}), names
    kernel = _examples()["kernels"][example]
    return kernel.get(f"{kind} {arch}", []), {}, ()


def shown(entry: Entry, kind: str) -> Shown | None:
    """Return the first line of the entry's example that belongs to it; None if its listing has none."""
    if not entry.example:
        return None
    rows, resources, parameters = _listing(entry.example, kind)
    found = instructions(kind, rows)
    said = remarks.of(kind.lower(), found, resources, parameters)
    for each, remark in zip(found, said, strict=True):
        if entry.pick and not re.search(entry.pick, each.text) and not re.search(entry.pick, remark.text):
            continue
        if entry_of(kind, each.text) is entry or (entry.pick and entry.name in ("loop", "predicated")):
            return Shown(each.text, remark.text, each.place[1] if each.place else None)
    return None


def source_line(entry: Entry) -> str | None:
    """Return the line of the example that its first shown instruction was compiled from."""
    found = [each for kind in KINDS if (each := shown(entry, kind)) and each.source]
    line = source_of(entry.example).splitlines()[found[0].source - 1].strip() if found else ""
    return entry.source or (line if line != "}" else None) or None


def source_of(example: str) -> str:
    """Return the CUDA C++ of an idiom or an example."""
    for idiom in IDIOMS:
        if idiom.name == example:
            return idiom.source("SASS")
    return next(each for each in EXAMPLES if each.name == example).source("SASS")


def search_text(entry: Entry) -> str:
    """Return all words of an entry, one a line, each after its language; the search field compares with these."""
    return "\n".join(f"{kind} {word}" for kind in KINDS for word in entry.words(kind))


def _code(text: str) -> str:
    """Return code that may break after a dot or an underscore."""
    return re.sub(r"([._,])(?=\w)", r"\1<wbr>", escape(text))


def cut(text: str) -> str:
    """Return an instruction, without most operands if it has dozens."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition(',')[0]}, …"


def _first(words: tuple[str, ...], most: int = 4) -> str:
    return " ".join(f"<code>{_code(word)}</code>" for word in words[:most])


def _more(words: tuple[str, ...], most: int = 4) -> str:
    if len(words) <= most:
        return ""
    rest = " ".join(f"<code>{_code(word)}</code>" for word in words[most:])
    return f"<details><summary>{len(words) - most} more</summary>{rest}</details>"


def table(entry: Entry) -> str:
    """Return the words of an entry by language, each with a line of a listing and the remark on it, as HTML."""
    rows = []
    for kind in KINDS:
        words, line = entry.words(kind), shown(entry, kind)
        if not words and not line:
            continue
        listed = ""
        if line:
            remark = f' <span class="h2d-words-said">{escape(line.remark)}</span>' if line.remark else ""
            listed = f"<code>{_code(cut(line.text))}</code>{remark}"
        rows.append(
            f'<tr role="row"><th scope="row" role="rowheader">{kind}</th><td role="cell">{_first(words)}{_more(words)}</td>'
            f'<td role="cell">{listed}</td></tr>'
        )
    return (
        f'<table class="h2d-mw-words" role="table" aria-label="{escape(entry.title)}: the words"><colgroup><col><col><col></colgroup>'
        '<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">Language</th>'
        '<th scope="col" role="columnheader">Words</th>'
        '<th scope="col" role="columnheader">In a listing, with the remark of h2d.show</th></tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table>'
    )


class Entries(SphinxDirective):
    """The entries of one group, each a section."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        if self.arguments[0] not in GROUPS:
            raise self.error(
                f"machine-words-entries: there is no group {self.arguments[0]!r}, only {', '.join(GROUPS)}"
            )
        for path in (
            EXAMPLES_FILE,
            HERE / "entries.py",
            HERE / "reference.py",
            *(idiom.path for idiom in IDIOMS),
        ):
            self.env.note_dependency(str(path))
        return [self._section(entry) for entry in GROUPS[self.arguments[0]]]

    def _section(self, entry: Entry) -> nodes.Element:
        anchor = f"mw-{entry.name}"
        section = nodes.section(ids=[anchor], names=[anchor], classes=["h2d-mw-entry"])
        section += nodes.title("", entry.title)
        self.state.document.note_explicit_target(section)
        index = addnodes.index(entries=[])
        for kind in KINDS:
            for word in entry.words(kind):
                index["entries"].append(("single", word.replace(";", ""), anchor, "", None))
        section += index
        self._markdown(entry.says, section)
        section += nodes.raw("", table(entry), format="html")
        where = []
        if line := source_line(entry):
            where.append(f"From `{line}`" + (f", in Python `{entry.python}`." if entry.python else "."))
        if entry.taught:
            where.append("Taught in " + " and ".join(f"{{ref}}`{each}`" for each in entry.taught) + ".")
        self._markdown(" ".join(where), section, "h2d-mw-from")
        section += nodes.raw(
            "",
            f'<div hidden class="h2d-mw-text" data-words="{escape(search_text(entry))}" data-only="{escape(chr(10).join(entry.only.values()))}"></div>',
            format="html",
        )
        return section

    def _markdown(self, text: str, section: nodes.Element, *classes: str) -> None:
        holder = nodes.container(classes=list(classes))
        source, line = self.get_source_info()
        self.state.nested_parse(StringList([text], source=source), line, holder)
        section += holder if classes else holder.children


class Search(SphinxDirective):
    """The field that filters the entries, with the number of entries that it shows."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(SCRIPT))
        html = (
            '<form class="h2d-mw-search" role="search" aria-label="Instructions of this page">'
            '<label for="h2d-mw-find">Find an instruction or a remark</label>'
            '<input id="h2d-mw-find" type="search" autocomplete="off" autocapitalize="off" spellcheck="false" '
            'placeholder="ld.global.nc, @%p1 bra, s_waitcnt" aria-describedby="h2d-mw-count">'
            f'<output id="h2d-mw-count" role="status">{len(ENTRIES)} entries</output></form>'
        )
        return [nodes.raw("", html, format="html")]
