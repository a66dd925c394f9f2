"""What the tests of the three suites share: run some files, and compare with what is expected."""

from __future__ import annotations

from collections.abc import Iterable

from tests.others import running, suites
from tests.others.running import Suite


def problems(suite: Suite, files: Iterable[str]) -> list[str]:
    """Run files of a suite; return a line for each test whose outcome is not as expected."""
    expected = suites.expected_of(suite)
    return [
        line
        for file in files
        for line in expected.problems(file, running.outcomes(suite, file, expected.not_run(file)))
    ]
