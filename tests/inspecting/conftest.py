"""Listings are kept in a folder of the tests' own; without the compilers the tests are skipped, except on a test machine."""

import os

import pytest

from host_to_device.inspecting import cupy_code, tools


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """One folder for all of these tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", autouse=True)
def _own_cache(cache):
    """For each module: for a session, the notebooks that are tested after these would see it, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield


@pytest.fixture(scope="session")
def compilers():
    """Everything of `requirements-inspect.txt`."""
    try:
        for name in ("ptxas", "nvdisasm"):
            tools.program(name)
        tools.nvrtc(), tools.zig(), tools.numba_cuda()
    except tools.MissingTool as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(problem))


@pytest.fixture(scope="module")
def cupy():
    """The stand-in's cupy, where the real CuPy is installed and can write sources; in CI it has to be."""
    if cupy_code._package() is None:
        if os.environ.get("CI"):
            raise AssertionError("CuPy is not installed")
        pytest.skip("CuPy is not installed")
    from host_to_device.standins import cupy as stand_in

    return stand_in
