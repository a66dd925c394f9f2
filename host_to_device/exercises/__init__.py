"""Exercises: student notebooks made from the solutions, which are their one source, and answers that are checked.

`definition` says what an exercise is made of; it is what to read first.
"""

from typing import Any

from host_to_device.exercises import inputs
from host_to_device.exercises.answering import AnswerError, Verdict, answer, collect, judge
from host_to_device.exercises.arithmetic import wide_operations
from host_to_device.exercises.definition import Exercise, Wrong
from host_to_device.exercises.judging import (
    as_numbers,
    judge_array,
    judge_banks,
    judge_counts,
    judge_function,
    judge_kernel,
    judge_ratio,
    judge_requests,
    judge_sectors,
)
from host_to_device.exercises.solved import progress
from host_to_device.exercises.student_runs import (
    InOut,
    Out,
    run_function,
    run_kernel,
    run_notes,
    run_ratio,
    seen_launches,
)

__all__ = [
    "AnswerError",
    "Exercise",
    "InOut",
    "Out",
    "Verdict",
    "Wrong",
    "answer",
    "as_numbers",
    "build",
    "collect",
    "inputs",
    "judge",
    "judge_array",
    "judge_banks",
    "judge_counts",
    "judge_function",
    "judge_kernel",
    "judge_ratio",
    "judge_requests",
    "judge_sectors",
    "progress",
    "run_function",
    "run_kernel",
    "run_notes",
    "run_ratio",
    "seen_launches",
    "student_version",
    "wide_operations",
]


def __getattr__(name: str) -> Any:
    # Making notebooks needs nbformat, which a learner's machine may not have.
    if name in ("build", "student_version"):
        from authoring import building

        return getattr(building, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
