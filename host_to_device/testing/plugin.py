"""A plug-in of pytest: `pytest --stand-ins` runs a project's GPU tests without a GPU, and checks kernels that they launch.

pytest imports this file in every run, so it imports the library only when a test needs it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

REPORTS: pytest.StashKey[list] = pytest.StashKey()
HEADER: pytest.StashKey[str] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--stand-ins` and the setting `h2d_stand_ins`."""
    parser.getgroup("host-to-device").addoption(
        "--stand-ins",
        action="store_true",
        dest="h2d_stand_ins",
        help="where there is no GPU, replace numba.cuda, numba_cuda_mlir and cupy by stand-ins that run on the CPU",
    )
    parser.addini("h2d_stand_ins", "as --stand-ins", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the stand-ins in place before a conftest.py can import what they replace."""
    asked = getattr(early_config.known_args_namespace, "h2d_stand_ins", False)
    if not (asked or early_config.getini("h2d_stand_ins")):
        return
    from host_to_device.support.installed import SetUpError
    from host_to_device.testing.beginning import begin

    try:
        early_config.stash[HEADER] = begin()
    except SetUpError as problem:
        raise pytest.UsageError(str(problem)) from None


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "gpu_only: needs a GPU; skipped where none is used (host-to-device)")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what runs here."""
    return config.stash.get(HEADER, None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a GPU."""
    if item.get_closest_marker("gpu_only"):
        from host_to_device.testing.beginning import has_gpu

        if not has_gpu():
            pytest.skip("needs a GPU, and none is used here")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test in which the check found an error, with the check's report."""
    try:
        result = yield
    except BaseException:
        if reports := item.stash.get(REPORTS, []):
            item.add_report_section("call", "h2d.check", "\n\n".join(reports))
        raise
    if reports := item.stash.get(REPORTS, []):
        pytest.fail("\n\n".join(reports), pytrace=False)
    return result


@pytest.fixture
def h2d_check(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Check every kernel that the test launches, and fail the test if there is an error.

    It checks kernels of `cuda.jit` and of `cupy.RawKernel` on the stand-ins. Its value is the list of reports that have
    an error. On a GPU the test is skipped: run it with H2D_MACHINE=stand-in.
    """
    from host_to_device.starting import machine

    if machine.chosen != "stand-in":
        pytest.skip(
            "h2d_check works on the stand-ins: run pytest --stand-ins (on a GPU with H2D_MACHINE=stand-in)"
        )
    from host_to_device.testing.launches import watched

    reports: list[Any] = []
    request.node.stash[REPORTS] = reports
    with watched(reports):
        yield reports


@pytest.fixture
def h2d_count() -> Iterator[Any]:
    """Count the copies, launches and waits of the test: `h2d_count.copies_to_host == 1`."""
    from host_to_device.counting import count

    with count() as counted:
        yield counted
