"""Checks of solutions/05-cooperation.ipynb: made by `make exercises`, edit them there."""

import math
import re

import numpy as np

from host_to_device.exercises import (
    Exercise,
    InOut,
    Out,
    Wrong,
    inputs,
    judge_banks,
    judge_kernel,
    judge_requests,
    judge_sectors,
    run_function,
    run_kernel,
    run_notes,
)
from host_to_device.exercises.values import said

TITLE = "Threads that work together"


class Loads(Exercise):
    """How often is it read?"""

    number, points, minutes = "05.1", 2, 5
    needs = ("function loads(m, k, n, tile)",)
    hints = (
        "Take one element of `a`. Which elements of the result need it, and in how many blocks do they lie?",
        "An element of `a` is needed by one row of the result, and a row of n elements lies in as many blocks as it "
        "takes tiles to cover n. Each of these blocks reads the element once.",
        "Of `a` they are `m * k * math.ceil(n / tile)`. For `b` ask the same about a column of the result.",
    )

    def cases(self, seed):
        sizes = [(64, 64, 64, 16), (48, 20, 100, 16), (5, 7, 3, 8), (30, 11, 17, 1), (100, 1000, 33, 32)]
        if seed:
            generator = np.random.default_rng((0x51, seed))
            sizes = [
                (*(int(side) for side in generator.integers(9, 400, 3)), tile) for tile in (16, 8, 32, 1, 4)
            ]
        return [dict(zip(("m", "k", "n", "tile"), each, strict=True)) for each in sizes]

    def says(self, case):
        m, k, n, tile = case["m"], case["k"], case["n"], case["tile"]
        return f"({m}, {k}) times ({k}, {n}), tile {tile}"

    def run(self, student, case):
        return run_function(student.loads, case["m"], case["k"], case["n"], case["tile"])

    def judge(self, case, got):
        m, k, n, tile = case["m"], case["k"], case["n"], case["tile"]
        result = got["result"]
        if isinstance(result, np.ndarray) and result.ndim == 1:
            result = list(result)
        if not isinstance(result, list | tuple) or len(result) != 2:
            raise Wrong("two numbers are asked for", "Return a pair: the reads of `a`, then those of `b`.")
        across, down = math.ceil(n / tile), math.ceil(m / tile)
        right = m * k * across, k * n * down
        steps = math.ceil(k / tile)
        hints = [
            (
                right[::-1],
                "Both are right, and they have changed places: first the reads of `a`, then those of `b`.",
            ),
            (
                (m * k * down, k * n * across),
                "You have counted the blocks in the wrong direction. An element of `a` is used along its row of the "
                "result, and a row has n elements.",
            ),
            (
                (m * k * n, k * n * m),
                "So often the threads need it. A block reads an element once from global memory and lets its threads "
                "take it from shared memory.",
            ),
            (
                (m * k * (n // tile), k * n * (m // tile)),
                "The block at the rim is not full, and it needs its row of `a` all the same: round up.",
            ),
            (
                (across * down * steps * tile * tile,) * 2,
                "You have counted whole tiles. Where a tile reaches beyond its matrix there is no element to read.",
            ),
        ]
        for place, (name, wanted) in enumerate(zip("ab", right, strict=True)):
            value = result[place]
            if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
                value = value.item()
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise Wrong(f"the reads of {name} are no number", "Return two whole numbers.")
            if value != wanted:
                found = [hint for mistaken, hint in hints if tuple(result) == mistaken]
                raise Wrong(
                    f"{value:,} reads of {name}, and {wanted:,} is right",
                    found[0]
                    if found
                    else "How many blocks need one element of it? Multiply by the elements.",
                )
            if not isinstance(value, int):
                raise Wrong(
                    f"the reads of {name} are {value!r}, and a whole number is asked for",
                    "Divide with `math.ceil(n / tile)` or `//`: what is counted is whole.",
                )


class Roll(Exercise):
    """Read, wait, write."""

    number, points, minutes = "05.2", 2, 10
    needs = ("kernel roll(clips, shift)",)
    hints = (
        "A thread that writes destroys a sample that another thread has to read. When may the first thread write?",
        "Every thread keeps its sample in a variable of its own. When all of them have done that, and not before, "
        "the samples may be written. Both halves have a guard, and the barrier belongs to neither.",
        "`if t < length: sample = clips[clip, t]`, then `cuda.syncthreads()` for all threads, and then "
        "`if t < length: clips[clip, (t + shift[clip]) % length] = sample`.",
    )

    def cases(self, seed):
        shapes = [(2, 20, 32), (3, 75, 96), (2, 64, 64), (1, 1, 32), (3, 40, 128)]
        if seed:
            generator = np.random.default_rng((0x52, seed))
            shapes = [(2, int(generator.integers(17, 32)), 32)] + [
                (int(generator.integers(2, 4)), int(generator.integers(threads // 2, threads)), threads)
                for threads in (96, 64, 128)
            ]
        return [
            {"clips": n, "length": length, "threads": threads, "seed": seed * 100 + place}
            for place, (n, length, threads) in enumerate(shapes)
        ]

    def says(self, case):
        return f"{case['clips']} clips of {case['length']}, {case['threads']} threads a block"

    def arrays(self, case):
        clips = inputs.distinct((case["clips"], case["length"]), seed=case["seed"])
        generator = np.random.default_rng((0x52, case["seed"]))
        shift = generator.integers(1, 2 * case["length"] + 7, case["clips"]).astype(np.int32)
        shift[1::2] *= -1
        return clips, shift

    def run(self, student, case):
        clips, shift = self.arrays(case)
        return run_kernel(
            student.roll, (InOut(clips), shift), case["clips"], case["threads"], interpreted=True
        )

    def rolled(self, clips, shift, sign=1):
        return np.stack([np.roll(clip, sign * each) for clip, each in zip(clips, shift, strict=True)])

    def judge(self, case, got):
        clips, shift = self.arrays(case)
        hints = {
            "race": "Some samples are overwritten before the thread that needs them has read them. Keep yours in a "
            "variable, let the whole block wait, and write then."
            if case["threads"] <= 32
            else "The lanes of a warp wait for each other now, and the block has several warps. What has to be "
            "complete is the clip.",
            "barrier divergence": "The threads behind the end of the clip never come to this barrier, and it is there "
            "for all threads of the block. Guard the accesses and leave the barrier outside.",
            "out of bounds": "What comes in again at the other end of the clip is counted by the length of the clip, "
            "and a block may have more threads than that.",
        }
        hints["warp synchronisation"] = hints["uninitialised read"] = hints["race"]
        hints["values"] = (
            "Follow the first sample of each clip: where does it go if the shift is negative, and where if it is larger "
            "than the clip?"
        )
        back = self.rolled(clips, shift, -1)
        right = self.rolled(clips, shift)
        mistakes = [
            (
                back,
                "Your clips are rolled the other way. The sample `t` moves to `t + shift`; you bring it from there.",
            )
        ]
        judge_kernel(
            got, right, inputs=[shift], hints=hints, mistakes=mistakes if (back != right).any() else []
        )


class Transpose(Exercise):
    """The transpose, without a detour."""

    number, points, minutes = "05.3", 3, 15
    needs = ("kernel transpose(x, out)",)
    hints = (
        "A warp has to go along a row of `x` when it reads and along a row of `out` when it writes. In between the "
        "square has to be turned around, and for that there is shared memory.",
        "Each thread copies four elements of a row of `x` into a tile of 32 × 33, eight rows apart. After a barrier "
        "it takes a *column* of the tile to a row of `out`; that block of `out` is where the row and the column of "
        "the square have changed places.",
        "The way out is `out[left + k, top + across] = tile[across, k]` with `left = 32 * cuda.blockIdx.x`, "
        "`top = 32 * cuda.blockIdx.y` and `k` in `range(cuda.threadIdx.y, 32, 8)`, guarded by the shape of `out`.",
    )

    def cases(self, seed):
        shapes = [(1, 1), (33, 20), (7, 41)]
        if seed:
            generator = np.random.default_rng((0x53, seed))
            shapes = [
                (1, int(generator.integers(2, 9))),
                (int(generator.integers(33, 37)), int(generator.integers(12, 25))),
                (int(generator.integers(5, 12)), int(generator.integers(37, 50))),
            ]
        return [
            {"rows": rows, "columns": columns, "seed": seed * 100 + place}
            for place, (rows, columns) in enumerate(shapes)
        ]

    def says(self, case):
        return f"shape {(case['rows'], case['columns'])}"

    def run(self, student, case):
        x = inputs.distinct((case["rows"], case["columns"]), seed=case["seed"])
        grid = [math.ceil(case["columns"] / 32), math.ceil(case["rows"] / 32)]
        given = (x, Out(x.shape[::-1], np.float32))
        return {
            "kernel": run_kernel(student.transpose, given, grid, (32, 8), interpreted=True),
            "notes": run_notes(student.transpose, given, grid, (32, 8)),
        }

    def judge(self, case, got):
        x = inputs.distinct((case["rows"], case["columns"]), seed=case["seed"])
        reach = (
            "Both ends of the way have a limit of their own: the elements of `x` by its shape, those of `out` by "
            "its shape. The thread that has read one element writes another one."
        )
        place = (
            "The square is turned around in itself, and it lies where it lay before. In `out` the block belongs where "
            "row and column have changed places."
        )
        early = (
            "A column of the tile has been stored by 32 rows of threads, in several warps. Nobody may take it before "
            "all of them are there."
        )
        found = got["kernel"]["findings"]
        elsewhere = any("out[" in each["text"] for each in found)
        race = any(each["kind"] == "race" for each in found)
        hints = {
            "race": early,
            "out of bounds": place
            if elsewhere
            else "Which row and which column of `x` does the last block begin at?",
            "uninitialised read": early
            if race
            else "Not every element of the square has been brought into the tile. It has 32 rows and the block has 8, so "
            "each thread brings four.",
            "unwritten": reach,
        }
        judge_kernel(got["kernel"], x.T.copy(), inputs=[x], hints=hints)
        judge_sectors(
            got["notes"],
            5,
            "One side goes down a column, a sector for each element. Let a tile in shared memory stand in between, and "
            "go along rows on both sides.",
        )
        judge_banks(
            got["notes"],
            1,
            "Down a column of the tile lanes come back to a bank where others are: the width of a row has a divisor in "
            "common with 32. Make the rows one word longer than they need to be.",
        )


class Filtered(Exercise):
    """Five taps."""

    number, points, minutes = "05.4", 3, 20
    needs = ("kernel filtered(x, taps, out)",)
    hints = (
        "How many elements of `x` does a block of 128 threads need altogether? Its tile has to be so long, and who "
        "loads the elements for which there is no thread?",
        "The tile has four elements more than the block has threads, and tile element `k` is element "
        "`first + k - 2` of `x`, or zero. A loop over the tile with a stride of `cuda.blockDim.x` fills it whatever "
        "the size of the block.",
        "`for k in range(t, threads + 4, threads):` with `i = first + k - 2` and "
        "`tile[k] = x[i] if 0 <= i < x.size else 0`; then the barrier, and behind a guard the sum of "
        "`taps[k] * tile[t + k]`.",
    )

    def cases(self, seed):
        launches = [(50, 32), (1, 32), (150, 64), (128, 128)]
        if seed:
            generator = np.random.default_rng((0x54, seed))
            launches = [
                (int(generator.integers(40, 60)), 32),
                (int(generator.integers(1, 5)), 32),
                (int(generator.integers(131, 160)), 64),
                (int(generator.integers(97, 128)), 96),
            ]
        return [
            {"size": size, "block": block, "seed": seed * 100 + 10 * place}
            for place, (size, block) in enumerate(launches)
        ]

    def arrays(self, case):
        x = inputs.distinct(case["size"], seed=case["seed"])
        return x, inputs.distinct(5, seed=case["seed"] + 1)

    def run(self, student, case):
        x, taps = self.arrays(case)
        grid, given = math.ceil(case["size"] / case["block"]), (x, taps, Out(x.shape, x.dtype))
        return {
            "kernel": run_kernel(student.filtered, given, grid, case["block"], interpreted=True),
            "notes": run_notes(student.filtered, given, grid, case["block"]),
        }

    def filtered(self, x, taps, mode="constant"):
        padded = np.pad(x, 2, mode=mode)
        return sum(taps[k] * padded[k : k + x.size] for k in range(5)).astype(np.float32)

    def judge(self, case, got):
        x, taps = self.arrays(case)
        right = self.filtered(x, taps)
        alone = np.zeros_like(x)
        for first in range(0, x.size, case["block"]):
            piece = slice(first, first + case["block"])
            alone[piece] = self.filtered(x[piece], taps)
        mistakes = [
            (
                alone,
                "At the borders between blocks the neighbours are missing. The tile needs two elements more at either "
                "end, and they belong to other blocks.",
            ),
            (
                self.filtered(x, taps[::-1]),
                "Your taps run backwards. `taps[0]` belongs to the neighbour on the far left, `x[i - 2]`.",
            ),
            (
                self.filtered(x, taps, "edge"),
                "Beyond the ends you repeat the last element. What is not there counts as zero.",
            ),
        ]
        mistakes = [(each, hint) for each, hint in mistakes if not np.allclose(each, right)]
        hints = {
            "race": "A thread takes from the tile what its neighbours store there. The whole block has to be done with "
            "storing first.",
            "uninitialised read": "Some elements of the tile are never filled. Follow the first and the last thread "
            "of a block, and those behind the end of `x`: all that is read has to be stored, zeros too.",
        }
        hints["out of bounds"] = (
            "The halo of the first block begins before `x` and that of the last one ends behind it, and a tile has four "
            "elements more than a block has threads. Ask of every element whether it is there."
        )
        judge_kernel(got["kernel"], right, inputs=[x, taps], hints=hints, mistakes=mistakes, atol=1e-4)
        blocks = math.ceil(case["size"] / case["block"])
        judge_requests(
            got["notes"],
            0,
            "read",
            blocks * (math.ceil(case["block"] / 32) + 2),
            "Five threads read the same element of `x` from global memory. Let one of them bring it into shared memory.",
        )


class Softmax(Exercise):
    """Three faults."""

    number, points, minutes = "05.5", 4, 25
    needs = ("kernel softmax(x, out)",)
    hints = (
        "Check it with one row of 20 elements and 64 threads. What do the threads do that have no element, and what "
        "do the others expect of them?",
        "Three questions: what is in `part[t]` for a thread without an element? Which threads come to the barrier in "
        "the first tree? And has every thread read `part[0]` when thread 0 stores its sum there?",
        "Let every thread begin with an element of its row, such as `largest = x[row, 0]`, and store it in `part[t]` "
        "without a condition. Move the barrier of the first tree out of the `if`. Put one more barrier after "
        "`largest = part[0]`.",
    )

    def cases(self, seed):
        shapes = [
            (2, 20, 32, 0, False),
            (2, 40, 16, 150, False),
            (2, 9, 16, -300, False),
            (3, 20, 8, 0, True),
            (1, 3, 128, 0, False),
            (2, 1, 4, 7, False),
        ]
        if seed:
            generator = np.random.default_rng((0x55, seed))
            shapes = [
                (2, int(generator.integers(17, 32)), 32, 0, False),
                (1, int(generator.integers(33, 50)), 32, 150, False),
                (2, int(generator.integers(4, 12)), 16, -300, False),
                (3, int(generator.integers(18, 24)), 8, 0, True),
                (1, int(generator.integers(2, 9)), 128, 0, False),
                (2, 1, 8, 7, False),
            ]
        names = "rows", "columns", "threads", "around", "spike"
        return [
            dict(zip(names, each, strict=True)) | {"seed": seed * 100 + place}
            for place, each in enumerate(shapes)
        ]

    def says(self, case):
        shape = case["rows"], case["columns"]
        spike = " and one far above them" if case["spike"] else ""
        return f"shape {shape}, {case['threads']} threads a block, numbers around {case['around']}{spike}"

    def numbers(self, case):
        x = inputs.distinct((case["rows"], case["columns"]), seed=case["seed"])
        x = (x / max(1, np.abs(x).max()) * 4 + case["around"]).astype(np.float32)
        if case[
            "spike"
        ]:  # at another thread in each row, on another round of it, and far from the other rows'
            places = 1, case["threads"], case["columns"] - 1
            for row, place, height in zip(x, places, (390, 260, 130), strict=True):
                row[place] = height
        return x

    def run(self, student, case):
        x = self.numbers(case)
        given = x, Out(x.shape, x.dtype)
        return run_kernel(student.softmax, given, case["rows"], case["threads"], interpreted=True)

    def judge(self, case, got):
        x = self.numbers(case)
        power = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        right = (power / power.sum(axis=1, keepdims=True)).astype(np.float32)
        places = [re.search(r"\[(\d+)\]", each["text"]) for each in got["findings"]]
        first = all(place and int(place[1]) == 0 for place in places)
        hints = {
            "race": "One thread stores its sum where the others still have to read the largest element. What is used "
            "for a second purpose needs a barrier before it, as well as after it."
            if first
            else "In a tree each round reads what other threads have stored in the round before, so each round ends "
            "with a barrier.",
            "barrier divergence": "A barrier is for every thread of the block: for those whose half is done, and for "
            "those that have no element. Nobody may leave before, and no `if` may stand around it.",
            "uninitialised read": "A thread without an element has stored nothing, and the tree reads what it has "
            "not stored. It has to bring something that changes nothing.",
        }
        hints["unwritten"] = (
            "A row may have more elements than the block has threads. Each thread goes on in strides of the block, until "
            "the row ends."
        )
        hints["warp synchronisation"] = hints["race"]
        overflow = "The largest element is subtracted because `exp` of 150 is more than a float32 holds."
        zero = (
            "A thread without an element brings a number that is larger than all elements of the row. What loses "
            "against everything is an element of the row itself, or minus infinity."
        )
        missed = (
            "In some row one element is far above the others, and your maximum has missed it. Does every element take "
            "part, and every round of the tree?"
        )
        by_hand = "Take one row of three elements, and follow the two trees by hand."
        usual = overflow if case["around"] > 100 else zero if case["around"] < 0 else by_hand
        hints["values"] = hints["nan"] = missed if case["spike"] else usual
        judge_kernel(got, right, inputs=[x], hints=hints, rtol=2e-4)


class RowMax(Exercise):
    """Warp by warp, in CUDA C++."""

    number, points, minutes = "05.6", 4, 30
    seconds = 40.0  # the C++ compiler may be called, also on a busy machine
    needs = ("function make_row_max()",)
    hints = (
        "Three steps: each thread goes through its part of the row, each warp joins its 32 results, and one warp joins "
        "those of the warps. What does a thread begin with, so that it may be without elements?",
        "Begin with `row[0]`, which takes part anyway. `__shfl_down_sync(0xffffffff, largest, far)` brings what the "
        "lane `far` further on has, for `far` of 16, 8, 4, 2, 1, and **all** lanes call it. Lane 0 stores its warp's "
        "result, the block waits, and the first warp does the same with the results.",
        "The last step: `if (warp == 0)`, with `largest = part[lane < blockDim.x / 32 ? lane : 0]`, the same loop of "
        "shuffles, and lane 0 stores `out[blockIdx.x]`.",
    )

    def cases(self, seed):
        shapes = [(2, 70, 32), (3, 150, 96), (2, 7, 64), (2, 1500, 1024), (3, 1, 32)]
        if seed:
            generator = np.random.default_rng((0x56, seed))
            shapes = [
                (2, int(generator.integers(40, 99)), 32),
                (3, int(generator.integers(100, 300)), 128),
                (2, int(generator.integers(2, 32)), 96),
                (2, int(generator.integers(1100, 2000)), 1024),
                (3, 1, 64),
            ]
        return [
            {"rows": rows, "columns": columns, "threads": threads, "seed": seed * 100 + place}
            for place, (rows, columns, threads) in enumerate(shapes)
        ]

    def says(self, case):
        return f"{case['rows']} rows of {case['columns']:,}, {case['threads']:,} threads a block"

    def rows(self, case):
        """Return rows of negative numbers, the largest of each in another place."""
        x = -np.abs(inputs.distinct((case["rows"], case["columns"]), seed=case["seed"])) - 8
        places = [min(case["threads"], case["columns"] - 1), case["columns"] // 2, case["columns"] - 1]
        for row, place in zip(x, places[-case["rows"] :], strict=True):
            row[place] = -1 - place / 4096
        return x

    def run(self, student, case):
        if not hasattr(self, "kernel"):
            self.kernel = student.make_row_max()
        if type(self.kernel).__name__ != "RawKernel":
            return {"made": said(self.kernel)}
        x = self.rows(case)
        given = x, Out(case["rows"], np.float32), np.int32(case["columns"])
        got = run_kernel(self.kernel, given, case["rows"], case["threads"])
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", self.kernel.code, flags=re.DOTALL)
        return got | {"made": "", "atomics": len(re.findall(r"\batomic\w*\s*\(", code))}

    def judge(self, case, got):
        if got["made"]:
            raise Wrong(
                f"make_row_max() returns {got['made']}, and a RawKernel is asked for",
                'Return `cp.RawKernel(code, "row_max")`, uncalled.',
            )
        x = self.rows(case)
        hints = {
            "race": "One warp takes the results of the others before they are there. Between storing `part` and reading "
            "it the block has to wait.",
            "warp synchronisation": "A shuffle takes from a lane what that lane brings. The lanes from which you take "
            "are not there: all 32 of the mask have to make the call, whoever needs the result.",
            "uninitialised read": "A block of 96 threads has three warps, and `part` has 32 places. Those behind the "
            "last warp hold nothing.",
            "out of bounds": "How many elements does the row have, and how many results the block?",
        }
        first = x[:, : case["threads"]].max(axis=1)
        warp = np.stack([x[:, j] for j in range(case["columns"]) if j % case["threads"] < 32]).max(axis=0)
        mistakes = [
            (
                np.zeros(case["rows"], np.float32),
                "All elements are negative, and zero is not among them. Begin with an element of the row.",
            ),
            (
                first,
                "A thread has taken one element, and the row is longer than the block. Go on in strides of the block.",
            ),
            (
                warp,
                "That is the largest of what the first warp has seen. The other warps have results, too.",
            ),
        ]
        right = x.max(axis=1)
        mistakes = [(each, hint) for each, hint in mistakes if (each != right).any()]
        judge_kernel(got, right, inputs=[x], hints=hints, mistakes=mistakes)
        if got["atomics"]:
            raise Wrong(
                "an atomic is called, and none are allowed",
                "In shared memory each warp can have a place of its own, and then nobody is in anybody's way.",
            )


class Histogram(Exercise):
    """Bins of one's own."""

    number, points, minutes = "05.7", 6, 40
    needs = ("kernel histogram(values, counts)",)
    hints = (
        "Three parts, and the block is together between any two of them: empty the block's own bins, count, hand them "
        "over. Which of the three need atomics?",
        "A block of 32 threads and 100 bins: a thread has several bins to empty and to hand over, so these are loops "
        "in strides of `cuda.blockDim.x`. The elements are a loop in strides of the grid. Shared memory takes "
        "`cuda.atomic.add(own, b, 1)` like any other.",
        "The last part: `for b in range(t, counts.size, threads): cuda.atomic.add(counts, b, own[b])`. It is an atomic "
        "because other blocks add to the same bin.",
    )

    def cases(self, seed):
        launches = [(400, 96, 2, 32), (150, 5, 1, 64), (700, 100, 2, 64), (3, 128, 2, 32)]
        if seed:
            generator = np.random.default_rng((0x57, seed))
            launches = [
                (int(generator.integers(350, 450)), int(generator.integers(70, 128)), 2, 32),
                (int(generator.integers(100, 200)), int(generator.integers(2, 20)), 1, 64),
                (int(generator.integers(600, 750)), int(generator.integers(97, 128)), 2, 64),
                (int(generator.integers(1, 9)), 128, 2, 32),
            ]
        return [
            {"size": size, "bins": bins, "grid": grid, "block": block, "seed": seed * 100 + place}
            for place, (size, bins, grid, block) in enumerate(launches)
        ]

    def says(self, case):
        blocks, threads = case["grid"], case["block"]
        return f"{case['size']} values in {case['bins']} bins, launched with [{blocks}, {threads}]"

    def arrays(self, case):
        generator = np.random.default_rng((0x57, case["seed"], 1))
        # Half of them are one value: more of it than an 8-bit count would hold.
        values = np.where(
            generator.random(case["size"]) < 0.5,
            generator.integers(0, case["bins"]),
            generator.integers(0, case["bins"], case["size"]),
        ).astype(np.uint8)
        values[-1] = case["bins"] - 1
        return values, generator.integers(1, 1000, case["bins"]).astype(np.int32)

    def run(self, student, case):
        values, before = self.arrays(case)
        given, launch = (values, InOut(before)), (case["grid"], case["block"])
        return {
            "kernel": run_kernel(student.histogram, given, *launch, interpreted=True),
            "notes": run_notes(student.histogram, given, *launch),
        }

    def judge(self, case, got):
        values, before = self.arrays(case)
        bins, blocks, threads = case["bins"], case["grid"], case["block"]
        counted = np.bincount(values, minlength=bins).astype(np.int32)
        found = got["kernel"]["findings"][0] if got["kernel"]["findings"] else None
        plain = (
            "Reading a count, adding one and storing it are three steps, and another thread comes in between. Let an "
            "atomic do them as one, also in shared memory."
        )
        early = (
            "The bins are emptied by some threads and used by others, and handed over by others again. Between any two "
            "of these three parts the whole block has to be done."
        )
        out = "Other blocks add to the same bin at the same time. What goes out to `counts` needs an atomic as well."
        hints = {}
        if found is not None:
            alone = len(found["lines"]) == 1
            hints["race"] = out if found["array"] == "counts" else plain if alone else early
            hints["warp synchronisation"] = hints["race"]
            hints["uninitialised read"] = (
                early
                if any(each["kind"] in ("race", "warp synchronisation") for each in got["kernel"]["findings"])
                else "Shared memory holds anything at first. Each bin has to be emptied before it is counted in, also "
                "where a block has fewer threads than there are bins."
            )
        part = before + np.where(np.arange(bins) < threads, counted, 0)
        mistakes = [
            (
                part,
                "The bins beyond the number of threads of a block are never handed over. A thread may have several.",
            ),
            (counted, "You have replaced what was in `counts`, and the task is to add to it."),
        ]
        right = (before + counted).astype(np.int32)
        mistakes = [(each, hint) for each, hint in mistakes if (each != right).any()]
        hints["values"] = "Is every element counted once, and every bin handed over once by each block?"
        judge_kernel(got["kernel"], right, inputs=[values], hints=hints, mistakes=mistakes)
        requests = sum(each["requests"] for each in got["notes"]["sectors"] if each["access"] == "atomic")
        one = "Only one thread is at work here, with one bin after another. Share the bins among the threads of the block."
        each = "Every element goes out by itself. Count in shared memory, and send the sums."
        judge_requests(got["notes"], 1, "atomic", 8 * blocks, one if requests == bins * blocks else each)


class Linear(Exercise):
    """A linear layer."""

    number, points, minutes = "05.8", 10, 60
    seconds = 40.0  # many accesses are watched, also on a busy machine
    needs = ("kernel linear(x, weight, bias, out)",)
    hints = (
        "Begin with the tiled product of the chapter and matrices of 8 × 8. Then one thing after another: sides that "
        "are no multiples, the transpose, bias and ReLU, and the banks at last.",
        "The block at (bx, by) needs rows 8·by to 8·by + 7 of `x` and rows 8·bx to 8·bx + 7 of `weight`, in steps of 8 "
        "along `inner`. Load both along their rows, and let what lies beyond a matrix be zero. The transpose is in the "
        "reading: `tile_w[tx, step]`, a column of the tile, which asks for rows of 9.",
        "A step: `tile_x[ty, tx]` from `x[row, start + tx]`, `tile_w[ty, tx]` from "
        "`weight[8 * cuda.blockIdx.x + ty, start + tx]`, or 0; the barrier; "
        "`total += tile_x[ty, step] * tile_w[tx, step]` for 8 steps; the barrier again.",
    )

    def cases(self, seed):
        shapes = [(10, 3, 5), (8, 16, 8), (3, 9, 10)]
        if seed:
            generator = np.random.default_rng((0x58, seed))
            shapes = [
                (int(generator.integers(9, 13)), *(int(side) for side in generator.integers(1, 8, 2))),
                (8, 8 * int(generator.integers(2, 4)), 8),
                (
                    int(generator.integers(2, 8)),
                    8 * int(generator.integers(1, 3)) + 1,
                    int(generator.integers(9, 15)),
                ),
            ]
        return [
            {"rows": rows, "inner": inner, "columns": columns, "seed": seed * 100 + 10 * place}
            for place, (rows, inner, columns) in enumerate(shapes)
        ]

    def says(self, case):
        rows, inner, columns = case["rows"], case["inner"], case["columns"]
        return f"x of shape ({rows}, {inner}), weight of shape ({columns}, {inner})"

    def arrays(self, case):
        x = inputs.distinct((case["rows"], case["inner"]), seed=case["seed"])
        weight = inputs.distinct((case["columns"], case["inner"]), seed=case["seed"] + 1)
        # As large as the product, so that it decides about signs and cannot be left out.
        bias = np.abs(inputs.distinct(case["columns"], seed=case["seed"] + 2))
        bias *= np.float32(np.abs(x).max() * 8)
        bias[::2] *= -1
        return x, weight, bias

    def blocks(self, case):
        return [math.ceil(case["columns"] / 8), math.ceil(case["rows"] / 8)]

    def run(self, student, case):
        arrays, grid = self.arrays(case), self.blocks(case)
        given = (*arrays, Out((case["rows"], case["columns"]), np.float32))
        got = {"kernel": run_kernel(student.linear, given, grid, (8, 8), interpreted=True), "notes": None}
        if case["inner"] % 8 == case["columns"] % 8 == 0:
            got["notes"] = run_notes(student.linear, given, grid, (8, 8))
        return got

    def judge(self, case, got):
        x, weight, bias = self.arrays(case)
        inner = case["inner"]
        product = x.astype(np.float64) @ weight.T.astype(np.float64)
        right = np.maximum(product + bias, 0).astype(np.float32)
        whole = inner // 8 * 8
        short = x[:, :whole].astype(np.float64) @ weight[:, :whole].T.astype(np.float64)
        mistakes = [
            (
                np.maximum(short + bias, 0).astype(np.float32),
                "The last step along `inner` is not full, and you have left it out. Round the steps up, and let zeros "
                "stand for what is not there.",
            ),
            (
                np.maximum(product, 0) + bias,
                "The ReLU comes after the bias: what counts is the sign of the whole.",
            ),
            ((product + bias).astype(np.float32), "Negative results become 0."),
            (np.maximum(product, 0).astype(np.float32), "The bias is missing."),
        ]
        mistakes = [
            (each.astype(np.float32), hint) for each, hint in mistakes if not np.allclose(each, right)
        ]
        hints = {
            "race": "Two barriers belong to a step: nobody may compute before all have stored their elements, and "
            "nobody may store the next ones before all have computed.",
            "barrier divergence": "A thread without an element of `out` still has elements of the tiles to load, and "
            "is counted at every barrier. Guard the loads and the store, and let everybody walk through the steps.",
            "uninitialised read": "Beyond the matrix the tile holds what was there before, and it is multiplied and "
            "added like the rest. A zero has to be stored there, in every step.",
            "out of bounds": "Every index that comes from a thread needs a guard: the rows of `x` and of `weight`, the "
            "elements along `inner`, and `bias` as well.",
            "values": "Is there something in the tiles from the step before, or from beyond the rim? And does row `j` of "
            "`weight` belong to column `j` of `out`? Try an `inner` of 8 first, and then one of 9.",
        }
        hints["warp synchronisation"] = hints["race"]
        judge_kernel(
            got["kernel"],
            right,
            inputs=[x, weight, bias],
            hints=hints,
            mistakes=mistakes,
            rtol=1e-4,
            atol=1e-2,
        )
        if got["notes"] is None:
            return
        blocks = math.prod(self.blocks(case))
        for place in (0, 1):
            judge_requests(
                got["notes"],
                place,
                "read",
                2 * blocks * math.ceil(inner / 8),
                "Each thread fetches its row and its column by itself. Let the block load a tile of each, once a step, "
                "and take the elements from there.",
            )
        judge_sectors(
            got["notes"],
            5,
            "You turn `weight` around while you load it: neighbouring threads read down a column. Load along its rows, "
            "and turn it around in shared memory.",
        )
        reads = [each for each in got["notes"]["banks"] if each["access"] == "read"]
        judge_banks(
            {"banks": reads},
            1,
            "Eight threads read down a column of a tile with rows of 8 words, and every fourth row begins in the same "
            "bank. Rows of 9 words do not.",
        )


class LogCumSumExp(Exercise):
    """A running log-sum-exp."""

    number, points, minutes = "05.9", 10, 60
    seconds = 40.0  # many accesses are watched, also on a busy machine
    needs = ("kernel logcumsumexp(x, out)",)
    hints = (
        "It is the scan of the chapter with another way to add. Two numbers a and b, each the logarithm of a sum, make "
        "the logarithm of both sums together. Which number has to be subtracted so that neither exp overflows?",
        "With `top = max(a, b)` it is `top + math.log(math.exp(a - top) + math.exp(b - top))`. In each round a thread "
        "joins what lies `step` places before with its own; read, barrier, store, barrier. When a piece is done, the "
        "last place of the tile holds all up to there, and thread 0 of the next piece joins it to its own element.",
        "A round: `if t >= step:` take `before = tile[t - step]` and join it to `mine`; then, for all threads, "
        "`cuda.syncthreads()`, `tile[t] = mine`, `cuda.syncthreads()`. Around the rounds a loop "
        "`for first in range(0, columns, threads):`, in which thread 0 first joins `tile[threads - 1]` to its element "
        "if `first > 0`, with a barrier before anybody stores.",
    )

    def cases(self, seed):
        launches = [
            (2, 41, 16, "150"),
            (2, 21, 8, "-300"),
            (2, 30, 16, "slope"),
            (2, 20, 32, "0"),
            (2, 1, 4, "0"),
            (1, 256, 128, "0"),
        ]
        if seed:
            generator = np.random.default_rng((0x59, seed))
            launches = [
                (2, int(generator.integers(33, 48)), 16, "150"),
                (2, int(generator.integers(17, 24)), 8, "-300"),
                (2, int(generator.integers(25, 32)), 16, "slope"),
                (2, int(generator.integers(17, 32)), 32, "0"),
                (1, 1, 8, "0"),
                (1, 256, 128, "0"),
            ]
        return [
            dict(zip(("rows", "columns", "threads", "around"), each, strict=True))
            | {"seed": seed * 100 + place}
            for place, each in enumerate(launches)
        ]

    def says(self, case):
        numbers = (
            "numbers from -200 to 200 in order"
            if case["around"] == "slope"
            else f"numbers around {case['around']}"
        )
        return f"shape {(case['rows'], case['columns'])}, {case['threads']} threads a block, {numbers}"

    def numbers(self, case):
        shape = case["rows"], case["columns"]
        x = inputs.distinct(shape, seed=case["seed"])
        x *= 4 / max(1, np.abs(x).max())
        if case["around"] == "slope":  # one row upwards and one down
            return (x + np.outer((1, -1), np.linspace(-200, 200, shape[1]))).astype(np.float32)
        return (x + int(case["around"])).astype(np.float32)

    def run(self, student, case):
        x = self.numbers(case)
        given, launch = (x, Out(x.shape, x.dtype)), (case["rows"], case["threads"])
        got = {"kernel": run_kernel(student.logcumsumexp, given, *launch, interpreted=True), "notes": None}
        if case["threads"] >= 32:
            got["notes"] = run_notes(student.logcumsumexp, given, *launch)
        return got

    def judge(self, case, got):
        x, threads = self.numbers(case), case["threads"]
        right = np.logaddexp.accumulate(x.astype(np.float64), axis=1)
        alone = [
            np.logaddexp.accumulate(x[:, first : first + threads].astype(np.float64), axis=1)
            for first in range(0, x.shape[1], threads)
        ]
        mistakes = [
            (
                np.hstack(alone),
                "Each piece begins anew. What the pieces before have come to has to go into the first element of the "
                "next one.",
            ),
            (
                np.maximum.accumulate(x, axis=1) + np.log(np.arange(1, x.shape[1] + 1)),
                "You have added sums that are relative to different numbers. When the larger of the two takes over, "
                "the other sum has to be scaled down by exp of the difference.",
            ),
        ]
        mistakes = [
            (each.astype(np.float32), hint)
            for each, hint in mistakes
            if not np.allclose(each, right, 1e-4, 1e-3)
        ]
        places = [re.search(r"\[(\d+)\]", each["text"]) for each in got["kernel"]["findings"]]
        last = all(place and int(place[1]) == threads - 1 for place in places)
        hints = {
            "race": "Thread 0 fetches what the piece before has left, and another thread stores there already. Between "
            "the two the block has to wait."
            if last
            else "In each round a place is read by one thread and stored by another. The block waits twice: when all "
            "have read, and when all have stored.",
            "barrier divergence": "The first threads have nothing before them to add, others have no element, and all "
            "are counted at the barrier. Only reading and adding belong into the `if`, and nobody leaves before.",
            "unwritten": "A row may be longer than the block has threads. Go on with the next piece, until there is "
            "none.",
            "uninitialised read": "A thread reads a place of shared memory that nobody has filled. Every thread stores "
            "something before the first round, also one behind the end of the row.",
        }
        hints["warp synchronisation"] = hints["race"]
        usual = "Take a row of three elements and two threads, and follow it by hand, through both pieces."
        overflow = (
            "`exp` of these numbers is more than a float32 holds, or nothing at all. Two sums are added relative to the "
            "larger of their logarithms."
        )
        vanish = (
            "What you subtract is too large for the beginning of the row: exp of all that stands there is zero. A "
            "running sum needs the largest number so far, and not that of the row."
        )
        hints["values"] = hints["nan"] = {"0": usual, "slope": vanish}.get(case["around"], overflow)
        right = right.astype(np.float32)
        judge_kernel(got["kernel"], right, inputs=[x], hints=hints, mistakes=mistakes, rtol=2e-5, atol=1e-3)
        if got["notes"] is None:
            return
        warps, rounds = threads // 32, int(math.log2(threads))
        pieces = case["rows"] * math.ceil(case["columns"] / threads)
        judge_requests(
            got["notes"],
            0,
            "read",
            pieces * warps,
            "Some elements of `x` are read more than once. Let each thread read one element of a piece, and take the "
            "rest from what the others have left in shared memory.",
        )
        shared = sum(each["requests"] for each in got["notes"]["banks"])
        enough = pieces * warps * (8 * rounds + 4)
        if threads > 32 and shared > enough:
            raise Wrong(
                f"{shared:,} requests to shared memory, and {enough:,} are allowed",
                "One element after the other takes as many steps as there are elements. In a scan all threads add in "
                "each round, and seven rounds are enough for 128.",
            )
