"""The explorer of banks: its turns are those of the check's notes, its picture, its limits and its two faces."""

import re

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.exploring.banks import BankPicture
from host_to_device.standins import numba_cuda as cuda

WORDS = 40 * 32 + 32


@cuda.jit
def strided(stride, offset, out):
    words = cuda.shared.array(WORDS, np.float32)
    tid = cuda.threadIdx.x
    for k in range(tid, WORDS, 32):
        words[k] = k
    cuda.syncthreads()
    out[tid] = words[offset + tid * stride]


@pytest.mark.parametrize(
    "stride, offset", [(0, 3), (1, 0), (1, 5), (2, 1), (8, 0), (12, 7), (32, 0), (33, 32)]
)
def test_the_turns_are_those_that_the_check_counts(stride, offset):
    report = h2d.check(strided, notes=True)[1, 32](stride, offset, np.zeros(32, np.float32))
    counted = next(note for note in report.notes if note.kind == "bank conflicts" and note.access == "read")
    assert BankPicture(stride, offset).ways == counted.number == max(BankPicture(stride, offset).queues)


def test_what_the_notebook_says_about_banks():
    assert [BankPicture(stride).ways for stride in (1, 2, 3, 8, 32, 33)] == [1, 2, 1, 8, 32, 1]
    assert BankPicture(0).ways == 1 and sum(BankPicture(0).queues) == 1
    assert next(stride for stride in range(17, 40) if BankPicture(stride).ways == 1) == 17
    assert all(BankPicture(16, offset).ways == 16 for offset in range(32))


def test_picture_has_a_box_for_every_word_and_all_banks():
    for stride in (0, 1, 6, 32):
        picture = BankPicture(stride)
        svg = picture.svg()
        assert len(re.findall(r'height="10"', svg)) == len(set(picture.words))
        assert re.findall(r">(\d+)</text>", svg) == [str(bank) for bank in range(32)]
        assert svg.count("--h2d-orange") == sum(max(queue - 1, 0) for queue in picture.queues)


def test_sentences_say_what_the_picture_shows():
    assert "32 words in 1 bank, served in 32 turns: a 32-way bank conflict" in BankPicture(32).summary()
    assert "1 word in 1 bank, served in one turn" in BankPicture(0).summary()
    assert "8 at bank 0, 8 at bank 8" in BankPicture(8).alt()
    assert "1 at each bank" in BankPicture(1).alt()


@pytest.mark.parametrize(
    "given", [(-1,), (BankPicture.controls["stride"].high + 1,), (1.0,), (True,), (1, 33), (1, "0")]
)
def test_what_it_cannot_draw_is_refused_by_name(given):
    with pytest.raises(ValueError, match=r"(stride|offset) is .*: give a whole number from 0 to "):
        h2d.explore_banks(*given)


def test_moving_redraws_the_picture():
    explorer = h2d.explore_banks()
    stride, offset, view = explorer.widget().children
    assert "one turn" in view.value
    stride.value = 32
    offset.value = 5
    assert explorer.picture.queues[5] == 32 and "32 turns" in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_banks(2)._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and "2 turns" in bundle["text/plain"]
