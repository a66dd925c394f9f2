"""Forks of the learner's process: functions that run at once, can be killed, and can form a group of `torch.distributed`.

A fork has all names of the notebook, and nothing that it does reaches the notebook. Threads are not forked, so a child
computes on one thread of the CPU. `ranks` has threads in place of processes, where nothing has to be killed.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import pickle
import re
import select
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from host_to_device.exercises.definition import Wrong
from host_to_device.exercises.failures import failure
from host_to_device.exercises.student_runs import NotWritten
from host_to_device.exercises.values import plain
from host_to_device.support.installed import SetUpError

# What gloo says when another rank does not answer, or has gone.
LOST = re.compile(r"timed? ?out|connection (?:closed|reset|refused)|broken pipe", re.I)
STARTING, WAITING = 20.0, 1.0  # seconds that a rank waits for the others to start, and in a collective


@dataclass(frozen=True)
class Ended:
    """How a child has ended: `result`, as plain values, or `failed`, or the number of the `signal` that ended it.

    `failed` is what `failures.failure` says of an exception. A child that was stopped after its time has the signal 0.
    """

    result: Any = None
    failed: Mapping[str, Any] | None = None
    signal: int | None = None

    @property
    def is_lost(self) -> bool:
        """Whether a collective call has failed because another rank did not answer."""
        return self.failed is not None and bool(LOST.search(self.failed["text"]))

    def raise_failed(self) -> None:
        """Raise what the learner is told, if an exception of the learner's code has ended the child."""
        if self.failed is None:
            return
        if self.failed["kind"] == "not written":
            raise NotWritten
        raise Wrong(self.failed["text"], self.failed["hint"], self.failed["lines"])


def run_forks(
    functions: Sequence[Callable[[], Any]], namespace: Mapping[str, Any], seconds: float
) -> list[Ended]:
    """Call each function in a child of its own, all at once, and return how the children ended.

    A child that has answered stays until all have: where one leaves early, gloo tells the others that it is lost.

    Parameters
    ----------
    functions
        Functions without parameters.
    namespace
        The names of the student's notebook, in which the line of an exception is searched.
    seconds
        Time limit of all children together.

    Raises
    ------
    SetUpError
        If this system cannot fork a process.
    """
    if not hasattr(os, "fork"):
        raise SetUpError("This exercise forks processes, which Windows cannot do: run it in WSL or on Colab.")
    children: dict[int, int] = {}  # the end of each pipe, and the child
    answers: dict[int, bytes] = {}
    until = time.monotonic() + seconds
    try:
        for function in functions:
            ours, theirs = os.pipe()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # a notebook's kernel has threads
                child = os.fork()
            if child == 0:
                _run_child(function, namespace, seconds, theirs)
            os.close(theirs)
            children[ours], answers[ours] = child, b""
        open_ends = set(children)
        while open_ends and time.monotonic() < until:
            for end in select.select([*open_ends], [], [], 0.05)[0]:
                piece = os.read(end, 1 << 16)
                answers[end] += piece
                if not piece or answers[end].endswith(b"\0done"):
                    open_ends.discard(end)
    finally:
        ended = {}
        for end, child in children.items():
            if answers[end].endswith(b"\0done") or end in open_ends:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            ended[end] = os.waitpid(child, 0)[1]
            os.close(end)
    return [
        pickle.loads(answer.removesuffix(b"\0done"))
        if answer.endswith(b"\0done")
        else Ended(signal=0 if end in open_ends else os.WTERMSIG(ended[end]))
        for end, answer in answers.items()
    ]


def _run_child(function: Callable[[], Any], namespace: Mapping[str, Any], seconds: float, pipe: int) -> None:
    """Answer through the pipe and wait to be killed; never return into the code of the parent."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            answer = Ended(plain(function()))
        except BaseException as problem:
            answer = Ended(failed=failure(problem, namespace, seconds)["failed"])
        os.write(pipe, pickle.dumps(answer) + b"\0done")
        time.sleep(seconds)
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def run_processes(world: int, function: Callable[[int], Any], namespace: Mapping[str, Any]) -> list[Ended]:
    """Call `function(rank)` in `world` processes that are one group of `torch.distributed` with gloo, on this machine.

    Parameters
    ----------
    world
        The number of ranks.
    function
        What each rank runs.
    namespace
        The names of the student's notebook.
    """
    import torch
    import torch.distributed as dist

    def one(rank: int, meet: str) -> Any:
        torch.set_num_threads(1)
        if sys.platform == "linux":
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        limit = datetime.timedelta(seconds=STARTING)
        store = dist.FileStore(meet, world)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=limit)
        dist.barrier()
        dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=WAITING), dist.group.WORLD)
        return function(rank)

    with tempfile.TemporaryDirectory() as folder:
        meet = str(Path(folder, "meet"))
        return run_forks([partial(one, rank, meet) for rank in range(world)], namespace, STARTING + 5)
