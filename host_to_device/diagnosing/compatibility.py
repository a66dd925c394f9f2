"""What happens when a program that was built for one CUDA starts on one driver and one GPU: it runs, compiles or fails.

Three versions decide: the newest CUDA that the driver supports (`nvidia-smi` shows it), the CUDA that the program was
built for together with the code inside it, and the compute capability of the GPU. The rules are NVIDIA's; `decide` names
the page of each. The messages are those of the CUDA runtime. A library may put its own words before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from host_to_device.diagnosing.machine_code import order

OLD_DRIVER = "CUDA driver version is insufficient for CUDA runtime version"  # cudaErrorInsufficientDriver, 35
NO_IMAGE = "no kernel image is available for execution on the device"  # cudaErrorNoKernelImageForDevice, 209
NEW_PTX = (
    "the provided PTX was compiled with an unsupported toolchain."  # cudaErrorUnsupportedPtxVersion, 222
)
MINOR_VERSIONS = 11  # the first major release whose programs run on drivers of an older minor release


class HasCode(Protocol):
    """What has GPU code: a `Code`, or a `Wheel` of `h2d.known_wheels()`."""

    @property
    def sass(self) -> tuple[str, ...]:
        """The compute capabilities that have machine code."""

    @property
    def ptx(self) -> tuple[str, ...]:
        """The compute capabilities that have PTX."""


@dataclass(frozen=True)
class Outcome:
    """What happens, and why.

    Attributes
    ----------
    kind
        "runs" (the driver loads machine code), "compiles" (the driver compiles PTX first) or "fails".
    message
        What CUDA says if it fails; otherwise empty.
    why
        The rule that decided, in one sentence with the versions.
    """

    kind: str
    message: str
    why: str


def decide(driver_cuda: str, built_for: str, code: HasCode, capability: str) -> Outcome:
    """Return what happens when a program starts on a driver and a GPU.

    1. The driver supports the major release of CUDA that the program was built for, or a newer one; before CUDA 11, also
       its minor release. (CUDA Compatibility, "Minor Version Compatibility", tables 1 and 2,
       https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html)
    2. Machine code runs on GPUs with its major compute capability and its minor one or a higher one. (CUDA Programming
       Guide, "Binary Compatibility",
       https://docs.nvidia.com/cuda/cuda-programming-guide/01-introduction/cuda-platform.html) With the suffix `a` it
       runs on its own compute capability only. With the suffix `f` it runs on its family: here, the same major and a
       minor not below its own. (The same guide, "Compute Capabilities", "Feature Set Compiler Targets",
       https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html)
    3. The driver compiles PTX for its own compute capability or a higher one; with a suffix, for the same GPUs as in
       rule 2. (CUDA Programming Guide, "PTX Compatibility", the first page of rule 2.) The driver has to be at least as
       new as the release of CUDA that made the PTX: minor-version compatibility does not cover PTX. (The page of rule 1,
       "Application Considerations".)
    4. Without either, there is no kernel image. (CUDA Runtime API, cudaErrorNoKernelImageForDevice,
       https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html)

    A package without GPU code, such as numba-cuda, compiles for the GPU that it finds. With nvJitLink it hands the driver
    machine code, so the second half of rule 3 does not bind it.
    (https://nvidia.github.io/numba-cuda/user/minor_version_compatibility.html)

    Not decided here: whether the driver knows the GPU at all (`matrix.drives` says that); Jetson and other Tegra chips,
    where binary compatibility does not hold; the package cuda-compat, which replaces the user-mode driver; code that is
    compressed as CUDA 13 does by default, which drivers before CUDA 12.4 cannot read
    (https://github.com/pytorch/pytorch/pull/161316). CUDA 12.5 and 12.6 have the same PTX, so for this pair rule 3 is too
    strict.

    Parameters
    ----------
    driver_cuda
        The newest CUDA that the driver supports, such as "12.4".
    built_for
        The release of CUDA that the program was built with.
    code
        Its GPU code: `h2d.code_in(…)` or an element of `h2d.known_wheels()`.
    capability
        The compute capability of the GPU, such as "8.6".

    Raises
    ------
    ValueError
        If a version is not two numbers with a point between them.
    """
    driver, built, card = (_release(each) for each in (driver_cuda, built_for, capability))
    if driver[0] < built[0] or (built[0] < MINOR_VERSIONS and driver < built):
        needed = built[0] if built[0] >= MINOR_VERSIONS else built_for
        return Outcome(
            "fails",
            OLD_DRIVER,
            f"A program built for CUDA {built_for} needs a driver for CUDA {needed}, and this driver supports CUDA up to {driver_cuda}.",
        )
    if not code.sass and not code.ptx:
        return Outcome(
            "compiles",
            "",
            f"The package has no GPU code: it compiles each kernel at run time for {capability}.",
        )
    machine_code = [each for each in code.sass if _loads(each, card)]
    if machine_code:
        return Outcome(
            "runs", "", f"The machine code for {machine_code[-1]} runs on compute capability {capability}."
        )
    ptx = [each for each in code.ptx if _compiles(each, card)]
    if not ptx:
        return Outcome(
            "fails",
            NO_IMAGE,
            f"No machine code runs on compute capability {capability}, and no PTX compiles for it.",
        )
    if driver < built:
        return Outcome(
            "fails",
            NEW_PTX,
            f"Only PTX for {ptx[-1]} is left. CUDA {built_for} made it, and this driver compiles PTX up to CUDA {driver_cuda}.",
        )
    return Outcome(
        "compiles",
        "",
        f"No machine code runs on compute capability {capability}: the driver compiles the PTX for {ptx[-1]}.",
    )


def reach(code: HasCode) -> tuple[str, str] | None:
    """Return the oldest and the newest compute capability that code may run on, or None where there is no code.

    The newest one is "8.9" for machine code of 8.6, whose minor number may rise, and "99.9" where PTX compiles for all
    that comes. Between the two there may be GPUs that it does not run on: `decide` says it of one.
    """
    architectures = [order(each) for each in (*code.sass, *code.ptx)]
    if not architectures:
        return None
    ends = [(major, minor if suffix == "a" else 9) for major, minor, suffix in architectures]
    if any(not order(each)[2] for each in code.ptx):
        ends.append((99, 9))
    oldest, newest = min(architectures), max(ends)
    return f"{oldest[0]}.{oldest[1]}", f"{newest[0]}.{newest[1]}"


def _release(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".") if isinstance(version, str) else ("", "", "")
    if not (major.isdecimal() and minor.isdecimal()):
        raise ValueError(f"a version has to be text such as '12.4', not {version!r}")
    return int(major), int(minor)


def _loads(architecture: str, card: tuple[int, int]) -> bool:
    """Return whether machine code for an architecture runs on a GPU (rule 2)."""
    major, minor, suffix = order(architecture)
    return (major, minor) == card if suffix == "a" else major == card[0] and minor <= card[1]


def _compiles(architecture: str, card: tuple[int, int]) -> bool:
    """Return whether PTX for an architecture compiles for a GPU (rule 3, without the driver)."""
    major, minor, suffix = order(architecture)
    return _loads(architecture, card) if suffix else (major, minor) <= card
