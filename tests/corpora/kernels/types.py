"""How numbers behave: widths, wraps, rounding, casts, and the control flow of Python."""

import math

import numba
import numpy as np
from numba import cuda, float32, float64, int32, int64, uint8, uint32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, real, whole

BLOCK = 32


@cuda.jit
def floor_division(a, b, quotients, remainders, exact):
    """// and % round towards minus infinity; / of whole numbers gives float64"""
    i = cuda.grid(1)
    if i < a.size:
        quotients[i] = a[i] // b[i]
        remainders[i] = a[i] % b[i]
        exact[i] = a[i] / b[i]


@cuda.jit
def float_division(a, b, quotients, remainders):
    """// and % of floats"""
    i = cuda.grid(1)
    if i < a.size:
        quotients[i] = a[i] // b[i]
        remainders[i] = a[i] % b[i]


@cuda.jit
def shifts(x, left, right, masked):
    """shifts of negative numbers keep the sign; a shift to the left is as wide as int64"""
    i = cuda.grid(1)
    if i < x.size:
        left[i] = x[i] << 20
        right[i] = x[i] >> 3
        masked[i] = (x[i] & 0xFF) | (x[i] ^ 15) & ~7


@cuda.jit
def wide_sums(a, b, wide, narrow, middle):
    """int32 + int32 is int64; stored as int32 it wraps"""
    i = cuda.grid(1)
    if i < a.size:
        wide[i] = a[i] + b[i]
        narrow[i] = a[i] + b[i]
        middle[i] = (a[i] + b[i]) // 2


@cuda.jit
def wrapping_hash(x, out):
    """int64 wraps"""
    i = cuda.grid(1)
    if i < x.size:
        h = x[i]
        for _ in range(5):
            h = h * 6364136223846793005 + 1442695040888963407
        out[i] = h


@cuda.jit
def unsigned_differences(a, b, out, narrow):
    """a difference of uint32, stored as int64 and as uint32"""
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] - b[i]
        narrow[i] = a[i] - b[i]


@cuda.jit
def fnv_hash(text, out):
    """a hash in uint32, one row of bytes a thread"""
    row = cuda.grid(1)
    if row < text.shape[0]:
        h = uint32(2166136261)
        for k in range(text.shape[1]):
            h = uint32((h ^ text[row, k]) * uint32(16777619))
        out[row] = h


@cuda.jit
def xorshift(seeds, out):
    """three steps of a generator, with shifts of uint32"""
    i = cuda.grid(1)
    if i < seeds.size:
        x = seeds[i]
        for _ in range(3):
            x ^= uint32(x << uint32(13))
            x ^= x >> uint32(17)
            x ^= uint32(x << uint32(5))
        out[i] = x


@cuda.jit
def mixed(i32, f32, product, total, scaled):
    """int32 with float32 is float64, and so is float32 with a number written in the code"""
    i = cuda.grid(1)
    if i < i32.size:
        product[i] = i32[i] * f32[i]
        total[i] = i32[i] + f32[i]
        scaled[i] = f32[i] * 0.1 + 3


@cuda.jit
def single_precision_chain(x, y, out):
    """float32 rounds after every addition"""
    i = cuda.grid(1)
    if i < x.size:
        total = x[i]
        for k in range(y.size):
            total = total + y[k]
        out[i] = total


@cuda.jit
def double_precision_chain(x, y, out):
    """a total that starts as 0.0 is float64, and rounds once, when stored"""
    i = cuda.grid(1)
    if i < x.size:
        total = 0.0
        for k in range(y.size):
            total += y[k]
        out[i] = total + x[i]


@cuda.jit
def byte_arithmetic(a, b, stored, mean, inverse):
    """bytes are added as int64, and wrap when stored"""
    i = cuda.grid(1)
    if i < a.size:
        stored[i] = a[i] + b[i]
        mean[i] = (a[i] + b[i]) // 2
        inverse[i] = 255 - a[i]


@cuda.jit
def small_stores(x, i8, i16, u8, u16):
    """int32 into narrower arrays keeps the low bits"""
    i = cuda.grid(1)
    if i < x.size:
        i8[i] = x[i]
        i16[i] = x[i]
        u8[i] = x[i]
        u16[i] = x[i]


@cuda.jit
def casts(x, whole_part, narrow, single, byte, again, truth):
    """int and int32 cut off; float32 rounds"""
    i = cuda.grid(1)
    if i < x.size:
        whole_part[i] = int(x[i])
        narrow[i] = int32(x[i])
        single[i] = float32(x[i]) * float32(1.5)
        byte[i] = uint8(abs(x[i]))
        again[i] = float(int64(x[i])) + np.float64(0.5)
        truth[i] = bool(int(x[i]))


