"""`numba_cuda_mlir`, the successor of numba-cuda: the same stand-in under its names, and where it differs."""

import json
import linecache
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.standins import imports, numba_cuda  # with it, this file runs with the stand-ins in place
from host_to_device.standins.numba_cuda.launching import CUDADispatcher
from tests.corpora.kernels.names import COMPILES, PROGRAMS

ROOT = Path(__file__).resolve().parents[3]
KERNELS = [each for each in PROGRAMS if each.kernel]
# Programs that the stand-in refuses or takes where numba_cuda_mlir does not, and why.
OTHERWISE = {
    "a shared array whose size is a product": "TypingError",  # the stand-in's kernels have Numba's types
}


def fits(found: str, expected: str) -> bool:
    kind, _, words = expected.partition(": ")
    return found == expected or (bool(words) and found.startswith(f"{kind}: ") and words in found)


def outcome(program, cuda, types):
    import numba

    try:
        file = f"<{program.name}>"
        linecache.cache[file] = len(program.source), None, program.source.splitlines(True), file
        made = {"np": np, "math": math, "cuda": cuda, "types": types, "numba": numba}
        exec(compile(program.source, file, "exec"), made)
        if program.arguments:
            made["program"][1, 1](np.zeros(8, np.float32))
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return COMPILES


@pytest.mark.parametrize("program", KERNELS, ids=[each.name for each in KERNELS])
def test_kernels_have_the_successors_outcome(program):
    from numba_cuda_mlir import cuda, types

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outcome(program, cuda, types)
    if program.name in OTHERWISE:
        assert found.startswith(OTHERWISE[program.name]) and "\n" not in found
    else:
        assert fits(found, program.new), found


def test_a_kernel_runs_is_counted_and_is_checked():
    from numba_cuda_mlir import cuda, types

    @cuda.jit
    def backwards(a, out):
        tile = cuda.shared.array(64, types.float32)
        i = cuda.grid(1)
        tile[i] = a[i]
        out[i] = tile[63 - i]

    a = np.arange(64, dtype=np.float32)
    with h2d.count() as counted:
        given, out = cuda.to_device(a), cuda.device_array_like(a)
        backwards[1, 64](given, out)
        out.copy_to_host()
    assert (counted.copies_to_device, counted.copies_to_host, counted.operations) == (1, 1, 1)
    said = str(h2d.check(backwards)[1, 64](a, a.copy()))
    assert "out[i] = tile[63 - i]" in said and "Put a barrier between" in said


def test_annotations_are_a_signature():
    from numba_cuda_mlir import cuda, types

    def store(a: types.float32[::1], n: types.int32):
        a[0] = n

    out = cuda.to_device(np.zeros(1, np.float32))
    cuda.jit(store)[1, 1](out, 3)
    assert out.copy_to_host()[0] == 3
    with pytest.raises(TypeError, match="float64 is given where the signature says int32"):
        cuda.jit(store)[1, 1](out, 3.5)
    cuda.jit(annotations_as_signatures=False)(store)[1, 1](out, 3.5)
    assert out.copy_to_host()[0] == 3.5


def test_its_modules_are_found_and_the_others_are_refused_in_one_line():
    import numba.core.errors
    import numba_cuda_mlir
    from numba_cuda_mlir import cuda
    from numba_cuda_mlir.cuda.random import create_xoroshiro128p_states
    from numba_cuda_mlir.numba_cuda.core.errors import TypingError
    from numba_cuda_mlir.numba_cuda.cudadrv.devicearray import DeviceNDArray

    assert TypingError is numba.core.errors.TypingError
    assert isinstance(cuda.device_array(1), DeviceNDArray) and DeviceNDArray is cuda.DeviceNDArray
    assert create_xoroshiro128p_states(2, seed=1).size == 2
    assert cuda.shared_array is cuda.shared.array and numba_cuda_mlir.__version__ == "0.6.0"
    with pytest.raises(ImportError, match=r"numba_cuda_mlir\.extending is not in host_to_device's stand-in"):
        import numba_cuda_mlir.extending
    for name in ("inline_ptx", "compile_ptx", "no_such_name"):
        with pytest.raises(AttributeError, match=rf"^cuda\.{name} is not in .*stand-in for numba_cuda_mlir"):
            getattr(cuda, name)
    kernel = cuda.jit(lambda a: None)
    with pytest.raises(NotImplementedError, match="no thread block clusters"):
        kernel[1, 1, 0, 0, 2]
    assert kernel[1, 1, 0, 0, None].grid == (1, 1, 1)


