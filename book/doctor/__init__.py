"""The doctor on the page "Look up an error message": `{doctor}` is a field to paste a text into, and its diagnosis.

What the doctor knows (rules, patterns, tables of versions, words of its report) goes from `host_to_device.diagnosing` into the
page as JSON, and `doctor.js` reads a text with it as the Python does. `lookup.js` is the field and what it shows. Neither
asks for anything else: the text stays in the browser, and the page works from a disk.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from book import scripts
from host_to_device.diagnosing import describing, facts, findings, matching, matrix, pasting, patterns, rules
from host_to_device.diagnosing.matching import CONDITION

HERE = Path(__file__).parent
SCRIPTS = (HERE / "doctor.js", HERE / "lookup.js")
MARK = '<script type="application/json" id="h2d-doctor-data">'
# JavaScript's \s also is a space of another script; Python's, in ASCII, is not.
SPACES = {"s": r" \t\n\r\f\v", "S": r"^ \t\n\r\f\v"}
WHITE = "".join(chr(code) for code in range(2**16) if chr(code).isspace())


def for_javascript(pattern: str) -> str:
    """Return a pattern that finds in JavaScript, without flags, what it finds in Python in ASCII.

    Raises
    ------
    ValueError
        The pattern has what JavaScript reads in another way.
    """
    if wrong := patterns.NOT_SHARED.search(pattern):
        raise ValueError(f"{pattern!r}: JavaScript does not have {wrong[0]!r}")
    found, inside, at = [], False, 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\" and pattern[at + 1] in SPACES:
            if inside and pattern[at + 1] == "S":
                raise ValueError(f"{pattern!r}: no \\S between brackets")
            signs = SPACES[pattern[at + 1]]
            found.append(signs if inside else f"[{signs}]")
            at += 2
            continue
        if sign == "\\":
            found.append(pattern[at : at + 2])
            at += 2
            continue
        if sign == "[" and not inside and pattern[at + 1 : at + 3].lstrip("^").startswith("]"):
            raise ValueError(f"{pattern!r}: write \\] between brackets")
        inside = (sign == "[" or inside) and sign != "]"
        found.append(sign)
        at += 1
    return "".join(found)


def data() -> dict[str, Any]:
    """Return what the page's script needs to know, all of it read from the Python."""
    return {
        "rules": [_rule(rule) for rule in rules.load()],
        "pasting": {
            "white": WHITE,
            "colours": for_javascript(pasting.COLOURS.pattern),
            "long": pasting.LONG,
            "longestLine": pasting.LONGEST_LINE,
            "neighbours": pasting.NEIGHBOURS,
            "repeated": pasting.REPEATED,
            "speaking": pasting.SPEAKING,
        },
        "facts": _facts(),
        "matching": {
            "before": patterns.BEFORE,
            "after": patterns.AFTER,
            "mostPlaces": patterns.MOST_PLACES,
            "longestEvidence": matching.LONGEST_EVIDENCE,
            "blank": matching.BLANK.pattern,
        },
        "tables": _tables(),
        "report": {
            "stated": describing.STATED,
            "newerDriver": describing.NEWER_DRIVER.replace("{day}", str(_table("driver_of_cuda")["read"])),
            "newerTorch": describing.NEWER_TORCH,
            "most": findings.MOST,
            "nothing": findings.NOTHING,
            "pasteNext": findings.PASTE_NEXT,
        },
    }


def _rule(rule: rules.Rule) -> dict[str, Any]:
    when = [[_condition(condition) for condition in conditions] for conditions in rule.when]
    return {
        "id": rule.id,
        "rank": rule.rank,
        "text": [list(map(_with_words, alternative)) for alternative in rule.text],
        "none": list(map(_with_words, rule.none)),
        "when": when,
        "hides": rule.hides,
        "cause": rule.cause,
        "cure": rule.cure,
        "read": rule.read,
        "source": rule.source,
    }


def _with_words(pattern: str) -> tuple[str, tuple[str, ...]]:
    return for_javascript(pattern), patterns.words(pattern)


def _condition(condition: str) -> dict[str, Any]:
    found = CONDITION.fullmatch(condition)
    if not found:
        raise ValueError(f"{condition!r} is no condition")
    return found.groupdict()


