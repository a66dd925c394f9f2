"""What the build does that no page shows: it finds a browser for the tests, and leaves nothing stale behind."""

from types import SimpleNamespace

import pytest

from book import drawings, icons, pages
from tests.site import conftest

pytestmark = pytest.mark.site


def test_a_browser_is_found_by_name_then_on_the_path_then_in_playwrights_own_place(monkeypatch, tmp_path):
    installed = tmp_path / "chromium"
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    monkeypatch.setattr(conftest, "USUAL_PLACES", ())
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("H2D_BROWSER", str(installed))
    assert conftest.find_browser() == str(installed)
    monkeypatch.setenv("H2D_BROWSER", str(tmp_path / "nowhere"))
    assert conftest.find_browser(str(installed)) is None, (
        "a browser that was asked for and is missing is an error"
    )
    monkeypatch.delenv("H2D_BROWSER")
    assert conftest.find_browser() is None
    assert conftest.find_browser(str(installed)) == str(installed)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert conftest.find_browser() == str(installed)


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_without_a_browser_tests_are_skipped_and_in_ci_they_fail(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="apt install chromium"):
        conftest.stop_without_a_browser()


def test_a_page_whose_source_is_gone_is_removed(tmp_path):
    for name in ("index.html", "search.html", "chapters/gone.html", "_static/kept.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    app = SimpleNamespace(
        outdir=tmp_path, builder=SimpleNamespace(format="html"), env=SimpleNamespace(found_docs={"index"})
    )
    pages.remove_stale(app, None)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert left == {"index.html", "search.html", "_static/kept.html"}


def test_the_theme_keeps_the_rules_of_the_icons_in_use():
    styles = icons.styles_with({"fa-github"})
    assert ".fa-github:before" in styles and ".fa-bluetooth:before" not in styles
    assert ".woff2" not in styles and ".woff)" in styles


def test_a_drawing_scrolls_before_its_letters_get_too_small():
    svg = (
        '<svg viewBox="0 0 720 300"><text font-size="24">a</text><text style="font-size: 12px">b</text></svg>'
    )
    assert drawings.legible_width(svg) == 540
    assert drawings.legible_width('<svg viewBox="0 0 720 300"><rect/></svg>') == 0


def test_a_drawing_is_named_and_follows_the_theme():
    svg = drawings.prepared(
        '<svg viewBox="0 0 9 9"><g id="a" fill="#0072B2"/></svg>', "one", 'It says "5 < 6".'
    )
    assert 'role="img"' in svg and 'aria-label="It says &quot;5 &lt; 6&quot;."' in svg
    assert 'id="one-a"' in svg and "var(--h2d-blue, #0072b2)" in svg
