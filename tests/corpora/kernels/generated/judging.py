"""Holds generated programs against the real compiler: the same, refused by name, or different."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from host_to_device.standins.numba_cuda import python_numbers
from tests.corpora.kernels.generated.sources import namespace
from tests.corpora.kernels.generated.typed import THREADS, Program

ROOT = Path(__file__).resolve().parents[4]
MODES = {"compiled": False, "interpreted": True}
# What may become of a program; the last three are faults of the stand-in. Not judged are programs in which Numba's compiler
# itself fails, those that differ after an int64 has overflowed: LLVM may then leave out what follows from it, those that
# differ after a remainder of floats whose result depends on how a GPU's compiler rounds (`remainder`), and those that store
# the lowest bits of an integer that was made a float and does not fit (`whole_numbers`).
SAME, REFUSED, UNJUDGED, DIFFERENT, ACCEPTED, FAILED = (
    "same",
    "refused by name",
    "not judged",
    "silently different",
    "accepted, Numba refuses",
    "failed without a line",
)
FAULTS = (DIFFERENT, ACCEPTED, FAILED)


@dataclass(frozen=True)
class Verdict:
    outcome: str
    words: str = ""


def on_stand_in(program: Program, interpreted: bool, seed: int | None = None) -> dict[str, Any]:
    """Run a program on the stand-in; return the outputs as hexadecimal bytes, or the error."""
    kernel = namespace(program.source, f"<{program.name}>", cuda=cuda)["program"]
    arrays, scalars = program.inputs()
    outputs = {name: np.zeros(THREADS, dtype) for name, dtype in program.outputs.items()}
    try:
        with warnings.catch_warnings(), cuda.stand_in(interpreted=interpreted, seed=seed, seconds=20):
            warnings.simplefilter("ignore")
            kernel[1, THREADS](*arrays, *scalars, *outputs.values())
    except Exception as problem:
        return {"refused": type(problem).__name__, "words": str(problem)}
    return {name: array.tobytes().hex() for name, array in outputs.items()}


def judge(program: Program, real: dict[str, Any], got: dict[str, Any]) -> Verdict:
    """Compare what the stand-in made of a program with what the real compiler made of it."""
    if real.get("refused") == "AssertionError":
        return Verdict(UNJUDGED, f"Numba's compiler fails: {real['words']}")
    if "refused" in real:
        if "refused" in got:
            return Verdict(SAME, "refused by both")
        return Verdict(ACCEPTED, f"{real['refused']}: {real['words']}")
    if "refused" in got:
        words = f"{got['refused']}: {got['words']}"
        return Verdict(REFUSED if ", line " in got["words"] else FAILED, words)
    for name, dtype in program.outputs.items():
        right, found = (np.frombuffer(bytes.fromhex(each[name]), dtype) for each in (real, got))
        wrong = ~((right == found) & (np.signbit(right) == np.signbit(found)))
        if right.dtype.kind == "f":
            wrong &= ~(np.isnan(right) & np.isnan(found))
        if wrong.any():
            at = int(np.argmax(wrong))
            if isinstance(program, Program) and (
                reason := left_open(program) or whole_numbers(program, name, right, wrong)
            ):
                return Verdict(UNJUDGED, reason)
            return Verdict(DIFFERENT, f"{name}[{at}] is {found[at]!r}, and {right[at]!r} on a GPU")
    return Verdict(SAME)


def left_open(program: Program) -> str:
    """Return why the compilers may make different results of this program; nothing if they may not."""
    found: set[str] = set()

    def overflowed(value: int) -> int:
        found.add("an int64 has overflowed")
        return known["overflowed"](value)

    def divided(name: str, x: Any, y: Any) -> Any:
        one, other = abs(x), abs(y)
        with np.errstate(all="ignore"):
            if one - np.floor(one / other) * other != np.fmod(one, other):
                found.add("a remainder of floats was rounded")
        return known[name](x, y)

    own = {"overflowed": overflowed}
    own |= {name: functools.partial(divided, name) for name in ("remainder", "floored")}
    known = {name: python_numbers.HELPERS[name] for name in own}
    python_numbers.HELPERS.update(own)
    try:
        on_stand_in(program, interpreted=True)
    finally:
        python_numbers.HELPERS.update(known)
    return ", ".join(sorted(found))


def whole_numbers(program: Program, name: str, right: np.ndarray, wrong: np.ndarray) -> str:
    """Return why an output may differ where `wrong` says so: it stores floats that are whole numbers and do not fit.

    PTX takes the nearest integer that fits. But where the float has just been made of an integer, LLVM leaves out both
    conversions, and the lowest bits are stored (`foldItoFPtoI` in LLVM's InstCombineCasts.cpp).
    """
    if right.dtype.kind not in "iu":
        return ""
    got = on_stand_in(
        dataclasses.replace(program, outputs=program.outputs | {name: "float64"}), interpreted=True
    )
    if "refused" in got:
        return ""
    bits = 8 * right.dtype.itemsize
    for value, stored in zip(np.frombuffer(bytes.fromhex(got[name]))[wrong], right[wrong], strict=True):
        fits = np.iinfo(right.dtype).min <= value <= np.iinfo(right.dtype).max
        if fits or not value.is_integer():
            return ""
        apart = (int(value) - int(stored)) % 2**bits
        if min(apart, 2**bits - apart) > np.spacing(value) / 2:  # the float may have been rounded
            return ""
    return "an integer that was made a float does not fit"


class Real:
    """A real library in a process of its own; give it programs."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process

    def results(self, programs: list[Any]) -> list[dict[str, Any]]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([dataclasses.asdict(each) for each in programs]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process with the real library has ended: its last words stand above")
        return json.loads(line)


@contextlib.contextmanager
def real(module: str = "real_numba", cupy: bool = False) -> Iterator[Real]:
    """Start a module of this package with the real libraries on the rehearsal."""
    from rehearsal import run

    quiet = {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0", "PYTHONWARNINGS": "ignore"}
    base = {**os.environ, **quiet, "H2D_MACHINE": "gpu", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.corpora.kernels.generated.{module}"],
        env=run.environment(base, cupy=cupy),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Real(process)
    finally:
        process.stdin.close()
        process.wait(timeout=60)
