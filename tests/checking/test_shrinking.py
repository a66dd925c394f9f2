"""What the check finds in the corpus of wrong kernels shrinks to a few threads and steps that still show the finding."""

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


def shrunken(cases) -> list[tuple]:
    """Return the case's name, the finding and what it shrinks to, for every finding in cases that can be played."""
    found = []
    for case in cases:
        if case.finding == wrong_case.NO_PROGRESS:  # its check takes all the time that it gets
            continue
        for report in reports(case.case, outputs=case.outputs, run=False, seconds=PATIENT):
            for number, finding in enumerate(report.findings, 1):
                if finding.is_played:
                    found.append((case.name, finding, report.play(number).shrunk))
    return found


def is_outside(shrunk) -> bool:
    """Whether the step of the finding lies outside of its array, and the others inside."""
    at = shrunk.racing[0]
    sizes = {step.array: step.outside.shape for step in shrunk.steps if step.outside}
    inside = [
        all(0 <= k < size for k, size in zip(step.index, sizes[step.array], strict=True))
        for step in shrunk.steps
        if step.array == shrunk.steps[at].array
    ]
    return bool(shrunk.steps[at].outside) and inside[-1:] == [False] and all(inside[:-1])


def is_divergence(shrunk, finding) -> bool:
    """Whether one thread stops at the barrier of the finding, and the other one elsewhere."""
    stops = [shrunk.steps[k] for k in shrunk.racing]
    at_it = [step.kind == "wait" and step.place[1] == finding.lines[0] for step in stops]
    return sorted(at_it) == [False, True] and {step.kind for step in stops} <= {"wait", "leave"}


def faults_of(shrunk, finding) -> str:
    """Say in what a shrunk finding is not as it has to be; an empty string if all is well."""
    if shrunk is None or not shrunk.steps:
        return f"is not played: {shrunk and shrunk.why}"
    if len(shrunk.threads) > MOST_THREADS or len(shrunk.steps) > MOST_STEPS:
        return f"has {len(shrunk.threads)} threads and {len(shrunk.steps)} steps"
    if {each for step in shrunk.steps for each in step.by} != set(shrunk.threads):
        return "has steps of other threads, or threads without steps"
    if finding.pair:
        return "" if still_a_race(shrunk) else "is no race by the rule"
    right = is_outside(shrunk) if finding.kind == "out of bounds" else is_divergence(shrunk, finding)
    return "" if right else "does not show the finding"


def judge(found: list[tuple]) -> None:
    bad = [(name, finding, fault) for name, finding, shrunk in found if (fault := faults_of(shrunk, finding))]
    for name, finding, fault in bad:
        print(name, finding.kind, finding.text, fault, sep=": ")
    assert not [fault for *_, fault in bad if fault.startswith(("is no race", "does not show"))]
    for name, those in parts_of(found).items():
        missed = len(parts_of(bad)[name])
        assert len(those) - missed >= PART * len(those), f"{name}: {missed} of {len(those)}"


def parts_of(found: list[tuple]) -> dict[str, list[tuple]]:
    """Return the races, and the other findings."""
    races = [each for each in found if each[1].pair]
    return {"races": races, "others": [each for each in found if not each[1].pair]}


def test_some_findings_of_the_corpus_shrink():
    found = shrunken(wrong.ALL[::EVERY])
    assert all(len(each) >= 5 for each in parts_of(found).values())
    judge(found)


@pytest.mark.slow
def test_all_findings_of_the_corpus_shrink():
    found = shrunken(wrong.ALL)
    assert len({name for name, *_ in parts_of(found)["races"]}) >= 70
    judge(found)
