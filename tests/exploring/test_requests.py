"""The explorer of launches and bytes: its numbers, its picture, its limits and its two faces."""

import re

import pytest

import host_to_device as h2d
from host_to_device.exploring.requests import RequestPicture


def test_times_of_launches_and_of_bytes():
    several, one, _, _ = RequestPicture(rows=1_000_000, launch=10, first=256).ways()
    assert several[1:] == pytest.approx((50e-6, 8e-3))
    assert one[1:] == pytest.approx((10e-6, 2e-3))


def test_what_the_chapter_says_of_the_two_cards():
    small, large = RequestPicture(), RequestPicture(rows=1_000_000)
    assert round(small.by_card, 1) == 1.0 and round(large.by_card, 1) == 4.0
    assert 4 <= large.by_kernel <= small.by_kernel <= 5


def test_the_longer_of_the_two_times_counts():
    picture = RequestPicture(rows=100_000)
    (_, issuing, moving), _, (_, others, quicker), _ = picture.ways()
    assert moving > issuing and quicker > others
    assert picture.by_card == pytest.approx(moving / quicker)
    assert "on the first card the bytes take longer" in picture.summary()
    assert "on the first card the launches take longer" in RequestPicture().summary()


def test_bars_are_as_long_as_their_times():
    picture = RequestPicture(rows=100_000)
    widths = [float(each) for each in re.findall(r'width="([\d.]+)" height="9"', picture.svg())]
    seconds = [part for _, *parts in picture.ways() for part in parts]
    assert len(widths) == 8
    for width, value in zip(widths, seconds, strict=True):
        assert width / widths[1] == pytest.approx(value / seconds[1], abs=0.01)


@pytest.mark.parametrize(
    "given", [{"rows": 99}, {"rows": 1e4}, {"requests": True}, {"first": 0}, {"launch": "1"}]
)
def test_what_it_cannot_draw_is_refused_by_name(given):
    with pytest.raises(ValueError, match=rf"{next(iter(given))} is .*: give "):
        h2d.explore_requests(**given)


def test_moving_redraws_the_picture():
    explorer = h2d.explore_requests()
    rows, *_, view = explorer.widget().children
    before = view.value
    rows.value = 1_000_000
    assert explorer.picture.rows == 1_000_000
    assert view.value != before and "1,000,000 rows" in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_requests()._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and "1,024 rows" in bundle["text/plain"]
