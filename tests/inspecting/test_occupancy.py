"""Occupancy: the same as NVIDIA's calculator says, for thousands of kernels, and what the reader gets to see of it."""

import glob
import html
import importlib.util
import math
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import host_to_device as h2d
from host_to_device.hardware import gpus, targets
from host_to_device.inspecting import resources
from host_to_device.inspecting.compiling import Compiled
from host_to_device.inspecting.occupancy import BLOCKS, REGISTERS, SHARED, WARPS, Needs, fit

HERE = Path(__file__).resolve().parent
NVIDIA = [each for each in gpus.ARCHITECTURES if each.vendor == "NVIDIA"]
AMD = [each for each in gpus.ARCHITECTURES if each.vendor == "AMD"]
CASES = 4000  # for each architecture


def header() -> Path | None:
    """Return the folder with NVIDIA's header, which is in the wheel nvidia-cuda-runtime."""
    found = [
        place for path in sys.path if path for place in glob.glob(f"{path}/nvidia/*/include/cuda_occupancy.h")
    ]
    return Path(found[0]).parent if found else None


@pytest.fixture(scope="module")
def calculator(tmp_path_factory):
    """NVIDIA's calculator: a function from cases to (blocks, limits), or to None where it reports an error."""
    include, compiler = header(), shutil.which("g++") or shutil.which("clang++")
    if include is None or compiler is None:
        missing = "nvidia-cuda-runtime is not installed" if include is None else "there is no C++ compiler"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    program = tmp_path_factory.mktemp("occupancy") / "occupancy"
    subprocess.run(
        [compiler, "-O1", "-w", f"-I{include}", str(HERE / "occupancy.cpp"), "-o", str(program)],
        check=True,
        timeout=120,
    )

    def ask(cases):
        lines = [
            " ".join(map(str, (*properties(a), regs, static, dynamic, 1, threads)))
            for a, regs, static, dynamic, threads in cases
        ]
        done = subprocess.run(
            [str(program)], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=120
        )
        found = [
            None if line.startswith("error") else tuple(map(int, line.split()))
            for line in done.stdout.splitlines()
        ]
        assert len(found) == len(cases)
        return found

    return ask


def properties(a):
    number = a.target.removeprefix("sm_")
    return (
        int(number[:-1]),
        int(number[-1]),
        a.threads_per_block,
        a.threads_per_multiprocessor,
        a.registers_per_multiprocessor,
        a.warp_size,
        a.shared_per_block_default,
        a.shared_per_multiprocessor,
        a.shared_per_block,
        a.shared_reserved,
        1,
    )


def cases(a):
    """Return kernels and block sizes; also some that cannot run, and values at the edges of what is allocated."""
    pick = random.Random(a.target)
    shared = [
        0,
        1,
        127,
        128,
        129,
        1024,
        4096,
        16384,
        48 * 1024 - 1024,
        48 * 1024,
        64 * 1024,
        a.shared_per_block,
    ]
    found = []
    for _ in range(CASES):
        static = pick.choice([0, pick.randrange(48 * 1024 + 1), pick.choice(shared[:-2])])
        dynamic = pick.choice([0, 0, pick.randrange(a.shared_per_block + 2048), *shared])
        found.append(
            (
                a,
                pick.randrange(256),
                static,
                dynamic,
                pick.choice([pick.randrange(1, 1025), pick.randrange(1, 33) * 32]),
            )
        )
    return found


def test_there_is_something_to_compare():
    assert len(NVIDIA) >= 8
    assert len(AMD) >= 3


@pytest.mark.parametrize("a", NVIDIA, ids=lambda a: a.target)
def test_it_agrees_with_nvidias_calculator(a, calculator):
    tried = cases(a)
    compared = refused = 0
    for (_, registers, static, dynamic, threads), theirs in zip(tried, calculator(tried), strict=True):
        ours = fit(a, Needs(registers, static + dynamic), threads)
        if theirs is None:  # it has no answer where a block's shared memory is more than an SM's
            assert static + dynamic + a.shared_reserved > a.shared_per_multiprocessor
            assert ours.blocks == 0
            refused += 1
            continue
        limits = tuple(math.inf if each == 2**31 - 1 else each for each in theirs[1:])
        assert (ours.blocks, *(ours.limits[each] for each in (REGISTERS, SHARED, WARPS, BLOCKS))) == (
            theirs[0],
            *limits,
        ), (registers, static, dynamic, threads)
        compared += 1
    assert compared > CASES * 0.9
    assert len({fit(a, Needs(r, s + d), t).blocks for _, r, s, d, t in tried}) > 8  # not all the same


# --- AMD: LLVM prints below a kernel how many waves it expects on a SIMD -------------------------------------------

