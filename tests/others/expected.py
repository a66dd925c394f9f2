"""What is expected to fail of a suite, and why."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.others.running import Outcome

CLASSES = {
    "internal": "the test looks at how the library is made",
    "driver": "the test needs NVIDIA's driver, compiler or linker, or a GPU",
    "out of scope": "the stand-in leaves the feature out",
    "open": "a gap of the stand-in that is to be closed",
}


@dataclass(frozen=True)
class Entry:
    """Patterns of tests that fail, with the class of the reason and the reason in one line.

    In a pattern, `*` stands for any text, and `[` for itself. A pattern without `::` is a file that is not run.
    """

    tests: tuple[str, ...]
    kind: str
    reason: str


@dataclass(frozen=True)
class Expected:
    """The entries of a suite, in the order of its file."""

    entries: tuple[Entry, ...]

    @classmethod
    def read(cls, path: Path) -> Expected:
        """Read a file of entries, `[[fails]]` each with `tests`, `class` and `reason`."""
        rows = tomllib.loads(path.read_text()).get("fails", []) if path.exists() else []
        return cls(tuple(Entry(tuple(row["tests"]), row["class"], row["reason"]) for row in rows))

    def leaves_out(self, file: str) -> bool:
        """Return whether a file is not run."""
        return any(matches(pattern, file) for pattern in self.patterns() if "::" not in pattern)

    def not_run(self, file: str) -> list[str]:
        """Return the patterns of a file's tests that are not run: those that would take the file's whole time."""
        return [
            pattern[1:]
            for pattern in self.patterns()
            if pattern.startswith("!") and matches(pattern[1:].partition("::")[0], file)
        ]

    def patterns(self) -> list[str]:
        """Return the patterns of all entries."""
        return [pattern for entry in self.entries for pattern in entry.tests]

    def entry(self, test: str) -> Entry | None:
        """Return the first entry that a test belongs to."""
        return next(
            (entry for entry in self.entries if any(matches(each, test) for each in entry.tests)), None
        )

    def problems(self, file: str, outcomes: Sequence[Outcome]) -> list[str]:
        """Return what is not as expected in a file's outcomes, a line each.

        These are failures without an entry, tests that pass in spite of one, and patterns that no failure needs.
        """
        found, needed = [], set()
        for each in outcomes:
            matching = [pattern for pattern in self.patterns() if matches(pattern, each.test)]
            if each.outcome == "failed":
                needed.update(matching)
                if not matching:
                    found.append(f"fails: {each.test}: {each.why}")
            elif each.outcome == "passed" and matching:
                found.append(f"passes, and {matching[0]!r} says that it fails: {each.test}")
        of_file = [pattern for pattern in self.patterns() if matches(pattern.partition("::")[0], file)]
        stale = [
            pattern for pattern in of_file if pattern not in needed and "::" in pattern and pattern[0] != "!"
        ]
        return found + [
            f"no test of {file} fails that {pattern!r} names"
            for pattern in stale
            if "*" not in pattern.partition("::")[0]
        ]


def matches(pattern: str, test: str) -> bool:
    """Return whether a pattern names a test or a file."""
    return re.match(fnmatch.translate(pattern.replace("[", "[[]")), test) is not None


def counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped."""
    found = {"passed": 0, "failed": 0, "skipped": 0}
    for each in outcomes:
        found[each.outcome] += 1
    return found
