"""How CuPy's kernels read their parameter lists and generate their sources, before the compiler runs.

Rules and texts: CuPy 14, cupy/_core/_kernel.pyx (ParameterInfo, _decide_params_type_core) and _scalar.pyx.
"""

import numpy as np
import pytest

from host_to_device.standins.cupy import parameters
from host_to_device.standins.cupy.elementwise import ElementwiseKernel, Kind
from host_to_device.standins.cupy.reduction import ReductionKernel, split_axes

F4, F8, I4, I8 = (np.dtype(name) for name in ("f4", "f8", "i4", "i8"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("T x", [("x", None, "T", False)]),
        (" float32 x , raw T y", [("x", F4, "float", False), ("y", None, "T", True)]),
        ("int n_rows", [("n_rows", np.dtype(int), "long long", False)]),
        ("raw uint8 bytes", [("bytes", np.dtype("u1"), "unsigned char", True)]),
        ("complex64 z", [("z", np.dtype("c8"), "thrust::complex<float>", False)]),
    ],
)
def test_parameter_lists(text, expected):
    found = [(each.name, each.dtype, each.ctype, each.raw) for each in parameters.parse(text, True)]
    assert found == expected


def test_inputs_are_const_and_outputs_are_not():
    assert parameters.parse("T x", True)[0].is_const
    assert not parameters.parse("T x", False)[0].is_const
    assert not parameters.parse("_non_const T x", True)[0].is_const


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("x", Exception, "Syntax error: x"),
        (" ", Exception, "Syntax error: "),
        ("T x,", Exception, "Syntax error: "),
        ("rew T x", Exception, 'Unknown keyword "rew"'),
        ("long long x", Exception, 'Unknown keyword "long"'),
        ("quadruple x", TypeError, "data type 'quadruple' not understood"),
        ("datetime64 x", TypeError, "Unable to find C++ type for dtype datetime64"),
    ],
)
def test_wrong_parameter_lists(text, error, words):
    with pytest.raises(error) as caught:
        parameters.parse(text, True)
    assert str(caught.value) == words


def resolve(ins, outs, in_dtypes, out_dtypes=()):
    return parameters.resolve(
        parameters.parse(ins, True), parameters.parse(outs, False), list(in_dtypes), list(out_dtypes)
    )


def test_types_come_from_outputs_first_then_from_inputs():
    assert resolve("T x", "T z", [F4]).outputs == (F4,)
    assert resolve("T x, T y", "T z", [None, F8]).inputs == (F8, F8)  # a number says nothing
    assert resolve("X x", "Z z", [F4], [F8]) == parameters.Types((F4,), (F8,), (("X", F4), ("Z", F8)))
    assert resolve("T x", "float32 z", [I4]).outputs == (F4,)


@pytest.mark.parametrize(
    ("ins", "outs", "in_dtypes", "out_dtypes", "words"),
    [
        ("float32 x", "T z", [F8], [F8], "Type is mismatched. x float64 float32"),
        ("T x, T y", "T z", [F4, F8], [], "Type is mismatched. y float64 float32 T"),
        ("T x", "T z", [F4], [F8], "Type is mismatched. x float32 float64 T"),
        ("T x", "int32 z", [F4], [F8], "Type is mismatched. z float64 int32"),
    ],
)
def test_types_that_disagree(ins, outs, in_dtypes, out_dtypes, words):
    with pytest.raises(TypeError) as caught:
        resolve(ins, outs, in_dtypes, out_dtypes)
    assert str(caught.value) == words


def test_a_letter_that_nothing_explains_is_a_key_error():
    with pytest.raises(KeyError, match="'Z'"):
        resolve("X x", "Z z", [F4])
    with pytest.raises(KeyError, match="'S'"):
        resolve("T x, S a", "T z", [F4, None])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "?"),
        (3, "i8"),
        (-(2**63), "i8"),
        (2**63, "u8"),
        (2.0, "f8"),
        (1j, "c16"),
        (np.float32(2), "f4"),
        (np.uint8(2), "u1"),
    ],
)
def test_numbers_have_the_types_that_cupy_gives_them(value, dtype):
    assert parameters.scalar(value).dtype == np.dtype(dtype)
    assert parameters.scalar(value) == value


@pytest.mark.parametrize("value", [np.zeros(3), np.zeros(()), [1], "text", None, (1, 2)])
def test_other_values_are_refused(value):
    with pytest.raises(TypeError) as caught:
        parameters.scalar(value)
    assert str(caught.value) == f"Unsupported type {type(value)}"


def test_numbers_take_the_type_that_was_found_out():
    assert parameters.stored(5, F4).dtype == F4
    assert parameters.stored(2.9, I4) == 2
    with pytest.raises(OverflowError):
        parameters.stored(300, np.dtype("u1"))
    with pytest.raises(TypeError):
        parameters.stored(1j, F4)


@pytest.mark.parametrize("name", ["1", "two words", "a-b", "", "a::b"])
def test_a_kernels_name_is_a_name_in_c(name):
    with pytest.raises(ValueError, match="Invalid kernel name"):
        ElementwiseKernel("T x", "T y", "y = x", name)
    with pytest.raises(ValueError, match="Invalid kernel name"):
        ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", name)


def test_a_parameter_cannot_be_called_i():
    with pytest.raises(ValueError, match="Can not use 'i' as a parameter name"):
        ElementwiseKernel("T i", "T y", "y = i")


def test_the_generated_source_is_one_loop_with_the_learners_text():
    kernel = ElementwiseKernel(
        "T x, raw T y, T a",
        "T z",
        "z = a * x + y[i]",
        "axpy",
        preamble="#define TWICE 2",
        loop_prep="T one = 1",
        after_loop="one = 2",
    )
    types = resolve("T x, raw T y, T a", "T z", [F4, F4, None])
    kinds = (Kind(F4, 1), Kind(F4, 2, False), Kind(F4, None), Kind(F4, 1))
    source = kernel._source(kinds, types, 1)
    parts = [
        "typedef float T;",
        "#define TWICE 2",
        'extern "C" __global__ void axpy(const float* _data_x, const float* _data_y, const float a, float* _data_z',
        "const CArray<const float, 2, false> y(",
        "T one = 1;",
        "CUPY_FOR(i, _ind.size())",
        "const T &x = _raw_x[_ind.get()];",
        "T &z = _raw_z[_ind.get()];",
        "z = a * x + y[i];",
        "one = 2;",
    ]
    places = [source.index(each) for each in parts]
    assert places == sorted(places)


def test_a_reductions_source_has_its_expressions():
    kernel = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", 0, "l2norm", reduce_type="double")
    source = kernel._source((Kind(F4, 2), Kind(F4, 1)), resolve("T x", "T y", [F4]), 2, 1)
    for each in (
        "#define REDUCE(a, b) (a + b)",
        "#define POST_MAP(a) (y = sqrt(a))",
        "typedef double _type_reduce;",
    ):
        assert each in source
    assert "_type_reduce(0)" in source and "(x * x)" in source


def test_axes():
    assert split_axes(None, 3) == ((0, 1, 2), ())
    assert split_axes(-1, 3) == ((2,), (0, 1))
    assert split_axes((2, 0), 3) == ((0, 2), (1,))
    assert split_axes((), 2) == ((), (0, 1))
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        split_axes((0, -2), 2)
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds for array of dimension 2"):
        split_axes(2, 2)
