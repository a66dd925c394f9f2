"""The explorer of a sum by shuffles: what it counts is what the kernel does, its picture, its limits and its widget."""

import re

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.exploring.lanes import LanesPicture
from host_to_device.standins import numba_cuda as cuda

WIDTHS, FIRSTS = (LanesPicture.controls[name].values for name in ("warp_size", "first"))


@cuda.jit
def sum_from(x, first, out):
    value = x[cuda.threadIdx.x]
    offset = first
    while offset > 0:
        value += cuda.shfl_down_sync(-1, value, offset)
        offset //= 2
    if cuda.threadIdx.x % cuda.warpsize == 0:
        cuda.atomic.add(out, 0, value)


@pytest.mark.parametrize("warp_size", WIDTHS)
@pytest.mark.parametrize("first", FIRSTS)
def test_what_is_heard_is_what_the_kernel_adds(warp_size, first):
    found = []
    for one in np.eye(64, dtype=np.int64):
        out = np.zeros(1, np.int64)
        h2d.with_warp_size(sum_from, warp_size)[1, 64](one, first, out)
        found.append(int(out[0]))
    assert LanesPicture(warp_size, first).heard == found


def test_what_the_notebook_says_about_offsets():
    assert LanesPicture(32, 16).right and LanesPicture(64, 32).right
    assert LanesPicture(64, 16).heard == [1] * 32 + [0] * 32
    assert LanesPicture(32, 32).heard == [2] * 64


def test_sentences_say_what_the_picture_shows():
    assert LanesPicture(64, 32).summary().endswith("each of 64 numbers is in the sum, once.")
    assert "32 of 64 numbers are in the sum once, 32 of 64 are missing" in LanesPicture(64, 16).summary()
    assert LanesPicture(32, 32).summary().endswith(": 64 of 64 are in it more than once.")
    assert "threads 0 to 31 1 times; threads 32 to 63 0 times" in LanesPicture(64, 16).alt()


def test_picture_has_a_box_for_each_thread_and_a_frame_for_each_warp():
    for warp_size in WIDTHS:
        svg = LanesPicture(warp_size, 16).svg()
        assert len(re.findall(r'rx="3"', svg)) == 64
        assert len(re.findall(r'rx="6"', svg)) == svg.count(">warp ") == 64 // warp_size
        assert svg.count('stroke-width="3"') == 64 // warp_size
        assert 'role="img"' in svg and len(re.search(r'aria-label="([^"]*)"', svg)[1]) > 40


def test_menus_redraw_the_picture():
    explorer = h2d.explore_lanes()
    box = explorer.widget()
    width, first, view = box.children
    before = view.value
    first.value = 32
    assert explorer.picture.right and view.value != before
    width.value = 32
    assert explorer.picture.heard == [2] * 64
    assert "text/html" in explorer._repr_mimebundle_()


@pytest.mark.parametrize("wrong", [{"warp_size": 16}, {"warp_size": True}, {"first": 3}, {"first": "16"}])
def test_other_numbers_are_refused_in_a_sentence(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is .*: give one of"):
        h2d.explore_lanes(**wrong)
