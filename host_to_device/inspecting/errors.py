"""The errors of this room: one line each, without a traceback in notebooks."""

from __future__ import annotations

from host_to_device.support.installed import SetUpError
from host_to_device.support.messages import OneLine


class CannotShow(OneLine, ValueError):
    """The kernel cannot be compiled or shown; the message says why, and what to do.

    Attributes
    ----------
    log
        Everything that the compiler printed; empty where no compiler ran.
    line
        The number of the learner's line that has the error; None where the error is of no one line.
    """

    def __init__(self, message: str, log: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.log, self.line = log, line


class MissingTool(SetUpError):
    """A compiler or disassembler is not on this machine; the message is the command that installs it."""


def at_line(number: int, words: str, text: str) -> str:
    """Return an error message of one line: the number of the source's line, what is wrong with it, and its text."""
    text = text.strip()
    shown = text if len(text) <= 80 else text[:79].rstrip() + "…"
    return f"line {number}: {words}" + (f"   in:  {shown}" if shown else "")


class CannotRead(OneLine, ValueError):
    """What a process has loaded cannot be read; the message says why."""
