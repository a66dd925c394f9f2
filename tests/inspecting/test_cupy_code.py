"""What CuPy is told of the arguments' layout: broadcast arrays, merged dimensions, and CuPy's own arrays beside it."""

import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.inspecting import cupy_code
from host_to_device.inspecting.errors import CannotShow
from host_to_device.standins import cupy

pytestmark = pytest.mark.usefixtures("cupy")

ADD = cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
SUM = cupy.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot")
SUM_OF_ONE = cupy.ReductionKernel("T x", "T z", "x", "a + b", "z = a", "0", "total")

# Two inputs: how each is made of an array of zeros.
PAIRS = {
    "the same shape": ("(4, 6)", "(4, 6)"),
    "a row": ("(4, 6)", "(6,)"),
    "a column": ("(4, 6)", "(4, 1)"),
    "row and column": ("(6,)", "(4, 1)"),
    "one element": ("(4, 6)", "(1, 1)"),
    "leading dimensions of one": ("(1, 4, 6)", "(4, 6)"),
    "every second column": ("(4, 6)", "(4, 12)[:, ::2]"),
    "Fortran order": ("(4, 6)", "(6, 4).T"),
    "three dimensions and a plane": ("(3, 4, 6)", "(4, 6)"),
    "three dimensions and a number in each": ("(3, 4, 6)", "(3, 1, 1)"),
    "zero dimensions": ("(5,)", "()"),
}


def made(module, text):
    """Return an array from "(4, 12)[:, ::2]": a shape, and what is done to it."""
    shape, rest = re.fullmatch(r"(\([^)]*\))(.*)", text).groups()
    return eval(f"array{rest}", {"array": module(eval(shape))})


def zeros(shape):
    return cupy.zeros(shape, np.float32)


def layouts(kernel, *args):
    """Return dimensions and contiguity of each array in the source that CuPy writes, and the dimensions of its loop."""
    text = h2d.show(kernel, "cuda", args=args).text
    head = next(line for line in text.splitlines() if "__global__" in line)
    arrays = re.findall(r"CArray<\w+, (\d), (\d), \d(?:, \d)?> _raw_", head)
    return [tuple(map(int, each)) for each in arrays], int(re.search(r"CIndexer<(\d)", head)[1])


# CuPy's own arrays, of memory that is nowhere: it broadcasts them without a GPU, and says what is contiguous.
OWN = """
import json, sys, cupy
from test_cupy_code import PAIRS, made

nowhere = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(1 << 20, 1 << 20, None, 0), 0)
new = lambda shape: cupy.ndarray(shape, "f", nowhere)
found = {name: [made(new, text) for text in pair] for name, pair in PAIRS.items()}
said = {name: [each.flags.c_contiguous for each in cupy.broadcast_arrays(*pair)] for name, pair in found.items()}
alone = {name: made(new, pair[1]) for name, pair in PAIRS.items()}
ordered = {
    name: each if each.flags.c_contiguous else each.transpose(sorted(range(each.ndim), key=lambda a: -each.strides[a]))
    for name, each in alone.items()
}
print(json.dumps([said, {name: [each.reduced_view().ndim, each.flags.c_contiguous] for name, each in ordered.items()}]))
"""


@pytest.fixture(scope="module")
def own():
    """What CuPy says: contiguity of each pair once broadcast; of each second input, reduced alone, dimensions too."""
    ran = subprocess.run(
        [sys.executable, "-c", OWN], capture_output=True, text=True, cwd=__file__.rpartition("/")[0]
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", PAIRS)
def test_contiguous_is_what_cupy_calls_contiguous(name, own):
    said, _ = own
    pair = [made(zeros, text) for text in PAIRS[name]]
    arrays, _ = layouts(ADD, *pair)
    assert [bool(contiguous) for _, contiguous in arrays] == [*said[name], True]  # the result is a new array
    arrays, _ = layouts(SUM, *pair)
    assert [bool(contiguous) for _, contiguous in arrays] == [*said[name], True]


@pytest.mark.parametrize("name", PAIRS)
def test_a_lone_input_is_merged_as_cupy_merges_it(name, own):
    _, merged = own
    x = made(zeros, PAIRS[name][1])
    arrays, ndim = layouts(SUM_OF_ONE, x)
    assert [*arrays[0]] == merged[name] and ndim == merged[name][0]


@pytest.mark.parametrize(
    ("name", "ndim"),
    [
        ("the same shape", 1),
        ("a row", 2),
        (
            "one element",
            2,
        ),  # strides of zero have no gap, but of two dimensions CuPy merges contiguous ones alone
        ("leading dimensions of one", 1),
        ("every second column", 2),
        ("three dimensions and a plane", 2),  # the last two are one
        ("three dimensions and a number in each", 2),
        ("zero dimensions", 1),
    ],
)
def test_dimensions_without_a_gap_are_merged(name, ndim):
    pair = [made(zeros, text) for text in PAIRS[name]]
    for kernel in (ADD, SUM):
        arrays, found = layouts(kernel, *pair)
        assert found == ndim and {each[0] for each in arrays[:2]} == {ndim}


def test_shapes_that_do_not_fit_together():
    with pytest.raises(CannotShow) as caught:
        h2d.show(ADD, "cuda", args=(zeros((4, 6)), zeros(4)))
    assert str(caught.value) == "add: the shapes (4, 6), (4,) cannot be broadcast together"
    with pytest.raises(CannotShow, match=r"add: an output has the shape \(6,\), and the loop \(4, 6\)"):
        h2d.show(ADD, "cuda", args=(zeros((4, 6)), zeros(6), zeros(6)))


@pytest.mark.parametrize("dtype", [np.float32, np.dtype(np.float32)], ids=["CuPy 14.0", "14.2"])
def test_a_type_in_cupys_parameters_is_named(dtype):
    x = SimpleNamespace(name="x", raw=True, ctype="float", dtype=dtype)
    t = SimpleNamespace(name="y", raw=False, ctype="T", dtype=None)
    assert cupy_code._parameters([x, t]) == "raw float32 x, T y"
