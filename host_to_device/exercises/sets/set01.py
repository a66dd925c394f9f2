"""Checks of solutions/01-architecture.ipynb: made by `make exercises`, edit them there."""

import ast
import inspect
import math
import textwrap

import numpy as np

from host_to_device import check
from host_to_device.exercises import (
    Exercise,
    Out,
    Wrong,
    as_numbers,
    inputs,
    judge_array,
    judge_function,
    judge_kernel,
    run_function,
    run_kernel,
)
from host_to_device.exercises.judging import number as shown
from host_to_device.exercises.values import said

TITLE = "Two machines in one"


class DataSheet(Exercise):
    """Read the data sheet."""

    number, points, minutes = "01.1", 2, 5
    needs = ("function peak(gpu)",)
    hints = (
        "How many units are there on the whole chip, and what does each of them finish in a cycle?",
        "A unit finishes a multiply-add in a cycle. Data sheets count that as two operations.",
        "2 × SMs × lanes × clock; MHz is 10⁶ a second, and a TFLOP is 10¹² operations.",
    )

    def cases(self, seed):
        parts = [(40, 64, 1024, 1590), (132, 128, 2048, 1980), (68, 48, 1536, 1410), (7, 128, 512, 900)]
        return [
            {
                "sms": sms + seed,
                "lanes": lanes,
                "schedulers": 4,
                "threads": threads,
                "clock": clock + 3 * seed,
            }
            for sms, lanes, threads, clock in parts
        ]

    def says(self, case):
        return f"{case['sms']} SMs, {case['lanes']} lanes each"

    def run(self, student, case):
        return run_function(student.peak, dict(case))

    def judge(self, case, got):
        unit = case["sms"] * case["clock"] / 1e6
        once = "A multiply-add is a multiplication and an addition: that is how FLOP are counted."
        resident = (
            "The threads that an SM holds are not those that it computes with in a cycle. Most of them wait."
        )
        warps = "A scheduler issues for 32 lanes, but an SM may have fewer units than that for float32: then the warp takes two cycles."
        shared = "`lanes` are those of the whole SM: its schedulers share them."
        given = "This is the T4 above, whatever card is asked about: take the numbers from `gpu`."
        units = "Look at the unit: the clock is in MHz, and tera is 10¹²."
        lanes = 2 * unit * case["lanes"]
        judge_function(
            got,
            lanes,
            name="the peak",
            mistakes=[
                (lanes / 2, once),
                (2 * unit * case["threads"], resident),
                (2 * unit * 32 * case["schedulers"], warps),
                (lanes * case["schedulers"], shared),
                (lanes / case["sms"], "That is one SM, and the chip has more of them."),
                (2 * 40 * 64 * 1590 / 1e6, given),
                *[
                    (round(lanes, places), "Leave it as it is: whoever prints it may round it.")
                    for places in range(3)
                ],
                (lanes // 1, "A rate is no whole number: divide with one stroke."),
                *[(lanes * 10.0**power, units) for power in (-6, -3, 3, 6, 9, 12)],
            ],
            rtol=5e-7,  # float32 will do
        )


class Promise(Exercise):
    """A profile and a promise."""

    number, points, minutes = "01.2", 2, 10
    needs = ("function promise(seconds, factors)",)
    hints = (
        "What adds up, times or factors?",
        "Work out the time of each part afterwards. A part that nobody mentions takes as long as before.",
        "The sum of `seconds.values()`, divided by the sum of `time / factors.get(part, 1)` over all parts.",
    )

    def cases(self, seed):
        more = (seed % 7) / 4
        return [
            {"seconds": {"a": 3.0 + more, "b": 40.0, "c": 7.0}, "factors": {"b": 10, "c": 2}},
            {"seconds": {"a": 1.0, "b": 9.0 + more}, "factors": {"b": 100}},
            {"seconds": {"a": 5.0, "b": 2.5 + more}, "factors": {}},
            {"seconds": {"a": 6.0 + more, "b": 4.0}, "factors": {"a": 0.5, "b": 8}},
        ]

    def says(self, case):
        return f"seconds {case['seconds']}, factors {case['factors']}"

    def run(self, student, case):
        return run_function(student.promise, dict(case["seconds"]), dict(case["factors"]))

    def judge(self, case, got):
        seconds, factors = case["seconds"], case["factors"]
        total = sum(seconds.values())
        share = {part: time / total for part, time in seconds.items()}
        right = 1 / sum(part_of / factors.get(part, 1) for part, part_of in share.items())
        mean = sum(part_of * factors.get(part, 1) for part, part_of in share.items())
        apart = math.prod(1 / (1 - share[part] + share[part] / factor) for part, factor in factors.items())
        largest = max(factors, key=lambda part: share[part], default=None)
        one = 1 / (1 - share[largest] + share[largest] / factors[largest]) if factors else 1.0
        left = total / max(1e-300, sum(seconds[part] / factor for part, factor in factors.items()))
        named, after = (
            sum(share[part] for part in factors),
            sum(share[part] / factors[part] for part in factors),
        )
        judge_function(
            got,
            right,
            name="the factor",
            mistakes=[
                (
                    mean,
                    "You have averaged factors. What a program takes is a sum of times: average those, then divide.",
                ),
                (
                    apart,
                    "Each factor was worked out as if nothing else changed, and then they were multiplied. But the second part has a larger share once the first is faster.",
                ),
                (
                    left,
                    "Where has the rest of the program gone? A part that nobody speeds up takes as long as it did.",
                ),
                (one, "One part is in your formula, and the promise names more."),
                (1 / right, "This is the share of the time that is left. How many times as fast is that?"),
                (
                    math.prod(factors.values()),
                    "These are the factors of parts, multiplied. What becomes of the time of the whole?",
                ),
                (
                    named / after if factors else 0,
                    "So many times as fast become the parts that are named, together. The others belong to the program, too.",
                ),
                (
                    total * (1 - 1 / right),
                    "These are the seconds that are saved. How many times as fast is that?",
                ),
                (right - 1, "A program that takes as long as before is 1 times as fast, not 0 times."),
            ],
            rtol=5e-7,  # float32 will do
        )


class Enough(Exercise):
    """Enough under way."""

    number, points, minutes = "01.3", 3, 15
    needs = ("function threads_needed(bytes_per_cycle, latency, sms, bytes_each, loads)",)
    hints = (
        "How many bytes have to be under way at once, on the whole GPU? Little's law has that answer.",
        "Divide by the SMs, and then by what a warp has under way. Is what comes out a whole number, and if not, which one is enough?",
        "`-(-a // b)` is a division of whole numbers that rounds up. A warp has 32 · bytes_each · loads bytes under way.",
    )

    def cases(self, seed):
        found = [
            {"bytes_per_cycle": 1693, "latency": 700, "sms": 132, "bytes_each": 4, "loads": 1},
            {"bytes_per_cycle": 1024, "latency": 512, "sms": 64, "bytes_each": 4, "loads": 4},
            {"bytes_per_cycle": 201, "latency": 450, "sms": 40, "bytes_each": 16, "loads": 1},
            {"bytes_per_cycle": 4096, "latency": 600, "sms": 148, "bytes_each": 8, "loads": 3},
            {"bytes_per_cycle": 3, "latency": 20, "sms": 16, "bytes_each": 8, "loads": 2},
            # One byte more than three warps an SM have under way.
            {"bytes_per_cycle": 23, "latency": 167, "sms": 10, "bytes_each": 4, "loads": 1},
        ]
        for case in found[2:4]:
            case["latency"] += seed % 40
        return found

    def run(self, student, case):
        return run_function(student.threads_needed, *case.values())

    def judge(self, case, got):
        whole = case["bytes_per_cycle"] * case["latency"]
        warp, sms = 32 * case["bytes_each"] * case["loads"], case["sms"]
        right = 32 * -(-whole // (sms * warp))
        down = 32 * (whole // (sms * warp))
        judge_function(
            got,
            right,
            name="the number of threads",
            mistakes=[
                (down, "With these, a few bytes fewer than needed are under way. Enough means rounding up."),
                (down + 32, "Your number is one warp too many where the division comes out even."),
                (
                    32 * -(-whole // warp),
                    "These are the threads of the whole GPU, and there are several SMs.",
                ),
                (
                    32 * -(-whole // (sms * warp // case["loads"])),
                    "A thread that has several loads under way does the work of several threads.",
                ),
                (
                    -(-whole // (sms * warp)),
                    "These are warps, and the question is how many threads they have.",
                ),
                (
                    -(-whole * 32 // (sms * warp)),
                    "Threads come in warps of 32, and a part of a warp takes up a whole one.",
                ),
                (
                    32 * -(-case["bytes_per_cycle"] // (sms * warp)),
                    "This is what comes in one cycle. A load is under way for many of them.",
                ),
                (
                    32 * -(-whole * case["loads"] // (sms * 32 * case["bytes_each"])),
                    "Several loads of one thread are more under way, so fewer threads are enough, not more.",
                ),
                (
                    32 * -(-whole // (sms * 32 * 4 * case["loads"])),
                    "Not every load brings a float32: this one brings `bytes_each` bytes.",
                ),
                *[
                    (
                        min(most, right),
                        "More than an SM may hold, and yet it is what memory needs: say so. That is the point of the question.",
                    )
                    for most in (1_024, 1_536, 2_048)
                ],
            ],
        )


class Lanes(Exercise):
    """Warps that do not part."""

    number, points, minutes = "01.4", 4, 20
    needs = ("kernel whole(x, out)",)
    hints = (
        "A warp is 32 threads in a row. If the odd places are to be theirs, which 32 threads take them?",
        "Let the first half of a block take its even places and the second half its odd ones. A block still covers the same stretch of the array.",
        "With `t = cuda.threadIdx.x` and `half = cuda.blockDim.x // 2`: place `first + 2 * t` for `t < half`, and `first + 2 * (t - half) + 1` for the others. Each needs its own guard.",
    )

    def cases(self, seed):
        found = [
            {"size": 512, "block": 128, "grid": 4},
            {"size": 771 + 2 * (seed % 50), "block": 192, "grid": 6},
            {"size": 256, "block": 64, "grid": 4},
            {"size": 100 - seed % 30, "block": 64, "grid": 2},
        ]
        return [{**case, "seed": seed * 10 + place} for place, case in enumerate(found)]

    def says(self, case):
        return f"size {case['size']}, block {case['block']}"

    def run(self, student, case):
        x = inputs.distinct(case["size"], seed=case["seed"]) + np.float32(0.0625)
        got = run_kernel(student.whole, (x, Out(x.shape, x.dtype)), case["grid"], case["block"])
        got["torn"], got["in one line"] = [], self.in_one_line(student.whole)
        if case["size"] % case["block"] == 0 and not got["findings"]:
            checked = check(student.whole, schedules=1, notes=True)
            report = checked[case["grid"], case["block"]](x, np.zeros_like(x))
            got["torn"] = [
                {"line": note.line or 0, "lanes": float(note.number)}
                for note in report.notes
                if note.kind == "divergence"
            ]
        return got

    def in_one_line(self, kernel):
        """Return the first line, from 1, of a conditional expression whose sides call something; 0 without one."""
        try:
            source = textwrap.dedent(inspect.getsource(kernel.py_func))
        except (AttributeError, OSError, TypeError):
            return 0
        found = [
            node.lineno
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.IfExp)
            and any(
                isinstance(each, ast.Call) for side in (node.body, node.orelse) for each in ast.walk(side)
            )
        ]
        return min(found, default=0)

    def judge(self, case, got):
        x = inputs.distinct(case["size"], seed=case["seed"]) + np.float32(0.0625)
        even = np.arange(x.size) % 2 == 0
        right = np.where(even, np.log(1 + np.abs(x)), x - np.floor(x)).astype(np.float32)
        swapped = np.where(even, x - np.floor(x), np.log(1 + np.abs(x))).astype(np.float32)
        size, block = case["size"], case["block"]
        halves = np.arange(size) % block < block // 2
        by_half = np.where(halves, np.log(1 + np.abs(x)), x - np.floor(x)).astype(np.float32)
        by_warp = np.arange(size) // 32 % 2 == 0
        by_warp = np.where(by_warp, np.log(1 + np.abs(x)), x - np.floor(x)).astype(np.float32)
        moved = "No warp is torn, and other elements are treated: the kind of an element is fixed by its place. Move the threads, not the kinds."
        judge_kernel(
            got,
            right,
            inputs=[x],
            hints={
                "out of bounds": "Two places are worked out in your kernel, and each may lie beyond the end.",
                "unwritten": "Some places have no thread. Which places does the second half of a block take?",
            },
            mistakes=[
                (by_warp, moved),
                (by_half, moved),
                (swapped, "The two kinds are the wrong way round: even places hold amplitudes."),
                (
                    np.where(even, np.log(1 + np.abs(x)), x - np.trunc(x)).astype(np.float32),
                    "int() cuts a negative number towards zero, and its floor lies below it.",
                ),
            ],
            rtol=1e-4,
        )
        if got["torn"]:
            worst = min(got["torn"], key=lambda each: each["lanes"])
            raise Wrong(
                f"line {worst['line']} is executed with {worst['lanes']:g} of 32 lanes on average",
                "The result is right, and warps walk through both branches. Which threads of a warp take even places?",
            )
        if got["in one line"]:
            raise Wrong(
                f"line {got['in one line']} of the kernel has both branches in it",
                "The lanes are counted line by line. Write `if` and `else` on lines of their own, and see who comes by.",
            )


class Fused(Exercise):
    """One pass or many."""

    number, points, minutes = "01.5", 4, 25
    needs = ("function passes(steps, n, peak, bandwidth)",)
    hints = (
        "Two limits for each pass: what are its operations, and which arrays cross the border between memory and registers?",
        "A fused pass keeps in registers what one step makes and another reads. Which names are left that have to be read, and how often is each of them?",
        "One pass: `max(n * operations / peak, 4 * n * arrays / bandwidth)`. Fused, `arrays` is the number of different names that are read and not made by a step, and one more.",
    )

    CHAINS = (
        [(["x"], "c", 2), (["c"], "shown", 1), (["x", "c"], "i", 3), (["i"], "t", 12), (["x", "t"], "y", 3)],
        [(["a", "b"], "s", 1), (["s", "k"], "p", 40), (["p", "a"], "q", 1)],
        [(["x"], "y", 5)],
        [(["x", "y", "z"], "u", 300), (["u"], "v", 1), (["v", "w"], "r", 1)],
    )

    def cases(self, seed):
        return [
            {"chain": chain, "n": 1_000_000 + 1_000 * (seed % 9), "peak": peak, "bandwidth": bandwidth}
            for chain, peak, bandwidth in (
                (0, 20e12, 2e12),
                (1, 20e12, 2e12),
                (2, 1e12, 100e9),
                (3, 8e12, 320e9),
                (1, 0.5e12, 2e12),
            )
        ]

    def says(self, case):
        return f"chain {case['chain'] + 1}, corner at {case['peak'] / case['bandwidth']:g} operations a byte"

    def run(self, student, case):
        steps = [(list(inputs), output, count) for inputs, output, count in self.CHAINS[case["chain"]]]
        return run_function(student.passes, steps, case["n"], case["peak"], case["bandwidth"])

    def judge(self, case, got):
        steps, n = self.CHAINS[case["chain"]], case["n"]
        result = as_numbers(got["result"], 2)
        if result is None:
            raise Wrong(
                f"passes returns {getattr(got['result'], 'kind', said(got['result']))}",
                "Two times are asked for: return both.",
            )

        def one(arrays, operations, how=max, size=4):
            return how(n * operations / case["peak"], size * n * arrays / case["bandwidth"])

        def plus(a, b):
            return a + b

        made = {output for _, output, _ in steps}
        reads = [name for inputs, _, _ in steps for name in inputs]
        fresh, total = {name for name in reads if name not in made}, sum(count for _, _, count in steps)
        often = len([name for name in reads if name not in made])

        def both(how=max, size=4):
            apart = sum(one(len(inputs) + 1, count, how, size) for inputs, _, count in steps)
            return np.array([apart, one(len(fresh) + 1, total, how, size)])

        right = both()
        mistakes = [
            (
                both(plus),
                "A pass moves and computes at the same time. Which of the two does it have to wait for?",
            ),
            (both(min), "The slower of the two limits decides, not the quicker."),
            (both(size=8), "An element of float32 has four bytes."),
            (
                np.array([right[0], one(often + 1, total)]),
                "An array that two steps read is read once by a fused pass, and kept.",
            ),
            (
                np.array([right[0], one(len(fresh) + len(made), total)]),
                "What one step makes and the next one reads stays in registers. Which array has to be written?",
            ),
            (
                np.array([right[0], one(len(set(reads)) + 1, total)]),
                "An array that a step has made is not in memory, so it cannot be read there.",
            ),
            (
                np.array(
                    [sum(one(len(inputs), count) for inputs, _, count in steps), one(len(fresh), total)]
                ),
                "What comes out has to be written as well.",
            ),
            (
                np.array([right[0], max(one(len(fresh) + 1, count) for _, _, count in steps)]),
                "The fused pass does the operations of all its steps.",
            ),
            (right[::-1], "The two times are the wrong way round."),
            (
                np.array([one(sum(len(inputs) + 1 for inputs, _, _ in steps), total), right[1]]),
                "Each pass waits for the longer of its own two, and only then are the passes added.",
            ),
            (
                np.array([right[0], one(len(set(steps[0][0])) + 1, total)]),
                "Later steps, too, read arrays that no step has made.",
            ),
            (np.array([right[0], one(len(fresh), total)]), "What comes out has to be written as well."),
            (
                np.array([right[0], one(len(fresh) + len(made - set(reads)), total)]),
                "Only the last step's output is asked for, even if another one's is read by nobody.",
            ),
        ]
        judge_array("time", np.array(result, float), right, mistakes=mistakes, rtol=5e-7)


class Crossing(Exercise):
    """Where they cross."""

    number, points, minutes = "01.6", 5, 35
    needs = ("function crossing(kind, host, device, resident)",)
    hints = (
        "Write down what one n costs on the host, and what it costs on the device: which of the prices are paid once, and which for every byte or operation?",
        "Here: the call, and the longer of operations and bytes. There: launch, wait, the longer of the two at the device's limits, and, unless the operands are there, three copies and 12n² bytes over the link.",
        "A loop over n from 1 to 20,000 that returns the first n with `there < here`, and None behind the loop.",
    )

    HOSTS = (
        {"call": 1e-6, "rate": 200e9, "bandwidth": 40e9},
        {"call": 0.4e-6, "rate": 40e9, "bandwidth": 12e9},
        {"call": 30e-6, "rate": 3e12, "bandwidth": 300e9},
        {"call": 12e-6, "rate": 500e9, "bandwidth": 25e9},
    )
    DEVICES = (
        {"launch": 3.8e-6, "wait": 5.8e-6, "copy": 3.8e-6, "rate": 15.7e12, "bandwidth": 900e9, "link": 16e9},
        {"launch": 20e-6, "wait": 6e-6, "copy": 9e-6, "rate": 8.1e12, "bandwidth": 320e9, "link": 12e9},
        {"launch": 2e-6, "wait": 4e-6, "copy": 1e-6, "rate": 60e12, "bandwidth": 3.3e12, "link": 450e9},
        # In another building: they cross at the last n that is asked about, and just behind it.
        {"launch": 4e-6, "wait": 0.1146579, "copy": 1e-6, "rate": 60e12, "bandwidth": 900e9, "link": 1e9},
        {"launch": 4e-6, "wait": 0.1146694, "copy": 1e-6, "rate": 60e12, "bandwidth": 900e9, "link": 1e9},
    )
    LAST = 20_000

    def cases(self, seed):
        found = [
            ("product", 0, 0, False),
            ("product", 0, 0, True),
            ("sum", 0, 0, False),
            ("sum", 0, 0, True),
            ("product", 1, 1, False),
            ("sum", 1, 2, False),
            ("product", 2, 1, False),
            ("product", 2, 2, True),
            ("sum", 2, 1, True),
            ("sum", 3, 2, True),
            ("sum", 0, 3, True),
            ("sum", 0, 4, True),
        ]
        return [
            {
                "kind": kind,
                "host": host,
                "device": device,
                "resident": resident,
                "slower": 1 + (seed % 10) / 16,
            }
            for kind, host, device, resident in found
        ]

    def says(self, case):
        where = "operands there" if case["resident"] else "operands on the host"
        return f"a {case['kind']}, host {case['host'] + 1}, device {case['device'] + 1}, {where}"

    def prices(self, case):
        host = {**self.HOSTS[case["host"]]}
        host["rate"] /= case["slower"]
        return host, {**self.DEVICES[case["device"]]}

    def run(self, student, case):
        return run_function(student.crossing, case["kind"], *self.prices(case), case["resident"])

    def times(self, case, n, way="right"):
        host, device = self.prices(case)
        operations = (1 if way == "half" else 2) * n**3 if case["kind"] == "product" else n**2
        size = 4 * n * n

        def longer(machine):
            one, other = operations / machine["rate"], 3 * size / machine["bandwidth"]
            return {"added": one + other, "rate": one}.get(way, max(one, other))

        here = host["call"] * (way != "free call") + longer(host)
        there = device["launch"] + device["wait"] * (way != "no wait") + longer(device)
        if not case["resident"] or way == "always":
            copies, moved = (1 if way == "one copy" else 3), (2 if way == "one way" else 3) * size
            there += copies * device["copy"] + moved / device["link"]
            there += 3 * device["wait"] * (way == "waits")
        if way == "bytes only":
            there = (0 if case["resident"] else 3 * size / device["link"]) + longer(device)
        return here, there

    def first(self, case, way="right"):
        for n in range(1, self.LAST + 1):
            here, there = self.times(case, n, way)
            if there < here:
                return n
        return None

    def judge(self, case, got):
        result, right = got["result"], self.first(case)
        if result is not None:
            [result] = as_numbers([result], 1) or [None]
            if result is None or result % 1 != 0:
                raise Wrong(
                    f"crossing returns {getattr(got['result'], 'kind', said(got['result']))}",
                    "A whole number is asked for, or None.",
                )
            result = int(result)
        if result == right:
            return
        said_right = "None" if right is None else shown(right)
        text = f"{'None' if result is None else shown(result)}, and {said_right} is right"
        hints = {
            "added": "A machine moves and computes at the same time: the longer of the two counts, not their sum.",
            "rate": "The operations are one limit; the bytes that have to come from memory are the other.",
            "always": "If the operands are there already, nothing is copied.",
            "one way": "The result has a way to go as well.",
            "one copy": "Three matrices are three copies, and each has its fixed price.",
            "bytes only": "Transfer is not all that it costs to ask: a launch and a wait are paid for the smallest matrix, too.",
            "free call": "The host's own call costs something as well.",
            "no wait": "The device has been asked, and the host does not have the result before it has waited.",
            "half": "A product has 2n³ operations: a multiplication and an addition for each of the n³ pairs.",
            "waits": "Copies and launch are in one row on the device: the host waits once, at the end.",
        }
        if right == self.LAST and result is None:
            raise Wrong(text, "20,000 is asked about as well, and a range ends before its second number.")
        if result is not None and result > self.LAST:
            raise Wrong(text, "The question ends at 20,000: what comes behind it is None.")
        if result is not None and result < 1:
            raise Wrong(text, f"None says that there is no such n, and {result} is a number.")
        for way, hint in hints.items():
            if self.first(case, way) == result:
                raise Wrong(text, hint)
        if right is None:
            raise Wrong(
                text, "For no n is the device faster here. What remains of both times if n is very large?"
            )
        if isinstance(result, int) and result > right:
            raise Wrong(
                text,
                "There is a smaller n for which the device is faster. Is every n tried, and no price paid twice?",
            )
        raise Wrong(
            text, "Take the first n for which you and the check differ, and work out both times by hand."
        )


class Turns(Exercise):
    """A scheduler of your own."""

    number, points, minutes = "01.7", 6, 60
    needs = ("function schedule(warps, work, latency, gap, cycles)",)
    hints = (
        "Begin with one warp and `gap=1`, and draw the first two turns on paper, with their cycles. Then add a second warp.",
        "Keep for each warp the cycle from which it is ready, for memory the cycle from which it can begin, and the warp whose turn it is with what is left of it. Walk through the cycles.",
        "At the end of a turn in cycle c: `begins = max(c + 1, memory)`, `memory = begins + gap`, ready again at `begins + latency`. Note (c + 1, begins + latency) for every load, and count at the end.",
    )

    def cases(self, seed):
        more = seed % 23
        return [
            {"warps": 1, "work": 4, "latency": 20, "gap": 1, "cycles": 90 + more},
            {"warps": 3, "work": 9, "latency": 25, "gap": 1, "cycles": 400 + more},
            {"warps": 6, "work": 9, "latency": 30, "gap": 1, "cycles": 500 + more},
            {"warps": 5, "work": 2, "latency": 40, "gap": 17, "cycles": 600 + more},
            {"warps": 4, "work": 30, "latency": 50, "gap": 45, "cycles": 1_000 + more},
            {"warps": 2, "work": 0, "latency": 7, "gap": 3, "cycles": 90 + more},
            {"warps": 3, "work": 5, "latency": 11, "gap": 2, "cycles": 0},
            {"warps": 1, "work": 4, "latency": 20, "gap": 1, "cycles": 100},
            {"warps": 8, "work": 7, "latency": 33, "gap": 5, "cycles": 57 + more},
        ]

    def run(self, student, case):
        return run_function(student.schedule, *case.values())

    def turns(self, case, way):
        """Return the turns of all warps that begin in time: the cycle of the first instruction, of the load, of the return."""
        ready, clock, memory, found = [0] * case["warps"], 0, 0, []
        length = case["work"] + (way != "no load")
        rounds = 0
        while True:
            warp = min(range(case["warps"]), key=lambda w: (ready[w], w))
            if way == "going round":
                warp, rounds = rounds % case["warps"], rounds + 1
            began = max(clock, ready[warp])
            if began >= case["cycles"] or len(found) > 5_000:
                return found
            clock = began + length
            begins = max(clock, memory)
            if way == "no queue":
                begins = clock
            if way == "same cycle":
                begins = max(clock - 1, memory)
            memory = begins + case["latency" if way == "one at a time" else "gap"]
            ready[warp] = begins + case["latency"]
            if way == "waits":
                clock = ready[warp]
            found.append((began, began + length, ready[warp]))

    def counted(self, case, way="right"):
        cycles, length = case["cycles"], case["work"] + (way != "no load")
        found = self.turns(case, way)
        busy = sum(min(cycles, began + length) - began for began, _, _ in found)
        loads = [(issued, back) for _, issued, back in found if issued <= cycles]
        late = 1 if way == "late" else 0
        back = len([1 for _, back in loads if back < cycles + late])
        if way == "issued":
            back = len(loads)
        start = {"begun": case["latency"]}.get(way)
        end = float("inf") if way == "to their end" else cycles
        under = sum(
            max(0, min(back, end) - (max(issued, back - start) if start is not None else issued))
            for issued, back in loads
        )
        return [busy, back, under]

    def judge(self, case, got):
        result, right = as_numbers(got["result"], 3), self.counted(case)
        if result is None or any(each % 1 != 0 for each in result):
            raise Wrong(
                f"schedule returns {getattr(got['result'], 'kind', said(got['result']))}",
                "Three whole numbers are asked for: return busy, back, under_way.",
            )
        if result == right:
            return
        names = ("cycles with an instruction", "loads back", "cycles of loads under way")
        which = next(place for place in range(3) if result[place] != right[place])
        text = f"{result[which]:,} {names[which]}, and {right[which]:,} is right"
        hints = {
            "waits": "Nobody issues while a warp waits. That is the machine without latency hiding: the scheduler has other warps.",
            "going round": "Your warps come in a fixed order, and a warp that is not ready holds up those behind it.",
            "no queue": "Loads do not wait for each other in your memory. It begins one every `gap` cycles.",
            "begun": "A load is under way from its issue on, also while it stands in the queue before memory.",
            "late": "A load that comes back in cycle `cycles` does not come back in time.",
            "issued": "You have counted the loads that were issued. Some of them are not back at the end.",
            "no load": "The load is an instruction as well: a turn has work + 1 of them.",
            "one at a time": "Your memory begins a load when the one before is back. It begins one every `gap` cycles, with others under way.",
            "same cycle": "A load that is issued in cycle c is begun in cycle c + 1, or later.",
            "to their end": "Of a load that is not back at the end only the cycles before it count.",
        }
        for way, hint in hints.items():
            if result == self.counted(case, way):
                raise Wrong(text, hint)
        raise Wrong(
            text, "Draw the first turns of this case on paper, cycle by cycle, and compare them with yours."
        )
