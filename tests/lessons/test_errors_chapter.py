"""Chapter 10: its messages were raised or quoted, its sums are right, and its words agree with the notebook's outputs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from book import cells, raised

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = (ROOT / "chapters" / "10-errors.md").read_text(encoding="utf-8")
RAISED = json.loads((ROOT / "rehearsal" / "errors.json").read_text(encoding="utf-8"))
NOTEBOOK = {
    cell.id: cell for cell in nbformat.read(ROOT / "notebooks" / "10-errors.ipynb", as_version=4).cells
}
SIZE = r"([\d.]+) ([MG])iB"


def table(name):
    return CHAPTER.partition(f":name: {name}\n")[2].partition("\n:::\n")[0]


def mib(number, unit):
    return float(number) * {"M": 1, "G": 1024}[unit]


def sizes(text):
    return [mib(*found) for found in re.findall(SIZE, text)]


def output(cell):
    return cells.printed(NOTEBOOK[cell])


def test_numba_and_cupy_in_the_table_of_wordings_were_raised():
    texts = {line for each in RAISED["errors"] for line in each["text"].splitlines()}
    shown = re.findall(r"^  - `([^`]+)`$", table("tab-three-wordings"), re.M)
    assert len(shown) == 10 and set(shown) <= texts
    for library in ("numba-cuda", "CuPy"):
        assert f"- {library} {RAISED['versions'][library.lower()]}\n" in table("tab-three-wordings")


def test_pytorch_in_the_table_of_wordings_has_a_source():
    rows = table("tab-three-wordings").split("\n* - ")[2:]
    assert len(rows) == 5
    assert all(re.search(r"^  - `CUDA [^`]+` \{cite\}`[\w-]+`$", row, re.M) for row in rows)


def test_the_call_after_the_assert_is_the_one_that_is_named():
    assert f"`{raised.entry('device-side assert', 'numba-cuda', 2)['line']}`" in CHAPTER
    assert "2048" in raised.entry("too many threads in a block", "cupy")["line"]
    assert raised.text(raised.entry("exception in a kernel", "numba-cuda", 2)).startswith("AssertionError")


def test_the_sums_of_the_message():
    message = re.search(r"(?s)```text\n(torch\.cuda\.OutOf.*?)```", CHAPTER)[1]
    tried, capacity, free, other, process, allocated, unallocated = sizes(message)
    whole, kept = process + free + other, allocated + unallocated
    assert f"= {whole / 1024:.2f} GiB, the whole GPU" in CHAPTER and abs(capacity - whole) < 20
    assert f"are {kept / 1024:.2f} GiB of the {process / 1024:.2f} GiB" in CHAPTER
    assert f"so {(process - kept) / 1024:.2f} GiB belong" in CHAPTER
    assert unallocated > tried, "the memory is fragmented"


def test_the_sums_of_the_older_messages():
    old = table("tab-oom-older")
    tried, capacity = sizes(old.partition("* - 2018")[2])[:2]
    assert tried > capacity
    _, capacity, allocated, free, reserved = sizes(old.partition("* - 2020")[2])[:5]
    assert f"{reserved - allocated:.0f} MiB are kept" in old
    assert f"= {(capacity - reserved - free) / 1024:.1f} GiB belong to other programs" in old


@pytest.mark.parametrize(
    ("cell", "printed", "said"),
    [
        (
            "oom-verdicts",
            "here       60       60        0  the limit",
            "60 MiB + 60 MiB are more than the 100 MiB",
        ),
        ("oom-verdicts", "fragments and tensors", "the answers to 4 and 5 are both yes"),
        ("oom-timeline", "97.5 MiB     210  after", "15 numbers in the log hold 6.5 MiB each"),
        ("oom-timeline", "limit 102 MiB", "The limit is 102 MiB"),
        ("oom-log", "graph      6,816,256", "13 tensors of 512 KiB"),
        ("oom-log", "detach           512", "512 bytes are the smallest block"),
        ("mistake-run", "skipped 5", "lacks 5 of 20 steps"),
        ("nan-find", "waits: 4", "Four of the 17 modules"),
        ("nan-find", "9 Standard()", "`Standard` divides 0 by 0"),
        ("assert-cpu", "line 4: Target 3", "names the line of the loss"),
        ("hang-gloo", "for recv operation", "Rank 0 reports the error (*recv*"),
        ("illegal-check", "(3 threads do", "8 threads on 5 elements"),
    ],
)
def test_the_words_agree_with_the_outputs(cell, printed, said):
    assert printed in output(cell)
    assert said in CHAPTER


def test_thirteen_tensors_and_a_number_are_the_bytes_of_a_graph():
    assert 13 * 512 * 1024 + 512 == 6_816_256


def test_the_table_of_cures_has_the_peaks_that_the_text_compares():
    rows = re.findall(r"^(\w.*?) +([\d.]+) +([\d.]+) +(\d+)$", output("oom-cures"), re.M)
    peak = {name: float(number) for name, number, *_ in rows}
    ops = {name: int(number) for name, _, _, number in rows}
    left = float(rows[0][2])
    assert f"the gradients are left, {left:.2f} MiB" in CHAPTER
    assert peak["two halves"] - peak["half the batch"] == pytest.approx(left, abs=0.011)
    assert peak["zeros, not None"] > peak["the whole batch"] > peak["in segments"]
    assert peak["validation"] > peak["with del"] > peak["with no_grad"]
    more, less = (
        made["in segments"] - made["the whole batch"] for made in (ops, {k: -v for k, v in peak.items()})
    )
    assert f"takes {more} more operations and saves {less:.2f} MiB" in CHAPTER


def test_fifteen_logged_numbers_fill_the_memory():
    assert 15 * 6.5 == 97.5
    assert "logged 15, skipped 5" in output("mistake-run") and "it stops in step 16" in CHAPTER


ASSERT = """
from numba import cuda, types

def kernel(labels, out):
    i = cuda.grid(1)
    if i < labels.size:
        assert labels[i] < 3
        out[i] = labels[i]

array = types.int64[::1]
print(cuda.compile_ptx(kernel, (array, array), cc=(8, 0))[0])
"""


def test_a_failed_assert_in_numba_leaves_the_kernel():
    pytest.importorskip("numba_cuda")
    made = subprocess.run([sys.executable, "-c", ASSERT], capture_output=True, text=True, cwd=ROOT)
    assert made.returncode == 0, made.stderr
    failed = re.search(r"setp\.gt\.s64\s+(%p\d+), %rd\d+, 2;\s+@\1 bra\s+(\S+);", made.stdout)
    assert failed, "the comparison with 2 has a branch of its own"
    before, _, after = made.stdout.partition(f"{failed[2]}:")
    assert "st.global" in before[failed.end() :], "the store is skipped"
    assert re.match(r"\s*ret;", after), "the thread leaves the kernel"
    assert "the thread only leaves the kernel" in CHAPTER
