"""What comes from the sandbox is plain values or a clear error, and never more than the message is long."""

import json

import numpy as np
import pytest

from host_to_device.exercises.values import Strange
from host_to_device.grading import frames

VALUES = {
    "numbers": [1, 2.5, True, None, "text", 1 + 2j],
    "array": np.arange(6, dtype=np.float32).reshape(2, 3),
    "scalar": np.array(5),
    "empty": np.zeros((0, 3)),
    "record": np.zeros(2, dtype=[("x", "<f4"), ("y", "<i8", (2,))]),
    "strange": Strange("a kernel", "CUDADispatcher"),
    "deep": [[[[[[["down"]]]]]]],
}


def test_plain_values_arrive_as_they_were_sent():
    [got] = frames.Reader().feed(frames.packed(VALUES))
    assert got.keys() == VALUES.keys()
    for name, value in VALUES.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(got[name], value, strict=True)
            assert got[name].flags.writeable
        else:
            assert got[name] == value


def test_messages_arrive_in_pieces_of_any_size():
    sent = frames.packed({"a": 1}) + frames.packed({"b": np.arange(3)})
    for size in (1, 7, len(sent)):
        reader = frames.Reader()
        got = [each for at in range(0, len(sent), size) for each in reader.feed(sent[at : at + size])]
        assert [list(each) for each in got] == [["a"], ["b"]]


def header(table: object, rest: bytes = b"") -> bytes:
    text = json.dumps(table).encode()
    content = frames.LENGTH.pack(len(text)) + text + rest
    return frames.LENGTH.pack(len(content)) + content


@pytest.mark.parametrize(
    "sent",
    [
        b"x" * 64,
        frames.LENGTH.pack(2**62),
        frames.LENGTH.pack(3) + b"abc",
        header("no table"),
        header([["json", "|u1", [10**12]]]),
        header([["json", "|u1", [-1]]]),
        header([["json", "|O", [1]]], b"12345678"),
        header([["json", "|u1", [2**14, 2**14, 2**14]]]),
        header([["json", "|S0", [4]]]),
        header([["json", "|u1", [4]]], b"{]]]"),
        header([["json", "|u1", [4]]], b"1234"),
    ],
)
def test_anything_else_is_refused(sent):
    with pytest.raises(ValueError, match="message"):
        reader = frames.Reader()
        for each in reader.feed(sent):
            raise AssertionError(each)
