"""What Numba's simulator lacks and some cases need: warps, and three gaps filled.

Warps are 32 threads of a block in a row. Those that a mask names meet at a barrier, leave their values, meet
again, and take what they came for. Besides: `cuda` handed to a kernel as a closure variable, shared arrays on
one line, keyword arguments of device functions, bit counts of 64-bit and negative numbers.
"""

import sys
import threading

import numba.cuda
import numpy as np
from numba.core import types
from numba.cuda.simulator import kernel, kernelapi
from numba.np.numpy_support import as_dtype

_meetings: dict = {}
_lock = threading.Lock()


class _Meeting:
    def __init__(self, count):
        self.barrier = threading.Barrier(count, timeout=30)
        self.values = {}


def _exchange(mask, value):
    """Meet the other lanes of the mask; give what each of them brought."""
    thread = threading.current_thread()
    mask = int(mask) & 0xFFFFFFFF
    lane = thread.thread_id % 32
    assert mask >> lane & 1, f"lane {lane} is not in its own mask {mask:#x}"
    width = np.prod(thread._manager._block_dim) - thread.thread_id // 32 * 32
    mask &= (1 << int(min(width, 32))) - 1  # lanes that the block does not have
    with _lock:
        meeting = _meetings.setdefault(
            (id(thread._manager), thread.thread_id // 32, mask), _Meeting(mask.bit_count())
        )
    meeting.values[lane] = value
    meeting.barrier.wait()
    brought = dict(meeting.values)
    meeting.barrier.wait()
    return lane, brought


def _shuffle(pick):
    def shuffle(self, mask, value, how):
        lane, brought = _exchange(mask, value)
        return brought.get(pick(lane, int(how)), value)

    return shuffle


def _vote(count):
    def vote(self, mask, predicate):
        return count([bool(value) for value in _exchange(mask, predicate)[1].values()])

    return vote


def _bits(lanes):
    """Give a mask as the signed 32-bit number that Numba makes of it."""
    return np.array([sum(1 << lane for lane in lanes)], np.uint32).view(np.int32)[0]


def _ballot(self, mask, predicate):
    return _bits(lane for lane, value in _exchange(mask, predicate)[1].items() if value)


def _match_any(self, mask, value):
    return _bits(lane for lane, other in _exchange(mask, value)[1].items() if other == value)


def _shared_array(self, shape, dtype, alignment=None):
    dtype = as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)
    if shape == 0:
        count = self._dynshared_size // dtype.itemsize
        return np.frombuffer(self._dynshared.data, dtype=dtype, count=count)
    frame = sys._getframe(1)
    place = frame.f_code, frame.f_lasti
    with _lock:
        return self._allocations.setdefault(place, np.empty(shape, dtype))


def _unsigned(value):
    bits = 64 if getattr(value, "itemsize", 8) == 8 else 32
    return int(value) & (1 << bits) - 1, bits


def _ffs(self, value):
    value, _ = _unsigned(value)
    return (value & -value).bit_length()


def _clz(self, value):
    value, bits = _unsigned(value)
    return bits - value.bit_length()


def _brev(self, value):
    value, bits = _unsigned(value)
    return int(f"{value:0{bits}b}"[::-1], 2)


def _call_with_names(self, *given, **named):
    if not self._device:
        return _call(self, *given, **named)
    with kernelapi.swapped_cuda_module(self.fn, kernel._get_kernel_context()):
        return self.fn(*given, **named)


_call = kernel.FakeCUDAKernel.__call__


def install():
    kernel.FakeCUDAKernel.__call__ = _call_with_names
    module = kernelapi.FakeCUDAModule
    module.shfl_sync = _shuffle(lambda lane, source: source % 32)
    module.shfl_up_sync = _shuffle(lambda lane, delta: lane - delta)
    module.shfl_down_sync = _shuffle(lambda lane, delta: lane + delta)
    module.shfl_xor_sync = _shuffle(lambda lane, bits: lane ^ bits)
    module.all_sync = _vote(all)
    module.any_sync = _vote(any)
    module.eq_sync = _vote(lambda values: len(set(values)) == 1)
    module.ballot_sync = _ballot
    module.match_any_sync = _match_any
    module.syncwarp = lambda self, mask=0xFFFFFFFF: _exchange(mask, None) and None
    module.lanemask_lt = lambda self: (1 << self.laneid) - 1
    module.popc = lambda self, value: _unsigned(value)[0].bit_count()
    module.ffs, module.clz, module.brev = _ffs, _clz, _brev
    kernelapi.FakeCUDAShared.array = _shared_array
    numba.cuda.__getattr__ = lambda name: getattr(kernel._get_kernel_context(), name)
