"""The parts of `make test-all` that run in turns: none is left out for ever, and a week can be repeated."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import weekly

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = [f"{number}" for number in range(103)]


@pytest.mark.parametrize("parts", [1, 2, 7, 12, 200])
def test_every_entry_has_its_turn_once_in_so_many_weeks(parts, monkeypatch):
    first = weekly.number_of("2026-W50")
    had = []
    for week in range(parts):
        monkeypatch.setattr(weekly, "number_of", lambda _, week=week: first + week)
        part = weekly.in_turn(ENTRIES, parts, "a list")
        assert len(ENTRIES) // parts <= len(part) <= len(ENTRIES) // parts + 1
        had += part
    assert sorted(had, key=int) == ENTRIES


def test_a_week_can_be_repeated_and_another_one_draws_others(monkeypatch):
    monkeypatch.setenv(weekly.VARIABLE, "2026-W48")
    drawn = weekly.in_turn(ENTRIES, 5, "a list")
    assert drawn == weekly.in_turn(ENTRIES, 5, "a list")
    assert drawn != weekly.in_turn(ENTRIES, 5, "another list")
    monkeypatch.setenv(weekly.VARIABLE, "2026-W49")
    assert not set(drawn) & set(weekly.in_turn(ENTRIES, 5, "a list"))
    monkeypatch.setenv(weekly.VARIABLE, "all")
    assert weekly.in_turn(ENTRIES, 5, "a list") == ENTRIES


def test_weeks_are_counted_across_years():
    """2026 has 53 weeks."""
    assert weekly.number_of("2027-W01") == weekly.number_of("2026-W53") + 1


@pytest.mark.parametrize("week", ["2025-W53", "2026-48", "48", "All"])
def test_what_is_no_week_gets_one_clear_line(week):
    with pytest.raises(ValueError, match=rf"^H2D_WEEK={week}: give a week, such as 2026-W48, or all$"):
        weekly.number_of(week)


def weeks_in(file):
    """Return how many weeks each call of `one_in` and `in_turn` in a file of tests takes for everything."""
    tree = ast.parse(file.read_text("utf-8"))
    known = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = {"one_in": 0, "in_turn": 1}.get(node.func.attr)
            if place is not None:
                given = node.args[place]
                found.append(given.value if isinstance(given, ast.Constant) else known[given.id])
    return found


def test_contributing_says_after_how_many_weeks_everything_has_run():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    told = {}
    for weeks, file in re.findall(r"^\| (\d+) \| [^|]+ \| `(tests/[^`]+)` \|$", text, re.M):
        told.setdefault(file, set()).add(int(weeks))
    found = {
        path.relative_to(ROOT).as_posix(): set(weeks_in(path))
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"\b(one_in|in_turn)\(", path.read_text("utf-8")) and path.name != Path(__file__).name
    }
    assert len(told) > 10 and told == found


class Item:
    """A test as pytest collects it, with the names and arguments of its markers."""

    def __init__(self, nodeid, **markers):
        self.nodeid, self.markers = nodeid, markers

    def get_closest_marker(self, name):
        return SimpleNamespace(args=self.markers[name]) if name in self.markers else None


def test_of_the_slow_tests_with_the_marker_one_part_runs(monkeypatch):
    monkeypatch.setenv(weekly.VARIABLE, "2026-W48")
    turns = [Item(f"test_it.py::test_turns[{number}]", slow=(), one_in=(4,)) for number in range(40)]
    others = [Item("a", slow=()), *(Item(f"b[{number}]", one_in=(4,)) for number in range(9))]
    assert len(weekly.left_out(turns[:20] + others + turns[20:])) == 30
    assert weekly.left_out(turns + others) < set(turns)
    monkeypatch.setenv(weekly.VARIABLE, "all")
    assert weekly.left_out(turns + others) == set()


CHILD = """
import pytest

@pytest.mark.slow
@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", range(40))
def test_in_turns(number):
    pass
"""


def collected(folder, *arguments, week="2026-W48"):
    """Return the names of the tests that pytest would run of a file with this project's settings, and what it says."""
    (folder / "test_child.py").write_text(CHILD)
    (folder / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "--collect-only", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", f"--rootdir={folder}", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), weekly.VARIABLE: week, "H2D_MACHINE": "gpu"},
        capture_output=True,
        text=True,
    )
    return re.findall(r"<Function (.*)>", done.stdout), done.stdout + done.stderr


@pytest.mark.slow
def test_pytest_runs_one_part_and_says_which_week(tmp_path):
    names, said = collected(tmp_path, "test_child.py")
    assert len(names) == 10 and "week 2026-W48" in said


@pytest.mark.slow
def test_pytest_runs_a_test_that_is_named_in_every_week(tmp_path):
    for week in ("2026-W48", "2026-W49"):
        names, _ = collected(tmp_path, "test_child.py::test_in_turns[7]", week=week)
        assert names == ["test_in_turns[7]"]


@pytest.mark.slow
def test_pytest_refuses_what_is_no_week(tmp_path):
    names, said = collected(tmp_path, "test_child.py", week="48")
    assert not names and "ERROR: H2D_WEEK=48: give a week, such as 2026-W48, or all" in said
