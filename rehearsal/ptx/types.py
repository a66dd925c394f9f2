"""PTX's types, and the C++ types of `instructions.hpp` that stand for them."""

from __future__ import annotations

from rehearsal.ptx.parsing import Unsupported

CPP = {
    "pred": "pred",
    **{f"b{n}": f"u{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"u{n}" for n in (8, 16, 32, 64)},
    **{f"s{n}": f"s{n}" for n in (8, 16, 32, 64)},
    **{name: name for name in ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")},
}
SIZES = {"pred": 1, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4} | {
    f"{kind}{n}": n // 8 for kind in "usf" for n in (8, 16, 32, 64) if (kind, n) not in (("f", 8), ("f", 16))
}
FLOATS = {"f16", "bf16", "f16x2", "bf16x2", "f32", "f64"}
WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def cpp(type_: str) -> str:
    """Return the C++ type of a PTX type, of which `b32` and `u32` have the same.

    Raises
    ------
    Unsupported
        If the type is not known.
    """
    if type_ not in CPP:
        raise Unsupported(f"the type .{type_}")
    return CPP[type_]


def register(type_: str) -> str:
    """Return the C++ type of a register: numbers are kept as they are, everything else as its bits."""
    name = cpp(type_)
    if name in ("pred", "f32", "f64"):
        return name
    return f"u{SIZES[name] * 8}"


def size(type_: str) -> int:
    """Return how many bytes a value of a PTX type takes."""
    return SIZES[cpp(type_)]
