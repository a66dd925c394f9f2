"""The table of instructions that compute a value from values. `emitting.py` has those that do something else.

A row says which function of `instructions.hpp` computes it, the types of its result and operands, and the modifiers
that are known. An instruction with any other modifier is refused: a modifier that is overlooked is a wrong value.
"""

from __future__ import annotations

from dataclasses import dataclass

from rehearsal.ptx.parsing import Instruction, Unsupported
from rehearsal.ptx.types import FLOATS, WIDER, cpp

ROUNDING = {"rn": "FE_TONEAREST", "rz": "FE_TOWARDZERO", "rm": "FE_DOWNWARD", "rp": "FE_UPWARD"}
TO_INTEGER = {"rni": "FE_TONEAREST", "rzi": "FE_TOWARDZERO", "rmi": "FE_DOWNWARD", "rpi": "FE_UPWARD"}
EXACT = frozenset({"rn", "approx", "full"})  # computed to the nearest number


@dataclass(frozen=True)
class Row:
    """How one instruction is computed.

    In `result` and `operands`, a letter stands for a type: t the instruction's own, w the one twice as wide,
    u 32 bits without sign. `modifiers` are those that the instruction may have beside its type.
    """

    function: str
    result: str
    operands: str
    modifiers: frozenset[str] = frozenset()


def _row(function: str, shape: str, modifiers: str = "") -> Row:
    result, operands = shape.split("=")
    return Row(function, result, operands, frozenset(modifiers.split()))


ROUNDED = "rn rz rm rp ftz sat"
TABLE: dict[str, Row] = {
    "add": _row("add", "t=tt", ROUNDED),
    "sub": _row("sub", "t=tt", ROUNDED),
    "mul": _row("mul", "t=tt", ROUNDED),
    "mul.lo": _row("mul_lo", "t=tt"),
    "mul.hi": _row("mul_hi", "t=tt"),
    "mul.wide": _row("mul_wide", "w=tt"),
    "mul24.lo": _row("mul24_lo", "t=tt"),
    "mad.lo": _row("mad_lo", "t=ttt"),
    "mad.hi": _row("mad_hi", "t=ttt"),
    "mad.wide": _row("mad_wide", "w=ttw"),
    "mad24.lo": _row("mad24_lo", "t=ttt"),
    "mad": _row("fma_", "t=ttt", ROUNDED),
    "fma": _row("fma_", "t=ttt", ROUNDED),
    "div": _row("div", "t=tt", "rn rz rm rp ftz approx full"),
    "rem": _row("rem", "t=tt"),
    "min": _row("min", "t=tt", "ftz"),
    "max": _row("max", "t=tt", "ftz"),
    "neg": _row("neg", "t=t", "ftz"),
    "abs": _row("abs_", "t=t", "ftz"),
    "copysign": _row("copysign_", "t=tt"),
    "sqrt": _row("sqrt_", "t=t", "rn rz rm rp ftz approx"),
    "rsqrt": _row("rsqrt", "t=t", "ftz approx"),
    "rcp": _row("rcp", "t=t", "rn rz rm rp ftz approx"),
    "ex2": _row("ex2", "t=t", "ftz approx"),
    "lg2": _row("lg2", "t=t", "ftz approx"),
    "sin": _row("sin_", "t=t", "ftz approx"),
    "cos": _row("cos_", "t=t", "ftz approx"),
    "tanh": _row("tanh_", "t=t", "approx"),
    "sad": _row("sad", "t=ttt"),
    "and": _row("and_", "t=tt"),
    "or": _row("or_", "t=tt"),
    "xor": _row("xor_", "t=tt"),
    "not": _row("not_", "t=t"),
    "cnot": _row("cnot", "t=t"),
    "shl": _row("shl", "t=tu"),
    "shr": _row("shr", "t=tu"),
    "shf.l.wrap": _row("shf_l_wrap", "u=uuu"),
    "shf.r.wrap": _row("shf_r_wrap", "u=uuu"),
    "shf.l.clamp": _row("shf_l_clamp", "u=uuu"),
    "shf.r.clamp": _row("shf_r_clamp", "u=uuu"),
    "popc": _row("popc", "u=t"),
    "clz": _row("clz", "u=t"),
    "brev": _row("brev", "t=t"),
    "bfind": _row("bfind", "u=t"),
    "bfind.shiftamt": _row("bfind_shiftamt", "u=t"),
    "bfi": _row("bfi", "t=ttuu"),
    "bfe": _row("bfe", "t=tuu"),
    "lop3": _row("lop3", "u=uuuu"),
    "prmt": _row("prmt", "u=uuu"),
}
PLAIN = {"lop3", "prmt", "shf_l_wrap", "shf_r_wrap", "shf_l_clamp", "shf_r_clamp"}  # no templates
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def row_of(instruction: Instruction) -> tuple[Row, frozenset[str]] | None:
    """Return the row of an instruction and the modifiers that are left to the row, or None if there is no row."""
    parts = (instruction.name, *instruction.modifiers[:-1])
    for length in range(len(parts), 0, -1):
        found = TABLE.get(".".join(parts[:length]))
        if found is not None:
            return found, frozenset(parts[length:])
    return None


