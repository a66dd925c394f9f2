"""Checks of solutions/13-hip-rocm.ipynb: made by `make exercises`, edit them there."""

import math
import re

import numpy as np

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
)
from host_to_device.exercises.porting import (
    MACHINES,
    check_source,
    compiled_for,
    judge_compiled,
    lanes_of,
    not_compiled,
    run_port,
)
from host_to_device.exercises.values import said
from host_to_device.hardware.gpus import find_architecture
from host_to_device.inspecting.occupancy import Needs, fit

TITLE = "HIP and ROCm"


class Place(Exercise):
    """Three builds, two words."""

    number, points, minutes = "13.1", 2, 5
    needs = ("function place(cuda, hip, available)",)
    hints = (
        "Which of the three arguments says something about the machine, and which two about the file that was installed?",
        "A build for CUDA on a laptop without a GPU has a version of CUDA and no device. And PyTorch for ROCm keeps the "
        "name of the device that the programs of the world are full of.",
        "Without a GPU it is `('none', 'cpu')`. With one the device is `'cuda'` for both vendors, and `hip` tells which "
        "of the two it is.",
    )

    def cases(self, seed):
        cuda = ("12.8", "13.0", "12.6")[seed % 3]
        hip = ("6.4.43484", "7.0.51831", "6.3.42131")[seed % 3]
        return [
            {"cuda": given[0], "hip": given[1], "available": given[2]}
            for given in (
                (cuda, None, True),
                (None, hip, True),
                (cuda, None, False),
                (None, None, False),
                (None, hip, False),
            )
        ]

    def says(self, case):
        build = "CUDA" if case["cuda"] else "ROCm" if case["hip"] else "the CPU"
        return f"a build for {build}, {'with a GPU' if case['available'] else 'without a GPU'}"

    def run(self, student, case):
        return run_function(student.place, case["cuda"], case["hip"], case["available"])

    def judge(self, case, got):
        result, available = got["result"], case["available"]
        if not isinstance(result, list) or len(result) != 2:
            raise Wrong(
                f"place returns {getattr(result, 'kind', said(result))}",
                "Two texts are asked for: return the vendor, a comma, the device.",
            )
        vendor, device = result
        device = "cuda" if device == "cuda:0" else device  # the first one, by its full name
        right = ("AMD" if case["hip"] else "NVIDIA", "cuda") if available else ("none", "cpu")
        if (vendor, device) == right:
            return
        hint = "Take the five lines of this table by hand: three builds, with a GPU and without, and what each should give."
        if (device, vendor) == right:
            hint = "The vendor comes first, and then the device."
        elif str(vendor).lower() == right[0].lower() and device == right[1]:
            hint = "The word is right, and the task writes it otherwise: NVIDIA and AMD in capitals, none in small letters."
        elif not available and vendor != "none":
            hint = (
                "A version says for what PyTorch was built, and the machine need not have it. Ask first whether there is "
                "a GPU."
            )
        elif available and device not in ("cuda", "cpu"):
            hint = (
                "No device of PyTorch's has that name. The build for ROCm answers to the name that the one for CUDA has, "
                "so that programs run as they are."
            )
        elif case["hip"] and vendor == "NVIDIA":
            hint = (
                "`torch.cuda.is_available()` is true on AMD's GPUs as well: the module has kept its name, and says "
                "nothing about who made the GPU."
            )
        elif case["hip"] and device == "cpu":
            hint = (
                "There is a GPU, and your program leaves it idle: no CUDA is not the same as no device. This build has "
                "HIP in its place."
            )
        raise Wrong(f"it is {vendor!r} on {device!r}, and {right[0]!r} on {right[1]!r} is right", hint)


