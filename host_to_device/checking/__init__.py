"""The check: what a GPU hides, in the learner's own lines.

`check(kernel)[grid, block](…)` runs a kernel under watch, on copies of its arguments, and reports what is wrong
with it even where the result is right. The rule for races stands in `memory`.
"""

from host_to_device.checking.checks import Check, CheckError, check
from host_to_device.checking.report import Finding, Report

__all__ = ["Check", "CheckError", "Finding", "Report", "check"]
