"""Threads of a warp among themselves: shuffles, votes, bits, and barriers of the warp."""

import numpy as np
from numba import cuda, float32, float64, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

FULL = 0xFFFFFFFF
ALL_LANES = -1
WARP = 32


@cuda.jit
def lanes(out):
    """lane and warp of each thread of a block of two dimensions"""
    x, y = cuda.grid(2)
    out[y, x] = 100 * ((cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x) // cuda.warpsize) + cuda.laneid


@cuda.jit
def broadcast_first(x, out):
    """every lane gets the value of lane 0"""
    i = cuda.grid(1)
    value = x[i]
    out[i] = cuda.shfl_sync(FULL, value, 0)


@cuda.jit
def rotate_in_warp(x, out):
    """each lane takes the value of the next, the last of the first"""
    i = cuda.grid(1)
    lane = cuda.laneid
    out[i] = cuda.shfl_sync(FULL, x[i], (lane + 1) % 32)


@cuda.jit
def shift_up(x, out):
    """each lane takes the value of three lanes below; the first three keep theirs"""
    i = cuda.grid(1)
    out[i] = cuda.shfl_up_sync(FULL, x[i], 3)


@cuda.jit
def shift_down(x, out):
    """each lane takes the value of five lanes above; the last five keep theirs"""
    i = cuda.grid(1)
    out[i] = cuda.shfl_down_sync(ALL_LANES, x[i], 5)


@cuda.jit
def sum_for_all(x, out):
    """a butterfly of exchanges: every lane ends with the warp's sum"""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float64(0)
    mask = 16
    while mask > 0:
        value += cuda.shfl_xor_sync(FULL, value, mask)
        mask >>= 1
    if i < out.size:
        out[i] = value


@cuda.jit
def scan_in_warp(x, out):
    """inclusive scan of each warp"""
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % WARP
    value = x[i]
    offset = 1
    while offset < WARP:
        before = cuda.shfl_up_sync(FULL, value, offset)
        if lane >= offset:
            value += before
        offset *= 2
    out[i] = value


@cuda.jit
def maximum_and_lane(x, best, place):
    """the largest of each warp, and the first lane that has it"""
    i = cuda.grid(1)
    lane = cuda.laneid
    mine = x[i]
    largest = mine
    for step in range(5):
        largest = max(largest, cuda.shfl_xor_sync(FULL, largest, 1 << step))
    who = cuda.ballot_sync(FULL, mine == largest)
    if lane == 0:
        best[i // 32] = largest
        place[i // 32] = cuda.ffs(who) - 1


@cuda.jit
def votes(x, every, some, same, ballots):
    """what a warp's lanes say: all, any, all the same, and who"""
    i = cuda.grid(1)
    positive = i < x.size and x[i] > 0
    vote_all = cuda.all_sync(FULL, positive)
    vote_any = cuda.any_sync(FULL, positive)
    vote_same = cuda.eq_sync(FULL, positive)
    ballot = cuda.ballot_sync(FULL, positive)
    if cuda.laneid == 0:
        warp = i // 32
        every[warp] = vote_all
        some[warp] = vote_any
        same[warp] = vote_same
        ballots[warp] = ballot


@cuda.jit
def half_warps(x, out):
    """the lower and the upper half of a warp add up apart, each with its mask"""
    i = cuda.grid(1)
    lane = cuda.laneid
    value = x[i]
    if lane < 16:
        offset = 8
        while offset > 0:
            value += cuda.shfl_xor_sync(0x0000FFFF, value, offset)
            offset //= 2
    else:
        offset = 8
        while offset > 0:
            value += cuda.shfl_xor_sync(0xFFFF0000, value, offset)
            offset //= 2
    out[i] = value


@cuda.jit
def equals_in_warp(x, counts):
    """how many lanes of the warp have the same value"""
    i = cuda.grid(1)
    counts[i] = cuda.popc(cuda.match_any_sync(FULL, x[i]))


@cuda.jit
def rank_among_positive(x, ranks):
    """how many lanes below have a positive value"""
    i = cuda.grid(1)
    ballot = cuda.ballot_sync(FULL, x[i] > 0)
    ranks[i] = cuda.popc(ballot & cuda.lanemask_lt())


@cuda.jit
def transpose_in_warps(x, out):
    """each warp turns a part of shared memory of its own; only its lanes need to wait"""
    tiles = cuda.shared.array((2, 4, 8), float32)
    tid = cuda.threadIdx.x
    warp = tid // 32
    lane = tid % 32
    i = cuda.grid(1)
    tiles[warp, lane // 8, lane % 8] = x[i]
    cuda.syncwarp()
    out[i] = tiles[warp, lane % 4, lane // 4]


@cuda.jit
def bits(x, ones, leading, lowest, reversed_bits):
    """set bits, leading zeros, the lowest set bit and the reversal of each number"""
    i = cuda.grid(1)
    if i < x.size:
        ones[i] = cuda.popc(x[i])
        leading[i] = cuda.clz(x[i])
        lowest[i] = cuda.ffs(x[i])
        reversed_bits[i] = cuda.brev(x[i])


@cuda.jit
def warp_sums_of_rows(matrix, sums):
    """one warp a row of a matrix, several warps a block"""
    warp = cuda.threadIdx.x // 32
    lane = cuda.threadIdx.x % 32
    row = cuda.blockIdx.x * (cuda.blockDim.x // 32) + warp
    if row >= matrix.shape[0]:
        return
    total = int32(0)
    for col in range(lane, matrix.shape[1], 32):
        total += matrix[row, col]
    for offset in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL, total, offset)
    if lane == 0:
        sums[row] = total


@cuda.jit
def filter_by_warp(x, kept, count):
    """the leader of each warp takes the places for all lanes that keep: one atomic a warp"""
    i = cuda.grid(1)
    lane = cuda.laneid
    keep = i < x.size and x[i] < 0
    ballot = cuda.ballot_sync(FULL, keep)
    first = 0
    if lane == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(ballot))
    first = cuda.shfl_sync(FULL, first, 0)
    if keep:
        kept[first + cuda.popc(ballot & ((1 << lane) - 1))] = x[i]


N = 128


def rows(x):
    return x.reshape(-1, WARP)


def one_to_one(kernel, name, kinds, expected, dtype=np.float32):
    return Case(
        name=name,
        inputs=lambda rng: {"x": whole(rng, N, dtype=dtype), "out": blank(N, dtype)},
        launches=[Launch(kernel, 2, 64, ("x", "out"))],
        expected=lambda given: {"out": expected(rows(given["x"])).reshape(-1).astype(dtype)},
        kinds=kinds,
        simulator=False,
    )


def expected_lanes(given):
    y, x = np.mgrid[:12, :20]
    flat = (y % 6) * 10 + x % 10
    return {"out": (100 * (flat // 32) + flat % 32).astype(np.int32)}


def voters(rng):
    x = real(rng, 150)
    x[:32] = np.abs(x[:32])
    x[64:96] = -np.abs(x[64:96])
    count = blocks(150, 32)
    return {
        "x": x,
        "every": np.ones(count, np.bool_),
        "some": np.ones(count, np.bool_),
        "same": np.ones(count, np.bool_),
        "ballots": blank(count, np.uint32),
    }


def expected_votes(given):
    positive = rows(np.append(given["x"], np.zeros(10, np.float32)) > 0)
    ballots = (positive.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1)
    every, some = positive.all(axis=1), positive.any(axis=1)
    return {"every": every, "some": some, "same": every | ~some, "ballots": ballots.astype(np.uint32)}


def expected_sum_for_all(given):
    padded = rows(np.append(given["x"], np.zeros(-100 % 32)))
    return {"out": np.repeat(padded.sum(axis=1), 32)[:100]}


def expected_bits(given):
    binary = [f"{int(x):032b}" for x in given["x"]]
    return {
        "ones": np.array([b.count("1") for b in binary], np.int32),
        "leading": np.array([32 - len(b.lstrip("0")) for b in binary], np.int32),
        "lowest": np.array([(b[::-1].find("1") + 1) for b in binary], np.int32),
        "reversed_bits": np.array([int(b[::-1], 2) for b in binary], np.uint32),
    }


CASES = [
    Case(
        name="lanes of a block of two dimensions",
        inputs=lambda rng: {"out": blank((12, 20), np.int32)},
        launches=[Launch(lanes, (2, 2), (10, 6), ("out",))],
        expected=expected_lanes,
        kinds=("warp", "2d", "indices"),
    ),
    one_to_one(
        broadcast_first,
        "broadcast in a warp",
        ("warp", "shuffle"),
        lambda x: np.repeat(x[:, :1], 32, axis=1),
    ),
    one_to_one(rotate_in_warp, "rotation in a warp", ("warp", "shuffle"), lambda x: np.roll(x, -1, axis=1)),
    one_to_one(
        shift_up,
        "shuffle up",
        ("warp", "shuffle"),
        lambda x: np.concatenate([x[:, :3], x[:, :-3]], axis=1),
        np.int32,
    ),
    one_to_one(
        shift_down,
        "shuffle down",
        ("warp", "shuffle", "int64"),
        lambda x: np.concatenate([x[:, 5:], x[:, -5:]], axis=1),
        np.int64,
    ),
    Case(
        name="sum for all lanes",
        inputs=lambda rng: {"x": whole(rng, 100, dtype=np.float64), "out": blank(100, np.float64)},
        launches=[Launch(sum_for_all, 2, 64, ("x", "out"))],
        expected=expected_sum_for_all,
        kinds=("warp", "shuffle", "float64"),
        simulator=False,
    ),
    one_to_one(scan_in_warp, "scan in a warp", ("warp", "shuffle", "scan"), lambda x: np.cumsum(x, axis=1)),
    Case(
        name="largest of a warp and its lane",
        inputs=lambda rng: {"x": whole(rng, N), "best": blank(4), "place": blank(4, np.int32)},
        launches=[Launch(maximum_and_lane, 4, 32, ("x", "best", "place"))],
        expected=lambda given: {
            "best": rows(given["x"]).max(axis=1),
            "place": rows(given["x"]).argmax(axis=1).astype(np.int32),
        },
        kinds=("warp", "shuffle", "vote", "bits"),
        simulator=False,
    ),
    Case(
        name="votes",
        inputs=voters,
        launches=[Launch(votes, 5, 32, ("x", "every", "some", "same", "ballots"))],
        expected=expected_votes,
        kinds=("warp", "vote", "bool"),
        simulator=False,
    ),
    one_to_one(
        half_warps,
        "sums of half warps",
        ("warp", "shuffle", "mask"),
        lambda x: np.repeat(x.reshape(-1, 2, 16).sum(axis=2), 16, axis=1),
    ),
    Case(
        name="equals in a warp",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "counts": blank(N, np.int32)},
        launches=[Launch(equals_in_warp, 2, 64, ("x", "counts"))],
        expected=lambda given: {
            "counts": (rows(given["x"])[:, :, None] == rows(given["x"])[:, None])
            .sum(axis=2)
            .reshape(-1)
            .astype(np.int32)
        },
        kinds=("warp", "vote", "bits"),
        simulator=False,
    ),
    Case(
        name="rank among the positive lanes",
        inputs=lambda rng: {"x": whole(rng, N), "ranks": blank(N, np.int32)},
        launches=[Launch(rank_among_positive, 2, 64, ("x", "ranks"))],
        expected=lambda given: {
            "ranks": (np.cumsum(rows(given["x"]) > 0, axis=1) - (rows(given["x"]) > 0))
            .reshape(-1)
            .astype(np.int32)
        },
        kinds=("warp", "vote", "bits"),
        simulator=False,
    ),
    one_to_one(
        transpose_in_warps,
        "transpose in each warp",
        ("warp", "syncwarp", "shared"),
        lambda x: x.reshape(-1, 4, 8).transpose(0, 2, 1),
    ),
    Case(
        name="bits of numbers",
        inputs=lambda rng: {
            "x": np.append(rng.integers(0, 2**32, 60), [0, 1, 2**31, 2**32 - 1]).astype(np.uint32),
            "ones": blank(64, np.int32),
            "leading": blank(64, np.int32),
            "lowest": blank(64, np.int32),
            "reversed_bits": blank(64, np.uint32),
        },
        launches=[Launch(bits, 2, 48, ("x", "ones", "leading", "lowest", "reversed_bits"))],
        expected=expected_bits,
        kinds=("bits",),
    ),
    Case(
        name="sums of rows by warps",
        inputs=lambda rng: {"matrix": whole(rng, (7, 75), dtype=np.int32), "sums": blank(7, np.int32)},
        launches=[Launch(warp_sums_of_rows, 2, 128, ("matrix", "sums"))],
        expected=lambda given: {"sums": given["matrix"].sum(axis=1).astype(np.int32)},
        kinds=("warp", "shuffle", "early return"),
        simulator=False,
    ),
    Case(
        name="filter by warps",
        inputs=lambda rng: {"x": real(rng, 150), "kept": blank(150), "count": np.zeros(1, np.int32)},
        launches=[Launch(filter_by_warp, 3, 64, ("x", "kept", "count"))],
        expected=lambda given: {
            "kept": np.append(given["x"][given["x"] < 0], blank((given["x"] >= 0).sum())),
            "count": np.array([(given["x"] < 0).sum()], np.int32),
        },
        unordered=("kept",),
        kinds=("warp", "shuffle", "vote", "atomic", "any order"),
        simulator=False,
    ),
]
