"""The verdict on an answer: one case judged from plain values, and the line that says the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from host_to_device.exercises.definition import Exercise, Wrong


@dataclass(frozen=True)
class Verdict:
    """How an answer was judged.

    Attributes
    ----------
    number
        The number of the exercise.
    right
        Whether the answer is right; None where nothing was judged, as when a hint was asked for.
    points, of
        The points given, and the points of the exercise.
    text
        The line or lines that are printed.
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


@dataclass(frozen=True)
class Judged:
    """What is wrong with one case: an empty `text` means nothing."""

    text: str = ""
    hint: str = ""
    lines: tuple[str, ...] = ()
    written: bool = True


NOTHING = Judged("nothing came out of it")


def judged(exercise: Exercise, case: dict, value: Any) -> Judged:
    """Judge one case.

    Parameters
    ----------
    exercise, case
        The exercise, and one of its cases.
    value
        `{"got": values}` or `{"failed": {…}}`. It may come from another process, so nothing in it is trusted.
    """
    if not isinstance(value, dict):
        return NOTHING
    failed = value.get("failed")
    if failed is not None:
        if not isinstance(failed, dict):
            return NOTHING
        if failed.get("kind") == "not written":
            return Judged("not written", written=False)
        text = str(failed.get("text", ""))
        if case and not failed.get("at once"):
            text = f"{exercise.says(case)}: {text}"
        hint = str(failed.get("hint", ""))
        if failed.get("kind") == "raised":
            hint = _hint_for(exercise, text) or hint
        return Judged(text or NOTHING.text, hint, _texts(failed.get("lines")))
    try:
        exercise.judge(dict(case), value["got"])
    except Wrong as wrong:
        told = f"{exercise.says(case)}: {wrong.text}" if case and exercise.says(case) else wrong.text
        hint = _hint_for(exercise, wrong.text) if wrong.text.startswith("failed: ") else ""
        return Judged(told, hint or wrong.hint, _texts(wrong.lines))
    except Exception as problem:
        return Judged(
            f"{exercise.says(case)}: what came out has not the form that was expected ({type(problem).__name__})"
        )
    return Judged()


def _hint_for(exercise: Exercise, text: str) -> str:
    return next((hint for part, hint in exercise.raised if part in text), "")


def _texts(lines: Any) -> tuple[str, ...]:
    return tuple(str(each)[:220] for each in lines[:6]) if isinstance(lines, list | tuple) else ()


def verdict(exercise: Exercise, judged: Judged) -> Verdict:
    """Return the verdict on an exercise from its first case that is not right, or from the last case."""
    number, of = exercise.number, exercise.points
    if not judged.text:
        points = "1 point" if of == 1 else f"{of:,} points"
        return Verdict(number, True, of, of, f"{number} is right: {of} of {points}")
    if not judged.written:
        return Verdict(number, False, 0, of, f"{number} is not written yet")
    text = [f"{number} is not right yet: {judged.text}", *judged.lines]
    text += [f"Hint: {judged.hint}"] if judged.hint else []
    return Verdict(number, False, 0, of, "\n".join(text))
