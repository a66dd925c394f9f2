"""The set-up behind `make`: it goes on where it was stopped, re-uses what is there, and says what is missing."""

import ast
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tools import setup

ROOT = Path(__file__).resolve().parents[2]
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither make nor this kind of lock")

# --- What pip and npm say, and what we say ---------------------------------------------------------------------
# Kept from real failures: the lines that matter of pip 23.2 and 26.3, npm 11 and Debian's python3.

NETWORK, DISK, COMPILER, VERSION = (
    "cannot be reached",
    "disk is full",
    "no C compiler",
    "does not exist for this",
)

FAILURES = {
    "pip 23, index refuses": (
        "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection "
        "broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f3058117d90>: "
        "Failed to establish a new connection: [Errno 111] Connection refused')': /six/\n"
        "ERROR: Could not find a version that satisfies the requirement six==1.17.0 (from versions: none)\n"
        "ERROR: No matching distribution found for six==1.17.0\n",
        NETWORK,
    ),
    "pip 26, index has no address": (
        "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection "
        "broken by 'NameResolutionError(\"HTTPSConnection(host='no-such-host.invalid', port=443): Failed to resolve "
        "'no-such-host.invalid' ([Errno -2] Name or service not known)\")': /simple/six/\n"
        "ERROR: Could not find a version that satisfies the requirement six==1.17.0 (from versions: none)\n"
        "ERROR: No matching distribution found for six==1.17.0\n",
        NETWORK,
    ),
    "npm, registry refuses": (
        "npm error code ECONNREFUSED\nnpm error syscall connect\nnpm error errno ECONNREFUSED\n"
        "npm error FetchError: request to http://127.0.0.1:9/yjs failed, reason: connect ECONNREFUSED 127.0.0.1:9\n",
        NETWORK,
    ),
    "npm, registry has no address": (
        "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error errno ENOTFOUND\n"
        "npm error network request to http://no-such-host.invalid/yjs failed, reason: getaddrinfo ENOTFOUND "
        "no-such-host.invalid\n",
        NETWORK,
    ),
    "pip, disk full": (
        "Installing collected packages: numpy\n"
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
        DISK,
    ),
    "npm, disk full": ("npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write\n", DISK),
    "pip, build without a compiler, setuptools of 2023": (
        "      running build_ext\n      building 'psutil._psutil_linux' extension\n"
        "      error: [Errno 2] No such file or directory: 'gcc'\n"
        "  ERROR: Failed building wheel for psutil\n",
        COMPILER,
    ),
    "pip, build without a compiler, setuptools of 2026": (
        "      error: command 'gcc' failed: No such file or directory\n"
        "  ERROR: Failed building wheel for psutil\n"
        "× Failed to build installable wheels for some pyproject.toml based projects\n",
        COMPILER,
    ),
    "pip, no such version": (
        "ERROR: Could not find a version that satisfies the requirement numpy==99.1 (from versions: 1.3.0, 2.4.6)\n"
        "ERROR: No matching distribution found for numpy==99.1\n",
        VERSION,
    ),
}


@pytest.mark.parametrize("log, said", FAILURES.values(), ids=FAILURES)
def test_a_failure_is_explained_in_one_line(log, said):
    assert said in setup.explain(log)
    assert "\n" not in setup.explain(log)


def test_an_unknown_failure_is_not_explained_away():
    assert setup.explain("Segmentation fault (core dumped)") is None


def test_a_full_disk_is_named_where_the_command_does_not_say_so(monkeypatch):
    nothing_left = shutil.disk_usage("/")._replace(free=0)
    monkeypatch.setattr(setup.shutil, "disk_usage", lambda _: nothing_left)
    silent = "Error: Command '['.venv/bin/python', '-m', 'ensurepip']' returned non-zero exit status 1."
    assert DISK in str(setup.failure(silent, "something else"))


# --- Running pip and npm ---------------------------------------------------------------------------------------


def python(code):
    return [sys.executable, "-c", textwrap.dedent(code)]


def test_a_known_failure_ends_in_its_cure():
    with pytest.raises(setup.CannotContinue, match=NETWORK):
        setup.run_with_progress(python("print('npm error code ENOTFOUND'); raise SystemExit(1)"))


