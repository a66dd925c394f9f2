"""What machine learning is made of: layers, losses, gradients, neighbours, sparse matrices."""

import math

import numpy as np
from numba import cuda, float32, float64, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 32
K = 3


@cuda.jit
def softmax_rows(x, out):
    """one block a row: the largest, then the sum, both in shared memory, then the quotients"""
    scratch = cuda.shared.array(BLOCK, float32)
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    cols = x.shape[1]

    best = float32(-math.inf)
    for j in range(tid, cols, BLOCK):
        best = max(best, x[row, j])
    scratch[tid] = best
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            scratch[tid] = max(scratch[tid], scratch[tid + s])
        cuda.syncthreads()
        s //= 2
    best = scratch[0]
    cuda.syncthreads()

    total = float32(0)
    for j in range(tid, cols, BLOCK):
        total += math.exp(x[row, j] - best)
    scratch[tid] = total
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            scratch[tid] += scratch[tid + s]
        cuda.syncthreads()
        s //= 2
    for j in range(tid, cols, BLOCK):
        out[row, j] = math.exp(x[row, j] - best) / scratch[0]


@cuda.jit
def softmax_one_pass(x, out):
    """one thread a row: the largest and the sum in one pass, corrected on the way"""
    row = cuda.grid(1)
    if row < x.shape[0]:
        best = -math.inf
        total = 0.0
        for j in range(x.shape[1]):
            new_best = max(best, x[row, j])
            total = total * math.exp(best - new_best) + math.exp(x[row, j] - new_best)
            best = new_best
        for j in range(x.shape[1]):
            out[row, j] = math.exp(x[row, j] - best) / total


@cuda.jit
def argmax_rows(x, places):
    """where each row is largest; of equals the first"""
    row = cuda.grid(1)
    if row < x.shape[0]:
        place = 0
        for j in range(1, x.shape[1]):
            if x[row, j] > x[row, place]:
                place = j
        places[row] = place


@cuda.jit
def layer_norm(x, gain, bias, out):
    """one block a row: mean and variance in shared memory, then scale and shift"""
    sums = cuda.shared.array(BLOCK, float32)
    squares = cuda.shared.array(BLOCK, float32)
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    n = x.shape[1]
    sums[tid] = 0
    squares[tid] = 0
    for j in range(tid, n, cuda.blockDim.x):
        sums[tid] += x[row, j]
        squares[tid] += x[row, j] * x[row, j]
    cuda.syncthreads()
    stride = BLOCK // 2
    while stride > 0:
        if tid < stride:
            sums[tid] += sums[tid + stride]
            squares[tid] += squares[tid + stride]
        cuda.syncthreads()
        stride //= 2
    mean = sums[0] / n
    variance = squares[0] / n - mean * mean
    scale = 1 / math.sqrt(variance + 1e-5)
    for j in range(tid, n, cuda.blockDim.x):
        out[row, j] = gain[j] * (x[row, j] - mean) * scale + bias[j]


