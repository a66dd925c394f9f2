"""`h2d.answer("02.1")`: run the learner's code in a shelter, judge what came out, and print the verdict.

A grader calls the two steps apart: `collect` in the process that has the student's code, `judge` in any process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

from host_to_device.exercises import safety, solved, values
from host_to_device.exercises.catalogue import find
from host_to_device.exercises.definition import Exercise
from host_to_device.exercises.failures import failure, message
from host_to_device.exercises.student_names import Student, check_need
from host_to_device.exercises.verdicts import NOTHING, Judged, Verdict, judged, verdict

_STDOUT = sys.stdout  # used if a notebook breaks its own sys.stdout


class AnswerError(AssertionError):
    """Raised by a strict answer that is not right; the message is the verdict."""

    def _render_traceback_(self) -> list[str]:
        # Not `OneLine`: the line is the learner's verdict, and the library's name does not stand before it.
        return [str(self)]


# -- run and judge


def _values_of(
    exercise: Exercise, shelter: safety.Shelter, seed: int
) -> Iterator[tuple[dict, dict[str, Any]]]:
    """Yield each case with its values, `{"got": …}` or `{"failed": …}`; the first failure is the last case."""
    namespace = shelter.namespace
    try:
        for need in exercise.wanted():
            safety.within(exercise.seconds, check_need, need, namespace)
    except BaseException as problem:
        told = failure(problem, namespace, exercise.seconds)
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
            value = failure(problem, namespace, exercise.seconds)
        shelter.renew()
        yield case, value
        if "failed" in value:
            return


def _run(exercise: Exercise, student: Student, case: dict[str, Any]) -> Any:
    """Return a copy of what a run gives; copying belongs to the run, because it can execute a learner's generator."""
    return values.plain(exercise.run(student, case))