class LeftToDo(Exercise):
    """What is left to do."""

    number, points, minutes = "13.2", 3, 10
    needs = ("function left_to_do(source)",)
    hints = (
        "Three patterns, one question for each line. What has to stand to the left and to the right of a 32 that is a "
        "number by itself?",
        r"In a regular expression `\b` is the edge of a word, and letters, digits and the underscore are all of one word: "
        r"`\b32\b` finds 32 and leaves `uint32_t` and `132` alone. `[fF]{8}` is eight of either letter.",
        r'`re.search(r"\b(asm|0x[fF]{8}[uU]?|3[12][uU]?)\b", line.partition("//")[0])` for every `line` of '
        "`source.splitlines()`, numbered by `enumerate(…, 1)`.",
    )

    # Lines of CUDA C++, by what is the matter with them: nothing, or why they are to be found.
    CLEAN = (
        "    cudaMalloc(&d_x, n * sizeof(float));",
        "    cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice);",
        "    cudaDeviceSynchronize();",
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;",
        "    if (i < n) out[i] = 2.0f * x[i];",
        "    __syncthreads();",
        "    for (int offset = warpSize / 2; offset > 0; offset /= 2)",
    )
    PARTS = (
        "    uint32_t seed = i * 2654435761u;",
        "    float tile32 = x[132 + i];",
        "    const int page = 0x32, size = 320, last = 1031;",
    )
    LONG = (
        "    sum += __shfl_down_sync(0xffffffffffffffff, sum, offset);",
        "    votes = __ballot_sync(0xFFFFFFFFFFFFFFFFull, x[i] > 0);",
    )
    COMMENTS = (
        "    // the mask was 0xffffffff, for the 32 lanes of a warp",
        "    float sum = 0.0f;  // asm has no place here, nor has 32",
    )
    PTX = ('    asm("mov.u32 %0, %%laneid;" : "=r"(lane));', '    asm volatile("membar.gl;");')
    SMALL = (
        "    sum += __shfl_down_sync(0xffffffff, sum, offset);",
        "    __syncwarp(0xffffffffu);  // all of them",
    )
    CAPITALS = (
        "    sum += __shfl_xor_sync(0xFFFFFFFF, sum, offset);",
        "    unsigned votes = __ballot_sync(0xFFFFFFFFU, x[i] > 0);",
    )
    WIDTHS = (
        "    int lane = threadIdx.x % 32;",
        "    int warp = threadIdx.x / 32u;  // of the block",
        "    if ((threadIdx.x & 31) == 0) partial[warp] = sum;",
        "    if (lane == 31U) last[warp] = sum;",
        "    __shared__ float partial[32];",
    )

    def cases(self, seed):
        groups = [
            ("names", ("WIDTHS", "CLEAN")),
            ("other numbers", ("WIDTHS", "PARTS", "CLEAN")),
            ("capitals", ("CAPITALS", "SMALL", "CLEAN")),
            ("long masks", ("SMALL", "LONG")),
            ("comments", ("WIDTHS", "COMMENTS", "SMALL")),
            ("all", ("CLEAN", "PARTS", "LONG", "COMMENTS", "PTX", "SMALL", "CAPITALS", "WIDTHS")),
            ("nothing", ("CLEAN",)),
        ]
        return [
            {"kind": kind, "groups": list(names), "seed": seed * 10 + place}
            for place, (kind, names) in enumerate(groups)
        ]

    def says(self, case):
        return f"a source of {len(self.lines(case))} lines"

    def lines(self, case):
        """Return the lines of the source, each with the group that it is from, in an order that the seed gives."""
        lines = [(group, line) for group in case["groups"] for line in getattr(self, group)]
        order = np.random.default_rng((0xD2, case["seed"])).permutation(len(lines))
        return [lines[place] for place in order]

    def run(self, student, case):
        return run_function(student.left_to_do, "\n".join(line for _, line in self.lines(case)) + "\n")

    def judge(self, case, got):
        result, lines = got["result"], self.lines(case)
        if not isinstance(result, list):
            raise Wrong(
                f"left_to_do returns {getattr(result, 'kind', said(result))}",
                "A list of numbers of lines is asked for.",
            )
        # NumPy's whole numbers are numbers, too.
        numbers = [
            each.item() if isinstance(each, np.ndarray) and each.ndim == 0 else each for each in result
        ]
        strange = [each for each in numbers if type(each) is not int]
        if strange:
            raise Wrong(
                f"in the list that left_to_do returns there is {getattr(strange[0], 'kind', said(strange[0]))}",
                "A list of whole numbers is asked for, those of the lines.",
            )
        wanted = [
            n for n, (group, _) in enumerate(lines, 1) if group in ("PTX", "SMALL", "CAPITALS", "WIDTHS")
        ]
        if numbers == wanted:
            return
        if numbers == [n - 1 for n in wanted]:
            raise Wrong(
                f"the lines are {numbers}, and {wanted} are right",
                "An editor's first line is line 1, and so is this function's.",
            )
        surplus = [n for n in numbers if n not in wanted and 1 <= n <= len(lines)]
        lacking = [n for n in wanted if n not in numbers]
        shown = (surplus or lacking or wanted)[0]
        group, line = lines[shown - 1]
        hints = {
            "CLEAN": "hipify changes this line, or it means the same to both vendors. What is looked for is what a lexical "
            "tool leaves, and what does not hold on every GPU.",
            "PARTS": "There is a 32 in this line, and it is a part of a longer word or number. What has to stand on both "
            "sides of one that is by itself?",
            "LONG": "Sixteen digits are 64 lanes: this mask has been ported. Eight is how many there have to be, and then "
            "no more.",
            "COMMENTS": "What is told here is told to people. Drop what stands behind // before you look.",
            "CAPITALS": "C++ writes hexadecimal digits in both cases, and this one is in capitals.",
        }
        many = "Is the number or the word in this line one of the three kinds, with its `u` or without?"
        if surplus:
            raise Wrong(
                f"line {shown} is among them, and nothing is left to do there", hints.get(group, many), [line]
            )
        if lacking:
            raise Wrong(f"line {shown} is not among them", hints.get(group, many), [line])
        raise Wrong(f"the lines are {numbers}, and {wanted} are right", "Each line once, in their order.")


