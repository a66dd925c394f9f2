"""Sorting networks, sorting by rank, and searching what is sorted."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 64
INFINITY = np.float32(np.inf)


@cuda.jit
def bitonic_sort_block(x, out):
    """sort up to BLOCK elements in shared memory; infinity fills the rest"""
    keys = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    keys[tid] = x[tid] if tid < x.size else INFINITY
    cuda.syncthreads()

    k = 2
    while k <= BLOCK:
        j = k // 2
        while j > 0:
            partner = tid ^ j
            if partner > tid:
                ascending = (tid & k) == 0
                if (keys[tid] > keys[partner]) == ascending:
                    keys[tid], keys[partner] = keys[partner], keys[tid]
            cuda.syncthreads()
            j //= 2
        k *= 2

    if tid < x.size:
        out[tid] = keys[tid]


@cuda.jit
def bitonic_step(keys, j, k):
    """one step of a bitonic sort in global memory"""
    i = cuda.grid(1)
    partner = i ^ j
    if i < keys.size and partner > i:
        a = keys[i]
        b = keys[partner]
        if (i & k == 0 and a > b) or (i & k != 0 and a < b):
            keys[i] = b
            keys[partner] = a


@cuda.jit
def odd_even_sort_block(x):
    """sort one block in shared memory: neighbours swap, even and odd pairs in turn"""
    keys = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    n = x.size
    if tid < n:
        keys[tid] = x[tid]
    cuda.syncthreads()
    for phase in range(n):
        left = 2 * tid + phase % 2
        if left + 1 < n and keys[left] > keys[left + 1]:
            larger = keys[left]
            keys[left] = keys[left + 1]
            keys[left + 1] = larger
        cuda.syncthreads()
    if tid < n:
        x[tid] = keys[tid]


@cuda.jit
def odd_even_phase(x, phase):
    """one phase of the same in global memory"""
    left = 2 * cuda.grid(1) + phase
    if left + 1 < x.size and x[left] > x[left + 1]:
        x[left], x[left + 1] = x[left + 1], x[left]


@cuda.jit
def rank_sort(x, out):
    """each thread counts what belongs before its element, and puts it there"""
    i = cuda.grid(1)
    if i >= x.size:
        return
    mine = x[i]
    rank = 0
    for j in range(x.size):
        if x[j] < mine or (x[j] == mine and j < i):
            rank += 1
    out[rank] = mine


@cuda.jit
def rank_sort_tiled(x, order):
    """where each element belongs, with tiles of x in shared memory"""
    tile = cuda.shared.array(BLOCK, float32)
    i = cuda.grid(1)
    tid = cuda.threadIdx.x
    n = x.size
    mine = x[i] if i < n else float32(0)
    rank = 0
    for start in range(0, n, BLOCK):
        if start + tid < n:
            tile[tid] = x[start + tid]
        cuda.syncthreads()
        for j in range(min(BLOCK, n - start)):
            if tile[j] < mine or (tile[j] == mine and start + j < i):
                rank += 1
        cuda.syncthreads()
    if i < n:
        order[i] = rank


@cuda.jit
def binary_search(table, wanted, places):
    """the first place in a sorted table that is not smaller than what is wanted"""
    i = cuda.grid(1)
    if i < wanted.size:
        low = 0
        high = table.size
        while low < high:
            middle = (low + high) // 2
            if table[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        places[i] = low


@cuda.jit
def merge(a, b, out):
    """merge two sorted arrays: each element looks up how many of the other array come before it"""
    i = cuda.grid(1)
    if i < a.size:
        low = 0
        high = b.size
        while low < high:
            middle = (low + high) // 2
            if b[middle] < a[i]:
                low = middle + 1
            else:
                high = middle
        out[i + low] = a[i]
    elif i < a.size + b.size:
        j = i - a.size
        low = 0
        high = a.size
        while low < high:
            middle = (low + high) // 2
            if a[middle] <= b[j]:
                low = middle + 1
            else:
                high = middle
        out[j + low] = b[j]


N = 61
MANY = 200


def bitonic_inputs(rng):
    steps = {f"j{k}_{j}": j for k, j in bitonic_stages()}
    return {"keys": real(rng, 64), **steps, **{f"k{k}": k for k, _ in bitonic_stages()}}


def bitonic_stages():
    return [(2**a, 2**b) for a in range(1, 7) for b in range(a - 1, -1, -1)]


CASES = [
    Case(
        name="bitonic sort in shared memory",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(bitonic_sort_block, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.sort(given["x"])},
        kinds=("sorting", "shared", "barrier"),
    ),
    Case(
        name="bitonic sort in global memory",
        inputs=bitonic_inputs,
        launches=[Launch(bitonic_step, 2, 32, ("keys", f"j{k}_{j}", f"k{k}")) for k, j in bitonic_stages()],
        expected=lambda given: {"keys": np.sort(given["keys"])},
        kinds=("sorting", "several launches"),
    ),
    Case(
        name="odd-even sort in shared memory",
        inputs=lambda rng: {"x": whole(rng, 37, -50, 50, np.int32)},
        launches=[Launch(odd_even_sort_block, 1, BLOCK, ("x",))],
        expected=lambda given: {"x": np.sort(given["x"])},
        kinds=("sorting", "shared", "barrier"),
    ),
    Case(
        name="odd-even sort in global memory",
        inputs=lambda rng: {"x": real(rng, 45), "even": 0, "odd": 1},
        launches=[
            Launch(odd_even_phase, 2, 16, ("x", "odd" if phase % 2 else "even")) for phase in range(45)
        ],
        expected=lambda given: {"x": np.sort(given["x"])},
        kinds=("sorting", "several launches"),
    ),
    Case(
        name="rank sort",
        inputs=lambda rng: {"x": whole(rng, MANY, dtype=np.int32), "out": blank(MANY, np.int32)},
        launches=[Launch(rank_sort, blocks(MANY, 64), 64, ("x", "out"))],
        expected=lambda given: {"out": np.sort(given["x"])},
        kinds=("sorting", "loop", "early return"),
    ),
    Case(
        name="rank sort with tiles",
        inputs=lambda rng: {"x": whole(rng, 150), "order": blank(150, np.int64)},
        launches=[Launch(rank_sort_tiled, blocks(150, BLOCK), BLOCK, ("x", "order"))],
        expected=lambda given: {"order": np.argsort(np.argsort(given["x"], kind="stable"))},
        kinds=("sorting", "shared", "barrier", "loop"),
    ),
    Case(
        name="binary search",
        inputs=lambda rng: {
            "table": np.sort(whole(rng, 99, -80, 80, np.int32)),
            "wanted": whole(rng, MANY, -90, 90, np.int32),
            "places": blank(MANY, np.int32),
        },
        launches=[Launch(binary_search, blocks(MANY, 64), 64, ("table", "wanted", "places"))],
        expected=lambda given: {"places": np.searchsorted(given["table"], given["wanted"]).astype(np.int32)},
        kinds=("sorting", "while"),
    ),
    Case(
        name="merge",
        inputs=lambda rng: {"a": np.sort(whole(rng, 70)), "b": np.sort(whole(rng, 49)), "out": blank(119)},
        launches=[Launch(merge, 4, 32, ("a", "b", "out"))],
        expected=lambda given: {"out": np.sort(np.concatenate([given["a"], given["b"]]))},
        kinds=("sorting", "while"),
    ),
]
