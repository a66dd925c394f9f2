"""Checks of solutions/07-cudnn.ipynb: made by `make exercises`, edit them there."""

import gc
import math

import numpy as np

from host_to_device.exercises import (
    Exercise,
    InOut,
    Out,
    Wrong,
    inputs,
    judge_array,
    judge_function,
    judge_kernel,
    run_function,
    run_kernel,
    run_notes,
)
from host_to_device.exercises.values import said

TITLE = "Where cuDNN sits"


class OutputSize(Exercise):
    """What comes out."""

    number, points, minutes = "07.1", 2, 5
    needs = ("function output_size(size, kernel, stride, padding, dilation)",)
    hints = (
        "Lay the kernel on the first pixels. How many pixels lie under it, from its first tap to its last?",
        "What is left of the padded image behind the kernel is the room in which it can move, and each step takes "
        "`stride` of it. Before the first step it has been in one place already.",
        "`extent = dilation * (kernel - 1) + 1`, `room = size + 2 * padding - extent`, and then `room // stride + 1`, "
        "which must not fall below 0.",
    )

    def cases(self, seed):
        named = "size", "kernel", "stride", "padding", "dilation"
        found = [
            (30, 7, 2, 4, 1),
            (224, 7, 2, 3, 1),
            (28, 3, 1, 1, 1),
            (32, 3, 1, 2, 2),
            (56, 1, 2, 0, 1),
            (5, 7, 4, 0, 1),
            (3, 3, 2, 0, 5),
            (11, 5, 3, 1, 3),
            (9, 9, 1, 0, 1),
        ]
        if seed:
            generator = np.random.default_rng((0x71, seed))
            lows, highs = (12, 2, 1, 0, 1), (99, 6, 5, 4, 4)
            found[2:5] = [[int(each) for each in generator.integers(lows, highs)] for _ in range(3)]
        return [dict(zip(named, values, strict=True)) for values in found]

    def run(self, student, case):
        return run_function(student.output_size, *case.values())

    def judge(self, case, got):
        size, kernel, stride, padding, dilation = case.values()

        def places(pads=2, extent=dilation * (kernel - 1) + 1, rounded=math.floor, more=1):
            return rounded((size + pads * padding - extent) / stride) + more

        right = max(0, places())
        missing = "The kernel is in a place before it has moved at all. That place is not among the steps."
        mistakes = [
            (max(0, places(pads=1)), "Padding is added at each end, so an axis has two of it."),
            (
                max(0, places(extent=dilation * kernel)),
                "Behind the last tap there is no gap. A kernel of 3 taps has two gaps between them.",
            ),
            (
                max(0, places(extent=kernel)),
                "A dilated kernel reaches further than it has taps: how many pixels lie from its first tap to its last?",
            ),
            (max(0, places(more=0)), missing),
            (
                max(0, places(rounded=math.ceil)),
                "At the last place some taps would lie behind the image. A step that does not fit is not taken.",
            ),
        ]
        if right == 0:
            fits = (
                "The kernel is longer than the padded image, and fits nowhere. Rounding a negative room towards zero "
                "makes a place of it."
            )
            mistakes = [
                (max(0, places(rounded=math.trunc)), fits),
                (places(), "There cannot be fewer places than none."),
                *mistakes,
            ]
        judge_function(got, right, name="the size", mistakes=mistakes)


