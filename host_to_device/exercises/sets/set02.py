"""Checks of solutions/02-host-and-device.ipynb: made by `make exercises`, edit them there."""

import math

import numpy as np

from host_to_device.checking import check
from host_to_device.exercises import (
    Exercise,
    InOut,
    Out,
    Wrong,
    inputs,
    judge_counts,
    judge_function,
    judge_kernel,
    run_function,
    run_kernel,
)
from host_to_device.exercises.values import said

TITLE = "Host and device"


class Saxpy(Exercise):
    """One thread, one element."""

    number, points, minutes = "02.1", 2, 5
    needs = ("kernel saxpy(alpha, x, y, out)",)
    hints = (
        "The `vec_add` of the chapter has the same shape: one line to find your element, one to ask whether it "
        "exists, one to compute it.",
        "`cuda.grid(1)` is the number of a thread in the whole grid. The launch is rounded up, so some of these "
        "numbers belong to no element.",
        "First `i = cuda.grid(1)`; then `if i < out.size:`; and below that, indented, an assignment to `out[i]`.",
    )
    raised = (
        (
            "must have void return type",
            "A kernel has nobody to return a value to: the host has gone on, and there would be one value for each "
            "thread. Store it in `out[i]`.",
        ),
    )

    def cases(self, seed):
        return inputs.launches(seed, most=300)

    def vectors(self, case):
        return [inputs.distinct(case["size"], seed=case["seed"] + place) for place in (0, 1)]

    def run(self, student, case):
        x, y = self.vectors(case)
        got = run_kernel(student.saxpy, (2.5, x, y, Out(x.shape, x.dtype)), case["grid"], case["block"])
        if not got["findings"]:
            checked = check(student.saxpy, schedules=1)[case["grid"], case["block"]]
            got["accesses"] = checked(2.5, x, y, x.copy()).accesses
        return got

    def judge(self, case, got):
        x, y = self.vectors(case)
        found, hints = got["findings"][0]["text"] if got["findings"] else "", {}
        if f"[{case['size']}], which does not exist" in found:
            one = case["size"] > 1 and "times)" not in found
            hints["out of bounds"] = (
                "Exactly one thread too many got past your guard: elements are counted from 0, so the last one of n "
                "has the number n - 1."
                if one
                else "The launch was rounded up, so some threads have a number that no element has. Let those do nothing."
            )
        if f"out[{case['block']}] first" in found:
            hints["unwritten"] = (
                "Only as many elements as one block has threads were written. `threadIdx.x` begins at 0 again in "
                "every block."
            )
        if f"out[{(case['grid'] - 1) * case['grid'] + case['block']}] first" in found:
            hints["unwritten"] = (
                "Your blocks do not lie side by side along the array. What a thread has to step over are the "
                "threads of the blocks before its own."
            )
        mistakes = [
            (x + y, "Each x[i] is to be multiplied by alpha first."),
            (2.5 * (x + y), "Only x[i] is multiplied by alpha, y[i] is added as it is."),
        ]
        judge_kernel(got, (2.5 * x + y).astype(x.dtype), inputs=[x, y], hints=hints, mistakes=mistakes)
        if (got.get("accesses") or 0) > 9 * case["size"]:
            raise Wrong(
                f"{got['accesses']:,} accesses to memory for {case['size']:,} sums",
                "Every thread computed all of the elements. There is no loop to write: the launch is the loop, and "
                "each thread has one element.",
            )


