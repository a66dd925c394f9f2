"""Animations of boards: what they draw, that they can be held, and what they refuse."""

import re

import numpy as np
import pytest

import host_to_device as h2d

ALT = "Three cells in a row that become a column, and a row again."
ROW = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0]])


def test_every_board_is_a_picture_and_its_cells_are_drawn():
    html = h2d.animate([ROW, ROW.T], alt=ALT).html()
    paths = re.findall(r' d="([^"]*)"', html)
    assert paths == ["M0 1h3v1h-3z", "M1 0h1v1h-1zM1 1h1v1h-1zM1 2h1v1h-1z"]


def test_boards_take_turns_and_the_first_one_begins():
    html = h2d.animate([ROW] * 4, alt=ALT, seconds=0.5).html()
    delays = [float(each) for each in re.findall(r"animation-delay: (-?[\d.]+)s", html)]
    assert delays == [-2.0, -1.5, -1.0, -0.5]
    assert "2.00s step-end infinite" in html and "25.0000% { visibility: hidden" in html


def test_it_can_be_held_and_is_held_where_less_motion_is_asked_for():
    html = h2d.animate([ROW, ROW.T], alt=ALT).html()
    assert "input:checked ~ svg .f { animation-play-state: paused" in html
    reduced = html.partition("prefers-reduced-motion: reduce")[2]
    assert ".f { animation-play-state: paused" in reduced
    assert re.search(r'<input type="checkbox" id="([\w-]+)"/><label for="\1">', html)


def test_no_script_is_needed_and_those_who_do_not_see_it_are_told():
    html = h2d.animate([ROW, ROW.T], alt=ALT).html()
    assert "<script" not in html and f'role="img" aria-label="{ALT}"' in html


def test_two_animations_in_a_page_do_not_mix():
    first, second = (h2d.animate(boards, alt=ALT).html() for boards in ([ROW, ROW.T], [ROW.T, ROW]))
    names = [re.search(r"@keyframes ([\w-]+)", html)[1] for html in (first, second)]
    assert names[0] != names[1] and names[0] in first and names[0] not in second
    assert h2d.animate([ROW, ROW.T], alt=ALT).html() == first


def test_one_board_stands_still():
    html = h2d.animate([ROW], alt=ALT).html()
    assert "@keyframes" not in html and "<input" not in html


def test_its_text_says_how_much_there_is():
    assert repr(h2d.animate([ROW, ROW.T], alt=ALT)) == "2 boards of 3 × 3 cells, 3 alive in the last"


@pytest.mark.parametrize(
    ("boards", "options", "says"),
    [
        ([], {}, "boards is empty"),
        ([ROW, np.ones((2, 2))], {}, "two-dimensional arrays of one shape"),
        ([np.ones(3)], {}, "two-dimensional arrays of one shape"),
        ([ROW] * 300, {}, "300 boards make a page too heavy"),
        ([np.ones((300, 300))], {}, "90,000 cells a board make a page too heavy"),
        ([ROW], {"alt": "life"}, "alt is too short"),
        ([ROW], {"seconds": 0.01}, "seconds is 0.01"),
        ([ROW], {"seconds": True}, "seconds is True"),
    ],
)
def test_what_it_cannot_show_is_refused_in_a_line(boards, options, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        h2d.animate(boards, **{"alt": ALT, **options})
