"""What cannot be shown is told in one line: why, where in the learner's source, and what to do about it."""

import textwrap

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.inspecting import compiling, sources, tools
from host_to_device.inspecting.children import nvrtc
from host_to_device.inspecting.errors import CannotShow, MissingTool
from host_to_device.standins import numba_cuda as cuda
from tests.corpora.listings import SOURCES, numba_kernels

ADD = SOURCES["vector_add.cu"]
X = np.zeros(8, np.float32)
LIMIT = 50


def refused(*arguments, **options):
    with pytest.raises((CannotShow, MissingTool)) as caught:
        h2d.show(*arguments, **options)
    said = str(caught.value)
    assert said and "\n" not in said and len(said) < 300
    assert caught.value._render_traceback_() == [f"host_to_device: {said}"]
    return said


@cuda.jit
def undecided(x):
    x[0] = x[1]


@cuda.jit
def unknown_name(x):
    i = cuda.grid(1)
    x[i] = no_such_thing  # noqa: F821


@cuda.jit
def unknown_attribute(x):
    i = cuda.grid(1)
    x[i] = x[i].brightness


@cuda.jit
def with_an_object(x):
    x[0] = LOCK


LOCK = object.__new__(type("Lock", (), {"__reduce__": lambda self: 1 / 0}))


@cuda.jit(device=True)
def helper(x):
    return x + 1


def plain(x):
    return x + 1


# --- Without any compiler --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "what", "words"),
    [
        ("sm_91", "ptx", "no architecture 'sm_91': did you mean 'sm_90'?"),
        ("H10O", "ptx", "did you mean 'sm_90'?"),
        ("gfx94", "gcn", "did you mean 'gfx942'?"),
        ("banana", "sass", "there is no architecture 'banana': Names are such as"),
        ("gfx942", "sass", "gfx942 is AMD (CDNA 3), and PTX and SASS are code for NVIDIA GPUs: give 'sm_75'"),
        ("sm_90", "gcn", "sm_90 is NVIDIA (Hopper), and GCN is code for AMD GPUs: give 'gfx90a'"),
        (90.0, "ptx", "arch is 90.0: give a name such as"),
        ((9, 1), "ptx", "there is no architecture 'sm_91'"),
    ],
)
def test_an_unknown_architecture(arch, what, words):
    assert words in refused(ADD, what, arch)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (plain, "plain() is a host function: decorate it with @cuda.jit"),
        (helper, "helper() is a device function"),
        (3, "int cannot be compiled"),
        (X, "ndarray cannot be compiled"),
        ("no_such_file.cu", "'no_such_file.cu' is neither a kernel's source nor a file"),
        ("void f(float* x) { x[0] = 1; }", "has no kernel: nothing in it is __global__"),
    ],
)
def test_what_is_no_kernel(kernel, words):
    assert words in refused(kernel)


def test_a_function_of_the_cpu():
    numba = pytest.importorskip("numba")
    assert "compiled for the CPU: decorate it with @cuda.jit" in refused(numba.njit(plain))


def test_functions_of_a_source_that_are_no_kernels():
    text = (
        ADD + "__device__ float twice(float x) { return 2 * x; }\nfloat half_of(float x)\n{ return x / 2; }\n"
    )
    assert "twice is a device function: only a __global__" in refused(text, entry="twice")
    assert "half_of is a host function: only a __global__" in refused(text, entry="half_of")


def test_a_kernel_without_types():
    assert refused(undecided).startswith("undecided() has no types yet: give args=(…)")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"types": "float32[:], int64"}, "undecided(x) takes 1 arguments, and types= has 2"),
        ({"args": (X, X)}, "undecided(x) takes 1 arguments, and args= has 2"),
        ({"types": "flaot32[:]"}, "types='flaot32[:]' cannot be read"),
        ({"types": "float32[:]", "args": (X,)}, "give types= or args=, not both"),
        ({"args": X}, "args is ndarray: give a tuple"),
        ({"args": ({},)}, "cannot be given a dict"),
    ],
)
def test_types_that_do_not_fit(options, words):
    assert words in refused(undecided, **options)


def test_other_arguments_of_show():
    assert refused(ADD, "asm").startswith("what is 'asm': give one of 'ptx', 'sass'")
    assert "types= is for Numba kernels" in refused(ADD, types="float32[:]")
    assert "give what='ptx'" in refused(ADD, "cuda") and "compiles Python straight to PTX" in refused(
        undecided, "cuda"
    )
    assert "a Numba kernel is not C++" in refused(undecided, "hip")
    with pytest.raises(CannotShow, match="compare needs a second kernel"):
        h2d.compare(ADD)
    with pytest.raises(CannotShow, match=r"arch is .* or a pair"):
        h2d.compare(ADD, arch=("sm_75", "sm_80", "sm_90"))


