"""The rules of `rules.toml`: reading them, and naming the line of a mistake."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from host_to_device.diagnosing import patterns

FILE = Path(__file__).with_name("rules.toml")
WORDS = ("id", "cause", "cure", "read", "source", "example", "near_miss")  # which each rule has to have
CONDITION = re.compile(r"(?P<not>not )?(?P<left>\w+)(?: (?P<sign><=|>=|==|!=|<|>) (?P<right>[\w.]+))?")
HEAD = re.compile(r"^\[\[rule\]\]", re.MULTILINE)


class RulesError(ValueError):
    """A mistake in the file of rules; the message begins with the file and the line."""


@dataclass(frozen=True)
class Rule:
    """One cause that the doctor knows: how to recognise it, and what to do.

    Attributes
    ----------
    id
        The cause, as "driver-missing".
    cause, cure
        Sentences; `{name|words}` stands for a fact, or for the words where it is not known.
    read, source
        The page and place of the book that explains it, and a public page that documents it.
    example, near_miss
        A text that the rule must find, and one that it must not find.
    text
        Alternatives, of each of which all patterns must be found.
    none
        Patterns none of which may be found.
    when
        Alternatives, of each of which all conditions on facts must hold.
    hides
        Causes that are not reported beside this one.
    rank
        The higher, the further in front.
    """

    id: str
    cause: str
    cure: str
    read: str
    source: str
    example: str
    near_miss: str
    text: tuple[tuple[str, ...], ...] = ()
    none: tuple[str, ...] = ()
    when: tuple[tuple[str, ...], ...] = ()
    hides: tuple[str, ...] = ()
    rank: int = 50


@cache
def load(path: Path = FILE) -> tuple[Rule, ...]:
    """Return the rules of a file.

    Raises
    ------
    RulesError
        The file has a mistake: the message names the file, the line and the rule.
    """
    content = path.read_text(encoding="utf-8")
    try:
        tables = tomllib.loads(content)
    except tomllib.TOMLDecodeError as problem:
        line = re.search(r"at line (\d+)", str(problem))
        at_end = content.count("\n") + 1
        raise RulesError(f"{path.name}, line {line[1] if line else at_end}: {problem}") from None
    starts = [content.count("\n", 0, head.start()) + 1 for head in HEAD.finditer(content)]
    rules = tables.get("rule")
    if tables.keys() != {"rule"} or not isinstance(rules, list) or len(rules) != len(starts):
        raise RulesError(f"{path.name}, line 1: the file has to consist of [[rule]] tables")
    known = {table.get("id") for table in rules}
    lines = content.splitlines()
    seen: set[str] = set()
    for start, end, table in zip(starts, [*starts[1:], len(lines) + 1], rules, strict=True):
        for key, mistake in mistakes(table, known, seen):
            own = (at for at in range(start, end) if re.match(rf"{key} *=", lines[at - 1]))
            raise RulesError(f"{path.name}, line {next(own, start)}: rule {table.get('id')!r}: {mistake}")
        seen.add(table["id"])
    return tuple(Rule(**{key: _frozen(key, value) for key, value in table.items()}) for table in rules)


def _frozen(key: str, value: Any) -> Any:
    """Return lists as tuples; an alternative of `text` that is one pattern becomes a list of one."""
    if key in ("text", "when"):
        return tuple((each,) if isinstance(each, str) else tuple(each) for each in value)
    return tuple(value) if isinstance(value, list) else value


def mistakes(table: dict[str, Any], known: set[Any], seen: set[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a rule: the key, and words."""
    for key in WORDS:
        if not isinstance(table.get(key), str) or not table[key].strip():
            yield key, f"`{key}` is missing, empty, or no text"
            return
    for key in table.keys() - Rule.__dataclass_fields__.keys():
        yield key, f"there is no key `{key}`"
    if table["id"] in seen:
        yield "id", "another rule has this name"
    if not table["source"].startswith("https://"):
        yield "source", "`source` is no address that begins with https://"
    if not isinstance(table.get("rank", 50), int):
        yield "rank", "`rank` is no whole number"
    for key in ("text", "none", "when", "hides"):
        if not isinstance(table.get(key, []), list):
            yield key, f"`{key}` is no list"
            return
    if not table.get("text") and not table.get("when"):
        yield "id", "neither `text` nor `when` says how to recognise it"
    for cause in table.get("hides", []):
        if cause not in known:
            yield "hides", f"there is no rule {cause!r}"
    yield from _wrong_patterns(table)


def _wrong_patterns(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("text", "none", "when"):
        for each in table.get(key, []):
            parts = [each] if isinstance(each, str) and key != "when" else each
            if not isinstance(parts, list) or not parts or not all(isinstance(part, str) for part in parts):
                yield key, f"`{key}` has {each!r}, which is no text and no list of texts"
                return
            for part in parts:
                if key == "when" and not CONDITION.fullmatch(part):
                    yield key, f"{part!r} is no condition: write 'fact', 'not fact' or 'fact < value'"
                elif key != "when" and (problem := patterns.mistake(part)):
                    yield key, problem
