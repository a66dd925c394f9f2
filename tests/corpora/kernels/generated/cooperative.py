"""Generates kernels whose threads cooperate, with the truth by construction: which accesses race, and which do not.

A kernel is a list of steps that every thread of a block takes: a store, a load, an atomic, a barrier. All indices depend
on the numbers of the thread and the block only, so `truth` can list every access of every thread and compare each pair;
it shares no code with the check. Every stored value is another one, because the check ignores a store of the value that
an element already has; the last line adds 1 for the same reason.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

KINDS = (
    "right",
    "a barrier less",
    "a barrier of the warp only",
    "blocks share elements",
    "threads share elements",
    "not initialised",
    "barrier in a branch",
    "return before a barrier",
    "mask names absent lanes",
    "out of bounds",
    "order of atomics",
)
WARP = 32
# Indices by class: a bijection of the block's threads onto its elements, or a map that several threads share.
OWN = ("t", "(t + 1) % N", "(t + 5) % N", "N - 1 - t", "t ^ 1", "t ^ 8", "(t + N // 2) % N")
OWN_IN_LOOP = ("(t + s) % N", "(t + 2 * s + 1) % N", "t ^ (1 << s)")
SHARED_BY_MANY = ("t // 2", "t % 8", "0", "t & 6")


@dataclass(frozen=True)
class Step:
    """What every thread does at one line: an access, or a wait.

    Attributes
    ----------
    kind
        "store", "load", "atomic", "ticket" (an atomic whose old value is used), "block", "warp", "divergent" (a barrier
        in a branch), "return", "shuffle", "torn" (a shuffle in a branch).
    array
        "tile", "other" (both shared) or "out" (global).
    index
        An expression in t (thread), b (block), s (pass of the loop), N (threads of a block).
    guard
        Threads below it take the step; 0 means all.
    apart
        Whether the step stands in a device function.
    """

    kind: str
    array: str = ""
    index: str = ""
    guard: int = 0
    number: int = 0  # makes its stored values unlike those of other steps
    apart: bool = False


@dataclass(frozen=True)
class Loop:
    passes: int
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Kernel:
    kind: str
    seed: int
    blocks: int
    threads: int
    steps: tuple[Step | Loop, ...]

    @property
    def name(self) -> str:
        return f"{self.kind} {self.seed}"


@dataclass
class Truth:
    """What is wrong with a kernel.

    Attributes
    ----------
    required
        For each fault, the kinds of which one has to be found.
    allowed
        Kinds that may be found as well.
    racing
        Lines of accesses that race.
    out
        The array `out` after a launch, if nothing is wrong.
    """

    required: list[set[str]] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)
    racing: set[int] = field(default_factory=set)
    out: np.ndarray | None = None

    @property
    def right(self) -> bool:
        return not self.required


# ---- as text


def value_of(step: Step) -> str:
    return f"{step.number * 100_003} + b * N + t + 1009 * s"


def lines_of(step: Step) -> list[str]:
    """Return the lines of a step; the access is in the last one."""
    where = f"{step.array}[{step.index}]"
    head = [f"if t < {step.guard}:"] if step.guard else []
    inner = {
        "store": f"{where} = {value_of(step)}",
        "load": f"v += {where}",
        "atomic": f"cuda.atomic.add({step.array}, {step.index}, {value_of(step)})",
        "ticket": f"v += cuda.atomic.add({step.array}, {step.index}, {value_of(step)})",
        "block": "wait()" if step.apart else "cuda.syncthreads()",
        "divergent": "cuda.syncthreads()",
        "warp": "cuda.syncwarp()",
        "shuffle": "v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)",
        "torn": "v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)",
        "return": "return",
    }[step.kind]
    return [*head, "    " * bool(head) + inner]


def source_of(kernel: Kernel) -> tuple[str, dict[int, int]]:
    """Return the kernel's text, and the line of each step by the identity of its `Step`."""
    apart = any(step.apart for step, _ in flat(kernel))
    lines = ["@cuda.jit(device=True)", "def wait():", "    cuda.syncthreads()", "", ""] if apart else []
    lines += ["@cuda.jit", "def program(out):", f"    N = {kernel.threads}"]
    arrays = {step.array for step, _ in flat(kernel)} & {"tile", "other"}
    lines += [f"    {name} = cuda.shared.array({kernel.threads}, np.int64)" for name in sorted(arrays)]
    lines += ["    t, b, s = cuda.threadIdx.x, cuda.blockIdx.x, 0", "    v = 0"]
    places = {}
    for each in kernel.steps:
        body, indent = (each.body, 2) if isinstance(each, Loop) else ((each,), 1)
        if isinstance(each, Loop):
            lines.append(f"    for s in range({each.passes}):")
        for step in body:
            lines += ["    " * indent + line for line in lines_of(step)]
            places[id(step)] = 3 if step.kind == "block" and step.apart else len(lines)
        if isinstance(each, Loop):
            lines.append("    s = 0")
    lines.append("    out[b * N + t] += v + 1")
    places[0] = len(lines)
    return "\n".join(lines) + "\n", places


