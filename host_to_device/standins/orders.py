"""The orders in which the threads of a block and the blocks of a grid run one after another."""

from __future__ import annotations

import functools

import numpy as np


@functools.lru_cache(maxsize=32)
def orders(threads: int, blocks: int, seed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the threads of a block, and of the blocks: counting up, or shuffled by the seed.

    Parameters
    ----------
    threads, blocks
        How many threads a block has, and how many blocks the grid.
    seed
        A whole number from 0; None counts up.
    """
    if seed is None:
        return np.arange(threads), np.arange(blocks)
    generator = np.random.default_rng(seed)
    return generator.permutation(threads), generator.permutation(blocks)
