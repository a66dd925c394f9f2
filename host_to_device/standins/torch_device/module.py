"""The module `torch.standin`: the functions of `torch.cuda`, for the stand-in's devices."""

from __future__ import annotations

import collections
import ctypes
import json
import sys
from types import ModuleType
from typing import Any

from host_to_device.standins.torch_device.native import NAME, Native

DEVICE_NAME = "host_to_device stand-in (CPU)"

# The order of the numbers from h2d_memory_stats: each kind, in each pool, with four numbers.
KINDS = (
    "allocation",
    "segment",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)
POOLS = ("all", "small_pool", "large_pool")
NUMBERS = ("current", "peak", "allocated", "freed")
ONCE = ("num_alloc_retries", "num_ooms", "num_device_alloc", "num_device_free")
SAME = {"active": "allocation", "active_bytes": "allocated_bytes"}  # no other stream uses memory

SUMMARY = {  # titles as in torch.cuda.memory_summary
    "Allocated memory": "allocated_bytes",
    "Active memory": "active_bytes",
    "Requested memory": "requested_bytes",
    "GPU reserved memory": "reserved_bytes",
    "Non-releasable memory": "inactive_split_bytes",
    "Allocations": "allocation",
    "Active allocs": "active",
    "GPU reserved segments": "segment",
    "Non-releasable allocs": "inactive_split",
}

native: Native
torch: ModuleType

Device = Any  # an int, a torch.device, its name, or None for the current one

DeviceProperties = collections.namedtuple("DeviceProperties", "name total_memory")


def index_of(device: Device = None) -> int:
    """Return a device's number.

    Raises
    ------
    torch.AcceleratorError
        If there is no such device; PyTorch's error for CUDA.
    ValueError
        If it is a device of another kind.
    """
    if device is None:
        return native.device()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != NAME:
            raise ValueError(f"Expected a {NAME} device, but got: {device}")
        device = native.device() if device.index is None else device.index
    if not 0 <= int(device) < native.devices():
        raise invalid_ordinal()
    return int(device)


def invalid_ordinal() -> RuntimeError:
    """Return PyTorch's error for a device that does not exist."""
    return getattr(torch, "AcceleratorError", RuntimeError)("STANDIN error: invalid device ordinal")


# ---------------------------------------------------------------- devices


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True: the device is started when it is loaded."""
    return True


def init() -> None:
    """Do nothing: the device is started when it is loaded."""


def device_count() -> int:
    """Return 2."""
    return native.devices()


def current_device() -> int:
    """Return the number of the device that this thread uses."""
    return native.device()


def set_device(device: Device) -> None:
    """Let this thread use a device; a negative number changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    native.set_device(index_of(device))


def get_device_name(device: Device = None) -> str:
    """Return the device's name."""
    return get_device_properties(device).name


def get_device_properties(device: Device = None) -> DeviceProperties:
    """Return name and memory, in bytes."""
    return DeviceProperties(DEVICE_NAME, mem_get_info(index_of(device))[1])


def synchronize(device: Device = None) -> None:
    """Wait for the device: counted as a wait, although the device has always finished."""
    index_of(device)
    native.wait(b"synchronize")


class device:
    """Use a device for the length of a `with` block: `with torch.standin.device(1): …`."""

    def __init__(self, device: Device) -> None:
        self.index = -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device)

    def __enter__(self) -> None:
        self.before = native.device()
        set_device(self.index)

    def __exit__(self, *_: object) -> None:
        native.set_device(self.before)


class device_of(device):
    """Use a tensor's device for the length of a `with` block, if it is one of these."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor.get_device() if tensor.device.type == NAME else -1)


# ---------------------------------------------------------------- streams and events: every operation runs at once


def current_stream(device: Device = None) -> Any:
    """Return the stream in use."""
    return torch.accelerator.current_stream(torch.device(NAME, index_of(device)))


def default_stream(device: Device = None) -> Any:
    """Return the default stream."""
    return torch.Stream(
        device=torch.device(NAME, index_of(device)), stream_id=0, device_index=index_of(device)
    )


def Stream(device: Device = None, priority: int = 0) -> Any:
    """Return a new stream. Its operations run at once, as on every stream here."""
    return torch.Stream(device=torch.device(NAME, index_of(device)), priority=priority)


def Event(enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Any:
    """Return a new event. Its times come from the host's clock."""
    return torch.Event(NAME, enable_timing=enable_timing, blocking=blocking)


def stream(stream: Any) -> Any:
    """Use a stream for the length of a `with` block."""
    return stream


# ---------------------------------------------------------------- memory