def value(instruction: Instruction, row: Row, modifiers: frozenset[str], operands: list[str]) -> str:
    """Return the C++ expression of what an instruction computes; its operands have been read as `types` says."""
    if modifiers - row.modifiers:
        raise Unsupported(f"the modifier .{min(modifiers - row.modifiers)}")
    type_ = cpp(instruction.modifiers[-1])
    if "f" not in type_ and modifiers:
        raise Unsupported(f"the modifier .{min(modifiers)} of whole numbers")
    if "ftz" in modifiers and type_ == "f32":
        operands = [f"flushed({each})" for each in operands]
    call = row.function if row.function in PLAIN else f"{row.function}<{type_}>"
    direction = modifiers & (ROUNDING.keys() - EXACT)
    if direction and type_ not in ("f32", "f64"):
        raise Unsupported(f"the modifier .{min(direction)} of .{type_}")
    if direction:
        opaque = ", ".join(f"opaque({each})" for each in operands)
        text = f"rounded<{ROUNDING[min(direction)]}, {type_}>([&] {{ return {call}({opaque}); }})"
    else:
        text = f"{call}({', '.join(operands)})"
    if "ftz" in modifiers and type_ == "f32":
        text = f"flushed({text})"
    if "sat" in modifiers:
        if type_ in ("f16x2", "bf16x2"):
            raise Unsupported("the modifier .sat of a pair")
        text = f"saturated<{type_}>({text})"
    return text


def types(instruction: Instruction, row: Row) -> tuple[str, list[str]]:
    """Return the C++ types of the result and of each operand."""
    own = cpp(instruction.modifiers[-1])
    if "w" in row.result + row.operands and own not in WIDER:
        raise Unsupported(f"the type .{own}")
    named = {"t": own, "u": "u32", "w": WIDER.get(own, "")}
    return named[row.result], [named[letter] for letter in row.operands]


def comparison(modifiers: tuple[str, ...], a: str, b: str, type_: str) -> str:
    """Return the C++ expression of one comparison of `setp`; with a `u` at its end it holds of NaN, too."""
    name = modifiers[0]
    if "ftz" in modifiers and type_ == "f32":
        a, b = f"flushed({a})", f"flushed({b})"
    if name in COMPARISONS:
        return f"{name}<{type_}>({a}, {b})"
    if name in UNSIGNED and type_ not in FLOATS:
        return f"{UNSIGNED[name]}<{type_}>({a}, {b})"
    if name[:-1] in COMPARISONS and name.endswith("u") and type_ in FLOATS:
        return f"(!ordered<{type_}>({a}, {b}) || {name[:-1]}<{type_}>({a}, {b}))"
    if name in ("num", "nan"):
        return f"{'!' if name == 'nan' else ''}ordered<{type_}>({a}, {b})"
    raise Unsupported(f"the comparison .{name}")


def conversion(modifiers: tuple[str, ...], operand: str) -> str:
    """Return the C++ expression of `cvt`, whose operand has been read as its source type."""
    to, source = (cpp(each) for each in modifiers[-2:])
    more = set(modifiers[:-2])
    if {to, source} & {"f16x2", "bf16x2", "pred"}:
        raise Unsupported("the conversion of a pair")
    if unknown := more - ROUNDING.keys() - TO_INTEGER.keys() - {"ftz", "sat"}:
        raise Unsupported(f"the modifier .{min(unknown)}")
    mode = next(iter(more & TO_INTEGER.keys()), None)
    direction = next(iter(more & ROUNDING.keys()), "rn")
    if "ftz" in more and source == "f32":
        operand = f"flushed({operand})"
    if source in FLOATS and to not in FLOATS:
        if mode is None:
            raise Unsupported("a conversion to a whole number that does not say how to round")
        return f"to_integer<{to}, {source}>({operand}, {TO_INTEGER[mode]})"
    if to not in FLOATS:
        return f"clamped<{to}>({operand})" if "sat" in more else f"{to}({operand})"
    if mode is not None:
        operand = f"whole<{source}>({operand}, {TO_INTEGER[mode]})"
    text = f"to_float<{to}, {source}>({operand})"
    if direction != "rn":
        if to not in ("f32", "f64"):
            raise Unsupported(f"the modifier .{direction} of .{to}")
        text = f"rounded<{ROUNDING[direction]}, {to}>([&] {{ return to_float<{to}, {source}>(opaque({operand})); }})"
    if "ftz" in more and to == "f32":
        text = f"flushed({text})"
    return f"saturated<{to}>({text})" if "sat" in more else text
