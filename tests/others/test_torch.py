"""PyTorch's operators on the stand-in device: tests generated from the database of operators in PyTorch's wheel.

`python -m tests.commands.others.run torch` shows what fails.
"""

import pytest

from tests.others import lanes, suites

pytest.importorskip("torch")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_only_what_is_expected_fails():
    suite = suites.torch()
    problems = lanes.problems(suite, suites.files(suite))
    assert not problems, "\n".join(problems)
