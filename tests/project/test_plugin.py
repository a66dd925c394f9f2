"""The wheel in an environment of its own: the pytest plug-in and `run`, on a small project of other people's kind."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from book import address

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CONFTEST = "from numba import cuda  # before any test: the stand-ins have to be there already\n"
PROGRAM = """\
import numpy as np
from numba import cuda

@cuda.jit
def backwards(a, out):
    tile = cuda.shared.array(64, np.float32)
    i = cuda.threadIdx.x
    tile[i] = a[i]
    out[i] = tile[63 - i]

@cuda.jit
def double(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = 2 * a[i]

if __name__ == "__main__":
    a = np.arange(5, dtype=np.float32)
    out = np.zeros_like(a)
    double[1, 8](a, out)
    print("doubled", out.tolist())
"""
TESTS = """\
import numpy as np
import pytest
from numba import cuda
from program import backwards, double

def run(kernel):
    a = cuda.to_device(np.arange(64, dtype=np.float32))
    out = cuda.device_array_like(a)
    kernel[1, 64](a, out)
    return out.copy_to_host()

def test_right(h2d_check):
    assert run(double)[3] == 6

def test_race(h2d_check):
    run(backwards)
    run(backwards)
    assert len(h2d_check) == 1 and h2d_check[0].endswith("The check found this in 2 launches.")

def test_unchecked():
    run(backwards)

def test_counts(h2d_count):
    run(double)
    assert h2d_count.copies_to_host == 1 and h2d_count.copies_to_device == 1

@pytest.mark.gpu_only
def test_on_a_gpu():
    raise AssertionError("this test needs a GPU")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        ROOT,
    ]
    done = subprocess.run(wheel, capture_output=True, text=True)
    if done.returncode and "setuptools" in done.stderr:
        pytest.skip("no setuptools here to build a wheel with")
    assert done.returncode == 0, done.stderr[-2000:]
    [made] = folder.glob("host_to_device-*.whl")
    return made


@pytest.fixture(scope="module")
def python(built):
    """The Python of an environment with the wheel, and with this one's packages."""
    place = built.parent / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        place,
        built,
    ]
    subprocess.run(install, check=True, capture_output=True)

    def call(*words, cwd, **variables):
        environment = {**os.environ, "PYTHONPATH": str(place), "H2D_MACHINE": "stand-in", **variables}
        environment.pop("PYTEST_ADDOPTS", None)
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, cwd=cwd, env=environment
        )

    return call


@pytest.fixture
def project(tmp_path):
    for name, text in (("conftest.py", CONFTEST), ("program.py", PROGRAM), ("test_program.py", TESTS)):
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return tmp_path


def test_the_wheel_says_what_it_is_and_its_readme_has_no_link_into_a_folder(built):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(built) as wheel:
        [name] = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
        about = message_from_string(wheel.read(name).decode())
        [entry] = [each for each in wheel.namelist() if each.endswith("entry_points.txt")]
        points = wheel.read(entry).decode()
    assert (about["Name"], about["Version"]) == ("host-to-device", project["version"])
    assert about["License-Expression"] == "Apache-2.0" and about["Requires-Python"] == ">=3.11"
    assert about["Description-Content-Type"] == "text/markdown"
    assert {each.partition(", ")[2] for each in about.get_all("Project-URL")} == {*project["urls"].values()}
    links = re.findall(r"\]\(([^)\s]+)", about.get_payload())
    assert len(links) > 60 and not [each for each in links if not each.startswith("https://")]
    assert f"{project['urls']['Repository']}/blob/main/CONTRIBUTING.md" in links
    assert "host_to_device.testing.plugin" in points and "host_to_device.__main__:main" in points


def test_a_projects_tests_run_and_the_race_fails_with_its_line(python, project):
    done = python("-m", "pytest", "--stand-ins", "-rs", "-p", "no:xdist", cwd=project)
    assert "1 failed, 3 passed, 1 skipped" in done.stdout, done.stdout[-3000:] + done.stderr[-2000:]
    assert "_ test_race _" in done.stdout
    assert "out[i] = tile[63 - i]" in done.stdout and "Put a barrier between" in done.stdout
    assert "needs a GPU, and none is used here" in done.stdout and "kernels run on the CPU" in done.stdout


def test_the_setting_does_what_the_option_does_and_without_either_nothing_is_imported(python, project):
    (project / "pytest.ini").write_text("[pytest]\npythonpath = .\nh2d_stand_ins = true\n")
    done = python("-m", "pytest", "-k", "right", "-p", "no:xdist", cwd=project)
    assert "1 passed" in done.stdout, done.stdout[-3000:]
    (project / "pytest.ini").unlink()
    (project / "conftest.py").unlink()
    (project / "test_program.py").write_text(
        "import sys\ndef test_nothing():\n    assert 'host_to_device.testing.plugin' in sys.modules\n"
        "    assert 'numpy' not in sys.modules and 'host_to_device.starting.machine' not in sys.modules\n"
    )
    done = python(
        "-m", "pytest", "-p", "no:hypothesispytest", "-p", "no:nbval", "-p", "no:xdist", cwd=project
    )
    assert "1 passed" in done.stdout, done.stdout[-3000:]


def test_a_script_runs(python, project):
    done = python("-m", "host_to_device", "run", "program.py", cwd=project)
    assert "doubled [0.0, 2.0, 4.0, 6.0, 8.0]" in done.stdout, done.stderr[-2000:]
    assert done.stderr.startswith("No GPU")
    done = python("-m", "host_to_device", "run", "no-such.py", cwd=project)
    assert (done.returncode, done.stderr) == (2, "host-to-device run: there is no file no-such.py\n")


# --- The page "Use it in your own project" -----------------------------------------------------------------------


def steps():
    """Return the page's files, commands and what they print, in order: (kind, text)."""
    page = (ROOT / "chapters" / "own-project.md").read_text(encoding="utf-8")
    page, mark, _ = page.partition("(own-finding)=")  # from there on it tells of other people's code
    assert mark
    return re.findall(r"(?ms)^```(python|ini|bash|text)\n(.*?)^```$", page)


def test_the_page_is_followed_to_its_end(python, tmp_path):
    """Every file of the page is written, every command runs, and every line of an output is found in what it printed."""
    said, commands = "", 0
    for kind, text in steps():
        if kind in ("python", "ini"):
            name = re.match(r"# ([\w.]+)\n", text)[1]
            (tmp_path / name).write_text(text)
        elif kind == "bash":
            [line] = text.splitlines()
            if line.startswith("pip install"):
                assert line == f"pip install {address.read().archive(address.version())}"
                continue  # the fixture has installed the wheel of this checkout
            program, *words = line.split()
            module = {
                "pytest": ["pytest", "-p", "no:xdist", "-p", "no:nbval"],
                "host-to-device": ["host_to_device"],
            }
            done = python("-m", *module[program], *words, cwd=tmp_path)
            said, commands = done.stdout + done.stderr, commands + 1
            assert program == "pytest" or done.returncode == 0, said
        else:
            assert said and not [each for each in text.splitlines() if each not in said], said[-4000:]
    assert commands == 6
