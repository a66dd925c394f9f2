"""Generates kernels in CUDA C++ that compute with mixed types: one seed and one kind, one program.

The real compiler's PTX says what the right result is (NVRTC, by way of CuPy). The programs avoid what C++ leaves undefined:
sums of signed integers that may overflow are computed in the unsigned type, shifts are shorter than their type, and floats
that do not fit an integer occur only in the kind "casts", where the PTX says what they give. Implicit conversions, C++'s
promotions and comparisons of signed with unsigned integers are what the programs are full of.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tests.corpora.kernels.generated.typed import THREADS, a_value

TYPES = {
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
KINDS = ("integers", "mixed", "floats", "casts", "control flow", "local arrays", "device functions")
INTEGERS, FLOATS = tuple(TYPES)[:8], tuple(TYPES)[8:]
LENGTH = 4


@dataclass(frozen=True)
class Program:
    """A kernel named `program` for one block of `THREADS` threads; its arguments are arrays."""

    seed: int
    kind: str
    source: str
    arrays: dict[str, str]
    outputs: dict[str, str]

    @property
    def name(self) -> str:
        return f"CUDA C++, {self.kind} {self.seed}"

    def inputs(self) -> list[np.ndarray]:
        rng = random.Random(f"inputs of C++ {self.kind} {self.seed}")
        return [
            np.array([a_value(rng, dtype) for _ in range(THREADS)], dtype) for dtype in self.arrays.values()
        ]


def promoted(dtype: str) -> str:
    """Return the type in which C++ computes with a number of this type."""
    return "int32" if dtype in ("int8", "int16", "uint8", "uint16") else dtype


def common(one: str, other: str) -> str:
    """Return the type of `one + other`, by C++'s usual conversions."""
    one, other = promoted(one), promoted(other)
    for dtype in ("float64", "float32"):
        if dtype in (one, other):
            return dtype
    order = ["int32", "uint32", "int64", "uint64"]
    return order[max(order.index(one), order.index(other))]


Typed = tuple[str, str]  # an expression and its type


