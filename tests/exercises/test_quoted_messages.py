"""The messages that task 08.1 quotes are the ones that PyTorch raises on the stand-in."""

import re

import pytest

from host_to_device.exercises import catalogue
from tests.exercises.test_sets import SOLUTIONS, parts, stand_in  # noqa: F401

pytest.importorskip("torch")
[SET] = [path for path in SOLUTIONS if path.name.startswith("08-")]


def test_each_quoted_message_is_raised_by_its_line():
    [part] = [each for each in parts(SET) if each.number == "08.1"]
    rows = re.findall(r"^\| (\d) \| `(.+?)`.*? \| \*(.+?)\*", part.task.source, re.M)
    assert [number for number, _, _ in rows] == list("123456")
    exercise = catalogue.find("08.1")()
    for number, quoted_line, message in rows:
        line, objects, _ = exercise.program(int(number))
        assert line == quoted_line
        assert exercise.error(line, objects) == message.replace(
            "…", "Expected all tensors to be on the same device"
        )
