"""The verdict of the sandbox is that of `h2d.answer`: the solutions, the wrong answers and the right ones of all sets.

`solutions/answers/` keeps what `h2d.answer` says to each answer, and `tests/exercises/test_answers.py` holds it to that.
Here the same answers go through the sandbox, with the cases of `h2d.answer`. A notebook holds one answer to each exercise.
"""

import itertools
from functools import cache

import pytest

from authoring import answers, notebooks
from authoring.solutions import CHECK, tags
from benchmarks.grading import solved
from host_to_device.grading import fork_server, marking, sandbox
from tests.exercises.test_answers import tried
from tests.exercises.test_sets import ROOT, SOLUTIONS, parts

WEEKS = 16
LIMITS = sandbox.Limits(cpu=1_200)
PATIENCE = marking.Patience(cell=60, whole=1_800)


@cache
def rounds(path):
    """Return dicts of one answer an exercise, the solution first, so that together they have all answers of a set.

    An answer is a tuple: title, code ("" for the solution), whether it is right, and what `h2d.answer` says to it.
    """
    kept = tried(ROOT / "solutions" / "answers" / f"{path.name[:2]}.md")
    every = {}
    for part in parts(path):
        code = {each.title: each.code for each in part.wrong}
        those = {each.title: each for each in kept[part.number].answers} if part.number in kept else {}
        every[part.number] = [
            ("the solution", "", True, ""),
            *((each.title, each.code or code[each.title], each.right, each.says) for each in those.values()),
            *((title, source, False, "") for title, source in code.items() if title not in those),
        ]
    rows = itertools.zip_longest(*every.values())
    return [{number: each for number, each in zip(every, row, strict=True) if each} for row in rows]


def notebook(path, those):
    """Return the cells of a notebook that runs the solutions, then each answer, and puts the solution in its place again."""
    code = [
        cell.source
        for cell in notebooks.read(path).cells
        if cell.cell_type == "code" and CHECK not in tags(cell)
    ]
    by_number = {part.number: part for part in parts(path)}
    for number, (_, source, _, _) in those.items():
        if source:
            code += [source, f'h2d.answer("{number}")', *solved(by_number[number]).values()]
    return code


@pytest.fixture(scope="module")
def box():
    try:
        cold = sandbox.bubblewrap(LIMITS)
    except sandbox.NoSandbox as problem:
        pytest.skip(str(problem))
    with fork_server.Warm(cold, LIMITS) as warm:
        yield warm


@pytest.mark.slow
@pytest.mark.one_in(WEEKS)
@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param(path, place, id=f"{path.name[:2]} {place}")
        for path in SOLUTIONS
        for place in range(len(rounds(path)))
    ],
)
def test_an_answer_gets_the_verdict_of_h2d_answer(box, monkeypatch, path, place):
    monkeypatch.setattr(marking, "seed_of", lambda seed, number: 0)  # the cases that a learner sees
    those = rounds(path)[place]
    found = marking.mark(notebook(path, those), list(those), 0, box, LIMITS, PATIENCE)
    errors = {cell: ran.error for cell, ran in found.cells.items() if ran.error}
    assert not errors and not found.log
    unlike = {}
    for number, (title, _, right, says) in those.items():
        verdict = found.verdicts[number]
        said = answers.plain(answers.without_place(verdict.text))
        # Below its verdict `h2d.answer` prints more, such as what the code has printed.
        same = right or (says.startswith(said) if says else True)
        if verdict.right != right or not same or ("Hint: " in says) != ("Hint: " in said and bool(says)):
            unlike[number, title] = (said, says)
    assert not unlike


def test_the_rounds_have_every_answer_once():
    for path in SOLUTIONS:
        file = ROOT / "solutions" / "answers" / f"{path.name[:2]}.md"
        wanted = {(part.number, each.title) for part in parts(path) for each in part.wrong}
        wanted |= {(each.number, answer.title) for each in tried(file).values() for answer in each.answers}
        got = [(number, each[0]) for those in rounds(path) for number, each in those.items() if each[1]]
        assert len(got) == len(set(got)) and set(got) == wanted
