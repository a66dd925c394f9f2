"""The measuring run: limits first, then notebooks; stopped and gone on with, killed, and never overwriting unasked."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from host_to_device.measuring import experiments, ledger, machines, notebook_runs
from host_to_device.measuring.notebook_runs import CannotMeasure, NotebookStopped, Run
from tests.measuring import example

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "measurements" / "schema.json").read_text(encoding="utf-8"))
LIMITS = example.record()["limits"]
VERSIONS = machines.versions()


def cell(name, seconds=0.001, where="CPU"):
    """Return the source of a cell that makes an experiment."""
    return (
        "from host_to_device.measuring.experiments import experiment\n"
        f'with experiment("{name}", x=("size", "B")) as e:\n'
        f"    e.add([{seconds}, {seconds}], x=8, where={where!r})"
    )


class Desk:
    """A checkout with two notebooks, a folder for records, and what a run did: limits and notebooks are made up."""

    def __init__(self, folder):
        self.root, self.to = folder / "checkout", folder / "records"
        self.one = example.notebook(self.root / "notebooks" / "01-one.ipynb", "a = 1", cell("copy-cost"))
        self.two = example.notebook(self.root / "notebooks" / "02-two.ipynb", cell("wait-cost"))
        self.did, self.lines = [], []
        self.where = "CPU"
        self.stops = {}  # notebook's stem: what is raised in it

    def limits(self, progress):
        self.did.append("limits")
        progress("copy bandwidth: 20 GB/s (0.1 s)")
        return LIMITS

    def notebook(self, path, folder, seconds, progress):
        self.did.append(path.stem)
        for name, of_cell in ledger.experiments_in(path):
            source = dict(ledger.code_cells(path))[of_cell]
            left = {
                "name": name,
                "title": name,
                "x": {"label": "size", "unit": "B"},
                "y": {"label": "time", "unit": "s"},
                "where": self.where,
                "limits": [],
                "samples": [{"series": "", "x": 8, "values": [float(len(self.did))], "where": self.where}],
                "cell_hash": ledger.digest(source),
            }
            (folder / f"{name}.json").write_text(json.dumps(left))
        if path.stem in self.stops:
            raise self.stops[path.stem]

    def run(self, **options):
        self.did.clear()
        self.lines.clear()
        run = Run(
            self.to,
            self.root,
            say=self.lines.append,
            measure_limits=self.limits,
            run_notebook=self.notebook,
            **options,
        )
        return run.measure()

    @property
    def path(self):
        return self.to / f"{machines.slug(machines.describe()['name'])}.json"

    def record(self):
        data = ledger.read(self.path)
        jsonschema.Draft202012Validator(SCHEMA).validate(data)
        return data

    def values(self):
        return {name: about["samples"][0]["values"] for name, about in self.record()["experiments"].items()}

    def said(self, words):
        return [line for line in self.lines if words in line]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


# --- A run -----------------------------------------------------------------------------------------------------


def test_limits_come_first_and_then_every_notebook(desk):
    assert desk.run() == 0
    assert desk.did == ["limits", "01-one", "02-two"]
    data = desk.record()
    assert data["machine"] == machines.describe() and data["versions"] == machines.versions()
    assert data["limits"] == LIMITS and data["commit"] is None and data["clean"] is None
    about = data["experiments"]["copy-cost"]
    assert about["notebook"] == "notebooks/01-one.ipynb" and about["cell"] == "cell-2"
    assert about["cell_hash"] == ledger.digest(cell("copy-cost"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", about["date"])
    assert sorted(data["experiments"]) == ["copy-cost", "wait-cost"]
    assert os.listdir(desk.to) == [desk.path.name], "nothing else is left"


def test_progress_is_shown(desk):
    desk.run()
    for words in (
        "measuring for",
        "limits of this machine",
        "  copy bandwidth: 20 GB/s",
        "notebook 1 of 2: notebooks/01-one.ipynb …",
        "  copy-cost: 1 sample at 1 point, CPU",
        "notebook 2 of 2: notebooks/02-two.ipynb …",
        "done in ",
    ):
        assert desk.said(words), words


def test_a_notebook_without_experiments_is_not_run(desk):
    example.notebook(desk.root / "notebooks" / "00-zero.ipynb", "a = 1")
    desk.run()
    assert "00-zero" not in desk.did and desk.said("00-zero.ipynb: nothing to measure")


def test_one_notebook_can_be_chosen(desk):
    desk.run(notebooks=[desk.two])
    assert desk.did == ["limits", "02-two"] and list(desk.values()) == ["wait-cost"]
    desk.run()
    assert desk.did == ["01-one"]


def test_a_notebook_elsewhere_is_recorded_without_its_folder(desk, tmp_path):
    path = example.notebook(tmp_path / "somebody" / "mine.ipynb", cell("mine"))
    desk.run(notebooks=[path])
    assert desk.record()["experiments"]["mine"]["notebook"] == "mine.ipynb"
    assert str(tmp_path) not in desk.path.read_text()


# --- What does not get in --------------------------------------------------------------------------------------


def test_a_stand_ins_time_is_left_out_with_one_line(desk):
    desk.where = "stand-in"
    assert desk.run() == 0
    assert desk.record()["experiments"] == {}
    assert desk.said("copy-cost") == [
        "  copy-cost: it is a stand-in's and left out: its times are not a GPU's"
    ]


def test_the_cpus_part_of_an_experiment_with_a_stand_in_stays(desk):
    def notebook(path, folder, seconds, progress):
        desk.where = "CPU"
        Desk.notebook(desk, path, folder, seconds, progress)
        for file in folder.glob("*.json"):
            left = json.loads(file.read_text())
            left["where"] = "stand-in"
            left["samples"].append({"series": "device", "x": 8, "values": [1.0], "where": "stand-in"})
            file.write_text(json.dumps(left))

    desk.notebook = notebook
    assert desk.run() == 0
    (sample,) = desk.record()["experiments"]["copy-cost"]["samples"]
    assert sample["series"] == "" and "where" not in sample
    assert desk.said("copy-cost: 1 of its 2 points are a stand-in's")


def test_a_gpus_time_does_not_get_into_a_cpus_record(desk):
    desk.where = "GPU"
    with pytest.raises(ledger.LedgerError, match="on a GPU, and the machine has none"):
        desk.run()
    assert not desk.path.exists()


def test_an_experiment_is_of_a_cell_of_the_notebook(desk, monkeypatch):
    monkeypatch.setattr(
        ledger, "digest", lambda source, digest=ledger.digest: digest(source + str(time.monotonic_ns()))
    )
    assert desk.run() == 1
    assert desk.said("made experiment 'copy-cost' in none of its cells")


def test_two_experiments_of_one_name_are_found_before_anything_is_measured(desk):
    example.notebook(desk.root / "notebooks" / "03-three.ipynb", cell("copy-cost"))
    with pytest.raises(
        CannotMeasure, match=r"two experiments 'copy-cost', in notebooks/01-one.ipynb and notebooks/03"
    ):
        desk.run()
    assert not desk.did


# --- Nothing is overwritten without --again ----------------------------------------------------------------------


def test_what_is_recorded_is_not_measured_again(desk):
    desk.run()
    before = desk.path.read_bytes()
    assert desk.run() == 0
    assert desk.did == [] and desk.path.read_bytes() == before
    assert desk.said("limits: recorded already") and desk.said("01-one.ipynb: recorded already")


def test_a_new_experiment_is_added_and_the_others_stay(desk):
    desk.run()
    before = desk.values()
    example.notebook(desk.one, cell("copy-cost"), cell("new-one"))
    desk.run()
    assert desk.did == ["01-one"]
    assert desk.values() == {**before, "new-one": [1.0]}
    assert desk.said("copy-cost: recorded already, and kept")


def test_a_stale_experiment_is_named_and_stays(desk):
    desk.run()
    before = desk.values()
    example.notebook(desk.one, cell("copy-cost", 0.5))
    desk.run()
    assert desk.values() == before and desk.said("copy-cost changed since: --again measures anew")


def test_again_measures_all_of_it_anew(desk):
    desk.run()
    desk.two.unlink()
    example.notebook(desk.root / "notebooks" / "00-zero.ipynb", cell("zero-cost"))
    assert desk.run(again=True) == 0
    assert desk.did == ["limits", "00-zero", "01-one"]
    assert desk.values() == {"copy-cost": [3.0], "zero-cost": [2.0]}, "what no notebook makes is gone"


def test_again_of_one_notebook_leaves_the_others(desk):
    desk.run()
    desk.run(again=True, notebooks=[desk.two])
    assert desk.did == ["02-two"] and desk.values() == {"copy-cost": [2.0], "wait-cost": [1.0]}


def test_versions_do_not_mix_in_a_record(desk, monkeypatch):
    desk.run()
    monkeypatch.setattr(machines, "versions", lambda: {**VERSIONS, "numpy": "9.9"})
    before = desk.path.read_bytes()
    for options in ({}, {"again": True, "notebooks": [desk.two]}):
        with pytest.raises(CannotMeasure, match=r"was made with numpy .* \(here 9.9\): --again"):
            desk.run(**options)
    assert desk.path.read_bytes() == before and not desk.did
    desk.stops["02-two"] = NotebookStopped("stopped")
    assert desk.run(again=True) == 1
    assert desk.path.read_bytes() == before, "half of it is not new"
    desk.stops.clear()
    assert desk.run(again=True) == 0
    assert desk.did == ["02-two"] and desk.record()["versions"]["numpy"] == "9.9"


def test_the_courses_own_version_may_differ(desk, monkeypatch):
    desk.run()
    monkeypatch.setattr(machines, "versions", lambda: {**VERSIONS, "host-to-device": "9.9"})
    assert desk.run() == 0


def test_another_machine_of_the_same_name_is_not_mixed_in(desk):
    desk.run()
    data = ledger.read(desk.path)
    data["machine"]["cpu"] = "AMD EPYC (family 1, model 1)"
    desk.path.write_text(ledger.text_of(data))
    with pytest.raises(CannotMeasure, match=r"of another machine .*--name"):
        desk.run(again=True)
    assert desk.run(name="The other one") == 0
    assert (desk.to / "the-other-one.json").is_file()


@pytest.mark.parametrize("text", ["", '{"schema": 1, "mach', "[]", '{"schema": 2}'])
def test_a_record_that_cannot_be_read_is_left_alone(desk, text):
    desk.to.mkdir()
    desk.path.write_text(text)
    for again in (False, True):
        with pytest.raises(CannotMeasure, match=desk.path.name):
            desk.run(again=again)
    assert desk.path.read_text() == text and not desk.did


# --- Stopped and gone on with ------------------------------------------------------------------------------------


def test_a_run_that_was_stopped_goes_on(desk):
    desk.stops["02-two"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        desk.run()
    assert desk.did == ["limits", "01-one", "02-two"] and not desk.path.exists()
    desk.stops.clear()
    assert desk.run() == 0
    assert desk.did == ["02-two"]
    assert desk.values() == {"copy-cost": [2.0], "wait-cost": [1.0]}
    assert desk.said("going on with the run of") and desk.said("01-one.ipynb: measured already")
    assert os.listdir(desk.to) == [desk.path.name]


def test_a_run_that_measures_again_goes_on_as_one(desk):
    desk.run()
    desk.stops["02-two"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        desk.run(again=True)
    desk.stops.clear()
    desk.run()
    assert desk.did == ["02-two"] and desk.said("(--again)")
    assert desk.values() == {"copy-cost": [2.0], "wait-cost": [1.0]}


def test_a_notebook_that_changed_in_between_is_run_anew(desk):
    desk.stops["02-two"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        desk.run()
    example.notebook(desk.one, "a = 2", cell("copy-cost"))
    desk.stops.clear()
    desk.run()
    assert desk.did == ["01-one", "02-two"]


def test_a_run_with_other_versions_begins_anew(desk, monkeypatch):
    desk.stops["02-two"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        desk.run()
    monkeypatch.setattr(machines, "versions", lambda: {**VERSIONS, "numpy": "9.9"})
    desk.stops.clear()
    desk.run()
    assert desk.did == ["limits", "01-one", "02-two"]


def test_a_notebook_that_fails_does_not_stop_the_others(desk):
    desk.stops["01-one"] = NotebookStopped("stopped in cell 'cell-1': NameError: x")
    assert desk.run() == 1
    assert list(desk.values()) == ["wait-cost"]
    assert desk.lines[-1] == "  not measured: notebooks/01-one.ipynb stopped in cell 'cell-1': NameError: x"
    desk.stops.clear()
    assert desk.run() == 0
    assert desk.did == ["01-one"] and sorted(desk.values()) == ["copy-cost", "wait-cost"]


def test_two_runs_at_once_do_not_mix(desk):
    other = Desk(desk.root.parent)

    def limits(progress):
        with pytest.raises(CannotMeasure, match=r"another run is measuring for .* already: wait"):
            other.run()
        return LIMITS

    desk.limits = limits
    assert desk.run() == 0 and not other.did
    assert other.run() == 0, "the lock is gone with the run"


# --- Bad input -------------------------------------------------------------------------------------------------


def test_no_permission_is_one_line(desk, monkeypatch):
    desk.to.write_text("a file")
    with pytest.raises(CannotMeasure, match=r"cannot write in .* \(File exists\): .* --to"):
        desk.run()
    desk.to.unlink()

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ledger, "write_whole", refuse)
    with pytest.raises(CannotMeasure, match=r"cannot write in .* \(Permission denied\)"):
        desk.run()
    assert not desk.path.exists()


def command(*arguments, timeout=100, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "host_to_device.measuring", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_says_what_is_wrong_in_one_line(tmp_path):
    code, _, error = command("--to", str(tmp_path), "--notebook", "none.ipynb")
    assert code == 1 and error.count("\n") == 1 and "there is no notebook none.ipynb" in error
    broken = tmp_path / f"{machines.slug(machines.describe()['name'])}.json"
    broken.write_text("{")
    code, _, error = command("--to", str(tmp_path))
    assert code == 1 and error.count("\n") == 1 and "half-written" in error
    for arguments in (["--timeout", "0"], ["--name", "…"], ["--name", "Schema"]):
        assert command("--to", str(tmp_path), *arguments)[0] == 2


def test_limits_that_fail_are_said_in_one_line(monkeypatch):
    popen = subprocess.Popen

    def broken(command, **options):
        return popen(
            [command[0], "-c", "import sys; print('x: 1', file=sys.stderr); sys.exit('no memory')"], **options
        )

    monkeypatch.setattr(notebook_runs.subprocess, "Popen", broken)
    with pytest.raises(CannotMeasure, match="could not be measured: no memory"):
        notebook_runs.limits_in_a_process(lambda line: None)


# --- Real notebooks and real kills -------------------------------------------------------------------------------


def test_a_notebook_runs_as_a_measuring_run_and_stays_as_it_is(desk, tmp_path):
    before = desk.one.read_bytes()
    folder = tmp_path / "left"
    folder.mkdir()
    cells = []
    notebook_runs.run_notebook(desk.one, folder, 60, lambda cell, of: cells.append((cell, of)))
    left = json.loads((folder / "copy-cost.json").read_text())
    assert left["cell_hash"] == ledger.digest(cell("copy-cost")) and left["where"] == "CPU"
    assert cells == [(1, 2), (2, 2)] and desk.one.read_bytes() == before
    assert experiments.FOLDER not in os.environ


@pytest.mark.parametrize(
    "source, seconds, words",
    [
        ("1 / 0", 60, "stopped in cell 'cell-2': ZeroDivisionError"),
        (
            cell("copy-cost").replace("0.001", "-1"),
            60,
            "stopped in cell 'cell-2': ExperimentError: experiment",
        ),
        ("import time; time.sleep(60)", 2, "was not done after 2 s, in cell 'cell-2'"),
        ("import os; os._exit(1)", 60, "ended its kernel in cell 'cell-2'"),
    ],
    ids=["error", "bad sample", "too long", "dead kernel"],
)
def test_a_notebook_that_stops_says_where_and_why(tmp_path, source, seconds, words):
    path = example.notebook(tmp_path / "a.ipynb", "a = 1", source)
    with pytest.raises(NotebookStopped) as raised:
        notebook_runs.run_notebook(path, tmp_path, seconds, lambda *_: None)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_ctrl_c_stops_a_notebook_at_once(tmp_path):
    source = "import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)"
    path = example.notebook(tmp_path / "a.ipynb", source)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        notebook_runs.run_notebook(path, tmp_path, 60, lambda *_: None)
    assert time.monotonic() - began < 30


# Runs in a process of its own: a run that dies in its n-th step, with everything left to one that goes on.
KILLED = """
import os, signal, sys
from pathlib import Path
from host_to_device.measuring import ledger, machines
from tests.measuring.test_running import Desk

