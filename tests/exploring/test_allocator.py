"""The explorer of the caching allocator: its rules against PyTorch's stand-in device, its picture, and its two faces."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.exploring import allocator
from host_to_device.exploring.allocator import BATCHES, CAPACITY, MIB, Allocator, AllocatorPicture, run

CONTROLS = AllocatorPicture.controls
CELL = 64 * 1024  # bytes


def steps_at_random(seed, count=250):
    """Return allocations (name, bytes) and frees (name, 0) and empty_cache ("", 0) in random order."""
    random = np.random.default_rng(seed)
    alive, found = [], []
    for number in range(count):
        kind = random.random()
        if kind < 0.42 and alive:
            found.append((alive.pop(random.integers(len(alive))), 0))
        elif kind < 0.47:
            found.append(("", 0))
        else:
            largest = random.choice([4_000, 1_200_000, 12_000_000, 40_000_000])
            found.append((f"t{number}", int(random.integers(1, largest))))
            alive.append(f"t{number}")
    return found


def trace(steps, memory):
    """Run steps on an allocator of the model; return after each whether it was refused, and its bytes."""
    found = []
    for name, nbytes in steps:
        refused = False
        if nbytes:
            refused = not memory.allocate(name, nbytes)
        elif name:
            memory.free(name)
        else:
            memory.empty_cache()
        found.append([refused, memory.allocated, memory.reserved])
    return found


CHILD = """
import json, sys
import torch
import host_to_device as h2d
from host_to_device.standins import torch_device

h2d.start()
device, memory = h2d.device(), torch.accelerator
memory = getattr(torch, h2d.device().type)
answers = []
for limit, steps in json.load(sys.stdin):
    torch_device.set_memory_limit(limit)
    alive, found = {}, []
    for name, nbytes in steps:
        refused = False
        if nbytes:
            try:
                alive[name] = torch.empty(nbytes, dtype=torch.uint8, device=device)
            except torch.OutOfMemoryError:
                refused = True
        elif name:
            alive.pop(name, None)
        else:
            memory.empty_cache()
        found.append([refused, memory.memory_allocated(), memory.memory_reserved()])
    answers.append(found)
    alive.clear()
    memory.empty_cache()
    assert memory.memory_reserved() == 0
