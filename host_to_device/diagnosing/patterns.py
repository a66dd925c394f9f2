"""Patterns of the rules: the words that each one needs, and what no pattern may contain.

Regular expressions are slow on long texts, and some never end. So a text is first searched for words that a match must
contain, and the expression then reads only the characters around these words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

BEFORE, AFTER = 320, 480  # characters around the words that the expression reads
MOST_PLACES = 400  # of the words in one text; noise may contain them more often
SHORTEST = 3  # characters that narrow a search down

# What Python and JavaScript do not share, and repetitions without a bound of anything but one character.
NOT_SHARED = re.compile(r"(?<!\\)\(\?(?!:|!|=)|\\[AZG]|[*+?}]\+")
UNBOUNDED = re.compile(r"(?<!\\)\.[*+]|(?<!\\)[)\]][*+]|\\[a-zA-Z][*+]|\{\d+,\}")
CLASS = re.compile(r"\[\]?(?:[^\]\\]|\\.)*\]")


def mistake(pattern: str) -> str | None:
    """Return what is wrong with a pattern, or None."""
    try:
        re.compile(pattern)
    except re.error as problem:
        return f"{pattern!r} is no regular expression: {problem}"
    if NOT_SHARED.search(pattern):
        return f"{pattern!r} uses what JavaScript does not have"
    if UNBOUNDED.search(CLASS.sub("[]", pattern)):
        return f"{pattern!r} repeats without an upper bound: write {{0,80}}"
    if not words(pattern):
        return f"{pattern!r} has no word of {SHORTEST} letters that every match contains"
    return None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the expression, without regard to the case of letters."""
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


@cache
def words(pattern: str) -> tuple[str, ...]:
    """Return texts in small letters, one of which every match contains; none where there is no such text."""
    found: list[str] = []
    for option in _options(pattern):
        best = _best(option)
        if not best:
            return ()
        found += best
    return tuple(dict.fromkeys(found))


def _brackets(pattern: str, at: int = 0) -> Iterator[tuple[int, str, int]]:
    """Yield each place from `at` on with its sign and how many groups are open after it; escapes and classes yield none."""
    depth = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            at = _class_end(pattern, at)
        else:
            depth += (sign == "(") - (sign == ")")
            yield at, sign, depth
        at += 1


def _options(pattern: str) -> list[str]:
    """Split a pattern at the bars that are not in brackets."""
    bars = [at for at, sign, depth in _brackets(pattern) if sign == "|" and depth == 0]
    starts, ends = [0, *(at + 1 for at in bars)], [*bars, len(pattern)]
    return [pattern[start:end] for start, end in zip(starts, ends, strict=True)]


def _class_end(pattern: str, at: int) -> int:
    """Return the place of the bracket that ends a class of characters."""
    at += 2 if pattern[at + 1 : at + 2] == "]" else 1
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at


def _group_end(pattern: str, at: int) -> int:
    """Return the place of the bracket that ends the group that begins at a place."""
    return next(place for place, sign, depth in _brackets(pattern, at) if sign == ")" and depth == 0)


def _best(option: str) -> tuple[str, ...]:
    """Return the words of one alternative that narrow the search down most."""
    candidates: list[tuple[str, ...]] = []
    run, at = "", 0
    while at < len(option):
        sign, literal = option[at], ""
        if sign == "(":
            end = _group_end(option, at)
            inner = option[at + 1 : end]
            if not inner.startswith("?!") and not _optional(option, end + 1):
                candidates.append(words(re.sub(r"\A\?[:=]", "", inner)))
            at = end
        elif sign == "[":
            at = _class_end(option, at)
        elif sign == "\\":
            at += 1
            literal = "" if option[at].isalnum() else option[at]
        elif sign not in ".^$?*+{}|":
            literal = sign
        elif sign == "{":
            at = option.index("}", at)
        if literal and not _optional(option, at + 1):
            run += literal
        else:
            candidates.append((run,))
            run = ""
            if literal and option[at + 1 : at + 2] == "+":  # at least once
                run = literal
                candidates.append((run,))
                run = ""
        at += 1
    candidates.append((run,))
    fitting = [each for each in candidates if each and min(map(len, each)) >= SHORTEST]
    return tuple(
        word.lower() for word in max(fitting, key=lambda each: (min(map(len, each)), -len(each)), default=())
    )


def _optional(option: str, at: int) -> bool:
    """Return whether what stands before a place may be missing, or may stand there several times."""
    return option[at : at + 1] in ("?", "*", "+", "{")


def places(text: str, pattern: str) -> list[int]:
    """Return where the words of a pattern stand in a text of small letters."""
    found: list[int] = []
    for word in words(pattern):
        at = text.find(word)
        while at >= 0 and len(found) < MOST_PLACES:
            found.append(at)
            at = text.find(word, at + len(word))
    return sorted(found)
