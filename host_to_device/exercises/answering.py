"""`h2d.answer("02.1")`: run the learner's code in a shelter, judge what came out, and print the verdict.

A grader calls the steps apart: `given_of` and `judge` where no student's code runs, `collect` where it does.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from host_to_device.counting import on_gpu
from host_to_device.exercises import safety, solved, touches, values
from host_to_device.exercises.catalogue import after, find
from host_to_device.exercises.definition import Exercise
from host_to_device.exercises.failures import failure, message
from host_to_device.exercises.student_names import Student, check_need
from host_to_device.exercises.verdicts import NOTHING, Judged, Verdict, judged, tried, verdict
from host_to_device.measuring.clocks import wait
from host_to_device.starting import context

SMALL = 8  # a case of this size is small enough: a still smaller one shows less
PATIENCE = 3.0  # seconds of an answer after which no smaller case is looked for
_STDOUT = sys.stdout  # used if a notebook breaks its own sys.stdout


class AnswerError(AssertionError):
    """Raised by a strict answer that is not right; the message is the verdict."""

    def _render_traceback_(self) -> list[str]:
        # Not `OneLine`: the line is the learner's verdict, and the library's name does not stand before it.
        return [str(self)]


# -- run and judge


def _values_of(
    exercise: Exercise, shelter: safety.Shelter, every: Iterable[dict[str, Any]], *, go_on: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the values of each case, `{"got": …}` or `{"failed": …}`, up to the first failure.

    `every` has what each case gives. With `go_on`, a failure after the first case ends only what takes longer than
    `PATIENCE` in all: an earlier case may turn out to be wrong, and a later one may be smaller.
    """
    namespace, ends = shelter.namespace, time.monotonic() + PATIENCE
    try:
        for need in exercise.wanted():
            safety.within(exercise.seconds, check_need, need, namespace)
    except BaseException as problem:
        told = failure(problem, namespace, exercise.seconds)
        told["failed"]["at once"] = True  # before any case
        yield told
        return
    failed = False
    for place, given in enumerate(every):
        if failed and time.monotonic() >= ends:
            return
        value = _value(exercise, shelter, given)
        yield value
        failed |= "failed" in value
        if failed and (place == 0 or not go_on):
            return


def _value(exercise: Exercise, shelter: safety.Shelter, given: dict) -> dict[str, Any]:
    """Run the student's code with what a case gives; return `{"got": …}` or `{"failed": …}`."""
    shelter.renew()
    try:
        try:
            got = _in_time(exercise, shelter, given)
        except on_gpu.NotReady:  # what a first count on a GPU waits for is not the learner's time
            on_gpu.get_ready()
            shelter.renew()
            got = _in_time(exercise, shelter, given)
        if not isinstance(got, dict):
            raise TypeError("run has to return a dict")
        return {"got": got}
    except BaseException as problem:
        return failure(problem, shelter.namespace, exercise.seconds)
    finally:
        shelter.renew()


def _in_time(exercise: Exercise, shelter: safety.Shelter, given: dict) -> Any:
    with on_gpu.in_time_limit():
        return safety.within(
            exercise.seconds, _run, exercise, Student(shelter.namespace), copy.deepcopy(given)
        )


def _run(exercise: Exercise, student: Student, given: dict[str, Any]) -> Any:
    """Return a copy of what a run gives; copying belongs to the run, because it can execute a learner's generator."""
    return values.plain(exercise.run(student, given))


