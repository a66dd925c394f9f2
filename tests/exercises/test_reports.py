"""The reports of exercise 06.8: the doctor, which does not know the exercise, names the causes that the check expects."""

import ast

import pytest

import host_to_device as h2d
from host_to_device.exercises import catalogue
from tests.exercises.test_sets import SOLUTIONS, parts

# What the doctor calls the causes of the exercise; it has no rule for a container with few cores, and is silent then.
CAUSES = {
    "cpu-only-build": "torch-cpu-only-build",
    "driver-too-old": "driver-too-old-for-runtime",
    "no-kernel-image": "torch-too-old-for-card",
    "container-without-gpus": "container-started-without-gpus",
    "work-on-cpu": "gpu-idle-work-on-cpu",
    "few-cores": None,
}


def reports() -> dict[str, str]:
    [part] = [part for path in SOLUTIONS for part in parts(path) if part.number == "06.8"]
    [given] = [cell.source for cell in part.cells if cell.source.startswith("REPORTS = ")]
    return ast.literal_eval(given.removeprefix("REPORTS = "))


def test_every_report_has_a_cause():
    assert list(reports()) == [case["report"] for case in catalogue.find("06.8")().cases(0)]


@pytest.mark.parametrize("letter", "ABCDEF")
def test_the_doctor_names_the_cause_of_a_report(letter):
    found = [finding.id for finding in h2d.doctor(reports()[letter]).findings]
    exercise = catalogue.find("06.8")()
    [cause] = [cause for cause, named in CAUSES.items() if found == ([named] if named else [])]
    exercise.judge({"report": letter}, {"result": cause})