@cuda.jit
def relu_backward(x, gradient, out):
    """the gradient passes where x was positive"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = gradient[i] if x[i] > 0 else 0.0


@cuda.jit
def cross_entropy(logits, labels, losses):
    """the loss of each sample, from logits"""
    sample = cuda.grid(1)
    if sample < logits.shape[0]:
        scores = logits[sample]
        best = scores[0]
        for score in scores:
            best = max(best, score)
        total = 0.0
        for score in scores:
            total += math.exp(score - best)
        losses[sample] = math.log(total) + best - scores[labels[sample]]


@cuda.jit
def binary_cross_entropy(predictions, targets, loss):
    """the mean loss, added up by atomics"""
    i = cuda.grid(1)
    n = predictions.shape[0]
    if i < n:
        p = min(max(predictions[i], 1e-7), 1 - 1e-7)
        t = targets[i]
        cuda.atomic.add(loss, 0, -(t * math.log(p) + (1 - t) * math.log(1 - p)) / n)


@cuda.jit
def embedding(table, tokens, out):
    """rows of a table, picked by tokens"""
    col, position = cuda.grid(2)
    if position < tokens.size and col < table.shape[1]:
        out[position, col] = table[tokens[position], col]


@cuda.jit
def embedding_backward(gradient, tokens, table_gradient):
    """scatter-add: the same token may occur often"""
    col, position = cuda.grid(2)
    if position < tokens.size and col < table_gradient.shape[1]:
        cuda.atomic.add(table_gradient, (tokens[position], col), gradient[position, col])


@cuda.jit
def distances(a, b, out):
    """squared distance of each point of a from each of b"""
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < b.shape[0]:
        total = float32(0)
        for k in range(a.shape[1]):
            difference = a[i, k] - b[j, k]
            total += difference * difference
        out[i, j] = total


@cuda.jit
def assign_clusters(points, centres, nearest):
    """the nearest centre of each point; the centres wait in shared memory"""
    cache = cuda.shared.array((4, 2), float32)
    tid = cuda.threadIdx.x
    if tid < centres.shape[0]:
        cache[tid, 0] = centres[tid, 0]
        cache[tid, 1] = centres[tid, 1]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i >= points.shape[0]:
        return
    best = math.inf
    for c in range(centres.shape[0]):
        dx = points[i, 0] - cache[c, 0]
        dy = points[i, 1] - cache[c, 1]
        distance = dx * dx + dy * dy
        if distance < best:
            best = distance
            nearest[i] = c


@cuda.jit
def sum_clusters(points, nearest, sums, counts):
    """the sum and the number of the points of each cluster"""
    i = cuda.grid(1)
    if i < points.shape[0]:
        c = nearest[i]
        cuda.atomic.add(counts, c, 1)
        for k in range(points.shape[1]):
            cuda.atomic.add(sums, (c, k), points[i, k])


@cuda.jit
def divide_clusters(sums, counts, centres):
    """the new centres"""
    c, k = cuda.grid(2)
    if c < centres.shape[0] and k < centres.shape[1] and counts[c] > 0:
        centres[c, k] = sums[c, k] / counts[c]


@cuda.jit
def nearest_neighbours(queries, points, places):
    """the K nearest points of each query, kept sorted in local arrays"""
    best = cuda.local.array(K, float32)
    where = cuda.local.array(K, int32)
    q = cuda.grid(1)
    if q >= queries.shape[0]:
        return
    for k in range(K):
        best[k] = math.inf
        where[k] = -1
    for p in range(points.shape[0]):
        dx = queries[q, 0] - points[p, 0]
        dy = queries[q, 1] - points[p, 1]
        distance = dx * dx + dy * dy
        if distance < best[K - 1]:
            k = K - 1
            while k > 0 and best[k - 1] > distance:
                best[k] = best[k - 1]
                where[k] = where[k - 1]
                k -= 1
            best[k] = distance
            where[k] = p
    for k in range(K):
        places[q, k] = where[k]


@cuda.jit
def spmv_scalar(values, columns, starts, x, y):
    """y = a x for a sparse matrix in CSR form, one thread a row"""
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0)
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@cuda.jit
def spmv_vector(values, columns, starts, x, y):
    """the same, one warp a row"""
    row = cuda.grid(1) // 32
    lane = cuda.laneid
    if row < y.size:
        total = float32(0)
        for k in range(starts[row] + lane, starts[row + 1], 32):
            total += values[k] * x[columns[k]]
        offset = 16
        while offset > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
            offset //= 2
        if lane == 0:
            y[row] = total


@cuda.jit
def spmv_coo(values, rows, columns, x, y):
    """the same for a matrix of triples, one thread a value"""
    k = cuda.grid(1)
    if k < values.size:
        cuda.atomic.add(y, rows[k], values[k] * x[columns[k]])


@cuda.jit
def dropout(x, keep_percent, seed, out):
    """drop elements by a hash of their number and the seed: no state, the same on every machine"""
    i = cuda.grid(1)
    if i < x.size:
        bits = (i * 2654435761 + seed) & 0xFFFFFFFF
        bits ^= bits >> 16
        bits = (bits * 2246822507) & 0xFFFFFFFF
        bits ^= bits >> 13
        if bits % 100 < keep_percent:
            out[i] = x[i]
        else:
            out[i] = 0


@cuda.jit
def linear_relu(x, weights, bias, out):
    """out = max(x weightsᵀ + bias, 0): a layer and its activation in one kernel"""
    sample, unit = cuda.grid(2)
    if sample < out.shape[0] and unit < out.shape[1]:
        total = bias[unit]
        for k in range(x.shape[1]):
            total += x[sample, k] * weights[unit, k]
        out[sample, unit] = total if total > 0 else float32(0)


@cuda.jit
def momentum_step(weights, gradient, velocity, rate, momentum):
    """one step of gradient descent with momentum"""
    i = cuda.grid(1)
    if i < weights.size:
        velocity[i] = momentum * velocity[i] - rate * gradient[i]
        weights[i] += velocity[i]


@cuda.jit
def adam_step(weights, gradient, first, second, t):
    """one step of Adam"""
    i = cuda.grid(1)
    if i < weights.size:
        g = gradient[i]
        first[i] = 0.9 * first[i] + 0.1 * g
        second[i] = 0.999 * second[i] + 0.001 * g * g
        m = first[i] / (1 - 0.9**t)
        v = second[i] / (1 - 0.999**t)
        weights[i] -= 0.01 * m / (math.sqrt(v) + 1e-8)


@cuda.jit
def one_hot(labels, out):
    """a row of zeros with a single 1 for each label"""
    sample, label = cuda.grid(2)
    if sample < out.shape[0] and label < out.shape[1]:
        out[sample, label] = labels[sample] == label


@cuda.jit
def gelu(x, out):
    """Gaussian error linear unit"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 0.5 * x[i] * (1.0 + math.erf(x[i] / math.sqrt(2.0)))


