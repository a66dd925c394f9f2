"""Whether a kernel's fault has cost this process the GPU, and the sentence that says so."""

from __future__ import annotations

import re
from collections.abc import Callable

from host_to_device.starting import machine

# Errors after which "any further CUDA work will return the same error. To continue using CUDA, the process must be
# terminated and relaunched" (NVIDIA, "CUDA Driver API", CUresult): the driver's name without CUDA_ERROR_, the
# runtime's without cudaError, and the text, which is all that PyTorch gives.
FATAL = {
    "ILLEGAL_ADDRESS": ("IllegalAddress", "an illegal memory access was encountered"),
    "LAUNCH_TIMEOUT": ("LaunchTimeout", "the launch timed out and was terminated"),
    "ASSERT": ("Assert", "device-side assert triggered"),
    "HARDWARE_STACK_ERROR": ("HardwareStackError", "hardware stack error"),
    "ILLEGAL_INSTRUCTION": ("IllegalInstruction", "an illegal instruction was encountered"),
    "MISALIGNED_ADDRESS": ("MisalignedAddress", "misaligned address"),
    "INVALID_ADDRESS_SPACE": (
        "InvalidAddressSpace",
        "operation not supported on global/shared address space",
    ),
    "INVALID_PC": ("InvalidPc", "invalid program counter"),
    "LAUNCH_FAILED": ("LaunchFailure", "unspecified launch failure"),
}

# The error that has ended the GPU's context in this process, such as "ILLEGAL_ADDRESS"; empty while it is in order.
lost = ""
_told = False


def fatal_error(said: object) -> str:
    """Return which error in the words of Numba, CuPy or PyTorch ends the context, such as "ILLEGAL_ADDRESS".

    The result is empty for any other error, and on the stand-in, where no error ends anything.
    """
    if machine.chosen == "stand-in":
        return ""
    text = str(said)
    for name, (of_runtime, words) in FATAL.items():
        if re.search(rf"\b(CUDA_ERROR_{name}|cudaError{of_runtime})\b|CUDA error: {re.escape(words)}", text):
            return name
    return ""


def is_lost(wait: Callable[[], object]) -> bool:
    """Return whether a kernel's fault has ended the GPU's context in this process.

    Parameters
    ----------
    wait
        Waits for the GPU, and raises what its library raises.
    """
    global lost
    if not lost:
        try:
            wait()
        except Exception as problem:
            lost = fatal_error(problem)
    return bool(lost)


def sentence() -> str:
    """Return what has happened, and what to do."""
    return (
        f"A kernel failed on the GPU (CUDA_ERROR_{lost}), and the GPU does no further work for this process. Restart the "
        "notebook's kernel and run the cells again."
    )


def tell_once() -> None:
    """Print the sentence, unless it has been printed."""
    global _told
    if not _told:
        _told = True
        print(sentence())
