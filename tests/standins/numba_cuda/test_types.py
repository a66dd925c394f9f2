"""Exact types: kernels of the stand-in against `numba.njit`, bit for bit, and against Numba's own CUDA typing.

Expressions and small kernels are written by a seeded grammar, as files, since a kernel needs its source; hypothesis
brings the numbers. What the interpreter's docstring lists is shown here to differ, and what it does not list to agree.
"""

import importlib.util
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from host_to_device.standins import imports

imports.redirect()

from numba import cuda, float32, njit  # noqa: E402

from host_to_device.standins.numba_cuda import compiling  # noqa: E402
from tests.numbas_own import UNCOVER  # noqa: E402

FLOATS = "float32", "float64"
INTEGERS = "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"
NAMES = *FLOATS, *INTEGERS, "bool_"
# The same numbers every time, and no search for smaller ones: an array of 24 is small.
DRAWN = settings(deadline=None, database=None, derandomize=True, phases=[Phase.generate])
COUNT = 24  # elements of an array: special values first, then what hypothesis draws


@pytest.fixture(autouse=True)
def no_words():
    """A kernel of this file never runs interpreted for want of a way to compile it, and says nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def load(path, text):
    """Import a module that was just written: kernels need a source that Python can find."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- numbers


def special(name):
    """Give the numbers at which arithmetic goes wrong, of one type."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        tiny = float(np.finfo(dtype).tiny)
        return [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 1.5, 16777217.0, tiny, math.inf, -math.inf, math.nan]
    limits = np.iinfo(dtype)
    return sorted(
        {limits.min, limits.max, limits.max - 1, 0, 1, 2, 3, 7, *([-1, -2, -7] if limits.min else [])}
    )


def numbers(name):
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind == "f":
        return st.floats(width=8 * dtype.itemsize)
    limits = np.iinfo(dtype)
    return st.integers(int(limits.min), int(limits.max)) | st.integers(max(-9, int(limits.min)), 9)


def arrays(name):
    """Give arrays of COUNT elements, some special and some drawn, in an order that is drawn too."""
    one = st.sampled_from(special(name)) | numbers(name)
    return st.lists(one, min_size=COUNT, max_size=COUNT).map(lambda values: np.array(values, name))


def crossed(first, second):
    """Give every special value of one type with every special value of another, as two arrays."""
    pairs = list(itertools.product(special(first), special(second)))
    return np.array([x for x, _ in pairs], first), np.array([y for _, y in pairs], second)


def same(found, wanted):
    """Tell where two arrays hold the same bits; a NaN is a NaN."""
    bits = found.view(f"u{found.dtype.itemsize}") == wanted.view(f"u{wanted.dtype.itemsize}")
    return bits | (np.isnan(found) & np.isnan(wanted)) if found.dtype.kind == "f" else bits


# ---- one expression a line, for two types


def kind_of(name):
    return "float" if name in FLOATS else "bool" if name == "bool_" else "integer"


ON_ALL = """
x + y
x - y
x * y
x / y
x // y
x % y
-(x * 1)
x + 1
3 * y
x * 0.1
x / 3
1.0 - y
x == y
x < y
x >= y
x != y and x > 0
not x
x or y
min(x, y)
max(x, y)
x if x < y else y
y if x > 2 else 1
(x + y) * x
abs(x)
float(x) * y
float32(x) * y
float32(x) * float32(y)
float64(x) + y
bool(x)
x * int32(3)
x + uint8(200)
x * i
y - cuda.threadIdx.x
y * cuda.blockDim.x
x ** 2
math.fabs(x) + y
np.float32(0.1) * x
FEW * x
SINGLE * y
"""
ON_INTEGERS = """
x & y
x | y
x ^ y
~x
-x
x << 3
x >> 2
x << (y & 7)
x >> (y & 7)
x & 0xff
x | 1
x ^ -1
int8(x)
uint8(x)
int16(x) + y
uint16(x)
int32(x)
uint32(x)
int32(x) * int32(y)
uint32(x) + uint32(y)
uint32(uint32(x) * uint32(16777619))
int64(x) * y
uint64(x) + uint64(y)
uint64(x) >> uint64(3)
x ** 3
x % 7
x // 3
x // -2
-7 // x
-7 % y
int(x) + y
abs(x) - y
"""
ON_FLOATS = """
math.sqrt(x)
math.exp(x)
math.sin(x)
math.cos(x)
math.tanh(x)
math.atan(x) * 4
math.pow(x, 3)
math.hypot(x, y)
math.log(math.fabs(x) + 1)
math.atan2(y, x)
math.copysign(x, y)
math.isnan(x) or math.isinf(y)
math.floor(x) + y
math.ceil(x) * y
math.trunc(x)
math.sqrt(x) * y + x
float(math.sqrt(x))
x ** 0.5
x ** 3
int(x if abs(x) < 1000 else 0)
int32(x if abs(x) < 1000 else 0) // 3
uint8(x if 0 <= x < 200 else 0) - 1
round(x if abs(x) < 1000 else 0)
x * x * x
x * x + y * y
x + x * 2 - x
"""
HEAD = """\
import math
import numba
import numpy as np
from numba import cuda, njit, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64

