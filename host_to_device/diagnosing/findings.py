"""What the doctor found, as text and as plain data."""

from __future__ import annotations

import re
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

BOOK = "https://host-to-device.github.io/host-to-device/chapters/"
WIDTH = 100  # characters of a line
SENTENCE = re.compile(
    r"(?<=[a-zA-Z)\d`][.;]) (?=[A-Z`])"
)  # a line each, and not wrapped: a command stays whole
MOST = 5  # findings that are printed in full

NOTHING = "Nothing known: the doctor finds no cause that it knows in this text."
PASTE_NEXT = (
    "What to paste next, the whole text of each:",
    "  the error message, from its first line (`Traceback …`) to its last",
    "  nvidia-smi",
    "  python -m torch.utils.collect_env, or pip list",
)


@dataclass(frozen=True)
class Finding:
    """One cause: what it was read from, what to do, and where it is explained.

    Attributes
    ----------
    id
        The name of the cause, as "driver-missing".
    evidence
        The words of the text, or of the machine's reports, from which it was read.
    cause, cure
        What is wrong, and what to do, with the command.
    read, source
        The page and place of the book that explains it, and a public page that documents it.
    """

    id: str
    evidence: tuple[str, ...]
    cause: str
    cure: str
    read: str
    source: str

    @property
    def address(self) -> str:
        """The place of the book that explains it."""
        page, _, place = self.read.partition("#")
        return f"{BOOK}{page}.html#{place}"


@dataclass(frozen=True)
class Diagnosis:
    """What `h2d.doctor()` returns: printed, it is the report.

    Attributes
    ----------
    findings
        The causes, the most likely first. The list is empty if nothing known was found.
    facts
        What was read from the machine or from the text, by name.
    notes
        What the doctor does not know, such as a version that is newer than its tables.
    lines
        The lines of the report that describe the machine or the text.
    pasted
        Whether a text was read, and not this machine.
    verdict
        What a machine without findings can do.
    snapshot
        What was gathered of this machine; None for a text.
    """

    findings: tuple[Finding, ...]
    facts: dict[str, str]
    notes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    pasted: bool = False
    verdict: str = ""
    snapshot: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain data, for `--json`."""
        found = [
            asdict(each) | {"evidence": list(each.evidence), "address": each.address}
            for each in self.findings
        ]
        return {
            "findings": found,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "facts": self.facts,
            "snapshot": self.snapshot,
        }

    def __str__(self) -> str:
        parts = ["\n".join(self.lines)] if self.lines else []
        if self.findings:
            parts += [self._shown(number, each) for number, each in enumerate(self.findings[:MOST], 1)]
        elif self.pasted:
            parts.append("\n".join((NOTHING, *PASTE_NEXT)))
        else:
            parts.append(self.verdict)
        if len(self.findings) > MOST:
            parts.append("Also: " + ", ".join(each.id for each in self.findings[MOST:]))
        parts += [_wrapped("Note: ", note) for note in self.notes]
        return "\n\n".join(parts)

    __repr__ = __str__

    def _shown(self, number: int, found: Finding) -> str:
        return "\n".join(
            [
                _wrapped(f"{number}. ", found.cause),
                *(_wrapped("   read from: ", f"“{words}”") for words in found.evidence[:4]),
                "   do this:   " + SENTENCE.sub("\n              ", found.cure),
                f"   explained: {found.address}",
                f"   source:    {found.source}",
            ]
        )


def _wrapped(start: str, text: str) -> str:
    """Return a paragraph whose further lines are indented as far as its first; words such as addresses stay whole."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
