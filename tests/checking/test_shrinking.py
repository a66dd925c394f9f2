"""Every race of the corpus of wrong kernels shrinks to a few threads and steps that are still a race by the rule."""

from __future__ import annotations

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

from host_to_device.checking.accesses import Memory, Moment  # noqa: E402
from tests.checking.judging import PATIENT, reports  # noqa: E402
from tests.corpora.kernels.wrong import case as wrong_case  # noqa: E402
from tests.corpora.kernels.wrong import corpus as wrong  # noqa: E402

MOST_THREADS, MOST_STEPS, PART = 3, 12, 0.95
EVERY = 8  # the quick test takes every eighth case


class Named:
    """What `Memory.touch` needs of an array: it takes the fault."""

    def __init__(self) -> None:
        self.faults: list[tuple] = []

    def fault(self, kind, address, access, other=None, if_used=False) -> None:
        self.faults.append((kind, address, access, other))


def still_a_race(shrunk) -> bool:
    """Whether the rule of `checking.accesses`, given only these steps, finds the two accesses in a race."""
    moment, memories, array = Moment(warp_size=shrunk.warp_size), {}, Named()
    clocks: dict[int, tuple] = {}
    first, second = shrunk.racing
    for number, step in enumerate(shrunk.steps):
        block, thread = step.by[0]
        moment.block, moment.thread = block, thread
        moment.epoch, moment.warps = clocks.get(block, (0, {}))
        moment.turn.clear()
        if step.kind == "barrier":
            moment.pass_barrier(block, [each for _, each in step.by])
        elif step.kind == "warp barrier":
            moment.pass_warp(thread // shrunk.warp_size, [each for _, each in step.by])
        elif step.kind == "grid barrier":
            for memory in memories.values():
                memory.cells.clear()
        elif step.kind in ("fence", "block fence"):
            moment.fence(step.kind == "fence")
        else:
            memory = memories.setdefault(
                step.memory, Memory(np.zeros(1), step.array, step.space, moment, print)
            )
            memory.fresh = False
            # The place is the number of the step here: so the fault names the step.
            memory.touch(step.address, step.kind, ("", number), step.same, array)
            if step.kind == "atomic":
                memory.exchange(step.address)
        clocks[block] = moment.epoch, moment.warps
    return any(
        kind == "race" and other is not None and {now.place[1], other.place[1]} == {first, second}
        for kind, _, now, other in array.faults
    )


def races(cases) -> list[tuple]:
    """Return the case's name, the finding and what it shrinks to, for every race that the check finds in cases."""
    found = []
    for case in cases:
        if case.finding == wrong_case.NO_PROGRESS:  # its check takes all the time that it gets
            continue
        for report in reports(case.case, outputs=case.outputs, run=False, seconds=PATIENT):
            for number, finding in enumerate(report.findings, 1):
                if finding.pair:
                    found.append((case.name, finding, report.play(number).shrunk))
    return found


def faults_of(shrunk) -> str:
    """Say in what a shrunk race is not as it has to be; an empty string if all is well."""
    if shrunk is None or not shrunk.steps:
        return f"is not played: {shrunk and shrunk.why}"
    if len(shrunk.threads) > MOST_THREADS or len(shrunk.steps) > MOST_STEPS:
        return f"has {len(shrunk.threads)} threads and {len(shrunk.steps)} steps"
    if {each for step in shrunk.steps for each in step.by} != set(shrunk.threads):
        return "has steps of other threads, or threads without steps"
    return "" if still_a_race(shrunk) else "is no race by the rule"


def judge(found: list[tuple]) -> None:
    bad = [(name, finding.text, fault) for name, finding, shrunk in found if (fault := faults_of(shrunk))]
    for each in bad:
        print(*each, sep=": ")
    assert not [each for each in bad if each[2].startswith("is no race")]
    assert len(found) - len(bad) >= PART * len(found), f"{len(bad)} of {len(found)}"


def test_some_races_of_the_corpus_shrink():
    found = races(wrong.ALL[::EVERY])
    assert len(found) >= 10
    judge(found)


@pytest.mark.slow
def test_all_races_of_the_corpus_shrink():
    found = races(wrong.ALL)
    assert len({name for name, *_ in found}) >= 70
    judge(found)