FEW, SINGLE = 5, np.float32(1.1)
"""


def expressions(first, second):
    kinds = {kind_of(first), kind_of(second)}
    chosen = ON_ALL.split("\n")
    if kinds <= {"integer", "bool"}:
        chosen += ON_INTEGERS.split("\n")
    if "float" in kinds and kind_of(first) == "float":
        chosen += ON_FLOATS.split("\n")
    no_bools = {"-x", "~x", "abs(x)", "abs(x) - y", "x ** 2", "x ** 3", "float(x) * y"}  # Numba refuses these
    skip = no_bools if first == "bool_" else set()
    if (first == "bool_") != (second == "bool_"):
        skip = skip | {"min(x, y)", "max(x, y)"}  # Numba refuses these for CUDA
    return [each for each in chosen if each and each not in skip]


def on_cpu(text, first="float64"):
    """Write an expression of a kernel for one thread of one block on the CPU; `first` is the type of x.

    On a GPU `math.floor` and the like give a float, which on the CPU NumPy's functions do, and powers of integers are
    rounded to float64.
    """
    if kind_of(first) == "integer":
        text = re.sub(r"\bx \*\* \d", r"int64(float64(\g<0>))", text)
    for name in ("floor", "ceil", "trunc"):
        text = text.replace(f"math.{name}(", f"np.{name}(")
    return text.replace("cuda.threadIdx.x", "int32(i)").replace("cuda.blockDim.x", f"int32({THREADS})")


THREADS = 256


def table(path, first, second, leave_out=()):
    """Write all expressions for two types as a kernel and as a loop for the CPU; import both."""
    chosen = [each for each in expressions(first, second) if each not in leave_out]
    lines = [HEAD]
    for decorator, name, arguments, place in (
        ("@cuda.jit", "kernel", "x_, y_, floats, whole", "    i = cuda.grid(1)\n    if i < x_.size:"),
        ('@njit(error_model="numpy")', "reference", "x_, y_, floats, whole", "    for i in range(x_.size):"),
    ):
        lines += [decorator, f"def {name}({arguments}):", place, "        x, y = x_[i], y_[i]"]
        for k, each in enumerate(chosen):
            each = each if name == "kernel" else on_cpu(each, first)
            lines.append(f"        floats[{k}, i] = {each}")
            if {kind_of(first), kind_of(second)} <= {"integer", "bool"} and "/ " not in each.replace(
                "// ", ""
            ):
                lines.append(f"        whole[{k}, i] = {each}")
        lines.append("")
    return load(path, "\n".join(lines)), chosen


def compared(module, chosen, x, y, **how):
    """Run kernel and loop on the same numbers; say where they differ, one line an expression."""
    outputs = []
    for run in ("kernel", "reference"):
        floats, whole = np.zeros((len(chosen), x.size)), np.zeros((len(chosen), x.size), np.int64)
        if run == "kernel":
            on_device = [cuda.to_device(each) for each in (x, y, floats, whole)]
            with cuda.stand_in(**how):
                module.kernel[1, THREADS](*on_device)
            outputs.append([each.copy_to_host() for each in on_device[2:]])
        else:
            with compiling.as_for_cuda():  # a uint64 beside an int64 is a float64, which may not fit an int64
                module.reference(x, y, floats, whole)
            outputs.append([floats, whole])
    found = []
    for mine, right in zip(*outputs, strict=True):
        wrong = ~same(mine, right)
        for k in np.flatnonzero(wrong.any(axis=1)):
            at = int(np.argmax(wrong[k]))
            found.append(
                f"{chosen[k]} where x is {x.dtype} {x[at]} and y is {y.dtype} {y[at]}: {mine[k, at]}, "
                f"not {right[k, at]}"
            )
    return found


QUICK_PAIRS = [
    ("int32", "float32"),
    ("int64", "uint64"),
]
PAIRS = [
    pytest.param(*pair, marks=() if pair in QUICK_PAIRS else pytest.mark.slow, id="-".join(pair))
    for pair in dict.fromkeys([*QUICK_PAIRS, *itertools.combinations_with_replacement(NAMES, 2)])
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_operation_on_every_pair_of_types(first, second, tmp_path):
    module, chosen = table(tmp_path / f"table_{first}_{second}.py", first, second)
    assert compared(module, chosen, *crossed(first, second)) == []

    @settings(DRAWN, max_examples=25)
    @given(arrays(first), arrays(second))
    def with_drawn_numbers(x, y):
        assert compared(module, chosen, x, y) == []

    with_drawn_numbers()


# ---- stores into narrow arrays

STORES = ("uint8", "int8", "uint16", "int16", "int32", "uint32", "float32")


def test_stores_into_narrow_arrays(tmp_path):
    """What is too wide for an array loses its upper bits; a float64 is rounded."""
    text = [HEAD]
    for decorator, name, loop in (
        ("@cuda.jit", "kernel", "    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):"),
        ('@njit(error_model="numpy")', "reference", "    for i in range(x.size):"),
    ):
        outputs = ", ".join(f"o_{each}" for each in STORES)
        text += [decorator, f"def {name}(x, y, {outputs}):", loop]
        text += [
            f"        o_{each}[i] = {'y[i] * 1.1' if 'float' in each else 'x[i] * 3 + i'}" for each in STORES
        ]
        text += [f"        o_{each}[i] -= {'0.1' if 'float' in each else '7'}" for each in STORES]
    module = load(tmp_path / "stores.py", "\n".join(text))

    @settings(DRAWN, max_examples=25)
    @given(arrays("int64"), arrays("float64"))
    def holds(x, y):
        right = [np.zeros(COUNT, each) for each in STORES]
        module.reference(x, y, *right)
        for interpreted in (False, True):
            mine = [cuda.to_device(np.zeros(COUNT, each)) for each in STORES]
            with cuda.stand_in(interpreted=interpreted):
                module.kernel[2, 7](cuda.to_device(x), cuda.to_device(y), *mine)
            for name, one, other in zip(STORES, mine, right, strict=True):
                assert same(one.copy_to_host(), other).all(), (name, interpreted)

    holds()


# ---- random kernels


class Grammar:
    """Writes kernels: typed inputs, variables that change their type, loops, branches, barriers, functions."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.kinds = {}  # variable → "float" or "integer"
        self.lines = []
        self.count = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def new(self, kind, prefix="v"):
        self.count += 1
        name = f"{prefix}{self.count}"
        self.kinds[name] = kind
        return name

    def atom(self, kind):
        known = [name for name, each in self.kinds.items() if each == kind]
        if known and self.random.random() < 0.75:
            return self.random.choice(known)
        if kind == "float":
            return self.pick("0.5", "1.25", "FRACTION", "SINGLE", "float32(0.1)", "-2.0")
        return self.pick("1", "3", "-7", "FEW", "BYTE", "int32(5)", "uint8(250)", "cuda.threadIdx.x", "i")

    def expression(self, kind, depth=2):
        if depth == 0:
            return self.atom(kind)
        part = lambda which=kind: self.expression(which, depth - 1)  # noqa: E731
        if kind == "integer":
            return self.pick(
                lambda: f"({part()} {self.pick('+', '-', '*')} {part()})",
                lambda: f"({part()} {self.pick('//', '%')} {part()})",
                lambda: f"(({self.whole(depth)}) {self.pick('&', '|', '^')} ({self.whole(depth)}))",
                lambda: f"({self.whole(depth)} {self.pick('<<', '>>')} {self.pick(1, 3)})",
                lambda: f"{self.pick('int32', 'uint8', 'uint32', 'int64', 'int16')}({self.whole(depth)})",
                lambda: f"({part()} if {self.test(depth)} else {part()})",
                lambda: f"{self.pick('min', 'max')}({part()}, {part()})",
                lambda: f"helper_i({part()}, {part()})",
                lambda: self.atom(kind),
            )()
        return self.pick(
            lambda: f"({part()} {self.pick('+', '-', '*', '/')} {part()})",
            lambda: f"({part()} {self.pick('+', '*')} {part('integer')})",
            lambda: f"({part('integer')} / {part('integer')})",
            lambda: (
                f"{self.pick('math.sqrt', 'math.sin', 'math.exp', 'math.tanh', 'abs', 'math.fabs')}({part()})"
            ),
            lambda: f"{self.pick('float32', 'float64')}({part()})",
            lambda: f"({part()} if {self.test(depth)} else {part()})",
            lambda: f"{self.pick('min', 'max')}({part()}, {part()})",
            lambda: f"helper_f({part()}, {part('integer')})",
            lambda: self.atom(kind),
        )()

    def whole(self, depth):
        """Give an integer that is no float by Numba's rules, whatever was mixed: uint64 with int64 is one."""
        return f"whole({self.expression('integer', depth - 1)})"

    def test(self, depth):
        kind = self.pick("integer", "float")
        left, right = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        return f"{left} {self.pick('<', '<=', '==', '!=', '>')} {right}"

    def write(self, indent, text):
        self.lines.append("    " * indent + text)

    def barrier(self, indent):
        if self.random.random() < 0.6:
            self.write(indent, "cuda.syncthreads()")

    def variable(self):
        return self.random.choice([name for name in self.kinds if name.startswith("v")])

    def statement(self, indent, may_wait=True):
        kind = self.pick("integer", "float")
        choice = self.random.random()
        if choice < 0.35:
            text = self.expression(kind)
            self.write(
                indent, f"{self.new(kind)} = {text}" if indent == 1 else f"{self.variable_of(kind)} = {text}"
            )
        elif choice < 0.55:
            name = self.variable()
            other = "float" if self.kinds[name] == "float" else "integer"
            self.write(indent, f"{name} {self.pick('+=', '-=', '*=')} {self.expression(other, 1)}")
        elif choice < 0.7 and indent < 3:
            waits = may_wait and self.random.random() < 0.5
            counter = f"k{indent}"
            self.write(indent, f"for {counter} in range({self.pick(2, 3, 'FEW')}):")
            self.kinds[counter] = "integer"
            for _ in range(2):
                self.statement(indent + 1, waits)
            if waits:
                self.barrier(indent + 1)
            del self.kinds[counter]
        elif choice < 0.8 and indent < 3:
            self.write(indent, f"if {self.test(1)}:")
            self.statement(indent + 1, False)
            self.write(indent, "else:")
            self.statement(indent + 1, False)
        elif choice < 0.9 and indent == 1:
            name, text = self.pick("shared", "private"), self.expression(kind)
            dtype = "float32" if kind == "float" else self.pick("int32", "uint8", "int64")
            box = f"box{len(self.lines)}"
            self.write(1, f"{box} = cuda.{'shared' if name == 'shared' else 'local'}.array(32, {dtype})")
            self.write(1, f"{box}[cuda.threadIdx.x] = {text if kind == 'float' else f'whole({text})'}")
            self.barrier(1)
            self.write(1, f"{self.new(kind)} = {box}[cuda.threadIdx.x]")
        elif indent == 1:
            caster = "float32" if kind == "float" else "int32"
            value = self.expression(kind) if kind == "float" else self.whole(2)
            self.write(1, f"{self.new(kind)} = cuda.shfl_xor_sync(0xffffffff, {caster}({value}), 0)")
        else:
            self.write(indent, f"{self.variable_of(kind)} = {self.expression(kind)}")

    def variable_of(self, kind):
        return self.random.choice(
            [name for name, each in self.kinds.items() if each == kind and name[0] == "v"]
        )

    def kernel(self):
        helpers = [f"    return {self.helper(kind)}" for kind in ("integer", "float")]
        self.write(1, "i = cuda.grid(1)")
        for name in self.random.sample(NAMES[:-1], 4):
            self.write(1, f"{self.new('float' if name in FLOATS else 'integer')} = {name}_[i]")
        for kind in ("float", "integer"):
            self.write(1, f"{self.new(kind)} = {'0' if kind == 'integer' else 'float32(0)'}")
        for _ in range(5):
            self.statement(1)
            self.barrier(1)
        outputs = [name for name in self.kinds if name[0] == "v"]
        for k, name in enumerate(outputs):
            self.write(1, f"out[{k}, i] = {name}")
        return helpers, "\n".join(self.lines), len(outputs)

    def helper(self, kind):
        """Give what a device function of `p` and `q` returns."""
        inner = Grammar(self.random.random())
        inner.kinds = {"p": kind, "q": "integer"}
        inner.atom = lambda which: inner.pick(
            *[name for name, each in inner.kinds.items() if each == which],
            "FEW" if which == "integer" else "0.5",
        )
        text = inner.expression(kind)
        return text if "helper" not in text else "p"


