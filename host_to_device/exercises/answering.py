"""`h2d.answer("02.1")`: run the learner's code in a shelter, judge what came out, and say it in one line.

The same two steps serve a grader: `collect` where the code is, `judge` anywhere else.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.checking.cuda_cpp import is_raw
from host_to_device.exercises import safety, solved, values
from host_to_device.exercises.definition import Exercise, Need, Wrong, in_notebook, normal_number
from host_to_device.exercises.student_runs import NotWritten

SETS = "host_to_device.exercises.sets"
LONGEST_MESSAGE = 300  # characters of what an exception says
_STDOUT = sys.stdout  # to fall back on, should the notebook break its own


class AnswerError(AssertionError):
    """Raised by a strict answer that is not right; the message says why."""

    def _render_traceback_(self) -> list[str]:
        # IPython asks an exception for its own rendering: the traceback would bury the message.
        return [str(self)]


@dataclass(frozen=True)
class Verdict:
    """How an answer was judged.

    Attributes
    ----------
    number
        Of the exercise.
    right
        Whether it is right; None where nothing was judged, as when a hint was asked for.
    points, of
        Points given, and those that there are.
    text
        What was, or is to be, printed.
    """

    number: str
    right: bool | None
    points: float
    of: float
    text: str

    def __bool__(self) -> bool:
        return self.right is True

    def __repr__(self) -> str:
        return self.text

    def _ipython_display_(self) -> None:
        """Show nothing: the text has been printed."""


def find(number: str) -> type[Exercise]:
    """Return the class of an exercise: the one that this notebook has defined, otherwise the one that ships.

    While nbgrader grades, the one that ships goes first.

    Raises
    ------
    ValueError
        If there is none; the message says which there are.
    """
    number = normal_number(number)
    shipped = {cls.number: cls for cls in in_set(number[:2])}
    here = {} if "NBGRADER_EXECUTION" in os.environ else in_notebook
    for known in (here, shipped, in_notebook):
        if number in known:
            return known[number]
    if shipped:
        raise ValueError(f"there is no exercise {number}: set {number[:2]} has {', '.join(sorted(shipped))}")
    sets = ", ".join(each[-2:] for each in set_names()) or "none"
    raise ValueError(
        f"there is no exercise {number}, because there is no set {number[:2]}: the sets are {sets}"
    )


def set_names() -> list[str]:
    """Return the names of the modules of sets that ship, in order."""
    package = importlib.import_module(SETS)
    found = {name for folder in package.__path__ for name in os.listdir(folder)}
    return sorted(name[:-3] for name in found if re.fullmatch(r"set\d\d\.py", name))


def in_set(number: str) -> list[type[Exercise]]:
    """Return the exercises of a shipped set by its two digits, in order; none if there is no such set."""
    try:
        module = importlib.import_module(f"{SETS}.set{number}")
    except ModuleNotFoundError:
        return []
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Exercise)]
    return sorted((each for each in found if each is not Exercise), key=lambda cls: int(cls.number[3:]))


# -- the student's objects


class Student:
    """The names of a notebook as attributes."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        try:
            return self._namespace[name]
        except KeyError:
            raise Wrong(*_undefined(name)) from None


def _undefined(name: str) -> tuple[str, str]:
    return f"{name} is not defined", "Run the cell that defines it, and look at how the name is spelt."


def _is_kernel(value: Any) -> bool:
    if is_raw(value):
        return True
    return _is_dispatcher(value) and not _is_device_function(value)


def _is_dispatcher(value: Any) -> bool:
    module = type(value).__module__
    return module.startswith(("numba.cuda", "host_to_device.standins.numba_cuda")) and hasattr(
        value, "py_func"
    )


def _is_device_function(value: Any) -> bool:
    return bool(
        getattr(value, "device", False) or (getattr(value, "targetoptions", None) or {}).get("device", False)
    )


def check_need(need: Need, namespace: Mapping[str, Any]) -> None:
    """Raise `Wrong` if a name is not defined, is something else than asked for or takes other parameters."""
    if need.name not in namespace:
        raise Wrong(*_undefined(need.name))
    value, name = namespace[need.name], need.name
    what = values.said(value)
    otherwise = f"{name} is {what}, and a {need.kind} is asked for"
    if need.kind == "array" and not isinstance(value, np.ndarray):
        device = any(word in what for word in ("device array", "CuPy", "PyTorch"))
        raise Wrong(
            f"{name} is {what}, and a NumPy array is asked for", "Copy it back to the host." if device else ""
        )
    if need.kind == "number":
        wide = isinstance(value, np.ndarray) and value.ndim == 0
        if isinstance(value, bool) or not (isinstance(value, int | float | complex | np.number) or wide):
            raise Wrong(otherwise)
    if need.kind == "class" and not isinstance(value, type):
        raise Wrong(otherwise)
    if need.kind in ("kernel", "device function", "function"):
        _check_callable(need, value, otherwise)


