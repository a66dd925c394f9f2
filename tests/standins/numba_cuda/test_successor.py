"""`numba_cuda_mlir`, the successor of numba-cuda: the same stand-in under its names, and where it differs."""

import json
import linecache
import math
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.standins import imports, numba_cuda  # with it, this file runs with the stand-ins in place
from host_to_device.standins.numba_cuda import inferring, numbas_types
from host_to_device.standins.numba_cuda.dispatching import CUDADispatcher
from tests.corpora.kernels import successor_expressions
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


def standins_type(kinds, expression):
    """Return the stand-in's type of an expression in a kernel of numba_cuda_mlir, as NumPy's code, or the refusal."""
    from numba_cuda_mlir import cuda

    inner, file = successor_expressions.source(kinds, expression), f"<{kinds} | {expression}>"
    names = inner[len("def program(") : inner.index(")")]
    text = f"@cuda.jit(device=True)\n{inner}@cuda.jit\ndef kernel({names}):\n    program({names})\n"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    made = {"np": np, "math": math, "cuda": cuda}
    exec(compile(text, file, "exec"), made)
    codes = [
        np.dtype(each.split("[")[0].replace("boolean", "bool")).str[1:] for each in kinds.split(", ") if each
    ]
    given = [
        numbas_types.Array(numbas_types.Number(code), 1) if "[" in kinds else numbas_types.Number(code)
        for code in codes
    ]
    try:
        typing = inferring._Typing(made["kernel"].program, [])
        typing.program_for(given)
    except Exception as problem:
        assert "\n" not in str(problem)
        return problem
    [(_, found)] = typing.versions.values()
    return found.code if isinstance(found, numbas_types.Number) else found


@pytest.mark.parametrize("expression", dict.fromkeys(each for _, each in successor_expressions.PROGRAMS))
def test_an_expression_has_the_successors_type_or_is_refused(expression):
    """Nothing differs silently: a type is the successor's, and only what differs, or what both refuse, is refused."""
    different, wrong = successor_expressions.stored(), []
    for kinds in [kinds for kinds, each in successor_expressions.PROGRAMS if each == expression]:
        found, (_, new) = standins_type(kinds, expression), different.get((kinds, expression), ["", ""])
        if isinstance(found, Exception):
            if not new:
                wrong.append((kinds, "refused", str(found)))
        elif new and (found is None or new == "error" or np.dtype(new).str[1:] != found):
            wrong.append((kinds, found, new))
    assert not wrong


