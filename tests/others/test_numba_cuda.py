"""numba-cuda's own tests on the stand-in: what fails is in `expected/numba_cuda.toml`, and nothing else fails.

In each file at least as many tests pass as on Numba's simulator, apart from those that the list calls internal to
numba-cuda or the driver's. `python -m tests.commands.others.run numba_cuda FILE` shows what a file does.
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


def test_no_test_that_passes_on_the_simulator_is_open_here():
    expected = suites.expected_of(SUITE)
    simulated = json.loads(suites.SIMULATOR.read_text())
    assert len(simulated) > 60, "files"
    fewer = {}
    for file, passing in simulated.items():
        lacking = {test: expected.entry(f"{file}::{test}") for test in passing}
        fewer[file] = [
            test for test, entry in lacking.items() if entry and entry.kind in ("open", "out of scope")
        ]
    assert not {file: tests for file, tests in fewer.items() if tests}
