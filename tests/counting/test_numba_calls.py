"""Counting Numba's calls on a GPU, without one: the few objects of Numba through which its calls of CUDA pass.

They are played as numba-cuda 0.22.2 and 0.30.4 have them (numba/cuda/cudadrv/driver.py, args.py, dispatcher.py). Both
keep the driver's functions in one object, which looks a function up at its first call and keeps it as an attribute. For
a host array, 0.22.2 calls cuMemAlloc, cuMemcpyHtoD and cuMemcpyDtoH. 0.30.4 allocates through cuda.core, calls
cuMemcpyHtoDAsync and cuMemcpyDtoH, and then waits for the default stream.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from host_to_device.counting import count, on_gpu
from host_to_device.counting.numba_calls import NumbaCalls
from host_to_device.counting.numbers import Numbers
from host_to_device.measuring.timing import place_of


class Driver:
    """As `numba.cuda.cudadrv.driver.Driver`: a function is looked up at its first call, which initialises CUDA."""

    def __init__(self):
        self.initialized, self.called = False, []

    def __getattr__(self, name):
        self.initialized = True

        def call(*arguments):
            if name == "cuMemAlloc" and arguments[0] > 1000:
                raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")
            self.called.append(name)
            return name

        setattr(self, name, call)
        return call


class PlayedNumba:
    """Numba, of one version: `to_device`, `copy_to_host` and a launch with host arrays."""

    def __init__(self, version, monkeypatch):
        self.driver = Driver()
        arrays = SimpleNamespace()
        numba = self

        class Kernel:
            entry_name = "_ZN8__main__3add"
            py_func = SimpleNamespace(__name__="add")

            def launch(self, arguments, griddim, blockdim, stream=0, sharedmem=0):
                back = []
                for each in arguments:
                    numba.prepare(each, stream, back)
                if griddim == 0:
                    raise ValueError("LaunchConfig.grid values must be >= 1")
                for nbytes in back:
                    numba.give_back(nbytes)

        if version == "0.30":

            def _to_strided_memory_view(given, stream=0, copy=True):
                if not isinstance(given, np.ndarray):
                    return given, False
                self.driver.cuMemcpyHtoDAsync(1, 2, given.nbytes, stream)
                return given, True

            arrays._to_strided_memory_view = _to_strided_memory_view
        self.version, self.arrays, self.Kernel = version, arrays, Kernel
        modules = {
            "numba.cuda.cudadrv.driver": SimpleNamespace(driver=self.driver),
            "numba.cuda.cudadrv.devicearray": arrays,
            "numba.cuda.dispatcher": SimpleNamespace(_Kernel=Kernel),
        }
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)

    def to_device(self, array):
        self.driver.cuMemAlloc(array.nbytes)
        self.driver.cuMemcpyHtoD(1, 2, array.nbytes)

    def prepare(self, given, stream, back):
        if self.version == "0.30":
            _, copied = self.arrays._to_strided_memory_view(given, stream)
        else:
            copied = isinstance(given, np.ndarray)
            if copied:
                self.to_device(given)
        if copied:
            back.append(given.nbytes)

    def give_back(self, nbytes):
        self.driver.cuMemcpyDtoH(2, 1, nbytes)
        if self.version == "0.30":
            self.driver.cuStreamSynchronize(0)


@pytest.fixture(params=["0.22", "0.30"])
def numba(request, monkeypatch):
    return PlayedNumba(request.param, monkeypatch)


def test_copies_waits_and_allocations(numba):
    with NumbaCalls() as calls:
        numba.to_device(np.zeros(4))
        numba.driver.cuMemcpyDtoH(2, 1, 32)
        numba.driver.cuMemcpyDtoD(2, 1, 32)
        numba.driver.cuMemcpyDtoHAsync(2, 1, 32, 7)
        numba.driver.cuMemcpyHtoD(2, 1, 0)
        numba.driver.cuStreamSynchronize(7)
        numba.driver.cuCtxSynchronize()
        numba.driver.cuEventSynchronize(5)
        numba.driver.cuMemsetD8(1, 0, 32)
    expected = Numbers(h2d=1, h2d_bytes=32, d2h=2, d2h_bytes=64, d2d=1, d2d_bytes=32, waits=5, allocations=1)
    expected.operations, expected.launches, expected.by_name["memset"] = 1, 0, 1
    assert calls.numbers == expected


def test_a_launch_with_host_arrays(numba):
    x, y = np.zeros((2, 100), np.float32)
    with NumbaCalls() as calls:
        for _ in range(10):
            numba.Kernel().launch((x, y, 3.0), 1, 32)
    found = calls.numbers
    assert (found.h2d, found.h2d_bytes, found.d2h, found.d2h_bytes) == (20, 8000, 20, 8000)
    assert (found.allocations, found.operations, found.launches) == (20, 10, 10)
    assert found.by_name == {"add": 10}
    # In 0.30 the copy to the device does not wait, and the wait after the copy to the host is no second one.
    assert found.waits == (40 if numba.version == "0.22" else 20)


def test_a_wait_of_the_readers_own_after_a_copy_counts(numba):
    with NumbaCalls() as calls:
        numba.driver.cuMemcpyDtoH(2, 1, 32)
        numba.driver.cuStreamSynchronize(0)
    assert calls.numbers.waits == 2


def test_calls_that_fail_do_not_count(numba):
    with NumbaCalls() as calls:
        with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
            numba.driver.cuMemAlloc(2000)
        with pytest.raises(ValueError, match="must be >= 1"):
            numba.Kernel().launch((), 0, 32)
    assert calls.numbers == Numbers(launches=0)


def test_cuda_is_not_initialised_by_counting_and_everything_is_put_back(numba):
    numba.driver.called.append("nothing yet")
    launch, view = numba.Kernel.launch, getattr(numba.arrays, "_to_strided_memory_view", None)
    with NumbaCalls() as calls:
        assert not numba.driver.initialized
        numba.driver.cuCtxSynchronize()
        numba.driver.cuCtxSynchronize()
    assert calls.numbers.waits == 2 and numba.driver.initialized
    assert set(numba.driver.__dict__) == {"initialized", "called"}
    kept = numba.driver.cuCtxSynchronize
    with NumbaCalls():
        numba.driver.cuCtxSynchronize()
    assert numba.driver.cuCtxSynchronize is kept and numba.Kernel.launch is launch
    assert getattr(numba.arrays, "_to_strided_memory_view", None) is view


def test_h2d_count_knows_everything_of_numba_without_cupti(numba, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(on_gpu.machine, "chosen", "gpu")
    with count() as c:
        numba.to_device(np.zeros(4))
        with count() as inner:
            numba.Kernel().launch((), 1, 32)
    assert c.where == "GPU, without CUPTI" and c.places == ("GPU",) and place_of(c) == "GPU"
    assert (c.host_to_device.bytes, c.waits, c.allocations, c.operations, c.launches) == (32, 1, 1, 1, 1)
    assert (inner.host_to_device.bytes, inner.operations) == (0, 1)
    with count() as nothing:
        pass
    assert nothing.places == () and place_of(nothing) == "CPU"
