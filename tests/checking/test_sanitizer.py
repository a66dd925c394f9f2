"""What NVIDIA's compute-sanitizer said of the wrong kernels on a GPU, and what the book says of it."""

import json
import re

import pytest

from tests.commands.kernels import sanitize
from tests.corpora.kernels.wrong.case import SHARED
from tests.corpora.kernels.wrong.corpus import ALL

STORED = json.loads(sanitize.STORED.read_text())
VERDICTS = STORED["verdicts"]
CASES = {wrong.case.name: wrong for wrong in ALL}
# A row of the book's table: the mistake, and the cases that it counts.
ROWS = {
    "access outside of an array": lambda wrong: wrong.finding == "out of bounds",
    "race in shared memory": lambda wrong: wrong.finding == "race" and wrong.space == SHARED,
    "race in global memory": lambda wrong: wrong.finding == "race" and wrong.space != SHARED,
    "read of uninitialised shared or local memory": lambda wrong: wrong.finding == "uninitialised read",
    "output that no thread writes": lambda wrong: wrong.finding == "unwritten output",
    "barrier that not all threads reach": lambda wrong: wrong.finding == "barrier divergence",
    "wrong mask, or no `syncwarp`": lambda wrong: wrong.finding == "warp synchronisation",
    "result that depends on the order of atomics": lambda wrong: wrong.finding == "order dependence",
    "launch beyond a limit": lambda wrong: wrong.finding == "launch limit",
}


def test_every_verdict_is_of_a_case_and_its_tool():
    assert len(VERDICTS) > 150 and set(VERDICTS) <= set(CASES)
    for name, verdict in VERDICTS.items():
        assert verdict["tool"] == sanitize.TOOLS.get(CASES[name].finding, sanitize.MEMCHECK)
        assert verdict["finding"] == CASES[name].finding
    assert STORED["where"]["gpu"].startswith("NVIDIA H100") and STORED["where"]["compute-sanitizer"]


@pytest.mark.parametrize("mistake", ROWS)
def test_the_books_table_counts_what_is_stored(mistake):
    page = (sanitize.ROOT / "chapters" / "check-rule.md").read_text(encoding="utf-8")
    row = re.search(rf"\* - {re.escape(mistake)}\n  - (\d+)\n  - `(\w+)`\n  - (\d+)\n", page)
    verdicts = [each for name, each in VERDICTS.items() if ROWS[mistake](CASES[name])]
    assert row and row[2] in {each["tool"] for each in verdicts}
    assert (int(row[1]), int(row[3])) == (len(verdicts), sum(bool(each["errors"]) for each in verdicts))


def test_what_the_book_says_of_the_kernels_without_a_tool():
    alone = [each["alone"] for each in VERDICTS.values() if each["finding"] == "out of bounds"]
    page = (sanitize.ROOT / "chapters" / "check-rule.md").read_text(encoding="utf-8")
    assert (
        f"{alone.count('nothing')} of the {len(alone)} kernels that leave an array ended on the H100" in page
    )


SAID = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at add_without_guard(Array)+0x310 in /tmp/tests/bounds.py:{line}
=========     by thread (0,0,0) in block (1,0,0)
========= ERROR SUMMARY: 9 errors
"""


def test_a_verdict_is_read_from_what_the_tool_prints(tmp_path):
    wrong = CASES["sum of vectors without a guard"]
    (line,) = wrong.lines
    program = tmp_path / "sanitizer"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{SAID.format(line=line)}END\nexit 1\n")
    program.chmod(0o755)
    verdict = sanitize.verdict(wrong, str(program), sanitize.MEMCHECK)
    assert verdict == {
        "finding": "out of bounds",
        "tool": "memcheck",
        "errors": 9,
        "first": "Invalid __global__ read of size 4 bytes",
        "lines": [line],
        "marked": [line],
        "ended": "1",
        "last": "",
    }
