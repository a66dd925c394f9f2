"""Names that packages ask for at import, below `numba.cuda`, and what a program can ask of a kernel."""

import importlib
import sys

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

from numba import cuda, int32  # noqa: E402

from host_to_device.standins.numba_cuda import submodules  # noqa: E402

NAMES = """
    cudadrv.devicearray.DeviceNDArray cudadrv.devicearray.is_cuda_array cudadrv.devicearray.auto_device
    cudadrv.devices.gpus cudadrv.devices.get_context cudadrv.devices.reset cudadrv.devices.require_context
    cudadrv.driver.driver cudadrv.driver.CudaAPIError cudadrv.driver.MemoryInfo cudadrv.driver.Stream
    cudadrv.error.CudaSupportError cudadrv.error.CudaDriverError cudadrv.error.NvvmError
    kernels.transpose.transpose kernels.reduction.Reduce vectorizers.CUDAVectorize vectorizers.CUDAGUFuncVectorize
    args.In args.Out args.InOut args.ArgHint api.to_device api.device_array api.synchronize decorators.jit
    dispatcher.CUDADispatcher stubs.threadIdx stubs.atomic intrinsics.grid vector_types.vector_types
    np.ufunc.vectorize errors.KernelRuntimeError core.errors.TypingError core.config types.float32 extending.overload
    random.create_xoroshiro128p_states
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_names_of_modules(name):
    module, _, last = name.rpartition(".")
    assert getattr(importlib.import_module(f"numba.cuda.{module}"), last) is not None
    found = cuda
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


@pytest.mark.parametrize("path", sorted(submodules.CONTENTS))
def test_every_module_can_be_imported(path):
    assert importlib.import_module(f"numba.cuda.{path}").__name__ == f"numba.cuda.{path}"


def test_no_file_of_the_stand_in_is_imported_twice():
    with pytest.raises(ModuleNotFoundError, match=r"numba\.cuda\.memory"):
        importlib.import_module("numba.cuda.memory")
    assert "numba.cuda.memory" not in sys.modules


def test_a_missing_name_is_refused_in_one_line():
    with pytest.raises(
        AttributeError, match=r"cuda.cudadrv.nvvm is not in host_to_device's stand-in"
    ) as problem:
        _ = cuda.cudadrv.nvvm
    assert "\n" not in str(problem.value)
    with pytest.raises(AttributeError, match=r"cuda.fp16 .* compute in float32"):
        _ = cuda.fp16


def test_current_context():
    context = cuda.current_context()
    context.deallocations.clear()
    assert len(context.deallocations) == 0
    with context.deallocations.disable():
        pass
    assert cuda.cudadrv.devices.gpus.current.id == 0
    assert cuda.cudadrv.driver.driver.get_device_count() == 1
    assert cuda.cudadrv.devices.get_context() is context


def test_transpose():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    transpose = cuda.kernels.transpose.transpose
    assert (transpose(cuda.to_device(x)).copy_to_host() == x.T).all()
    out = cuda.device_array((3, 2), np.float32)
    assert transpose(cuda.to_device(x), out) is out
    assert (out.copy_to_host() == x.T).all()


def test_restored():
    """Without the stand-in the names are numba-cuda's again; then the stand-in comes back."""
    stand_in = importlib.import_module("numba.cuda.cudadrv.driver")
    imports.restore()
    try:
        # Another test may have imported numba-cuda before the stand-in came: its modules are there again.
        assert sys.modules.get("numba.cuda.cudadrv.driver") is not stand_in
        left = [
            name
            for name in imports.names_of_numba_cuda()
            if "_refusing" in repr(vars(sys.modules[name]).get("__getattr__"))
        ]
        assert not left
    finally:
        imports.redirect()
    assert cuda.cudadrv.devices.gpus.current.id == 0


# ---- what a program asks of a kernel


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def waits_for_all(x):
    cuda.cg.this_grid().sync()
    x[0] = 1


@cuda.jit("void(int32[::1])")
def declared(x):
    x[0] = 1


def test_overloads():
    with cuda.stand_in(interpreted=True):
        add_one[1, 32](cuda.to_device(np.zeros(4, np.int32)))
    kinds = (int32[::1],)
    assert kinds in add_one.overloads
    assert kinds in add_one.signatures
    assert str(add_one.nopython_signatures[0]) == "(Array(int32, 1, 'C', False, aligned=True),) -> none"
    assert declared.overloads[kinds].argument_types == kinds
    assert not add_one.overloads[kinds].cooperative
    assert add_one.compile("void(float32[:])").entry_name == "add_one"


def test_most_blocks_of_a_grid_that_waits():
    """A T4 has 40 multiprocessors with 1024 threads and 16 blocks each."""
    kernel = waits_for_all.compile("void(int32[::1])")
    assert kernel.cooperative
    assert kernel.max_cooperative_grid_blocks(32) == 40 * 16
    assert kernel.max_cooperative_grid_blocks(1024) == 40
    assert kernel.max_cooperative_grid_blocks((16, 16)) == kernel.max_cooperative_grid_blocks(256) == 160
    x = cuda.to_device(np.zeros(4, np.int32))
    with pytest.raises(
        cuda.CudaAPIError, match=r"\[720\].*COOPERATIVE_LAUNCH_TOO_LARGE.*41 blocks.*40 of them"
    ):
        waits_for_all[41, 1024](x)


@pytest.mark.parametrize("interpreted", [True, False])
@pytest.mark.parametrize("text", ["y[0] / x[0]", "y[0] // x[0]", "y[0] % x[0]"])
def test_division_by_zero_in_debug_mode(interpreted, text):
    source = f"def divide(r, x, y):\n    r[0] = {text}\n    r[1] = 1\n"
    space = {"cuda": cuda}
    exec(source, space)
    checked, plain = cuda.jit(debug=True, opt=False)(space["divide"]), cuda.jit(space["divide"])
    with cuda.stand_in(interpreted=interpreted):
        r = cuda.to_device(np.zeros(2))
        with pytest.raises(
            ZeroDivisionError, match=r"^divide\(\), .*division by zero, in thread 0 of block 0$"
        ):
            checked[1, 1](r, cuda.to_device(np.zeros(1)), cuda.to_device(np.ones(1)))
        assert r.copy_to_host().tolist() == [0, 0]
        plain[1, 1](r, cuda.to_device(np.zeros(1)), cuda.to_device(np.ones(1)))
        assert r.copy_to_host()[1] == 1
