"""What is solved is kept in a file of the learner's, which survives whatever happens to it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest
from platformdirs import macos, unix, windows

from host_to_device import exercises
from host_to_device.exercises import Exercise, catalogue, solved


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "progress.json"
    monkeypatch.setenv("H2D_PROGRESS", str(path))
    monkeypatch.setattr(solved, "_told", set())
    return path


@pytest.fixture(autouse=True)
def sets(monkeypatch):
    """Two sets, whatever the library ships."""

    def made(number, points):
        return type("E", (Exercise,), {"number": number, "points": points, "__module__": __name__})

    there = {"02": [made("02.1", 2), made("02.2", 3)], "11": [made("11.1", 1)]}
    monkeypatch.setattr(catalogue, "set_numbers", lambda: ["02", "11"])
    monkeypatch.setattr(catalogue, "in_set", lambda number: there.get(number, []))


TITLE = "Told by the module of a set"


def test_the_table_shows_what_is_solved(file):
    empty = exercises.progress()
    assert empty.caption == "Exercises solved: 0 of 3, 0 of 6 points"
    assert not file.exists() and not file.parent.exists(), "looking writes nothing"
    assert solved.note("02.2", 3) == [] and solved.note("11.1", 1) == []
    table = exercises.progress()
    assert table.caption == "Exercises solved: 2 of 3, 4 of 6 points"
    assert table.rows == ((f"02 {TITLE}", "1 ·  2 ✓", "3 of 5"), (f"11 {TITLE}", "1 ✓", "1 of 1"))
    assert table.remarks == (f"Saved in {file}, on this machine only.",)
    assert "1 ·  2 ✓" in str(table) and "<table" in table._repr_html_()


def test_the_first_day_stays_and_others_are_kept(file):
    solved.note("02.1", 2)
    content = json.loads(file.read_text())
    content["solved"]["02.1"]["on"] = "2026-01-02"
    content["solved"]["77.7"] = {"points": 4, "on": "2026-01-03"}  # of a set that this library has not
    file.write_text(json.dumps(content))
    solved.note("02.1", 2)
    solved.note("02.2", 3)
    done = json.loads(file.read_text())["solved"]
    assert list(done) == ["02.1", "02.2", "77.7"] and done["02.1"]["on"] == "2026-01-02"


def test_a_lost_machine_gives_its_progress_back(file, tmp_path):
    drive = tmp_path / "drive"
    drive.mkdir()
    solved.note("02.2", 3)
    saved = exercises.progress(save=drive)
    assert saved.remarks[-1] == f"Copied to {drive / 'progress.json'}: 1 solved exercises."
    file.unlink()  # the machine is gone
    assert exercises.progress().caption.startswith("Exercises solved: 0 of 3")
    solved.note("11.1", 1)
    content = json.loads((drive / "progress.json").read_text())
    content["solved"]["11.1"] = {"points": 1, "on": "2026-01-02"}
    (drive / "progress.json").write_text(json.dumps(content))
    loaded = exercises.progress(load=drive / "progress.json")
    assert loaded.caption == "Exercises solved: 2 of 3, 4 of 6 points"
    assert loaded.remarks[-1] == f"Loaded from {drive / 'progress.json'}: 2 solved exercises."
    assert json.loads(file.read_text())["solved"]["11.1"]["on"] == "2026-01-02", "the earlier day"


def test_what_cannot_be_saved_or_loaded_is_one_line_and_changes_nothing(file, tmp_path, monkeypatch):
    solved.note("02.2", 3)
    before = file.read_bytes()
    with pytest.raises(FileNotFoundError, match=r"^h2d\.progress\(load=…\): there is no .*/missing$"):
        exercises.progress(load=tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"there is no .*/missing$"):
        exercises.progress(save=tmp_path / "missing" / "file.json")
    with pytest.raises(FileNotFoundError, match=r"there is no /content/drive/MyDrive.*drive\.mount"):
        exercises.progress(load="/content/drive/MyDrive/h2d.json")
    for text in ("{", "[]", '{"version": 2, "solved": {}}', '{"version": 1, "solved": {"02.1": 3}}'):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(ValueError, match=r"other\.json is no file that this version's h2d\.progress"):
            exercises.progress(load=tmp_path / "other.json")
        assert (tmp_path / "other.json").read_text() == text
    assert file.read_bytes() == before
    monkeypatch.setenv("H2D_PROGRESS", "off")
    with pytest.raises(ValueError, match="H2D_PROGRESS is off"):
        exercises.progress(save=tmp_path)


def test_the_file_is_as_easy_to_read_as_to_edit(file):
    solved.note("02.1", 2)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "{" and any('"02.1"' in line for line in lines)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version": 1}',
        b'{"version": 1, "solved": []}',
        b'{"version": 1, "solved": {"02.1": 3}}',
        b'{"version": "x", "solved": {}}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
    ids=range(10),
)
def test_a_broken_file_is_moved_aside_with_one_line(file, content):
    file.parent.mkdir()
    file.write_bytes(content)
    said = solved.note("02.1", 2)
    aside = file.with_name("progress.broken.json")
    assert said == [
        f"{file} could not be read: it is now called progress.broken.json, and a new file begins."
    ]
    assert aside.read_bytes() == content
    assert list(solved.read(file)[0]) == ["02.1"]
    file.write_bytes(content)
    solved.read(file)
    assert file.with_name("progress.broken1.json").exists()


def test_a_file_of_a_newer_version_is_left_alone(file):
    file.parent.mkdir()
    text = json.dumps({"version": 99, "solved": {}, "more": 1})
    file.write_text(text)
    assert "newer version" in solved.note("02.1", 2)[0]
    assert solved.note("02.1", 2) == [], "said once"
    assert "newer version" in exercises.progress().remarks[0]
    assert file.read_text() == text


def test_nothing_is_left_behind_but_the_file(file):
    for number in range(1, 6):
        solved.note(f"02.{number}", 1)
    assert [each.name for each in file.parent.iterdir()] == ["progress.json"]


def test_what_cannot_be_written_is_one_line_once(file):
    file.parent.mkdir()
    (file.parent / "blocked").write_text("")
    os.environ["H2D_PROGRESS"] = str(file.parent / "blocked" / "progress.json")
    [said] = solved.note("02.1", 2)
    assert said.startswith("Your progress could not be saved in ")
    assert solved.note("02.1", 2) == []
    assert "cannot be read" in exercises.progress().remarks[0]


def test_an_interrupted_write_leaves_the_old_file(file, monkeypatch):
    solved.note("02.1", 2)
    before = file.read_bytes()
    monkeypatch.setattr(solved.json, "dump", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        solved.note("02.2", 3)
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == ["progress.json"]


def test_a_lock_that_was_left_behind_does_not_stop_it(file, monkeypatch):
    monkeypatch.setattr(solved, "PATIENCE", 0.1)
    file.parent.mkdir()
    file.with_name("progress.json.lock").write_text("")
    assert solved.note("02.1", 2) == []
    assert "02.1" in solved.read(file)[0]


def test_two_notebooks_may_write_at_once(file):
    code = (
        "import sys\nfrom host_to_device.exercises import solved\n"
        "for n in range(20): solved.note(f'{sys.argv[1]}.{n}', 1)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, number]) for number in ("21", "22")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(solved.read(file)[0]) == 40


@pytest.mark.parametrize("off", ["off", "OFF", "0"])
def test_it_can_be_switched_off(off, monkeypatch):
    monkeypatch.setenv("H2D_PROGRESS", off)
    assert solved.file() is None and solved.note("02.1", 2) == []
    assert exercises.progress().remarks == ("Your progress is not saved: H2D_PROGRESS is off.",)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "{}/data"}, "{}/data/host-to-device/progress.json"),
        ("linux", {}, "{}/.local/share/host-to-device/progress.json"),
        ("darwin", {}, "{}/Library/Application Support/host-to-device/progress.json"),
        ("win32", {"LOCALAPPDATA": "{}/Local"}, "{}/Local/host-to-device/progress.json"),
        ("linux", {"H2D_PROGRESS": "~/mine.json"}, "{}/mine.json"),
    ],
)
def test_where_the_file_is(platform, environment, expected, monkeypatch, tmp_path):
    for name in ("H2D_PROGRESS", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    system = {"linux": unix.Unix, "darwin": macos.MacOS, "win32": windows.Windows}[platform]
    monkeypatch.setattr(platformdirs, "PlatformDirs", system)
    monkeypatch.setattr(windows, "get_win_folder", windows.get_win_folder_from_env_vars)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    assert solved.file() == Path(expected.format(tmp_path))


def test_nothing_leaves_the_machine(tmp_path):
    """Noting and showing open no connection: Python says so itself whenever one is."""
    code = (
        "import sys\nfrom host_to_device.exercises import solved, progress\n"
        "seen = []\nsys.addaudithook(lambda event, _: seen.append(event) if event.startswith('socket') else None)\n"
        "solved.note('02.1', 2)\nprogress()\nprint(seen)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "H2D_PROGRESS": str(tmp_path / "p.json")},
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert (tmp_path / "p.json").exists()
