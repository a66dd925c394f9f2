"""The ledger: what is a record, what is passed over with which words, and how a number is found."""

import copy
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import jsonschema
import pytest

from host_to_device.measuring import known_limits, ledger, limit_runs, machines
from tests.measuring import example

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "measurements" / "schema.json").read_text(encoding="utf-8"))
COMMITTED = sorted(path for path in (ROOT / "measurements").glob("*.json") if path.name != "schema.json")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture(autouse=True)
def again(monkeypatch):
    """Each test sees each warning."""
    monkeypatch.setattr(ledger, "_warned", {})


def passed_over(folder):
    """Return the records of a folder and the lines about those that were passed over."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ledger.records([folder])
    assert all(each.category is ledger.LedgerWarning for each in caught)
    return found, [str(each.message) for each in caught]


# --- What is committed -----------------------------------------------------------------------------------------


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_every_committed_record_has_the_form(path):
    data = ledger.read(path)
    VALIDATOR.validate(data)
    assert path.stem == machines.slug(data["machine"]["name"])
    assert path.read_text(encoding="utf-8") == ledger.text_of(data), (
        "written by hand? `make measure` writes it"
    )


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_no_committed_record_names_a_person_or_a_place(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(home|root|Users|work|tmp|mnt)/|\\\\Users\\\\|\b[\w.]+@[\w.]+\b", text)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_every_committed_limit_and_experiment_is_known(path):
    data = ledger.read(path)
    for name, limit in data["limits"].items():
        assert known_limits.KNOWN[name] == limit["unit"]
    for about in data["experiments"].values():
        assert (ROOT / about["notebook"]).is_file()
        assert set(about.get("limits", ())) <= set(known_limits.KNOWN)


def test_names_of_experiments_are_unique_in_the_book():
    assert {name: made for name, made in ledger.experiments_made(ROOT).items() if len(made) > 1} == {}


# --- The form: the schema and the quick check of it agree --------------------------------------------------------


def changed(path, value, gpu=False):
    """Return a record in which one part, named by its keys, is another; a value of ... removes it."""
    data = copy.deepcopy(example.record(gpu=gpu))
    *way, last = path
    at = data
    for key in way:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return data


COPY = ("experiments", "copy-cost")
WRONG = {
    "no schema": (("schema",), ...),
    "schema 0": (("schema",), 0),
    "no machine": (("machine",), ...),
    "no machine's name": (("machine", "name"), ...),
    "another kind": (("machine", "kind"), "tpu"),
    "a GPU's kind without one": (("machine", "kind"), "gpu"),
    "no driver": (("machine", "driver"), ...),
    "no versions": (("versions",), ...),
    "no date": (("date",), ...),
    "no commit": (("commit",), ...),
    "clean not said": (("clean",), ...),
    "no limits": (("limits",), ...),
    "limit without unit": (("limits", "copy bandwidth", "unit"), ...),
    "limit without how": (("limits", "copy bandwidth", "how"), ...),
    "limit without samples": (("limits", "copy bandwidth", "samples"), []),
    "negative limit": (("limits", "copy bandwidth", "value"), -1),
    "no experiments": (("experiments",), ...),
    "experiment with a bad name": (("experiments", "Copy cost"), example.experiment()),
    "no unit": ((*COPY, "y", "unit"), ...),
    "no cell": ((*COPY, "cell"), ...),
    "no cell hash": ((*COPY, "cell_hash"), ...),
    "experiment's commit not said": ((*COPY, "commit"), ...),
    "no samples": ((*COPY, "samples"), []),
    "no values": ((*COPY, "samples", 0, "values"), []),
    "negative": ((*COPY, "samples", 0, "values"), [1, -1]),
    "a word for a value": ((*COPY, "samples", 0, "values"), [1, "2"]),
    "true for a value": ((*COPY, "samples", 0, "values"), [True]),
    "no x": ((*COPY, "samples", 0, "x"), ...),
    "no series": ((*COPY, "samples", 0, "series"), ...),
    "a stand-in's": ((*COPY, "where"), "stand-in"),
    "a GPU's on a CPU": ((*COPY, "where"), "GPU"),
    "a stand-in's sample": ((*COPY, "samples", 0, "where"), "stand-in"),
    "a rehearsal's GPU": (("machine", "gpus", 0, "name"), "rehearsal, not a GPU (T4)", True),
    "a machine with the rehearsal's name": (("machine", "name"), "rehearsal, not a GPU (T4)", True),
    "a GPU's sample on a CPU": ((*COPY, "samples", 0, "where"), "GPU"),
}


@pytest.mark.parametrize("gpu", [False, True])
def test_a_record_is_one(gpu):
    VALIDATOR.validate(example.record(gpu=gpu))
    assert ledger.what_is_wrong(example.record(gpu=gpu)) is None
    labelled = changed((*COPY, "samples", 0, "where"), "CPU", gpu)
    VALIDATOR.validate(labelled)
    assert ledger.what_is_wrong(labelled) is None


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_record_is_refused_by_schema_and_check(what):
    data = changed(*WRONG[what])
    assert list(VALIDATOR.iter_errors(data)), "by the schema"
    problem = ledger.what_is_wrong(data)
    assert problem and "\n" not in problem
    with pytest.raises(ledger.LedgerError):
        ledger.text_of(data)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_no_record_has_a_number_that_is_none(number):
    data = changed((*COPY, "samples", 0, "values"), [number])
    assert "not a number" in ledger.what_is_wrong(data)


# --- Reading ---------------------------------------------------------------------------------------------------


def test_records_are_found_gpus_first(tmp_path):
    example.write(tmp_path, example.record())
    example.write(tmp_path, example.record(gpu=True), "nvidia-h200")
    shutil.copy(ROOT / "measurements" / "schema.json", tmp_path)
    found, lines = passed_over(tmp_path)
    assert [each.machine_name for each in found] == ["NVIDIA H200", "AMD EPYC, 2 cores"]
    assert [each.slug for each in found] == ["nvidia-h200", "amd-epyc-2-cores"]
    assert not lines


TEXT = json.dumps(example.record())
UNREADABLE = {
    "empty": ("", "broken or half-written"),
    "half-written": (TEXT[: len(TEXT) // 2], "broken or half-written"),
    "no JSON": ("machine = 1", "broken or half-written"),
    "NaN": (TEXT.replace("4e-06", "NaN"), "NaN is not a number"),
    "newer": (TEXT.replace('"schema": 1', '"schema": 2'), "update Host to Device"),
    "a list": ("[]", "no record"),
    "of a stand-in": (TEXT.replace('"where": "CPU"', '"where": "stand-in"'), "stand-in"),
    "deep": ("[" * 100_000, "broken or half-written"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_file_that_is_no_record_is_passed_over_with_one_line(tmp_path, what):
    text, words = UNREADABLE[what]
    example.write(tmp_path, example.record(gpu=True), "nvidia-h200")
    example.write(tmp_path, text, "broken")
    found, lines = passed_over(tmp_path)
    assert [each.slug for each in found] == ["nvidia-h200"]
    (line,) = lines
    assert line.startswith("broken.json ") and words in line and "\n" not in line
    assert re.search("remove|update", line), "what to do"


def test_a_file_that_is_no_text_is_passed_over(tmp_path):
    (tmp_path / "broken.json").write_bytes(b"\xff\xfe\x00")
    assert "not a text file" in passed_over(tmp_path)[1][0]


def test_a_file_without_permission_is_passed_over(tmp_path, monkeypatch):
    path = example.write(tmp_path, example.record())
    read_text = Path.read_text

    def refuse(self, *arguments, **options):
        if self == path:
            raise PermissionError(13, "Permission denied")
        return read_text(self, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", refuse)
    found, (line,) = passed_over(tmp_path)
    assert not found and "cannot be read (Permission denied): make it readable" in line


def test_a_warning_is_one_line_on_the_screen_and_comes_once(tmp_path):
    example.write(tmp_path, "{", "broken")
    code = (
        "from pathlib import Path; from host_to_device.measuring import ledger; "
        f"ledger.records([Path({str(tmp_path)!r})]); ledger.records([Path({str(tmp_path)!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert len(done.stderr.splitlines()) == 1 and "LedgerWarning: broken.json" in done.stderr


def test_a_folder_that_is_not_there_has_no_records(tmp_path):
    assert passed_over(tmp_path / "none") == ([], [])


def test_readers_see_their_own_beside_the_shipped(tmp_path, monkeypatch):
    example.write(tmp_path / "shipped", example.record())
    mine = example.record()
    mine["machine"]["name"] = "A machine, 8 cores"
    example.write(tmp_path / "mine", mine, "a-machine-8-cores")
    example.write(tmp_path / "mine", example.record())
    monkeypatch.setattr(ledger, "shipped_folder", lambda: tmp_path / "shipped")
    monkeypatch.setenv("H2D_MEASUREMENTS", str(tmp_path / "mine"))
    found = ledger.records()
    assert [(each.machine_name, each.private) for each in found] == [
        ("AMD EPYC, 2 cores", False),
        ("A machine, 8 cores", True),
        ("AMD EPYC, 2 cores (yours)", True),
    ]
    assert len(ledger.records([tmp_path / "shipped"])) == 1, "the book is built from the repository's alone"


def test_where_a_readers_own_records_are(monkeypatch, tmp_path):
    monkeypatch.delenv("H2D_MEASUREMENTS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    if sys.platform != "darwin":
        assert ledger.private_folder() == tmp_path / "host-to-device" / "measurements"
    monkeypatch.setenv("H2D_MEASUREMENTS", str(tmp_path / "other"))
    assert ledger.private_folder() == tmp_path / "other"


def test_the_repositorys_folder_is_the_shipped_one_here():
    assert ledger.shipped_folder() == ROOT / "measurements"


@pytest.mark.slow
def test_the_wheel_has_the_records_and_finds_them(tmp_path):
    source = tmp_path / "source"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("host_to_device", "measurements"):
        shutil.copytree(ROOT / name, source / name, ignore=ignore)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, source)
    example.write(source / "measurements", example.record(gpu=True), "nvidia-h200")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    place = tmp_path / "installed"
    subprocess.run(
        [*pip, "--no-build-isolation", "--no-index", "--target", place, source],
        check=True,
        capture_output=True,
    )
    code = "from host_to_device.measuring import ledger; print([r.slug for r in ledger.records()], ledger.shipped_folder())"
    environment = {**os.environ, "PYTHONPATH": str(place), "H2D_MEASUREMENTS": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    assert "'nvidia-h200'" in done.stdout and str(place / "host_to_device" / "measurements") in done.stdout


# --- Writing ---------------------------------------------------------------------------------------------------


def test_a_record_is_read_as_it_was_written(tmp_path):
    text = ledger.text_of(example.record())
    path = tmp_path / "amd-epyc-2-cores.json"
    ledger.write_whole(path, text)
    assert ledger.read(path) == example.record()
    assert "[1e-06 2e-06" not in text and "[1e-06, 2e-06, 3e-06, 9e-06]" in text, (
        "a list of numbers is one line"
    )


def test_numbers_are_written_with_six_digits(tmp_path):
    data = changed((*COPY, "samples", 0, "values"), [1.23456789e-7, 2 / 3, 5, 12345678.9])
    written = json.loads(ledger.text_of(data))
    assert written["experiments"]["copy-cost"]["samples"][0]["values"] == [1.23457e-7, 0.666667, 5, 12345700]


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_writing_that_fails_leaves_the_old_file(tmp_path, monkeypatch, function):
    path = tmp_path / "a.json"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError):
        ledger.write_whole(path, "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.json"]


# --- Looking up ------------------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path):
    example.write(tmp_path, example.record())
    example.write(tmp_path, example.record(gpu=True), "nvidia-h200")
    return ledger.records([tmp_path])


def test_a_number_comes_with_its_unit(two):
    found = ledger.value("copy-cost", "pinned", 1024, among=two)
    assert found == pytest.approx(2.5e-6) and found.unit == "s" and str(found) == "2.50 µs"
    assert found.record.machine_name == "NVIDIA H200", "the first that has it, GPUs first"
    assert ledger.value("copy-cost", "pageable", among=two) == 4e-6, "the only x"
    mine = ledger.value("copy-cost", "pinned", 2**20, machine="amd epyc, 2 cores", among=two)
    assert mine == pytest.approx(2e-4) and mine.record.kind == "cpu"


@pytest.mark.parametrize(
    "statistic, value", [("min", 1e-6), ("max", 9e-6), ("low", 1.75e-6), ("high", 4.5e-6), ("count", 4)]
)
def test_other_statistics(two, statistic, value):
    assert ledger.value("copy-cost", "pinned", 1024, statistic, among=two) == pytest.approx(value)


UNKNOWN = {
    "experiment": (dict(experiment="copy-costs"), "recorded: copy-cost"),
    "series": (dict(series="paged", x=1024), "pinned, pageable"),
    "several series": (dict(x=1024), "name one: pinned, pageable"),
    "x": (dict(series="pinned", x=5), "1024, 1048576"),
    "several x": (dict(series="pinned"), "name one: 1024, 1048576"),
    "machine": (dict(machine="NVIDIA T4"), "there is: NVIDIA H200, AMD EPYC, 2 cores"),
    "statistic": (dict(statistic="mode"), "median, min"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_is_not_there_is_said_with_what_is(two, what):
    asked, words = UNKNOWN[what]
    with pytest.raises(LookupError) as raised:
        ledger.value(**{"experiment": "copy-cost", **asked}, among=two)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_a_record_is_found_by_its_name_or_its_files(two):
    assert ledger.record("NVIDIA H200", two) is ledger.record("nvidia-h200", two)
    with pytest.raises(LookupError, match="make measure"):
        ledger.record("NVIDIA H200", [])


def test_the_stamp_says_machine_date_and_versions(two):
    gpu, cpu = two
    assert gpu.stamp == "NVIDIA H200, 2026-11-20, driver 580.65.06, torch 2.13, cupy 14.2, commit abc1234"
    assert cpu.stamp == "AMD EPYC, 2 cores, 2026-11-20, numpy 2.3, torch 2.13, commit abc1234"
    assert cpu.stamp_of("copy-cost").endswith("commit 0123456")
    cpu.data["clean"] = False
    assert cpu.stamp.endswith("commit abc1234, tree not clean")


# --- Stale -----------------------------------------------------------------------------------------------------


def test_a_record_is_stale_when_its_cell_has_changed(tmp_path):
    source = 'with h2d.experiment("copy-cost") as e:\n    e.add(1)'
    path = example.notebook(tmp_path / "notebooks" / "09-copy-cost.ipynb", "import math", source)
    data = example.record()
    data["experiments"]["copy-cost"] |= {"cell": "cell-2", "cell_hash": ledger.digest(source)}
    one = ledger.Record(data, tmp_path / "a.json")
    assert not one.is_stale("copy-cost", tmp_path) and one.stale(tmp_path) == []
    example.notebook(path, "import numpy", source)
    assert one.stale(tmp_path) == [], "another cell"
    example.notebook(path, "import math", source + "\n")
    assert one.stale(tmp_path) == ["copy-cost"]
    path.unlink()
    assert one.stale(tmp_path) == ["copy-cost"], "the notebook is gone"


def test_experiments_are_found_in_the_source_of_notebooks(tmp_path):
    example.notebook(
        tmp_path / "notebooks" / "01-a.ipynb",
        '%pip install x\nwith h2d.experiment("copy-cost", x=("size", "B")) as e:\n    pass',
        "with h2d.experiment(\n    'wait-cost'\n) as e:\n    pass",
        "experiment = 1",
    )
    (tmp_path / "notebooks" / "02-broken.ipynb").write_text("{")
    assert ledger.experiments_made(tmp_path) == {
        "copy-cost": [("notebooks/01-a.ipynb", "cell-1")],
        "wait-cost": [("notebooks/01-a.ipynb", "cell-2")],
    }


# --- The machine -----------------------------------------------------------------------------------------------


def test_this_machine_is_described_without_names_of_people_and_places():
    data = example.record(machine=machines.describe(), versions=machines.versions())
    VALIDATOR.validate(data)
    text = json.dumps([data["machine"], data["versions"]])
    home = str(Path.home())
    words = set(re.findall(r"[\w.-]+", text))
    assert home == "/root" or home not in text
    assert not {socket.gethostname(), os.environ.get("USER") or getpass.getuser()} & words
    assert not re.search(r"(?<![\w.])/(home|root|Users|work|tmp|mnt)/", text)


CPUS = {
    "Intel(R) Xeon(R) CPU @ 2.20GHz (family 6, model 79)": "Intel Xeon, 2 cores",
    "AMD EPYC (family 26, model 2)": "AMD EPYC, 2 cores",
    "AMD Ryzen 7 5800X 8-Core Processor (family 25, model 33)": "AMD Ryzen 7 5800X, 2 cores",
    "Apple M2 Pro": "Apple M2 Pro, 2 cores",
    "aarch64 CPU": "aarch64, 2 cores",
}


@pytest.mark.parametrize("cpu", CPUS)
def test_a_machine_is_named_by_its_cpu(cpu):
    assert machines.name_of(cpu, 2, []) == CPUS[cpu]
    assert machines.name_of(cpu, 1, []).endswith("1 core")


def test_a_machine_is_named_by_its_gpus():
    assert machines.name_of("AMD EPYC", 16, ["NVIDIA H200"]) == "NVIDIA H200"
    assert machines.name_of("AMD EPYC", 16, ["NVIDIA T4"] * 2) == "NVIDIA T4, 2 GPUs"
    assert machines.slug("NVIDIA T4, 2 GPUs") == "nvidia-t4-2-gpus"


CPUINFO = {
    "x86": (
        "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 79\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.20GHz\n\nprocessor\t: 1\n",
        "Intel(R) Xeon(R) CPU @ 2.20GHz (family 6, model 79)",
    ),
    "Arm": ("processor\t: 0\nCPU implementer\t: 0x41\n", f"{machines.platform.machine()} CPU"),
    "nothing": ("", f"{machines.platform.machine()} CPU"),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has /proc/cpuinfo")
@pytest.mark.parametrize("kind", CPUINFO)
def test_the_cpus_name_is_read(tmp_path, monkeypatch, kind):
    text, name = CPUINFO[kind]
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(machines, "CPUINFO", tmp_path / "cpuinfo")
    assert machines.cpu_name() == name


def test_a_containers_quota_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(machines, "CGROUP", tmp_path)
    cores = machines.usable_cores()
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert machines.usable_cores() == cores
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    (tmp_path / "memory.max").write_text("1048576\n")
    assert machines.usable_cores() == 1 and machines.memory() == 2**20


def test_a_gpu_is_described(monkeypatch):
    monkeypatch.delenv("H2D_MACHINE", raising=False)
    gpu = machines.machine.Gpu("NVIDIA H200", 150_000_000_000, (9, 0))
    monkeypatch.setattr(
        machines.machine, "find", lambda: machines.machine.Machine((gpu,), "580.65.06", (13, 0))
    )
    said = machines.describe()
    assert said["name"] == "NVIDIA H200" and said["kind"] == "gpu"
    assert (said["driver"], said["cuda"]) == ("580.65.06", "13.0")
    VALIDATOR.validate(example.record(machine=said))
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    assert machines.describe()["kind"] == "cpu", "nothing runs on its GPU"


def test_the_commit_is_git_s_and_records_do_not_count_as_changes(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("no git here")
    assert machines.commit_of(tmp_path) == (None, None)

    def git(*arguments):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *names, *arguments], check=True, capture_output=True)

    git("init")
    (tmp_path / "file").write_text("1")
    git("add", ".")
    git("commit", "-m", "one")
    commit, clean = machines.commit_of(tmp_path)
    assert re.fullmatch("[0-9a-f]{40}", commit) and clean is True
    example.write(tmp_path / "measurements", example.record())
    assert machines.commit_of(tmp_path) == (commit, True)
    (tmp_path / "file").write_text("2")
    assert machines.commit_of(tmp_path) == (commit, False)
    (tmp_path / "inner").mkdir()
    assert machines.commit_of(tmp_path / "inner") == (None, None), "somebody else's repository"


# --- Limits ----------------------------------------------------------------------------------------------------


@pytest.fixture
def own(monkeypatch, tmp_path):
    """This machine's record is one that the test gives."""

    def put(data):
        path = example.write(tmp_path, data)
        monkeypatch.setattr(ledger, "own_record", lambda: ledger.Record(ledger.read(path), path))
        known_limits._own_record.cache_clear()

    yield put
    known_limits._own_record.cache_clear()


