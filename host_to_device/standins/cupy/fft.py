"""CuPy's `cupy.fft`: NumPy's transforms on the device's memory, in _single precision for single-precision input."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import made_on_device, on_device
from host_to_device.standins.cupy.names import public, raise_missing


def _precise(result: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the result in the precision of the input, which NumPy before 2.0 does not keep."""
    if a.dtype.char not in "efF":
        return result
    return result.astype(np.complex64 if result.dtype.kind == "c" else np.float32, copy=False)


def _single(a: np.ndarray) -> np.ndarray:
    """Return half-precision input as _single precision."""
    return a.astype(np.float32) if a.dtype == np.float16 else a


@on_device
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the discrete Fourier transform along an axis."""
    return _precise(np.fft.fft(_single(a), n, axis, norm), a)


@on_device
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse transform along an axis."""
    return _precise(np.fft.ifft(_single(a), n, axis, norm), a)


@on_device
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """Return the transform along two axes."""
    return _precise(np.fft.fft2(_single(a), s, axes, norm), a)


@on_device
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """Return the inverse transform along two axes."""
    return _precise(np.fft.ifft2(_single(a), s, axes, norm), a)


@on_device
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Return the transform along several axes."""
    return _precise(np.fft.fftn(_single(a), s, axes, norm), a)


@on_device
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Return the inverse transform along several axes."""
    return _precise(np.fft.ifftn(_single(a), s, axes, norm), a)


@on_device
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the transform of real numbers along an axis."""
    return _precise(np.fft.rfft(_single(a), n, axis, norm), a)


@on_device
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the real numbers whose transform this is."""
    return _precise(np.fft.irfft(_single(a), n, axis, norm), a)


@on_device
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """Return the transform of real numbers along two axes."""
    return _precise(np.fft.rfft2(_single(a), s, axes, norm), a)


@on_device
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """Return the real numbers whose transform along two axes this is."""
    return _precise(np.fft.irfft2(_single(a), s, axes, norm), a)


@on_device
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Return the transform of real numbers along several axes."""
    return _precise(np.fft.rfftn(_single(a), s, axes, norm), a)


@on_device
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Return the real numbers whose transform along several axes this is."""
    return _precise(np.fft.irfftn(_single(a), s, axes, norm), a)


@on_device
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the transform of a signal with Hermitian symmetry."""
    return _precise(np.fft.hfft(_single(a), n, axis, norm), a)


@on_device
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of `hfft`."""
    return _precise(np.fft.ihfft(_single(a), n, axis, norm), a)


@made_on_device
def fftfreq(n: int, d: float = 1.0) -> Any:
    """Return the frequencies of a transform of `n` points with distance `d`."""
    return np.fft.fftfreq(n, d)


@made_on_device
def rfftfreq(n: int, d: float = 1.0) -> Any:
    """Return the frequencies of a transform of `n` real points with distance `d`."""
    return np.fft.rfftfreq(n, d)


@on_device
def fftshift(x: Any, axes: Any = None) -> Any:
    """Return the array with frequency zero in the middle."""
    return np.fft.fftshift(x, axes)


@on_device
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Return the inverse of `fftshift`."""
    return np.fft.ifftshift(x, axes)


def __getattr__(name: str) -> Any:
    raise_missing("fft", name)


def __dir__() -> list[str]:
    return public(globals())