class WholeTrip(Exercise):
    """The whole trip."""

    number, points, minutes = "02.2", 3, 10
    needs = ("function add_on_device(a, b)",)
    hints = (
        "The kernel can reach device memory only, the caller can reach host memory only. Draw both and an arrow "
        "for each copy: every arrow is a call of yours.",
        "Four calls: `cuda.to_device` for each input, `cuda.device_array_like` for the result, the launch, and "
        "`copy_to_host()`, which gives a new NumPy array.",
        "`math.ceil(a.size / 128)` blocks are enough for every element; dividing with `//` rounds down and loses "
        "the last ones. Return `d_c.copy_to_host()`.",
    )
    raised = (
        (
            "cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE",
            "A block may have 1,024 threads at most, and the second of your two numbers asks for more. Keep it at "
            "128, and take as many blocks as that needs.",
        ),
    )

    def cases(self, seed):
        sizes = [1_000, 200_003, 1, 127, 129]
        if seed:
            generator = np.random.default_rng((0x22, seed))
            sizes = [128 * int(generator.integers(low, 4 * low)) + 77 for low in (3, 1_200)] + [1, 127, 129]
        return [{"size": size, "seed": seed * 1_000 + 10 * place} for place, size in enumerate(sizes)]

    def vectors(self, case):
        return [inputs.distinct(case["size"], seed=case["seed"] + place) for place in (0, 1)]

    def run(self, student, case):
        a, b = self.vectors(case)
        run_function(
            student.add_on_device, -a, -b
        )  # memory that is used again holds other sums than the right ones
        return run_function(student.add_on_device, a, b, counted=True)

    def judge(self, case, got):
        a, b = self.vectors(case)
        counts, result = got["counts"] or {}, got["result"]
        if counts.get("operations") == 0:
            raise Wrong("no kernel ran", "The sum is to be computed on the device: launch vec_add.")
        if isinstance(result, np.ndarray) and counts.get("device_to_host") == 0:
            raise Wrong(
                "what you return was never on the device",
                "Nothing was copied back. The kernel wrote into device memory, and no array of the host learns of "
                "it by itself.",
            )
        hints = {
            "device": "What you return is a device array: an object on the host that only knows where the numbers "
            "are. Copy them back, and return the copy."
        }
        if isinstance(result, np.ndarray) and result.shape == a.shape:
            wrong = np.flatnonzero(result != a + b)
            if wrong.size and wrong[0] == case["size"] // 128 * 128 > 0:
                hints["values"] = hints["nan"] = (
                    "The elements behind the last whole block got no thread: round the number of blocks up, and the "
                    "guard in `vec_add` takes care of the threads too many."
                )
        judge_function(got, a + b, inputs=[a, b], hints=hints)
        if counts.get("host_to_device") == counts.get("device_to_host") == 3:
            raise Wrong(
                "6 copies, and 3 are enough",
                "The kernel was given NumPy arrays, and each of them was copied to the device and back. Make the "
                "copies yourself: only what is read goes there, only what is written comes back.",
            )
        sent = counts.get("host_to_device_bytes")
        if counts.get("host_to_device") == 2 and sent not in (None, 2 * a.nbytes):
            raise Wrong(
                f"{sent:,} bytes to the device, and {2 * a.nbytes:,} are enough",
                "Copy a and b as they are: float32, four bytes for each number.",
            )
        room = "Room for the result needs no copy: cuda.device_array_like(a) makes it."
        once = "One copy back is enough: that of the result, when the kernel has been launched."
        judge_counts(
            got, host_to_device=2, device_to_host=1, hints={"host_to_device": room, "device_to_host": once}
        )


