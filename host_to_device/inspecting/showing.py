"""`h2d.show`: what a compiler made of a kernel, with no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from host_to_device.inspecting import listing, resources, source_listing, sources
from host_to_device.inspecting.errors import CannotShow

WHAT = ("ptx", "sass", "gcn", "cuda", "hip", "resources")
UPTO = {"ptx": "ptx", "sass": "sass", "gcn": "sass", "resources": "resources"}


def show(
    kernel: Any,
    what: str = "ptx",
    arch: object = None,
    *,
    types: Any = None,
    args: Sequence[Any] | None = None,
    entry: str | None = None,
    whole: bool = False,
    lines: bool = True,
) -> Any:
    """Show what a compiler makes of a kernel: nothing is run, and no GPU is needed.

    Shown is the loop that does the work or, in a kernel without one, what lies between its guard and its last store:
    each instruction with what it does, below the line of the source that it was made of.

    Parameters
    ----------
    kernel
        A Numba kernel; a `cupy.RawKernel`, `RawModule`, `ElementwiseKernel`, `ReductionKernel` or a kernel of
        `cupyx.jit`; CUDA C++, HIP or PTX as a string; or the path of a .cu, .hip or .ptx file.
    what
        'ptx', NVIDIA's assembly language for no GPU in particular; 'sass', the machine code of one; 'gcn', that of
        an AMD GPU; 'cuda', the CUDA C++ that CuPy generates; 'hip', CUDA C++ converted to HIP; 'resources', the
        registers and memory that the kernel takes.
    arch
        For which GPU: 'sm_75', 'sm_90', 'gfx942', or a GPU's name such as 'A100' or 'MI300X'. sm_90 if not given,
        for GCN gfx942.
    types
        Of a Numba kernel's arguments: 'float32[::1], float32[::1], int64', or a tuple of Numba's types. `[::1]` is an
        array without gaps, as launches have them; one of `[:]` is read through its strides. Not needed for a kernel
        with a signature, or that has been launched.
    args
        Arguments as for a launch, to take the types from; nothing happens to them.
    entry
        The name of the kernel, where the source has several ('scale'), or is a template ('add<float>').
    whole
        True shows every instruction.
    lines
        False leaves out the lines of the source.

    Returns
    -------
    Listing
        What is shown as text and, in a notebook, as HTML. `.text` has all of it as the compiler wrote it,
        `.instructions` and `.remarks` what was read in it. For 'resources' a table.

    Raises
    ------
    MissingTool
        If a compiler is not installed: the message is the one command that installs it.
    CannotShow
        If the kernel cannot be compiled, or not for this architecture: one line that says why, with the source's
        line where it is at fault.

    Examples
    --------
    >>> source = '''
    ... extern "C" __global__ void twice(const float *x, float *out, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) out[i] = 2 * x[i];
    ... }
    ... '''
    >>> listing = h2d.show(source, "sass", "A100")
    >>> print(listing)
    twice, SASS for sm_80: ...
    line 4 | if (i < n) out[i] = 2 * x[i];
        ...
        LDG.E ...                           load: 4 bytes from global memory
        ...
        STG.E ...                           store: 4 bytes to global memory
    ...
    """
    if what not in WHAT:
        raise CannotShow(f"what is {what!r}: give one of {', '.join(map(repr, WHAT))}")
    if what in ("cuda", "hip"):
        return source_listing.make(kernel, what, args=args, entry=entry, whole=whole)
    vendor = "AMD" if what == "gcn" else None if what == "resources" else "NVIDIA"
    compiled, files = sources.compiled(
        kernel, arch, types=types, args=args, entry=entry, upto=UPTO[what], vendor=vendor
    )
    if what == "resources":
        return resources.Resources(compiled)
    return listing.make(compiled, what, files, whole=whole, lines=lines)
