"""Floats that an integer cannot hold: PTX's `cvt` saturates, and 8 bits go through 16."""

import math

import numpy as np
from numba import cuda, float32, int8, int16, int32, int64, uint8, uint16, uint32, uint64

from tests.corpora.real_results import VALUES, program

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def each_value(source, target):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i]

    def run():
        x = np.array(VALUES, source)
        out = np.zeros(x.size, target)
        kernel[1, 64](x, out)
        return out

    run.__module__ = __name__
    run.__name__ = f"{np.dtype(source).name} stored in {np.dtype(target).name}"
    program(run)


for source in (np.float32, np.float64):
    for target in INTEGERS:
        each_value(source, target)


def each_cast(kind):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = kind(x[i])

    def run():
        x = np.array(VALUES)
        out = np.zeros(x.size, np.uint64 if kind is uint64 else np.int64)
        kernel[1, 64](x, out)
        return out

    run.__module__ = __name__
    run.__name__ = f"cast by {kind}"
    program(run)


for kind in (int8, uint8, int16, uint16, int32, uint32, int64, uint64):
    each_cast(kind)


def launched(kernel, given, dtype, block=64):
    x = np.array(given)
    out = np.zeros(x.size, dtype)
    kernel[-(-x.size // block), block](x, out)
    return out


@program
def cast_by_int():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = int(x[i])

    return launched(kernel, VALUES, np.int64)


@program
def cast_by_a_numpy_type():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = np.uint8(x[i])

    return launched(kernel, VALUES, np.int64)


@program
def a_darker_image():
    @cuda.jit
    def darker(image, out, by):
        i, j = cuda.grid(2)
        if i < image.shape[0] and j < image.shape[1]:
            out[i, j] = image[i, j] - by

    image = np.arange(0, 256, 4, dtype=np.uint8).reshape(8, 8)
    out = np.zeros_like(image)
    darker[1, (8, 8)](image, out, 60.0)
    return out


@program
def a_brighter_image():
    @cuda.jit
    def brighter(image, out, factor):
        i, j = cuda.grid(2)
        if i < image.shape[0] and j < image.shape[1]:
            out[i, j] = factor * image[i, j]

    image = np.arange(0, 256, 4, dtype=np.uint8).reshape(8, 8)
    out = np.zeros_like(image)
    brighter[1, (8, 8)](image, out, np.float32(1.7))
    return out


@program
def a_sharpened_row():
    @cuda.jit
    def sharpen(row, out):
        i = cuda.grid(1)
        if 0 < i < row.size - 1:
            out[i] = 3.0 * row[i] - row[i - 1] - row[i + 1]

    row = ((np.arange(64) * 37) % 256).astype(np.uint8)
    out = np.zeros_like(row)
    sharpen[1, 64](row, out)
    return out


@program
def samples_of_sound():
    @cuda.jit
    def louder(x, out, gain):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * gain

    x = (30000 * np.sin(np.arange(100))).astype(np.int16)
    out = np.zeros_like(x)
    louder[2, 64](x, out, 1.9)
    return out


@program
def a_histogram_of_measurements():
    @cuda.jit
    def histogram(x, bins, low, width):
        i = cuda.grid(1)
        if i < x.size:
            k = int((x[i] - low) / width)
            if 0 <= k < bins.size:
                cuda.atomic.add(bins, k, 1)

    x = np.concatenate([np.linspace(-3, 3, 200), [np.nan, np.inf, -np.inf, 1e30]])
    bins = np.zeros(8, np.int32)
    histogram[4, 64](x, bins, -2.0, 0.5)
    return bins


@program
def a_shared_array_of_bytes():
    @cuda.jit
    def kernel(x, out):
        part = cuda.shared.array(64, uint8)
        i = cuda.threadIdx.x
        if i < x.size:
            part[i] = x[i]
        cuda.syncthreads()
        if i < x.size:
            out[i] = part[x.size - 1 - i]

    return launched(kernel, VALUES, np.int64)


@program
def a_local_array_of_bytes():
    @cuda.jit
    def kernel(x, out):
        mine = cuda.local.array(2, uint8)
        i = cuda.grid(1)
        if i < x.size:
            mine[0] = x[i]
            mine[1] = 2 * x[i]
            out[i] = mine[0] + 1000 * mine[1]

    return launched(kernel, VALUES, np.int64)


@program
def added_in_place():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] += 100
            out[i] += x[i]

    return launched(kernel, VALUES, np.uint8)


@program
def subtracted_in_place_from_32_bits():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] -= x[i] * 1.5

    return launched(kernel, VALUES, np.int32)


@program
def an_atomic_sum_of_floats():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(out, i, x[i])

    return launched(kernel, VALUES, np.int32)


@program
def an_atomic_maximum_of_floats():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.max(out, i, x[i])

    return launched(kernel, VALUES, np.uint32)


@program
def an_argument_of_a_declared_function():
    @cuda.jit("int64(uint8)", device=True)
    def taken(a):
        return a

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = taken(x[i])

    return launched(kernel, VALUES, np.int64)


@program
def rounded_down():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = math.floor(x[i] / 3)

    return launched(kernel, VALUES, np.int32)


@program
def rounded():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = round(x[i] / 3)

    return launched(kernel, [v for v in VALUES if abs(v) < 1e18], np.int64)


@program
def an_index_from_a_float():
    @cuda.jit
    def kernel(x, table, out):
        i = cuda.grid(1)
        if i < x.size:
            k = min(max(int32(x[i]), 0), table.size - 1)
            out[i] = table[k]

    x, table = np.array(VALUES), np.arange(100, 116)
    out = np.zeros(x.size, np.int64)
    kernel[1, 64](x, table, out)
    return out


@program
def a_loop_as_long_as_a_float():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            for _ in range(uint8(x[i])):
                out[i] += 1

    return launched(kernel, VALUES, np.int64)


@program
def a_quotient_by_zero():
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] / y[i]

    x, y = np.array([1, -1, 0, 7], np.int32), np.array([0, 0, 0, 2], np.int32)
    out = np.zeros(4, np.int32)
    kernel[1, 32](x, y, out)
    return out


@program
def logarithm_of_zero():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = math.log(x[i])

    return launched(kernel, [0.0, 1.0, 100.0, -1.0], np.int32)


@program
def a_big_sum_in_32_bits():
    @cuda.jit
    def kernel(x, out):
        total = 0.0
        for k in range(x.size):
            total += x[k]
        out[0] = total
        out[1] = -total

    x = np.full(1000, 1e7, np.float32)
    out = np.zeros(2, np.int32)
    kernel[1, 1](x, out)
    return out


@program
def a_power_of_two():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = 2.0 ** x[i]

    return launched(kernel, list(range(-2, 70)), np.int64, 128)


@program
def a_cast_within_a_cast():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = int8(uint8(x[i])) + uint16(int8(x[i])) + int32(float32(x[i]))

    return launched(kernel, VALUES, np.int64)


@program
def parts_of_a_pixel():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.shape[0]:
            r, g, b = x[i, 0], x[i, 1], x[i, 2]
            out[i, 0] = 0.393 * r + 0.769 * g + 0.189 * b
            out[i, 1] = 0.349 * r + 0.686 * g + 0.168 * b
            out[i, 2] = 0.272 * r + 0.534 * g + 0.131 * b

    x = ((np.arange(96) * 89) % 256).astype(np.uint8).reshape(32, 3)
    out = np.zeros_like(x)
    kernel[1, 32](x, out)
    return out
