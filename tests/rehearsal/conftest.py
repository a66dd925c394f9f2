"""Programs that run on the rehearsal: the real numba-cuda and the real CuPy, in a process of their own."""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal import run, versions
from tests.rehearsal.marking import ON_GPU


def pytest_runtest_setup(item):
    """Skip on a GPU what only the rehearsal does."""
    mark = item.get_closest_marker("rehearsal")
    if ON_GPU and mark is not None:
        pytest.skip(mark.kwargs["why"])


@pytest.fixture(scope="session")
def rehearsal_environment():
    """Return the environment of a program on the rehearsal; the driver is built once and kept in the user's cache."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (make set-up-tests, not on macOS)")
    checkout = {"H2D_MACHINE": "gpu", "PYTHONPATH": str(run.ROOT)}
    quiet = {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0", "PYTHONWARNINGS": "ignore"}
    if ON_GPU:
        return {**os.environ, **checkout, **quiet}
    if not sys.platform.startswith("linux"):
        pytest.skip("the rehearsal's driver is for Linux")
    if shutil.which(run.build.compiling.COMPILER) is None and "CI" not in os.environ:
        pytest.skip("the rehearsal needs a C++ compiler")
    return run.environment({**os.environ, **checkout, **quiet})


@pytest.fixture(scope="session")
def environment_of(rehearsal_environment):
    """Return a function: versions to the environment of a program with CuPy, built if need be (minutes)."""

    def environment(chosen):
        if ON_GPU:
            return rehearsal_environment
        with skipped_without_a_network():
            return run.environment(rehearsal_environment, cupy=True, versions=chosen)

    return environment


@pytest.fixture(scope="session")
def cupy_environment(environment_of):
    """Return the environment of a program with CuPy; its first build takes minutes, and it stays in the user's cache."""
    return environment_of(versions.TODAY)


@pytest.fixture(scope="session")
def colab_environment(environment_of):
    """Return the environment of a program with Colab's versions, and these; Python 3.13 where it is to be had."""
    if ON_GPU:
        pytest.skip("a GPU runs the versions that are installed")
    chosen = versions.COLAB_PYTHON if has_colabs_python() else versions.COLAB
    return environment_of(chosen), chosen


def has_colabs_python():
    try:
        return bool(versions.base_python(versions.COLAB_PYTHON.python))
    except run.build.BuildError:
        return False


@pytest.fixture(params=["gpu"] if ON_GPU else ["today", "colab"])
def with_versions(request, run_program, tmp_path):
    """Return a function that runs a program with CuPy and returns its process; `with_versions.name` says which versions."""
    if request.param in ("gpu", "today"):
        environment, python = request.getfixturevalue("cupy_environment"), sys.executable
    else:
        environment, chosen = request.getfixturevalue("colab_environment")
        environment, python = beside_pytest(environment, tmp_path), str(chosen.interpreter())

    def process(code, seconds, **more):
        return run_program(environment, code, seconds, python, **more)

    process.name = request.param
    return process


def beside_pytest(environment, folder):
    """Return an environment that finds the tests' own pytest, which is pure Python, beside Colab's versions."""
    beside = folder / "beside"
    beside.mkdir()
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "py"):
        file = Path(importlib.util.find_spec(name).origin)
        found = file.parent if file.name == "__init__.py" else file
        (beside / found.name).symlink_to(found)
    return {**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}{os.pathsep}{beside}"}


@contextlib.contextmanager
def skipped_without_a_network():
    """Skip, except in CI, where pip cannot fetch what the rehearsal is made from."""
    try:
        yield
    except run.build.BuildError as problem:
        if "CI" in os.environ or not re.search("pip download|could not be made", str(problem)):
            raise
        pytest.skip(f"what the rehearsal is made from cannot be had: {str(problem).splitlines()[-1]}")


@pytest.fixture
def colab_rehearsed(colab_environment, run_program):
    """Return a function that runs a program with Colab's versions and returns what it printed; it has to end well."""
    environment, chosen = colab_environment
    python = str(chosen.interpreter())
    return lambda code, seconds=120, **more: output_of(
        run_program(environment, code, seconds, python, **more)
    )


@pytest.fixture
def cupy_rehearsed(cupy_environment, run_program):
    """Return a function that runs a program with CuPy and returns what it printed; it has to end well."""
    return lambda code, seconds=120, **more: output_of(run_program(cupy_environment, code, seconds, **more))


@pytest.fixture
def process_of(rehearsal_environment, run_program):
    """Return a function that runs a program and returns its process, however it ended."""
    return lambda code, seconds=60, **more: run_program(rehearsal_environment, code, seconds, **more)


@pytest.fixture
def run_program(tmp_path):
    """Return a function that runs a program in an environment."""

    def process(base, code, seconds, python=sys.executable, **environment):
        program = tmp_path / "program.py"
        program.write_text(code)
        return subprocess.run(
            [python, str(program)],
            env={**base, **environment},
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    return process


@pytest.fixture
def rehearsed(process_of):
    """Return a function that runs a program on the rehearsal and returns what it printed; it has to end well."""
    return lambda code, seconds=60, **more: output_of(process_of(code, seconds, **more))


def output_of(done):
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr[-6000:]}"
    return done.stdout
