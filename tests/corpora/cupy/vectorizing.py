"""cupy.vectorize: a Python function of numbers, applied element by element."""

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


@program(device([-1, 1, 1], "int64"), SOURCE, "vectorize")
def a_vectorized_function_returns_literals(cp):
    def sign(x):
        if x < 0:
            return -1
        else:
            return 1

    return cp.vectorize(sign)(cp.array([-2.5, 0.0, 3.0]))


@program(Raises("TypeError", matching="Failed to infer the return type"), TYPES, "vectorize")
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