# ---- the truth


def flat(kernel: Kernel) -> Iterator[tuple[Step, int]]:
    """Yield the steps in the order in which a thread takes them, each with the pass of its loop."""
    for each in kernel.steps:
        if isinstance(each, Loop):
            for s in range(each.passes):
                yield from ((step, s) for step in each.body)
        else:
            yield each, 0


def stores(step: Step) -> bool:
    return step.kind != "load"


def atomic(step: Step) -> bool:
    return step.kind in ("atomic", "ticket")


def values(text: str, b: int, s: int, n: int, threads: int) -> np.ndarray:
    """Return the value of an expression in t, b, s and N for the first threads of a block."""
    found = eval(text, {}, {"t": np.arange(threads), "b": b, "s": s, "N": n})
    return np.broadcast_to(found, threads)


@dataclass
class Turn:
    """The threads that access one element at one step of their program."""

    step: Step
    line: int
    threads: set[tuple[int, int]] = field(default_factory=set)  # block and thread


def truth(kernel: Kernel) -> Truth:
    """Compare every pair of accesses to an element, and return what is wrong."""
    _, places = source_of(kernel)
    found, n = Truth(), kernel.threads
    elements: dict[tuple, dict[int, Turn]] = {}  # by element: its turns, by their place in the program
    waits: dict[str, list[int]] = {"block": [], "warp": []}
    left = barrier_fault = False
    own = "b * N + t"
    order = [*flat(kernel), (Step("load", "out", own), 0), (Step("store", "out", own), 0)]
    for when, (step, s) in enumerate(order):
        line = places.get(id(step), places[0])
        if step.kind in waits:
            waits[step.kind].append(when)
            barrier_fault |= left and step.kind == "block"
        barrier_fault |= step.kind == "divergent"
        left |= step.kind == "return"
        if step.kind == "torn" and {"warp synchronisation"} not in found.required:
            found.required.append({"warp synchronisation"})
        if not step.array:
            continue
        size = n if step.array != "out" else n * kernel.blocks
        for b in range(kernel.blocks):
            indices = values(step.index, b, s, n, step.guard or n)
            if ((indices < 0) | (indices >= size)).any():
                return Truth([{"out of bounds"}], ANYTHING, set(places.values()))
            for t, index in enumerate(indices.tolist()):
                turns = elements.setdefault((step.array, b if step.array != "out" else -1, index), {})
                turns.setdefault(when, Turn(step, line)).threads.add((b, t))
    if barrier_fault:
        return Truth([{"barrier divergence"}], ANYTHING, set(places.values()))
    late = empty = False
    for (array, _, _), turns in elements.items():
        numbered = list(turns.items())
        for k, (when, one) in enumerate(numbered):
            for then, other in numbered[k:]:
                if not (stores(one.step) or stores(other.step)) or not meet(one, other, when, then, waits):
                    continue
                if atomic(one.step) and atomic(other.step):
                    late |= "ticket" in (one.step.kind, other.step.kind)
                else:
                    found.racing |= {one.line, other.line}
        empty |= array != "out" and unfilled(turns)
    if found.racing:
        # The check calls a race within a warp by what is missing.
        found.required = [{"race", "warp synchronisation"}]
        found.allowed = ANYTHING
    else:
        found.required += [{"uninitialised read"}] * empty + [{"order dependence"}] * (late and not empty)
        found.allowed = {"order dependence"} if empty or late else set()
    found.out = None if found.required else result(kernel)
    return found


ANYTHING = {"race", "warp synchronisation", "uninitialised read", "order dependence"}


