"""NVRTC: compiles CUDA C++ to PTX; `cupy.RawKernel` uses the same compiler."""

from __future__ import annotations

import re
from typing import Any

from host_to_device.hardware.targets import Target
from host_to_device.inspecting import tools
from host_to_device.inspecting.errors import CannotShow, at_line

FILE = "kernel.cu"  # the source's file name in messages and listings

# NVRTC's options for the GPU, with the value in the option or after it. Here `arch` says the GPU.
FOR_A_GPU = re.compile(r"--?(gpu-architecture|arch)(=.*)?")


def options_for(architecture: Target, given: tuple[str, ...]) -> list[str]:
    """Return NVRTC's options: the learner's without an architecture, and ours."""
    kept, skip = [], False
    for option in given:
        if skip or (match := FOR_A_GPU.fullmatch(option)):
            skip = not skip and match is not None and not match.group(2)
            continue
        kept.append(option)
    target = f"--gpu-architecture=compute_{architecture.name.removeprefix('sm_')}"
    folders = [f"--include-path={folder}" for folder in tools.headers()]
    return [target, *kept, *([] if "-lineinfo" in kept else ["-lineinfo"]), *folders]


def to_ptx(
    source: str, entry: str | None, architecture: Target, options: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Compile CUDA C++ to PTX.

    Parameters
    ----------
    source
        The source; it may include CUDA's headers where they are installed.
    entry
        The instance of a template ('add<float>') or a name in a namespace, to compile; a plain name or None needs nothing.
    architecture
        The GPU to compile for.
    options
        The learner's options for NVRTC.

    Returns
    -------
    dict
        'ptx', 'lowered' (the mangled name of `entry`, None for a plain name) and 'version'.

    Raises
    ------
    MissingTool
        NVRTC is not installed.
    CannotShow
        The source has errors, or the architecture is too old or too new for this NVRTC.
    """
    expression = entry if entry is not None and re.search(r"\W", entry) else None
    request = {
        "library": str(tools.nvrtc().path),
        "source": source,
        "file": FILE,
        "expression": expression,
        "capability": 10 * architecture.capability[0] + architecture.capability[1],
        "options": options_for(architecture, options),
    }
    with tools.private_folder() as folder:
        answer = tools.call_python("nvrtc.py", request, folder, name="NVRTC")
    for place in (folder, *tools.headers()):  # paths of this machine mean nothing to a reader
        answer["ptx"] = answer["ptx"].replace(f'"{place}/', '"')
    if answer["status"] == -1:
        can = answer["architectures"]
        raise CannotShow(
            f"NVRTC {answer['version']} cannot compile for {architecture}: it knows sm_{can[0]} to sm_{can[-1]}"
            + (f"; CUDA {'12' if architecture.capability < (7, 5) else '13'} does" if can else "")
        )
    if answer["status"]:
        raise compile_error(answer["log"], source, entry, expression)
    return {"ptx": answer["ptx"], "lowered": answer["lowered"], "version": answer["version"]}


def compile_error(log: str, source: str, entry: str | None, expression: str | None) -> CannotShow:
    """Return the compiler's first error as one line, with the learner's line."""
    lines = source.rpartition("#line 1\n")[2].splitlines()  # CuPy's headers stand before its source
    # NVRTC appends name expressions to the source, so an error in one has a line number beyond the last line.
    first = re.search(rf"^{re.escape(FILE)}\((\d+)\): (?:catastrophic )?error:? ?(?:#\S+ )?(.*)$", log, re.M)
    if first is None:
        words = next(
            (line.strip() for line in log.splitlines() if "error" in line), log.strip() or "no reason given"
        )
        if expression is not None and "__nv_name_map" in log:
            words = words.partition("error: ")[2] or words
            return CannotShow(f"{entry!r} names no kernel of this source: {words}", log)
        return CannotShow(f"NVRTC: {words}", log)
    number, words = int(first.group(1)), first.group(2).strip()
    if number > len(lines) and expression is not None:
        return CannotShow(f"{entry!r} names no kernel of this source: {words}", log)
    if "JIT mode" in words:
        words = "the source has a host function, which NVRTC refuses: give only the kernels and the functions that they call"
    elif match := re.match(r'cannot open source file "(.+?)"', words):
        words = f"header {match.group(1)} is missing: NVRTC has no headers of C++ or of the system"
    text = lines[number - 1] if number <= len(lines) else ""
    return CannotShow(at_line(number, words, text), log, number)
