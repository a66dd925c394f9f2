"""CuPy's `cupy._core`, as far as programs use it: the choice of accelerators, which changes nothing here."""

from __future__ import annotations

from typing import Any

from host_to_device.standins.cupy.base import Base

_NUMBERS = {"cub": 1, "cutensor": 2, "cutensornet": 3}
_chosen: dict[str, list[int]] = {"elementwise": [1], "reduction": [1], "routine": [1]}
# What of the package is also in here.
_SHARED = "ElementwiseKernel RawKernel RawModule ReductionKernel ndarray ufunc"


def _choose(kind: str, accelerators: Any) -> None:
    for each in accelerators:
        if not isinstance(each, int) and each not in _NUMBERS:
            raise ValueError(f"Unknown accelerator: {each}")
    _chosen[kind] = [each if isinstance(each, int) else _NUMBERS[each] for each in accelerators]


def set_elementwise_accelerators(accelerators: Any) -> None:
    """Choose accelerators by name or number; here they change nothing."""
    _choose("elementwise", accelerators)


def set_reduction_accelerators(accelerators: Any) -> None:
    """Choose accelerators by name or number; here they change nothing."""
    _choose("reduction", accelerators)


def set_routine_accelerators(accelerators: Any) -> None:
    """Choose accelerators by name or number; here they change nothing."""
    _choose("routine", accelerators)


def get_elementwise_accelerators() -> list[int]:
    """Return the chosen accelerators, as numbers."""
    return _chosen["elementwise"]


def get_reduction_accelerators() -> list[int]:
    """Return the chosen accelerators, as numbers."""
    return _chosen["reduction"]


def get_routine_accelerators() -> list[int]:
    """Return the chosen accelerators, as numbers."""
    return _chosen["routine"]


def __getattr__(name: str) -> Any:
    if name in _SHARED.split():
        return getattr(Base._package, name)
    raise AttributeError(f"module 'cupy._core' has no attribute '{name}'")