class WheelFor(Exercise):
    """Which wheel, and what it brings."""

    number, points, minutes = "07.2", 3, 15
    needs = ("function wheel_for(wheels, driver)",)
    hints = (
        "Two things are compared here, wheels with each other and drivers with each other. Neither of them is a number, "
        "and neither is a word.",
        "A version is a tuple of whole numbers: (2, 10, 0) is larger than (2, 9, 1). Sort the wheels by it, newest "
        "first, and take the first one that runs.",
        "`package, _, rest = line.partition('==')` takes a line apart. What stands behind `nvidia-cudnn-cu` in `package` "
        "is its CUDA, and `rest.replace(';', ' ').split()[0]` the version without the condition behind it.",
    )

    # (CUDA, its lowest driver)
    BOUNDS = ((11, "450.80.02"), (12, "525.60.13"), (13, "580.65.06"))

    def cases(self, seed):
        generator = np.random.default_rng((0x72, seed))
        patch = int(generator.integers(2, 9))
        minor = int(generator.integers(0, 8))
        lines = {
            "2.9.1": (12, f"9.{minor}.{patch}.70", '; platform_system == "Linux"'),
            "2.10.0": (12, f"9.{minor + 1}.2.{patch}", ' ; platform_machine == "x86_64"'),
            f"2.11.{patch}": (13, f"9.{minor + 10}.0.56", ""),
            "2.8.0": (11, f"8.{patch}.0.58", ""),
            "2.12.0": (0, "", ""),
        }
        drivers = ["580.65.06", "535.183.01", "525.60.13", "580.9.01", "450.80.02", "440.100"]
        drivers += [f"59{patch}.48.01", "525.9.20", "1000.1"]
        found = [{"driver": driver, "wheels": lines} for driver in drivers]
        older = {wheel: lines[wheel] for wheel in ("2.8.0", "2.9.1", "2.12.0")}
        return [*found, {"driver": drivers[0], "wheels": older}]

    def says(self, case):
        return f"driver {case['driver']}, wheels {', '.join(case['wheels'])}"

    def wheels(self, case):
        """Return what the student gets: lines in no helpful order, with packages of similar names among them."""
        found = {}
        for wheel, (toolkit, version, condition) in case["wheels"].items():
            others = ["numpy>=1.26", "nvidia-cudnn-frontend==1.18.0", "filelock"]
            if toolkit:
                others.insert(2, f"nvidia-cudnn-cu{toolkit}=={version}{condition}")
                others.append(f"nvidia-cublas-cu{toolkit}=={toolkit}.4.5.8{condition}")
            found[wheel] = others
        return found

    def run(self, student, case):
        return run_function(student.wheel_for, self.wheels(case), case["driver"])

    def found(self, case, order=None, able=None):
        """Return the newest wheel that can be run, by an order of wheels and a rule for drivers."""

        able = able or (lambda driver, low: self.numbers(driver) >= self.numbers(low))
        lowest = dict(self.BOUNDS)
        for wheel in sorted(case["wheels"], key=order or self.numbers, reverse=True):
            toolkit, version, _ = case["wheels"][wheel]
            if toolkit and able(case["driver"], lowest[toolkit]):
                return [wheel, version]
        return None

    def words(self, pair):
        return "None" if pair is None else f"{pair[0] or 'no wheel'} with cuDNN {pair[1] or 'of no version'}"

    def numbers(self, version):
        return tuple(map(int, version.split(".")))

    def judge(self, case, got):
        right, result = self.found(case), got["result"]
        if result == right:
            return
        pair = isinstance(result, list) and len(result) == 2 and all(isinstance(each, str) for each in result)
        if result is not None and not pair:
            what = getattr(result, "kind", said(result))
            raise Wrong(f"{what} is returned", "Return a wheel and a version of cuDNN, both as texts.")
        text = f"{self.words(result)} is returned, and {self.words(right)} is right"
        if right is None and not any(result):
            raise Wrong(text, "Where no wheel can be run, return None itself.")
        newest = max(
            (low for _, low in self.BOUNDS if self.numbers(case["driver"]) >= self.numbers(low)), default=""
        )
        written = self.found(case, order=str)
        first = self.found(case, able=lambda driver, low: self.numbers(driver)[0] >= self.numbers(low)[0])
        as_text = self.found(case, able=lambda driver, low: driver >= low)
        same = self.found(case, able=lambda _, low: low == newest)
        newer = self.found(case, able=lambda driver, low: self.numbers(driver) > self.numbers(low))
        hints = [
            (
                written,
                "As a word 2.9 comes after 2.10, because 9 comes after 1. Compare the numbers of a version.",
            ),
            (
                first,
                "The first number of the driver is new enough, and the others are not: they count as well.",
            ),
            (
                as_text,
                "As a word a driver 1000 comes before a driver 525, and 580.9 after 580.65. It is made of numbers.",
            ),
            (same, "A driver runs what is older, too: a wheel for an older CUDA is one that it can run."),
            (newer, "A driver that is just as new as `LOWEST` says is new enough."),
        ]
        if result and right and result[0] == right[0]:
            if result[1].startswith(right[1]):
                raise Wrong(
                    text,
                    "Behind the version stands a condition, which is for pip. It is no part of the version.",
                )
            if result[1] == "1.18.0":
                raise Wrong(
                    text,
                    "There is more than one package with cudnn in its name. The library is the one with cu and a number.",
                )
        for mistaken, hint in hints:
            if result == mistaken:
                raise Wrong(text, hint)
        if result and case["wheels"].get(result[0], (0,))[0] == 0:
            raise Wrong(text, "A wheel that brings no cuDNN is built for the CPU.")
        if result is None:
            raise Wrong(text, "A wheel that cannot be run is passed over, and the next one may do.")
        raise Wrong(text, "Take this driver and go through the wheels by hand, the newest first.")


