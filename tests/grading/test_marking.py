"""One notebook in a real sandbox: what is right earns its points, what is not does not, and nothing outside changes."""

import os
import sys
from pathlib import Path

import pytest

from host_to_device.exercises import catalogue
from host_to_device.grading import cells, fork_server, marking, runs, sandbox
from tests.exercises.test_sets import ROOT
from tests.grading import attacks

LIMITS = sandbox.Limits()
PATIENCE = marking.Patience(cell=8, whole=300)
NUMBERS = ["02.a", "02.1"]
EVERY = [cls for number in catalogue.set_numbers() for cls in catalogue.in_set(number)]


needs_a_fork_server = pytest.mark.skipif(
    sandbox.hidden_in_home(sys.prefix, sys.base_prefix),
    reason="this Python lies in /tmp, so there is no fork server",
)


@pytest.fixture(scope="module")
def cold():
    """The sandbox that starts a new process for each notebook."""
    try:
        return sandbox.bubblewrap(LIMITS)
    except sandbox.NoSandbox as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="module")
def box(cold):
    """What the command uses: a fork server where the system allows one."""
    with fork_server.Warm(cold, LIMITS) as warm:
        yield warm


@pytest.fixture(params=["cold", "box"])
def each_box(request):
    return request.getfixturevalue(request.param)


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


PROBE = """
import os
from pathlib import Path
def holds(path):
    try:
        Path(path, "left").write_text("left")
    except OSError:
        return ""
    return path
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print({
    "processes": sorted(int(each) for each in os.listdir("/proc") if each.isdigit()),
    "rights": int(status["CapEff"], 16) | int(status["CapPrm"], 16) | int(status["CapBnd"], 16),
    "no new rights": status["NoNewPrivs"].strip(),
    "writable": [each for each in ("/", "/dev", "/dev/shm", "/tmp", "/usr", "/proc/sys/kernel", "/course") if holds(each)],
    "left": [*map(str, Path("/tmp").iterdir()), *map(str, Path("/dev/shm").iterdir())],
    "interfaces": os.listdir("/sys/class/net") if Path("/sys").exists() else Path("/proc/net/dev").read_text().count(":"),
    "open": sorted(int(each) for each in os.listdir("/proc/self/fd")),
    "checks": [*map(str, Path("/course/host_to_device/exercises").glob("sets/*"))],
    "user": os.getuid(),
})
"""
FORBIDDEN = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print([libc.mount(b"tmpfs", b"/usr", b"tmpfs", 0, None), libc.umount2(b"/tmp", 2), libc.umount2(b"/proc", 2),
       libc.mount(None, b"/", None, 0x20 | 0x1000, None), libc.setns(0, 0), libc.sethostname(b"x", 1)])
"""


def test_a_notebook_sees_nothing_outside_and_keeps_no_right(each_box):
    import ast

    found = marked(each_box, [PROBE, FORBIDDEN])
    seen = ast.literal_eval(found.cells[0].printed)
    assert len(seen.pop("processes")) <= 2, "its first process, and itself"
    assert seen.pop("rights") == 0 and seen.pop("no new rights") == "1"
    assert seen.pop("writable") == ["/dev/shm", "/tmp"] and seen.pop("interfaces") == 1
    python = Path(sys.prefix)  # it may lie in /tmp, too
    left = {
        each for each in seen.pop("left") if not each.startswith("/tmp/.") and not python.is_relative_to(each)
    }
    assert left == {
        "/dev/shm/left",
        "/tmp/left",
    }
    assert len(seen.pop("open")) <= 8 and seen.pop("checks") == [] and seen.pop("user") == os.getuid()
    assert not seen
    assert ast.literal_eval(found.cells[1].printed) == [-1] * 6
    again = ast.literal_eval(
        marked(each_box, ["import os\nprint(os.listdir('/tmp') + os.listdir('/dev/shm'))"]).cells[0].printed
    )
    assert "left" not in again, "the second notebook sees files of the first one"


@needs_a_fork_server
def test_notebooks_do_run_from_the_fork_server(box):
    marked(box, ["pass"])
    assert box.left == fork_server.TRIES, (
        "a system that lets bubblewrap work, but no fork server, marks slowly"
    )


@needs_a_fork_server
def test_a_fork_server_that_ends_is_started_again_and_else_each_notebook_starts_alone(cold, capfd):
    with fork_server.Warm(cold, LIMITS) as warm:
        for tries in (1, 0):
            assert marked(warm, ["x = 1"]).cells[0].error == ""
            fork_server.child_processes.end(warm.server)
            assert marked(warm, ["x = 1"]).cells[0].error == "" and warm.left == tries
        assert warm.server is None and warm.said.startswith("each notebook now starts Python anew")
    assert capfd.readouterr().err == f"grade: {warm.said}\n", "one line, once"


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