def random_kernel(folder, seed):
    """Write a random kernel and the same for one thread on the CPU; import both."""
    (whole, real), body, outputs = Grammar(seed).kernel()
    arguments = ", ".join(f"{name}_" for name in NAMES[:-1])
    kernel = f"@cuda.jit\ndef kernel({arguments}, out):\n{body}\n"
    # A float that is too large for an integer, or NaN, gives something undefined: not here.
    cast = "    return int64(p) if -9e18 < p < 9e18 else int64(0)"
    for name, parameters, text in (
        ("helper_f", "p, q", real),
        ("helper_i", "p, q", whole),
        ("whole", "p", cast),
    ):
        kernel = f"@cuda.jit(device=True)\ndef {name}({parameters}):\n{text}\n\n" + kernel
    reference = (
        kernel.replace("@cuda.jit(device=True)", '@njit(error_model="numpy")')
        .replace("@cuda.jit", '@njit(error_model="numpy")')
        .replace("def kernel(", "def reference(i, ")
        .replace("    i = cuda.grid(1)\n", "")
        .replace("cuda.shfl_xor_sync(0xffffffff, ", "unchanged(")
        .replace("cuda.shared.array", "np.empty")
        .replace("cuda.local.array", "np.empty")
        .replace("helper_", "cpu_helper_")
        .replace("whole(", "cpu_whole(")
        .replace("cuda.threadIdx.x", f"int32(i % {COUNT // 2})")
    )
    reference = "\n".join(line for line in reference.split("\n") if "syncthreads" not in line)
    constants = "FEW, FRACTION, SINGLE, BYTE = 4, 0.3, np.float32(1.1), np.uint8(200)\n"
    unchanged = '@njit(error_model="numpy")\ndef unchanged(value, lane):\n    return value\n\n'
    every = (
        f"@njit\ndef all_threads({arguments}, out):\n    for i in range({COUNT}):\n"
        f"        reference(i, {arguments}, out)\n"
    )
    return load(
        folder / f"random_{seed}.py", "\n".join((HEAD, constants, kernel, unchanged, reference, every))
    ), outputs


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=() if seed < 2 else pytest.mark.slow) for seed in range(200)],
)
def test_random_kernels(seed, tmp_path):
    module, outputs = random_kernel(tmp_path, seed)

    rng = np.random.default_rng(0)

    @settings(DRAWN, max_examples=15, phases=[Phase.explicit, Phase.generate])
    @given(st.tuples(*map(arrays, NAMES[:-1])))
    @example([rng.choice(np.array(special(name), name), COUNT) for name in NAMES[:-1]])
    def holds(inputs):
        right, mine = np.zeros((outputs, COUNT)), cuda.to_device(np.zeros((outputs, COUNT)))
        module.all_threads(*inputs, right)
        module.kernel[2, COUNT // 2](*map(cuda.to_device, inputs), mine)
        assert same(mine.copy_to_host(), right).all()

    holds()


# ---- what threads remember across a barrier, and what they bring to one


@cuda.jit
def a_type_before_and_another_after(x, n, squares, same_n, halves):
    i = cuda.grid(1)
    value, number = x[i], n[i]
    cuda.syncthreads()
    squares[i] = value * value
    same_n[i] = number
    value = value * 0.5
    number = number * 0.5
    cuda.syncthreads()
    halves[i] = value + number


def test_variable_may_change_its_type_after_a_barrier():
    """Numba gives each assignment its own type: the float32 stays one until it is assigned a float64."""
    x, n = np.array([0.1, 1.1], np.float32), np.array([2**62 + 1, 3])
    outputs = [cuda.to_device(np.zeros(2, kind)) for kind in ("float64", "int64", "float64")]
    a_type_before_and_another_after[1, 2](cuda.to_device(x), cuda.to_device(n), *outputs)
    squares, same_n, halves = (each.copy_to_host() for each in outputs)
    assert same(squares, (x * x).astype(np.float64)).all()
    assert (same_n == n).all()
    assert (halves == x * np.float64(0.5) + n * 0.5).all()


@cuda.jit
def a_number_behind_a_barrier(whole, sums, zeros):
    i = cuda.grid(1)
    known = 0
    zero = float32(0)
    small = whole[i] - whole[i]
    cuda.syncthreads()
    sums[i] = -small + (whole[i] if known == known else small * 0.5)
    zeros[i] = min(-0.0 * sums[i], zero)


@njit
def a_number(whole, sums, zeros):
    for i in range(len(whole)):
        known = 0
        zero = float32(0)
        small = whole[i] - whole[i]
        sums[i] = -small + (whole[i] if known == known else small * 0.5)
        zeros[i] = min(-0.0 * sums[i], zero)


def test_a_number_is_known_behind_a_barrier():
    """Numba leaves out the branch that it decides, and so the branch's type."""
    whole = np.array([2**63 - 1, 2**62 + 1, 3])
    outputs = [cuda.to_device(np.zeros(3, kind)) for kind in ("int64", "float64")]
    right = [np.zeros(3, np.int64), np.zeros(3)]
    a_number_behind_a_barrier[1, 3](cuda.to_device(whole), *outputs)
    a_number(whole, *right)
    assert right[0].tolist() == whole.tolist(), "Numba keeps whole numbers whole"
    for output, wanted in zip(outputs, right, strict=True):
        assert same(output.copy_to_host(), wanted).all()


@cuda.jit
def constants_brought(count, votes, shuffled):
    i = cuda.grid(1)
    count[i] = cuda.syncthreads_count(1)
    votes[i] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, True))
    shuffled[i] = cuda.shfl_sync(0xFFFFFFFF, 7, 3)


