"""Inputs for the cases: asymmetric, so that a shifted or transposed index shows."""

import numpy as np


def whole(rng, shape, low=-9, high=10, dtype=np.float32):
    """Small whole numbers: their sums and products are exact, in any order."""
    return rng.integers(low, high, shape).astype(dtype)


def real(rng, shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def blank(shape, dtype=np.float32):
    """Give an output in which a place that nobody wrote shows."""
    return np.full(shape, 77, dtype)


def blocks(count, size):
    """Count the blocks of `size` threads that cover `count` elements."""
    return -(-count // size)
