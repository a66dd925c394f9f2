"""What a kernel takes of a multiprocessor, as the compiler says, and how many blocks of it fit on a GPU."""

from __future__ import annotations

from typing import Any

from host_to_device.hardware import gpus
from host_to_device.hardware.targets import Target
from host_to_device.inspecting.compiling import Compiled
from host_to_device.inspecting.occupancy import Needs, Occupancy
from host_to_device.rendering.table import Table

SHOWN = 256  # threads a block that the occupancy is said for

# What is shown of a compiler's numbers: name, what it is called, its unit; those of NVIDIA, then those of AMD.
ROWS = (
    ("registers", "registers", "a thread"),
    ("vgprs", "vector registers", "a lane"),
    ("agprs", "of these for matrices (AccVGPRs)", "a lane"),
    ("sgprs", "scalar registers", "a wavefront"),
    ("shared_bytes", "shared memory", "bytes a block"),
    ("lds_bytes", "shared memory (LDS)", "bytes a block"),
    ("stack_bytes", "stack", "bytes a thread"),
    ("scratch_bytes", "scratch memory", "bytes a lane"),
    ("spill_stores", "spilled, stores", "bytes a thread"),
    ("spill_loads", "spilled, loads", "bytes a thread"),
    ("vgpr_spills", "spilled vector registers", "a lane"),
    ("sgpr_spills", "spilled scalar registers", "a wavefront"),
    ("constant_bytes", "constants and arguments", "bytes"),
    ("barriers", "barriers", ""),
    ("wavefront", "lanes of a wavefront", ""),
    ("most_threads", "threads that it is compiled for at most", "a block"),
)
ALWAYS = {
    "registers",
    "vgprs",
    "sgprs",
    "shared_bytes",
    "lds_bytes",
    "spill_stores",
    "spill_loads",
    "vgpr_spills",
}


class Resources:
    """The resources view of `h2d.show`: a table, and the occupancy drawn over block sizes.

    Attributes
    ----------
    resources
        The compiler's numbers, as `Compiled.resources` has them.
    table
        Them as a table.
    occupancy
        What `h2d.occupancy` says of them, for 256 threads a block; None for an architecture without a GPU in the
        book's table.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.resources = dict(compiled.resources)
        gpu = gpu_of(compiled.architecture)
        needs = needs_from(compiled)
        self.occupancy = None if gpu is None else Occupancy(gpu, SHOWN, lambda _size: needs, compiled.name)
        rows = tuple(
            (called, f"{self.resources[name]:,}", unit)
            for name, called, unit in ROWS
            if self.resources.get(name) or (name in ALWAYS and name in self.resources)
        )
        title = f"resources of {compiled.name}, {compiled.stamp}"
        self.table = Table(title, ("", "number", "unit"), rows, (1,), self._remarks())

    def _remarks(self) -> tuple[str, ...]:
        found = []
        if self.resources.get("spill_stores") or self.resources.get("vgpr_spills"):
            found.append(
                "It spills: there were too few registers, and what did not fit goes to memory and comes back."
            )
        if self.occupancy is not None:
            of = self.occupancy
            found.append(f"With {SHOWN} threads a block on the {of.gpu.vendor} {of.gpu.name}: {of.summary()}")
        return tuple(found)

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        page = self.table._repr_html_() + (self.occupancy.html() if self.occupancy else "")
        return {"text/html": page, "text/plain": repr(self)}


def view(compiled: Compiled) -> Resources:
    """Return the resources of a compiled kernel, to be shown."""
    return Resources(compiled)


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
    from host_to_device.inspecting import sources

    if other := set(how) - {"types", "args", "entry"}:
        raise TypeError(f"h2d.occupancy has no argument {min(other)!r}")
    compiled, _ = sources.compiled(kernel, target, upto="resources", **how)
    return needs_from(compiled), compiled.name