@pytest.mark.parametrize("interpreted", [False, True])
def test_threads_may_all_bring_a_constant(interpreted):
    outputs = [cuda.to_device(np.zeros(64, np.int32)) for _ in range(3)]
    with cuda.stand_in(interpreted=interpreted):
        constants_brought[1, 64](*outputs)
    for output, wanted in zip(outputs, (64, 32, 7), strict=True):
        assert set(output.copy_to_host().tolist()) == {wanted}


@cuda.jit
def one_counter_for_two_loops(out):
    i = cuda.grid(1)
    total = 0
    for k in range(3):
        total += k
        cuda.syncthreads()
    for k in range(4):
        total += k * i
    cuda.syncthreads()
    out[i] = total


def test_two_loops_may_share_a_counter():
    """Such a kernel need not run interpreted; the warning that says so would be an error here."""
    out = cuda.to_device(np.zeros(4))
    one_counter_for_two_loops[1, 4](out)
    assert out.copy_to_host().tolist() == [3, 9, 15, 21]


# ---- the interpreter


def moderate(name):
    """Give numbers with which nothing overflows and nothing is divided by zero."""
    if name in FLOATS:
        return np.array([0.1, -0.1, 1.0, -1.5, 2.7, 3.25, 1e-3, -7.7, 100.1, 12.0, 0.3, -3.3], name)
    low = 1 if name.startswith("u") else -7
    return np.array([each or 5 for each in range(low, low + 12)], name)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("float64", "float32"),
        ("float32", "int32"),
        ("int64", "int32"),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in (
                ("float32", "float32"),
                ("float64", "float64"),
                ("float64", "int64"),
                ("int32", "int32"),
                ("int8", "int64"),
            )
        ),
    ],
)
def test_interpreter_agrees(first, second, tmp_path):
    module, chosen = table(tmp_path / f"interpreted_{first}_{second}.py", first, second, set())
    x, y = (each.ravel() for each in np.meshgrid(moderate(first), moderate(second)))
    outputs = []
    for run in ("interpreted", "reference"):
        floats, whole = np.zeros((len(chosen), x.size)), np.zeros((len(chosen), x.size), np.int64)
        if run == "reference":
            module.reference(x, y, floats, whole)
        else:
            on_device = [cuda.to_device(each) for each in (x, y, floats, whole)]
            with cuda.stand_in(interpreted=True):
                module.kernel[1, THREADS](*on_device)
            floats = on_device[2].copy_to_host()
        outputs.append(floats)
    bit = 2.0**-23 if "float32" in (first, second) else 2.0**-52
    for expression, mine, right in zip(chosen, *outputs, strict=True):
        if "math." in expression or "**" in expression:
            np.testing.assert_allclose(mine, right, rtol=2 * bit, err_msg=expression)
        else:
            assert same(mine, right).all(), expression


