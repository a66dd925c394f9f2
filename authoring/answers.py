"""Read the tried answers of a set: for each sentence of a task, the answer that ignores only this sentence.

`solutions/answers/NN.md` holds them, one section an exercise. Before them it lists the chapter's objectives, each with
the exercises that a learner fails without it:

    ## Objectives

    - count the copies in a program, also those that a library makes for you: 02.2, 02.4

    ## 02.1

    Asks nothing:

    - SAXPY, *single-precision a x plus y*, is a routine of most linear algebra libraries.

    ### Wrong: Up to and including the size

    Ignores "for its own element"

    ```python
    the whole code that a student would write
    ```

    > 02.1 is not right yet: size 1, block 32: …
    > Hint: …

    ### Right: a while loop

    ```python
    the whole code
    ```

A wrong answer without code is the one that the solution notebook has under this title. The quotation is the verdict that
`h2d.answer` prints; `python -m tests.commands.exercises.answers 02` runs all answers and writes the quotations anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

EXERCISE = re.compile(r"^## (\d\d\.\w+)[^\n]*$", re.M)
ENTRY = re.compile(r"^### (Wrong|Right): ([^\n]+)$", re.M)
CODE = re.compile(r"```python\n(.*?)\n```", re.S)
IGNORES = re.compile(r'^Ignores "(.+?)"\.?$', re.M | re.S)


class AnswersError(ValueError):
    """A file of answers is not written as `authoring.answers` says; the message says where."""


@dataclass
class Answer:
    """One answer that was tried.

    Attributes
    ----------
    right
        Whether it is a right one.
    title
        What is different about it, or what its author believes.
    ignores
        The words of the task that a wrong answer ignores; "" for a right one.
    code
        The whole code; "" for a wrong answer whose code the solution notebook has.
    says
        The verdict, one line with single spaces.
    """

    right: bool
    title: str
    ignores: str
    code: str
    says: str


@dataclass
class Tried:
    """The answers to one exercise, and the sentences of its task that ask for nothing."""

    number: str
    asks_nothing: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def plain(text: str) -> str:
    """Return a text of the task or a verdict with single spaces and without the marks of Markdown."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|\{\w+\}`([^`<]*?)(?: ?<[^`]*>)?`", r"\1\2", text)
    return re.sub(r"\s+", " ", re.sub(r"[*`]", "", text)).strip()


def without_place(said: str) -> str:
    """Return a verdict without the line at which a time limit stopped the code: it differs from run to run."""
    return re.sub(r"(was stopped after [\d.]+ s), at this line\n.*", r"\1", said)


def sentences(task: str) -> list[str]:
    """Return the sentences of a task below its title, in `plain` words: also list items and rows of tables.

    Code blocks are left out.
    """
    text = re.sub(r"^```.*?^```$", "\n\n", task.split("\n", 1)[1] if "\n" in task else "", flags=re.S | re.M)
    found = []
    for line in re.split(r"\n(?=\s*(?:[-*|]|\d+\.) )|\n\n+", text):
        line = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line.strip())
        if re.fullmatch(r"[|:\s-]*", line):
            continue
        found += re.split(r"(?<=[.!?])[)\"”]?\s+(?=[A-Z`*$\"“(])", line)
    return [each for each in map(plain, found) if re.search(r"\w", each)]


def read(text: str, name: str) -> list[Tried]:
    """Return the answers of a file, exercise by exercise.

    Raises
    ------
    AnswersError
        At the first entry that has another form.
    """
    found = []
    heads = list(EXERCISE.finditer(text))
    for head, end in zip(heads, [each.start() for each in heads[1:]] + [len(text)], strict=True):
        section = text[head.end() : end]
        entries = list(ENTRY.finditer(section))
        first = entries[0].start() if entries else len(section)
        tried = Tried(head[1], [plain(each) for each in re.findall(r"^- (.+)$", section[:first], re.M)])
        for entry, stop in zip(entries, [each.start() for each in entries[1:]] + [len(section)], strict=True):
            tried.answers.append(_answer(entry, section[entry.end() : stop], f"{name}, {head[1]}"))
        found.append(tried)
    return found


def objectives(text: str) -> dict[str, list[str]]:
    """Return the objectives of a chapter, in `plain` words, each with the numbers of its exercises."""
    section = re.search(r"^## Objectives\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    found = re.findall(r"^- (.+?): ([\w., ]+)$", section[1] if section else "", re.M)
    return {plain(words): re.findall(r"\d\d\.\w+", numbers) for words, numbers in found}


def _answer(entry: re.Match[str], body: str, where: str) -> Answer:
    right, title = entry[1] == "Right", entry[2].strip()
    codes, after = CODE.findall(body), CODE.sub("", body)
    says = plain(" ".join(re.findall(r"^>[ ]?(.*)$", after, re.M)))
    ignores = IGNORES.search(after)
    if len(codes) > 1 or (right and not codes):
        raise AnswersError(f"{where}, {title!r}: write the whole code in one fence that begins ```python")
    if not right and not ignores:
        raise AnswersError(f'{where}, {title!r}: name the words of the task: Ignores "…"')
    return Answer(right, title, plain(ignores[1]) if ignores else "", codes[0] if codes else "", says)


def with_verdicts(text: str, verdicts: dict[tuple[str, str], str]) -> str:
    """Return a file's text with the quotations replaced.

    Parameters
    ----------
    text
        The file.
    verdicts
        What `h2d.answer` printed, by exercise and title, for the wrong answers.
    """
    number, lines, title = "", [], ""
    result: list[str] = []

    def close() -> None:
        nonlocal lines
        said = verdicts.get((number, title))
        if said is not None:
            kept = "\n".join(lines).rstrip()
            kept = re.sub(r"\n*(?:^>[^\n]*\n?)+\Z", "", kept + "\n", flags=re.M).rstrip()
            quoted = "\n".join(f"> {line}".rstrip() for line in said.strip().splitlines())
            lines = [*kept.split("\n"), "", *quoted.split("\n"), ""]
        result.extend(lines)
        lines = []

    for line in text.split("\n"):
        if (head := EXERCISE.match(line)) or (entry := ENTRY.match(line)):
            close()
            if head:
                number, title = head[1], ""
            else:
                title = entry[2].strip()
        lines.append(line)
    close()
    return "\n".join(result).rstrip("\n") + "\n"
