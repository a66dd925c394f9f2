"""Every word of a task is checked: for each sentence an answer that ignores only this sentence, refused as it is quoted.

The answers are in `solutions/answers/`, where `python -m tests.commands.exercises.answers` writes the quotations: it judges
all of them. `make test` judges a right and a wrong one of each set, `make test-all` the others in turns, each within
`WEEKS` weeks interpreted and compiled.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from authoring import answers
from authoring.solutions import Part
from tests.commands.exercises.answers import main
from tests.exercises.test_sets import LONG, ROOT, SOLUTIONS, parts, said_to, stand_in  # noqa: F401

FILES = sorted((ROOT / "solutions" / "answers").glob("*.md"))
WEEKS = 16
OBJECTIVES = re.compile(r"^After this chapter you can\n\n((?:- .+\n(?:  .+\n)*)+)", re.M)


@cache
def tried(file: Path) -> dict[str, answers.Tried]:
    return {each.number: each for each in answers.read(file.read_text(encoding="utf-8"), file.name)}


def exercises() -> list:
    """Return each exercise with its answers, for the sets that have them."""
    found = []
    for path in SOLUTIONS:
        file = ROOT / "solutions" / "answers" / f"{path.name[:2]}.md"
        if file in FILES:
            found += [
                pytest.param(path, part, tried(file).get(part.number), id=part.number) for part in parts(path)
            ]
    return found


def each_answer(right: bool) -> list:
    """Return each answer with its exercise. All but the first of each set's NN.1 wait for `make test-all`.

    With every commit, nbval judges the solution of each exercise, and `test_sets` the wrong answers that the book quotes.
    """
    found = []
    for exercise in exercises():
        path, part, those = exercise.values
        kept = [each for each in those.answers if each.right == right] if those else []
        found += [
            pytest.param(
                path,
                part,
                each,
                id=f"{part.number} {each.title}",
                marks=[pytest.mark.slow]
                * (place > 0 or not part.number.endswith(".1") or path.name[:2] in LONG),
            )
            for place, each in enumerate(kept)
        ]
    return found


@pytest.mark.parametrize(("path", "part", "those"), exercises())
def test_every_sentence_of_a_task_is_ignored_by_an_answer_or_asks_nothing(path, part: Part, those):
    assert those, f"solutions/answers/{path.name[:2]}.md has no section {part.number}"
    task = answers.plain(part.task.source)
    quotes = [*those.asks_nothing, *(each.ignores for each in those.answers if not each.right)]
    assert [each for each in quotes if each not in task] == [], "these words are not in the task"
    missing = [
        sentence
        for sentence in answers.sentences(part.task.source)
        if not any(each in sentence or sentence in each for each in quotes)
    ]
    assert missing == [], "no answer ignores these sentences"


@pytest.mark.parametrize(("path", "part", "those"), exercises())
def test_an_exercise_keeps_three_right_answers_in_other_styles(path, part: Part, those):
    titles = [each.title for each in those.answers]
    assert len(titles) == len(set(titles))
    assert sum(each.right for each in those.answers) >= (1 if part.is_puzzle else 3)


@pytest.mark.one_in(WEEKS)
@pytest.mark.parametrize(("path", "part", "answer"), each_answer(right=False))
def test_an_answer_that_ignores_words_of_the_task_gets_the_verdict_that_is_kept(path, part, answer, way):
    code = answer.code or next(each.code for each in part.wrong if each.title == answer.title)
    said = answers.plain(answers.without_place(said_to(path, part, code, way)))
    assert not said.startswith(f"{part.number} is right")
    assert answer.says, "run python -m tests.commands.exercises.answers"
    assert said.startswith(answer.says), f"{said}\n\nis not what is kept:\n\n{answer.says}"


@pytest.mark.one_in(WEEKS)
@pytest.mark.parametrize(("path", "part", "answer"), each_answer(right=True))
def test_a_right_answer_in_another_style_is_right(path, part, answer, way):
    assert said_to(path, part, answer.code, way).startswith(f"{part.number} is right")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_objective_of_a_chapter_has_an_exercise(file):
    [chapter] = (ROOT / "chapters").glob(f"{file.stem}-*.md")
    listed = OBJECTIVES.search(chapter.read_text(encoding="utf-8"))
    assert listed, f"{chapter.name}: no list below 'After this chapter you can'"
    objectives = [
        answers.plain(each).rstrip(";.") for each in re.findall(r"- ((?:.+\n)(?:  .+\n)*)", listed[1])
    ]
    kept = answers.objectives(file.read_text(encoding="utf-8"))
    assert list(kept) == objectives
    numbers = {part.number for path in SOLUTIONS if path.name[:2] == file.stem for part in parts(path)}
    for objective, those in kept.items():
        assert those and set(those) <= numbers, objective


def test_sentences_are_told_apart():
    task = "## 01.1 A title (5 minutes)\n\nOne. Two: `x.y` is [three](a.md).\n\n- four, 4.5 of *them*;\n- five\n\n```python\ncode()\n```\n"
    assert answers.sentences(task) == ["One.", "Two: x.y is three.", "four, 4.5 of them;", "five"]


def test_verdicts_are_written_below_their_answers():
    text = '## 01.1\n\n### Wrong: a\n\nIgnores "x"\n\n```python\n1\n```\n\n> old\n\n### Right: b\n\n```python\n2\n```\n'
    made = answers.with_verdicts(text, {("01.1", "a"): "new\n\nline"})
    assert made == text.replace("> old", "> new\n>\n> line")
    assert answers.with_verdicts(made, {("01.1", "a"): "old"}) == text


@pytest.mark.parametrize("what", ["answers.md", "no-number", "99"])
def test_a_file_whose_name_does_not_begin_with_a_set_gets_one_clear_line(monkeypatch, what):
    monkeypatch.setattr("sys.argv", ["answers", what])
    with pytest.raises(SystemExit, match=r"whose name begins with it, such as 02\.md$") as stopped:
        main()
    assert "\n" not in str(stopped.value)
