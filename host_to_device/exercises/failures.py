"""Why a run of a student's code ended early, in the learner's words and with the learner's line."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping, Sequence
from typing import Any

from host_to_device.exercises import safety
from host_to_device.exercises.definition import Wrong
from host_to_device.exercises.student_runs import NotWritten

LONGEST_MESSAGE = 300  # characters of an exception's message


def failure(problem: BaseException, namespace: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return, as plain values, why there is nothing to judge.

    Parameters
    ----------
    problem
        The exception that ended the run.
    namespace
        The names of the student's notebook: an exception's line is searched in the code that uses them.
    seconds
        The run's time limit.

    Returns
    -------
    dict
        Under "failed" a dict with "kind" ("wrong", "raised" or "not written"), "text", "hint" and "lines".
    """
    lines, source = _lines_of(problem, namespace)
    lines = lines or _lines_in_kernel(problem, namespace)
    if isinstance(problem, Wrong):
        return _failed("wrong", problem.text, problem.hint, problem.lines)
    if isinstance(problem, NotWritten) or (
        isinstance(problem, NotImplementedError) and source.startswith("raise NotImplementedError")
    ):
        return _failed("not written", "")
    text, hint = _told(problem, seconds, bool(lines))
    return _failed("raised", text, hint, lines)


def _failed(kind: str, text: str, hint: str = "", lines: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "failed": {"kind": kind, "text": str(text), "hint": str(hint), "lines": [str(each) for each in lines]}
    }


def _told(problem: BaseException, seconds: float, located: bool) -> tuple[str, str]:
    """Return what happened, and a hint."""
    if isinstance(problem, safety.TimeUp):
        where = ", at this line" if located else ""
        hint = "Does a loop never end, or does your code wait for an event that never happens?"
        spent = problem.args[0] if problem.args else seconds
        return f"your code was stopped after {spent:g} s{where}", hint
    if isinstance(problem, safety.Refused):
        return str(problem), problem.hint
    if isinstance(problem, SystemExit):
        return "your code ends the process (SystemExit)", "Use return to leave a function."
    if isinstance(problem, KeyboardInterrupt):
        return "the run was interrupted", ""
    if type(problem).__name__ == "KernelStopped":
        said = message(problem).split(": a loop never ends")[0]
        return said, "Does a loop never end, or does a thread wait for another thread?"
    if isinstance(problem, RecursionError):
        return "your code calls itself without end (RecursionError)", ""
    return f"your code raised {message(problem, named=True)}", ""


def _lines_of(problem: BaseException, namespace: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the innermost of the notebook's lines in an exception's traceback: as printed, and its source."""
    found = None
    trace, steps = problem.__traceback__, 0
    while trace is not None and steps < 100_000:
        if trace.tb_frame.f_globals is namespace:
            found = trace
        trace, steps = trace.tb_next, steps + 1
    if found is None:
        return [], ""
    text = linecache.getline(found.tb_frame.f_code.co_filename, found.tb_lineno).strip()
    return [f"{found.tb_lineno:>6} | {text[:200]}".rstrip()], text


def _lines_in_kernel(problem: BaseException, namespace: Mapping[str, Any]) -> list[str]:
    """Return the line that the stand-in names in its message: "saxpy(), this cell, line 5: ..."."""
    found = re.match(r"(\w+)\(\), [^:]*line (\d+)\b", message(problem))
    if found is None:
        return []
    code = getattr(getattr(namespace.get(found[1]), "py_func", None), "__code__", None)
    if code is None:
        return []
    text = linecache.getline(code.co_filename, int(found[2])).strip()
    return [f"{found[2]:>6} | {text[:200]}"] if text else []


def message(problem: BaseException, named: bool = False) -> str:
    """Return an exception's message as one short line, whatever the exception's own methods do.

    Parameters
    ----------
    problem
        The exception.
    named
        Whether the exception's class comes before the message.
    """
    try:
        said = str(problem)
        said = str.__str__(said) if type(said) is not str else said
    except BaseException:
        said = "(its message cannot be read)"
    said = re.sub(r"\x1b\[[0-9;]*m", "", said[: 20 * LONGEST_MESSAGE])
    said = " ".join(said.split())
    if len(said) > LONGEST_MESSAGE:
        said = f"{said[:LONGEST_MESSAGE]}…"
    name = type(problem).__name__
    return (f"{name}: {said}" if said else name) if named else said
