"""What one block of a kernel takes of a multiprocessor, as the compiler says: registers and shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from host_to_device.hardware import gpus
from host_to_device.hardware.targets import Target
from host_to_device.inspecting import sources
from host_to_device.inspecting.compiling import Compiled


@dataclass(frozen=True)
class Needs:
    """What one block of a kernel takes.

    Attributes
    ----------
    registers
        Of a thread, 32 bits each; for AMD vector registers.
    shared
        Bytes of shared memory (LDS) of a block, static and dynamic together.
    scalar_registers
        Of a wavefront; AMD only.
    """

    registers: int
    shared: int = 0
    scalar_registers: int = 0


def gpu_of(architecture: Target) -> gpus.GPU | None:
    """Return a GPU of the book's table with this architecture; None where there is none."""
    found = gpus.find_architecture(architecture.name)
    return None if found is None else gpus.typical(found)


def needs_from(compiled: Compiled) -> Needs:
    """Return what a block of a compiled kernel takes."""
    of = compiled.resources
    if compiled.architecture.vendor == "AMD":
        return Needs(of["vgprs"], of["lds_bytes"], of["sgprs"])  # the count of both kinds, AccVGPRs included
    return Needs(of["registers"], of["shared_bytes"])


def needs_of(kernel: Any, target: str, **how: Any) -> tuple[Needs, str]:
    """Compile a kernel for a target, and return what a block of it takes, and its name.

    Parameters
    ----------
    kernel
        As of `h2d.show`.
    target
        The architecture: "sm_90", "gfx942".
    how
        `types`, `args` and `entry`, as of `h2d.show`.

    Raises
    ------
    TypeError
        There is another keyword.
    MissingTool
        A compiler is not installed; the message is the command that installs it.
    CannotShow
        It cannot be compiled: one line.
    """
    if other := set(how) - {"types", "args", "entry"}:
        raise TypeError(f"h2d.occupancy has no argument {min(other)!r}")
    compiled, _ = sources.compiled(kernel, target, upto="resources", **how)
    return needs_from(compiled), compiled.name