def test_a_file_that_is_no_source(tmp_path):
    (tmp_path / "picture.cu").write_bytes(b"\xff\xfe\x00\x80")
    assert refused(tmp_path / "picture.cu") == "picture.cu is not a text file in UTF-8"
    (tmp_path / "long.cu").write_bytes(b" " * (5 << 20))
    assert "larger than 4 MiB" in refused(tmp_path / "long.cu")
    assert "neither a kernel's source nor a file that can be read" in refused(tmp_path)


# --- Missing tools ---------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_installed(monkeypatch, tmp_path):
    """A machine without any compiler."""
    for each in (tools.program, tools.nvrtc, tools.headers, tools.zig, tools.numba_cuda):
        each.cache_clear()
    monkeypatch.setattr(tools, "_packages", lambda name: [])
    monkeypatch.setattr(tools, "_toolkits", lambda: iter(()))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield
    monkeypatch.undo()
    for each in (tools.program, tools.nvrtc, tools.headers, tools.zig, tools.numba_cuda):
        each.cache_clear()


@pytest.mark.usefixtures("nothing_installed")
def test_what_is_missing_is_named_with_one_command():
    command = "python -m pip install -r requirements-inspect.txt"
    assert refused(ADD, "ptx").startswith("NVRTC, which compiles CUDA C++, is not installed here:")
    for kernel, what, options in (
        (ADD, "ptx", {}),
        (ADD, "gcn", {}),
        (undecided, "ptx", {"args": (X,)}),
        (".version 9.0\n.target sm_90\n.visible .entry k()\n{\n\tret;\n}\n", "sass", {}),
    ):
        said = refused(kernel, what, **options)
        assert said.endswith(command) and "is not installed here" in said


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_requirement_file_the_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "HERE", tmp_path / "a" / "b")
    assert refused(ADD).endswith('python -m pip install "host-to-device[inspect]"')


@pytest.mark.usefixtures("nothing_installed")
def test_cupy_is_named_too(monkeypatch):
    from host_to_device.inspecting import cupy_code
    from host_to_device.standins.cupy import ElementwiseKernel

    monkeypatch.setattr(cupy_code, "_package", lambda: None)
    kernel = ElementwiseKernel("T x", "T y", "y = x")
    assert refused(kernel, "cuda", args=(X,)).startswith(
        "CuPy, which generates the CUDA C++, is not installed"
    )


# --- With the compilers ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("compilers")
@pytest.mark.parametrize("what", ["ptx", "gcn"])
def test_a_source_with_an_error(what):
    text = ADD.replace("a[i] + b[i]", "a[i] + c[i]")
    number = 1 + text[: text.index("c[i]")].count("\n")
    said = refused(text, what)
    assert said.startswith(f"line {number}: ") and "out[i] = a[i] + c[i];" in said
    with pytest.raises(CannotShow) as caught:
        h2d.show(text, what)
    assert caught.value.line == number and "error" in caught.value.log


@pytest.mark.usefixtures("compilers")
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("mask", ["0xffffffff", "0xffffffffu", "-1", "unsigned(~0ull)"])
@pytest.mark.parametrize(
    "call", ["__shfl_down_sync(MASK, x[0], 1)", "__ballot_sync(MASK, 1)", "(__syncwarp(MASK), 1)"]
)
def test_a_mask_of_32_bits_is_refused_for_amd_and_taken_for_nvidia(call, mask, arch):
    text = "__global__ void k(float* x) {\n  x[0] = CALL;\n}".replace("CALL", call)
    assert refused(text.replace("MASK", mask), "gcn", arch).startswith(
        "line 2: a mask of 32 bits: HIP takes masks of 64"
    )
    assert h2d.show(text.replace("MASK", "~0ull"), "gcn", arch)
    assert h2d.show(text.replace("MASK", mask), "ptx")


@pytest.mark.usefixtures("compilers")
def test_several_kernels_and_none():
    several = SOURCES["several.cu"]
    for what in ("ptx", "gcn"):
        assert "name one of them with entry=, of first, second, third" in refused(several, what)
        assert "has no kernel 'fourth'; it has first, second, third" in refused(several, what, entry="fourth")
    template = SOURCES["template.cu"]
    assert "entry='add<float>'" in refused(template)
    for what in ("ptx", "gcn"):
        assert refused(template, what, entry="add<colour>").startswith(
            "'add<colour>' names no kernel of this source"
        )


@pytest.mark.usefixtures("compilers")
def test_an_architecture_that_the_compiler_cannot_make():
    assert (
        "NVRTC" in (said := refused(ADD, "ptx", "V100"))
        and "cannot compile for sm_70: it knows sm_75 to" in said
    )
    wmma = SOURCES["matrix_core.hip"]
    assert refused(wmma, "gcn", "RX 7900 XTX").startswith("line ")