def limit(value, unit="B/s"):
    return {"value": value, "unit": unit, "samples": [value], "how": "measured in the plainest way there is"}


def test_a_peak_is_this_machines(own):
    many = {
        "copy bandwidth": limit(2e10),
        "matmul float32": limit(1e11, "FLOP/s"),
        "matmul float64": limit(5e10, "FLOP/s"),
    }
    own(example.record(limits=many))
    assert known_limits.peak("copy bandwidth", "CPU") == 2e10
    assert known_limits.peak("matmul", "CPU") == 1e11 and known_limits.peak("matmul float64", "CPU") == 5e10
    assert known_limits.peak("copy bandwidth", "GPU") is None
    assert known_limits.peak("copy bandwidth", "stand-in") is None
    own(
        example.record(
            gpu=True, limits={**many, "copy bandwidth, CPU": limit(1), "matmul float32, CPU": limit(2)}
        )
    )
    assert (
        known_limits.peak("copy bandwidth", "GPU") == 2e10 and known_limits.peak("copy bandwidth", "CPU") == 1
    )
    assert known_limits.peak("matmul", "CPU") == 2 and known_limits.peak("matmul", "GPU") == 1e11


def test_no_record_no_peak(monkeypatch, tmp_path):
    monkeypatch.setattr(ledger, "records", lambda: [])
    known_limits._own_record.cache_clear()
    assert known_limits.peak("matmul", "CPU") is None
    known_limits._own_record.cache_clear()