@cuda.jit
def literal_times_float32(x, whole, out):
    i = cuda.grid(1)
    out[i] = 3 * x[i]


@cuda.jit
def unsigned_difference(x, whole, out):
    i = cuda.grid(1)
    out[i] = whole[i] - (whole[i] + whole[i])


@cuda.jit
def small_integer_times_float32(x, whole, out):
    i = cuda.grid(1)
    out[i] = x[i] * whole[i]


@cuda.jit
def one_type_for_a_variable(x, whole, out):
    i = cuda.grid(1)
    value = x[i]
    total = 0.0
    for _ in range(2):
        total += value * value
        value = value * 0.5
    out[i] = total


@cuda.jit
def one_type_for_a_choice(x, whole, out):
    i = cuda.grid(1)
    value = x[i] if whole[i] > 0 else 0.5
    out[i] = value * value


A = float32(0.1)
EXACT = float(A)  # as a float64


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (literal_times_float32, 3 * EXACT),
        (unsigned_difference, 2.0**64),
        (small_integer_times_float32, float(A * float32(3))),
        (one_type_for_a_variable, EXACT**2 + EXACT**2 / 4),
        (one_type_for_a_choice, EXACT**2),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_types_are_numbas_and_not_numpys(kernel, wanted, interpreted):
    out = cuda.to_device(np.zeros(1))
    with cuda.stand_in(interpreted=interpreted):
        kernel[1, 1](cuda.to_device(np.array([A])), cuda.to_device(np.array([3], np.uint8)), out)
    assert out.copy_to_host()[0] == wanted


