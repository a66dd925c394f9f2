"""Near misses of barriers and of warps: who need not wait, and who waits rightly."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, whole

BLOCK = 64
FULL = 0xFFFFFFFF


@cuda.jit
def double_buffer(x, out):
    """difference of a chunk's ends, chunk by chunk: two buffers in turn need one barrier a chunk"""
    buffers = cuda.shared.array((2, BLOCK), int32)
    tid = cuda.threadIdx.x
    for chunk in range(x.size // BLOCK):
        here = chunk % 2
        buffers[here, tid] = x[chunk * BLOCK + tid]
        cuda.syncthreads()
        out[chunk * BLOCK + tid] = buffers[here, BLOCK - 1 - tid] - buffers[here, tid]


@cuda.jit
def scan_with_two_buffers(x, out):
    """inclusive scan of one block: two buffers, one barrier a step"""
    buffers = cuda.shared.array((2, BLOCK), int32)
    tid = cuda.threadIdx.x
    source = 0
    buffers[0, tid] = x[tid]
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        value = buffers[source, tid]
        if tid >= offset:
            value += buffers[source, tid - offset]
        source = 1 - source
        buffers[source, tid] = value
        cuda.syncthreads()
        offset *= 2
    out[tid] = buffers[source, tid]


@cuda.jit
def array_used_again(x, out):
    """one shared array serves twice, with a barrier between"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]
    cuda.syncthreads()
    mirrored = buffer[BLOCK - 1 - tid]
    cuda.syncthreads()
    buffer[tid] = mirrored * 2
    cuda.syncthreads()
    out[i] = buffer[tid ^ 1]


@cuda.jit
def barrier_if_asked(x, out, mirror):
    """a barrier in a condition that is the same for all"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if mirror:
        buffer[tid] = x[i]
        cuda.syncthreads()
        out[i] = buffer[BLOCK - 1 - tid]
    else:
        out[i] = x[i]


@cuda.jit
def barrier_by_block(x, out):
    """even and odd blocks wait at barriers on different lines"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]
    if cuda.blockIdx.x % 2 == 0:
        cuda.syncthreads()
        out[i] = buffer[BLOCK - 1 - tid]
    else:
        cuda.syncthreads()
        out[i] = buffer[tid ^ 1]


@cuda.jit
def rounds_from_an_argument(x, out, rounds):
    """rotate each block: as many barriers as an argument says"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]
    for _ in range(rounds):
        cuda.syncthreads()
        value = buffer[(tid + 1) % BLOCK]
        cuda.syncthreads()
        buffer[tid] = value
    out[i] = buffer[tid]


@cuda.jit
def whole_blocks_return(x, out, first):
    """blocks below the first return together, before the barrier"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if cuda.blockIdx.x < first:
        return
    buffer[tid] = x[i]
    cuda.syncthreads()
    out[i] = buffer[BLOCK - 1 - tid]


@cuda.jit
def return_without_barrier(x, out):
    """threads leave one by one, and nobody waits for them"""
    i = cuda.grid(1)
    if i >= x.size:
        return
    if x[i] < 0:
        out[i] = 0
        return
    n = x[i]
    while n > 1:
        n //= 2
        if n == 3:
            out[i] = 3
            return
    out[i] = n


@cuda.jit
def return_after_the_last_barrier(x, partial):
    """all but one thread leave when the last barrier is behind them"""
    total = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    if tid == 0:
        total[0] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])
    cuda.syncthreads()
    if tid > 0:
        return
    partial[cuda.blockIdx.x] = total[0]


@cuda.jit
def loop_of_barriers_ended_by_a_flag(x, out):
    """bubble sort of one block until nothing moved: all read the same flag between two barriers"""
    values = cuda.shared.array(BLOCK, int32)
    moved = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    values[tid] = x[tid]
    going = True
    while going:
        if tid == 0:
            moved[0] = 0
        cuda.syncthreads()
        for start in range(2):
            left = 2 * tid + start
            if left + 1 < BLOCK and values[left] > values[left + 1]:
                values[left], values[left + 1] = values[left + 1], values[left]
                cuda.atomic.max(moved, 0, 1)
            cuda.syncthreads()
        going = moved[0] == 1
        cuda.syncthreads()
    out[tid] = values[tid]


@cuda.jit
def loop_ended_by_the_barrier(x, out):
    """halve all elements of a block until all are below 10: the barrier itself asks"""
    i = cuda.grid(1)
    value = x[i]
    rounds = 0
    while cuda.syncthreads_or(int32(value >= 10)):
        value //= 2
        rounds += 1
    out[i] = 100 * rounds + value


@cuda.jit
def sort_bitonic(x):
    """the lower thread of each pair swaps for both"""
    values = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    values[tid] = x[tid]
    cuda.syncthreads()
    k = 2
    while k <= BLOCK:
        j = k // 2
        while j > 0:
            other = tid ^ j
            if other > tid and (values[tid] > values[other]) == ((tid & k) == 0):
                values[tid], values[other] = values[other], values[tid]
            cuda.syncthreads()
            j //= 2
        k *= 2
    x[tid] = values[tid]


@cuda.jit(device=True)
def mirrored(buffer, tid, value):
    buffer[tid] = value
    cuda.syncthreads()
    return buffer[BLOCK - 1 - tid]


@cuda.jit
def barrier_in_a_device_function(x, out):
    """a device function with a barrier, called by all threads of some blocks"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i]
    if cuda.blockIdx.x > 0:
        value = mirrored(buffer, tid, value)
    out[i] = value


@cuda.jit
def last_warp_with_syncwarp(x, partial):
    """each block's sum: the first warp goes on alone, with its own barrier between reads and writes"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    shared[tid] = x[cuda.grid(1)]
    cuda.syncthreads()
    if tid < 32:
        value = shared[tid] + shared[tid + 32]
        s = 16
        while s > 0:
            shared[tid] = value
            cuda.syncwarp()
            value += shared[(tid + s) % 32]
            cuda.syncwarp()
            s //= 2
        if tid == 0:
            partial[cuda.blockIdx.x] = value


@cuda.jit
def warps_of_their_own(x, out):
    """each warp has a row of shared memory of its own, and goes round a loop of its own length"""
    rows = cuda.shared.array((2, 32), int32)
    warp = cuda.threadIdx.x // 32
    lane = cuda.threadIdx.x % 32
    i = cuda.grid(1)
    value = x[i]
    for _ in range(warp + 1):
        rows[warp, lane] = value
        cuda.syncwarp()
        value = rows[warp, 31 - lane] + 1
        cuda.syncwarp()
    out[i] = value


@cuda.jit
def whole_warps_return(matrix, sums):
    """a warp a row: warps without a row leave; the others shuffle"""
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if row >= matrix.shape[0]:
        return
    total = matrix[row, lane]
    for offset in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL, total, offset)
    if lane == 0:
        sums[row] = total


@cuda.jit
def vote_after_return(x, counts):
    """lanes that have left are not waited for, and do not count, though the mask names them"""
    i = cuda.grid(1)
    if i >= x.size:
        return
    ballot = cuda.ballot_sync(FULL, x[i] > 0)
    if i % 32 == 0:
        counts[i // 32] = cuda.popc(ballot)


@cuda.jit
def halves_with_their_masks(x, out):
    """the halves of a warp shuffle on different lines, each with its own mask"""
    i = cuda.grid(1)
    if cuda.threadIdx.x % 32 < 16:
        out[i] = cuda.shfl_sync(0x0000FFFF, x[i], 3)
    else:
        out[i] = 10 * cuda.shfl_sync(0xFFFF0000, x[i], 20)


@cuda.jit
def shuffle_among_the_positive(x, out):
    """the mask of a shuffle in a branch comes from a vote before it"""
    i = cuda.grid(1)
    positive = cuda.ballot_sync(FULL, x[i] > 0)
    value = 0
    if x[i] > 0:
        value = cuda.shfl_sync(positive, x[i], cuda.ffs(positive) - 1)
    out[i] = value


@cuda.jit
def shuffles_past_the_end(x, sums):
    """a ragged array: the guard is around the load, not around the shuffle"""
    i = cuda.grid(1)
    value = int32(0)
    if i < x.size:
        value = x[i]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, offset)
    if cuda.laneid == 0 and i < x.size:
        sums[i // 32] = value


@cuda.jit
def syncwarp_of_a_half(x, out):
    """the lower half of a warp exchanges through shared memory, with a mask for itself"""
    buffer = cuda.shared.array(16, int32)
    lane = cuda.threadIdx.x
    i = cuda.grid(1)
    if lane < 16:
        buffer[lane] = x[i]
        cuda.syncwarp(0x0000FFFF)
        out[i] = buffer[15 - lane]
    else:
        out[i] = x[i]


N = 256


def one_to_one(n=N, dtype=np.int32, low=-9, high=10):
    return lambda rng: {"x": whole(rng, n, low, high, dtype), "out": blank(n, dtype)}


def on_vector(kernel, names=("x", "out"), n=N, block=BLOCK):
    return [Launch(kernel, blocks(n, block), block, names)]


def rows(x, length=BLOCK):
    return x.reshape(-1, length)


def flat(x, dtype=np.int32):
    return {"out": x.reshape(-1).astype(dtype)}


def mirror(x, length=BLOCK):
    return rows(x, length)[:, ::-1]


def swapped(x):
    return rows(x, 2)[:, ::-1].reshape(-1, BLOCK)


def case(name, kernel, expected, *kinds, inputs=None, launches=None, simulator=True):
    return Case(
        name="near: " + name,
        inputs=inputs or one_to_one(),
        launches=launches or on_vector(kernel),
        expected=expected,
        kinds=("near", *kinds),
        simulator=simulator,
    )


def expected_logs(given):
    out = []
    for n in given["x"].tolist():
        while n > 1:
            n //= 2
            if n == 3:
                break
        out.append(max(n, 0))
    return {"out": np.array(out, np.int32)}


def expected_halved(given):
    x, rounds = rows(given["x"]).copy(), np.zeros((4, 1), np.int32)
    while (x >= 10).any():
        going = (x >= 10).any(axis=1, keepdims=True)
        rounds += going
        x = np.where(going, x // 2, x)
    return flat(100 * rounds + x)


def expected_own_rows(given):
    x = rows(given["x"], 32)
    odd = np.arange(x.shape[0])[:, None] % 2 == 1
    return flat(np.where(odd, x + 2, x[:, ::-1] + 1))


def expected_positive(given):
    x = rows(given["x"], 32)
    first = np.take_along_axis(x, (x > 0).argmax(axis=1)[:, None], axis=1)
    return flat(np.where(x > 0, first, 0))


CASES = [
    case(
        "two buffers, one barrier a chunk",
        double_buffer,
        lambda given: flat(mirror(given["x"]) - rows(given["x"])),
        "race",
        "shared",
        "barrier",
        launches=[Launch(double_buffer, 1, BLOCK, ("x", "out"))],
    ),
    case(
        "scan with two buffers, one barrier a step",
        scan_with_two_buffers,
        lambda given: flat(np.cumsum(given["x"])),
        "race",
        "shared",
        "barrier",
        inputs=one_to_one(BLOCK),
        launches=on_vector(scan_with_two_buffers, n=BLOCK),
    ),
    case(
        "shared array used again after a barrier",
        array_used_again,
        lambda given: flat(2 * swapped(mirror(given["x"]).reshape(-1))),
        "race",
        "shared",
        "barrier",
    ),
    case(
        "barrier in a condition from an argument",
        barrier_if_asked,
        lambda given: flat(mirror(given["x"])),
        "divergence",
        "shared",
        "barrier",
        inputs=lambda rng: one_to_one()(rng) | {"mirror": 1},
        launches=on_vector(barrier_if_asked, ("x", "out", "mirror")),
    ),
    case(
        "barriers on different lines, by block",
        barrier_by_block,
        lambda given: flat(np.where(np.arange(4)[:, None] % 2 == 0, mirror(given["x"]), swapped(given["x"]))),
        "divergence",
        "shared",
        "barrier",
    ),
    case(
        "as many barriers as an argument says",
        rounds_from_an_argument,
        lambda given: flat(np.roll(rows(given["x"]), -5, axis=1)),
        "divergence",
        "shared",
        "barrier",
        inputs=lambda rng: one_to_one()(rng) | {"rounds": 5},
        launches=on_vector(rounds_from_an_argument, ("x", "out", "rounds")),
    ),
    case(
        "whole blocks return before a barrier",
        whole_blocks_return,
        lambda given: flat(np.concatenate([rows(given["out"])[:2], mirror(given["x"])[2:]])),
        "divergence",
        "shared",
        "barrier",
        "early return",
        inputs=lambda rng: one_to_one()(rng) | {"first": 2},
        launches=on_vector(whole_blocks_return, ("x", "out", "first")),
    ),
    case(
        "threads return where there is no barrier",
        return_without_barrier,
        expected_logs,
        "divergence",
        "early return",
        inputs=one_to_one(230, low=-50, high=99),
        launches=on_vector(return_without_barrier, n=230),
    ),
    case(
        "threads return after the last barrier",
        return_after_the_last_barrier,
        lambda given: {"partial": np.add.reduceat(given["x"], range(0, 230, BLOCK), dtype=np.int32)},
        "divergence",
        "shared",
        "barrier",
        "early return",
        inputs=lambda rng: {"x": whole(rng, 230, dtype=np.int32), "partial": blank(4, np.int32)},
        launches=on_vector(return_after_the_last_barrier, ("x", "partial"), 230),
    ),
    case(
        "loop of barriers ended by a shared flag",
        loop_of_barriers_ended_by_a_flag,
        lambda given: flat(np.sort(given["x"])),
        "divergence",
        "shared",
        "barrier",
        "atomic",
        inputs=one_to_one(BLOCK),
        launches=on_vector(loop_of_barriers_ended_by_a_flag, n=BLOCK),
    ),
    case(
        "loop ended by the barrier's own vote",
        loop_ended_by_the_barrier,
        expected_halved,
        "divergence",
        "barrier",
        inputs=one_to_one(low=0, high=999),
    ),
    case(
        "bitonic sort, one thread a pair",
        sort_bitonic,
        lambda given: {"x": np.sort(given["x"])},
        "race",
        "shared",
        "barrier",
        inputs=lambda rng: {"x": whole(rng, BLOCK, -99, 99, np.int32)},
        launches=[Launch(sort_bitonic, 1, BLOCK, ("x",))],
    ),
    case(
        "device function with a barrier, by block",
        barrier_in_a_device_function,
        lambda given: flat(np.concatenate([rows(given["x"])[:1], mirror(given["x"])[1:]])),
        "divergence",
        "shared",
        "barrier",
        "device function",
    ),
    case(
        "last warp with syncwarp",
        last_warp_with_syncwarp,
        lambda given: {"partial": rows(given["x"]).sum(axis=1)},
        "warp",
        "shared",
        "syncwarp",
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(4)},
        launches=on_vector(last_warp_with_syncwarp, ("x", "partial")),
        simulator=False,
    ),
    case(
        "warps with loops of different length",
        warps_of_their_own,
        expected_own_rows,
        "warp",
        "shared",
        "syncwarp",
        simulator=False,
    ),
    case(
        "whole warps return before shuffles",
        whole_warps_return,
        lambda given: {"sums": given["matrix"].sum(axis=1, dtype=np.int32)},
        "warp",
        "shuffle",
        "early return",
        inputs=lambda rng: {"matrix": whole(rng, (5, 32), dtype=np.int32), "sums": blank(5, np.int32)},
        launches=[Launch(whole_warps_return, 2, 128, ("matrix", "sums"))],
        simulator=False,
    ),
    # The guide: a vote is taken "for all non-exited threads in mask".
    case(
        "vote without the lanes that have left",
        vote_after_return,
        lambda given: {"counts": np.add.reduceat(given["x"] > 0, range(0, 100, 32), dtype=np.int32)},
        "warp",
        "vote",
        "early return",
        inputs=lambda rng: {"x": whole(rng, 100), "counts": blank(4, np.int32)},
        launches=[Launch(vote_after_return, 2, BLOCK, ("x", "counts"))],
        simulator=False,
    ),
    case(
        "halves of a warp with a mask each",
        halves_with_their_masks,
        lambda given: flat(
            np.repeat(
                np.stack([rows(given["x"], 32)[:, 3], 10 * rows(given["x"], 32)[:, 20]], axis=1), 16, axis=1
            )
        ),
        "warp",
        "shuffle",
        "mask",
        simulator=False,
    ),
    case(
        "shuffle among those who voted",
        shuffle_among_the_positive,
        expected_positive,
        "warp",
        "shuffle",
        "vote",
        "mask",
        simulator=False,
    ),
    case(
        "shuffles of lanes past the end",
        shuffles_past_the_end,
        lambda given: {"sums": np.add.reduceat(given["x"], range(0, 100, 32), dtype=np.int32)},
        "warp",
        "shuffle",
        inputs=lambda rng: {"x": whole(rng, 100, dtype=np.int32), "sums": blank(4, np.int32)},
        launches=[Launch(shuffles_past_the_end, 2, BLOCK, ("x", "sums"))],
        simulator=False,
    ),
    case(
        "syncwarp for half of a warp, with its mask",
        syncwarp_of_a_half,
        lambda given: flat(
            np.concatenate([rows(given["x"], 32)[:, 15::-1], rows(given["x"], 32)[:, 16:]], axis=1)
        ),
        "warp",
        "shared",
        "syncwarp",
        "mask",
        launches=on_vector(syncwarp_of_a_half, block=32),
        simulator=False,
    ),
]
