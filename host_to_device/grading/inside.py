"""The program in the sandbox: run the cells of a notebook, then the runs of its exercises, and send plain values out.

`python -m host_to_device.grading.inside`, with messages on standard input and output (`frames`). It asks for what an
exercise is given only when the cells of the notebook have run, and for one exercise after the other.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, BinaryIO

ENVIRONMENT = {
    "MPLBACKEND": "Agg",
    "H2D_PROGRESS": "off",
    "H2D_MACHINE": "stand-in",
    "H2D_SECONDS": "0.02",  # nobody reads the times of a notebook that is graded
    "PIP_NO_INDEX": "1",
}


def streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams of the messages, and leave the notebook a standard input and output that lead nowhere."""
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nowhere, each)
    os.close(nowhere)
    return asked, told


def main() -> None:
    """Run one notebook, whose messages come and go by standard input and output."""
    asked, told = streams()
    talk(asked, told, *ready())


def ready() -> tuple[Any, dict[str, dict[str, Any]]]:
    """Do everything that needs no notebook; return what `started` does."""
    os.environ.update(ENVIRONMENT)

    from host_to_device.exercises import answering, safety  # noqa: F401  before the names are remembered
    from host_to_device.grading import frames, runs  # noqa: F401

    found = started()
    safety.remember()
    return found


def talk(asked: BinaryIO, told: BinaryIO, shell: Any, names: dict[str, dict[str, Any]]) -> None:
    """Talk with the grader until it has no more exercises.

    Parameters
    ----------
    asked, told
        The streams of its messages and of ours.
    shell, names
        What `ready` has returned.
    """
    from host_to_device.exercises import answering, safety
    from host_to_device.grading import frames, runs

    put_back = safety.put_back

    def say(**what: Any) -> None:
        put_back()  # a cell may have replaced what a message needs
        told.write(frames.packed(what))
        told.flush()

    job = frames.receive_trusted(asked)
    for place, source in enumerate(job["cells"]):
        if place not in job["left out"]:
            say(starts=place)
            printed, error = run_cell(shell, source, job["seconds"])
            say(cell=place, printed=printed, error=error)
    say(ran=True)
    while exercise := frames.receive_trusted(asked):
        say(exercise=exercise["number"])
        run = runs.made(exercise["source"], exercise["number"])
        # The names as they were where the notebook asks for a verdict: a later cell may use them for something else.
        shell.user_ns.update(names.get(exercise["number"], {}))
        say(collected=answering.collect(run, shell.user_ns, exercise["given"]))
    os._exit(0)  # without the notebook's own ideas of what happens at an end


def started() -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return an IPython that shows nothing of its own, and where `h2d.answer` keeps the notebook's names instead of judging.

    The names are kept by the number of the exercise.
    """
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from host_to_device.exercises import answering
    from host_to_device.exercises.definition import normal_number
    from host_to_device.standins.numba_cuda.settings import interpret_small_launches

    interpret_small_launches()
    without = Config({"HistoryManager": {"enabled": False}})  # its thread would not survive a fork
    shell: Any = InteractiveShell.instance(history_load_length=0, config=without)
    shell.display_pub = CapturingDisplayPublisher()
    shell._showtraceback = lambda *_: None
    shell.ask_exit = lambda: None
    shell.display_trap.hook = lambda value: None

    names: dict[str, dict[str, Any]] = {}

    def keep(number: Any, those: dict[str, Any]) -> None:
        with contextlib.suppress(ValueError):  # no number of an exercise
            names[normal_number(number)] = {
                name: value for name, value in those.items() if not name.startswith("_")
            }

    answering.keep = keep
    return shell, names


def run_cell(shell: Any, source: str, seconds: float) -> tuple[str, str]:
    """Run a cell as Jupyter does; return the beginning of what it printed, and the error that ended it or ""."""
    from host_to_device.exercises import safety
    from host_to_device.exercises.failures import message

    output = safety.Captured()
    sys.stdout = sys.stderr = output
    error = None
    try:
        done = safety.within(seconds, lambda: shell.run_cell(source, store_history=False))
        error = done.error_before_exec or done.error_in_exec
    except BaseException as problem:
        error = problem
    if isinstance(error, safety.TimeUp):
        return output.kept, f"stopped after {seconds:g} s"
    if error is None:
        return output.kept, ""
    try:
        return output.kept, message(error, named=True)
    except BaseException as problem:  # an exception whose own text fails
        return output.kept, type(problem).__name__


if __name__ == "__main__":
    main()