def test_own_record_is_of_the_same_hardware_and_rather_the_readers(monkeypatch, tmp_path):
    monkeypatch.setattr(machines, "hardware", lambda: ("AMD EPYC (family 26, model 2)", 2, []))
    shipped = ledger.Record(example.record(), tmp_path / "a.json")
    other = example.record()
    other["machine"]["cpu"] = "AMD EPYC (family 25, model 1)"
    mine = ledger.Record(example.record(), tmp_path / "c.json", private=True)
    gpu = ledger.Record(example.record(gpu=True), tmp_path / "d.json")
    for there, found in (
        ([gpu, shipped, mine], mine),
        ([gpu, shipped], shipped),
        ([gpu, ledger.Record(other, tmp_path / "b.json")], None),
    ):
        monkeypatch.setattr(ledger, "records", lambda there=there: there)
        assert ledger.own_record() is found
    monkeypatch.setattr(machines, "hardware", lambda: ("another CPU", 64, ["NVIDIA H200"]))
    monkeypatch.setattr(ledger, "records", lambda: [shipped, gpu])
    assert ledger.own_record() is gpu


def test_the_limits_of_a_cpu_are_measured(monkeypatch):
    monkeypatch.setattr(limit_runs, "SECONDS", 0.05)
    monkeypatch.setattr(limit_runs, "_copied", lambda: 2**20)
    matmul = limit_runs._matmul_on_cpu
    monkeypatch.setattr(limit_runs, "_matmul_on_cpu", lambda dtype: matmul(dtype, 64))
    monkeypatch.setattr(limit_runs, "_gpu", lambda: None)
    lines = []
    found = limit_runs.measure_limits(lines.append)
    VALIDATOR.validate(example.record(limits=found))
    assert {name: each["unit"] for name, each in found.items()} == {
        name: known_limits.KNOWN[name] for name in found
    }
    assert set(found) == {
        "copy bandwidth",
        "copy bandwidth, one core",
        "matmul float64",
        "matmul float32",
        "cores scaling",
        "cores scaling, copy",
    }
    assert sum(": " in line and line.endswith(" s)") for line in lines) == len(found)
    assert found["cores scaling"]["points"][0]["x"] == 1


