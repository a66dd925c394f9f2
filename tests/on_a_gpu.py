"""Arrays, hints, streams and kernels as Numba and CuPy have them on a real GPU, as far as the library looks at them.

Read off numba-cuda 0.30.4 and CuPy 14.2.0: `DeviceNDArray.copy_to_host` keeps the strides, `copy_to_device` refuses an
array with gaps, CuPy's `get` returns C order, `__cuda_array_interface__` has no strides for C order, and mapped and
managed arrays are NumPy's, too. Host memory stands for the GPU's; nothing marks it as a stand-in's.
"""

import numpy as np


def of_module(module):
    """Give classes the module that they have in the library."""

    def named(cls):
        cls.__module__ = module
        return cls

    return named


def interface(array):
    return {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "strides": None if array.flags.c_contiguous else array.strides,
        "data": (array.__array_interface__["data"][0], False),
        "version": 3,
    }


def memory_of(array):
    """Return an array in memory that begins at a multiple of 256, as CUDA's allocations do."""
    memory = np.zeros(array.nbytes + 256, np.uint8)
    skip = -memory.__array_interface__["data"][0] % 256
    result = np.ndarray(array.shape, array.dtype, memory, skip, array.strides)
    result[...] = array
    return result


@of_module("numba.cuda.cudadrv.devicearray")
class DeviceNDArray:
    __cuda_memory__ = __cuda_ndarray__ = True

    def __init__(self, array):
        self.on_gpu = array
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype

    __cuda_array_interface__ = property(lambda self: interface(self.on_gpu))

    def __getitem__(self, index):
        return DeviceNDArray(self.on_gpu[index])

    def __setitem__(self, index, value):
        self.on_gpu[index] = value

    def copy_to_host(self):
        copy = np.ndarray(self.shape, self.dtype, strides=self.strides, buffer=np.empty(1 << 16, np.uint8))
        copy[...] = self.on_gpu
        return copy

    def copy_to_device(self, array):
        if not self.on_gpu.flags.forc:
            raise ValueError("Array contains non-contiguous buffer")
        self.on_gpu[...] = array


def to_device(array):
    return DeviceNDArray(memory_of(array))


@of_module("numba.cuda.cudadrv.devicearray")
class ManagedNDArray(np.ndarray):
    __cuda_memory__ = __cuda_ndarray__ = True
    __cuda_array_interface__ = property(lambda self: interface(np.asarray(self)))


def managed(array):
    return array.copy().view(ManagedNDArray)


@of_module("numba.cuda.args")
class In:
    def __init__(self, value):
        self.value = value


@of_module("numba.cuda.args")
class Out(In):
    pass


@of_module("numba.cuda.args")
class InOut(In):
    pass


@of_module("numba.cuda.cudadrv.driver")
class Stream:
    handle = 94412751834000


@of_module("numba.cuda.dispatcher")
class CUDADispatcher:
    """A kernel; `overloads` are those that its signatures name, if it has any."""

    device = False

    def __init__(self, py_func, overloads=()):
        self.targetoptions = {}
        self.py_func, self.__name__ = py_func, py_func.__name__
        self.overloads, self._can_compile = dict.fromkeys(overloads), not overloads

    def __getitem__(self, configuration):
        return _LaunchConfiguration(self)


@of_module("numba.cuda.dispatcher")
class _LaunchConfiguration:
    def __init__(self, dispatcher):
        self.dispatcher = dispatcher

    def __call__(self, *arguments):
        self.dispatcher.py_func(*arguments)


class Pointer:
    def __init__(self, ptr):
        self.ptr = ptr

    def __sub__(self, nbytes):
        return Pointer(self.ptr - nbytes)


@of_module("cupy")
class ndarray:
    """CuPy's array; new ones lie at the address of `memptr`."""

    def __init__(self, shape, dtype=float, memptr=None, on_gpu=None):
        if on_gpu is None and memptr is None:
            on_gpu = memory_of(np.zeros(shape, dtype))
        elif on_gpu is None:
            about = {
                "shape": shape,
                "typestr": np.dtype(dtype).str,
                "data": (memptr.ptr, False),
                "version": 3,
            }
            on_gpu = np.asarray(type("Memory", (), {"__array_interface__": about})())
        self.on_gpu = on_gpu
        self.shape, self.strides, self.dtype = on_gpu.shape, on_gpu.strides, on_gpu.dtype

    __cuda_array_interface__ = property(lambda self: interface(self.on_gpu))
    size = property(lambda self: self.on_gpu.size)
    data = property(lambda self: Pointer(self.on_gpu.__array_interface__["data"][0]))
    T = property(lambda self: ndarray(None, on_gpu=self.on_gpu.T))

    def __getitem__(self, index):
        return ndarray(None, on_gpu=self.on_gpu[index])

    def __setitem__(self, index, value):
        self.on_gpu[index] = value.on_gpu

    def get(self):
        return self.on_gpu.copy()

    def set(self, array):
        if not self.on_gpu.flags.forc:
            raise RuntimeError("Cannot set to non-contiguous array")
        self.on_gpu[...] = array


def to_cupy(array):
    return ndarray(None, on_gpu=memory_of(array))


@of_module("cupy._core.raw")
class RawKernel:
    """CuPy's kernel: `name` is that of the compiled code, mangled unless the source declares it `extern "C"`."""

    def __init__(self, code, name):
        self.code, self.name, self.__name__, self.options = code, name, name, ()