def test_each_name_keeps_its_own_kernels_and_restoring_takes_both_away():
    import numba_cuda_mlir
    from numba import cuda as old
    from numba_cuda_mlir import cuda as new

    assert old is numba_cuda and type(old.jit(lambda a: None)) is CUDADispatcher
    assert type(new.jit(lambda a: None)).__name__ == "MLIRDispatcher"
    assert sys.modules["numba_cuda_mlir"] is numba_cuda_mlir
    imports.restore()
    try:
        assert not [name for name in sys.modules if name.partition(".")[0] == "numba_cuda_mlir"]
    finally:
        imports.redirect()


# --- Against the real numba-cuda-mlir ---------------------------------------------------------------------------


def has(package):
    import importlib.machinery

    return importlib.machinery.PathFinder.find_spec(package) is not None


real = pytest.mark.skipif(
    not has("numba_cuda_mlir") or not has("numba_cuda"),
    reason='needs both compilers: python -m pip install "numba-cuda-mlir[cu13]" "numba-cuda[cu13]"',
)


def python(*words):
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@real
@pytest.mark.slow
@pytest.mark.parametrize("library", ["numba.cuda", "numba_cuda_mlir.cuda"])
def test_the_list_of_differences_is_what_the_compilers_say(library):
    found = json.loads(python("-m", "tests.corpora.kernels.names_by_compiler", library))
    expected = {each.name: each.old if library == "numba.cuda" else each.new for each in PROGRAMS}
    wrong = {name: (found[name], words) for name, words in expected.items() if not fits(found[name], words)}
    assert not wrong


CHECKED = """
import numpy as np
import host_to_device as h2d
from numba_cuda_mlir import cuda, types
from numba_cuda_mlir.cuda import shared

twice = cuda.jit(device=True)(lambda x: 2 * x)

@cuda.jit
def backwards(a, out):
    tile = shared.array(64, types.float32)
    i = cuda.threadIdx.x
    tile[i] = twice(a[i]) + cuda.laneid
    out[i] = tile[63 - i]

assert type(backwards).__module__ == "numba_cuda_mlir.descriptor"
a = np.ones(64, np.float32)
print(h2d.check(backwards)[1, 64](a, a.copy()))
print(h2d.show(backwards, types="float32[::1], float32[::1]"))
"""


@real
@pytest.mark.slow
def test_a_kernel_of_the_real_library_is_checked_and_shown(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(CHECKED)
    said = python(str(program))
    assert "out[i] = tile[63 - i]" in said and "Put a barrier between" in said
    assert "compiled for sm_90 by numba-cuda-mlir" in said and "st.global.f32" in said


@real
@pytest.mark.slow
def test_both_compilers_side_by_side(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import host_to_device as h2d\n"
        "h2d.start()\n"
        "from numba import cuda as old\n"
        "from numba_cuda_mlir import cuda as new\n"
        "def scale(cuda):\n"
        "    @cuda.jit\n"
        "    def scale(a, factor, out):\n"
        "        i = cuda.grid(1)\n"
        "        if i < out.size:\n"
        "            out[i] = a[i] * factor\n"
        "    return scale\n"
        "both = h2d.compare(scale(old), scale(new), types='float32[::1], float32, float32[::1]')\n"
        "print(both.names)\n"
        "print(both)\n"
    )
    said = python(str(program))
    assert "('numba-cuda', 'numba-cuda-mlir')" in said
    assert said.count("st.global.f32") == 2
