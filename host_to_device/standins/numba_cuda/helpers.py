"""The functions that a rewritten kernel calls instead of atomics, bit operations and warp exchanges.

Between their waits, the threads of the stand-in run one after another, so a read followed by a write is atomic by
itself. These functions are plain Python; `compiled` has them compiled by Numba.
"""

from __future__ import annotations

import math

import numpy as np

from host_to_device.standins.numba_cuda.saturating import as_integer

WARP_SIZE = 32


def local(shape, dtype):
    """Return a thread's local array; its contents are undefined, as on a GPU."""
    return np.empty(shape, dtype)


def atomic_add(array, index, value):
    """Add `value` to `array[index]` and return the old value."""
    old = array[index]
    array[index] = old + value
    return old


def atomic_sub(array, index, value):
    old = array[index]
    array[index] = old - value
    return old


def atomic_and(array, index, value):
    old = array[index]
    array[index] = old & value
    return old


def atomic_or(array, index, value):
    old = array[index]
    array[index] = old | value
    return old


def atomic_xor(array, index, value):
    old = array[index]
    array[index] = old ^ value
    return old


def atomic_inc(array, index, value):
    """Count up to `value`, then start again at 0."""
    old = array[index]
    array[index] = old + 1 if old < value else 0
    return old


def atomic_dec(array, index, value):
    """Count down to 0, then start again at `value`; a number above `value` becomes `value` as well."""
    old = array[index]
    array[index] = value if old == 0 or old > value else old - 1
    return old


def atomic_exch(array, index, value):
    old = array[index]
    array[index] = value
    return old


def atomic_max(array, index, value):
    """Store the larger value; with a NaN on either side the result is that of CUDA's comparison."""
    old = array[index]
    if value > old:
        array[index] = value
    return old


def atomic_min(array, index, value):
    old = array[index]
    if value < old:
        array[index] = value
    return old


def atomic_nanmax(array, index, value):
    """Store the larger value; a NaN in the array is replaced."""
    old = array[index]
    if value > old or old != old:
        array[index] = value
    return old


def atomic_nanmin(array, index, value):
    old = array[index]
    if value < old or old != old:
        array[index] = value
    return old


def atomic_cas(array, index, old, value):
    """Store `value` if `array[index]` equals `old`, and return the old value."""
    found = array[index]
    if found == old:
        array[index] = value
    return found


def atomic_compare_and_swap(array, old, value):
    """Do what `atomic_cas` does, on element 0."""
    found = array[0]
    if found == old:
        array[0] = value
    return found


def popc(x):
    """Return the number of bits that are set; of a negative number, in two's complement of its width."""
    count = 0
    rest = np.uint64(x) if x >= 0 else np.uint64(x & 0xFFFFFFFF)
    while rest:
        rest &= rest - np.uint64(1)
        count += 1
    return count


def brev(x):
    """Return x with its 32 bits in reverse order."""
    rest, reverse = x & 0xFFFFFFFF, 0
    for _ in range(32):
        reverse = (reverse << 1) | (rest & 1)
        rest >>= 1
    return reverse


def clz(x):
    """Return the number of zeros before the first set bit of 32."""
    rest, count = x & 0xFFFFFFFF, 32
    while rest:
        rest >>= 1
        count -= 1
    return count


def ffs(x):
    """Return the position of the lowest set bit, counted from 1; 0 if there is none."""
    if x == 0:
        return 0
    rest, position = x & 0xFFFFFFFF, 1
    while not rest & 1:
        rest >>= 1
        position += 1
    return position


def fma(a, b, c):
    """Return a * b + c. A GPU rounds once; here float32 is rounded once, float64 twice."""
    return a * b + c


def selp(condition, one, other):
    """Return `one` if the condition holds, else `other`; both are computed before."""
    return one if condition else other


def cbrt(x):
    return math.copysign(abs(x) ** (1 / 3), x)


# One thread's result of a warp operation, from the values of the warp's threads. `values` has one value for each
# thread of the block; `first` is the warp's first thread, `lane` this thread's lane, and `present` the number of
# threads in the block.


def take_shfl_sync(values, first, lane, present, mask, value, source):
    other = first + source % WARP_SIZE
    return values[other] if other < present else value


def take_shfl_up_sync(values, first, lane, present, mask, value, delta):
    return values[first + lane - delta] if lane >= delta else value


