"""What is said where something cannot be shown: one line, without a traceback in notebooks."""

from __future__ import annotations

from host_to_device.support.installed import SetUpError


class CannotShow(ValueError):
    """What was asked for cannot be compiled or shown; the message says why, and what to do.

    Attributes
    ----------
    log
        All that the compiler said, where one was asked.
    line
        The learner's line at fault, None where there is none.
    """

    def __init__(self, message: str, log: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.log, self.line = log, line

    def _render_traceback_(self) -> list[str]:
        # IPython asks an exception for its own rendering: the traceback would bury the one useful line.
        return [f"host_to_device: {self}"]


class MissingTool(SetUpError):
    """A compiler or disassembler is not on this machine; the message is the command that installs it."""


def at_line(number: int, words: str, text: str) -> str:
    """Return what is wrong with a line of the source, and the line, in one line."""
    text = text.strip()
    shown = text if len(text) <= 80 else text[:79].rstrip() + "…"
    return f"line {number}: {words}" + (f"   in:  {shown}" if shown else "")
