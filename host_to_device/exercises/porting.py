"""For checks of kernels for two vendors: run one source in warps of 32 and of 64 lanes, and compile it for both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from host_to_device.exercises.definition import Wrong
from host_to_device.exercises.judging import as_numbers, named
from host_to_device.exercises.student_runs import run_kernel
from host_to_device.exercises.values import said
from host_to_device.inspecting import compiling
from host_to_device.inspecting.errors import CannotShow, MissingTool

# The macro that HIP's headers define when they compile a source for an AMD GPU, with wavefronts of either size.
FOR_AMD = ("-D__HIP_PLATFORM_AMD__=1",)
# Lanes of a warp and options of the compiler, by the machine's name in messages.
MACHINES: dict[str, tuple[int, tuple[str, ...]]] = {
    "NVIDIA, warps of 32": (32, ()),
    "AMD Instinct, wavefronts of 64": (64, FOR_AMD),
    "AMD Radeon, wavefronts of 32": (32, FOR_AMD),
}
TARGETS = ("sm_90", "gfx942", "gfx1100")
SIZED_BY_WARP = re.compile(r"__shared__[^;(]*\[[^\]]*\bwarpSize\b")
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
# Macros by which a source can learn for which vendor's GPUs it is compiled.
OF_A_VENDOR = re.compile(
    r"\b__(?:HIP_PLATFORM_\w+|HIPCC|HIP_DEVICE_COMPILE|HIP|CUDACC\w*|CUDA_ARCH\w*|NVCC|AMDGCN\w*|AMDGPU|GFX\w+|gfx\w+)__\b"
)


def lanes_of(machine: str) -> int:
    """Return how many lanes a warp has on a machine of `MACHINES`."""
    return MACHINES[machine][0]


def check_source(function: str, source: Any, *kernels: str) -> None:
    """Raise `Wrong` if a student's function did not return a source text with these kernels.

    A shared array of size `warpSize` is refused here, with a better explanation than the compiler's.
    """
    if not isinstance(source, str):
        raise Wrong(f"{function}() returned {said(source)}", "Return the source of the kernel as a string.")
    plain = COMMENTS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    for kernel in kernels:
        if not re.search(rf"__global__[^;{{]*\b{kernel}\s*\(", plain):
            raise Wrong(
                f"{function}() returned a source without a kernel {kernel}", "Keep the kernel's name."
            )
    if found := SIZED_BY_WARP.search(plain):
        line = plain.count("\n", 0, found.end())
        raise Wrong(
            "the size of a shared array is warpSize",
            "The compiler needs to know the size of a shared array, and `warpSize` is a variable. Use a size that is "
            "enough on every machine.",
            [f"{line + 1:>6} | {source.splitlines()[line].rstrip()}"],
        )


def vendor_test(source: str) -> str:
    """Return the first macro with which a source tests which vendor's GPU it is compiled for, or ""."""
    found = OF_A_VENDOR.search(COMMENTS.sub(" ", source))
    return found[0] if found else ""


def judge_widths(
    name: str,
    got: Mapping[str, Any],
    right: Sequence[int],
    hint: str,
    mistakes: Sequence[tuple[Sequence[int], str]] = (),
) -> None:
    """Raise `Wrong` unless a function returned two numbers: the one for 32 lanes, then the one for 64.

    Parameters
    ----------
    name
        The function's name.
    got
        From `run_function`.
    right
        The two right numbers, which no message tells.
    hint
        What to look at.
    mistakes
        Pairs of two numbers and the hint for a learner who returns them.
    """
    numbers = as_numbers(got["result"], 2)
    if numbers is None:
        raise Wrong(
            f"{name} returned {named(got['result'])}",
            "Return two numbers: the one for 32 lanes, then the one for 64.",
        )
    if numbers == list(right):
        return
    wrong = [lanes for lanes, one, other in zip((32, 64), numbers, right, strict=True) if one != other]
    text = f"{name} returned {numbers[0]} for 32 lanes and {numbers[1]} for 64; " + (
        "neither is right" if len(wrong) == 2 else f"the number for {wrong[0]} lanes is not right"
    )
    if numbers == list(right)[::-1]:
        hint = "These are the two right numbers in the wrong order: the one for 32 lanes comes first."
    raise Wrong(text, next((words for each, words in mistakes if numbers == list(each)), hint))


def run_port(
    source: str,
    name: str,
    arguments: Sequence[Any],
    grid: int,
    block: int,
    machine: str,
) -> dict[str, Any]:
    """Run a kernel as `run_kernel` does, with the warp size and the macros of one of the `MACHINES`.

    Parameters
    ----------
    source, name
        Source that is both CUDA C++ and HIP, and the kernel's name.
    arguments, grid, block
        As for `run_kernel`.
    machine
        A name in `MACHINES`. The stand-in runs kernels in warps of 64 lanes, also on a machine with a GPU.

    Returns
    -------
    dict
        As from `run_kernel`, with the names of the parameters in the source.
    """
    import cupy

    lanes, options = MACHINES[machine]
    kernel = cupy.RawKernel(source, name, options=options)
    got = run_kernel(kernel, arguments, grid, block, schedules=2, warp_size=lanes)
    parameters = re.search(rf"\b{name}\s*\(([^)]*)\)", source)
    names = re.findall(r"(\w+)\s*(?:,|$)", parameters[1]) if parameters else []
    if len(names) == len(arguments):
        called = {f"argument {place}": each for place, each in enumerate(names, 1)}
        for key in ("names", "input_names"):
            got[key] = [called.get(each, each) for each in got[key]]
    return got


def compiled_for(source: str, name: str, targets: Sequence[str] = TARGETS) -> dict[str, Any]:
    """Compile a kernel for GPUs of both vendors; no GPU is needed.

    Returns
    -------
    dict
        "made": for each target the kernel's resources, as `inspecting.compiling.Compiled.resources` names them.
        "refused": for each target whose compiler refused the source, the compiler's first words.
        "missing": for each target whose compiler is not installed, the command that installs it.
    """
    got: dict[str, Any] = {"made": {}, "refused": {}, "missing": {}}
    for target in targets:
        try:
            got["made"][target] = compiling.compile(source, name, "cuda", target, upto="resources").resources
        except MissingTool as problem:
            got["missing"][target] = str(problem)
        except CannotShow as problem:
            got["refused"][target] = str(problem)
    return got


def judge_compiled(got: Mapping[str, Any], hint: str) -> None:
    """Raise `Wrong` for the first target whose compiler refused the source; `got` is from `compiled_for`."""
    for target, words in got["refused"].items():
        raise Wrong(f"it does not compile for {target}: {words}", hint)


def not_compiled(got: Mapping[str, Any]) -> str:
    """Return one line that names the targets without a compiler and what to install; empty if all have one."""
    missing = got["missing"]
    if not missing:
        return ""
    return f"Not compiled for {' and '.join(missing)}: {next(iter(missing.values()))}"
