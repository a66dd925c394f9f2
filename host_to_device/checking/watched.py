"""Loads, stores and atomics for compiled kernels under watch: each compares itself with earlier accesses.

The rule is the one in `memory`, without warp operations and fences. A cell is a row of numbers:

    generation, last write (access, epoch), last read (…), last read by another thread (…), last read by another
    block (…), last atomic (…), written

where `access` packs the block's number plus one, the thread's number and the site. A generation other than the
block's means that the cell is untouched. `stop` holds the numbers of the launch, at the places named below.
"""

# Numba compiles these functions: their arguments have its types, which annotations cannot name.
# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from host_to_device.standins.numba_cuda import compiled_helpers as compiled
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped

# Nothing here allocates, so Numba's runtime, which counts references, can be left out.
OPTIONS: Any = {"error_model": "numpy", "nogil": True, "_nrt": False}

# Places in `stop`.
BLOCK, TURN, EPOCH, GENERATION, ACCESSES, FAULTS, MOST, LAST, BEFORE, TURN_BEGAN, REPEATED = range(1, 12)
NUMBERS = 12
# Columns of `ranges`, one row an allocation: its bytes, its cells, bytes a cell, whether it begins unwritten, and
# where the bytes are that fill it (-1: it keeps what the previous block has left).
START, END, FIRST_CELL, UNIT, FRESH, FILL = range(6)
# Columns of a cell.
CELL_GENERATION, WRITE, READ, OTHER_THREAD, OTHER_BLOCK, ATOMIC_CELL, WRITTEN = 0, 1, 3, 5, 7, 9, 11
CELL = 12
# Columns of `faults`.
KIND, SITE, FAULT_BLOCK, FAULT_TURN, OTHER, PLACE, RANGE, COUNT, BEYOND, DIMENSIONS, INDEX = range(11)
FAULT = INDEX + 4
OUT_OF_BOUNDS, RACE, UNINITIALISED, UNFIT = 1, 2, 3, 4
READING, WRITING, ATOMICALLY = 0, 1, 2
WARP = 32


@intrinsic
def _address(typingctx, array):
    """Return the address of an array's first element."""

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), codegen


