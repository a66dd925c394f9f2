"""Generated programs of mixed types give what the real compiler's PTX gives, or are refused by name and line.

`make test` runs a stored sample, whose results the real numba-cuda computed on the rehearsal: all of it interpreted, a few
programs compiled. `make test-all` generates 2,000 programs and asks the real compiler; they run interpreted, and compiled
in turns. `python -m tests.commands.kernels.typed_programs` runs any of them.
"""

import pytest

from host_to_device.standins import imports
from tests import weekly

imports.redirect()

from tests.corpora.kernels.generated import judging, sample, shrinking, typed  # noqa: E402

SAMPLE = sample.stored()
COMPILED = SAMPLE[3:5]
WEEKS = 5  # to compile a program takes most of a second


def faults(mode, programs):
    """Name the programs that are neither the same nor refused by name."""
    verdicts = [
        (program, judging.judge(program, real, judging.on_stand_in(program, judging.MODES[mode])))
        for program, real in programs
    ]
    return [
        f"{program.name}: {each.outcome}: {each.words}"
        for program, each in verdicts
        if each.outcome in judging.FAULTS
    ]


def test_a_sample_interpreted():
    assert faults("interpreted", SAMPLE) == []


def test_a_few_compiled():
    assert faults("compiled", COMPILED) == []


def test_sample_has_every_kind():
    assert {program.kind for program, _ in SAMPLE} == set(typed.KINDS)
    assert sum("refused" in real for _, real in SAMPLE) < len(SAMPLE) / 10


def test_a_seed_gives_one_program():
    assert typed.generate("mixed", 5) == typed.generate("mixed", 5)
    assert typed.generate("mixed", 5).source != typed.generate("mixed", 6).source


def test_a_wrong_value_is_a_fault():
    """A judge that lets everything pass would prove nothing."""
    program, real = next((program, real) for program, real in SAMPLE if "refused" not in real)
    name = next(iter(program.outputs))
    off = {**real, name: f"{int(real[name], 16) ^ 1:0{len(real[name])}x}"}
    assert judging.judge(program, real, real).outcome == judging.SAME
    assert judging.judge(program, real, off).outcome == judging.DIFFERENT
    refused = {"refused": "TypingError", "words": "no"}
    assert judging.judge(program, refused, real).outcome == judging.ACCEPTED
    assert judging.judge(program, real, refused).outcome == judging.FAILED
    assert (
        judging.judge(program, real, {**refused, "words": "program(), this cell, line 3: no"}).outcome
        == judging.REFUSED
    )


def test_shrinking_keeps_what_shows_the_finding():
    source = (
        "def program(x, out):\n    a = x[0] + 1\n    if a > 3:\n        a = abs(-x[1] * 7)\n    out[0] = a\n"
    )
    small = shrinking.shrink(source, lambda tried: ["-x[1]" in each for each in tried])
    assert small == "def program(x, out):\n    -x[1]\n" or len(small.splitlines()) == 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(0, 286, 22))
def test_many_programs(first):
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (make set-up-tests, not on macOS)")
    programs = typed.programs(154, first)
    with judging.real() as real:
        known = list(zip(programs, real.results(programs), strict=True))
    assert faults("interpreted", known) == []
    assert faults("compiled", weekly.in_turn(known, WEEKS, f"typed programs {first}")) == []
