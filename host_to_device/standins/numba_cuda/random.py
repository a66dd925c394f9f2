"""Random numbers in kernels: the generator of `numba.cuda.random`, with the same streams bit for bit.

The algorithms are xoroshiro128+ (as first published in 2016, with rotations and shift 55, 14, 36) and, for the
first state, splitmix64. Sources: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators",
ACM Transactions on Mathematical Software 47 (2021), https://doi.org/10.1145/3460772, and their public-domain
reference programs at https://prng.di.unimi.it/; G. L. Steele Jr., D. Lea and C. H. Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014, https://doi.org/10.1145/2660193.2660195.

The functions that a thread calls run in two ways: compiled by Numba, and as plain Python on NumPy's scalars. That is
why every constant is a `np.uint64`, and why a 64-bit sum is computed in two halves: NumPy warns when a sum of scalars
overflows, although these sums are meant to.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.allocation import device_array
from host_to_device.standins.numba_cuda.memory import DeviceNDArray
from host_to_device.standins.numba_cuda.streams import Stream

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)

BITS = 64
_ONE, _HALF, _LOW_HALF = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
_BITS, _ROTATE_S0, _SHIFT_S1, _ROTATE_S1 = np.uint64(BITS), np.uint64(55), np.uint64(14), np.uint64(36)
_JUMP = (np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922))
_BELOW_DOUBLE, _DOUBLE_STEP = np.uint64(11), np.float64(2.0**-53)  # a double keeps 53 of 64 bits
_TWO_PI_32, _TWO_PI_64 = np.float32(2 * math.pi), np.float64(2 * math.pi)
_MINUS_TWO_32, _MINUS_TWO_64 = np.float32(-2), np.float64(-2)


# The functions that a thread calls, compiled or interpreted


def add_uint64(a, b):
    """Return a + b modulo 2**64; all three are uint64."""
    low = (a & _LOW_HALF) + (b & _LOW_HALF)
    high = (a >> _HALF) + (b >> _HALF) + (low >> _HALF)
    return (high << _HALF) | (low & _LOW_HALF)


def rotate_left(x, k):
    """Return the uint64 `x` rotated left by `k` bits, 1 to 63, a uint64."""
    return (x << k) | (x >> (_BITS - k))


def xoroshiro128p_next(states, index):
    """Return the next random uint64 of generator `index`, and advance it.

    Parameters
    ----------
    states
        One-dimensional array of `xoroshiro128p_dtype`.
    index
        Which generator, an integer.
    """
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    result = add_uint64(s0, s1)
    s1 = s1 ^ s0
    states[index]["s0"] = rotate_left(s0, _ROTATE_S0) ^ s1 ^ (s1 << _SHIFT_S1)
    states[index]["s1"] = rotate_left(s1, _ROTATE_S1)
    return result


def xoroshiro128p_jump(states, index):
    """Advance generator `index` by 2**64 steps; parameters as for `xoroshiro128p_next`."""
    s0 = _ONE ^ _ONE
    s1 = _ONE ^ _ONE
    for half in range(2):
        for bit in range(BITS):
            if _JUMP[half] & (_ONE << np.uint64(bit)):
                s0 = s0 ^ states[index]["s0"]
                s1 = s1 ^ states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


def uint64_to_unit_float64(x):
    """Return the upper 53 bits of a uint64 as a float64 from 0.0 to below 1.0."""
    return np.float64(x >> _BELOW_DOUBLE) * _DOUBLE_STEP


def uint64_to_unit_float32(x):
    """Return a uint64 as a float32 from 0.0 to 1.0: about one in 2**25 is rounded up to 1.0, as in Numba."""
    return np.float32(uint64_to_unit_float64(x))


def xoroshiro128p_uniform_float32(states, index):
    """Return a random float32 from 0.0 to 1.0, and advance generator `index` by one step."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


def xoroshiro128p_uniform_float64(states, index):
    """Return a random float64 from 0.0 to below 1.0, and advance generator `index` by one step."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


def xoroshiro128p_normal_float32(states, index):
    """Return a normal float32 of mean 0 and deviation 1 (Box-Muller), and advance by two steps."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    radius = np.float32(math.sqrt(_MINUS_TWO_32 * np.float32(math.log(u1))))
    return radius * np.float32(math.cos(_TWO_PI_32 * u2))


def xoroshiro128p_normal_float64(states, index):
    """Return a normal float64 of mean 0 and deviation 1 (Box-Muller), and advance by two steps.

    It is computed from two float32 numbers, as in Numba, so it is no finer than `xoroshiro128p_normal_float32`.
    """
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    radius = math.sqrt(_MINUS_TWO_64 * np.float64(np.float32(math.log(u1))))
    return np.float64(radius * math.cos(_TWO_PI_64 * np.float64(u2)))


# In an order in which each function calls only earlier ones.
DEVICE_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    add_uint64,
    rotate_left,
    xoroshiro128p_next,
    xoroshiro128p_jump,
    uint64_to_unit_float64,
    uint64_to_unit_float32,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
)


