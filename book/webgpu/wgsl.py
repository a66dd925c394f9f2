"""What the translator needs to know of WGSL: its words, its functions, and the helpers that a shader may call."""

from __future__ import annotations

import math

import numpy as np

# Reserved words and keywords {WGSL, sections 2.4 and 16.2}, and names that a shader of ours uses itself.
_WORDS = """
NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch class
co_await co_return co_yield coherent column_major common compile compile_fragment concept const_cast consteval
constexpr constinit crate debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export
extends extern external fallthrough filter final finally friend from fxgroup get goto groupshared highp impl
implements import inline instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut
mutable namespace new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of
operator package packoffset partition pass patch pixelfragment precise precision premerge priv protected pub public
readonly ref regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm
static static_assert static_cast std subroutine super target template this thread_local throw trait try type
typedef typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with
writeonly yield
alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if let
loop override requires return struct switch true var while
array atomic bool f16 f32 i32 u32 mat2x2 vec2 vec3 vec4 ptr sampler storage uniform workgroup function private read
read_write write bitcast select min max abs sqrt exp exp2 log log2 sin cos tan asin acos atan atan2 sinh cosh tanh
asinh acosh atanh pow floor ceil trunc fma atomicAdd atomicMax atomicMin atomicLoad atomicStore
atomicCompareExchangeWeak workgroupBarrier storageBarrier block thread grid given Given main wrapped floor_div
floor_mod
"""
TAKEN = frozenset(_WORDS.split())

# Functions of a float32 that Numba and WGSL both have. WGSL's may be less exact: `ULP` says by how much.
FLOAT_FUNCTIONS = {
    **{name: name for name in ("sqrt", "exp", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: name for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    "fabs": "abs",
}
OF_TWO = {"atan2": "atan2", "pow": "pow"}

HELPERS = {
    # Numba counts a negative index from the end of the array.
    "wrapped": "fn wrapped(i: i32, n: i32) -> i32 { return select(i, i + n, i < 0); }",
    # Python rounds a quotient down; WGSL rounds it towards zero.
    "floor_div": "fn floor_div(a: i32, b: i32) -> i32 { return a / b - select(0, 1, a % b != 0 && (a % b < 0) != (b < 0)); }",
    "floor_mod": "fn floor_mod(a: i32, b: i32) -> i32 { return a - b * floor_div(a, b); }",
}

ATOMIC_FLOAT = """\
fn {name}({parameters}value: f32) -> f32 {{
  loop {{ // WGSL has no atomics for f32: try again until no other thread came between
    let before = atomicLoad(&{place});
    let after = bitcast<u32>({operation});
    let done = atomicCompareExchangeWeak(&{place}, before, after);
    if (done.exchanged) {{ return bitcast<f32>(before); }}
  }}
}}"""
FLOAT_OPERATION = {
    "add": "bitcast<f32>(before) + value",
    "max": "max(bitcast<f32>(before), value)",
    "min": "min(bitcast<f32>(before), value)",
}


def named(name: str) -> str:
    """Return a name of Python as WGSL may have it."""
    if name == "_" or name.startswith("__"):
        return "unused" + name
    return f"{name}_" if name in TAKEN else name


def real(number: float) -> str:
    """Return a float32 as a literal.

    Raises
    ------
    ValueError
        If it is infinite or no number: WGSL has no such literal.
    """
    if not math.isfinite(number):
        raise ValueError("WGSL has no infinity and no NaN")
    text = str(np.float32(number))
    return text.replace("+", "") + "f"
