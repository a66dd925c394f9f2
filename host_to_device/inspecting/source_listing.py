"""Listings of sources that tools write: the CUDA C++ of CuPy's kernels, and CUDA C++ converted to HIP."""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from host_to_device.inspecting import cupy_code, sources, tools
from host_to_device.inspecting.cache import kept
from host_to_device.inspecting.errors import CannotShow
from host_to_device.inspecting.listing import Listing
from host_to_device.inspecting.rows import Row

# The remarks on lines that CuPy writes.
OF_CUPY = (
    (r"\s*typedef \w[\w ]* (\w);", "the letter in the parameter list stands for this type here"),
    (
        r".*__global__ void",
        "the kernel: an array comes with its shape and strides, CArray<type, dimensions, …>",
    ),
    (r"\s*CUPY_FOR\(", "a grid-stride loop: each thread steps by the number of threads in the grid"),
    (r"\s*_ind\.set\(", "where element i is in each dimension"),
    (r"\s*const [\w ]+ &?(\w+) = _raw_\w+\[", "one element, under the name of your parameter"),
    (r"\s*[\w ]+ &(\w+) = _raw_\w+\[", "what your operation assigns to"),
    (r"\s*__shared__", "shared memory for the partial results of a block"),
    (r"\s*__syncthreads\(\)", "a barrier of the block"),
    (r"\s*_s = REDUCE\(_s, _a\);", "each thread reduces its own elements first"),
    (r"\s*_REDUCE\(_block\);", "then half of the threads take a result of the other half, and again"),
    (r"\s*POST_MAP\(", "your last expression, once for each result"),
)

# The remarks on code that hipify does not convert.
NOT_CONVERTED = (
    (r"\basm\b", "inline PTX: not converted, and no AMD GPU has it"),
    (r"0x[fF]{8}\b|\bFULL_MASK\b", "a mask of 32 lanes: not converted; a wavefront of CDNA has 64"),
    (r"\bwmma::|nvcuda", "NVIDIA's tensor-core API: not converted; AMD has rocWMMA"),
    (r"cooperative_groups|cg::", "cooperative groups: HIP has a part of them"),
    (r"[%/&]\s*32\b|>>\s*5\b|&\s*31\b", "32 as the width of a warp? A wavefront of CDNA has 64 lanes"),
)


def make(
    kernel: Any,
    what: str,
    *,
    args: Sequence[Any] | None = None,
    entry: str | None = None,
    whole: bool = False,
) -> Listing:
    """Return the source that CuPy generates ('cuda') or that hipify converts ('hip').

    Parameters
    ----------
    kernel, args, entry, whole
        As for `h2d.show`. Without `whole`, HIP shows the lines that differ, and CUDA C++ the kernel alone.
    what
        'cuda' or 'hip'.

    Raises
    ------
    MissingTool
        CuPy or PyTorch is not installed.
    CannotShow
        There is nothing to generate or to convert.
    """
    given = sources.given(kernel, entry)
    if what == "cuda":
        return _generated(given, args, whole)
    if given.language == "cupy":
        made = cupy_code.generate(given.kernel, args)
        given = sources.Given("cuda", made.name, made.text)
    if given.language != "cuda":
        kinds = {"numba": "a Numba kernel is not C++", "hip": "it is HIP already", "ptx": "PTX is not C++"}
        raise CannotShow(f"what='hip' converts CUDA C++, and {kinds[given.language]}")
    return _converted(given, whole)


def _generated(given: sources.Given, args: Sequence[Any] | None, whole: bool) -> Listing:
    if given.language != "cupy":
        why = (
            "Numba writes none: it compiles Python straight to PTX"
            if given.language == "numba"
            else "it is source code already"
        )
        raise CannotShow(f"what='cuda' shows the CUDA C++ that CuPy writes, and {why}: give what='ptx'")
    made = cupy_code.generate(given.kernel, args)
    lines = made.text.splitlines()
    start = next((place for place, line in enumerate(lines) if "__global__" in line), 0)
    own = _own_lines(given.kernel)
    rows = []
    for place, line in enumerate(lines):
        if place < start and not whole and not line.startswith("typedef"):
            continue
        said = next((words for pattern, words in OF_CUPY if re.match(pattern, line)), "")
        if not said and own and re.sub(r"[\s;]+", "", line) in own:
            said = "your operation"
        rows.append(Row("code", line, said, "note" if said else "other", place + 1))
    part = (
        "everything"
        if len(rows) == len(lines)
        else "the kernel (whole=True shows what stands before it, too)"
    )
    stamp = f"written by CuPy {made.version} for these dtypes and dimensions, not compiled, not run"
    return Listing(made.name, "cuda", "", tuple(rows), part, stamp, made.text)


def _own_lines(kernel: Any) -> set[str]:
    text = getattr(kernel, "operation", None)
    return {re.sub(r"[\s;]+", "", line) for line in (text or "").splitlines()} - {""}


def _converted(given: sources.Given, whole: bool) -> Listing:
    found = importlib.util.find_spec("torch")
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        raise tools.missing("torch")
    folder = Path(places[0]) / "utils" / "hipify"
    tool = tools.Tool("hipify", folder / "hipify_python.py")
    request = {"source": given.text, "hipify": str(folder)}
    answer = kept(lambda: _run(request), "hipify", given.text, tool.identity)
    text = re.sub(r"^// !!! .*\n", "", answer["text"])
    before, after = given.text.splitlines(), text.splitlines()
    rows: list[Row] = []
    changed = 0
    for tag, first, last, start, stop in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        for place in range(start, stop):
            said = next((words for pattern, words in NOT_CONVERTED if re.search(pattern, after[place])), "")
            if tag != "equal":
                changed += 1
                was = before[first + place - start] if first + place - start < last else ""
                said = "; ".join(
                    each for each in (f"was: {was.strip()}" if was.strip() else "added", said) if each
                )
            if said or whole:
                rows.append(Row("code", after[place], said, "note" if said else "other", place + 1))
    name = given.entry or given.file or "source"
    part = f"{changed} of {len(after)} lines changed" + ("" if whole else " (whole=True shows all)")
    version = metadata.version("torch").partition("+")[0]
    return Listing(
        name,
        "hip",
        "",
        tuple(rows),
        part,
        f"converted by hipify of PyTorch {version}, not compiled, not run",
        text,
    )


def _run(request: dict) -> dict:
    with tools.private_folder() as folder:
        return tools.call_python("hipify.py", request, folder, name="hipify")
