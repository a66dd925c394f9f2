"""The check of kernels in CUDA C++: what their runs show, by line."""

import ast
import linecache
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

import host_to_device as h2d  # noqa: E402
from host_to_device.standins import cuda_cpp  # noqa: E402
from host_to_device.starting import machine  # noqa: E402

SOURCE = r"""
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void total(const float* x, float* out, int n) {
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    for (int s = 32; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) part[t] += part[t + s];
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void total_in_a_hurry(const float* x, float* out, int n) {
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void shift(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i + 1];
}

extern "C" __global__ void some_wait(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 40) {
        __syncthreads();
        out[i] = x[i];
    }
}

extern "C" __global__ void forever(const float* x, float* out, int n) {
    while (x[0] >= 0) out[0] += 1;
}

extern "C" __global__ void last_one(const float* x, float* out, int n) {
    atomicExch(&out[0], x[blockIdx.x * blockDim.x + threadIdx.x]);
}
"""
N = 128
ROOT = Path(__file__).resolve().parents[2]


def checked(name, configuration=(2, 64), **options):
    x, out = cp.arange(N, dtype=cp.float32), cp.zeros(N, cp.float32)
    arguments = (x, x, out, np.int32(N)) if name == "add" else (x, out, np.int32(N))
    report = h2d.check(cp.RawKernel(SOURCE, name), **options)[configuration](*arguments)
    assert not out.get().any(), "a check works on copies"
    return report


@pytest.mark.parametrize("name", ["add", "total"])
def test_a_right_kernel_is_not_accused(name):
    report = checked(name, schedules=8)
    assert report, str(report)
    assert report.threads == 128 and report.schedules == 8
    assert not report.partial and all("NVRTC" in each for each in report.remarks)


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("shift", "out of bounds", "out[i] = x[i + 1];"),
        ("some_wait", "barrier divergence", "__syncthreads();"),
        ("total_in_a_hurry", "race", "part[t] += part[t + s];"),
        ("last_one", "order dependence", "last_one"),
        ("forever", "no progress", "while"),
    ],
)
def test_a_wrong_kernel_is_found(name, kind, line):
    report = checked(name, seconds=1 if name == "forever" else 30)
    if name == "forever" and not report.findings:  # the machine does other things: the longer time decides
        report = checked(name)
    assert [finding.kind for finding in report.findings] == [kind], str(report)
    found = report.findings[0]
    assert line in linecache.getline(found.file, found.lines[0])


def test_what_may_depend_on_the_order_is_not_compared():
    assert checked("last_one", not_compared="out")


def test_one_schedule_says_what_it_does_not_show():
    report = checked("total_in_a_hurry", schedules=1)
    assert "For races and unwritten outputs, give schedules=2 or more" in str(report)


CONSTANTS = r"""
__constant__ float factor;
__device__ int calls;
template <class T> __global__ void scale(T* x) {
    if (threadIdx.x == 0) atomicAdd(&calls, 1);
    x[threadIdx.x] *= factor;
}
"""


def test_constants_are_the_learner_s_and_templates_have_names():
    module = cp.RawModule(code=CONSTANTS, name_expressions=["scale<double>"])
    kernel = module.get_function("scale<double>")
    factor = cp.ndarray(1, cp.float32, module.get_global("factor"))
    calls = cp.ndarray(1, cp.int32, module.get_global("calls"))
    factor[...] = 3
    x = cp.ones(32)
    report = h2d.check(kernel, schedules=4)[1, 32](x)
    assert report, str(report)
    assert int(calls[0]) == 0, "a check works on copies of variables, too"
    kernel((1,), (32,), (x,))
    assert int(calls[0]) == 1 and float(x[0]) == 3


def test_a_wavefront_of_64():
    source = r"""
extern "C" __global__ void k(float* x) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    x[threadIdx.x] = s[63 - threadIdx.x];
}"""
    x = cp.arange(64, dtype=cp.float32)
    assert [each.kind for each in h2d.check(cp.RawKernel(source, "k"))[1, 64](x).findings] == ["race"]
    assert h2d.check(cp.RawKernel(source, "k"), warp_size=64)[1, 64](x)


