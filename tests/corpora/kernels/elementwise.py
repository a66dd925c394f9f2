"""One thread, one element."""

import math

import numba
import numpy as np
from numba import cuda, float32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole


@cuda.jit
def vector_add(a, b, out):
    """out = a + b"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def saxpy(n, a, x, y):
    """y = a x + y, for n elements"""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        y[i] = a * x[i] + y[i]


@cuda.jit("void(float32[:], float32[:], float32[:])")
def vector_multiply(a, b, out):
    """out = a b, with an explicit signature"""
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = a[i] * b[i]


@cuda.jit
def square_in_place(x):
    """x = x²"""
    i = cuda.grid(1)
    if i < len(x):
        x[i] *= x[i]


@cuda.jit
def relu(x, out):
    """out = max(x, 0)"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = max(x[i], float32(0.0))


@cuda.jit
def clip(x, low, high, out):
    """out = x where it lies between low and high, else the nearer bound"""
    i = cuda.grid(1)
    if i >= x.size:
        return
    value = x[i]
    if low <= value <= high:
        out[i] = value
    elif value < low:
        out[i] = low
    else:
        out[i] = high


@cuda.jit
def sigmoid(x, out):
    """out = 1 / (1 + exp(-x))"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = 1.0 / (1.0 + math.exp(-x[i]))


@cuda.jit
def to_polar(x, y, radius, angle):
    """radius and angle of each point"""
    i = cuda.grid(1)
    if i < x.size:
        radius[i] = math.sqrt(x[i] * x[i] + y[i] * y[i])
        angle[i] = math.atan2(y[i], x[i])


@cuda.jit(fastmath=True)
def gaussian(x, mean, deviation, out):
    """out = the normal density, with fast mathematics"""
    i = cuda.grid(1)
    if i < x.size:
        z = (x[i] - mean) / deviation
        out[i] = math.exp(-0.5 * z * z) / (deviation * math.sqrt(2 * math.pi))


@cuda.jit(max_registers=32)
def polynomial(coefficients, x, out):
    """out = a polynomial of x, by Horner's rule"""
    i = cuda.grid(1)
    if i < x.size:
        total = numba.float64(0)
        for k in range(coefficients.size - 1, -1, -1):
            total = total * x[i] + coefficients[k]
        out[i] = total


@cuda.jit
def to_fahrenheit(celsius, fahrenheit):
    """temperatures in float64"""
    i = cuda.grid(1)
    if i < celsius.size:
        fahrenheit[i] = celsius[i] * 1.8 + 32


@cuda.jit
def add_one(x, n):
    """x = x + 1, for n elements"""
    tx = cuda.threadIdx.x
    bx = cuda.blockIdx.x
    position = tx + bx * cuda.blockDim.x
    if position < n:
        x[position] += 1


@cuda.jit
def compare(a, b, larger, equal):
    """two arrays of bool: where a > b, where a = b"""
    i = cuda.grid(1)
    if i < a.size:
        larger[i] = a[i] > b[i]
        equal[i] = a[i] == b[i]


@cuda.jit(debug=False, opt=True)
def fizz_buzz(out):
    """out = 3 for multiples of 15, 2 of 5, 1 of 3, else 0"""
    i = cuda.grid(1)
    if i < out.size:
        if i % 3 == 0 and i % 5 == 0:
            out[i] = 3
        elif i % 5 == 0:
            out[i] = 2
        elif i % 3 == 0:
            out[i] = 1
        else:
            out[i] = 0


@cuda.jit
def add_and_scale(a, b, total):
    """total = a + b: the first of two launches that share arrays"""
    i = cuda.grid(1)
    if i < total.size:
        total[i] = a[i] + b[i]


@cuda.jit
def scale_in_place(total, factor):
    """total = factor total: the second launch"""
    i = cuda.grid(1)
    if i < total.size:
        total[i] = factor * total[i]


N = 300

