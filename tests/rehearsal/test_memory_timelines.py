"""`h2d.memory_timeline()` on a GPU: what the real Numba and the real CuPy allocate, without PyTorch."""

import json

import pytest

from tests.rehearsal.marking import ON_GPU

NUMBA = """
import json
import warnings
import numpy as np
import host_to_device as h2d
warnings.simplefilter("ignore")
h2d.start()
from numba import cuda

@cuda.jit
def add(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + 1

older = cuda.to_device(np.ones(300))
out = np.zeros(1000)
with h2d.memory_timeline() as t:
    d_x = cuda.to_device(np.ones(1000))
    shorter = cuda.device_array(500)
    del shorter, older
    add[4, 256](np.ones(1000), out)
    cuda.current_context().deallocations.clear()
    try:
        cuda.device_array(10**12)
    except cuda.cudadrv.driver.CudaAPIError as problem:
        print(problem)
assert out[0] == 2
events = [(event.kind, event.nbytes, event.code) for event in t.events]
alive = [(held.nbytes, held.code) for held in t.refusals[0].alive]
print(json.dumps([t.where, events, alive, t.peak, t.end, t.limit, t.missing]))
with h2d.memory_timeline() as t:  # nothing of the first is left in Numba
    cuda.device_array(10)
print(len(t.events))
"""

CUPY = """
import json
import numpy as np
import host_to_device as h2d
h2d.start()
import cupy as cp

older = cp.ones(5000)
pool = cp.get_default_memory_pool()
with h2d.memory_timeline() as t:
    x = cp.ndarray(1000)
    y = cp.ndarray(1000)
    del x
    del older
    pool.free_all_blocks()
    z = cp.ndarray(10)
    try:
        cp.ndarray(10**12)
    except cp.cuda.memory.OutOfMemoryError as problem:
        print(problem)
events = [(event.kind, event.nbytes, event.code) for event in t.events]
print(json.dumps([t.before, t.peak, t.end, [event.reserved for event in t.events], events]))
assert t.peak == t.before + 16384 and t.end + 0 == pool.used_bytes()
"""


def check_numba(printed):
    message, found, last = printed.splitlines()[-3:]
    where, events, alive, peak, end, limit, missing = json.loads(found)
    assert "CUDA_ERROR_OUT_OF_MEMORY" in message
    assert where.startswith("GPU" if ON_GPU else "GPU rehearsal, not a GPU")
    launch, first = "add[4, 256](np.ones(1000), out)", "d_x = cuda.to_device(np.ones(1000))"
    second = "shorter = cuda.device_array(500)"
    assert events[:2] == [["allocation", 8000, first], ["allocation", 4000, second]]
    copies = [event for event in events if event[2] == launch]
    assert sorted(copies) == [["allocation", 8000, launch]] * 2 + [["free", -8000, launch]] * 2
    assert ["free", -4000, second] in events  # when Numba frees what it has put off
    assert events[-1] == ["refused", 8 * 10**12, "cuda.device_array(10**12)"]
    assert alive == [[8000, first]] and (peak, end) == (8000 + 4000 + 16000, 8000)
    assert (ON_GPU or limit == 2 << 30) and missing == [] and last == "1"  # the free is put off


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_memory_of_numba(rehearsed):
    check_numba(rehearsed(NUMBA, 240))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_memory_of_numba_with_colabs_versions(colab_rehearsed):
    check_numba(colab_rehearsed(NUMBA))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_memory_of_cupy(cupy_rehearsed):
    message, found = cupy_rehearsed(CUPY).splitlines()[-2:]
    before, peak, end, reserved, events = json.loads(found)
    assert message.startswith("Out of memory allocating 8,000,000,000,000 bytes")
    kinds = [(kind, nbytes) for kind, nbytes, _ in events]
    assert kinds == [
        ("allocation", 8192),
        ("allocation", 8192),
        ("free", -8192),
        ("free", -40448),
        ("allocation", 512),
        ("refused", 8 * 10**12),
    ]
    assert (
        peak - before == 16384 and end == 8704 and reserved[0] == before + 8192 and reserved[-1] < reserved[0]
    )
