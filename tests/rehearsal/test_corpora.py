"""The corpus of right kernels on the rehearsal: the third oracle, beside NumPy and the interpreter."""

import pytest

from tests.rehearsal.marking import ON_GPU

MODULE = """
import runpy, sys
sys.argv = ["a command"]
runpy.run_module("tests.commands.kernels.{}", run_name="__main__")
"""
# Wrong kernels that end without an error, and why.
UNSEEN = {
    "guard after the read": "the compiler leaves out the read, whose value is not used",
    "first element has no previous": "Numba counts a negative index from the end, also on a GPU",
    "shift reads before the array": "the same",
    "stencil without its lower edge": "the same",
    "label -1 counted": "the same",
    "left neighbour of the first column": "the same",
    "step backwards without a guard": "the same",
    "loop downwards past zero": "the same",
    "local array too short": "the access stays inside the thread's local memory",
}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_right_kernel_gives_the_right_values(with_versions):
    done = with_versions(MODULE.format("on_gpu"), 1800)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line.startswith(("differs", "error"))]
    assert done.returncode == 0 and not wrong, "\n".join([*wrong, done.stderr[-2000:]])
    assert sum(line.startswith("ok ") for line in lines) >= 271, "the corpus has gone"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_wrong_kernels_end_the_context_where_they_leave_an_allocation(with_versions):
    done = with_versions(MODULE.format("faults_on_gpu"), 1800)
    outcomes = [line.split("  ") for line in done.stdout.splitlines() if "  " in line]
    assert done.returncode == 0 and len(outcomes) > 25, done.stderr[-2000:]
    unseen = {name for name, _, outcome in outcomes if outcome == "nothing"}
    assert (
        unseen >= set(UNSEEN) if ON_GPU else unseen == set(UNSEEN)
    )  # a GPU has no guards around allocations
    assert all("ILLEGAL_ADDRESS" in outcome for *_, outcome in outcomes if outcome != "nothing")
