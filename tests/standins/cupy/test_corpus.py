"""Properties of the corpus that hold without CuPy and without the stand-in."""

import dataclasses
import re

import numpy as np
import pytest

from tests.corpora.cupy import corpus
from tests.corpora.cupy.case import OnDevice, Program, Raises, device, difference, host, unequal
from tests.corpora.cupy.corpus import ALL

WITH_NUMPY = [program for program in ALL if program.numpy]


def test_there_are_enough_programs_of_every_kind():
    assert len(ALL) >= 300
    asked = {
        "arrays",
        "transfers",
        "dtypes",
        "0-d",
        "mixing",
        "indexing",
        "ufuncs",
        "reductions",
        "linalg",
        "random",
        "fft",
        "elementwise",
        "reduction kernels",
        "raw kernels",
        "raw modules",
        "fusion",
        "jit",
        "streams",
        "events",
        "devices",
        "memory",
        "pinned memory",
        "timing",
        "scatter",
        "interoperability",
    }
    assert asked <= {kind for program in ALL for kind in program.kinds}


def test_every_name_is_used_once():
    names = [program.name for program in ALL]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_a_program_is_whole(program):
    assert re.match(r"CuPy 14\.2(\.0)? (documentation|source), [\w/.]+: \S", program.reference)
    assert program.kinds
    if isinstance(program.outcome, Raises):
        assert program.outcome.message or program.outcome.matching


@pytest.mark.parametrize("program", WITH_NUMPY, ids=lambda program: program.name)
def test_numpy_agrees_where_a_program_only_computes(program):
    assert unequal(program.run(np), program.outcome, np, kinds=False) is None


def _program(run, outcome) -> Program:
    return Program("one", run, outcome, "none", ("arrays",))


def test_kinds_are_told_apart():
    class Module:
        class ndarray:
            def get(self):
                return np.arange(2)

    assert difference(_program(lambda cp: cp.ndarray(), device([0, 1], "int64")), Module) is None
    assert "not a numpy.ndarray" in difference(
        _program(lambda cp: cp.ndarray(), host([0, 1], "int64")), Module
    )
    assert "a numpy.ndarray" in difference(_program(lambda cp: np.arange(2), device([0, 1], "int64")), Module)
    assert "not a builtins.int" in difference(_program(lambda cp: np.int64(3), 3), Module)
    assert "not a numpy.int64" in difference(_program(lambda cp: 3, np.int64(3)), Module)
    assert "not a builtins.bool" in difference(_program(lambda cp: 1, True), Module)


def test_values_shapes_and_dtypes_are_told_apart():
    for wrong in (np.array([0, 2]), np.array([[0, 1]]), np.array([0.0, 1.0])):
        assert unequal(wrong, host([0, 1], "int64"), np) is not None
    assert unequal(np.array([0, 1]), host([0, 1], "int64"), np) is None
    assert unequal(np.array([np.nan]), host([np.nan], "float64"), np) is None
    assert unequal(np.array([1.0001]), host([1], "float64", rtol=1e-5), np) is not None
    assert unequal((1, [2]), (1, [3]), np) == "value 1: value 0: 2, not 3"
    assert unequal({"a": 1}, {"a": 2}, np) == "a: 1, not 2"


def test_errors_are_told_apart():
    def refuse(cp):
        raise ValueError("no more than 3")

    assert difference(_program(refuse, Raises("ValueError", "no more than 3")), np) is None
    assert difference(_program(refuse, Raises("ValueError", matching="than [0-9]")), np) is None
    assert "not TypeError" in difference(_program(refuse, Raises("TypeError", "no more than 3")), np)
    assert "says" in difference(_program(refuse, Raises("ValueError", "no more")), np)
    assert "without" in difference(_program(refuse, Raises("ValueError", matching="less")), np)
    assert "should raise" in difference(_program(lambda cp: 1, Raises("ValueError")), np)
    assert difference(_program(refuse, 1), np) == "raises ValueError: no more than 3"


def test_no_program_counts_as_seen_after_a_change(monkeypatch):
    first, second = ALL[:2]
    record = {
        first.name: {"where": "a GPU", "digest": first.digest()},
        second.name: {"where": "a GPU", "digest": "of another text"},
    }
    monkeypatch.setattr(corpus, "seen", lambda: record)
    again = corpus._collect()
    assert again[0].seen_on_gpu == "a GPU"
    assert again[1].seen_on_gpu is None
    assert dataclasses.replace(again[0], seen_on_gpu=None) == dataclasses.replace(first, seen_on_gpu=None)


def test_outcomes_hold_no_bare_arrays():
    # A bare NumPy array would be compared element by element and say nothing about where it lives.
    def bare(outcome):
        if isinstance(outcome, tuple | list):
            return any(map(bare, outcome))
        return isinstance(outcome, np.ndarray)

    assert not [program.name for program in ALL if bare(program.outcome)]
    assert any(isinstance(program.outcome, OnDevice) for program in ALL)
