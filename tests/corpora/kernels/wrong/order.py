"""Results that depend on the order in which threads or blocks come, without any race: all by atomics."""

from functools import partial

import numpy as np
from numba import cuda, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, blocks, whole
from tests.corpora.kernels.wrong.case import GLOBAL, ORDER_DEPENDENCE, SHARED, wrong

BLOCK = 32


@cuda.jit
def last_negative(x, last):
    """the place of the last negative element"""
    i = cuda.grid(1)
    if i < x.size and x[i] < 0:
        cuda.atomic.exch(last, 0, i)  # !finding


@cuda.jit
def first_negative(x, first):
    """the place of the first negative element; -1 if there is none"""
    i = cuda.grid(1)
    if i < x.size and x[i] < 0:
        cuda.atomic.cas(first, 0, -1, i)  # !finding


@cuda.jit
def compact_in_order(x, out, count):
    """the negative elements, in their order"""
    i = cuda.grid(1)
    if i < x.size and x[i] < 0:
        place = cuda.atomic.add(count, 0, 1)  # !finding
        out[place] = x[i]  # !finding


@cuda.jit
def compact_block_in_order(x, out):
    """the negative elements of each block, in their order, and zeros after them"""
    count = cuda.shared.array(1, int32)
    kept = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    kept[tid] = 0
    if tid == 0:
        count[0] = 0
    cuda.syncthreads()
    if x[i] < 0:
        place = cuda.atomic.add(count, 0, 1)  # !finding
        kept[place] = x[i]  # !finding
    cuda.syncthreads()
    out[i] = kept[tid]  # !finding


@cuda.jit
def scan_by_atomics(x, out, total):
    """the sum of all elements before each"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = cuda.atomic.add(total, 0, x[i])  # !finding


@cuda.jit
def scan_with_block_tickets(x, out, total):
    """the sum of all blocks before each: the first thread of a block adds up"""
    if cuda.threadIdx.x == 0:
        mine = 0
        for k in range(cuda.blockIdx.x * BLOCK, min((cuda.blockIdx.x + 1) * BLOCK, x.size)):
            mine += x[k]
        out[cuda.blockIdx.x] = cuda.atomic.add(total, 0, mine)  # !finding


@cuda.jit
def first_ten(x, sample, count):
    """the first ten elements larger than 5"""
    i = cuda.grid(1)
    if i < x.size and x[i] > 5:
        ticket = cuda.atomic.add(count, 0, 1)  # !finding
        if ticket < 10:
            sample[ticket] = i  # !finding


@cuda.jit
def lists_by_push(buckets, heads, following):
    """lists of the elements of each bucket; the newest comes first"""
    i = cuda.grid(1)
    if i < buckets.size:
        following[i] = cuda.atomic.exch(heads, buckets[i], i)  # !finding


@cuda.jit
def deal_in_turn(counter, last, player):
    """cards are dealt to players in turn"""
    i = cuda.grid(1)
    if i < player.size:
        player[i] = cuda.atomic.inc(counter, 0, last)  # !finding


@cuda.jit
def withdraw(amounts, balance, paid):
    """pay each amount for which there is still enough"""
    i = cuda.grid(1)
    if i < amounts.size:
        there = cuda.atomic.add(balance, 0, 0)
        while there >= amounts[i]:
            found = cuda.atomic.cas(balance, 0, there, there - amounts[i])  # !finding
            if found == there:
                paid[i] = 1  # !finding
                break
            there = found


@cuda.jit
def leader_of_block(x, leaders):
    """the element of each block's leader: the thread that draws the first ticket"""
    tickets = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        tickets[0] = 0
    cuda.syncthreads()
    if cuda.atomic.add(tickets, 0, 1) == 0:  # !finding
        leaders[cuda.blockIdx.x] = x[cuda.grid(1)]  # !finding


@cuda.jit
def blocks_by_ticket(x, out, ticket):
    """the sum of each block; the blocks number themselves"""
    number = cuda.shared.array(1, int32)
    total = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        number[0] = cuda.atomic.add(ticket, 0, 1)  # !finding
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[cuda.grid(1)])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[number[0]] = total[0]  # !finding


N = 150
order_dependence = partial(wrong, finding=ORDER_DEPENDENCE, space=GLOBAL)


def on_vector(kernel, names, n=N):
    return [Launch(kernel, blocks(n, BLOCK), BLOCK, names)]


def one(value):
    return np.array([value], np.int32)


def numbers(rng, n=N):
    return whole(rng, n, dtype=np.int32)


def expected_compact(given):
    kept = given["x"][given["x"] < 0]
    return {"out": np.append(kept, given["out"][kept.size :]), "count": one(kept.size)}


def expected_compact_blocks(given):
    out = np.zeros((4, BLOCK), np.int32)
    for row, x in zip(out, given["x"].reshape(4, BLOCK), strict=True):
        row[: (x < 0).sum()] = x[x < 0]
    return {"out": out.reshape(-1)}


def expected_lists(given):
    heads, following = given["heads"].copy(), np.empty_like(given["following"])
    for i, bucket in enumerate(given["buckets"]):
        following[i] = heads[bucket]
        heads[bucket] = i
    return {"heads": heads, "following": following}


