"""What an exercise is: a class in a cell tagged `check` of a solution notebook.

An exercise of `solutions/NN-name.ipynb` is made of these cells, in this order:

=========  ==============================================  ==========================================================
cell       marked by                                       holds
=========  ==============================================  ==========================================================
task       markdown, "## NN.k The title (5 minutes)"       what to write; "(60 minutes, optional)" is not of the core
given      code, nothing                                   what the student gets as it is
solution   code, nbgrader `solution: true`                 `### BEGIN SOLUTION` … `### END SOLUTION`; one or more
check      code, tag `check`                               imports and one subclass of `Exercise`, nothing else
answer     code, nbgrader `grade: true`, `points`          `h2d.answer("NN.k")` and nothing else
wrong      markdown, tag `wrong`                           a title in bold, a ```python fence, a quotation (`> …`): what
                                                           the check says; three or more
why        markdown, tag `solution-only`                   why the solution works
=========  ==============================================  ==========================================================

A set opens with puzzles: small exercises whose number ends with a letter, "02.a", and which need the lesson's first
section only. `make exercises` makes the student's notebook, without the cells check, wrong and why. The library finds the classes in
the check cells (`catalogue`). A check looks like this:

    from host_to_device.exercises import Exercise, inputs, judge_kernel, run_kernel, Out


    class Saxpy(Exercise):
        \"\"\"One thread, one element.\"\"\"

        number, points, minutes = "02.1", 2, 5
        needs = ("kernel saxpy(alpha, x, y, out)",)
        hints = ("Which element is yours?", "There are more threads than elements.", "if i < out.size: out[i] = …")

        def cases(self, seed):
            return inputs.launches(seed)

        def given(self, case):
            x, y = (inputs.distinct(case["size"], seed=case["seed"] + more) for more in (0, 1))
            return super().given(case) | {"x": x, "y": y}

        def run(self, student, given):
            x, y = given["x"], given["y"]
            return run_kernel(student.saxpy, (2.5, x, y, Out(x.shape, x.dtype)), given["grid"], given["block"])

        def judge(self, case, got):
            given = self.given(case)
            x, y = given["x"], given["y"]
            judge_kernel(got, 2.5 * x + y, mistakes=[(x + y, "Where has alpha gone?")])

`run` is called in the process that has the student's code, `given` and `judge` possibly in another process. `given`
passes to `run` what the student's code may know, and plain values (`values.plain`) pass from `run` to `judge`. `run`
does not know what is right, and `judge` does not see the code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

# The kinds of object that `needs` can ask for.
KINDS = ("kernel", "device function", "function", "class", "array", "number")
NEED = re.compile(rf"(?:({'|'.join(KINDS)}) )?([^\W\d]\w*)(?:\(((?:[^\W\d]\w*(?:, *(?=\w))?)*)\))?")
NUMBER = re.compile(r"(\d\d)\.(\d+|[a-z])")

# Classes by exercise number, as a notebook has defined them: while an author writes a set, they replace the shipped ones.
in_notebook: dict[str, type[Exercise]] = {}


class Wrong(Exception):
    """Raised by `judge`: the answer is wrong.

    Parameters
    ----------
    text
        What is wrong, in the learner's words: "the kernel does not write out[128]". The case is printed before it, as in
        "size 1,000, block 128: the kernel does not write out[128]".
    hint
        What to look at, or what to do; each misconception has a hint of its own.
    lines
        The learner's lines at fault, as they are printed ("   4 |     out[i] = x[i]").
    """

    def __init__(self, text: str, hint: str = "", lines: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.text, self.hint, self.lines = text, hint, tuple(lines)


@dataclass(frozen=True)
class Need:
    """A name that the student has to define: its kind (one of `KINDS`, or "" for any) and its parameters.

    `parameters` is None if any parameters will do.
    """

    name: str
    kind: str = ""
    parameters: tuple[str, ...] | None = None

    @classmethod
    def read(cls, text: str) -> Need:
        """Read a need as it is written: "saxpy", "kernel saxpy(alpha, x, y, out)", "function trip(a, b)", "array x".

        Raises
        ------
        ValueError
            If the text has another form.
        """
        found = NEED.fullmatch(text)
        if found is None:
            raise ValueError(
                f"{text!r} is not a need: write it like 'kernel saxpy(x, y, out)' or 'array total'"
            )
        kind, name, parameters = found.groups()
        named = None
        if parameters is not None:
            named = tuple(each.strip() for each in parameters.split(",") if each.strip())
        return cls(name, kind or "", named)


class Exercise:
    """One exercise: what it asks for, how it is run and how it is judged.

    Attributes
    ----------
    number
        "NN.k": the set, and the number of the exercise in the set, or the letter of a puzzle.
    points, minutes
        The points (the same as in the answer cell's nbgrader metadata), and the time in minutes (the same as in the
        task's title).
    needs
        The names that the student defines, each in the form that `Need.read` takes. The number of parameters is
        compared; the names of the parameters are not.
    hints
        Three hints of rising strength: `h2d.answer("02.1", hint=1)`. The last hint is nearly the answer.
    raised
        Pairs of a text and a hint: if code raises or a kernel fails with that text in the message, the hint is shown.
    see
        A sentence below a right answer: what is worth seeing in the model answer now.
    optional
        Whether the exercise is beyond the core of its set.
    seconds
        Time in seconds after which one `run` is stopped; 20 by default. A run that keeps the processor busy is stopped
        after a quarter of it.

    The class states all of these as literals, so that they can be read without running the cell.
    """

    number: ClassVar[str] = ""
    points: ClassVar[int] = 0
    minutes: ClassVar[int] = 0
    needs: ClassVar[tuple[str, ...]] = ()
    hints: ClassVar[tuple[str, ...]] = ()
    raised: ClassVar[tuple[tuple[str, str], ...]] = ()
    see: ClassVar[str] = ""
    optional: ClassVar[bool] = False
    seconds: ClassVar[float] = 20.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == "__main__" and cls.number:
            in_notebook[cls.number] = cls

    def cases(self, seed: int) -> Iterable[dict[str, Any]]:
        """Return the cases to try: dicts of values that JSON can hold. Cases that show the most mistakes come first.

        Parameters
        ----------
        seed
            0 for the cases that a learner sees; graders take other seeds. The same seed gives the same cases.
        """
        raise NotImplementedError

    def given(self, case: dict[str, Any]) -> dict[str, Any]:
        """Return what `run` needs for a case: by default the case without its seed.

        A grader calls it where no student's code runs, and sends the result to the process of the student's code. That
        code can find everything that `run` gets, so nothing in it may tell more of the right answer than the task's
        arguments do: arrays, and never the seed that they are made from.

        Parameters
        ----------
        case
            One of `cases`.

        Returns
        -------
        dict
            Values that `pickle` can copy, such as NumPy arrays: nothing on a device.
        """
        return {name: value for name, value in case.items() if name != "seed"}

    def run(self, student: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Run the student's code on one case and return plain values, by name.

        Parameters
        ----------
        student
            The student's objects as attributes: `student.saxpy`. Those in `needs` have been checked.
        given
            What `given` has returned for the case.

        Where the values have what `touches` returned as "touched", a picture below the verdict, right or wrong, shows
        which threads write which elements of `out`. Exceptions of the student's code may pass through: the caller catches and reports them.
        """
        raise NotImplementedError

    def judge(self, case: dict[str, Any], got: Mapping[str, Any]) -> None:
        """Raise `Wrong` if the values that `run` returned for this case are not right.

        Parameters
        ----------
        case
            The case, made again from the seed.
        got
            The values that `run` returned, after a journey through JSON and NumPy's files: tuples have become lists,
            arrays are NumPy's, and any other object is a `values.Strange`, which names the object.
        """
        raise NotImplementedError

    def size(self, case: dict[str, Any]) -> int:
        """Return how large a case is: of those that fail for one reason, a verdict shows the smallest.

        By default that is the product of all whole numbers of the case, the seed and 0 left out, in lists and tuples,
        too.
        """
        return math.prod(_whole_numbers([value for name, value in case.items() if name != "seed"]))

    def remark(self, case: dict[str, Any], got: Mapping[str, Any]) -> str:
        """Return a line to print below a right answer, such as what could not be tried on this machine; "" for none.

        Parameters
        ----------
        case, got
            As for `judge`, which has raised nothing.
        """
        return ""

    def says(self, case: dict[str, Any]) -> str:
        """Return a case in a few words of the learner's, for the start of a message: "size 1,000, block 128"."""
        shown = {name: value for name, value in case.items() if name != "seed"}
        return ", ".join(f"{name.replace('_', ' ')} {_said(value)}" for name, value in shown.items())

    @classmethod
    def wanted(cls) -> tuple[Need, ...]:
        """Return `needs` as `Need` objects."""
        return tuple(Need.read(each) for each in cls.needs)

    @classmethod
    def title(cls) -> str:
        """Return the first line of the docstring, without its full stop."""
        return (cls.__doc__ or "").strip().split("\n")[0].rstrip(".")


def _whole_numbers(values: Iterable[Any]) -> Iterator[int]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _whole_numbers(value)
        elif type(value) is int and value:
            yield abs(value)


def place_in_set(number: str) -> tuple[int, str]:
    """Return a key that sorts the numbers of a set: first the puzzles by their letters, then the exercises."""
    _, _, last = number.partition(".")
    return (int(last), "") if last.isdigit() else (0, last)


def _said(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " × ".join(map(_said, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def normal_number(number: Any) -> str:
    """Return an exercise number as it is written: "2.1" and " 02.1 " are "02.1", "2.A" is "02.a".

    Raises
    ------
    ValueError
        If it is not the number of an exercise.
    """
    found = (
        re.fullmatch(r"\s*(\d{1,2})\.(?:(\d{1,2})|([A-Za-z]))\s*", number)
        if isinstance(number, str)
        else None
    )
    if found is None:
        raise ValueError(f'{number!r} is not the number of an exercise: write it like "02.1"')
    return f"{int(found[1]):02d}.{int(found[2]) if found[2] else found[3].lower()}"