def given_of(number: str, seed: int) -> list[dict[str, Any]]:
    """Return what a run of an exercise is given for each case: all that the process of the student's code may know.

    Parameters
    ----------
    number
        The number of the exercise.
    seed
        The seed of the cases.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    exercise = find(number)()
    return [exercise.given(dict(case)) for case in exercise.cases(seed)]


def collect(
    exercise: str | Exercise, namespace: dict[str, Any], given: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Run a student's code on all cases of an exercise and return plain values, to be judged elsewhere.

    Exceptions of the student's code are not raised but returned. The right values are neither needed nor computed.

    Parameters
    ----------
    exercise
        The number of the exercise, or the exercise itself: of this only `run`, `needs` and `seconds` are used.
    namespace
        The names of the student's notebook.
    given
        What `given_of` has returned for a seed that the student's code never learns.

    Returns
    -------
    list of dict
        A dict for each case, `{"got": values}` or `{"failed": {...}}`; after a failure the list may end early.
        `values.packed` turns the list into arrays.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    with safety.Shelter(namespace) as shelter:
        exercise = find(exercise)() if isinstance(exercise, str) else exercise
        safety.remember()  # the modules that `find` has loaded
        return list(_values_of(exercise, shelter, given, go_on=True))


def judge(number: str, seed: int, collected: Any) -> Verdict:
    """Judge what `collect` returned in another process. Needs none of the student's code, and trusts nothing.

    Parameters
    ----------
    number, seed
        The arguments of `given_of`; the cases are made again from the seed.
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
    for place, (case, value) in enumerate(zip(cases, collected, strict=False)):
        found = judged(exercise, case, value)
        if found.text:
            values = dict(zip(range(len(cases)), collected, strict=False))
            return verdict(exercise, _smallest(exercise, cases, place, value, found, values.get)[2])
    if len(collected) != len(cases):
        return verdict(exercise, Judged(f"only {len(collected)} of {len(cases)} cases returned a result"))
    return verdict(exercise, Judged())


# -- what a learner calls

# Where a grader runs a notebook, `answer` calls this with the number and the notebook's names, and judges nothing.
keep: Callable[[Any, dict[str, Any]], None] | None = None
_at_work: int | None = None  # the thread in which an answer is being checked


def is_strict() -> bool:
    """Tell whether answers raise: nbgrader is at work, or H2D_STRICT is set."""
    return "NBGRADER_EXECUTION" in os.environ or os.environ.get("H2D_STRICT", "0") not in ("", "0")


def answer(number: str, *, hint: int | None = None, strict: bool | None = None) -> Verdict:
    """Check this notebook's answer to an exercise, and print whether the answer is right.

    Below a right answer stand what was tried and the number of the next exercise. If the answer is not right, the first failure is printed with the line at fault and a hint. A run that takes too
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
        `right`, `points` and `text`; a notebook does not show it again. `right` is None where the answer could not be
        checked, because an earlier kernel's fault has ended the GPU's context.

    Raises
    ------
    AnswerError
        If `strict` is true and the answer is not right, or could not be checked.

    Examples
    --------
    >>> verdict = h2d.answer("02.1", hint=1)
    02.1, hint 1 of 3: The chapter's `vec_add` has the same structure...
    >>> verdict = h2d.answer("02.1")  # before saxpy has been written
    02.1 is not right yet: saxpy is not defined...
    >>> verdict.right
    False
    """
    global _at_work
    if keep is not None:
        keep(number, sys._getframe(1).f_globals)
        return Verdict(_cut(number), None, 0, 0, "")
    strict = is_strict() if strict is None else strict
    was_lost = hint is None and context.is_lost(wait)
    if _at_work not in (None, threading.get_ident()):
        return Verdict(
            _cut(number), None, 0, 0, "h2d.answer is checking another answer: call it again when that is done"
        )
    if _at_work:
        raise safety.Refused(
            "your code calls h2d.answer while h2d.answer runs it", "Call h2d.answer in a cell of its own."
        )
    _at_work = threading.get_ident()
    remarks: list[str] = []
    try:
        result, remarks = _answer(number, hint, sys._getframe(1).f_globals, strict)
    except KeyboardInterrupt:
        result = Verdict(
            _cut(number), False, 0, 0, f"{_cut(number)}: the run was interrupted, so there is no verdict"
        )
    except Exception as problem:
        said = message(problem, named=True)
        text = f"{_cut(number)} could not be checked, because the check itself has an error: {said}"
        result = Verdict(_cut(number), False, 0, 0, text)
    finally:
        _at_work = None
    if was_lost and context.fatal_error(result.text):  # an earlier cell is to blame, not the answer
        text = f"{result.number} could not be checked. {context.sentence()}"
        result, remarks = Verdict(result.number, None, 0, result.of, text), []
    elif hint is None and not was_lost and context.is_lost(wait):
        remarks = [*remarks, context.sentence()]
    if strict and hint is None and not result:
        raise AnswerError(result.text)
    _print("\n".join([result.text, *remarks]))
    return result


