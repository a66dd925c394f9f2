"""The stand-in has numba.cuda's public names with Numba's parameters, and says what it is."""

import ast
import inspect
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

import numba  # noqa: E402
from numba import cuda  # noqa: E402

from host_to_device.standins.numba_cuda import dispatching, memory, reducing, settings, streams  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
NUMBA = Path(numba.__file__).parent / "cuda"

# What the course, and a first course in GPU programming, uses.
NAMES = """
    jit grid gridsize threadIdx.x threadIdx.y threadIdx.z blockIdx.x blockIdx.y blockIdx.z
    blockDim.x blockDim.y blockDim.z gridDim.x gridDim.y gridDim.z laneid warpsize
    shared.array local.array const.array_like
    syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp
    shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync
    all_sync any_sync eq_sync ballot_sync match_any_sync match_all_sync activemask lanemask_lt
    threadfence threadfence_block threadfence_system
    atomic.add atomic.sub atomic.and_ atomic.or_ atomic.xor atomic.inc atomic.dec atomic.exch
    atomic.max atomic.min atomic.nanmax atomic.nanmin atomic.compare_and_swap atomic.cas
    popc brev clz ffs selp fma cbrt nanosleep
    to_device device_array device_array_like pinned_array pinned_array_like mapped_array mapped_array_like
    managed_array pinned mapped is_cuda_array as_cuda_array from_cuda_array_interface defer_cleanup In Out InOut
    stream event event_elapsed_time synchronize default_stream legacy_default_stream per_thread_default_stream
    external_stream reduce Reduce random.create_xoroshiro128p_states random.xoroshiro128p_uniform_float32
    random.xoroshiro128p_uniform_float64 random.xoroshiro128p_normal_float32 random.xoroshiro128p_normal_float64
    gpus list_devices select_device get_current_device current_context close detect is_available
    CudaSupportError cuda_error float32 float64 int32 int64 uint8 boolean
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_name_is_there(name):
    found = cuda
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


def functions(path: str) -> dict[str, ast.FunctionDef]:
    """Return the functions and methods in a file of Numba, which is read and not imported."""
    found = {}
    for node in ast.parse((NUMBA / path).read_text()).body:
        for member in [node, *getattr(node, "body", [])]:
            if isinstance(member, ast.FunctionDef):
                found[member.name if member is node else f"{node.name}.{member.name}"] = member
    return found


def parameters_of_numba(function: ast.FunctionDef) -> list[tuple[str, object]]:
    arguments = function.args
    values = [eval(ast.unparse(each), {"np": np}) for each in arguments.defaults]
    required = len(arguments.args) - len(values)
    return [(each.arg, inspect.Parameter.empty) for each in arguments.args[:required]] + [
        (each.arg, value) for each, value in zip(arguments.args[required:], values, strict=True)
    ]


SAME_PARAMETERS = {
    "api.py": (
        cuda,
        "to_device device_array managed_array pinned_array mapped_array stream external_stream event "
        "synchronize select_device get_current_device list_devices close detect "
        "is_cuda_array as_cuda_array from_cuda_array_interface defer_cleanup pinned device_array_like "
        "pinned_array_like mapped_array_like default_stream legacy_default_stream per_thread_default_stream",
    ),
    "decorators.py": (cuda, "jit"),
    "random.py": (
        cuda.random,
        "create_xoroshiro128p_states init_xoroshiro128p_states xoroshiro128p_next "
        "xoroshiro128p_uniform_float32 xoroshiro128p_uniform_float64 xoroshiro128p_normal_float32 "
        "xoroshiro128p_normal_float64",
    ),
    "dispatcher.py": (dispatching, "CUDADispatcher.configure CUDADispatcher.forall"),
    "kernels/reduction.py": (reducing, "Reduce.__call__ Reduce.__init__"),
    "cudadrv/devicearray.py": (
        memory,
        "DeviceNDArrayBase.copy_to_host DeviceNDArrayBase.copy_to_device DeviceNDArrayBase.bind "
        "DeviceNDArray.getitem DeviceNDArray.setitem DeviceNDArray.ravel DeviceNDArray.is_c_contiguous",
    ),
    "cudadrv/driver.py": (
        streams,
        "event_elapsed_time Stream.synchronize Event.record Event.synchronize Event.wait Event.query Event.elapsed_time",
    ),
}


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path, (_, names) in SAME_PARAMETERS.items() for name in names.split()]
)
def test_parameters_are_numbas(path, name):
    owner = SAME_PARAMETERS[path][0]
    for part in name.split("."):
        owner = getattr(owner, part)
    own = [
        (each.name, each.default)
        for each in inspect.signature(owner).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    numbas = parameters_of_numba(functions(path)[name])
    if name == "jit":  # in numba-cuda the default is None, which takes what Numba's configuration says
        numbas[numbas.index(("opt", True))] = ("opt", None)
    assert own == numbas


# ---- start, stop


def script(text: str) -> list[str]:
    """Run a script in a process of its own; return the lines that it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "H2D_MACHINE": "stand-in"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_way_to_import_gives_the_stand_in_and_then_the_real_module():
    lines = script("""
        import sys
        import host_to_device as h2d
        h2d.start()
        h2d.start()
        import numba, numba.cuda
        from numba import cuda
        from numba.cuda import jit, grid
        from numba.cuda.random import create_xoroshiro128p_states
        from numba import njit, prange
        import host_to_device.standins.numba_cuda as stand_in
        assert numba.cuda is cuda is stand_in and cuda.implementation == "host_to_device stand-in"
        assert numba.cuda.jit is jit is stand_in.jit and grid is stand_in.grid
        assert create_xoroshiro128p_states is stand_in.random.create_xoroshiro128p_states
        assert njit.__module__ == "numba.core.decorators" and prange.__module__.startswith("numba.")
        assert njit(lambda x: x + 1)(1) == 2
        h2d.stop()
        h2d.stop()
        assert cuda.jit is jit  # what has been imported stays
        from numba import cuda as real
        import numba.cuda.random as real_random
        assert real is numba.cuda is not cuda and "stand" not in real.__file__, real
        assert real_random is not stand_in.random
        del real, real_random
        h2d.start()
        from numba import cuda
        assert cuda is stand_in is numba.cuda is sys.modules["numba.cuda"]
        """)
    assert len(lines) == 3 and all("stand-ins for numba.cuda and cupy" in line for line in lines)


