"""Races in global memory: inside a block, and between blocks, for which no barrier helps."""

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, blocks, real, whole
from tests.corpora.kernels.wrong.case import ATOMIC_PLAIN, GLOBAL, RACE, READ_WRITE, WRITE_WRITE, wrong

BLOCK = 64
TILE = 8


@cuda.jit
def histogram_plain(values, counts):
    """count values into bins"""
    i = cuda.grid(1)
    if i < values.size:
        counts[values[i]] += 1  # !finding


@cuda.jit
def sum_plain(x, total):
    """sum of all elements"""
    i = cuda.grid(1)
    if i < x.size:
        total[0] += x[i]  # !finding


@cuda.jit
def matvec_by_elements(matrix, x, y):
    """y = matrix·x, one thread an element of the matrix"""
    col, row = cuda.grid(2)
    if row < matrix.shape[0] and col < matrix.shape[1]:
        y[row] += matrix[row, col] * x[col]  # !finding


@cuda.jit
def maximum_plain(x, best):
    """the largest element"""
    i = cuda.grid(1)
    if i < x.size and x[i] > best[0]:  # !finding
        best[0] = x[i]  # !finding


@cuda.jit
def block_sums_added_plain(x, total):
    """each block adds up its part in shared memory, and its first thread adds that to the total"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        total[0] += shared[0]  # !finding


@cuda.jit
def forces_on_both(positions, forces):
    """a spring between each particle and the next pulls on both"""
    i = cuda.grid(1)
    if i < positions.size - 1:
        pull = positions[i + 1] - positions[i]
        forces[i] += pull  # !finding
        forces[i + 1] -= pull  # !finding


@cuda.jit
def smooth_in_place(x):
    """each inner element becomes the mean of its neighbours; one block"""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        x[i] = 0.5 * (x[i - 1] + x[i + 1])  # !finding


@cuda.jit
def smooth_in_place_with_barrier(x):
    """the same, for several blocks: read, barrier, write"""
    i = cuda.grid(1)
    value = float32(0)
    if 0 < i < x.size - 1:
        value = 0.5 * (x[i - 1] + x[i + 1])  # !finding
    cuda.syncthreads()
    if 0 < i < x.size - 1:
        x[i] = value  # !finding


@cuda.jit
def two_steps_with_barrier(a, b):
    """b becomes a smoothed, then a becomes b smoothed"""
    i = cuda.grid(1)
    inner = 0 < i < a.size - 1
    if inner:
        b[i] = 0.5 * (a[i - 1] + a[i + 1])  # !finding
    cuda.syncthreads()
    if inner:
        a[i] = 0.5 * (b[i - 1] + b[i + 1])  # !finding


@cuda.jit
def life_in_place(board):
    """one generation on a torus"""
    x, y = cuda.grid(2)
    height, width = board.shape
    if x < width and y < height:
        alive = -board[y, x]
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                alive += board[(y + dy + height) % height, (x + dx + width) % width]  # !finding
        if alive != 2:
            board[y, x] = 1 if alive == 3 else 0  # !finding


@cuda.jit
def shift_in_place(x):
    """move everything one place down"""
    i = cuda.grid(1)
    if i < x.size - 1:
        x[i] = x[i + 1]  # !finding


@cuda.jit
def running_sum_in_place(x):
    """each element becomes the sum of all up to it"""
    i = cuda.grid(1)
    if 0 < i < x.size:
        x[i] += x[i - 1]  # !finding


@cuda.jit
def reverse_in_place(x):
    """turn x around"""
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[x.size - 1 - i]  # !finding


@cuda.jit
def transpose_in_place(a):
    """a = aᵀ"""
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        upper = a[i, j]  # !finding
        a[i, j] = a[j, i]  # !finding
        a[j, i] = upper  # !finding


@cuda.jit
def transpose_tiles_in_place(a):
    """a = aᵀ through a tile: load, barrier, store; the side is a multiple of TILE"""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    tile[ty, tx] = a[y, x]  # !finding
    cuda.syncthreads()
    a[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]  # !finding


@cuda.jit
def every_second(x, out):
    """out holds every second element of x"""
    i = cuda.grid(1)
    if i < x.size:
        out[i // 2] = x[i]  # !finding


@cuda.jit
def latest_of_each(keys, times, latest):
    """the time of each key's last entry; the times ascend"""
    i = cuda.grid(1)
    if i < keys.size:
        latest[keys[i]] = times[i]  # !finding


