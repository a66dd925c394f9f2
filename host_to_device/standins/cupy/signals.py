"""Convolution, polynomials and windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import made_on_device, on_device


@on_device
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Return the cross-correlation of two vectors."""
    return np.correlate(a, v, mode)


@on_device
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Return the convolution of two vectors."""
    return np.convolve(a, v, mode)


@on_device
def polyval(p: Any, x: Any) -> Any:
    """Return a polynomial's values, the highest power first."""
    return np.polyval(p, x)


@on_device
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: bool = False
) -> Any:
    """Return the polynomial that fits points best."""
    return np.polyfit(x, y, deg, rcond, full, w, cov)


@on_device
def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials."""
    return np.polyadd(a1, a2)


@on_device
def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials."""
    return np.polysub(a1, a2)


@on_device
def polymul(a1: Any, a2: Any) -> Any:
    """Return the product of two polynomials."""
    return np.polymul(a1, a2)


@on_device
def roots(p: Any) -> Any:
    """Return a polynomial's roots."""
    return np.roots(p)


@made_on_device
def bartlett(M: int) -> Any:
    """Return the Bartlett window of `M` points."""
    return np.bartlett(M)


@made_on_device
def blackman(M: int) -> Any:
    """Return the Blackman window of `M` points."""
    return np.blackman(M)


@made_on_device
def hamming(M: int) -> Any:
    """Return the Hamming window of `M` points."""
    return np.hamming(M)


@made_on_device
def hanning(M: int) -> Any:
    """Return the Hann window of `M` points."""
    return np.hanning(M)


@made_on_device
def kaiser(M: int, beta: float) -> Any:
    """Return the Kaiser window of `M` points."""
    return np.kaiser(M, beta)
