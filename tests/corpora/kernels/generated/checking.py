"""Holds the check against the truth of generated kernels: right, found, missed, or a false alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from host_to_device.checking import check
from tests.corpora.kernels.generated.cooperative import Kernel, source_of, truth
from tests.corpora.kernels.generated.sources import namespace

SAME, FOUND, MISSED, ALARM, DIFFERENT = (
    "no finding, none due",
    "found",
    "missed",
    "false alarm",
    "wrong result",
)
FAULTS = (MISSED, ALARM, DIFFERENT)
RACES = ("race", "warp synchronisation")


@dataclass(frozen=True)
class Verdict:
    outcome: str
    words: str = ""


def made(kernel: Kernel) -> Any:
    return namespace(source_of(kernel)[0], f"<{kernel.name}>", cuda=cuda)["program"]


def launched(program: Any, kernel: Kernel, interpreted: bool, seed: int | None) -> np.ndarray:
    out = cuda.to_device(np.zeros(kernel.blocks * kernel.threads, np.int64))
    with cuda.stand_in(interpreted=interpreted, seed=seed, seconds=60):
        program[kernel.blocks, kernel.threads](out)
    return out.copy_to_host()


def judge(kernel: Kernel, interpreted: bool, schedules: int = 3) -> Verdict:
    """Check a kernel, and run it in several orders if nothing is wrong with it."""
    known, program = truth(kernel), made(kernel)
    out = np.zeros(kernel.blocks * kernel.threads, np.int64)
    checked = check(program, interpreted=interpreted, schedules=schedules, seconds=60)
    report = checked[kernel.blocks, kernel.threads](out)
    kinds = {finding.kind for finding in report.findings}
    expected = set().union(known.allowed, *known.required)
    for finding in report.findings:
        if finding.kind not in expected:
            return Verdict(ALARM, f"{finding.kind}, line {finding.lines}: {finding.text}")
        if finding.kind in RACES and known.racing and not set(finding.lines) <= known.racing:
            return Verdict(
                ALARM, f"line {finding.lines} do not race, {sorted(known.racing)} do: {finding.text}"
            )
    for required in known.required:
        if not required & kinds:
            return Verdict(
                MISSED, f"no {' or '.join(sorted(required))}; found: {', '.join(sorted(kinds)) or 'nothing'}"
            )
    if known.required:
        return Verdict(FOUND)
    for seed in (None, 1, 2):
        got = launched(program, kernel, interpreted, seed)
        if not np.array_equal(got, known.out):
            at = int(np.argmax(got != known.out))
            return Verdict(DIFFERENT, f"seed {seed}: out[{at}] is {got[at]}, not {known.out[at]}")
    return Verdict(SAME)
