"""Checks every launch of a block of code, before the launch itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from host_to_device.checking import check
from host_to_device.standins.cupy.raw import RawKernel
from host_to_device.standins.numba_cuda.launching import Launch


@contextmanager
def watched(reports: list[str]) -> Iterator[None]:
    """Check each launch on the stand-ins within a `with` block, and append each report that has an error.

    The check works on copies. The launch then runs as usual. A kernel that is launched many times has one report for the same
    kinds of errors in the same lines; its last line says in how many launches they were found.
    """
    of_launch: Callable = Launch.__call__
    of_raw: Callable = RawKernel.__call__

    known: dict[tuple, tuple[str, int]] = {}  # by the findings: the first report, and in how many launches

    def keep(report: Any) -> None:
        if not report.findings:
            return
        found = tuple((each.kind, each.file, each.lines) for each in report.findings)
        first, count = known.get(found, (str(report), 0))
        known[found] = first, count + 1
        before = f"{first}\nThe check found this in {count} launches." if count > 1 else first
        if not count:
            reports.append(first)
        elif before in reports:
            reports[reports.index(before)] = f"{first}\nThe check found this in {count + 1} launches."

    def launch(self: Launch, *arguments: Any, **by_name: Any) -> Any:
        if not by_name:
            keep(check(self.kernel)[self.grid, self.block, self.stream, self.shared](*arguments))
        return of_launch(self, *arguments, **by_name)

    def raw(self: Any, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, **more: Any) -> Any:
        keep(check(self)[grid, block, 0, shared_mem](*args))
        return of_raw(self, grid, block, args, shared_mem=shared_mem, **more)

    Launch.__call__, RawKernel.__call__ = launch, raw  # type: ignore[method-assign]
    try:
        yield
    finally:
        Launch.__call__, RawKernel.__call__ = of_launch, of_raw  # type: ignore[method-assign]