@cuda.jit
def owners_of_chunks(owner, chunk):
    """each block marks the elements of its chunk as its own"""
    first = cuda.blockIdx.x * chunk
    for i in range(first + cuda.threadIdx.x, min(first + chunk + 1, owner.size), cuda.blockDim.x):
        owner[i] = cuda.blockIdx.x  # !finding


@cuda.jit
def double_chunks(x, chunk):
    """each block doubles the elements of its chunk"""
    first = cuda.blockIdx.x * chunk
    for i in range(first + cuda.threadIdx.x, first + chunk + 1, cuda.blockDim.x):
        if i < x.size:
            x[i] *= 2  # !finding


@cuda.jit
def matmul_split(a, b, c):
    """c = a·b; the blocks in z share the inner loop"""
    col, row, part = cuda.grid(3)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for k in range(part, a.shape[1], cuda.gridDim.z):
            total += a[row, k] * b[k, col]
        c[row, col] += total  # !finding


@cuda.jit
def matmul_split_stored(a, b, c):
    """the same"""
    col, row, part = cuda.grid(3)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for k in range(part, a.shape[1], cuda.gridDim.z):
            total += a[row, k] * b[k, col]
        c[row, col] = total  # !finding


@cuda.jit
def place_of_maximum(x, best, place):
    """the largest element, and where it is; all are different"""
    i = cuda.grid(1)
    if i < x.size:
        before = cuda.atomic.max(best, 0, x[i])
        if before < x[i]:
            place[0] = i  # !finding


@cuda.jit
def sum_by_first_block(x, partial, total):
    """each thread of a block adds up a part; block 0 adds up the parts"""
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        mine = float32(0)
        for k in range(i, min(i + cuda.blockDim.x, x.size)):
            mine += x[k]
        partial[cuda.blockIdx.x] = mine  # !finding
    cuda.syncthreads()
    if i == 0:
        for block in range(cuda.gridDim.x):
            total[0] += partial[block]  # !finding


@cuda.jit
def last_block_without_fence(x, partial, ticket, total):
    """the block that finishes last adds up what the others left"""
    if cuda.threadIdx.x == 0:
        first = cuda.blockIdx.x * BLOCK
        mine = 0
        for k in range(first, min(first + BLOCK, x.size)):
            mine += x[k]
        partial[cuda.blockIdx.x] = mine  # !finding
        taken = cuda.atomic.add(ticket, 0, 1)
        if taken == cuda.gridDim.x - 1:
            for block in range(cuda.gridDim.x):
                total[0] += partial[block]  # !finding


@cuda.jit
def last_block_with_a_fence_for_itself(x, partial, ticket, total):
    """the block that finishes last adds up what the others left"""
    if cuda.threadIdx.x == 0:
        first = cuda.blockIdx.x * BLOCK
        mine = 0
        for k in range(first, min(first + BLOCK, x.size)):
            mine += x[k]
        partial[cuda.blockIdx.x] = mine  # !finding
        cuda.threadfence_block()
        taken = cuda.atomic.add(ticket, 0, 1)
        if taken == cuda.gridDim.x - 1:
            for block in range(cuda.gridDim.x):
                total[0] += partial[block]  # !finding


@cuda.jit
def last_block_without_barrier(x, partial, ticket, total):
    """the same; every thread leaves something, and the first takes the block's ticket"""
    last = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    tid = cuda.threadIdx.x
    partial[i] = x[i] * x[i]  # !finding
    cuda.threadfence()
    if tid == 0:
        taken = cuda.atomic.add(ticket, 0, 1)
        cuda.threadfence()
        last[0] = taken == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] == 1 and tid == 0:
        for k in range(partial.size):
            total[0] += partial[k]  # !finding


