"""Colab's versions on the rehearsal: their environment is made from pins of its own, outside the learner's.

The slow tests run the programs of the other files with them; the lessons run in test_lessons.py.
"""

import sys
from types import SimpleNamespace

import pytest

from rehearsal import build, run, versions
from tests.exercises.test_launch_errors import OF_COLAB
from tests.rehearsal import test_checking, test_counts, test_cupy, test_numba
from tools import colab_packages

PINS = {
    name: version.split()[0]
    for name, version in colab_packages.packages(versions.COLAB.pins.read_text(encoding="utf-8")).items()
}


def test_colabs_pins_are_versions_that_the_library_allows():
    wanted = colab_packages.dependencies((run.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert colab_packages.unmet(wanted, PINS) == []
    assert (PINS["numpy"], PINS["numba"], PINS["numba-cuda"]) == ("2.1.3", "0.61.2", "0.22.2")


@pytest.mark.parametrize("status", [0, 127])
def test_a_python_is_taken_if_it_runs(monkeypatch, tmp_path, status):
    """A version manager may put a python9.9 on PATH that does not run."""
    python = tmp_path / "python9.9"
    python.write_text(f"#!/bin/sh\necho /the/path/of/$PYENV_VERSION\nexit {status}\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if status == 0:
        assert versions.base_python("9.9") == "/the/path/of/9.9"
    for missing in ("9.9", "9.8") if status else ("9.8",):
        with pytest.raises(build.BuildError, match=f"there is no Python {missing} here: install it"):
            versions.base_python(missing)


@pytest.mark.parametrize("there, taken", [("2.13.0+cpu", "2.13.0+cpu"), ("2.13.0", ""), (None, "")])
def test_only_a_pytorch_for_the_cpu_joins_colabs_versions(monkeypatch, there, taken):
    def version(name):
        if there is None:
            raise versions.importlib.metadata.PackageNotFoundError(name)
        return there

    monkeypatch.setattr(versions.importlib.metadata, "version", version)
    assert versions.torch_for_cpu() == taken


def test_what_pip_says_is_said(monkeypatch, tmp_path):
    """The pins cannot be installed: nothing is left that a later run would take for the environment."""
    monkeypatch.setenv("REHEARSAL_CACHE", str(tmp_path))
    failed = SimpleNamespace(
        returncode=1, stdout="", stderr="No matching distribution found for numba==0.61.2"
    )
    monkeypatch.setattr(versions.subprocess, "run", lambda *arguments, **more: failed)
    elsewhere = versions.Versions("elsewhere", "14.0.1", 12, "cuda_*", "", versions.COLAB.pins)
    with pytest.raises(build.BuildError, match="No matching distribution found for numba"):
        elsewhere.interpreter()
    assert not [path for path in tmp_path.iterdir() if not path.name.endswith((".new", ".lock"))]


def test_an_unknown_name_is_refused():
    done = run.subprocess.run(
        [sys.executable, "-m", "rehearsal", "--versions", "tomorrow", "program.py"],
        cwd=run.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and "invalid choice: 'tomorrow'" in done.stderr


SLOW = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first one builds CuPy
# What numba-cuda 0.22.2 does otherwise, and what it does.
DIFFERS = {
    "streams and events": "its Event.query raises a TypeError of its own",
    "a launch in a stream takes no host array": "it takes one",
}
NUMBA = {**test_numba.COMPUTING, **test_numba.DRIVING}
PROGRAMS = {name: test_numba.BEGIN + code for name, code in NUMBA.items() if name not in DIFFERS}
PROGRAMS |= {name: test_cupy.BEGIN + code for name, code in test_cupy.PROGRAMS.items()}


class TestColabsVersions:
    pytestmark = SLOW

    def test_they_are_what_runs(self, colab_rehearsed):
        code = "import cupy, numba, numba_cuda, numpy\nfor each in numpy, numba, numba_cuda, cupy: print(each.__version__)"
        assert colab_rehearsed(code).split() == ["2.1.3", "0.61.2", "0.22.2", "14.0.1"]

    @pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
    def test_a_program(self, colab_rehearsed, code):
        colab_rehearsed(code)

    @pytest.mark.parametrize("fault", test_numba.FAULTS.values(), ids=test_numba.FAULTS)
    def test_a_fault_ends_the_context(self, colab_rehearsed, fault):
        error, body, _, _ = fault
        code = f"{test_numba.BEGIN}\n@cuda.jit\ndef kernel(x):\n    {body}\n\nd = cuda.to_device(np.zeros(64))\nkernel[1, 64](d)\n"
        colab_rehearsed(code + test_numba.ENDED.format(error=error), REHEARSAL_BRANCHES="1000000")

    @pytest.mark.parametrize(
        "test",
        [each for name, each in vars(test_checking).items() if name.startswith("test_")],
        ids=lambda test: test.__name__,
    )
    def test_the_check_takes_and_finds_the_same(self, colab_rehearsed, test):
        test(colab_rehearsed)

    def test_each_copy_of_a_host_array_is_a_wait(self, colab_rehearsed):
        code = """
with h2d.count() as hidden:
    for _ in range(10):
        add[4, 256](x, y, out)
print(*hidden.as_dict().values(), hidden.launches)
"""
        # A launch of 0.22 waits for each copy, also for those to the device.
        assert colab_rehearsed(test_counts.BEGIN + code) == "30 120000 30 120000 0 0 60 30 10 10\n"

    def test_the_launch_errors_that_hints_look_for(self, colab_rehearsed):
        assert (
            colab_rehearsed(test_counts.BEGIN + test_counts.TOO_FEW_AND_TOO_MANY).splitlines()
            == [OF_COLAB] * 2
        )
