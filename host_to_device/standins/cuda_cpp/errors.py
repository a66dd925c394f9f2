"""What can go wrong with a kernel in CUDA C++: each says it in one line."""

from __future__ import annotations


class CompileError(Exception):
    """The source does not compile, or there is nothing to compile it with.

    Attributes
    ----------
    log
        All that the compiler said, with the line numbers of the source.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log or message


class LaunchError(ValueError):
    """The launch asks for more than a device has: threads, blocks or shared memory."""


class ArgumentError(TypeError):
    """The arguments are not those that the kernel takes."""


class KernelFault(RuntimeError):
    """A kernel did what it must not do.

    Attributes
    ----------
    kind
        Such as `"out of bounds"` or `"barrier divergence"`.
    line
        Where, as a line of the source, counted from 1; 0 where it is not known.
    block, thread
        Who: an index in the grid, and in the block.
    watched
        What a watched launch had seen before (`races.Watched`), else None.
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
    """A kernel ran for longer than it was allowed to."""
