"""The stored stack of a PyTorch for CUDA: its text is whole, names no folder of one machine, and the page says where it is from."""

import json
import re
from pathlib import Path

import pytest

from authoring import notebooks
from book import stacks
from host_to_device.inspecting.layers import FRAMEWORK, KERNEL, LIBRARIES, RUNTIME, USER
from host_to_device.inspecting.loaded import Loaded, Stack, page
from host_to_device.inspecting.owners import PIP, Owner
from tools import stored_stack

ROOT = Path(__file__).resolve().parents[2]


def test_the_import_of_a_cuda_build_loads_cudas_libraries_and_no_driver():
    before, after = stacks.stack("before"), stacks.stack("after")
    for layer in (FRAMEWORK, LIBRARIES, RUNTIME):
        assert not before.of(layer) and after.of(layer), layer
    assert {each.owner.by for layer in (LIBRARIES, RUNTIME) for each in after.of(layer)} == {PIP}
    assert {"cuDNN", "cuBLAS", "NVRTC"} <= {each.product for each in after.of(LIBRARIES)}
    for each in (before, after):
        assert each.absent[USER] == "not loaded: this machine has no GPU driver"
        assert each.absent[KERNEL].startswith("none:")


def test_no_folder_of_one_machine_is_stored():
    text = stacks.STORED.read_text(encoding="utf-8")
    paths = {
        file
        for found in ("before", "after")
        for each in json.loads(text)[found]["loaded"]
        for file in each["files"]
    }
    assert len(paths) > 20
    neutral = (f"{stored_stack.ENVIRONMENT}/lib/", f"{stored_stack.PROGRAMS}/")
    assert [path for path in paths if not path.startswith(neutral)] == []
    assert not re.search(r"/(root|home|tmp|work|opt|Users)\b", text)
    assert "/" not in re.sub(r"/proc/driver/nvidia/version", "", str(stacks.stack("after")))


def test_the_stamp_says_where_it_is_from():
    found = stacks.stored()
    assert re.fullmatch(
        r"Recorded on \d{4}-\d\d-\d\d on a machine with no GPU: PyTorch [\d.]+, built for CUDA [\d.]+, Python [\d.]+, Linux x86_64\.",
        stacks.stamp(),
    )
    [torch] = [each for each in stacks.stack("after").loaded if each.product == "PyTorch"]
    assert found["torch"].startswith(torch.version)
    [runtime] = stacks.stack("after").of(RUNTIME)
    assert runtime.version.startswith(f"{found['cuda']}.")


def test_the_picture_has_every_layer_and_the_files():
    html = page(stacks.stack("after"))
    assert html.count("<svg") == 1 and "torch/lib/libtorch_cuda.so" in html
    assert all(layer in html for layer in (FRAMEWORK, LIBRARIES, RUNTIME, USER, KERNEL))


def test_storing_replaces_the_environment_and_refuses_what_lies_elsewhere():
    def found(path):
        return Stack("this process", (Loaded(LIBRARIES, "cuDNN", "9", (path,), Owner(PIP, "x", "9")),), {})

    [each] = stored_stack.facts(found("/a/venv/lib/x/libcudnn.so.9"), "/a/venv")["loaded"]
    assert each["files"] == ["/venv/lib/x/libcudnn.so.9"]
    with pytest.raises(SystemExit, match=r"libcudnn.so.9 is not in /a/venv: store from an environment"):
        stored_stack.facts(found("/usr/lib/libcudnn.so.9"), "/a/venv")


def quotations(text):
    """Return the fenced blocks of a text that show this stack."""
    fences = re.findall(r"^(`{3,})[^`\n]*\n(.*?)^\1\s*$", text, re.M | re.S)
    return [body for _, body in fences if "libtorch_cuda.so and" in body]


def in_order(body, lines):
    """Return the first line of a quotation that is not behind the one before it in the text; "..." leaves lines out."""
    rest = iter(lines)
    quoted = (line for line in body.rstrip().splitlines() if line.strip() not in ("...", "…"))
    return next((line for line in quoted if line not in rest), None)


def test_a_quotation_of_it_is_what_was_printed():
    text = str(stacks.stack("after"))
    lines = text.splitlines()
    assert in_order("framework\n...\nCUDA runtime", lines) is None
    assert in_order("CUDA runtime\nframework", lines) == "framework"
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "chapters").glob("*.md")]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        pages += [cell.source for cell in notebooks.read(path).cells if cell.cell_type == "markdown"]
    assert quotations(f"a\n```text\n{text}\n```\n") == [f"{text}\n"]
    for page_text in pages:
        assert [in_order(body, lines) for body in quotations(page_text) if in_order(body, lines)] == []