def test_rates_that_are_divided_are_taken_in_turns(monkeypatch):
    """A machine that works at a quarter of its speed in every second stretch still has two cores."""
    monkeypatch.setattr(limit_runs, "SECONDS", 0)
    done = []

    class Clock:
        def measure(self, work):
            done.append(work())
            slow = 4 if (len(done) - 1) // 2 % 2 else 1  # a round has two samples
            return slow / done[-1]

    rates = limit_runs._in_turns({1: (1.0, lambda: 1), 2: (1.0, lambda: 2)}, Clock())
    assert done[:4] == [1, 2, 2, 1] and len(done) == 2 * limit_runs.ROUNDS[0]
    assert len({*rates[1]}) == 2, "the machine's speed changes"
    found = limit_runs._scaling(rates, "made up for this test")
    assert found["samples"] == [2.0] * limit_runs.ROUNDS[0] and found["value"] == 2
    assert [point["x"] for point in found["points"]] == [1, 2]


def test_measuring_says_which_limits_it_doubts(monkeypatch):
    made = {
        "cores scaling": {"value": 2.87, "unit": "×", "samples": [2.87], "how": "made up"},
        "copy bandwidth": {"value": 1e10, "unit": "B/s", "samples": [1e10], "how": "made up"},
    }
    monkeypatch.setattr(limit_runs, "_gpu", lambda: None)
    monkeypatch.setattr(limit_runs, "_of_cpu", lambda: made.items())
    monkeypatch.setattr(machines, "usable_cores", lambda: 2)
    lines = []
    limit_runs.measure_limits(lines.append)
    doubtful = [line for line in lines if "doubtful" in line]
    assert len(doubtful) == 1 and doubtful[0].startswith(
        "cores scaling: doubtful: 2 cores cannot be more than 2 times"
    )


