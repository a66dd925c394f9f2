"""Exercises: what `h2d.answer` checks in a learner's notebook, and how.

`definition` says what an exercise is made of: read it first. `answering` runs and judges an answer.
"""

from host_to_device.exercises import inputs, safety
from host_to_device.exercises.answering import AnswerError, answer, collect, given_of, judge
from host_to_device.exercises.arithmetic import wide_operations
from host_to_device.exercises.definition import Exercise, Wrong
from host_to_device.exercises.judging import (
    as_numbers,
    judge_array,
    judge_banks,
    judge_choice,
    judge_counts,
    judge_float32,
    judge_function,
    judge_kernel,
    judge_ratio,
    judge_requests,
    judge_sectors,
    named,
)
from host_to_device.exercises.solved import progress
from host_to_device.exercises.student_runs import (
    InOut,
    Out,
    run_counted,
    run_function,
    run_kernel,
    run_memory,
    run_notes,
    run_ratio,
    seen_launches,
    torch_places,
)
from host_to_device.exercises.touches import touches
from host_to_device.exercises.verdicts import Verdict

__all__ = [
    "AnswerError",
    "Exercise",
    "InOut",
    "Out",
    "Verdict",
    "Wrong",
    "answer",
    "as_numbers",
    "collect",
    "given_of",
    "inputs",
    "judge",
    "judge_array",
    "judge_banks",
    "judge_choice",
    "judge_counts",
    "judge_float32",
    "judge_function",
    "judge_kernel",
    "judge_ratio",
    "judge_requests",
    "judge_sectors",
    "named",
    "progress",
    "run_counted",
    "run_function",
    "run_kernel",
    "run_memory",
    "run_notes",
    "run_ratio",
    "seen_launches",
    "torch_places",
    "touches",
    "wide_operations",
]

safety.remember()  # all modules that an answer relies on are loaded now, and no notebook has changed them yet