def test_an_unknown_failure_shows_its_last_words(capsys):
    with pytest.raises(setup.CannotContinue, match="last words are above"):
        setup.run_with_progress(python("print('a riddle'); raise SystemExit(1)"))
    assert "a riddle" in capsys.readouterr().err


def test_npm_that_could_not_unpack_is_a_failure_though_it_ends_well():
    with pytest.raises(setup.CannotContinue, match=DISK):
        setup.run_with_progress(
            python("print('npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device')")
        )


def test_progress_names_packages_and_long_downloads(capsys):
    lines = [f"Collecting package{number}==1.0 (from -r requirements.txt (line 1))\n" for number in range(40)]
    lines += ["  Downloading torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl (526.6 MB)\n"]
    lines += [
        "  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)\n",
        "Installing collected packages: six, torch\n",
    ]
    assert setup.show_progress(lines, 41) == "".join(lines)
    shown = capsys.readouterr().out
    assert "20/41  package19\n" in shown and "(526.6 MB)" in shown and "installing" in shown
    assert "six" not in shown


@posix
def test_stopping_it_stops_what_it_runs(tmp_path, monkeypatch):
    def stopped(lines, total):
        assert next(iter(lines)) == "ready\n"
        raise KeyboardInterrupt

    monkeypatch.setattr(setup, "show_progress", stopped)
    monkeypatch.setattr(setup, "PATIENCE", 0.1)
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); print('ready', flush=True); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt):
        setup.run_with_progress(python(code))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# --- Half-made environments ------------------------------------------------------------------------------------


