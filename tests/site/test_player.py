"""The player of a finding in a real browser: keys, what is said, print, a narrow screen, and two players on a page."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from host_to_device.checking import check
from host_to_device.checking.player import SCRIPT
from host_to_device.standins import numba_cuda as cuda
from tests.site.axe import LOOKS, faults_in, prepare, told
from tests.site.reading import ROOT

pytestmark = [pytest.mark.site, pytest.mark.browser]


@cuda.jit
def add_up(x, total):
    total[0] += x[cuda.grid(1)]


@cuda.jit
def add_ten(a, out):
    i = cuda.grid(1)
    out[i] = a[i] + 10


@cuda.jit
def meet_some(x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.syncthreads()
        x[i] = 1


@pytest.fixture(scope="module")
def players():
    """The players of a race, of an access out of bounds and of a barrier."""
    reports = (
        check(add_up)[1, 8](np.arange(8.0), np.zeros(1)),
        check(add_ten)[1, 8](np.zeros(5), np.zeros(8)),
        check(meet_some)[1, 8](np.zeros(5)),
    )
    return [report.play() for report in reports]


@pytest.fixture
def show(profiles, players):
    """Show a page with these players in the one tab of a profile: `show(width=360, those=[…], scripts=False)`."""
    style = (ROOT / "_static" / "book.css").read_text(encoding="utf-8")

    def show_them(width=1280, those=None, scripts=True, motion="null"):
        tab = profiles[scripts].pages[0]
        tab.set_default_timeout(20_000)
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(media="null", reduced_motion=motion)
        tab.goto("about:blank")
        boxes = "".join(each.html(script=False) for each in those or players)
        tab.set_content(
            f'<!DOCTYPE html><html lang="en"><head><title>Players</title><style>{style}</style></head>'
            f"<body><main><h1>Players</h1>{boxes}</main><script>{SCRIPT.read_text(encoding='utf-8')}</script></body></html>"
        )
        return tab

    return show_them


def player(tab, number=0):
    return tab.locator(".h2d-player").nth(number)


def said(tab, number=0):
    return player(tab, number).locator(".h2d-player-said")


def count(tab, number=0):
    return player(tab, number).locator(".h2d-player-count")


def button(tab, name, number=0):
    return player(tab, number).get_by_role("button", name=name, exact=True)


def test_keys_go_through_the_steps_and_each_is_said(show, players):
    tab, steps = show(), players[0].steps
    tab.keyboard.press("Tab")
    expect(button(tab, "first step")).to_be_focused()
    expect(said(tab)).to_have_attribute("aria-live", "polite")
    for number, step in enumerate(steps, 1):
        expect(count(tab)).to_have_text(f"step {number} of {len(steps)}")
        expect(said(tab)).to_have_text(f"{step.text} {step.remark}".strip())
        expect(said(tab)).to_be_visible()
        tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Home")
    expect(count(tab)).to_have_text(f"step 1 of {len(steps)}")
    tab.keyboard.press("End")
    expect(count(tab)).to_have_text(f"step {len(steps)} of {len(steps)}")
    tab.keyboard.press("ArrowLeft")
    expect(count(tab)).to_have_text(f"step {len(steps) - 1} of {len(steps)}")


def test_a_button_without_a_next_step_keeps_the_focus_and_tab_leads_out(show):
    tab = show()
    button(tab, "last step").focus()
    tab.keyboard.press("Enter")
    expect(button(tab, "last step")).to_be_focused()
    expect(button(tab, "last step")).to_have_attribute("aria-disabled", "true")
    tab.keyboard.press("Tab")
    expect(button(tab, "first step", 1)).to_be_focused()


def test_the_marked_steps_and_the_line_of_a_step_are_visible(show, players):
    tab = show()
    for number, words in enumerate((["race", "race"], ["outside"], ["waits", "missing"])):
        marks = player(tab, number).locator(".h2d-player-race")
        assert marks.all_inner_texts() == words
        expect(marks.first).to_be_visible()
        button(tab, "last step", number).click()
        line = player(tab, number).locator('.h2d-player-row[data-now="true"] .h2d-player-number')
        expect(line).to_have_text(str(players[number].steps[-1].line))
        expect(player(tab, number).locator(".h2d-player-state")).to_have_text(players[number].steps[-1].state)


def test_one_of_two_players_moves_alone(show, players):
    tab = show(those=[players[0], players[0]])
    button(tab, "one step forward", 1).click()
    expect(count(tab, 1)).to_contain_text("step 2 of")
    expect(count(tab, 0)).to_contain_text("step 1 of")


def test_a_player_that_comes_later_is_drawn_where_a_live_cell_says_so(show, players):
    tab = show()
    tab.evaluate(
        """html => {
            const box = document.createElement("div");
            box.innerHTML = html;
            document.querySelector("main").append(box);
            box.dispatchEvent(new CustomEvent("h2d-live-output", {bubbles: true}));
        }""",
        players[1].html(),
    )
    expect(button(tab, "one step forward", 3)).to_be_visible()
    button(tab, "one step forward", 3).click()
    expect(said(tab, 3)).to_have_text(players[1].steps[1].text)


@pytest.mark.parametrize("scripts", [True, False])
def test_on_paper_and_without_scripts_the_steps_are_a_list(show, players, scripts):
    tab = show(scripts=scripts)
    if scripts:
        expect(player(tab).locator(".h2d-player-controls")).to_be_visible()
        tab.emulate_media(media="print")
    expect(player(tab).locator(".h2d-player-controls")).to_be_hidden()
    items = player(tab).locator("ol > li")
    assert items.count() == len(players[0].steps)
    for item, step in zip(items.all(), players[0].steps, strict=True):
        expect(item).to_contain_text(step.text)
        assert item.bounding_box()["height"] > 10 and item.bounding_box()["width"] > 200


def test_a_reader_who_wants_no_motion_sees_none(show):
    seconds = {}
    for motion in ("reduce", "no-preference"):
        tab = show(motion=motion)
        row = player(tab).locator(".h2d-player-row").first
        seconds[motion] = row.evaluate("row => getComputedStyle(row).transitionDuration")
    assert seconds == {"reduce": "0s", "no-preference": "0.15s"}


def test_on_a_phone_everything_is_inside_and_large_enough(show, players):
    tab = show(width=360)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    for number in range(len(players)):
        for each in player(tab, number).get_by_role("button").all():
            box = each.bounding_box()
            assert box["height"] >= 24 and box["width"] >= 24 and box["x"] + box["width"] <= 360
        for step in player(tab, number).locator(".h2d-player-step").all():
            assert step.evaluate("box => box.scrollWidth <= box.clientWidth + 1"), step.inner_text()


@pytest.mark.slow
def test_axe_finds_nothing_in_a_player(show):
    tab = show()
    prepare(tab)
    looks = [look for pair in LOOKS for look in pair]
    found = faults_in(tab, looks, part=".h2d-player")
    assert not found, told(found)


@pytest.mark.slow
def test_a_player_of_the_book_stands_below_its_report(open_tab, url):
    tab = open_tab(f"{url}chapters/check.html")
    for report in tab.locator(".check-report").all():
        kinds = re.findall(r"^\d+\. ([a-z ]+): ", report.locator(".cell_output pre").first.inner_text(), re.M)
        wanted = {"race", "out of bounds", "barrier divergence"} & set(kinds)
        if "warp synchronisation" not in kinds:  # some of these are races
            assert report.locator(".h2d-player").count() == bool(wanted), kinds
    first = tab.locator(".h2d-player").first
    first.get_by_role("button", name="last step").click()
    expect(first.locator(".h2d-player-said")).to_be_visible()