@cuda.jit
def store_float_as_int(x, out):
    """a float stored into whole numbers is cut off"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 8


@cuda.jit
def rounding(x, nearest, cents, down, up, cut):
    """round goes to the even neighbour; floor, ceil and trunc"""
    i = cuda.grid(1)
    if i < x.size:
        nearest[i] = round(x[i])
        cents[i] = round(x[i], 1)
        down[i] = math.floor(x[i])
        up[i] = math.ceil(x[i])
        cut[i] = math.trunc(x[i])


@cuda.jit
def least_and_most(a, b, out):
    """abs, min and max, of two and of three, of different types"""
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = abs(a[i])
        out[i, 1] = min(a[i], b[i])
        out[i, 2] = max(a[i], b[i], 0)
        out[i, 3] = abs(a[i] - b[i])
        out[i, 4] = min(3, a[i]) - max(-2.5, b[i])
        out[i, 5] = -a[i] + +b[i]


@cuda.jit
def elementary_functions(x, out):
    """functions of math for positive arguments"""
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i, 0] = math.sin(v)
        out[i, 1] = math.cos(v)
        out[i, 2] = math.tan(v / 4)
        out[i, 3] = math.exp(-v)
        out[i, 4] = math.log(v)
        out[i, 5] = math.log10(v)
        out[i, 6] = math.log1p(v)
        out[i, 7] = math.sqrt(v)
        out[i, 8] = math.tanh(v)
        out[i, 9] = math.atan(v)
        out[i, 10] = math.asin(v / 4)
        out[i, 11] = math.erf(v)
        out[i, 12] = math.pow(v, 2.5)
        out[i, 13] = math.hypot(v, 1)
        out[i, 14] = math.copysign(v, -1)


@cuda.jit
def further_functions(x, out):
    """functions that a course needs less often"""
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i, 0] = math.sinh(v)
        out[i, 1] = math.cosh(v)
        out[i, 2] = math.asinh(v)
        out[i, 3] = math.acos(v / 4)
        out[i, 4] = math.expm1(v)
        out[i, 5] = math.log2(v)
        out[i, 6] = math.gamma(v)
        out[i, 7] = math.lgamma(v + 3)
        out[i, 8] = math.erfc(v)
        out[i, 9] = math.degrees(v)
        out[i, 10] = math.radians(v)
        out[i, 11] = math.fabs(-v)


@cuda.jit
def remainders(x, y, out):
    """the remainder of math.fmod has the sign of the first number, that of % the sign of the second"""
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = math.fmod(x[i], y[i])
        out[i, 1] = x[i] % y[i]


@cuda.jit
def square_roots(x, out):
    """the square root of float32 stays float32"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.sqrt(x[i])


@cuda.jit
def powers(x, n, out):
    """** of whole numbers and of floats"""
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = x[i] ** 2
        out[i, 1] = x[i] ** 0.5
        out[i, 2] = x[i] ** n[i]
        out[i, 3] = 2 ** n[i]
        out[i, 4] = n[i] ** 3
        out[i, 5] = 1 / x[i] ** 2


@cuda.jit
def special_values(x, kinds, out):
    """NaN and infinity"""
    i = cuda.grid(1)
    if i < x.size:
        if math.isnan(x[i]):
            kinds[i] = 1
            out[i] = -1.0
        elif math.isinf(x[i]):
            kinds[i] = 2
            out[i] = math.pi
        else:
            kinds[i] = 0
            out[i] = x[i] if x[i] == x[i] else math.inf


@cuda.jit
def intrinsics(a, b, c, out):
    """selp, fma and cbrt"""
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = cuda.selp(a[i] < b[i], a[i], c[i])
        out[i, 1] = cuda.fma(a[i], b[i], c[i])
        out[i, 2] = cuda.cbrt(abs(c[i]))


@cuda.jit
def augmented(x, out):
    """all augmented assignments, of a variable and of an element"""
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        v += 7
        v -= 2
        v *= 3
        v //= 2
        v %= 100
        v <<= 2
        v >>= 1
        v &= 0x7F
        v |= 0x10
        v ^= 0x05
        v **= 2
        out[i] = 1
        out[i] += v
        out[i] *= 2
        out[i] -= 3


