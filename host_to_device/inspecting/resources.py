"""The resources view of `h2d.show`: registers and memory that the compiler reports, and the occupancy they allow."""

from __future__ import annotations

from host_to_device.inspecting.compiling import Compiled
from host_to_device.inspecting.needs import gpu_of, needs_from
from host_to_device.inspecting.occupancy import Occupancy
from host_to_device.rendering.table import Table

SHOWN = 256  # threads per block for which the table gives the occupancy

# The rows of the table: key in `Compiled.resources`, name, unit; NVIDIA's and AMD's.
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
# The rows that `h2d.compare` shows too, where a kernel uses any of the resource.
COMPARED = {
    "registers",
    "vgprs",
    "sgprs",
    "shared_bytes",
    "lds_bytes",
    "stack_bytes",
    "scratch_bytes",
    "spill_stores",
    "spill_loads",
}
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
    """The resources of a compiled kernel: a table, and a picture of the occupancy over block sizes.

    Attributes
    ----------
    resources
        The compiler's numbers, as in `Compiled.resources`.
    table
        The same numbers as a table.
    occupancy
        The result of `h2d.occupancy` for 256 threads per block; None if the table of GPUs has no GPU with this
        architecture.
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
                "Register spill: the kernel has too few registers, so it stores values in memory and loads them again."
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