class Writer:
    """Writes the statements of one function."""

    def __init__(
        self, rng: random.Random, kind: str, reads: list[Typed], device: list[tuple[str, list[str], str]]
    ):
        self.rng, self.kind, self.reads, self.device = rng, kind, reads, device
        self.variables: list[Typed] = []
        self.locals: list[Typed] = []
        self.lines: list[str] = []
        self.indent, self.loops = 1, 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def types(self) -> tuple[str, ...]:
        return {"integers": INTEGERS, "floats": FLOATS}.get(
            self.kind, (*INTEGERS, *INTEGERS, *FLOATS, *FLOATS)
        )

    # -- expressions

    def leaf(self, whole: bool | None = None) -> Typed:
        """Return a name or a literal; `whole` asks for an integer or a float."""
        known = [*self.reads, *self.variables, *self.variables]
        known += [(f"{name}[{self.index()}]", dtype) for name, dtype in self.locals]
        fitting = [each for each in known if whole is None or (each[1] in INTEGERS) == whole]
        if fitting and self.chance(0.85):
            return self.rng.choice(fitting)
        if whole is False:
            return self.rng.choice(
                [("0.5f", "float32"), ("2.0", "float64"), ("-1.5f", "float32"), ("3.25", "float64")]
            )
        return self.rng.choice(
            [
                ("1", "int32"),
                ("2", "int32"),
                ("-3", "int32"),
                ("200", "int32"),
                ("70000u", "uint32"),
                ("65537", "int32"),
                ("5ull", "uint64"),
                ("-7ll", "int64"),
                ("(unsigned char)250", "uint8"),
                ("(short)-300", "int16"),
            ]
        )

    def index(self) -> str:
        whole = [text for text, dtype in (*self.reads, *self.variables) if dtype in INTEGERS]
        return (
            f"{self.rng.choice(whole)} & {LENGTH - 1}"
            if whole and self.chance(0.6)
            else str(self.rng.randrange(LENGTH))
        )

    def expression(self, depth: int = 2, whole: bool | None = None) -> Typed:
        if whole is None:
            whole = self.chance({"integers": 1.0, "floats": 0.2}.get(self.kind, 0.6))
        if depth == 0 or self.chance(0.15):
            return self.leaf(whole)
        if call := self.called(whole, depth - 1):
            return call
        return self.integer(depth - 1) if whole else self.number(depth - 1)

    def called(self, whole: bool, depth: int) -> Typed | None:
        fitting = [each for each in self.device if (each[2] in INTEGERS) == whole]
        if not fitting or not self.chance(0.5 if self.kind == "device functions" else 0.2):
            return None
        name, parameters, result = self.rng.choice(fitting)
        given = [self.expression(depth, dtype in INTEGERS) for dtype in parameters]
        return f"{name}({', '.join(text for text, _ in given)})", result

    def integer(self, depth: int) -> Typed:
        rng = self.rng
        kind = rng.choice(
            [*"++--**/%&|^", "<<", ">>", "~", "-x", "min", "cast", "cast", "?", "compare", "bits"]
            + ["float"] * 2 * (self.kind != "integers")
        )
        a, one = self.expression(depth, True)
        b, other = self.expression(depth, True)
        dtype = common(one, other)
        if kind in "+-*":
            return self.arithmetic(kind, (a, one), (b, other)), dtype
        if kind in "/%":
            by, other = rng.choice([("3", "int32"), ("7u", "uint32"), ("10ll", "int64"), ("255", "int32")])
            return f"({a} {kind} {by})", common(one, other)
        if kind in "&|^":
            return f"({a} {kind} {b})", dtype
        if kind == "<<":
            wide = promoted(one)
            text = f"((unsigned {TYPES[wide].removeprefix('unsigned ')})({a}) << ({b} & 15))"
            return f"({TYPES[wide]}){text}", wide
        if kind == ">>":
            return f"({a} >> ({b} & 15))", promoted(one)
        if kind == "~":
            return f"(~{a})", promoted(one)
        if kind == "-x":
            return self.arithmetic("-", ("0", "int32"), (a, one)), common("int32", one)
        if kind == "min":
            wide = rng.choice(["int32", "uint32", "int64", "uint64"])
            return f"{rng.choice(['min', 'max'])}(({TYPES[wide]})({a}), ({TYPES[wide]})({b}))", wide
        if kind == "?":
            return f"({self.condition(depth)} ? {a} : {b})", dtype
        if kind == "compare":
            return f"({self.condition(depth)} + {a})" if one in (
                "int8",
                "int16",
                "uint8",
            ) else f"(int){self.condition(depth)}", "int32"
        if kind == "bits":
            name = rng.choice(["__popc", "__clz", "__brev", "__ffs"])
            return (
                f"{name}(({'int' if name == '__ffs' else 'unsigned int'})({a}))",
                "uint32" if name == "__brev" else "int32",
            )
        wide = rng.choice(INTEGERS)
        if kind == "float":
            text, _ = self.expression(depth, False)
            if not (self.kind == "casts" and self.chance(0.3)):
                text = f"fmin(fabs((double)({text})), 99.5)"
            return f"({TYPES[wide]})({text})", wide
        return f"({TYPES[wide]})({a})", wide

    def arithmetic(self, operator: str, left: Typed, right: Typed) -> str:
        """Return a sum, a difference or a product that cannot overflow a signed type."""
        (a, one), (b, other) = left, right
        dtype = common(one, other)
        narrow = ("int8", "uint8", "int16")
        if dtype.startswith("uint") or (one in narrow and other in narrow):
            return f"({a} {operator} {b})"
        wide = TYPES[f"u{dtype}"]
        return f"({TYPES[dtype]})(({wide})({a}) {operator} ({wide})({b}))"

    def number(self, depth: int) -> Typed:
        rng = self.rng
        kind = rng.choice([*"++--**/", "-x", "fabs", "min", "cast", "?", "math", "mixed", "mixed"])
        a, one = self.expression(depth, False)
        b, other = self.expression(depth, False)
        if kind in "+-*":
            return f"({a} {kind} {b})", common(one, other)
        if kind == "/":
            by, other = rng.choice([("2.0f", "float32"), ("4", "int32"), ("3.0", "float64"), ("-7", "int32")])
            return f"({a} / {by})", common(one, other)
        if kind == "-x":
            return f"(- {a})", one
        if kind == "fabs":
            return (f"fabsf({a})", "float32") if one == "float32" else (f"fabs({a})", "float64")
        if kind == "min":
            name = rng.choice(["fmin", "fmax"])
            return (
                (f"{name}f({a}, {b})", "float32")
                if one == other == "float32"
                else (f"{name}((double)({a}), (double)({b}))", "float64")
            )
        if kind == "cast":
            wide = rng.choice(FLOATS)
            text, _ = self.expression(depth)
            return f"({TYPES[wide]})({text})", wide
        if kind == "?":
            return f"({self.condition(depth)} ? {a} : {b})", common(one, other)
        if kind == "math":
            name = rng.choice(["sqrt", "floor", "ceil", "trunc"])
            inner = f"fabs((double)({a}))" if name == "sqrt" else f"(double)({a})"
            if one == "float32":
                inner = f"fabsf({a})" if name == "sqrt" else a
                return f"{name}f({inner})", "float32"
            return f"{name}({inner})", "float64"
        text, whole = self.expression(depth, True)
        return f"({a} {rng.choice('+-*')} {text})", common(one, whole)

    def condition(self, depth: int) -> str:
        rng = self.rng
        kind = rng.choice(["compare", "compare", "compare", "!", "&&", "number"])
        if kind == "compare":
            (a, _), (b, _) = self.expression(depth), self.expression(depth)
            return f"({a} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {b})"
        if kind == "!":
            return f"(!{self.expression(depth)[0]})"
        if kind == "number":
            return f"({self.expression(depth, True)[0]} != 0)"
        if depth <= 0:
            return f"({self.leaf(True)[0]} > 1)"
        return f"({self.condition(depth - 1)} {rng.choice(['&&', '||'])} {self.condition(depth - 1)})"

    # -- statements

    def new_variable(self) -> None:
        name = f"v{len(self.variables)}"
        dtype = self.rng.choice(self.types())
        self.write(f"{TYPES[dtype]} {name} = {self.expression(2, dtype in INTEGERS)[0]};")
        self.variables.append((name, dtype))

    def assign(self) -> None:
        if not self.variables:
            return self.new_variable()
        name, dtype = self.rng.choice(self.variables)
        if dtype in INTEGERS and self.chance(0.4):
            operator = self.rng.choice(
                ["&=", "|=", "^="]
                + ["+=", "-=", "*="] * (dtype.startswith("u") and dtype not in ("uint8", "uint16"))
            )
            value, _ = self.expression(1, True)
            if operator in ("+=", "-=", "*="):
                value = f"({TYPES[dtype]})({value})"
            return self.write(f"{name} {operator} {value};")
        if dtype in FLOATS and self.chance(0.4):
            return self.write(f"{name} {self.rng.choice(['+=', '-=', '*='])} {self.expression(1)[0]};")
        self.write(f"{name} = {self.expression(2, dtype in INTEGERS)[0]};")

    def store_local(self) -> None:
        name, dtype = self.rng.choice(self.locals)
        self.write(f"{name}[{self.index()}] = {self.expression(2, dtype in INTEGERS)[0]};")

    def branch(self, depth: int) -> None:
        self.write(f"if ({self.condition(2)}) {{")
        self.block(depth)
        if self.chance(0.6):
            self.write("} else {")
            self.block(depth)
        self.write("}")

    def switch(self, depth: int) -> None:
        self.write(f"switch ({self.leaf(True)[0]} & 3) {{")
        for case in self.rng.sample(["case 0:", "case 1:", "case 2:", "default:"], 3):
            self.write(case)
            self.block(depth - 1)
            if self.chance(0.7):
                self.write("    break;")
        self.write("}")

    def loop(self, depth: int) -> None:
        name = f"j{self.loops}"
        self.loops += 1
        if self.chance(0.7):
            head = self.rng.choice(
                [
                    f"for (int {name} = 0; {name} < 5; ++{name}) {{",
                    f"for (unsigned int {name} = 6; {name} > 1; {name} -= 2) {{",
                ]
            )
            self.write(head)
            dtype = "int32" if "int32" in head or "(int " in head else "uint32"
            self.reads = [*self.reads, (name, dtype)]
            self.block(depth, True)
            self.reads = [each for each in self.reads if each[0] != name]
        else:
            self.write(f"int {name} = 0;")
            self.write(f"while ({name}++ < {self.rng.choice('345')}) {{")
            self.block(depth, True)
        self.write("}")

    def block(self, depth: int, in_loop: bool = False) -> None:
        self.indent += 1
        before = list(self.variables)
        for _ in range(self.rng.choice([1, 1, 2])):
            self.statement(depth - 1, fresh=False)
        if in_loop and self.chance(0.2):
            self.write(f"if ({self.condition(1)}) {self.rng.choice(['break', 'continue'])};")
        self.variables = before
        self.indent -= 1

    def statement(self, depth: int, fresh: bool = True) -> None:
        flow = 3 if self.kind == "control flow" else 1
        nested = depth > 0
        choices = [self.assign] * 4 if self.variables or fresh else [lambda: self.write(";")]
        choices += [self.new_variable] * (2 * fresh)
        choices += [lambda: self.branch(depth)] * (nested * flow)
        choices += [lambda: self.loop(depth)] * (nested * flow)
        choices += [lambda: self.switch(depth)] * (nested * (flow == 3))
        choices += [self.store_local] * (bool(self.locals) * 4)
        self.rng.choice(choices)()

    def local_array(self) -> None:
        name, dtype = f"kept{len(self.locals)}", self.rng.choice(self.types())
        values = ", ".join(f"({TYPES[dtype]})({self.leaf(dtype in INTEGERS)[0]})" for _ in range(LENGTH))
        self.write(f"{TYPES[dtype]} {name}[{LENGTH}] = {{{values}}};")
        self.locals.append((name, dtype))


