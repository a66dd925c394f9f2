"""CuPy's `cupy.fft`: NumPy's transforms on the device's memory, in single precision for single-precision input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import made_on_device, on_device
from host_to_device.standins.cupy.forwarding import made
from host_to_device.standins.cupy.names import public, raise_missing

_LINE, _PLANE, _SPACE = (
    f"a, {axes}, norm=None" for axes in ("n=None, axis=-1", "s=None, axes=(-2, -1)", "s=None, axes=None")
)
_TRANSFORMS = {
    "fft": (_LINE, "the discrete Fourier transform along an axis"),
    "ifft": (_LINE, "the inverse transform along an axis"),
    "fft2": (_PLANE, "the transform along two axes"),
    "ifft2": (_PLANE, "the inverse transform along two axes"),
    "fftn": (_SPACE, "the transform along several axes"),
    "ifftn": (_SPACE, "the inverse transform along several axes"),
    "rfft": (_LINE, "the transform of real numbers along an axis"),
    "irfft": (_LINE, "the real numbers whose transform this is"),
    "rfft2": (_PLANE, "the transform of real numbers along two axes"),
    "irfft2": (_PLANE, "the real numbers whose transform along two axes this is"),
    "rfftn": (_SPACE, "the transform of real numbers along several axes"),
    "irfftn": (_SPACE, "the real numbers whose transform along several axes this is"),
    "hfft": (_LINE, "the transform of a signal with Hermitian symmetry"),
    "ihfft": (_LINE, "the inverse of `hfft`"),
}
_SHIFTS = {
    "fftshift": ("x, axes=None", "the array with frequency zero in the middle"),
    "ifftshift": ("x, axes=None", "the inverse of `fftshift`"),
}
_FREQUENCIES = {
    "fftfreq": ("n, d=1.0", "the frequencies of a transform of `n` points with distance `d`"),
    "rfftfreq": ("n, d=1.0", "the frequencies of a transform of `n` real points with distance `d`"),
}


def _precise(function: Callable) -> Callable:
    """Let a transform keep the precision of its input, which NumPy before 2.0 does not."""

    def call(a: np.ndarray, *args: Any) -> np.ndarray:
        result = function(a.astype(np.float32) if a.dtype == np.float16 else a, *args)
        if a.dtype.char not in "efF":
            return result
        return result.astype(np.complex64 if result.dtype.kind == "c" else np.float32, copy=False)

    return call


for _rows, _wrapped, _place in (
    (_TRANSFORMS, _precise, on_device),
    (_SHIFTS, None, on_device),
    (_FREQUENCIES, None, made_on_device),
):
    for _name, _row in _rows.items():
        _function = getattr(np.fft, _name)
        globals()[_name] = _place(
            made(_name, *_row, _wrapped(_function) if _wrapped else _function, module=__name__)
        )


def __getattr__(name: str) -> Any:
    raise_missing("fft", name)


def __dir__() -> list[str]:
    return public(globals())
