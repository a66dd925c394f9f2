"""Ranks as threads: messages arrive in order and are counted, and a group that hangs is stopped."""

import threading

import numpy as np
import pytest

from host_to_device.exercises.ranks import Hang, run_ranks


def test_a_message_goes_to_the_right_neighbour_as_a_copy():
    def around(worker):
        mine = np.full(3, worker.rank, np.float32)
        worker.send(mine)
        mine += 10
        return worker.receive()[0]

    ran = run_ranks(3, around)
    assert ran.results == [2, 0, 1]
    assert ran.messages == [1, 1, 1] and ran.bytes == [12, 12, 12]


def test_all_reduce_adds_arrays_and_numbers_for_every_rank():
    ran = run_ranks(4, lambda worker: (worker.all_reduce(worker.rank), worker.all_reduce(np.ones(2))[1]))
    assert ran.results == [(6, 4.0)] * 4


def test_ranks_of_one_group_get_sums_of_their_own():
    def change(worker):
        total = worker.all_reduce(np.ones(2))
        total += worker.rank
        return total[0]

    assert run_ranks(2, change).results == [2, 3]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda worker: worker.receive(), "rank 0 waits in receive, rank 1 waits in receive"),
        (
            lambda worker: worker.all_reduce(1) if worker.rank == 0 else None,
            "rank 0 waits in all_reduce, but rank 1 has returned",
        ),
    ],
)
def test_a_hang_is_stopped_and_says_where_each_rank_is(function, says):
    before = threading.active_count()
    with pytest.raises(Hang, match=says):
        run_ranks(2, function)
    assert threading.active_count() == before


def test_the_error_of_a_rank_is_raised_and_ends_the_others():
    before = threading.active_count()

    def fail(worker):
        if worker.rank == 1:
            raise ZeroDivisionError("of rank 1")
        return worker.receive()

    with pytest.raises(ZeroDivisionError, match="of rank 1"):
        run_ranks(3, fail)
    assert threading.active_count() == before


def test_other_arguments_are_named():
    with pytest.raises(TypeError, match="send takes one NumPy array, not list"):
        run_ranks(1, lambda worker: worker.send([1, 2]))
    with pytest.raises(ValueError, match=r"\(2,\) of rank 0, \(3,\) of rank 1"):
        run_ranks(2, lambda worker: worker.all_reduce(np.ones(2 + worker.rank)))
