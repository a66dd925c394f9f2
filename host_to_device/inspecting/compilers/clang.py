"""clang: compiles HIP or CUDA C++ to AMD's machine code, with the package `ziglang` and a header of our own.

ROCm is not needed and not used. The compiler names what the header (`include/h2d_hip.h`) does not have. Functions such
as `expf` become clang's own, which round differently from those of ROCm's device libraries.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from host_to_device.hardware.targets import Target
from host_to_device.inspecting import tools
from host_to_device.inspecting.errors import CannotShow, at_line

FILE = "kernel.hip"
INCLUDE = Path(__file__).parents[1] / "include"
ENTRY = "h2d_entry"  # a pointer to an instance of a template makes clang compile it


def to_gcn(
    source: str, entry: str | None, architecture: Target, options: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Compile HIP, or CUDA C++ that is valid HIP, to AMD's machine code.

    Parameters
    ----------
    source
        The source.
    entry
        The instance of a template to compile ('add<float>'); a plain name or None needs no instance.
    architecture
        The GPU to compile for.
    options
        The learner's options; clang gets those that define macros.

    Returns
    -------
    dict
        'gcn' (the listing), 'resources' (by the kernel's name) and 'version' of clang.

    Raises
    ------
    MissingTool
        The package ziglang is not installed.
    CannotShow
        The source has errors, or clang does not know the architecture.
    """
    zig = tools.zig()
    text = source
    if entry is not None and re.search(r"\W", entry):
        text += f"\n__attribute__((used)) static const void* {ENTRY} = (const void*)&{entry};\n"
    with tools.private_folder() as folder:
        (folder / FILE).write_text(text, encoding="utf-8")
        command = [zig.path, "clang", "-nostdinc", "-isystem", zig.path.parent / "lib" / "include"]
        command += [f"-I{INCLUDE}", "-include", "h2d_hip.h", "-fdeclspec", "-std=c++17", "-x", "hip"]
        command += [f"--offload-arch={architecture}", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O3"]
        command += ["-gline-tables-only", "-fno-color-diagnostics", "-fno-caret-diagnostics", "-S"]
        command += [option for option in options if re.match(r"-[DU]|--(un)?define-macro", option)]
        command += ["-o", "kernel.s", FILE]
        places = {"ZIG_GLOBAL_CACHE_DIR": str(folder), "ZIG_LOCAL_CACHE_DIR": str(folder)}
        done = tools.call(command, folder, name="clang", extra=places)
        if done.returncode:
            raise _refusal(done.stderr, source, entry, architecture)
        gcn = (folder / "kernel.s").read_text(encoding="utf-8").replace(str(folder), ".")
    version = re.search(r'\.ident\s+"clang version (\S+)"', gcn)
    return {"gcn": gcn, "resources": resources(gcn), "version": version.group(1) if version else "?"}


def _refusal(log: str, source: str, entry: str | None, architecture: Target) -> CannotShow:
    if re.search(r"unsupported (HIP|CUDA) gpu architecture|invalid target ID|unknown target CPU", log):
        return CannotShow(f"the installed clang cannot compile for {architecture}", log)
    lines = source.splitlines()
    found = re.search(rf"^{re.escape(FILE)}:(\d+):\d+: (?:fatal )?error: (.*)$", log, re.M)
    if found is None:
        words = next((line.strip() for line in log.splitlines() if "error" in line), log.strip()[-200:])
        return CannotShow(f"clang: {words}", log)
    number, words = int(found.group(1)), found.group(2)
    if number > len(lines):
        return CannotShow(f"{entry!r} names no kernel of this source: {words}", log)
    if match := re.match(r"'(.+?)' file not found", words):
        words = f"header {match.group(1)} is missing: this library has the device side of HIP only, without ROCm's libraries"
    elif match := re.match(r"use of undeclared identifier '(\w+)'", words):
        name = match.group(1)
        called = re.search(rf"\b{name}\s*\(", lines[number - 1])
        words = f"{name} is undefined" + (
            " (this library has only the part of HIP that the course uses)" if called else ""
        )
    elif "h2d_mask" in words:
        words = "a mask of 32 bits: HIP takes masks of 64 bits, on every AMD GPU (~0ull names all lanes)"
    elif "invalid instruction" in words or "inline asm" in words or "asm" in lines[number - 1]:
        words = f"inline PTX is for NVIDIA's GPUs only: {words}"
    return CannotShow(at_line(number, words, lines[number - 1]), log, number)


# The names in a kernel's metadata (LLVM, "Code Object V5 Metadata"), by our names.
SAID = {
    "vgprs": "vgpr_count",
    "sgprs": "sgpr_count",
    "agprs": "agpr_count",
    "lds_bytes": "group_segment_fixed_size",
    "scratch_bytes": "private_segment_fixed_size",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "wavefront": "wavefront_size",
    "most_threads": "max_flat_workgroup_size",
}


def resources(gcn: str) -> dict[str, dict[str, int]]:
    """Return the resources of each kernel from the metadata: registers, bytes, lanes of a wavefront."""
    metadata = gcn.rpartition(".amdgpu_metadata")[2].partition(".end_amdgpu_metadata")[0]
    found = {}
    for kernel in re.split(r"^  - ", metadata, flags=re.M)[1:]:
        name = re.search(r"^\s+\.name:\s+(\S+)", kernel, re.M)
        if name is None:
            continue
        numbers = {}
        for key, said in SAID.items():
            match = re.search(rf"^\s*\.{said}:\s+(\d+)", kernel, re.M)
            numbers[key] = int(match.group(1)) if match else 0
        found[name.group(1).strip("'\"")] = numbers
    return found