class WorkGroups(Exercise):
    """How many fit."""

    number, points, minutes = "13.3", 3, 15
    needs = ("function work_groups(threads, vgprs, lds)",)
    hints = (
        "Each resource alone allows so many work-groups, and the scarcest decides. Places and registers are handed out to "
        "wavefronts, LDS to work-groups.",
        "First the wavefronts of a work-group, rounded up. Then how many wavefronts a single SIMD has room for, by places "
        "and by registers; four times that is what the CU has room for.",
        "`waves = math.ceil(threads / 64)`, `on_simd = min(8, 512 // (8 * math.ceil(vgprs / 8)))`, and the "
        "smaller of `4 * on_simd // waves` and, where there is LDS, `65_536 // (512 * math.ceil(lds / 512))`.",
    )

    WAYS = (
        (
            "lanes",
            "That many would fit if a wavefront had 32 lanes. On this GPU it has 64, so a work-group has half as many "
            "wavefronts.",
        ),
        (
            "registers",
            "Registers come in eights: a wavefront that asks for one more than a multiple of 8 is given eight more.",
        ),
        (
            "threads",
            "You divide threads by threads. A work-group of one and a half wavefronts takes the places of two, and the half "
            "that is empty is nobody else's.",
        ),
        (
            "pool",
            "You add the registers of the four SIMDs up. What is left over on two of them is no room for a wavefront: its "
            "registers lie together, on one.",
        ),
        (
            "lds",
            "LDS comes in pieces of 512 bytes, and the last piece of a work-group is its own, however little it needs "
            "of it.",
        ),
    )

    def cases(self, seed):
        generator = np.random.default_rng((0xD3, seed))
        cases = []
        for way, _ in self.WAYS:
            found = 0
            while found < 1 + (seed > 0):
                case = {
                    "threads": int(generator.integers(1, 17)) * 64,
                    "vgprs": int(generator.integers(9, 257)),
                    "lds": 0,
                }
                if way == "threads":
                    case["threads"] -= int(generator.integers(16, 48))
                if way == "lds":
                    case["lds"] = int(generator.integers(2_000, 60_000))
                    case["vgprs"] = 32
                # A case that this mistake shows in, and no other one.
                differ = [each for each, _ in self.WAYS if self.count(case, each) != self.count(case)]
                if differ == [way]:
                    cases.append(case)
                    found += 1
        cases.append({"threads": 64, "vgprs": 24 + seed % 8, "lds": 0})
        cases.append({"threads": 128, "vgprs": 32 - seed % 8, "lds": 0})
        cases.append({"threads": 256, "vgprs": 40, "lds": 65_536 - seed % 512})
        cases.append({"threads": 1024, "vgprs": 160 + seed % 64, "lds": 0})
        return cases

    def says(self, case):
        return f"{case['threads']} threads, {case['vgprs']} registers, {case['lds']:,} bytes"

    def count(self, case, way=""):
        """Return how many fit, or what somebody finds who forgets something."""
        threads, vgprs, lds = case["threads"], case["vgprs"], case["lds"]
        waves = math.ceil(threads / (32 if way == "lanes" else 64))
        taken = vgprs if way == "registers" else -(-vgprs // 8) * 8
        of_cu = min(32, 2048 // taken) if way == "pool" else 4 * min(8, 512 // taken)
        fits = [of_cu * 64 // threads if way == "threads" else of_cu // waves]
        if lds:
            fits.append(65_536 // (lds if way == "lds" else -(-lds // 512) * 512))
        return min(fits)

    def run(self, student, case):
        return run_function(student.work_groups, case["threads"], case["vgprs"], case["lds"])

    def judge(self, case, got):
        needs = Needs(case["vgprs"], case["lds"])
        right = fit(find_architecture("gfx942"), needs, case["threads"]).blocks
        mistakes = [(self.count(case, way), hint) for way, hint in self.WAYS]
        waves, taken = math.ceil(case["threads"] / 64), -(-case["vgprs"] // 8) * 8
        mistakes.append(
            (
                4 * (512 // taken) // waves,
                "A SIMD has eight places for wavefronts, however few registers they take.",
            )
        )
        mistakes.append(
            (
                4 * (min(8, 512 // taken) // waves),
                "The wavefronts of a work-group need not share a SIMD: they are spread over all four of the CU.",
            )
        )
        one = "Which row of the table is the scarcest here, and how many work-groups does it allow?"
        judge_function(got, right, name="the number", mistakes=mistakes, hints={"values": one})


class WarpSums(Exercise):
    """A sum for each warp."""

    number, points, minutes = "13.4", 3, 15
    needs = ("function warp_sums()",)
    hints = (
        "Four places in this kernel know that a warp has 32 lanes, and only two of them say 32.",
        "`warpSize` is a number that the device knows, in CUDA as in HIP. Half of it is the first offset. And all lanes "
        "of any warp are all bits of a mask, of whichever length.",
        "`warpSize / 2` in the loop, `~0ull` as the mask (64 ones, of which CUDA keeps the lower 32), "
        "`threadIdx.x % warpSize == 0` and `out[i / warpSize]`.",
    )
    raised = (
        (
            "a mask of 32 bits",
            "A mask has a bit for each lane of a warp, and a wavefront has 64. With 32 bits half of them would not take "
            "part, so HIP takes no such mask at all.",
        ),
        (
            "warpSize is a variable",
            "A compiler that does not know the width cannot make a constant of it. An ordinary variable will do here.",
        ),
    )

    def cases(self, seed):
        machines = (
            "NVIDIA, warps of 32",
            "AMD Instinct, wavefronts of 64",
            "AMD Radeon, wavefronts of 32",
            "AMD Instinct, wavefronts of 64",
        )
        launches = [(500, 4, 128), (500, 4, 128), (150, 1, 192), (40, 1, 64)]
        return [
            {
                "machine": machine,
                "size": size - 3 * (seed % 9),
                "grid": grid,
                "block": block,
                "seed": 10 * seed + place,
            }
            for place, (machine, (size, grid, block)) in enumerate(zip(machines, launches, strict=True))
        ]

    def says(self, case):
        return case["machine"]

    def array(self, case):
        return inputs.distinct(case["size"], seed=case["seed"])

    def run(self, student, case):
        source = student.warp_sums()
        check_source("warp_sums", source, "warp_sums")
        x = self.array(case)
        warps = case["grid"] * case["block"] // lanes_of(case["machine"])
        given = (x, Out(warps), np.int32(x.size))
        return run_port(source, "warp_sums", given, case["grid"], case["block"], case["machine"])

    def judge(self, case, got):
        x, lanes = self.array(case), lanes_of(case["machine"])
        whole = np.zeros(case["grid"] * case["block"], np.float32)
        whole[: x.size] = x
        right = whole.reshape(-1, lanes).sum(axis=1)
        half = (
            "Each result holds half of its wavefront: the first step added lane 16 to lane 0, and nobody has fetched what "
            "the lanes from 32 on have. With how large a step does a wavefront begin?"
        )
        mistakes = [(whole.reshape(-1, lanes)[:, :32].sum(axis=1), half)] if lanes == 64 else []
        hints = {
            "out of bounds": "There are fewer warps than before, and you number them as before: 32 threads are half a "
            "wavefront, so their number runs to twice as far as `out` goes.",
            "unwritten": "You have written it for 64 lanes, and so for AMD in place of NVIDIA. Here a warp has 32: which "
            "number knows that of itself?",
            "warp synchronisation": "The mask names lanes 0 to 31, and all 64 take part.",
            "values": "All lanes of a warp take part in each shuffle, those from n on with a zero, and the first step is "
            "half a warp. Does every lane get there, and does every step fetch what has not been added yet?",
        }
        if "Radeon" in case["machine"]:
            hints["unwritten"] = (
                "It is AMD's, and its wavefronts have 32 lanes as your compiler built them. Who made the GPU does not say "
                "how wide it is."
            )
        judge_kernel(got, right, inputs=[x], hints=hints, mistakes=mistakes)


class Keep(Exercise):
    """The positive ones to the front."""

    number, points, minutes = "13.5", 4, 20
    needs = ("function keep()",)
    hints = (
        "The answer of a vote has a bit for every lane. Follow it through the kernel: of which type is each thing that it "
        "passes on its way?",
        "Four things have 32 bits here: the mask, the variable for the votes, the 1 that is shifted, and `__popc`. For the "
        "last there is `__popcll`, for a number of 64 bits, in CUDA and in HIP.",
        "`unsigned long long votes = __ballot_sync(~0ull, mine);`, `votes & ((1ull << lane) - 1)` and `__popcll` twice; "
        "and `warpSize` where the lane and the number of the warp are made.",
    )
    raised = (
        ("a mask of 32 bits", "Who is asked is a mask of 64 bits on AMD's GPUs. Give one with all bits set."),
    )

    def cases(self, seed):
        instinct = "AMD Instinct, wavefronts of 64"
        cases = [
            ("NVIDIA, warps of 32", "many", 215, 2, 128),  # the last warp has no element
            (instinct, "few", 256, 2, 128),
            (instinct, "many", 250, 2, 128),
            ("AMD Radeon, wavefronts of 32", "many", 180, 1, 192),
            (instinct, "all", 128, 1, 128),
        ]
        return [
            {
                "machine": machine,
                "yes": yes,
                "size": size - (seed % 5 if yes == "many" else 0),
                "grid": grid,
                "block": block,
                "seed": 10 * seed + place,
            }
            for place, (machine, yes, size, grid, block) in enumerate(cases)
        ]

    def says(self, case):
        return case["machine"]

    def array(self, case):
        x = inputs.distinct(case["size"], seed=case["seed"])
        if case["yes"] == "all":
            return abs(x)
        if case["yes"] == "few":
            # Three lanes in the lower half of each wavefront, one in the upper: its place would be wrong only if
            # lanes above 31 were taken for those below.
            generator = np.random.default_rng((0xD5, case["seed"]))
            rows = -abs(x).reshape(-1, 64)
            for row in rows:
                first = int(generator.integers(2, 6))
                chosen = [first, first + 2, 25, 32 + first + 1 + int(generator.integers(0, 2))]
                row[chosen] *= -1
            return rows.ravel()
        return x

    def kept(self, case, inclusive=False):
        """Return what the elements of `kept` and of `counts` are; with `inclusive`, if each lane counts itself."""
        x, lanes = self.array(case), lanes_of(case["machine"])
        threads = case["grid"] * case["block"]
        whole = np.zeros(threads + 1, np.float32)
        whole[: x.size] = x
        kept, counts = np.zeros(threads + 1, np.float32), np.zeros(threads // lanes, np.int32)
        for warp in range(threads // lanes):
            mine = whole[warp * lanes : (warp + 1) * lanes]
            yes = mine[mine > 0]
            start = warp * lanes + inclusive
            kept[start : start + yes.size] = yes
            counts[warp] = yes.size
        return kept[:threads], counts

    def in_halves(self, case):
        """Return `kept` as it is if the lane is the number modulo 32 in a wavefront of 64."""
        x, kept = self.array(case), np.zeros(case["grid"] * case["block"], np.float32)
        for i in np.flatnonzero(x > 0):
            warp, lane = i - i % 64, i % 32
            kept[i - lane + np.count_nonzero(x[warp : warp + lane] > 0)] = x[i]
        return kept

    def run(self, student, case):
        source = student.keep()
        check_source("keep", source, "keep")
        x = self.array(case)
        threads = case["grid"] * case["block"]
        warps = threads // lanes_of(case["machine"])
        given = (x, InOut(np.zeros(threads, np.float32)), Out(warps, np.int32), np.int32(x.size))
        return run_port(source, "keep", given, case["grid"], case["block"], case["machine"])

    def judge(self, case, got):
        x = self.array(case)
        kept, counts = self.kept(case)
        itself = "Every element lies one place too far: a lane has counted its own vote. Only those before it are to be counted."
        shifted = (
            "Two lanes of a wavefront go to the same place. To shift a 1 of 32 bits by 40 is to ask for a bit that it does "
            "not have: of which type is the 1?"
        )
        two = (
            "Two lanes of a wavefront have the number 0, so it is counted as two warps of 32, and each half forgets the "
            "votes of the other."
        )
        hints = {
            "race": "Two lanes go to the same place. Only a lane whose element is kept stores anything, and its place is the "
            "number of lanes before it that keep theirs.",
            "out of bounds": "A warp has one count, and there are as many counts as warps. Which number has this warp?",
            "unwritten": "A warp all of whose elements lie behind the last one has a count, too, 0, and somebody has to be "
            "there to store it.",
            "values": "How many lanes before this one have said yes, and where does its warp's part of `kept` begin?",
        }
        mistakes = [(self.kept(case, True)[0], itself)]
        if lanes_of(case["machine"]) == 64:
            hints["race"] = shifted
            hints["values"] = (
                "Not all of the votes are counted. Somewhere between the vote and its count there is room for 32 bits: in "
                "a variable, or in the function that counts."
            )
            mistakes.append((self.in_halves(case), two))
        judge_kernel(got, kept, counts, inputs=[x], hints=hints, mistakes=mistakes)


class BlockSums(Exercise):
    """A sum for each block."""

    number, points, minutes = "13.6", 4, 25
    needs = ("function block_sums()",)
    hints = (
        "How many warps does the largest block have at the most, on any machine? And how many has the smallest one at the "
        "least?",
        "There are never more than 1,024 / 32 partial sums, so that is the size of the array; how many of them there are "
        "in a launch is `blockDim.x / warpSize`. A lane of the first warp that has none takes a zero.",
        "`partial[32]` stays. After the barrier: `sum = lane < blockDim.x / warpSize ? partial[lane] : 0.0f;`, and the "
        "second loop begins at `warpSize / 2`, as the first does.",
    )
    raised = (
        (
            "a mask of 32 bits",
            "Both loops have a mask, and both masks have to name 64 lanes where there are 64.",
        ),
        (
            "warpSize is a variable",
            "The compiler sets shared memory aside, and `warpSize` is a number that only the device knows. Give the array "
            "a size that is enough on every machine.",
        ),
    )

    def cases(self, seed):
        nvidia, instinct, radeon = (
            "NVIDIA, warps of 32",
            "AMD Instinct, wavefronts of 64",
            "AMD Radeon, wavefronts of 32",
        )
        cases = [
            (nvidia, 2_500, 3, 1024),
            (nvidia, 500, 3, 192),
            (instinct, 2_500, 3, 1024),
            (instinct, 500, 3, 192),
            (radeon, 300, 3, 128),
            (instinct, 90, 2, 64),
        ]
        return [
            {
                "machine": machine,
                "size": size - 5 * (seed % 7),
                "grid": grid,
                "block": block,
                "seed": 10 * seed + place,
            }
            for place, (machine, size, grid, block) in enumerate(cases)
        ]

    def says(self, case):
        return f"{case['machine']}, blocks of {case['block']:,}"

    def array(self, case):
        return inputs.distinct(case["size"], seed=case["seed"])

    def run(self, student, case):
        source = student.block_sums()
        check_source("block_sums", source, "block_sums")
        x = self.array(case)
        given = (x, Out(case["grid"]), np.int32(x.size))
        got = run_port(source, "block_sums", given, case["grid"], case["block"], case["machine"])
        return {**got, "atomics": bool(re.search(r"\batomic\w+\s*\(", source))}

    def judge(self, case, got):
        x, lanes = self.array(case), lanes_of(case["machine"])
        whole = np.zeros(case["grid"] * case["block"], np.float32)
        whole[: x.size] = x
        right = whole.reshape(case["grid"], -1).sum(axis=1)
        if got["atomics"]:
            raise Wrong(
                "there is an atomic operation in it", "The warps meet in shared memory: no atomics here."
            )
        hints = {
            "out of bounds": "A block of 1,024 threads has 32 warps where a warp has 32 lanes, so there have to be places "
            "for 32 partial sums, whatever they are on other machines.",
            "uninitialised read": "A block of 192 threads has six warps, and the lanes from 6 on add what nobody has "
            "stored. How many partial sums are there in this launch?",
            "values": "How many partial sums are there, and in which lanes? The second sum has to reach over all of them, and "
            "all lanes of its warp take part in it.",
            "race": "Between the warps that store their partial sums and the one that reads them there has to be a barrier "
            "of the block.",
        }
        if lanes == 64:
            hints["uninitialised read"] = (
                "There are as many partial sums as the block has wavefronts, and a wavefront has 64 threads: you count "
                "twice as many as were stored."
            )
            hints["out of bounds"] = (
                "The first wavefront has 64 lanes and there are no 64 partial sums: a lane that has none must not look "
                "for one."
            )
        judge_kernel(got, right, inputs=[x], hints=hints)


class Port(Exercise):
    """The reduction and the norm log, for both."""

    number, points, minutes = "13.7", 8, 60
    needs = (
        "function reduction()",
        "function norms()",
        "function total(d_x)",
        "function log_of(d_a, d_b)",
    )
    hints = (
        "Go through both sources with `left_to_do` from exercise 13.2, and write beside each line what its number counts: "
        "lanes of a warp, partial sums, or elements of a tile. Then look for the ones that it does not find: a shift by 5, "
        "an offset, a type.",
        "A lane's number is `threadIdx.x % warpSize`, and the partial sums are as many as the block has warps, eight at "
        "the most. The tile may stay 32 wide: what has to be said then is that a row of it is a part of a warp, and a "
        "shuffle takes the width of such parts as its last argument.",
        "`#define ALL ~0ull`, `lane < blockDim.x / warpSize ? partial[lane] : 0.0f`, and `__shfl_sync(ALL, of_a, j, 32)`. "
        "The host makes a `cp.RawKernel(reduction() + norms(), 'norm_log')`, launches it once, and `.get()` fetches the "
        "log.",
    )
    raised = (
        (
            "a mask of 32 bits",
            "One `#define` is behind all the masks of this source, and it has 32 bits still.",
        ),
        (
            "inline PTX",
            "`asm` holds an instruction of NVIDIA's, and no other compiler knows it. What it asks for can be worked out "
            "from `threadIdx.x`.",
        ),
        (
            "block_sum",
            "`norm_log` calls `block_sum`, which is in the other piece: the host compiles `reduction() + norms()`.",
        ),
        (
            "warpSize is a variable",
            "No array and no other constant can be made of `warpSize`. How many places are enough on every machine?",
        ),
    )
    seconds = 40.0

    def cases(self, seed):
        generator = np.random.default_rng((0xD7, seed))
        # One more than a multiple of the tile's width and height; the largest is beyond what a char can count to.
        sides = (
            (40, 33, 20)
            if not seed
            else (int(generator.integers(34, 42)), 33, int(generator.integers(9, 31)))
        )
        cases = [
            {
                "part": "kernels",
                "machine": machine,
                "size": size - 7 * (seed % 9),
                "side": side,
                "seed": 10 * seed + place,
            }
            for place, (machine, size, side) in enumerate(
                zip(MACHINES, (3_000, 2_500, 700), sides, strict=True)
            )
        ]
        cases.append(
            {"part": "host", "size": 70_001 + seed % 99, "side": 129, "products": 2, "seed": 10 * seed + 5}
        )
        return [*cases, {"part": "compilers"}]

    def says(self, case):
        return {"kernels": case.get("machine"), "host": "the host's side"}.get(case["part"], "")

    def array(self, case):
        return inputs.distinct(case["size"], seed=case["seed"])

    def matrices(self, case):
        """Return two arrays of matrices; no two products have norms that are alike."""
        generator = np.random.default_rng((0xDD, case["seed"]))
        scale = np.array([0.5, 1, 2][: case.get("products", 3)])[:, None, None]
        shape = len(scale), case["side"], case["side"]
        return [(scale * generator.standard_normal(shape)).astype(np.float32) for _ in "ab"]

    def sources(self, student):
        pieces = []
        for name, kernel in (("reduction", "tile_sums"), ("norms", "norm_log")):
            try:
                pieces.append(getattr(student, name)())
            except NotImplementedError:
                if not pieces:
                    raise
                raise Wrong(
                    f"{name} is not written yet", "`reduction` is there; go on with `norms`."
                ) from None
            check_source(name, pieces[-1], kernel)
            plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", pieces[-1], flags=re.S)
            if re.search(r"\basm\b", plain):
                raise Wrong(
                    f"there is asm in what {name}() returns: inline PTX", dict(self.raised)["inline PTX"]
                )
        return pieces

    def run(self, student, case):
        first, second = self.sources(student)
        if case["part"] == "kernels":
            x, (a, b) = self.array(case), self.matrices(case)
            return {
                "sums": run_port(first, "tile_sums", (x, Out(3), np.int32(x.size)), 3, 256, case["machine"]),
                "log": run_port(
                    first + second,
                    "norm_log",
                    (a.ravel(), b.ravel(), Out(3), np.int32(case["side"])),
                    3,
                    256,
                    case["machine"],
                ),
            }
        if case["part"] == "compilers":
            return {"sums": compiled_for(first, "tile_sums"), "log": compiled_for(first + second, "norm_log")}
        import cupy as cp

        got = {}
        for name, given in (("total", [abs(self.array(case))]), ("log_of", self.matrices(case))):
            function = getattr(student, name)
            try:
                # What is compiled the first time is not counted, and need not be large.
                small = [cp.asarray(each[:1, :9, :9] if each.ndim > 1 else each) for each in given]
                got[f"first {name}"] = self.with_nonsense(cp, function, small)
            except NotImplementedError:
                got["left"] = name
                return got
            d_given = [cp.asarray(each) for each in given]
            got[name] = run_function(function, *d_given, counted=True)
        return got

    def with_nonsense(self, cp, function, given):
        """Call a function while `cp.empty` gives arrays full of NaN: what nobody writes must not get into a result."""
        empty = cp.empty

        def nonsense(*args, **keywords):
            made = empty(*args, **keywords)
            if made.dtype.kind == "f":
                made.fill(np.nan)
            return made

        cp.empty = nonsense
        try:
            return run_function(function, *given)
        finally:
            cp.empty = empty

    def judge(self, case, got):
        getattr(self, f"judge_{case['part']}")(case, got)

    def judge_kernels(self, case, got):
        x, lanes, threads = self.array(case), lanes_of(case["machine"]), 3 * 256
        whole = np.zeros(-(-x.size // threads) * threads, np.float32)
        whole[: x.size] = x
        right = whole.reshape(-1, 3, 256).sum(axis=(0, 2))
        halves = whole.reshape(-1, 3, 256 // lanes, lanes)[..., : lanes // 2].sum(axis=(0, 2, 3))
        half = "Only one half of every wavefront got into the sum: the first offset is half of its lanes, whatever that is."
        hints = {
            "uninitialised read": "Eight partial sums are 256 threads in warps of 32. How many does this block have, and "
            "what should a lane take that has none?",
            "out of bounds": "256 threads are eight warps of 32, and each of them stores a partial sum: there have to be "
            "eight places, also if another machine needs four.",
            "unwritten": "Thread 0 of each block stores its sum.",
            "warp synchronisation": "There is a mask that names some of the lanes and a lane that it does not name. All of them "
            "take part, on every machine.",
            "values": "It is AMD's, and its wavefronts have 32 lanes as your compiler built them. Who made the GPU does not say "
            "how wide it is."
            if "Radeon" in case["machine"]
            else "Which of the numbers in `block_sum` counts lanes, and which one counts partial sums?",
        }
        judge_kernel(
            got["sums"], right, inputs=[x], hints=hints, mistakes=[(halves, half)] if lanes == 64 else []
        )
        a, b = (each.astype(np.float64) for each in self.matrices(case))
        log = (np.matmul(a, b) ** 2).sum(axis=(1, 2))
        tile = (
            "The tile has become as wide as the wavefront, and its rows run into each other. Those 32 are columns of a tile "
            "and no lanes: what was right about them stays right."
        )
        hints |= {
            "race": tile,
            "out of bounds": tile,
            "values": "Which lanes does each row of the tile lie in, and from which of them does a shuffle take?",
        }
        rows = -(-case["side"] // 8) * 8
        doubled = np.zeros((3, rows, case["side"]))
        doubled[:, : case["side"]] = a
        doubled[:, 1::2] = doubled[:, ::2]
        pairs = (
            "Two rows of the tile lie in one wavefront, and both were multiplied with the first one's elements of A. Lane j "
            "is a lane of the wavefront, unless the shuffle is told how wide its parts are."
        )
        judge_kernel(
            got["log"],
            log.astype(np.float32),
            inputs=[each.ravel() for each in self.matrices(case)],
            hints=hints,
            mistakes=[((np.matmul(doubled, b) ** 2).sum(axis=(1, 2)).astype(np.float32), pairs)],
            rtol=1e-4,
        )

    def judge_host(self, case, got):
        if "left" in got:
            raise Wrong(
                f"{got['left']} is not written yet",
                "The kernels are right on all three machines: launch them.",
            )
        a, b = (each.astype(np.float64) for each in self.matrices(case))
        log = (np.matmul(a, b) ** 2).sum(axis=(1, 2)).astype(np.float32)
        whole = float(abs(self.array(case)).astype(np.float64).sum())
        sum_of, log_of = got["total"], got["log_of"]
        never = "A place that no block has written got into the sum: as many blocks as places, in the first launch."
        if not isinstance(sum_of["result"], float):
            raise Wrong("total: it returns no Python float", "item() brings a single number to the host.")
        if not np.isfinite(got["first total"]["result"]):
            raise Wrong("total: it adds up memory that nobody has written", never)
        parts = "The sums of the blocks came over. Their own sum is a second launch of the same kernel, with one block."
        each = "The log comes to the host in pieces. A block writes its own place of one array, and the array moves once."
        for name, value, right, hint, most in (
            ("total", sum_of, whole, parts, 4),
            ("log_of", log_of, log, each, 12),
        ):
            try:
                judge_function(value, right, name="the result", rtol=1e-4, atol=1e-2, own=False)
                fetched = (value["counts"] or {}).get("device_to_host_bytes")
                if fetched is not None and fetched > most:
                    raise Wrong(f"{fetched:,} bytes came to the host, and {most} are enough", hint)
                judge_counts(
                    value,
                    host_to_device=0,
                    device_to_host=1,
                    waits=1,
                    operations=(2, 4) if name == "total" else (1, 2),
                    hints={
                        "device_to_host": hint,
                        "operations": "One launch for all products, two for a sum.",
                    },
                )
            except Wrong as wrong:
                raise Wrong(f"{name}: {wrong.text}", wrong.hint, wrong.lines) from None

    def judge_compilers(self, case, got):
        for name in ("sums", "log"):
            judge_compiled(
                got[name],
                "It runs on the stand-in, and a real compiler does not take it: what is in this line that only one vendor "
                "has?",
            )

    def remark(self, case, got):
        return not_compiled(got["log"]) if case["part"] == "compilers" else ""
