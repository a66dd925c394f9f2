"""Compiles a kernel step by step, from source to PTX, machine code and SASS, and caches each step."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Any

from host_to_device.hardware import targets
from host_to_device.hardware.targets import Target, UnknownTarget
from host_to_device.inspecting import names, tools
from host_to_device.inspecting.cache import kept
from host_to_device.inspecting.compilers import clang, nvrtc, ptxas
from host_to_device.inspecting.errors import CannotShow
from host_to_device.standins import mangling

# The steps for NVIDIA's GPUs; each needs the one before it. GCN is one step of its own.
STEPS = ("ptx", "resources", "sass")


@dataclass(frozen=True)
class Compiled:
    """One kernel, compiled for one architecture. Nothing was run.

    Attributes
    ----------
    entry, name
        The kernel's mangled name, and its name in the source.
    architecture
        The GPU it was compiled for.
    language
        The language of the source: 'cuda', 'hip', 'numba' or 'ptx'.
    ptx, sass, gcn
        The listings of the whole module; None for those that were not made.
    cubin
        The machine code for NVIDIA's GPUs; None if it was not made.
    resources
        The kernel's resources. NVIDIA: 'registers' per thread, 'shared_bytes' per block, 'stack_bytes', 'local_bytes',
        'spill_stores' and 'spill_loads' (bytes per thread), 'constant_bytes', 'barriers'. AMD: 'vgprs', 'agprs' and
        'sgprs', 'lds_bytes' per block, 'scratch_bytes' per lane, 'vgpr_spills', 'sgpr_spills', 'wavefront' (lanes),
        'most_threads' (the largest block it was compiled for). Empty if only PTX was made.
    tools
        The versions of the compilers, by their names.
    parameters
        The names of the kernel's parameters in the source, in the order of the PTX; empty if they are not known.
    """

    entry: str
    name: str
    architecture: Target
    language: str
    ptx: str | None = None
    cubin: bytes | None = None
    sass: str | None = None
    gcn: str | None = None
    resources: dict[str, int] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()

    @property
    def stamp(self) -> str:
        """The architecture and the compilers: 'compiled for sm_90 by NVRTC 13.0 and ptxas 13.0.88, not run'."""
        tools = [f"{name} {version}" for name, version in self.tools.items()]
        by = " and ".join(filter(None, (", ".join(tools[:-1]), *tools[-1:])))
        return f"compiled for {self.architecture}{' by ' * bool(by)}{by}, not run"


def compile(
    source: str,
    entry: str | None = None,
    language: str = "cuda",
    arch: object = None,
    *,
    upto: str = "sass",
    options: tuple[str, ...] = (),
) -> Compiled:
    """Compile one kernel for one architecture. The result is cached: the next call takes milliseconds.

    Parameters
    ----------
    source
        CUDA C++, HIP or, as language 'ptx', PTX.
    entry
        The kernel's name ('vector_add', 'add<float>'); None if the source has one kernel only.
    language
        'cuda', 'hip' or 'ptx'. For AMD's architectures, CUDA C++ is compiled as HIP, unchanged.
    arch
        The architecture: 'sm_90', 'gfx942', 'A100', …; None means sm_90, and gfx942 for HIP.
    upto
        The last step for NVIDIA's architectures: 'ptx', 'resources' (runs ptxas too) or 'sass' (runs nvdisasm too).
    options
        Options of NVRTC.

    Returns
    -------
    Compiled
        The listings, machine code and resources of the kernel.

    Raises
    ------
    MissingTool
        A compiler that it needs is not installed; the message is the command that installs it.
    CannotShow
        The architecture is unknown or the wrong vendor's, the source has an error, or the source has several kernels and
        `entry` is None. The message is one line.
    """
    if language not in ("cuda", "hip", "ptx"):
        raise CannotShow(f"language is {language!r}: give 'cuda', 'hip' or 'ptx'")
    if upto not in STEPS:
        raise CannotShow(f"upto is {upto!r}: give one of {', '.join(STEPS)}")
    architecture = _architecture(arch, language)
    if architecture.vendor == "AMD":
        return _for_amd(source, entry, language, architecture, options)
    if language == "ptx":
        ptx, lowered = source, None
        made_by: dict[str, str] = {}
        given: tuple[str, ...] = ()
    else:
        first = kept(
            lambda: nvrtc.to_ptx(source, entry, architecture, options),
            *("nvrtc", source, entry, architecture.name, list(options), tools.nvrtc().identity),
            [str(folder) for folder in tools.headers()],
        )
        ptx, lowered, made_by = first["ptx"], first["lowered"], {"NVRTC": first["version"]}
        given = _limits(options)
    return from_ptx(
        ptx, entry, architecture, language, lowered=lowered, made_by=made_by, upto=upto, options=given
    )


def target(arch: object, vendor: str) -> Target:
    """Return a compile target as `targets.find` does, with the error of `h2d.show`.

    Raises
    ------
    CannotShow
        No target has this name, or it is the other vendor's.
    """
    try:
        return targets.find(arch, vendor)
    except UnknownTarget as problem:
        raise CannotShow(str(problem)) from None


def _architecture(arch: object, language: str) -> Target:
    """Return the architecture. Its name says the vendor, because both vendors' compilers take the same sources."""
    if arch is None:
        return target(None, "AMD" if language == "hip" else "NVIDIA")
    try:
        found = targets.find(arch, "NVIDIA")
    except UnknownTarget as problem:
        if problem.found is None:
            raise CannotShow(str(problem)) from None
        found = problem.found
    if found.vendor == "AMD" and language == "ptx":
        raise CannotShow(f"PTX cannot be compiled for {found}: it is NVIDIA's")
    return found


