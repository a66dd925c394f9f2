"""Array expressions on the stand-in: the real CuPy's values, dtypes, shapes and strides, or its exceptions."""

import re

import pytest

from host_to_device.standins import imports
from tests.corpora.cupy.expressions import generating, running, shrinking, storing
from tests.corpora.cupy.expressions.written import WRITTEN

BY_HAND = {each.name: each for each in storing.read(storing.BY_HAND)}
FROM_SEEDS = {each.name: each for each in storing.read(storing.FROM_SEEDS)}
OFTEN = 250  # programs from seeds that run with every commit
KERNELS_OFTEN = 12  # of the programs with kernels: each compiles its own


def compiles(each):
    return bool(re.search("Kernel|fuse", " ".join(each.statements)))


def chosen(programs, often):
    """Return programs as parameters; those that only `make test-all` runs are marked."""
    kernels = 0
    for number, each in enumerate(programs.values()):
        kernels += compiles(each)
        slow = number >= often or (compiles(each) and kernels > KERNELS_OFTEN)
        yield pytest.param(each, id=each.name, marks=[pytest.mark.slow] if slow else [])


ORDER = running.BY_NAME, "the order of a GPU's threads decides, and the stand-in says so"
HOST_ARRAY = running.OTHER_CLASS, "a NumPy array where CuPy wants its own: refused with the words for it"
# Programs whose outcome is another one: its kind, and why.
KNOWN = {
    **{
        f"fused functions of arrays that share memory {number}": ORDER
        for number in (1, 2, 3, 4, 5, 7, 8, 9, 14, 18)
    },
    **{f"mistakes {number}": HOST_ARRAY for number in (246, 265, 281, 285, 290, 398, 629)},
    "mistakes 287": (running.OTHER_CLASS, "a list where CuPy makes a dtype of it"),
    "mistakes 354": (running.REFUSED, "CuPy makes an array like one of NumPy's"),
    "seed 755": (running.OTHER_CLASS, "an IndexError, as NumPy's, for index arrays that do not fit together"),
    "seed 954": (running.OTHER_CLASS, "a TypeError that names the list, where CuPy asks it for a dtype"),
    **{
        f"seed {number}": (
            running.OTHER_CLASS,
            "an IndexError, as NumPy's, for index arrays that do not fit together",
        )
        for number in (1767, 1886)
    },
    **{
        f"seed {number}": (running.PASSES, "cp.inner along an axis without elements: CuPy divides by zero")
        for number in (1677, 1735)
    },
    "seed 1329": (running.REFUSED, "a mask that selects nothing takes values of every shape"),
    "seed 1862": (running.OTHER_CLASS, "CuPy's compiler refuses a quantile of complex numbers"),
    "seed 1875": (running.REFUSED, "an integer that the array's dtype does not hold, beside a float"),
    "seed 1915": (running.REFUSED, "a product of a float16 and another type"),
    "seed 1128": (running.OTHER_CLASS, "two mistakes in one statement: another one is found first"),
    "mistakes 641": (running.OTHER_CLASS, "CuPy's compiler finds the mistake, the stand-in compiles nothing"),
}


@pytest.fixture(scope="module")
def cp():
    imports.redirect()
    import cupy

    return cupy


@pytest.mark.parametrize("each", [*chosen(BY_HAND, 10_000), *chosen(FROM_SEEDS, OFTEN)])
def test_outcome_of_the_real_cupy(each, cp):
    found = running.difference(each.statements, each.outcome, running.outcome(each.statements, cp))
    if each.name in KNOWN:
        assert found, "it is the same by now: take it out of KNOWN"
        assert found[0] == KNOWN[each.name][0], found
    else:
        assert found is None


def test_nothing_known_is_silent():
    assert not [name for name, (kind, _) in KNOWN.items() if kind == running.SILENT]
    assert KNOWN.keys() <= BY_HAND.keys() | FROM_SEEDS.keys()


def test_stored_programs_are_those_that_are_written():
    for name, each in BY_HAND.items():
        assert each.statements == storing.statements(WRITTEN[name])
    missing = WRITTEN.keys() - BY_HAND.keys()
    # A reduction that is written into an array beside it: the rehearsal does not launch it.
    assert missing == {"fused functions of arrays that share memory 12"}


# -- the generator


def test_a_seed_makes_the_same_program_again():
    assert generating.program(7) == generating.program(7) != generating.program(8)


def test_programs_are_of_every_kind():
    texts = ["\n".join(generating.program(seed)) for seed in range(300)]
    for kind in (
        ".reshape(",
        "astype",
        ".sum(",
        "cp.where",
        "ElementwiseKernel",
        "cp.fuse",
        "] =",
        "+=",
        "[::-1",
        "'F'",
    ):
        assert sum(kind in text for text in texts) >= 3, kind  # fmt: skip
    for dtype in generating.DTYPES:
        assert any(f"'{dtype}'" in text for text in texts), dtype


class Ours:
    """Stands for the real CuPy in tests of shrinking: it answers with the stand-in's outcome, one difference apart."""

    def __init__(self, cp):
        self.cp = cp

    def ask(self, statements):
        found = running.outcome(statements, self.cp)
        for value in found["values"].values():
            if value[0] == "device" and 255 in value[4]:
                value[4] = [0 if each == 255 else each for each in value[4]]
        return found


def test_a_finding_is_shrunk_to_the_smallest_program(cp):
    program = [
        "a = cp.arange(4)",
        "b = cp.array([7, 8, 255, 9, 10], 'u1')",
        "c = a + 1",
        "d = b.reshape(5, 1)",
        "e = c.sum()",
    ]
    assert shrinking.smallest(program, running.SILENT, Ours(cp), cp) == ["b = cp.array([255], 'u1')"]


# -- how outcomes are told apart

RIGHT = {"errors": {"1": ["TypeError", "no"]}, "values": {"a": ["device", "float32", [2, 2], [8, 4], [1.0, 2.0, 3.0, 4.0]]}}  # fmt: skip


def changed(**parts):
    value = dict(zip(("kind", "dtype", "shape", "strides", "elements"), RIGHT["values"]["a"], strict=True))
    return {"errors": RIGHT["errors"], "values": {"a": [*{**value, **parts}.values()]}}


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        (changed(), None),
        (changed(elements=[1.0, 2.0, 3.0, 4.0 + 1e-6]), None),
        (changed(elements=[1.0, 2.0, 3.0, 4.01]), running.SILENT),
        (changed(elements=[1.0, 2.0, 3.0, float("nan")]), running.SILENT),
        (changed(kind="host"), running.SILENT),
        (changed(dtype="float64"), running.SILENT),
        (changed(shape=[4], strides=[4]), running.SILENT),
        (changed(strides=[4, 8]), running.SILENT),
        ({**RIGHT, "errors": {}}, running.PASSES),
        ({**RIGHT, "errors": {"1": ["ValueError", "no"]}}, running.OTHER_CLASS),
        ({**RIGHT, "errors": {**RIGHT["errors"], "0": ["TypeError", "no"]}}, running.REFUSED),
        ({**RIGHT, "errors": {**RIGHT["errors"], "0": ["NotInStandIn", "no"]}}, running.BY_NAME),
    ],
)
def test_kinds_of_differences(got, kind):
    found = running.difference(["a = ...", "b = ..."], RIGHT, got)
    assert (found and found[0]) == kind


def test_integers_are_compared_exactly():
    assert running.unlike(["device", "int64", [1], [0], [2**53 + 1]], ["device", "int64", [1], [0], [2**53]])
