"""What answers where there is no GPU, and the imports that lead to it."""

from host_to_device.standins.imports import redirect, restore

__all__ = ["redirect", "restore"]
