"""Names that other people's programs and packages ask for, beside arrays and kernels."""

import sys

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
from cupyx import jit, profiler  # noqa: E402

THREE = 3


def twice(x):
    return 2 * x


@jit.rawkernel()
def with_constants(x, y):
    i = jit.grid(1)
    y[i] = x[i] + twice(THREE) + twice(x=0.5)


@jit.rawkernel()
def with_values(x, y):
    i = jit.grid(1)
    y[i] = twice(x[i])


@jit.rawkernel()
def with_range(x, y):
    i = jit.grid(1)
    for step in jit.range(0, 3, unroll=True):
        y[i] += x[i] * step


def test_a_kernel_loops_over_cupys_range():
    y = cp.zeros(4)
    with_range((1,), (4,), (cp.arange(4.0), y))
    assert y.get().tolist() == [0, 3, 6, 9]


def test_a_kernel_calls_a_plain_function_of_constants():
    y = cp.zeros(4)
    with_constants((1,), (4,), (cp.arange(4.0), y))
    assert y.get().tolist() == [7, 8, 9, 10]


def test_a_kernel_cannot_call_a_plain_function_of_values():  # CuPy's words, and what to do
    with pytest.raises(TypeError, match=r"^Invalid function call 'twice'.*@jit.rawkernel\(device=True\)$"):
        with_values((1,), (4,), (cp.arange(4.0), cp.zeros(4)))


def test_modules_of_cuda_have_their_names():
    from cupy._core import get_reduction_accelerators, set_reduction_accelerators
    from cupy.cuda import cub, thrust

    assert cub.available and thrust.available and cp.cuda.cub is cub
    assert repr(cub.CUPY_CUB_SUM) == "<cupy_cub_op.CUPY_CUB_SUM: 0>"
    set_reduction_accelerators(["cub"])
    assert get_reduction_accelerators() == [1] and cp._core.ndarray is cp.ndarray
    with pytest.raises(ValueError, match="Unknown accelerator: fast"):
        set_reduction_accelerators(["fast"])
    with pytest.raises(NotImplementedError, match=r"^cupy\.cuda\.cub\.device_reduce is not in"):
        _ = cub.device_reduce


def test_a_device_has_a_uuid_that_says_what_it_is():
    assert cp.cuda.runtime.getDeviceProperties(0)["uuid"] == b"host_to_device\0\0"


def test_sizes_may_be_integers_of_numpy():
    memory = cp.cuda.alloc_pinned_memory(np.int64(80))
    assert memory.size() == 512 and np.frombuffer(memory, np.float64, 10).size == 10
    assert type(cp.cuda.Memory(np.int32(64)).size) is int


@pytest.mark.skipif("IPython" not in sys.modules and sys.version_info < (3, 11), reason="no IPython")
def test_a_notebook_times_a_line_and_a_cell(capsys):
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    profiler.load_ipython_extension(shell)
    shell.user_ns["x"] = cp.arange(4.0)
    shell.run_line_magic("gpu_timeit", "-n 3 -w 1 x.sum() + 1")
    shell.run_cell_magic("gpu_timeit", "-n 2", "y = x * 2\ny.sum()\n")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.startswith("run ") and "GPU-0:" in line for line in lines)
