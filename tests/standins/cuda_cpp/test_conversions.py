"""Floats that an integer cannot hold become in CUDA C++ what NVRTC's PTX made of them, or the kernel is refused."""

import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402

import host_to_device as h2d  # noqa: E402
from host_to_device.standins.cuda_cpp import compiler, conversions  # noqa: E402
from tests.corpora.real_results import cuda_cpp as corpus  # noqa: E402

REAL = corpus.stored()
# One float becomes two types at once: no single conversion can serve both.
REFUSED = {"many of a loop"}
WITH_EVERY_COMMIT = (
    "a darker pixel",
    "an int before a byte",
    "an intrinsic that rounds",
    "double stored as unsigned int",
    "float cast as short",
    "float stored as unsigned char",
    "float stored as unsigned long long",
    "many of a loop",
    "two types of one float",
)


def judge(name):
    found = corpus.run(name, cp)
    # clang++ saturates in the narrow types themselves, so the stand-in refuses more of them.
    if "raises" in found and (name in REFUSED or compiler.find().is_clang):
        assert found["raises"] == "KernelFault" and "does not fit" in found["words"]
        return
    assert name not in REFUSED, "it has the GPU's result now: take it off the list"
    assert found == REAL[name]


def test_every_program_has_a_stored_outcome():
    assert set(REAL) == set(corpus.PROGRAMS) and {*WITH_EVERY_COMMIT, *REFUSED} <= set(REAL)
    assert len(REAL) >= 53, "the corpus has gone"


@pytest.mark.parametrize("name", WITH_EVERY_COMMIT)
def test_conversions(name):
    judge(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(REAL) - set(WITH_EVERY_COMMIT)))
def test_all_conversions(name):
    judge(name)


def test_a_refusal_names_the_line_the_value_and_the_type():
    if compiler.find().is_clang:
        pytest.skip("with clang++ other values are refused")
    words = corpus.run("many of a loop", cp)["words"]
    assert "line 5" in words and "2.14748365e+09 does not fit 'unsigned char'" in words


def test_the_check_names_the_line_and_the_value():
    source = r"""
extern "C" __global__ void darker(const unsigned char *image, unsigned char *out) {
    out[threadIdx.x] = image[threadIdx.x] - 5.0f;
}"""
    image = cp.full(32, 2, "uint8")
    report = h2d.check(cp.RawKernel(source, "darker"))[1, 32](image, cp.zeros_like(image))
    assert (
        report
        and "Line 3: -3.0 does not fit uint8: undefined in C; NVIDIA GPUs store 0, most CPUs 253."
        in report.remarks
    )


def test_a_call_follows_each_conversion_of_the_assembly():
    text = "\tcvttss2sil\t%xmm0, %r13d\n\tcvttsd2siq\t8(%rsp), %rax\n\tcvttss2sil\t%xmm1, %esi\n\tcvtsi2ssl\t%eax, %xmm0\n"
    made = conversions.replaced(text).splitlines()
    calls = [f"\tcall\t*h2d_after_conversion+{8 * number}(%rip)" for number in (13, 0, 6)]
    assert [made[k] for k in (1, 3, 5)] == calls and sum("call" in line for line in made) == 3
    assert conversions.replaced("\tret\n") == "\tret\n"


@pytest.mark.parametrize("number", range(16))
def test_each_register_has_its_call(number):
    name = conversions.REGISTERS[number]
    for register in (f"r{name}", f"e{name}" if number < 8 else f"r{name}d"):
        found = conversions.replaced(f"\tcvttss2si\t%xmm0, %{register}\n")
        assert f"call\t*h2d_after_conversion+{8 * number}(%rip)" in found
