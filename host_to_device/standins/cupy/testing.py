"""CuPy's `cupy.testing`: NumPy's comparisons, for arrays on the device and on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins.cupy.creation import asnumpy
from host_to_device.standins.cupy.names import public, raise_missing


def assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 0, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise an AssertionError unless all elements are equal within a tolerance."""
    np.testing.assert_allclose(
        asnumpy(actual), asnumpy(desired), rtol, atol, err_msg=err_msg, verbose=verbose
    )


def assert_array_almost_equal(
    x: Any, y: Any, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise an AssertionError unless all elements are equal to `decimal` decimal places."""
    np.testing.assert_array_almost_equal(asnumpy(x), asnumpy(y), decimal, err_msg, verbose)


def assert_array_equal(
    x: Any, y: Any, err_msg: str = "", verbose: bool = True, strides_check: bool = False, **kwargs: Any
) -> None:
    """Raise an AssertionError unless shapes and elements are equal."""
    np.testing.assert_array_equal(asnumpy(x), asnumpy(y), err_msg, verbose)
    if strides_check and x.strides != y.strides:
        raise AssertionError(f"Strides are not equal: {x.strides} and {y.strides}")


def assert_array_less(x: Any, y: Any, err_msg: str = "", verbose: bool = True) -> None:
    """Raise an AssertionError unless every element is less than the other array's."""
    np.testing.assert_array_less(asnumpy(x), asnumpy(y), err_msg, verbose)


def __getattr__(name: str) -> Any:
    raise_missing("testing", name)


def __dir__() -> list[str]:
    return public(globals())
