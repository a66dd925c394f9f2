"""What the stand-ins are held against, on the real libraries: the rehearsal as the third oracle.

Each difference is a fault of the stand-in, unless a table here says why it is none.
"""

import json
import os
import re

import pytest

from rehearsal import run
from tests.rehearsal.marking import ON_GPU, WATCHDOG, marked
from tests.standins.numba_cuda import test_memory as memory

log = memory.log  # a fixture
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

COMMAND = """
import runpy, sys
sys.argv = ["a command"]
runpy.run_module("tests.commands.{}", run_name="__main__")
"""
# CuPy's programs whose outcome is another one here, and why.
CUPY = dict.fromkeys(
    (
        "a matrix without a cholesky factor where errors are raised",
        "a singular value decomposition",
        "the transform of ones",
        "the transform of float32 is complex64",
        "the transform of real numbers",
        "a transform and back",
    ),
    "cuFFT and most of cuSOLVER are not here, and each of their functions is refused",
)
CUPY |= {
    "groups vote and know their ranks": "the translator does not know the instruction fns.b32",
    "the grid waits in a cooperative launch": "the rehearsal refuses cooperative launches",
    "a cooperative launch of too many blocks": "the rehearsal refuses cooperative launches",
}


# Programs whose error is another one in CuPy 14.0, and its words.
OF_CUPY_14_0 = {
    "an argument of another type": "x <class 'numpy.float64'> <class 'numpy.float32'>",
    "an output of another type": "z <class 'numpy.float64'> <class 'numpy.float32'>",
    "arguments that disagree on a type letter": "y <class 'numpy.float64'> <class 'numpy.float32'> T",
    "a list assigned to a row": "TypeError, not ValueError: Unsupported type <class 'list'>",
    "a type letter with two types": "y <class 'numpy.float64'> <class 'numpy.float32'> T",
    "an output that disagrees with an argument on a type letter": "x <class 'numpy.int32'> <class 'numpy.float32'> T",
    "floats have no bitwise inverse": "((<class 'numpy.float32'>,))",
    "add at has no int16": "only supports int32, float16, float32, float64, uint32, uint64, as",  # no int64, either
    # 14.0 looks for the headers of cooperative groups in CUDA's own folder, and the rehearsal has none.
    "a cooperative launch of too many blocks": "RuntimeError, not CUDADriverError: CUDA is not found.",
    "the grid waits in a cooperative launch": "RuntimeError: CUDA is not found.",
}


def test_cupys_programs(with_versions):
    done = with_versions(COMMAND.format("cupy.on_gpu"), 1800)
    lines = re.findall(r"^(ok|differs) +[\d.]+ s  ([^:\n]+)(.*)$", done.stdout, re.M)
    assert len(lines) >= 373, done.stdout[-3000:] + done.stderr[-3000:]
    differs = {name: words for verdict, name, words in lines if verdict == "differs"}
    expected = {} if ON_GPU else dict.fromkeys(CUPY, "NOT_SUPPORTED")
    if with_versions.name == "colab":
        expected |= OF_CUPY_14_0
    assert set(differs) == set(expected), differs
    assert {name: words for name, words in differs.items() if expected[name] not in words} == {}


# Tests of the stand-in's kernels that a real library cannot pass, and why.
NOT_OF_CUDA = {
    "test_a_seed_shows_lost_updates_and_repeats_itself": "seeds choose the stand-in's order of threads",
    "test_variables_on_the_device_keep_their_values_between_launches": "the test writes device memory as the host's",
    "test_arguments_by_value_arrive_as_their_bytes": "CuPy's kernels have no list of their parameters",
    "test_kernels_in_namespaces_and_without_c_linkage": "CuPy does not say how a kernel was linked",
    "test_printf_is_shown": "the driver prints beside Python's own output",
}
FILES = "tests/standins/cuda_cpp/test_kernels.py", "tests/standins/cuda_cpp/test_bits.py"


def test_kernels_in_cuda_cpp(with_versions):
    program = """
import os, sys, pytest
os.chdir({!r})
sys.exit(pytest.main({!r}))
"""
    # Without the project's settings: they are for plugins that Colab's versions do not have.
    options = [
        "-q",
        "-rA",
        "-c",
        os.devnull,
        "--rootdir=.",
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
    ]
    options += ["-p", "tests.rehearsal.on_cupy"]
    done = with_versions(program.format(str(run.ROOT), [*options, *FILES]), 900)
    outcomes = re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\w+)", done.stdout, re.M)
    failed = {name for outcome, name in outcomes if outcome != "PASSED"}
    assert failed == set(NOT_OF_CUDA), done.stdout[-6000:] + done.stderr[-3000:]
    assert sum(outcome == "PASSED" for outcome, _ in outcomes) > 25


MEMORY = """
import json, warnings
warnings.simplefilter("ignore")
from numba import cuda
from host_to_device.counting.numba_calls import NumbaCalls
from tests.standins.numba_cuda import test_memory

log, names = [], dict(h2d="host to device", d2h="device to host", d2d="device to device")

def hear(kind, what, nbytes):
    if kind == "copy":
        log.append([names[what], nbytes])

with NumbaCalls(hear):
    print(json.dumps([test_memory.outcome(case, cuda, log) for case in {cases!r}]))
"""
# Cases of Numba's memory, and those that Numba's own older class decides otherwise.
CASES = [*memory.CASES, "d.__array__(copy=True)", "d.__array__(copy=False)"]


