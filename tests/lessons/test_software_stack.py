"""Lesson 6: what the functions of its notebook compute, on inputs of which the answer is known.

What the notebook stores is held against a fresh run by nbval, so an output that changes fails there first.
"""

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

import host_to_device as h2d
from authoring import notebooks
from host_to_device.diagnosing import compatibility, facts, matrix

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = notebooks.read(ROOT / "notebooks" / "06-software-stack.ipynb")
CELLS = {cell.id: cell for cell in NOTEBOOK.cells}
DECIDING = (
    *("cases", "messages", "names", "expected", "differing", "text", "why"),
    *("numbers", "code", "code-rule", "ptx", "ptx-rule", "driver", "all"),
)


@cache
def names_of(*ids):
    """Run cells of the notebook, after its imports, and return the names that they leave."""
    names = {"h2d": h2d}
    for each in ("imports", *ids):
        exec(CELLS[each].source, names)
    return SimpleNamespace(**names)


def stored(cell):
    """Return what a cell has printed, and its result as text."""
    texts = (each.get("text") or each.get("data", {}).get("text/plain", "") for each in CELLS[cell].outputs)
    return "".join(texts)


def reading():
    return names_of("versions-first", "smi-old", "smi-patterns", "smi-read", "smi-new", "smi-both")


def deciding():
    return names_of("wheel-code", *(f"decide-{each}" for each in DECIDING))


def test_both_wordings_are_read_as_the_doctor_reads_them():
    lesson = reading()
    for text in (lesson.OLD, lesson.NEW):
        read, doctors = lesson.smi_read(text), facts.read(text)
        assert read["driver"] == doctors["driver"].value
        assert read["cuda"] == doctors["driver_cuda"].value == matrix.cuda_of_driver(read["driver"])
    assert lesson.smi_read(lesson.OLD) == {"driver": "570.26", "cuda": "12.8", "memory": "6218", "util": "7"}
    assert lesson.smi_read(lesson.NEW)["memory"] == "1630" and lesson.smi_read(lesson.NEW)["util"] == "96"


def test_what_a_table_does_not_say_is_none():
    lesson = reading()
    assert set(lesson.smi_read("sh: nvidia-smi: not found").values()) == {None}
    in_container = lesson.OLD.replace("CUDA Version: 12.8", "CUDA Version: N/A ")
    assert lesson.smi_read(in_container) == lesson.smi_read(lesson.OLD) | {"cuda": None}


def test_the_three_versions_are_found_where_they_stand():
    lesson = reading()
    assert lesson.first(lesson.TOOLKIT, "Cuda compilation tools, release 11.8, V11.8.89") == "11.8"
    assert lesson.first(lesson.TOOLKIT, "sh: nvcc: not found") is None
    assert [lesson.first(lesson.DRIVER, text) for text in (lesson.OLD, lesson.NEW)] == ["12.8", "13.3"]


@pytest.mark.parametrize(
    "kernels, percent",
    [
        ([], 0),
        ([(0, 1000)], 100),
        ([(0, 500), (0, 500)], 50),
        ([(0, 400), (300, 500)], 50),
        ([(start, start + 1) for start in range(0, 1000, 10)], 10),
    ],
)
def test_gpu_util_counts_the_time_in_which_any_kernel_runs(kernels, percent):
    assert names_of("util").gpu_util(kernels) == percent


@pytest.mark.parametrize(
    "sass, gpu, runs",
    [("8.0", "8.6", True), ("8.6", "8.6", True), ("8.6", "8.0", False), ("8.0", "9.0", False),
     ("10.0f", "10.0", True), ("12.0", "7.0", False), ("1.0", "10.0", False)],
)  # fmt: skip
def test_machine_code_stays_within_its_first_number(sass, gpu, runs):
    assert deciding().runs_machine_code(sass, gpu) is runs


@pytest.mark.parametrize(
    "ptx, gpu, compiles",
    [("9.0", "9.0", True), ("9.0", "10.0", True), ("9.0", "8.6", False), ("10.0", "9.0", False)],
)
def test_ptx_compiles_for_every_later_gpu(ptx, gpu, compiles):
    assert deciding().compiles_ptx(ptx, gpu) is compiles


