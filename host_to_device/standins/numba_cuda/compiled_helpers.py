"""The compiled helpers of kernels, imported by the modules that `compiling` writes.

Numba compiles each helper for the CPU and for the types of its arguments, with CUDA's rules: a division by zero is
not an error, and integers wrap.
"""

from __future__ import annotations

import math
import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed, impl_ret_new_ref, lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, overload, register_jitable
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

from host_to_device.standins.numba_cuda import declarations, helpers, signatures
from host_to_device.standins.numba_cuda.errors import DIVIDED_IN_PLACE, Disagreement, KernelStopped

OPTIONS = {"error_model": "numpy", "boundscheck": True, "nogil": True}

# The element types that Numba's CUDA atomics accept.
WIDE = (types.int32, types.int64, types.uint32, types.uint64)
ATOMIC_TYPES = {
    "atomic_add": (*WIDE, types.float32, types.float64),
    "atomic_sub": (*WIDE, types.float32, types.float64),
    **dict.fromkeys(("atomic_and", "atomic_or", "atomic_xor", "atomic_exch"), WIDE),
    **dict.fromkeys(("atomic_inc", "atomic_dec"), (types.uint32, types.uint64)),
    **dict.fromkeys(
        ("atomic_max", "atomic_min", "atomic_nanmax", "atomic_nanmin"), (*WIDE, types.float32, types.float64)
    ),
    "atomic_cas": WIDE,
    "atomic_compare_and_swap": WIDE,
}


def _atomic(name):
    """Return the helper as a function that accepts only arrays of CUDA's atomic types."""
    plain, allowed = njit(**OPTIONS)(getattr(helpers, name)), ATOMIC_TYPES[name]
    public = {"atomic_and": "atomic.and_", "atomic_or": "atomic.or_"}.get(name, name.replace("_", ".", 1))

    def stub(*arguments):
        raise NotImplementedError

    def kind_of(array):
        """Return the type to which every value is converted first, as the signatures of Numba's atomics do."""
        if not isinstance(array, types.Array):
            raise TypingError(f"cuda.{public}() takes an array, but got {array}")
        if array.dtype not in allowed:
            raise TypingError(
                f"cuda.{public}() is not defined for arrays of {array.dtype}: "
                f"use {', '.join(str(each) for each in allowed)}"
            )
        return array.dtype

    if name == "atomic_compare_and_swap":

        def typed(array, old, value):
            kind = kind_of(array)
            return lambda array, old, value: plain(array, kind(old), kind(value))

        def call(array, old, value):
            return stub(array, old, value)

    elif name == "atomic_cas":

        def typed(array, index, old, value):
            kind = kind_of(array)
            return lambda array, index, old, value: plain(array, index, kind(old), kind(value))

        def call(array, index, old, value):
            return stub(array, index, old, value)

    else:

        def typed(array, index, value):
            kind = kind_of(array)
            return lambda array, index, value: plain(array, index, kind(value))

        def call(array, index, value):
            return stub(array, index, value)

    overload(stub, jit_options=OPTIONS)(typed)
    return njit(**OPTIONS)(call)


