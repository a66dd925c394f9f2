"""The stand-in's only device: its name, its limits, its memory, and the names that the stand-in leaves out.

The limits are those of NVIDIA's T4 (compute capability 7.5), the GPU that Google Colab lends: a launch that the
stand-in accepts would be accepted there as well. The device has no speeds (clocks, bandwidth), nor anything else by
which a program could mistake this machine for a GPU.
"""

from __future__ import annotations

import difflib
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from host_to_device.hardware import gpus
from host_to_device.hardware.launch_limits import MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_THREADS
from host_to_device.standins import events

NAME = "host_to_device stand-in (CPU)"

# Values from `hardware` have their sources there. The other values: NVIDIA, "CUDA C++ Programming Guide", appendix
# "Compute Capabilities", table "Technical Specifications per Compute Capability", column 7.5, unless another source
# is named.
COMPUTE_CAPABILITY = (7, 5)
_T4 = gpus.find("T4")
_SM = _T4.architecture
ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": COMPUTE_CAPABILITY[0],
    "COMPUTE_CAPABILITY_MINOR": COMPUTE_CAPABILITY[1],
    "MAX_THREADS_PER_BLOCK": MAX_THREADS,
    **{f"MAX_BLOCK_DIM_{axis}": most for axis, most in zip("XYZ", MAX_BLOCK, strict=True)},
    **{f"MAX_GRID_DIM_{axis}": most for axis, most in zip("XYZ", MAX_GRID, strict=True)},
    "WARP_SIZE": _SM.warp_size,
    "MAX_THREADS_PER_MULTI_PROCESSOR": _SM.threads_per_multiprocessor,
    "MAX_REGISTERS_PER_BLOCK": 65536,  # 32-bit registers
    "MAX_REGISTERS_PER_MULTIPROCESSOR": _SM.registers_per_multiprocessor,
    "MAX_SHARED_MEMORY_PER_BLOCK": MAX_SHARED,  # bytes
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": _SM.shared_per_block,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": _SM.shared_per_multiprocessor,
    "TOTAL_CONSTANT_MEMORY": 64 * 1024,
    "MULTIPROCESSOR_COUNT": _T4.multiprocessors,
    "INTEGRATED": 0,  # a card of its own
    "CAN_MAP_HOST_MEMORY": 1,  # Programming Guide, "Mapped Memory": cuda.mapped_array works
    "UNIFIED_ADDRESSING": 1,  # Programming Guide, "Unified Virtual Address Space": every 64-bit system
    "MANAGED_MEMORY": 1,  # Programming Guide, "Unified Memory": compute capability 3.0 and newer
    "KERNEL_EXEC_TIMEOUT": 0,  # no display is attached to it
}

# Names of numba.cuda's host side that the stand-in leaves out, and what to do instead.
LEFT_OUT = {
    "open_ipc_array": "memory cannot be shared between processes here",
    "IpcHandle": "memory cannot be shared between processes here",
    "set_memory_manager": "device memory is NumPy's here, and no other manager can be set",
    "BaseCUDAMemoryManager": "device memory is NumPy's here, and no other manager can be set",
    "HostOnlyCUDAMemoryManager": "device memory is NumPy's here, and no other manager can be set",
    "GetIpcHandleMixin": "device memory is NumPy's here, and no other manager can be set",
    "MemoryPointer": "device memory is NumPy's here: use cuda.device_array",
    "MappedMemory": "device memory is NumPy's here: use cuda.mapped_array",
    "PinnedMemory": "device memory is NumPy's here: use cuda.pinned_array",
    "profiling": "NVIDIA's profilers need a GPU",
    "profile_start": "NVIDIA's profilers need a GPU",
    "profile_stop": "NVIDIA's profilers need a GPU",
    "runtime": "there is no CUDA runtime here, so it has no version",
    "nvvm": "kernels are not compiled for a GPU here",
    "is_float16_supported": "float16 arithmetic in kernels is left out: compute in float32",
    "fp16": "float16 arithmetic in kernels is left out: compute in float32",
    "declare_device": "no PTX or CUDA C++ can be linked into a kernel here",
    "libdevice": "NVIDIA's own functions are left out: use those of math",
}

