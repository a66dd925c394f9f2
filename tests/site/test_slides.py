"""Slides: made from a chapter's structure, with its prose as notes, and nothing runs over the edge of a slide."""

import pytest

from tests.site.reading import WRITTEN
from tools import slides

CHAPTERS = [page for page in WRITTEN if page.startswith("chapters/0") or page.startswith("chapters/1")]
PAGE = """<article><section><h1>T<a class="headerlink">#</a></h1><p>One.
More.</p><section><h2>A</h2><p>First.
Second.</p><p class="slide">Third.
Fourth.</p><figure><svg viewBox="0 0 1 1"></svg></figure><p class="no-slide">Left.</p>
<table><thead><tr><th>h</th></tr></thead><tbody>{rows}</tbody></table><div class="game"><button>x</button></div>
</section><section><h2>Further reading</h2><p>Left.</p></section></section></article>"""


def test_a_chapter_becomes_slides_by_its_structure():
    made = slides.slides_of(PAGE.format(rows="<tr><td>r</td></tr>" * 9))
    assert [slide.kind for slide in made] == ["title", "text", "figure", "table", "table"]
    assert [slide.heading for slide in made] == ["T", "A", "A", "A", "A"]
    text = "".join(made[1].content)
    assert [word for word in ("First", "Second", "Third", "Fourth", "Left") if word in text] == [
        "First",
        "Third",
        "Fourth",
    ]
    assert "Second." in "".join(made[1].notes)
    assert made[3].content[0].count("<td>") == 7 and made[4].content[0].count("<td>") == 2
    assert all("<th>h</th>" in slide.content[0] for slide in made[3:])


def test_an_unknown_lesson_is_one_line(capsys):
    assert slides.main(["99"]) == 1
    assert capsys.readouterr().err.startswith("make slides: no built chapter 99: run `make book`")


def found(tab, folder, page, look):
    """Return the slides that overflow, and the smallest scale of a slide."""
    tab.goto((folder / f"{page.split('/')[1]}.html").as_uri() + look)
    tab.wait_for_selector("body[data-ready]", state="attached", timeout=60_000)
    return tab.evaluate(
        "[...document.querySelectorAll('.slides > section')].map((s, i) =>"
        " [i, s.querySelector('h1, h2').textContent, s.dataset.overflows, +s.dataset.scale])"
    )


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.slow  # more than ten seconds a chapter; the structure is tested above
@pytest.mark.parametrize("page", CHAPTERS)
def test_no_slide_runs_over_its_edge(page, site, profiles, tmp_path):
    assert slides.main([page[9:11], "--no-pdf", "--out", str(tmp_path)]) == 0
    tab = profiles[True].pages[0]
    for look in ("?print-pdf", "?theme=dark"):
        those = found(tab, tmp_path, page, look)
        assert len(those) > 20
        assert not [each for each in those if each[2] != "false"]
        assert not [each for each in those if each[3] < 0.5], "too small to read from the last row"


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.slow
def test_a_pdf_has_a_page_for_each_slide(site, tmp_path):
    program = slides.browser()
    if not program:
        pytest.skip("no browser to print with")
    assert slides.main(["02", "--out", str(tmp_path)]) == 0
    [pdf] = tmp_path.glob("*.pdf")
    [page] = tmp_path.glob("*.html")
    assert pdf.read_bytes().count(b"/Type /Page\n") == page.read_text().count("<section class=")
