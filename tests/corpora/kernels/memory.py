"""Kinds of memory and of elements: local, constant and dynamic shared memory, records, small and complex types."""

import numba
import numpy as np
from numba import cuda, float32, float64, int32, uint8

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 32
WEIGHTS = np.array([1, -2, 5, -3, 2], np.float32)
MASK = np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]], np.int32)
PRIMES = (2, 3, 5, 7, 11)
SCALE = 2.5
SHAPE = (4, 8)


@cuda.jit
def reverse_digits(numbers, out):
    """take a number apart into a local array, and put it together backwards"""
    digits = cuda.local.array(10, dtype=int32)
    i = cuda.grid(1)
    if i < numbers.size:
        count = 0
        rest = numbers[i]
        while rest > 0:
            digits[count] = rest % 10
            rest //= 10
            count += 1
        total = 0
        for k in range(count):
            total = 10 * total + digits[k]
        out[i] = total


@cuda.jit
def sort_rows(matrix):
    """each thread sorts a row of five by insertion, in a local array"""
    row = cuda.grid(1)
    if row >= matrix.shape[0]:
        return
    values = cuda.local.array(shape=5, dtype=numba.float32)
    for k in range(5):
        value = matrix[row, k]
        j = k
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    for k in range(5):
        matrix[row, k] = values[k]


@cuda.jit
def powers_of_matrix(matrices, out):
    """the square of many small matrices, each in a local array of two dimensions"""
    m = cuda.local.array((2, 2), float64)
    i = cuda.grid(1)
    if i < matrices.shape[0]:
        for r in range(2):
            for c in range(2):
                m[r, c] = matrices[i, r, c]
        for r in range(2):
            for c in range(2):
                out[i, r, c] = m[r, 0] * m[0, c] + m[r, 1] * m[1, c]


@cuda.jit
def filter_constant(signal, out):
    """convolution with weights in constant memory"""
    weights = cuda.const.array_like(WEIGHTS)
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(weights.size):
            total += weights[k] * signal[i + k]
        out[i] = total


@cuda.jit
def edges_constant(image, out):
    """the same with a mask of two dimensions"""
    mask = cuda.const.array_like(MASK)
    x, y = cuda.grid(2)
    if 0 < x < image.shape[1] - 1 and 0 < y < image.shape[0] - 1:
        total = 0
        for i in range(3):
            for j in range(3):
                total += mask[i, j] * image[y + i - 1, x + j - 1]
        out[y, x] = total


@cuda.jit
def globals_as_constants(x, out):
    """numbers, tuples and arrays of the module, frozen when the kernel is compiled"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * SCALE + PRIMES[i % len(PRIMES)] + WEIGHTS[i % 5]


@cuda.jit
def reverse_dynamic(x, out):
    """turn each block around, in dynamic shared memory"""
    buffer = cuda.shared.array(0, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]
    cuda.syncthreads()
    out[i] = buffer[cuda.blockDim.x - 1 - tid]


@cuda.jit
def two_dynamic_arrays(x, y, out):
    """two arrays of one type, carved from the dynamic shared memory by slices"""
    shared = cuda.shared.array(shape=0, dtype=int32)
    n = cuda.blockDim.x
    left = shared[:n]
    right = shared[n : 2 * n]
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    left[tid] = x[i] if i < x.size else 0
    right[tid] = y[i] if i < y.size else 0
    cuda.syncthreads()
    if i < out.size:
        out[i] = left[n - 1 - tid] - right[(tid + 1) % n]


@cuda.jit
def two_types_of_dynamic(x, labels, sums):
    """two types from the same bytes: the first half floats, what follows integers"""
    values = cuda.shared.array(0, dtype=float32)[:BLOCK]
    tags = cuda.shared.array(0, dtype=int32)[BLOCK : 2 * BLOCK]
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    values[tid] = x[i] if i < x.size else float32(0)
    tags[tid] = labels[i] if i < x.size else -1
    cuda.syncthreads()
    if tid < sums.shape[1]:
        total = float32(0)
        for k in range(BLOCK):
            if tags[k] == tid:
                total += values[k]
        sums[cuda.blockIdx.x, tid] = total


@cuda.jit
def shapes_of_shared(x, out):
    """the shape of a shared array: a tuple of the module, and a number named in the kernel"""
    size = 32
    line = cuda.shared.array(size, float32)
    table = cuda.shared.array(SHAPE, dtype=float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    line[tid] = x[i]
    table[tid // 8, tid % 8] = 100 * x[i]
    cuda.syncthreads()
    out[i] = line[size - 1 - tid] + table[tid % 4, tid // 4]


# fmt: off
@cuda.jit
def two_on_a_line(x, out):
    """two shared arrays made on one line are two arrays"""
    a = cuda.shared.array(BLOCK, float32); b = cuda.shared.array(BLOCK, float32)  # noqa: E702
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    a[tid] = x[i]
    b[tid] = 10 * x[i]
    cuda.syncthreads()
    out[i] = a[BLOCK - 1 - tid] + b[tid]
# fmt: on


@cuda.jit(device=True)
def block_reverse(value):
    """hand a value to the thread at the other end of the block"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    buffer[tid] = value
    cuda.syncthreads()
    other = buffer[BLOCK - 1 - tid]
    cuda.syncthreads()
    return other