def _check_callable(need: Need, value: Any, otherwise: str) -> None:
    name = need.name
    if value is None:
        raise Wrong(
            f"{name} is None",
            f"A launch and a function without return give None: has the name {name} been used for that?",
        )
    if need.kind == "kernel" and not _is_kernel(value):
        if inspect.isfunction(value):
            raise Wrong(
                f"{name} is a function of the host, and a kernel is asked for", "Put @cuda.jit above def."
            )
        if _is_dispatcher(value):
            raise Wrong(f"{name} is a device function, and a kernel is asked for", "Leave out device=True.")
        raise Wrong(otherwise)
    if need.kind == "device function" and not (_is_dispatcher(value) and _is_device_function(value)):
        hint = "Write @cuda.jit(device=True) above def." if callable(value) else ""
        raise Wrong(otherwise, hint)
    if need.kind == "function" and (isinstance(value, type) or not callable(value) or _is_kernel(value)):
        raise Wrong(otherwise)
    if need.parameters is None or is_raw(value):
        return
    try:
        signature = inspect.signature(getattr(value, "py_func", value))
    except (TypeError, ValueError):
        return  # made otherwise than by def: calling it will show
    try:
        signature.bind(*need.parameters)
    except TypeError:
        taken = list(signature.parameters)
        raise Wrong(
            f"{name} takes {_count(len(taken), 'parameter')}{f' ({_list(taken)})' if taken else ''}, "
            f"and it is called with {len(need.parameters)}: {_list(need.parameters)}",
            f"Write def {name}({', '.join(need.parameters)}).",
        ) from None


def _list(names: Sequence[str], most: int = 8) -> str:
    return ", ".join([*names[:most], "…"] if len(names) > most else names)


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}{'s' * (number != 1)}"


# -- run and judge


def _failure(kind: str, text: str, hint: str = "", lines: Sequence[str] = ()) -> dict[str, Any]:
    """Return, as plain values, why there is nothing to judge; `kind` is "wrong", "raised" or "not written"."""
    return {
        "failed": {"kind": kind, "text": str(text), "hint": str(hint), "lines": [str(each) for each in lines]}
    }


def _values_of(
    exercise: Exercise, shelter: safety.Shelter, seed: int
) -> Iterator[tuple[dict, dict[str, Any]]]:
    """Yield each case with its values, `{"got": …}` or `{"failed": …}`; after a failure there are no more."""
    namespace = shelter.namespace
    try:
        for need in exercise.wanted():
            safety.within(exercise.seconds, check_need, need, namespace)
    except BaseException as problem:
        told = _told(problem, namespace, exercise)
        told["failed"]["at once"] = True  # before any case
        yield {}, told
        return
    student = Student(namespace)
    for case in exercise.cases(seed):
        shelter.renew()
        try:
            got = safety.within(exercise.seconds, _run, exercise, student, dict(case))
            if not isinstance(got, dict):
                raise TypeError("run has to return a dict")
            value = {"got": got}
        except BaseException as problem:
            value = _told(problem, namespace, exercise)
        shelter.renew()
        yield case, value
        if "failed" in value:
            return


def _run(exercise: Exercise, student: Student, case: dict[str, Any]) -> Any:
    """Return what a run of the learner's code gives; a generator of the learner's may run on while it is copied."""
    return values.plain(exercise.run(student, case))


def _told(problem: BaseException, namespace: Mapping[str, Any], exercise: Exercise) -> dict[str, Any]:
    """Say in the learner's words why a run has ended before its end."""
    lines, text = _lines_of(problem, namespace)
    lines = lines or _lines_in_kernel(problem, namespace)
    if isinstance(problem, Wrong):
        return _failure("wrong", problem.text, problem.hint, problem.lines)
    if isinstance(problem, NotWritten) or (
        isinstance(problem, NotImplementedError) and text.lstrip().startswith("raise NotImplementedError")
    ):
        return _failure("not written", "")
    if isinstance(problem, safety.TimeUp):
        where = "; it was here" if lines else ""
        return _failure(
            "raised",
            f"your code was stopped after {exercise.seconds:g} s{where}",
            "A loop that never ends, or a wait for something that never comes?",
            lines,
        )
    if isinstance(problem, safety.Refused):
        return _failure("raised", str(problem), problem.hint, lines)
    if isinstance(problem, SystemExit):
        return _failure(
            "raised", "your code ends the process (SystemExit)", "Use return to leave a function.", lines
        )
    if isinstance(problem, KeyboardInterrupt):
        return _failure("raised", "it was interrupted", "", lines)
    if type(problem).__name__ == "KernelStopped":
        said = _message(problem).split(": a loop that never ends")[0]
        return _failure("raised", said, "A loop that never ends, or a thread that waits for another?", lines)
    if isinstance(problem, RecursionError):
        return _failure("raised", "your code calls itself without end (RecursionError)", "", lines)
    return _failure("raised", f"your code raised {_message(problem, named=True)}", "", lines)


