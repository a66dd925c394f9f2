"""Driver, program, GPU: what happens, as NVIDIA's documents say it.

The cases were written from the documents before the rules:

- minor: CUDA Compatibility, "Minor Version Compatibility": a program built with CUDA 11 or later runs on a driver of the
  same major release (tables 1 and 2: 450, 525 and 580; before CUDA 11 the toolkit's own driver); PTX is excepted.
- newer: CUDA Compatibility, "Backward compatibility": newer drivers run older programs.
- binary: CUDA Programming Guide, "Binary Compatibility": a cubin for X.y runs on X.z with z >= y.
- ptx: CUDA Programming Guide, "PTX Compatibility": PTX compiles for its compute capability and every higher one.
- specific, family: CUDA Programming Guide, "Feature Set Compiler Targets", and NVIDIA's blog post on family-specific
  features: `a` for one compute capability, `f` for the family, with no other architecture for PTX either.
- volta: Turing Compatibility Guide, "Compatibility between Volta and Turing": sm_70 runs on 7.5.
- numba: numba-cuda, "CUDA Minor Version Compatibility".
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import host_to_device as h2d
from host_to_device.diagnosing import matrix
from host_to_device.diagnosing.compatibility import NEW_PTX, NO_DEVICE, NO_IMAGE, OLD_DRIVER, decide, reach
from host_to_device.diagnosing.machine_code import Code, order

ANSWERS = {
    "runs": ("runs", ""),
    "compiles": ("compiles", ""),
    "old driver": ("fails", OLD_DRIVER),
    "no image": ("fails", NO_IMAGE),
    "new PTX": ("fails", NEW_PTX),
}

# document | newest CUDA of the driver | CUDA of the program | SASS | PTX | compute capability | answer
CASES = """
minor    | 12.4  | 12.4  | 8.0 9.0       |            | 9.0  | runs
minor    | 12.0  | 12.9  | 8.0 9.0       |            | 9.0  | runs
minor    | 11.0  | 11.8  | 8.0           |            | 8.0  | runs
minor    | 13.0  | 13.2  | 7.5 12.0      |            | 7.5  | runs
minor    | 12.9  | 13.0  | 7.5 12.0      |            | 7.5  | old driver
minor    | 11.8  | 12.0  | 8.0           |            | 8.0  | old driver
minor    | 11.8  | 12.0  | 8.0           | 8.0        | 9.0  | old driver
minor    | 10.2  | 11.0  | 7.0           |            | 7.0  | old driver
minor    | 10.1  | 10.2  | 7.0           |            | 7.0  | old driver
minor    | 10.2  | 10.1  | 7.0           |            | 7.0  | runs
minor    | 9.2   | 10.0  | 7.0           |            | 7.0  | old driver
newer    | 13.0  | 11.7  | 8.6           |            | 8.6  | runs
newer    | 12.4  | 10.2  | 7.0           |            | 7.0  | runs
newer    | 12.10 | 12.9  | 8.0           | 8.0        | 9.0  | compiles
binary   | 12.4  | 12.4  | 8.0           |            | 8.6  | runs
binary   | 12.4  | 12.4  | 8.0           |            | 8.9  | runs
binary   | 12.4  | 12.4  | 8.6           |            | 8.0  | no image
binary   | 12.4  | 12.4  | 8.6           |            | 9.0  | no image
binary   | 12.4  | 12.4  | 9.0           |            | 8.9  | no image
binary   | 12.8  | 12.8  | 10.0          |            | 12.0 | no image
binary   | 12.9  | 12.9  | 10.0          |            | 10.3 | runs
binary   | 12.9  | 12.9  | 1.0           |            | 10.0 | no image
binary   | 12.8  | 12.8  | 12.0          |            | 12.1 | runs
binary   | 12.8  | 12.4  | 5.0 6.0 9.0   |            | 12.0 | no image
volta    | 12.4  | 12.4  | 7.0           |            | 7.5  | runs
ptx      | 12.8  | 12.4  | 8.0           | 9.0        | 12.0 | compiles
ptx      | 12.8  | 12.4  | 8.0           | 9.0        | 8.6  | runs
ptx      | 12.4  | 12.4  | 9.0           | 9.0        | 8.9  | no image
ptx      | 12.4  | 12.4  |               | 5.0        | 8.9  | compiles
ptx      | 12.4  | 12.4  |               | 12.0       | 9.0  | no image
ptx      | 12.4  | 12.8  | 8.0           | 8.0        | 9.0  | new PTX
ptx      | 12.9  | 12.10 | 8.0           | 8.0        | 9.0  | new PTX
ptx      | 12.4  | 12.8  | 8.0           | 8.0        | 8.6  | runs
ptx      | 12.4  | 12.8  | 8.0           | 9.0        | 7.5  | no image
ptx      | 13.0  | 12.9  | 8.0           | 8.0        | 12.0 | compiles
specific | 12.8  | 12.8  | 9.0a          |            | 9.0  | runs
specific | 12.9  | 12.9  | 10.0a         |            | 10.3 | no image
specific | 12.8  | 12.8  | 10.0a         |            | 12.0 | no image
specific | 12.8  | 12.8  |               | 9.0a       | 9.0  | compiles
specific | 12.8  | 12.8  |               | 9.0a       | 10.0 | no image
family   | 12.9  | 12.9  | 10.0f         |            | 10.0 | runs
family   | 12.9  | 12.9  | 10.0f         |            | 10.3 | runs
family   | 12.9  | 12.9  | 10.3f         |            | 10.0 | no image
family   | 12.9  | 12.9  | 10.0f         |            | 12.0 | no image
family   | 12.9  | 12.9  |               | 10.0f      | 10.3 | compiles
family   | 12.9  | 12.9  |               | 10.0f      | 12.0 | no image
numba    | 12.4  | 12.0  |               |            | 8.6  | compiles
numba    | 12.4  | 12.9  |               |            | 12.0 | compiles
numba    | 12.4  | 13.0  |               |            | 8.6  | old driver
"""
ROWS = [[part.strip() for part in line.split("|")] for line in CASES.strip().splitlines()]

MINORS = {5: (0, 2), 6: (0, 1), 7: (0, 5), 8: (0, 6, 9), 9: (0,), 10: (0, 3), 12: (0, 1)}
CARDS = [f"{major}.{minor}" for major, minors in MINORS.items() for minor in minors]
ARCHITECTURES = st.sampled_from([f"{card}{suffix}" for card in CARDS for suffix in ("", "", "a", "f")])
RELEASES = st.sampled_from(
    [f"{major}.{minor}" for major in (10, 11, 12, 13) for minor in (0, 1, 2, 8, 9, 10)]
)
CODES = st.builds(
    lambda sass, ptx: Code("x", tuple(sorted(sass, key=order)), tuple(sorted(ptx, key=order))),
    st.sets(ARCHITECTURES, max_size=4),
    st.sets(ARCHITECTURES, max_size=2),
)
works = {"runs": 2, "compiles": 1, "fails": 0}


def test_there_are_cases_of_every_document_and_every_answer():
    assert len(ROWS) >= 30
    assert {row[-1] for row in ROWS} == set(ANSWERS)


@pytest.mark.parametrize("row", ROWS, ids=[" ".join(row[:-1]) for row in ROWS])
def test_the_documents_are_followed(row):
    _, driver, built_for, sass, ptx, capability, answer = row
    outcome = decide(driver, built_for, Code("x", tuple(sass.split()), tuple(ptx.split())), capability)
    assert (outcome.kind, outcome.message) == ANSWERS[answer]
    assert outcome.why.endswith(".")


@given(RELEASES, RELEASES, RELEASES, CODES, st.sampled_from(CARDS))
def test_a_newer_driver_never_hurts(one, other, built_for, code, card):
    old, new = sorted((one, other), key=order)
    assert works[decide(old, built_for, code, card).kind] <= works[decide(new, built_for, code, card).kind]


@given(RELEASES, RELEASES, CODES, ARCHITECTURES, st.sampled_from(CARDS))
def test_more_machine_code_never_hurts(driver, built_for, code, more, card):
    if not code.sass and not code.ptx:
        return  # a package without any code compiles at run time
    richer = Code("x", tuple(sorted({*code.sass, more}, key=order)), code.ptx)
    before, after = (decide(driver, built_for, each, card) for each in (code, richer))
    assert works[before.kind] <= works[after.kind]


@given(RELEASES, CODES, st.sampled_from(CARDS))
def test_code_for_exactly_this_gpu_runs_with_the_programs_own_driver(release, code, card):
    richer = Code("x", tuple(sorted({*code.sass, card}, key=order)), code.ptx)
    assert decide(release, release, richer, card).kind == "runs"


@given(RELEASES, RELEASES, CODES, st.sampled_from(CARDS))
def test_only_a_failure_has_a_message(driver, built_for, code, card):
    outcome = decide(driver, built_for, code, card)
    assert (outcome.kind == "fails") == bool(outcome.message)


@given(CODES, st.sampled_from(CARDS))
def test_no_code_runs_outside_of_its_reach(code, card):
    ends = reach(code)
    assert (ends is None) == (not code.sass and not code.ptx)
    if ends and decide("13.9", "13.0", code, card).kind != "fails":
        assert order(ends[0]) <= order(card) <= order(ends[1])


def test_the_reach_of_code():
    assert reach(Code("x", ("7.5", "8.6"))) == ("7.5", "8.9")
    assert reach(Code("x", ("7.5", "9.0a"))) == ("7.5", "9.0")
    assert reach(Code("x", ("7.5",), ("8.0",))) == ("7.5", "99.9")
    assert reach(Code("x", (), ("10.0f",))) == ("10.0", "10.9")


@pytest.mark.parametrize("wrong", ["12", "", "12.x", 12.4, None, "12.4.1", "-1.0"])
def test_a_version_that_is_none_is_refused(wrong):
    for arguments in ((wrong, "12.4", "9.0"), ("12.4", wrong, "9.0"), ("12.4", "12.4", wrong)):
        with pytest.raises(ValueError, match=r"a version has to be text such as '12\.4'"):
            decide(*arguments[:2], Code("x", ("9.0",)), arguments[2])


def test_the_messages_are_those_that_the_driver_gives():
    """The rehearsal's driver has the texts of CUDA's own headers."""
    from tests.diagnosing.test_rules import ROOT

    texts = (ROOT / "rehearsal" / "driver" / "errors.cpp").read_text(encoding="utf-8")
    assert all(f'"{each}"' in texts for each in (NO_DEVICE, NO_IMAGE, NEW_PTX))


def test_what_users_of_real_wheels_have_met():
    """PyTorch 2.6 has no code for the RTX 50 series, 2.9 none for Pascal; CuPy's PTX helps a GPU that is newer than it."""
    wheels = {(wheel.name, wheel.version): wheel for wheel in h2d.known_wheels()}

    def kind(name, version, driver, card):
        wheel = wheels[name, version]
        return decide(driver, wheel.cuda, wheel, card)

    assert kind("torch", "2.6.0", "12.8", "12.0").message == NO_IMAGE
    assert kind("torch", "2.9.1", "12.8", "6.1").message == NO_IMAGE
    assert kind("torch", "2.9.1", "12.8", "12.0").kind == "runs"
    assert kind("torch", "2.15.0", "12.9", "9.0").message == OLD_DRIVER
    assert kind("cupy-cuda11x", "13.6.0", "12.8", "12.0").kind == "compiles"