def _answer(
    number: str, hint: int | None, namespace: dict[str, Any], strict: bool
) -> tuple[Verdict, list[str]]:
    with safety.Shelter(namespace) as shelter:
        try:
            exercise = find(number)()
        except ValueError as problem:
            return Verdict(_cut(number), False, 0, 0, _sentence(str(problem))), []
        if hint is not None:
            return _hint(exercise, hint), []
        safety.remember()  # the modules that `find` has loaded
        found = Judged("the exercise has no cases to try")
        cases: list[tuple[dict, Any]] = []
        every, ends = list(exercise.cases(0)), time.monotonic() + PATIENCE

        def run(place: int) -> dict[str, Any] | None:
            if time.monotonic() >= ends:
                return None
            return _value(exercise, shelter, exercise.given(dict(every[place])))

        each_given = (exercise.given(dict(case)) for case in every)
        for place, value in enumerate(_values_of(exercise, shelter, each_given)):
            case = every[place] if every else {}
            found = judged(exercise, case, value)
            if found.text:
                case, value, found = _smallest(exercise, every, place, value, found, run)
            cases.append((case, value))
            if found.text:
                break
        result = verdict(exercise, found)
        told = _told(exercise, cases) if result.right else []
        remarks: list[str] = []
        if not strict:
            svg, words = _picture(cases[-1][1]) if cases else ("", "")
            remarks = [*filter(None, [words]), *_remarks(exercise, result, shelter)]
            result = dataclasses.replace(result, picture=svg)
    return result, [*told, *shelter.remarks, *remarks]


def _smallest(
    exercise: Exercise, cases: list[dict], place: int, value: Any, found: Judged, run: Callable[[int], Any]
) -> tuple[dict, Any, Judged]:
    """Return the smallest case that fails with the same hint as the first one that fails, its value and its fault.

    Parameters
    ----------
    exercise, cases
        The exercise and all its cases.
    place, value, found
        The place of the first case that fails, its value, and what is wrong with it.
    run
        Gives the value of the case at a place, or None.
    """
    first = cases[place] if place < len(cases) else {}
    if not found.hint or not isinstance(value, dict) or "got" not in value:
        return first, value, found
    sizes = [max(SMALL, exercise.size(each)) for each in cases]
    for each in sorted(range(place + 1, len(cases)), key=sizes.__getitem__):
        if sizes[each] >= sizes[place]:
            break
        its_value = run(each)
        its = judged(exercise, cases[each], its_value) if its_value is not None else Judged()
        if its.text and its.hint == found.hint:
            return cases[each], its_value, its
    return first, value, found


def _remarks(exercise: Exercise, result: Verdict, shelter: safety.Shelter) -> list[str]:
    """Return the lines below a verdict; note the exercise as solved if the answer is right."""
    if result.right:
        shelter.renew()
        return solved.note(exercise.number, exercise.points)
    return [*shelter.output.told(), *_asking(exercise)]


def _asking(exercise: Exercise) -> list[str]:
    """Return the line that says how to ask for the hints."""
    others = [f"hint={number}" for number in range(2, len(exercise.hints) + 1)]
    then = f", then {' and '.join(others)}" if others else ""
    return [f'Hints: h2d.answer("{exercise.number}", hint=1){then}.'] if exercise.hints else []


def _told(exercise: Exercise, cases: list[tuple[dict, Any]]) -> list[str]:
    """Return the lines below a right answer: what was tried, what to see now, what is next, and remarks on cases."""
    values = [(case, value["got"]) for case, value in cases]
    following = after(exercise.number)
    line = " ".join(filter(None, [tried(values), exercise.see, f"Next: {following}." if following else ""]))
    return [line, *filter(None, (exercise.remark(dict(case), got) for case, got in values))]


def _picture(value: Any) -> tuple[str, str]:
    """Return the picture of what a run's threads touched and its words, two empty texts if the run did not record it."""
    touched = value.get("got", {}).get("touched") or {}
    return touches.picture(touched), touches.words(touched)


def _cut(text: Any) -> str:
    return message(ValueError(text))[:20]


def _hint(exercise: Exercise, hint: Any) -> Verdict:
    number, of, hints = exercise.number, exercise.points, exercise.hints
    if isinstance(hint, bool) or not isinstance(hint, int) or not 1 <= hint <= len(hints):
        which = f"{number} has the hints 1 to {len(hints)}" if hints else f"{number} has no hints"
        return Verdict(number, None, 0, of, f"{which}, but hint={_cut(repr(hint))} was given")
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
