"""Errors of kernels in CUDA C++; each message is one line."""

from __future__ import annotations


class CompileError(Exception):
    """The source does not compile, or there is no compiler.

    Attributes
    ----------
    log
        The compiler's whole output, with the line numbers of the source.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log or message


class SourceError(CompileError):
    """The compiler refuses the source."""


class LaunchError(ValueError):
    """The launch exceeds a limit of the device: threads, blocks or shared memory."""


class ArgumentError(TypeError):
    """The arguments do not fit the kernel's parameters."""


class KernelFault(RuntimeError):
    """A kernel broke a rule, such as an access out of bounds.

    Attributes
    ----------
    kind
        Such as `"out of bounds"` or `"barrier divergence"`.
    line
        The line of the source, counted from 1; 0 where it is not known.
    block, thread
        Index of the block in the grid, and of the thread in the block.
    watched
        The findings of a watched launch before the fault (`races.Watched`), else None.
    """

    def __init__(
        self,
        message: str,
        kind: str = "fault",
        line: int = 0,
        block: tuple[int, int, int] = (0, 0, 0),
        thread: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        super().__init__(message)
        self.kind, self.line, self.block, self.thread = kind, line, block, thread
        self.watched = None


class KernelStopped(KernelFault):
    """A kernel ran for longer than its time limit."""
