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


class TooLarge(CompileError):
    """An array in static shared memory is larger than the memory that a block gets; `line` is that of the array."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class LaunchError(ValueError):
    """The launch exceeds a limit of the device: threads, blocks or shared memory."""


class TogetherError(LaunchError):
    """A cooperative launch has more blocks than the device runs at the same time."""


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
    got_on
        Whether the launch, which was stopped, was still making progress: a check asks for it.
    space, array, index, column
        Of an access out of bounds: the memory, the array and the element as far as they are known, and the column of an
        index that is beyond the length which the array's type has.
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
        self.got_on = False
        self.space, self.array, self.index, self.column = "", "", None, 0


class KernelStopped(KernelFault):
    """A kernel ran for longer than its time limit."""
