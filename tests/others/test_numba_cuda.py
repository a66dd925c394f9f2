"""numba-cuda's own tests on the stand-in: what fails is in `expected/numba_cuda.toml`, and nothing else fails.

What passes on Numba's simulator passes here, too, apart from what is internal to numba-cuda, the driver's, or in FEWER. `python -m tests.commands.others.run numba_cuda FILE` shows what a file does.
"""

import json

import pytest

from tests.others import lanes, suites

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (make set-up-tests, not on macOS)")
SUITE = suites.numba_cuda()


@pytest.mark.slow
@pytest.mark.parametrize("file", suites.files(SUITE))
def test_only_what_is_expected_fails(file):
    problems = lanes.problems(SUITE, [file])
    assert not problems, "\n".join(problems)


# Tests that pass on the simulator and not here, by file. Of exec's kernels Python keeps no text (atomics, ufuncs); the stand-in
# has no float16 arithmetic (intrinsics, casting) and no array that a kernel makes (array_methods); its errors have other
# words (dispatcher, userexc), or come without debug=True, too (exception). These numbers may only fall.
FEWER = {
    "array_methods": 1,
    "atomics": 38,
    "casting": 1,
    "dispatcher": 1,
    "exception": 1,
    "intrinsics": 20,
    "ufuncs": 40,
    "userexc": 1,
}


def test_what_passes_on_the_simulator_passes_here_with_few_exceptions():
    expected = suites.expected_of(SUITE)
    simulated = json.loads(suites.SIMULATOR.read_text())
    assert len(simulated) > 60, "files"
    fewer = {}
    for file, passing in simulated.items():
        entries = [expected.entry(f"{file}::{test}") for test in passing]
        name = file.rpartition("/test_")[2].removesuffix(".py")
        fewer[name] = sum(entry is not None and entry.kind in ("open", "out of scope") for entry in entries)
    assert {name: many for name, many in fewer.items() if many > FEWER.get(name, 0)} == {}