@cuda.jit
def last_block_with_plain_ticket(x, partial, ticket, total):
    """the same; one thread a block"""
    b = cuda.blockIdx.x
    partial[b] = x[2 * b] + x[2 * b + 1]
    cuda.threadfence()
    ticket[0] += 1  # !finding
    cuda.threadfence()
    if ticket[0] == cuda.gridDim.x:  # !finding
        for block in range(cuda.gridDim.x):
            cuda.atomic.add(total, 0, partial[block])


@cuda.jit
def progress_read_plain(x, out, count, done):
    """square all; whoever counts the last element says that it is done"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x[i]
        cuda.atomic.add(count, 0, 1)  # !finding
        if count[0] == x.size:  # !finding
            done[0] = 1


@cuda.jit
def normalise(x, total, out):
    """each element's part of the sum"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])  # !finding
    cuda.syncthreads()
    if i < x.size:
        out[i] = x[i] / total[0]  # !finding


@cuda.jit
def zero_and_count(values, counts):
    """zero the bins, then count; several blocks"""
    i = cuda.grid(1)
    if i < counts.size:
        counts[i] = 0  # !finding
    cuda.syncthreads()
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)  # !finding


@cuda.jit
def odd_even_sort(x):
    """sort in global memory, with a barrier after each step; two blocks"""
    i = cuda.grid(1)
    for step in range(x.size):
        if i % 2 == step % 2 and i + 1 < x.size:
            low, high = x[i], x[i + 1]  # !finding
            if low > high:
                x[i] = high  # !finding
                x[i + 1] = low  # !finding
        cuda.syncthreads()


@cuda.jit
def relax(source, target, weights, distance):
    """shorten the distance of each edge's target"""
    e = cuda.grid(1)
    if e < source.size:
        new = distance[source[e]] + weights[e]
        if new < distance[target[e]]:  # !finding
            distance[target[e]] = new  # !finding


@cuda.jit
def lock_without_fence(x, lock, total):
    """the first thread of each block adds its block's first element, under a lock"""
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        total[0] += x[cuda.grid(1)]  # !finding
        cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def lock_released_plain(x, lock, total):
    """the same"""
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # !finding
            pass
        cuda.threadfence()
        total[0] += x[cuda.grid(1)]
        cuda.threadfence()
        lock[0] = 0  # !finding


@cuda.jit
def reset_by_first_thread(x, total):
    """thread 0 sets the total to zero, then all add"""
    i = cuda.grid(1)
    if i == 0:
        total[0] = 0  # !finding
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])  # !finding


@cuda.jit
def rows_of_one_length(matrix, sums):
    """one block a row; each thread adds its part to the row's sum; the row's first thread clears it"""
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    if tid == 0:
        sums[row] = 0
    cuda.syncthreads()
    for col in range(tid, matrix.shape[1], cuda.blockDim.x):
        sums[row] += matrix[row, col]  # !finding


@cuda.jit
def compact_with_plain_counter(x, count):
    """how many elements are negative, and a place for each"""
    i = cuda.grid(1)
    if i < x.size and x[i] < 0:
        place = count[0]  # !finding
        count[0] = place + 1  # !finding


@cuda.jit
def exchange_through_global(x, scratch, out):
    """each thread leaves its element for the next, and takes that of the one before; one block"""
    tid = cuda.threadIdx.x
    n = cuda.blockDim.x
    scratch[(tid + 1) % n] = x[tid]  # !finding
    out[tid] = scratch[tid]  # !finding


N = 230


def on_vector(kernel, names, n=N):
    return [Launch(kernel, blocks(n, BLOCK), BLOCK, names)]


def zero(dtype=np.float32, n=1):
    return np.zeros(n, dtype)


def vector_and_total(dtype=np.float32, n=N):
    return lambda rng: {"x": whole(rng, n, dtype=dtype), "total": zero(dtype)}


def expected_total(given):
    return {"total": given["x"].sum(keepdims=True, dtype=given["x"].dtype)}


