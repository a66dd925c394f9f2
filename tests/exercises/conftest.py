"""How the kernels of answers run: interpreted with every commit, and compiled, as in a learner's notebook, as well."""

from collections.abc import Iterator

import pytest

from host_to_device.standins.numba_cuda.settings import stand_in


@pytest.fixture(params=["interpreted", pytest.param("compiled", marks=pytest.mark.slow)], scope="module")
def way(request) -> Iterator[str]:
    """Run kernels interpreted or compiled while a test looks at answers; `h2d.check` has ways of its own."""
    with stand_in(interpreted=request.param == "interpreted"):
        yield request.param
