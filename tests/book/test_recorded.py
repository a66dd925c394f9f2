"""Recorded training steps: each file has its form, names no place, and the directives show what it holds or stop the build."""

import copy
import io
import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import referencing
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from benchmarks.contrastive_step import text_of
from book import origins, recorded
from host_to_device.measuring import ledger, machines

ROOT = Path(__file__).resolve().parents[2]
H100 = "nvidia-h100-80gb-hbm3-contrastive-step"
FILES = sorted(path for path in recorded.FOLDER.glob("*.json") if path.name != "schema.json")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def validator():
    """Return a validator of the files; their schema shares the machine's form with that of the records."""
    schemas = {
        name: json.loads((ROOT / "measurements" / name).read_text(encoding="utf-8"))
        for name in ("schema.json", "traces/schema.json")
    }
    registry = referencing.Registry().with_resources(
        (f"file:///{name}", referencing.Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    return jsonschema.Draft202012Validator({"$ref": "file:///traces/schema.json"}, registry=registry)


def built(folder, source):
    """Build a book of one page and the page of origins; return its page and the warnings."""
    (folder / "chapters").mkdir()
    (folder / "index.md").write_text(f"# A book\n\n{source}\n\n```{{toctree}}\nchapters/measurements\n```\n")
    (folder / "chapters" / "measurements.md").write_text(f"# Where\n\n({origins.ANCHOR})=\n## Origins\n")
    (folder / "conf.py").write_text("")
    settings = {"extensions": ["myst_parser", "book.recorded", "book.origins"]} | {
        "myst_enable_extensions": ["colon_fence"]
    }
    warnings, out = io.StringIO(), folder / "_build"
    with docutils_namespace(), patch_docutils():
        Sphinx(folder, folder, out, out / "trees", "html", settings, io.StringIO(), warnings).build()
    page = BeautifulSoup((out / "index.html").read_text("utf-8"), "html.parser")
    return page, COLOUR.sub("", warnings.getvalue())


# --- The files -------------------------------------------------------------------------------------------------


def test_there_are_files():
    assert H100 in [path.stem for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_has_the_form_and_names_no_place(path):
    text = path.read_text(encoding="utf-8")
    data = json.loads(text)
    validator().validate(data)
    assert path.stem.startswith(machines.slug(data["machine"]["name"]))
    assert text == text_of(data), "written by hand? `python -m benchmarks.contrastive_step` writes it"
    assert not re.search(r"/(root|home|tmp|work|opt|Users)\b", text)
    for trace in data["traces"]:
        marks = [
            event["args"]["correlation"] for event in trace["events"] if event["cat"].startswith("cuda_")
        ]
        on_device = [event for event in trace["events"] if not event["cat"].startswith("cuda_")]
        assert all(event["args"]["correlation"] in marks for event in on_device)
        assert sum(each["device"] for each in trace["sums"]) == pytest.approx(
            sum(event["dur"] for event in on_device) * 1e-6, rel=1e-4
        )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data: data.pop("how"),
        lambda data: data["machine"].update(kind="cpu"),
        lambda data: data["machine"].update(name="rehearsal, not a GPU"),
        lambda data: data["runs"][0].pop("cores"),
        lambda data: data["runs"][0].update(gpu_util=101),
        lambda data: data["traces"][0]["events"][0].update(dur=-1),
        lambda data: data["traces"][0]["sums"].clear(),
    ],
)
def test_what_is_no_file_of_steps_is_refused(wrong):
    data = copy.deepcopy(recorded.read(H100))
    wrong(data)
    assert list(validator().iter_errors(data))


def test_the_ledger_does_not_read_them():
    assert not {record.path.parent.name for record in ledger.records([ROOT / "measurements"])} & {"traces"}


# --- What the pages show ---------------------------------------------------------------------------------------


def test_a_time_by_gpu_util_has_two_digits():
    assert [recorded.busy(each) for each in (0.0002, 0.00162, 0.0162)] == ["0.20 ms", "1.6 ms", "16 ms"]


def test_the_stamp_names_machine_version_and_day_and_a_cell_that_has_changed(tmp_path):
    data = recorded.read(H100)
    said = "Recorded on NVIDIA H100 80GB HBM3, PyTorch 2.11.0, 26 November 2026."
    assert recorded.stamp(data).startswith(said)
    (tmp_path / "notebooks").mkdir()
    notebook = shutil.copy(ROOT / data["notebook"], tmp_path / "notebooks")
    now = {name: ledger.digest(source) for name, source in ledger.code_cells(Path(notebook))}
    same = {**data, "cells": {name: now[name] for name in data["cells"]}}
    assert recorded.stamp(same, tmp_path) == said
    other = {**same, "cells": {**same["cells"], "step-make": "0" * 64}}
    assert recorded.stamp(other, tmp_path) == f"{said} The notebook's cell step-make has changed since."


def test_the_timeline_has_the_names_of_operations_and_every_event():
    found = recorded.timeline(recorded.read(H100), 256)
    assert found.summary().startswith(
        "44 operations, 2 copies, 1 wait of the host. Between them the device is idle"
    )
    assert [event.text for event in found.events][:2] == ["addmm", "clamp_min"]
    assert found.events[-1].text == "cudaStreamSynchronize"
    shown = found.html(len(found))
    assert (
        "The picture shows the first" not in shown and "The picture shows the first 40 of 47." in found.html()
    )
    assert shown.count('<th scope="row"') == 47


def test_the_directives_show_the_file_with_its_origin(tmp_path):
    page, warnings = built(
        tmp_path,
        f"```{{recorded-runs}} {H100}\n:name: tab-runs\nRuns\n```\n\n"
        f"```{{recorded-rows}} {H100} 256\n:caption: Rows\n:words: what it is\ncudaLaunchKernel | a launch\nSelf CUDA time total | all\n```\n\n"
        f"```{{recorded-timeline}} {H100} 256\n:name: fig-step\nA step\n```",
    )
    assert warnings == ""
    runs, rows = page.select("table.docutils")
    assert runs.caption.get_text().strip().startswith("Runs") and runs["id"] == "tab-runs"
    cells = [
        [cell.get_text().strip().replace("\u00a0", " ") for cell in row.select("td")]
        for row in runs.select("tbody tr")
    ]
    assert (
        ["64", "eager", "2.23 ms", "0.99", "9 %", "0.20 ms", "122 W"] in cells
        and cells[1][2] == "0.159 ms"
        and len(cells) == 6
    )
    assert [cell.get_text().strip() for cell in rows.select("tbody td")] == [
        "cudaLaunchKernel",
        "32",
        "275",
        "0",
        "a launch",
        *("Self CUDA time total", "", "", "128", "all"),
    ]
    figure = page.select_one("figure#fig-step")
    assert figure.svg["aria-label"].startswith("Three lanes") and len(figure.select("tbody tr")) == 47
    assert not figure.select("style") and figure.figcaption.get_text().strip().startswith("A step")
    stamps = page.select("p.h2d-stamp")
    assert [stamp.get_text()[:21] for stamp in stamps] == ["Recorded on NVIDIA H1"] * 3
    links = [(link.get_text(), link["href"]) for link in page.select("p.h2d-stamp a.h2d-origin")]
    assert links == [("Recorded", f"{origins.PAGE}.html#{origins.ANCHOR}")] * 3
    assert page.select_one("details p").get_text() == recorded.read(H100)["how"]


@pytest.mark.parametrize(
    "source, says",
    [
        ("```{recorded-runs} nvidia-t4-steps\nRuns\n```", f"measurements/traces has no 'nvidia-t4-steps', only {H100}"),
        ("```{recorded-runs} ../schema\nRuns\n```", "measurements/traces has no '../schema'"),
        (f"```{{recorded-timeline}} {H100} 64\nA step\n```", "no step of 64 samples is recorded, only 256, 1024"),
        (f"```{{recorded-timeline}} {H100}\nA step\n```", "no step of 0 samples is recorded"),
        (f"```{{recorded-rows}} {H100} 256\n:caption: Rows\n:words: w\naten::conv | x\n```", "has no row 'aten::conv', only step, cuda"),
        (f"```{{recorded-rows}} {H100} 256\n:caption: Rows\naten::mm | x\n```", "recorded-rows: say the words"),
    ],
)  # fmt: skip
def test_what_is_not_recorded_stops_the_build_with_file_and_line(tmp_path, source, says):
    _, warnings = built(tmp_path, source)
    assert says in warnings and re.search(r"index\.md:3: (ERROR|WARNING)", warnings)