def memory_stats(device: Device = None) -> collections.OrderedDict[str, int]:
    """Return the allocator's statistics under CUDA's names, as `"allocated_bytes.all.peak"`."""
    numbers = (ctypes.c_int64 * 256)()
    count = native.memory_stats(index_of(device), numbers)
    names = [f"{kind}.{pool}.{number}" for kind in KINDS for pool in POOLS for number in NUMBERS]
    stats = dict(zip([*names, *ONCE], numbers[:count], strict=True))
    for name, other in SAME.items():
        stats.update({f"{name}.{p}.{n}": stats[f"{other}.{p}.{n}"] for p in POOLS for n in NUMBERS})
    return collections.OrderedDict(sorted(stats.items()))


def memory_allocated(device: Device = None) -> int:
    """Return the bytes that tensors hold, each rounded up to 512."""
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Device = None) -> int:
    """Return the most bytes that tensors held at once, since the start or since `reset_peak_memory_stats`."""
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: Device = None) -> int:
    """Return the bytes that PyTorch took from the device, cached memory included."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: Device = None) -> int:
    """Return the most bytes that PyTorch took from the device at once."""
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: Device = None) -> None:
    """Set the peaks to the present use."""
    native.reset_peaks(index_of(device))


def reset_max_memory_allocated(device: Device = None) -> None:
    """Set the peaks to the present use."""
    reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Set the sums to zero."""
    native.reset_accumulated(index_of(device))


def empty_cache() -> None:
    """Return cached memory that is not in use to the device, on all devices."""
    for index in range(native.devices()):
        native.empty_cache(index)


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Return the device's memory in bytes: (free, total)."""
    numbers = (ctypes.c_int64 * 2)()
    native.memory_info(index_of(device), numbers)
    return numbers[0], numbers[1]


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Limit this process to a fraction of the device's memory, from 0 to 1.

    Raises
    ------
    TypeError, ValueError
        If the fraction is not a float, or not from 0 to 1.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    native.set_fraction(index_of(device), fraction)


def get_per_process_memory_fraction(device: Device = None) -> float:
    """Return the fraction of the device's memory that this process may have, from 0 to 1."""
    return native.fraction(index_of(device))


def memory_snapshot() -> list[dict]:
    """Return the segments of all devices, each with its blocks, under the names of `torch.cuda.memory_snapshot`."""
    return [
        segment for index in range(native.devices()) for segment in json.loads(native.memory_snapshot(index))
    ]


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """Return the statistics as a small table."""
    index, stats = index_of(device), memory_stats(device)
    rows = [f"{DEVICE_NAME}, device {index}", f"{'':24}{'current':>16}{'peak':>16}{'':4}"]
    for words, kind in SUMMARY.items():
        unit, scale, digits = (" MiB", 2**20, 2) if kind.endswith("_bytes") else ("", 1, 0)
        if unit or not abbreviated:
            current, peak = (stats[f"{kind}.all.{number}"] / scale for number in ("current", "peak"))
            rows.append(f"{words:24}{current:16,.{digits}f}{peak:16,.{digits}f}{unit}")
    return "\n".join(rows)


# ---------------------------------------------------------------- random numbers


def manual_seed(seed: int) -> None:
    """Seed the current device's generator."""
    native.seed(native.device(), int(seed) % 2**64)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for index in range(native.devices()):
        native.seed(index, int(seed) % 2**64)


def initial_seed() -> int:
    """Return the seed of the current device's generator."""
    return native.initial_seed(native.device())


def get_rng_state(device: Device = None) -> Any:
    """Return the state of a device's generator: a tensor of bytes on the CPU."""
    index = index_of(device)
    state = torch.empty(native.random_state(index, None, 0), dtype=torch.uint8, device="cpu")
    native.random_state(index, state.data_ptr(), 0)
    return state


def set_rng_state(new_state: Any, device: Device = None) -> None:
    """Set the state of a device's generator.

    Raises
    ------
    TypeError, RuntimeError
        If it is not a state: bytes on the CPU, as many as `get_rng_state` returns.
    """
    index = index_of(device)
    if new_state.dtype != torch.uint8 or new_state.device.type != "cpu":
        raise TypeError("RNG state must be a torch.ByteTensor")
    if new_state.numel() != native.random_state(index, None, 0):
        raise RuntimeError("RNG state is wrong size")
    state = new_state.contiguous()
    native.random_state(index, state.data_ptr(), 1)


def get_rng_state_all() -> list:
    """Return the states of all devices' generators."""
    return [get_rng_state(index) for index in range(native.devices())]


def set_rng_state_all(new_states: list) -> None:
    """Set the states of all devices' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


# ---------------------------------------------------------------- functions that PyTorch expects in such a module


def _is_in_bad_fork() -> bool:
    return bool(native.in_bad_fork())


def _lazy_init() -> None:
    pass


def get_amp_supported_dtype() -> list:
    """Return the dtypes that `torch.autocast` may use."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return True."""
    return True


def register(with_torch: ModuleType, loaded: Native) -> None:
    """Name the device in PyTorch, and make this module `torch.standin`."""
    global native, torch
    native, torch = loaded, with_torch
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, sys.modules[__name__])
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
