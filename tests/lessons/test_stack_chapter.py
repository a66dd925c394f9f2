"""Chapter 6: its messages are those that were raised or that the library has, and its examples are what the rules decide."""

import json
import re
from pathlib import Path

import pytest

import host_to_device as h2d
from host_to_device.diagnosing import compatibility, matrix

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = (ROOT / "chapters" / "06-software-stack.md").read_text(encoding="utf-8")
RAISED = json.loads((ROOT / "rehearsal" / "errors.json").read_text(encoding="utf-8"))


def table(name):
    return CHAPTER.partition(f":name: {name}\n")[2].partition("\n:::\n")[0]


def wheel(name, version):
    [found] = [each for each in h2d.known_wheels() if (each.name, each.version) == (name, version)]
    return found


def test_errors_of_two_libraries_were_raised():
    raised = {line for each in RAISED["errors"] for line in each["text"].splitlines()}
    shown = re.findall(r"^  - `(.+)`$", table("tab-one-driver"), re.M)
    assert len(shown) == 4 and set(shown) <= raised
    for library in ("numba-cuda", "cupy"):
        version = RAISED["versions"][library]
        assert re.search(rf"- {library} {re.escape(version)}\n", table("tab-one-driver"), re.I)
    [own] = re.findall(r"CuPy's \*(.+?)\* comes from", CHAPTER)
    assert any(line.startswith(own) for line in raised)


@pytest.mark.parametrize(
    "message",
    [
        compatibility.OLD_DRIVER,
        compatibility.NO_DEVICE,
        compatibility.NO_IMAGE,
        compatibility.NEW_PTX.rstrip("."),
    ],
)
def test_each_message_of_cuda_is_in_the_text(message):
    assert f"*{message}*" in CHAPTER


def test_the_example_at_the_beginning_is_what_the_rules_decide():
    smi, nvcc, built = re.findall(r"^  - ([\d.]+)$", table("tab-three-versions"), re.M)
    assert (smi, nvcc, built) == ("12.8", "11.8", "13.0")
    newest = wheel("torch", "2.13.0")
    assert newest.cuda == built
    assert h2d.runs_on(newest, smi, "8.6").message == compatibility.OLD_DRIVER


def test_examples_of_wheels():
    torch, cupy = wheel("torch", "2.13.0"), wheel("cupy-cuda13x", "14.2.0")
    assert (torch.sass[0], torch.sass[-1], torch.ptx) == ("7.5", "12.0", ())
    assert "8.9" not in torch.sass and h2d.runs_on(torch, "13.0", "8.9").kind == "runs"
    assert h2d.runs_on(torch, "13.0", "7.0").message == compatibility.NO_IMAGE
    assert cupy.ptx == ("12.0",)


def test_examples_of_drivers_and_gpus():
    assert matrix.drives("12.8", "12.0") and not matrix.drives("12.6", "12.0")
    assert matrix.drives("13.0", "7.0") and not matrix.drives("13.1", "7.0")
    assert matrix.cuda_of_driver("580") == "13.0"


def test_builds_are_those_of_the_doctor():
    shown = table("tab-builds-by-driver")
    indices = {row["name"]: row.get("last") for row in matrix.tables()["torch_indices"]["rows"]}
    assert set(re.findall(r"`(cu\d+)`", shown)) == set(indices)
    said = re.findall(r"`(cu\d+)`, up to PyTorch ([\d.]+)", shown)
    assert set(said) == {(name, last) for name, last in indices.items() if last}
    for major in (13, 12):
        assert f"`{matrix.builds_for(major)['cupy_wheel']}[ctk]`" in shown
    assert matrix.builds_for(12)["last_builds"].endswith(
        f"is {indices['cu126']}; in the index cu128, {indices['cu128']}."
    )


@pytest.mark.parametrize(
    "driver, gpu, index",
    [("13.0", "8.6", "cu130"), ("13.0", "7.0", "cu126"), ("12.8", "10.0", "cu128"), ("12.4", "9.0", "cu126"), ("11.8", "8.6", "cu118")],
)  # fmt: skip
def test_each_row_of_builds_is_what_the_doctor_chooses(driver, gpu, index):
    assert matrix.torch_index(driver, gpu) == index
    rows = [re.findall(r"- (.+)", row) for row in table("tab-builds-by-driver").split("\n* ")[2:]]
    major, capability = driver.partition(".")[0], float(gpu)
    fits = {
        "7.5 or higher": capability >= 7.5,
        "below 7.5 (driver 580)": capability < 7.5,
        "10.0 or higher": capability >= 10,
        "below 10.0": capability < 10,
        "up to 9.0": capability <= 9,
    }
    [row] = [row for row in rows if row[0] == major and fits[row[1]]]
    assert f"`{index}`" in row[2]