MemoryInfo = namedtuple("HostMemoryInfo", "free total")
MemoryInfo.__doc__ = "Bytes of this machine's own memory, which is the device's memory here: (free, total)."


class CudaSupportError(ImportError):
    """CUDA cannot be used in the requested way."""


class CudaDriverError(Exception):
    """An error of CUDA's driver."""


class CudaAPIError(CudaDriverError):
    """A call to CUDA's driver failed: `code` is CUDA's number, `msg` the text."""

    def __init__(self, code: int, msg: str) -> None:
        self.code, self.msg = code, msg
        super().__init__(code, msg)

    def __str__(self) -> str:
        return f"[{self.code}] {self.msg}"


def missing(name: str) -> str:
    """Return the message for a name of `numba.cuda` that the stand-in lacks.

    Parameters
    ----------
    name
        The name as it follows `cuda.`, for example `profile_start`.
    """
    reason = LEFT_OUT.get(name, "it needs a GPU, or the course does not use it")
    if name not in LEFT_OUT:
        known = [each for each in vars(sys.modules[__package__]) if not each.startswith("_")]
        meant = difflib.get_close_matches(name, known, 1, 0.7)
        reason += f"; did you mean cuda.{meant[0]}?" if meant else ""
    return f"cuda.{name} is not in host_to_device's stand-in for numba.cuda: {reason}"


class Device:
    """The stand-in's only device: number 0, with the limits of an NVIDIA T4 and a name that says what it is.

    Attributes such as `MAX_THREADS_PER_BLOCK` are integers; `ATTRIBUTES` names the source of each. Attributes that
    only a GPU has (clock rates, bus width, PCI numbers, UUID) raise an `AttributeError` that says so.
    """

    id = 0
    name = NAME
    compute_capability = COMPUTE_CAPABILITY

    def __getattr__(self, name: str) -> int:
        try:
            return ATTRIBUTES[name]
        except KeyError:
            raise AttributeError(
                f"{NAME} has no {name}: only a GPU has one, or the stand-in leaves it out"
            ) from None

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} '{self.name}'>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return hash(self.id)

    def get_primary_context(self) -> Context:
        """Return the device's only context."""
        return CONTEXT

    def reset(self) -> None:
        """Do nothing: arrays stay valid, unlike on a GPU."""


class Deallocations:
    """`current_context().deallocations`: memory that waits to be freed. Here none waits: Python frees it."""

    memory_capacity = 0
    is_disabled = False

    def __len__(self) -> int:
        return 0

    def clear(self) -> None:
        """Do nothing: nothing waits."""

    @contextmanager
    def disable(self) -> Iterator[None]:
        """Do nothing for the length of a `with` block."""
        yield