def collect(number: str, namespace: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Run a student's code on all cases of an exercise and return plain values, to be judged elsewhere.

    Exceptions of the student's code are not raised but returned. The right values are neither needed nor computed.

    Parameters
    ----------
    number
        The number of the exercise.
    namespace
        The names of the student's notebook.
    seed
        The seed of the cases.

    Returns
    -------
    list of dict
        A dict for each case, `{"got": values}`, up to the first that failed, `{"failed": {...}}`; `values.packed`
        turns the list into arrays.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    with safety.Shelter(namespace) as shelter:
        exercise = find(number)()
        safety.remember()  # the modules that `find` has loaded
        return [value for _, value in _values_of(exercise, shelter, seed)]


def judge(number: str, seed: int, collected: Any) -> Verdict:
    """Judge what `collect` returned in another process. Needs none of the student's code, and trusts nothing.

    Parameters
    ----------
    number, seed
        The arguments of `collect`; the cases are made again from the seed.
    collected
        What `collect` returned, after a journey through files or pipes.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    exercise = find(number)()
    cases = list(exercise.cases(seed))
    if not isinstance(collected, list) or not collected:
        return verdict(exercise, NOTHING)
    for case, value in zip(cases, collected, strict=False):
        found = judged(exercise, case, value)
        if found.text:
            return verdict(exercise, found)
    if len(collected) != len(cases):
        return verdict(exercise, Judged(f"{len(collected)} of {len(cases)} cases came out of it"))
    return verdict(exercise, Judged())


# -- what a learner calls

_at_work: int | None = None  # the thread in which an answer is being checked


def is_strict() -> bool:
    """Tell whether answers raise: nbgrader is at work, or H2D_STRICT is set."""
    return "NBGRADER_EXECUTION" in os.environ or os.environ.get("H2D_STRICT", "0") not in ("", "0")


def answer(number: str, *, hint: int | None = None, strict: bool | None = None) -> Verdict:
    """Check this notebook's answer to an exercise, and print a line that says whether the answer is right.

    If the answer is not right, the first failure is printed with the line at fault and a hint. A run that takes too
    long is stopped. Nothing is raised unless `strict` says so.

    Parameters
    ----------
    number
        The number of the exercise, such as "02.1".
    hint
        1, 2 or 3 prints a hint instead; the third hint is nearly the answer.
    strict
        Whether to raise when the answer is not right. By default true under nbgrader and where H2D_STRICT=1 is set.

    Returns
    -------
    Verdict
        `right`, `points` and `text`; a notebook does not show it again.

    Raises
    ------
    AnswerError
        If `strict` is true and the answer is not right.

    Examples
    --------
    >>> verdict = h2d.answer("02.1", hint=1)
    02.1, hint 1 of 3: The `vec_add` of the chapter has the same shape...
    >>> verdict = h2d.answer("02.1")  # before saxpy has been written
    02.1 is not right yet: saxpy is not defined...
    >>> verdict.right
    False
    """
    global _at_work
    strict = is_strict() if strict is None else strict
    if _at_work not in (None, threading.get_ident()):
        return Verdict(_cut(number), None, 0, 0, "another answer is being checked: ask again after it")
    if _at_work:
        raise safety.Refused(
            "your code calls h2d.answer, which is just running it", "Call it in a cell of its own."
        )
    _at_work = threading.get_ident()
    remarks: list[str] = []
    try:
        result, remarks = _answer(number, hint, sys._getframe(1).f_globals, strict)
    except KeyboardInterrupt:
        result = Verdict(_cut(number), False, 0, 0, f"{_cut(number)}: interrupted, nothing was judged")
    except Exception as problem:
        said = message(problem, named=True)
        text = f"{_cut(number)} could not be checked, which is a fault of the check's: {said}"
        result = Verdict(_cut(number), False, 0, 0, text)
    finally:
        _at_work = None
    if strict and result.right is False:
        raise AnswerError(result.text)
    _print("\n".join([result.text, *remarks]))
    return result


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
        safety.remember()  # the modules that `find` has loaded
        found = Judged("there is nothing to try")
        for case, value in _values_of(exercise, shelter, 0):
            found = judged(exercise, case, value)
            if found.text:
                break
            told.append(exercise.remark(dict(case), value["got"]))
        result = verdict(exercise, found)
        if not strict:
            remarks = _remarks(exercise, result, shelter)
    return result, [*filter(None, told if result.right else ()), *shelter.remarks, *remarks]


def _remarks(exercise: Exercise, result: Verdict, shelter: safety.Shelter) -> list[str]:
    """Return the lines below a verdict; note the exercise as solved if the answer is right."""
    if result.right:
        shelter.renew()
        return solved.note(exercise.number, exercise.points)
    asking = f'Hints: h2d.answer("{exercise.number}", hint=1), or 2, or 3.'
    return [*shelter.output.told(), asking]


def _cut(text: Any) -> str:
    return message(ValueError(text))[:20]


def _hint(exercise: Exercise, hint: Any) -> Verdict:
    number, of, hints = exercise.number, exercise.points, exercise.hints
    if isinstance(hint, bool) or not isinstance(hint, int) or not 1 <= hint <= len(hints):
        which = f"{number} has the hints 1 to {len(hints)}" if hints else f"{number} has no hints"
        return Verdict(number, None, 0, of, f"{which}: hint={_cut(repr(hint))} is none of them")
    return Verdict(number, None, 0, of, f"{number}, hint {hint} of {len(hints)}: {hints[hint - 1]}")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _print(text: str) -> None:
    """Print, even if the notebook has replaced sys.stdout or its encoding lacks a character."""
    for stream in (sys.stdout, _STDOUT, sys.__stdout__):
        for attempt in (text, text.encode("ascii", "backslashreplace").decode()):
            try:
                stream.write(f"{attempt}\n")  # type: ignore[union-attr]  # a stream may be None, too
                stream.flush()  # type: ignore[union-attr]
                return
            except BaseException:
                continue