SIZES = (64, 256, 512, 1024)


def clang_says(target, cases):
    """Return (vector registers, scalar registers, waves a SIMD) of kernels with (last vector register, LDS, threads)."""
    kernels = "".join(
        f"""
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size({threads}, {threads})))
void kernel{number}(GLOBAL int *p) {{
    static LOCAL int lds[{max(1, shared // 4)}] __attribute__((loader_uninitialized));
    asm volatile("" ::: "v{last}");
    {"lds[p[0]] = 1; __builtin_amdgcn_s_barrier(); p[1] = lds[p[2]];" if shared else ""}
}}"""
        for number, (last, shared, threads) in enumerate(cases)
    )
    spaces = (
        "#define GLOBAL __attribute__((address_space(1)))\n#define LOCAL __attribute__((address_space(3)))\n"
    )
    clang = [
        sys.executable,
        "-m",
        "ziglang",
        "clang",
        "-x",
        "c",
        "--target=amdgcn-amd-amdhsa",
        f"-mcpu={target}",
    ]
    done = subprocess.run(
        [*clang, "-O2", "-S", "-nogpulib", "-", "-o", "-"],
        input=spaces + kernels,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-500:]
    word = "TotalNumVgprs" if "TotalNumVgprs" in done.stdout else "NumVgprs"
    columns = [
        re.findall(rf"^; {each}: (\d+)$", done.stdout, re.M) for each in (word, "TotalNumSgprs", "Occupancy")
    ]
    assert {len(column) for column in columns} == {len(cases)}
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("a", AMD, ids=lambda a: a.target)
def test_it_agrees_with_amds_compiler(a):
    if importlib.util.find_spec("ziglang") is None:
        if os.environ.get("CI"):
            pytest.fail("ziglang is not installed")
        pytest.skip("ziglang is not installed")
    pick = random.Random(a.target)
    # LLVM takes the least of what registers and of what work-groups allow. Only with a wavefront a group, or with few
    # registers, is that the number of waves: it does not ask whether whole groups fit with these registers. Nor does
    # it round up shared memory to what is allocated, so multiples of that are tried.
    cases = [(last, 0, a.warp_size) for last in range(256)]
    cases += [
        (pick.randrange(24), pick.randrange(a.shared_unit, 65536, a.shared_unit), pick.choice(SIZES))
        for _ in range(120)
    ]
    found = clang_says(a.target, cases)
    for (last, shared, threads), (vector, scalar, waves) in zip(cases, found, strict=True):
        ours = fit(a, Needs(vector, shared, scalar), threads)
        assert vector > last
        if ours.blocks:
            # Of the fullest SIMD: a work-group's waves are dealt out over all of them.
            assert math.ceil(ours.warps / a.parts) == waves, (last, shared, threads, ours)
    assert len({waves for _, _, waves in found}) > 3


# --- What the reader sees -------------------------------------------------------------------------------------------


def test_the_result_names_what_limits_it():
    found = h2d.occupancy(40, 256, "A100")
    assert (found.blocks, found.warps, found.occupancy, found.limited_by) == (6, 48, 0.75, ("registers",))
    assert (
        "6 blocks of 256 threads on an SM at a time: 48 of 64 warps, occupancy 75%. Limited by registers."
        in str(found)
    )
    assert "on the NVIDIA A100 40 GB (sm_80); computed, not run" in str(found)


def test_a_full_multiprocessor_is_limited_by_its_places():
    assert "All warp slots are in use" in h2d.occupancy(32, 256, "A100").summary()


def test_amd_has_its_own_words():
    found = h2d.occupancy(128, 256, "MI300X")
    assert (
        "4 work-groups of 256 threads on a CU at a time: 16 of 32 wavefronts, occupancy 50%"
        in found.summary()
    )
    assert " WGP " in h2d.occupancy(128, 256, "RX 7900 XTX").summary()


def test_lanes_without_a_thread_are_named():
    assert (
        "The last of a block's 4 warps has 28 lanes without a thread."
        in h2d.occupancy(32, 100, "T4").summary()
    )


def test_shared_memory_may_follow_from_the_size():
    found = h2d.occupancy(32, (16, 16), "A100", shared=lambda threads: 8 * threads)
    assert found.needs.shared == 2048
    assert [by for size, _, by in found.over_sizes if size in (32, 256, 768)] == [
        ("blocks",),
        ("registers", "warps"),
        ("registers", "warps"),
    ]
    assert h2d.occupancy(32, 64, "A100", shared=65536).limited_by == ("shared memory",)


