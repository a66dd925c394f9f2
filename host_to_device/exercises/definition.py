"""What an exercise is: a class in a cell tagged `check` of a solution notebook.

An exercise of `solutions/NN-name.ipynb` is made of these cells, in this order:

=========  ==============================================  ==========================================================
cell       marked by                                       holds
=========  ==============================================  ==========================================================
task       markdown, "## NN.k The title (5 minutes)"       what to write
given      code, nothing                                   what the student gets as it is
solution   code, nbgrader `solution: true`                 `### BEGIN SOLUTION` … `### END SOLUTION`; one or more
check      code, tag `check`                               imports and one subclass of `Exercise`, nothing else
answer     code, nbgrader `grade: true`, `points`          `h2d.answer("NN.k")` and nothing else
wrong      markdown, tag `wrong`                           a title in bold, a ```python fence, a quotation (`> …`): what
                                                           the check says; three or more
why        markdown, tag `solution-only`                   why the solution works
=========  ==============================================  ==========================================================

`make exercises` leaves out check, wrong and why of the student's notebook, and writes the classes into
`host_to_device/exercises/sets/setNN.py`, which goes out with the library. A check looks like this:

    from host_to_device.exercises import Exercise, inputs, judge_kernel, run_kernel, Out


    class Saxpy(Exercise):
        \"\"\"One thread, one element.\"\"\"

        number, points, minutes = "02.1", 2, 5
        needs = ("kernel saxpy(alpha, x, y, out)",)
        hints = ("Which element is yours?", "There are more threads than elements.", "if i < out.size: out[i] = …")

        def cases(self, seed):
            return inputs.launches(seed)

        def run(self, student, case):
            x, y = inputs.distinct(case["size"], seed=case["seed"]), inputs.distinct(case["size"], seed=case["seed"] + 1)
            return run_kernel(student.saxpy, (2.5, x, y, Out(x.shape, x.dtype)), case["grid"], case["block"])

        def judge(self, case, got):
            x, y = inputs.distinct(case["size"], seed=case["seed"]), inputs.distinct(case["size"], seed=case["seed"] + 1)
            judge_kernel(got, 2.5 * x + y, mistakes=[(x + y, "Where has alpha gone?")])

`run` happens where the student's code is, `judge` possibly in another process: what passes between them is plain
values (`values.plain`). Neither may need what only the other has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

# What `needs` can ask for.
KINDS = ("kernel", "device function", "function", "class", "array", "number")
NEED = re.compile(rf"(?:({'|'.join(KINDS)}) )?([^\W\d]\w*)(?:\(((?:[^\W\d]\w*(?:, *(?=\w))?)*)\))?")
NUMBER = re.compile(r"(\d\d)\.(\d+)")

# Classes by exercise number, as a notebook has defined them: while a set is written, they go before the shipped ones.
in_notebook: dict[str, type[Exercise]] = {}


class Wrong(Exception):
    """Raised by `judge`: the answer is wrong.

    Parameters
    ----------
    text
        What is wrong, in the learner's words: "element 128 was never written". It follows the case, as in
        "size 1,000, block 128: element 128 was never written".
    hint
        What to look at, or to do; one misconception has one hint.
    lines
        The learner's lines at fault, as they are to be printed ("   4 |     out[i] = x[i]").
    """

    def __init__(self, text: str, hint: str = "", lines: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.text, self.hint, self.lines = text, hint, tuple(lines)


@dataclass(frozen=True)
class Need:
    """A name that the student has to define: its kind (one of `KINDS`, or "" for anything) and its parameters.

    `parameters` is None where nothing is said about them.
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
            If it is written otherwise.
        """
        found = NEED.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no need: write it like 'kernel saxpy(x, y, out)' or 'array total'")
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
        "NN.k": the set and the number in it.
    points, minutes
        What it is worth (as the answer cell's nbgrader points), and how long it takes (as the task's title says).
    needs
        What the student defines, each as `Need.read` takes it. The number of parameters is compared, their names
        are not.
    hints
        Three, of rising strength: `h2d.answer("02.1", hint=1)`; the last is nearly the answer.
    raised
        Pairs of a text and a hint: the hint for code that raises, or a kernel that fails, with that text in its
        message.
    seconds
        Time after which one `run` is stopped, 20 unless said.

    All of these are written as literals, so that they can be read without running the cell.
    """

    number: ClassVar[str] = ""
    points: ClassVar[int] = 0
    minutes: ClassVar[int] = 0
    needs: ClassVar[tuple[str, ...]] = ()
    hints: ClassVar[tuple[str, ...]] = ()
    raised: ClassVar[tuple[tuple[str, str], ...]] = ()
    seconds: ClassVar[float] = 20.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == "__main__" and cls.number:
            in_notebook[cls.number] = cls

    def cases(self, seed: int) -> Iterable[dict[str, Any]]:
        """Return what is to be tried: dicts of what JSON can hold, the telling ones first.

        Parameters
        ----------
        seed
            0 for what a learner sees; graders take others. The same seed gives the same cases.
        """
        raise NotImplementedError

    def run(self, student: Any, case: dict[str, Any]) -> dict[str, Any]:
        """Run the student's code on one case and return plain values, by name.

        Parameters
        ----------
        student
            The student's objects as attributes: `student.saxpy`; those of `needs`, checked before.
        case
            One of `cases`.

        Whatever the student's code raises may pass through: it is caught and reported.
        """
        raise NotImplementedError

    def judge(self, case: dict[str, Any], got: Mapping[str, Any]) -> None:
        """Raise `Wrong` if what `run` has returned for this case is not right.

        Parameters
        ----------
        case
            The case, made anew from the seed.
        got
            What `run` returned, after a journey through JSON and NumPy's files: tuples have become lists, arrays
            are NumPy's, and what is neither is a `values.Strange`, which says what it was.
        """
        raise NotImplementedError

    def remark(self, case: dict[str, Any], got: Mapping[str, Any]) -> str:
        """Return a line to be told below a right answer, such as what could not be tried here; "" for none.

        Parameters
        ----------
        case, got
            As for `judge`, which has not raised.
        """
        return ""

    def says(self, case: dict[str, Any]) -> str:
        """Return a case in a few of the learner's words, as a message begins with them: "size 1,000, block 128"."""
        shown = {name: value for name, value in case.items() if name != "seed"}
        return ", ".join(f"{name.replace('_', ' ')} {_said(value)}" for name, value in shown.items())

    @classmethod
    def wanted(cls) -> tuple[Need, ...]:
        """Return `needs`, read."""
        return tuple(Need.read(each) for each in cls.needs)

    @classmethod
    def title(cls) -> str:
        """Return the first line of the docstring, without its full stop."""
        return (cls.__doc__ or "").strip().split("\n")[0].rstrip(".")


def _said(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " × ".join(map(_said, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def normal_number(number: Any) -> str:
    """Return an exercise number as it is written: "2.1" and " 02.1 " are "02.1".

    Raises
    ------
    ValueError
        If it is no number of an exercise.
    """
    found = re.fullmatch(r"\s*(\d{1,2})\.(\d{1,2})\s*", number) if isinstance(number, str) else None
    if found is None:
        raise ValueError(f'{number!r} is no number of an exercise: write it like "02.1"')
    return f"{int(found[1]):02d}.{int(found[2])}"
