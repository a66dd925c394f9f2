"""For every file of tests: whether `numba.cuda` and `cupy` are the stand-ins' while it runs."""

from types import ModuleType

import pytest


@pytest.fixture(autouse=True, scope="module")
def stand_ins_in_place(request):
    """Put the stand-ins in place for a file that uses them, take them away for any other.

    All files are read before the first test runs, and a worker runs them in an order of its own: what one file has
    left must not decide what the next one finds.
    """
    from host_to_device.standins import imports  # not before pytest has put its own hooks in place

    names = [value.__name__ for value in vars(request.module).values() if isinstance(value, ModuleType)]
    if any(name.startswith("host_to_device.standins.") for name in names):
        imports.redirect()
    else:
        imports.restore()
