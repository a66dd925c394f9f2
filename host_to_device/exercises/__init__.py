"""Exercises: student notebooks made from the solutions, which are their one source."""

from host_to_device.exercises.building import build, student_version

__all__ = ["build", "student_version"]