class Built:
    """A wheel of a reader's own making."""

    def __init__(self, cuda="12.4", sass=("7.0", "8.0"), ptx=("8.0",)):
        self.cuda, self.sass, self.ptx = cuda, sass, ptx


# What NVIDIA's table of drivers and GPUs adds (gpu_drivers in versions.toml): driver | built for | card | answer, why.
PUBLIC = [
    ("12.4", "12.4", "8.6", "runs", "", "machine code for 8.0"),
    ("12.8", "12.4", "12.0", "compiles", "", "PTX for 8.0"),
    ("12.6", "12.4", "12.0", "fails", NO_DEVICE, "the first driver that knows it supports CUDA 12.8"),
    ("13.0", "12.4", "7.0", "runs", "", "machine code for 7.0"),
    ("13.1", "12.4", "7.0", "fails", NO_DEVICE, "the last driver that knows it supports CUDA 13.0"),
    ("12.10", "12.4", "12.0", "compiles", "", "PTX for 8.0"),
    ("11.8", "12.4", "12.0", "fails", OLD_DRIVER, "needs a driver for CUDA 12"),
    ("12.8", "12.4", "6.1", "fails", NO_IMAGE, "No machine code"),
    ("12.8", "12.9", "9.0", "fails", NEW_PTX, "Only PTX for 8.0"),
    ("13.4", "12.4", "8.6", "not known", "", "driver is for CUDA 13.4, and the tables end at CUDA 13.3"),
    ("13.3", "14.0", "8.6", "not known", "", "wheel is for CUDA 14.0, and the tables end"),
    ("8.0", "8.0", "6.1", "not known", "", "the tables begin at CUDA 9.0"),
    ("8.0", "12.4", "6.1", "fails", OLD_DRIVER, "needs a driver for CUDA 12"),
    ("13.3", "12.4", "13.0", "not known", "", "which drivers know compute capability 13.0"),
    ("12.4", "12.4", "8.7", "not known", "", "which drivers know compute capability 8.7"),
]  # fmt: skip


