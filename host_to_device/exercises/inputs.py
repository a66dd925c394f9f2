"""Inputs that show mistakes: all elements differ, no size is a multiple of its block, and blocks have several sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def distinct(shape: int | Sequence[int], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Return an array whose elements all differ, also in absolute value, in random order.

    A shift or a transposition therefore shows. Floats are multiples of 1/8 with an absolute value of 2/8 or more, and
    about half of them are negative. Sums of two of them and products with small numbers are exact in float32 up to a
    million elements. No element is 0, and no integer is 1.

    Parameters
    ----------
    shape, dtype
        Shape and dtype of the array; the dtype is any kind of number. A dtype of few values allows few elements.
    seed
        The same seed gives the same array.

    Raises
    ------
    ValueError
        If the dtype has fewer values than the array has elements, or is not a number.
    """
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(int(size) for size in shape)
    dtype, count = np.dtype(dtype), math.prod(shape)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return (distinct(shape, part, seed) + 1j * distinct(shape, part, seed + 1)).astype(dtype)
    if dtype.kind not in "iuf":
        raise ValueError(f"distinct gives numbers, and {dtype} is not a number type")
    values = 4 * count + 6
    if dtype.kind in "iu":
        values = min(values, int(np.iinfo(dtype).max) - 1)
    else:
        values = min(values, 2 ** (np.finfo(dtype).nmant + 1) - 2)
    if values < count:
        raise ValueError(f"{dtype} has fewer than {count:,} different values")
    generator = np.random.default_rng((0x2D, seed))
    numbers = generator.permutation(values)[:count].astype(np.int64) + 2
    if dtype.kind != "u":
        numbers *= generator.choice(np.array([-1, 1]), count)
    array = numbers / 8 if dtype.kind == "f" else numbers
    return array.astype(dtype).reshape(shape)


def launches(
    seed: int,
    *,
    most: int = 1000,
    blocks: Sequence[int] = (128, 32, 64, 96),
    least: int = 1,
    enough: bool = True,
) -> list[dict[str, int]]:
    """Return launch configurations for one-dimensional kernels, as cases with size, block, grid and seed.

    The first case is a large size in several blocks. Then come 1 element (or `least`), one element less and one more
    than a block, a size in between, and a size that fills two blocks exactly. No other size above 1 is a multiple of its
    block. Every second grid has one block more than needed; the grid of the last case has none.

    Parameters
    ----------
    seed
        0 for the sizes that a learner sees; other seeds give other sizes.
    most, least
        The largest and the smallest number of elements; `most` is at least twice the largest block.
    blocks
        Threads per block, in the order in which the cases use them.
    enough
        Whether there are at least as many threads as elements. False launches about half as many threads, for
        kernels that stride.
    """
    generator = np.random.default_rng((0x1A, seed))
    few = blocks[1 % len(blocks)]
    sizes = [most, least, few - 1, blocks[2 % len(blocks)] + 1, (most + 2 * blocks[0]) // 3]
    if seed:
        sizes = [
            int(generator.integers(2 * most // 3, most + 1)),
            least,
            int(generator.integers(max(least, few // 2), few)),
            int(generator.integers(blocks[2 % len(blocks)] + 1, 2 * blocks[2 % len(blocks)])),
            int(generator.integers(most // 3, 2 * most // 3)),
        ]
    cases = []
    for position, size in enumerate(sizes):
        block = blocks[position % len(blocks)]
        size = max(size, least)
        size += size > 1 and size % block == 0
        needed = math.ceil(size / block)
        grid = needed + position % 2 if enough else max(1, needed // 2)
        cases.append({"size": size, "block": block, "grid": grid, "seed": seed * 1000 + 10 * position})
    if (size := 2 * few) >= least:
        cases.append(
            {"size": size, "block": few, "grid": 2 if enough else 1, "seed": seed * 1000 + 10 * len(sizes)}
        )
    return cases


def launches_2d(
    seed: int,
    *,
    most: int = 60,
    blocks: Sequence[tuple[int, int]] = ((16, 8), (8, 8), (4, 16), (32, 2)),
    x: str = "columns",
) -> list[dict[str, Any]]:
    """Return launch configurations for two-dimensional kernels, as cases with rows, columns, block, grid and seed.

    Only the array of a single element is square. The sides of the last array are multiples of its block's sides, and the
    grid fits exactly; no other side above 1 is such a multiple.

    Parameters
    ----------
    seed
        0 for the shapes that a learner sees; other seeds give other shapes.
    most
        The largest side.
    blocks
        Threads per block along x and y.
    x
        What x counts: "columns" or "rows".

    Raises
    ------
    ValueError
        If `x` is anything else.
    """
    if x not in ("columns", "rows"):
        raise ValueError(f"x is {x!r}: give 'columns' or 'rows'")
    generator = np.random.default_rng((0x2A, seed))
    shapes = [
        (most // 2 + 3, most - 1),
        (1, 1),
        (most - 7, most // 3),
        (1, most // 2 + 1),
        (most // 2 + 1, 1),
    ]
    if seed:
        bounds = ((most // 2, most), (1, 1), (most // 3, most), (2, most // 3), (most // 3, most // 2))
        sides = (generator.integers(low, high + 1, 2) for low, high in bounds)
        shapes = [(int(rows), int(columns)) for rows, columns in sides]
    cases = []
    for position, (rows, columns) in enumerate(shapes):
        block = blocks[position % len(blocks)]
        per_row, per_column = block if x == "columns" else block[::-1]
        columns += columns > 1 and columns % per_row == 0
        rows += rows > 1 and rows % per_column == 0
        while rows == columns > 1 or (rows > 1 and rows % per_column == 0):
            rows += 1
        blocks_needed = [math.ceil(columns / per_row), math.ceil(rows / per_column)]
        grid = [each + position % 2 for each in (blocks_needed if x == "columns" else blocks_needed[::-1])]
        cases.append(
            {
                "rows": rows,
                "columns": columns,
                "block": list(block),
                "grid": grid,
                "seed": seed * 1000 + 10 * position,
            }
        )
    block = blocks[0]
    per_row, per_column = block if x == "columns" else block[::-1]
    columns, rows = 2 * per_row, 3 * per_column
    rows += per_column * (rows == columns)
    grid = [columns // per_row, rows // per_column]
    cases.append(
        {
            "rows": rows,
            "columns": columns,
            "block": list(block),
            "grid": grid if x == "columns" else grid[::-1],
            "seed": seed * 1000 + 10 * len(shapes),
        }
    )
    return cases