@pytest.mark.parametrize(
    ("registers", "threads", "more", "why"),
    [
        (65, 1024, {}, "1,024 threads with 65 registers each take 73,728 registers as they are allocated"),
        (256, 32, {}, "256 registers a thread, and there are 255 at most"),
        (
            32,
            32,
            {"shared": 200_000},
            "200,000 bytes of shared memory a block, and there are 166,912 at most",
        ),
    ],
)
def test_what_cannot_run_says_why(registers, threads, more, why):
    found = h2d.occupancy(registers, threads, "A100", **more)
    assert found.blocks == found.occupancy == 0
    assert found.summary().startswith("It cannot run: " + why)
    found.html()


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        ((40, 2000), {}, "threads_per_block is 2000: a block has 1,024 threads at most"),
        ((40, (32, 64)), {}, r"threads_per_block is \(32, 64\): a block has 1,024 threads at most"),
        ((40, 0), {}, "threads_per_block is 0: give a whole number from 1"),
        ((40, 1.5), {}, "threads_per_block is 1.5: give a whole number from 1"),
        ((40, ()), {}, r"threads_per_block is \(\): give a number, or a shape of one to three numbers"),
        ((-1, 32), {}, "registers is -1: give a whole number from 0"),
        ((40, 32, "GTX 480"), {}, "no GPU 'GTX 480' in the table; there is"),
        ((40, 32), {"shared": -4}, "shared is -4: give a whole number from 0"),
        ((40, 32), {"shared": lambda size: size / 2}, "shared is 16.0: give a whole number from 0"),
        (
            (40, 32),
            {"types": "(float32[:],)"},
            "types is for a kernel, but the call gives a number of registers",
        ),
    ],
)
def test_bad_input_is_one_line(arguments, more, message):
    with pytest.raises(ValueError, match=message) as caught:
        h2d.occupancy(*arguments, **more)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gpu", gpus.GPUS, ids=lambda gpu: gpu.name)
def test_the_picture_says_in_words_what_it_shows(gpu):
    found = h2d.occupancy(64, 256, gpu.name, shared=10_000)
    assert found.svg().count("<rect") >= len(found.over_sizes)
    assert "threads: " in found.alt()
    assert f'aria-label="{html.escape(found.alt())}"' in found.svg()
    ElementTree.fromstring(found.svg())
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == str(found)
    assert "<details>" in bundle["text/html"]


# --- Of a kernel: its resources are those of the compiler ------------------------------------------------------------

NVIDIA_SAYS = {
    "registers": 40,
    "shared_bytes": 4096,
    "spill_stores": 0,
    "spill_loads": 0,
    "stack_bytes": 0,
    "barriers": 1,
}
AMD_SAYS = {"vgprs": 128, "agprs": 0, "sgprs": 20, "lds_bytes": 1024, "scratch_bytes": 16, "vgpr_spills": 4}


def made(target, says):
    return Compiled(
        "kernel",
        "kernel",
        targets.find(target, "NVIDIA" if "sm" in target else "AMD"),
        "cuda",
        resources=says,
        tools={"ptxas": "13.0.88"},
    )


def test_the_view_has_the_compilers_numbers_and_the_occupancy():
    found = resources.Resources(made("sm_90", NVIDIA_SAYS))
    assert re.search(r"^registers +40 +a thread$", str(found), re.M)
    assert re.search(r"^shared memory +4,096 +bytes a block$", str(found), re.M)
    assert "compiled for sm_90" in str(found) and "not run" in str(found)
    assert found.occupancy.occupancy == 0.75
    assert "With 256 threads a block on the NVIDIA H100 SXM: 6 blocks" in str(found)
    assert "spills" not in str(found)
    assert "<svg" in found._repr_mimebundle_()["text/html"]


def test_the_view_says_that_a_kernel_spills():
    found = resources.Resources(made("gfx942", AMD_SAYS))
    assert "Register spill: the kernel has too few registers" in str(found)
    assert found.occupancy.gpu.name == "MI300X"
    assert found.occupancy.needs == Needs(128, 1024, 20)


@pytest.mark.parametrize("gpu", ["T4", "H100", "MI300X"])
def test_a_kernel_takes_what_its_compiler_says(gpu):
    source = """
extern "C" __global__ void tiled(const float *x, float *out)
{
    __shared__ float tile[2048];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[255 - threadIdx.x];
}
"""
    try:
        found = h2d.occupancy(source, 256, gpu, shared=512)
    except h2d.SetUpError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    assert found.needs.shared == 2048 * 4 + 512
    assert 2 <= found.needs.registers <= 32
    assert str(found).startswith("tiled: 256 threads a block")


def test_of_a_kernel_other_arguments_are_refused():
    with pytest.raises(TypeError, match=r"h2d\.occupancy has no argument 'typs'"):
        h2d.occupancy("__global__ void k() {}", 256, "T4", typs="()")