def test_the_last_rule_is_the_librarys_and_each_step_comes_closer():
    lesson = deciding()
    rules = lesson.text_rule, lesson.code_rule, lesson.ptx_rule, lesson.driver_rule, lesson.rule
    wrong = [len(lesson.differing(rule)) for rule in rules]
    assert wrong == sorted(set(wrong), reverse=True), "each step repairs something, and breaks nothing"
    assert wrong[-1] == 0 and wrong[-2] == 1
    assert wrong[0] > len(lesson.cases) / 3, "the text says more than a third"


def test_each_answer_of_the_library_is_among_the_cases():
    lesson = deciding()
    assert {lesson.expected(case) for case in lesson.cases} == set(lesson.answers)
    names = compatibility.OLD_DRIVER, compatibility.NO_IMAGE, compatibility.NEW_PTX
    assert names == (lesson.OLD_DRIVER, lesson.NO_IMAGE, lesson.NEW_PTX)
    assert set(lesson.messages) == {*names, compatibility.NO_DEVICE}


@pytest.mark.parametrize(
    "driver, gpu, sass, ptx, answer",
    [
        ("12.4", "8.6", ("8.0",), (), "runs"),
        ("12.4", "9.0", ("8.0",), ("8.0",), "NEW_PTX"),
        ("12.8", "9.0", ("8.0",), ("8.0",), "compiles"),
        ("12.4", "9.0", (), (), "compiles"),
        ("12.8", "8.0", (), ("8.6",), "NO_IMAGE"),
        ("11.8", "8.6", ("8.0",), (), "OLD_DRIVER"),
    ],
)
def test_the_rule_holds_for_a_wheel_of_the_learners_own(driver, gpu, sass, ptx, answer):
    lesson = deciding()
    wheel = SimpleNamespace(cuda="12.8", sass=sass, ptx=ptx)
    answer = getattr(lesson, answer, answer)
    assert lesson.rule(wheel, driver, gpu) == answer == lesson.expected((wheel, driver, gpu))


def test_the_explorer_begins_and_can_end_as_the_text_says():
    assert h2d.explore_compatibility().picture.outcome.message == compatibility.NO_IMAGE
    [(wheel, driver, gpu)] = (lesson := deciding()).differing(lesson.driver_rule)
    shown = {"wheel": f"{wheel.name} {wheel.version}", "driver": driver, "card": "H100 SXM"}
    assert (wheel.name, gpu) == ("tensorflow", "9.0"), "the hint says: TensorFlow on an H100"
    assert h2d.explore_compatibility(**shown).picture.outcome.message == compatibility.NEW_PTX


def test_the_runtime_has_the_same_words():
    words = re.findall(r"^\d+ (.+)$", stored("words"), re.M)
    assert len(words) == 4 and words == stored("decide-messages").splitlines()


@pytest.mark.parametrize(
    "files, cores",
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu.stat": "nr_throttled 0\n"}, None),
    ],
)
def test_the_quota_is_read_in_both_versions_of_control_groups(tmp_path, files, cores):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert names_of("cores-files").cores_by_quota(tmp_path) == cores


def test_a_step_loads_all_pixels_and_multiplies_as_often_as_it_says():
    torch = pytest.importorskip("torch")
    names = {"h2d": h2d, "torch": torch, "np": pytest.importorskip("numpy"), "device": torch.device("cpu")}
    for each in ("bound-inputs", "bound-load", "bound-compute"):
        exec(CELLS[each].source, names)
    images, batch = names["images"], names["load"](3)
    assert batch.shape == images.shape and not (batch.numpy() == images).all()
    assert batch.sum().item() == pytest.approx(images.sum())
    assert names["compute"](batch, 5) == pytest.approx(images.sum(), rel=1e-3), "the weights keep the sum"
    names["weights"] = 2 * torch.eye(512)
    assert names["compute"](batch, 3) == pytest.approx(8 * images.sum(), rel=1e-3)


def test_the_report_is_the_machine_of_the_chapters_first_question():
    report = names_of("smi-old", "doctor-report").REPORT
    found = facts.read(report)
    chapter = (ROOT / "chapters" / "06-software-stack.md").read_text(encoding="utf-8")
    for fact in ("driver_cuda", "toolkit", "torch_cuda"):
        assert f"  - {found[fact].value}\n" in chapter
    assert [each.id for each in h2d.doctor(report).findings] == ["driver-too-old-for-runtime"]