@cuda.jit
def thread_numbers_overflow(out):
    i = cuda.grid(1) + 1
    for _ in range(70):
        i = i * 2
    out[0] = float(i)


@cuda.jit
def last_bit(x, out):
    i = cuda.grid(1)
    out[i] = math.tanh(x[i])


@cuda.jit
def divided_by_a_thread_number(out):
    i = cuda.grid(1)
    out[i] = 7 // i


@cuda.jit
def negative_literal(x, out):
    out[0] = x[0] & -2


@pytest.mark.parametrize("interpreted", [False, True])
def test_integers_wrap_at_64_bits(interpreted):
    out = cuda.to_device(np.ones(1))
    with cuda.stand_in(interpreted=interpreted):
        thread_numbers_overflow[1, 1](out)
    assert out.copy_to_host()[0] == 0.0


def test_interpreter_rounds_math_of_float32_once():
    x = np.linspace(-3, 3, 500, dtype=np.float32)
    out = cuda.to_device(np.zeros_like(x))
    with cuda.stand_in(interpreted=True):
        last_bit[1, x.size](cuda.to_device(x), out)
    assert same(out.copy_to_host(), np.tanh(x.astype(np.float64)).astype(np.float32)).all()
    last_bit[1, x.size](cuda.to_device(x), out)
    np.testing.assert_array_max_ulp(out.copy_to_host(), np.tanh(x.astype(np.float64)).astype(np.float32), 2)


