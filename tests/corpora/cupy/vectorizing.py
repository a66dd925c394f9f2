"""cupy.vectorize: a Python function of numbers, applied element by element."""

import math

from tests.corpora.cupy.case import Raises, device, documentation, program, source

GUIDE = documentation("reference/generated/cupy.vectorize", "cupy.vectorize")
SOURCE = source("cupy/_functional/vectorize.py", "vectorize.__call__")
TYPES = source("cupyx/jit/_compile.py", "_transpile_stmt")


@program(device([10, 9, 8, 3], "float64"), GUIDE, "vectorize")
def a_function_of_numbers_takes_arrays(cp):
    @cp.vectorize
    def apart_or_together(x, y):
        if x > y:
            return x - y
        return x + y

    return apart_or_together(cp.array([8.0, 8.0, 8.0, 8.0]), cp.array([2.0, 1.0, 0.0, 5.0])) * 1.0 + cp.array(
        [4.0, 2.0, 0.0, 0.0]
    )


@program(device([1, 3, 5], "int64"), SOURCE, "vectorize")
def a_vectorized_function_keeps_integers(cp):
    def odd(x):
        return 2 * x + 1

    return cp.vectorize(odd)(cp.arange(3))


@program(device([[0, 1], [1, 2]], "float64"), SOURCE, "vectorize")
def a_literal_in_a_vectorized_function_has_a_type_of_its_own(cp):
    def half_of_the_sum(x, y):
        return (x + y) * 0.5

    x = cp.array([0, 2], cp.float32)
    return cp.vectorize(half_of_the_sum)(x[:, None], x[None, :])


@program((device([0, 0, 1], "int64"), device([0, 2, 1], "int64")), SOURCE, "vectorize")
def a_vectorized_function_returns_two_numbers(cp):
    def parts(x):
        return x // 3, x % 3

    return cp.vectorize(parts)(cp.array([0, 2, 4]))


@program(device([2**-20, 2**-12], "float16"), TYPES, "vectorize")
def a_variable_of_float16_is_not_rounded(cp):
    def small_part_of_the_square(x, one):
        y = x * x
        return y - x - x + one

    x = cp.array([1 + 2**-10, 1 + 2**-6], cp.float16)
    return cp.vectorize(small_part_of_the_square)(x, cp.ones(2, cp.float16))


@program(device([2**-20, 2**-12], "float16"), TYPES, "vectorize")
def a_parameter_of_float16_is_not_rounded_when_it_gets_a_new_value(cp):
    def small_part_of_the_square(x, y, one):
        y *= x
        return y - x - x + one

    x = cp.array([1 + 2**-10, 1 + 2**-6], cp.float16)
    return cp.vectorize(small_part_of_the_square)(x, x, cp.ones(2, cp.float16))


@program(device([1.0], "float16"), TYPES, "vectorize")
def an_integer_that_becomes_a_float16_is_not_rounded(cp):
    def difference(x, y, n):
        y = n
        return y - x

    x = cp.array([2048], cp.float16)
    return cp.vectorize(difference)(x, x, cp.array([2049], cp.uint16))


@program(device([-1, 1, 1], "int64"), SOURCE, "vectorize")
def a_vectorized_function_returns_literals(cp):
    def sign(x):
        if x < 0:
            return -1
        else:
            return 1

    return cp.vectorize(sign)(cp.array([-2.5, 0.0, 3.0]))


@program(Raises("ValueError", matching="Failed to infer the return type"), TYPES, "vectorize")
def a_vectorized_function_of_two_result_types(cp):
    def clipped(x):
        if x < 0:
            return 0
        return x

    return cp.vectorize(clipped)(cp.array([-2.5, 3.0]))


@program(device([0, 6, 12], "int64"), SOURCE, "vectorize")
def a_vectorized_function_with_a_loop(cp):
    def three_times(x):
        total = x - x
        for _ in range(3):
            total += x
        return total

    return cp.vectorize(three_times)(cp.array([0, 2, 4]))


@program(device([1, 2, 3], "float64"), SOURCE, "vectorize")
def a_vectorized_function_calls_cupys_own(cp):
    def root(x):
        return cp.sqrt(x)

    return cp.vectorize(root)(cp.array([1.0, 4.0, 9.0]))


@program(device([0.5, 1.5], "float64"), SOURCE, "vectorize")
def a_vectorized_function_of_an_array_and_a_number(cp):
    def quotient(x, y):
        return x / y

    return cp.vectorize(quotient)(cp.array([1, 3]), 2)


