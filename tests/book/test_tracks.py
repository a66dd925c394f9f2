"""Course plans: minutes that follow from the files, sessions that fit, exams of the plan's own lessons."""

import nbformat
import pytest

from book import lengths, lessons, tracks

TRACKS = tracks.read()
QUESTIONS = tracks.read(tracks.EXAMS)


@pytest.mark.parametrize("name", TRACKS)
def test_every_session_fits_into_its_class_time_and_uses_more_than_half_of_it(name):
    track = TRACKS[name]
    for session in track["sessions"]:
        there = sum(tracks.minutes(step) for step in session["steps"] if not step.get("home"))
        assert track["class_minutes"] / 2 < there <= track["class_minutes"], session["title"]


@pytest.mark.parametrize("name", TRACKS)
def test_an_exam_asks_about_the_lessons_of_its_plan(name):
    track = TRACKS[name]
    taught = {step["lesson"] for session in track["sessions"] for step in session["steps"]}
    assert {QUESTIONS[each]["lesson"] for each in track["exam"]} <= taught
    assert len(set(track["exam"])) == len(track["exam"])


def test_every_question_is_in_an_exam_and_twelve_weeks_have_every_lesson():
    assert {each for track in TRACKS.values() for each in track["exam"]} == QUESTIONS.keys()
    steps = [step for session in TRACKS["twelve-weeks"]["sessions"] for step in session["steps"]]
    assert {step["lesson"] for step in steps} == {lesson.number for lesson in lessons.read_all()}


def test_minutes_follow_from_words_cells_and_headings(tmp_path):
    for folder in ("chapters", "notebooks", "exercises"):
        (tmp_path / folder).mkdir()
    words = " ".join(["word"] * 900)
    text = f"---\nlesson: {{teaches: x}}\n---\n\n# T\n\n## One\n\n{words}\n\n## Two\n\nword\n"
    (tmp_path / "chapters" / "02-t.md").write_text(text)

    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("## 02.a P (2 minutes)"),
            nbformat.v4.new_markdown_cell("## 02.1 C (20 minutes)"),
            nbformat.v4.new_markdown_cell("## 02.2 O (40 minutes, optional)"),
        ]
    )
    nbformat.write(book, tmp_path / "exercises" / "02-t.ipynb")
    assert lengths.words(text) == 904  # the headings count, too
    for step, expected in (
        ({"read": ["One"]}, 10),
        ({"read": ["Two"]}, 5),
        ({"exercises": "puzzles"}, 2),
        ({"exercises": "core"}, 22),
        ({"exercises": "core", "home": True}, 20),
        ({"exercises": ["02.2"]}, 40),
    ):
        assert tracks.minutes({"lesson": 2, **step}, tmp_path) == expected, step
    with pytest.raises(ValueError, match="no section 'Three', only One, Two"):
        tracks.minutes({"lesson": 2, "read": ["Three"]}, tmp_path)
    with pytest.raises(ValueError, match=r"write puzzles, core, or some of 02\.a, 02\.1, 02\.2"):
        tracks.minutes({"lesson": 2, "exercises": ["02.9"]}, tmp_path)