def test_interpreter_raises_where_a_gpu_gives_something():
    out = cuda.to_device(np.zeros(2, np.int64))
    divided_by_a_thread_number[1, 1](out)
    with (
        cuda.stand_in(interpreted=True),
        pytest.raises(ZeroDivisionError, match=r"divided_by_a_thread_number\(\), "),
    ):
        divided_by_a_thread_number[1, 1](out)


@pytest.mark.parametrize("interpreted", [False, True])
def test_a_uint64_takes_a_negative_literal(interpreted):
    x, out = cuda.to_device(np.array([7], np.uint64)), cuda.to_device(np.zeros(1, np.uint64))
    with cuda.stand_in(interpreted=interpreted):
        negative_literal[1, 1](x, out)
    assert out.copy_to_host()[0] == 6


# ---- atomics take their value in the array's type


@cuda.jit
def atomics_with_wide_values(largest, swapped):
    cuda.atomic.max(largest, 0, (1 << 32) + 5)
    cuda.atomic.cas(swapped, 0, (1 << 32) + 7, 3)


@pytest.mark.parametrize("interpreted", [False, True])
def test_atomics_cast_their_values(interpreted):
    """Numba's signature is `max(array of int32, index, int32)`: 2**32 + 5 arrives as 5."""
    largest, swapped = (cuda.to_device(np.array([each], np.int32)) for each in (100, 7))
    with cuda.stand_in(interpreted=interpreted):
        atomics_with_wide_values[1, 1](largest, swapped)
    assert (largest.copy_to_host()[0], swapped.copy_to_host()[0]) == (100, 3)


# ---- against Numba's own CUDA typing

SCALARS = {"h": "int8", "u": "uint8", "n": "int32", "w": "uint32", "m": "int64", "q": "uint64"}
SCALARS |= {"x": "float32", "y": "float64", "b": "bool_"}
TYPED = """
cuda.grid(1)
cuda.grid(2)[1]
cuda.grid(3)[2]
cuda.gridsize(1)
cuda.gridsize(2)[0]
cuda.threadIdx.x
cuda.blockIdx.y
cuda.blockDim.x
cuda.gridDim.z
cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
cuda.threadIdx.x * x
cuda.threadIdx.x * 0.5
cuda.threadIdx.x / cuda.blockDim.x
cuda.threadIdx.x // 2
cuda.grid(1) * x
cuda.laneid
cuda.popc(n)
cuda.popc(m)
cuda.popc(w)
cuda.clz(n)
cuda.clz(m)
cuda.ffs(n)
cuda.brev(w)
cuda.brev(q)
cuda.fma(x, x, x)
cuda.fma(x, x, y)
cuda.cbrt(x)
cuda.cbrt(y)
cuda.selp(b, n, n)
cuda.selp(b, x, x)
cuda.activemask()
cuda.lanemask_lt()
cuda.syncthreads_count(n)
cuda.syncthreads_and(n)
cuda.syncthreads_or(n)
cuda.shfl_sync(0xffffffff, n, 0)
cuda.shfl_sync(0xffffffff, m, 0)
cuda.shfl_down_sync(0xffffffff, x, 1)
cuda.shfl_up_sync(0xffffffff, y, 1)
cuda.shfl_xor_sync(0xffffffff, x, 1) * x
cuda.all_sync(0xffffffff, b)
cuda.any_sync(0xffffffff, b)
cuda.eq_sync(0xffffffff, b)
cuda.ballot_sync(0xffffffff, b)
cuda.match_any_sync(0xffffffff, n)
cuda.atomic.add(xs, 0, x)
cuda.atomic.add(xs, 0, y)
cuda.atomic.add(ns, 0, 1)
cuda.atomic.max(ns, 0, m)
cuda.atomic.cas(ns, 0, n, n)
cuda.atomic.exch(ns, 0, n)
x * 0.5
x * 3
x * x
n * n
n + x
h * x
u - u
w + w
n + w
m + q
-n
~u
n / n
n // n
n % n
n ** 2
x ** 2
n << 2
w >> w
n & u
b + b
x if b else y
n if b else x
abs(n)
abs(x)
float(n)
float(x)
float32(y)
int32(x)
uint8(n)
round(x)
round(y, 2)
x < y
not n
b and b
math.sqrt(x)
math.sqrt(n)
math.exp(y)
math.log(x)
math.sin(x)
math.tanh(x)
math.erf(x)
math.floor(x)
math.floor(y)
math.floor(n)
math.ceil(x)
math.trunc(y)
math.fabs(x)
math.fabs(n)
math.pow(x, x)
math.pow(x, y)
math.pow(n, n)
math.hypot(x, x)
math.atan2(y, x)
math.fmod(x, x)
math.fmod(y, x)
math.copysign(x, x)
math.isnan(x)
math.pi * x
cuda.match_all_sync(0xffffffff, n)[1]
""".strip().split("\n")

