"""Watch the processes of a sandbox: their number and their memory, which resource limits bound for one process only."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

from host_to_device.grading.sandbox import Limits

EVERY = 0.1  # seconds between two looks
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Watch:
    """Looks at a process and all that it has started; ends all of them when they are too many or too large.

    `said` is then a sentence for the student, otherwise "". Where there is no /proc, nothing is watched.
    """

    def __init__(self, process: int, limits: Limits) -> None:
        self.process, self.limits, self.said = process, limits, ""
        self.stopped = threading.Event()
        if Path("/proc/self/stat").exists():
            threading.Thread(target=self._look, daemon=True, name="watches a sandbox").start()

    def stop(self) -> None:
        self.stopped.set()

    def _look(self) -> None:
        while not self.stopped.wait(EVERY):
            found = descendants(self.process)
            pages = sum(found.values())
            if len(found) > self.limits.processes:
                self.said = f"it started more than {self.limits.processes} processes"
            elif pages * PAGE > self.limits.resident:
                self.said = f"it used more than {self.limits.resident / 2**30:.0f} GB of memory"
            if self.said:
                with suppress(OSError):
                    os.killpg(self.process, signal.SIGKILL)
                return


def descendants(process: int) -> dict[int, int]:
    """Return the processes that a process has started, and itself, with their resident pages."""
    parents, pages = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
                parents[int(name)], pages[int(name)] = int(fields[1]), int(fields[21])
    found, waiting = {}, [process]
    children: dict[int, list[int]] = {}
    for each, parent in parents.items():
        children.setdefault(parent, []).append(each)
    while waiting:
        each = waiting.pop()
        if each in pages and each not in found:
            found[each] = pages[each]
            waiting += children.get(each, ())
    return found
