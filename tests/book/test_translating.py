"""The translator from Numba to WGSL: what it writes, and what it refuses, without a browser (`tests/site/test_shaders.py` has one)."""

import ast
import inspect
import re

import numpy as np
import pytest

from book.webgpu.intervals import EVERY, INT32, Interval
from book.webgpu.terms import Array, Scalar, Untranslatable
from book.webgpu.translating import translate
from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpus are made when it is imported

from tests.corpora import shaders  # noqa: E402

KERNELS = [pytest.param(case, id=case.kernel.__name__) for case in shaders.CASES]


def described(value):
    """Return what the translator is told about an argument."""
    if isinstance(value, np.ndarray):
        return Array(str(value.dtype), value.shape)
    if isinstance(value, np.floating):
        return Scalar(str(value.dtype))
    return Scalar("int32", int(value))


def shader_of(case):
    given = case.inputs(np.random.default_rng(0))
    arguments = {name: described(value) for name, value in given.items()}
    return translate(case.kernel, arguments, grid=case.grid, block=case.block)


@pytest.mark.parametrize("case", KERNELS)
def test_every_kernel_of_the_corpus_is_translated(case):
    text = shader_of(case).text
    assert text.count("fn main(") == 1 and "@compute @workgroup_size(" in text
    assert not re.search(r"\b(i64|f64|f16)\b", text)


@pytest.mark.parametrize(
    "kernel, dtype, words, line", shaders.REFUSED, ids=lambda each: getattr(each, "__name__", "")
)
def test_what_a_shader_cannot_do_is_refused_by_its_line(kernel, dtype, words, line):
    names = list(inspect.signature(kernel.py_func).parameters)
    arguments = {name: Array(np.dtype(dtype).name, (100,)) for name in names}
    if kernel is shaders.saxpy:
        arguments["alpha"] = Scalar("float32")
    with pytest.raises(Untranslatable) as refused:
        translate(kernel, arguments, grid=2, block=64)
    assert words in str(refused.value)
    source, first = inspect.getsourcelines(kernel.py_func)
    assert source[refused.value.line - first].strip() == line
    assert f"line {refused.value.line}," in str(refused.value)


def test_a_plain_access_stays_a_plain_access():
    """A race of the kernel is a race of the shader: `counts[…] += 1` is neither refused nor made atomic."""
    case = next(each for each in shaders.CASES if each.kernel is shaders.wrapped_count)
    shader = shader_of(case)
    assert "atomic" not in shader.text and not shader.notes


def test_what_becomes_atomic_is_said():
    case = next(each for each in shaders.CASES if each.kernel is shaders.histogram)
    shader = shader_of(case)
    assert "atomicStore(&private_[b], 0)" in shader.text
    assert any("single atomic loads and stores" in note for note in shader.notes)


def test_only_what_the_kernel_stores_to_can_be_written():
    case = next(each for each in shaders.CASES if each.kernel is shaders.saxpy)
    assert shader_of(case).arrays == (("x", False), ("y", True))


def test_larger_sizes_are_refused_where_32_bits_no_longer_hold_an_index():
    def translated(side):
        arrays = {
            name: Array("float32", shape)
            for name, shape in (("x", (side, side)), ("bias", (side,)), ("out", (side, side)))
        }
        return translate(shaders.add_bias, arrays, grid=(-(-side // 16), -(-side // 16)), block=(16, 16))

    assert translated(46_340).text == translated(100).text
    with pytest.raises(Untranslatable, match="int64"):
        translated(46_342)


def test_sizes_may_be_a_range():
    arrays = {
        "x": Array("float32", ((1, 5000),)),
        "y": Array("float32", ((1, 5000),)),
        "alpha": Scalar("float32"),
    }
    assert "given.y_size" in translate(shaders.saxpy, arrays, grid=(1, 40), block=128).text


@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "%"])
def test_intervals_hold_every_result(operator):
    ends = [(-3, 2), (1, 4), (0, 0), (-7, -2), (5, 9)]
    code = compile(ast.parse(f"a {operator} b", mode="eval"), "", "eval")
    for one in ends:
        for other in ends:
            a, b = Interval(*one), Interval(*other)
            found = {"+": a + b, "-": a - b, "*": a * b, "//": a.over(b), "%": a.modulo(b)}[operator]
            if operator in ("//", "%") and other[0] <= 0 <= other[1]:
                assert found == EVERY
                continue
            results = [
                eval(code, {"a": x, "b": y})
                for x in range(one[0], one[1] + 1)
                for y in range(other[0], other[1] + 1)
            ]
            assert found.low <= min(results) and max(results) <= found.high


def test_an_interval_knows_whether_32_bits_hold_it():
    assert INT32.fits and not (INT32 + Interval(1, 1)).fits and not EVERY.fits