@intrinsic
def _copy(typingctx, target, source, size):
    """Copy `size` bytes from one address to another."""

    def codegen(context, builder, signature, arguments):
        to, origin, size = arguments
        pointer = ir.IntType(8).as_pointer()
        cgutils.raw_memcpy(builder, builder.inttoptr(to, pointer), builder.inttoptr(origin, pointer), size, 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@njit(cache=True, **OPTIONS)
def begin(stop, state):
    """Begin a block: no access has been made in it, and its shared memory holds arbitrary values."""
    ranges, fills = state[0], state[3]
    stop[EPOCH] = 0
    stop[GENERATION] += 1
    for k in range(len(ranges)):
        if ranges[k, FRESH] and ranges[k, FILL] >= 0:
            _copy(ranges[k, START], _address(fills) + ranges[k, FILL], ranges[k, END] - ranges[k, START])


@njit(cache=True, **OPTIONS)
def pass_barrier(alive, stop):
    """Pass a barrier of the block; raise `Disagreement` if some threads have left and others have not."""
    some, all_ = False, True
    for k in range(len(alive)):
        some = some or alive[k]
        all_ = all_ and alive[k]
    if some and not all_:
        raise Disagreement()
    stop[EPOCH] += 1


@njit(cache=True, **OPTIONS)
def _fault(kind, site, other, place, k, stop, faults):
    """Note a fault, once for each pair of sites and allocation; return its row or None."""
    other_site = other & 0xFFFF if other else -1
    for row in range(stop[FAULTS]):
        if faults[row, KIND] != kind or faults[row, RANGE] != k:
            continue
        before = faults[row, OTHER] & 0xFFFF if faults[row, OTHER] else -1
        if (faults[row, SITE] == site and before == other_site) or (
            faults[row, SITE] == other_site and before == site
        ):
            faults[row, COUNT] += 1
            break
    else:
        row = stop[FAULTS]
        if row == len(faults):
            return -1
        stop[FAULTS] += 1
        faults[row, KIND], faults[row, SITE] = kind, site
        faults[row, FAULT_BLOCK], faults[row, FAULT_TURN] = stop[BLOCK], stop[TURN]
        faults[row, OTHER], faults[row, PLACE], faults[row, RANGE] = other, place, k
        faults[row, COUNT] = 1
    if other:
        other_block, other_thread = (other >> 32) - 1, (other >> 16) & 0xFFFF
        if other_block != stop[BLOCK] or other_thread // WARP != stop[TURN] // WARP:
            faults[row, BEYOND] = 1
    return row


@njit(cache=True, **OPTIONS)
def _conflict(cells, cell, column, now, place, k, site, stop, faults):
    """Report a race with the access in a column, unless something orders it before the current one."""
    before = cells[cell, column]
    if before == 0:
        return False
    if before >> 32 == now >> 32 and (
        (before ^ now) & 0xFFFF0000 == 0 or cells[cell, column + 1] < stop[EPOCH]
    ):
        return False
    _fault(RACE, site, before, place, k, stop, faults)
    return True


@njit(cache=True, **OPTIONS)
def _find(address, ranges):
    for k in range(len(ranges)):
        if ranges[k, START] <= address < ranges[k, END]:
            return k
    return -1


@njit(cache=True, **OPTIONS)
def _touch(address, size, kind, site, same, stop, state):
    """Record an access of `size` bytes and report its faults; `same` says that a store changes nothing."""
    ranges, cells, faults = state[0], state[1], state[2]
    stop[ACCESSES] += 1
    stop[LAST] = site
    turn = stop[BLOCK] << 16 | stop[TURN]
    if turn != stop[BEFORE]:
        stop[BEFORE], stop[TURN_BEGAN] = turn, stop[ACCESSES]
    if stop[ACCESSES] > stop[MOST]:
        raise KernelStopped()
    k = _find(address, ranges)
    if k < 0:
        return
    unit = ranges[k, UNIT]
    place = (address - ranges[k, START]) // unit
    fresh = ranges[k, FRESH]
    generation = stop[GENERATION] if fresh else 1
    epoch = stop[EPOCH]
    now = (stop[BLOCK] + 1) << 32 | stop[TURN] << 16 | site
    for part in range(max(1, size // unit)):
        cell = ranges[k, FIRST_CELL] + place + part
        if cells[cell, CELL_GENERATION] != generation:
            for column in range(CELL):
                cells[cell, column] = 0
            cells[cell, CELL_GENERATION] = generation
        if fresh and kind != WRITING and not cells[cell, WRITTEN]:
            _fault(UNINITIALISED, site, 0, place + part, k, stop, faults)
            cells[cell, WRITTEN] = 1
        if kind == READING:
            last = cells[cell, READ]
            if last == now and cells[cell, READ + 1] == epoch:
                continue
            if not _conflict(cells, cell, WRITE, now, place + part, k, site, stop, faults):
                _conflict(cells, cell, ATOMIC_CELL, now, place + part, k, site, stop, faults)
            if last:
                if (last ^ now) & 0xFFFF0000:
                    cells[cell, OTHER_THREAD], cells[cell, OTHER_THREAD + 1] = last, cells[cell, READ + 1]
                if last >> 32 != now >> 32:
                    cells[cell, OTHER_BLOCK], cells[cell, OTHER_BLOCK + 1] = last, cells[cell, READ + 1]
            cells[cell, READ], cells[cell, READ + 1] = now, epoch
            continue
        if not same:
            found = False
            for column in (WRITE, READ, OTHER_THREAD, OTHER_BLOCK):
                if not found:
                    found = _conflict(cells, cell, column, now, place + part, k, site, stop, faults)
            if not found and kind == WRITING:
                _conflict(cells, cell, ATOMIC_CELL, now, place + part, k, site, stop, faults)
        elif kind == WRITING:
            last = cells[cell, WRITE]
            if last and (last ^ now) & 0xFFFFFFFF == 0 and last >> 32 != now >> 32:
                stop[REPEATED] = 1
        column = ATOMIC_CELL if kind == ATOMICALLY else WRITE
        cells[cell, column], cells[cell, column + 1] = now, epoch
        cells[cell, WRITTEN] = 1


@njit(cache=True, **OPTIONS)
def _outside(address, first, second, third, dimensions, site, stop, state):
    row = _fault(OUT_OF_BOUNDS, site, 0, 0, _find(address, state[0]), stop, state[2])
    stop[ACCESSES] += 1
    stop[LAST] = site
    if row >= 0 and state[2][row, COUNT] == 1:
        state[2][row, DIMENSIONS] = dimensions
        state[2][row, INDEX], state[2][row, INDEX + 1], state[2][row, INDEX + 2] = first, second, third


def _indices(array, index):
    """Return how many indices an access has; raise if they are not one to three integers."""
    each = index.types if isinstance(index, types.BaseTuple) else (index,)
    if not isinstance(array, types.Array) or isinstance(array.dtype, types.Record):
        raise TypingError("h2d.check cannot follow it in compiled code: not an array of numbers")
    if not all(isinstance(one, types.Integer) for one in each) or not 1 <= len(each) <= min(3, array.ndim):
        raise TypingError("h2d.check cannot follow a slice, or more than three indices, in compiled code")
    return len(each)


@intrinsic
def _locate(typingctx, array, index):
    """Return the address of an element (or of the first one of a part), or -1 if it does not exist."""
    _indices(array, index)

    def codegen(context, builder, signature, arguments):
        array_type, index_type = signature.args
        whole = context.make_array(array_type)(context, builder, arguments[0])
        if isinstance(index_type, types.BaseTuple):
            parts = list(zip(cgutils.unpack_tuple(builder, arguments[1]), index_type.types, strict=True))
        else:
            parts = [(arguments[1], index_type)]
        word = ir.IntType(64)
        address, inside = builder.ptrtoint(whole.data, word), ir.Constant(ir.IntType(1), 1)
        sizes, steps = (cgutils.unpack_tuple(builder, each) for each in (whole.shape, whole.strides))
        for (value, kind), size, step in zip(parts, sizes, steps, strict=False):
            number = context.cast(builder, value, kind, types.int64)
            # Compared as unsigned numbers, negative indices are larger than any size.
            inside = builder.and_(inside, builder.icmp_unsigned("<", number, size))
            address = builder.add(address, builder.mul(number, step))
        return builder.select(inside, address, ir.Constant(word, -1))

    return types.int64(array, index), codegen


@intrinsic(prefer_literal=True)
def _number(typingctx, index, k):
    """Return the k-th number of an index, or 0 if it has fewer numbers."""
    k = k.literal_value

    def codegen(context, builder, signature, arguments):
        kind = signature.args[0]
        if not isinstance(kind, types.BaseTuple):
            return (
                context.cast(builder, arguments[0], kind, types.int64)
                if k == 0
                else ir.Constant(ir.IntType(64), 0)
            )
        if k >= len(kind.types):
            return ir.Constant(ir.IntType(64), 0)
        value = builder.extract_value(arguments[0], k)
        return context.cast(builder, value, kind.types[k], types.int64)

    return types.int64(index, types.literal(k)), codegen


def load(array, index, site, stop, state):
    """Return an element, or zero if it does not exist."""
    raise NotImplementedError


@overload(load, jit_options=OPTIONS)
def _typed_load(array, index, site, stop, state):
    if isinstance(array, types.BaseTuple):
        return lambda array, index, site, stop, state: array[index]
    count = _indices(array, index)
    if count < array.ndim:
        if isinstance(index, types.BaseTuple):
            raise TypingError(
                "h2d.check cannot follow a part that two indices select, such as a[i, j] of three axes, in compiled code"
            )

        def part(array, index, site, stop, state):
            if _locate(array, index) < 0:
                _outside(_address(array), np.int64(index), 0, 0, 1, site, stop, state)
                return array[0 * index]
            return array[index]

        return part
    size, kind = array.dtype.bitwidth // 8 if array.dtype != types.boolean else 1, array.dtype

    def load(array, index, site, stop, state):
        place = _locate(array, index)
        if place < 0:
            first, second, third = _number(index, 0), _number(index, 1), _number(index, 2)
            _outside(_address(array), first, second, third, count, site, stop, state)
            return kind(0)
        _touch(place, size, READING, site, False, stop, state)
        return array[index]

    return load


def store(array, index, value, site, stop, state):
    """Store an element, if it exists."""
    raise NotImplementedError


@overload(store, jit_options=OPTIONS)
def _typed_store(array, index, value, site, stop, state):
    count = _indices(array, index)
    if count < array.ndim:
        raise TypingError("h2d.check cannot follow a store in a part of an array in compiled code")
    size = array.dtype.bitwidth // 8 if array.dtype != types.boolean else 1

    def store(array, index, value, site, stop, state):
        place = _locate(array, index)
        if place < 0:
            first, second, third = _number(index, 0), _number(index, 1), _number(index, 2)
            _outside(_address(array), first, second, third, count, site, stop, state)
        else:
            old = array[index]
            array[index] = value
            new = array[index]
            same = old == new or (old != old and new != new)
            _touch(place, size, WRITING, site, same, stop, state)

    if not (isinstance(value, types.Float) and isinstance(array.dtype, types.Integer)):
        return store
    bits, signed = array.dtype.bitwidth, array.dtype.signed
    plain = njit(**OPTIONS)(store)
    kind = array.dtype
    low, beyond = (-(2.0 ** (bits - 1)) if signed else 0.0), 2.0 ** (bits - signed)

    def store_float(array, index, value, site, stop, state):
        whole = np.trunc(np.float64(value))
        if not low <= whole < beyond:
            row = _fault(UNFIT, site, 0, 0, -1, stop, state[2])
            if row >= 0 and state[2][row, COUNT] == 1:
                state[2][row, INDEX] = np.float64(value).view(np.int64)
                state[2][row, INDEX + 1] = bits + (1000 if signed else 0)
                state[2][row, INDEX + 2] = np.int64(kind(value))
        plain(array, index, value, site, stop, state)

    return store_float


def _reached(array, index, site, stop, state):
    """Record an atomic; return whether its element exists."""
    raise NotImplementedError


@overload(_reached, jit_options=OPTIONS)
def _typed_reached(array, index, site, stop, state):
    count = _indices(array, index)
    size = array.dtype.bitwidth // 8

    def reached(array, index, site, stop, state):
        place = _locate(array, index)
        if place < 0:
            first, second, third = _number(index, 0), _number(index, 1), _number(index, 2)
            _outside(_address(array), first, second, third, count, site, stop, state)
            return False
        _touch(place, size, ATOMICALLY, site, False, stop, state)
        return True

    return reached


def _watched(name):
    """Return an atomic that records its access first."""
    plain = compiled.ATOMICS[name]

    def stub(*_):
        raise NotImplementedError

    def kind_of(array):
        if not isinstance(array, types.Array):
            raise TypingError("h2d.check cannot follow it in compiled code: not an array")
        return array.dtype

    if name == "atomic_compare_and_swap":

        @overload(stub, jit_options=OPTIONS)
        def typed(array, old, value, site, stop, state):
            kind = kind_of(array)

            def call(array, old, value, site, stop, state):
                return plain(array, old, value) if _reached(array, 0, site, stop, state) else kind(0)

            return call

    elif name == "atomic_cas":

        @overload(stub, jit_options=OPTIONS)
        def typed(array, index, old, value, site, stop, state):
            kind = kind_of(array)

            def call(array, index, old, value, site, stop, state):
                return (
                    plain(array, index, old, value) if _reached(array, index, site, stop, state) else kind(0)
                )

            return call

    else:

        @overload(stub, jit_options=OPTIONS)
        def typed(array, index, value, site, stop, state):
            kind = kind_of(array)

            def call(array, index, value, site, stop, state):
                return plain(array, index, value) if _reached(array, index, site, stop, state) else kind(0)

            return call

    return stub


ATOMICS = {f"watched_{name}": _watched(name) for name in compiled.ATOMICS}
globals().update(ATOMICS)
