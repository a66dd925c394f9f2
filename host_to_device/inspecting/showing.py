"""`h2d.show`: the code that a compiler makes of a kernel; it needs no GPU."""

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
    """Show the code that a compiler makes of a kernel. Nothing is run, and no GPU is needed.

    The listing has the loop that does the work or, in a kernel without a loop, the part from its guard to its last store.
    Each instruction stands below the line of the source that it was compiled from, with a remark that says what it does.

    Parameters
    ----------
    kernel
        A Numba kernel; a `cupy.RawKernel`, `RawModule`, `ElementwiseKernel`, `ReductionKernel` or a kernel of
        `cupyx.jit`; CUDA C++, HIP or PTX as a string; or the path of a .cu, .hip or .ptx file.
    what
        'ptx', NVIDIA's virtual assembly language; 'sass', the machine code of an NVIDIA GPU; 'gcn', the machine code of
        an AMD GPU; 'cuda', the CUDA C++ that CuPy generates; 'hip', CUDA C++ converted to HIP; 'resources', the
        registers and memory that the kernel uses.
    arch
        The GPU to compile for: 'sm_75', 'sm_90', 'gfx942', or a GPU's name such as 'A100' or 'MI300X'. The default is
        sm_90, and gfx942 for GCN.
    types
        The types of a Numba kernel's arguments: 'float32[::1], float32[::1], int64', or a tuple of Numba's types.
        `[::1]` is a contiguous array, as launches usually have; `[:]` is an array that is read through its strides. A
        kernel that has a signature or has been launched needs no types.
    args
        Arguments as for a launch; `show` takes their types and does nothing else with them.
    entry
        The name of the kernel, if the source has several ('scale') or is a template ('add<float>').
    whole
        True shows every instruction.
    lines
        False leaves out the lines of the source.

    Returns
    -------
    Listing
        The listing, as text and, in a notebook, as HTML. `.text` is the whole listing as the compiler wrote it;
        `.instructions` and `.remarks` have every instruction and its remark. For 'resources' a table.

    Raises
    ------
    MissingTool
        A compiler is not installed; the message is the command that installs it.
    CannotShow
        The kernel cannot be compiled, or not for this architecture. The message is one line, with the source's line if
        that line has the error.

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
