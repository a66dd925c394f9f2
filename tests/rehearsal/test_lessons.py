"""The lessons in GPU mode: notebooks and solutions on the real numba-cuda and the real CuPy."""

import itertools
import subprocess
import sys

import pytest

from rehearsal import run, versions

# Lesson 2 shows a warning.
NOT_A_LEARNERS = {"H2D_MACHINE", "PYTHONWARNINGS", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"}
LESSONS = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13")


@pytest.mark.slow
@pytest.mark.one_in(2)  # each week a lesson has either today's versions or Colab's
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("lesson", "chosen"), [*itertools.product(LESSONS, ("today", "colab"))])
def test_no_cell_of_a_lesson_fails(environment_of, rehearsal_environment, chosen, lesson):
    if chosen == "colab" and not versions.torch_for_cpu():
        pytest.skip("the lessons import PyTorch, and there is no build of it for the CPU here")
    environment_of(versions.ALL[chosen])  # it is built, or the test is skipped
    command = [sys.executable, "-m", "rehearsal.notebooks", "--versions", chosen, lesson]
    environment = {key: value for key, value in rehearsal_environment.items() if key not in NOT_A_LEARNERS}
    done = subprocess.run(
        command, cwd=run.ROOT, env=environment, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.count("/" + lesson) == 2, "the notebook and its solutions"