def test_outputs_have_to_be_written():
    report = checked("add", (1, 64), outputs="c")
    (found,) = report.findings
    assert (
        found.kind == "unwritten output"
        and "leaves 64 of 128 elements of c unwritten; the first is c[64]" in found.text
    )
    assert checked("add", outputs="c")
    source = r"""
extern "C" __global__ void half(short* m) { if (threadIdx.x != 5) m[threadIdx.x] = 0; }"""
    report = h2d.check(cp.RawKernel(source, "half"), outputs="m")[1, 16](cp.zeros((4, 4), cp.int16))
    assert "leaves 1 of 16 elements of m unwritten; the first is m[1, 1]" in str(report)
    with pytest.raises(ValueError, match=r"outputs: add\(\) has no array called 'd'; it has a, b, c"):
        checked("add", outputs="d")


def test_nvrtc_has_a_say_where_it_is_installed(monkeypatch):
    def answer(source, arch, options):
        if "int tile[n]" in source:
            raise cuda_cpp.CompileError("kernel.cu(3): error: expression must have a constant value")
        return ""

    monkeypatch.setattr(cuda_cpp.nvrtc, "is_installed", lambda: True)
    monkeypatch.setattr(cuda_cpp, "compiles_for_gpu", answer)
    assert "NVRTC also compiles the source for a GPU (sm_75)." in str(checked("add"))
    source = """
extern "C" __global__ void k(int* x, int n) {
    int tile[n];
    tile[0] = 1;
    x[0] = tile[0];
}"""
    report = h2d.check(cp.RawKernel(source, "k"))[1, 1](cp.zeros(4, cp.int32), np.int32(4))
    (found,) = report.findings
    assert found.lines == (3,) and "refuses the source for sm_75: expression must have" in found.text


def test_beside_a_gpu_nvrtc_compiles_for_that_gpu(monkeypatch):
    asked = []
    monkeypatch.setattr(cuda_cpp.nvrtc, "is_installed", lambda: True)
    monkeypatch.setattr(cuda_cpp, "compiles_for_gpu", lambda source, arch, options: asked.append(arch))
    of_gpu = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: SimpleNamespace(compute_capability="90")))
    monkeypatch.setattr(machine, "chosen", "gpu")
    monkeypatch.setitem(sys.modules, "cupy", of_gpu)
    assert "NVRTC also compiles the source for a GPU (sm_90)." in str(checked("add"))
    del of_gpu.cuda.Device  # a GPU that does not answer
    assert "NVRTC also compiles the source for a GPU (sm_75)." in str(checked("add"))
    assert asked == ["sm_90", "sm_75"]


def test_notes_are_for_python():
    assert "for kernels in Python only" in str(checked("add", notes=True))


def test_limits_and_strictness():
    assert [finding.kind for finding in checked("add", (1, 2000)).findings] == ["launch limit"]
    with pytest.raises(h2d.checking.CheckError, match="out of bounds"):
        checked("shift", strict=True)


def test_the_page_shows_what_the_check_prints(monkeypatch):
    page = (ROOT / "chapters" / "check.md").read_text(encoding="utf-8")
    section = page[page.index("(check-raw)=") : page.index("(check-partial)=")]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    printed = re.search(r"```text\n(.*?)```", section, re.DOTALL)[1]
    *before, last = ast.parse(code).body
    names = {"cp": cp, "h2d": h2d}
    exec(compile(ast.Module(before, []), "page", "exec"), names)
    report = str(eval(compile(ast.Expression(last.value), "page", "eval"), names))

    def masked(text):  # who meets whom first depends on the compiler; the lines do not
        text = re.sub(r"\d+\.\d+ s", "0.00 s", text).strip()
        text = re.sub(r"\nNVRTC also compiles.*", "", text)
        return re.sub(r"tile\[\d+\] in|(writes|reads)( it)?|thread \d+|\d+ times", "…", text)

    assert masked(report) == masked(printed)


def test_a_launch_that_is_not_said_is_asked_for():
    asked = h2d.check(cp.RawKernel(SOURCE, "add"))
    assert repr(asked) == "<check of add: give it [grid, block] and the arguments>"
    with pytest.raises(TypeError, match=r"check\(add\)\[grid, block\]"):
        asked(1)