@cuda.jit
def count_correct(logits, labels, correct):
    """how many samples have their label's score on top: a count a block, then atomics"""
    sample = cuda.grid(1)
    right = 0
    if sample < logits.shape[0]:
        best = 0
        for c in range(logits.shape[1]):
            if logits[sample, c] > logits[sample, best]:
                best = c
        right = int(best == labels[sample])
    in_block = cuda.syncthreads_count(right)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(correct, 0, in_block)


@cuda.jit
def logistic_gradient(x, targets, weights, gradient):
    """the gradient of logistic regression; each block adds up its samples first"""
    partial = cuda.shared.array((BLOCK, 4), float64)
    tid = cuda.threadIdx.x
    sample = cuda.grid(1)
    features = weights.size
    error = 0.0
    if sample < targets.size:
        score = 0.0
        for k in range(features):
            score += weights[k] * x[sample, k]
        error = 1.0 / (1.0 + math.exp(-score)) - targets[sample]
    for k in range(features):
        partial[tid, k] = error * x[sample, k] if sample < targets.size else 0.0
    cuda.syncthreads()
    if tid < features:
        total = 0.0
        for t in range(cuda.blockDim.x):
            total += partial[t, tid]
        cuda.atomic.add(gradient, tid, total)


N = 100
ROWS, COLS = 5, 45


def softmax(x):
    powers = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
    return {"out": (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)}


def expected_layer_norm(given):
    x = given["x"].astype(float)
    normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return {"out": (given["gain"] * normal + given["bias"]).astype(np.float32)}


def expected_cross_entropy(given):
    logits = given["logits"].astype(float)
    scores = logits[np.arange(N), given["labels"]]
    return {"losses": (np.log(np.exp(logits).sum(axis=1)) - scores).astype(np.float32)}


def expected_bce(given):
    p, t = given["predictions"], given["targets"]
    return {"loss": np.array([-(t * np.log(p) + (1 - t) * np.log(1 - p)).mean()])}


def expected_embedding_gradient(given):
    out = np.zeros_like(given["table_gradient"])
    np.add.at(out, given["tokens"], given["gradient"])
    return {"table_gradient": out}


def squared_distances(a, b):
    return ((a[:, None] - b) ** 2).sum(axis=2)


def expected_centres(given):
    nearest = squared_distances(given["points"], given["centres"]).argmin(axis=1).astype(np.int32)
    centres = given["centres"].copy()
    for c in range(4):
        if (nearest == c).any():
            centres[c] = given["points"][nearest == c].sum(axis=0) / (nearest == c).sum()
    return {
        "nearest": nearest,
        "centres": centres,
        "counts": np.bincount(nearest, minlength=4).astype(np.int32),
    }


