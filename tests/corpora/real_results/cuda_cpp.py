"""Floats that an integer cannot hold, in CUDA C++: NVRTC converts to 8 and 16 bits through 32.

Each program is a kernel `k(x, out, n)`; `results_cuda_cpp.json` has what NVRTC's PTX left in `out`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.corpora.real_results import VALUES

RESULTS = Path(__file__).parent / "results_cuda_cpp.json"
NAMES = {
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "unsigned int": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
}
FRAME = """
extern "C" __global__ void k(const {source} *x, {target} *out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        {body}
    }}
}}
"""
BODIES = {
    "stored": ("{target}", "out[i] = x[i];"),
    "cast": ("long long", "out[i] = (long long)({target})x[i];"),
}
# name → source, the dtype of x, the dtype of out
PROGRAMS: dict[str, tuple[str, Any, Any]] = {}
for kind, (out, body) in BODIES.items():
    for source in ("float", "double"):
        for target, dtype in NAMES.items():
            text = FRAME.format(
                source=source, target=out.format(target=target), body=body.format(target=target)
            )
            stored_as = dtype if kind == "stored" else np.int64
            given = np.float32 if source == "float" else np.float64
            PROGRAMS[f"{source} {kind} as {target}"] = text, given, stored_as


def one(name: str, source: str, target: str, body: str, dtype: Any, before: str = "") -> None:
    text = before + FRAME.format(source=source, target=target, body=body)
    PROGRAMS[name] = text, np.float32 if source == "float" else np.float64, dtype


one("a darker pixel", "float", "unsigned char", "out[i] = x[i] - 60.0f;", np.uint8)
one("a variable", "float", "unsigned char", "unsigned char v = 2.0f * x[i]; out[i] = v;", np.uint8)
one(
    "a function's argument",
    "float",
    "int",
    "out[i] = twice(x[i]);",
    np.int32,
    "__device__ int twice(int a) { return a + a; }",
)
one(
    "a function's result",
    "double",
    "int",
    "out[i] = half(x[i]);",
    np.int32,
    "__device__ int half(double a) { return a / 2; }",
)
one("added in place", "float", "unsigned char", "out[i] = 100; out[i] += x[i];", np.uint8)
one("a static cast", "double", "short", "out[i] = static_cast<short>(x[i]);", np.int16)
one("an atomic sum", "float", "int", "atomicAdd(&out[i], (int)x[i]);", np.int32)
one(
    "two types of one float",
    "float",
    "int",
    "unsigned char a = x[i]; signed char b = x[i]; out[i] = a * 1000 + b;",
    np.int32,
)
one(
    "a bin of a histogram",
    "float",
    "int",
    "int b = (x[i] + 10.0f) / 2.5f; out[i] = b < 0 ? 0 : b > 7 ? 7 : b;",
    np.int32,
)
one(
    "a template",
    "float",
    "unsigned char",
    "store(out, i, x[i]);",
    np.uint8,
    "template <class T> __device__ void store(T *p, int i, float v) { p[i] = v; }\n",
)
one("floorf", "float", "int", "out[i] = floorf(x[i] * 1.5f);", np.int32)
one(
    "a shared array",
    "float",
    "unsigned char",
    "__shared__ unsigned char s[64]; s[threadIdx.x] = x[i] * 3; out[i] = s[threadIdx.x];",
    np.uint8,
)
one(
    "a loop",
    "float",
    "int",
    "int sum = 0; for (int j = 0; j < 4; j++) sum += (unsigned char)(x[i] * j); out[i] = sum;",
    np.int32,
)
one("a quotient by zero", "float", "int", "out[i] = x[i] / (x[i] - x[i]);", np.int32)
one("an intrinsic", "float", "int", "out[i] = __float2int_rz(x[i]) ^ (int)__float2uint_rz(x[i]);", np.int32)
one("an intrinsic that rounds", "double", "int", "out[i] = __double2int_rn(x[i]);", np.int32)

MIXED = "int q = x[i]; unsigned char u = x[i]; out[i] = q / 2 + u;"
one("an int before a byte", "float", "int", MIXED, np.int32)
one(
    "a byte before an int",
    "float",
    "int",
    "unsigned char u = x[i]; int q = x[i]; out[i] = q / 2 + u;",
    np.int32,
)
one(
    "a byte that is used late",
    "float",
    "int",
    "int q = x[i]; unsigned char u = x[i]; unsigned short s = x[i]; if (q > 100) q = 1; out[i] = q % 50 + u * 2 + s * 3;",
    np.int32,
)
one(
    "many of a loop",
    "float",
    "int",
    "int sum = 0; for (int j = 0; j < 3; j++) { float v = x[i] * (j - 1); sum += (int)v % 7 + (unsigned char)v; } out[i] = sum;",
    np.int32,
)
one(
    "a number that nothing uses",
    "float",
    "unsigned char",
    "unsigned char u = x[i]; int none = x[i]; out[i] = u;",
    np.uint8,
)


def run(name: str, cp: Any) -> dict[str, Any]:
    """Run a program with this `cupy`; return dtype and values of `out`, or the exception."""
    text, source, target = PROGRAMS[name]
    try:
        with np.errstate(all="ignore"):
            x, out = cp.asarray(np.array(VALUES).astype(source)), cp.zeros(len(VALUES), target)
        cp.RawKernel(text, "k")((1,), (64,), (x, out, np.int32(len(VALUES))))
        found = out.get()
    except Exception as problem:
        return {"raises": type(problem).__name__, "words": str(problem)[:300]}
    return {"dtype": found.dtype.name, "values": " ".join(map(repr, found.tolist()))}


def stored() -> dict[str, dict[str, Any]]:
    """Return the outcomes of NVRTC's PTX."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":  # python -m rehearsal --cupy -m tests.corpora.real_results.cuda_cpp
    import cupy

    RESULTS.write_text(
        json.dumps({name: run(name, cupy) for name in PROGRAMS}, indent=1) + "\n", encoding="utf-8"
    )
