"""Names of Numba's driver that programs ask for: `driver`, `get_context`, errors, a transpose."""

from __future__ import annotations

from typing import Any

from host_to_device.standins.numba_cuda.devices import CONTEXT, Device, current_context, missing

get_context = current_context


class KernelRuntimeError(RuntimeError):
    """A kernel has failed in one of its threads."""

    def __init__(self, msg: str, tid: Any = None, ctaid: Any = None) -> None:
        self.msg, self.tid, self.ctaid = msg, tid, ctaid
        super().__init__(f"An exception was raised in thread={tid} block={ctaid}\n\t{msg}")


def _error(name: str, base: type) -> type:
    return type(
        name, (base,), {"__doc__": "An error that only a GPU's compiler raises.", "__module__": __name__}
    )


# The errors of `numba.cuda.cudadrv.error` that the stand-in never raises: programs name them in `except`.
ERRORS = {
    name: _error(name, base)
    for name, base in (
        ("CudaRuntimeError", Exception),
        ("NvvmError", Exception),
        ("NvvmSupportError", ImportError),
        ("NvvmWarning", Warning),
        ("NvrtcError", Exception),
        ("NvrtcCompilationError", Exception),
        ("NvrtcBuiltinOperationFailure", Exception),
        ("NvrtcSupportError", ImportError),
        ("CCSupportError", RuntimeError),
    )
}


class Driver:
    """`numba.cuda.cudadrv.driver.driver`: there is one device, and no driver to call."""

    is_available = True
    initialization_error = None

    def get_device_count(self) -> int:
        return 1

    def get_device(self, devnum: int = 0) -> Device:
        """Return the only device.

        Raises
        ------
        IndexError
            If `devnum` is not 0.
        """
        return current_context(devnum).device

    def get_active_context(self) -> Any:
        return CONTEXT

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(missing(f"cudadrv.driver.driver.{name}"))


driver = Driver()


def reset() -> None:
    """Do nothing: arrays stay valid, unlike on a GPU."""


def _call(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> None:
        raise NotImplementedError(missing(f"cudadrv.driver.{name}"))

    refuse.__name__ = name
    return refuse


device_to_host, host_to_device, device_memset = map(
    _call, ("device_to_host", "host_to_device", "device_memset")
)


def transpose(a: Any, b: Any = None) -> Any:
    """Return the transpose of a matrix in device memory: `numba.cuda.kernels.transpose.transpose`.

    Parameters
    ----------
    a
        Matrix on the host or on the device.
    b
        Device array for the result; by default a new one.
    """
    from host_to_device.standins import events
    from host_to_device.standins.numba_cuda.layouts import store
    from host_to_device.standins.numba_cuda.memory import auto_device, is_device_memory

    given = a if is_device_memory(a) else auto_device(a, user_explicit=True)[0]
    if b is None:
        return given.transpose()
    store(b._array, given._array.T)
    events.operated("transpose")
    return b