class Context:
    """The stand-in's only context. Pushing, popping and resetting it changes nothing."""

    device = Device()
    deallocations = Deallocations()

    def get_memory_info(self) -> MemoryInfo:
        """Return the bytes of this machine's memory that are (free, total).

        Raises
        ------
        NotImplementedError
            If the numbers are not available: the system is not Linux and `psutil` is not installed.
        """
        return memory_of_this_machine()

    def synchronize(self) -> None:
        """Return at once: the stand-in does all work during the call that requests it."""
        events.waited("synchronize")

    def push(self) -> None:
        """Do nothing."""

    def pop(self) -> None:
        """Do nothing."""

    def reset(self) -> None:
        """Do nothing: arrays stay valid, unlike on a GPU."""

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Do nothing for the length of a `with` block: Python frees memory as usual."""
        yield

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(missing(f"current_context().{name}"))

    def __repr__(self) -> str:
        return f"<stand-in CUDA context of device {self.device.id}>"


CONTEXT = Context()


def memory_of_this_machine() -> MemoryInfo:
    """Return the bytes of memory that are (free, total), free meaning without swapping."""
    table = Path("/proc/meminfo")
    if table.exists():
        lines = (line.split(":") for line in table.read_text().splitlines())
        kib = {name: int(rest.split()[0]) for name, rest in lines}
        if "MemAvailable" in kib:
            return MemoryInfo(kib["MemAvailable"] * 1024, kib["MemTotal"] * 1024)
    try:
        import psutil
    except ImportError:
        raise NotImplementedError(
            "Cannot read this machine's memory size. Install psutil: pip install psutil"
        ) from None
    memory = psutil.virtual_memory()
    return MemoryInfo(memory.available, memory.total)


class ManagedDevice:
    """An item of `cuda.gpus`: a device that a `with` block can select, `with cuda.gpus[0]: …`."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def __enter__(self) -> None:
        # Numba returns nothing either: `with cuda.gpus[0] as gpu` binds None to `gpu`.
        CONTEXT.push()

    def __exit__(self, *_: object) -> None:
        CONTEXT.pop()

    def __str__(self) -> str:
        return f"<Managed Device {self.id}>"


class DeviceList:
    """`cuda.gpus`: the list of devices, which has one item."""

    def __init__(self, device: Device) -> None:
        self.lst = [ManagedDevice(device)]

    def __getitem__(self, number: int) -> ManagedDevice:
        try:
            return self.lst[number]
        except IndexError:
            raise IndexError(
                f"list index out of range: {number}, but the stand-in has one device, 0"
            ) from None

    def __iter__(self) -> Iterator[ManagedDevice]:
        return iter(self.lst)

    def __len__(self) -> int:
        return len(self.lst)

    def __str__(self) -> str:
        return ", ".join(str(device) for device in self.lst)

    @property
    def current(self) -> ManagedDevice:
        """The device in use."""
        return self.lst[0]


gpus = DeviceList(CONTEXT.device)


def current_context(devnum: int | None = None) -> Context:
    """Return the only context.

    Parameters
    ----------
    devnum
        Number of the device, 0 or None.

    Raises
    ------
    IndexError
        If there is no such device.
    """
    return CONTEXT if devnum is None else gpus[devnum].get_primary_context()


def get_current_device() -> Device:
    """Return the only device."""
    return CONTEXT.device


def select_device(device_id: int) -> Device:
    """Return the device with this number.

    Raises
    ------
    IndexError
        If `device_id` is not 0, the only device.
    """
    return current_context(device_id).device


def list_devices() -> DeviceList:
    """Return the list of devices, `cuda.gpus`."""
    return gpus


def close() -> None:
    """Do nothing: there is no context to destroy, and arrays stay valid."""


def require_context(function: Callable) -> Callable:
    """Return the function as it is: the stand-in always has its context."""
    return function


def detect() -> bool:
    """Print a description of the stand-in's device.

    Returns
    -------
    bool
        True, because kernels can run.
    """
    device = CONTEXT.device
    rows = {
        "Compute Capability": "{}.{} (the limits of an NVIDIA T4)".format(*device.compute_capability),
        "Kernels run on": "this machine's CPU: results are real, times are not a GPU's",
    }
    print("Found 0 CUDA devices and 1 stand-in")
    print(f"id {device.id}    {device.name:>20} {'[SUPPORTED]':>40}")
    for name, value in rows.items():
        print(f"{name:>40}: {value}")
    print("Summary:")
    print("\t1/1 devices are supported")
    return True


def is_available() -> bool:
    """Return True: kernels can run, on the CPU."""
    return True


def is_supported_version() -> bool:
    """Return True: the stand-in needs no CUDA runtime."""
    return True


def cuda_error() -> None:
    """Return None: starting a driver has not failed, because there is no driver."""
