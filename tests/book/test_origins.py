"""Stamps of origin become links to the table that explains the words, and nothing else does."""

import re
from pathlib import Path

import pytest

from book import origins

ROOT = Path(__file__).resolve().parents[2]
HREF = "chapters/measurements.html#measured-origins"


def links(html):
    return re.findall(
        rf'<a class="h2d-origin" href="{re.escape(HREF)}">(.*?)</a>', origins.linked(html, HREF)
    )


@pytest.mark.parametrize(
    "html, words",
    [
        ('<figcaption><p><span class="caption-text">One copy, predicted</span></p></figcaption>', ["predicted"]),
        ('<caption><span class="caption-text">Counted with PyTorch, and predicted for <em>one</em> V100</span></caption>', ["Counted", "predicted"]),
        ('<span class="caption-text">A, <span>measured</span> now; B, measured now, a stand-in.</span>', ["measured", "stand-in"]),
        ("<caption>Counted on: stand-in</caption>", ["Counted", "stand-in"]),
        ("<p class='h2d-stamp'>compiled for sm_90 by NVRTC 13.0, not run</p>", ["compiled"]),
        ("<pre>predicted, not measured, from the limits of a V100:\n  1 µs</pre>", ["predicted"]),
        ("<pre>resources of f, compiled for sm_90 by ptxas, not run</pre>", ["compiled"]),
        ("<p>Compiled on 2026-11-20 with Numba; not run.</p>", ["Compiled"]),
        ("<p>Raised in our tests without a GPU: CuPy 14.2.0.</p>", ["Raised"]),
        ("<p>Asked of: stand-in; order, no times.</p>", ["stand-in"]),
    ],
)  # fmt: skip
def test_stamps_become_links(html, words):
    assert links(html) == words
    assert re.sub("<[^>]+>", "", origins.linked(html, HREF)) == re.sub("<[^>]+>", "", html), "the text stays"


@pytest.mark.parametrize(
    "html",
    [
        "<p>This was measured, counted and compiled.</p>",
        "<p>The launch raised an error in our tests.</p>",
        '<span class="caption-text"><a href="#x">measured</a></span><p>predicted</p>',
        '<svg aria-label="predicted, not measured"><title>predicted, not measured</title></svg>',
        "<script>predicted, not measured</script>",
        "<h2>Counted on: a heading</h2>",
        '<img class="caption-text" alt="measured"><p>measured</p>',
        "<caption>One</caption><td>measured</td>",
    ],
)
def test_everything_else_stays_as_it_is(html):
    assert origins.linked(html, HREF) == html


def test_each_caption_has_its_own_links():
    one = '<span class="caption-text">measured, measured</span>'
    assert links(one + "<p>x</p>" + one) == ["measured", "measured"]


def test_the_words_are_those_of_the_table():
    page = (ROOT / f"{origins.PAGE}.md").read_text(encoding="utf-8")
    table = page.partition(f"({origins.ANCHOR})=")[2].partition("\n(")[0]
    rows = re.findall(r"^\| ([\w-]+) \|", table, re.M)[1:]
    assert len(rows) == 8 and set(rows) == set(re.findall(r"[\w-]{4,}", origins.WORDS.pattern))
