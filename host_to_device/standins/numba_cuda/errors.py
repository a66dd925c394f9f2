"""Errors of the stand-in for Numba, in Numba's own classes where Numba is installed; each message is one line."""

from __future__ import annotations

# numba-cuda 0.30.4 writes code for it that NVVM calls invalid.
DIVIDED_IN_PLACE = "/= of two integers does not compile with Numba for CUDA: write a = a / b"


class KernelStopped(RuntimeError):
    """A launch was stopped by its time limit or by an interrupt."""


class Disagreement(RuntimeError):
    """Only some threads of a block reach a barrier, and the others do not."""


def refusal(text: str, plain: type[Exception] = TypeError) -> Exception:
    """Return the error for a kernel that Numba's compiler would refuse as well; `plain` is its class without Numba."""
    try:
        from numba.core.errors import TypingError
    except ImportError:
        return plain(text)
    return TypingError(text)


def undefined(function: str, place: str, name: str) -> Exception:
    """Return the error for a name that a kernel uses and that is nowhere defined."""
    return refusal(f"{function}(), {place}: NameError: name {name!r} is not defined", NameError)