@cuda.jit
def truth_tables(a, b, out):
    """and, or, not, chained comparisons, ternaries"""
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = a[i] > 0 and b[i] > 0
        out[i, 1] = a[i] > 0 or b[i] > 0
        out[i, 2] = not a[i] > 0
        out[i, 3] = -3 < a[i] <= b[i] < 5
        out[i, 4] = 1 if a[i] > b[i] else 2 if a[i] == b[i] else 3
        out[i, 5] = a[i] != b[i] and not (a[i] < b[i])


@cuda.jit
def short_circuit(x, out):
    """`and` protects the index that follows"""
    i = cuda.grid(1)
    n = x.size
    if i < n:
        peaks = 0
        if (i == 0 or x[i - 1] < x[i]) and (i == n - 1 or x[i + 1] < x[i]):
            peaks = 1
        out[i] = peaks


@cuda.jit
def collatz(starts, steps):
    """a while loop of unknown length"""
    i = cuda.grid(1)
    if i < starts.size:
        n = starts[i]
        count = 0
        while n != 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            count += 1
        steps[i] = count


@cuda.jit
def first_divisor(numbers, out):
    """while with break and continue: the first odd divisor above 1"""
    i = cuda.grid(1)
    if i < numbers.size:
        n = numbers[i]
        out[i] = n
        d = 1
        while True:
            d += 1
            if d % 2 == 0:
                continue
            if d * d > n:
                break
            if n % d == 0:
                out[i] = d
                break


@cuda.jit
def primes(out):
    """for with else: no divisor found"""
    n = cuda.grid(1)
    if n >= out.size:
        return
    if n < 2:
        out[n] = 0
        return
    for d in range(2, n):
        if d * d > n:
            out[n] = 1
            break
        if n % d == 0:
            out[n] = 0
            break
    else:
        out[n] = 1


@cuda.jit
def stepped_loops(x, forward, backward, triangle):
    """ranges with steps, forwards and backwards, and nested loops"""
    i = cuda.grid(1)
    if i < forward.size:
        total = 0
        for k in range(i % 3, x.size, 3):
            total += x[k]
        forward[i] = total
        number = 0
        for k in range(x.size - 1, i, -2):
            number = (31 * number + x[k]) % 1009
        backward[i] = number
        count = 0
        for a in range(i):
            for b in range(a, i, 2):
                if (a + b) % 5 == 0:
                    continue
                count += a * b
        triangle[i] = count


@cuda.jit
def loops_over_arrays(matrix, out):
    """enumerate, zip and tuples"""
    i = cuda.grid(1)
    if i + 1 < matrix.shape[0]:
        total = 0
        for k, value in enumerate(matrix[i]):
            total += k * value
        for a, b in zip(matrix[i], matrix[i + 1]):  # noqa: B905
            total += a - b
        for weight in (1, 10, 100):
            total += weight * (total % 3)
        low, high = 1, 2
        low, high = high, low + high
        out[i] = total * low + high


@cuda.jit
def counted_flags(x, out):
    """bool counts as 0 or 1; a total can turn from int to float"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        count = 0
        total = 0
        for k in range(x.shape[1]):
            count += x[i, k] > 0
            if x[i, k] > 0:
                total += x[i, k]
        out[i] = total / count if count > 0 else 0


@cuda.jit
def digit_sums(numbers, sums, quotients):
    """divmod, and a variable of another name in each branch"""
    i = cuda.grid(1)
    if i < numbers.size:
        total = 0
        rest = numbers[i]
        while rest:
            rest, digit = divmod(rest, 10)
            total += digit
        sums[i] = total
        if total % 2:
            odd = total * 3
            quotients[i] = odd
        else:
            even = total // 2
            quotients[i] = even


@cuda.jit
def count_bits(x, out):
    """set bits by a loop"""
    i = cuda.grid(1)
    if i < x.size:
        n = x[i]
        count = 0
        while n:
            n &= n - 1
            count += 1
        out[i] = count


@cuda.jit
def classify(x, out):
    """`in` with a tuple, and an assertion that holds"""
    i = cuda.grid(1)
    assert cuda.blockDim.x > 0
    if i < x.size:
        if x[i] in (2, 3, 5, 7):
            out[i] = 1
        else:
            out[i] = -1


@cuda.jit
def scalar_arguments(out, whole_number, real_number, single, flag):
    """scalars of all kinds as arguments, one of them changed inside"""
    i = cuda.grid(1)
    whole_number += i
    if i < out.size:
        if flag:
            out[i] = whole_number * real_number + single
        else:
            out[i] = 0


@cuda.jit("void(float64[:,:], int32, float64[:])")
def row_of_matrix(matrix, row, out):
    """a signature with two dimensions and a scalar"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = matrix[row, i]


