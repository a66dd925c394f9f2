"""One notebook in a real sandbox: what is right earns its points, what is not does not, and nothing outside changes."""

import pytest

from host_to_device.exercises import catalogue
from host_to_device.grading import cells, marking, runs, sandbox
from tests.exercises.test_sets import ROOT
from tests.grading import attacks

LIMITS = sandbox.Limits()
PATIENCE = marking.Patience(cell=8, whole=300)
NUMBERS = ["02.a", "02.1"]
EVERY = [cls for number in catalogue.set_numbers() for cls in catalogue.in_set(number)]


@pytest.fixture(scope="module")
def box():
    try:
        return sandbox.bubblewrap(LIMITS)
    except sandbox.NoSandbox as problem:
        pytest.skip(str(problem))


def marked(box, code):
    return marking.mark(code, NUMBERS, 7, box, LIMITS, PATIENCE)


def test_an_honest_notebook_earns_what_is_right(box):
    found = marked(box, [attacks.START, attacks.HONEST, attacks.ASK[0], attacks.EMPTY, attacks.ASK[1]])
    assert found.verdicts["02.a"].right and found.verdicts["02.a"].points == 1
    assert found.verdicts["02.1"].right is False and "leaves" in found.verdicts["02.1"].text
    found = marked(box, [attacks.START, attacks.HONEST, attacks.SAXPY])
    assert found.verdicts["02.1"].right and found.log == [], "an answer cell is not needed"


def test_a_name_that_a_later_cell_uses_again_counts_as_it_was_at_its_answer(box):
    found = marked(box, [attacks.START, attacks.HONEST, attacks.ASK[0], "twice = 2"])
    assert found.verdicts["02.a"].right


SAMPLE = (
    "os._exit",
    "an endless loop that catches everything",
    "the case read from the frames above",
    "checks on disk",
)


@pytest.mark.parametrize(
    "attack",
    [pytest.param(each, marks=[pytest.mark.slow] * (each.name not in SAMPLE)) for each in attacks.ALL],
    ids=lambda each: each.name,
)
def test_an_attack_earns_nothing_and_costs_the_honest_answer_nothing(box, attack):
    found = marked(box, attack.code())
    assert not found.verdicts["02.1"].right and found.verdicts["02.1"].points == 0
    if attack.honest:
        assert found.verdicts["02.a"].right, found.verdicts["02.a"].text


@pytest.mark.slow
@pytest.mark.parametrize("number", catalogue.set_numbers())
def test_a_solution_earns_everything_and_a_skeleton_nothing(box, number):
    numbers = [cls.number for cls in catalogue.in_set(number)]
    for folder, right in (("solutions", True), ("exercises", False)):
        [path] = (ROOT / folder).glob(f"{number}-*.ipynb")
        code = [each for each in cells.read(path.read_bytes()).cells if "(Exercise):" not in each]
        found = marking.mark(code, numbers, 7, box, LIMITS, marking.Patience(whole=600))
        assert {name: each.right for name, each in found.verdicts.items()} == dict.fromkeys(numbers, right)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.number)
def test_what_goes_into_the_sandbox_knows_nothing_of_what_is_right(cls):
    source = runs.stripped(cls)
    assert "def run(" in source and "def judge" not in source and "def cases" not in source
    made = runs.made(source, cls.number)
    assert (made.number, made.needs, made.seconds) == (cls.number, cls.needs, cls.seconds)


def test_seeds_differ_by_exercise_and_stay():
    assert marking.seed_of(7, "02.a") == marking.seed_of(7, "02.a") != marking.seed_of(7, "02.1")


def test_where_there_is_no_bubblewrap_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    with pytest.raises(sandbox.NoSandbox, match="bubblewrap is not installed: install it") as problem:
        sandbox.bubblewrap(LIMITS)
    assert "\n" not in str(problem.value)


def test_a_sandbox_that_the_system_blocks_is_named(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: "/bin/false")
    with pytest.raises(sandbox.NoSandbox, match="does not let bubblewrap work"):
        sandbox.bubblewrap(LIMITS)
