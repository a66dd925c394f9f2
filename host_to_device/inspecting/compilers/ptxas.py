"""ptxas and nvdisasm: ptxas compiles PTX to machine code and reports its resources, nvdisasm lists it as SASS."""

from __future__ import annotations

import re
from typing import Any

from host_to_device.hardware.targets import Target
from host_to_device.inspecting import tools
from host_to_device.inspecting.errors import CannotShow


def assemble(ptx: str, architecture: Target, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Compile PTX to machine code with ptxas.

    Returns
    -------
    dict
        'cubin' (bytes), 'resources' (by the kernel's name) and 'version' of ptxas.

    Raises
    ------
    MissingTool
        ptxas is not installed.
    CannotShow
        ptxas refuses the PTX.
    """
    ptxas = tools.program("ptxas")
    with tools.private_folder() as folder:
        (folder / "kernel.ptx").write_text(ptx, encoding="utf-8")
        # With -lineinfo, SASS and errors in inline PTX can be traced to lines of the learner's source.
        command = [
            ptxas.path,
            "-v",
            f"-arch={architecture}",
            "-lineinfo",
            *options,
            "kernel.ptx",
            "-o",
            "kernel.cubin",
        ]
        done = tools.call(command, folder, name="ptxas")
        if done.returncode:
            raise CannotShow(_refusal(done.stderr + done.stdout, architecture, ptx), done.stderr)
        cubin = (folder / "kernel.cubin").read_bytes()
    return {
        "cubin": cubin,
        "resources": resources(done.stderr + done.stdout),
        "version": tools.version(ptxas),
    }


def _refusal(log: str, architecture: Target, ptx: str) -> str:
    if match := re.search(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'", log):
        return (
            f"ptxas is older than the compiler before it: it reads PTX up to {match.group(2)}, and was given "
            f"{match.group(1)}. Install both of one release:  {tools.install_command()}"
        )
    if re.search(r"not defined for option 'gpu-name'|Value 'sm_\w+' is not defined", log):
        return f"the installed ptxas cannot make code for {architecture}"
    error = next((line for line in log.splitlines() if re.search(r"\berror\b|\bfatal\b", line)), log.strip())
    words = re.sub(r"^ptxas\s+(?:\S+, line \d+; )?\s*(?:error|fatal)\s*:\s*", "", error.strip())
    if "uses too much shared data" in words:
        return f"ptxas: {words}: more shared memory than a block on {architecture} may have without opting in"
    line = re.search(r"kernel\.ptx, line (\d+)", error)
    learners = _learners_line(ptx, int(line.group(1))) if line else None
    return f"ptxas: {words}" + (f" (from line {learners} of the source)" if learners else "")


def _learners_line(ptx: str, number: int) -> int | None:
    """Return the line of the source that a line of the PTX was compiled from."""
    for text in reversed(ptx.splitlines()[:number]):
        if match := re.match(r"\s*\.loc\s+\d+\s+(\d+)", text):
            return int(match.group(1))
    return None


# The words of `ptxas -v` for each resource, by our names.
SAID = {
    "registers": r"Used (\d+) registers",
    "barriers": r"used (\d+) barriers",
    "shared_bytes": r"(\d+) bytes smem",
    "stack_bytes": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "local_bytes": r"(\d+) bytes lmem",
}


def resources(log: str) -> dict[str, dict[str, int]]:
    """Return the resources of each kernel from the output of `ptxas -v`: bytes, and registers per thread."""
    found: dict[str, dict[str, int]] = {}
    parts = re.split(r"Compiling entry function '(\S+)' for '\S+'", log)
    for name, said in zip(parts[1::2], parts[2::2], strict=True):
        numbers = {}
        for key, pattern in SAID.items():
            match = re.search(pattern, said)
            numbers[key] = int(match.group(1)) if match else 0
        numbers["constant_bytes"] = sum(int(size) for size in re.findall(r"(\d+) bytes cmem\[\d+\]", said))
        numbers["local_bytes"] = max(numbers["local_bytes"], numbers["stack_bytes"])
        found[name] = numbers
    return found


def disassemble(cubin: bytes) -> dict[str, Any]:
    """List machine code as SASS with nvdisasm, with the source's lines where they are known.

    Returns
    -------
    dict
        'sass' and 'version' of nvdisasm.

    Raises
    ------
    MissingTool
        nvdisasm is not installed.
    CannotShow
        nvdisasm cannot read the machine code.
    """
    nvdisasm = tools.program("nvdisasm")
    with tools.private_folder() as folder:
        (folder / "kernel.cubin").write_bytes(cubin)
        # -ndf skips the data-flow analysis, which takes a third of the time and adds nothing for GPUs since Volta.
        done = tools.call([nvdisasm.path, "-c", "-gi", "-ndf", "kernel.cubin"], folder, name="nvdisasm")
    if done.returncode or not done.stdout.strip():
        words = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
        raise CannotShow(f"nvdisasm: {words}", done.stderr)
    return {"sass": done.stdout, "version": tools.version(nvdisasm)}
