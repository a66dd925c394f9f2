"""The names that a student's notebook defines: read as attributes, and compared with what an exercise needs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from host_to_device.exercises import values
from host_to_device.exercises.definition import Need, Wrong
from host_to_device.standins.kernels import is_raw


class Student:
    """The names of a notebook as attributes."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        try:
            return self._namespace[name]
        except KeyError:
            raise Wrong(*_undefined(name)) from None


def _undefined(name: str) -> tuple[str, str]:
    return f"{name} is not defined", "Run the cell that defines it, and check the spelling of the name."


def _is_kernel(value: Any) -> bool:
    if is_raw(value):
        return True
    return _is_dispatcher(value) and not _is_device_function(value)


def _is_dispatcher(value: Any) -> bool:
    module = type(value).__module__
    return module.startswith(
        ("numba.cuda", "numba_cuda_mlir", "host_to_device.standins.numba_cuda")
    ) and hasattr(value, "py_func")


def _is_device_function(value: Any) -> bool:
    return bool(
        getattr(value, "device", False) or (getattr(value, "targetoptions", None) or {}).get("device", False)
    )


def check_need(need: Need, namespace: Mapping[str, Any]) -> None:
    """Raise `Wrong` if a needed name is not defined, is of another kind, or takes other parameters."""
    if need.name not in namespace:
        raise Wrong(*_undefined(need.name))
    value, name = namespace[need.name], need.name
    what = values.said(value)
    otherwise = f"{name} is {what}, but the task needs a {need.kind}"
    if need.kind == "array" and not isinstance(value, np.ndarray):
        device = any(word in what for word in ("device array", "CuPy", "PyTorch"))
        raise Wrong(
            f"{name} is {what}, but the task needs a NumPy array",
            "Copy it back to the host." if device else "",
        )
    if need.kind == "number":
        wide = isinstance(value, np.ndarray) and value.ndim == 0
        if isinstance(value, bool) or not (isinstance(value, int | float | complex | np.number) or wide):
            raise Wrong(otherwise)
    if need.kind == "class" and not isinstance(value, type):
        raise Wrong(otherwise)
    if need.kind in ("kernel", "device function", "function"):
        _check_callable(need, value, otherwise)


def _check_callable(need: Need, value: Any, otherwise: str) -> None:
    name = need.name
    if value is None:
        raise Wrong(
            f"{name} is None",
            f"A launch and a function without return give None. Did your code assign one of them to {name}?",
        )
    if need.kind == "kernel" and not _is_kernel(value):
        if inspect.isfunction(value):
            raise Wrong(f"{name} is a host function, but the task needs a kernel", "Put @cuda.jit above def.")
        if _is_dispatcher(value):
            raise Wrong(f"{name} is a device function, but the task needs a kernel", "Leave out device=True.")
        raise Wrong(otherwise)
    if need.kind == "device function" and not (_is_dispatcher(value) and _is_device_function(value)):
        hint = "Write @cuda.jit(device=True) above def." if callable(value) else ""
        raise Wrong(otherwise, hint)
    if need.kind == "function" and (isinstance(value, type) or not callable(value) or _is_kernel(value)):
        raise Wrong(otherwise)
    if need.parameters is None or is_raw(value):
        return
    try:
        signature = inspect.signature(getattr(value, "py_func", value))
    except (TypeError, ValueError):
        return  # an object without a signature: calling it will show whether the arguments fit
    try:
        signature.bind(*need.parameters)
    except TypeError:
        taken = list(signature.parameters)
        plural = "" if len(taken) == 1 else "s"
        raise Wrong(
            f"{name} takes {len(taken)} parameter{plural}{f' ({_list(taken)})' if taken else ''}, "
            f"but the check calls it with {len(need.parameters)}: {_list(need.parameters)}",
            f"Write def {name}({', '.join(need.parameters)}).",
        ) from None


def _list(names: Sequence[str], most: int = 8) -> str:
    return ", ".join([*names[:most], "…"] if len(names) > most else names)
