"""The resources that one block of a kernel needs: registers and shared memory, as the compiler reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from host_to_device.hardware import gpus
from host_to_device.hardware.targets import Target
from host_to_device.inspecting import sources
from host_to_device.inspecting.compiling import Compiled


@dataclass(frozen=True)
class Needs:
    """The resources that one block of a kernel needs.

    Attributes
    ----------
    registers
        Registers per thread, 32 bits each; for AMD vector registers.
    shared
        Bytes of shared memory (LDS) per block, static and dynamic together.
    scalar_registers
        Scalar registers per wavefront; AMD only.
    """

    registers: int
    shared: int = 0
    scalar_registers: int = 0


def gpu_of(architecture: Target) -> gpus.GPU | None:
    """Return the first GPU of the table with this architecture; None if the table has none."""
    found = gpus.find_architecture(architecture.name)
    return None if found is None else gpus.typical(found)


def needs_from(compiled: Compiled) -> Needs:
    """Return the resources that a block of a compiled kernel needs."""
    of = compiled.resources
    if compiled.architecture.vendor == "AMD":
        return Needs(of["vgprs"], of["lds_bytes"], of["sgprs"])  # `vgprs` counts AccVGPRs too
    return Needs(of["registers"], of["shared_bytes"])


def needs_of(kernel: Any, target: str, **how: Any) -> tuple[Needs, str]:
    """Compile a kernel for a target; return the resources that a block of it needs, and the kernel's name.

    Parameters
    ----------
    kernel
        As for `h2d.show`.
    target
        The architecture: "sm_90", "gfx942".
    how
        `types`, `args` and `entry`, as for `h2d.show`.

    Raises
    ------
    TypeError
        `how` has another keyword.
    MissingTool
        A compiler is not installed; the message is the command that installs it.
    CannotShow
        The kernel cannot be compiled; the message is one line.
    """
    if other := set(how) - {"types", "args", "entry"}:
        raise TypeError(f"h2d.occupancy has no argument {min(other)!r}")
    compiled, _ = sources.compiled(kernel, target, upto="resources", **how)
    return needs_from(compiled), compiled.name
