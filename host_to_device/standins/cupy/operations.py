"""The element-wise functions that `cupy.fuse` can put into one kernel, each with its CUDA C++ and its types."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins.cupy.generated import type_name

# CuPy compares integers with 64 bits, also those of two signs (_routines_logic.pyx, `create_comparison`).
COMPARISONS = dict(greater=">", greater_equal=">=", less="<", less_equal="<=", equal="==", not_equal="!=")
COMPARED = [f"{each}->?" for each in ("??", "qq", "QQ", "qQ", "Qq", "ee", "ff", "dd", "FF", "DD")]
# CuPy's name → the expression for its operands {0}, {1}, ...; types follow the NumPy function of the same name.
EXPRESSIONS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "true_divide": "{0} / {1}",
    "divide": "{0} / {1}",
    "floor_divide": "fused_floor_divide({0}, {1})",
    "remainder": "fused_remainder({0}, {1})",
    "mod": "fused_remainder({0}, {1})",
    "power": "fused_power({0}, {1})",
    "negative": "-{0}",
    "positive": "{0}",
    "absolute": "({0} < 0 ? -{0} : {0})",
    "abs": "({0} < 0 ? -{0} : {0})",
    "fabs": "fabs({0})",
    "sign": "({0} != {0} ? {0} : ({0} > 0) - ({0} < 0))",
    "square": "{0} * {0}",
    "reciprocal": "1 / {0}",
    "sqrt": "sqrt({0})",
    "cbrt": "cbrt({0})",
    "exp": "exp({0})",
    "exp2": "exp2({0})",
    "expm1": "expm1({0})",
    "log": "log({0})",
    "log2": "log2({0})",
    "log10": "log10({0})",
    "log1p": "log1p({0})",
    **{name: f"{name}({{0}})" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{name}": f"a{name}({{0}})" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "atan2({0}, {1})",
    "hypot": "hypot({0}, {1})",
    "copysign": "copysign({0}, {1})",
    "fmod": "fmod({0}, {1})",
    **{name: f"{name}({{0}})" for name in ("floor", "ceil", "trunc", "rint")},
    "maximum": "({0} != {0} || {1} != {1} ? ({0} != {0} ? {0} : {1}) : ({0} > {1} ? {0} : {1}))",
    "minimum": "({0} != {0} || {1} != {1} ? ({0} != {0} ? {0} : {1}) : ({0} < {1} ? {0} : {1}))",
    "fmax": "fmax({0}, {1})",
    "fmin": "fmin({0}, {1})",
    **{name: f"{{0}} {sign} {{1}}" for name, sign in COMPARISONS.items()},
    **dict(logical_and="({0} && {1})", logical_or="({0} || {1})", logical_not="!{0}"),
    "logical_xor": "(!{0} != !{1})",
    **dict(bitwise_and="{0} & {1}", bitwise_or="{0} | {1}", bitwise_xor="{0} ^ {1}"),
    **dict(left_shift="{0} << {1}", right_shift="{0} >> {1}"),
    "isnan": "({0} != {0})",
    "isinf": "isinf({0})",
    "isfinite": "isfinite({0})",
    "deg2rad": "{0} * 0.017453292519943295",
    "rad2deg": "{0} * 57.29577951308232",
}
# Those that the header for complex numbers has.
OF_COMPLEX = {
    *(
        "add",
        "subtract",
        "multiply",
        "true_divide",
        "divide",
        "power",
        "negative",
        "positive",
        "absolute",
        "abs",
    ),
    *(
        "square",
        "reciprocal",
        "sqrt",
        "exp",
        "log",
        "log10",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "isnan",
    ),
    *("logical_and", "logical_or", "logical_xor", "logical_not"),
    *COMPARISONS,
}
# `~` is another operation on bool than on integers.
INVERT = {"b": "!{0}", "": "~{0}"}

# Reductions: the identity, and the expression that combines two values.
REDUCTIONS = {
    "sum": ("0", "a + b"),
    "prod": ("1", "a * b"),
    "any": ("false", "a || b"),
    "all": ("true", "a && b"),
    "max": ("", "a != a || b != b ? (a != a ? a : b) : (a > b ? a : b)"),
    "min": ("", "a != a || b != b ? (a != a ? a : b) : (a < b ? a : b)"),
}

PREAMBLE = r"""
template <typename T> __device__ T fused_remainder(T a, T b) {
  if constexpr (T(1) / T(2) != T(0)) {
    T product = floor(a / b) * b;
    return a - product;
  } else {
    if (b == 0) return 0;
    T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
}
template <typename T> __device__ T fused_floor_divide(T a, T b) {
  if constexpr (T(1) / T(2) != T(0)) {
    return floor(a / b);
  } else {
    return b == 0 ? 0 : (a - fused_remainder(a, b)) / b;
  }
}
template <typename T> __device__ T fused_power(T a, T b) {
  if constexpr (T(1) / T(2) != T(0)) {
    return pow(a, b);
  } else {
    if (b < 0) return a == 1 ? 1 : a == T(-1) ? (b & 1 ? -1 : 1) : 0;
    T result = 1;
    for (; b > 0; b >>= 1, a *= a)
      if (b & 1) result *= a;
    return result;
  }
}
"""


def types_of(name: str, operands: list[Any]) -> tuple[list[np.dtype], np.dtype]:
    """Return the dtypes that a function's operands are converted to, and the dtype of its result.

    Parameters
    ----------
    name
        CuPy's name.
    operands
        A dtype for each array or NumPy scalar; int, float or complex for a Python number.

    Raises
    ------
    TypeError
        If there is no such function of these types.
    """
    if name in ("subtract", "negative") and all(each == np.dtype(bool) for each in operands):
        raise TypeError(f"cupy.{name} of bool is not supported: use logical_xor or logical_not")
    of_integers = [f"{each}{each}->d" for each in "bBhHiIlL"] if name in ("true_divide", "divide") else []
    for types in COMPARED if name in COMPARISONS else [*of_integers, *getattr(np, name).types]:
        inputs, _, outputs = types.partition("->")
        if set(types) & set("gGOmMSUV") or len(inputs) != len(operands):
            continue
        dtypes = [np.dtype(each) for each in inputs]
        if all(map(_fits, operands, dtypes)):
            result = np.dtype(outputs[0])
            return ([result] * 2 if types in of_integers else dtypes), result
    kinds = tuple(np.dtype(each) for each in operands)
    raise TypeError(f"Wrong type ({kinds}) of arguments for cupy_{name}")


def _fits(operand: Any, dtype: np.dtype) -> bool:
    """Return whether a fused operation of a dtype takes an operand.

    CuPy takes the first of its operations whose dtypes fit. A Python number fits every dtype of its kind, so that a
    uint8 and 1.5 give a float16 here, and a float64 without `cupy.fuse` (_kernel.pyx, `_guess_routine_from_in_types`).
    """
    if np.can_cast(operand, dtype):
        return True
    return isinstance(operand, type) and np.result_type(operand(0), dtype) == dtype


def expression(name: str, dtypes: list[np.dtype]) -> str:
    """Return the C++ for a function of operands of these types."""
    if name == "invert":
        return INVERT.get(dtypes[0].kind, INVERT[""])
    if name in COMPARISONS and {each.kind for each in dtypes} == {"i", "u"}:
        sign = COMPARISONS[name]
        signed = "{0}" if dtypes[0].kind == "i" else "{1}"
        with_zero = f"{{0}} {sign} 0" if signed == "{0}" else f"0 {sign} {{1}}"
        return f"({signed} < 0 ? {with_zero} : {{0}} {sign} {{1}})"
    if name in ("absolute", "abs") and dtypes[0].kind in "cub":
        return "abs({0})" if dtypes[0].kind == "c" else "{0}"
    if dtypes[0].kind in "iub" and name in ("isnan", "isinf", "isfinite"):  # C++ has them for floats only
        return "true" if name == "isfinite" else "false"
    if dtypes[0].kind == "c" and name in ("power",):
        return "pow({0}, {1})"
    if dtypes[0].kind == "b" and name in ("add", "multiply"):
        return {"add": "({0} || {1})", "multiply": "({0} && {1})"}[name]
    return EXPRESSIONS[name]


def reduction(name: str, dtype: np.dtype) -> tuple[str, str]:
    """Return a reduction's identity and the expression that combines two values, as C++ text.

    Raises
    ------
    TypeError
        If values of this type have no order.
    """
    identity, combine = REDUCTIONS[name]
    if identity:
        return literal({"0": 0, "1": 1, "false": False, "true": True}[identity], dtype), combine
    if dtype.kind == "c":
        raise TypeError(f"cupy.fuse has no {name} of complex numbers")
    if dtype.kind == "f":
        bound = -np.inf if name == "max" else np.inf
    elif dtype.kind == "b":
        bound = name == "min"
    else:
        bound = np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max
    return literal(bound, dtype), combine


def literal(value: Any, dtype: np.dtype) -> str:
    """Return a number as C++ text of this type."""
    number = np.empty((), dtype)
    if isinstance(value, int) and dtype.kind in "iu":  # the lowest bits stay, as in C
        value &= (1 << 8 * dtype.itemsize) - 1
        number = np.array(value, f"u{dtype.itemsize}").view(dtype)
    else:
        number[()] = value
    value = number.item()
    name = type_name(dtype)
    if dtype.kind == "c":
        return f"{name}({real(value.real)}, {real(value.imag)})"
    if dtype.kind == "b":
        return str(value).lower()
    if dtype.kind == "f":
        return f"{'float' if dtype.itemsize == 2 else name}({real(value)})"
    if value == -(2**63):
        return "(-9223372036854775807ll - 1)"
    return f"static_cast<{name}>({value}{'ull' if dtype.kind == 'u' else 'll'})"


def real(value: float) -> str:
    if np.isnan(value):
        return "(0.0 / 0.0)"
    if np.isinf(value):
        return "(1.0 / 0.0)" if value > 0 else "(-1.0 / 0.0)"
    return repr(value)
