"""The rules of `numbas_types` are Numba's, for every pair of types; and what `inferring` writes into a kernel is needed."""

import ast
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

from numba import cuda  # noqa: E402

from host_to_device.standins.numba_cuda import inferring, numbas_types  # noqa: E402
from host_to_device.standins.numba_cuda.numbas_types import CODES, Array, Number  # noqa: E402

PAIRS = list(itertools.product(CODES, CODES))
ASK = """
import itertools, json, operator
from numba.cuda import types
from numba.cuda.descriptor import cuda_target
typing = cuda_target.typing_context
typing.refresh()
kinds = {{code: types.boolean if code == "b1" else getattr(types, name) for code, name in {names!r}.items()}}
codes = {{str(kind): code for code, kind in kinds.items()}}
found = {{"add": [], "lt": [], "max": [], "unify": []}}
for one, other in itertools.product(kinds.values(), kinds.values()):
    for name, function in (("add", operator.add), ("lt", operator.lt), ("max", max)):
        signature = typing.resolve_function_type(function, (one, other), {{}})
        kind = signature.args[0] if name == "lt" else signature.return_type
        found[name].append(codes[str(kind)])
    found["unify"].append(codes[str(typing.unify_types(one, other))])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def numbas():
    """Ask numba-cuda for the type of each pair of operands; its type inference needs no GPU."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (make set-up-tests, not on macOS)")
    names = {code: np.dtype(code).name for code in CODES}
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(names=names)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "0"},
    )
    return json.loads(done.stdout)


def test_rules_are_numbas(numbas):
    numbers = [(Number(one), Number(other)) for one, other in PAIRS]
    assert [numbas_types.sum_of(*pair) for pair in numbers] == numbas["add"]
    assert [numbas_types.compared(*pair) for pair in numbers] == numbas["lt"]
    assert [numbas_types.unified(*pair) for pair in PAIRS] == numbas["max"] == numbas["unify"]


@cuda.jit
def guarded(x, out):
    i = cuda.grid(1)
    while i < out.size:
        out[i] = 2 * x[i] + 1
        i += cuda.gridsize(1)


@cuda.jit
def hashed(x, out):
    i = cuda.grid(1)
    h = 5381
    for _ in range(8):
        h = h * 33 + x[i]
    out[i] = h


def text_of(kernel, *values):
    return ast.unparse(inferring.typed(kernel.program, values, []).kernel.tree)


def test_a_usual_kernel_gets_no_conversions():
    """What wraps costs time, so it stands only where a number may be too large."""
    text = text_of(guarded, np.zeros(4, np.float64), np.zeros(4, np.float64))
    assert text == ast.unparse(guarded.program.kernel.tree).replace(
        "i += _h2d_thread[6] * _h2d_thread[9]", "i = i + _h2d_thread[6] * _h2d_thread[9]"
    )


def test_a_product_in_a_loop_wraps():
    x, out = np.array([3], np.int32), np.zeros(1, np.int64)
    assert "_h2d_overflowed" in text_of(hashed, x, out)
    with cuda.stand_in(interpreted=True):
        device = cuda.to_device(out)
        hashed[1, 1](cuda.to_device(x), device)
    value = 5381
    for _ in range(8):
        value = value * 33 + 3
    assert device.copy_to_host()[0] == (value + 2**63) % 2**64 - 2**63


@cuda.jit(device=True)
def half(x):
    if x > 0:
        return x
    return x / 2


@cuda.jit
def types_of_paths(x, n, out):
    i = cuda.grid(1)
    a = x[i]
    if i > 0:
        a = n[i]
    elif i == 0:
        a = a * 0.5
    for _ in range(2):
        a -= x[i]
    out[i] = a + half(n[i])


def test_a_variable_has_one_type_where_paths_meet():
    x, n = np.array([0.1, 0.1], np.float32), np.array([5, 2**60 + 1])
    found = []
    for interpreted in (False, True):
        out = cuda.to_device(np.zeros(2))
        with cuda.stand_in(interpreted=interpreted):
            types_of_paths[1, 2](cuda.to_device(x), cuda.to_device(n), out)
        found.append(out.copy_to_host().tolist())
    assert found[0] == found[1]


def test_types_of_values():
    assert numbas_types.of_value(True) == Number("b1")
    assert numbas_types.of_value(7) == Number("i8", 3)
    assert numbas_types.of_value(2**63).code == "u8"
    assert numbas_types.of_value(np.float32(1)) == Number("f4")
    assert numbas_types.of_value(np.zeros((2, 3), np.uint8)) == Array(Number("u1"), 2)
    assert numbas_types.of_value(1j) is None


@cuda.jit
def bits_and_powers(x, n, bits, powers):
    i = cuda.grid(1)
    bits[i, 0], bits[i, 1] = cuda.popc(x[i]), cuda.clz(x[i])
    bits[i, 2], bits[i, 3] = cuda.ffs(x[i]), cuda.brev(x[i])
    powers[i, 0], powers[i, 1] = n[i] ** 2, n[i] ** n[0]


@pytest.mark.parametrize("interpreted", [False, True])
def test_bits_are_as_wide_as_their_argument_and_powers_are_rounded_to_float64(interpreted):
    """The powers are those of numba-cuda 0.30.4 and 0.22.2, whose function for integers returns a float64."""
    x, n = np.array([2**40 + 2, -1]), np.array([3, 3_037_000_499])
    bits, powers = (cuda.to_device(np.zeros((2, k), np.uint64)) for k in (4, 2))
    with cuda.stand_in(interpreted=interpreted):
        bits_and_powers[1, 2](cuda.to_device(x), cuda.to_device(n), bits, powers)
    assert bits.copy_to_host().tolist() == [[2, 23, 2, 2**62 + 2**23], [64, 0, 1, 2**64 - 1]]
    assert powers.copy_to_host()[:, 0].tolist() == [9, 9_223_372_030_926_248_960]
