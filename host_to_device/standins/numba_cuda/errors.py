"""Errors of the stand-in: Numba's own classes where Numba is there, with one line that says what to do."""

from __future__ import annotations


class KernelStopped(RuntimeError):
    """A launch was stopped: its time was up, or it was interrupted."""


class Disagreement(RuntimeError):
    """The threads of a block do not agree on whether they wait for each other."""


def refusal(text: str) -> Exception:
    """Return the error for a kernel that Numba's compiler would refuse too."""
    try:
        from numba.core.errors import TypingError
    except ImportError:
        return TypeError(text)
    return TypingError(text)