def expected_forces(given):
    pull = np.diff(given["positions"])
    return {"forces": np.append(pull, np.float32(0)) - np.insert(pull, 0, np.float32(0))}


def smoothed(x):
    return np.concatenate([x[:1], (x[:-2] + x[2:]) / 2, x[-1:]]).astype(np.float32)


def expected_smooth(given):
    return {"x": smoothed(given["x"])}


def expected_life(given):
    board = given["board"]
    around = sum(np.roll(board, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) - board
    return {"board": ((around == 3) | ((around == 2) & (board == 1))).astype(np.int32)}


def just_x(n=N, dtype=np.float32):
    return lambda rng: {"x": whole(rng, n, dtype=dtype)}


def matrices(rng):
    return {"a": whole(rng, (9, 20)), "b": whole(rng, (20, 7)), "c": np.zeros((9, 7), np.float32)}


def expected_product(given):
    return {"c": given["a"] @ given["b"]}


def with_tickets(parts, n=256):
    return lambda rng: {
        "x": whole(rng, n, dtype=np.int32),
        "partial": blank(parts, np.int32),
        "ticket": zero(np.int32),
        "total": zero(np.int32),
    }


def log(rng):
    return {
        "keys": whole(rng, N, 0, 12, np.int32),
        "times": np.cumsum(whole(rng, N, 1, 9, np.int32), dtype=np.int32),
        "latest": np.zeros(12, np.int32),
    }


def expected_latest(given):
    latest = np.zeros(12, np.int32)
    np.maximum.at(latest, given["keys"], given["times"])
    return {"latest": latest}


def star(rng):
    """Edges from the first eight nodes, whose distance is known, to the others."""
    return {
        "source": whole(rng, 60, 0, 8, np.int32),
        "target": whole(rng, 60, 8, 16, np.int32),
        "weights": whole(rng, 60, 1, 50, np.int32),
        "distance": np.where(np.arange(16) < 8, np.arange(16), 1000).astype(np.int32),
    }


def expected_distance(given):
    distance = given["distance"].copy()
    np.minimum.at(distance, given["target"], given["distance"][given["source"]] + given["weights"])
    return {"distance": distance}


def locked(rng):
    return {"x": whole(rng, 256, dtype=np.int32), "lock": zero(np.int32), "total": zero(np.int32)}


def expected_locked(given):
    return {"total": given["x"][::BLOCK].sum(keepdims=True, dtype=np.int32)}


race = partial(wrong, finding=RACE, space=GLOBAL)

CASES = [
    race(
        "histogram without atomics",
        "counts[b] += 1 is one step.",
        inputs=lambda rng: {"values": whole(rng, N, 0, 20, np.int32), "counts": zero(np.int32, 20)},
        launches=on_vector(histogram_plain, ("values", "counts")),
        expected=lambda given: {"counts": np.bincount(given["values"], minlength=20).astype(np.int32)},
        pair=READ_WRITE,
    ),
    race(
        "sum without atomics",
        "The additions of many threads into one variable queue up by themselves.",
        inputs=vector_and_total(),
        launches=on_vector(sum_plain, ("x", "total")),
        expected=expected_total,
        pair=READ_WRITE,
    ),
    race(
        "matrix times vector, a thread an element",
        "A sum over a row can be spread over threads without further care.",
        inputs=lambda rng: {"matrix": whole(rng, (11, 19)), "x": whole(rng, 19), "y": zero(n=11)},
        launches=[Launch(matvec_by_elements, (3, 2), (TILE, TILE), ("matrix", "x", "y"))],
        expected=lambda given: {"y": given["matrix"] @ given["x"]},
        pair=READ_WRITE,
    ),
    race(
        "maximum without atomics",
        "Comparing before storing protects the larger value.",
        inputs=lambda rng: {"x": real(rng, N), "best": np.full(1, -np.inf, np.float32)},
        launches=on_vector(maximum_plain, ("x", "best")),
        expected=lambda given: {"best": given["x"].max(keepdims=True)},
        pair=READ_WRITE,
    ),
    race(
        "sums of blocks added without atomics",
        "One thread a block is one thread.",
        inputs=vector_and_total(),
        launches=on_vector(block_sums_added_plain, ("x", "total")),
        expected=expected_total,
        pair=READ_WRITE,
    ),
    race(
        "forces on both particles",
        "Adding to a neighbour's element is as safe as adding to one's own.",
        inputs=lambda rng: {"positions": whole(rng, N), "forces": zero(n=N)},
        launches=on_vector(forces_on_both, ("positions", "forces")),
        expected=expected_forces,
        pair=READ_WRITE,
    ),
    race(
        "smoothing in place within one block of global memory",
        "All threads of a block read before any of them writes.",
        inputs=just_x(100),
        launches=[Launch(smooth_in_place, 1, 128, ("x",))],
        expected=expected_smooth,
        pair=READ_WRITE,
    ),
    race(
        "barrier of the block for one of the grid",
        "syncthreads waits for all threads of the grid.",
        inputs=just_x(),
        launches=on_vector(smooth_in_place_with_barrier, ("x",)),
        expected=expected_smooth,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "two steps of a stencil in one launch",
        "A barrier between two steps replaces a second launch.",
        inputs=lambda rng: {"a": whole(rng, N), "b": zero(n=N)},
        launches=on_vector(two_steps_with_barrier, ("a", "b")),
        expected=lambda given: {
            "a": np.concatenate(
                [
                    given["a"][:1],
                    np.convolve(
                        np.concatenate([[0], smoothed(given["a"])[1:-1], [0]]), [0.5, 0, 0.5], "valid"
                    ),
                    given["a"][-1:],
                ]
            ).astype(np.float32)
        },
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "game of life on one board",
        "A cell may change as soon as its neighbours are counted.",
        inputs=lambda rng: {"board": (rng.random((19, 29)) < 0.4).astype(np.int32)},
        launches=[Launch(life_in_place, (4, 3), (TILE, TILE), ("board",))],
        expected=expected_life,
        pair=READ_WRITE,
    ),
    race(
        "shift in place",
        "Moving to the left in ascending order is safe, as in a loop.",
        inputs=lambda rng: {"x": np.arange(N, dtype=np.int32)},
        launches=on_vector(shift_in_place, ("x",)),
        expected=lambda given: {"x": np.append(given["x"][1:], given["x"][-1:])},
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "running sum in place",
        "Threads run in the order of their numbers, as a loop does.",
        inputs=just_x(dtype=np.int32),
        launches=on_vector(running_sum_in_place, ("x",)),
        expected=lambda given: {"x": np.cumsum(given["x"], dtype=np.int32)},
        pair=READ_WRITE,
    ),
    race(
        "reverse in place",
        "Every thread still finds the old value at the other end.",
        inputs=lambda rng: {"x": np.arange(N, dtype=np.int32)},
        launches=on_vector(reverse_in_place, ("x",)),
        expected=lambda given: {"x": given["x"][::-1]},
        pair=READ_WRITE,
    ),
    race(
        "transpose in place by all threads",
        "Every thread swaps its own pair.",
        inputs=lambda rng: {"a": real(rng, (21, 21))},
        launches=[Launch(transpose_in_place, (3, 3), (TILE, TILE), ("a",))],
        expected=lambda given: {"a": given["a"].T},
        pair=READ_WRITE,
    ),
    race(
        "transpose in place by tiles",
        "Once a block has saved its tile, it may overwrite another's.",
        inputs=lambda rng: {"a": real(rng, (24, 24))},
        launches=[Launch(transpose_tiles_in_place, (3, 3), (TILE, TILE), ("a",))],
        expected=lambda given: {"a": given["a"].T},
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "two elements for one place",
        "i // 2 picks every second element.",
        inputs=lambda rng: {"x": np.arange(N, dtype=np.int32), "out": blank(N // 2, np.int32)},
        launches=on_vector(every_second, ("x", "out")),
        expected=lambda given: {"out": given["x"][::2]},
        pair=WRITE_WRITE,
    ),
    race(
        "last entry wins",
        "Of several stores into one element the one of the highest thread stays.",
        inputs=log,
        launches=on_vector(latest_of_each, ("keys", "times", "latest")),
        expected=expected_latest,
        pair=WRITE_WRITE,
        often_right=True,
    ),
    race(
        "chunks that overlap by one",
        "The end of a chunk belongs to it.",
        inputs=lambda rng: {"owner": blank(N, np.int32), "chunk": 60},
        launches=[Launch(owners_of_chunks, 4, BLOCK, ("owner", "chunk"))],
        expected=lambda given: {"owner": (np.arange(N) // 60).astype(np.int32)},
        pair=WRITE_WRITE,
    ),
    race(
        "chunks doubled twice at their ends",
        "The end of a chunk belongs to it, and doubling it is nobody else's business.",
        inputs=lambda rng: {"x": whole(rng, N, 1, 9, np.int32), "chunk": 60},
        launches=[Launch(double_chunks, 4, BLOCK, ("x", "chunk"))],
        expected=lambda given: {"x": 2 * given["x"]},
        pair=READ_WRITE,
    ),
    race(
        "inner loop of a product spread over blocks",
        "Blocks that add to one element take turns.",
        inputs=matrices,
        launches=[Launch(matmul_split, (1, 2, 4), (TILE, TILE), ("a", "b", "c"))],
        expected=expected_product,
        pair=READ_WRITE,
    ),
    race(
        "inner loop spread over blocks, and stored",
        "The stores of several blocks add up.",
        inputs=matrices,
        launches=[Launch(matmul_split_stored, (1, 2, 4), (TILE, TILE), ("a", "b", "c"))],
        expected=expected_product,
        pair=WRITE_WRITE,
    ),
    race(
        "place of the maximum beside it",
        "Value and place are updated together if the value is atomic.",
        inputs=lambda rng: {
            "x": rng.permutation(N).astype(np.int32),
            "best": np.full(1, -1, np.int32),
            "place": blank(1, np.int32),
        },
        launches=on_vector(place_of_maximum, ("x", "best", "place")),
        expected=lambda given: {
            "best": given["x"].max(keepdims=True),
            "place": np.array([given["x"].argmax()], np.int32),
        },
        pair=WRITE_WRITE,
        often_right=True,
    ),
    race(
        "block 0 adds up what it has not waited for",
        "When block 0 comes to the second half of a kernel, all blocks have done the first.",
        inputs=lambda rng: {"x": whole(rng, N), "partial": zero(n=4), "total": zero()},
        launches=on_vector(sum_by_first_block, ("x", "partial", "total")),
        expected=expected_total,
        pair=READ_WRITE,
    ),
    race(
        "last block without a fence",
        "An atomic ticket also publishes what was stored before it.",
        inputs=with_tickets(4),
        launches=on_vector(last_block_without_fence, ("x", "partial", "ticket", "total")),
        expected=expected_total,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "last block with a fence for its own block",
        "A fence is a fence.",
        inputs=with_tickets(4),
        launches=on_vector(last_block_with_a_fence_for_itself, ("x", "partial", "ticket", "total")),
        expected=expected_total,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "last block without a barrier before its ticket",
        "The ticket of thread 0 speaks for its whole block.",
        inputs=with_tickets(256),
        launches=on_vector(last_block_without_barrier, ("x", "partial", "ticket", "total"), 256),
        expected=lambda given: {"total": (given["x"] ** 2).sum(keepdims=True, dtype=np.int32)},
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "last block with a plain ticket",
        "Fences make a plain counter safe.",
        inputs=with_tickets(16, 32),
        launches=[Launch(last_block_with_plain_ticket, 16, 1, ("x", "partial", "ticket", "total"))],
        expected=expected_total,
        pair=READ_WRITE,
    ),
    race(
        "counter read beside its atomic",
        "Reading a counter after one's own atomic addition gives one's own number.",
        inputs=lambda rng: {
            "x": whole(rng, N, dtype=np.int32),
            "out": blank(N, np.int32),
            "count": zero(np.int32),
            "done": zero(np.int32),
        },
        launches=on_vector(progress_read_plain, ("x", "out", "count", "done")),
        expected=lambda given: {"out": given["x"] ** 2, "done": np.ones(1, np.int32)},
        pair=ATOMIC_PLAIN,
        often_right=True,
    ),
    race(
        "normalising in the launch that sums",
        "After a barrier the sum over all blocks is complete.",
        inputs=lambda rng: {"x": whole(rng, N, 1, 9, np.int32), "total": zero(np.int32), "out": blank(N)},
        launches=on_vector(normalise, ("x", "total", "out")),
        expected=lambda given: {"out": (given["x"] / given["x"].sum()).astype(np.float32)},
        pair=ATOMIC_PLAIN,
    ),
    race(
        "bins zeroed in the launch that counts",
        "A barrier after zeroing holds back the other blocks.",
        inputs=lambda rng: {"values": whole(rng, N, 0, 20, np.int32), "counts": blank(20, np.int32)},
        launches=on_vector(zero_and_count, ("values", "counts")),
        expected=lambda given: {"counts": np.bincount(given["values"], minlength=20).astype(np.int32)},
        pair=ATOMIC_PLAIN,
        often_right=True,
    ),
    race(
        "odd-even sort over two blocks",
        "A barrier after each step keeps the whole array in step.",
        inputs=lambda rng: {"x": whole(rng, 100, -99, 99, np.int32)},
        launches=[Launch(odd_even_sort, 2, BLOCK, ("x",))],
        expected=lambda given: {"x": np.sort(given["x"])},
        pair=READ_WRITE,
    ),
    race(
        "shortest distances without atomics",
        "Comparing before storing keeps the shorter of two ways.",
        inputs=star,
        launches=[Launch(relax, 2, 32, ("source", "target", "weights", "distance"))],
        expected=expected_distance,
        pair=READ_WRITE,
    ),
    race(
        "lock without fences",
        "A lock made of atomics orders the plain accesses between them.",
        inputs=locked,
        launches=on_vector(lock_without_fence, ("x", "lock", "total"), 256),
        expected=expected_locked,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "lock released by a plain store",
        "Only taking a lock has to be atomic.",
        inputs=locked,
        launches=on_vector(lock_released_plain, ("x", "lock", "total"), 256),
        expected=expected_locked,
        pair=ATOMIC_PLAIN,
        often_right=True,
    ),
    race(
        "total reset by the first thread",
        "Thread 0 runs before all others.",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "total": blank(1, np.int32)},
        launches=on_vector(reset_by_first_thread, ("x", "total")),
        expected=expected_total,
        pair=ATOMIC_PLAIN,
        often_right=True,
    ),
    race(
        "row summed by its block without atomics",
        "Inside a block no atomics are needed.",
        inputs=lambda rng: {"matrix": whole(rng, (5, 70), dtype=np.int32), "sums": blank(5, np.int32)},
        launches=[Launch(rows_of_one_length, 5, 32, ("matrix", "sums"))],
        expected=lambda given: {"sums": given["matrix"].sum(axis=1, dtype=np.int32)},
        pair=READ_WRITE,
    ),
    race(
        "counter read and stored in two steps",
        "Between my read and my store nobody else counts.",
        inputs=lambda rng: {"x": whole(rng, N), "count": zero(np.int32)},
        launches=on_vector(compact_with_plain_counter, ("x", "count")),
        expected=lambda given: {"count": np.array([(given["x"] < 0).sum()], np.int32)},
        pair=READ_WRITE,
    ),
    race(
        "exchange through global memory without a barrier",
        "Global memory needs no barrier inside a block.",
        inputs=lambda rng: {"x": whole(rng, BLOCK), "scratch": blank(BLOCK), "out": blank(BLOCK)},
        launches=[Launch(exchange_through_global, 1, BLOCK, ("x", "scratch", "out"))],
        expected=lambda given: {"out": np.roll(given["x"], 1)},
        pair=READ_WRITE,
        often_right=True,
    ),
]
