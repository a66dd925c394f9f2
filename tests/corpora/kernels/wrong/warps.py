"""Warps that do not run in step: exchanges without `syncwarp`, shuffles and votes with lanes missing.

The rules are those of the guide since Volta: every lane named in a mask that has not left the kernel calls the
same operation with the same mask, the caller is one of them, and only their values can be read.
"""

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, whole
from tests.corpora.kernels.wrong.case import (
    RACE,
    READ_WRITE,
    SHARED,
    UNINITIALISED_READ,
    WARP_SYNCHRONISATION,
    wrong,
)

FULL = 0xFFFFFFFF
WARP = 32


@cuda.jit
def sum_last_warp_in_step(x, partial):
    """each block's sum; the last warp goes on without barriers"""
    shared = cuda.shared.array(64, float32)
    tid = cuda.threadIdx.x
    shared[tid] = x[cuda.grid(1)]
    cuda.syncthreads()
    if tid < 32:
        shared[tid] += shared[tid + 32]  # !finding
        s = 16
        while s > 0:
            if tid < s:
                shared[tid] += shared[tid + s]  # !finding
            s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def transpose_in_warps(x, out):
    """each warp turns a part of shared memory of its own"""
    tiles = cuda.shared.array((2, 4, 8), float32)
    tid = cuda.threadIdx.x
    warp = tid // 32
    lane = tid % 32
    i = cuda.grid(1)
    tiles[warp, lane // 8, lane % 8] = x[i]  # !finding
    out[i] = tiles[warp, lane % 4, lane // 4]  # !finding


@cuda.jit
def scan_in_shared_without_syncwarp(x, out):
    """inclusive scan of one warp in shared memory: each lane reads, then writes"""
    buffer = cuda.shared.array(WARP, int32)
    lane = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[lane] = x[i]
    cuda.syncwarp()
    offset = 1
    while offset < WARP:
        before = 0
        if lane >= offset:
            before = buffer[lane - offset]  # !finding
        buffer[lane] += before  # !finding
        cuda.syncwarp()
        offset *= 2
    out[i] = buffer[lane]


@cuda.jit
def shuffle_in_the_lower_half(x, out):
    """the lower half adds what the upper half has"""
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % WARP
    value = x[i]
    if lane < 16:
        value += cuda.shfl_down_sync(FULL, value, 16)  # !finding
    out[i] = value


@cuda.jit
def shuffles_in_both_branches(x, out):
    """each half of a warp takes the value of its own first lane"""
    i = cuda.grid(1)
    value = x[i]
    if cuda.laneid < 16:
        out[i] = cuda.shfl_sync(FULL, value, 0)  # !finding
    else:
        out[i] = cuda.shfl_sync(FULL, value, 16)  # !finding


@cuda.jit
def ballot_of_a_mask_for_half(x, out):
    """which of a warp's lanes are positive"""
    i = cuda.grid(1)
    ballot = cuda.ballot_sync(0x0000FFFF, x[i] > 0)  # !finding
    out[i] = cuda.popc(ballot)


@cuda.jit
def half_sums_with_one_mask(x, out):
    """the lower and the upper half of a warp add up apart"""
    i = cuda.grid(1)
    value = x[i]
    for offset in (8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0x0000FFFF, value, offset)  # !finding
    out[i] = value


@cuda.jit
def sum_after_return(x, sums):
    """each warp's sum; the last warp is ragged"""
    i = cuda.grid(1)
    if i >= x.size:
        return  # !finding
    value = x[i]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, offset)  # !finding
    if i % WARP == 0:
        sums[i // WARP] = value


@cuda.jit
def read_outside_of_the_mask(x, out):
    """the first ten lanes take the value of the last lane"""
    i = cuda.grid(1)
    value = x[i]
    if cuda.laneid < 10:
        value = cuda.shfl_sync(0x3FF, value, 31)  # !finding
    out[i] = value


@cuda.jit
def count_rounds_by_ballot(matrix, counts):
    """how many elements of each row are positive: one warp a row"""
    row = cuda.blockIdx.x
    lane = cuda.threadIdx.x
    count = 0
    for col in range(lane, matrix.shape[1], WARP):
        count += cuda.popc(cuda.ballot_sync(FULL, matrix[row, col] > 0))  # !finding
    most = cuda.shfl_sync(FULL, count, 0)  # !finding
    if lane == 0:
        counts[row] = most


@cuda.jit
def match_among_positive(x, out):
    """how many positive lanes of the warp have the same value; 0 for the others"""
    i = cuda.grid(1)
    same = 0
    if x[i] > 0:
        same = cuda.popc(cuda.match_any_sync(FULL, x[i]))  # !finding
    cuda.syncwarp()  # !finding
    out[i] = same


@cuda.jit
def syncwarp_in_the_branch(x, out):
    """each warp's sum, by half of its lanes"""
    buffer = cuda.shared.array(WARP, float32)
    lane = cuda.threadIdx.x
    buffer[lane] = x[cuda.grid(1)]
    cuda.syncwarp()
    s = 16
    while s > 0:
        if lane < s:
            buffer[lane] += buffer[lane + s]
            cuda.syncwarp()  # !finding
        s //= 2
    cuda.syncthreads()
    if lane == 0:
        out[cuda.blockIdx.x] = buffer[0]


@cuda.jit
def syncwarp_for_the_lower_half(x, out):
    """turn each warp around in shared memory"""
    buffer = cuda.shared.array(WARP, int32)
    lane = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[lane] = x[i]
    cuda.syncwarp(0x0000FFFF)  # !finding
    out[i] = buffer[31 - lane]


@cuda.jit
def leader_by_ffs(x, out):
    """each positive lane takes the value of the first positive lane; the others 0"""
    i = cuda.grid(1)
    positive = cuda.ballot_sync(FULL, x[i] > 0)
    value = 0
    if x[i] > 0:
        leader = cuda.ffs(positive)
        value = cuda.shfl_sync(positive, x[i], leader)  # !finding
    out[i] = value


@cuda.jit
def reverse_around_a_shuffle(x, out):
    """turn each warp around in shared memory, and find its first element by a shuffle"""
    buffer = cuda.shared.array(WARP, int32)
    lane = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[lane] = x[i]  # !finding
    first = cuda.shfl_sync(FULL, x[i], 0)
    out[i] = buffer[31 - lane] - first  # !finding


N = 128
warp_synchronisation = partial(wrong, finding=WARP_SYNCHRONISATION)


def one_to_one(rng):
    return {"x": whole(rng, N, dtype=np.int32), "out": blank(N, np.int32)}


def on_vector(kernel, names=("x", "out"), block=64):
    return [Launch(kernel, N // block, block, names)]


def rows(x, length=WARP):
    return x.reshape(-1, length)


def flat(x):
    return {"out": x.reshape(-1)}


def expected_same(given):
    x = rows(given["x"])
    same = ((x[:, :, None] == x[:, None]) & (x[:, :, None] > 0)).sum(axis=2)
    return flat(same.astype(np.int32))


def alternating(rng):
    """Signs alternate, so that the lane after the first positive one is not positive."""
    x = whole(rng, N, 1, 10, np.int32)
    x[1::2] *= -1
    return {"x": x, "out": blank(N, np.int32)}


CASES = [
    warp_synchronisation(
        "last warp of a reduction without syncwarp",
        "The threads of a warp run in step, so they need no barrier.",
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(2)},
        launches=on_vector(sum_last_warp_in_step, ("x", "partial")),
        expected=lambda given: {"partial": rows(given["x"], 64).sum(axis=1)},
        space=SHARED,
        pair=READ_WRITE,
        also=(RACE,),
        often_right=True,
    ),
    warp_synchronisation(
        "transpose in a warp without syncwarp",
        "What one lane stores the others can read in the next line.",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=on_vector(transpose_in_warps),
        expected=lambda given: flat(given["x"].reshape(-1, 4, 8).transpose(0, 2, 1)),
        space=SHARED,
        pair=READ_WRITE,
        also=(RACE, UNINITIALISED_READ),
        often_right=True,
    ),
    warp_synchronisation(
        "scan in a warp with one syncwarp a step",
        "All lanes read before any of them writes.",
        inputs=one_to_one,
        launches=on_vector(scan_in_shared_without_syncwarp, block=WARP),
        expected=lambda given: flat(np.cumsum(rows(given["x"]), axis=1, dtype=np.int32)),
        space=SHARED,
        pair=READ_WRITE,
        also=(RACE,),
        often_right=True,
    ),
    warp_synchronisation(
        "shuffle in the half that receives",
        "Only the lanes that take a value need to call a shuffle.",
        inputs=one_to_one,
        launches=on_vector(shuffle_in_the_lower_half),
        expected=lambda given: flat(rows(given["x"]) + np.pad(rows(given["x"])[:, 16:], ((0, 0), (0, 16)))),
    ),
    warp_synchronisation(
        "full mask in both branches",
        "Each branch may shuffle with the mask of all lanes, as all lanes shuffle.",
        inputs=one_to_one,
        launches=on_vector(shuffles_in_both_branches),
        expected=lambda given: flat(np.repeat(rows(given["x"], 16)[:, :1], 16, axis=1)),
        often_right=True,
    ),
    warp_synchronisation(
        "vote of lanes that the mask does not name",
        "The mask says whose votes are wanted; anybody may ask.",
        inputs=one_to_one,
        launches=on_vector(ballot_of_a_mask_for_half),
        expected=lambda given: flat(
            np.repeat((rows(given["x"])[:, :16] > 0).sum(axis=1, keepdims=True), 32, axis=1).astype(np.int32)
        ),
    ),
    warp_synchronisation(
        "mask of the lower half for both halves",
        "The mask says how many lanes work together.",
        inputs=one_to_one,
        launches=on_vector(half_sums_with_one_mask),
        expected=lambda given: flat(
            np.repeat(rows(given["x"], 16).sum(axis=1, keepdims=True, dtype=np.int32), 16, axis=1)
        ),
        often_right=True,
    ),
    warp_synchronisation(
        "values of lanes that have left",
        "A lane that has left counts as zero.",
        inputs=lambda rng: {"x": whole(rng, 100, dtype=np.int32), "sums": blank(4, np.int32)},
        launches=on_vector(sum_after_return, ("x", "sums")),
        expected=lambda given: {"sums": np.add.reduceat(given["x"], range(0, 100, WARP), dtype=np.int32)},
    ),
    warp_synchronisation(
        "value of a lane outside of the mask",
        "The mask names the lanes that receive.",
        inputs=one_to_one,
        launches=on_vector(read_outside_of_the_mask),
        expected=lambda given: flat(np.where(np.arange(32) < 10, rows(given["x"])[:, -1:], rows(given["x"]))),
    ),
    warp_synchronisation(
        "votes in a ragged loop",
        "All lanes go round a strided loop equally often.",
        inputs=lambda rng: {"matrix": whole(rng, (3, 75)), "counts": blank(3, np.int32)},
        launches=[Launch(count_rounds_by_ballot, 3, WARP, ("matrix", "counts"))],
        expected=lambda given: {"counts": (given["matrix"] > 0).sum(axis=1).astype(np.int32)},
        often_right=True,
    ),
    warp_synchronisation(
        "match among some lanes with the mask of all",
        "Lanes that do not call do not matter.",
        inputs=one_to_one,
        launches=on_vector(match_among_positive),
        expected=expected_same,
        often_right=True,
    ),
    warp_synchronisation(
        "syncwarp for some lanes of the warp",
        "Only the lanes that add have to wait.",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(4)},
        launches=on_vector(syncwarp_in_the_branch, block=WARP),
        expected=lambda given: flat(rows(given["x"]).sum(axis=1)),
        often_right=True,
        also=(RACE,),
    ),
    warp_synchronisation(
        "syncwarp with a mask that leaves callers out",
        "The mask of syncwarp names those for whom one waits.",
        inputs=one_to_one,
        launches=on_vector(syncwarp_for_the_lower_half, block=WARP),
        expected=lambda given: flat(rows(given["x"])[:, ::-1]),
        space=SHARED,
        often_right=True,
        also=(RACE, UNINITIALISED_READ),
    ),
    warp_synchronisation(
        "leader one lane too far",
        "ffs counts lanes from 0.",
        inputs=alternating,
        launches=on_vector(leader_by_ffs),
        expected=lambda given: flat(
            np.where(
                rows(given["x"]) > 0,
                rows(given["x"])[:, :1],
                0,
            ).astype(np.int32)
        ),
    ),
    warp_synchronisation(
        "shuffle taken for a barrier",
        "A shuffle waits for all lanes, so what they stored before it is there.",
        inputs=one_to_one,
        launches=on_vector(reverse_around_a_shuffle, block=WARP),
        expected=lambda given: flat(rows(given["x"])[:, ::-1] - rows(given["x"])[:, :1]),
        space=SHARED,
        pair=READ_WRITE,
        often_right=True,
        also=(RACE, UNINITIALISED_READ),
    ),
]
