"""Blocks that are said to keep apart do: in reverse order they give the same result, bit for bit."""

import math

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpora are made when they are imported

from numba import cuda  # noqa: E402

from host_to_device.standins.numba_cuda import independence, launching, random, settings  # noqa: E402
from tests.corpora.kernels import corpus, transpose  # noqa: E402
from tests.corpora.kernels.case import run  # noqa: E402
from tests.corpora.kernels.near import corpus as near  # noqa: E402
from tests.corpora.kernels.wrong import corpus as wrong  # noqa: E402
from tests.corpora.kernels.wrong.case import RACE, UNINITIALISED_READ  # noqa: E402

RACES = [
    each.case
    for each in wrong.ALL
    if each.finding == RACE and UNINITIALISED_READ not in (*each.also, each.finding)
]
CASES = [*corpus.ALL, *(getattr(each, "case", each) for each in near.ALL), *RACES]


def apart(launch, *arguments) -> bool:
    """Return what `independence` says of a launch."""
    values = launch.prepare(arguments, {}, [])
    return independence.keep_apart(launch.kernel.program, launch.grid, launch.block, values)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_blocks_that_keep_apart_may_run_in_reverse(case, monkeypatch):
    def backwards(self, values):
        """Run the launch interpreted, its blocks from the last to the first if they are said to keep apart."""
        order, blocks = np.arange(math.prod(self.block)), np.arange(math.prod(self.grid))
        if independence.keep_apart(self.kernel.program, self.grid, self.block, values):
            blocks = blocks[::-1]
        self.interpret(values, order, blocks, settings.settings_now().seconds)

    def result():
        try:
            return run(case, cuda)
        except Exception as problem:  # of a wrong kernel
            return {"": np.array(type(problem).__name__)}

    with cuda.stand_in(interpreted=True):
        expected = result()
        monkeypatch.setattr(launching.Launch, "run", backwards)
        found = result()
    for name, value in expected.items():
        assert value.tobytes() == found[name].tobytes(), name


def test_most_kernels_of_the_corpus_keep_their_blocks_apart(monkeypatch):
    said = {}

    def note(self, values):
        if math.prod(self.grid) > 1:
            said[self.kernel.__name__] = independence.keep_apart(
                self.kernel.program, self.grid, self.block, values
            )

    monkeypatch.setattr(launching.Launch, "run", note)
    for case in corpus.ALL:
        run(case, cuda)
    assert sum(said.values()) / len(said) > 0.7
    for name in (
        "vector_add",
        "matmul_tiles",
        "grid_stride_while",
        "sum_sequential",
        "mandelbrot",
        "random_walk",
    ):
        assert said[name], name
    # Results that depend on the order of blocks, or on elements of others.
    for name in (
        "histogram_global",
        "keep_positive",
        "sum_last_block",
        "transpose_in_place",
        "scatter",
        "dot",
    ):
        assert not said[name], name


# ---- what an index says


@cuda.jit
def next_one(x):
    i = cuda.grid(1)
    if i + 1 < x.size:
        x[i] = x[i + 1]


@cuda.jit
def last_one(x):
    i = cuda.grid(1)
    x[0] = i


@cuda.jit
def by_thread(x):
    x[cuda.threadIdx.x] = cuda.blockIdx.x


@cuda.jit
def two_each(x):
    first = cuda.blockIdx.x * (cuda.blockDim.x * 2) + cuda.threadIdx.x
    x[first] = 1
    x[first + cuda.blockDim.x] = 2


@cuda.jit
def three_each(x):
    first = cuda.blockIdx.x * (cuda.blockDim.x * 2) + cuda.threadIdx.x
    for k in range(3):
        x[first + k * cuda.blockDim.x] = k


@cuda.jit
def over_a_view(x):
    row = x[cuda.blockIdx.x]
    row[0] = 1


@cuda.jit
def backwards(x):
    x[cuda.grid(1) - 5] = 1


@cuda.jit
def grid_stride(x):
    i = cuda.grid(1)
    while i < x.size:
        x[i] += 1
        i += cuda.gridsize(1)


@cuda.jit
def half_a_stride(x):
    i = cuda.grid(1)
    while i < x.size:
        x[i] += 1
        i += cuda.gridsize(1) // 2


@cuda.jit
def other_name(x):
    y = x
    y[0] = cuda.grid(1)


