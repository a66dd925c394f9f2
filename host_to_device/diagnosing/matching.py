"""Which rules hold for a text and its facts, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterable

from host_to_device.diagnosing import matrix, patterns
from host_to_device.diagnosing.facts import Facts
from host_to_device.diagnosing.findings import Finding
from host_to_device.diagnosing.pasting import Paste
from host_to_device.diagnosing.rules import CONDITION, Rule

LONGEST_EVIDENCE = 160  # characters
BLANK = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")


def findings(rules: Iterable[Rule], paste: Paste, facts: Facts) -> list[Finding]:
    """Return what the rules find, the most likely cause first.

    Parameters
    ----------
    rules
        All that may be found.
    paste
        The text; for a machine, what its tools have printed.
    facts
        What the text, or the machine, states.
    """
    found: list[tuple[int, int, Finding]] = []
    hidden: set[str] = set()
    for rule in rules:
        evidence = evidence_of(rule, paste, facts)
        if evidence is not None:
            at, words = evidence
            found.append((-rule.rank, at, finding(rule, words, facts)))
            hidden.update(rule.hides)
    return [each for _, _, each in sorted(found, key=lambda one: one[:2]) if each.id not in hidden]


def evidence_of(rule: Rule, paste: Paste, facts: Facts) -> tuple[int, tuple[str, ...]] | None:
    """Return where the evidence for a rule stands and its words, or None if the rule does not hold."""
    evidence = _in_text(rule, paste) or _in_facts(rule, facts)
    if evidence is None or any(first_match(pattern, paste) for pattern in rule.none):
        return None
    return evidence


def _in_text(rule: Rule, paste: Paste) -> tuple[int, tuple[str, ...]] | None:
    for alternative in rule.text:
        places = []
        for pattern in alternative:
            place = first_match(pattern, paste)
            if place is None:
                break
            places.append(place)
        else:
            words = (paste.flat[start:end].strip()[:LONGEST_EVIDENCE] for start, end in places)
            return min(places)[0], tuple(dict.fromkeys(words))
    return None


def first_match(pattern: str, paste: Paste) -> tuple[int, int] | None:
    """Return where a pattern is found first in the flat text, as start and end, or None."""
    expression = patterns.compiled(pattern)
    read_to = 0
    for at in patterns.places(paste.flat_small, pattern):
        start, end = max(at - patterns.BEFORE, read_to - patterns.BEFORE, 0), at + patterns.AFTER
        found = expression.search(paste.flat, start, end)
        if found:
            return found.span()
        read_to = at
    return None


def _in_facts(rule: Rule, facts: Facts) -> tuple[int, tuple[str, ...]] | None:
    for conditions in rule.when:
        words: list[str] = []
        for condition in conditions:
            found = holds(condition, facts)
            if found is None:
                break
            words += found
        else:
            return len(words), tuple(dict.fromkeys(word for word in words if word))
    return None


def holds(condition: str, facts: Facts) -> list[str] | None:
    """Return the words of the facts by which a condition holds, or None if it does not hold.

    `<`, `<=`, `>`, `>=` and `!=` compare a fact with a number or with another fact, as versions where both are; `==`
    compares with a word. A fact that is not known makes the condition fail.
    """
    parts = CONDITION.fullmatch(condition)
    if parts is None:
        raise ValueError(f"{condition!r} is no condition")
    left = facts.get(parts["left"])
    if parts["not"]:
        return [] if left is None else None
    if left is None:
        return None
    if parts["sign"] is None:
        return [left.words]
    words, right = [left.words], parts["right"]
    if parts["sign"] != "==" and not right[0].isdigit():
        other = facts.get(right)
        if other is None:
            return None
        words.append(other.words)
        right = other.value
    return words if _compare(left.value, parts["sign"], right) else None


def _compare(left: str, sign: str, right: str) -> bool:
    if sign == "==":
        return left == right
    if left[:1].isdigit() and right[:1].isdigit():
        one, two = matrix.numbers(left), matrix.numbers(right)
        return {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two, "!=": one != two}[sign]
    return sign == "!=" and left != right


def finding(rule: Rule, evidence: tuple[str, ...], facts: Facts) -> Finding:
    """Return what a rule says of this machine."""
    return Finding(
        id=rule.id,
        evidence=evidence,
        cause=filled(rule.cause, facts),
        cure=filled(rule.cure, facts),
        read=rule.read,
        source=rule.source,
    )


def filled(text: str, facts: Facts) -> str:
    """Return a text with its blanks filled: `{torch|words}` is the value of a fact, or the words where it is not known."""
    return BLANK.sub(
        lambda blank: (
            facts[blank[1]].value if blank[1] in facts else blank[0] if blank[2] is None else blank[2]
        ),
        text,
    )