def clusters(rng):
    return {
        "points": whole(rng, (N, 2), -40, 40),
        "centres": np.array([[-20, -21], [-19, 22], [18, -17], [16, 15]], np.float32) + real(rng, (4, 2)),
        "nearest": blank(N, np.int32),
        "sums": np.zeros((4, 2), np.float32),
        "counts": np.zeros(4, np.int32),
    }


def sparse(rng):
    """Make a sparse matrix of 41 × 60 in two forms, and a vector."""
    full = whole(rng, (41, 60)) * (rng.random((41, 60)) < rng.random((41, 1)))
    full[7] = 0
    rows, columns = np.nonzero(full)
    starts = np.searchsorted(rows, np.arange(42))
    return {
        "values": full[rows, columns],
        "rows": rows.astype(np.int32),
        "columns": columns.astype(np.int32),
        "starts": starts.astype(np.int32),
        "x": whole(rng, 60),
        "y": np.zeros(41, np.float32),
    }


def expected_spmv(given):
    full = np.zeros((41, 60), np.float32)
    full[given["rows"], given["columns"]] = given["values"]
    return {"y": full @ given["x"]}


def expected_dropout(given):
    bits = [(i * 2654435761 + given["seed"]) & 0xFFFFFFFF for i in range(N)]
    bits = [b ^ b >> 16 for b in bits]
    bits = [b * 2246822507 & 0xFFFFFFFF for b in bits]
    keep = [(b ^ b >> 13) % 100 < given["keep_percent"] for b in bits]
    return {"out": np.where(keep, given["x"], np.float32(0))}


def expected_adam(given):
    w, g = given["weights"].astype(float), given["gradient"].astype(float)
    m = 0.9 * given["first"] + 0.1 * g
    v = 0.999 * given["second"] + 0.001 * g * g
    t = given["t"]
    w -= 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return {"weights": w.astype(np.float32), "first": m.astype(np.float32), "second": v.astype(np.float32)}


def expected_logistic(given):
    error = 1 / (1 + np.exp(-given["x"] @ given["weights"])) - given["targets"]
    return {"gradient": error @ given["x"]}