@pytest.mark.parametrize("row", PUBLIC, ids=[" ".join(row[:3]) for row in PUBLIC])
def test_the_public_answer_also_knows_which_driver_knows_which_gpu(row):
    driver, built_for, card, kind, message, why = row
    outcome = h2d.runs_on(Built(built_for), driver, card)
    assert (outcome.kind, outcome.message) == (kind, message)
    assert why in outcome.why and outcome.why.endswith(".")


def test_the_public_answer_adds_nothing_else_to_the_rules():
    """For all known wheels, drivers and GPUs: the rules' answer, unless the driver does not know the GPU."""
    seen = set()
    for wheel in h2d.known_wheels():
        for driver in ("11.4", "11.8", "12.4", "12.6", "12.8", "13.0", "13.3"):
            for card in ("3.5", "6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"):
                outcome, rules = h2d.runs_on(wheel, driver, card), decide(driver, wheel.cuda, wheel, card)
                hidden = outcome.message == NO_DEVICE
                assert hidden == (rules.message != OLD_DRIVER and not matrix.drives(driver, card))
                too_old = (
                    not wheel.sass and wheel.cuda == "13.0" and card in ("6.1", "7.0") and driver == "13.0"
                )
                assert (outcome.kind == "not known") == too_old
                assert hidden or too_old or outcome == rules
                seen.add((outcome.kind, outcome.message))
    assert seen == {*ANSWERS.values(), ("fails", NO_DEVICE), ("not known", "")}


