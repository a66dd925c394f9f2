"""Dtypes, promotion, Python and NumPy scalars, and results without dimensions."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, program, source

DIFFERENCE = "user_guide/difference"
CORE = "cupy/_core/core.pyx"
KERNEL = "cupy/_core/_kernel.pyx"
NEP50 = source(KERNEL, "_Ops._guess_routine_from_in_types")


@program(device(3, "int64"), documentation(DIFFERENCE, "Reduction methods"), "0-d", numpy=True)
def a_sum_stays_on_the_device(cp):
    return cp.sum(cp.arange(3))


@program(device(1.5, "float64"), documentation(DIFFERENCE, "Zero-dimensional array"), "0-d", numpy=True)
def an_element_stays_on_the_device(cp):
    return cp.array([0.5, 1.5])[1]


@program(device(2.5, "float64"), documentation(DIFFERENCE, "Zero-dimensional array"), "0-d", numpy=True)
def arithmetic_of_0d_arrays_stays_on_the_device(cp):
    return cp.array(1.0) + cp.array(1.5)


@program(device(3, "int64"), source(KERNEL, "ufunc.__call__"), "0-d", numpy=True)
def a_ufunc_of_python_numbers_gives_an_array(cp):
    return cp.add(1, 2)


@program((6.0, 6, True), source(CORE, "_ndarray_base.__float__"), "0-d", numpy=True)
def a_0d_array_becomes_a_python_number(cp):
    total = cp.array([1.0, 2.0, 3.0]).sum()
    return float(total), int(total), bool(total)


@program(6.0, source(CORE, "_ndarray_base.item"), "0-d", numpy=True)
def item_gives_a_python_number(cp):
    return cp.array([1.0, 2.0, 3.0]).sum().item()


@program(
    Raises("ValueError", "can only convert an array of size 1 to a Python scalar"),
    source(CORE, "_ndarray_base.item"),
    "0-d",
)
def item_of_several_elements(cp):
    return cp.arange(3).item()


@program(
    Raises(
        "ValueError",
        "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
    ),
    source(CORE, "_ndarray_base.__nonzero__"),
    "0-d",
)
def an_array_as_a_condition(cp):
    if cp.arange(3) > 1:
        return "yes"


@program("1.50", source(CORE, "_ndarray_base.__format__"), "0-d", numpy=True)
def a_0d_array_in_a_format(cp):
    return f"{cp.array(1.5):.2f}"


@program(Raises("TypeError", "iteration over a 0-d array"), source(CORE, "_ndarray_base.__iter__"), "0-d")
def iteration_over_a_0d_array(cp):
    return list(cp.array(3))


@program([device(0, "int64"), device(1, "int64")], source(CORE, "_ndarray_base.__iter__"), "0-d", numpy=True)
def iteration_gives_0d_arrays(cp):
    return list(cp.arange(2))


@program(device(3, "int64"), source(CORE, "_ndarray_base.__iter__"), "0-d", numpy=True)
def the_sum_of_python_stays_on_the_device(cp):
    return sum(cp.arange(3))


@program(
    Raises("TypeError", matching="cannot be interpreted as an integer"), source(CORE, "_ndarray_base"), "0-d"
)
def a_0d_array_is_no_index_of_python(cp):
    return range(cp.array(3))


@program(np.float32(3), documentation(DIFFERENCE, "Reduction methods"), "dtypes", numpy=True)
def a_scalar_type_makes_a_numpy_scalar(cp):
    return cp.float32(3)


@program(True, documentation(DIFFERENCE, "Reduction methods"), "dtypes")
def scalar_types_are_those_of_numpy(cp):
    return cp.float32 is np.float32 and cp.int64 is np.int64 and cp.bool_ is np.bool_


@program(
    ("float64", "int64", "float64", "bool"),
    source("cupy/_creation/basic.py", "zeros"),
    "dtypes",
    numpy=True,
)
def default_dtypes(cp):
    arrays = cp.zeros(2), cp.arange(2), cp.linspace(0, 1, 2), cp.array([True])
    return tuple(str(x.dtype) for x in arrays)


@program(device([2.5, 2.5], "float32"), NEP50, "dtypes", numpy=True)
def a_python_float_keeps_float32(cp):
    return cp.ones(2, dtype=cp.float32) + 1.5


@program(device([2.5, 2.5], "float64"), NEP50, "dtypes", numpy=True)
def a_numpy_scalar_widens_float32(cp):
    return cp.ones(2, dtype=cp.float32) + np.float64(1.5)


@program(device([2.5, 2.5], "float64"), NEP50, "dtypes", numpy=True)
def a_0d_array_widens_float32(cp):
    return cp.ones(2, dtype=cp.float32) + cp.array(1.5)


@program(device([2.0, 2.0], "float64"), NEP50, "dtypes", numpy=True)
def int32_and_float32_give_float64(cp):
    return cp.ones(2, dtype=cp.int32) + cp.ones(2, dtype=cp.float32)


@program(
    device([0.5, 1.0], "float64"),
    source("cupy/_core/_routines_math.pyx", "_true_divide"),
    "dtypes",
    numpy=True,
)
def division_of_integers_gives_float64(cp):
    return cp.array([1, 2], dtype=cp.int32) / 2


@program(
    Raises("OverflowError", matching="300 out of bounds for uint8"),
    source("cupy/_core/_scalar.pyx", "CScalar"),
    "dtypes",
)
def a_python_integer_too_large_for_the_dtype(cp):
    return cp.ones(2, dtype=cp.uint8) + 300


@program(device([0, 44], "uint8"), NEP50, "dtypes", numpy=True)
def integers_wrap_around(cp):
    return cp.array([255, 43], dtype=cp.uint8) + 1


@program(
    Raises(
        "TypeError",
        "Cannot cast output operand from dtype('float64') to dtype('int32') according to the rule 'same_kind'",
    ),
    source("cupy/_core/_dtype.pyx", "_raise_if_invalid_cast"),
    "dtypes",
)
def a_float_added_in_place_to_integers(cp):
    x = cp.ones(2, dtype=cp.int32)
    x += 1.5
    return x


@program(
    (device(3, "int64"), device(3.0, "float32"), device(3, "int64"), device(3.0, "float16")),
    source("cupy/_core/_routines_math.pyx", "_sum_auto_dtype"),
    "dtypes",
    "reductions",
    numpy=True,
)
def the_dtype_of_a_sum(cp):
    return tuple(cp.ones(3, dtype=dtype).sum() for dtype in (cp.int32, cp.float32, cp.bool_, cp.float16))


@program(
    ("float16", "float32", "float64", "float64"),
    source("cupy/_math/trigonometric.py", "sin"),
    "dtypes",
    numpy=True,
)
def the_dtype_of_a_sine_of_integers(cp):
    return tuple(
        str(cp.sin(cp.arange(2, dtype=dtype)).dtype) for dtype in ("int8", "int16", "int32", "int64")
    )


@program(device([0], "uint32"), documentation(DIFFERENCE, "Cast behavior from float to integer"), "dtypes")
def a_negative_float_becomes_an_unsigned_zero(cp):
    return cp.array([-1], dtype=np.float32).astype(np.uint32)


@program(
    device([2147483647], "int32"), documentation(DIFFERENCE, "Cast behavior from float to integer"), "dtypes"
)
def infinity_becomes_the_largest_integer(cp):
    return cp.array([float("inf")], dtype=np.float32).astype(np.int32)


@program(
    Raises(
        "TypeError",
        "cupy boolean subtract, the `-` operator, is deprecated, use the bitwise_xor, the `^` operator, "
        "or the logical_xor function instead.",
    ),
    source("cupy/_core/_routines_math.pyx", "_subtract_boolean_error"),
    "dtypes",
)
def booleans_are_not_subtracted(cp):
    return cp.ones(2, dtype=bool) - cp.ones(2, dtype=bool)


@program(
    Raises(
        "TypeError",
        "The cupy boolean negative, the `-` operator, is not supported, use the `~` operator or the logical_not "
        "function instead.",
    ),
    source("cupy/_core/_routines_math.pyx", "_negative_boolean_error"),
    "dtypes",
)
def booleans_have_no_negative(cp):
    return -cp.ones(2, dtype=bool)


@program(
    Raises("TypeError", "Wrong type ((dtype('float32'),)) of arguments for cupy_invert"),
    source(KERNEL, "_Ops.guess_routine"),
    "dtypes",
)
def floats_have_no_bitwise_inverse(cp):
    return ~cp.ones(2, dtype=cp.float32)