folder = Path(sys.argv[1])
steps = {"left": None}

def step():
    if steps["left"] is not None:
        steps["left"] -= 1
        if steps["left"] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

def stepping(function):
    def both(*arguments, **options):
        step()
        found = function(*arguments, **options)
        step()
        return found
    return both

def start(desk, again, at):
    if (child := os.fork()) == 0:
        steps["left"] = at
        for name in ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir"):
            setattr(os, name, stepping(getattr(os, name)))
        os._exit(desk.run(again=again))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

machines.commit_of = lambda root: (None, None)  # git takes its time
kills = 0
for again in (False, True):
    for at in range(200):
        desk = Desk(folder / f"{again}-{at}")
        old = None
        if again:
            desk.run(notebooks=[desk.two])
            old = desk.path.read_bytes()
        code = start(desk, again, at)
        if code == 0:
            break
        assert code == -signal.SIGKILL, code
        kills += 1
        files = list(desk.to.glob("*.json")) if desk.to.exists() else []
        assert len(ledger.records([desk.to])) == len(files), at  # with a warning, which is an error here
        new = bool(files) and files[0].read_bytes() != old
        assert not new or sorted(desk.values()) == ["copy-cost", "wait-cost"], at
        assert again <= len(files), at
        assert start(desk, again, None) == 0, at
        assert sorted(desk.values()) == ["copy-cost", "wait-cost"], at
        assert os.listdir(desk.to) == [desk.path.name], (at, os.listdir(desk.to))
    else:
        raise AssertionError("it never came to its end")
