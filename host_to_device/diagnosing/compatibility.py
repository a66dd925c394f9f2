"""What happens when a program that was built for one CUDA starts on one driver and one GPU: it runs, compiles or fails.

Three versions decide: the newest CUDA that the driver supports (`nvidia-smi` shows it), the CUDA that the program was
built for together with the code inside it, and the compute capability of the GPU. The rules are NVIDIA's; `decide` names
the page of each. The messages are those of the CUDA runtime. A library may put its own words before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from host_to_device.diagnosing import matrix
from host_to_device.diagnosing.machine_code import order

NO_DEVICE = "no CUDA-capable device is detected"  # cudaErrorNoDevice, 100
OLD_DRIVER = "CUDA driver version is insufficient for CUDA runtime version"  # cudaErrorInsufficientDriver, 35
NO_IMAGE = "no kernel image is available for execution on the device"  # cudaErrorNoKernelImageForDevice, 209
NEW_PTX = (
    "the provided PTX was compiled with an unsupported toolchain."  # cudaErrorUnsupportedPtxVersion, 222
)
VERSION = re.compile(r"\d{1,3}\.\d{1,3}", re.ASCII)
CAPABILITY = re.compile(r"\d{1,2}\.\d[af]?", re.ASCII)
LARGEST_CUDA = 99  # larger numbers are a driver's own, such as 550.54.14
# The oldest compute capability that a compiler of CUDA 13 or later takes; those of CUDA 12 and 11 take each GPU that their
# drivers know. (NVRTC, "Supported Compile Options", https://docs.nvidia.com/cuda/nvrtc/index.html)
COMPILERS, OLDEST_COMPILED = 13, "7.5"
MINOR_VERSIONS = 11  # the first major release whose programs run on drivers of an older minor release


class HasCode(Protocol):
    """What has GPU code: a `Code`, or a `Wheel` of `h2d.known_wheels()`."""

    @property
    def sass(self) -> tuple[str, ...]:
        """The compute capabilities that have machine code."""

    @property
    def ptx(self) -> tuple[str, ...]:
        """The compute capabilities that have PTX."""


class HasBuild(HasCode, Protocol):
    """What has GPU code and was built for a release of CUDA: a `Wheel` of `h2d.known_wheels()`."""

    @property
    def cuda(self) -> str:
        """The release of CUDA that it was built with."""


@dataclass(frozen=True)
class Outcome:
    """What happens, and why.

    Attributes
    ----------
    kind
        "runs" (the driver loads machine code), "compiles" (the driver compiles PTX first) or "fails"; of `runs_on` also
        "not known".
    message
        What CUDA says if it fails; otherwise empty.
    why
        The rule that decided, in one sentence with the versions.
    """

    kind: str
    message: str
    why: str

    def __str__(self) -> str:
        return (
            f"{self.kind} ({self.message.rstrip('.')}): {self.why}"
            if self.message
            else f"{self.kind}: {self.why}"
        )


def runs_on(wheel: HasBuild, driver_cuda: str, capability: str) -> Outcome:
    """Return what happens when a wheel is used with a driver and a GPU: it runs, it compiles PTX first, or it fails.

    NVIDIA's rules decide it from the versions; nothing is run. The driver is compared with the CUDA that the wheel was
    built for and with the GPU, then the wheel's GPU code with the GPU. Where a version is beyond this library's tables,
    the answer is "not known".

    The rules leave out the package cuda-compat, which brings a newer user-mode driver, and Jetson. A wheel without GPU
    code counts as one that compiles each kernel at run time, as numba-cuda does: if its compiler does not take the GPU,
    the answer is "not known", because the message is that compiler's.

    Parameters
    ----------
    wheel
        An element of `h2d.known_wheels()`, or an object of your own with `cuda` (the release of CUDA that it was built
        with, such as "12.4") and `sass` and `ptx` (tuples of the compute capabilities with machine code and with PTX,
        such as "8.6", "9.0a" or "10.0f").
    driver_cuda
        The newest release of CUDA that the driver supports, such as "12.8"; `nvidia-smi` shows it.
    capability
        The compute capability of the GPU, such as "8.6".

    Returns
    -------
    Outcome
        `kind` is "runs", "compiles", "fails" or "not known". `message` is what CUDA says where it fails, otherwise
        empty; a library may put its own words before it. `why` is the rule that decided, in one sentence.

    Raises
    ------
    TypeError
        If `wheel` has no `cuda`, `sass` or `ptx`, or if `sass` or `ptx` is one text and not a tuple of them.
    ValueError
        If a version or a compute capability is not text such as "12.4" or "8.6".

    Examples
    --------
    PyTorch 2.6 on a GPU of the RTX 50 series:

    >>> [wheel] = [each for each in h2d.known_wheels() if (each.name, each.version) == ("torch", "2.6.0")]
    >>> outcome = h2d.runs_on(wheel, "12.8", "12.0")
    >>> outcome.kind, outcome.message
    ('fails', 'no kernel image is available for execution on the device')
    >>> print(h2d.runs_on(wheel, "12.8", "8.6"))
    runs: The machine code for 8.6 runs on compute capability 8.6.
    """
    _check(wheel, driver_cuda, capability)
    outcome = decide(driver_cuda, wheel.cuda, wheel, capability)
    oldest, newest = matrix.known_cuda()
    for what, version in (("driver", driver_cuda), ("wheel", wheel.cuda)):
        if _release(version) > _release(newest):
            return Outcome(
                "not known", "", f"The {what} is for CUDA {version}, and the tables end at CUDA {newest}."
            )
    if outcome.message == OLD_DRIVER:  # the runtime looks at the driver before it looks for a GPU
        return outcome
    if _release(driver_cuda) < _release(oldest):
        return Outcome(
            "not known", "", f"The driver is for CUDA {driver_cuda}, and the tables begin at CUDA {oldest}."
        )
    drivers = matrix.drivers_of(capability)
    if drivers is None:
        return Outcome(
            "not known", "", f"The tables do not say which drivers know compute capability {capability}."
        )
    first, last = drivers
    if not matrix.drives(driver_cuda, capability):
        knows = (
            f"the first driver that knows it supports CUDA {first}"
            if _release(driver_cuda) < _release(first)
            else f"the last driver that knows it supports CUDA {last}"
        )
        return Outcome(
            "fails",
            NO_DEVICE,
            f"A driver for CUDA {driver_cuda} does not know compute capability {capability}: {knows}.",
        )
    compiles_itself = not wheel.sass and not wheel.ptx and _release(wheel.cuda)[0] >= COMPILERS
    if compiles_itself and _release(capability) < _release(OLDEST_COMPILED):
        return Outcome(
            "not known",
            "",
            f"The package compiles each kernel at run time, and compilers of CUDA {COMPILERS} begin with compute capability "
            f"{OLDEST_COMPILED}: its message depends on the compiler that it calls.",
        )
    return outcome


def _check(wheel: Any, driver_cuda: Any, capability: Any) -> None:
    """Refuse what `runs_on` cannot read, in one line that says what to give instead."""
    kind = type(wheel).__name__
    for name in ("cuda", "sass", "ptx"):
        if not hasattr(wheel, name):
            wanted = "give an element of h2d.known_wheels(), or an object with cuda, sass and ptx"
            raise TypeError(f"wheel is of type {kind} and has no {name!r}: {wanted}")
    for name, example in (("sass", "('8.0', '9.0a')"), ("ptx", "('9.0',)")):
        given = getattr(wheel, name)
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"wheel.{name} is {given!r}: give a tuple of compute capabilities, such as {example}"
            )
        for each in given:
            if not (isinstance(each, str) and CAPABILITY.fullmatch(each)):
                raise ValueError(f"wheel.{name} has {each!r}: give text such as '8.6', '9.0a' or '10.0f'")
    if isinstance(driver_cuda, str) and matrix.numbers(driver_cuda) > (LARGEST_CUDA,):
        wanted = "give the newest CUDA that the driver supports, such as '12.4'; nvidia-smi shows both"
        raise ValueError(f"driver_cuda is {driver_cuda!r}, the driver's own version: {wanted}")
    for name, version, example in (
        ("driver_cuda", driver_cuda, "12.4"),
        ("wheel.cuda", wheel.cuda, "12.4"),
        ("capability", capability, "8.6"),
    ):
        if not (isinstance(version, str) and VERSION.fullmatch(version)):
            raise ValueError(f"{name} is {version!r}: give text such as '{example}'")


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
    driver, built, _ = (_release(each) for each in (driver_cuda, built_for, capability))
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
    machine_code, ptx = fitting(code, capability)
    if machine_code:
        return Outcome(
            "runs", "", f"The machine code for {machine_code[-1]} runs on compute capability {capability}."
        )
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


def fitting(code: HasCode, capability: str) -> tuple[list[str], list[str]]:
    """Return the machine code that runs on a GPU, and the PTX that compiles for it if the driver takes it."""
    card = _release(capability)
    return [each for each in code.sass if _loads(each, card)], [
        each for each in code.ptx if _compiles(each, card)
    ]


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
