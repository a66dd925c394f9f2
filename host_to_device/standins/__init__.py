"""The stand-ins that run GPU code on the CPU, and the switch that makes imports find them."""

from host_to_device.standins.imports import redirect, restore

__all__ = ["redirect", "restore"]