CUDA_TYPING = f"""
import json, math
from numba import cuda, float32, int32, types, uint8
from numba.core import compiler, typed_passes
from numba.cuda.descriptor import cuda_target
import numba.cuda.dispatcher
class Device:  # all that type inference asks of one
    compute_capability = (7, 5)
numba.cuda.dispatcher.get_current_device = Device
scalars = {SCALARS!r}
kinds = [types.boolean if kind == "bool_" else getattr(types, kind) for kind in scalars.values()]
kinds += [types.float32[::1], types.int32[::1]]
found = {{}}
for expression in {TYPED!r}:
    space = dict(globals())
    exec("def function(" + ", ".join([*scalars, "xs", "ns"]) + "): return " + expression, space)
    typing = cuda_target.typing_context
    typing.refresh()
    cuda_target.target_context.refresh()
    try:
        code = compiler.run_frontend(space["function"])
        result = typed_passes.type_inference_stage(typing, cuda_target.target_context, code, tuple(kinds), None)
        found[expression] = str(types.unliteral(result.return_type))
    except Exception as problem:
        found[expression] = "refused: " + str(problem)[:200]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def cuda_types():
    """Ask Numba's CUDA target for the type of each expression; its type inference needs no GPU."""
    done = subprocess.run(
        [sys.executable, "-c", UNCOVER + CUDA_TYPING],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "0"},
    )
    return json.loads(done.stdout)


MEET = """
from numba import types
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic

MET = {}


@intrinsic
def meet(typingctx, number, value):
    if not isinstance(number, types.IntegerLiteral):
        raise RequireLiteralValue(number)
    MET.setdefault(number.literal_value, set()).add(str(types.unliteral(value)))
    return types.int64(number, value), lambda context, *_: context.get_constant(types.int64, 0)


"""


@pytest.fixture(scope="module")
def own_types(tmp_path_factory):
    """Run kernels that hand every expression to a function that writes down what types it meets."""
    folder = tmp_path_factory.mktemp("typed")
    waiting = [each for each in TYPED if "sync" in each]
    rest = [each for each in TYPED if each not in waiting]
    found = {}
    for number, chosen in enumerate((rest, waiting[:-1], waiting[-1:])):
        text = [HEAD, MEET, "@cuda.jit", f"def kernel({', '.join([*SCALARS, 'xs', 'ns'])}, out):"]
        text += [
            line
            for k, expression in enumerate(chosen)
            for line in (f"    value_{k} = {expression}", f"    out[0] = meet({k}, value_{k})")
        ]
        module = load(folder / f"typed_{number}.py", "\n".join(text))
        values = [np.dtype(kind).type(1) for kind in SCALARS.values()]
        values[-1] = True
        arrays = [cuda.to_device(np.ones(2, each)) for each in ("float32", "int32", "int64")]
        try:
            module.kernel[1, 32](*values, *arrays)
        except Exception as problem:  # one line that fails must not hide the types of the others
            found |= dict.fromkeys(chosen, f"refused: {problem}")
            continue
        found |= {expression: " and ".join(sorted(module.MET[k])) for k, expression in enumerate(chosen)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("expression", TYPED)
def test_type_is_numbas_on_cuda(expression, cuda_types, own_types):
    assert not cuda_types[expression].startswith("refused")
    assert own_types[expression] == cuda_types[expression]