def test_threads_to_try():
    assert (
        limit_runs._steps(1) == [1]
        and limit_runs._steps(6) == [1, 2, 4, 6]
        and limit_runs._steps(8) == [1, 2, 4, 8]
    )


def test_arrays_of_a_copy_are_out_of_reach_for_the_cache(monkeypatch):
    monkeypatch.setattr(limit_runs, "cache_size", lambda where: 2**28)
    monkeypatch.setattr(machines, "memory", lambda: 2**37)
    assert limit_runs._copied() == 2**30
    monkeypatch.setattr(machines, "memory", lambda: 2**32)
    assert limit_runs._copied() == 2**28, "a sixteenth of memory at most"


def test_the_limits_of_a_gpu_with_the_cpu_in_its_place():
    """What the part for a GPU does, by PyTorch on the CPU and by the host's clock: its numbers mean nothing."""
    pytest.importorskip("torch")
    from host_to_device.measuring.clocks import HostClock

    gpu = limit_runs.OfTorch("cpu", can_pin=False)
    found = dict(limit_runs._of_gpu(gpu, HostClock(gpu.wait), largest=2**16, size=64))
    assert set(found) == {name for name in known_limits.KNOWN if "CPU" not in name and "core" not in name} - {
        "matmul tf32",
        "matmul bfloat16",
    }
    assert {name: each["unit"] for name, each in found.items()} == {
        name: known_limits.KNOWN[name] for name in found
    }
    VALIDATOR.validate(example.record(gpu=True, limits=found))