def meet(one: Turn, other: Turn, when: int, then: int, waits: dict[str, list[int]]) -> bool:
    """Return whether a thread of one turn and another thread of the other are not ordered."""
    if any(when < each < then for each in waits["block"]):
        place = [{b for b, _ in each.threads} for each in (one, other)]
    elif any(when < each < then for each in waits["warp"]):
        place = [{(b, t // WARP) for b, t in each.threads} for each in (one, other)]
    else:
        place = [one.threads, other.threads]
    return len(place[0] | place[1]) > 1


def unfilled(turns: dict[int, Turn]) -> bool:
    """Return whether an element is read before anything was stored in it; the turns do not race."""
    for _, turn in sorted(turns.items()):
        if turn.step.kind == "store":
            return False
        if turn.step.kind in ("load", "ticket"):
            return True
    return False


def result(kernel: Kernel) -> np.ndarray:
    """Return `out` after a launch of a right kernel: all threads take one step after another."""
    n = kernel.threads
    out = np.zeros(n * kernel.blocks, np.int64)
    for b in range(kernel.blocks):
        arrays = {"tile": np.zeros(n, np.int64), "other": np.zeros(n, np.int64), "out": out}
        v = np.zeros(n, np.int64)
        for step, s in flat(kernel):
            if step.kind == "shuffle":
                v = v + v[np.arange(n) ^ 1]
            if not step.array:
                continue
            threads = step.guard or n
            indices = values(step.index, b, s, n, threads)
            if step.kind == "load":
                v[:threads] += arrays[step.array][indices]
            elif step.kind == "store":
                arrays[step.array][indices] = values(value_of(step), b, s, n, threads)
            else:
                if step.kind == "ticket":
                    v[:threads] += arrays[step.array][indices]
                np.add.at(arrays[step.array], indices, values(value_of(step), b, s, n, threads))
        out[b * n : (b + 1) * n] += v + 1
    return out


# ---- generating


class Maker:
    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.rng = random.Random(f"cooperative {kind} {seed}")
        self.number = 0

    def access(self, in_loop: bool, array: str = "") -> Step:
        rng = self.rng
        array = array or rng.choice(["tile", "tile", "other", "out"])
        kind = rng.choice(["store", "load", "load", "atomic"])
        maps = [*OWN, *(OWN_IN_LOOP if in_loop else ())]
        if kind in ("load", "atomic"):
            maps += SHARED_BY_MANY
        index = rng.choice(maps)
        if array == "out":
            index = f"b * N + {index if ' ' not in index else f'({index})'}"
        guard = rng.choice([0, 0, 0, WARP, 10, 1])
        self.number += 1
        return Step(kind, array, index, guard, self.number)

    def barrier(self) -> Step:
        return Step("block", apart=self.rng.random() < 0.15)

    def right(self) -> Kernel:
        """Return a kernel in which every pair of accesses that conflict is ordered by a barrier."""
        rng = self.rng
        threads, blocks = rng.choice([32, 64, 96]), rng.choice([1, 1, 2])
        steps: list[Step | Loop] = []
        for array in ("tile", "other"):
            self.number += 1
            steps.append(Step("store", array, rng.choice(OWN), 0, self.number))
        for _ in range(rng.choice([2, 3, 4, 5])):
            if rng.random() < 0.3:
                body = tuple(self.access(True) for _ in range(rng.choice([1, 2, 3])))
                steps.append(Loop(rng.choice([2, 3]), body))
            elif rng.random() < 0.1:
                steps.append(Step("shuffle"))
            else:
                steps.append(self.access(False))
        self.number += 1
        kernel = Kernel(self.kind, self.seed, blocks, threads, tuple(steps))
        return self.with_barriers(kernel)

    def with_barriers(self, kernel: Kernel) -> Kernel:
        """Put barriers before steps until nothing races; drop a step that races with itself."""
        for _ in range(60):
            racing = truth(kernel).racing
            if not racing:
                return kernel
            _, places = source_of(kernel)
            # The last line that races: a barrier before it, or, if there is one already, one at its loop's end.
            line = max(racing)
            kernel = self.mended(kernel, places, line)
        return replace(kernel, steps=(Step("store", "tile", "t", 0, 1), Step("load", "tile", "t")))

    def mended(self, kernel: Kernel, places: dict[int, int], line: int) -> Kernel:
        wait = Step("warp") if self.rng.random() < 0.3 else self.barrier()
        steps: list[Step | Loop] = []
        for each in kernel.steps:
            body = each.body if isinstance(each, Loop) else (each,)
            new: list[Step] = []
            for step in body:
                if places.get(id(step)) == line and step.kind not in ("block", "warp"):
                    before = (
                        new[-1] if new else None if isinstance(each, Loop) else steps[-1] if steps else None
                    )
                    if isinstance(before, Step) and before.kind == "block":
                        continue  # a barrier stands there already: the step races with itself
                    if isinstance(before, Step) and before.kind == "warp":
                        (new if new else steps).pop()
                        wait = self.barrier()
                    new.append(wait)
                new.append(step)
            if isinstance(each, Loop):
                steps += [Loop(each.passes, tuple(new))] if new else []
            else:
                steps += new
        if line == places[0]:
            steps.append(self.barrier())
        return replace(kernel, steps=tuple(steps))

    def changed(self, kernel: Kernel, kinds: tuple[str, ...], change) -> Kernel:
        """Replace one step of these kinds, chosen at random, by what `change` returns: a list of steps."""
        found = [
            step
            for each in kernel.steps
            for step in (each.body if isinstance(each, Loop) else (each,))
            if step.kind in kinds
        ]
        if not found:
            return kernel
        chosen = self.rng.choice(found)
        steps: list[Step | Loop] = []
        for each in kernel.steps:
            if isinstance(each, Loop):
                body = tuple(
                    new for step in each.body for new in (change(step) if step is chosen else [step])
                )
                steps += [Loop(each.passes, body)] if body else []
            else:
                steps += change(each) if each is chosen else [each]
        return replace(kernel, steps=tuple(steps))

    def make(self) -> Kernel:
        kernel, rng, kind = self.right(), self.rng, self.kind
        n = kernel.threads
        accesses = ("store", "load", "atomic")
        if kind == "a barrier less":
            return self.changed(kernel, ("block", "warp"), lambda step: [])
        if kind == "a barrier of the warp only":
            return self.changed(kernel, ("block",), lambda step: [Step("warp")])
        if kind == "blocks share elements":
            self.number += 1
            extra = Step(
                rng.choice(["store", "load"]), "out", rng.choice(OWN), rng.choice([0, 10]), self.number
            )
            wider = replace(kernel, blocks=2)
            return self.changed(wider, accesses, lambda step: [step, self.barrier(), extra, self.barrier()])
        if kind == "threads share elements":
            self.number += 1
            extra = Step("store", rng.choice(["tile", "other"]), rng.choice(SHARED_BY_MANY), 0, self.number)
            return self.changed(kernel, accesses, lambda step: [step, self.barrier(), extra, self.barrier()])
        if kind == "not initialised":
            first = next(step for step in kernel.steps if isinstance(step, Step) and step.kind == "store")
            less = [] if rng.random() < 0.5 else [replace(first, guard=max(1, n // 2))]
            return replace(
                kernel,
                steps=tuple(new for each in kernel.steps for new in (less if each is first else [each])),
            )
        if kind == "barrier in a branch":
            torn = Step("divergent", guard=rng.choice([1, 10, n - 1, n // 2]))
            return self.changed(kernel, ("block",), lambda step: [torn])
        if kind == "return before a barrier":
            leave = Step("return", guard=rng.choice([1, 10, n - 1, n // 2]))
            return self.changed(kernel, ("block",), lambda step: [leave, step])
        if kind == "mask names absent lanes":
            torn = Step("torn", guard=rng.choice([1, 10, 16, n - 1]))
            return self.changed(kernel, accesses, lambda step: [step, torn, self.barrier()])
        if kind == "out of bounds":
            return self.changed(kernel, accesses, lambda step: [beyond(step, rng)])
        if kind == "order of atomics":
            self.number += 1
            ticket = Step("ticket", rng.choice(["tile", "other"]), rng.choice(SHARED_BY_MANY), 0, self.number)
            return self.changed(kernel, accesses, lambda step: [step, self.barrier(), ticket, self.barrier()])
        return kernel


def beyond(step: Step, rng: random.Random) -> Step:
    index = rng.choice(["t + 1", "t * 2", "N - t", "t - 1 + 2 * N"])
    return replace(step, guard=0, index=f"b * N + N * 2 + {index}" if step.array == "out" else index)


def generate(kind: str, seed: int) -> Kernel:
    """Return the kernel of a kind and a seed: always the same."""
    return Maker(kind, seed).make()


def kernels(count: int, first: int = 0) -> list[Kernel]:
    """Return `count` kernels from the seeds that begin at `first`: half are right, the others have each kind in turn."""
    wrong = KINDS[1:]
    return [
        generate("right", first + k // 2)
        if k % 2 == 0
        else generate(wrong[k // 2 % len(wrong)], first + k // 2 // len(wrong))
        for k in range(count)
    ]


def as_text(value: Any) -> str:
    return source_of(value)[0]
