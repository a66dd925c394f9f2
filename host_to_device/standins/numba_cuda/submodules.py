"""The modules below `numba.cuda` that programs import, such as `numba.cuda.cudadrv.devicearray`, and what each holds.

`imports` finds them under Numba's names. A name that a module lacks is refused in one line.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from host_to_device.standins.numba_cuda.devices import missing

# Module → the stand-in's modules whose names it has; of a pair, only these names.
CONTENTS: dict[str, tuple[Any, ...]] = {
    "api": ("memory", "allocation", "streams", "devices"),
    "args": ("hints",),
    "cudadrv": (),
    "cudadrv.devicearray": ("memory", "allocation"),
    "cudadrv.devices": ("devices", ("drivers", ("get_context", "reset"))),
    "cudadrv.driver": (
        (
            "devices",
            ("CudaAPIError", "CudaDriverError", "CudaSupportError", "Device", "Context", "MemoryInfo"),
        ),
        ("streams", ("Stream", "Event")),
        ("drivers", ("driver", "device_to_host", "host_to_device", "device_memset")),
    ),
    "cudadrv.error": (("devices", ("CudaDriverError", "CudaSupportError")), ("drivers", ("ERRORS",))),
    "decorators": (("dispatching", ("jit",)),),
    "dispatcher": (("dispatching", ("CUDADispatcher",)),),
    "errors": (("drivers", ("KernelRuntimeError",)),),
    "intrinsics": ("names",),
    "kernels": (),
    "kernels.reduction": (("reducing", ("Reduce",)),),
    "kernels.transpose": (("drivers", ("transpose",)),),
    "np": (),
    "np.ufunc": (("vectorizing", ("vectorize", "guvectorize")),),
    "np.ufunc.decorators": (("vectorizing", ("vectorize", "guvectorize")),),
    "stubs": ("names",),
    "vector_types": (("vectors", ("vector_types",)),),
    "vectorizers": ("vectorizing",),
}
# Modules that numba-cuda has copied from Numba: here they are Numba's own.
OF_NUMBA = {
    "core": "numba.core",
    "core.config": "numba.core.config",
    "core.errors": "numba.core.errors",
    "core.types": "numba.core.types",
    "extending": "numba.extending",
    "np.numpy_support": "numba.np.numpy_support",
    "types": "numba.core.types",
    "typing": "numba.core.typing",
}
PACKAGE = __name__.rpartition(".")[0]
NUMBA = "numba.cuda."


def is_known(path: str) -> bool:
    """Return whether the stand-in has a module; `path` is what follows `numba.cuda.`."""
    return path in CONTENTS or path in OF_NUMBA


def module(path: str) -> ModuleType:
    """Return the module that stands for `numba.cuda.<path>`.

    Raises
    ------
    ImportError
        If it is Numba's own, and Numba is not installed.
    """
    if path in OF_NUMBA:
        return importlib.import_module(OF_NUMBA[path])
    made = ModuleType(NUMBA + path, f"The stand-in's numba.cuda.{path}.")
    if any(each.startswith(f"{path}.") for each in (*CONTENTS, *OF_NUMBA)):
        made.__path__ = []
    for part in CONTENTS[path]:
        name, wanted = part if isinstance(part, tuple) else (part, ())
        source = vars(importlib.import_module(f"{PACKAGE}.{name}"))
        for each in wanted or [each for each in source if not each.startswith("_")]:
            vars(made)[each] = source[each]
    vars(made).update(vars(made).pop("ERRORS", {}))
    vars(made)["__getattr__"] = _refusing(path)
    return made


def _refusing(path: str) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if is_known(f"{path}.{name}"):
            return importlib.import_module(f"{NUMBA}{path}.{name}")
        raise AttributeError(missing(f"{path}.{name}"))

    return __getattr__