@cuda.jit((numba.float32[:], numba.float32[:]))
def halve(x, out):
    """a signature made of types"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] / float32(2)


@cuda.jit([(int32[:], int32[:]), (float64[:], float64[:])])
def double(x, out):
    """two signatures"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


N = 70
FUNCTIONS = [
    np.sin,
    np.cos,
    lambda v: np.tan(v / 4),
    lambda v: np.exp(-v),
    np.log,
    np.log10,
    np.log1p,
    np.sqrt,
    np.tanh,
    np.arctan,
    lambda v: np.arcsin(v / 4),
    lambda v: np.array([math.erf(one) for one in v]),
    lambda v: v**2.5,
    lambda v: np.hypot(v, 1),
    lambda v: -v,
]
FURTHER_FUNCTIONS = [
    np.sinh,
    np.cosh,
    np.arcsinh,
    lambda v: np.arccos(v / 4),
    np.expm1,
    np.log2,
    lambda v: np.array([math.gamma(one) for one in v]),
    lambda v: np.array([math.lgamma(one + 3) for one in v]),
    lambda v: np.array([math.erfc(one) for one in v]),
    np.degrees,
    np.radians,
    np.abs,
]


def i32(rng, low=-1000, high=1000):
    return whole(rng, N, low, high, np.int32)


def nonzero(rng, dtype):
    return (whole(rng, N, 1, 12) * rng.choice([-1, 1], N)).astype(dtype)


def wide(x):
    return x.astype(np.int64)


def expected_hash(given):
    h = given["x"].copy()
    for _ in range(5):
        h = h * np.int64(6364136223846793005) + np.int64(1442695040888963407)
    return {"out": h}


def expected_fnv(given):
    out = []
    for row in given["text"].tolist():
        h = 2166136261
        for byte in row:
            h = (h ^ byte) * 16777619 & 0xFFFFFFFF
        out.append(h)
    return {"out": np.array(out, np.uint32)}


def expected_xorshift(given):
    x = given["seeds"].copy()
    for _ in range(3):
        x ^= x << np.uint32(13)
        x ^= x >> np.uint32(17)
        x ^= x << np.uint32(5)
    return {"out": x}


def expected_single_chain(given):
    total = given["x"].copy()
    for value in given["y"]:
        total = total + value
    return {"out": total}


def expected_double_chain(given):
    total = 0.0
    for value in given["y"].tolist():
        total += value
    return {"out": (total + given["x"].astype(float)).astype(np.float32)}


def expected_casts(given):
    x = given["x"]
    cut = np.trunc(x)
    return {
        "whole_part": cut.astype(np.int64),
        "narrow": cut.astype(np.int32),
        "single": x.astype(np.float32) * np.float32(1.5),
        "byte": abs(cut).astype(np.uint8),
        "again": cut + 0.5,
        "truth": cut != 0,
    }


def expected_least(given):
    a, b = given["a"].astype(float), given["b"].astype(float)
    columns = [
        abs(a),
        np.minimum(a, b),
        np.maximum(np.maximum(a, b), 0),
        abs(a - b),
        np.minimum(3, a) - np.maximum(-2.5, b),
        b - a,
    ]
    return {"out": np.stack(columns, axis=1)}


def expected_functions(given):
    x = given["x"].astype(float)
    functions = FUNCTIONS if given["out"].shape[1] == len(FUNCTIONS) else FURTHER_FUNCTIONS
    return {"out": np.stack([function(x) for function in functions], axis=1).astype(given["out"].dtype)}


def expected_powers(given):
    x, n = given["x"], given["n"].astype(float)
    return {"out": np.stack([x**2, x**0.5, x**n, 2**n, n**3, 1 / x**2], axis=1)}


def expected_special(given):
    x = given["x"]
    kinds = np.isnan(x) + 2 * np.isinf(x)
    return {"kinds": kinds.astype(np.int32), "out": np.select([kinds == 1, kinds == 2], [-1.0, math.pi], x)}


def expected_intrinsics(given):
    a, b, c = given["a"], given["b"], given["c"]
    return {"out": np.stack([np.where(a < b, a, c), a * b + c, np.cbrt(abs(c))], axis=1)}


