"""Which known misconception a wrong answer shows: one with the same code after renaming, or with the same verdict.

The wrong answers with their titles are in `solutions/` of the repository. An installed library has none of them, and
then nothing is recognised.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_to_device.grading import shapes

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
SECTION = re.compile(r"^## (\d\d\.\w+)[^\n]*$", re.M)
ENTRY = re.compile(r"^### (Wrong|Right): ([^\n]+)$", re.M)
CODE = re.compile(r"```python\n(.*?)\n```", re.S)
TITLE = re.compile(r"\*\*([^\n]+?)\*\*")
TASK = re.compile(r"## (\d\d\.(?:\d+|[a-z])) ")
LINE = re.compile(r"^\s*\d+ \| (.*)$")
MARKERS = re.compile(r"(?m)^\s*### (?:BEGIN|END) SOLUTION\n?")


@dataclass(frozen=True)
class Known:
    """An answer that the course knows: a misconception, or a right answer if `title` is ""."""

    title: str
    code: str
    verdict: str = ""


@functools.lru_cache(maxsize=16)
def known(number: str, folder: Path = SOLUTIONS) -> tuple[Known, ...]:
    """Return the answers to an exercise that the course knows; none where the repository is not there."""
    return tuple(_of_set(number[:2], folder).get(number, ()))


@functools.lru_cache(maxsize=4)
def _of_set(name: str, folder: Path) -> dict[str, list[Known]]:
    found: dict[str, list[Known]] = {}
    codes: dict[tuple[str, str], str] = {}
    for path in folder.glob(f"{name}-*.ipynb"):
        number = ""
        for cell in json.loads(path.read_bytes())["cells"]:
            source, tags = "".join(cell["source"]), cell["metadata"].get("tags", ())
            if task := TASK.match(source):
                number = task[1]
            elif "wrong" in tags and (title := TITLE.match(source)) and (code := CODE.search(source)):
                codes[number, title[1]] = code[1]
            elif cell["cell_type"] == "code" and "### BEGIN SOLUTION" in source:
                found.setdefault(number, []).append(Known("", MARKERS.sub("", source)))
    tried = folder / "answers" / f"{name}.md"
    text = tried.read_text(encoding="utf-8") if tried.exists() else ""
    for number, section in _parts(SECTION, text):
        for entry, body in _parts(ENTRY, section, groups=True):
            written = CODE.search(body)
            source = written[1] if written else codes.pop((number, entry[1]), "")
            said = "\n".join(line[2:] for line in body.splitlines() if line.startswith("> "))
            known = Known("", source) if entry[0] == "Right" else Known(entry[1], source, said)
            found.setdefault(number, []).append(known)
    for (number, name_of), left in codes.items():  # wrong answers that the notebook alone has
        found.setdefault(number, []).append(Known(name_of, left))
    return found


def _parts(head: re.Pattern[str], text: str, groups: bool = False) -> list[tuple[Any, str]]:
    heads = list(head.finditer(text))
    ends = [*(each.start() for each in heads[1:]), len(text)][: len(heads)]
    return [
        (each.groups() if groups else each[1], text[each.end() : end])
        for each, end in zip(heads, ends, strict=True)
    ]


def title_of(number: str, verdict: str, code: str, folder: Path = SOLUTIONS) -> str:
    """Return the title of the misconception that a wrong answer shows, or "".

    Parameters
    ----------
    number
        The number of the exercise.
    verdict
        What the check says.
    code
        The cells of the answer.
    """
    wrong = [each for each in known(number, folder) if each.title]
    theirs = {name: shapes.shape(each) for name, each in shapes.functions(code).items()}
    for each in wrong:
        its = {name: shapes.shape(node) for name, node in shapes.functions(each.code).items()}
        if its and all(theirs.get(name) == found for name, found in its.items()):
            return each.title
    titles = {each.title for each in wrong if each.verdict and signature(each.verdict) == signature(verdict)}
    return titles.pop() if len(titles) == 1 else ""


def signature(verdict: str) -> tuple[str, str, str]:
    """Return what two verdicts on one misconception share: the message without its numbers, the line's role, the hint."""
    first, *lines = verdict.splitlines() or [""]
    hint = next((each for each in lines if each.startswith("Hint: ")), "")
    source = next((found[1] for each in lines if (found := LINE.match(each))), "")
    return re.sub(r"-?\d[\d,.]*(?:e[-+]?\d+)?", "#", " ".join(first.split())), _role(source), hint


def _role(line: str) -> str:
    """Return what a line does: the kinds of its statement and of what it stores in."""
    text = line.strip()
    if not text:
        return ""
    for attempt in (text, f"{text} pass", f"if True: pass\n{text} pass"):
        try:
            statement = ast.parse(attempt).body[-1]
        except (SyntaxError, ValueError):
            continue
        target = getattr(statement, "target", None) or next(iter(getattr(statement, "targets", ())), None)
        return f"{type(statement).__name__} {type(target).__name__ if target is not None else ''}".strip()
    return "other"
