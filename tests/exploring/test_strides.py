"""The explorer of strides: its sectors are those of the check's notes, its picture, its limits and its two faces."""

import re

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.exploring.strides import DTYPES, StridePicture
from host_to_device.standins import numba_cuda as cuda


@cuda.jit
def strided(x, stride, offset, out):
    i = cuda.grid(1)
    out[i] = x[offset + i * stride]


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize(
    "stride, offset", [(0, 3), (1, 0), (1, 1), (2, 1), (7, 0), (8, 5), (32, 0), (40, 32)]
)
def test_the_sectors_are_those_that_the_check_counts(stride, offset, dtype):
    x, out = np.zeros(40 * 32 + 32, dtype), np.zeros(32, dtype)
    report = h2d.check(strided, notes=True)[1, 32](x, stride, offset, out)
    counted = next(note for note in report.notes if note.array == "x")
    picture = StridePicture(stride, offset, dtype)
    assert (picture.sectors, picture.ideal) == (counted.number, counted.ideal)


def test_what_the_notebook_says_about_strides():
    assert [StridePicture(stride).sectors for stride in (7, 8)] == [28, 32]
    assert StridePicture(1, 1).sectors == StridePicture(1, 0).sectors + 1 == 5
    assert StridePicture(0).sectors == 1


def test_bytes_in_use_are_the_bytes_that_are_asked_for():
    for dtype, size in DTYPES.items():
        for stride in (0, 1, 3, 33):
            picture = StridePicture(stride, 2, dtype)
            used = sum(length for pieces in picture.used.values() for _, length in pieces)
            assert used == picture.asked == (32 if stride else 1) * size


def test_picture_has_a_box_for_every_sector_and_marks_the_touched_ones():
    picture = StridePicture(5, 0, "float32")
    svg = picture.svg()
    assert svg.count("stroke=") == picture.sectors
    boxes, parts = len(re.findall(r'height="17"', svg)), len(re.findall(r'height="9"', svg))
    assert boxes % 8 == 0 and boxes * 32 >= max(picture.addresses) + 4
    assert parts == 32


def test_sentences_say_what_the_picture_shows():
    assert (
        "8 sectors, 256 bytes fetched for 128 bytes that the lanes use (50%); 4 sectors would be enough"
        in StridePicture(2).summary()
    )
    assert (
        "4 sectors, 128 bytes fetched for 128 bytes that the lanes use (100%); this is the minimum"
        in StridePicture(1).summary()
    )
    assert "32 sectors with 4 of 32 bytes in use" in StridePicture(16).alt()


@pytest.mark.parametrize(
    "given",
    [
        (-1,),
        (StridePicture.controls["stride"].high + 1,),
        (1.0,),
        (True,),
        (1, 33),
        (1, "0"),
        (1, 0, "float128"),
        (1, 0, 4),
    ],
)
def test_what_it_cannot_draw_is_refused_by_name(given):
    with pytest.raises(ValueError, match=r"(stride|offset|dtype) is .*: give "):
        h2d.explore_strides(*given)


def test_moving_redraws_the_picture():
    explorer = h2d.explore_strides()
    stride, offset, dtype, view = explorer.widget().children
    assert "4 sectors" in view.value
    stride.value = 40
    dtype.value = "float64"
    offset.value = 32
    assert explorer.picture.sectors == 32 and "32 sectors" in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_strides(2)._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and "8 sectors" in bundle["text/plain"]