@cuda.jit
def shared_in_helper(x, out):
    """a shared array that belongs to a device function, used twice"""
    i = cuda.grid(1)
    once = block_reverse(x[i])
    out[i] = once - block_reverse(2 * once)


@cuda.jit
def three_dimensions_shared(volume, out):
    """turn a small volume inside out, in shared memory of three dimensions"""
    cube = cuda.shared.array((2, 3, 4), dtype=np.float64)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    z = cuda.threadIdx.z
    b = cuda.blockIdx.x
    cube[z, y, x] = volume[b, z, y, x]
    cuda.syncthreads()
    out[b, z, y, x] = cube[1 - z, 2 - y, 3 - x]


@cuda.jit
def move_particles(particles, dt):
    """an array of records: positions, velocities and a flag"""
    i = cuda.grid(1)
    if i < particles.size and particles[i]["alive"]:
        particles[i]["x"] += particles[i]["vx"] * dt
        particles[i]["y"] += particles[i]["vy"] * dt


@cuda.jit
def read_fields(particles, xs, count):
    """fields of records, by attribute"""
    i = cuda.grid(1)
    if i < particles.size:
        p = particles[i]
        xs[i] = p.x - p.y
        if p.alive == 1:
            cuda.atomic.add(count, 0, 1)


@cuda.jit
def brighten(image, amount):
    """bytes that stop at 255"""
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        image[y, x] = min(image[y, x] + amount, 255)


@cuda.jit
def shared_bytes(text, counts):
    """letters of a text in shared memory; each thread looks at its own and the next"""
    part = cuda.shared.array(BLOCK, uint8)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < text.size:
        part[tid] = text[i]
    cuda.syncthreads()
    if i + 1 < text.size and tid + 1 < cuda.blockDim.x and part[tid] == part[tid + 1]:
        cuda.atomic.add(counts, cuda.blockIdx.x, 1)


@cuda.jit
def complex_multiply(a, b, product, magnitude):
    """complex numbers"""
    i = cuda.grid(1)
    if i < a.size:
        z = a[i] * b[i].conjugate()
        product[i] = z
        magnitude[i] = abs(a[i]) + a[i].real - b[i].imag


@cuda.jit
def count_flags(flags, mask, out):
    """arrays of bool, with and, or and not"""
    i = cuda.grid(1)
    if i < flags.size:
        out[i] = (flags[i] and not mask[i]) or (mask[i] and not flags[i])


@cuda.jit
def shared_flags(x, out):
    """bool in shared memory: whether one's mirror image is negative"""
    negative = cuda.shared.array(BLOCK, numba.boolean)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    negative[tid] = x[i] < 0
    cuda.syncthreads()
    if negative[BLOCK - 1 - tid]:
        out[i] = -1
    else:
        out[i] = 1


@cuda.jit
def swap_arrays(a, b, steps, out):
    """two local arrays that swap names in a loop"""
    old = cuda.local.array(4, float32)
    new = cuda.local.array(4, float32)
    i = cuda.grid(1)
    if i < a.size:
        for k in range(4):
            old[k] = a[i] + k * b[i]
        for _ in range(steps):
            for k in range(4):
                new[k] = old[(k + 1) % 4] - old[k]
            old, new = new, old
        for k in range(4):
            out[i, k] = old[k]


PARTICLE = np.dtype(
    [("x", np.float32), ("y", np.float32), ("vx", np.float32), ("vy", np.float32), ("alive", np.int32)]
)
N = 96


def by_block(x):
    return x.reshape(-1, BLOCK)


def swarm(rng):
    particles = np.zeros(N + 5, PARTICLE)
    for field in ("x", "y", "vx", "vy"):
        particles[field] = whole(rng, N + 5)
    particles["alive"] = rng.integers(0, 2, N + 5)
    return particles


def moved(given):
    particles = given["particles"].copy()
    alive = particles["alive"] == 1
    particles["x"][alive] += given["dt"] * particles["vx"][alive]
    particles["y"][alive] += given["dt"] * particles["vy"][alive]
    return {"particles": particles}


def expected_two_dynamic(given):
    size = blocks(70, BLOCK) * BLOCK
    x, y = np.zeros(size, np.int32), np.zeros(size, np.int32)
    x[:70], y[:70] = given["x"], given["y"]
    return {"out": (by_block(x)[:, ::-1] - np.roll(by_block(y), -1, axis=1)).reshape(-1)[:70]}


