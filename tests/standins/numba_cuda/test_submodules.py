"""Names that packages ask for at import, below `numba.cuda`, and what a program can ask of a kernel."""

import copy
import importlib
import linecache
import pickle
import subprocess
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


@pytest.mark.parametrize("first", [True, False])
def test_kernels_of_one_text_with_and_without_debug(first, tmp_path, monkeypatch):
    """What is compiled for one of them is kept on disk, and is not taken for the other."""
    text = f"def part(r, x, y):\n    r[0] = y[0] / x[0] + {int(first)}\n"
    (tmp_path / "of_one_text.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "of_one_text", raising=False)
    part = importlib.import_module("of_one_text").part
    r, x, y = (cuda.to_device(each) for each in (np.zeros(1), np.zeros(1), np.ones(1)))
    for debug in (first, not first):
        launch = cuda.jit(debug=debug, opt=not debug)(part)[1, 1]
        with cuda.stand_in(interpreted=False):
            if debug:
                with pytest.raises(ZeroDivisionError, match="division by zero, in thread 0 of block 0"):
                    launch(r, x, y)
            else:
                launch(r, x, y)
                assert r.copy_to_host()[0] == np.inf


def test_debugging_is_an_option_of_numbas_configuration(monkeypatch):
    from numba.core import config
    from numba.core.errors import NumbaInvalidConfigWarning

    monkeypatch.setattr(config, "CUDA_DEBUGINFO_DEFAULT", 1)
    with pytest.warns(NumbaInvalidConfigWarning, match="debug=True with opt=True is not supported by CUDA"):
        cuda.jit()
    monkeypatch.setattr(config, "OPT", 0)
    assert cuda.jit(lambda x: None).targetoptions["debug"]
    assert not cuda.jit(debug=False)(lambda x: None).targetoptions["debug"]


CELL = """
def made(step):
    @cuda.jit(device=True)
    def moved(value):
        return value + step

    @cuda.jit
    def move(x):
        x[cuda.grid(1)] = moved(x[cuda.grid(1)])

    return move
"""
ELSEWHERE = """
import pickle, sys
import numpy as np
from host_to_device.standins import imports
imports.redirect()
from numba import cuda
launch = pickle.load(sys.stdin.buffer)
assert (launch.griddim, launch.blockdim) == ((2, 1, 1), (4, 1, 1))
x = cuda.to_device(np.arange(8))
with cuda.stand_in(interpreted=True):
    launch(x)
print(x.copy_to_host().tolist())
"""


def test_a_kernel_of_a_cell_is_pickled_with_its_text():
    file = "<a cell>"
    linecache.cache[file] = len(CELL), None, CELL.splitlines(True), file
    space = {"cuda": cuda, "__name__": "__main__"}
    exec(compile(CELL, file, "exec"), space)
    kernel = space["made"](5)
    assert pickle.loads(pickle.dumps(kernel)) is kernel, "in the same process it is the same kernel"
    assert copy.copy(kernel) is copy.deepcopy(kernel) is kernel
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=pickle.dumps(kernel[2, 4]), capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == str(list(range(5, 13)))


def test_a_kernel_of_a_module_is_pickled_by_its_name():
    assert b"add_one" in pickle.dumps(add_one) and pickle.loads(pickle.dumps(add_one)) is add_one


def test_a_ufunc_is_pickled_with_its_kernels():
    def doubled(x):
        return 2 * x

    made = pickle.loads(pickle.dumps(cuda.vectorize(["float64(float64)"])(doubled)))
    with cuda.stand_in(interpreted=True):
        assert made(np.arange(3.0)).tolist() == [0, 2, 4]


@pytest.mark.parametrize("dtype", [np.bool_, [("k", "i4"), ("v", "f4", 3)]])
def test_transpose_into_an_array(dtype):
    from numba.cuda.kernels.transpose import transpose

    x = np.zeros((3, 5), dtype)
    (x["k"] if x.dtype.names else x)[:] = np.arange(15).reshape(3, 5) % 4
    for like in (x.T, np.ascontiguousarray(x.T)):
        out = cuda.cudadrv.devicearray.from_array_like(like)
        assert out.strides == like.strides
        assert transpose(cuda.to_device(x), out) is out
        assert (out.copy_to_host() == x.T).all()
    with pytest.raises(NotImplementedError, match="no gpu_data"):
        cuda.cudadrv.devicearray.from_array_like(x, gpu_data=1)


def test_a_signature_reads_the_bits_of_integers_of_the_other_sign():
    """As numba-cuda does with a kernel of one signature: it does not look at the type of an array."""

    @cuda.jit("void(int32[:])")
    def shift(x):
        x[0] = x[0] >> 1

    x = cuda.to_device(np.array([0x80000000], np.uint32))
    with cuda.stand_in(interpreted=True):
        shift[1, 1](x)
        assert x.copy_to_host()[0] == 0xC0000000
        with pytest.raises(TypeError, match=r"array\(float32, 1d, C\) is given where the signature says"):
            shift[1, 1](cuda.to_device(np.ones(1, np.float32)))


def test_print_of_a_thread_s_place(capfd):
    @cuda.jit
    def say():
        print("thread", cuda.threadIdx, cuda.blockDim)

    for interpreted in (True, False):
        with cuda.stand_in(interpreted=interpreted):
            say[1, (2, 1)]()
        assert capfd.readouterr().out == "thread (0, 0, 0) (2, 1, 1)\nthread (1, 0, 0) (2, 1, 1)\n"
