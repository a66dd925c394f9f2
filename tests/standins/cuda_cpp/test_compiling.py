"""The compiler, its messages and the folder of what it has made."""

import importlib.util
import os
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from host_to_device.standins import cuda_cpp
from host_to_device.standins.cuda_cpp import CompileError, building, compiler, nvrtc
from host_to_device.support import caching

ADD = """extern "C" __global__ void add(int* x) {
    x[threadIdx.x] += 1;
}
"""


def body(text, before="", **more):
    return cuda_cpp.compile(f'{before}extern "C" __global__ void f(float* a, int n) {{ {text} }}', **more)


@pytest.fixture
def known_runtime(monkeypatch):
    """The runtime, the same for all kernels, as it is compiled already: it takes longer than a kernel."""
    path = compiler.runtime()
    monkeypatch.setattr(compiler, "runtime", lambda: path)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """An empty folder, and nothing remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(building, "_made", {})
    monkeypatch.setattr(compiler, "_caches", {})
    return tmp_path / "host-to-device" / "cuda"


def runs(device, source=ADD):
    x = device(np.zeros(4, np.int32))
    cuda_cpp.compile(source).function("add")((1, 1, 1), (4, 1, 1), (x,))
    return x.tolist() == [1, 1, 1, 1]


def count(monkeypatch):
    """Return a list that grows by one whenever a source is compiled."""
    builds, build = [], compiler.build
    monkeypatch.setattr(compiler, "build", lambda *rest: (builds.append(rest), build(*rest))[1])
    return builds


# ---------------------------------------------------------------- messages


@pytest.fixture
def without_nvrtc(monkeypatch):
    """NVRTC is not installed: errors are told in the words of this machine's compiler."""

    def missing():
        raise nvrtc.NotInstalled("NVRTC is not installed")

    monkeypatch.setattr(nvrtc, "_library", missing)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("\n\n__global__ void f(int* a) {\n  a[0] = x;\n}", "line 4: 'x' was not declared in this scope"),
        ("__global__ void f(int* a) { a[0] = 1 }", "line 1: expected ';'"),
        (
            "#include <iostream>\n",
            "line 1: cannot open source file iostream: NVRTC, too, has no headers of C++",
        ),
        ("#include <stdint.h>\n", "cannot open source file stdint.h"),
        (
            "\n#include <cub/device/device_reduce.cuh>\n",
            "line 2: the stand-in has no header cub/device/device_reduce.cuh",
        ),
        ("int g() { return 1; }", r"line 1: g\(\) has no __device__: host functions are refused"),
        (
            "__global__ void f() { __shared__ int x = 1; }",
            "line 1: __shared__ variable x cannot have an initial value",
        ),
        ("__global__ int f() { return 1; }", "a __global__ function must have a void return type"),
        (
            "__global__ void g() {}\n__global__ void f() {\n g<<<1, 1>>>(); }",
            "line 3: in the stand-in a kernel cannot launch kernels",
        ),
        ('__global__ void f() { asm volatile("bar.sync 0;"); }', "the stand-in cannot run inline PTX"),
        ("__global__ void f() { threadIdx.x = 1; }", "line 1: .*read-only"),
        (
            "__global__ void f() { __shared__ int x[warpSize]; }",
            r"line 1: .*\(warpSize is a variable, for NVRTC",
        ),
        ("__global__ void f() {\n constexpr int w = warpSize; }", "line 2: .*warpSize is a variable"),
        ("__global__ void f() { warpSize = 64; }", "line 1: .*read-only"),
        ("__global__ void f() { std::min(1, 2); }", "line 1: .*std"),
        ("__global__ void f(float* a) { a[0] = sqrt(2); }", "line 1: .*ambiguous"),
        ("__global__ void f() { try {} catch (...) {} }", "line 1: "),
        (
            "__device__ int g();\n__global__ void f(int* a) { a[0] = g(); }",
            "^undefined symbol _Z1gv: it is declared and used, but not defined$",
        ),
    ],
)
@pytest.mark.usefixtures("without_nvrtc")
def test_errors_are_one_line_with_the_line_of_the_source(source, words):
    with pytest.raises(CompileError, match=words) as caught:
        cuda_cpp.compile(source)
    assert "\n" not in str(caught.value) and caught.value.log


@pytest.mark.usefixtures("without_nvrtc")
def test_the_log_holds_every_error_and_nothing_of_the_stand_in():
    with pytest.raises(CompileError) as caught:
        cuda_cpp.compile("__global__ void f() {\n  x = 1;\n  y = 2;\n}")
    assert "kernel.cu:2:3: error" in caught.value.log and "kernel.cu:3:3: error" in caught.value.log
    assert "h2d" not in caught.value.log