CASES = [
    Case(
        name="softmax of rows",
        inputs=lambda rng: {"x": 3 * real(rng, (ROWS, COLS)), "out": blank((ROWS, COLS))},
        launches=[Launch(softmax_rows, ROWS, BLOCK, ("x", "out"))],
        expected=lambda given: softmax(given["x"]),
        rtol=1e-5,
        kinds=("learning", "shared", "barrier", "math"),
    ),
    Case(
        name="softmax in one pass",
        inputs=lambda rng: {"x": 3 * real(rng, (COLS, 8)), "out": blank((COLS, 8))},
        launches=[Launch(softmax_one_pass, 2, BLOCK, ("x", "out"))],
        expected=lambda given: softmax(given["x"]),
        rtol=1e-5,
        kinds=("learning", "loop", "math"),
    ),
    Case(
        name="argmax of rows",
        inputs=lambda rng: {"x": whole(rng, (N, 7)), "places": blank(N, np.int32)},
        launches=[Launch(argmax_rows, 2, 64, ("x", "places"))],
        expected=lambda given: {"places": given["x"].argmax(axis=1).astype(np.int32)},
        kinds=("learning", "loop"),
    ),
    Case(
        name="layer norm",
        inputs=lambda rng: {
            "x": real(rng, (ROWS, COLS)),
            "gain": real(rng, COLS),
            "bias": real(rng, COLS),
            "out": blank((ROWS, COLS)),
        },
        launches=[Launch(layer_norm, ROWS, BLOCK, ("x", "gain", "bias", "out"))],
        expected=expected_layer_norm,
        rtol=1e-5,
        kinds=("learning", "shared", "barrier", "math"),
    ),
    Case(
        name="relu backward",
        inputs=lambda rng: {"x": whole(rng, N), "gradient": real(rng, N), "out": blank(N)},
        launches=[Launch(relu_backward, 2, 64, ("x", "gradient", "out"))],
        expected=lambda given: {"out": np.where(given["x"] > 0, given["gradient"], np.float32(0))},
        kinds=("learning", "elementwise"),
    ),
    Case(
        name="cross entropy",
        inputs=lambda rng: {
            "logits": 2 * real(rng, (N, 6)),
            "labels": rng.integers(0, 6, N),
            "losses": blank(N),
        },
        launches=[Launch(cross_entropy, 2, 64, ("logits", "labels", "losses"))],
        expected=expected_cross_entropy,
        rtol=1e-5,
        kinds=("learning", "loop", "math", "view"),
    ),
    Case(
        name="binary cross entropy",
        inputs=lambda rng: {
            "predictions": rng.uniform(0.01, 0.99, N),
            "targets": rng.integers(0, 2, N).astype(np.float64),
            "loss": np.zeros(1),
        },
        launches=[Launch(binary_cross_entropy, 2, 64, ("predictions", "targets", "loss"))],
        expected=expected_bce,
        rtol=1e-12,
        kinds=("learning", "atomic", "math", "float64", "any order"),
    ),
    Case(
        name="embedding",
        inputs=lambda rng: {
            "table": real(rng, (30, 9)),
            "tokens": rng.integers(0, 30, 50),
            "out": blank((50, 9)),
        },
        launches=[Launch(embedding, (1, 7), (16, 8), ("table", "tokens", "out"))],
        expected=lambda given: {"out": given["table"][given["tokens"]]},
        kinds=("learning", "2d", "indices"),
    ),
    Case(
        name="embedding backward",
        inputs=lambda rng: {
            "gradient": whole(rng, (50, 9)),
            "tokens": rng.integers(0, 12, 50).astype(np.int32),
            "table_gradient": np.zeros((12, 9), np.float32),
        },
        launches=[Launch(embedding_backward, (1, 7), (16, 8), ("gradient", "tokens", "table_gradient"))],
        expected=expected_embedding_gradient,
        kinds=("learning", "2d", "atomic"),
    ),
    Case(
        name="matrix of distances",
        inputs=lambda rng: {"a": whole(rng, (23, 5)), "b": whole(rng, (17, 5)), "out": blank((23, 17))},
        launches=[Launch(distances, (3, 3), (8, 8), ("a", "b", "out"))],
        expected=lambda given: {"out": squared_distances(given["a"], given["b"])},
        kinds=("learning", "2d", "loop"),
    ),
    Case(
        name="a step of k-means",
        inputs=clusters,
        launches=[
            Launch(assign_clusters, 4, 32, ("points", "centres", "nearest")),
            Launch(sum_clusters, 4, 32, ("points", "nearest", "sums", "counts")),
            Launch(divide_clusters, 1, (4, 2), ("sums", "counts", "centres")),
        ],
        expected=expected_centres,
        rtol=1e-6,
        kinds=("learning", "shared", "barrier", "atomic", "several launches"),
    ),
    Case(
        name="nearest neighbours",
        inputs=lambda rng: {
            "queries": real(rng, (40, 2)),
            "points": real(rng, (60, 2)),
            "places": blank((40, K), np.int32),
        },
        launches=[Launch(nearest_neighbours, 2, 32, ("queries", "points", "places"))],
        expected=lambda given: {
            "places": squared_distances(given["queries"], given["points"])
            .argsort(axis=1)[:, :K]
            .astype(np.int32)
        },
        kinds=("learning", "local", "loop", "while"),
    ),
    Case(
        name="sparse matrix times vector",
        inputs=sparse,
        launches=[Launch(spmv_scalar, 2, 32, ("values", "columns", "starts", "x", "y"))],
        expected=expected_spmv,
        kinds=("learning", "sparse", "loop"),
    ),
    Case(
        name="sparse matrix times vector, one warp a row",
        inputs=sparse,
        launches=[Launch(spmv_vector, blocks(41, 2), 64, ("values", "columns", "starts", "x", "y"))],
        expected=expected_spmv,
        kinds=("learning", "sparse", "shuffle"),
        simulator=False,
    ),
    Case(
        name="sparse matrix of triples times vector",
        inputs=sparse,
        launches=lambda given: [
            Launch(spmv_coo, blocks(given["values"].size, 128), 128, ("values", "rows", "columns", "x", "y"))
        ],
        expected=expected_spmv,
        kinds=("learning", "sparse", "atomic"),
    ),
    Case(
        name="dropout by a hash",
        inputs=lambda rng: {"x": real(rng, N), "keep_percent": 70, "seed": 12345, "out": blank(N)},
        launches=[Launch(dropout, 2, 64, ("x", "keep_percent", "seed", "out"))],
        expected=expected_dropout,
        kinds=("learning", "bits"),
    ),
    Case(
        name="linear layer with relu",
        inputs=lambda rng: {
            "x": whole(rng, (13, 6)),
            "weights": whole(rng, (10, 6)),
            "bias": whole(rng, 10),
            "out": blank((13, 10)),
        },
        launches=[Launch(linear_relu, (2, 2), (8, 8), ("x", "weights", "bias", "out"))],
        expected=lambda given: {"out": np.maximum(given["x"] @ given["weights"].T + given["bias"], 0)},
        kinds=("learning", "2d", "loop"),
    ),
    Case(
        name="step with momentum",
        inputs=lambda rng: {
            "weights": real(rng, N),
            "gradient": real(rng, N),
            "velocity": real(rng, N),
            "rate": np.float32(0.1),
            "momentum": np.float32(0.9),
        },
        launches=[Launch(momentum_step, 2, 64, ("weights", "gradient", "velocity", "rate", "momentum"))],
        expected=lambda given: {
            "velocity": (
                velocity := np.float32(0.9) * given["velocity"] - np.float32(0.1) * given["gradient"]
            ),
            "weights": given["weights"] + velocity,
        },
        rtol=1e-6,
        kinds=("learning", "elementwise"),
    ),
    Case(
        name="step of Adam",
        inputs=lambda rng: {
            "weights": real(rng, N),
            "gradient": real(rng, N),
            "first": real(rng, N),
            "second": np.abs(real(rng, N)),
            "t": 3,
        },
        launches=[Launch(adam_step, 2, 64, ("weights", "gradient", "first", "second", "t"))],
        expected=expected_adam,
        rtol=1e-6,
        kinds=("learning", "elementwise", "math"),
    ),
    Case(
        name="one-hot rows",
        inputs=lambda rng: {"labels": rng.integers(0, 11, 30), "out": blank((30, 11))},
        launches=[Launch(one_hot, (4, 2), (8, 8), ("labels", "out"))],
        expected=lambda given: {"out": np.eye(11, dtype=np.float32)[given["labels"]]},
        kinds=("learning", "2d"),
    ),
    Case(
        name="gelu",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(gelu, 2, 64, ("x", "out"))],
        expected=lambda given: {
            "out": np.array(
                [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in given["x"].tolist()], np.float32
            )
        },
        rtol=1e-6,
        kinds=("learning", "elementwise", "math"),
    ),
    Case(
        name="count of right answers",
        inputs=lambda rng: {
            "logits": real(rng, (N, 3)),
            "labels": rng.integers(0, 3, N).astype(np.int32),
            "correct": np.zeros(1, np.int32),
        },
        launches=[Launch(count_correct, 2, 64, ("logits", "labels", "correct"))],
        expected=lambda given: {
            "correct": np.array([(given["logits"].argmax(axis=1) == given["labels"]).sum()], np.int32)
        },
        kinds=("learning", "barrier", "barrier that counts", "atomic"),
    ),
    Case(
        name="gradient of logistic regression",
        inputs=lambda rng: {
            "x": real(rng, (N, 4), np.float64),
            "targets": rng.integers(0, 2, N).astype(np.float64),
            "weights": real(rng, 4, np.float64),
            "gradient": np.zeros(4),
        },
        launches=[Launch(logistic_gradient, 4, BLOCK, ("x", "targets", "weights", "gradient"))],
        expected=expected_logistic,
        rtol=1e-12,
        kinds=("learning", "shared", "barrier", "atomic", "math", "float64", "any order"),
    ),
]