@intrinsic
def _fma(typingctx, a, b, c):
    """Return a * b + c, rounded once."""
    kind = types.float32 if a == b == c == types.float32 else types.float64

    def codegen(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return kind(kind, kind, kind), codegen


@intrinsic
def _remainder_of_division(typingctx, x, y):
    """Return x - n * y for the whole number n that rounds x / y towards zero: C's fmod."""
    kind = types.float32 if x == y == types.float32 else types.float64

    def codegen(context, builder, signature, arguments):
        return builder.frem(*arguments)

    return kind(kind, kind), codegen


# Functions of `math` that Numba has for CUDA and not for the CPU.


@overload(math.fmod)
def _fmod(x, y):
    return lambda x, y: _remainder_of_division(x, y)


@overload(math.modf)
def _modf(x):
    zero = np.float32(0) if x == types.float32 else np.float64(0)

    def modf(x):
        whole = np.trunc(x)
        return math.copysign(zero if math.isinf(x) else x - whole, x), whole

    return modf


@overload(math.remainder)
def _remainder(x, y):
    def remainder(x, y):
        rest, half = _remainder_of_division(abs(x), abs(y)), abs(y) / 2
        if rest > half or (rest == half and _remainder_of_division(abs(x) - rest, 2 * abs(y)) != 0):
            rest -= abs(y)
        return -rest if x < 0 else rest

    return remainder


# Python's `max` and `min`, which Numba has for CUDA without a bool beside a number.


def larger(*values):
    raise NotImplementedError


def smaller(*values):
    raise NotImplementedError


def _without_mixed_bools(own, builtin):
    @infer_global(own)
    class Template(AbstractTemplate):
        key = own

        def generic(self, args, kws):
            bools = [isinstance(each, types.Boolean) for each in args]
            if any(bools) and not all(bools):
                kinds = ", ".join(str(types.unliteral(each)) for each in args)
                raise TypingError(
                    f"{builtin.__name__}() of a bool and a number: {kinds}. Write int(condition)"
                )
            return self.context.resolve_function_type(builtin, args, kws)

    @lower_builtin(own, types.VarArg(types.Any))
    def lower(context, builder, signature, arguments):
        found = context.get_function(context.typing_context.resolve_value_type(builtin), signature)
        return found(builder, arguments)


def rounded(x, ndigits=None):
    raise NotImplementedError


@overload(rounded, jit_options=OPTIONS)
def _rounded(x, ndigits=None):
    """Round to digits as numba-cuda does: a float32 is multiplied in float64, so it is seldom half-way."""
    if ndigits is None or isinstance(ndigits, types.Omitted | types.NoneType):
        return lambda x, ndigits=None: round(x)
    if not isinstance(x, types.Float):
        return lambda x, ndigits=None: round(x, ndigits)

    def to_digits(x, ndigits=None):
        if math.isinf(x) or math.isnan(x):
            return x
        more = 10.0 ** (ndigits - 22) if ndigits > 22 else 1.0
        factor = 10.0 ** min(abs(ndigits), 22)
        y = x * factor * more if ndigits >= 0 else x / (10.0 ** (-ndigits))
        if math.isinf(y):
            return x
        z = np.rint(y)
        if ndigits >= 0:
            return x_type(z / more / factor)
        return x_type(z * (10.0 ** (-ndigits)))

    x_type = x
    return to_digits


def divisor(value, target):
    raise NotImplementedError


@overload(divisor, jit_options=OPTIONS)
def _divisor(value, target):
    """Return the value of `target /= value`, unless both are integers."""
    if all(
        isinstance(each, types.Integer | types.Boolean | types.IntegerLiteral) for each in (value, target)
    ):
        raise TypingError(DIVIDED_IN_PLACE)
    return lambda value, target: value


_without_mixed_bools(larger, max)
_without_mixed_bools(smaller, min)


# Device functions with a signature.


def _cast(context, builder, value, found, kind):
    return impl_ret_borrowed(context, builder, kind, context.cast(builder, value, found, kind))


@intrinsic(prefer_literal=True)
def as_declared(typingctx, given, declared, number):
    """Return one of a device function's arguments in the type that its signature gives it."""
    if not isinstance(declared, types.StringLiteral):
        return None  # Numba asks again without literals after a refusal
    found = tuple(types.unliteral(each) for each in given.types)
    chosen = signatures.choose(typingctx, declarations.DECLARED[declared.literal_value], found)
    kind = chosen.args[number.literal_value]

    def codegen(context, builder, signature, arguments):
        place = number.literal_value
        value = builder.extract_value(arguments[0], place)
        return _cast(context, builder, value, signature.args[0].types[place], kind)

    return kind(given, declared, number), codegen


@intrinsic(prefer_literal=True)
def result_as_declared(typingctx, value, given, declared):
    """Return a device function's result in the type that its signature gives it."""
    if not isinstance(declared, types.StringLiteral):
        return None
    found = tuple(types.unliteral(each) for each in given.types)
    chosen = signatures.choose(typingctx, declarations.DECLARED[declared.literal_value], found)
    kind = chosen.return_type or types.unliteral(value)
    if typingctx.can_convert(value, kind) is None:
        raise TypingError(f"No conversion from {types.unliteral(value)} to {kind}, which its signature says")

    def codegen(context, builder, signature, arguments):
        return _cast(context, builder, arguments[0], signature.args[0], kind)

    return kind(value, given, declared), codegen


@intrinsic(prefer_literal=True)
def of_shape(typingctx, array, shape):
    """Return a C-contiguous array whose shape the compiler then knows, from a text such as "16,16".

    Comparisons of an index with a known length cost less, and most of them nothing.
    """
    if not isinstance(shape, types.StringLiteral):
        return None
    sizes = [int(size) for size in shape.literal_value.split(",")]

    def codegen(context, builder, signature, arguments):
        kind = signature.args[0]
        make, word = context.make_array(kind), ir.IntType(64)
        given, found = make(context, builder, arguments[0]), make(context, builder)
        item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        steps = [item * math.prod(sizes[place + 1 :]) for place in range(len(sizes))]
        for name in ("meminfo", "parent", "data"):
            setattr(found, name, getattr(given, name))
        found.nitems, found.itemsize = word(math.prod(sizes)), word(item)
        found.shape = cgutils.pack_array(builder, [word(size) for size in sizes])
        found.strides = cgutils.pack_array(builder, [word(step) for step in steps])
        return impl_ret_borrowed(context, builder, kind, found._getvalue())

    return array(array, shape), codegen


@intrinsic(prefer_literal=True)
def of_threads(typingctx, count, dtype):
    """Return an array of `count` elements as `np.empty` does, which would take Numba longer to compile.

    Parameters
    ----------
    count
        How many elements.
    dtype
        The text of a dtype, a literal.
    """
    if not isinstance(dtype, types.StringLiteral):
        return None
    kind = types.Array(from_dtype(np.dtype(dtype.literal_value)), 1, "C")

    def codegen(context, builder, signature, arguments):
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        item, found = ir.IntType(64)(size), context.make_array(kind)(context, builder)
        meminfo = context.nrt.meminfo_alloc_aligned(builder, builder.mul(arguments[0], item), 64)
        data = builder.bitcast(context.nrt.meminfo_data(builder, meminfo), found.data.type)
        populate_array(found, data, (arguments[0],), (item,), item, meminfo)
        return impl_ret_new_ref(context, builder, kind, found._getvalue())

    return kind(types.int64, dtype), codegen


@intrinsic
def stopped(typingctx, stop):
    """Return whether the launch must stop. A kernel's loops call this in every iteration.

    Element 0 of an int64 array is read from memory each time: another thread may have written it.
    """

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(data, ir.IntType(64).as_pointer())
        found = builder.load_atomic(pointer, "monotonic", 8)
        return builder.icmp_signed("!=", found, ir.IntType(64)(0))

    return types.boolean(stop), codegen


@njit(**OPTIONS)
def fma(a, b, c):
    return _fma(a, b, c)


@njit(**OPTIONS)
def fence():
    pass


fence_block = fence


@njit(**OPTIONS)
def selp(condition, one, other):
    return one if condition else other


@njit(**OPTIONS)
def cbrt(x):
    return np.cbrt(x)


def _bits(name):
    """Return a bit operation for 32-bit and 64-bit integers, as wide as its argument."""
    stub = lambda x: None  # noqa: E731

    @overload(stub)
    def choose(x):
        if not isinstance(x, types.Integer):
            raise TypingError(f"cuda.{name}() takes an integer, but got {x}")
        width = 64 if x.bitwidth > 32 else 32
        mask = (1 << width) - 1

        def popc(x):
            rest, count = types.uint64(x) & types.uint64(mask), types.int32(0)
            while rest:
                rest &= rest - types.uint64(1)
                count += types.int32(1)
            return same(count)

        def brev(x):
            rest, reverse = types.uint64(x) & types.uint64(mask), types.uint64(0)
            for _ in range(width):
                reverse = (reverse << types.uint64(1)) | (rest & types.uint64(1))
                rest >>= types.uint64(1)
            return unsigned(reverse)

        def clz(x):
            rest, count = types.uint64(x) & types.uint64(mask), width
            while rest:
                rest >>= types.uint64(1)
                count -= 1
            return same(count)

        def ffs(x):
            rest, position = types.uint64(x) & types.uint64(mask), 1
            if rest == types.uint64(0):
                return unsigned(0)
            while (rest & types.uint64(1)) == types.uint64(0):
                rest >>= types.uint64(1)
                position += 1
            return unsigned(position)

        # The results have the types of CUDA's functions, as Numba gives them.
        unsigned = types.uint64 if width == 64 else types.uint32
        same = (types.int64 if width == 64 else types.int32) if x.signed else unsigned
        return {"popc": popc, "brev": brev, "clz": clz, "ffs": ffs}[name]

    @njit(**OPTIONS)
    def call(x):
        return stub(x)

    return call


popc, brev, clz, ffs = (_bits(name) for name in ("popc", "brev", "clz", "ffs"))


@njit(**OPTIONS)
def laneid(thread):
    return np.int32(thread % helpers.WARP_SIZE)


@njit(**OPTIONS)
def lanemask_lt(thread):
    return np.uint32((1 << thread % helpers.WARP_SIZE) - 1)


def _power():
    """Return `a ** b`. For integers numba-cuda's function returns a float64, so a large power is rounded to one."""
    stub = lambda a, b: None  # noqa: E731

    @overload(stub, jit_options=OPTIONS)
    def choose(a, b):
        if not isinstance(a, types.Integer) or not isinstance(b, types.Integer):
            return lambda a, b: a**b
        kind, most = (types.int64, 2**63 - 1) if a.signed or b.signed else (types.uint64, 2**64 - 1)
        limit = np.float64(most)  # rounds up to the power of two that no longer fits

        def of_integers(a, b):
            power = np.float64(a**b)
            return kind(most) if power >= limit else kind(power)

        return of_integers

    return njit(**OPTIONS)(lambda a, b: stub(a, b))


power = _power()


def _whole(name):
    """Return CUDA's `math.floor`, `ceil` or `trunc`: the result for a float has the float's own type."""
    rounded = getattr(np, name)
    stub = lambda x: None  # noqa: E731

    @overload(stub)
    def choose(x):
        if isinstance(x, types.Float):
            return lambda x: rounded(x)
        return lambda x: np.float64(x)

    return njit(**OPTIONS)(lambda x: stub(x))


floor, ceil, trunc = (_whole(name) for name in ("floor", "ceil", "trunc"))


def _as_whole():
    """Return the conversion of a whole float to an integer of its width, as numba_cuda_mlir's `math.floor` gives it."""
    stub = lambda x: None  # noqa: E731

    @overload(stub)
    def choose(x):
        kind = types.int32 if x == types.float32 else types.int64
        return lambda x: kind(x)

    return njit(**OPTIONS)(lambda x: stub(x))


as_whole = _as_whole()


def _bitwise(operation):
    """Return numba_cuda_mlir's `&`, `|` or `^`, whose result is as wide as the wider operand (`successor_types`)."""
    stub = lambda a, b: None  # noqa: E731

    @overload(stub, jit_options=OPTIONS)
    def choose(a, b):
        if (
            not all(isinstance(each, types.Integer | types.Boolean) for each in (a, b))
            or a == b == types.boolean
        ):
            return lambda a, b: operation(a, b)
        width = max(getattr(each, "bitwidth", 8) for each in (a, b))
        signed = any(getattr(each, "signed", True) for each in (a, b))
        kind = getattr(types, f"{'' if signed else 'u'}int{width}")
        return lambda a, b: kind(operation(a, b))

    return njit(**OPTIONS)(lambda a, b: stub(a, b))


bit_and, bit_or, bit_xor = (_bitwise(each) for each in (operator.and_, operator.or_, operator.xor))


@njit(**OPTIONS)
def lanes_alive(alive, first):
    """Return the mask of the lanes of a warp that have not left the kernel; `first` is its first thread."""
    bits = 0
    for k in range(helpers.WARP_SIZE):
        if first + k < len(alive) and alive[first + k]:
            bits |= 1 << k
    return bits


@njit(**OPTIONS)
def syncthreads_count(values, alive):
    """Return how many of the threads that have not ended have a value other than zero."""
    count = np.int32(0)
    for k in range(len(values)):
        if alive[k] and values[k]:
            count += np.int32(1)
    return np.int32(count)


@njit(**OPTIONS)
def syncthreads_and(values, alive):
    for k in range(len(values)):
        if alive[k] and not values[k]:
            return np.int32(0)
    return np.int32(1)


@njit(**OPTIONS)
def syncthreads_or(values, alive):
    for k in range(len(values)):
        if alive[k] and values[k]:
            return np.int32(1)
    return np.int32(0)


@njit(**OPTIONS)
def anybody(alive):
    """Return whether a thread of the block has not ended."""
    for k in range(len(alive)):
        if alive[k]:
            return True
    return False


@njit(**OPTIONS)
def agreement(values, alive):
    """Return the value of all threads.

    Raises
    ------
    Disagreement
        If the threads have different values.
    """
    first = values[0]
    found = False
    for k in range(len(values)):
        if alive[k]:
            if not found:
                first, found = values[k], True
            elif values[k] != first:
                raise Disagreement()
    return first


ATOMICS = {name: _atomic(name) for name in ATOMIC_TYPES}
register_jitable(helpers.signed)
TAKERS = {taker.__name__: njit(**OPTIONS)(taker) for taker in helpers.TAKERS}


def _with_mask(name, kind):
    """Return a warp operation whose result is a mask of this type, as Numba's are on CUDA."""
    plain = TAKERS[name]

    @njit(**OPTIONS)
    def take(values, first, lane, present, mask, value):
        return kind(plain(values, first, lane, present, mask, value))

    return take


def _pair_with_int32(name):
    plain = TAKERS[name]

    @njit(**OPTIONS)
    def take(values, first, lane, present, mask, value):
        bits, same = plain(values, first, lane, present, mask, value)
        return np.int32(bits), same

    return take


TAKERS |= {name: _with_mask(name, np.int32) for name in ("take_ballot_sync", "take_match_any_sync")}
TAKERS["take_activemask"] = _with_mask("take_activemask", np.uint32)
TAKERS["take_match_all_sync"] = _pair_with_int32("take_match_all_sync")
globals().update(ATOMICS, **TAKERS)

__all__ = ["OPTIONS", "Disagreement", "KernelStopped", "stopped"]