@cuda.jit
def exchanged(x, y):
    if cuda.grid(1) >= 0:
        x = y
    x[cuda.grid(1)] = 1
    y[cuda.grid(1) + 1] = 1


@cuda.jit(device=True)
def store(x, i):
    x[i] = 1


@cuda.jit
def by_a_function(x):
    store(x, cuda.grid(1))


@cuda.jit
def prints(x):
    x[cuda.grid(1)] = 1
    print(cuda.grid(1))


@cuda.jit
def rows(x):
    column, row = cuda.grid(2)
    x[row, column] = 1


@cuda.jit
def diagonal(x):
    column, row = cuda.grid(2)
    x[row + column, column] = 1


@cuda.jit
def only_rows(x):
    column, row = cuda.grid(2)
    x[row, 0] = column


ONE, TWO = np.zeros(4096, np.int64), np.zeros((64, 64), np.int64)


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "array", "expected"),
    [
        (next_one, 4, 32, ONE, False),
        (next_one, 1, 32, ONE, True),  # a single block has no other
        (last_one, 4, 32, ONE, False),
        (by_thread, 4, 32, ONE, False),
        (two_each, 4, 32, ONE, True),
        (three_each, 4, 32, ONE, False),
        (over_a_view, 4, 32, TWO, False),
        (backwards, 4, 32, ONE, False),  # a negative index counts from the end
        (grid_stride, 4, 32, ONE, True),
        (half_a_stride, 4, 32, ONE, False),
        (other_name, 4, 32, ONE, False),
        (by_a_function, 4, 32, ONE, False),
        (prints, 4, 32, ONE, False),
        (rows, (4, 4), (8, 8), TWO, True),
        (diagonal, (4, 4), (8, 8), TWO, False),
        (only_rows, (4, 4), (8, 8), TWO, False),
        (only_rows, (1, 4), (8, 8), TWO, True),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_index(kernel, grid, block, array, expected):
    assert apart(kernel[grid, block], cuda.to_device(array)) is expected


def test_a_parameter_that_gets_another_name():
    assert not apart(exchanged[4, 32], cuda.to_device(ONE), cuda.to_device(ONE))


def test_arrays_with_memory_in_common():
    @cuda.jit
    def shift(x, y):
        x[cuda.grid(1)] = y[cuda.grid(1)]

    memory = cuda.to_device(ONE)
    other = cuda.to_device(ONE)
    assert apart(shift[4, 32], memory, other)
    assert not apart(shift[4, 32], memory, memory)
    assert not apart(shift[4, 32], memory[1:2000], memory[:1999])
    assert not apart(shift[4, 32], memory[::2], other)  # a view with gaps is not looked into


def test_a_tile_as_wide_as_the_block_and_wider():
    x = cuda.to_device(np.zeros((64, 64), np.float32))
    assert apart(
        transpose.transpose_tiled[(4, 4), (16, 16)], x, cuda.to_device(np.zeros((64, 64), np.float32))
    )
    # Blocks of 32 columns, 16 apart.
    assert not apart(
        transpose.transpose_tiled[(4, 4), (32, 16)], x, cuda.to_device(np.zeros((64, 64), np.float32))
    )


def test_random_states_of_a_thread():
    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = random.xoroshiro128p_uniform_float32(states, i)

    @cuda.jit
    def draw_from_one(states, out):
        out[cuda.grid(1)] = random.xoroshiro128p_uniform_float32(states, 0)

    states, out = random.create_xoroshiro128p_states(128, seed=1), cuda.to_device(np.zeros(128, np.float32))
    assert apart(draw[4, 32], states, out)
    assert not apart(draw_from_one[4, 32], states, out)


def test_an_array_of_the_module():
    """A captured device array is global memory, not the block's own."""
    memory = cuda.to_device(np.zeros(128, np.int64))

    @cuda.jit
    def into_captured(x):
        y = memory
        y[0] = cuda.grid(1)
        x[cuda.grid(1)] = 1

    @cuda.jit
    def out_of_captured(x):
        x[cuda.grid(1)] = memory[0]

    assert not apart(into_captured[4, 32], cuda.to_device(ONE))
    assert apart(out_of_captured[4, 32], cuda.to_device(ONE))
    assert not apart(out_of_captured[4, 32], memory)
