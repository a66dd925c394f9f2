"""Prediction locks: where a lesson asks for a prediction, the page takes it first and then shows the answer.

A paragraph with a line that begins with "Predict" is a prompt, and so is a folded answer whose title begins with
"Predict" or asks to guess. The next outputs of its section answer it, with the paragraph that follows them. The notebook
stays as it is: in JupyterLab and in Colab the prompt is a plain sentence. On the page `predictions.js` hides the answer
until there is a prediction; without scripts, and on paper, the page shows everything.
"""

import re
from dataclasses import dataclass, field
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from book import scripts

SCRIPT = Path(__file__).with_suffix(".js")
MARK = "h2d-lock"  # the box that takes the prediction
ANSWER = "h2d-answer-"  # what it hides, followed by the number of the lock on its page
FOLDERS = ("chapters/", "notebooks/")
PROMPT = re.compile(r"(?:^|\n|; )(predict\b[^\n]*)", re.IGNORECASE)
FOLDED = re.compile(r"\s*<details>\s*<summary>(.*?)</summary>", re.DOTALL)
ASKS = re.compile(r"Predict\b|Guess\b|.*\bguess\b")


@dataclass
class Lock:
    """A prompt, and the parts of the page that answer it.

    Attributes
    ----------
    prompt
        The line that asks, as text.
    place
        Where the lock goes among the blocks of its section.
    answers
        What it hides besides a folded answer.
    folded
        Whether a folded answer follows it directly.
    """

    prompt: str
    place: int
    answers: list[nodes.Element] = field(default_factory=list)
    folded: bool = False


def locks_of(section: nodes.Element) -> list[Lock]:
    """Return the locks of a section, without those of the sections in it."""
    found: list[Lock] = []
    lock: Lock | None = None  # the one whose answer has not ended
    inside = False  # a folded answer
    for place, block in enumerate(section.children):
        if inside:
            inside = "</details>" not in block.astext()
            continue
        summary = FOLDED.match(block.astext()) if isinstance(block, nodes.raw) else None
        inside = summary is not None and "</details>" not in block.astext()
        asked = plain(summary[1]) if summary and ASKS.match(summary[1]) else prompt_of(block)
        if asked:
            lock = Lock(asked, place if summary else place + 1, folded=bool(summary))
            found.append(lock)
        elif lock is None:
            continue
        elif summary:
            lock.folded |= place == lock.place
            lock = None if lock.answers else lock
        elif answers := answers_in(block):
            lock.answers += answers
        elif lock.answers and not is_code(block):
            if isinstance(block, nodes.paragraph) and not block.astext().startswith("Now "):
                lock.answers.append(block)
            lock = None
    return [each for each in found if each.answers or each.folded]


def prompt_of(block: nodes.Node) -> str:
    """Return the line of a paragraph that asks for a prediction; an empty string where none does."""
    found = PROMPT.search(block.astext()) if isinstance(block, nodes.paragraph) else None
    return found[1][:1].upper() + found[1][1:] if found else ""


def plain(html: str) -> str:
    """Return the text of a line of HTML."""
    return unescape(re.sub(r"<[^>]*>", "", html))


def answers_in(block: nodes.Node) -> list[nodes.Element]:
    """Return what a block prints or lists: the outputs of a cell, in a chapter also a table."""
    if not isinstance(block, nodes.Element):
        return []
    if block.get("nb_element") == "cell_code":
        return [each for each in block.children if "cell_output" in each.get("classes", ())]
    return [block] if isinstance(block, nodes.table) or "h2d-output" in block.get("classes", ()) else []


def is_code(block: nodes.Node) -> bool:
    """Return whether a block is a cell without outputs, or belongs to a cell."""
    return isinstance(block, nodes.raw | nodes.comment | nodes.target) or (
        isinstance(block, nodes.container) and block.get("nb_element") == "cell_code"
    )


def add_locks(app: Sphinx, doctree: nodes.document) -> None:
    """Put the empty box of a lock behind each prompt of a lesson, and mark what answers it."""
    if not app.env.docname.startswith(FOLDERS) or app.builder.format != "html":
        return
    number = 0
    for section in list(doctree.findall(lambda node: isinstance(node, nodes.section | nodes.document))):
        locks = locks_of(section)
        boxes = []
        for lock in locks:
            number += 1
            for part in lock.answers:
                part["classes"].append(f"{ANSWER}{number}")
            html = f'<div class="{MARK}" data-answer="{number}" data-prompt="{escape(lock.prompt)}" hidden></div>'
            boxes.append((lock.place, nodes.raw("", html, format="html")))
        for place, box in reversed(boxes):
            section.insert(place, box)


def setup(app: Sphinx) -> None:
    scripts.load_where(app, MARK, SCRIPT)
    app.connect("doctree-read", add_locks, priority=600)  # after the players stand where they belong
