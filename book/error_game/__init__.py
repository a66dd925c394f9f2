"""`{error-game}`: ten error messages with three or four causes each; the reader picks the cause, and reads why.

The messages, their origins and their causes stand in `messages.toml`. Without JavaScript the page shows them as a list with
folded answers. `game.js` shows one message at a time, and turns the causes into buttons. Neither keeps anything.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book import raised, scripts

HERE = Path(__file__).parent
FILE = HERE / "messages.toml"
SCRIPT = HERE / "game.js"
NAME = "error-game.js"  # beside the site's other scripts
FEWEST, MOST = 3, 4  # causes of a message
LETTERS = "ABCD"


@dataclass(frozen=True)
class Cause:
    """A cause to pick, and why it is the right one or not, both in Markdown."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True)
class Message:
    """The lines that raised a message (none for a documented one), its text, its origin (in Markdown), and its causes."""

    program: str
    text: str
    origin: str
    causes: tuple[Cause, ...]


def message(of: dict[str, Any]) -> Message:
    """Return one message of `messages.toml`.

    Raises
    ------
    ValueError
        It has no origin or more than one, or not exactly one right cause among three or four.
    LookupError
        It names an error that is not stored in `rehearsal/errors.json`.
    """
    causes = tuple(Cause(**each) for each in of.get("cause", ()))
    if not FEWEST <= len(causes) <= MOST or sum(cause.right for cause in causes) != 1:
        raise ValueError(f"a message has {FEWEST} or {MOST} causes, and exactly one has `right = true`")
    origins = [kind for kind in ("raised", "provoked", "source") if kind in of]
    if len(origins) != 1:
        raise ValueError("a message has one origin: `raised`, `provoked` or `source`")
    if "raised" in of:
        error, _, library = of["raised"].rpartition(" ")
        found = raised.entry(error, library, of.get("call", 1))
        return Message(found["line"], raised.text(found), raised.stamp(library), causes)
    text = of["text"].strip()
    if "provoked" in of:
        return Message(of["provoked"].strip(), text, "Raised by PyTorch on the stand-in.", causes)
    return Message("", text, f"Documented: {of['said']} {{cite}}`{of['source']}`.", causes)


def load(file: Path = FILE) -> list[Message]:
    """Return the messages of a file.

    Raises
    ------
    ValueError
        A message is incomplete; the text has the file and the message's number.
    """
    found = []
    for number, each in enumerate(tomllib.loads(file.read_text(encoding="utf-8"))["message"], 1):
        try:
            found.append(message(each))
        except (ValueError, LookupError, KeyError, TypeError) as problem:
            raise ValueError(f"{file.name}, message {number}: {problem}") from problem
    return found


class ErrorGame(SphinxDirective):
    """The messages as a list, each with its causes and a folded answer."""

    def run(self) -> list[nodes.Node]:
        for path in (FILE, SCRIPT, raised.STORED):
            self.env.note_dependency(str(path))
        try:
            messages = load()
        except ValueError as problem:
            raise self.error(f"error-game: {problem}") from None
        found = [_html('<div class="h2d-game" role="group" aria-label="Ten messages, pick the cause">')]
        for number, each in enumerate(messages, 1):
            found += self._message(each, number, len(messages))
        return [*found, _html("</div>")]

    def _message(self, of: Message, number: int, all_of_them: int) -> list[nodes.Node]:
        found: list[nodes.Node] = [
            _html(
                f'<div class="h2d-game-message"><p class="h2d-game-count">Message {number} of {all_of_them}</p>'
            ),
            *([self._block(of.program, "python")] if of.program else []),
            self._block(of.text, "none"),
            *self._parsed(of.origin, "h2d-stamp"),
            _html('<p class="h2d-game-ask">What is the cause?</p><ol class="h2d-game-causes" type="A">'),
        ]
        for cause in of.causes:
            found += [_html("<li>"), *self._parsed(cause.text), _html("</li>")]
        right = next(at for at, cause in enumerate(of.causes) if cause.right)
        found.append(_html('</ol><details class="h2d-game-answer"><summary>Show the answer</summary>'))
        for at in sorted(range(len(of.causes)), key=lambda at: at != right):
            mark = ' data-right=""' if at == right else ""
            said = "Yes." if at == right else "No."
            found += [
                _html(f'<div class="h2d-game-why" data-cause="{at}"{mark}>'),
                *self._parsed(f"**{LETTERS[at]}: {said}** {of.causes[at].why}"),
                _html("</div>"),
            ]
        return [*found, _html("</details></div>")]

    def _block(self, text: str, language: str) -> nodes.Node:
        block = nodes.literal_block(text, text, language=language, classes=["h2d-output"])
        self.set_source_info(block)
        return block

    def _parsed(self, markdown: str, *classes: str) -> list[nodes.Node]:
        found = self.parse_text_to_nodes(markdown)
        for node in found:
            if isinstance(node, nodes.Element):
                node["classes"] += classes
        return found


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app: Sphinx) -> None:
    app.add_directive("error-game", ErrorGame)
    scripts.load_where(app, "h2d-game", SCRIPT, NAME)
