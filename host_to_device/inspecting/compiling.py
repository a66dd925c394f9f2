"""From a kernel's source to what compilers make of it, each step kept once it is done."""

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

# How far to go: each needs what stands before it. GCN is a way of its own.
STEPS = ("ptx", "resources", "sass")


@dataclass(frozen=True)
class Compiled:
    """What compilers made of one kernel for one architecture. Nothing of it was run.

    Attributes
    ----------
    entry, name
        The kernel's name as the compiler has it, and as people write it.
    architecture
        For which GPU.
    language
        'cuda', 'hip', 'numba' or 'ptx': what it was compiled from.
    ptx, sass, gcn
        The listings of the whole module, None where they were not asked for.
    cubin
        The machine code for NVIDIA's GPUs, None where it was not asked for.
    resources
        What the kernel uses. NVIDIA: 'registers' a thread, 'shared_bytes' a block, 'stack_bytes', 'local_bytes',
        'spill_stores' and 'spill_loads' (bytes a thread), 'constant_bytes', 'barriers'. AMD: 'vgprs', 'agprs' and
        'sgprs', 'lds_bytes' a block, 'scratch_bytes' a lane, 'vgpr_spills', 'sgpr_spills', 'wavefront' (lanes),
        'most_threads' of a block that it was compiled for. Empty where only PTX was asked for.
    tools
        The versions of the compilers, by their names.
    parameters
        What the kernel's parameters are called in the source, in the order of the PTX; empty if not known.
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
        """Where this comes from: 'compiled for sm_90 by NVRTC 13.0 and ptxas 13.0.88, not run'."""
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
    """Compile one kernel for one architecture; a result is kept, so that the next time takes milliseconds.

    Parameters
    ----------
    source
        CUDA C++, HIP or, as language 'ptx', PTX.
    entry
        The kernel's name ('vector_add', 'add<float>'); None if there is one only.
    language
        'cuda', 'hip' or 'ptx'. CUDA C++ is compiled for AMD's architectures as it is.
    arch
        The architecture: 'sm_90', 'gfx942', 'A100', …; None for sm_90, and gfx942 for HIP.
    upto
        For NVIDIA's architectures how far to go: 'ptx', 'resources' (ptxas, too) or 'sass' (nvdisasm, too).
    options
        Options of NVRTC.

    Returns
    -------
    Compiled
        The listings, machine code and resources of the kernel.

    Raises
    ------
    MissingTool
        If a compiler that it takes is not installed: the message is the command that installs it.
    CannotShow
        If the architecture is not known or not possible, the source has an error, or there is no saying which
        kernel is meant: one line.
    """
    if language not in ("cuda", "hip", "ptx"):
        raise CannotShow(f"language is {language!r}: give 'cuda', 'hip' or 'ptx'")
    if upto not in STEPS:
        raise CannotShow(f"upto is {upto!r}: give one of {', '.join(STEPS)}")
    architecture = _architecture(arch, language)
    if architecture.vendor == "AMD":
        return _for_amd(source, entry, language, architecture, options)
    if language == "ptx":
        ptx, lowered, made_by, given = source, None, {}, ()
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
    """Return a compile target as `targets.find` does, with its error as one of `h2d.show`'s.

    Raises
    ------
    CannotShow
        If no target has this name, or if it is the other vendor's.
    """
    try:
        return targets.find(arch, vendor)
    except UnknownTarget as problem:
        raise CannotShow(str(problem)) from None


def _architecture(arch: object, language: str) -> Target:
    """Return the architecture; for sources that both vendors' compilers take, its name says whose it is."""
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
    """Return those of NVRTC's options that ptxas has to know, too."""
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
    """Go on from PTX: to machine code and resources, and to SASS. Arguments and errors as of `compile`."""
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
        names.readable(chosen),
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
        names.readable(chosen),
        architecture,
        language,
        gcn=made["gcn"],
        resources=made["resources"][chosen],
        tools={"clang": made["version"]},
    )
