"""The verdict on an answer: one case judged from plain values, and the line that says the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from host_to_device.exercises.definition import Exercise, Wrong
from host_to_device.rendering.palette import DARK


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
    picture
        A picture of what the answer did, as SVG; "" for none.
    """

    number: str
    right: bool | None
    points: float
    of: float
    text: str
    picture: str = ""

    def __bool__(self) -> bool:
        return self.right is True

    def __repr__(self) -> str:
        return self.text

    def _ipython_display_(self) -> None:
        """Show the picture; the text has been printed."""
        if self.picture:
            from IPython.display import HTML, display

            display(HTML(f'{DARK}<div class="h2d-figure">{self.picture}</div>'))


@dataclass(frozen=True)
class Judged:
    """What is wrong with one case: an empty `text` means nothing."""

    text: str = ""
    hint: str = ""
    lines: tuple[str, ...] = ()
    written: bool = True


NOTHING = Judged("the run returned no result")


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
        if case and not failed.get("at once") and exercise.says(case):
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
            f"{exercise.says(case)}: the result has a form that the check does not expect ({type(problem).__name__})"
        )
    return Judged()


def _hint_for(exercise: Exercise, text: str) -> str:
    return next((hint for part, hint in exercise.raised if part in text), "")


def _texts(lines: Any) -> tuple[str, ...]:
    return tuple(str(each)[:220] for each in lines[:6]) if isinstance(lines, list | tuple) else ()


def tried(cases: Sequence[tuple[dict, Any]]) -> str:
    """Return a sentence or two on what a right answer was tried with: its cases, their sizes, and launches.

    Parameters
    ----------
    cases
        Each case with the values that the exercise's `run` gave for it.
    """
    said = f"Tried: {len(cases):,} case{'s' * (len(cases) != 1)}"
    if spread := _spread([_elements(case) for case, _ in cases]):
        said += f", {spread} element{'' if spread == '1' else 's'}"
    elif spread := _spread([case.get("size") for case, _ in cases]):
        said += f", size {spread}"
    reports = [found for _, got in cases for found in _findings(got)]
    if reports and not any(reports):
        said += f". h2d.check found no errors in {len(reports):,} launch{'es' * (len(reports) != 1)}"
    return f"{said}."


def _elements(case: dict) -> int | None:
    """Return how many elements the array of a case has; None if the case does not say it."""
    sides: Any
    if "rows" in case:
        sides = [case["rows"], case.get("columns")]
    else:
        # Without a launch, a size may be something else, such as the side of an image.
        sides = case.get("shape", [case.get("size")] if "grid" in case else None)
    if isinstance(sides, list | tuple) and all(type(side) is int for side in sides):
        return math.prod(sides)
    return None


def _spread(numbers: Sequence[Any]) -> str:
    """Return the smallest and the largest number, such as "1 to 300"; an empty string if some are no numbers."""
    if not numbers or not all(type(each) is int for each in numbers):
        return ""
    least, most = min(numbers), max(numbers)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _findings(got: Any) -> Iterator[Any]:
    """Yield the findings of each kernel that `run_kernel` has checked; they may lie anywhere in the values of a run."""
    if isinstance(got, dict):
        if "findings" in got and "names" in got:
            yield got["findings"]
        else:
            for value in got.values():
                yield from _findings(value)
    elif isinstance(got, list | tuple):
        for value in got:
            yield from _findings(value)


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