def _facts() -> dict[str, Any]:
    return {
        "longestLine": facts.LONGEST_LINE,
        "mostLines": facts.MOST_LINES,
        "lines": [[name, word, for_javascript(pattern)] for name, word, pattern in facts.LINES],
        "packages": [
            [package, name, for_javascript(facts.package_pattern(package))]
            for package, name in facts.PACKAGES.items()
        ],
        "condaBuild": for_javascript(facts.CONDA_BUILD.pattern),
        "cupy": for_javascript(facts.CUPY.pattern),
        "cudaOfCupy": for_javascript(facts.CUDA_OF_CUPY.pattern),
        "cupyLibraries": [
            [major, for_javascript(facts.CUPY_LIBRARY.format(major=major))] for major in facts.CUPY_LIBRARIES
        ],
        "gpu": for_javascript(facts.GPU.pattern),
        "gpuWords": facts.GPU_WORDS,
        "gpuOfList": for_javascript(facts.GPU_OF_LIST.pattern),
        "cudaOfTorch": for_javascript(facts.CUDA_OF_TORCH.pattern),
        "noCuda": facts.NO_CUDA,
        "tag": for_javascript(facts.TAG.pattern),
    }


def _table(name: str) -> Any:
    return matrix.tables()[name]


def _tables() -> dict[str, Any]:
    rows = {
        name: {key: value for key, value in _table(name).items() if key not in ("read", "source")}
        for name in ("lowest_driver", "driver_of_cuda", "numba_numpy", "torchvision")
    }
    return rows | {
        "capability": [[for_javascript(pattern), value] for pattern, value in _table("capability")["rows"]],
        "torch_cards": _table("torch_cards")[0]["rows"],
        "torch_indices": _table("torch_indices")["rows"],
        "builds": _table("builds")["rows"],
        "newest_torch": matrix.newest_known_torch(),
    }


class Doctor(SphinxDirective):
    """The field, and the place for the diagnosis; without JavaScript neither is there."""

    def run(self) -> list[nodes.Node]:
        for part in (describing, facts, findings, matching, matrix, pasting, patterns, rules):
            self.env.note_dependency(part.__file__)
        for path in (
            rules.FILE,
            *(matrix.FOLDER / name for name in ("versions.toml", "wheel_versions.json")),
            *SCRIPTS,
        ):
            self.env.note_dependency(str(path))
        html = (
            '<form class="h2d-doctor" aria-label="The doctor">'
            '<label for="h2d-doctor-text">Paste an error message or a report</label>'
            '<textarea id="h2d-doctor-text" rows="7" spellcheck="false" autocomplete="off" autocapitalize="off" '
            'aria-describedby="h2d-doctor-private" placeholder="ImportError: libcuda.so.1: cannot open shared object file"></textarea>'
            '<p id="h2d-doctor-private">The text stays in your browser: this page sends nothing.</p>'
            '<p class="h2d-doctor-said" role="status"></p><div class="h2d-doctor-found"></div></form>'
        )
        return [nodes.raw("", html, format="html")]


def places(app: Sphinx, pagename: str, known: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the address and the title of each place that a rule names, as this page links to it."""
    labels = app.env.domains["std"].labels
    found = {}
    for read in dict.fromkeys(rule["read"] for rule in known["rules"]):
        page, _, place = read.partition("#")
        document, anchor, title = labels.get(place, ("", "", ""))
        if document != f"chapters/{page}":
            raise ExtensionError(f"the doctor's rules: the book has no place {read!r}")
        address = f"{app.builder.get_relative_uri(pagename, document)}#{anchor}"
        found[read] = (address, f"{app.env.titles[document].astext()}: {title}")
    return found


def add_data(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Put what the doctor knows into the page that has it."""
    if 'class="h2d-doctor"' not in context.get("body", ""):
        return
    known = data()
    known["places"] = places(app, pagename, known)
    text = json.dumps(known, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    context["body"] += f"{MARK}{text}</script>"


def setup(app: Sphinx) -> None:
    app.add_directive("doctor", Doctor)
    app.connect("html-page-context", add_data)
    for script in SCRIPTS:
        scripts.load_where(app, "h2d-doctor", script)