def bare_environment(venv):
    """Make an environment that starts, with the mark of a whole pip, in a moment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    mark = setup.packages_in(venv) / "pip-26.3.dist-info" / "INSTALLER"
    mark.parent.mkdir(parents=True)
    mark.touch()


def test_a_whole_environment_works(tmp_path):
    bare_environment(tmp_path)
    assert setup.works(tmp_path)
    assert setup.works(tmp_path, sys.version_info[:2])
    assert not setup.works(tmp_path, (3, 99))


def no_folder(venv):
    shutil.rmtree(venv)


def only_folders(venv):
    no_folder(venv)
    setup.python_in(venv).parent.mkdir(parents=True)


def dangling_python(venv):
    setup.python_in(venv).unlink()
    setup.python_in(venv).symlink_to(venv / "python-that-was-upgraded-away")


def no_pip(venv):
    shutil.rmtree(setup.packages_in(venv))


def half_a_pip(venv):
    next(setup.packages_in(venv).glob("pip-*/INSTALLER")).unlink()


def a_file_in_its_place(venv):
    no_folder(venv)
    venv.write_text("not a folder")


@posix
@pytest.mark.parametrize(
    "damage", [no_folder, only_folders, dangling_python, no_pip, half_a_pip, a_file_in_its_place]
)
def test_a_half_made_environment_does_not_pass_for_a_whole_one(tmp_path, damage):
    venv = tmp_path / ".venv"
    bare_environment(venv)
    damage(venv)
    assert not setup.works(venv)


@pytest.mark.slow
def test_a_half_made_environment_is_made_again(tmp_path):
    venv = tmp_path / ".venv"
    setup.python_in(venv).parent.mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    setup.make_environment(venv)
    assert setup.works(venv)


@posix
@pytest.mark.parametrize(
    "says",
    [
        "The virtual environment was not created successfully because ensurepip is not\navailable.  On Debian/Ubuntu "
        "systems, you need to install the python3-venv\npackage using the following command.",
        "/usr/bin/python3: No module named venv",
        "/usr/bin/python3: No module named ensurepip",
    ],
)
def test_a_python_without_venv_is_named(tmp_path, monkeypatch, says):
    fake = tmp_path / "python3"
    fake.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(setup.sys, "executable", str(fake))
    with pytest.raises(
        setup.CannotContinue, match=r"no venv module: install it \(.*apt install python3\.\d+-venv"
    ):
        setup.make_environment(tmp_path / ".venv")


def test_half_installed_packages_are_forgotten(tmp_path):
    for name in ("whole-1.0.dist-info", "half-1.0.dist-info", "~umpy", "numpy"):
        (tmp_path / name).mkdir()
    (tmp_path / "whole-1.0.dist-info" / "INSTALLER").touch()
    (tmp_path / "six.py").touch()
    setup.forget_half_installed(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["numpy", "six.py", "whole-1.0.dist-info"]


# --- What is installed, and what is not ------------------------------------------------------------------------


class Installer:
    """Stands for pip and npm: notes what it was asked for, and can be stopped at a step."""

    def __init__(self, root):
        self.root, self.asked, self.stop_at = root, [], None

    def __call__(self, command, *_, **__):
        step = "npm" if "ci" in command else "library" if "--editable" in command else Path(command[-1]).name
        self.asked.append(step)
        if step == self.stop_at:
            raise KeyboardInterrupt
        if step == "npm":
            (self.root / "book" / "node_modules").mkdir(exist_ok=True)


@pytest.fixture
def installer(tmp_path, monkeypatch):
    """A project folder with an environment and nothing in it, and an installer that only takes notes."""
    (tmp_path / "book").mkdir()
    for name in ("requirements-book.txt", "requirements.txt", "requirements-inspect.txt", "pyproject.toml"):
        (tmp_path / name).write_text("# empty\n")
    for name in ("package.json", "package-lock.json"):
        (tmp_path / "book" / name).write_text("{}")
    bare_environment(tmp_path / ".venv")
    installer = Installer(tmp_path)
    monkeypatch.setattr(setup, "run_with_progress", installer)
    return installer


def test_each_stage_installs_its_part(installer):
    setup.install("book", installer.root)
    assert installer.asked == ["requirements-book.txt", "npm"]
    assert setup.is_ready("book", installer.root) and not setup.is_ready("course", installer.root)
    setup.install("course", installer.root)
    assert installer.asked[2:] == ["requirements.txt", "library"]
    assert setup.is_ready("book", installer.root) and setup.is_ready("course", installer.root)
    assert not setup.is_ready("tests", installer.root)
    setup.install("tests", installer.root)
    assert installer.asked[4:] == ["requirements-inspect.txt", "library"]
    assert all(setup.is_ready(stage, installer.root) for stage in ("book", "course", "tests"))


def test_changed_pins_are_installed_and_nothing_else(installer):
    setup.install("book", installer.root)
    (installer.root / "requirements-book.txt").write_text("six==1.17.0\n")
    assert not setup.is_ready("book", installer.root)
    installer.asked.clear()
    setup.install("book", installer.root)
    assert installer.asked == ["requirements-book.txt"]


def test_lost_javascript_is_installed_and_nothing_else(installer):
    setup.install("course", installer.root)
    shutil.rmtree(installer.root / "book" / "node_modules")
    assert not setup.is_ready("book", installer.root)
    installer.asked.clear()
    setup.install("book", installer.root)
    assert installer.asked == ["npm"]


@pytest.mark.parametrize("step", ["requirements.txt", "library", "npm"])
def test_it_goes_on_where_it_was_stopped(installer, step):
    setup.install("book", installer.root)
    (installer.root / "book" / "package.json").write_text('{"new": 1}')
    installer.stop_at = step
    with pytest.raises(KeyboardInterrupt):
        setup.install("course", installer.root)
    assert not setup.is_ready("course", installer.root)
    assert not setup.is_ready("book", installer.root), "packages may be half replaced"
    installer.stop_at = None
    setup.install("course", installer.root)
    assert setup.is_ready("course", installer.root)


@pytest.mark.parametrize("garbage", ["", "{", "[]", '"book"', '{"book": 1}', "\0\0"])
def test_a_garbled_stamp_counts_as_none(installer, garbage):
    setup.install("book", installer.root)
    for stamp in (setup.packages_stamp(installer.root), setup.javascript_stamp(installer.root)):
        good = stamp.read_text()
        stamp.write_text(garbage)
        assert not setup.is_ready("book", installer.root)
        stamp.write_text(good)
    assert setup.is_ready("book", installer.root)


def test_an_environment_that_was_moved_is_not_ready(installer, tmp_path_factory):
    setup.install("book", installer.root)
    moved = installer.root.rename(tmp_path_factory.mktemp("elsewhere") / "course")
    assert json.loads(setup.packages_stamp(moved).read_text())
    assert not setup.is_ready("book", moved)


def test_another_python_is_asked_for(installer):
    setup.install("book", installer.root)
    assert setup.is_ready("book", installer.root, sys.version_info[:2])
    assert not setup.is_ready("book", installer.root, (3, 99))


# --- The command -----------------------------------------------------------------------------------------------


def test_the_file_parses_on_an_old_python():
    ast.parse(Path(setup.__file__).read_text(encoding="utf-8"), feature_version=(3, 6))


def test_wrong_arguments_get_the_usage(capsys):
    assert setup.main([]) == setup.main(["books"]) == setup.main(["book", "course"]) == 2
    assert "usage: python3 tools/setup.py book|course" in capsys.readouterr().err


def test_an_old_python_is_named(monkeypatch, capsys):
    monkeypatch.setattr(setup.sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(setup, "works", lambda *_: False)
    monkeypatch.setattr(setup.shutil, "which", lambda _: None)
    assert setup.main(["book"]) == 1
    said = capsys.readouterr().err
    assert "make: Python 3.11 to 3.14 is needed and this is 3.9" in said and said.count("\n") == 1


def test_an_old_python_hands_over_to_a_newer_one(monkeypatch):
    calls = []
    monkeypatch.setattr(setup.sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(setup, "works", lambda *_: False)
    monkeypatch.setattr(setup, "succeeds", lambda command: True)
    monkeypatch.setattr(
        setup.shutil, "which", lambda name: "/usr/bin/" + name if name == "python3.12" else None
    )
    monkeypatch.setattr(setup.subprocess, "call", lambda command: calls.append(command) or 0)
    assert setup.main(["course"]) == 0
    assert calls == [["/usr/bin/python3.12", setup.__file__, "course"]]


def test_an_old_python_that_was_asked_for_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(setup.sys, "version_info", (3, 9, 18))
    assert setup.main(["book", "--this-python"]) == 1
    assert "is needed and" in capsys.readouterr().err


def test_a_disk_that_fills_up_under_our_own_writing_is_named(monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, "No space left on device", ".venv/host-to-device.json")

    monkeypatch.setattr(setup, "is_ready", full)
    assert setup.main(["book"]) == 1
    assert DISK in capsys.readouterr().err


def test_stopping_it_says_that_it_can_go_on(monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(setup, "is_ready", stopped)
    assert setup.main(["book"]) == 130
    assert "goes on from here" in capsys.readouterr().err


def make(*arguments):
    """Run make as from a shell, also where the tests themselves were started by a make."""
    from_make = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHON")
    environment = {name: value for name, value in os.environ.items() if name not in from_make}
    return subprocess.run(["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


@posix
@pytest.mark.parametrize("name", ["/no/such/python", "too-old"])
def test_make_names_a_python_that_cannot_even_start(tmp_path, name):
    if name == "too-old":
        name = tmp_path / name
        name.write_text("#!/bin/sh\nexit 1\n")
        name.chmod(0o755)
    done = make(f"PYTHON={name}", "set-up-book")
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first.startswith(f"make: {name} is not there or too old") and second.startswith("make: ***")


@posix
def test_with_nothing_to_do_it_takes_a_moment():
    if not setup.is_ready("course"):
        pytest.skip("set up by hand, without make")
    started = time.perf_counter()
    assert make("set-up-book", "set-up-course").returncode == 0
    assert time.perf_counter() - started < 3


# --- Two at a time ---------------------------------------------------------------------------------------------

HOLDER = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
import setup
with setup.one_at_a_time() as inherited:
    installer = subprocess.Popen(["sleep", "60"], **inherited)
    print(installer.pid, flush=True)
    installer.wait()
"""
TAKER = """
import sys
sys.path.insert(0, sys.argv[1])
import setup
with setup.one_at_a_time():
    print("mine")
"""


@posix
def test_a_second_make_waits_also_for_a_pip_whose_make_was_killed(tmp_path):
    shutil.copy(setup.__file__, tmp_path)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, text=True)
    installer = int(holder.stdout.readline())
    taker = subprocess.Popen([sys.executable, "-c", TAKER, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert taker.stdout.readline() == "Another make is installing into .venv: waiting for it\n"
        holder.kill()
        holder.wait()
        time.sleep(0.2)
        assert taker.poll() is None
    finally:
        os.kill(installer, 9)
    assert taker.communicate(timeout=10)[0] == "mine\n"
    assert taker.returncode == 0
