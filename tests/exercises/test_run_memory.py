"""What `run_memory` says about the device memory that a function takes: the peak, what is left, emptied caches."""

import pytest
import torch

from host_to_device.exercises.student_runs import run_memory
from host_to_device.starting.devices import device

MIB = 2**20


def tensor():
    return torch.ones(MIB // 4, device=device())


def test_a_result_that_is_kept_counts_at_the_peak_and_at_the_end():
    result, memory = run_memory(tensor)
    assert result.nbytes == memory["peak"] == memory["end"] == MIB


def test_a_temporary_tensor_counts_at_the_peak_only():
    _, memory = run_memory(lambda: float((tensor() + tensor()).sum()))
    assert 3 * MIB <= memory["peak"] < 3.5 * MIB
    assert memory["end"] == 0


def test_tensors_from_before_are_not_counted():
    before = tensor()
    _, memory = run_memory(lambda: before.add_(1))
    assert memory["peak"] == memory["end"] == 0


def test_a_freed_tensor_from_before_makes_the_end_negative():
    kept = [tensor()]
    _, memory = run_memory(kept.clear)
    assert memory["end"] == -MIB


@pytest.mark.parametrize("empties", [False, True])
def test_an_emptied_cache_is_seen(empties):
    torch.ones(16 * MIB, device=device())  # a segment of its own, which is free afterwards
    _, memory = run_memory(torch.get_device_module(device()).empty_cache if empties else tensor)
    assert bool(memory["emptied"]) == empties


def test_another_device_has_a_memory_of_its_own():
    if torch.accelerator.device_count() < 2:
        pytest.skip("this machine has one device")
    _, memory = run_memory(tensor, device(1))
    assert memory["peak"] == 0