def _lines_of(problem: BaseException, namespace: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the innermost line of the notebook's that an exception came by, as printed, and its text."""
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
    found = re.match(r"(\w+)\(\), [^:]*line (\d+)\b", _message(problem))
    code = getattr(getattr(namespace.get(found[1]), "py_func", None), "__code__", None) if found else None
    if code is None:
        return []
    text = linecache.getline(code.co_filename, int(found[2])).strip()
    return [f"{found[2]:>6} | {text[:200]}"] if text else []


def _message(problem: BaseException, named: bool = False) -> str:
    """Return what an exception says, in one line of bearable length, whatever its own methods do."""
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


@dataclass(frozen=True)
class _Judged:
    text: str = ""  # what is wrong; empty if nothing is
    hint: str = ""
    lines: tuple[str, ...] = ()
    written: bool = True


def _judged(exercise: Exercise, case: dict, value: Any) -> _Judged:
    """Judge the values of one case, wherever they come from."""
    if not isinstance(value, dict):
        return _Judged("nothing came out of it")
    failed = value.get("failed")
    if failed is not None:
        if not isinstance(failed, dict):
            return _Judged("nothing came out of it")
        if failed.get("kind") == "not written":
            return _Judged("not written", written=False)
        text = str(failed.get("text", ""))
        if case and not failed.get("at once"):
            text = f"{exercise.says(case)}: {text}"
        hint = str(failed.get("hint", ""))
        if failed.get("kind") == "raised":
            hint = _hint_for(exercise, text) or hint
        return _Judged(text or "nothing came out of it", hint, _texts(failed.get("lines")))
    try:
        exercise.judge(dict(case), value["got"])
    except Wrong as wrong:
        told = f"{exercise.says(case)}: {wrong.text}" if case and exercise.says(case) else wrong.text
        hint = _hint_for(exercise, wrong.text) if wrong.text.startswith("failed: ") else ""
        return _Judged(told, hint or wrong.hint, _texts(wrong.lines))
    except Exception as problem:
        return _Judged(
            f"{exercise.says(case)}: what came out has not the form that was expected ({type(problem).__name__})"
        )
    return _Judged()


def _hint_for(exercise: Exercise, text: str) -> str:
    return next((hint for part, hint in exercise.raised if part in text), "")


def _texts(lines: Any) -> tuple[str, ...]:
    return tuple(str(each)[:220] for each in lines[:6]) if isinstance(lines, list | tuple) else ()


def _verdict(exercise: Exercise, judged: _Judged) -> Verdict:
    number, of = exercise.number, exercise.points
    if not judged.text:
        return Verdict(number, True, of, of, f"{number} is right: {of} of {_count(of, 'point')}")
    if not judged.written:
        return Verdict(number, False, 0, of, f"{number} is not written yet")
    text = [f"{number} is not right yet: {judged.text}", *judged.lines]
    text += [f"Hint: {judged.hint}"] if judged.hint else []
    return Verdict(number, False, 0, of, "\n".join(text))


def collect(number: str, namespace: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Run a student's code on all cases of an exercise and return plain values, to be judged elsewhere.

    It raises nothing that comes from the student's code, and expects nothing: neither the right values nor whether
    they are right.

    Parameters
    ----------
    number
        Of the exercise.
    namespace
        The names of the student's notebook.
    seed
        Of the cases.

    Returns
    -------
    list of dict
        A dict for each case, `{"got": values}`, up to the first that failed, `{"failed": {...}}`; `values.packed`
        makes arrays of it.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    with safety.Shelter(namespace) as shelter:
        exercise = find(number)()
        safety.remember()  # what finding it has loaded
        return [value for _, value in _values_of(exercise, shelter, seed)]


def judge(number: str, seed: int, collected: Any) -> Verdict:
    """Judge what `collect` has brought out of another process. Needs no student's code, and trusts nothing.

    Parameters
    ----------
    number, seed
        As they were given to `collect`; the cases are made anew.
    collected
        What `collect` returned, after whatever journey.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    exercise = find(number)()
    cases = list(exercise.cases(seed))
    if not isinstance(collected, list) or not collected:
        return _verdict(exercise, _Judged("nothing came out of it"))
    for case, value in zip(cases, collected, strict=False):
        judged = _judged(exercise, case, value)
        if judged.text:
            return _verdict(exercise, judged)
    if len(collected) != len(cases):
        return _verdict(exercise, _Judged(f"{len(collected)} of {len(cases)} cases came out of it"))
    return _verdict(exercise, _Judged())


# -- what a learner calls

_at_work: int | None = None  # the thread in which an answer is being checked


def is_strict() -> bool:
    """Tell whether answers raise: nbgrader is at work, or H2D_STRICT is set."""
    return "NBGRADER_EXECUTION" in os.environ or os.environ.get("H2D_STRICT", "0") not in ("", "0")


def answer(number: str, *, hint: int | None = None, strict: bool | None = None) -> Verdict:
    """Check the answer to an exercise that this notebook holds, and print a line that says whether it is right.

    When it is not, what is printed is the first thing that fails, with the line at fault, and a hint. A run that
    takes too long is stopped. Nothing is raised, unless it is strict.

    Parameters
    ----------
    number
        Of the exercise, such as "02.1".
    hint
        1, 2 or 3 prints a hint instead, the third of which is nearly the answer.
    strict
        Whether to raise when the answer is not right. By default if nbgrader is at work or H2D_STRICT=1 is set.

    Returns
    -------
    Verdict
        `right`, `points` and `text`; a notebook does not show it again.

    Raises
    ------
    AnswerError
        If it is strict, and the answer is not right.
    """
    global _at_work
    strict = is_strict() if strict is None else strict
    if _at_work not in (None, threading.get_ident()):
        return Verdict(_cut(number), None, 0, 0, "another answer is being checked: ask again after it")
    if _at_work:
        raise safety.Refused(
            "your code calls h2d.answer, which is just running it", "Call it in a cell of its own."
        )
    _at_work, remarks = threading.get_ident(), []
    try:
        verdict, remarks = _answer(number, hint, sys._getframe(1).f_globals, strict)
    except KeyboardInterrupt:
        verdict = Verdict(_cut(number), False, 0, 0, f"{_cut(number)}: interrupted, nothing was judged")
    except Exception as problem:
        verdict = Verdict(
            _cut(number),
            False,
            0,
            0,
            f"{_cut(number)} could not be checked, which is a fault of the check's: {_message(problem, named=True)}",
        )
    finally:
        _at_work = None
    if strict and verdict.right is False:
        raise AnswerError(verdict.text)
    _print("\n".join([verdict.text, *remarks]))
    return verdict


def _answer(
    number: str, hint: int | None, namespace: dict[str, Any], strict: bool
) -> tuple[Verdict, list[str]]:
    remarks: list[str] = []
    told: list[str] = []
    with safety.Shelter(namespace) as shelter:
        try:
            exercise = find(number)()
        except ValueError as problem:
            return Verdict(_cut(number), False, 0, 0, _sentence(str(problem))), []
        if hint is not None:
            return _hint(exercise, hint), []
        safety.remember()  # what finding it has loaded
        judged = _Judged("there is nothing to try")
        for case, value in _values_of(exercise, shelter, 0):
            judged = _judged(exercise, case, value)
            if judged.text:
                break
            told.append(exercise.remark(dict(case), value["got"]))
        verdict = _verdict(exercise, judged)
        if not strict:
            remarks = _remarks(exercise, verdict, shelter)
    return verdict, [*filter(None, told if verdict.right else ()), *shelter.remarks, *remarks]


def _remarks(exercise: Exercise, verdict: Verdict, shelter: safety.Shelter) -> list[str]:
    """Return what there is to say below a verdict, and note it if it is a good one."""
    if verdict.right:
        shelter.renew()
        return solved.note(exercise.number, exercise.points)
    asking = f'Hints: h2d.answer("{exercise.number}", hint=1), or 2, or 3.'
    return [*shelter.output.told(), asking]


def _cut(text: Any) -> str:
    return _message(ValueError(text))[:20]


def _hint(exercise: Exercise, hint: Any) -> Verdict:
    number, of, hints = exercise.number, exercise.points, exercise.hints
    if isinstance(hint, bool) or not isinstance(hint, int) or not 1 <= hint <= len(hints):
        which = f"{number} has the hints 1 to {len(hints)}" if hints else f"{number} has no hints"
        return Verdict(
            number, None, 0, of, f"{which}: hint={_message(ValueError(repr(hint)))[:20]} is none of them"
        )
    return Verdict(number, None, 0, of, f"{number}, hint {hint} of {len(hints)}: {hints[hint - 1]}")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _print(text: str) -> None:
    """Print, also where the notebook has replaced what prints, or where it cannot write all characters."""
    for stream in (sys.stdout, _STDOUT, sys.__stdout__):
        for attempt in (text, text.encode("ascii", "backslashreplace").decode()):
            try:
                stream.write(f"{attempt}\n")
                stream.flush()
                return
            except BaseException:
                continue