def expected_paid(given):
    balance, paid = given["balance"][0], np.zeros(given["amounts"].size, np.int32)
    for i, amount in enumerate(given["amounts"]):
        if balance >= amount:
            balance -= amount
            paid[i] = 1
    return {"paid": paid, "balance": one(balance)}


CASES = [
    order_dependence(
        "last of all by exchange",
        "The highest thread comes last.",
        inputs=lambda rng: {"x": numbers(rng), "last": one(-1)},
        launches=on_vector(last_negative, ("x", "last")),
        expected=lambda given: {"last": one(np.flatnonzero(given["x"] < 0)[-1])},
        often_right=True,
    ),
    order_dependence(
        "first of all by compare-and-swap",
        "The lowest thread comes first.",
        inputs=lambda rng: {"x": numbers(rng), "first": one(-1)},
        launches=on_vector(first_negative, ("x", "first")),
        expected=lambda given: {"first": one(np.flatnonzero(given["x"] < 0)[0])},
        often_right=True,
    ),
    order_dependence(
        "stable compaction by tickets",
        "Tickets are drawn in the order of the threads.",
        inputs=lambda rng: {"x": numbers(rng), "out": blank(N, np.int32), "count": one(0)},
        launches=on_vector(compact_in_order, ("x", "out", "count")),
        expected=expected_compact,
        often_right=True,
    ),
    order_dependence(
        "stable compaction within a block",
        "Within a block the threads draw their tickets in order.",
        inputs=lambda rng: {"x": numbers(rng, 128), "out": blank(128, np.int32)},
        launches=on_vector(compact_block_in_order, ("x", "out"), 128),
        expected=expected_compact_blocks,
        space=SHARED,
        often_right=True,
    ),
    order_dependence(
        "scan by atomic addition",
        "What an atomic addition gives back is the sum of all threads before.",
        inputs=lambda rng: {"x": whole(rng, N, 1, 9, np.int32), "out": blank(N, np.int32), "total": one(0)},
        launches=on_vector(scan_by_atomics, ("x", "out", "total")),
        expected=lambda given: {"out": (np.cumsum(given["x"]) - given["x"]).astype(np.int32)},
    ),
    order_dependence(
        "sums before each block by atomic addition",
        "Block 1 comes after block 0.",
        inputs=lambda rng: {"x": whole(rng, N, 1, 9, np.int32), "out": blank(5, np.int32), "total": one(0)},
        launches=on_vector(scan_with_block_tickets, ("x", "out", "total")),
        expected=lambda given: {
            "out": np.cumsum(np.append(0, np.add.reduceat(given["x"], range(0, N, BLOCK)))[:-1]).astype(
                np.int32
            )
        },
        often_right=True,
    ),
    order_dependence(
        "first ten by tickets",
        "The first ten tickets go to the first ten elements.",
        inputs=lambda rng: {"x": numbers(rng), "sample": blank(10, np.int32), "count": one(0)},
        launches=on_vector(first_ten, ("x", "sample", "count")),
        expected=lambda given: {"sample": np.flatnonzero(given["x"] > 5)[:10].astype(np.int32)},
        often_right=True,
    ),
    order_dependence(
        "newest first in a list",
        "A later thread pushes later.",
        inputs=lambda rng: {
            "buckets": whole(rng, N, 0, 7, np.int32),
            "heads": np.full(7, -1, np.int32),
            "following": blank(N, np.int32),
        },
        launches=on_vector(lists_by_push, ("buckets", "heads", "following")),
        expected=expected_lists,
    ),
    order_dependence(
        "dealing in turn by a wrapping counter",
        "Thread i draws ticket i.",
        inputs=lambda rng: {
            "counter": np.zeros(1, np.uint32),
            "last": np.uint32(4),
            "player": blank(N, np.int32),
        },
        launches=on_vector(deal_in_turn, ("counter", "last", "player")),
        expected=lambda given: {"player": (np.arange(N) % 5).astype(np.int32)},
        often_right=True,
    ),
    order_dependence(
        "who is paid while the money lasts",
        "The requests are served in the order of the threads.",
        inputs=lambda rng: {
            "amounts": whole(rng, N, 1, 50, np.int32),
            "balance": one(1000),
            "paid": np.zeros(N, np.int32),
        },
        launches=on_vector(withdraw, ("amounts", "balance", "paid")),
        expected=expected_paid,
    ),
    order_dependence(
        "leader by the first ticket",
        "Thread 0 draws the first ticket of its block.",
        inputs=lambda rng: {"x": np.arange(128, dtype=np.int32), "leaders": blank(4, np.int32)},
        launches=on_vector(leader_of_block, ("x", "leaders"), 128),
        expected=lambda given: {"leaders": given["x"][::BLOCK]},
        space=SHARED,
        often_right=True,
    ),
    order_dependence(
        "blocks that number themselves",
        "A block's ticket is its number.",
        inputs=lambda rng: {"x": numbers(rng, 128), "out": blank(4, np.int32), "ticket": one(0)},
        launches=on_vector(blocks_by_ticket, ("x", "out", "ticket"), 128),
        expected=lambda given: {"out": given["x"].reshape(4, BLOCK).sum(axis=1, dtype=np.int32)},
        often_right=True,
    ),
]