def test_too_much_static_shared_memory():
    with pytest.raises(CompileError, match="shared array q has 80000 bytes: a block gets 49152 at most"):
        body("__shared__ float q[20000]; q[n] = 1; __syncthreads(); a[0] = q[n + 1];")


def test_unknown_names():
    module = body("a[0] = n;", before="__constant__ int c[2];")
    with pytest.raises(LookupError, match="this source has no kernel 'g', only f"):
        module.function("g")
    with pytest.raises(
        LookupError, match="this source has no __constant__ or __device__ variable 'd', only c"
    ):
        module.get_global("d")
    with pytest.raises(CompileError, match="absent<int>"):
        body("a[0] = n;", name_expressions=["absent<int>"])
    with pytest.raises(CompileError, match="a warp has 32 or 64 threads, not 16"):
        body("a[0] = n;", warp_size=16)


needs_nvrtc = pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")


@needs_nvrtc
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("\n\n__global__ void f(int* a) {\n  a[0] = x;\n}", 'line 4: identifier "x" is undefined'),
        ("__global__ void f(int* a) { a[0] = 1 }", 'line 1: expected a ";"'),
        ("\n#include <iostream>\n", 'line 2: cannot open source file "iostream"'),
        ("int g() { return 1; }", "line 1: A function without execution space annotations"),
        (
            "__global__ void f() { __shared__ int x = 1; }",
            "line 1: initializer not allowed for __shared__ variable",
        ),
        ("__global__ void f() { threadIdx.x = 1; }", "line 1: expression must be a modifiable lvalue"),
        (
            "__global__ void f() { __shared__ int x[warpSize]; }",
            "line 1: expression must have a constant value",
        ),
        (
            "__global__ void g() {}\n__global__ void f() {\ng<<<1, 1>>>(); }",
            "line 3: device-side kernel launch could not be processed",
        ),
        (
            "__global__ void f(float* a) { a[0] = sqrt(2); }",
            'line 1: more than one instance of overloaded function "sqrt" matches the argument list',
        ),
        (
            "__device__ int g();\n__global__ void f(int* a) { a[0] = g(); }",
            "Unresolved extern function '_Z1gv'",
        ),
    ],
)
def test_errors_are_those_of_nvrtc_where_it_is_installed(source, words):
    with pytest.raises(CompileError) as caught:
        cuda_cpp.compile(source)
    assert str(caught.value).startswith(words) and "\n" not in str(caught.value)
    assert (
        words.partition(": ")[2] in caught.value.log and "not declared in this scope" not in caught.value.log
    )


@needs_nvrtc
def test_nvrtc_gets_the_options_and_the_name_expressions(tmp_path):
    (tmp_path / "mine.h").write_text("#define RIGHT 1\nint helper() { return 1; }\n")
    with pytest.raises(CompileError, match='line 3: identifier "wrong" is undefined'):
        cuda_cpp.compile(
            '#include "mine.h"\n#ifdef GIVEN\n__global__ void f(int* a) { a[0] = RIGHT + helper() + wrong; }\n#endif',
            options=("-DGIVEN", f"-I{tmp_path}", "-default-device", "-arch=sm_80", "-std=c++11"),
        )
    template = "template <typename T> __global__ void f(T* a) {\n  a[0] = T::none; }"
    with pytest.raises(CompileError, match='line 2: name followed by "::" must be a class'):
        cuda_cpp.compile(template, name_expressions=["f<int>"])
    with pytest.raises(CompileError, match=r'^absent<int>: identifier "absent" is undefined$'):
        cuda_cpp.compile(template, name_expressions=["absent<int>"])


@needs_nvrtc
@pytest.mark.parametrize("header", ["cuda_fp16.h", "cooperative_groups.h", "cub/cub.cuh"])
def test_a_header_that_only_nvrtc_lacks_is_not_the_error(monkeypatch, header):
    monkeypatch.setattr(nvrtc, "_headers", tuple)
    with pytest.raises(CompileError, match=r"'x' was not declared|the stand-in has no header"):
        cuda_cpp.compile(f"#include <{header}>\n__global__ void f(int* a) {{ a[0] = x; }}")


@needs_nvrtc
def test_what_nvrtc_accepts_and_this_machine_cannot_run_is_told_as_before():
    with pytest.raises(CompileError, match="the stand-in cannot run inline PTX"):
        cuda_cpp.compile('__global__ void f() { asm volatile("bar.sync 0;"); }')


