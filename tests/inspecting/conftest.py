"""Listings are kept in a folder of the tests' own; without the compilers the tests are skipped, except on a test machine."""

import os

import pytest

from host_to_device.inspecting import tools


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
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