class ScalePart(Exercise):
    """A part of an array, in CUDA C++."""

    number, points, minutes = "02.3", 4, 20
    needs = ("function scale_kernel()", "function scale_part(x, factor, start, stop)")
    hints = (
        "Begin with the CUDA C++ of `vec_add` in the lesson's notebook. How many threads does the part need, and "
        "which element is it that the thread with number 0 should take?",
        "`int i = start + blockIdx.x * blockDim.x + threadIdx.x;` is an element's number, so the guard has to "
        "compare it with one. On the host, each number must have exactly the type that the kernel declares.",
        "The guard is `i < stop`, the launch has `math.ceil((stop - start) / 128)` blocks, and its arguments are "
        "`(d_x, np.float32(factor), np.int32(start), np.int32(stop))` with `d_x = cp.asarray(x)`.",
    )
    raised = (
        (
            "named symbol not found",
            "C++ adds the types of the parameters to a function's name, so nothing in the compiled text is called "
            '`scale`. `extern "C"` asks it not to.',
        ),
        (
            "is not subscriptable",
            "Square brackets are Numba's way to launch. A RawKernel takes three tuples in one call: grid, block, "
            "arguments.",
        ),
    )

    def cases(self, seed):
        parts = [(1_000, 200, 701), (300, 0, 300), (5, 1, 4), (700, 699, 700), (150_000, 7, 149_001)]
        if seed:
            generator = np.random.default_rng((0x23, seed))
            start, stop = int(generator.integers(130, 250)), int(generator.integers(650, 850))
            parts = [
                (stop + 131, start, stop),
                (start + 3, 0, start),
                (stop, stop - 1, stop),
                (200_000, stop, 199_999),
            ]
        return [
            {"size": size, "start": start, "stop": stop, "factor": 2.5 - place, "seed": seed * 1_000 + place}
            for place, (size, start, stop) in enumerate(parts)
        ]

    def array(self, case):
        return inputs.distinct(case["size"], seed=case["seed"])

    def run(self, student, case):
        kernel, x = student.scale_kernel(), self.array(case)
        if type(kernel).__name__ != "RawKernel":
            return {"made": said(kernel)}
        start, stop, factor = case["start"], case["stop"], case["factor"]
        given = (InOut(x), np.float32(factor), np.int32(start), np.int32(stop))
        got = {"kernel": run_kernel(kernel, given, math.ceil((stop - start) / 128), 128)}
        got["kernel"]["names"] = ["x"]
        if not got["kernel"]["findings"]:
            got["trip"] = run_function(student.scale_part, x, factor, start, stop, counted=True)
        return got

    def judge(self, case, got):
        if "made" in got:
            raise Wrong(
                f"scale_kernel() returns {got['made']}", "Let it return a cp.RawKernel of the name scale."
            )
        x, start, stop = self.array(case), case["start"], case["stop"]
        threads = math.ceil((stop - start) / 128) * 128

        def scaled(first, end, factor=case["factor"]):
            after = x.copy()
            after[first:end] *= np.float32(factor)
            return after

        mistakes = [
            (
                scaled(0, min(threads, stop)),
                "Elements before `start` were changed: thread 0 of your launch took the element 0. Which element a "
                "thread takes is for the kernel to decide.",
            ),
            (
                scaled(start, stop - start),
                "Your guard compares the number of an element with a count of elements, so it ends too early unless "
                "`start` is 0. Ask of both sides what they number.",
            ),
            (
                scaled(start, min(threads, stop)),
                "Your kernel needs a thread for every element of the array. Launched for the part only, its first "
                "thread should take the element `start`.",
            ),
        ]
        beyond = "`stop` is the first element that is not yours: let the threads from there on do nothing."
        mistakes += [(scaled(start, end), beyond) for end in (stop + 1, start + threads)]
        hints = {
            "beyond": beyond,
            "out of bounds": "Either a thread behind `stop` got past the guard, or x is declared as wider numbers than "
            "it holds: a float32 of NumPy's is a float in C++.",
        }
        judge_kernel(got["kernel"], scaled(start, stop), hints=hints, mistakes=mistakes)
        unread = (
            "`factor` did not arrive: a Python float has 64 bits, and your kernel reads the first 32 of them. Pass it "
            "as exactly what the kernel declares."
        )
        hints = {
            "values": "The kernel is right, so look at what it is given: blocks, and arguments in their order."
        }
        judge_function(
            got["trip"],
            scaled(start, stop),
            inputs=[x],
            hints=hints,
            mistakes=[(scaled(start, stop, 0), unread)],
        )
        judge_counts(
            got["trip"],
            operations=(1, 9),
            device_to_host=(1, 1),
            hints={"operations": "The part is to be scaled on the device: launch your kernel."},
        )


