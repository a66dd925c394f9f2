"""Recursion, vector types and bits of integers."""

import numpy as np
from numba import cuda, float32, int64, uint8

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 32


@cuda.jit("int64(int64)", device=True)
def fibonacci(n):
    """recursion with a signature"""
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit(device=True)
def divisor(a, b):
    """recursion without a signature: the greatest common divisor"""
    if b == 0:
        return a
    return divisor(b, a % b)


@cuda.jit(device=True)
def power(x, n):
    """recursion of a float32"""
    if n == 0:
        return float32(1)
    half = power(x, n // 2)
    if n % 2:
        return half * half * x
    return half * half


@cuda.jit(device=True)
def triangle(n):
    """recursion without a signature: the sum of the numbers up to n"""
    if n < 1:
        return n
    return n + triangle(n - 1)


@cuda.jit
def fibonaccis(x, out):
    """a recursive function with a signature"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = fibonacci(x[i])


@cuda.jit
def divisors(x, out):
    """a recursive function without a signature"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = divisor(x[i] * 12, x[i] + 30)


@cuda.jit
def triangles(x, out):
    """a recursive function that adds"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = triangle(x[i])


@cuda.jit
def powers(x, out):
    """a recursive function of a float32"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = power(float32(2), x[i])


@cuda.jit
def quadruples(x, out):
    """cuda.float32x4: made of numbers, read by its fields"""
    i = cuda.grid(1)
    if 4 * i + 3 < x.size:
        v = cuda.float32x4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3])
        out[i] = v.x + 2 * v.y + 3 * v.z + 4 * v.w


@cuda.jit(device=True)
def cross(a, b):
    return cuda.float64x3(
        a.y * b.z - a.z * b.y,
        a.z * b.x - a.x * b.z,
        a.x * b.y - a.y * b.x,
    )


@cuda.jit
def products(a, b, out):
    """vectors handed to a device function and back"""
    i = cuda.grid(1)
    if i < a.shape[0]:
        v = cross(cuda.float64x3(a[i, 0], a[i, 1], a[i, 2]), cuda.float64x3(b[i, 0], b[i, 1], b[i, 2]))
        out[i, 0] = v.x
        out[i, 1] = v.y
        out[i, 2] = v.z


@cuda.jit
def composed(out):
    """vectors made of vectors, by the short names of CUDA C"""
    if cuda.grid(1) == 0:
        pair = cuda.int2(3, 4)
        all_of_them = cuda.int4(pair, 5, cuda.int1(6))
        out[0] = all_of_them.x
        out[1] = all_of_them.y
        out[2] = all_of_them.z
        out[3] = all_of_them.w
        small = cuda.uchar2(uint8(255), uint8(1))
        out[4] = small.x + small.y
        out[5] = cuda.float2(1.5, 2).y


@cuda.jit
def converted(out):
    """a vector converts what it is made of"""
    if cuda.grid(1) == 0:
        out[0] = cuda.float32x2(0.1, 0).x
        out[1] = cuda.int32x2(2.75, 1).x


@cuda.jit
def set_bits(x, out):
    """int.bit_count"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i].bit_count()


@cuda.jit
def set_bits_of_64(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = int64(x[i]).bit_count()


def one(kernel, *arguments, size):
    return [Launch(kernel, blocks(size, BLOCK), BLOCK, arguments)]


def popcounts(x, width):
    return np.array([(int(each) & (1 << width) - 1).bit_count() for each in x], np.int32)


CASES = [
    *(
        Case(
            f"recursion: {kernel.py_func.__doc__}",
            lambda rng: {"x": np.arange(12, dtype=np.int64), "out": blank(12, np.int64)},
            one(kernel, "x", "out", size=12),
            lambda g, right=right: {"out": right(g["x"])},
            ("recursion",),
            simulator=False,
        )
        for kernel, right in (
            (fibonaccis, lambda x: np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])),
            (divisors, lambda x: np.gcd(x * 12, x + 30)),
            (triangles, lambda x: x * (x + 1) // 2),
            (powers, lambda x: 2**x),
        )
    ),
    Case(
        "float32x4",
        lambda rng: {"x": whole(rng, 80), "out": blank(20)},
        one(quadruples, "x", "out", size=20),
        lambda g: {"out": (g["x"].reshape(20, 4) @ np.array([1, 2, 3, 4], np.float32))},
        ("vector",),
        simulator=False,
    ),
    Case(
        "float64x3 through device functions",
        lambda rng: {
            "a": real(rng, (20, 3), np.float64),
            "b": real(rng, (20, 3), np.float64),
            "out": blank((20, 3), np.float64),
        },
        one(products, "a", "b", "out", size=20),
        lambda g: {"out": np.cross(g["a"], g["b"])},
        ("vector",),
        rtol=1e-14,
        simulator=False,
    ),
    Case(
        "vectors of vectors",
        lambda rng: {"out": blank(6, np.float64)},
        one(composed, "out", size=1),
        lambda g: {"out": np.array([3, 4, 5, 6, 256, 2], np.float64)},
        ("vector",),
        simulator=False,
    ),
    Case(
        "vectors convert their parts",
        lambda rng: {"out": blank(2, np.float64)},
        one(converted, "out", size=1),
        lambda g: {"out": np.array([np.float32(0.1), 2], np.float64)},
        ("vector",),
        simulator=False,
    ),
    *(
        Case(
            f"bit_count of {np.dtype(dtype)}",
            lambda rng, dtype=dtype: {
                "x": rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 50, dtype),
                "out": blank(50, np.int32),
            },
            one(set_bits, "x", "out", size=50),
            lambda g: {"out": popcounts(g["x"], 8 * g["x"].dtype.itemsize)},
            ("bits",),
            simulator=False,
        )
        for dtype in (np.uint8, np.uint32, np.uint64, np.int32, np.int64)
    ),
    Case(
        "bit_count of an int32 widened to 64 bits",
        lambda rng: {"x": np.array([-1, 0, 7], np.int32), "out": blank(3, np.int32)},
        one(set_bits_of_64, "x", "out", size=3),
        lambda g: {"out": np.array([64, 0, 3], np.int32)},
        ("bits",),
        simulator=False,
    ),
]
