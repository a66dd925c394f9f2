"""Kernels are compiled anew in each run of the tests, and leave nothing in the user's cache."""

import numpy as np
import pytest

from host_to_device.standins.cuda_cpp import arena


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """One folder for all of these tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", autouse=True)
def own_cache(cache):
    """For each module: for a session, the notebooks that are tested after these would see it, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield


@pytest.fixture
def device():
    """Return a function that copies an array to device memory."""

    def copy(array, dtype=None):
        array = np.asarray(array, dtype)
        memory = arena.allocate(array.nbytes).view(array.dtype).reshape(array.shape)
        memory[...] = array
        return memory

    return copy