class MaxPool(Exercise):
    """The largest under the window."""

    number, points, minutes = "07.3", 3, 15
    seconds = 60.0
    needs = ("kernel max_pool(image, window, stride, padding, out)",)
    hints = (
        "Which pixels are under the window of `out[row, column]`? Write down its first row and its first column; they "
        "may be negative.",
        "The launch is rounded up for `out`, so one guard is for `out`. The other is for the pixels: go from the first "
        "row of the window or of the image, whichever is later, to the last of either. What is a maximum to begin with?",
        "`top = row * stride - padding`, and `for r in range(max(0, top), min(image.shape[0], top + window))`; the same "
        "for the columns; and `largest` begins as `-math.inf`.",
    )

    SHAPES = (
        # rows, columns, window, stride, padding, block
        (23, 41, 3, 2, 1, (16, 4)),
        (1, 1, 1, 1, 0, (8, 8)),
        (37, 18, 2, 2, 0, (4, 8)),
        (14, 29, 5, 3, 2, (8, 2)),
        (19, 12, 3, 4, 1, (2, 4)),
    )

    def cases(self, seed):
        generator = np.random.default_rng((0x73, seed))
        found = []
        for place, (rows, columns, window, stride, padding, block) in enumerate(self.SHAPES):
            if seed and rows > 1:
                rows, columns = rows + int(generator.integers(6)), columns + int(generator.integers(6))
            out = [(side + 2 * padding - window) // stride + 1 for side in (rows, columns)]
            # A surplus thread at the end of every row and column, and a whole surplus row of blocks.
            grid = [out[1] // block[0] + 1, out[0] // block[1] + 1 + place % 2]
            found.append(
                {
                    "rows": rows,
                    "columns": columns,
                    "window": window,
                    "stride": stride,
                    "padding": padding,
                    "out": out,
                    "grid": grid,
                    "block": list(block),
                    "seed": seed * 100 + place,
                }
            )
        return found

    def says(self, case):
        sizes = f"image {case['rows']} × {case['columns']}, window {case['window']}"
        return f"{sizes}, stride {case['stride']}, padding {case['padding']}"

    def image(self, case):
        """Return an image with a region below zero at every edge, and little else."""
        image = inputs.distinct((case["rows"], case["columns"]), seed=case["seed"])
        return np.where(np.arange(case["columns"]) % 11 < 7, -np.abs(image), image).astype(np.float32)

    def run(self, student, case):
        image = self.image(case)
        given = (image, case["window"], case["stride"], case["padding"], Out(case["out"], np.float32))
        return run_kernel(student.max_pool, given, case["grid"], case["block"])

    def pooled(self, case, outside, step=None, begin=-np.inf, shift=0):
        """Return the maxima, with a value outside of the image, another step or a value to begin with."""
        image, window, padding = self.image(case), case["window"], case["padding"]
        step, large = step or case["stride"], max(image.shape) * max(step or 1, case["stride"]) + window
        sides = [(padding, large), (padding, large)]
        padded = np.pad(image, sides, constant_values=outside)
        windows = np.lib.stride_tricks.sliding_window_view(padded, (window, window))
        rows, columns = case["out"]
        top, left = (np.arange(count) * step + shift for count in (rows, columns))
        found = windows[np.ix_(top, left)].max(axis=(2, 3))
        return np.maximum(found, begin).astype(np.float32)

    def judge(self, case, got):
        right = self.pooled(case, -np.inf)
        hints = {
            "unwritten": "An element of `out` has a thread of its own. Which row and which column of `out` are they?"
        }
        for finding in got["findings"][:1]:
            of_out = finding["array"] in got["names"]
            negative = "[-" in finding["text"] or ", -" in finding["text"]
            if of_out:
                hints["out of bounds"] = (
                    "The grid is rounded up for `out`, and `out` is smaller than the image: guard the thread with the "
                    "shape of what it writes."
                )
            elif negative:
                hints["out of bounds"] = (
                    "The window begins above the image, where an index is negative. Numba does what Python does and "
                    "counts from the other end."
                )
            else:
                hints["out of bounds"] = (
                    "The last windows end below the image or to the right of it. Let the loops end where the first of "
                    "the two ends."
                )
        step = case["window"] if case["window"] != case["stride"] else None
        mistakes = [
            (
                self.pooled(case, -np.inf, begin=0),
                "Where all pixels are negative, 0 is larger than all of them, and is none of them. With what does a "
                "maximum begin?",
            ),
            (
                self.pooled(case, 0),
                "The border has taken part as 0. Outside of the image there is nothing, and nothing is not 0.",
            ),
            (
                self.pooled(case, -np.inf, shift=case["padding"]),
                "Your first window begins at the first pixel. It begins `padding` pixels before it.",
            ),
        ]
        if step:
            mistakes.append(
                (
                    self.pooled(case, -np.inf, step=step),
                    "Your windows lie side by side. How far it is from one to the next, `stride` says, and the size of "
                    "a window does not.",
                )
            )
        judge_kernel(got, right, inputs=[self.image(case)], hints=hints, mistakes=mistakes)


class ColumnsOf(Exercise):
    """A convolution becomes a matrix."""

    number, points, minutes = "07.4", 4, 20
    needs = ("function columns_of(image, size, stride, padding)",)
    hints = (
        "Every element of the result has five numbers: its channel, its row and column in the kernel, and the row and "
        "column of the place. Which three of them make a row of the result, and which two a column?",
        "Pad first. `sliding_window_view(padded, (size, size), axis=(1, 2))`, from `np.lib.stride_tricks`, has the five "
        "axes channel, place's row, place's column, tap's row, tap's column; the stride is a slice of two of them.",
        "Bring the axes into the order channel, tap's row, tap's column, place's row, place's column with "
        "`transpose(0, 3, 4, 1, 2)`, and let `reshape(channels * size * size, -1)` make two axes of them.",
    )

    def cases(self, seed):
        found = [
            (3, 5, 7, 3, 1, 1),
            (2, 9, 6, 2, 2, 0),
            (1, 1, 1, 1, 1, 0),
            (4, 8, 11, 5, 3, 2),
            (2, 6, 5, 3, 2, 0),
        ]
        if seed:
            generator = np.random.default_rng((0x74, seed))
            found = [
                (
                    channels,
                    *(side + int(generator.integers(4)) * (side > 1) for side in (rows, columns)),
                    *rest,
                )
                for channels, rows, columns, *rest in found
            ]
        named = "channels", "rows", "columns", "size", "stride", "padding"
        return [
            dict(zip(named, values, strict=True)) | {"double": place % 2, "seed": 10 * seed + place}
            for place, values in enumerate(found)
        ]

    def says(self, case):
        shape = tuple(case[name] for name in ("channels", "rows", "columns"))
        return f"shape {shape}, size {case['size']}, stride {case['stride']}, padding {case['padding']}"

    def image(self, case):
        shape = [case[name] for name in ("channels", "rows", "columns")]
        return inputs.distinct(shape, np.float64 if case["double"] else np.float32, seed=case["seed"])

    def run(self, student, case):
        return run_function(
            student.columns_of, self.image(case), case["size"], case["stride"], case["padding"]
        )

    def windows(self, case, mode="constant"):
        """Return the pixels under the kernel: channel, place's row and column, tap's row and column."""
        size, stride, padding = case["size"], case["stride"], case["padding"]
        padded = np.pad(self.image(case), ((0, 0), (padding, padding), (padding, padding)), mode=mode)
        rows, columns = ((side - size) // stride + 1 for side in padded.shape[1:])
        found = np.zeros((len(padded), rows, columns, size, size), padded.dtype)
        for r in range(size):
            for c in range(size):
                found[..., r, c] = padded[
                    :, r : r + stride * (rows - 1) + 1 : stride, c : c + stride * (columns - 1) + 1 : stride
                ]
        return found

    def judge(self, case, got):
        windows, taps = self.windows(case), case["channels"] * case["size"] ** 2
        right = windows.transpose(0, 3, 4, 1, 2).reshape(taps, -1)
        hints = {
            "shape": "A row for every tap in every channel, and a column for every place at which the kernel fits.",
        }
        result = got["result"]
        shape = result.shape if isinstance(result, np.ndarray) else None
        if right.shape[0] != right.shape[1] and shape == right.shape[::-1]:
            hints["shape"] = (
                "Places are the columns of the result, and taps are its rows. You have it the other way round."
            )
        dense = [side + 2 * case["padding"] - case["size"] + 1 for side in (case["rows"], case["columns"])]
        if case["stride"] > 1 and shape == (taps, dense[0] * dense[1]):
            hints["shape"] = "The kernel stops at every pixel. It moves on by `stride` of them."
        mistakes = [
            (
                windows.reshape(taps, -1),
                "The shape is right, and the elements stand as they came: reshape moves nothing. Bring the axes into the "
                "order of the task first.",
            ),
            (
                windows.transpose(3, 4, 0, 1, 2).reshape(taps, -1),
                "The first rows are one tap of all channels. All taps of the first channel come first, as they do in the "
                "weights.",
            ),
            (
                windows.transpose(0, 3, 4, 2, 1).reshape(taps, -1),
                "Your places go down the columns of the output. They go along its rows.",
            ),
            (
                windows.transpose(0, 4, 3, 1, 2).reshape(taps, -1),
                "Rows and columns of the kernel have changed places.",
            ),
            (
                windows[..., ::-1, ::-1].transpose(0, 3, 4, 1, 2).reshape(taps, -1),
                "The kernel is turned round. That is the convolution of mathematics, and not that of networks.",
            ),
        ]
        if case["padding"]:
            edge = self.windows(case, "edge")
            mistakes.append(
                (
                    edge.transpose(0, 3, 4, 1, 2).reshape(taps, -1),
                    "Beyond the edge you have repeated the last pixel. The padding is 0.",
                )
            )
        judge_function(got, right, inputs=[self.image(case)], hints=hints, mistakes=mistakes)


class FourWays(Exercise):
    """Four ways and a limit."""

    number, points, minutes = "07.5", 4, 25
    needs = ("function costs(shape, size)", "function choose(costs, limit)")
    hints = (
        "Write down how many elements the output has, and how many taps are behind each. For the workspaces ask of every "
        "array: how many of them are there, and how large is one?",
        "Tiles: `-(-rows // 2) * -(-columns // 2)` in each image. Spectrum: `(rows + size - 1) * ((columns + size - 1) "
        "// 2 + 1)` numbers of 8 bytes. The limit comes before the comparison: who is too large takes no part in it.",
        "In `choose`: `able = [name for name, (_, workspace) in costs.items() if workspace <= limit]`, and then "
        "`min(able, key=costs.get)`; pairs are compared by their first number, and by the second if those are equal.",
    )

    WAYS = "direct", "im2col", "winograd", "fft"

    def cases(self, seed):
        found = [
            ((2, 3, 8, 7, 10), 3),
            ((16, 64, 128, 56, 56), 3),
            ((1, 4, 6, 33, 20), 11),
            ((8, 256, 64, 14, 14), 1),
            ((32, 3, 64, 225, 223), 7),
            ((1, 1, 1, 1, 1), 3),
        ]
        shapes = [([side + seed % 3 * (side > 1) for side in shape], size) for shape, size in found]
        exact = 4 * 5 * 9 * 12 * 12
        made = {
            "direct": (700 + seed, 0),
            "im2col": (700 + seed, exact),
            "winograd": (300, exact + 1),
            "fft": (301, 80),
        }
        chosen = [(made, limit) for limit in (exact + 1, exact, 80, 79, 0)]
        chosen.append(({"fft": (9, 40 + seed), "direct": (12, 0), "im2col": (9, 30)}, 100 + seed))
        chosen.append(({"im2col": (5000, 1), "direct": (5000, 0), "fft": (9000 + seed, 0)}, 4))
        return [{"shape": shape, "size": size} for shape, size in shapes] + [
            {"costs": {name: list(pair) for name, pair in costs.items()}, "limit": limit}
            for costs, limit in chosen
        ]

    def says(self, case):
        if "shape" in case:
            return f"shape {tuple(case['shape'])}, size {case['size']}"
        return f"costs {case['costs']}, limit {case['limit']:,}"

    def run(self, student, case):
        if "shape" in case:
            return run_function(student.costs, tuple(case["shape"]), case["size"])
        given = {name: tuple(pair) for name, pair in case["costs"].items()}
        return run_function(student.choose, given, case["limit"])

    def counted(self, case):
        """Return the pairs, by the way, with those of mistakes, and the hint of each."""
        (n, c, k, rows, columns), size = case["shape"], case["size"]
        taps, three = size**2, n * c * k
        every = three * rows * columns * taps
        found = {
            "direct": [((every, 0), "")],
            "im2col": [
                ((every, 4 * n * c * rows * columns * taps), ""),
                (
                    (every, 4 * c * rows * columns * taps),
                    "This is the matrix of one image, and the workspace holds that of all of them.",
                ),
                (
                    (every, 4 * three * rows * columns * taps),
                    "All filters use the same matrix, so it is there once.",
                ),
                (
                    (every, 4 * n * c * rows * columns),
                    "Each pixel is copied once for every tap that lies on it.",
                ),
            ],
        }
        if size == 3:

            def winograd(tiles, each=4):
                return 16 * tiles * three, each * 16 * (n * c * tiles + c * k + n * k * tiles)

            tiles = -(-rows // 2) * -(-columns // 2)
            right = winograd(tiles)
            found["winograd"] = [
                (right, ""),
                (
                    winograd((rows // 2) * (columns // 2)),
                    "A row too many needs tiles, too: they hang over at the end.",
                ),
                (
                    winograd(-(-rows // 4) * -(-columns // 4)),
                    "Tiles of 4 × 4 are what is read. They overlap, and each makes 2 × 2 pixels of the output.",
                ),
                (
                    (right[0], 4 * 16 * (n * c + c * k + n * k) * tiles),
                    "The weights are transformed once, and not for every tile.",
                ),
                (
                    (right[0], 4 * 16 * (c * tiles + c * k + k * tiles)),
                    "These are the tiles of one image, and there are several.",
                ),
                ((right[0], right[1] // 4), "The workspace is in bytes, and a float32 has four."),
            ]

        def fft(high, wide, each=4, half=True):
            places = high * (wide // 2 + 1 if half else wide)
            return each * places * three, 8 * places * (n * c + c * k + n * k)

        high, wide = rows + size - 1, columns + size - 1
        found["fft"] = [
            (fft(high, wide), ""),
            (
                fft(high, wide, half=False),
                "The spectrum of real numbers says everything twice, and half of it is kept.",
            ),
            (
                fft(rows, columns),
                "Without padding the kernel comes in again at the other side: a product of spectra goes round in a "
                "circle.",
            ),
            (fft(high, wide, each=1), "A complex product takes four multiplications of real numbers."),
            (fft(wide, high), "Columns are halved in `rfft2`, the last axis, and rows are not."),
        ]
        return found

    def judge(self, case, got):
        result = got["result"]
        if "shape" not in case:
            return self.judge_choice(case, result)
        counted = self.counted(case)
        if not isinstance(result, dict):
            raise Wrong(f"costs returns {getattr(result, 'kind', said(result))}", "A dict is asked for.")
        if "winograd" in result and "winograd" not in counted:
            raise Wrong(
                "there is a pair for winograd", "F(2×2, 3×3) is made for kernels of 3 × 3, and for no others."
            )
        if sorted(result) != sorted(counted):
            raise Wrong(f"the ways are {', '.join(map(str, result))}", f"Asked for are {', '.join(counted)}.")
        for way, ((right, _), *mistakes) in counted.items():
            pair = result[way]
            if isinstance(pair, list):  # NumPy's whole numbers are as good
                pair = [
                    each.item() if isinstance(each, np.ndarray) and not each.ndim else each for each in pair
                ]
            whole = isinstance(pair, list) and len(pair) == 2 and all(type(each) is int for each in pair)
            if not whole:
                raise Wrong(
                    f"{way} has no pair of whole numbers", "The multiplications and the bytes, both as int."
                )
            # Shapes on which a mistake makes no difference say nothing about it.
            told = [(np.array(each), hint) for each, hint in mistakes if each != right]
            names = ("multiplications", "bytes of workspace")
            for place, name in enumerate(names):
                mine = [(each[place], hint) for each, hint in told if each.tolist() == pair]
                judge_array(f"{way}: {name}", np.array(pair[place]), np.array(right[place]), mistakes=mine)

    def judge_choice(self, case, result):
        costs, limit = case["costs"], case["limit"]
        able = {name: pair for name, pair in costs.items() if pair[1] <= limit}
        right = min(able, key=able.get)
        if result == right:
            return
        text = f"{result} is chosen, and {right} is right"
        if not isinstance(result, str) or result not in costs:
            raise Wrong(
                f"choose returns {getattr(result, 'kind', said(result))}",
                "The name of a way is asked for. Who needs no workspace is always possible.",
            )
        if costs[result][1] > limit:
            raise Wrong(text, "That way needs more workspace than there is. It cannot even begin.")
        if costs[result][1] < costs[right][1]:
            hint = "A workspace that is there costs nothing. Up to the limit, only multiplications count."
            below = {name: pair for name, pair in able.items() if pair[1] < limit}
            if costs[right][1] == limit and result == min(below, key=below.get):
                hint = "A workspace of just `limit` bytes is one that there is."
            raise Wrong(text, hint)
        if costs[result][0] == costs[right][0]:
            raise Wrong(text, "Both need as many multiplications. Then the smaller workspace decides.")
        raise Wrong(text, "Which of those within the limit has the fewest multiplications?")


class BytesTaken(Exercise):
    """Within this much memory."""

    number, points, minutes = "07.6", 5, 30
    seconds = 60.0
    needs = ("function bytes_taken(step, most)",)
    hints = (
        "Three numbers of the pool matter: what it holds, what of that is in use, and its limit. Which of them do you "
        "have to know before the step, and which after it?",
        "`free_all_blocks()` first; then `total_bytes()` is what is in use, and the limit is `most` above it. What has to "
        "be done whatever happens belongs into `finally`.",
        "`try:` the step and return `pool.total_bytes() - before`; `except cp.cuda.memory.OutOfMemoryError:` return None; "
        "`finally:` set the old limit, from `get_limit()`, and `free_all_blocks()`.",
    )

    KIB = 1024
    # What a step does: it makes an array of so many KiB, drops its oldest one, or raises.
    STEPS = (
        ("makes two arrays", (64, 128), 192),
        ("makes an array and drops it, then a larger one", (64, -1, 96), 160),
        ("makes an array, drops it, and makes it again", (256, -1, 256, -1, 256), 256),
        ("makes an array, and raises ValueError", (32, 0), None),
    )

    def cases(self, seed):
        more = seed % 5
        found = [
            # step, most, in use, kept from earlier, the limit before
            {"step": 0, "most": 192, "used": 0, "kept": 0, "limit": 0},
            {"step": 0, "most": 191, "used": 0, "kept": 0, "limit": 4096},
            {"step": 1, "most": 160 + more, "used": 512, "kept": 0, "limit": 4096 + more},
            {"step": 1, "most": 400, "used": 32, "kept": 64, "limit": 0},
            {"step": 2, "most": 300 + more, "used": 0, "kept": 1024, "limit": 8192},
            {"step": 0, "most": 150 + more, "used": 256, "kept": 512, "limit": 2048},
            {"step": 3, "most": 100, "used": 64, "kept": 0, "limit": 4096 + more},
            {"step": 2, "most": 255, "used": 128, "kept": 256, "limit": 0},
        ]
        return found

    def says(self, case):
        what = self.STEPS[case["step"]][0]
        return (
            f"a step that {what}, most {case['most']} KiB, {case['used']} KiB in use, {case['kept']} KiB kept"
        )

    def run(self, student, case):
        import cupy as cp

        def made(kib):
            return cp.empty(kib * self.KIB, cp.uint8)

        ran = []  # the pool's limit, each time that the step ran

        def step():
            ran.append(pool.get_limit())
            held = []
            for kib in self.STEPS[case["step"]][1]:
                if kib > 0:
                    held.append(made(kib))
                elif kib < 0:
                    del held[0]
                else:
                    raise ValueError("this one is the step's own")

        pool = cp.get_default_memory_pool()
        gc.collect()
        pool.free_all_blocks()
        limit, raised, got = pool.get_limit(), "", {"result": None}
        there = pool.total_bytes()
        used = made(case["used"]) if case["used"] else None
        if case["kept"]:
            kept = made(case["kept"])
            del kept
        try:
            pool.set_limit(size=case["limit"] * self.KIB)
            try:
                got = run_function(student.bytes_taken, step, case["most"] * self.KIB)
            except ValueError as problem:
                raised = str(problem)
                if "the step's own" not in raised:
                    raise
            gc.collect()
            left = pool.total_bytes() - there - case["used"] * self.KIB
            after = pool.get_limit()
        finally:
            pool.set_limit(size=limit)
            del used
            pool.free_all_blocks()
        # What the pool may hold while the step runs, besides what was in use before.
        allowed = [limit - there - case["used"] * self.KIB if limit else 0 for limit in ran]
        found = {"result": got["result"], "raised": raised, "left": left, "limit": after}
        return {**found, "ran": len(ran), "allowed": allowed}

    def judge(self, case, got):
        _, sizes, grown = self.STEPS[case["step"]]
        result, most = got["result"], case["most"]
        kib = self.KIB
        if got["ran"] != 1:
            raise Wrong(
                f"the step ran {got['ran']} times",
                "Run it once: a second time it finds blocks that it has left.",
            )
        if 0 in sizes and not got["raised"]:
            raise Wrong(
                "the step raised ValueError, and nobody heard of it",
                "Not every error is one of memory. Catch the one that says so, and let the others through.",
            )
        if 0 not in sizes:
            self.judge_result(case, result, grown * kib if grown <= most else None)
        if got["allowed"] != [most * kib]:
            how = f"{got['allowed'][0]:,} bytes more" if got["allowed"][0] else "as much as there is"
            raise Wrong(
                f"while the step ran the pool might hold {how}, and {most * kib:,} bytes more is right",
                "Who counts afterwards has taken the memory already, from somebody who needs it. Set the limit first.",
            )
        if got["limit"] != case["limit"] * kib:
            now = "no limit" if not got["limit"] else f"a limit of {got['limit']:,} bytes"
            failed = 0 in sizes or grown > most
            hint = "The limit that was there before is not 0 for everybody: ask for it, and put it back."
            if got["limit"]:
                hint = "After a step that went through the old limit is back, or never; and after one that fails?"
            if got["limit"] and not failed:
                hint = "Your limit has stayed in the pool. Put back the one that was there."
            raise Wrong(f"the pool has {now} afterwards, and had {case['limit'] * kib:,} bytes before", hint)
        # An error that goes through still holds the step's arrays, by its traceback.
        if got["left"] and 0 not in sizes:
            raise Wrong(
                f"the pool keeps {got['left']:,} bytes that nobody uses",
                "What the step has left lies in the pool and is nobody's. `free_all_blocks()` gives it back.",
            )

    def judge_result(self, case, result, right):
        kib, sizes = self.KIB, self.STEPS[case["step"]][1]
        if result == right and type(result) is type(right):
            return
        if result is None:
            hint = "It would have fitted. How far may the pool go, and what does it hold already?"
            if case["used"] and right is not None:
                hint = "The limit counts all that the pool holds, and somebody else's arrays are there before the step."
            raise Wrong(f"None is returned, and the step takes {right:,} bytes", hint)
        if right is None:
            raise Wrong(
                f"{said(result)} is returned, and the step takes more than {case['most'] * kib:,} bytes",
                "It did not fit. Blocks that the pool has kept, or a limit too high, have helped it.",
            )
        if type(result) is not int:
            raise Wrong(
                f"{getattr(result, 'kind', said(result))} is returned", "A number of bytes is asked for."
            )
        text = f"{result:,} is returned, and {right:,} is right"
        used = sum(each for each in sizes if each > 0) * kib
        if result == 0 and not case["kept"]:
            raise Wrong(
                text,
                "When the step is over its arrays are gone, and none of them is in use. What it took from the device, "
                "the pool still holds.",
            )
        if result == right + case["used"] * kib:
            raise Wrong(text, "Somebody else's arrays are in your number: what did the pool hold before?")
        if case["kept"]:
            raise Wrong(
                text,
                "The pool had kept blocks from earlier, and the step was given some of those. Empty the pool first.",
            )
        if result == used:
            raise Wrong(text, "A block that has been dropped is used again.")
        raise Wrong(text, "By how much has `total_bytes()` grown?")


class PoolGradient(Exercise):
    """The gradient of a maximum."""

    number, points, minutes = "07.7", 6, 40
    seconds = 60.0
    needs = ("kernel pool_gradient(places, gradient, window, stride, out)",)
    hints = (
        "A thread for each window has to add into pixels that other windows add into, too. A thread for each pixel has "
        "nobody beside it. Which windows does it have to ask?",
        "The last window row that reaches pixel row `row` begins at or above it: `row // stride`. The first one is the "
        "first whose last row, `r * stride + window - 1`, is not above it. Both are cut off where there are no windows.",
        "`for r in range(max(0, (row - window + stride) // stride), min(places.shape[0], row // stride + 1))`, the same "
        "for the columns, and inside: `if places[r, c] == row * out.shape[1] + column: total += gradient[r, c]`.",
    )

    SHAPES = (
        # rows, columns, window, stride, block
        (11, 15, 3, 1, (8, 4)),
        (17, 30, 3, 2, (16, 2)),
        (1, 1, 1, 1, (4, 4)),
        (21, 11, 5, 2, (4, 8)),
        (15, 19, 2, 3, (8, 8)),
        (12, 26, 4, 4, (8, 2)),
    )

    def cases(self, seed):
        generator = np.random.default_rng((0x77, seed))
        found = []
        for place, (rows, columns, window, stride, block) in enumerate(self.SHAPES):
            if seed and rows > 1:
                rows, columns = rows + int(generator.integers(5)), columns + int(generator.integers(5))
            found.append(
                {
                    "rows": rows,
                    "columns": columns,
                    "window": window,
                    "stride": stride,
                    "grid": [columns // block[0] + 1, rows // block[1] + 1],
                    "block": list(block),
                    "seed": seed * 100 + place,
                }
            )
        return found

    def says(self, case):
        return f"image {case['rows']} × {case['columns']}, window {case['window']}, stride {case['stride']}"

    def given(self, case):
        """Return the places of the largest pixels, and gradients whose sum depends on the order of adding."""
        generator = np.random.default_rng((0x78, case["seed"]))
        shape, window, stride = (case["rows"], case["columns"]), case["window"], case["stride"]
        image = generator.permutation(shape[0] * shape[1]).reshape(shape)
        # A few peaks that win in every window that they lie in.
        image[1::5, 2::4] += image.size
        numbers = np.arange(image.size).reshape(shape)
        under = [
            np.lib.stride_tricks.sliding_window_view(each, (window, window))[::stride, ::stride]
            for each in (image, numbers)
        ]
        pixels, numbers = (each.reshape(*each.shape[:2], -1) for each in under)
        best = pixels.argmax(axis=2)[..., None]
        places = np.take_along_axis(numbers, best, axis=2)[..., 0].astype(np.int32)
        sizes = generator.choice(np.array([1, 3e3, 1e7]), places.shape) * generator.choice(
            [-1, 1], places.shape
        )
        return places, (sizes * generator.uniform(1, 2, places.shape)).astype(np.float32)

    def run(self, student, case):
        places, gradient = self.given(case)
        out = InOut(np.zeros((case["rows"], case["columns"]), np.float32))
        given = (places, gradient, case["window"], case["stride"], out)
        got = run_kernel(student.pool_gradient, given, case["grid"], case["block"])
        if not got["findings"]:
            plain = (places, gradient, case["window"], case["stride"], out.array.copy())
            got["accesses"] = run_notes(student.pool_gradient, plain, case["grid"], case["block"])["accesses"]
        return got

    def added(self, case, order=None):
        """Return the sums, in the order of the windows or in another one, and how many windows won anything."""
        places, gradient = (each.ravel() for each in self.given(case))
        total = np.zeros(case["rows"] * case["columns"], np.float32)
        for each in range(places.size) if order is None else order:
            total[places[each]] += gradient[each]
        return total.reshape(case["rows"], case["columns"])

    def judge(self, case, got):
        places, gradient = self.given(case)
        right, window, stride = self.added(case), case["window"], case["stride"]
        order = (
            "Floats are added in the order in which threads happen to come, and each order rounds in its own way. An "
            "atomic makes sure that nothing is lost, and not when it is added. Let one thread add all that a pixel gets."
        )
        hints = {
            "race": "Two windows have the same pixel, and both add to it. Ask the other way round: let the thread of a pixel "
            "look for its windows.",
            "order dependence": order,
            "values": "Take a single peak, and go through the windows that it lies in by hand.",
        }
        for finding in got["findings"][:1]:
            hints["out of bounds"] = (
                "The pixels at the end lie in no window that begins there: the windows end before the image does."
            )
            if "[-" in finding["text"] or ", -" in finding["text"]:
                hints["out of bounds"] = (
                    "A pixel in the first rows lies in fewer windows: the first one has the number 0."
                )
            if finding["array"] in got["names"]:
                hints["out of bounds"] = "The launch is rounded up: there are more threads than pixels."
        last, alone, backward = (
            np.zeros_like(right),
            np.zeros_like(right),
            places.size - 1 - np.arange(places.size),
        )
        last.flat[places.ravel()] = gradient.ravel()
        rows, columns = np.divmod(np.arange(right.size).reshape(right.shape), right.shape[1])
        r, c = rows // stride, columns // stride
        there = (r < places.shape[0]) & (c < places.shape[1])
        r, c = np.minimum(r, places.shape[0] - 1), np.minimum(c, places.shape[1] - 1)
        won = there & (places[r, c] == rows * right.shape[1] + columns)
        alone[won] = gradient[r, c][won]
        mistakes = [
            (last, "A pixel that has won several windows has the gradient of one. It gets the sum of them."),
            (alone, "Each pixel asks a single window. Where windows overlap it lies in several of them."),
            (
                self.added(case, backward),
                "The sums are right but for their rounding: you add from the last window to the first.",
            ),
        ]
        columns_first = np.arange(places.size).reshape(places.shape).T.ravel()
        mistakes.append(
            (
                self.added(case, columns_first),
                "The sums are right but for their rounding: the windows come row by row, and you take a column at a time.",
            )
        )
        wide = np.zeros(right.size)
        np.add.at(wide, places.ravel(), gradient.ravel().astype(np.float64))
        mistakes.append(
            (
                wide.astype(np.float32).reshape(right.shape),
                "These sums are better than asked for: they were added in 64 bits, and each addition is to be in float32.",
            )
        )
        given = [places, gradient]
        if "whole" in got and any(np.any(one != other) for one, other in zip(*got["whole"], strict=True)):
            parts = [np.asarray(each[0])[16:-16] for each in got["whole"]]
            if (parts[0] != parts[1]).any():
                raise Wrong("the same launch has given other bits the second time", order)
        judge_kernel(got, right, inputs=given, hints=hints, mistakes=mistakes, rtol=0.0)
        reached = [
            sum(min(n - 1, i // stride) - max(0, -((window - 1 - i) // stride)) + 1 for i in range(side))
            for side, n in zip(right.shape, places.shape, strict=True)
        ]
        # Each place asked and each gradient taken once, each pixel written; and either each pixel read, for what it
        # holds, or each sum kept in `out`, which is read and written again for every gradient.
        most = reached[0] * reached[1] + places.size + right.size + max(right.size, 2 * places.size)
        if got["accesses"] > most:
            hint = "Which windows can a pixel lie in? Those alone have to be asked, and each of them once."
            if got["accesses"] > 4 * most:
                hint = (
                    "Every pixel asks every window of the image, which is a million times a million for a photograph. "
                    "Few of them are near enough."
                )
            raise Wrong(f"{got['accesses']:,} accesses to memory, and {most:,} are enough", hint)


class Winograd(Exercise):
    """Sixteen multiplications."""

    number, points, minutes = "07.8", 10, 60
    seconds = 60.0
    needs = ("function transformed(weights)", "kernel winograd(x, u, out)")
    hints = (
        "Begin with one channel and an image of 2 × 2, on paper: the 4 × 4 pixels that the tile reads are the image with a "
        "frame of zeros. Which steps are done for each channel, and which once at the end?",
        "Two local arrays of 4 × 4 are enough, one for the sums and one for the pixels of a channel. The pixels begin at "
        "row `2 * down - 1` and column `2 * right - 1`. There are three guards: the thread's, the pixels' and the outputs'.",
        "For each channel: read `v`, `v[0, j], v[1, j], v[2, j], v[3, j] = mix(v[0, j], v[1, j], v[2, j], v[3, j])` for "
        "each j, the same along the rows, and `sums[i, j] += u[f, channel, i, j] * v[i, j]`. After the loop `gather` twice. "
        "`transformed` is `G @ weights @ G.T`.",
    )

    def cases(self, seed):
        # channels, filters, rows, columns, block
        found = [
            (1, 1, 2, 2, (2, 2, 1)),
            (3, 5, 9, 13, (4, 2, 2)),
            (2, 3, 6, 17, (4, 4, 2)),
            (4, 2, 11, 4, (8, 2, 4)),
            (2, 4, 1, 1, (2, 2, 3)),
        ]
        if seed:
            generator = np.random.default_rng((0x7A, seed))
            found[1:4] = [
                (*(side + int(generator.integers(3)) for side in sides), block)
                for *sides, block in found[1:4]
            ]
        cases = [{"filters": 3 + seed % 3, "channels": 2, "seed": 50 * seed + 20}]
        for place, (channels, filters, rows, columns, block) in enumerate(found):
            threads = (columns + 1) // 2, (rows + 1) // 2, filters
            # A surplus block on every axis, or a part of one.
            grid = [each // per + 1 for each, per in zip(threads, block, strict=True)]
            cases.append(
                {
                    "channels": channels,
                    "filters": filters,
                    "rows": rows,
                    "columns": columns,
                    "grid": grid,
                    "block": list(block),
                    "seed": 50 * seed + 5 * place,
                }
            )
        return cases

    def says(self, case):
        if "grid" not in case:
            return f"transformed, weights of shape {(case['filters'], case['channels'], 3, 3)}"
        shape = case["channels"], case["rows"], case["columns"]
        return f"x of shape {shape}, {case['filters']} filters, grid {case['grid']}, block {case['block']}"

    def weights(self, case):
        return inputs.distinct((case["filters"], case["channels"], 3, 3), seed=case["seed"])

    def given(self, case):
        """Return x and u: 16 numbers that no 9 weights could have made, so that no other way leads to the result."""
        x = inputs.distinct((case["channels"], case["rows"], case["columns"]), seed=case["seed"] + 1)
        return x, inputs.distinct((case["filters"], case["channels"], 4, 4), seed=case["seed"] + 2)

    def run(self, student, case):
        if "grid" not in case:
            return run_function(student.transformed, self.weights(case))
        x, u = self.given(case)
        out = Out((case["filters"], case["rows"], case["columns"]), np.float32)
        return run_kernel(student.winograd, (x, u, out), case["grid"], case["block"])

    def tiled(self, case, step=2, first=-1, together=True, turned=False, once=False):
        """Return the convolution by tiles in float64, and with the mistakes that one can make of it."""
        x, u = (each.astype(np.float64) for each in self.given(case))
        b = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float64)
        a = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float64)
        rows, columns = case["rows"], case["columns"]
        out = np.zeros((case["filters"], rows + 2, columns + 2))
        wide = np.pad(x, ((0, 0), (4, 2 * rows * step + 8), (4, 2 * columns * step + 8)))
        for down in range((rows + 1) // 2):
            for right in range((columns + 1) // 2):
                top, left = 4 + step * down + first, 4 + step * right + first
                d = wide[:, top : top + 4, left : left + 4]
                v = b @ d if once else b @ d @ b.T
                products = u @ v if turned else u * v
                summed = products.sum(axis=1) if together else products[:, -1]
                out[:, 2 * down : 2 * down + 2, 2 * right : 2 * right + 2] = a @ summed @ a.T
        return out[:, :rows, :columns].astype(np.float32)

    def judge(self, case, got):
        if "grid" not in case:
            self.judge_transformed(case, got)
            return
        x, u = self.given(case)
        rows, columns = case["rows"], case["columns"]
        hints = {
            "unwritten": "Each tile has four outputs, and the last ones of an odd side have a tile of their own.",
            "race": "Each output has one tile. Which outputs are those of the tile `down`, `right`?",
        }
        for finding in got["findings"][:1]:
            hints["out of bounds"] = (
                "There are three guards, and one is missing: surplus threads, pixels beyond the edge, and outputs of a tile "
                "that hangs over."
            )
            if finding["array"] in got["names"] and (rows % 2 or columns % 2):
                hints["out of bounds"] = (
                    "A side is odd, and the last tile hangs over the edge. Its outputs beyond it do not exist."
                )
            elif finding["array"] == got["input_names"][1]:
                hints["out of bounds"] = (
                    "`u` has the filter first and the channel second. A surplus thread along z has no filter."
                )
            elif "[0, -1" in finding["text"] or ", -1]" in finding["text"]:
                hints["out of bounds"] = (
                    "The first tile reads a row above the image. It does not exist, and stands for zeros."
                )
        mistakes = [
            (
                self.tiled(case, together=False),
                "The result is that of the last channel. Where are the products of the others added to it?",
            ),
            (
                self.tiled(case, first=0),
                "Your tiles begin at their first output. The middle tap lies there, so they begin a pixel before it, in "
                "both directions.",
            ),
            (
                self.tiled(case, step=4),
                "The tiles that you read lie side by side. They overlap: four pixels are read for every two outputs.",
            ),
            (
                self.tiled(case, turned=True),
                "You have multiplied matrices. Sixteen multiplications make a product element by element.",
            ),
            (self.tiled(case, once=True), "`mix` has gone along one axis of the tile, and there are two."),
        ]
        scale = float(np.abs(self.tiled(case)).max())
        judge_kernel(
            got, self.tiled(case), inputs=[x, u], hints=hints, mistakes=mistakes, rtol=1e-4, atol=2e-6 * scale
        )

    def judge_transformed(self, case, got):
        g = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
        weights = self.weights(case)
        right = g @ weights @ g.T
        turned = g @ weights[..., ::-1, ::-1] @ g.T
        mistakes = [
            (
                turned,
                "The weights have been turned round. Networks do not do that: the first weight goes with the first pixel.",
            ),
            (g @ weights.transpose(0, 1, 3, 2) @ g.T, "Rows and columns of the weights have changed places."),
        ]
        judge_function(got, right, name="transformed", inputs=[weights], mistakes=mistakes)
