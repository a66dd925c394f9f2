"""Version, first cells, changelog and the record of released names rise together, and notebooks use no newer name."""

import ast
import datetime
import json
import re
import shutil
from pathlib import Path

import pytest

import host_to_device as h2d
from authoring import notebooks
from book import address
from tools import release

ROOT = Path(__file__).resolve().parents[2]
RELEASED = json.loads((ROOT / release.RECORD).read_text(encoding="utf-8"))
NOTEBOOKS = [
    path
    for folder in ("notebooks", "exercises", "solutions")
    for path in sorted((ROOT / folder).glob("*.ipynb"))
]


def code(path):
    """Return the code that a learner runs; the set-up cell holds a magic, and the checks of solutions are no learner's."""
    cells = [cell for cell in notebooks.read(path).cells if cell.cell_type == "code"][1:]
    return ast.parse("\n".join(cell.source for cell in cells if "check" not in cell.metadata.get("tags", [])))


def newer(tree, released):
    """Return what of the library this code uses that the release lacks."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "h2d":
            if (
                node.attr not in released["names"]
                and f"host_to_device.{node.attr}" not in released["modules"]
            ):
                found.append(f"h2d.{node.attr}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("host_to_device"):
            if node.module not in released["modules"]:
                found.append(node.module)
            elif node.module == "host_to_device":
                known = {
                    *released["names"],
                    *(m.rpartition(".")[2] for m in released["modules"] if m.count(".") == 1),
                }
                found += [f"host_to_device.{each.name}" for each in node.names if each.name not in known]
        elif isinstance(node, ast.Call) and re.fullmatch(r"h2d\.\w+", called := ast.unparse(node.func)):
            name = called.removeprefix("h2d.")
            known = released["names"].get(name, [])
            found += [
                f"h2d.{name}({each.arg}=…)" for each in node.keywords if each.arg and each.arg not in known
            ]
            if name == "answer" and node.args and node.args[0].value not in released["exercises"]:
                found.append(f"exercise {node.args[0].value}")
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_notebook_uses_nothing_newer_than_the_version_that_colab_installs(path):
    assert newer(code(path), RELEASED) == [], "run `python tools/release.py` with the next version"


def test_newer_names_are_found():
    tree = ast.parse(
        "h2d.start(); h2d.conjure(); h2d.time(f, colour='red')\nfrom host_to_device.magic import wand\n"
        "from host_to_device import check, conjure\nh2d.answer('77.1')\nh2d.check(k)[1, 8](a)"
    )
    assert sorted(newer(tree, RELEASED)) == [
        "exercise 77.1",
        "h2d.conjure",
        "h2d.time(colour=…)",
        "host_to_device.conjure",
        "host_to_device.magic",
    ]


def test_the_record_is_of_this_version():
    assert RELEASED["version"] == h2d.__version__ == address.version()


@pytest.fixture
def copy(tmp_path):
    for name in (
        "pyproject.toml",
        "CITATION.cff",
        "README.md",
        "CHANGELOG.md",
        "_config.yml",
        "chapters/teaching.md",
        "host_to_device/__init__.py",
    ):
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, target)
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "02-host-and-device.ipynb", tmp_path / "notebooks")
    log = tmp_path / "CHANGELOG.md"
    text = log.read_text()
    log.write_text(text.replace(release.UNRELEASED, f"{release.UNRELEASED}\n- Something new.\n", 1))
    return tmp_path


def test_one_command_raises_the_version_everywhere(copy):
    changed = release.release("9.8.7", copy, datetime.date(2031, 2, 3))
    assert {path.name for path in changed} == {
        "pyproject.toml", "CITATION.cff", "README.md", "CHANGELOG.md", "__init__.py", "teaching.md",
        "02-host-and-device.ipynb",
    }  # fmt: skip
    assert address.version(copy) == "9.8.7"
    assert (
        address.read(copy).archive("9.8.7") in (copy / "notebooks" / "02-host-and-device.ipynb").read_text()
    )
    assert '__version__ = "9.8.7"' in (copy / "host_to_device" / "__init__.py").read_text()
    log = (copy / "CHANGELOG.md").read_text()
    assert re.search(r"## Unreleased\n\n## 2031-02-03 · 9\.8\.7\n\n- Something new\.", log)
    assert 'date-released: "2031-02-03"' in (copy / "CITATION.cff").read_text()
    assert "git tag v9.8.7\n" in (copy / "chapters" / "teaching.md").read_text()


@pytest.mark.parametrize(
    "version, words", [("0.0.1", "not newer than"), ("1.0", "three numbers"), ("next", "three numbers")]
)
def test_a_version_that_cannot_be_is_refused(copy, version, words):
    with pytest.raises(release.CannotRelease, match=words):
        release.release(version, copy)


def test_a_release_says_what_has_changed(copy):
    log = copy / "CHANGELOG.md"
    log.write_text(log.read_text().replace("- Something new.\n", "", 1).replace("\n- Something new.", "", 1))
    text = log.read_text()
    head, _, rest = text.partition(release.UNRELEASED)
    log.write_text(f"{head}{release.UNRELEASED}\n## {rest.partition('## ')[2]}")
    before = (copy / "pyproject.toml").read_text()
    with pytest.raises(release.CannotRelease, match="say there what has changed"):
        release.release("9.8.7", copy)
    assert (copy / "pyproject.toml").read_text() == before