def expected_augmented(given):
    v = wide(given["x"])
    v = ((v + 7 - 2) * 3 // 2) % 100
    v = ((((v << 2) >> 1) & 0x7F) | 0x10) ^ 0x05
    return {"out": 2 * (1 + v**2) - 3}


def expected_truth(given):
    a, b = given["a"], given["b"]
    columns = [
        (a > 0) & (b > 0),
        (a > 0) | (b > 0),
        ~(a > 0),
        (a > -3) & (a <= b) & (b < 5),
        np.select([a > b, a == b], [1, 2], 3),
        a > b,
    ]
    return {"out": np.stack(columns, axis=1).astype(np.int32)}


def expected_peaks(given):
    x = np.concatenate([[-np.inf], given["x"], [-np.inf]])
    return {"out": ((x[:-2] < x[1:-1]) & (x[2:] < x[1:-1])).astype(np.int32)}


def collatz_steps(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def expected_divisors(given):
    first = [
        next((d for d in range(3, math.isqrt(n) + 1, 2) if n % d == 0), n) for n in given["numbers"].tolist()
    ]
    return {"out": np.array(first, np.int32)}


def expected_steps(given):
    x = given["x"].tolist()
    forward, backward, triangle = [], [], []
    for i in range(40):
        forward.append(sum(x[i % 3 :: 3]))
        number = 0
        for k in range(len(x) - 1, i, -2):
            number = (31 * number + x[k]) % 1009
        backward.append(number)
        triangle.append(sum(a * b for a in range(i) for b in range(a, i, 2) if (a + b) % 5))
    columns = {"forward": forward, "backward": backward, "triangle": triangle}
    return {name: np.array(values, np.int64) for name, values in columns.items()}


def expected_array_loops(given):
    out = []
    for row, below in zip(given["matrix"].tolist(), given["matrix"].tolist()[1:], strict=False):
        total = sum(k * value for k, value in enumerate(row)) + sum(row) - sum(below)
        for weight in (1, 10, 100):
            total += weight * (total % 3)
        out.append(total * 2 + 3)
    return {"out": np.array(out, np.int64)}


def expected_means(given):
    x = given["x"].astype(float)
    count = (x > 0).sum(axis=1)
    return {"out": np.where(count > 0, np.where(x > 0, x, 0).sum(axis=1) / np.maximum(count, 1), 0)}


def expected_digit_sums(given):
    sums = np.array([sum(map(int, str(n))) for n in given["numbers"]], np.int64)
    return {"sums": sums, "quotients": np.where(sums % 2 == 1, sums * 3, sums // 2)}


def one(name, kernel, inputs, expected, *kinds, rtol=0.0, simulator=True, threads=N):
    """Make a case of a single launch whose arguments are the inputs in their order."""
    return Case(
        name=name,
        inputs=inputs,
        launches=lambda given: [Launch(kernel, -(-threads // BLOCK), BLOCK, tuple(given))],
        expected=expected,
        kinds=("types", *kinds),
        rtol=rtol,
        simulator=simulator,
    )


CASES = [
    one(
        "division of whole numbers",
        floor_division,
        lambda rng: {
            "a": i32(rng),
            "b": nonzero(rng, np.int32),
            "quotients": blank(N, np.int32),
            "remainders": blank(N, np.int32),
            "exact": blank(N, np.float64),
        },
        lambda given: {
            "quotients": given["a"] // given["b"],
            "remainders": given["a"] % given["b"],
            "exact": given["a"] / given["b"],
        },
    ),
    one(
        "division of floats",
        float_division,
        lambda rng: {
            "a": whole(rng, N, -99, 99, np.float64) / 4,
            "b": nonzero(rng, np.float64) / 8,
            "quotients": blank(N, np.float64),
            "remainders": blank(N, np.float64),
        },
        lambda given: {
            "quotients": given["a"] // given["b"],
            "remainders": given["a"] % given["b"],
        },
        "float64",
    ),
    one(
        "shifts",
        shifts,
        lambda rng: {
            "x": i32(rng, -(10**6), 10**6),
            "left": blank(N, np.int64),
            "right": blank(N, np.int32),
            "masked": blank(N, np.int32),
        },
        lambda given: {
            "left": wide(given["x"]) << 20,
            "right": given["x"] >> 3,
            "masked": (given["x"] & 0xFF) | (given["x"] ^ 15) & ~7,
        },
        "bits",
        "int64",
        "wider than NumPy",
        simulator=False,  # it shifts within 32 bits
    ),
    one(
        "sums of int32",
        wide_sums,
        lambda rng: {
            "a": i32(rng, 2**30, 2**31 - 1),
            "b": i32(rng, 2**30, 2**31 - 1),
            "wide": blank(N, np.int64),
            "narrow": blank(N, np.int32),
            "middle": blank(N, np.int32),
        },
        lambda given: {
            "wide": wide(given["a"]) + given["b"],
            "narrow": (wide(given["a"]) + given["b"]).astype(np.int32),
            "middle": ((wide(given["a"]) + given["b"]) // 2).astype(np.int32),
        },
        "wrap",
        "int64",
        "wider than NumPy",
        simulator=False,  # it adds within 32 bits
    ),
    one(
        "int64 that wraps",
        wrapping_hash,
        lambda rng: {"x": rng.integers(0, 2**60, N), "out": blank(N, np.int64)},
        expected_hash,
        "wrap",
        "int64",
    ),
    one(
        "differences of uint32",
        unsigned_differences,
        lambda rng: {
            "a": rng.integers(0, 2**32, N).astype(np.uint32),
            "b": rng.integers(0, 2**32, N).astype(np.uint32),
            "out": blank(N, np.int64),
            "narrow": blank(N, np.uint32),
        },
        lambda given: {"out": wide(given["a"]) - wide(given["b"]), "narrow": given["a"] - given["b"]},
        "wrap",
        "int64",
        "wider than NumPy",
        simulator=False,  # it subtracts within 32 bits
    ),
    one(
        "hash in uint32",
        fnv_hash,
        lambda rng: {"text": whole(rng, (N, 6), 0, 256, np.uint8), "out": blank(N, np.uint32)},
        expected_fnv,
        "wrap",
        "bits",
        "uint8",
    ),
    one(
        "xorshift in uint32",
        xorshift,
        lambda rng: {"seeds": rng.integers(1, 2**32, N).astype(np.uint32), "out": blank(N, np.uint32)},
        expected_xorshift,
        "wrap",
        "bits",
    ),
    one(
        "int32 with float32",
        mixed,
        lambda rng: {
            "i32": i32(rng),
            "f32": real(rng, N),
            "product": blank(N, np.float64),
            "total": blank(N, np.float64),
            "scaled": blank(N, np.float64),
        },
        lambda given: {
            "product": given["i32"] * given["f32"].astype(float),
            "total": given["i32"] + given["f32"].astype(float),
            "scaled": given["f32"].astype(float) * 0.1 + 3,
        },
        "float64",
        "wider than NumPy",
        rtol=1e-15,
        simulator=False,  # it multiplies a float32 by 0.1 in single precision
    ),
    one(
        "chain in single precision",
        single_precision_chain,
        lambda rng: {"x": real(rng, N), "y": real(rng, 25), "out": blank(N)},
        expected_single_chain,
        "rounding",
    ),
    one(
        "chain in double precision",
        double_precision_chain,
        lambda rng: {"x": real(rng, N), "y": real(rng, 25), "out": blank(N)},
        expected_double_chain,
        "rounding",
        "wider than NumPy",
        simulator=False,  # it adds a float32 to a Python float in single precision
    ),
    one(
        "arithmetic of bytes",
        byte_arithmetic,
        lambda rng: {
            "a": whole(rng, N, 0, 256, np.uint8),
            "b": whole(rng, N, 0, 256, np.uint8),
            "stored": blank(N, np.uint8),
            "mean": blank(N, np.uint8),
            "inverse": blank(N, np.uint8),
        },
        lambda given: {
            "stored": given["a"] + given["b"],
            "mean": ((wide(given["a"]) + given["b"]) // 2).astype(np.uint8),
            "inverse": 255 - given["a"],
        },
        "wrap",
        "uint8",
        "wider than NumPy",
        simulator=False,  # it adds in bytes
    ),
    one(
        "stores into narrow arrays",
        small_stores,
        lambda rng: {
            "x": i32(rng, -(10**6), 10**6),
            "i8": blank(N, np.int8),
            "i16": blank(N, np.int16),
            "u8": blank(N, np.uint8),
            "u16": blank(N, np.uint16),
        },
        lambda given: {
            "i8": given["x"].astype(np.int8),
            "i16": given["x"].astype(np.int16),
            "u8": given["x"].astype(np.uint8),
            "u16": given["x"].astype(np.uint16),
        },
        "wrap",
        "int8",
        "uint8",
        "wider than NumPy",
        simulator=False,  # NumPy refuses numbers too large
    ),
    one(
        "casts",
        casts,
        lambda rng: {
            "x": np.where(rng.random(N) < 0.8, 100, 0.9) * rng.uniform(-1, 1, N),
            "whole_part": blank(N, np.int64),
            "narrow": blank(N, np.int32),
            "single": blank(N),
            "byte": blank(N, np.uint8),
            "again": blank(N, np.float64),
            "truth": np.zeros(N, np.bool_),
        },
        expected_casts,
        "bool",
        "uint8",
        "int64",
    ),
    one(
        "floats stored as whole numbers",
        store_float_as_int,
        lambda rng: {"x": real(rng, N), "out": blank(N, np.int32)},
        lambda given: {"out": np.trunc(given["x"].astype(float) * 8).astype(np.int32)},
        "rounding",
    ),
    one(
        "rounding",
        rounding,
        lambda rng: {
            "x": whole(rng, N, -99, 99, np.float64) / 4,
            "nearest": blank(N, np.int64),
            "cents": blank(N, np.float64),
            "down": blank(N, np.int64),
            "up": blank(N, np.int64),
            "cut": blank(N, np.int64),
        },
        lambda given: {
            "nearest": np.rint(given["x"]).astype(np.int64),
            "cents": np.array([round(x, 1) for x in given["x"].tolist()]),
            "down": np.floor(given["x"]).astype(np.int64),
            "up": np.ceil(given["x"]).astype(np.int64),
            "cut": np.trunc(given["x"]).astype(np.int64),
        },
        "rounding",
        "int64",
        "float64",
    ),
    one(
        "least and most",
        least_and_most,
        lambda rng: {"a": i32(rng, -9, 9), "b": whole(rng, N) / 2, "out": blank((N, 6), np.float64)},
        expected_least,
        "float64",
    ),
    one(
        "functions of float32",
        elementary_functions,
        lambda rng: {"x": rng.uniform(0.1, 3.5, N).astype(np.float32), "out": blank((N, 15))},
        expected_functions,
        "math",
        rtol=1e-6,
    ),
    one(
        "functions of float64",
        elementary_functions,
        lambda rng: {"x": rng.uniform(0.1, 3.5, N), "out": blank((N, 15), np.float64)},
        expected_functions,
        "math",
        "float64",
        rtol=1e-14,
    ),
    one(
        "further functions",
        further_functions,
        lambda rng: {"x": rng.uniform(0.1, 3.5, N), "out": blank((N, 12), np.float64)},
        expected_functions,
        "math",
        "float64",
        rtol=1e-14,
    ),
    one(
        "remainders of both kinds",
        remainders,
        lambda rng: {
            "x": whole(rng, N, -99, 99, np.float64) / 4,
            "y": nonzero(rng, np.float64) / 8,
            "out": blank((N, 2), np.float64),
        },
        lambda given: {
            "out": np.stack([np.fmod(given["x"], given["y"]), given["x"] % given["y"]], axis=1),
        },
        "math",
        "float64",
    ),
    one(
        "membership and assertions",
        classify,
        lambda rng: {"x": i32(rng, -9, 10), "out": blank(N, np.int32)},
        lambda given: {"out": np.where(np.isin(given["x"], (2, 3, 5, 7)), 1, -1).astype(np.int32)},
        "control flow",
        "tuple",
    ),
    one(
        "square roots in single precision",
        square_roots,
        lambda rng: {"x": rng.uniform(0, 9, N).astype(np.float32), "out": blank(N, np.float64)},
        lambda given: {"out": np.sqrt(given["x"]).astype(np.float64)},
        "math",
        "rounding",
        "wider than NumPy",
        simulator=False,  # `math.sqrt` works in double precision there
    ),
    one(
        "powers",
        powers,
        lambda rng: {"x": rng.uniform(0.5, 2, N), "n": i32(rng, 0, 9), "out": blank((N, 6), np.float64)},
        expected_powers,
        "math",
        "float64",
        rtol=1e-14,
    ),
    one(
        "NaN and infinity",
        special_values,
        lambda rng: {
            "x": rng.choice([1.5, -2.25, np.nan, np.inf, -np.inf], N),
            "kinds": blank(N, np.int32),
            "out": blank(N, np.float64),
        },
        expected_special,
        "math",
        "float64",
    ),
    one(
        "selp, fma and cbrt",
        intrinsics,
        lambda rng: {
            "a": real(rng, N, np.float64),
            "b": real(rng, N, np.float64),
            "c": real(rng, N, np.float64),
            "out": blank((N, 3), np.float64),
        },
        expected_intrinsics,
        "math",
        "float64",
        rtol=1e-14,
    ),
    one(
        "augmented assignments",
        augmented,
        lambda rng: {"x": i32(rng), "out": blank(N, np.int64)},
        expected_augmented,
        "int64",
        "bits",
    ),
    one(
        "truth tables",
        truth_tables,
        lambda rng: {"a": i32(rng, -5, 6), "b": i32(rng, -5, 6), "out": blank((N, 6), np.int32)},
        expected_truth,
        "control flow",
    ),
    one(
        "guards by short circuit",
        short_circuit,
        lambda rng: {"x": real(rng, N), "out": blank(N, np.int32)},
        expected_peaks,
        "control flow",
    ),
    one(
        "lengths of Collatz's sequences",
        collatz,
        lambda rng: {"starts": i32(rng, 1, 500), "steps": blank(N, np.int32)},
        lambda given: {"steps": np.array([collatz_steps(n) for n in given["starts"].tolist()], np.int32)},
        "control flow",
        "while",
    ),
    one(
        "first odd divisors",
        first_divisor,
        lambda rng: {"numbers": i32(rng, 3, 2000), "out": blank(N, np.int32)},
        expected_divisors,
        "control flow",
        "while",
    ),
    one(
        "primes",
        primes,
        lambda rng: {"out": blank(101, np.int8)},
        lambda given: {
            "out": np.array([n > 1 and all(n % d for d in range(2, n)) for n in range(101)], np.int8),
        },
        "control flow",
        "early return",
        "int8",
        threads=101,
    ),
    one(
        "loops with steps",
        stepped_loops,
        lambda rng: {
            "x": i32(rng),
            "forward": blank(40, np.int64),
            "backward": blank(40, np.int64),
            "triangle": blank(40, np.int64),
        },
        expected_steps,
        "control flow",
        "loop",
        "int64",
    ),
    one(
        "loops over arrays and tuples",
        loops_over_arrays,
        lambda rng: {"matrix": whole(rng, (40, 7), dtype=np.int64), "out": blank(39, np.int64)},
        expected_array_loops,
        "control flow",
        "loop",
        "tuple",
        "view",
        "int64",
    ),
    one(
        "flags that count",
        counted_flags,
        lambda rng: {"x": whole(rng, (40, 5), -9, 3), "out": blank(40, np.float64)},
        expected_means,
        "bool",
        "loop",
        "float64",
    ),
    one(
        "sums of digits",
        digit_sums,
        lambda rng: {
            "numbers": rng.integers(1, 10**9, N),
            "sums": blank(N, np.int64),
            "quotients": blank(N, np.int64),
        },
        expected_digit_sums,
        "control flow",
        "while",
        "tuple",
        "int64",
    ),
    one(
        "set bits by a loop",
        count_bits,
        lambda rng: {"x": rng.integers(0, 2**31, N).astype(np.int32), "out": blank(N, np.int32)},
        lambda given: {"out": np.array([int(x).bit_count() for x in given["x"]], np.int32)},
        "bits",
        "while",
    ),
    one(
        "scalars as arguments",
        scalar_arguments,
        lambda rng: {
            "out": blank(N, np.float64),
            "whole_number": 5,
            "real_number": 0.5,
            "single": np.float32(0.25),
            "flag": True,
        },
        lambda given: {"out": (5 + np.arange(N)) * 0.5 + 0.25},
        "float64",
        "bool",
    ),
    one(
        "signature with two dimensions",
        row_of_matrix,
        lambda rng: {"matrix": real(rng, (4, N), np.float64), "row": 2, "out": blank(N, np.float64)},
        lambda given: {"out": given["matrix"][2]},
        "signature",
        "float64",
    ),
    one(
        "signature of types",
        halve,
        lambda rng: {"x": real(rng, N), "out": blank(N)},
        lambda given: {"out": given["x"] / 2},
        "signature",
    ),
    Case(
        name="two signatures",
        inputs=lambda rng: {
            "a": i32(rng),
            "a2": blank(N, np.int32),
            "b": real(rng, N, np.float64),
            "b2": blank(N, np.float64),
        },
        launches=[Launch(double, 3, BLOCK, ("a", "a2")), Launch(double, 3, BLOCK, ("b", "b2"))],
        expected=lambda given: {"a2": 2 * given["a"], "b2": 2 * given["b"]},
        kinds=("types", "signature", "several launches"),
    ),
]