def device_function(
    rng: random.Random, kind: str, number: int
) -> tuple[list[str], tuple[str, list[str], str]]:
    """Return the lines of a device function, and its name with the types of its parameters and of its result."""
    types = [rng.choice([*INTEGERS, *FLOATS, *FLOATS]) for _ in range(rng.choice([1, 2]))]
    result = rng.choice([*INTEGERS, *FLOATS, *FLOATS])
    parameters = list(zip("xyz", types, strict=False))
    writer = Writer(rng, kind, parameters, [])
    for _ in range(rng.choice([0, 1, 2])):
        writer.statement(1)
    if rng.random() < 0.4:
        writer.write(f"if ({writer.condition(1)}) return {writer.expression(1, result in INTEGERS)[0]};")
    writer.write(f"return {writer.expression(2, result in INTEGERS)[0]};")
    given = ", ".join(f"{TYPES[dtype]} {name}" for name, dtype in parameters)
    head = f"__device__ {TYPES[result]} part{number}({given}) {{"
    return [head, *writer.lines, "}", ""], (f"part{number}", types, result)


def generate(kind: str, seed: int) -> Program:
    """Return the program of a kind and a seed: always the same."""
    rng = random.Random(f"CUDA C++ {kind} {seed}")
    dtypes = {"integers": INTEGERS, "floats": FLOATS}.get(kind, tuple(TYPES))
    arrays = {name: rng.choice(dtypes) for name in ("x", "y", "z")[: rng.choice([1, 2, 3])]}
    outputs = {name: rng.choice(dtypes) for name in ("out", "also")[: rng.choice([1, 2])]}
    lines, device = [], []
    if kind == "device functions" or rng.random() < 0.1:
        for number in range(rng.choice([1, 2])):
            text, known = device_function(rng, kind, number)
            lines += text
            device.append(known)
    writer = Writer(
        rng, kind, [*((f"{name}[i]", dtype) for name, dtype in arrays.items()), ("i", "int32")], device
    )
    if kind == "local arrays" or rng.random() < 0.1:
        writer.local_array()
    writer.new_variable()
    for _ in range(rng.choice([1, 2, 3])):
        writer.statement(2)
    for name, dtype in outputs.items():
        whole = dtype in INTEGERS
        text, kept = writer.expression(3, whole)
        made = [each for each in writer.variables if (each[1] in INTEGERS) == whole]
        if made:
            text = (
                writer.arithmetic("+", rng.choice(made), (text, kept))
                if whole
                else f"{rng.choice(made)[0]} + {text}"
            )
        writer.write(f"{name}[i] = {text};")
    given = [f"const {TYPES[dtype]}* {name}" for name, dtype in arrays.items()]
    given += [f"{TYPES[dtype]}* {name}" for name, dtype in outputs.items()]
    lines += [
        f'extern "C" __global__ void program({", ".join(given)}) {{',
        "    int i = threadIdx.x;",
        *writer.lines,
        "}",
    ]
    return Program(seed, kind, "\n".join(lines) + "\n", arrays, outputs)


def programs(count: int, first: int = 0) -> list[Program]:
    """Return `count` programs from the seeds that begin at `first`, each kind in turn."""
    return [generate(KINDS[k % len(KINDS)], first + k // len(KINDS)) for k in range(count)]
