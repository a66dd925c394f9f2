"""Generates kernels that compute with mixed types: one seed and one kind, one program.

Nothing here says what the right result is: the real compiler's PTX does (`real_numba`). The programs avoid what CUDA
leaves undefined: shifts by the width of the type or more, and indices out of bounds. Conversions of floats that do not
fit the integer type occur only in the kind "casts", where the PTX says what they give.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

THREADS = 8
SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
DTYPES = (*SIGNED, *UNSIGNED, *FLOATS)
KINDS = ("integers", "mixed", "floats", "casts", "control flow", "local arrays", "device functions")
LENGTH = 4  # of a local array


@dataclass(frozen=True)
class Program:
    """A kernel for one block of `THREADS` threads, as text, with the types of its parameters.

    Attributes
    ----------
    arrays, scalars, outputs
        Dtypes by the name of the parameter: arrays that it reads, numbers, arrays that it writes.
    """

    seed: int
    kind: str
    source: str
    arrays: dict[str, str]
    scalars: dict[str, str]
    outputs: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.kind} {self.seed}"

    def inputs(self) -> tuple[list[np.ndarray], list[np.generic | int | float]]:
        """Return arrays of `THREADS` elements, and numbers: Python's for int64 and float64, as a learner passes them."""
        rng = random.Random(f"inputs {self.kind} {self.seed}")
        arrays = [
            np.array([a_value(rng, dtype) for _ in range(THREADS)], dtype) for dtype in self.arrays.values()
        ]
        numbers = [np.dtype(dtype).type(a_value(rng, dtype)) for dtype in self.scalars.values()]
        return arrays, [each.item() if each.dtype in (np.int64, np.float64) else each for each in numbers]


