"""`start` and `stop` of NVIDIA's profilers: they do nothing, because no profiler can observe the stand-in."""

from __future__ import annotations


def start() -> None:
    """Do nothing."""


def stop() -> None:
    """Do nothing."""
