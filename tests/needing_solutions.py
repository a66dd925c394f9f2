"""The tests that read `solutions/`: a public course (`make public`) does not have them, and each test run names them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Files of tests that the public course is written without.
FILES = (
    "tests/exercises/test_sets.py",
    "tests/exercises/test_answers.py",
    "tests/exercises/test_sequence.py",
    "tests/exercises/test_mutants.py",
    "tests/exercises/test_nbgrader.py",
    "tests/exercises/test_quoted_messages.py",
    "tests/exercises/test_reports.py",
    "tests/exercises/test_exams.py",
    "tests/grading/attacks.py",
    "tests/grading/test_command.py",
    "tests/grading/test_evening.py",
    "tests/grading/test_harms.py",
    "tests/grading/test_marking.py",
    "tests/grading/test_naive.py",
    "tests/grading/test_parity.py",
    "tests/grading/test_submissions.py",
    "tests/rehearsal/test_compiling.py",
    "tests/rehearsal/test_lessons.py",
)
# Tests of other files, by the beginnings of their names.
TESTS = (
    "tests/project/test_house.py::test_every_path_that_the_page_names_exists",
    "tests/project/test_project.py::test_a_fork_can_move_and_move_back",
    "tests/project/test_project.py::test_the_lowest_and_the_newest_versions_are_tested_and_everything_once_a_week",
    "tests/project/test_weekly.py::test_contributing_says_after_how_many_weeks_everything_has_run",
    "tests/project/test_courses.py",
    "tests/project/test_teaching.py",
    "tests/book/test_struggles.py::test_each_lesson",
    "tests/book/test_struggles.py::test_a_title",
    "tests/book/test_terminology.py::test_there_is_something_to_read",
    "tests/lessons/test_notebooks.py::test_there_are_notebooks_of_each_kind",
    "tests/site/test_live.py::test_a_given_cell",
    "tests/site/test_live.py::test_three_wrong_answers",
    "tests/site/test_live_outputs.py::test_a_wrong_answer",
)


def is_public() -> bool:
    """Whether this is a public course: its library carries the checks of the exercises."""
    return (ROOT / "host_to_device" / "exercises" / "sets").is_dir()


def needs_solutions(name: str) -> bool:
    """Return whether a test, by its full name, reads the solutions."""
    return name.startswith((*FILES, *TESTS))
