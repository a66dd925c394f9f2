"""What `h2d.count()` counts for Numba, against Numba's own classes.

`CASES` are evaluated twice: on the stand-in under `h2d.count()`, and in another process by Numba's own device arrays
over a driver that NumPy plays (`tests/standins/numba_cuda/test_memory.py`). There a copy between host and device that is given no
stream counts as a wait: it is cuMemcpyHtoD or cuMemcpyDtoH then, which stop the host (NVIDIA, "CUDA Driver API", "API
synchronization behavior"), and with a stream their asynchronous forms (`numba/cuda/cudadrv/driver.py`).
"""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from host_to_device.counting import Copies, count
from host_to_device.standins import numba_cuda as cuda
from tests.numbas_own import uncover

RECORD = np.dtype([("a", np.int32), ("b", np.float64)])
# Each sees `h`, 5 float32 on the host, `d` and `e`, the same on the device, `r`, 3 records there, and `s`, a stream.
CASES = """
cuda.to_device(h)
cuda.to_device(h, stream=s)
cuda.to_device(h, to=d)
cuda.to_device(d)
cuda.to_device(h, copy=False)
cuda.to_device(np.zeros(0))
d.copy_to_host()
d.copy_to_host(h)
d.copy_to_host(stream=s)
d.bind(s).copy_to_host()
d[1:3].copy_to_host()
d[2]
d.getitem(2, stream=s)
d.bind(s)[2]
r[0]
r[0]["a"]
d[1:3]
d.reshape(5, 1)
d.setitem(2, 7)
d.setitem(2, 7, stream=s)
d.setitem(slice(None), h)
d.setitem(slice(None), h, stream=s)
d.setitem(slice(None), e)
d.setitem(slice(1, 3), 0.5)
r[0].setitem("a", 5)
r[0].setitem("a", 5, stream=s)
d.copy_to_device(h)
d.copy_to_device(h, stream=s)
d.copy_to_device(e)
d.copy_to_device(e, stream=s)
np.asarray(d)
cuda.device_array(5)
cuda.device_array((0, 3))
cuda.device_array_like(h)
launch(h)
launch(d)
launch(d, stream=s)
launch(cuda.In(h))
launch(cuda.Out(h))
launch(cuda.InOut(h))
""".strip().splitlines()


def names(cuda):
    h = np.arange(5, dtype=np.float32)
    records = np.array([(1, 2.5)] * 3, RECORD)
    arrays = {"h": h, "d": cuda.to_device(h), "e": cuda.to_device(h), "r": cuda.to_device(records)}
    return {"cuda": cuda, "np": np, **arrays}


class NumbasStream:
    """A stream for Numba's own classes."""

    handle = None

    def __init__(self, log):
        self.log = log

    def synchronize(self):
        self.log.append(["wait", 0])


def numbas_counts():
    """Return what Numba itself does for each case; for a process of its own."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "standins" / "numba_cuda"))
    from test_memory import numbas_memory_on_the_host

    log, found = [], []
    cuda = numbas_memory_on_the_host(log)
    from numba.cuda import args
    from numba.cuda.cudadrv import devicearray, devices, driver

    def told(copy, waits):
        def move(dst, src, size, stream=0):
            copy(dst, src, size, stream)
            if waits and not stream:
                log.append(["wait", 0])

        return move

    driver.host_to_device = told(driver.host_to_device, True)
    driver.device_to_host = told(driver.device_to_host, True)
    devices._runtime.get_or_create_context(0).get_default_stream = lambda: NumbasStream(log)
    assign = devicearray._assign_kernel

    def noted(ndim):
        kernel = assign(ndim)
        plain = kernel.forall

        def forall(count, stream):
            log.append(["operation", 0])
            return plain(count, stream)

        kernel.forall = forall
        return kernel

    devicearray._assign_kernel = noted

    def launch(value, stream=0):
        # As numba/cuda/dispatcher.py, `_Kernel.launch` and `_prepare_args`.
        retrieve = []
        args.wrap_arg(value).to_device(retrieve, stream)
        log.append(["operation", 0])
        for each in retrieve:
            each()

    for case in CASES:
        space = {**names(cuda), "s": NumbasStream(log), "launch": launch}
        log.clear()
        eval(case, space)
        found.append(added_up(log))
    return found


def added_up(log):
    """Return a log of Numba's as `Count.as_dict` gives it."""
    sums = {}
    for name in ("host to device", "device to host", "device to device"):
        sizes = [size for kind, size in log if kind == name]
        key = name.replace(" ", "_")
        sums |= {key: len(sizes), f"{key}_bytes": sum(sizes)}
    for name, kind in (("waits", "wait"), ("allocations", "allocation"), ("operations", "operation")):
        sums[name] = sum(each[0] == kind for each in log)
    return sums