@cache
def compiled() -> dict[str, Callable[..., Any]]:
    """Return the device functions by name, compiled by `numba.njit` to call each other's compiled forms.

    Raises
    ------
    ImportError
        If Numba is not installed.
    """
    from numba import njit

    names = dict(globals())
    for function in DEVICE_FUNCTIONS:
        names[function.__name__] = njit(FunctionType(function.__code__, names, function.__name__))
    return {function.__name__: names[function.__name__] for function in DEVICE_FUNCTIONS}


def __getattr__(name: str) -> Any:
    if name == "xoroshiro128p_type":
        from numba import from_dtype

        return from_dtype(xoroshiro128p_dtype)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Making the states, on the host, without Numba. Generator i is generator i - 1 after a jump. A jump is linear over the
# field of two elements: a matrix of 128 × 128 bits. So k jumps are one matrix as well, and that matrix makes the next k
# states from the first k, which doubles their number.

# 128 states, shape (128, 2): the matrix's result for each of the 128 bits of (s0, s1).
Matrix = np.ndarray


def splitmix64(seed: int) -> int:
    """Return the first number of splitmix64 for a seed; both are modulo 2**64."""
    whole = 2**BITS
    z = (seed + 0x9E3779B97F4A7C15) % whole
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % whole
    z = (z ^ z >> 27) * 0x94D049BB133111EB % whole
    return z ^ z >> 31


def jump_matrix() -> Matrix:
    """Return the matrix of one jump, by which xoroshiro128+ advances 2**64 steps."""
    bits = np.left_shift(_ONE, np.arange(BITS, dtype=np.uint64))
    s0 = np.concatenate([bits, np.zeros_like(bits)])
    s1 = np.roll(s0, BITS)
    result = np.zeros((2 * BITS, 2), np.uint64)
    for word in _JUMP:
        for bit in range(BITS):
            if int(word) >> bit & 1:
                result ^= np.stack([s0, s1], axis=1)
            s1 = s1 ^ s0
            s0 = rotate_left(s0, _ROTATE_S0) ^ s1 ^ (s1 << _SHIFT_S1)
            s1 = rotate_left(s1, _ROTATE_S1)
    return result


def apply(matrix: Matrix, states: np.ndarray) -> np.ndarray:
    """Return the product of the matrix with each state.

    Parameters
    ----------
    matrix
        Shape (128, 2), uint64.
    states
        Shape (n, 2), uint64: s0 and s1.

    Returns
    -------
    ndarray
        Shape (n, 2), uint64.
    """
    # A table of 256 entries for each of the 16 bytes of a state; byte b of a word is bits 8 b to 8 b + 7.
    tables = np.zeros((16, 256, 2), np.uint64)
    for bit, column in enumerate(matrix.reshape(16, 8, 2).swapaxes(0, 1)):
        tables[:, 1 << bit : 2 << bit] = tables[:, : 1 << bit] ^ column[:, None]
    octets = np.ascontiguousarray(states, "<u8").view(np.uint8)
    result = np.zeros_like(states)
    for table, octet in zip(tables, octets.T, strict=True):
        result ^= table[octet]
    return result


def states_on_host(n: int, seed: int, subsequence_start: int = 0) -> np.ndarray:
    """Return the states of `n` generators, each 2**64 steps after the previous one.

    Parameters
    ----------
    n
        Number of states.
    seed
        Integer, taken modulo 2**64.
    subsequence_start
        How many times 2**64 steps the first one has advanced, 0 or more.

    Returns
    -------
    ndarray
        Shape (n,), `xoroshiro128p_dtype`.

    Raises
    ------
    TypeError
        If seed or start is no integer.
    ValueError
        If the start is negative.
    """
    start = operator.index(subsequence_start)
    if start < 0:
        raise ValueError(f"subsequence_start is {start}: give 0 or more")
    states = np.full((1, 2), splitmix64(operator.index(seed)), np.uint64)
    jumps = jump_matrix()
    power = jumps
    while start:
        if start & 1:
            states = apply(power, states)
        power, start = apply(power, power), start >> 1
    while len(states) < n:
        states = np.concatenate([states, apply(jumps, states[: n - len(states)])])
        jumps = apply(jumps, jumps)
    return states[:n].copy().view(xoroshiro128p_dtype).reshape(n)


def init_xoroshiro128p_states(
    states: DeviceNDArray, seed: int, subsequence_start: int = 0, stream: Stream | int = 0
) -> None:
    """Fill a device array with the states of independent generators.

    Parameters
    ----------
    states
        One-dimensional device array of `xoroshiro128p_dtype`.
    seed, subsequence_start
        As for `states_on_host`.
    stream
        Stream that the copy goes into, or 0.

    Raises
    ------
    TypeError, ValueError
        As `states_on_host`, or if the array has another dtype or number of axes.
    """
    (n,) = states.shape
    states.copy_to_device(states_on_host(n, seed, subsequence_start), stream=stream)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Stream | int = 0
) -> DeviceNDArray:
    """Return a new device array with the states of `n` independent generators.

    Parameters and errors are those of `init_xoroshiro128p_states`; the array has shape (n,) and dtype
    `xoroshiro128p_dtype`.
    """
    states = device_array(n, dtype=xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states
