"""Checks of solutions/09-copy-cost.ipynb: made by `make exercises`, edit them there."""

import contextlib
import io
import math
import re
import statistics
import weakref

import numpy as np

from host_to_device.exercises import (
    Exercise,
    Wrong,
    inputs,
    judge_array,
    judge_counts,
    judge_function,
    run_function,
)
from host_to_device.exercises.values import said
from host_to_device.starting import devices

TITLE = "What copying costs"


class RowSums(Exercise):
    """The sum of every row."""

    number, points, minutes = "09.1", 2, 5
    needs = ("function row_sums(d_x)",)
    hints = (
        "Two questions, one after the other: where are the sums computed, and how do they come over together?",
        "`d_x.sum(axis=1)` is an array on the device with one number for each row. Looping over it on the host asks for "
        "these numbers one at a time.",
        "A CuPy array has the method `tolist()`: it copies the whole array once, and makes a list of what has come.",
    )

    def cases(self, seed):
        return [
            {"rows": rows + seed % 3, "columns": columns + seed % 5, "seed": seed * 1_000 + rows}
            for rows, columns in ((40, 3), (7, 300), (1, 5))
        ]

    def says(self, case):
        return f"{case['rows']} × {case['columns']}"

    def array(self, case):
        return inputs.distinct((case["rows"], case["columns"]), np.float64, seed=case["seed"])

    def run(self, student, case):
        import cupy as cp

        d_x = cp.asarray(self.array(case))
        run_function(student.row_sums, d_x)  # what is compiled the first time is not counted
        return run_function(student.row_sums, d_x, counted=True)

    def judge(self, case, got):
        x, rows = self.array(case), case["rows"]
        result, counts = got["result"], got["counts"] or {}
        if not isinstance(result, list):
            raise Wrong(
                f"row_sums returns {getattr(result, 'kind', said(result))}, and a list is asked for",
                "A list of Python floats is asked for, on the host.",
            )
        # NumPy's float64 is a Python float, too, and comes here as an array without dimensions.
        result = [each.item() if isinstance(each, np.ndarray) and each.ndim == 0 else each for each in result]
        odd = next((each for each in result if not isinstance(each, float)), None)
        if odd is not None:
            raise Wrong(
                f"there is {getattr(odd, 'kind', said(odd))} in the list",
                "What is in your list lies on the device still: an array of a single number is an array. Whoever prints it "
                "will wait for it.",
            )
        if len(result) != rows:
            raise Wrong(f"{len(result)} numbers, and there are {rows} rows", "Along which axis did you add?")
        judge_array("the sum", np.array(result), x.sum(axis=1))
        if (counts.get("device_to_host_bytes") or 0) > max(8 * rows, 64):
            raise Wrong(
                f"{counts['device_to_host_bytes']:,} bytes came over, and {8 * rows:,} are the sums",
                "The matrix itself has crossed the bus, and was added up by the host. Add first, where the numbers are.",
            )
        each = (
            "The device has added all of them at once, and then each float() went to fetch one. Ask for the array as a "
            "whole."
        )
        if (counts.get("operations") or 0) >= rows > 9:
            each = (
                "Row by row, the device was told to add a few numbers, and you waited for each answer before you asked the "
                "next question. One call adds along an axis."
            )
        hints = {"device_to_host": each, "waits": "The copy waits by itself for what it copies."}
        judge_counts(got, host_to_device=0, device_to_host=1, waits=1, hints=hints)