def take_shfl_down_sync(values, first, lane, present, mask, value, delta):
    other = first + lane + delta
    return values[other] if lane + delta < WARP_SIZE and other < present else value


def take_shfl_xor_sync(values, first, lane, present, mask, value, pattern):
    other = first + (lane ^ pattern)
    return values[other] if other < present else value


def take_ballot_sync(values, first, lane, present, mask, value):
    bits = 0
    for k in range(WARP_SIZE):
        if first + k < present and (mask >> k) & 1 and values[first + k]:
            bits |= 1 << k
    return signed(bits)


def take_all_sync(values, first, lane, present, mask, value):
    for k in range(WARP_SIZE):
        if first + k < present and (mask >> k) & 1 and not values[first + k]:
            return False
    return True


def take_any_sync(values, first, lane, present, mask, value):
    for k in range(WARP_SIZE):
        if first + k < present and (mask >> k) & 1 and values[first + k]:
            return True
    return False


def take_eq_sync(values, first, lane, present, mask, value):
    for k in range(WARP_SIZE):
        if first + k < present and (mask >> k) & 1 and bool(values[first + k]) != bool(value):
            return False
    return True


def take_match_any_sync(values, first, lane, present, mask, value):
    bits = 0
    for k in range(WARP_SIZE):
        if first + k < present and (mask >> k) & 1 and values[first + k] == value:
            bits |= 1 << k
    return signed(bits)


def take_match_all_sync(values, first, lane, present, mask, value):
    for k in range(WARP_SIZE):
        if first + k < present and (mask >> k) & 1 and values[first + k] != value:
            return 0, False
    return signed(mask & ((1 << WARP_SIZE) - 1)), True


def take_activemask(values, first, lane, present, mask, value):
    """Return the mask of the lanes that have come to the same place."""
    bits = 0
    for k in range(WARP_SIZE):
        if first + k < present and (mask >> k) & 1 and values[first + k]:
            bits |= 1 << k
    return bits


def laneid(thread):
    """Return the lane of a thread from its number in the block."""
    return thread % WARP_SIZE


def lanemask_lt(thread):
    """Return the mask of the lanes before this one."""
    return (1 << thread % WARP_SIZE) - 1


def floor(x):
    return np.floor(x)


def ceil(x):
    return np.ceil(x)


def trunc(x):
    return np.trunc(x)


def signed(bits):
    """Return 32 bits as a signed number, the result type of CUDA's votes."""
    return bits - (1 << 32) if bits >> 31 else bits


def as_stored(array, value):
    """Return a value as it is stored in an array: integers wrap, floats saturate."""
    dtype = array.dtype
    if (
        type(value) is int and 0 <= value < 128 and dtype.kind in "iu"
    ):  # the most frequent, and it never wraps
        return value
    return as_integer(value, dtype) if dtype.kind in "iu" else dtype.type(value)


def of_array_type(atomic):
    """Return an atomic helper that first converts its values to the array's type, for the interpreter."""
    if atomic is atomic_compare_and_swap:

        def call(array, old, value):
            return atomic(array, as_stored(array, old), as_stored(array, value))

    elif atomic is atomic_cas:

        def call(array, index, old, value):
            return atomic(array, index, as_stored(array, old), as_stored(array, value))

    else:

        def call(array, index, value):
            return atomic(array, index, as_stored(array, value))

    call.__name__ = atomic.__name__
    return call


def fence():
    """Do nothing: each thread sees the writes of earlier ones anyway."""


def fence_block():
    """Do nothing, as `fence`."""


KERNEL_HELPERS = (
    *(laneid, lanemask_lt, floor, ceil, trunc, fence, fence_block),
    *(local, atomic_add, atomic_sub, atomic_and, atomic_or, atomic_xor, atomic_inc, atomic_dec, atomic_exch),
    *(atomic_max, atomic_min, atomic_nanmax, atomic_nanmin, atomic_cas, atomic_compare_and_swap),
    *(popc, brev, clz, ffs, fma, cbrt, selp),
)
TAKERS = (
    *(take_shfl_sync, take_shfl_up_sync, take_shfl_down_sync, take_shfl_xor_sync),
    *(take_ballot_sync, take_all_sync, take_any_sync, take_eq_sync, take_match_any_sync, take_match_all_sync),
    take_activemask,
)
