"""The house keeps its floors: what may import what, names that mean one thing, types, and the page that describes it."""

import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "host_to_device"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

# One name in several rooms, where it means the same thing in each.
SAME_MEANING = {
    "__init__": "the room itself",
    "__main__": "what `python -m` runs",
    "command": "the sub-command of a room",
    "building": "how a shared library is built and kept",
    "compiler": "the C++ compiler, and CuPy's module of that name",
    "compiling": "a kernel's way through a compiler",
    "devices": "what a device is, and which there are",
    "errors": "what can go wrong, one line each",
    "kernels": "kernels of a stand-in, or of any",
    "launching": "what happens at a launch",
    "lines": "lines of a source",
    "memory": "CuPy's and Numba's memory, under their names",
    "names": "the names that a stand-in offers",
    "numba_ptx": "Numba's way to PTX, and its part in the child process",
    "nvrtc": "the compiler NVRTC, and its part in the child process",
    "operators": "the operators of a library",
    "parameters": "the parameters of a kernel",
    "profiler": "CuPy's and cupyx's modules of that name",
    "random": "random numbers, under the libraries' names",
    "sources": "the source of a kernel",
}


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_imports_point_down_and_never_in_a_circle():
    status, said = run(Path(sys.executable).with_name("lint-imports"), "--no-cache")
    assert status == 0, said
    assert f"{len(CONTRACTS)} kept, 0 broken" in said


def test_types_hold():
    status, said = run(sys.executable, "-m", "mypy")
    assert status == 0, said


def test_no_file_name_stands_twice_unless_it_means_the_same():
    found = defaultdict(list)
    for path in LIBRARY.rglob("*.py"):
        found[path.stem].append(path.relative_to(LIBRARY).as_posix())
    twice = {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in SAME_MEANING} == {}
    assert SAME_MEANING.keys() <= twice.keys() | {"__main__"}, "a name of this list stands once only"


def test_the_page_has_every_room_on_its_floor():
    """ARCHITECTURE.md lists the library's rooms as the contract of the imports orders them, from the ground up."""
    floors = [[room.strip() for room in layer.split(":")] for layer in reversed(CONTRACTS[0]["layers"])]
    rows = re.findall(r"^\| (\d) \| \[`(\w+)/`\]\(host_to_device/\w+/\) \|", PAGE, re.M)
    listed = defaultdict(list)
    for floor, room in rows:
        listed[int(floor)].append(room)
    assert {number: sorted(rooms) for number, rooms in listed.items()} == {
        number: sorted(rooms) for number, rooms in enumerate(floors, 1)
    }
    folders = {
        path.name
        for path in LIBRARY.iterdir()
        if path.is_dir() and path.name not in ("__pycache__", "measurements")
    }
    assert folders == {room for rooms in floors for room in rooms}


def test_tests_stand_in_folders_that_mirror_the_rooms():
    rooms = {path.name for path in LIBRARY.iterdir() if (path / "__init__.py").exists()}
    others = {"book", "commands", "corpora", "lessons", "others", "project", "rehearsal", "site"}
    folders = {
        path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert folders <= rooms | others, folders - rooms - others
    loose = {path.name for path in (ROOT / "tests").glob("test_*.py")}
    assert not loose


def test_every_path_that_the_page_names_exists():
    named = re.findall(r"`([\w./-]+/[\w./-]*)`", PAGE) + re.findall(r"\]\((?!https?:|#)([^)#]+)", PAGE)
    missing = [
        name
        for name in named
        if "NN" not in name and not (ROOT / name).exists() and not (LIBRARY / name).exists()
    ]
    assert named and not missing
