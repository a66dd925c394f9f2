"""Host to Device: run the kernels of the book on this machine, with or without a GPU.

>>> import host_to_device as h2d
>>> h2d.start()
"""

from host_to_device.exploring import explore_grid
from host_to_device.machine import SetUpError, size, start

__all__ = ["SetUpError", "explore_grid", "size", "start"]
__version__ = "0.1.0"