json.dump(answers, open(sys.argv[1], "w"))
"""


def test_the_default_rules_are_those_of_the_stand_in_device(tmp_path, monkeypatch):
    # The stand-in's pool is a port of CUDA's allocator in C++, held by tests of its own.
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    cases = [(limit * MIB, steps_at_random(seed)) for seed, limit in enumerate((60, 142, 200, 400))]
    cases.append((CAPACITY, explorers_steps(8)))
    child = [sys.executable, "-c", CHILD, tmp_path / "answers.json"]
    ended = subprocess.run(child, input=json.dumps(cases), capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr[-2000:]
    answers = json.loads((tmp_path / "answers.json").read_text())
    assert any(refused for answer in answers for refused, *_ in answer)
    for (limit, steps), answer in zip(cases, answers, strict=True):
        assert trace(steps, Allocator(limit)) == answer


def explorers_steps(batch):
    """The explorer's program as steps of `trace`."""
    return [
        step
        for _, made, deleted in allocator.lines(batch, empty=False)
        for step in (*made.items(), *((name, 0) for name in deleted))
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("capacity", [60, 142])
def test_expandable_segments_keep_their_rules(seed, capacity):
    # A plain array of owners, a cell for each 64 KiB: who lies where, and which pages have memory.
    memory, alive, refused = Allocator(capacity * MIB, expandable=True), {}, 0
    for name, nbytes in steps_at_random(seed, 120):
        nbytes = -(-nbytes // CELL) * CELL
        if nbytes and memory.allocate(name, nbytes):
            alive[name] = nbytes
        elif nbytes:
            refused += 1
            small = nbytes <= MIB
            free = [
                block.size
                for each in memory.segments
                if each.small == small
                for block in each.blocks
                if block.is_free
            ]
            assert max(free, default=0) < nbytes
        elif name:
            memory.free(name)
            alive.pop(name, None)
        else:
            memory.empty_cache()
        owners = [owners_of(segment) for segment in memory.segments]
        assert {each: sum(int((array == each).sum()) for array in owners) * CELL for each in alive} == alive
        assert memory.allocated == sum(alive.values()) <= memory.reserved <= memory.capacity
        for segment, array in zip(memory.segments, owners, strict=True):
            pages = array.reshape(-1, segment.page // CELL)
            mapped = pages != "-"
            assert (mapped.all(1) | ~mapped.any(1)).all(), "memory comes in whole pages"
            assert int(mapped.sum()) * CELL == segment.reserved
            if not name:
                assert not (pages == "").all(1).any(), "a page without a tensor was kept"
            for first, second in itertools.pairwise(segment.blocks):
                assert first.start + first.size == second.start
                assert first.tensor or second.tensor or first.mapped != second.mapped
    assert refused > 1 and len(alive) > 3


def owners_of(segment):
    """The tensor of each cell of a segment; "" for free memory, "-" for addresses without memory."""
    return np.concatenate(
        [np.full(each.size // CELL, each.tensor if each.mapped else "-", "<U6") for each in segment.blocks]
    )


def test_an_expandable_segment_grows_at_the_lowest_address_where_the_tensor_fits():
    memory = Allocator(200 * MIB, expandable=True)
    for name, size in (("a", 30), ("b", 50), ("c", 10)):
        assert memory.allocate(name, size * MIB)
    assert memory.reserved == 100 * MIB  # pages of 20 MiB; 10 MiB behind c are free
    memory.free("b")  # from 30 to 80: the pages from 40 to 80 have no tensor
    memory.empty_cache()
    assert memory.reserved == 60 * MIB
    assert memory.allocate("d", 45 * MIB)  # 10 MiB before these pages, and both pages
    (segment,) = memory.segments
    assert [(each.tensor, each.start // MIB) for each in segment.blocks if each.tensor] == [
        ("a", 0), ("d", 30), ("c", 80),
    ]  # fmt: skip
    assert memory.reserved == 100 * MIB
    assert memory.allocate("e", 12 * MIB) and memory.reserved == 120 * MIB  # 10 MiB behind c, and a page
    assert memory.allocate("f", 18 * MIB) and memory.reserved == 120 * MIB


def test_sizes_are_rounded_as_pytorch_does():
    assert [allocator.rounded(n) for n in (1, 512, 513)] == [512, 512, 1024]
    sizes = (512, MIB, MIB + 512, 10 * MIB - 512, 10 * MIB, 11 * MIB)
    assert [allocator.segment_bytes(n) // MIB for n in sizes] == [2, 2, 20, 20, 10, 12]


def outcome(batch, **how):
    how = {"expandable": False, "empty": False} | how
    return [
        (number, each.reserved // MIB, each.given_back // MIB)
        for number, each in enumerate(run(batch, **how), 1)
        if each.refused
    ]


def test_each_batch_ends_in_another_way():
    assert outcome(4) == []
    # Four segments of 20 MiB hold two tensors of 8 MiB each; every second one is deleted, so none is empty.
    assert outcome(8) == [(13, 2 + 14 + 4 * 20, 0)]
    # Tensors of 12 MiB have segments of their own; the empty ones are given back in time, and 15 is too much.
    assert outcome(12) == [(15, 2 + 14 + 72, 48)]
    assert [number for number, *_ in outcome(20)] == [9, 10, 13]


def test_memory_can_be_free_and_a_tensor_refused():
    now = AllocatorPicture().now
    assert now.refused and now.wanted == 48 * MIB
    assert CAPACITY - now.reserved == 46 * MIB and now.unallocated == 50 * MIB - 512
    assert now.largest == 8 * MIB
    said = AllocatorPicture().summary()
    assert "46 MiB free and 50 MiB unallocated would be enough together" in said
    assert "The memory is fragmented" in said and AllocatorPicture().warns


def test_what_empty_cache_cannot_do():
    before, after = run(8, expandable=False, empty=True)[10:12]
    assert after.given_back == 0 and after.reserved == before.reserved
    assert "each segment holds a tensor" in AllocatorPicture(step=12, empty="yes").summary()
    assert outcome(8, empty=True) == outcome(8)
    # Where it gives something back, PyTorch would have done so by itself.
    assert run(12, expandable=False, empty=True)[11].given_back == 48 * MIB
    assert not run(12, expandable=False, empty=False)[12].refused
    assert "It freed no tensor" in AllocatorPicture(batch=12, step=12, empty="yes").summary()


def test_what_expandable_segments_can_and_cannot_do():
    assert outcome(8, expandable=True) == []
    step = run(8, expandable=True, empty=False)[12]
    assert step.reserved == CAPACITY and len(step.segments) == 2
    assert outcome(12, expandable=True) == [(13, 2 + 6 * 20, 0)]  # no hole of 12 MiB has a whole page
    said = AllocatorPicture(batch=12, segments="expandable").summary()
    assert "cannot give a page of 20 MiB back that holds a tensor" in said


def test_too_large_is_not_called_fragmented():
    said = AllocatorPicture(batch=20, step=9).summary()
    assert "Only 8 MiB of the GPU have no tensor" in said and "fragmented" not in said


def test_the_table_has_the_numbers_of_the_message():
    rows = dict(AllocatorPicture().table().rows)
    assert rows["Tried to allocate"] == "48 MiB (for a tensor of 48 MiB)"
    numbers = ("total capacity", "free", "this process has", "allocated by PyTorch")
    assert [rows[name] for name in numbers] == ["142 MiB", "46 MiB", "96 MiB", "46 MiB"]
    assert rows["reserved by PyTorch but unallocated"] == "50 MiB"
    assert "no program printed" in AllocatorPicture().table().caption
    assert dict(AllocatorPicture(step=12).table().rows)["Tried to allocate"] == "–"
    assert rows["segment 3, 20 MiB"] == "unallocated 8 MiB, f2 8 MiB, unallocated 4 MiB"


def test_a_message_names_the_segment_that_a_small_tensor_needs():
    memory = Allocator(30 * MIB)
    assert memory.allocate("a", 12 * MIB) and not memory.allocate("b", 4 * MIB)  # 18 MiB are free
    assert allocator.segment_bytes(4 * MIB) == 20 * MIB


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("segments", ["fixed", "expandable"])
@pytest.mark.parametrize("empty", ["no", "yes"])
def test_every_step_draws_what_it_says(batch, segments, empty):
    for step in range(1, allocator.STEPS + 1):
        picture = AllocatorPicture(batch, step, segments, empty)
        svg = picture.svg()
        assert svg.count("<svg") == 1 and "nan" not in svg
        assert picture.now.code in picture.alt() and picture.summary() in picture.alt()
        assert picture.warns == picture.now.refused == ("Refused" in picture.summary())
        drawn = sum(block.size for each in allocator._runs(picture.now) for block in each)
        assert drawn == picture.now.reserved <= CAPACITY


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("batch", 16, "give one of 4, 8, 12, 20"),
        ("step", 0, "give a whole number from 1 to 15"),
        ("step", 16, "give a whole number from 1 to 15"),
        ("segments", True, "give one of 'fixed', 'expandable'"),
        ("empty", None, "give one of 'no', 'yes'"),
    ],
)
def test_what_is_no_choice_is_refused_by_name(name, value, says):
    with pytest.raises(ValueError, match=f"{name} is .*: {says}"):
        h2d.explore_allocator(**{name: value})


def test_slider_and_menus_redraw_the_picture():
    explorer = h2d.explore_allocator()
    batch, step, segments, _, view = explorer.widget().children
    assert "Refused: 48 MiB" in view.value
    segments.value = "expandable"
    assert "Refused" not in view.value and explorer.picture.segments == "expandable"
    batch.value, step.value = 20, 9
    assert "Refused: 20 MiB" in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_allocator()._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and bundle["text/plain"].startswith("Step 13, big = 48 MiB")