CASES = [
    Case(
        name="vector add",
        inputs=lambda rng: {"a": real(rng, N), "b": real(rng, N), "out": blank(N)},
        launches=[Launch(vector_add, blocks(N, 64), 64, ("a", "b", "out"))],
        expected=lambda given: {"out": given["a"] + given["b"]},
        kinds=("elementwise",),
    ),
    Case(
        name="vector add of int64",
        inputs=lambda rng: {
            "a": rng.integers(-(2**60), 2**60, N),
            "b": rng.integers(-(2**60), 2**60, N),
            "out": blank(N, np.int64),
        },
        launches=[Launch(vector_add, (10, 1, 1), (32, 1, 1), ("a", "b", "out"))],
        expected=lambda given: {"out": given["a"] + given["b"]},
        kinds=("elementwise", "int64"),
    ),
    Case(
        name="saxpy",
        inputs=lambda rng: {"n": N - 7, "a": np.float32(1.7), "x": real(rng, N), "y": real(rng, N)},
        launches=[Launch(saxpy, blocks(N, 128), 128, ("n", "a", "x", "y"))],
        expected=lambda given: {
            "y": np.append(
                given["a"] * given["x"][: given["n"]] + given["y"][: given["n"]], given["y"][given["n"] :]
            )
        },
        rtol=1e-6,
        kinds=("elementwise",),
    ),
    Case(
        name="vector multiply with a signature",
        inputs=lambda rng: {"a": real(rng, N), "b": real(rng, N), "out": blank(N)},
        launches=[Launch(vector_multiply, blocks(N, 32), 32, ("a", "b", "out"))],
        expected=lambda given: {"out": given["a"] * given["b"]},
        kinds=("elementwise", "signature"),
    ),
    Case(
        name="square in place",
        inputs=lambda rng: {"x": real(rng, N)},
        launches=[Launch(square_in_place, blocks(N, 96), 96, ("x",))],
        expected=lambda given: {"x": given["x"] * given["x"]},
        kinds=("elementwise",),
    ),
    Case(
        name="relu",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(relu, blocks(N, 64), 64, ("x", "out"))],
        expected=lambda given: {"out": np.maximum(given["x"], np.float32(0))},
        kinds=("elementwise",),
    ),
    Case(
        name="clip",
        inputs=lambda rng: {
            "x": real(rng, N),
            "low": np.float32(-0.5),
            "high": np.float32(0.8),
            "out": blank(N),
        },
        launches=[Launch(clip, blocks(N, 64), 64, ("x", "low", "high", "out"))],
        expected=lambda given: {"out": np.clip(given["x"], given["low"], given["high"])},
        kinds=("elementwise", "early return"),
    ),
    Case(
        name="sigmoid",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(sigmoid, blocks(N, 64), 64, ("x", "out"))],
        expected=lambda given: {"out": (1 / (1 + np.exp(-given["x"].astype(float)))).astype(np.float32)},
        rtol=1e-6,
        kinds=("elementwise", "math"),
    ),
    Case(
        name="polar coordinates",
        inputs=lambda rng: {"x": real(rng, N), "y": real(rng, N), "radius": blank(N), "angle": blank(N)},
        launches=[Launch(to_polar, blocks(N, 64), 64, ("x", "y", "radius", "angle"))],
        expected=lambda given: {
            "radius": np.hypot(given["x"], given["y"]),
            "angle": np.arctan2(given["y"], given["x"]),
        },
        rtol=1e-6,
        kinds=("elementwise", "math"),
    ),
    Case(
        name="gaussian with fastmath",
        inputs=lambda rng: {"x": real(rng, N), "mean": 0.3, "deviation": 1.5, "out": blank(N, np.float64)},
        launches=[Launch(gaussian, blocks(N, 64), 64, ("x", "mean", "deviation", "out"))],
        expected=lambda given: {
            "out": np.exp(-0.5 * ((given["x"].astype(float) - 0.3) / 1.5) ** 2) / (1.5 * np.sqrt(2 * np.pi))
        },
        rtol=1e-6,
        kinds=("elementwise", "math", "fastmath"),
    ),
    Case(
        name="polynomial",
        inputs=lambda rng: {
            "coefficients": whole(rng, 5),
            "x": whole(rng, N, -4, 5),
            "out": blank(N, np.float64),
        },
        launches=[Launch(polynomial, blocks(N, 64), 64, ("coefficients", "x", "out"))],
        expected=lambda given: {
            "out": np.polynomial.Polynomial(given["coefficients"].astype(float))(given["x"])
        },
        kinds=("elementwise", "max_registers"),
    ),
    Case(
        name="fahrenheit",
        inputs=lambda rng: {"celsius": 20 * real(rng, N, np.float64), "fahrenheit": blank(N, np.float64)},
        launches=[Launch(to_fahrenheit, blocks(N, 64), 64, ("celsius", "fahrenheit"))],
        expected=lambda given: {"fahrenheit": given["celsius"] * 1.8 + 32},
        rtol=1e-14,
        kinds=("elementwise", "float64"),
    ),
    Case(
        name="add one to a part",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "n": 211},
        launches=[Launch(add_one, 4, 64, ("x", "n"))],
        expected=lambda given: {"x": given["x"] + (np.arange(N) < 211).astype(np.int32)},
        kinds=("elementwise",),
    ),
    Case(
        name="comparisons into bool arrays",
        inputs=lambda rng: {
            "a": whole(rng, N, dtype=np.int32),
            "b": whole(rng, N, dtype=np.int32),
            "larger": np.ones(N, np.bool_),
            "equal": np.ones(N, np.bool_),
        },
        launches=[Launch(compare, blocks(N, 64), 64, ("a", "b", "larger", "equal"))],
        expected=lambda given: {"larger": given["a"] > given["b"], "equal": given["a"] == given["b"]},
        kinds=("elementwise", "bool"),
    ),
    Case(
        name="fizz buzz",
        inputs=lambda rng: {"out": blank(101, np.int8)},
        launches=[Launch(fizz_buzz, 2, 64, ("out",))],
        expected=lambda given: {
            "out": np.array([(i % 3 == 0) + 2 * (i % 5 == 0) for i in range(101)], np.int8),
        },
        kinds=("elementwise", "int8"),
    ),
    Case(
        name="two launches",
        inputs=lambda rng: {
            "a": whole(rng, N),
            "b": whole(rng, N),
            "total": blank(N),
            "factor": np.float32(3),
        },
        launches=[
            Launch(add_and_scale, blocks(N, 64), 64, ("a", "b", "total")),
            Launch(scale_in_place, blocks(N, 128), 128, ("total", "factor")),
        ],
        expected=lambda given: {"total": 3 * (given["a"] + given["b"])},
        kinds=("elementwise", "several launches"),
    ),
]