@pytest.mark.usefixtures("compilers")
def test_numba_refuses_with_the_learners_line():
    assert "name 'no_such_thing' is not defined" in refused(unknown_name, args=(X,))
    said = refused(unknown_attribute, args=(X,))
    line = unknown_attribute.py_func.__code__.co_firstlineno + 3
    assert (
        said.startswith(f"line {line}: Numba: Unknown attribute 'brightness'")
        and "x[i] = x[i].brightness" in said
    )
    assert "with_an_object() uses LOCK, a Lock" in refused(with_an_object, args=(X,))
    assert "Numba compiles for NVIDIA's GPUs only" in refused(undecided, "gcn", args=(X,))
    assert "Numba compiles for NVIDIA's GPUs only" in refused(undecided, "resources", "MI300X", args=(X,))


@pytest.mark.usefixtures("compilers")
def test_too_much_shared_memory():
    text = "__global__ void k(float* x) { __shared__ float s[100000]; s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[7]; }"
    assert "too much shared data" in refused(text, "sass")


@pytest.mark.usefixtures("compilers")
def test_a_compiler_has_a_limit_of_time(monkeypatch):
    endless = "template <int n> struct S { static const int v = S<n - 1>::v + S<n - 2>::v; };" + ADD
    monkeypatch.setattr(tools, "SECONDS", 0.01)
    said = refused(endless + "// another source", "ptx")
    assert said.startswith("NVRTC did not finish within 0.01 s and was stopped")


def test_no_shell_sees_what_is_compiled(tmp_path):
    with tools.private_folder() as folder:
        done = tools.call(["echo", "$HOME; ls"], folder, name="echo")
        assert done.stdout == "$HOME; ls\n" and folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    with pytest.raises(CannotShow, match="nothing does not start: No such file"):
        tools.call([tmp_path / "nothing"], tmp_path, name="nothing")


def test_a_compiler_that_dies_is_told():
    with tools.private_folder() as folder, pytest.raises(CannotShow, match="sh was ended by signal 9"):
        tools.call(["sh", "-c", "kill -9 $$"], folder, name="sh")


def test_what_a_compiler_starts_ends_with_it(tmp_path):
    import time

    mark = tmp_path / "alive"
    script = f"(sleep 1; touch {mark}) & sleep 30"
    with pytest.raises(CannotShow, match=r"did not finish within 0\.2 s"):
        tools.call(["sh", "-c", script], tmp_path, name="sh", seconds=0.2)
    time.sleep(1.3)
    assert not mark.exists()


def test_arguments_of_compile():
    with pytest.raises(CannotShow, match="language is 'fortran'"):
        compiling.compile(ADD, language="fortran")
    with pytest.raises(CannotShow, match="upto is 'far'"):
        compiling.compile(ADD, upto="far")


def test_host_code_is_left_out_and_lines_stay():
    from host_to_device.inspecting import host_code

    text = SOURCES["with_main.cu"]
    left = host_code.without(text)
    assert left.count("\n") == text.count("\n")
    assert "main" not in left and "check(" not in left and "<cstdio>" not in left
    assert left.splitlines()[5:10] == text.splitlines()[5:10] and "__global__" in text.splitlines()[5]
    kept = textwrap.dedent("""
        #define GUARD(i, n) \\
            if (i < n) {
        struct Pair { float x, y; __device__ float sum() const { return x + y; } };
        namespace mine { __device__ float one() { return 1.0f; } }
        __constant__ float table[2] = {1.0f, 2.0f};
        extern "C" { __global__ void k(Pair* p) { p->x = p->sum() + mine::one(); } }
        """)
    assert host_code.without(kept) == kept


def test_the_module_that_runs_nvrtc_imports_nothing_of_ours():
    import ast
    import inspect

    from host_to_device.inspecting.children import cupy_source, hipify, numba_ptx

    for child in (nvrtc, numba_ptx, cupy_source, hipify):
        tree = ast.parse(inspect.getsource(child))
        names = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
        names |= {
            alias.name for each in ast.walk(tree) if isinstance(each, ast.Import) for alias in each.names
        }
        assert not any(name.startswith("host_to_device") for name in names)


def test_what_was_given_is_recognised(tmp_path):
    path = tmp_path / "k.hip"
    path.write_text(SOURCES["block_sum.hip"])
    assert sources.given(path).language == sources.given(str(path)).language == "hip"
    assert sources.given(ADD).language == "cuda"
    assert sources.given(numba_kernels.vector_add).language == "numba"
    assert sources.given(numba_kernels.vector_add[1, 32]).entry == "vector_add"