class Smooth(Exercise):
    """Stay on the device."""

    number, points, minutes = "02.4", 5, 30
    needs = ("kernel smooth_once(old, new)", "function smooth(x, steps)")
    hints = (
        "A thread that writes `x[i]` while its neighbour still has to read it ruins the neighbour's mean. Two arrays "
        "on the device are enough, however many steps there are.",
        "In the kernel, every element of `new` has to be written, the two ends as well. On the host, copy once "
        "before the loop and once after it; in the loop there are a launch and a change of roles.",
        "After each launch `d_old, d_new = d_new, d_old` swaps two names and copies nothing. Then `d_old` is the "
        "newest state, also after the last step and also if there was none.",
    )
    raised = (
        (
            "cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE",
            "The first of the two numbers of a launch is how many blocks there are, the second how many threads each "
            "of them has, and that may be 1,024 at most.",
        ),
    )

    def cases(self, seed):
        cases = [
            {**case, "steps": [1, 2, 5 + seed % 4, 0]} for case in inputs.launches(seed, most=500, least=3)
        ]
        return [*cases, {"size": 150_003 + seed % 100, "steps": [1], "seed": seed}]

    def says(self, case):
        return f"size {case['size']:,}"

    def array(self, case):
        return inputs.distinct(case["size"], np.float64, seed=case["seed"])

    def run(self, student, case):
        x = self.array(case)
        if "grid" not in case:  # long enough for a launch whose two numbers have changed places
            return {"trips": [run_function(student.smooth, x, steps) for steps in case["steps"]]}
        got = {
            "kernel": run_kernel(student.smooth_once, (x, Out(x.shape, x.dtype)), case["grid"], case["block"])
        }
        if not got["kernel"]["findings"]:
            got["trips"] = [run_function(student.smooth, x, steps) for steps in case["steps"]]
            got["few"], got["many"] = (
                run_function(student.smooth, x, steps, counted=True) for steps in (2, 20)
            )
        return got

    def smoothed(self, x, steps):
        for _ in range(steps):
            x = np.concatenate([x[:1], (x[:-2] + x[1:-1] + x[2:]) / 3, x[-1:]])
        return x

    def judge(self, case, got):
        x = self.array(case)
        if "grid" in case:
            self.judge_step(x, got["kernel"])
        later = (
            "The first step is right and a later one is not. Do both names stand for one array after it? An "
            "assignment copies nothing."
        )
        launch = "The kernel is right, so look at how it is launched: blocks enough, and the arrays in their order."
        behind = "You return the state one step before the last: follow the two names through the last swap."
        for steps, trip in zip(case["steps"], got["trips"], strict=True):
            hint = later if steps > 1 else launch
            judge_function(
                trip,
                self.smoothed(x, steps),
                name=f"smooth(x, {steps})",
                inputs=[x],
                hints={"values": hint, "nan": hint},
                mistakes=[(self.smoothed(x, steps - 1), behind)] if steps else [],
            )
        if "grid" in case:
            self.judge_crossings(got["few"], got["many"])

    def judge_step(self, x, got):
        found = got["findings"][0]["text"] if got["findings"] else ""
        hints = {
            "race": "One thread writes an element that its neighbour still has to read, and nobody knows which of them "
            "comes first. Read from one array, write into the other."
        }
        if found.startswith("2 of "):
            hints["unwritten"] = (
                "The ends of `new` are never written. They stay as they are only if somebody brings them over: `new` is "
                "another array."
            )
        judge_kernel(got, self.smoothed(x, 1), inputs=[x], hints=hints)

    def judge_crossings(self, few, many):
        judge_counts(
            many, operations=(20, 40), hints={"operations": "Is each step one launch of smooth_once?"}
        )
        fewer, counts = few["counts"] or {}, many["counts"] or {}

        def more(*names):
            return any(counts.get(name) and counts[name] > fewer[name] for name in names)

        if more("host_to_device", "device_to_host"):
            raise Wrong(
                f"{counts['host_to_device'] + counts['device_to_host']} copies in 20 steps, and 2 are enough",
                "The copies grow with the number of steps. What the next step needs is on the device already: copy "
                "once before the loop and once after it.",
            )
        room = "The second array needs room only, and no numbers: cuda.device_array_like makes it without a copy."
        judge_counts(many, host_to_device=1, device_to_host=1, hints={"host_to_device": room})
        if more("waits"):
            raise Wrong(
                f"the host waits {counts['waits']} times in 20 steps, and the 2 copies are all that it has to wait for",
                "The host waits in every step. Launches in one stream begin in the order in which they were asked for, "
                "so nobody has to wait for the step before.",
            )