class Stopwatch(Exercise):
    """A stopwatch that waits."""

    number, points, minutes = "09.2", 3, 10
    needs = ("function measure(work, wait, clock, repeats)",)
    hints = (
        "Think of a queue at a counter. What does your clock show if you look at it when you have placed the order, and "
        "what if somebody stood in the queue before you?",
        "The device must have nothing to do when the clock is started, and again nothing when it is stopped. Both are a "
        "`wait()`; the first one comes right after the run that does not count.",
        "In the loop: `began = clock()`, `work()`, `wait()`, and `samples.append(clock() - began)`; after it "
        "`statistics.median(samples)`.",
    )

    class Paper:
        """A device on paper: a clock, a queue, and what each run costs."""

        ASKING, RETURNING = 1 / 4096, 1 / 8192  # seconds

        def __init__(self, case):
            self.now, self.done, self.case, self.events = 0.0, case["busy"], case, []

        def work(self):
            runs = self.case["runs"]
            run = self.events.count("work")
            self.now += self.ASKING + (self.case["compiling"] if run == 0 else 0)
            self.done = max(self.now, self.done) + runs[min(run, len(runs) - 1)]
            self.events.append("work")

        def wait(self):
            self.now = max(self.now, self.done) + self.RETURNING
            self.events.append("wait")

        def clock(self):
            self.events.append("clock")
            return self.now

        def span(self, *steps):
            began = self.now
            for each in steps:
                each()
            return self.now - began

    def cases(self, seed):
        generator = np.random.default_rng((0x92, seed))
        found = []
        for repeats in (5, 1, 8):
            # The first run that counts is the shortest, and one of the others is disturbed: neither may decide.
            runs = [50, 10, *(20 + generator.permutation(repeats - 1)).tolist()]
            if repeats > 2:
                runs[-1] = 900
            runs = [each / 1024 for each in runs]
            found.append({"repeats": repeats, "runs": runs, "busy": 3.0, "compiling": 2.0})
        return found

    def says(self, case):
        return f"repeats {case['repeats']}"

    def run(self, student, case):
        paper = self.Paper(case)
        got = run_function(student.measure, paper.work, paper.wait, paper.clock, case["repeats"])
        return {**got, "runs": paper.events.count("work")}

    def ways(self, case):
        """Return what comes out for the solution, and for those who forget something."""
        turns = range(case["repeats"])
        paper = self.Paper(case)
        paper.span(paper.work, paper.wait)
        right = [paper.span(paper.work, paper.wait) for _ in turns]
        paper = self.Paper(case)
        paper.span(paper.work, paper.wait)
        asked = [paper.span(paper.work) for _ in turns]
        paper = self.Paper(case)
        paper.work()
        unready = [paper.span(paper.work, paper.wait) for _ in turns]
        paper = self.Paper(case)
        paper.span(paper.work, paper.wait)
        together = paper.span(*[paper.work for _ in turns], paper.wait) / case["repeats"]
        return right, asked, unready, together

    def judge(self, case, got):
        right, asked, unready, together = self.ways(case)
        runs, repeats = got["runs"], case["repeats"]
        if runs == repeats:
            raise Wrong(
                f"work ran {runs} times in all",
                "The first run is among your samples, and it has compiled something. Let one run go before the first that "
                "counts.",
            )
        if runs != repeats + 1:
            raise Wrong(
                f"work ran {runs} times, and {repeats + 1} are asked for",
                "One run that does not count, then `repeats` that do.",
            )
        ahead = (
            "Your clock stopped when the work had been asked for. The device had hardly begun: wait for it before you look "
            "at the clock again."
        )
        before = (
            "When your clock was started for the first time, the device was still busy with what it had been asked before. "
            "Let it finish first."
        )
        once = (
            "All runs were put into the queue and waited for together, so there is one time and nothing to take the median "
            "of. Measure each run by itself."
        )
        mean = "One of the runs was disturbed by something else, and a mean carries it along. The median does not."
        upper = (
            "The number of samples is even, so there are two in the middle, and the median lies halfway between them. "
            "statistics.median knows."
        )
        middle = statistics.median
        judge_function(
            got,
            middle(right),
            name="the time",
            mistakes=[
                (middle(asked), ahead),
                (middle(unready), before),
                (together, once),
                (statistics.fmean(right), mean),
                (sorted(right)[repeats // 2], upper),
                (min(right), "That is the quickest run. The median is asked for, the one in the middle."),
            ],
            hints={
                "values": "Which waits lie between the two looks at the clock, and what lay before the first?"
            },
        )


class Fit(Exercise):
    """Where does it wait?"""

    number, points, minutes = "09.3", 4, 15
    needs = ("function fit(d_x, d_y, steps, rate)",)
    hints = (
        "Four things in the loop bring a number to the host: a formatted number, an `if` about a tensor, `item()`, and the "
        "way to NumPy. Which of them are needed before the last step has ended?",
        "`torch.minimum(best, loss)` keeps the smaller one on the device. And dividing by the length only if it exceeds 1 "
        "is the same as always dividing, by the larger one of the length and 1.",
        "`best` begins as `torch.full((), math.inf, device=d_x.device)`; the gradient is divided by "
        "`torch.linalg.vector_norm(gradient).clamp(min=1)`. Return `weights.cpu().numpy(), best.item()`.",
    )

    raised = (
        (
            "numel() == 0",
            "No step at all leaves no loss to choose from. Begin with infinity, as slow_fit does: then there is always one.",
        ),
        (
            "non-empty TensorList",
            "No step at all leaves no loss to choose from. Begin with infinity, as slow_fit does: then there is always one.",
        ),
    )

    def cases(self, seed):
        return [
            {"points": 40 + seed % 7, "features": 5, "steps": steps, "rate": rate, "seed": seed * 10 + place}
            for place, (steps, rate) in enumerate([(9, 0.75), (1, 0.5), (0, 0.5)])
        ]

    def says(self, case):
        return f"{case['steps']} steps" if case["steps"] != 1 else "1 step"

    def data(self, case):
        generator = np.random.default_rng((0x93, case["seed"]))
        x = generator.normal(size=(case["points"], case["features"])).astype(np.float32)
        return x, x @ np.array([1.5, -1, 0, 1, 0.5], np.float32) + np.float32(0.25) * x[:, 0] ** 2

    def run(self, student, case):
        import torch

        d_x, d_y = (torch.from_numpy(each).to(devices.device()) for each in self.data(case))
        got = run_function(student.fit, d_x, d_y, case["steps"], case["rate"])
        steps = (3, 23) if case["steps"] > 1 else (case["steps"],)
        got["counted"] = [
            run_function(student.fit, d_x, d_y, each, case["rate"], counted=True) for each in steps
        ]
        return got

    def fitted(self, case, cut="long", last=False):
        x, y = (each.astype(np.float64) for each in self.data(case))
        weights, losses = np.zeros(x.shape[1]), [np.inf]
        for _ in range(case["steps"]):
            error = x @ weights - y
            losses.append(float(error @ error / len(y)))
            gradient = 2 / len(y) * (x.T @ error)
            length = np.linalg.norm(gradient)
            weights = (
                weights - case["rate"] * gradient / {"long": max(length, 1), "all": length, "none": 1}[cut]
            )
        return weights, losses[-1] if last else min(losses)

    def judge(self, case, got):
        result = got["result"]
        if not isinstance(result, list) or len(result) != 2:
            raise Wrong(
                f"fit returns {getattr(result, 'kind', said(result))}",
                "Two things are asked for: return the weights and the smallest loss.",
            )
        weights, best = result
        for name, value, kind, wanted in (
            ("the weights", weights, np.ndarray, "a NumPy array"),
            ("the smallest loss", best, float, "a Python float"),
        ):
            if not isinstance(value, kind):
                raise Wrong(
                    f"{name}: {getattr(value, 'kind', said(value))}, and {wanted} is asked for",
                    "At the end both come to the host, the weights by cpu().numpy(), the loss by item().",
                )
        right, least = self.fitted(case)
        if weights.shape != right.shape:
            raise Wrong(f"the weights have the shape {weights.shape}, and {right.shape} is right")
        always = (
            "You cut every gradient to length 1, the short ones as well. Only those longer than 1 are cut."
        )
        never = "No gradient was cut to length 1: what has become of that condition?"
        mistakes = [(self.fitted(case, "all")[0], always), (self.fitted(case, "none")[0], never)]
        judge_array("weights", weights, right, rtol=1e-3, atol=1e-5, mistakes=mistakes)
        final = (
            "That is the loss of the last step. The smallest of all is asked for, and it was an earlier one."
        )
        mistakes = [(self.fitted(case, last=True)[1], final)]
        judge_array("the smallest loss", np.array(best), np.array(least), rtol=1e-3, mistakes=mistakes)
        if case["steps"] > 1:
            self.judge_growth(*(each["counts"] or {} for each in got["counted"]))
        for counted in got["counted"]:
            nbytes, most = (counted["counts"] or {}).get("device_to_host_bytes"), 8 * (case["features"] + 1)
            if nbytes is not None and nbytes > most:
                raise Wrong(
                    f"{nbytes:,} bytes came to the host, and weights and loss have {most // 2}",
                    "The points have come along, and the fit was done where they are not needed. Let them stay, and bring "
                    "over what has been found.",
                )
            twice = "Two copies are enough: the weights, and the loss, when all steps are done."
            judge_counts(
                counted,
                host_to_device=(0, 1),
                device_to_host=(0, 2),
                waits=(0, 3),
                hints={"device_to_host": twice},
            )

    def judge_growth(self, few, many):
        def more(name):
            return (many.get(name) or 0) - (few.get(name) or 0)

        copies, nbytes = more("device_to_host"), more("device_to_host_bytes")
        if copies > 0 and more("waits") <= 0:
            raise Wrong(
                f"{copies} copies more in 23 steps than in 3, and nobody waited for them",
                "A copy with non_blocking=True returns before its bytes are there. On a GPU you would compute with what the "
                "memory held before, and the copies cross the bus all the same.",
            )
        if copies > 0 or more("waits") > 0:
            hint = "Count a single step and ask c.show_waits() which lines wait. There may be several."
            if nbytes == copies == 20:
                hint = (
                    "In every step 1 byte crosses the bus: the answer to an `if`. Python needs it on the host, before it can go "
                    "on in either direction. Let the device choose the smaller number."
                )
            elif nbytes == 4 * copies == 80:
                hint = (
                    "In every step one number crosses the bus, and it is compared with a float of the host's. Where could that "
                    "float be instead?"
                )
            elif nbytes > 4 * copies:
                hint = (
                    "In every step the whole gradient goes to the host, for the sake of its length. PyTorch has a norm that "
                    "stays where the gradient is."
                )
            elif copies == 0 and more("host_to_device") > 0:
                hint = (
                    "In every step something is made on the host and sent to the device, and the host waits until it is there. "
                    "Make it once, before the loop, or on the device."
                )
            elif copies == 0:
                hint = "Nothing is copied, and the host waits in every step all the same. For whom?"
            raise Wrong(
                f"the host waits {more('waits')} times more in 23 steps than in 3, and copies {nbytes:,} bytes more",
                hint,
            )
        if more("host_to_device") > 0:
            raise Wrong(
                f"{more('host_to_device')} copies to the device more in 23 steps than in 3",
                "What is made on the host in every step has to travel in every step: make it on the device, or once.",
            )


class Packed(Exercise):
    """Many arrays, one trip."""

    number, points, minutes = "09.4", 4, 20
    needs = ("function scale_all(arrays, factor)",)
    hints = (
        "Laid end to end in one array of the host's, all of them can travel at once. When they are back: which part of it "
        "was which?",
        "`np.concatenate` wants arrays of one dimension, which `each.ravel()` is. The first array has the elements from 0 to "
        "its size, the second one begins there.",
        "After `packed = d_packed.copy_to_host()` go through `arrays` with a `start` that grows by `each.size`, and append "
        "`packed[start : start + each.size].reshape(each.shape)`.",
    )
    raised = (
        (
            "blockdim x is",
            "All the threads stand in one block, and a block may have 1,024 at most. In a launch the number of blocks comes "
            "first, and then the threads of each.",
        ),
    )

    def cases(self, seed):
        several = [[5], [3, 7], [1], [2, 3, 4], [129 + seed % 5], [6, 2]]
        return [
            {"shapes": shapes, "factor": factor, "seed": seed * 100 + 10 * place}
            for place, (shapes, factor) in enumerate(
                [(several, 2.5), ([[140_001 + seed % 9]], -3.0), ([[1]] * 40, 0.5)]
            )
        ]

    def says(self, case):
        count = len(case["shapes"])
        return f"{count} arrays" if count > 1 else "1 array"

    def arrays(self, case):
        made = [
            inputs.distinct(shape, seed=case["seed"] + place) for place, shape in enumerate(case["shapes"])
        ]
        if len(made) > 1 and made[1].ndim == 2:  # one of them lies in memory column by column
            made[1] = np.asfortranarray(made[1])
        return made

    def run(self, student, case):
        arrays = self.arrays(case)
        run_function(student.scale_all, [-each for each in arrays], case["factor"])
        got = run_function(student.scale_all, arrays, case["factor"], counted=True)
        return {**got, "arrays": arrays}

    def judge(self, case, got):
        arrays, result, factor = self.arrays(case), got["result"], np.float32(case["factor"])
        count = len(arrays)
        if not isinstance(result, list) or len(result) != count:
            what = (
                f"a list of {len(result)}"
                if isinstance(result, list)
                else getattr(result, "kind", said(result))
            )
            raise Wrong(f"scale_all returns {what}, and a list of {count} arrays is asked for")
        for place, (after, before) in enumerate(zip(got["arrays"], arrays, strict=True)):
            if not isinstance(after, np.ndarray) or not np.array_equal(after, before):
                raise Wrong(
                    f"arrays[{place}] was changed, and it is an input",
                    "Somebody has written into the originals: pack copies of them.",
                )
        packed = np.concatenate([each.ravel() for each in arrays])
        by_length, start = [], 0
        for each in arrays:
            by_length.append(factor * packed[start : start + each.size])
            start += len(each)
        for place, (value, array) in enumerate(zip(result, arrays, strict=True)):
            name = f"result[{place}]"
            if not isinstance(value, np.ndarray):
                raise Wrong(
                    f"{name} is {getattr(value, 'kind', said(value))}, and a NumPy array is asked for",
                    "What comes back belongs on the host.",
                )
            if value.shape != array.shape:
                raise Wrong(
                    f"{name} has the shape {value.shape}, and {array.shape} is right",
                    "In the packed array everything lies in one row, and a part of it does not know what it was. Give each part "
                    "its shape again.",
                )
            if value.dtype != array.dtype:
                raise Wrong(
                    f"{name} is {value.dtype}, and {array.dtype} is right", "Pack them as what they are."
                )
            length = (
                "From some array on, the parts begin too early. len() of an array is the number of its rows; how many elements "
                "it has is its size."
            )
            order = (
                "The rows of one array have become columns: in which order did you lay its elements in a row?"
            )
            left = "Some elements came back as they went. Are there threads for all of them? The number of blocks is rounded up."
            mistakes = [
                (np.where(value == array, array, factor * array), left),
                (array.ravel("K").reshape(array.shape) * factor, order),
            ]
            if by_length[place].size == array.size:
                mistakes.insert(0, (by_length[place].reshape(array.shape), length))
            judge_array(name, value, factor * array, mistakes=mistakes)
        self.judge_trips(got, count, sum(each.nbytes for each in arrays))

    def judge_trips(self, got, count, nbytes):
        counts = got["counts"] or {}
        there, back = counts.get("host_to_device"), counts.get("device_to_host")
        if counts.get("operations") == 0:
            raise Wrong("no kernel ran", "The multiplying is to be done on the device: launch scale.")
        if count > 1 and there == back == count:
            raise Wrong(
                f"{there + back} copies for {count} arrays, and 2 are enough",
                "Each array makes a trip of its own, there and back. For small arrays it is the trips that cost, not the "
                "bytes: let all of them travel together.",
            )
        pieces = (
            "They went there together and came back one at a time. A part of an array on the device costs a whole copy; a part "
            "of one on the host costs nothing."
        )
        single = (
            "They come back together, and go there one at a time. Pack them on the host, before the trip."
        )
        judge_counts(
            got,
            host_to_device=1,
            device_to_host=1,
            hints={"device_to_host": pieces, "host_to_device": single},
        )
        sent = counts.get("host_to_device_bytes") or 0
        if sent > nbytes:
            hint = "There is air between your arrays: every one was given as much room as the largest. Lay them end to end."
            if sent == 2 * nbytes:
                hint = (
                    "Packed as float64, every number takes 8 bytes in place of 4. Pack them as what they are."
                )
            raise Wrong(f"{sent:,} bytes went to the device, and the arrays have {nbytes:,}", hint)
        one = "The data travelled together, but each array has a launch of its own. The kernel does not care which is which."
        judge_counts(got, operations=1, device_to_device=0, hints={"operations": one})


class Report(Exercise):
    """A report now and then."""

    number, points, minutes = "09.5", 4, 25
    needs = ("function train(step, steps, every, report)",)
    hints = (
        "A mean needs a sum, and a sum can grow where the losses are. Only when it is reported does anybody on the host "
        "have to know it.",
        "`total += loss` on the device, `total.item()` when a report is due, then begin again at zero. `loss.detach()` is "
        "the number without what led to it.",
        "With `for done in range(1, steps + 1)` a report is due `if done % every == 0 or done == steps`; since the last one "
        "there were `(done - 1) % every + 1` steps.",
    )

    raised = (
        (
            "does not require grad",
            "`step` trains, and without gradients it cannot: it calls backward. Let it run as it is, and take the number "
            "out of what it returns.",
        ),
    )

    def cases(self, seed):
        generator = np.random.default_rng((0x95, seed))
        found = []
        for steps, every in ((23, 7), (12, 4), (3, 5), (4, 1)):
            losses = (generator.integers(8, 80, steps) / 8).tolist()
            found.append({"steps": steps, "every": every, "losses": losses})
        return found

    def says(self, case):
        return f"{case['steps']} steps, a report every {case['every'] if case['every'] > 1 else 'step'}"

    def training(self, losses):
        """Return a function that takes steps, and what it notes: graphs still there at each step."""
        import torch

        class Token:
            """Lives as long as the graph that holds it."""

        class Loss(torch.autograd.Function):
            @staticmethod
            def forward(ctx, weight, loss):
                ctx.token = Token()
                tokens.append(weakref.ref(ctx.token))
                return weight * loss

            @staticmethod
            def backward(ctx, gradient):
                return gradient, None

        tokens, graphs = [], []
        on_device = torch.tensor(losses, dtype=torch.float32).to(devices.device())
        weight = torch.ones((), device=devices.device(), requires_grad=True)

        def step():
            graphs.append(sum(each() is not None for each in tokens))
            loss = Loss.apply(weight, on_device[min(len(tokens), len(losses) - 1)])
            loss.backward()
            return loss

        return step, graphs

    def run(self, student, case):
        for _ in range(2):  # what is set up the first time is not counted
            step, graphs = self.training(case["losses"])
            reports = []

            def report(done, mean, reports=reports, graphs=graphs):
                kind = "" if isinstance(mean, float) else said(mean)
                reports.append(
                    {"done": done, "taken": len(graphs), "kind": kind, "mean": float("nan") if kind else mean}
                )

            got = run_function(student.train, step, case["steps"], case["every"], report, counted=True)
        return {**got, "reports": reports, "taken": len(graphs), "graphs": max(graphs, default=0)}

    def windows(self, case):
        steps, every = case["steps"], case["every"]
        return [(start, min(start + every, steps)) for start in range(0, steps, every)]

    def judge(self, case, got):
        losses, windows, reports = np.array(case["losses"]), self.windows(case), got["reports"]
        if got["taken"] != case["steps"]:
            raise Wrong(f"step was called {got['taken']} times, and {case['steps']} steps are asked for")
        for each in reports:
            if each["taken"] > each["done"]:
                raise Wrong(
                    f"the report on {each['done']} steps came after {each['taken']}",
                    "When your reports come, the training is over. Nobody wants to read then that it went wrong at the "
                    "beginning: report before the next step.",
                )
        said_done = [each["done"] for each in reports]
        if said_done != [stop for _, stop in windows]:
            hint = "After which steps is a report due? Write down the numbers for a small example."
            if said_done and said_done[0] == 1 and case["every"] > 1:
                hint = (
                    "Your first report is about a single step. When the count begins at 0, the remainder is 0 at once: count "
                    "the steps that are done."
                )
            elif said_done == [stop for _, stop in windows[:-1]]:
                hint = "The steps after the last full round are never reported."
            raise Wrong(
                f"reports after {self.listed(said_done)} steps, and {self.listed(stop for _, stop in windows)} is right",
                hint,
            )
        tensor = next((each for each in reports if each["kind"]), None)
        if tensor:
            raise Wrong(
                f"report was called with {tensor['kind']}, and a Python float is asked for",
                "What you report still lies on the device, and whoever prints it copies and waits, perhaps several times. "
                "Take the number out yourself, once.",
            )
        means = np.array([each["mean"] for each in reports], np.float64)
        rest = "The last round is shorter, so its sum is divided by fewer steps than the others."
        so_far = "That is the mean of all steps since the beginning. What belongs to the last report must not count again."
        last = "That is the loss of one step. Between two reports there were several."
        mistakes = [
            (np.array([losses[a:b].sum() / case["every"] for a, b in windows]), rest),
            (np.array([losses[:b].mean() for _, b in windows]), so_far),
            (np.array([losses[:b].sum() / (b - a) for a, b in windows]), so_far),
            (np.array([losses[b - 1] for _, b in windows]), last),
        ]
        judge_array(
            "mean", means, np.array([losses[a:b].mean() for a, b in windows]), rtol=1e-5, mistakes=mistakes
        )
        if got["graphs"] > 2:
            raise Wrong(
                f"at one time {got['graphs']} graphs were kept, and nobody needs them any more",
                "A loss holds on to its graph, and a sum of losses to all of theirs: the memory grows with every step. A log "
                "needs the number alone.",
            )
        each = (
            "You fetch the loss in every step, so in every step the host stands still until the device has caught up. Add "
            "up on the device."
        )
        judge_counts(
            got,
            device_to_host=(0, len(windows)),
            waits=(0, len(windows) + 1),
            host_to_device=(0, 1),
            hints={
                "device_to_host": each,
                "host_to_device": "A number of the host's travels in every step. Which?",
                "waits": "Between two reports nobody has to wait, and a report's copy waits by itself.",
            },
        )

    def listed(self, numbers):
        return ", ".join(str(each) for each in numbers) or "no"


class HowOften(Exercise):
    """How often to look."""

    number, points, minutes = "09.6", 5, 30
    needs = (
        "function best_every(needed, step_seconds, check_seconds)",
        "function settle(step, d_x, tolerance, every)",
    )
    hints = (
        "For one k and one run, write down how many looks there are and how many steps are taken, the superfluous ones "
        "too. In `settle`, ask yourself which two states a look compares.",
        "There are `np.ceil(needed / k)` looks and k times as many steps. In `settle`, keep the state before each step, "
        "which costs nothing, but compute the change only when it is time to look.",
        "`min(range(1, needed.max() + 1), key=average)` takes the smallest k of the best. An `if` about "
        "`cp.abs(d_x - d_before).max() < tolerance` is the copy and the wait, so put `steps % every == 0 and` before it.",
    )

    def cases(self, seed):
        generator = np.random.default_rng((0x96, seed))
        found = []
        # In the fourth one, two k are as good as each other but for a billionth; in the last one, which is exact in
        # binary, they are equal.
        costs = [
            *((50e-6, 400e-6), (1e-3, 20e-6), (2e-6, 30e-6)),
            *((3e-6, 2e-6 * (1 + 1e-9)), (3 * 2.0**-18, 2 * 2.0**-18)),
        ]
        for place, (step_seconds, check_seconds) in enumerate(costs):
            needed = np.array([4, 6])
            if place < 3:
                needed = np.sort(generator.integers(20, 60, 5)) * (1, 3, 2)[place] + np.array(
                    [0, 1, 2, 9, 60]
                )
            found.append(
                {
                    "needed": needed.tolist(),
                    "step_seconds": step_seconds,
                    "check_seconds": check_seconds,
                    "every": (7, 1, 12, 5, 3)[place] + (seed % 3 if place != 1 else 0),
                    "seed": seed * 10 + place,
                }
            )
        return found

    def says(self, case):
        return f"steps of {case['step_seconds'] * 1e6:g} µs, looks of {case['check_seconds'] * 1e6:g} µs"

    def state(self, case):
        generator = np.random.default_rng((0x97, case["seed"]))
        return generator.integers(-64, 64, 50) / 8, generator.integers(-64, 64, 50) / 8

    TOLERANCE, SLOW = 0.01, 0.875

    def run(self, student, case):
        import cupy as cp

        got = {
            "every": run_function(
                student.best_every, np.array(case["needed"]), case["step_seconds"], case["check_seconds"]
            )
        }
        begin, goal = self.state(case)
        d_goal, taken = cp.asarray(goal), []

        def step(d_x):
            taken.append(len(taken))
            if len(taken) > 5_000:
                raise RuntimeError("5,000 steps, and it has long settled")
            return d_goal + self.SLOW * (d_x - d_goal)

        d_x = cp.asarray(begin)
        run_function(student.settle, step, d_x, self.TOLERANCE, case["every"])
        taken.clear()
        got["settled"] = run_function(student.settle, step, d_x, self.TOLERANCE, case["every"], counted=True)
        got["taken"], got["begin"] = len(taken), cp.asnumpy(d_x)
        return got

    def times(self, case, whole=True, looks=True):
        """Return the seconds for each k, a row for each k and a column for each run."""
        needed = np.array(case["needed"])
        every = np.arange(1, needed.max() + 1)[:, None]
        rounds = np.ceil(needed / every)
        steps = rounds * every if whole else needed + 0 * every
        return steps * case["step_seconds"] + rounds * case["check_seconds"] * looks

    def states(self, case, most=400):
        x, goal = self.state(case)
        found = [x]
        for _ in range(most):
            found.append(goal + self.SLOW * (found[-1] - goal))
        return found

    def first(self, case, across=1):
        """Return the steps after which it ends, if each look compares with the state so many steps before."""
        states, every = self.states(case), case["every"]
        looks = range(every, 400, every)
        return next((n for n in looks if np.abs(states[n] - states[n - across]).max() < self.TOLERANCE), None)

    def judge(self, case, got):
        times = self.times(case)
        best = int(times.mean(axis=1).argmin()) + 1
        needed = np.array(case["needed"])
        typical = np.arange(1, needed.max() + 1)
        rounds = np.ceil(needed.mean() / typical)
        typical = rounds * (typical * case["step_seconds"] + case["check_seconds"])
        far = (
            "With your k, hardly ever is there a look, and a run goes on long after it has settled. Those superfluous steps "
            "take time, too."
        )
        middle = (
            "That is the best k for one run of average length, and there is no such run: each one is rounded up to a "
            "multiple of k by itself. First the times, then their mean."
        )
        worst = "That is the best k for the longest run alone. The others are to count as well."
        judge_function(
            got["every"],
            best,
            name="best_every",
            inputs=[needed],
            mistakes=[
                (
                    len(times) - int(times.mean(axis=1)[::-1].argmin()),
                    "There is a smaller k with which the runs take exactly as long. If there are several, the smallest is "
                    "asked for.",
                ),
                (int(self.times(case, whole=False).mean(axis=1).argmin()) + 1, far),
                (int(typical.argmin()) + 1, middle),
                (int(times[:, needed.argmax()].argmin()) + 1, worst),
            ],
            hints={
                "values": "For each k, write down looks and steps of one run, and what both cost together."
            },
        )
        self.judge_settled(case, got)

    def judge_settled(self, case, got):
        every, result = case["every"], got["settled"]["result"]
        begin, right = self.state(case)[0], self.first(case)
        if not np.array_equal(got["begin"], begin):
            raise Wrong("d_x was changed, and it is an input", "Work on the arrays that step returns.")
        if not isinstance(result, list) or len(result) != 2:
            raise Wrong(
                f"settle returns {getattr(result, 'kind', said(result))}, and state and steps are asked for"
            )
        state, steps = result
        if isinstance(steps, np.ndarray) and steps.ndim == 0 and steps.dtype.kind in "iu":
            steps = int(steps)  # one of NumPy's
        if not isinstance(state, np.ndarray) or state.shape != begin.shape:
            raise Wrong(
                f"the state is {getattr(state, 'kind', said(state))}, and a NumPy array is asked for",
                "Bring the state to the host, at the end.",
            )
        if got["taken"] != right or not isinstance(steps, int) or steps != right:
            hint = "After how many steps is the first look, and after how many the second?"
            if isinstance(steps, int) and steps != got["taken"]:
                hint = "The number that you return is not the number of steps that were taken."
            elif every > 1 and got["taken"] == self.first(case, across=every):
                hint = (
                    "You compare with the state at the last look, and since then there were several steps. Small steps add up, so "
                    "it seems to move when it has settled."
                )
            elif every > 1 and got["taken"] % every == 1:
                hint = (
                    "The first look comes after the very first step, and all later ones are shifted with it. A multiple of "
                    "`every` counts the steps that are done."
                )
            elif got["taken"] % every == 0:
                hint = (
                    "Your looks come when they should and decide otherwise: it has settled when not a single element changed by "
                    "`tolerance` or more, upwards or downwards."
                )
            raise Wrong(f"it took {got['taken']} steps and says {steps}, and {right} is right", hint)
        judge_array("the state", state, self.states(case)[right], rtol=1e-9)
        self.judge_looks(case, got["settled"], right // every)

    def judge_looks(self, case, got, looks):
        counts = got["counts"] or {}
        state, small = 8 * 50, 8 * looks
        copies, nbytes = counts.get("device_to_host") or 0, counts.get("device_to_host_bytes") or 0
        what = f"{copies} copies with {nbytes:,} bytes for {looks} looks"
        if nbytes > state + max(small, 8 * copies):
            raise Wrong(
                what,
                "At every look whole states come to the host to be compared there. Compare on the device, and bring over the "
                "answer.",
            )
        if copies > looks + 1 and case["every"] > 1:
            raise Wrong(
                what,
                "A number comes over in every step, and most of them nobody asks for. Compute and fetch the change only when it "
                "is time to look.",
            )
        judge_counts(got, host_to_device=0, device_to_host=(0, looks + 1), waits=(0, looks + 1))


class Link(Exercise):
    """Two numbers for a link."""

    number, points, minutes = "09.7", 5, 35
    needs = (
        "function fit_link(sizes, seconds)",
        "function crossover(latency, bandwidth, launch, work, host_rate, device_rate)",
    )
    hints = (
        "The longest time is thousands of times the shortest, so 2 % of it is more than all of the shortest. Which of the "
        "33 points does a fit listen to that wants the sum of the squared errors small?",
        "Divide each error by its time: then every point has the same say, and `np.polyfit` does it if it is given "
        "`w=1 / seconds`. For the crossover, separate what is paid once from what is paid for each number.",
        "`np.polyfit(sizes, seconds, 1, w=1 / seconds)` returns the slope first. Paid once: `launch + 2 * latency`. Gained "
        "with each number: `work / host_rate - work / device_rate - 8 / bandwidth`, if that is positive.",
    )
    raised = (
        (
            "division by zero",
            "Every number costs more on the way than the device saves with it, or just as much, so no size ever pays. When "
            "there is nothing to gain, say math.inf.",
        ),
    )

    def cases(self, seed):
        generator = np.random.default_rng((0x98, seed))
        found = []
        for place, (latency, bandwidth) in enumerate([(10e-6, 12e9), (4e-6, 50e9), (25e-6, 3e9)]):
            latency, bandwidth = (each * float(generator.uniform(0.8, 1.2)) for each in (latency, bandwidth))
            found.append({"latency": latency, "bandwidth": bandwidth, "seed": seed * 10 + place})
        return found

    def says(self, case):
        return f"a link of {case['latency'] * 1e6:.1f} µs and {case['bandwidth'] / 1e9:.1f} GB/s"

    def data(self, case):
        generator = np.random.default_rng((0x99, case["seed"]))
        pays = case["latency"] * case["bandwidth"]  # bytes that take as long as the latency
        sizes = np.round(np.geomspace(pays / 4, pays * 4_000, 33))
        times = case["latency"] + sizes / case["bandwidth"]
        return sizes, times * (1 + 0.02 * np.clip(generator.standard_normal(33), -2.5, 2.5))

    # Powers of two are exact: with them the same time is the same number.
    QUESTIONS = (
        (2.0**-16, 2.0**33, 2.0**-16, 64.0, 2.0**30, 2.0**36),
        (2.0**-17, 2.0**34, 2.0**-16, 32.0, 2.0**32, 2.0**40),
        (2.0**-17, 2.0**29, 2.0**-16, 64.0, 2.0**30, 2.0**31),  # at 2,048 both take the same time
        (10e-6, 12e9, 5e-6, 1.0, 2e9, 500e9),
        (10e-6, 12e9, 5e-6, 100.0, 2e9, 500e9),
        (2.0**-16, 2.0**33, 2.0**-16, 16.0, 2.0**33, 2.0**34),
    )

    def run(self, student, case):
        return {
            "fit": run_function(student.fit_link, *self.data(case)),
            "crossings": [run_function(student.crossover, *each) for each in self.QUESTIONS],
        }

    def crossing(self, latency, bandwidth, launch, work, host_rate, device_rate, trips=2, last=1):
        once = launch + trips * latency
        gain = work / host_rate - work / device_rate - trips * 4 / bandwidth
        return math.floor(once / gain) + last if gain > 0 else math.inf

    def judge(self, case, got):
        sizes, seconds = self.data(case)
        result = got["fit"]["result"]
        result = result.tolist() if isinstance(result, np.ndarray) and result.shape == (2,) else result
        if not isinstance(result, list) or len(result) != 2:
            raise Wrong(
                f"fit_link returns {getattr(result, 'kind', said(result))}, and two numbers are asked for"
            )
        try:
            found = np.array([float(each) for each in result])
        except (TypeError, ValueError):
            raise Wrong("fit_link returns something that is no pair of numbers") from None
        plain = np.polyfit(sizes, seconds, 1)
        loud = (
            "The latency is lost: your fit has listened to the longest times only, whose errors are thousands of times "
            "larger than those of the short ones. Let every point have the same say."
        )
        ends = (
            "You have taken each number from one point, and even the smallest copy carries bytes. All points know something "
            "about both numbers."
        )
        turned = "A slope of seconds against bytes is seconds a byte, and a bandwidth is bytes a second."
        wanted = np.array([case["latency"], case["bandwidth"]])
        good = np.polyfit(sizes, seconds, 1, w=1 / seconds)[::-1]
        mistakes = [
            ([plain[1], 1 / plain[0]], loud),
            ([seconds.min(), (sizes / seconds).max()], ends),
            ([seconds[0], sizes[-1] / seconds[-1]], ends),
            (good, turned),
            (
                [good[1], good[0]],
                "The slope and the latency have changed places: np.polyfit returns the slope first.",
            ),
            (
                [1 / good[0], good[1]],
                "The slope and the latency have changed places: np.polyfit returns the slope first.",
            ),
        ]
        off = np.abs(found / wanted - 1)
        if not (off <= 0.06).all():
            text = (
                f"{found[0] * 1e6:.4g} µs and {found[1] / 1e9:.4g} GB/s, and the times were computed from "
                f"{wanted[0] * 1e6:.4g} µs and {wanted[1] / 1e9:.4g} GB/s"
            )
            for mistaken, hint in mistakes:
                if np.allclose(found, np.array(mistaken, np.float64), rtol=1e-4, atol=0):
                    raise Wrong(text, hint)
            raise Wrong(
                text,
                "Draw the points with both axes logarithmic, and your line among them: where do they part?",
            )
        judge_array("sizes", got["fit"]["inputs"][0], sizes, hints={"values": "Leave the data as they are."})
        for number, (asked, crossing) in enumerate(zip(self.QUESTIONS, got["crossings"], strict=True), 1):
            self.judge_crossing(f"crossover {number} of {len(self.QUESTIONS)}", asked, crossing)

    def judge_crossing(self, name, asked, got):
        right = self.crossing(*asked)
        there = (
            "Your device keeps the results. They are wanted on the host, so there is a second copy, with a latency and bytes "
            "of its own."
        )
        never = self.raised[0][1]
        equal = "At your n both take the same time, or the host less. The smallest n is asked for at which the device takes less."
        result = got["result"]
        if math.isinf(right) and (not isinstance(result, float) or not math.isinf(result) or result < 0):
            if self.crossing(*asked, trips=1) == result:
                raise Wrong(f"{name}: {result}, and math.inf is right", there)
            raise Wrong(f"{name}: {getattr(result, 'kind', result)}, and math.inf is right", never)
        two = "There are two copies, and each of them has to be asked for: both have a latency."
        latency, bandwidth, launch, work, host_rate, device_rate = asked
        mistakes = [
            (self.crossing(*asked, trips=1), there),
            (self.crossing(*asked, last=0), equal),
            (self.crossing(latency, bandwidth, launch - latency, work, host_rate, device_rate), two),
        ]
        whole = "A whole number is asked for: the smallest n at which the device takes less."
        if isinstance(result, float) and math.isfinite(result) and not result.is_integer():
            raise Wrong(f"{name} is {result}", whole)
        judge_function(
            got,
            right,
            name=name,
            mistakes=mistakes,
            hints={"values": "What is paid once, and what for each number?"},
        )


class NormLog(Exercise):
    """The matrix-norm log."""

    number, points, minutes = "09.8", 8, 60
    needs = (
        "function to_device(x)",
        "function nothing(a, b)",
        "function printed(a, b)",
        "function items(a, b)",
        "function buffered(a, b)",
        "function batched(a, b)",
        "function fused(a, b)",
    )
    hints = (
        "The first four are the same loop and differ in what becomes of a norm: dropped, printed, put into a list, or "
        "written into an array that was made on the device before the loop.",
        "`@` multiplies stacks of matrices pair by pair, `m.mT` transposes each of a stack. The diagonal of M Mᵀ at i is "
        "Σⱼ mᵢⱼ mᵢⱼ, so its trace is the sum of all squares, and PyTorch has a norm that is the root of that.",
        "Buffered: `log = torch.empty(len(a), device=a.device)`, `log[i] = …`, `log.cpu().numpy()`. Batched: `(m @ m.mT)"
        ".diagonal(dim1=1, dim2=2).sum(dim=1)`. Fused: the square of `torch.linalg.vector_norm(a @ b, dim=(1, 2))`.",
    )
    seconds = 40.0

    VARIANTS = ("nothing", "printed", "items", "buffered", "batched", "fused")

    def cases(self, seed):
        return [
            {"products": products + seed % 3, "side": side, "seed": seed * 100 + products}
            for products, side in ((24, 20), (3, 100))
        ]

    def says(self, case):
        return f"{case['products']} products of {case['side']} × {case['side']}"

    def matrices(self, case):
        generator = np.random.default_rng((0x9A, case["seed"]))
        shape = (case["products"], case["side"], case["side"])
        scale = np.geomspace(0.5, 2, case["products"])[:, None, None]  # no two norms are alike
        return [(scale * generator.standard_normal(shape)).astype(np.float32) for _ in "ab"]

    def run(self, student, case):
        got = {}
        given = [student.to_device(each) for each in self.matrices(case)]
        for name in self.VARIANTS:
            function = getattr(student, name)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    function(*given)  # what is set up the first time is not counted
            except NotImplementedError:
                if name == self.VARIANTS[0]:
                    raise
                got["left"] = name
                return got
            with contextlib.redirect_stdout(io.StringIO()) as out:
                got[name] = run_function(function, *given, counted=True)
            with contextlib.redirect_stdout(io.StringIO()):
                got[name] |= {"printed": out.getvalue(), "watched": self.watched(function, given)}
        return got

    def watched(self, function, given):
        """Run once more and return what PyTorch does: multiplications in products, what else is written, and items."""
        if not type(given[0]).__module__.startswith("torch"):
            function(*given)
            return None
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode

        seen = {
            **{"multiplications": 0, "products": 0, "written": 0, "fetched": 0, "numbers": []},
            "at_print": [],  # products asked for so far, whenever something was printed
        }

        class Out(io.StringIO):
            def write(self, text):
                if text.strip():
                    seen["at_print"].append(seen["products"])
                return super().write(text)

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                tensors = [each for each in args if isinstance(each, torch.Tensor)]
                name = func.overloadpacket.__name__
                if name in ("mm", "bmm", "mv", "dot"):
                    seen["products"] += 1
                    seen["multiplications"] += tensors[0].numel() * (
                        tensors[1].shape[-1] if name.endswith("mm") else 1
                    )
                elif name == "_local_scalar_dense":
                    seen["fetched"] += 1
                elif isinstance(out, torch.Tensor):
                    of_inputs = {each.untyped_storage().data_ptr() for each in tensors}
                    if out.untyped_storage().data_ptr() not in of_inputs:
                        seen["written"] += out.numel()
                        if out.numel() == 1:
                            seen["numbers"].append(float(out))
                return out

        with Watch(), contextlib.redirect_stdout(Out()):
            function(*given)
        return seen

    def judge(self, case, got):
        products = np.matmul(*(each.astype(np.float64) for each in self.matrices(case)))
        norms = (products**2).sum(axis=(1, 2))
        for place, name in enumerate(self.VARIANTS):
            if name not in got:
                done = ", ".join(self.VARIANTS[:place])
                raise Wrong(
                    f"{name} is not written yet", f"So far there is nothing wrong with what is there: {done}."
                )
            try:
                getattr(self, f"judge_{name}")(case, got[name], norms, products)
            except Wrong as wrong:
                raise Wrong(f"{name}: {wrong.text}", wrong.hint, wrong.lines) from None

    def judge_nothing(self, case, got, norms, products):
        if got["result"] is not None:
            raise Wrong("it returns something", "Nothing is kept here: no log, and no return.")
        stands = (
            "Nobody needs a result here, so nobody has to wait for one. What is timed later waits once, outside, when all "
            "has been asked for."
        )
        judge_counts(got, host_to_device=0, device_to_host=0, waits=0, hints={"waits": stands})
        self.judge_loop(case, got)
        seen = np.array(
            (got["watched"] or {}).get("numbers") or norms
        )  # nothing was kept, so look at what was computed
        for place, each in enumerate(norms):
            if not np.isclose(seen, each, rtol=1e-4).any():
                raise Wrong(
                    f"the norm of product {place} was not computed", "Product i is a[i] @ b[i], for every i."
                )

    def judge_printed(self, case, got, norms, products):
        n = case["products"]
        found = [re.search(r"-?\d+\.?\d*(?:e[+-]?\d+)?", line) for line in got["printed"].splitlines()]
        numbers = np.array([float(each[0]) for each in found if each])
        if len(numbers) != n:
            raise Wrong(
                f"{len(numbers)} numbers were printed, and there are {n} norms", "One norm, one line."
            )
        if not np.allclose(numbers, norms, rtol=2e-3):
            raise Wrong("other numbers were printed than the norms", "Is it tr(M Mᵀ) of each product?")
        tensor = (
            "To print a tensor, PyTorch looks at it several times to choose a format, and each look is a copy and a wait. "
            "Print a number of the host's."
        )
        late = (
            "All norms came over together, so they cannot have been printed one by one as they were computed."
        )
        fewer = (counts := got["counts"] or {}).get("device_to_host") is not None and counts[
            "device_to_host"
        ] < n
        judge_counts(
            got,
            device_to_host=n,
            waits=n,
            host_to_device=0,
            hints={"device_to_host": late if fewer else tensor},
        )
        self.judge_loop(case, got)
        first = ((got["watched"] or {}).get("at_print") or [0])[0]
        if first > 2 and n > 1:
            raise Wrong(
                f"{first} products were asked for before the first norm was printed",
                "Here somebody looks on while it is computed: each norm is printed before the next product is asked for.",
            )

    def judge_items(self, case, got, norms, products):
        n, result = case["products"], got["result"]
        if not isinstance(result, list) or not all(isinstance(each, float) for each in result):
            raise Wrong(
                f"it returns {self.what(result)}, and a list of Python floats is asked for",
                "A list of tensors has fetched nothing yet: item() makes a Python float.",
            )
        self.judge_norms({**got, "result": np.array(result)}, norms, products)
        later = "This is the variant that fetches each number by itself. The others do it better, and are to be compared with it."
        judge_counts(got, device_to_host=n, waits=n, host_to_device=0, hints={"device_to_host": later})
        self.judge_loop(case, got)

    def judge_buffered(self, case, got, norms, products):
        n, counts = case["products"], got["counts"] or {}
        self.judge_array_of(case, got, norms, products)
        if counts.get("host_to_device"):
            raise Wrong(
                f"{counts['host_to_device']} copies to the device",
                "The norms were on the device, came to the host and went back to it. They need not leave before the end.",
            )
        buffer = (
            "Your buffer is filled one number at a time over the bus, because it lies on the host. Which memory does a new "
            "tensor get if nobody says where?"
        )
        if (got["watched"] or {}).get("fetched"):
            buffer = (
                "Every norm is an array by itself and is fetched by itself. Let them become neighbours in one array on the "
                "device, and fetch that."
            )
        elif (counts.get("device_to_host_bytes") or 0) > 4 * n:
            buffer = "The log goes to the host again and again. Let it go when it is full."
        judge_counts(got, device_to_host=1, waits=1, hints={"device_to_host": buffer})
        self.judge_loop(case, got)

    def judge_batched(self, case, got, norms, products):
        self.judge_array_of(case, got, norms, products)
        counts = got["counts"] or {}
        if (counts.get("operations") or 0) > max(8, case["products"] // 2):
            raise Wrong(
                f"{counts['operations']} operations",
                "There is a loop over the products still, whoever does the looping. Give the device whole stacks of matrices.",
            )
        judge_counts(got, device_to_host=1, waits=1, host_to_device=0)
        self.judge_products(case, got, 2)

    def judge_fused(self, case, got, norms, products):
        self.judge_array_of(case, got, norms, products)
        judge_counts(got, operations=(1, 8), device_to_host=1, waits=1, host_to_device=0)
        n, side, seen = case["products"], case["side"], got["watched"]
        if seen is None:
            return
        if seen["multiplications"] > 1.5 * n * side**3:
            raise Wrong(
                f"{seen['multiplications']:,} multiplications in products, and {n * side**3:,} make M",
                "There is a second product still, and all that is used of it is its diagonal. Write one element of that diagonal "
                "as a sum: which elements of M are in it?",
            )
        if seen["multiplications"] < n * side**3:
            raise Wrong("the products are not computed as products", "M is a[i] @ b[i], for all i at once.")
        if seen["written"] > n * side**2 // 2:
            raise Wrong(
                f"{seen['written']:,} numbers were written besides M, and there are {n} norms",
                "The squares are written to memory, all of them, and read again to be added. A norm squares and adds in one go.",
            )

    def judge_loop(self, case, got):
        n, counts = case["products"], got["counts"] or {}
        if counts.get("operations") is not None and counts["operations"] < n:
            raise Wrong(
                f"{counts['operations']} operations for {n} products",
                "In the first four the products are asked for one after another, and so are the norms.",
            )
        self.judge_products(case, got, 2)
        done = (got["watched"] or {}).get("products")
        if done is not None and done < 2 * n:
            raise Wrong(
                f"{done} times a product was asked for, and {2 * n} times is right",
                "In the first four every product is asked for by itself, and so is every second product. Only the last two "
                "take whole stacks.",
            )

    def judge_products(self, case, got, times):
        if got["watched"] is None:
            return
        each = case["side"] ** 3
        done = got["watched"]["multiplications"] / each
        if done != times * case["products"]:
            raise Wrong(
                f"{done:g} products of matrices, and {times * case['products']} are asked for",
                "A product for each M, and one for each M Mᵀ: only the last variant does without.",
            )

    def judge_array_of(self, case, got, norms, products):
        if not isinstance(got["result"], np.ndarray):
            raise Wrong(
                f"it returns {self.what(got['result'])}, and a NumPy array is asked for",
                "At the end the log comes to the host, as an array of float32 numbers.",
            )
        self.judge_norms(got, norms.astype(np.float32), products)
        nbytes, n = (got["counts"] or {}).get("device_to_host_bytes"), case["products"]
        if (got["counts"] or {}).get("device_to_host") == 1 and nbytes is not None and nbytes > 8 * n:
            raise Wrong(
                f"{nbytes:,} bytes came to the host, and {n} norms have {4 * n:,}",
                "Whole matrices have crossed the bus, and the host has added up. Add on the device, and let the norms come.",
            )

    def judge_norms(self, got, norms, products):
        total = "That is one number for all products together, and there is a log to fill: leave the first axis alone."
        if isinstance(got["result"], np.ndarray) and got["result"].size == 1 < norms.size:
            raise Wrong(f"it is a single number, and {norms.size} are asked for", total)
        diagonal = (
            "You have squared the diagonal of M. The diagonal of M Mᵀ is another one: in each of its elements stands a whole "
            "row of M."
        )
        square = "That is the root of what is asked for: tr(M Mᵀ) is the norm squared."
        sums = "The last axis has been added up, or the middle one: one number for each matrix, not for each row."
        if isinstance(got["result"], np.ndarray) and got["result"].ndim > 1:
            raise Wrong(f"the shape is {got['result'].shape}, and {norms.shape} is right", sums)
        diagonals = np.diagonal(products, axis1=1, axis2=2)
        judge_function(
            got,
            norms,
            name="the log",
            rtol=1e-4,
            inputs=None,
            own=False,
            mistakes=[
                ((diagonals**2).sum(axis=1), diagonal),
                (np.sqrt(norms), square),
                (diagonals.sum(axis=1), "That is the trace of M, and the trace of M Mᵀ is asked for."),
            ],
        )

    def what(self, value):
        return getattr(value, "kind", None) or said(value)