def _limits(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of NVRTC's options that ptxas needs too."""
    found = [re.fullmatch(r"--?maxrregcount[= ](\d+)", option) for option in options]
    return tuple(f"-maxrregcount={match.group(1)}" for match in found if match)


def from_ptx(
    ptx: str,
    entry: str | None,
    architecture: Target,
    language: str,
    *,
    lowered: str | None = None,
    made_by: dict[str, str] | None = None,
    upto: str = "sass",
    options: tuple[str, ...] = (),
    parameters: tuple[str, ...] = (),
    what: str = "source",
) -> Compiled:
    """Compile PTX to machine code and resources, and list it as SASS. Arguments and errors as for `compile`."""
    entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
    chosen = names.choose(entry, lowered, entries, what)
    made_by = dict(made_by or {})
    result: dict[str, Any] = {"ptx": ptx}
    if upto != "ptx":
        second = kept(
            lambda: _assembled(ptx, architecture, options),
            *("ptxas", ptx, architecture.name, list(options), tools.program("ptxas").identity),
        )
        result["cubin"] = base64.b64decode(second["cubin"])
        result["resources"] = second["resources"].get(chosen, {})
        made_by["ptxas"] = second["version"]
    if upto == "sass":
        third = kept(
            lambda: ptxas.disassemble(result["cubin"]),
            *("nvdisasm", second["cubin"], tools.program("nvdisasm").identity),
        )
        result["sass"] = third["sass"]
    return Compiled(
        chosen,
        mangling.readable(chosen),
        architecture,
        language,
        tools=made_by,
        parameters=parameters,
        **result,
    )


def _assembled(ptx: str, architecture: Target, options: tuple[str, ...]) -> dict[str, Any]:
    made = ptxas.assemble(ptx, architecture, options)
    return {**made, "cubin": base64.b64encode(made["cubin"]).decode()}


def _for_amd(
    source: str, entry: str | None, language: str, architecture: Target, options: tuple[str, ...]
) -> Compiled:
    made = kept(
        lambda: clang.to_gcn(source, entry, architecture, options),
        *("clang", source, entry, architecture.name, list(options), tools.zig().identity),
    )
    chosen = names.choose(entry, None, list(made["resources"]))
    return Compiled(
        chosen,
        mangling.readable(chosen),
        architecture,
        language,
        gcn=made["gcn"],
        resources=made["resources"][chosen],
        tools={"clang": made["version"]},
    )