@needs_nvrtc
def test_half_precision_is_known_to_nvrtc():
    if not nvrtc._headers():
        pytest.skip("CUDA's headers are not installed")
    with pytest.raises(CompileError, match='line 2: identifier "x" is undefined'):
        cuda_cpp.compile("#include <cuda_fp16.h>\n__global__ void f(half* a) { a[0] = x; }")


# ---------------------------------------------------------------- options


def test_options(device, tmp_path):
    (tmp_path / "mine.h").write_text("#define THREE 3\n")
    a = device(np.zeros(4, np.float32))
    module = body(
        "a[0] = X + THREE; if constexpr (sizeof(int) == 4) a[1] = Y; a[2] = helper();",
        before='#include "mine.h"\nint helper() { return 7; }\n',
        options=("-DX=2", "--define-macro=Y=5", f"-I{tmp_path}", "-std=c++11", "--use_fast_math", "-arch=sm_80",
                 "-default-device", "--gpu-architecture", "sm_90", "-lineinfo", "--fmad=false"),
    )  # fmt: skip
    module.function("f")((1, 1, 1), (1, 1, 1), (a, np.int32(0)))
    assert a.tolist() == [5, 5, 7, 0]


def test_a_changed_file_of_the_learner_is_seen(device, tmp_path):
    a = device(np.zeros(1, np.float32))
    for number in (1, 2):
        (tmp_path / "mine.h").write_text(f"#define NUMBER {number}\n")
        module = body("a[0] = NUMBER;", before='#include "mine.h"\n', options=(f"-I{tmp_path}",))
        module.function("f")((1, 1, 1), (1, 1, 1), (a, np.int32(0)))
        assert a[0] == number


def test_options_that_nvrtc_does_not_have():
    for option in ("--foo", "-O3", "-fopenmp", "-o/tmp/x", "-Wl,x"):
        with pytest.raises(CompileError, match=f"nvrtc: error: unrecognized option {option} found"):
            body("", options=(option,))
    with pytest.raises(CompileError, match="option -D needs a value"):
        body("", options=("-D",))


def test_kernels_that_the_preprocessor_decides_on(device):
    module = cuda_cpp.compile(
        '#define KERNEL(name, value) extern "C" __global__ void name(int* out) { out[0] = value; }\n'
        "KERNEL(one, 1)\nKERNEL(two, 2)\n#ifdef ABSENT\n__global__ void absent() {}\n#else\n__device__ int x = 3;\n#endif\n"
    )
    assert module.names == ("one", "two")
    out = device(np.zeros(1, np.int32))
    module.function("two")((1, 1, 1), (1, 1, 1), (out,))
    assert out[0] == 2 and module.get_global("x").view(np.int32)[0] == 3
    assert module.function("one").parameter_names == ("out",) and module.function("one").c_linkage


def test_names_of_c_and_of_the_stand_in_are_free(device):
    names = (
        "index",
        "remove",
        "y0x",
        "div",
        "read",
        "time",
        "bits",
        "meet",
        "load",
        "main_",
        "printf_",
        "gamma_",
    )
    source = "".join(
        f'extern "C" __global__ void {name}(int* out) {{ out[0] = {i}; }}\n' for i, name in enumerate(names)
    )
    module, out = cuda_cpp.compile(source), device(np.zeros(1, np.int32))
    for number, name in enumerate(names):
        module.function(name)((1, 1, 1), (1, 1, 1), (out,))
        assert out[0] == number


def test_a_learner_may_add_overloads_of_atomics(device):
    module = body(
        "atomicAdd(&a[0], 1.0f); short s = 1; atomicAdd(&s, (short)2); a[1] = s;",
        before="__device__ short atomicAdd(short* p, short v) { short old = *p; *p += v; return old; }\n",
    )
    a = device(np.zeros(2, np.float32))
    module.function("f")((1, 1, 1), (1, 1, 1), (a, np.int32(0)))
    assert a.tolist() == [1, 3]


# ---------------------------------------------------------------- the cache


def test_what_was_compiled_is_compiled_once(empty_cache, device, monkeypatch):
    builds = count(monkeypatch)
    assert runs(device) and runs(device)
    building._made.clear()
    assert runs(device)
    assert len(builds) == 1
    assert runs(device, ADD + "// changed\n")
    assert len(builds) == 2
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o700
    assert not list(empty_cache.glob("new-*"))


