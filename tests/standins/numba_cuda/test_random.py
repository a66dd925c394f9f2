"""Random numbers in kernels, against Numba's.

The oracle is `numba.cuda.random` itself: without a GPU its functions are compiled for the CPU, types included,
and its simulator runs the same source as plain Python. Both run in a process of their own.
"""

import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from host_to_device.standins.numba_cuda import allocation, devices, memory, random
from tests.numbas_own import UNCOVER

SEEDS = (0, 1, 42, 2**63 + 7, 2**64 - 1)
FUNCTIONS = ("next", "uniform_float32", "uniform_float64", "normal_float32", "normal_float64", "jump")

ORACLE = f"""
import json, warnings, numpy as np
warnings.simplefilter("ignore")
from numba.cuda import random
found = {{"states": [], "values": {{}}, "after": {{}}}}
for seed in {SEEDS}:
    states = np.empty(5, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states_cpu(states, np.uint64(seed), 2)
    found["states"].append(states.tolist())
for name in {FUNCTIONS}:
    mine = states.copy()
    call = getattr(random, "xoroshiro128p_" + name)
    values = [call(mine, index) for index in (0, 1, 4, 4, 4)]
    found["values"][name] = [None if v is None else int(v) if name == "next" else float(v) for v in values]
    found["after"][name] = mine.tolist()
print(json.dumps(found))
"""


def ask_numba(**environment):
    done = subprocess.run(
        [sys.executable, "-c", UNCOVER + ORACLE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "0", **environment},
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["compiled", pytest.param("simulated", marks=pytest.mark.slow)])
def numbas(request):
    found = ask_numba(NUMBA_ENABLE_CUDASIM="1" if request.param == "simulated" else "0")
    return request.param, found


def as_lists(states):
    return [list(state) for state in states.tolist()]


def test_states_are_numbas_bit_for_bit(numbas):
    for seed, states in zip(SEEDS, numbas[1]["states"], strict=True):
        assert as_lists(random.states_on_host(5, seed, 2)) == states


@pytest.mark.parametrize("way", ["interpreted", "compiled"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_numbas_both_ways(numbas, name, way):
    whose, found = numbas
    full_name = f"xoroshiro128p_{name}"
    function = random.compiled()[full_name] if way == "compiled" else getattr(random, full_name)
    states = random.states_on_host(5, SEEDS[-1], 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = [function(states, index) for index in (0, 1, 4, 4, 4)]
    if name.startswith("normal") and (whose == "simulated" or way == "interpreted"):
        # The simulator computes in Python's floats; the interpreted way rounds a float64 logarithm to float32,
        # where compiled code calls a float32 one.
        assert np.allclose(values, found["values"][name], rtol=1e-5, atol=0)
    else:
        assert values == found["values"][name]
    assert as_lists(states) == found["after"][name]


def test_results_have_numbas_types():
    # numba/cuda/random.py: the :rtype: of each function.
    states = random.states_on_host(1, 1)
    wanted = {"next": np.uint64, "uniform_float32": np.float32, "uniform_float64": np.float64}
    wanted |= {"normal_float32": np.float32, "normal_float64": np.float64}
    for name, kind in wanted.items():
        assert type(getattr(random, f"xoroshiro128p_{name}")(states, 0)) is kind
        compiled = random.compiled()[f"xoroshiro128p_{name}"]
        compiled(states, 0)
        result = compiled.overloads[compiled.signatures[0]].signature.return_type
        assert str(result) == kind.__name__


def test_sums_wrap_around_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a, b in [(2**64 - 1, 1), (2**63, 2**63 + 5), (2**32 - 1, 1), (0, 0), (2**64 - 1, 2**64 - 1)]:
            assert random.add_uint64(np.uint64(a), np.uint64(b)) == (a + b) % 2**64


def test_splitmix64_gives_its_published_first_number():
    # https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64 lists it for the reference program.
    assert random.splitmix64(1234567) == 6457827717110365317


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 65])
def test_each_state_is_the_one_before_after_a_jump(n):
    states = random.states_on_host(n, 9)
    assert states.shape == (n,) and states.dtype == random.xoroshiro128p_dtype
    for i in range(1, min(n, 5)):
        before = states[i - 1 : i].copy()
        random.xoroshiro128p_jump(before, 0)
        assert before[0] == states[i]
    assert (random.states_on_host(100, 9)[:n] == states).all()


def test_a_start_is_so_many_jumps():
    whole = random.states_on_host(40, 3)
    for start in (0, 1, 2, 13, 31):
        assert (random.states_on_host(9, 3, start) == whole[start : start + 9]).all()
    random.states_on_host(1, 3, 10**12)  # at once, where Numba would jump for weeks


def test_seeds_are_taken_modulo_2_to_the_64():
    assert random.states_on_host(2, -1).tolist() == random.states_on_host(2, 2**64 - 1).tolist()
    assert random.states_on_host(2, np.int32(5)).tolist() == random.states_on_host(2, 5).tolist()


def test_many_states_are_made_fast():
    start = time.perf_counter()
    random.states_on_host(100_000, 1)
    assert time.perf_counter() - start < 1


def test_numbers_are_uniform_and_normal():
    states = random.states_on_host(1, 2024)
    uniform = random.compiled()["xoroshiro128p_uniform_float32"]
    normal = random.compiled()["xoroshiro128p_normal_float32"]
    values = np.array([uniform(states, 0) for _ in range(20_000)])
    assert values.min() >= 0 and values.max() <= 1
    assert abs(values.mean() - 0.5) < 0.01 and abs(values.var() - 1 / 12) < 0.005
    values = np.array([normal(states, 0) for _ in range(20_000)])
    assert abs(values.mean()) < 0.03 and abs(values.std() - 1) < 0.03


def test_states_are_made_on_the_device():
    states = random.create_xoroshiro128p_states(4, seed=8, subsequence_start=1)
    assert isinstance(states, memory.DeviceNDArray) and states.shape == (4,)
    assert (states.copy_to_host() == random.states_on_host(4, 8, 1)).all()
    random.init_xoroshiro128p_states(states, 9)
    assert (states.copy_to_host() == random.states_on_host(4, 9)).all()
    assert random.create_xoroshiro128p_states(0, 1).size == 0


def test_record_type_is_numbas():
    import numba

    assert random.xoroshiro128p_type == numba.from_dtype(random.xoroshiro128p_dtype)
    assert random.xoroshiro128p_dtype.names == ("s0", "s1") and random.xoroshiro128p_dtype.itemsize == 16


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: random.create_xoroshiro128p_states(3, seed=1.5), TypeError),
        (lambda: random.create_xoroshiro128p_states(3, seed="x"), TypeError),
        (lambda: random.create_xoroshiro128p_states(2.0, seed=1), TypeError),
        (lambda: random.create_xoroshiro128p_states(-1, seed=1), ValueError),
        (lambda: random.create_xoroshiro128p_states(3, 1, subsequence_start=-1), ValueError),
        (lambda: random.create_xoroshiro128p_states(3, 1, stream=5), TypeError),
        (lambda: random.init_xoroshiro128p_states(allocation.device_array(3), 1), TypeError),
        (lambda: random.init_xoroshiro128p_states(allocation.device_array((2, 2)), 1), ValueError),
        (lambda: random.create_xoroshiro128p_states(2**50, 1), devices.CudaAPIError),
        (lambda: random.nothing_of_the_kind, AttributeError),
    ],
)
def test_bad_input_gets_one_line(call, kind):
    with pytest.raises(kind) as problem:
        call()
    assert "\n" not in str(problem.value)