@program(Raises("NotImplementedError", matching="^$"), SOURCE, "vectorize")
def a_vectorized_function_with_a_given_type(cp):
    def same(x):
        return x

    return cp.vectorize(same, otypes=[float])(cp.arange(3))


@program(
    Raises("NotImplementedError", "cupy.vectorize does not support `excluded` option currently."),
    source("cupy/_functional/vectorize.py", "vectorize.__init__"),
    "vectorize",
)
def a_vectorized_function_with_an_excluded_argument(cp):
    def same(x):
        return x

    return cp.vectorize(same, excluded=[0])


@program(device([0.5, 0, 1.5], "float32"), TYPES, "vectorize")
def a_literal_beside_a_value_has_its_type(cp):
    return cp.vectorize(lambda x: x if x > 0.0 else 0.0)(cp.array([0.5, -0.5, 1.5], cp.float32))


@program(Raises("TypeError", matching="Type mismatch in conditional expression"), TYPES, "vectorize")
def a_number_with_a_type_beside_a_value_of_another(cp):
    def positive(x):
        return x if x > 0 else cp.float64(0)

    return cp.vectorize(positive)(cp.array([0.5], cp.float32))


@program(device([1.25, 2.25], "float32"), TYPES, "vectorize")
def a_variable_keeps_its_first_type(cp):
    def moved(x):
        x = x * 0.5 + 1
        return x

    return cp.vectorize(moved)(cp.array([0.5, 2.5], cp.float32))


@program(Raises("TypeError", matching="Cannot cast from"), TYPES, "vectorize")
def a_variable_of_integers_takes_no_float(cp):
    def halved(x):
        x = x / 2
        return x

    return cp.vectorize(halved)(cp.array([1, 2]))


@program(Raises("TypeError", matching="Data type mismatch of variable: `pair`"), TYPES, "vectorize")
def a_variable_that_was_a_tuple_takes_no_number(cp):
    def turned(x, y):
        pair = x, y
        pair = x
        return pair

    return cp.vectorize(turned)(cp.arange(2), cp.arange(2))


@program(Raises("TypeError", matching="Cannot assign constant value not at top-level"), TYPES, "vectorize")
def a_dtype_is_named_at_the_top(cp):
    def marked(x):
        if x > 1:
            kind = cp.float32  # noqa: F841
        return x

    return cp.vectorize(marked)(cp.arange(2))


@program(Raises("TypeError", matching="does not support for the input types"), TYPES, "vectorize")
def complex_numbers_have_no_order(cp):
    def larger(x, y):
        return x > y

    return cp.vectorize(larger)(cp.ones(2, complex), cp.ones(2, complex))


@program(
    Raises("ValueError", matching="Multiple callables are found near the definition"), TYPES, "vectorize"
)
def two_lambdas_of_one_line(cp):
    both = [lambda x: x + 1, lambda x: x + 2]
    return cp.vectorize(both[1])(cp.arange(2))


@program(Raises("TypeError", matching="Invalid function call"), TYPES, "vectorize")
def a_function_of_the_host(cp):
    def root(x):
        return math.sqrt(x)

    return cp.vectorize(root)(cp.arange(2.0))


@program(device([True, False, True], "bool"), TYPES, "vectorize")
def and_is_a_truth_value(cp):
    def both(x, y):
        return x and not y

    return cp.vectorize(both)(cp.array([3, 0, -1]), cp.array([0, 0, 0]))


@program(device([0, 3, -1], "int32"), TYPES, "vectorize")
def a_dtype_converts(cp):
    def whole(x):
        return cp.int32(x)

    return cp.vectorize(whole)(cp.array([0.9, 3.9, -1.9]))


@program(device([2, 3], "float64"), TYPES, "vectorize")
def a_function_of_cupy_with_a_dtype(cp):
    def sums(x):
        return cp.add(x, 1, dtype=cp.float64)

    return cp.vectorize(sums)(cp.array([1, 2], cp.int32))


@program(device([2048], "float16"), TYPES, "vectorize")
def a_float16_is_rounded_when_it_is_stored(cp):
    """2049 is no float16: rounded to one after the sum, the result would be 2047."""

    def moved(x):
        return x + cp.float16(1) - cp.float16(1)

    return cp.vectorize(moved)(cp.array([2048], cp.float16))
