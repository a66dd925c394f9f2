"""Marking on a Dask cluster that runs already: one task for each notebook, on any of the cluster's machines."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from host_to_device.grading import fork_server, marking, private, sandbox

INSTALL = "--scheduler needs Dask: python -m pip install 'host-to-device[teach]'"
CONNECTING = 15  # seconds


class NoCluster(Exception):
    """There is no cluster to use; the message says why, and what to do."""


@dataclass(frozen=True)
class Task:
    """What a worker needs to mark a notebook, beside its cells."""

    numbers: tuple[str, ...]
    seed: int
    limits: sandbox.Limits = field(default_factory=sandbox.Limits)
    patience: marking.Patience = field(default_factory=marking.Patience)
    checks: tuple[tuple[str, str], ...] = ()
    unsafe: bool = False

    def mark(self, cells: Sequence[str]) -> marking.Marked:
        """Mark a notebook, in a sandbox of the machine where this runs."""
        _use(self.checks)
        return self.mark_in(_box(self.limits, self.unsafe), cells)

    def mark_in(self, box: fork_server.Warm, cells: Sequence[str]) -> marking.Marked:
        """Mark a notebook in a sandbox that is there already."""
        return marking.mark(cells, self.numbers, self.seed, box, self.limits, self.patience)


@functools.lru_cache(maxsize=1)
def _use(checks: tuple[tuple[str, str], ...]) -> None:
    private.use(dict(checks))


@functools.lru_cache(maxsize=2)
def _box(limits: sandbox.Limits, unsafe: bool) -> fork_server.Warm:
    return box(limits, unsafe)


def box(limits: sandbox.Limits, unsafe: bool) -> fork_server.Warm:
    """Return what notebooks are shut in by on this machine."""
    return fork_server.Warm(sandbox.unsafe() if unsafe else sandbox.bubblewrap(limits), limits)


class Cluster:
    """A running cluster of Dask, by the address of its scheduler ("tcp://10.0.0.1:8786")."""

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ModuleNotFoundError:
            raise NoCluster(INSTALL) from None
        try:
            self.client = distributed.Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as problem:
            raise NoCluster(
                f"no Dask scheduler answers at {address} ({type(problem).__name__}): start one with "
                "dask scheduler, and workers with dask worker"
            ) from None
        self.as_completed = distributed.as_completed

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def run(self, task: Task, notebooks: Sequence[Sequence[str]]) -> Iterator[tuple[int, marking.Marked]]:
        """Mark notebooks; yield the place of each with its marks, once. The task of a worker that dies runs again."""
        # Each has a key of its own: two equal notebooks are two tasks.
        futures = self.client.map(task.mark, [list(each) for each in notebooks], pure=False, retries=2)
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in self.as_completed(futures, loop=self.client.loop):
                yield places[future.key], future.result()
        finally:
            self.client.cancel([each for each in futures if not each.done()])