def test_a_compiler_of_cuda_13_does_not_take_gpus_before_turing():
    """The doctor's rule nvrtc-dropped-card: NVRTC of CUDA 13 begins with compute capability 7.5."""
    outcome = h2d.runs_on(Built("13.0", (), ()), "13.0", "7.0")
    assert (outcome.kind, outcome.message) == (
        "not known",
        "",
    ) and "begin with compute capability 7.5" in outcome.why
    assert h2d.runs_on(Built("13.0", (), ()), "13.0", "7.5").kind == "compiles"
    assert h2d.runs_on(Built("12.9", (), ()), "13.0", "7.0").kind == "compiles"
    assert h2d.runs_on(Built("13.0", (), ("7.0",)), "13.0", "7.0").kind == "compiles"


def test_an_outcome_is_one_line():
    old = str(h2d.runs_on(Built(), "11.8", "8.6"))
    assert old.startswith(f"fails ({OLD_DRIVER}): A program built for CUDA 12.4") and "\n" not in old
    assert (
        str(h2d.runs_on(Built(), "12.4", "8.6"))
        == "runs: The machine code for 8.0 runs on compute capability 8.6."
    )


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (
            ("torch", "12.4", "8.6"),
            TypeError,
            r"wheel is of type str and has no 'cuda': give an element of h2d",
        ),
        ((Code("x", ("8.6",)), "12.4", "8.6"), TypeError, r"type Code and has no 'cuda'"),
        ((Built(sass="8.6"), "12.4", "8.6"), TypeError, r"wheel\.sass is '8\.6': give a tuple"),
        ((Built(ptx=None), "12.4", "8.6"), TypeError, r"wheel\.ptx is None: give a tuple"),
        (
            (Built(sass=("sm_86",)), "12.4", "8.6"),
            ValueError,
            r"wheel\.sass has 'sm_86': give text such as '8\.6'",
        ),
        ((Built(sass=(8.6,)), "12.4", "8.6"), ValueError, r"wheel\.sass has 8\.6: give text"),
        (
            (Built(cuda="12.4.1"), "12.4", "8.6"),
            ValueError,
            r"wheel\.cuda is '12\.4\.1': give text such as '12\.4'",
        ),
        (
            (Built(), "550.54.14", "8.6"),
            ValueError,
            r"driver_cuda is '550\.54\.14', the driver's own version: give",
        ),
        ((Built(), "550.54", "8.6"), ValueError, r"the driver's own version: give the newest CUDA"),
        ((Built(), 12.4, "8.6"), ValueError, r"driver_cuda is 12\.4: give text such as '12\.4'"),
        ((Built(), "12.4", (8, 6)), ValueError, r"capability is \(8, 6\): give text such as '8\.6'"),
        ((Built(), "12.4", "sm_86"), ValueError, r"capability is 'sm_86': give text"),
        ((Built(), "12.4", "9.0a"), ValueError, r"capability is '9\.0a': give text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_give(given, kind, said):
    with pytest.raises(kind, match=said) as raised:
        h2d.runs_on(*given)
    assert "\n" not in str(raised.value)
