"""Your GPU, in the page: kernels of the lessons as WebGPU shaders, and panels that run them in the reader's browser.

`translating` turns a Numba kernel into WGSL, with the help of `scopes`, `intervals` and `wgsl`; `kernels` takes the kernels
from the lessons' notebooks, and `panels` puts panels into pages.
"""

from book.webgpu.panels import setup

__all__ = ["setup"]
