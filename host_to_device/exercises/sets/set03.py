"""Checks of solutions/03-kernels-numba.ipynb: made by `make exercises`, edit them there."""

import math
import re

import numpy as np

from host_to_device.exercises import (
    Exercise,
    InOut,
    Out,
    Wrong,
    inputs,
    judge_function,
    judge_kernel,
    judge_sectors,
    run_function,
    run_kernel,
    run_notes,
    seen_launches,
    wide_operations,
)
from host_to_device.exercises.values import said

TITLE = "Your first twenty kernels"


class Window(Exercise):
    """Through the window."""

    number, points, minutes = "03.1", 2, 5
    seconds = 40.0  # the first kernel of a notebook brings the compiler along, also on a busy machine
    needs = ("kernel window(volume, low, high, out)",)
    hints = (
        "`cuda.grid(3)` gives three numbers, x first. Which axis of the array does each of them count, and what is "
        "its last number on that axis?",
        "`column, row, layer = cuda.grid(3)`, and the element is `volume[layer, row, column]`. The launch is rounded "
        "up along all three axes, so the guard has three parts. A uint8 holds 0 to 255, and nobody keeps a larger "
        "number from being stored there.",
        "Below the guard: `value = min(max(volume[layer, row, column], low), high)`, and then "
        "`out[layer, row, column] = (value - low) * 255 // (high - low)`.",
    )

    def cases(self, seed):
        shapes = [(5, 11, 35), (1, 1, 1), (11, 3, 21), (2, 18, 6)]
        if seed:
            generator = np.random.default_rng((0x31, seed))
            shapes = [
                tuple(int(generator.integers(low, high)) for low, high in sides)
                for sides in (
                    ((3, 8), (9, 15), (33, 45)),
                    ((1, 2), (1, 2), (1, 2)),
                    ((9, 15), (3, 6), (17, 30)),
                    ((2, 4), (17, 30), (5, 9)),
                )
            ]
        blocks = [(16, 4, 2), (8, 4, 4), (16, 2, 8), (4, 16, 4)]
        windows = [(-1000, 20), (-160, 240), (-1350, 150), (-450, 1050)]
        cases = []
        for place, (shape, block, ends) in enumerate(zip(shapes, blocks, windows, strict=True)):
            # No side is a multiple of its block's.
            shape = [n + (n > 1 and n % per == 0) for n, per in zip(shape, block[::-1], strict=True)]
            grid = [math.ceil(n / per) for n, per in zip(shape[::-1], block, strict=True)]
            case = {"shape": shape, "window": ends, "grid": grid, "block": block}
            cases.append(case | {"seed": seed * 100 + place})
        return cases

    def says(self, case):
        low, high = case["window"]
        return f"shape {tuple(case['shape'])}, window {low} to {high}"

    def volume(self, case):
        values = inputs.distinct(case["shape"], np.int32, seed=case["seed"])
        return (values % 4096 - 1500).astype(np.int16)

    def run(self, student, case):
        volume = self.volume(case)
        given = (volume, *case["window"], Out(volume.shape, np.uint8))
        return run_kernel(student.window, given, case["grid"], case["block"])

    def judge(self, case, got):
        volume, (low, high) = self.volume(case), case["window"]
        value = volume.astype(np.int64)
        inside = np.clip(value, low, high)
        right = ((inside - low) * 255 // (high - low)).astype(np.uint8)
        found = got["findings"][0]["text"] if got["findings"] else ""
        index = re.search(r"\[(-?\d+), (-?\d+), (-?\d+)\]", found)
        hints = {
            "out of bounds": "The grid is rounded up along z as well: five layers in blocks of two are three blocks, and "
            "the sixth layer does not exist."
            if index and int(index[1]) >= case["shape"][0]
            else "Three numbers have three limits. A column that does not exist has a number in the flat "
            "array all the same, that of an element in a later row: compare column, row and layer each with its own "
            "side of the shape."
        }
        threads = [blocks * per for blocks, per in zip(case["grid"], case["block"], strict=True)]
        reached = math.prod(min(each) for each in zip(threads, case["shape"], strict=True))
        if reached < volume.size and found.startswith(f"{volume.size - reached:,} of "):
            hints["unwritten"] = (
                "The first number of `cuda.grid(3)` is x, and x counts the columns, which are the last axis of the "
                "array. The names in front of the = have to come in the order x, y, z."
            )
        mistakes = [
            (
                ((value - low) * 255 // (high - low)).astype(np.uint8),
                "A store into uint8 keeps the lowest eight bits and drops the rest, so what is a little too bright "
                "comes out black. Bring the value into the window first.",
            ),
        ]
        judge_kernel(got, right, inputs=[volume], hints=hints, mistakes=mistakes)


class MomentumStep(Exercise):
    """One launch for every size."""

    number, points, minutes = "03.2", 3, 10
    needs = ("kernel momentum_step(weights, velocity, gradient, rate, momentum)",)
    hints = (
        "A thread that has done its element may do another one. Which elements are nobody's yet when all threads of "
        "the grid have done one?",
        "The grid lies down on the array, and then moves on by its own length until the array ends. "
        "`cuda.gridsize(1)` is that length, in threads.",
        "`for i in range(cuda.grid(1), weights.size, cuda.gridsize(1)):`, and below it two lines: one for "
        "`velocity[i]`, one for `weights[i]`.",
    )

    def cases(self, seed):
        launches = [(250, 3, 32), (811, 2, 32), (77, 1, 1), (6, 4, 32), (500, 2, 96)]
        if seed:
            generator = np.random.default_rng((0x32, seed))
            launches = [
                (int(generator.integers(200, 280)), 3, 32),
                (int(generator.integers(700, 900)), 2, 32),
                (int(generator.integers(30, 90)), 1, 1),
                (int(generator.integers(3, 60)), 5, 32),
                (int(generator.integers(400, 600)), int(generator.integers(2, 4)), 96),
            ]
        return [
            {"size": size, "grid": grid, "block": block, "seed": seed * 1000 + 10 * place}
            for place, (size, grid, block) in enumerate(launches)
        ]

    def says(self, case):
        blocks, threads = case["grid"], case["block"]
        return f"size {case['size']:,}, launched with [{blocks}, {threads}]"

    def arrays(self, case):
        return [inputs.distinct(case["size"], seed=case["seed"] + place) for place in (0, 1, 2)]

    def run(self, student, case):
        weights, velocity, gradient = self.arrays(case)
        given = (InOut(weights), InOut(velocity), gradient, 0.25, 0.5)
        return {
            "kernel": run_kernel(student.momentum_step, given, case["grid"], case["block"]),
            "notes": run_notes(student.momentum_step, given, case["grid"], case["block"]),
            "alone": run_notes(student.momentum_step, given, 1, 1)["accesses"],
        }

    def judge(self, case, got):
        size, blocks, threads = case["size"], case["grid"], case["block"]
        weights, velocity, gradient = self.arrays(case)
        after = (velocity / 2 + gradient).astype(np.float32)
        right = (weights - after / 4).astype(np.float32)

        # How often an element was taken, all in all: one thread that is alone takes each of them once.
        taken = round(got["notes"]["accesses"] * size / got["alone"]) if got["alone"] else 0
        race = "Some elements were taken by two threads. Who takes which has to follow from the launch, without overlap."
        firsts = range(min(size, blocks * threads))
        if taken == blocks * size:
            race = (
                "Every block went through the whole array. `threadIdx.x` tells threads of one block apart and no "
                "others: begin at the thread's number in the grid."
            )
        elif taken == sum(math.ceil((size - first) / threads) for first in firsts):
            race = (
                "You step over the threads of one block, and land where the next block has begun. What is done when "
                "every thread has taken one element is as long as the whole grid."
            )
        elif taken == sum(math.ceil((size - first) / blocks) for first in firsts):
            race = (
                "You step by the number of blocks. `gridDim.x` counts blocks, and a step has to be as long as the "
                "threads of all of them together."
            )
        once = np.where(np.arange(size) < blocks * threads, right, weights)
        mistakes = [
            (
                once,
                "Each thread took one element, and there are more elements than threads. Whoever is done has to go "
                "on with another one.",
            )
        ]
        direction = "Does the weight move by the new velocity, and against its direction?"
        hints = {"race": race, "values": direction}
        judge_kernel(got["kernel"], right, after, inputs=[gradient], hints=hints, mistakes=mistakes)
        reads = [each["requests"] for each in got["notes"]["sectors"] if each["place"] == 2]
        if min(blocks * threads, size) > 32 and sum(reads) > 8 * math.ceil(size / 32) + 8:
            raise Wrong(
                f"{sum(reads):,} requests for the gradient, and with all threads at work {math.ceil(size / 32)} would do",
                "Few threads do the work of all. Each one of the grid begins at an element of its own, and a warp asks "
                "for 32 of them at a time.",
            )
        judge_sectors(
            got["notes"],
            8,
            "Each thread has a piece of the array to itself, so the 32 of a warp are in 32 places at any moment. Let "
            "the warp stay together: neighbours take neighbours, and then all of them go on.",
        )


class MelEdges(Exercise):
    """In float32, all the way."""

    number, points, minutes = "03.3", 4, 15
    seconds = 40.0  # several functions are compiled, also on a busy machine
    needs = (
        "device function mel(f)",
        "device function hertz(m)",
        "device function edge(i, count, low, high)",
    )
    hints = (
        "Begin with the formulas as they are, and look at the report: it names the first operation that is done in "
        "float64. What are the types of its two sides?",
        "In Numba a number with a point is float64, a whole number is int64, and float32 with either of them is "
        "float64. Two whole numbers divided by each other are float64 as well. `np.float32(700)` is what you need.",
        "`np.float32(2595) * math.log10(np.float32(1) + f / np.float32(700))`, the way back likewise, and the share "
        "of the way is `np.float32(i) / np.float32(count - 1)`.",
    )
    raised = (
        (
            "math domain error",
            "There is a logarithm of something negative. Which of your numbers are hertz, and which are mel?",
        ),
    )

    def cases(self, seed):
        cases = inputs.launches(seed, most=200, blocks=(64, 32, 96), least=2)
        ends = [(20.0, 8000.0), (0.0, 4000.0), (300.0, 3400.0), (64.0, 11025.0), (1000.0, 2000.0)]
        return [case | {"low": low, "high": high} for case, (low, high) in zip(cases, ends, strict=True)]

    def says(self, case):
        return f"{case['size']:,} edges from {case['low']:g} to {case['high']:g} Hz"

    def frequencies(self, case):
        return np.abs(inputs.distinct(case["size"], seed=case["seed"])) * np.float32(12)

    def mels(self, case):
        return (self.frequencies(case) / 4 + 500).astype(np.float32)

    def run(self, student, case):
        from numba import cuda

        mel, hertz, edge = student.mel, student.hertz, student.edge
        if not hasattr(self, "both"):
            # Kernels of our own: the notebook's goes on with the functions that it was first compiled with.

            @cuda.jit
            def both(f, m, in_mel, in_hertz):
                i = cuda.grid(1)
                if i < f.size:
                    in_mel[i] = mel(f[i])
                    in_hertz[i] = hertz(m[i])

            @cuda.jit
            def edges(low, high, out):
                i = cuda.grid(1)
                if i < out.size:
                    out[i] = edge(i, out.size, low, high)

            self.both, self.edges = both, edges
        f, launch = self.frequencies(case), (case["grid"], case["block"])
        m, out = self.mels(case), Out(f.shape, np.float32)
        ends = np.float32(case["low"]), np.float32(case["high"])
        got = {"both": run_kernel(self.both, (f, m, out, out), *launch)}
        if not got["both"]["findings"]:
            got["edges"] = run_kernel(self.edges, (*ends, out), *launch)
        if not case["seed"] % 1000:  # the types are the same in every case
            got["types"] = [
                [name, wide_operations(getattr(student, name), arguments)]
                for name, arguments in (
                    ("mel", ["float32"]),
                    ("hertz", ["float32"]),
                    ("edge", ["int64", "int64", "float32", "float32"]),
                )
            ]
        return got

    def judge(self, case, got):
        f = self.frequencies(case)
        low, high = case["low"], case["high"]

        def mel(f):
            return 2595 * np.log10(1 + np.asarray(f, np.float64) / 700)

        def hertz(m):
            return 700 * (10 ** (np.asarray(m, np.float64) / 2595) - 1)

        def in_float32(values):
            return np.asarray(values, np.float32)

        hints = {"values": "Put one number into the formula by hand: 700 Hz are 781.17 mel."}
        mistakes = [(in_float32(mel(f) * np.log(10)), "The logarithm is the one to base 10, `math.log10`.")]
        right = in_float32(mel(f)), in_float32(hertz(self.mels(case)))
        judge_kernel(got["both"], *right, hints=hints, mistakes=mistakes, rtol=1e-4, atol=0.01)

        size = case["size"]
        equal = [
            (in_float32(np.linspace(low, high, size)), "Equally far apart in mel, not in hertz."),
            (
                in_float32(hertz(mel(low) + np.arange(size) / size * (mel(high) - mel(low)))),
                "The last edge has to be `high`. From edge 0 to the last one of `count` there are `count - 1` steps.",
            ),
        ]
        right = hertz(np.linspace(mel(low), mel(high), size))
        hints = {"values": "In mel the edges are a straight line from `mel(low)` to `mel(high)`."}
        judge_kernel(got["edges"], in_float32(right), hints=hints, mistakes=equal, atol=1e-4 * high)
        for name, types in got.get("types", []):
            if types["operations"]:
                self.judge_types(name, types)

    def judge_types(self, name, types):
        # Where float64 begins: an operation that has not been given one that was computed.
        begins = [each for each in types["operations"] if "float64" not in each["operands"]]
        first = (begins or types["operations"])[0]
        operands = {each.removeprefix("constant ") for each in first["operands"]}
        text = f"{name} computes in float64 here, from {' and '.join(sorted(operands))}"
        if types["result"] == "float32":
            hint = (
                "The result is converted to float32 when everything has been computed, in float64. Convert what the "
                "operation is made from, not what comes out of it."
            )
        elif operands == {"int64"}:
            hint = (
                "Two whole numbers divided by each other give float64, however small they are. Convert both to "
                "float32 first."
            )
        elif "int64" in operands:
            hint = (
                "A whole number is no float32: it is int64, and the type that holds every int64 and every float32 "
                "well enough is float64. Write `np.float32(700)`."
            )
        else:
            hint = (
                "A number with a point in your source is a Python float, and that is a float64. One of them is "
                "enough to widen all that is computed with it."
            )
        raise Wrong(text, hint, [first["line"]])


class Rescale(Exercise):
    """Which way the warp lies."""

    number, points, minutes = "03.4", 5, 20
    seconds = 40.0  # several kernels are compiled, also on a busy machine
    needs = (
        "kernel feature_range(x, low, high)",
        "kernel rescale(x, low, high, out)",
        "function launch_for(rows, columns)",
    )
    hints = (
        "The 32 threads of a warp differ in x first. Write down the addresses that threads 0, 1 and 2 of a block read "
        "from: how many bytes lie between them?",
        "Along a row, neighbours are 4 bytes apart; down a column, a whole row. So x should count the columns, and a "
        "block should have enough threads along x.",
        "`column, row = cuda.grid(2)`, blocks of `(32, 8)` threads, `math.ceil(columns / 32)` of them along x and "
        "`math.ceil(rows / 8)` along y. Divide by `high - low` only where it is more than 0.",
    )
    raised = (
        (
            "ZeroDivisionError",
            "There is a column in which all values are equal, and its range is 0. Ask before you divide.",
        ),
    )

    def cases(self, seed):
        shapes = [(30, 71), (1, 1), (3, 97), (70, 3), (41, 2)]
        if seed:
            generator = np.random.default_rng((0x34, seed))
            shapes = [
                (int(generator.integers(*rows)), int(generator.integers(*columns)))
                for rows, columns in (
                    ((25, 33), (65, 90)),
                    ((1, 2), (1, 2)),
                    ((2, 6), (65, 110)),
                    ((65, 110), (2, 6)),
                    ((33, 60), (2, 6)),
                )
            ]
        return [
            {"shape": list(shape), "seed": seed * 1000 + 10 * place} for place, shape in enumerate(shapes)
        ]

    def says(self, case):
        return f"shape {tuple(case['shape'])}"

    def table(self, case):
        x = inputs.distinct(case["shape"], seed=case["seed"])
        # A column without a negative value, one without a positive, one without a range.
        x[:, 0] = np.abs(x[:, 0])
        x[:, x.shape[1] // 2] = -np.abs(x[:, x.shape[1] // 2])
        x[:, -1] = x[0, -1]
        return x

    def run(self, student, case):
        x = self.table(case)
        rows, columns = x.shape
        each = Out(columns)
        got = {"range": run_kernel(student.feature_range, (x, each, each), math.ceil(columns / 64) + 1, 64)}
        if got["range"]["findings"]:
            return got
        launch = student.launch_for(rows, columns)
        try:
            (blocks_x, blocks_y), (threads_x, threads_y) = launch
            blocks, threads = (blocks_x, blocks_y), (threads_x, threads_y)
        except (TypeError, ValueError):
            raise Wrong(
                f"launch_for({rows}, {columns}) returns {launch!r}"[:120],
                "Return two pairs of whole numbers: `(blocks along x, along y), (threads along x, along y)`.",
            ) from None
        got["launch"] = [int(each) for each in (*blocks, *threads)]
        given = (x, x.min(axis=0), x.max(axis=0), Out(x.shape))
        got["rescale"] = run_kernel(student.rescale, given, blocks, threads)
        if not got["rescale"]["findings"]:
            got["notes"] = run_notes(student.rescale, given, blocks, threads)
        return got

    def judge(self, case, got):
        x = self.table(case)
        (rows, columns), low, high = x.shape, x.min(axis=0), x.max(axis=0)
        zero_low, zero_high = np.minimum(low, 0), np.maximum(high, 0)
        hints = {
            "race": "Threads compare and store in one element, and what one of them has read may be old when it "
            "stores. One thread for each column can keep its smallest value to itself until it has seen all."
        }
        zero = (
            "You begin at 0, and a column of positive numbers has none that is smaller. Begin with a value that "
            "is in the column."
        )
        mistakes = [(zero_low, zero), (high, "low is to be the smallest value, high the largest.")]
        if (zero_low == low).all():  # only high shows it
            hints["values"] = zero if (zero_high != high).any() else ""
        judge_kernel(got["range"], low, high, inputs=[x], hints=hints, mistakes=mistakes)

        span = np.where(high > low, high - low, 1)
        right = ((x - low) / span).astype(np.float32)
        divided = (
            "0 divided by 0 is nan, and a kernel raises no error for it. A column in which all values are equal has "
            "no range to divide by."
        )
        hints = {
            "nan": divided,
            "unwritten": "The launch does not reach all elements: does it have its blocks along the axis on which the "
            "kernel looks for them, rounded up?",
            "launch limit": "A block has 1,024 threads at most, along x and y together.",
        }
        judge_kernel(got["rescale"], right, inputs=[x, low, high], hints=hints)

        blocks_x, blocks_y, threads_x, threads_y = got["launch"]
        needed = [
            (math.ceil(across / threads_x), math.ceil(down / threads_y))
            for across, down in ((columns, rows), (rows, columns))
        ]
        if (blocks_x, blocks_y) not in needed:
            raise Wrong(
                f"{blocks_x:,} × {blocks_y:,} blocks of {threads_x} × {threads_y} threads, and fewer cover it",
                "Round up once: `math.ceil(columns / threads)` blocks along an axis, and none to spare.",
            )
        if columns < 65 or rows < 25:  # too small to tell
            return
        tall = (
            "x counts the columns, and your blocks have hardly any threads along x: a warp is 32 threads that "
            "follow each other in x first, and yours reaches over many rows. Make the block 32 wide."
        )
        across = (
            "The threads of a warp follow each other in x, and your x counts the rows: neighbours in the warp are a "
            "whole row apart in memory, each in a sector of its own. Let x count the columns, in the kernel and in "
            "the launch."
        )
        judge_sectors(got["notes"], 8, tall if threads_x < 8 else across)


class Peaks(Exercise):
    """Peaks."""

    number, points, minutes = "03.5", 4, 25
    needs = ("kernel peaks(scores, radius, out)",)
    hints = (
        "A window that reaches beyond the map is a smaller window. Which rows does it have in row 0, which in the "
        "last one?",
        "`max(row - radius, 0)` is the first row of the window and `min(row + radius + 1, rows)` the one after its "
        "last; columns likewise. Two loops find the largest score, beginning with one that is in the window.",
        "Inside the guard: `largest = scores[row, column]`, the two loops with `largest = max(largest, scores[r, c])`, "
        "and then `out[row, column] = scores[row, column] == largest`.",
    )

    def cases(self, seed):
        cases = inputs.launches_2d(seed, most=24, blocks=((8, 4), (8, 8), (4, 8), (16, 2)))
        return [case | {"radius": radius} for case, radius in zip(cases, (2, 1, 1, 40, 0), strict=True)]

    def says(self, case):
        return f"shape {(case['rows'], case['columns'])}, radius {case['radius']}"

    def scores(self, case):
        scores = inputs.distinct((case["rows"], case["columns"]), seed=case["seed"]) - np.float32(50)
        if min(scores.shape) > 4:
            scores[0, 0] = scores[-1, -1] = -1  # peaks at the edge, below zero
            scores[:3, 1:3] = scores[1:3, 0] = scores[-3:, -3:-1] = scores[-3:-1, -1] = -9
            scores[2, 3] = scores[2, 4] = scores.max()  # two that are equal, side by side
        return scores

    def run(self, student, case):
        scores = self.scores(case)
        given = (scores, case["radius"], Out(scores.shape, np.uint8))
        return run_kernel(student.peaks, given, case["grid"], case["block"])

    def peaks(self, scores, radius, edge=-np.inf, others=False, cross=False):
        """Return the peaks, where `edge` is what lies beyond the map."""
        radius = min(radius, max(scores.shape))
        padded = np.pad(scores, radius, constant_values=edge)
        largest = np.full_like(scores, -np.inf)
        rows, columns = scores.shape
        for down in range(2 * radius + 1):
            for right in range(2 * radius + 1):
                middle = down == right == radius
                if (others and middle) or (cross and radius not in (down, right)):
                    continue
                largest = np.maximum(largest, padded[down : down + rows, right : right + columns])
        return ((scores > largest) if others else (scores == largest)).astype(np.uint8)

    def judge(self, case, got):
        scores, radius = self.scores(case), case["radius"]
        rows, columns = scores.shape
        found = got["findings"][0]["text"] if got["findings"] else ""
        hints = {
            "race": "A thread changes a score while its neighbours still compare theirs with it. The scores are an "
            "input: read them, and write the answer into `out` only.",
            "unwritten": "Nobody has put zeros into `out` before: where there is no peak, a 0 has to be written.",
        }
        if "before the" in found:
            hints["out of bounds"] = (
                "Beyond the first row there is no row: an index of -1 is the last element, at the other end of the "
                "map. Let the window begin at 0 at the earliest."
            )
        inner = max(rows - 2 * radius, 0) * max(columns - 2 * radius, 0)
        if found.startswith(f"{rows * columns - inner:,} of "):
            hints["unwritten"] = (
                "The elements near the edge are left out. Their window is smaller, and they can be peaks like all "
                "others."
            )
        mistakes = [
            (
                self.peaks(scores, radius, edge=0),
                "At the edge, negative scores lose against a zero that is not there. What lies beyond the map does "
                "not take part.",
            ),
            (
                self.peaks(scores, radius, others=True),
                "Of two equal scores neither is larger than the other, so both are peaks: ask whether any score is "
                "larger, not whether this one is larger than all others.",
            ),
            (
                self.peaks(scores, radius, cross=True),
                "The window is a square. A larger score may lie diagonally, in another row and in another column.",
            ),
        ]
        right = self.peaks(scores, radius)
        mistakes = [(each, hint) for each, hint in mistakes if (each != right).any()]
        judge_kernel(got, right, inputs=[scores], hints=hints, mistakes=mistakes)


class Smooth(Exercise):
    """Where a kernel is the wrong tool."""

    number, points, minutes = "03.6", 5, 30
    seconds = 40.0  # two functions are compiled, also on a busy machine
    needs = ("function make_smooth()", "function best(smooth, x, keep)")
    hints = (
        "Write the function for one curve, as if there were no other: `x` and `out` are arrays of one dimension, "
        "`keep` is a number. What NumPy has to know besides is which of the arguments has an axis of its own.",
        'The layout is `"(n),()->(n)"`: an array, a number, and a result as long as the array. There is a list of '
        'types, one entry for float32 and one for float64, such as `"void(float32[:], float32, float32[:])"`. The '
        "result is written into the last argument, and nothing is returned.",
        "In the function: `out[0] = x[0]`, then `for t in range(1, x.size):` and below it "
        "`out[t] = keep * out[t - 1] + (1 - keep) * x[t]`. And `best` is `smooth(x, keep).argmin(axis=-1)`.",
    )
    raised = (
        (
            "does not have enough dimensions",
            "With two axes in the layout there have to be two in every array, and the loop over the curves is yours. "
            "Leave it to NumPy: the layout speaks of one curve.",
        ),
        (
            "No matching signature",
            "There is no entry in your list of types for what was given. float32 and float64 need one each.",
        ),
        (
            "could not be safely coerced",
            "There is no entry in your list of types for what was given. float32 and float64 need one each.",
        ),
        (
            "Too few arguments for function",
            "Without a list of types the function cannot make its result, and wants it brought along. Name the types.",
        ),
    )

    def cases(self, seed):
        shapes = [([60], []), ([7, 40], [7]), ([2, 3, 25], [3]), ([4, 33], []), ([5, 1], [5])]
        dtypes = "float32", "float64", "float32", "float64", "float32"
        if seed:
            longer = int(np.random.default_rng((0x36, seed)).integers(3, 12))
            shapes = [([*shape[:-1], shape[-1] + longer * (shape[-1] > 1)], keeps) for shape, keeps in shapes]
        return [
            {"shape": shape, "dtype": dtype, "keeps": keeps, "seed": seed * 100 + place}
            for place, ((shape, keeps), dtype) in enumerate(zip(shapes, dtypes, strict=True))
        ]

    def says(self, case):
        keep = f"an array of {case['keeps'][0]}" if case["keeps"] else "a number"
        return f"{case['dtype']} of shape {tuple(case['shape'])}, keep {keep}"

    def arrays(self, case):
        x = inputs.distinct(case["shape"], case["dtype"], seed=case["seed"])
        keep = np.random.default_rng(case["seed"]).uniform(0.3, 0.95, case["keeps"]).astype(case["dtype"])
        return x, keep if case["keeps"] else np.dtype(case["dtype"]).type(keep)

    def run(self, student, case):
        x, keep = self.arrays(case)
        if not hasattr(self, "smooth"):
            self.smooth = student.make_smooth()
        smooth = self.smooth
        got = {"made": said(smooth), "layout": getattr(smooth, "signature", None)}
        if not isinstance(got["layout"], str):
            return got
        got["into"] = np.full_like(x, np.nan)
        smooth(x, keep, got["into"])
        got["smooth"] = run_function(smooth, x, keep)
        got["best"] = run_function(student.best, smooth, x, keep)
        return got

    def smoothed(self, x, keep, first=None, before=None):
        """Return smoothed curves, `first` in the place of y[0], `before` in that of the smoothed point before."""
        keep = np.broadcast_to(keep, x.shape[:-1])
        y = [x[..., 0] if first is None else first(keep, x[..., 0])]
        for t in range(1, x.shape[-1]):
            y.append(keep * (y[-1] if before is None else x[..., t - 1]) + (1 - keep) * x[..., t])
        return np.stack(y, axis=-1).astype(x.dtype)

    def judge(self, case, got):
        x, keep = self.arrays(case)
        if not isinstance(got["layout"], str):
            raise Wrong(
                f"make_smooth() returns {got['made']}, and a generalised ufunc is asked for",
                "The curves are on the host, and each step of one waits for the step before. Three copies and a launch "
                "buy a slow thread for each curve: have `@guvectorize` make the function, and stay on the host."
                if "function" in got["made"]
                else "Return what `@guvectorize` has made of your function, uncalled.",
            )
        right = self.smoothed(x, keep)
        if np.isnan(got["into"]).all():
            raise Wrong(
                "nothing was written into the result",
                "`out = …` gives the name `out` to another array, and the caller still has the one that you were "
                "given. Store into its elements: `out[t] = …`, or `out[:] = …` for all of them.",
            )
        mistakes = [
            (
                self.smoothed(x, keep, first=lambda keep, x: (1 - keep) * x),
                "Your curve begins at zero and creeps up to the data. y[0] is x[0], all of it.",
            ),
            (
                self.smoothed(x, keep, before=x),
                "What is mixed in is the point before as it was measured. Take the smoothed one, which has all the "
                "earlier ones in it.",
            ),
        ]
        mistakes = [(each, hint) for each, hint in mistakes if not np.allclose(each, right)]
        hints = {
            "dtype": "There is no entry for float32 in your list of types, so every array is converted to float64 first, "
            "and the result is as wide. float32 needs an entry of its own."
        }
        given = [x, keep] if case["keeps"] else [x]
        judge_function(
            got["smooth"],
            right,
            name="smooth(x, keep)",
            inputs=given,
            hints=hints,
            mistakes=mistakes,
            # However the formula is written, it rounds at the size of the numbers that go into it.
            atol=8 * float(np.finfo(x.dtype).eps) * float(np.abs(x).max()),
        )
        hints = {
            "shape": "The lowest step is asked for along the last axis, once for each curve.",
            "kind": "The lowest step is asked for along the last axis, once for each curve.",
            "dtype": "What is asked for is the number of a step, and not the smoothed value there.",
            "values": "Look at the smoothed curve, and along its last axis.",
        }
        lowest, found = right.argmin(axis=-1), got["best"]
        if isinstance(found.get("result"), np.ndarray | np.integer) and found["result"].dtype.kind in "iu":
            found = found | {"result": found["result"].astype(lowest.dtype)}  # whatever its width
        judge_function(
            found,
            lowest,
            name="best(smooth, x, keep)",
            hints=hints,
            mistakes=[(x.argmin(axis=-1), "That is the lowest point of the curve itself. Smooth it first.")],
        )


class Objects(Exercise):
    """From a mask to objects."""

    number, points, minutes = "03.7", 10, 60
    seconds = 40.0  # several kernels are compiled, also on a busy machine
    needs = (
        "kernel start(mask, labels)",
        "kernel spread(old, new, changed)",
        "function objects(mask)",
    )
    raised = (
        (
            "cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE",
            "The first pair of a launch is how many blocks there are, the second how many threads a block has along "
            "x and y, and that may be 1,024 in all.",
        ),
    )
    hints = (
        "Take it piece by piece: `start` is an index and a guard, `spread` a stencil with two arrays, and `objects` "
        "the loop around them, which looks at the flag after each step. Draw an object of three pixels and write the "
        "labels into it, step by step.",
        "In `spread`, a neighbour counts only if it is in the image and its label is not −1. In `objects`, put the "
        "flag back to 0 before each step, and exchange the two arrays after it. Which labels are left at the end, "
        "`np.unique` knows, and how many pixels have each of them.",
        "`d_changed.copy_to_device(np.zeros(1, np.int32))`, launch, `d_old, d_new = d_new, d_old`, and go on while "
        "`d_changed.copy_to_host()[0]` is not 0. Then `firsts, sizes = np.unique(labels[labels >= 0], "
        "return_counts=True)`, and the number of an object is `np.searchsorted(firsts, labels) + 1`.",
    )

    def cases(self, seed):
        pictures = [
            ("snake", 9, 14, (8, 8)),
            ("cells", 13, 22, (8, 4)),
            ("full", 5, 9, (4, 8)),
            ("empty", 7, 3, (8, 4)),
            ("cells", 1, 40, (32, 2)),
            ("dots", 530, 570, (32, 8)),  # large enough for a launch whose two pairs have changed places
        ]
        if seed:
            generator = np.random.default_rng((0x37, seed))
            pictures = [
                (name, rows + 2 * more * (rows > 1), columns + more, block)
                for name, rows, columns, block in pictures
                for more in [int(generator.integers(0, 4))]
            ]
        return [
            {"picture": name, "shape": [rows, columns], "block": list(block), "seed": seed * 100 + place}
            for place, (name, rows, columns, block) in enumerate(pictures)
        ]

    def says(self, case):
        named = {"snake": "one long snake", "full": "all in the mask", "empty": "an empty mask"}
        return f"{named.get(case['picture'], case['picture'])}, shape {tuple(case['shape'])}"

    def mask(self, case):
        if case["picture"] == "snake":  # every second row, joined by turns at its right and at its left end
            mask = np.zeros(case["shape"], bool)
            mask[::2] = True
            mask[1::4, -1] = mask[3::4, 0] = True
            return mask
        if case["picture"] == "dots":
            mask = np.zeros(case["shape"], bool)
            mask[::100, ::90] = mask[-1, -2:] = True
            return mask
        share = {"full": 1.0, "empty": 0.0, "cells": 0.6}[case["picture"]]
        mask = np.random.default_rng((0x37, case["seed"])).random(case["shape"]) < share
        if case["picture"] == "cells":
            mask[0, :2] = mask[-1, -3:] = True
            mask[-1, 0] = mask[0, -1] = True  # nothing joins the left end of a row and the right one
        return mask

    def started(self, mask):
        return np.where(mask, np.arange(mask.size).reshape(mask.shape), -1).astype(np.int32)

    def stepped(self, labels, diagonals=False, background=False):
        """Return the labels after a step, with diagonal neighbours, or with a background that takes part."""
        rows, columns = labels.shape
        padded = np.pad(labels, 1, constant_values=labels.size)
        if not background:
            padded[padded < 0] = labels.size
        lowest = labels.copy()
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                if diagonals or down == 0 or right == 0:
                    seen = padded[1 + down : 1 + down + rows, 1 + right : 1 + right + columns]
                    lowest = np.minimum(lowest, seen)
        return np.where(labels < 0, -1, lowest).astype(np.int32)

    def states(self, mask):
        """Return the labels at the beginning and after each step that changes something."""
        states = [self.started(mask)]
        while (self.stepped(states[-1]) != states[-1]).any():
            states.append(self.stepped(states[-1]))
        return states

    def tried(self, case):
        states = self.states(self.mask(case))
        return [states[place] for place in sorted({0, len(states) // 2, len(states) - 1})]

    def run(self, student, case):
        mask, block = self.mask(case), case["block"]
        if case["picture"] == "dots":
            return self.whole(student, mask)
        grid = [math.ceil(side / per) + 1 for side, per in zip(mask.shape[::-1], block, strict=True)]
        labels = Out(mask.shape, np.int32)
        got = {"start": run_kernel(student.start, (mask, labels), grid, block), "spread": []}
        if got["start"]["findings"]:
            return got
        for old in self.tried(case):
            given = (old, labels, InOut(np.zeros(1, np.int32)))
            got["spread"].append(run_kernel(student.spread, given, grid, block))
            if got["spread"][-1]["findings"]:
                return got
        return got | self.whole(student, mask)

    def whole(self, student, mask):
        with seen_launches(student.objects, "start", "spread") as seen:
            trip = run_function(student.objects, mask, counted=True)
        result, counts = trip.pop("result"), trip.pop("counts")
        got = {
            "result": result,
            "counts": counts,
            "trip": trip | {"shared": None},
            "launched": {},
            "types": {},
        }
        for name in ("start", "spread"):
            given = [tuple(each["arguments"]) for each in seen if each["kernel"] == name]
            got["launched"][name], got["types"][name] = len(given), sorted(set(given))
        return got

    def judge(self, case, got):
        mask = self.mask(case)
        hints = {"values": "A pixel's number counts row after row: `row * columns + column`."}
        if "start" in got:
            judge_kernel(got["start"], self.started(mask), inputs=[mask], hints=hints)
            for labels, spread in zip(self.tried(case), got["spread"], strict=False):
                self.judge_spread(labels, spread)
        if not (isinstance(got["result"], list) and len(got["result"]) == 2):
            raise Wrong("objects returns no pair", "End it with `return numbers, sizes`: two arrays.")
        self.judge_objects(mask, got)
        self.judge_crossings(mask, got)

    def judge_spread(self, labels, got):
        right = self.stepped(labels)
        in_place = (
            "A thread changes a label that its neighbours still have to read, and how far a label comes in one "
            "launch is then a matter of luck. Read from `old` only, write into `new` only."
        )
        flag = (
            "Every thread stores its own answer in the flag, and the last one stays, whoever that is. Only a thread "
            "that has changed something may say so; the others say nothing."
        )
        raced = [each["array"] for each in got["findings"][:1]]
        hints = {
            "race": flag if raced == got["names"][1:] else in_place,
            "values": "The new label is the smallest of the pixel's own and its neighbours' in the mask, and the flag "
            "is 1 as soon as one label has changed: it does not count them.",
        }
        mistakes = [
            (
                self.stepped(labels, background=True),
                "−1 is smaller than every label, so the background eats the objects from their edges. A neighbour "
                "that is not in the mask takes no part.",
            ),
            (
                self.stepped(labels, diagonals=True),
                "Pixels that touch at a corner belong to different objects here: four neighbours, not eight.",
            ),
        ]
        mistakes = [(each, hint) for each, hint in mistakes if (each != right).any()]
        flags = np.array([int((right != labels).any())], np.int32)
        judge_kernel(got, right, flags, inputs=[labels], hints=hints, mistakes=mistakes)

    def judge_objects(self, mask, got):
        labels = self.states(mask)[-1]
        firsts, sizes = np.unique(labels[labels >= 0], return_counts=True)
        right = np.where(mask, np.searchsorted(firsts, labels) + 1, 0).astype(np.int32)
        numbers = got["result"][0]
        hints = {"dtype": "The numbers are int32: `astype(np.int32)`."}
        if isinstance(numbers, np.ndarray) and numbers.shape == mask.shape and numbers.size:
            if len(np.unique(numbers[mask])) > len(sizes):
                hints["values"] = (
                    "Parts that hang together have got different numbers: you stopped before the smallest label had "
                    "been everywhere. How many steps that takes, only the flag knows; a winding object is longer than "
                    "the image is wide and high."
                )
            elif (numbers[mask] == labels[mask]).all():
                hints["values"] = "These are the numbers of pixels. Objects are counted: 1, 2, 3, …"
        mistakes = []
        if mask.all():
            off_by_one = (
                "Where the mask is full there is no background, and the first label of all is an object's. Count "
                "the labels of objects only."
            )
            mistakes.append((right - 1, off_by_one))
        result = got["trip"] | {"result": numbers}
        judge_function(result, right, name="numbers", inputs=[mask], hints=hints, mistakes=mistakes)
        result = got["trip"] | {"result": got["result"][1]}
        if isinstance(result["result"], np.ndarray) and result["result"].dtype.kind in "iu":
            result["result"] = result["result"].astype(sizes.dtype)
        hints = {"shape": "One size for each object, and none for the background."}
        judge_function(result, sizes, name="sizes", hints=hints)

    def judge_crossings(self, mask, got):
        needed, launched = len(self.states(mask)), got["launched"]  # the last step finds nothing to change
        steps, counts = launched["spread"], got["counts"] or {}
        if launched["start"] != 1 or steps < needed:
            raise Wrong(
                f"start was launched {launched['start']:,} times and spread {steps:,} times, where once and "
                f"{needed:,} times are needed",
                "The steps are to be taken on the device: one launch of `start`, and one of `spread` for each step.",
            )
        if steps > needed + 8:
            raise Wrong(
                f"spread was launched {steps:,} times, and nothing changed after {needed - 1}",
                "After the last change every further step does nothing, slowly. The flag says when it is time to stop.",
            )
        types = {"start": ["bool", "int32"], "spread": ["int32"] * 3}
        for name, right in types.items():
            for given in got["types"][name]:
                if given != right:
                    raise Wrong(
                        f"{name} was launched with {', '.join(given)}, and {', '.join(right)} is right",
                        "Give the kernels what the task says: a bool is one byte, a label is an int32. A float32 has "
                        "24 bits for a whole number, and an image may have more pixels than that can count.",
                    )
        for way, where, once in (
            ("host_to_device", "to the device", mask.size),
            ("device_to_host", "back to the host", 4 * mask.size),
        ):
            copies, copied = counts.get(way), counts.get(f"{way}_bytes")
            if copied is not None and copied > once + 8 * (steps + 2):
                raise Wrong(
                    f"{copied:,} bytes {where}, for an image of {mask.size:,} pixels and {steps} steps",
                    "The labels cross the bus in every step. Whether anything has changed is one number, and a "
                    "thread that changes something knows it.",
                )
            if copies is not None and copies > steps + 2:
                raise Wrong(
                    f"{copies:,} copies {where} in {steps} steps",
                    "One copy there and one back is enough for a step: a zero into the flag before it, and the flag "
                    "back after it.",
                )
