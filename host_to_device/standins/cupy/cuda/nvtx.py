"""NVTX's ranges and marks: they do nothing here, because no profiler observes the stand-in."""

from __future__ import annotations

available = True


def Mark(message: str, id_color: int = -1) -> None:
    """Do nothing."""


def MarkC(message: str, color: int = 0) -> None:
    """Do nothing."""


def RangePush(message: str, id_color: int = -1) -> None:
    """Do nothing."""


def RangePushC(message: str, color: int = 0) -> None:
    """Do nothing."""


def RangePop() -> None:
    """Do nothing."""


def RangeStart(message: str, color: int = 0) -> int:
    """Return a number for `RangeEnd`."""
    return 0


def RangeEnd(range_id: int) -> None:
    """Do nothing."""
