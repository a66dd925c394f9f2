"""The grid explorer: its numbers, its picture, its limits and its two faces."""

import re

import pytest

import host_to_device as h2d
from host_to_device.exploring.grid import GridPicture


@pytest.mark.parametrize(
    ("n", "blocks", "threads", "idle", "missed"),
    [(20, 3, 8, 4, 0), (24, 3, 8, 0, 0), (30, 3, 8, 0, 6), (1, 1, 1, 0, 0), (3, 2, 8, 13, 0)],
)
def test_counts_agree_with_a_launch_done_by_hand(n, blocks, threads, idle, missed):
    picture = GridPicture(n, blocks, threads)
    indices = [block * threads + thread for block in range(blocks) for thread in range(threads)]
    assert picture.idle == idle == sum(i >= n for i in indices)
    assert picture.missed == missed == len(set(range(n)) - set(indices))


def test_picture_has_one_cell_a_thread_and_names_each_element():
    svg = GridPicture(20, 3, 8).svg()
    assert svg.count("<rect") == 24
    labels = re.findall(r">([^<>]+)</text>", svg)
    assert labels.count("–") == 4
    assert {str(i) for i in range(20)} <= set(labels)


def test_alternative_text_says_what_the_picture_shows():
    alt = GridPicture(11, 3, 8).alt()
    assert "block 0 has elements 0 to 7" in alt
    assert "block 1 has elements 8 to 10" in alt
    assert "block 2 has no elements" in alt


def test_left_out_elements_are_named():
    assert "6 without a thread, elements 24 to 29" in GridPicture(30, 3, 8).summary()


@pytest.mark.parametrize(
    "sizes", [(0, 1, 1), (97, 1, 1), (8, 0, 1), (8, 9, 1), (8, 1, 17), (8.0, 1, 1), (True, 1, 1)]
)
def test_sizes_outside_the_picture_are_refused_by_name(sizes):
    with pytest.raises(ValueError, match=r"(n|blocks|threads_per_block) is .*: give a whole number"):
        h2d.explore_grid(*sizes)


def test_sliders_redraw_the_picture():
    explorer = h2d.explore_grid(20, 3, 8)
    box = explorer.widget()
    *sliders, view = box.children
    assert "4 idle" in view.value
    sliders[0].value = 24
    assert "one each" in view.value
    sliders[1].value = 2
    assert "8 without a thread" in view.value


def test_live_page_gets_the_widget_and_static_page_the_picture():
    bundle = h2d.explore_grid()._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert "<svg" in bundle["text/html"]
    assert bundle["text/plain"] == "3 × 8 = 24 threads for 20 elements: 4 idle, stopped by the guard."


def test_colab_gets_the_widget_alone(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "google.colab", object())
    bundle = h2d.explore_grid()._repr_mimebundle_()
    assert "text/html" not in bundle
    assert "application/vnd.jupyter.widget-view+json" in bundle
