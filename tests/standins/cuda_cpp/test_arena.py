"""Device memory that kernels share: where it lies, when it is free again, and what forks and threads do to it."""

import gc
import itertools
import os
import threading

import numpy as np
import pytest

from host_to_device.standins.cuda_cpp import arena


def test_memory_is_aligned_and_of_the_size_that_was_asked_for():
    for nbytes in (0, 1, 255, 256, 257, 1 << 20):
        memory = arena.allocate(nbytes)
        assert memory.dtype == np.uint8 and memory.shape == (nbytes,)
        assert memory.ctypes.data % 256 == 0


def test_only_its_own_memory_is_owned():
    memory = arena.allocate(100)
    assert arena.owns(memory)
    assert arena.owns(memory[3:].view(np.int8))
    assert not arena.owns(np.zeros(100))


def test_negative_sizes_are_refused():
    with pytest.raises(ValueError, match="cannot allocate -1 bytes"):
        arena.allocate(-1)


def test_memory_lives_as_long_as_a_view_and_no_longer():
    memory = arena.allocate(123_456)
    address = memory.ctypes.data
    view = memory[8:16].view(np.float64)
    del memory
    gc.collect()
    assert arena.allocate(123_456).ctypes.data != address
    del view
    gc.collect()
    assert arena.allocate(123_456).ctypes.data == address


def test_arrays_never_overlap_and_free_pieces_are_joined():
    rng = np.random.default_rng(0)
    live = []
    for number in range(3000):
        if live and rng.random() < 0.5:
            live.pop(rng.integers(len(live)))
        else:
            live.append(arena.allocate(int(rng.integers(0, 100_000))))
            live[-1][:] = number % 251
    places = sorted((each.ctypes.data, each.size) for each in live if each.size)
    assert all(start + size < after for (start, size), (after, _) in itertools.pairwise(places))
    live.clear()
    gc.collect()
    before = arena.arena().size
    arena.allocate(10 << 20)
    assert arena.arena().size == before


def test_it_grows_beyond_its_first_chunk():
    memory = arena.allocate(3 * arena.CHUNK)
    memory[::4096] = 7
    assert memory[::4096].sum() == 7 * len(memory[::4096])


def test_the_table_counts_the_valid_bytes():
    shared = arena.arena()
    memory = arena.allocate(600)
    first = (memory.ctypes.data - shared.base) // arena.GRANULE
    assert shared.valid[first : first + 4].tolist() == [256, 256, 88, 0]


def test_several_threads_allocate_at_once():
    def work(number):
        for _ in range(200):
            memory = arena.allocate(1000)
            memory[:] = number
            wrong.extend(memory[memory != number].tolist())

    wrong = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_allocates_for_itself():
    mine = arena.allocate(5000)
    mine[:] = 1
    child = os.fork()
    if child == 0:
        theirs = arena.allocate(5000)
        theirs[:] = 2
        os._exit(0 if arena.owns(theirs) and arena.owns(mine) and arena.arena().used < 10_000 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (mine == 1).all()


def test_where_memory_cannot_be_shared_it_is_numpys_own():
    private = arena.PrivateArena()
    memory = private.allocate(1000)
    address = memory.ctypes.data
    assert address % 256 == 0 and memory.shape == (1000,)
    assert private.owns(address) and private.owns(address + 999)
    del memory
    gc.collect()
    assert not private.owns(address)