def test_numbas_device_arrays(with_versions, log):
    done = with_versions(MEMORY.format(cases=CASES), 600)
    assert done.returncode == 0, done.stderr[-3000:]
    numbas = json.loads(done.stdout.splitlines()[-1])
    assert len(numbas) == len(CASES)
    differs = {}
    for case, (result, copies, after) in zip(CASES, numbas, strict=True):
        ours, our_copies, our_after = memory.outcome(case, memory.cuda, log)
        copied = [each for each in our_copies if each[0] != "allocation"]
        if (result[:2], copies, after) != (ours[:2], copied, our_after):
            differs[case] = (result, copies), (ours, copied)
    assert not differs, differs


FAULT = """
import cupy as cp, numpy as np
from tests.standins.cuda_cpp.test_faults import SOURCE

def zeros(size, dtype="f4"):
    return cp.zeros(size, dtype)

cp.cuda.set_allocator(None)  # each array has an allocation of its own
source = SOURCE.replace("__builtin_trap", "__trap")
module = cp.RawModule(code=source, options=("-std=c++17",), name_expressions=("of_template<5>",))
try:
    module.get_function({name!r})({launch})
    cp.cuda.Device().synchronize()
except cp.cuda.runtime.CUDARuntimeError as problem:
    print(str(problem).partition(":")[0])
else:
    print("nothing")
"""
# Wrong kernels in CUDA C++, all of which the stand-in refuses: the launch, what CUDA says here, and why it says nothing.
ILLEGAL, TIMEOUT, NOTHING = "cudaErrorIllegalAddress", "cudaErrorLaunchTimeout", "nothing"
FAULTS = {
    "no_guard": ("(4,), (256,), (zeros(1000), zeros(1024))", ILLEGAL),
    "before": ("(1,), (4,), (zeros(9),)", ILLEGAL),
    "of_template<5>": ("(1,), (1,), (np.int32(5),)", ILLEGAL),
    "in_a_function": ("(1,), (1,), (zeros(1, 'i4'), np.int32(4))", ILLEGAL),
    "null_pointer": ("(1,), (1,), (np.uint64(0),)", ILLEGAL),
    "atomic_outside": ("(1,), (32,), (zeros(31, 'i4'),)", ILLEGAL),
    "warp_divides": ("(1,), (32,), (zeros(32, 'i4'),)", TIMEOUT),
    "forever": ("(1,), (2,), (zeros(2, 'i4'),)", TIMEOUT),
    "forever_at_a_barrier": ("(1,), (2,), (zeros(2, 'i4'),)", TIMEOUT),
    "assertion": ("(1,), (1,), (zeros(1, 'i4'),)", "cudaErrorAssert"),
    "trap": ("(1,), (1,), (zeros(1, 'i4'),)", "cudaErrorLaunchFailure"),
    "good": ("(1,), (8,), (zeros(8, 'i4'),)", NOTHING),
    # The access stays within the block's shared memory: another array has it.
    "shared_array": ("(1,), (1,), (np.int32(64),)", NOTHING),
    # Nothing reads what the kernel stores, so the compiler leaves the stores out.
    "dynamic": ("(1,), (1,), (np.int32(5),), shared_mem=16", NOTHING),
    # CUDA leaves open what happens. Since Volta a barrier counts threads, wherever they wait, and not those that have left.
    "left_early": ("(1,), (40,), (zeros(1, 'i4'),)", NOTHING),
    "two_lines": ("(1,), (40,), (zeros(1, 'i4'),)", NOTHING),
    "not_in_mask": ("(1,), (32,), (zeros(1, 'i4'),)", NOTHING),
    # CUDA leaves the value open, and raises nothing.
    "division": ("(1,), (1,), (zeros(1, 'i4'), np.int32(0))", NOTHING),
}


# What an H100 said on 26 November 2026 where the rehearsal says another thing: the rehearsal has guards around an
# allocation, its limit of steps ends a warp whose lanes wait for each other at different lines, and a block's shared
# memory ends elsewhere.
ON_AN_H100 = dict.fromkeys(
    ("no_guard", "before", "of_template<5>", "in_a_function", "atomic_outside", "warp_divides"), NOTHING
) | {"shared_array": ILLEGAL}


@pytest.mark.parametrize(
    "name",
    marked({name: name for name in FAULTS}, dict.fromkeys(("forever", "forever_at_a_barrier"), WATCHDOG)),
)
def test_wrong_kernels_in_cuda_cpp(with_versions, name):
    launch, outcome = FAULTS[name]
    if ON_GPU:
        outcome = ON_AN_H100.get(name, outcome)
    done = with_versions(FAULT.format(name=name, launch=launch), 120, REHEARSAL_BRANCHES="1000000")
    assert done.stdout.splitlines()[-1:] == [outcome], done.stdout + done.stderr[-3000:]
