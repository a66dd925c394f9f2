"""A plugin for pytest: the kernels of the stand-in for CUDA C++ run with the real CuPy (`-p tests.rehearsal.on_cupy`).

`cuda_cpp.compile` gives a module of CuPy's, and the arrays of the tests lie in managed memory, which host and device see.
"""

import ctypes

import cupy
import numpy as np
import pytest

from host_to_device.standins import cuda_cpp, imports
from host_to_device.standins.cuda_cpp import arena

# From compute capability 8.0 on, a warp adds in one instruction; a T4 has 7.5.
SUM_OF_A_WARP = """
__device__ unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(mask, value, offset);
    return value;
}
"""
_kept = []  # memory stays until the process ends


def allocate(nbytes):
    """Return managed memory as a NumPy array, as `arena.allocate` returns memory of the stand-in."""
    memory = cupy.cuda.malloc_managed(max(nbytes, 1))
    _kept.append(memory)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(memory.ptr))


def argument(value):
    return np.uint64(value.ctypes.data) if isinstance(value, np.ndarray) else value


class Kernel:
    def __init__(self, function):
        self._function = function
        self.shared_size_bytes = function.attributes["shared_size_bytes"]

    def __call__(self, grid, block, args, *, shared_mem=0, seed=None):
        self._function(grid, block, tuple(map(argument, args)), shared_mem=shared_mem)
        cupy.cuda.Device().synchronize()


class Module:
    def __init__(self, source, names):
        self._source, self._names = source, names
        source = SUM_OF_A_WARP * ("__reduce_add_sync" in source) + source
        self._module = cupy.RawModule(code=source, options=("-std=c++17",), name_expressions=names or None)

    def function(self, name):
        if "::" in name and name not in (self._names or ()):
            return Module(self._source, [name]).function(name)
        return Kernel(self._module.get_function(name))


def compile(source, *, name_expressions=(), warp_size=32):
    if warp_size != 32:
        pytest.skip("a warp of CUDA has 32 lanes")
    return Module(source, list(name_expressions))


def pytest_configure():
    imports.redirect = imports.restore = lambda: None  # the libraries stay the real ones
    arena.allocate, cuda_cpp.compile = allocate, compile