print(kills)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 is Unix's")
@pytest.mark.slow
def test_a_kill_at_any_step_leaves_a_valid_ledger_and_nothing_is_lost(
    tmp_path,
):  # before and after calls, in turn
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error::UserWarning"}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


REAL = """
import sys
from pathlib import Path
from host_to_device.measuring.notebook_runs import Run
from tests.measuring.test_running import LIMITS
to, root = map(Path, sys.argv[1:])
sys.exit(Run(to, root, measure_limits=lambda progress: LIMITS).measure())
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is Unix's")
@pytest.mark.parametrize(
    "line, wait",
    [
        pytest.param("measuring for", 0, marks=pytest.mark.slow),
        pytest.param("notebook 1", 0.2, marks=pytest.mark.slow),
        ("notebook 2", 0.1),
    ],
)
@pytest.mark.slow  # it starts a kernel several times
def test_a_run_with_real_notebooks_survives_kill_9(desk, line, wait):
    arguments = [sys.executable, "-c", REAL, str(desk.to), str(desk.root)]
    options = {"cwd": ROOT, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "text": True}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, **options) as run:
        for said in run.stdout:
            if line in said:
                break
        time.sleep(wait)
        run.send_signal(signal.SIGKILL)
    assert ledger.records([desk.to]) == [] and not desk.path.exists()
    done = subprocess.run(arguments, capture_output=True, **options, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "going on with the run of" in done.stdout
    assert ("notebook 1 of 2: notebooks/01-one.ipynb: measured already" in done.stdout) == ("2" in line)
    assert sorted(desk.values()) == ["copy-cost", "wait-cost"]
    assert os.listdir(desk.to) == [desk.path.name]