@pytest.fixture(scope="module")
def numbas():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True, env=environment
    )
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


@cuda.jit
def nothing(x):
    if x.size < 0:
        x[0] = 1


@pytest.mark.filterwarnings("ignore:Host array used")
@pytest.mark.parametrize("case", CASES)
def test_as_numba_itself(case, numbas):
    def launch(value, stream=0):
        nothing[1, 1, stream](value)

    space = {**names(cuda), "s": cuda.stream(), "launch": launch}
    with count() as c:
        eval(case, space)
    assert c.as_dict() == numbas[case]


def test_three_arrays_of_the_host_are_six_copies():
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    a, out = np.ones(100), np.zeros(100)
    with warnings.catch_warnings(), count() as c:
        warnings.simplefilter("ignore")
        add[1, 128](a, a, out)
    assert (out == 2).all()
    assert c.host_to_device == c.device_to_host == Copies(3, 2400)
    assert (c.waits, c.allocations, c.operations_by_name) == (6, 3, {"add": 1})
    d_a, d_out = cuda.to_device(a), cuda.device_array(100)
    with count() as c:
        add[1, 128](d_a, d_a, d_out)
        add.forall(100)(d_a, d_a, d_out)
        add.forall(0)(d_a, d_a, d_out)
    assert (c.operations, c.waits, c.host_to_device.count, c.allocations) == (2, 0, 0, 0)


def test_waiting_for_streams_and_events():
    stream, event = cuda.stream(), cuda.event()
    with count() as c:
        event.record(stream)
        event.wait(stream)
        event.query()
    assert c.waits == 0
    with count() as c:
        cuda.synchronize()
        stream.synchronize()
        event.synchronize()
        with stream.auto_synchronize():
            pass
    assert c.waits == 4
    assert {line.reasons for line in c.waits_by_line} == {("synchronize",)}


def test_memory_of_the_host_is_no_allocation():
    with count() as c:
        cuda.pinned_array(10)
        cuda.mapped_array(10)[:] = 1
        with cuda.pinned(np.zeros(3)):
            pass
    assert c.as_dict() == {name: 0 for name in c.as_dict()}
    with count() as c:
        cuda.managed_array(10)[:] = 1
    assert (c.allocations, c.host_to_device.count) == (1, 0)


def test_a_transpose_is_a_kernel():
    d = cuda.to_device(np.arange(6.0).reshape(2, 3))
    with count() as c:
        d.transpose()
    assert (c.allocations, c.operations, c.waits) == (1, 1, 0)


# numba/cuda/kernels/reduction.py: whole blocks of 128, what is left, and a last kernel over what both gave.
@pytest.mark.parametrize(("size", "kernels"), [(128, 1), (100, 1), (256, 2), (300, 3)])
def test_a_reduction(size, kernels):
    total = cuda.reduce(lambda a, b: a + b)
    d = cuda.to_device(np.ones(size))
    with count() as c:
        assert total(d) == size
    assert (c.operations, c.allocations, c.device_to_host, c.waits) == (kernels, 1, Copies(1, 8), 1)
    res = cuda.to_device(np.zeros(1))
    with count() as c:
        assert total(d, res=res) is None
    assert (c.device_to_device, c.device_to_host.count, c.waits) == (Copies(1, 8), 0, 0)
    assert res[0] == size
    with count() as c:
        total(np.ones(size))
    assert c.host_to_device.bytes == c.device_to_host.bytes - 8 == 8 * size


def test_another_librarys_array_is_waited_for():
    import host_to_device.standins.cupy as cp

    x = cp.zeros(3)
    with count() as c:
        nothing[1, 1](x)
    assert (c.waits, c.operations) == (1, 1)
    with count() as c:
        cuda.as_cuda_array(x, sync=False)
    assert c.waits == 0


def test_a_launch_that_is_refused_is_none():
    with count() as c, pytest.raises(TypeError):
        nothing[1, 1]("text")
    assert c.operations == 0


if __name__ == "__main__":
    uncover()
    print(json.dumps(numbas_counts()))
