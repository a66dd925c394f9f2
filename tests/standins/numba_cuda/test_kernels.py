"""The corpus of right kernels (`tests/corpora/kernels`) on the stand-in: compiled, interpreted, and in shuffled orders.

What NumPy expects is the judge. `make test` compiles a sample that shows every kind of kernel at least twice;
the rest, which has its turns, and Numba's own simulator as a second judge, are slow.
"""

import os
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpus are made when it is imported

from numba import cuda  # noqa: E402

from tests.corpora.kernels.case import Case, differences, run  # noqa: E402
from tests.corpora.kernels.corpus import ALL, TOPICS  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 60
SEEDS = 1, 2, 3
TOPIC = {case.name: topic.__name__ for topic in TOPICS for case in topic.CASES}
KINDS = Counter(kind for case in ALL for kind in (*case.kinds, TOPIC[case.name]))

# Cases whose control flow cannot be compiled, so that they run interpreted and say so. A name more is a
# regression, a name less is progress to be written down here.
RUN_INTERPRETED = set()


def weight(case: Case) -> int:
    """Guess how long a case takes to compile: a fixed cost a kernel, and more for long ones and ones that wait."""
    kernels = {launch.kernel for launch in case.plan(case.fresh())}
    waits = {"warp": 6, "shuffle": 6, "vote": 6, "barrier": 3}
    factor = max(waits.get(kind, 1) for kind in case.kinds)
    return sum(750 + factor * len(kernel.py_func.__code__.co_code) for kernel in kernels)


def shown(cases: list[Case]) -> Counter:
    return Counter(kind for case in cases for kind in (*case.kinds, TOPIC[case.name]))


def sample(times: int) -> list[Case]:
    """Choose cases that show every kind and topic so many times, or as often as there is one, at little cost."""
    wanted = Counter({kind: min(times, count) for kind, count in KINDS.items()})
    rest, chosen = {case.name: (case, weight(case)) for case in ALL}, []
    while missing := wanted - shown(chosen):
        gain = {
            name: sum(kind in missing for kind in shown([case])) / cost for name, (case, cost) in rest.items()
        }
        chosen.append(rest.pop(max(gain, key=gain.get))[0])
    for case in sorted(chosen, key=weight, reverse=True):  # what the later ones made needless
        if not wanted - shown([each for each in chosen if each is not case]):
            chosen.remove(case)
    return chosen


SAMPLE = sample(1)
SAMPLE_NAMES = {case.name for case in SAMPLE}

each_case = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
each_case_a_sample_first = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=() if case.name in SAMPLE_NAMES else pytest.mark.slow)
        for case in ALL
    ],
)


@contextmanager
def words():
    """Give the warnings about kernels that run interpreted, and let no other warning pass."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def wrong(case: Case, **how) -> list[str]:
    with cuda.stand_in(seconds=SECONDS, **how):
        return differences(case, run(case, cuda))


def test_corpus_is_as_large_as_promised():
    assert len(ALL) >= 60
    assert len({case.name for case in ALL}) == len(ALL)


def test_sample_shows_every_kind():
    assert all(shown(SAMPLE)[kind] >= min(1, count) for kind, count in KINDS.items())
    assert len(SAMPLE) <= 80, "make test is meant to be fast"


@each_case
def test_interpreted(case):
    assert wrong(case, interpreted=True) == []


@pytest.mark.one_in(2)
@each_case_a_sample_first
def test_compiled(case):
    with words() as said:
        assert wrong(case, interpreted=False) == []
    assert any("runs interpreted" in str(each.message) for each in said) == (case.name in RUN_INTERPRETED)


@pytest.mark.parametrize("seed", SEEDS)
@each_case
def test_order_of_threads_does_not_matter_interpreted(case, seed):
    assert wrong(case, interpreted=True, seed=seed) == []


@pytest.mark.one_in(2)
@each_case_a_sample_first
def test_order_of_threads_does_not_matter_compiled(case):
    with words():
        assert wrong(case, interpreted=False, seed=7) == []


@each_case
def test_other_inputs(case):
    """An expectation that holds for one set of numbers only would prove little."""
    with cuda.stand_in(seconds=SECONDS, interpreted=True):
        assert differences(case, run(case, cuda, seed=11), seed=11) == []


@pytest.mark.slow
def test_interpreted_list_names_cases():
    assert {case.name for case in ALL} >= RUN_INTERPRETED


@pytest.mark.slow
def test_numbas_own_simulator():
    done = subprocess.run(
        [sys.executable, "-m", "tests.commands.kernels.on_simulator"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, "\n".join(
        [line for line in lines if not line.startswith("ok ")] + [done.stderr[-2000:]]
    )
    count = sum(line.startswith("ok ") for line in lines)
    assert count == sum(case.simulator for case in ALL)