def a_value(rng: random.Random, dtype: str) -> int | float:
    """Return a small number, or one at the edge of the type. Floats are multiples of 1/4, so that few results round."""
    if dtype.startswith("float"):
        return rng.choice([rng.randint(-40, 40) / 4, rng.randint(-9, 9), 0.5, -0.0, 1000.25])
    info = np.iinfo(dtype)
    edge = [info.min, info.max, info.max - 1, info.max // 2 + 1, max(info.min, -1)]
    return rng.choice([rng.randint(max(info.min, -9), 9), rng.randint(0, 100), rng.choice(edge)])


# The class of an expression, which decides where it may stand: "u" unsigned, "i" signed, "f" float, "b" bool.
def joined(one: str, other: str) -> str:
    """Return the class of a sum, by Numba's rule: int64 and uint64 make a float64."""
    classes = {one, other} - {"b"} or {"i"}
    if classes == {"u", "i"}:
        return "f"  # unsafe to assume either: with uint64 it is a float64
    return "f" if "f" in classes else classes.pop()


class Writer:
    """Writes the statements of one function; `depth` limits expressions, `budget` statements."""

    def __init__(
        self, rng: random.Random, kind: str, names: dict[str, str], device: list[tuple[str, list[str], str]]
    ):
        self.rng, self.kind, self.device = rng, kind, device
        self.reads = names  # expressions without side effects, by text: their class
        self.variables: dict[str, str] = {}
        self.locals: dict[str, str] = {}  # local arrays, by name: their class
        self.lines: list[str] = []
        self.indent = 1
        self.loops = 0
        self.count = 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -- expressions

    def leaf(self, wanted: str) -> str:
        """Return a name or a literal of a class; any number is a float."""
        fitting = [
            name
            for name, kind in {**self.reads, **self.variables}.items()
            if kind == wanted or (wanted == "f" and kind in "ui")
        ]
        for name, kind in self.locals.items():
            if kind == wanted or (wanted == "f" and kind in "ui"):
                fitting.append(f"{name}[{self.index()}]")
        if fitting and self.chance(0.85):
            return self.rng.choice(fitting)
        if wanted == "b":
            return f"({self.leaf('i')} {self.rng.choice(['<', '==', '>='])} {self.leaf('i')})"
        if wanted == "f":
            return self.rng.choice(["0.5", "2.0", "-1.5", "0.25", "3", "np.float32(1.5)"])
        if wanted == "u":
            dtype = self.rng.choice(UNSIGNED)
            return f"np.{dtype}({self.rng.choice([0, 1, 3, 200, np.iinfo(dtype).max])})"
        return self.rng.choice(["1", "2", "-1", "7", "100", "255", "65537", "np.int8(-3)", "np.int32(70000)"])

    def index(self) -> str:
        names = [name for name, kind in {**self.reads, **self.variables}.items() if kind in "ui"]
        if names and self.chance(0.6):
            return f"{self.rng.choice(names)} & {LENGTH - 1}"
        return str(self.rng.randrange(LENGTH))

    def expression(self, wanted: str, depth: int = 2) -> str:
        if depth == 0 or self.chance(0.15):
            return self.leaf(wanted)
        return getattr(self, f"class_{wanted}")(depth - 1)

    def pair(self, classes: str, depth: int) -> tuple[str, str]:
        one, other = (self.expression(self.rng.choice(classes), depth) for _ in "ab")
        return one, other

    def class_b(self, depth: int) -> str:
        kind = self.rng.choice(["compare", "compare", "compare", "not", "and", "chain", "bool"])
        if kind == "compare":
            one, other = self.pair("uif" if self.kind != "integers" else "ui", depth)
            return f"({one} {self.rng.choice(['<', '<=', '>', '>=', '==', '!='])} {other})"
        if kind == "not":
            return f"(not {self.expression(self.rng.choice('bi'), depth)})"
        if kind == "chain":
            one, other = self.pair("i", depth)
            return f"({one} < {self.leaf('i')} <= {other})"
        if kind == "bool":
            return f"bool({self.expression(self.rng.choice('if'), depth)})"
        one, other = self.pair("b", depth)
        return f"({one} {self.rng.choice(['and', 'or'])} {other})"

    def called(self, wanted: str, depth: int) -> str | None:
        fitting = [each for each in self.device if each[2] == wanted]
        if not fitting or not self.chance(0.5 if self.kind == "device functions" else 0.2):
            return None
        name, classes, _ = self.rng.choice(fitting)
        return f"{name}({', '.join(self.expression(each, depth) for each in classes)})"

    def whole(self, wanted: str, depth: int) -> str:
        """Return an expression of signed or of unsigned integers."""
        dtypes = SIGNED if wanted == "i" else UNSIGNED
        if call := self.called(wanted, depth):
            return call
        kind = self.rng.choice(
            [
                "+",
                "-",
                "*",
                "+",
                "-",
                "*",
                "//",
                "%",
                "&",
                "|",
                "^",
                "<<",
                ">>",
                "~",
                "-x",
                "abs",
                "min",
                "cast",
                "cast",
                "if",
            ]
            + ["**", "from float", "bool"] * (self.kind in ("casts", "mixed", "integers"))
        )
        first = self.expression(wanted, depth)
        if kind in "+-*&|^":
            return f"({first} {kind} {self.expression(wanted, depth)})"
        if kind in ("//", "%"):
            divisor = (
                self.rng.choice(["3", "7", "10"]) if wanted == "i" else f"np.{self.rng.choice(UNSIGNED)}(3)"
            )
            if self.chance(0.4):
                divisor = f"({self.expression(wanted, 0)} | {1 if wanted == 'i' else 'np.uint8(1)'})"
            return f"({first} {kind} {divisor})"
        if kind in ("<<", ">>"):
            amount = (
                self.rng.choice(["1", "3", "7", "31"])
                if wanted == "i"
                else f"np.{self.rng.choice(UNSIGNED)}(5)"
            )
            if self.chance(0.4):
                amount = f"({self.expression(wanted, 0)} & {15 if wanted == 'i' else 'np.uint8(15)'})"
            return f"({first} {kind} {amount})"
        if kind == "~":
            return f"(~{first})"
        if kind == "-x" and wanted == "i":
            return f"(-{self.expression(self.rng.choice('iiu'), depth) if self.kind == 'casts' else first})"
        if kind == "abs":
            return f"abs({first})"
        if kind == "**":
            return f"({self.leaf(wanted)} ** {self.rng.choice('23')})"
        if kind == "min":
            return f"{self.rng.choice(['min', 'max'])}({first}, {self.expression(wanted, depth)})"
        if kind == "if":
            return f"({first} if {self.expression('b', depth)} else {self.expression(wanted, depth)})"
        if kind == "from float":
            return f"np.{self.rng.choice(dtypes)}({self.small_float(depth)})"
        if kind == "bool" and wanted == "i":
            return f"({first} + {self.expression('b', depth)})"
        return f"np.{self.rng.choice(dtypes)}({self.expression(self.rng.choice('ui'), depth)})"

    def class_i(self, depth: int) -> str:
        return self.whole("i", depth)

    def class_u(self, depth: int) -> str:
        return self.whole("u", depth)

    def small_float(self, depth: int) -> str:
        """Return a float for a conversion: one that fits, except in the kind "casts"."""
        any_float = self.expression("f", depth)
        return any_float if self.kind == "casts" and self.chance(0.3) else f"min(abs({any_float}), 99.5)"

    def class_f(self, depth: int) -> str:
        if call := self.called("f", depth):
            return call
        # A float that is computed, not only a number of any class.
        kind = self.rng.choice(
            [
                "+",
                "-",
                "*",
                "+",
                "-",
                "*",
                "/",
                "//",
                "%",
                "-x",
                "abs",
                "min",
                "cast",
                "if",
                "math",
                "mixed",
                "mixed",
            ]
        )
        if kind in "+-*":
            one, other = self.pair("ff" if self.kind == "floats" else "fui", depth)
            return f"({one} {kind} {other})"
        if kind == "/":
            one, other = self.pair("fui", depth)
            return f"({one} / {self.rng.choice(['2.0', '4', '3', f'(abs({other}) + 1)'])})"
        if kind in ("//", "%"):
            return f"({self.expression('f', depth)} {kind} {self.rng.choice(['2.5', 'np.float32(0.75)', '3', '-1.5'])})"
        if kind == "-x":
            return f"(-{self.expression(self.rng.choice('fu'), depth)})"
        if kind == "abs":
            return f"abs({self.expression(self.rng.choice('ffi'), depth)})"
        if kind == "min":
            one, other = self.pair("ffui", depth)
            return f"{self.rng.choice(['min', 'max'])}({one}, {other})"
        if kind == "cast":
            return f"np.{self.rng.choice(FLOATS)}({self.expression(self.rng.choice('fui'), depth)})"
        if kind == "if":
            one, other = self.pair("fui", depth)
            return f"({one} if {self.expression('b', depth)} else {other})"
        if kind == "math":
            one = self.expression("f", depth)
            return self.rng.choice(
                [
                    f"math.sqrt(abs({one}))",
                    f"math.floor({one})",
                    f"math.ceil({one})",
                    f"math.fabs({one})",
                    f"float({one})",
                ]
            )
        return f"({self.expression('i', depth)} {self.rng.choice('+-*')} {self.expression('u', depth)})"

    # -- statements

    def new_variable(self) -> None:
        name = "abcdefghklmnpqrstvwz"[len(self.variables) % 20] + ("" if len(self.variables) < 20 else "2")
        wanted = self.rng.choice({"integers": "iiuu", "floats": "fff"}.get(self.kind, "iiuff"))
        text = self.expression(wanted, 2)
        self.write(f"{name} = {text}")
        self.variables[name] = wanted

    def assign(self) -> None:
        if not self.variables:
            return self.new_variable()
        name, wanted = self.rng.choice(list(self.variables.items()))
        if self.chance(0.4):
            operators = ["+=", "-=", "*="] + (["/="] if wanted == "f" else ["&=", "|=", "^="])
            operator = self.rng.choice(operators)
            if operator == "/=":
                return self.write(f"{name} /= {self.rng.choice(['2', '4.0', 'np.float32(8)'])}")
            return self.write(f"{name} {operator} {self.expression(wanted, 1)}")
        self.write(f"{name} = {self.expression(wanted, 2)}")

    def store_local(self) -> None:
        name = self.rng.choice(list(self.locals))
        self.write(f"{name}[{self.index()}] = {self.expression(self.locals[name], 2)}")

    def branch(self, depth: int) -> None:
        self.write(f"if {self.expression(self.rng.choice('bbbi'), 2)}:")
        self.block(depth)
        if self.chance(0.4):
            self.write(f"elif {self.expression('b', 1)}:")
            self.block(depth)
        if self.chance(0.6):
            self.write("else:")
            self.block(depth)

    def loop(self, depth: int) -> None:
        name = f"j{self.loops}"
        self.loops += 1
        if self.chance(0.7):
            bounds = self.rng.choice(["3", "5", "1, 4", "6, 0, -2", f"({self.leaf('i')}) & 3"])
            self.write(f"for {name} in range({bounds}):")
            self.reads = {**self.reads, name: "i"}
            self.block(depth, in_loop=True)
            self.reads = {key: value for key, value in self.reads.items() if key != name}
        else:
            self.write(f"{name} = 0")
            self.write(f"while {name} < {self.rng.choice('345')}:")
            self.indent += 1
            self.write(f"{name} += 1")
            self.indent -= 1
            self.block(depth, in_loop=True)

    def block(self, depth: int, in_loop: bool = False) -> None:
        self.indent += 1
        before = dict(self.variables)
        for _ in range(self.rng.choice([1, 1, 2])):
            self.statement(depth - 1, fresh=False)
        if in_loop and self.chance(0.2):
            self.write(f"if {self.expression('b', 1)}:")
            self.write(f"    {self.rng.choice(['break', 'continue'])}")
        self.variables = before
        self.indent -= 1

    def statement(self, depth: int, fresh: bool = True) -> None:
        nested = depth > 0
        choices = [self.assign] * 4
        choices += [self.new_variable] * (2 * fresh)
        choices += [lambda: self.branch(depth)] * (nested * (3 if self.kind == "control flow" else 1))
        choices += [lambda: self.loop(depth)] * (nested * (3 if self.kind == "control flow" else 1))
        choices += [self.store_local] * (bool(self.locals) * 4)
        self.rng.choice(choices)()

    def local_array(self) -> None:
        number = len(self.locals)
        dtype = self.rng.choice(DTYPES)
        name = f"kept{number}"
        self.write(f"{name} = cuda.local.array({LENGTH}, np.{dtype})")
        self.write(f"for k{number} in range({LENGTH}):")
        self.write(f"    {name}[k{number}] = {self.leaf(class_of(dtype))}")
        self.locals[name] = class_of(dtype)


def class_of(dtype: str) -> str:
    return dtype[0]


def device_function(
    rng: random.Random, kind: str, number: int
) -> tuple[list[str], tuple[str, list[str], str]]:
    """Return the lines of a device function, and its name with the classes of its parameters and of its result."""
    classes = [rng.choice("uif") for _ in range(rng.choice([1, 2]))]
    result = rng.choice("if") if set(classes) != {"u"} else rng.choice("uf")
    name = f"part{number}"
    parameters = {"xyz"[k]: each for k, each in enumerate(classes)}
    writer = Writer(rng, kind, parameters, [])
    for _ in range(rng.choice([0, 1, 2])):
        writer.statement(1)
    if rng.random() < 0.4:
        writer.write(f"if {writer.expression('b', 1)}:")
        writer.write(f"    return {writer.expression(result, 1)}")
    writer.write(f"return {writer.expression(result, 2)}")
    head = ["@cuda.jit(device=True)", f"def {name}({', '.join(parameters)}):"]
    return [*head, *writer.lines, "", ""], (name, classes, result)


def generate(kind: str, seed: int) -> Program:
    """Return the program of a kind and a seed: always the same."""
    rng = random.Random(f"{kind} {seed}")
    dtypes = {"integers": SIGNED + UNSIGNED, "floats": FLOATS}.get(kind, DTYPES)
    arrays = {name: rng.choice(dtypes) for name in ("x", "y", "z")[: rng.choice([1, 2, 3])]}
    scalars = {"scale": rng.choice(dtypes)} if rng.random() < 0.5 else {}
    outputs = {name: rng.choice(dtypes) for name in ("out", "also")[: rng.choice([1, 2])]}
    lines, device = [], []
    if kind == "device functions" or rng.random() < 0.1:
        for number in range(rng.choice([1, 2])):
            text, known = device_function(rng, kind, number)
            lines += text
            device.append(known)
    names = {f"{name}[i]": class_of(dtype) for name, dtype in arrays.items()}
    names |= {name: class_of(dtype) for name, dtype in scalars.items()} | {"i": "i"}
    writer = Writer(rng, kind, names, device)
    if kind == "local arrays" or rng.random() < 0.1:
        for _ in range(rng.choice([1, 2])):
            writer.local_array()
    writer.new_variable()
    for _ in range(rng.choice([1, 2, 3])):
        writer.statement(2)
    for name, dtype in outputs.items():
        wanted = class_of(dtype)
        if wanted != "f" and kind == "casts" and rng.random() < 0.3:
            wanted = "f"
        elif rng.random() < 0.2:
            wanted = {"i": "u", "u": "i", "f": "b"}[wanted]
        text = writer.expression(wanted, 3)
        if made := [each for each, kind in writer.variables.items() if kind == wanted]:
            text = f"{rng.choice(made)} {'+' if wanted == 'f' else rng.choice('+^')} {text}"
        writer.write(f"{name}[i] = {text}")
    parameters = ", ".join([*arrays, *scalars, *outputs])
    lines += ["@cuda.jit", f"def program({parameters}):", "    i = cuda.threadIdx.x", *writer.lines]
    return Program(seed, kind, "\n".join(lines) + "\n", arrays, scalars, outputs)


def programs(count: int, first: int = 0) -> list[Program]:
    """Return `count` programs from the seeds that begin at `first`, each kind in turn."""
    return [generate(KINDS[k % len(KINDS)], first + k // len(KINDS)) for k in range(count)]