def test_values_follow_the_successors_types_compiled_and_interpreted():
    from numba_cuda_mlir import cuda

    @cuda.jit
    def kernel(x, u, s, out):
        i = cuda.grid(1)
        out[0, i] = x[i] ** i * 1.0  # a float32: the thread's number is an int32
        out[1, i] = u[i] | s[i]  # an int32
        out[2, i] = math.floor(x[i]) // 2  # an integer
        y = u[i]
        y ^= s[i]
        out[3, i] = y

    x = np.linspace(1.1, 3, 4).astype(np.float32)
    u, s = np.array([2**32 - 1, 2**31, 5, 6], np.uint32), np.array([-3, 1, 2, -1], np.int32)
    wanted = [x ** np.arange(4, dtype=np.int32).astype(np.float32), (u | s.view(np.uint32)).view(np.int32)]
    wanted += [np.floor(x) // 2, (u ^ s.view(np.uint32)).view(np.int32)]
    for interpreted in (True, False):
        out = np.zeros((4, 4))
        with warnings.catch_warnings(), h2d.stand_in(interpreted=interpreted):
            warnings.simplefilter("ignore")
            kernel[1, 4](x, u, s, out)
        assert np.allclose(out, wanted, rtol=1e-6), interpreted


def test_what_the_successor_computes_otherwise_is_refused_when_it_is_launched_compiled_or_checked():
    from numba_cuda_mlir import cuda

    @cuda.jit
    def root(a, out):
        out[0] = math.sqrt(a[0])

    a, out = np.ones(1, np.int32), np.zeros(1)
    for launch in (root[1, 1], h2d.check(root)[1, 1]):
        for interpreted in (True, False):
            with (
                h2d.stand_in(interpreted=interpreted),
                pytest.raises(Exception, match=r"write math\.sqrt\(float\(x\)\)"),
            ):
                launch(a, out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root[1, 1](a.astype(np.float32), out)
    assert out[0] == 1


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


# --- The page "Numba's two names" -------------------------------------------------------------------------------


def blocks():
    """Return the page's programs: the names that they are for, the text, and the output below."""
    page = (ROOT / "chapters" / "numba-names.md").read_text(encoding="utf-8")
    found = re.findall(r"(?ms)^```python\n# ([^\n]+)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", page)
    assert len(found) == page.count("```python") > 8
    return found


@pytest.mark.parametrize("library", ["numba.cuda", "numba_cuda_mlir"])
def test_the_page_of_both_names_runs_under_each(library):
    first = {
        "numba.cuda": "from numba import cuda, types",
        "numba_cuda_mlir": "from numba_cuda_mlir import cuda, types",
    }
    names = {"np": np}
    exec(first[library], names)
    for number, (about, text, said) in enumerate(blocks()):
        name, _, refused = about.partition(", ")
        if name not in (library, "both"):
            continue
        file = f"<page {library} {number}>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if refused:
                with pytest.raises(Exception) as problem:
                    exec(compile(text, file, "exec"), names)
                assert said.strip() in str(problem.value) and "\n" not in str(problem.value)
            else:
                exec(compile(text, file, "exec"), names)
        if "ModuleNotFoundError" in text:
            exec(first[library], names)


def test_the_page_counts_the_expressions_as_they_are_stored():
    page = (ROOT / "chapters" / "numba-names.md").read_text(encoding="utf-8")
    different = [both for both in successor_expressions.stored().values() if both[0] != both[1]]
    assert f"{len(successor_expressions.PROGRAMS):,} expressions" in page
    assert f"{len(different)} have another type" in page


# --- Against the real numba-cuda-mlir ---------------------------------------------------------------------------


def has(package):
    import importlib.machinery

    return importlib.machinery.PathFinder.find_spec(package) is not None


def real(*packages):
    """Skip a test where one of these packages is missing."""
    command = " ".join(f'"{each.replace("_", "-")}[cu13]"' for each in packages)
    return pytest.mark.skipif(
        not all(map(has, packages)), reason=f"needs compilers: python -m pip install {command}"
    )


OLD, NEW = "numba_cuda", "numba_cuda_mlir"


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "library, place",
    [
        pytest.param("numba.cuda", 0, marks=real(OLD)),
        pytest.param("numba_cuda_mlir.cuda", 1, marks=real(NEW)),
    ],
)
def test_the_types_of_expressions_are_what_the_compilers_say(library, place):
    printed = python("-m", "tests.corpora.kernels.successor_expressions", library)
    found = json.loads(
        printed.splitlines()[-1]
    )  # before it stands what the compiler prints of its own errors
    different = successor_expressions.stored()
    wrong = {
        key: (found[f"{key[0]} | {key[1]}"], both[place])
        for key, both in different.items()
        if found[f"{key[0]} | {key[1]}"] != both[place]
    }
    assert not wrong and len(found) == len(successor_expressions.PROGRAMS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "library",
    [
        pytest.param("numba.cuda", marks=real(OLD)),
        pytest.param("numba_cuda_mlir.cuda", marks=real(NEW)),
    ],
)
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


@real(NEW)
@pytest.mark.slow
def test_a_kernel_of_the_real_library_is_checked_and_shown(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(CHECKED)
    said = python(str(program))
    assert "out[i] = tile[63 - i]" in said and "Put a barrier between" in said
    assert "compiled for sm_90 by numba-cuda-mlir" in said and "st.global.f32" in said


@real(OLD, NEW)
@pytest.mark.slow
def test_both_compilers_side_by_side_are_as_the_page_shows_them(tmp_path):
    program = tmp_path / "program.py"
    [(text, said)] = [(text, said) for about, text, said in blocks() if about == "compiled by both"]
    program.write_text(text)
    shown = [re.sub(r"line \d+", "line", line) for line in python(str(program)).splitlines()[1:]]
    assert shown == [re.sub(r"line \d+", "line", line) for line in said.splitlines()]