def expected_tag_sums(given):
    sums = np.zeros((3, 5), np.float32)
    for i, (value, label) in enumerate(zip(given["x"], given["labels"], strict=True)):
        sums[i // BLOCK, label] += value
    return {"sums": sums}


def expected_pairs(given):
    text = given["text"]
    counts = np.zeros(4, np.int32)
    for i in range(text.size - 1):
        counts[i // BLOCK] += i % BLOCK != BLOCK - 1 and text[i] == text[i + 1]
    return {"counts": counts}


def expected_swaps(given):
    rows = given["a"][:, None] + np.arange(4) * given["b"][:, None]
    for _ in range(given["steps"]):
        rows = np.roll(rows, -1, axis=1) - rows
    return {"out": rows.astype(np.float32)}


CASES = [
    Case(
        name="digits in a local array",
        inputs=lambda rng: {"numbers": whole(rng, 70, 1, 10**6, np.int32), "out": blank(70, np.int32)},
        launches=[Launch(reverse_digits, 3, BLOCK, ("numbers", "out"))],
        expected=lambda given: {"out": np.array([int(str(n)[::-1]) for n in given["numbers"]], np.int32)},
        kinds=("local", "while"),
    ),
    Case(
        name="rows sorted in a local array",
        inputs=lambda rng: {"matrix": real(rng, (70, 5))},
        launches=[Launch(sort_rows, 3, BLOCK, ("matrix",))],
        expected=lambda given: {"matrix": np.sort(given["matrix"], axis=1)},
        kinds=("local", "while", "early return"),
    ),
    Case(
        name="squares of small matrices",
        inputs=lambda rng: {"matrices": whole(rng, (70, 2, 2), dtype=float), "out": blank((70, 2, 2), float)},
        launches=[Launch(powers_of_matrix, 3, BLOCK, ("matrices", "out"))],
        expected=lambda given: {"out": given["matrices"] @ given["matrices"]},
        kinds=("local", "float64"),
    ),
    Case(
        name="local arrays that swap",
        inputs=lambda rng: {"a": whole(rng, 70), "b": whole(rng, 70), "steps": 3, "out": blank((70, 4))},
        launches=[Launch(swap_arrays, 3, BLOCK, ("a", "b", "steps", "out"))],
        expected=expected_swaps,
        kinds=("local", "tuple", "loop"),
    ),
    Case(
        name="convolution with constant weights",
        inputs=lambda rng: {"signal": whole(rng, 74), "out": blank(70)},
        launches=[Launch(filter_constant, 3, BLOCK, ("signal", "out"))],
        expected=lambda given: {"out": np.correlate(given["signal"], WEIGHTS, "valid")},
        kinds=("constant", "stencil"),
    ),
    Case(
        name="edges with a constant mask",
        inputs=lambda rng: {
            "image": whole(rng, (11, 17), 0, 99, np.int32),
            "out": np.zeros((11, 17), np.int32),
        },
        launches=[Launch(edges_constant, (3, 2), (8, 8), ("image", "out"))],
        expected=lambda given: {
            "out": np.pad(
                sum(MASK[i, j] * given["image"][i : i + 9, j : j + 15] for i in range(3) for j in range(3)),
                1,
            )
        },
        kinds=("constant", "stencil", "2d"),
    ),
    Case(
        name="constants of the module",
        inputs=lambda rng: {"x": whole(rng, 70), "out": blank(70, np.float64)},
        launches=[Launch(globals_as_constants, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": given["x"] * 2.5 + np.resize([2.0, 3, 5, 7, 11], 70) + np.resize(WEIGHTS, 70)
        },
        kinds=("constant", "tuple"),
    ),
    Case(
        name="reversal in dynamic shared memory",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(reverse_dynamic, 4, 24, ("x", "out"), shared=24 * 4)],
        expected=lambda given: {"out": given["x"].reshape(4, 24)[:, ::-1].reshape(-1)},
        kinds=("dynamic shared", "barrier"),
    ),
    Case(
        name="two arrays in dynamic shared memory",
        inputs=lambda rng: {
            "x": whole(rng, 70, dtype=np.int32),
            "y": whole(rng, 70, dtype=np.int32),
            "out": blank(70, np.int32),
        },
        launches=[Launch(two_dynamic_arrays, 3, BLOCK, ("x", "y", "out"), shared=2 * BLOCK * 4)],
        expected=expected_two_dynamic,
        kinds=("dynamic shared", "barrier", "view"),
    ),
    Case(
        name="two types in dynamic shared memory",
        inputs=lambda rng: {
            "x": whole(rng, 70),
            "labels": whole(rng, 70, 0, 5, np.int32),
            "sums": blank((3, 5)),
        },
        launches=[Launch(two_types_of_dynamic, 3, BLOCK, ("x", "labels", "sums"), shared=BLOCK * 4 * 2)],
        expected=expected_tag_sums,
        kinds=("dynamic shared", "barrier", "view"),
    ),
    Case(
        name="shapes of shared arrays",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=[Launch(shapes_of_shared, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": (
                by_block(given["x"])[:, ::-1]
                + 100 * given["x"].reshape(-1, *SHAPE).transpose(0, 2, 1).reshape(-1, BLOCK)
            ).reshape(-1)
        },
        kinds=("shared", "barrier", "tuple"),
    ),
    Case(
        name="two shared arrays on a line",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=[Launch(two_on_a_line, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": (by_block(given["x"])[:, ::-1] + 10 * by_block(given["x"])).reshape(-1)
        },
        kinds=("shared", "barrier"),
        simulator=False,  # it takes the two for one
    ),
    Case(
        name="shared array of a device function",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=[Launch(shared_in_helper, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": (by_block(given["x"])[:, ::-1] - 2 * by_block(given["x"])).reshape(-1)
        },
        kinds=("shared", "barrier", "device function"),
    ),
    Case(
        name="shared memory of three dimensions",
        inputs=lambda rng: {
            "volume": real(rng, (3, 2, 3, 4), np.float64),
            "out": blank((3, 2, 3, 4), np.float64),
        },
        launches=[Launch(three_dimensions_shared, 3, (4, 3, 2), ("volume", "out"))],
        expected=lambda given: {"out": given["volume"][:, ::-1, ::-1, ::-1]},
        kinds=("shared", "barrier", "3d", "float64"),
    ),
    Case(
        name="records",
        inputs=lambda rng: {"particles": swarm(rng), "dt": np.float32(0.5)},
        launches=[Launch(move_particles, 4, BLOCK, ("particles", "dt"))],
        expected=moved,
        kinds=("records",),
    ),
    Case(
        name="fields of records",
        inputs=lambda rng: {"particles": swarm(rng), "xs": blank(N + 5), "count": np.zeros(1, np.int32)},
        launches=[Launch(read_fields, 4, BLOCK, ("particles", "xs", "count"))],
        expected=lambda given: {
            "xs": given["particles"]["x"] - given["particles"]["y"],
            "count": given["particles"]["alive"].sum(keepdims=True, dtype=np.int32),
        },
        kinds=("records", "atomic"),
    ),
    Case(
        name="brighter bytes",
        inputs=lambda rng: {"image": whole(rng, (11, 17), 0, 256, np.uint8), "amount": 60},
        launches=[Launch(brighten, (3, 2), (8, 8), ("image", "amount"))],
        expected=lambda given: {"image": np.minimum(given["image"].astype(int) + 60, 255).astype(np.uint8)},
        kinds=("2d", "uint8", "wider than NumPy"),
        simulator=False,  # it adds in bytes
    ),
    Case(
        name="bytes in shared memory",
        inputs=lambda rng: {"text": whole(rng, 103, 97, 101, np.uint8), "counts": np.zeros(4, np.int32)},
        launches=[Launch(shared_bytes, 4, BLOCK, ("text", "counts"))],
        expected=expected_pairs,
        kinds=("shared", "barrier", "atomic", "uint8"),
    ),
    Case(
        name="complex numbers",
        inputs=lambda rng: {
            "a": (real(rng, 70) + 1j * real(rng, 70)).astype(np.complex64),
            "b": (real(rng, 70) + 1j * real(rng, 70)).astype(np.complex64),
            "product": blank(70, np.complex64),
            "magnitude": blank(70),
        },
        launches=[Launch(complex_multiply, 3, BLOCK, ("a", "b", "product", "magnitude"))],
        expected=lambda given: {
            "product": given["a"] * given["b"].conj(),
            "magnitude": abs(given["a"]) + given["a"].real - given["b"].imag,
        },
        rtol=1e-6,
        kinds=("complex",),
    ),
    Case(
        name="logic on bool arrays",
        inputs=lambda rng: {
            "flags": rng.random(70) < 0.5,
            "mask": rng.random(70) < 0.3,
            "out": np.ones(70, np.bool_),
        },
        launches=[Launch(count_flags, 3, BLOCK, ("flags", "mask", "out"))],
        expected=lambda given: {"out": given["flags"] ^ given["mask"]},
        kinds=("bool",),
    ),
    Case(
        name="bool in shared memory",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N, np.int8)},
        launches=[Launch(shared_flags, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": np.where(by_block(given["x"])[:, ::-1] < 0, -1, 1).reshape(-1).astype(np.int8)
        },
        kinds=("shared", "barrier", "bool", "int8"),
    ),
]
