"""Makes programs of array expressions from seeds: right ones in the main, and the mistakes of learners.

NumPy runs each statement first, so that shapes mostly fit; it does not decide what is right. CuPy does.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

LONGEST = 48  # elements of an array
STATEMENTS = 3, 8  # at least and at most, beside those that make arrays
MISTAKES = 0.12  # of the statements that NumPy refuses, how many stay


def words(text: str) -> list[str]:
    return text.split()


DTYPES = words("f4 f8 i4 i8 u1 ? u4 f2 i1 i2 u2 u8 c8 c16")
# The dtypes of a program, and how often: few pairs, so that the real CuPy compiles few kernels.
PAIRS = {
    ("f4", "i4"): 5, ("f4", "u1"): 4, ("f8", "i8"): 5, ("f4", "f8"): 3, ("i4", "?"): 3, ("i8", "u1"): 3, ("f4", "u4"): 2,
    ("f2", "f4"): 2, ("i1", "i2"): 1, ("u8", "i8"): 1, ("c8", "f4"): 1, ("c16", "f8"): 1, ("u2", "i4"): 1,
}  # fmt: skip

OPERATORS = words("+ + + - - * * / / // % ** & | ^ << >> < <= == != > >=")
BINARY = words("""
maximum minimum arctan2 hypot copysign fmod fmax fmin logaddexp logical_and logical_or logical_xor gcd lcm heaviside
float_power floor_divide remainder divmod ldexp power true_divide
""")
UNARY = words("""
negative positive absolute sqrt square exp log sin cos tanh floor ceil trunc rint fix sign isnan isinf isfinite
logical_not invert reciprocal conjugate signbit exp2 log2 log1p expm1 cbrt fabs deg2rad arctan modf frexp sinc
""")
REDUCTIONS = words("sum sum prod max min mean var std all any argmax argmin")
FUNCTIONS_OF_AXIS = words(
    "sum prod max min mean all any argmax cumsum cumprod sort argsort median ptp nansum nanmax count_nonzero flip"
)
KERNELS = {
    "cp.ElementwiseKernel('T x', 'T y', 'y = x + x', 'twice')": "{a} + {a}",
    "cp.ElementwiseKernel('T x, T y', 'T z', 'z = x > y ? x : y', 'larger')": "np.maximum({a}, {a})",
    "cp.ElementwiseKernel('float32 x', 'uint8 y', 'y = x', 'narrow')": "{a}.astype('u1')",
    "cp.ElementwiseKernel('T x, S y', 'S z', 'z = x * y', 'scaled')": "{a} * {a}",
    "cp.ReductionKernel('T x', 'T y', 'x * x', 'a + b', 'y = a', '0', 'squares')": "({a} * {a}).sum()",
}

FUSED = (
    "x * y + 1",
    "cp.maximum(x, y) - x",
    "cp.sqrt(x * x + y * y)",
    "cp.where(x > y, x, y)",
    "cp.sum(x * y)",
)


class Program:
    """A program that grows: its statements, and NumPy's values of its variables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.statements: list[str] = []
        self.values: dict[str, Any] = {"cp": np, "np": np}
        self.dtypes = self.random.choices(list(PAIRS), list(PAIRS.values()))[0]
        self.made = 0

    # -- choices

    def one_of(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def likely(self, chance: float) -> bool:
        return self.random.random() < chance

    def array(self, fits: Callable[[np.ndarray], bool] = lambda each: True) -> str:
        """Return the name of an array; one that fits, if there is one."""
        arrays = [name for name, value in self.values.items() if isinstance(value, np.ndarray)]
        fitting = [name for name in arrays if fits(self.values[name])]
        # Those made last are more interesting than those made first.
        chosen = fitting or arrays
        return chosen[-1] if self.likely(0.3) else self.random.choice(chosen)

    def shape(self) -> tuple[int, ...]:
        sizes = self.one_of(
            (),
            (1,),
            (3,),
            (4,),
            (5,),
            (6,),
            (2, 3),
            (3, 2),
            (2, 2),
            (3, 1),
            (1, 3),
            (2, 3, 2),
            (0,),
            (2, 0),
            (3, 3),
            (12,),
        )
        return sizes  # fmt: skip

    def dtype(self) -> str:
        return self.random.choice(self.dtypes) if self.likely(0.96) else self.one_of(*DTYPES)

    def number(self) -> str:
        return self.one_of("0", "1", "2", "3", "-1", "-2", "7", "100", "300", "0.5", "1.5", "-0.5", "2.0", "True", "1j", "1e10",
                           "np.float32(1.5)", "np.int64(3)", "np.uint8(200)", "np.float64(0.1)")  # fmt: skip

    def element(self, dtype: str) -> str:
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.one_of("True", "False")
        if kind == "u":
            return self.one_of("0", "1", "2", "3", "5", "100", "200", str(np.iinfo(dtype).max))
        if kind == "i":
            return self.one_of(
                "0",
                "1",
                "2",
                "3",
                "-1",
                "-2",
                "-7",
                "100",
                str(np.iinfo(dtype).max),
                str(np.iinfo(dtype).min),
            )
        if kind == "f":
            return self.one_of(
                "0.0",
                "1.0",
                "2.0",
                "-1.0",
                "0.5",
                "-2.5",
                "3.25",
                "100.0",
                "300.7",
                "-5.0",
                "1e4",
                "float('nan')",
                "float('inf')",
            )
        return self.one_of("0", "1", "1j", "1 + 2j", "-2.5", "3 - 1j")  # fmt: skip

    def axis(self, name: str) -> str:
        ndim = self.values[name].ndim
        if self.likely(0.25) or not ndim:
            return self.one_of("None", "None", "0", "-1")
        if self.likely(0.06):
            return self.one_of(str(ndim), "1.0", "(0, 0)", "'0'")
        if ndim > 1 and self.likely(0.15):
            return "(0, 1)"
        return str(self.random.randrange(-ndim, ndim))

    def operand(self) -> str:
        """Return an array or a number; rarely what CuPy refuses."""
        if self.likely(0.03):
            return self.one_of("np.arange(3)", "[1, 2]", "None", "'a'")
        return self.array() if self.likely(0.7) else self.number()

    def index(self, name: str) -> str:
        value = self.values[name]
        if self.likely(0.05):
            return self.one_of("9", "1.0", "'a'", "0, 0, 0, 0", "::0")
        if value.ndim and self.likely(0.15):
            return f"{name} > {self.one_of('0', '1', '2')}"
        items = []
        for length in value.shape[: self.random.randint(0, value.ndim)]:
            whole = f"{self.random.randint(-length, length - 1)}" if length else ":"
            items.append(
                self.one_of(whole, ":", "1:", ":-1", "::2", "::-1", "1::2", "-2:", "[0, -1]", "cp.array([1, 0, 1])")
            )  # fmt: skip
        if self.likely(0.1):
            items.insert(0, "None")
        if self.likely(0.1):
            items.append("...")
        return ", ".join(items) or "..."

    # -- statements

    def make(self) -> str:
        dtype, shape = self.dtype(), self.shape()
        size = int(np.prod(shape))
        if np.dtype(dtype).kind in "iuf" and self.likely(0.35):
            base = f"cp.arange({size}, dtype='{dtype}')"
        elif self.likely(0.1):
            return f"cp.{self.one_of('zeros', 'ones')}({shape}, '{dtype}')"
        else:
            items = ", ".join(self.element(dtype) for _ in range(size))
            base = f"cp.array([{items}], '{dtype}')"
        if shape == (size,):
            return base
        order = self.one_of("", "", "", ", order='F'")
        return f"{base}.reshape({shape}{order})"

    def binary(self) -> str:
        a, b = self.array(), self.operand()
        if self.likely(0.2):
            a, b = b, a
        if self.likely(0.7):
            return f"{a} {self.one_of(*OPERATORS)} {b}"
        return f"cp.{self.one_of(*BINARY)}({a}, {b}{self.options()})"

    def options(self) -> str:
        if self.likely(0.85):
            return ""
        return self.one_of(
            f", out={self.array()}", f", dtype='{self.dtype()}'", f", out={self.array()}, casting='unsafe'"
        )

    def unary(self) -> str:
        a = self.array() if self.likely(0.95) else self.operand()
        if self.likely(0.1):
            return f"{self.one_of('-', '~', 'abs', '+')}({a})"
        return f"cp.{self.one_of(*UNARY)}({a}{self.options()})"

    def reduction(self) -> str:
        a = self.array()
        axis = self.axis(a)
        keep = self.one_of("", "", ", keepdims=True")
        if self.likely(0.5):
            name = self.one_of(*REDUCTIONS)
            dtype = (
                f", dtype='{self.dtype()}'" if name in ("sum", "prod", "mean") and self.likely(0.2) else ""
            )
            return f"{a}.{name}(axis={axis}{dtype}{keep})"
        name = self.one_of(*FUNCTIONS_OF_AXIS)
        if self.likely(0.05):
            a = self.operand()
        if name in ("cumsum", "cumprod", "sort", "argsort", "count_nonzero", "flip"):
            keep = ""
        return f"cp.{name}({a}, axis={axis}{keep})"

    def reshaped(self) -> str:
        a = self.array()
        value = self.values[a]
        size = value.size
        shapes = [
            "-1",
            f"({size}, 1)",
            f"(1, {size})",
            *(f"({n}, {size // n})" for n in (2, 3, 4) if size and size % n == 0),
            "(2, -1)",
        ]
        order = self.one_of("", "", ", order='F'", ", order='A'", ", order='C'")
        copy = self.one_of(*[""] * 8, ", copy=True", ", copy=False", ", copy=None")
        ndim = value.ndim
        axes = list(range(ndim))
        self.random.shuffle(axes)
        return self.one_of(
            f"{a}.reshape({self.random.choice(shapes)}{order}{copy})",
            f"{a}.reshape({self.random.choice(shapes)}{order})",
            f"{a}.T",
            f"{a}.transpose({tuple(axes)})",
            f"{a}.ravel({self.one_of('', repr('F'), repr('K'), repr('A'))})",
            f"{a}.flatten({self.one_of('', repr('F'))})",
            f"{a}.squeeze()",
            f"cp.expand_dims({a}, {self.random.randint(-1, ndim)})",
            f"cp.swapaxes({a}, 0, {self.random.randint(-1, max(ndim - 1, 0))})",
            f"cp.broadcast_to({a}, {(2, *value.shape)})",
            f"cp.flip({a}, {self.axis(a)})",
            f"cp.roll({a}, {self.one_of('1', '-2')}, {self.axis(a)})",
            f"cp.repeat({a}, {self.one_of('2', '1', '0')}, {self.axis(a)})",
            f"cp.tile({a}, {self.one_of('2', '(2, 1)')})",
            f"cp.moveaxis({a}, 0, -1)",
            f"cp.atleast_2d({a})",
        )  # fmt: skip

    def joined(self) -> str:
        a = self.array()
        b = self.array(lambda each: each.shape == self.values[a].shape)
        axis = self.one_of("0", "0", "-1", "1", "None")
        return self.one_of(
            f"cp.concatenate([{a}, {b}], axis={axis})",
            f"cp.stack([{a}, {b}], axis={self.one_of('0', '-1', '1')})",
            f"cp.vstack([{a}, {b}])",
            f"cp.hstack([{a}, {b}])",
            f"cp.array([{a}, {b}])",
        )

    def taken(self) -> str:
        a = self.array()
        return f"{a}[{self.index(a)}]"

    def converted(self) -> str:
        a = self.array()
        order = self.one_of("", "", ", order='C'", ", order='F'", ", order='K'")
        return self.one_of(
            f"{a}.astype('{self.one_of(*DTYPES)}'{order})",
            f"{a}.astype('{self.dtype()}', copy=False)",
            f"cp.asarray({a}, dtype='{self.dtype()}')",
            f"{a}.copy({self.one_of('', repr('K'), repr('F'))})",
            f"cp.ascontiguousarray({a})",
            f"cp.zeros_like({a})",
            f"cp.full_like({a}, {self.number()})",
            f"{a}.view('{self.dtype()}')" if "?" not in self.dtypes else f"{a}.view()",
        )  # fmt: skip

    def picked(self) -> str:
        a, b = self.array(), self.operand()
        return self.one_of(
            f"cp.where({a} > {self.number()}, {a}, {b})",
            f"cp.where({a}, {self.operand()}, {b})",
            f"cp.clip({a}, {self.one_of('0', '1', '-1', 'None')}, {self.one_of('2', '100', 'None', '1.5')})",
            f"cp.round({a}, {self.one_of('0', '1', '-1')})",
            f"cp.sort({a}, {self.one_of('-1', '0', 'None')})",
            f"cp.argsort({a}, {self.one_of('-1', '0', 'None')})",
            f"cp.unique({a})",
            f"cp.diff({a})",
            f"cp.nonzero({a})",
            f"cp.take({a}, {self.one_of('0', '[0, 1]', 'cp.array([1, -1])')}, axis={self.one_of('None', '0', '-1')})",
            f"cp.searchsorted(cp.sort(cp.ravel({a})), {b})",
            f"cp.dot({a}, {self.array()})",
            f"cp.matmul({a}, {self.array()})",
            f"{a} @ {self.array()}",
            f"cp.array_equal({a}, {b})",
            f"cp.allclose({a}, {b})",
            f"cp.triu({a})",
            f"cp.pad({a}, 1)",
            f"cp.outer({a}, {self.array()})",
            f"cp.isin({a}, {self.array()})",
            f"cp.bincount({a})",
            f"cp.trace({a})",
            f"cp.diag({a})",
            f"cp.nan_to_num({a})",
            f"cp.linspace({self.number()}, {self.number()}, {self.one_of('0', '1', '4')})",
            f"cp.arange({self.number()}, {self.number()})",
            f"cp.take_along_axis({a}, cp.argsort({a}, -1), -1)",
            f"cp.percentile({a}, {self.one_of('50', '[25, 75]')})",
            f"cp.var({a}, ddof=1)",
            f"cp.split({a}, 2)",
            f"cp.array_split({a}, 2, {self.one_of('0', '-1')})",
            f"cp.append({a}, {b})",
            f"cp.inner({a}, {self.array()})",
            f"cp.meshgrid({a}, {self.array()})",
            f"cp.stack(cp.broadcast_arrays({a}, {self.array()}))",
            f"cp.full({self.one_of('3', '(2, 2)', '()')}, {self.number()}, '{self.dtype()}')",
            f"cp.eye({self.one_of('2', '3')}, dtype='{self.dtype()}')",
        )  # fmt: skip

    def plain(self) -> str:
        a = self.array()
        return self.one_of(
            f"{a}.shape", f"{a}.strides", f"{a}.flags.f_contiguous", f"{a}.get()", f"{a}.tolist()", f"{a}.item()", f"float({a})",
            f"int({a})", f"bool({a})", f"len({a})", f"{a}.ndim", f"str({a}.dtype)",
        )  # fmt: skip

    # -- growing

    def expression(self) -> str:
        ways = {
            self.binary: 9, self.unary: 5, self.reduction: 5, self.reshaped: 5, self.joined: 2, self.taken: 4, self.converted: 3,
            self.picked: 5, self.plain: 1, self.make: 1,
        }  # fmt: skip
        return self.random.choices(list(ways), list(ways.values()))[0]()

    def change(self) -> str:
        """Return a statement that changes an array."""
        a = self.array()
        if self.likely(0.2):
            return self.one_of(
                f"cp.add.at({a}, cp.array([0, 0, -1]), {self.number()})",
                f"{a}.sort({self.one_of('', '0')})",
                f"{a}.fill({self.number()})",
                f"cp.putmask({a}, {a} > 1, {self.number()})",
                f"cp.copyto({a}, {self.operand()}, casting='{self.one_of('same_kind', 'unsafe')}')",
                f"cp.sum({a}, out={self.array(lambda each: each.ndim == 0)})",
                f"cp.cumsum({a}, axis=0, out={self.array()})",
                f"{a}.put([0, -1], {self.number()})",
                f"cp.fill_diagonal({a}, {self.number()})",
            )  # fmt: skip
        if self.likely(0.4):
            return f"{a} {self.one_of('+', '-', '*', '/', '//', '%', '**', '&', '|', '<<')}= {self.operand()}"
        return f"{a}[{self.index(a)}] = {self.operand()}"

    def kernel(self) -> tuple[str, str]:
        """Return the statement of a user-defined kernel, and an expression of NumPy that gives its shape."""
        text, model = self.random.choice(list(KERNELS.items()))
        count = text.partition("', '")[0].count(",") + 1
        a, b = self.array(), self.array() if self.likely(0.7) else self.number()
        arguments = [a, b][:count]
        axis = f", axis={self.axis(a)}" if "Reduction" in text else ""
        return f"{text}({', '.join(arguments)}{axis})", model.format(a=a)

    def fused(self, name: str) -> tuple[str, str]:
        """Return the statement that calls a fused function, and the same without fusion."""
        body = self.one_of(*FUSED)
        a, b = self.array(), self.array() if self.likely(0.7) else self.number()
        return (
            f"@cp.fuse()\ndef fused(x, y):\n    return {body}\n{name} = fused({a}, {b})",
            f"{name} = (lambda x, y: {body})({a}, {b})",
        )

    def grow(self) -> None:
        """Add one statement."""
        for _ in range(30):
            name = f"{'abcdefghij'[self.made % 10]}{self.made // 10 or ''}"
            if self.likely(0.02):
                statement, model = self.fused(name)
            elif self.likely(0.06):
                expression, model = self.kernel()
                statement, model = f"{name} = {expression}", f"{name} = {model}"
            elif self.likely(0.25):
                statement = model = self.change()
            else:
                statement = model = f"{name} = {self.expression()}"
            if self.works(model) or self.likely(MISTAKES):
                self.statements.append(statement)
                self.made += f"{name} = " in statement
                return

    def works(self, statement: str) -> bool:
        """Run a statement with NumPy; its values stay if it works and no array becomes too long."""
        before = {name: _copied(value) for name, value in self.values.items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec(statement, self.values)
            except Exception:
                self.values = before
                return False
        self.values = {
            name: np.asarray(value) if isinstance(value, np.generic) else value
            for name, value in self.values.items()
        }
        if any(isinstance(value, np.ndarray) and (value.size > LONGEST or value.ndim > 4 or value.dtype.char not in "?bBhHiIlLqQefdFD")
               for value in self.values.values()):  # fmt: skip
            self.values = before
            return False
        return True


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def program(seed: int) -> list[str]:
    """Return the statements of the program of a seed."""
    made = Program(seed)
    while made.made < 2:
        name = "abcdefghij"[made.made]
        statement = f"{name} = {made.make()}"
        if made.works(statement):
            made.statements.append(statement)
            made.made += 1
    for _ in range(made.random.randint(*STATEMENTS)):
        made.grow()
    return made.statements
