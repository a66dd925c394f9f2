"""Where the types of numba_cuda_mlir 0.6.0 differ from Numba's, found by compiling each expression with both compilers.

The stand-in computes with the successor's types where they make sense: numbers of threads are int32, `&`, `|` and `^` keep
the width of their operands, `math.floor` of a float is an integer. The rest it refuses in one line, because the successor
gives a result that is easily overlooked (`math.sqrt` of an int32 is an int32), or does not compile.
`tests/corpora/kernels/names.py` has the expressions.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.numbas_types import Number

BITS = {ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor"}
WHOLE = ("floor", "ceil", "trunc")
COUNTS = ("popc", "clz", "ffs")  # their results are int32
OF_BOOLS = (math.isnan, math.isinf, math.isfinite)
SUBJECT = "numba_cuda_mlir"


def of_bits(one: Number, other: Number) -> str:
    """Return the type of `one & other`, `|` and `^`: the wider operand's, signed unless both are unsigned."""
    width = max(int(each.code[1]) for each in (one, other))
    return f"{'u' if one.unsigned and other.unsigned else 'i'}{width}"


def operation(operator: ast.operator, one: Number, other: Number) -> str:
    """Return why the successor's result of an operation is another one than Numba's; nothing if it is not.

    Parameters
    ----------
    operator
        The operator.
    one, other
        The types of the operands.
    """
    if isinstance(operator, ast.Pow) and one.whole and not other.whole:
        return f"{SUBJECT} compiles no power of an integer with a float exponent: write float(x) ** y"
    divided = ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift
    if isinstance(operator, divided) and "b1" in (one.code, other.code):
        return f"{SUBJECT} compiles no /, //, %, **, << and >> of a bool: write int(condition)"
    return ""


def comparison(one: Number, other: Number) -> str:
    """Return why the successor does not compile a comparison; nothing if it does."""
    mixed = "b1" in (one.code, other.code) and not (one.whole and other.whole)
    return f"{SUBJECT} compiles no comparison of a bool with a float: write int(condition)" if mixed else ""


def reduction(name: str, element: Number) -> str:
    """Return why an array's method or NumPy's function gives another result than Numba's; nothing for the same one."""
    if name == "sum" and (not element.whole or element.code in ("i8", "u8")):
        return ""
    if name == "sum":
        return f"a sum of {element.code} elements has their type with {SUBJECT}, and 64 bits with Numba: write a loop"
    return f"{name}() of an array is not compared with {SUBJECT}: write a loop"


def sign(operator: ast.unaryop, kind: Number) -> str:
    """Return why `-x` or `+x` is another number than Numba's; nothing if it is not."""
    if isinstance(operator, ast.USub) and kind.unsigned and kind.code != "u8":
        return f"-x of an unsigned integer is an int64 with {SUBJECT} and a uint64 with Numba: write 0 - int64(x)"
    if kind.code == "b1" and not isinstance(operator, ast.Invert):
        return f"{SUBJECT} compiles no - and + of a bool: write int(condition)"
    if isinstance(operator, ast.UAdd) and kind.whole and kind.code not in ("i8", "u8"):
        return f"+x of an integer has another type with {SUBJECT} than with Numba: write x"
    return ""


def call(function: Any, kinds: list[Number]) -> str:
    """Return why the successor's result of a call is another one than Numba's; nothing if it is not.

    Parameters
    ----------
    function
        A function of `math` or NumPy, or the name of a helper or of one of Python's functions.
    kinds
        The types of its arguments.
    """
    whole = [each for each in kinds if each.whole]
    if isinstance(function, str):
        return of_name(function, kinds[0], bool(whole))
    name = getattr(function, "__name__", "")
    if any(function is each for each in OF_BOOLS):
        return (
            f"{SUBJECT} compiles no {name}() of a bool: write int(condition)" if kinds[0].code == "b1" else ""
        )
    if isinstance(function, np.ufunc):
        return (
            f"numpy.{name}() of an integer: give {SUBJECT} a float, as numpy.{name}(float(x))"
            if whole
            else ""
        )
    if getattr(math, name, None) is not function:
        return ""
    if name == "ldexp":
        fits = not kinds[0].whole and kinds[-1].whole and kinds[-1].code != "b1"
        return (
            ""
            if fits
            else f"{SUBJECT} compiles math.ldexp() of a float and an integer alone: convert the arguments"
        )
    if len(kinds) == 1 and whole:
        return (
            f"math.{name}() of an integer is an integer with {SUBJECT}, and a float with Numba: write "
            f"math.{name}(float(x))"
        )
    first = kinds[0].code
    same = all(each.code == "f4" for each in kinds) or (
        first == "f8" and not any(each.code == "b1" for each in kinds)
    )
    same = same or (name == "pow" and first == "f4" and kinds[-1].code in ("i1", "i2", "i4"))
    if len(kinds) == 2 and not same:
        return (
            f"math.{name}() has the type of its first argument with {SUBJECT}, which Numba widens: give both arguments "
            "one float type"
        )
    return ""


def of_name(name: str, first: Number, has_whole: bool) -> str:
    """Return why a helper's or one of Python's functions' result is another one than Numba's; nothing if it is not."""
    if name in WHOLE and has_whole:
        return f"math.{name}() of an integer is an integer with {SUBJECT}, and a float with Numba: write x itself"
    if name in (*COUNTS, "brev"):
        wide = first.whole and first.code in ("i4", "i8", "u4", "u8")
        if not wide or (name == "brev" and not first.unsigned):
            kinds = "a uint32 or uint64" if name == "brev" else "an integer of 32 or 64 bits"
            return f"cuda.{name}() has another result with {SUBJECT} than with Numba: give it {kinds}"
    if name == "cbrt" and has_whole:
        return f"{SUBJECT} compiles no cuda.cbrt() of an integer: write cuda.cbrt(float(x))"
    if name == "round" and has_whole:
        return f"{SUBJECT} compiles no round() of an integer: write x itself"
    if name == "divmod":
        return f"{SUBJECT} compiles no divmod(): write x // y and x % y"
    if name == "abs" and first.code == "b1":
        return f"{SUBJECT} compiles no abs() of a bool: write int(condition)"
    return ""
