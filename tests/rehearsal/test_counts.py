"""What `h2d.count` counts of the real numba-cuda, and what its launches raise, as hints and lessons quote it."""

from tests.exercises.test_launch_errors import LARGE_OF_0_30, NO_BLOCK_OF_0_30

BEGIN = """
import sys
import numpy as np
sys.modules["torch"] = None  # no PyTorch, so no CUPTI
import host_to_device as h2d
from host_to_device.starting import machine
machine.chosen = "gpu"
from numba import cuda

@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]

x, y, out = np.ones((3, 1000), np.float32)
"""


def test_numbas_copies_and_waits_are_counted_without_a_profiler(rehearsed):
    code = """
with h2d.count() as hidden:
    for _ in range(10):
        add[4, 256](x, y, out)
with h2d.count() as explicit:
    d_x, d_out = cuda.to_device(x), cuda.device_array_like(x)
    add[4, 256](d_x, d_x, d_out)
    d_out.copy_to_host()
for c in hidden, explicit:
    numbers = c.as_dict()
    print(*numbers.values(), c.launches, list(c.operations_by_name))
"""
    hidden, explicit = rehearsed(BEGIN + code).splitlines()
    # A launch of 0.30 does not wait for its copies to the device, and waits once for each copy to the host.
    assert hidden == "30 120000 30 120000 0 0 30 30 10 10 ['add']"
    assert explicit == "1 4000 1 4000 0 0 2 2 1 1 ['add']"


def test_numbas_timeline_has_its_order_without_a_profiler(rehearsed):
    code = """
d_x, d_out = cuda.to_device(x), cuda.device_array_like(x)
with h2d.timeline() as t:
    add[4, 256](d_x, d_x, d_out)
    d_out.copy_to_host()
    cuda.synchronize()
for each in t.events:
    print(each.kind, each.name, each.nbytes, each.library, each.code, sep="; ")
assert not t.has_times and "2 waits of the host" in t.summary() and t.idle == 0
"""
    why, *lines = rehearsed(BEGIN + code).splitlines()
    assert why.startswith("The timeline has no times: ") and "PyTorch is not installed. Install" in why
    assert lines == [
        "operation; add; 0; Numba; add[4, 256](d_x, d_x, d_out)",
        "copy; device to host; 4000; Numba; d_out.copy_to_host()",
        "wait; copy to the host; 0; Numba; d_out.copy_to_host()",
        "wait; cuCtxSynchronize; 0; Numba; cuda.synchronize()",
    ]


# Launches without a block, and with too many threads in one; test_versions.py runs them with Colab's versions.
TOO_FEW_AND_TOO_MANY = """
d = cuda.to_device(x)
for sizes in (0, 32), (1, 2_000):
    try:
        add[sizes](d, d, d)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
"""


def test_the_launch_errors_that_hints_look_for(rehearsed):
    no_block, large = rehearsed(BEGIN + TOO_FEW_AND_TOO_MANY).splitlines()
    assert no_block == NO_BLOCK_OF_0_30 and large.startswith(LARGE_OF_0_30)
