"""Functions made by `@vectorize` and `@guvectorize` for CUDA: programs, each with what it gives and what NumPy gives."""

import math
import warnings
from collections import namedtuple
from collections.abc import Callable

import numpy as np
from numba import cuda, float32, float64, guvectorize, int32, int64, vectorize, void

PROGRAMS: dict[str, Callable[[], tuple[list, list]]] = {}


def program(function):
    """Register a program: it returns what the library gives and what is right, in the same order."""
    PROGRAMS[function.__name__.replace("_", " ")] = function
    return function


def same(value, right) -> bool:
    """Return whether a result is right: arrays by type, shape and value, others by equality."""
    if isinstance(right, np.ndarray):
        value = np.asarray(value)
        return (value.dtype, value.shape) == (right.dtype, right.shape) and np.allclose(value, right, 1e-6)
    return value == right


def on_host(value):
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def hypotenuse(a, b):
    return math.sqrt(a * a + b * b)


@vectorize(["int32(int32, int32)", "float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def add(a, b):
    return a + b


A = np.arange(12, dtype=np.float32)
B = A[::-1].copy()


@program
def host_arrays_give_a_host_array():
    got = hypotenuse(A, B)
    return [type(got), got], [np.ndarray, np.sqrt(A * A + B * B)]


@program
def the_type_chooses_the_signature():
    got = add(A.astype(np.float64), B.astype(np.float64)), add(A.astype(np.int32), B.astype(np.int32))
    return [*got], [A.astype(np.float64) + B, (A + B).astype(np.int32)]


@program
def two_dimensions_and_broadcasting():
    m = A.reshape(3, 4)
    return [add(m, m), add(m, m[:1]), add(m, m[:, :1])], [m + m, m + m[:1], m + m[:, :1]]


@program
def an_array_with_fewer_axes_repeats_its_first_element():
    """numba-cuda 0.30.4 does not align the axes; NumPy would add a row to each row"""
    m = A.reshape(3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the stand-in says so
        return [add(m, m[1]), add(m, A[:1])], [m + m[1, 0], m + A[0]]


@program
def scalars_beside_arrays():
    return [add(A, 2), add(A, np.float32(0.5)), add(1.5, A)], [
        A + 2,
        A + np.float32(0.5),
        A + np.float32(1.5),
    ]


@program
def scalars_alone():
    got = add(1.25, 2.5)
    return [np.shape(got), got], [(1,), np.array([3.75])]


@program
def device_arrays_stay_on_the_device():
    a, b = cuda.to_device(A), cuda.to_device(B)
    got = add(a, b)
    return [hasattr(got, "copy_to_host"), on_host(got)], [True, A + B]


@program
def host_beside_device():
    got = add(A, cuda.to_device(B))
    return [hasattr(got, "copy_to_host"), on_host(got)], [True, A + B]


@program
def out_on_the_device():
    a, out = cuda.to_device(A), cuda.device_array(12, np.float32)
    got = add(a, a, out=out)
    return [on_host(got), out.copy_to_host()], [A + A, A + A]


@program
def out_on_the_host():
    out = np.zeros(12, np.float32)
    got = add(A, B, out=out)
    return [got, out], [A + B, A + B]


@program
def out_of_two_dimensions_in_place():
    m = cuda.to_device(A.reshape(3, 4))
    add(m, m, out=m)
    return [m.copy_to_host()], [2 * A.reshape(3, 4)]


@program
def in_a_stream():
    stream = cuda.stream()
    a = cuda.to_device(A, stream)
    got = add(a, a, stream=stream)
    stream.synchronize()
    return [on_host(got)], [A + A]


@program
def reductions():
    x = np.arange(1, 101, dtype=np.int32)
    return [add.reduce(x), add.reduce(cuda.to_device(x)), add.reduce(x[:1])], [
        np.int32(5050),
        np.int32(5050),
        np.int32(1),
    ]


@program
def lists_and_tuples():
    Point = namedtuple("Point", ("x", "y"))
    return [add([1.0, 2.0], (3.0, 4.0)), add(Point(1.0, 2.0), Point(3.0, 5.0))], [
        np.array([4.0, 6.0]),
        np.array([4.0, 7.0]),
    ]


@program
def a_signature_made_of_types():
    @vectorize([float64(float64, int64)], target="cuda")
    def power(x, n):
        result = 1.0
        for _ in range(n):
            result *= x
        return result

    x, n = np.array([2.0, 3.0]), np.array([3, 2])
    return [power(x, n), power.__name__], [x**n, "power"]


@program
def the_result_is_converted():
    @vectorize(["int32(float64)"], target="cuda")
    def whole(x):
        return x * 10

    got = whole(np.array([0.25, -0.57]))
    return [got, got.dtype], [np.array([2, -5], np.int32), np.dtype(np.int32)]


@program
def calls_a_device_function():
    @cuda.jit(device=True)
    def polynomial(x):
        return x * x - 3 * x

    @vectorize(["float64(float64)"], target="cuda")
    def apply(x):
        return polynomial(x) + 1

    x = np.linspace(0, 1, 50)
    return [apply(x)], [x * x - 3 * x + 1]


@program
def cuda_has_the_decorator_too():
    @cuda.vectorize(["float32(float32)"])
    def half(x):
        return x / 2

    return [half(A)], [A / 2]


@program
def a_float32_stays_one():
    @vectorize(["float32(float32)"], target="cuda")
    def third(x):
        return x / float32(3)

    return [third(A)], [A / np.float32(3)]


@guvectorize(["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda")
def products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@guvectorize([(float64[:], float64[:], float64[:])], "(n),(n)->()", target="cuda")
def dot(x, y, r):
    s = 0.0
    for i in range(x.size):
        s += x[i] * y[i]
    r[0] = s


M = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
N = np.arange(2 * 4 * 5, dtype=np.float32).reshape(2, 4, 5)


@program
def products_of_many_matrices():
    return [products(M, N)], [M @ N]


@program
def one_matrix_for_all():
    return [products(M, N[0])], [M @ N[0]]


@program
def more_outer_dimensions():
    a, b = np.tile(M, (3, 1, 1, 1)), np.tile(N, (3, 1, 1, 1))
    return [products(a, b)], [a @ b]


@program
def a_general_function_on_the_device():
    stream = cuda.stream()
    a, b = cuda.to_device(M, stream), cuda.to_device(N, stream)
    out = cuda.device_array((2, 3, 5), np.float32, stream=stream)
    got = products(a, b, out=out, stream=stream)
    return [on_host(got), on_host(products(a, b))], [M @ N, M @ N]


@program
def a_general_function_to_the_host():
    out = np.zeros((2, 3, 5), np.float32)
    products(M, N, out=out)
    positional = np.zeros((2, 3, 5), np.float32)
    products(M, N, positional)
    return [out, positional], [M @ N, M @ N]


@program
def results_without_dimensions():
    x = np.arange(12.0).reshape(3, 4)
    return [dot(x, x), dot(x, x[0])], [(x * x).sum(1), x @ x[0]]


@program
def two_results():
    @guvectorize([void(int32[:], int32[:], float64[:])], "(n)->(n),(n)", target="cuda")
    def both(x, same, more):
        for i in range(x.size):
            same[i] = x[i]
            more[i] = x[i] * 1.5

    x = np.arange(10, dtype=np.int32)
    same, more = both(x)
    return [same, more], [x, x * 1.5]


@program
def a_scalar_argument():
    @guvectorize([void(float32[:], float32, float32[:])], "(n),()->(n)", target="cuda")
    def scale(x, by, out):
        for i in range(x.size):
            out[i] = x[i] * by

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    by = np.array([1, 2, 3], np.float32)
    return [scale(x, by), scale(x, np.float32(2))], [x * by[:, None], x * 2]


@program
def cuda_has_the_general_decorator_too():
    @cuda.guvectorize([(float32[:], float32[:])], "(n)->(n)")
    def backwards(x, out):
        for i in range(x.size):
            out[i] = x[x.size - 1 - i]

    return [backwards(A)], [A[::-1]]


# What is refused, with the error and words of Numba's own.


@cuda.jit
def kernel_that_calls(a, b):
    add(a, b)


REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "types that no signature has": (
        lambda: add(A.astype(np.int16), A.astype(np.int16)),
        "TypeError",
        "No matching version",
    ),
    "shapes that do not fit": (lambda: add(A, A[:5]), "ValueError", "failed to broadcast argument #1"),
    "a scalar that fits several": (lambda: add(True, 1j), "TypeError", "ambiguous"),
    "a reduction of nothing": (lambda: add.reduce(A[:0].astype(np.int32)), "TypeError", "empty array"),
    "a cache": (
        lambda: vectorize(["float32(float32)"], target="cuda", cache=True)(lambda x: x),
        "TypeError",
        "caching is not supported",
    ),
    "an unknown option": (
        lambda: vectorize(["float32(float32)"], target="cuda", colour=1)(lambda x: x),
        "KeyError",
        "does not support option: 'colour'",
    ),
    "a general function that returns": (
        lambda: guvectorize(["int32(int32[:], int32[:])"], "(n)->(n)", target="cuda")(lambda x, y: 1),
        "TypeError",
        "guvectorized functions cannot return values",
    ),
    "a symbol that is not known": (
        lambda: guvectorize(["void(int32[:], int32[:])"], "(n)->(m)", target="cuda")(lambda x, y: None),
        "NameError",
        "undefined output symbols: m",
    ),
    "too few arguments": (lambda: products(M), "TypeError", "accepts 2 positional arguments"),
    "out given twice": (
        lambda: products(M, N, np.zeros((2, 3, 5), np.float32), out=np.zeros((2, 3, 5), np.float32)),
        "ValueError",
        "cannot specify argument 'out' as both positional and keyword",
    ),
    "inner sizes that differ": (lambda: products(M, M), "ValueError", "arg #2: shape[1] mismatch argument"),
    "outer sizes that differ": (
        lambda: products(M, np.tile(N[:1], (3, 1, 1))),
        "ValueError",
        "outer dimension mismatch",
    ),
    "a result of another shape": (
        lambda: products(M, N, out=np.zeros((2, 3, 4), np.float32)),
        "ValueError",
        "output shape mismatch",
    ),
    "called in a kernel": (lambda: kernel_that_calls[1, 1](A, A), "TypingError", "Untyped global name 'add'"),
}
