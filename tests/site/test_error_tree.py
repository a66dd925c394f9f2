"""The decision tree of GPU errors: it prints on one sheet, and is read in its order."""

import re

import pytest

from tests.site.reading import read

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "chapters/error-tree"


def test_it_prints_on_one_sheet_of_a4(open_tab, url, tmp_path):
    page = open_tab(f"{url}{PAGE}.html")
    written = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", written)) == 1
    width, height = map(float, re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", written).groups())
    assert (round(width), round(height)) == (595, 842)
    page.emulate_media(media="print")
    assert page.locator("h1:visible").all_inner_texts() == ["What do you see? A decision tree for GPU errors"]
    assert page.locator(".h2d-tree").is_visible() and not page.locator(".bd-sidebar-primary").is_visible()


def test_every_branch_of_the_list_ends_with_a_link(site):
    tree = read(PAGE).select_one(".h2d-tree")
    questions = tree.select(":scope > ol > li")
    assert [each.strong.get_text() for each in questions] == [
        "The program ends with an error message.",
        "The program ends without a traceback.",
        "The program hangs.",
        "There is no message, and the result is wrong.",
        "The result is right, and the program is slow.",
    ]
    ends = [each for each in tree.select("ul li") if not each.select("ul")]
    assert len(ends) > 20 and [each.get_text() for each in ends if not each.select("a[href]")] == []