def test_stop_before_numba_is_imported():
    assert not script("""
        import sys
        import host_to_device as h2d
        h2d.stop()
        from host_to_device.standins import imports
        imports.redirect()
        imports.restore()
        assert "numba.cuda" not in sys.modules
        from numba import cuda
        assert "numba" in cuda.__name__ and "host_to_device" not in cuda.__file__
        """)


def test_what_was_imported_too_early_is_named():
    lines = script("""
        from numba import cuda
        from numba.cuda import jit as compile_kernel
        import host_to_device as h2d
        try:
            h2d.start()
        except h2d.SetUpError as problem:
            print(problem)
        """)
    assert len(lines) == 1
    assert "compile_kernel, cuda would not use the stand-ins" in lines[0]


# ---- what things say they are


@cuda.jit
def kernel(x):
    x[0] = 1


@cuda.jit(device=True)
def square(x):
    return x * x


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (cuda, "host_to_device"),
        (kernel, "<stand-in kernel kernel>"),
        (square, "<stand-in device function square>"),
        (kernel[1, (2, 3)], "<stand-in kernel kernel: grid (1, 1, 1), block (2, 3, 1)>"),
        (cuda.to_device(np.ones((2, 3), np.float32)), "<stand-in DeviceNDArray shape=(2, 3) dtype=float32>"),
        (cuda.get_current_device(), "stand-in"),
        (cuda.stream(), "stand-in"),
        (cuda.grid, "<cuda.grid: for use in a kernel>"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_repr_says_what_it_is(thing, words):
    assert words in repr(thing)


def test_device_has_an_honest_name(capsys):
    assert "stand-in" in str(cuda.get_current_device().name)
    cuda.detect()
    assert "stand-in" in capsys.readouterr().out


def test_kernel_looks_like_its_function():
    assert (kernel.__name__, kernel.__doc__, kernel.py_func.__name__) == ("kernel", None, "kernel")
    assert inspect.getsource(kernel.py_func).startswith("@cuda.jit")
    with pytest.raises(AttributeError, match="the stand-in's kernels have no inspect_asm"):
        kernel.inspect_asm()
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        kernel.frobnicate()


def test_launch_gives_nothing():
    assert kernel[1, 1](cuda.to_device(np.zeros(1))) is None
    assert kernel.configure(1, 1)(cuda.to_device(np.zeros(1))) is None


# ---- settings, and the order of threads


def test_settings_are_those_of_the_with_block():
    before = settings.settings_now()
    with cuda.stand_in(interpreted=True, seconds=3) as outer:
        assert outer is settings.settings_now() and (outer.interpreted, outer.seconds) == (True, 3)
        with cuda.stand_in(seed=2) as inner:
            assert (inner.interpreted, inner.seconds, inner.seed) == (True, 3, 2)
        assert settings.settings_now() is outer
    with pytest.raises(KeyError), cuda.stand_in(seconds=5):
        raise KeyError
    assert settings.settings_now() is before


@cuda.jit
def right_sum(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


@cuda.jit
def last_wins(x, last):
    i = cuda.grid(1)
    if i < x.size:
        last[0] = i


@cuda.jit
def forgets_the_barrier(x, out):
    s = cuda.shared.array(64, numba.int64)
    t = cuda.threadIdx.x
    s[t] = x[t]
    out[t] = s[(t + 1) % 64]


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(
    ("racy", "wrong"), [(right_sum, False), (last_wins, True), (forgets_the_barrier, True)]
)
def test_only_wrong_kernels_depend_on_the_order(racy, wrong, interpreted):
    x, results = cuda.to_device(np.arange(64)), set()
    for seed in (None, 1, 2, 3, 3):
        out = cuda.to_device(np.zeros(64, np.int64))
        with cuda.stand_in(interpreted=interpreted, seed=seed):
            racy[1 if racy is forgets_the_barrier else 4, 64 if racy is forgets_the_barrier else 16](x, out)
        results.add(tuple(out.copy_to_host().tolist()))
    assert (len(results) > 1) == wrong
    assert len(results) <= 4  # the same seed, the same order
