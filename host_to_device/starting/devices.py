"""`h2d.device()`: the device that PyTorch's tensors go to on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from host_to_device.support.installed import SetUpError, is_installed

if TYPE_CHECKING:
    import torch


def device(index: int = 0, *, mps: bool = False) -> torch.device:
    """Return PyTorch's device for this machine: CUDA where there is a GPU, else the stand-in.

    The stand-in device is built on first use, with a C++ compiler, in some seconds; later uses find it built.

    Parameters
    ----------
    index
        Number of the device, from 0. The stand-in has two.
    mps
        Take Apple's GPU where there is one. It is not CUDA, so it is taken only where it is asked for.

    Returns
    -------
    torch.device
        `cuda:index` where PyTorch finds a GPU and `H2D_MACHINE` is not `stand-in`; `mps:0` where that was asked for
        and is there; else `standin:index`.

    Raises
    ------
    TypeError
        If `index` is not a whole number, such as PyTorch's word "cuda".
    RuntimeError
        If there is no device of that number, as PyTorch says it: "invalid device ordinal".
    SetUpError
        If there is no PyTorch, or no C++ compiler to build the stand-in with, or if `H2D_MACHINE=gpu` and PyTorch
        finds no GPU.

    Examples
    --------
    >>> import torch
    >>> device = h2d.device()
    >>> x = torch.arange(4.0, device=device)
    >>> print(x.device.type, x.sum().item())
    standin 6.0
    """
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise TypeError(
            f"h2d.device() takes the number of a device, from 0, and got {index!r}: write h2d.device(), which takes the GPU "
            "where PyTorch finds one"
        )
    choice = os.environ.get("H2D_MACHINE", "")
    if not is_installed("torch"):
        raise SetUpError("h2d.device() needs PyTorch: pip install torch")
    import torch

    if choice != "stand-in":
        if torch.cuda.is_available():
            return _chosen("cuda", index, torch.cuda.device_count())
        if mps and torch.backends.mps.is_available():
            return _chosen("mps", index, 1)
        if choice == "gpu":
            raise SetUpError(
                "H2D_MACHINE is 'gpu', but PyTorch finds no GPU: install PyTorch for CUDA, or leave H2D_MACHINE out"
            )
    from host_to_device.standins import torch_device

    return _chosen(torch_device.NAME, index, torch_device.load().devices())


def _chosen(type_: str, index: int, count: int) -> torch.device:
    import torch

    if not 0 <= index < count:
        error = getattr(torch, "AcceleratorError", RuntimeError)
        raise error(f"{type_.upper()} error: invalid device ordinal")
    return torch.device(type_, index)
