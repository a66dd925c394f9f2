"""What a run of an exercise is given: all that the process of the student's code can find."""

import inspect
import pickle

import numpy as np
import pytest

from host_to_device import exercises
from host_to_device.exercises import catalogue, values

EVERY = [cls for number in catalogue.set_numbers() for cls in catalogue.in_set(number)]


def names_in(value) -> set[str]:
    """Return the names of all dicts in a value."""
    if isinstance(value, dict):
        return {str(name) for name in value}.union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list | tuple) else set()


def test_there_are_exercises():
    assert len(EVERY) >= 180


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.number)
def test_a_run_is_given_no_seed_and_nothing_that_lives_on_a_device(cls):
    assert [*inspect.signature(cls.run).parameters] == ["self", "student", "given"]
    for seed in (0, 12345):
        given = exercises.given_of(cls.number, seed)
        assert given and all(isinstance(each, dict) for each in given)
        assert "seed" not in names_in(given)
        copied = pickle.loads(pickle.dumps(given))
        again = exercises.given_of(cls.number, seed)
        assert [values.packed(each).keys() for each in copied] == [
            values.packed(each).keys() for each in again
        ]
        for one, other in zip(copied, again, strict=True):
            for name in one:
                np.testing.assert_equal(one[name], other[name])
