"""`cupy.cuda.Device`: the stand-in's only device. Its limits are those of NVIDIA's T4, as in `numba_cuda.devices`."""

from __future__ import annotations

from typing import Any

from host_to_device.standins import events
from host_to_device.standins.cupy.cuda import runtime
from host_to_device.standins.cupy.names import NotInStandIn, missing


class Device:
    """The stand-in's only device, number 0.

    Parameters
    ----------
    device
        Number of a device, or a device; None for the current one.

    Raises
    ------
    CUDARuntimeError
        cudaErrorInvalidDevice, when a device with another number is used.
    """

    __slots__ = ("id",)

    def __init__(self, device: int | Device | None = None) -> None:
        self.id = 0 if device is None else int(device)

    def __int__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __lt__(self, other: Any) -> bool:
        return self.id < other.id if isinstance(other, Device) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.id <= other.id if isinstance(other, Device) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.id > other.id if isinstance(other, Device) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.id >= other.id if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __enter__(self) -> Device:
        self.use()
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def use(self) -> Device:
        """Make this the current device, and return it."""
        runtime.setDevice(self.id)
        return self

    def synchronize(self) -> None:
        """Return at once: each operation has finished when its call returns."""
        runtime.setDevice(self.id)
        events.waited("synchronize")

    @property
    def compute_capability(self) -> str:
        """Its compute capability without the point: '75'."""
        return "".join(str(runtime.deviceGetAttribute(number, self.id)) for number in (75, 76))

    @property
    def attributes(self) -> dict[str, int]:
        """Its limits by CUDA's names without `cudaDevAttr`, for example `MaxThreadsPerBlock`.

        Those that only a GPU has (clock rates, bus width) are left out.
        """
        prefix = "cudaDevAttr"
        return {
            name.removeprefix(prefix): runtime.deviceGetAttribute(number, self.id)
            for name, number in vars(runtime).items()
            if name.startswith(prefix) and runtime._is_known(number)
        }

    @property
    def mem_info(self) -> tuple[int, int]:
        """Bytes of this machine's memory, which stands for the device's: (free, total)."""
        return runtime.memGetInfo()

    def __getattr__(self, name: str) -> Any:
        if name in ("pci_bus_id", "from_pci_bus_id") or name.endswith("_handle"):
            raise NotInStandIn(missing(f"cuda.Device.{name}"))
        raise AttributeError(f"'Device' object has no attribute '{name}'")


def get_device_id() -> int:
    """Return the number of the current device: 0."""
    return 0


def from_pointer(ptr: int) -> Device:
    """Return the device that holds the memory at an address: the only one."""
    return Device(0)


def get_compute_capability() -> str:
    """Return the current device's compute capability without the point."""
    return Device().compute_capability