@pytest.mark.parametrize(
    "damage", ["cut", "changed", "gone", "note cut", "note changed", "note points elsewhere"]
)
def test_a_damaged_entry_is_made_anew(known_runtime, empty_cache, device, monkeypatch, damage):
    runs(device)
    building._made.clear()
    builds = count(monkeypatch)
    (library,) = empty_cache.glob("*.so")
    note = next(path for path in empty_cache.glob("*.json") if library.name in path.read_text())
    target, data = (note, note.read_bytes()) if "note" in damage else (library, library.read_bytes())
    target.unlink()
    if damage.endswith("cut"):
        target.write_bytes(data[: len(data) // 2])
    elif damage == "changed":
        target.write_bytes(data[:3000] + b"\0" * 100 + data[3100:])
    elif damage == "note changed":
        target.write_bytes(data.replace(b'"int *"', b'"int**"').replace(b'["x"]', b'["y"]'))
    elif damage == "note points elsewhere":
        target.write_bytes(data.replace(library.name.encode(), b"../" + library.name.encode()))
    assert runs(device)
    assert len(builds) == 1


def test_old_entries_are_dropped_and_a_kernel_that_lost_its_file_gets_it_again(
    known_runtime, empty_cache, device, monkeypatch
):
    monkeypatch.setattr(caching, "MOST_ENTRIES", 4)
    module = cuda_cpp.compile(ADD)
    for number in range(8):
        cuda_cpp.compile(ADD + f"// {number}\n")
    assert len(list(empty_cache.glob("*.json"))) <= 5 and not module.path.exists()
    x = device(np.zeros(4, np.int32))
    module.function("add")((1, 1, 1), (4, 1, 1), (x,))
    assert x.tolist() == [1, 1, 1, 1]


@pytest.mark.slow
def test_two_processes_at_once(empty_cache):
    script = textwrap.dedent(f"""
        import numpy as np
        from host_to_device.standins import cuda_cpp
        from host_to_device.standins.cuda_cpp import arena
        for number in range(4):
            module = cuda_cpp.compile({ADD!r}.replace("+= 1", f"+= {{number}}"))
            x = arena.allocate(16).view(np.int32)
            x[:] = 0
            module.function("add")((1, 1, 1), (4, 1, 1), (x,))
            assert x.tolist() == [number] * 4
    """)
    together = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait(60) for process in together] == [0, 0, 0]
    assert not list(empty_cache.glob("new-*"))


def test_a_home_that_cannot_be_written_is_done_without(tmp_path, device, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # a folder cannot be made in a file
    monkeypatch.setattr(building, "_made", {})
    monkeypatch.setattr(compiler, "_caches", {})
    assert runs(device)


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path, device, empty_cache):
    empty_cache.mkdir(parents=True)
    empty_cache.chmod(0o777)
    assert runs(device)
    assert not list(empty_cache.iterdir())


def test_a_full_disk_is_one_line(empty_cache, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiler.tempfile, "mkstemp", full)
    with pytest.raises(CompileError, match="no place for a compiled kernel: No space left on device"):
        cuda_cpp.compile(ADD)


# ---------------------------------------------------------------- the compiler


@pytest.fixture
def no_memory_of_compilers():
    compiler.find.cache_clear()
    yield
    compiler.find.cache_clear()


def test_clang_is_taken_where_there_is_no_gcc(monkeypatch, tmp_path, no_memory_of_compilers):
    (tmp_path / "clang++").write_text("#!/bin/sh\necho clang version 99\n")
    (tmp_path / "clang++").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler.find().name == "clang++" and compiler.find().is_clang


def test_no_compiler_is_one_line(monkeypatch, tmp_path, no_memory_of_compilers):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        CompileError,
        match="need a C\\+\\+ compiler: install g\\+\\+ or clang\\+\\+, or `pip install ziglang`",
    ):
        cuda_cpp.compile(ADD)


def test_a_system_without_processes_is_one_line(monkeypatch, no_memory_of_compilers):
    monkeypatch.setattr(os, "name", "nt")
    try:
        with pytest.raises(CompileError, match="CUDA C\\+\\+ kernels run on Linux and macOS only"):
            compiler.find()
    finally:
        monkeypatch.undo()


def test_a_compiler_that_hangs_is_stopped(monkeypatch, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(compiler, "TIMEOUT", 0.2)
    with pytest.raises(CompileError, match=r"slow did not finish within 0\.2 s"):
        compiler.Compiler([str(slow)], "slow", str(slow)).run([])


# ---------------------------------------------------------------- NVRTC


def test_nvrtc_is_asked_where_it_is_installed():
    if not nvrtc.is_installed():
        with pytest.raises(nvrtc.NotInstalled, match="pip install nvidia-cuda-nvrtc"):
            cuda_cpp.compiles_for_gpu(ADD)
        return
    assert isinstance(cuda_cpp.compiles_for_gpu(ADD), str)
    with pytest.raises(CompileError, match='identifier "x" is undefined'):
        cuda_cpp.compiles_for_gpu("__global__ void f() { x = 1; }")
