"""The error of a kernel that does not compile, under the name by which CuPy has it."""

from __future__ import annotations

from host_to_device.standins.cupy.launching import CompileException

__all__ = ["CompileException"]
