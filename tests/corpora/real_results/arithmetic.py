"""Powers of zero, and `min` and `max` with a bool."""

import math

import numpy as np
from numba import cuda

from tests.corpora.real_results import program

BASES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, math.inf, -math.inf, math.nan]


def table(kernel, left, right, dtype=np.float64):
    a = np.repeat(left, len(right))
    b = np.tile(right, len(left))
    out = np.zeros(a.size, dtype)
    kernel[-(-a.size // 64), 64](a, b, out)
    return out


@program
def zero_to_minus_one():
    @cuda.jit
    def kernel(out):
        out[0] = 0.0**-1
        out[1] = math.pow(0.0, -1)
        out[2] = (-0.0) ** -1

    out = np.zeros(3)
    kernel[1, 1](out)
    return out


@program
def a_zero_of_an_array_to_minus_one():
    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] ** -1
        out[1] = x[0] ** -2
        out[2] = x[0] ** -0.5
        out[3] = math.pow(x[0], -3)
        out[4] = pow(x[0], -1)

    out = np.zeros(5)
    kernel[1, 1](np.zeros(1), out)
    return out


@program
def floats_to_floats():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] ** b[i]

    return table(kernel, np.array(BASES), np.array([*BASES, 0.5, -0.5, 3.0, -3.0]))


@program
def floats_to_integers():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] ** b[i]

    return table(kernel, np.array(BASES), np.array([0, 1, -1, 2, -2, 3, -3]))


@program
def single_precision_to_integers():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] ** b[i]

    return table(
        kernel, np.array(BASES, np.float32), np.array([0, 1, -1, 2, -2, 3, -3], np.int32), np.float32
    )


@program
def math_pow_of_floats():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = math.pow(a[i], b[i])

    return table(kernel, np.array(BASES), np.array([*BASES, 0.5, -0.5, 3.0, -3.0]))


@program
def math_pow_of_a_float_and_an_integer():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = math.pow(a[i], b[i])

    return table(kernel, np.array(BASES), np.array([0, 1, -1, 2, -2], np.int32))


@program
def integers_to_integers():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] ** b[i]

    return table(kernel, np.array([0, 1, 2, -3]), np.array([0, 1, 2, 5]), np.int64)


@program
def integers_to_negative_literals():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] ** -1.0

    x = np.array([1, 2, -4, 0], np.int32)
    out = np.zeros(4)
    kernel[1, 32](x, out)
    return out


@program
def integers_to_negative_integers():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] ** -1

    x = np.array([1, 2, -4], np.int32)
    out = np.zeros(3)
    kernel[1, 32](x, out)
    return out


@program
def an_inverse_distance():
    @cuda.jit
    def potential(x, out):
        i = cuda.grid(1)
        if i < x.size:
            total = 0.0
            for j in range(x.size):
                total += abs(x[i] - x[j]) ** -1
            out[i] = total

    x = np.linspace(0, 1, 8)
    out = np.zeros(8)
    potential[1, 32](x, out)
    return out


@program
def functions_outside_their_range():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i, 0] = math.sqrt(x[i])
            out[i, 1] = math.log(x[i])
            out[i, 2] = 1 / x[i]
            out[i, 3] = math.log10(x[i])
            out[i, 4] = math.exp(1000 * x[i])
            out[i, 5] = math.acos(2 + x[i])

    x = np.array([0.0, -1.0, 4.0, 1.0])
    out = np.zeros((4, 6))
    kernel[1, 32](x, out)
    return out.round(12)


def chosen(function):
    out = np.zeros(4)
    kernel = cuda.jit(function)
    kernel[1, 1](np.array([True, False]), np.array([3, -1], np.int32), np.array([0.5, 2.5]), out)
    return out


@program
def max_of_a_bool_and_an_integer():
    def kernel(flags, whole, x, out):
        out[0] = max(flags[0], whole[0])

    return chosen(kernel)


@program
def min_of_a_bool_and_an_integer():
    def kernel(flags, whole, x, out):
        out[0] = min(whole[0], flags[0])

    return chosen(kernel)


@program
def max_of_a_bool_and_a_float():
    def kernel(flags, whole, x, out):
        out[0] = max(x[0], flags[1])

    return chosen(kernel)


@program
def min_of_a_comparison_and_a_number():
    def kernel(flags, whole, x, out):
        out[0] = min(x[0] > 1, 1)

    return chosen(kernel)


@program
def max_of_two_bools():
    def kernel(flags, whole, x, out):
        out[0] = max(flags[0], flags[1])

    return chosen(kernel)


@program
def max_of_two_comparisons():
    def kernel(flags, whole, x, out):
        out[0] = max(x[0] > 1, x[1] > 1)
        out[1] = min(x[0] > 1, x[1] > 1)

    return chosen(kernel)


@program
def max_of_three_with_a_bool():
    def kernel(flags, whole, x, out):
        out[0] = max(whole[0], x[0], flags[0])

    return chosen(kernel)


@program
def min_of_a_bool_as_a_number():
    def kernel(flags, whole, x, out):
        out[0] = min(int(flags[0]), whole[0])
        out[1] = max(x[1], float(flags[1]))

    return chosen(kernel)


@program
def max_of_an_integer_and_a_float():
    def kernel(flags, whole, x, out):
        out[0] = max(whole[0], x[0])
        out[1] = min(whole[1], x[1], 7)

    return chosen(kernel)


@program
def max_with_a_literal_bool():
    def kernel(flags, whole, x, out):
        out[0] = max(True, whole[0])

    return chosen(kernel)
