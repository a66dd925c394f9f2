"""PyTorch's stand-in device from the inside: bytes that are shared, aliasing, memory. What it shows a reader is
held against CUDA's outcomes in tests/corpora/torch."""

import gc
import pickle
import re
import threading
from multiprocessing.reduction import ForkingPickler

import pytest

torch = pytest.importorskip("torch")

from host_to_device.standins import torch_device  # noqa: E402
from host_to_device.standins.torch_device import differences, module, operators  # noqa: E402
from host_to_device.starting.devices import device  # noqa: E402

KIB, MIB = 2**10, 2**20


@pytest.fixture(scope="module")
def dev():
    return device()


def fill_up(dev) -> list:
    """Return tensors that take all room in the segments that tensors of other tests still hold."""
    filling, size = [], 64 * MIB
    while size >= 512:
        reserved = torch.standin.memory_reserved()
        x = torch.empty(size, dtype=torch.uint8, device=dev)
        if torch.standin.memory_reserved() == reserved:
            filling.append(x)
        else:  # there was no room for so much
            del x
            torch.standin.empty_cache()
            size //= 2
    return filling


@pytest.fixture
def memory(dev):
    """The device's module, with nothing cached and no room in what is in use, and an undo of limits."""
    gc.collect()
    torch.standin.empty_cache()
    filling = fill_up(dev)
    yield torch.standin
    del filling
    torch_device.set_memory_limit(None)
    torch.standin.set_per_process_memory_fraction(1.0)
    gc.collect()
    torch.standin.empty_cache()


class Counted:
    def __enter__(self):
        self.before = torch_device.counters()
        return self

    def __exit__(self, *_):
        now = torch_device.counters()
        self.grown = {name: now[name] - n for name, n in self.before.items() if now[name] != n}


# ---------------------------------------------------------------- what it is


def test_it_says_what_it_is(dev):
    assert repr(dev) == "device(type='standin', index=0)" and str(device(1)) == "standin:1"
    assert torch_device.loaded() and torch_device.load() is torch_device.load()
    assert "stand-in" in torch.standin.get_device_name() and torch.standin.device_count() == 2
    assert str(torch.accelerator.current_accelerator()) == "standin"
    assert not torch.cuda.is_available() and "standin" not in dir(torch.cuda)


@pytest.mark.parametrize("index", [2, -1, 99])
def test_other_numbers_are_invalid(dev, index):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        device(index)
    if index > 0:
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            torch.ones(1, device=f"standin:{index}")


def test_each_difference_is_said_once():
    assert len({row.what for row in differences.DIFFERENCES}) == len(differences.DIFFERENCES)
    assert all(text and "\n" not in text for row in differences.DIFFERENCES for text in row)


def test_the_table_follows_pytorchs_list_of_operators():
    rules = {name: (rule, method) for name, rule, method in operators.rows(operators.path().read_text())}
    assert rules["mm"] == ("same", "wrapper_PrivateUse1_mm")
    assert rules["mm.out"] == ("same", "wrapper_PrivateUse1_mm_out_out")
    assert rules["index_select"] == ("same", "wrapper_PrivateUse1__index_select")
    assert rules["add.Tensor"][0] == rules["lerp_.Scalar"][0] == "elementwise"
    assert "matmul" not in rules and "_foreach_add_.Scalar" in rules
    assert "matmul lower -\n" in operators.all_of(torch)


# ---------------------------------------------------------------- the same bytes: views, in place, out


def test_views_share_memory_and_are_not_operations(dev):
    x = torch.arange(12.0, device=dev)
    with Counted() as c:
        views = [
            x.view(3, 4),
            x[2:6],
            x.reshape(2, 6).T,
            x.unfold(0, 3, 3),
            x.as_strided((2,), (5,), 1),
            x.detach(),
        ]
        views += [x.view(torch.int32), x.expand(2, 12), *x.split(4)]
    assert c.grown == {}
    x.zero_()
    assert all(not view.cpu().any() for view in views)
    assert all(view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for view in views)


def test_in_place_gives_the_same_tensor(dev):
    x = torch.ones(4, device=dev)
    view = x[1:3]
    assert x.add_(1) is x and x.mul_(x) is x
    assert view.neg_() is view and x.tolist() == [4, -4, -4, 4]
    x.t_().resize_(2, 2)
    assert x.shape == (2, 2) and x.tolist() == [[4, -4], [-4, 4]]


def test_out_is_resized_and_given_back(dev):
    out = torch.empty(0, device=dev)
    assert torch.arange(2000.0, device=dev, out=out) is out and out[-1].item() == 1999
    a = torch.ones(2, 3, device=dev)
    assert torch.mm(a, a.T, out=out.resize_(0)) is out and out.tolist() == [[3, 3], [3, 3]]
    values, places = torch.empty(0, device=dev), torch.empty(0, dtype=torch.int64, device=dev)
    torch.sort(torch.tensor([3.0, 1, 2], device=dev), out=(values, places))
    assert values.tolist() == [1, 2, 3] and places.tolist() == [1, 2, 0]


def test_a_resized_storage_keeps_its_beginning(dev, memory):
    x = torch.arange(4.0, device=dev)
    before = memory.memory_allocated()
    x.resize_(1000)
    assert x[:4].tolist() == [0, 1, 2, 3] and memory.memory_allocated() == before - 512 + 4096
    x.untyped_storage().resize_(16)
    assert memory.memory_allocated() == before


def test_what_aliases_on_the_cpu_aliases_here(dev):
    x = torch.randn(4, 4, device=dev)
    assert torch.view_as_real(torch.view_as_complex(x.view(4, 2, 2))).data_ptr() == x.data_ptr()
    same = x.contiguous()
    assert same is x and x.to(dev) is x and x.float() is x
    assert x.clone().data_ptr() != x.data_ptr()


def test_running_statistics_change(dev):
    here, there = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).to(dev)
    x = torch.randn(8, 3)
    here(x), there(x.to(dev))
    for name, value in here.state_dict().items():
        assert torch.equal(value, there.state_dict()[name].cpu()), name


def test_conjugated_and_negated_tensors_are_copied_as_read(dev):
    x = torch.tensor([1 + 2j, 3 - 1j])
    d_x = x.to(dev)
    assert torch.equal(d_x.conj().cpu(), x.conj()) and torch.equal(x.conj().to(dev).cpu(), x.conj())
    assert torch.equal(d_x.conj().imag.cpu(), x.conj().imag.resolve_neg())
    assert torch.equal((d_x.conj() * d_x).cpu(), x.conj() * x)


def test_lists_of_tensors_and_optional_tensors(dev):
    lists = [[torch.full((2,), float(i), device=dev) for i in range(3)] for _ in range(2)]
    with Counted() as c:
        sums = torch._foreach_add(*lists)
        torch._foreach_mul_(lists[0], 2.0)
    assert [s.tolist() for s in sums] == [[0, 0], [2, 2], [4, 4]] and lists[0][2].tolist() == [4, 4]
    assert c.grown["operations"] == 2
    x = torch.arange(6.0, device=dev).view(2, 3)
    assert x[:, torch.tensor([2, 0], device=dev)].tolist() == [[2, 0], [5, 3]]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers_give_the_cpus_gradients(dev, kind):
    torch.manual_seed(0)
    here, there = getattr(torch.nn, kind)(3, 4), getattr(torch.nn, kind)(3, 4)
    there.load_state_dict(here.state_dict())
    x = torch.randn(5, 2, 3)
    for layer, on in ((here, x), (there.to(dev), x.to(dev))):
        layer(on)[0].square().sum().backward()
    for mine, its in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, its.grad.cpu())


def test_what_the_cpu_cannot_do_is_one_line(dev):
    x = torch.ones(2, device=dev)
    with pytest.raises(
        NotImplementedError, match=r"^_fused_dropout is not on the stand-in device, because [^\n]*$"
    ):
        torch.ops.aten._fused_dropout(x, 0.5)
    with pytest.raises(RuntimeError, match=r"^Only dense CPU tensors can be pinned"):
        torch.empty(2, device=dev, pin_memory=True)


def test_a_pickled_tensor_comes_back(dev):
    x = pickle.loads(pickle.dumps(torch.arange(3.0, device=device(1))))
    assert x.device == device(1) and x.tolist() == [0, 1, 2]


# ---------------------------------------------------------------- refusals change nothing


def test_a_refused_call_changes_nothing(dev):
    x, y = torch.ones(3, device=dev), torch.ones(3)
    before = torch_device.counters()
    for call in (
        lambda: x.add_(y),
        lambda: y.add_(x),
        lambda: torch.add(x, x, out=y),
        lambda: x.index_add_(0, y.long(), x),
    ):
        with pytest.raises(RuntimeError, match=r"^Expected all tensors to be on the same device"):
            call()
    assert torch_device.counters() == before
    assert x.tolist() == y.tolist() == [1, 1, 1]


def test_parameters_stay_themselves_without_a_global_switch(dev):
    assert not torch.__future__.get_swap_module_params_on_conversion()
    one, two = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    two.weight = one.weight
    weight = one.weight
    held = (weight.to(dev) * 2).sum()  # a graph that holds it
    model = torch.nn.Sequential(one, two).to(dev)
    assert model[0].weight is model[1].weight is weight and weight.device == dev
    model(torch.ones(1, 3, device=dev)).sum().backward()
    gradient = weight.grad
    model.to("cpu")
    assert weight.device.type == "cpu" and weight.grad is gradient and gradient.device.type == "cpu"
    del held


# ---------------------------------------------------------------- counts


def test_copies_are_counted_by_direction(dev):
    x = torch.ones(100)
    with Counted() as c:
        d_x = x.to(dev)
        d_y = d_x.to(device(1))
        d_y.cpu()
        d_x.copy_(d_x.clone())
    assert c.grown == {
        "h2d": 1,
        "h2d_bytes": 400,
        "d2d": 3,
        "d2d_bytes": 1200,
        "d2h": 1,
        "d2h_bytes": 400,
        "waits": 2,
        "allocations": 3,
    }


def test_a_copy_that_does_not_block_does_not_wait(dev):
    x = torch.ones(100).pin_memory()
    assert x.is_pinned() and not torch.ones(1).is_pinned()
    with Counted() as c:
        back = x.to(dev, non_blocking=True).to("cpu", non_blocking=True)
    assert "waits" not in c.grown and c.grown["h2d"] == c.grown["d2h"] == 1 and back.is_pinned()


def test_the_fall_backs_own_copies_do_not_exist(dev):
    x = torch.randn(64, 64, device=dev)
    with Counted() as c:
        y = torch.nn.functional.relu(x @ x + 1).sum(dim=0)
    assert c.grown == {"operations": 4, "allocations": 4}
    assert y.device == dev


def test_who_listens_hears_each_wait(dev):
    x, heard = torch.tensor([0.0, 2.0], device=dev), []
    torch_device.on_wait(lambda reason: heard.append((reason, threading.get_ident())))
    try:
        x.sum().item(), x.nonzero(), x.cpu(), torch.standin.synchronize()
        other = threading.Thread(target=lambda: bool(x[0]))
        other.start(), other.join()
    finally:
        torch_device.on_wait(None)
    x.sum().item()
    assert [reason for reason, _ in heard] == ["item", "nonzero", "copy to the host", "synchronize", "item"]
    assert [thread == threading.get_ident() for _, thread in heard] == [True] * 4 + [False]


# ---------------------------------------------------------------- memory


def test_sizes_are_rounded_as_cudas_are(dev, memory):
    rows = []
    for n in (1, 512, 513, MIB, MIB + 1, 10 * MIB, 21 * MIB):
        memory.empty_cache()
        allocated, reserved = memory.memory_allocated(), memory.memory_reserved()
        x = torch.empty(n, dtype=torch.uint8, device=dev)
        rows.append((memory.memory_allocated() - allocated, memory.memory_reserved() - reserved))
        del x
    # CUDACachingAllocator.cpp: kMinBlockSize, kSmallBuffer, kLargeBuffer, kRoundLarge
    assert rows[0] in ((512, 2 * MIB), (512, 0))  # other tensors may have left room in a segment
    assert [a for a, _ in rows] == [
        512,
        512,
        1024,
        MIB,
        MIB + 512,
        10 * MIB,
        22 * MIB,
    ]  # 1 MiB is too little to split
    assert [r for _, r in rows[4:]] == [20 * MIB, 10 * MIB, 22 * MIB]


def test_cached_memory_is_used_again(dev, memory):
    x = torch.empty(30 * MIB, dtype=torch.uint8, device=dev)
    reserved, segments = memory.memory_reserved(), memory.memory_stats()["num_device_alloc"]
    del x
    assert memory.memory_reserved() == reserved
    x = torch.empty(30 * MIB, dtype=torch.uint8, device=dev)
    assert memory.memory_stats()["num_device_alloc"] == segments
    del x
    memory.empty_cache()
    assert memory.memory_reserved() == reserved - 30 * MIB


def test_peaks_are_reset(dev, memory):
    memory.reset_peak_memory_stats()
    start = memory.max_memory_allocated()
    x = torch.zeros(MIB, device=dev)
    del x
    assert memory.max_memory_allocated() == start + 4 * MIB
    assert torch.accelerator.max_memory_allocated() == start + 4 * MIB
    memory.reset_peak_memory_stats()
    assert memory.max_memory_allocated() == memory.memory_allocated() == start


def test_fragmented_memory_is_free_and_yet_too_small(dev, memory):
    torch_device.set_memory_limit(memory.memory_reserved() + 20 * MIB)
    pieces = [torch.empty(2 * MIB, dtype=torch.uint8, device=dev) for _ in range(10)]
    del pieces[::2]
    assert memory.memory_stats()["inactive_split_bytes.all.current"] >= 10 * MIB
    with pytest.raises(
        torch.OutOfMemoryError,
        # CUDA names the segment that it would need for the 4 MiB.
        match=r"Tried to allocate 20\.00 MiB.* 10\.\d\d MiB is reserved by PyTorch but",
    ):
        torch.empty(4 * MIB, dtype=torch.uint8, device=dev)
    states = [[block["state"] for block in segment["blocks"]] for segment in memory.memory_snapshot()]
    assert ["inactive", "active_allocated"] * 5 in states
    del pieces
    torch.empty(4 * MIB, dtype=torch.uint8, device=dev)


def test_a_result_that_does_not_fit_is_refused_before_it_is_made(dev, memory):
    torch_device.set_memory_limit(memory.memory_reserved() + 40 * MIB)
    x = torch.ones(4 * KIB, device=dev)
    keep, before = torch.ones(4 * KIB, device=dev), memory.memory_allocated()
    for call in (
        lambda: x[:, None] * x,
        lambda: torch.outer(x, x),
        lambda: x.repeat(64 * KIB),
        lambda: torch.zeros(2**40, device=dev),
    ):
        with pytest.raises(
            torch.OutOfMemoryError,
            match=r"^STANDIN out of memory. Tried to allocate .* GPU 0 has a total capacity",
        ):
            call()
    gc.collect()
    assert memory.memory_allocated() == before and torch.equal(keep, x)
    assert (
        torch.outer(torch.ones(4 * KIB), torch.ones(4 * KIB)).numel() == 16 * MIB
    )  # the host has its own memory


def test_cached_blocks_are_given_back_before_it_fails(dev, memory):
    torch_device.set_memory_limit(memory.memory_reserved() + 40 * MIB)
    x = torch.empty(30 * MIB, dtype=torch.uint8, device=dev)
    del x
    retries = memory.memory_stats()["num_alloc_retries"]
    torch.empty(40 * MIB, dtype=torch.uint8, device=dev)
    assert memory.memory_stats()["num_alloc_retries"] == retries + 1


def test_the_message_has_the_numbers_of_cuda_and_they_add_up(dev, memory):
    torch_device.set_memory_limit(memory.memory_reserved() + 40 * MIB)
    x = torch.empty(9 * MIB, dtype=torch.uint8, device=dev)
    with pytest.raises(torch.OutOfMemoryError) as refused:
        torch.empty(30 * MIB + 1, dtype=torch.uint8, device=dev)
    words = str(refused.value)
    parts = (
        r"Tried to allocate (.*?)\. GPU 0 has a total capacity of (.*?) of which (.*?) is free\. Including non-PyTorch "
        r"memory, this process has (.*?) memory in use\. (?:.*? allowed; )?Of the allocated memory (.*?) is allocated by PyTorch, and (.*?) is "
        r"reserved by PyTorch but unallocated\."
    )
    wanted, total, free, process, allocated, rest = (
        in_bytes(each) for each in re.search(parts, words).groups()
    )
    near = 0.011 * MIB * 3  # two digits after the point, three numbers
    assert wanted == 32 * MIB  # a segment of its own, in multiples of 2 MiB
    assert abs(total - free - process) < near and abs(process - allocated - rest) < near
    assert (
        abs(memory.memory_allocated() - allocated) < near and abs(memory.memory_reserved() - process) < near
    )
    del x


def in_bytes(words):
    number, unit = words.split()
    return float(number) * {"bytes": 1, "KiB": KIB, "MiB": MIB, "GiB": 2**30}[unit]


def test_the_fraction_that_was_set_can_be_read(dev, memory):
    assert memory.get_per_process_memory_fraction() == 1.0
    memory.set_per_process_memory_fraction(0.25, dev)
    assert memory.get_per_process_memory_fraction(dev) == 0.25
    memory.set_per_process_memory_fraction(1.0)


def changes_of(dev, work, callback=lambda number: None):
    """Record the changes of memory while `work` runs: what each was, its bytes, and what the pool holds afterwards."""
    torch_device.record_memory(callback)
    try:
        work()
        return [(what, size, held) for _, what, _, size, held in torch_device.memory_changes()]
    finally:
        torch_device.record_memory(None)


def test_changes_of_memory_are_recorded_in_their_order(dev, memory):
    heard = []

    def work():
        x = torch.empty(1000, dtype=torch.uint8, device=dev)
        y = torch.empty(2 * MIB, dtype=torch.uint8, device=dev)
        del x, y
        memory.empty_cache()

    memory.empty_cache()
    before = memory.memory_reserved()
    changes = changes_of(dev, work, heard.append)
    sizes = [(what, size) for what, size, _ in changes]
    assert sizes == [(0, 1024), (0, 2 * MIB), (1, 1024), (1, 2 * MIB), (3, 0)]
    assert changes[-1][2] <= before < max(held for _, _, held in changes)
    assert len(heard) == 3 and heard == sorted(
        heard
    )  # frees are not told of: Python may be handling an exception
    assert changes_of(dev, lambda: None) == []


def test_a_refused_request_is_recorded_before_and_within_a_kernel(dev, memory):
    torch_device.set_memory_limit(memory.memory_reserved() + 40 * MIB)
    x = torch.ones(4 * KIB, device=dev)

    def work():
        for call in (lambda: torch.empty(50 * MIB, dtype=torch.uint8, device=dev), lambda: x[:, None] * x):
            with pytest.raises(torch.OutOfMemoryError):
                call()

    refused = [size for what, size, _ in changes_of(dev, work) if what == 2]
    assert refused == [50 * MIB, 64 * MIB]


def test_what_is_not_recorded_is_not_kept(dev):
    torch.ones(5, device=dev)
    assert torch_device.memory_changes() == []


def test_limits_are_of_one_device(dev, memory):
    torch_device.set_memory_limit(MIB, device=1)
    try:
        with pytest.raises(torch.OutOfMemoryError, match="GPU 1 has"):
            torch.ones(MIB, device=device(1))
        torch.ones(MIB, device=dev)
    finally:
        torch_device.set_memory_limit(None, device=1)
    with pytest.raises(ValueError, match="cannot be -1 bytes"):
        torch_device.set_memory_limit(-1)
    with pytest.raises(TypeError, match="must be `float`"):
        memory.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match="Allowed range"):
        memory.set_per_process_memory_fraction(1.5)
    memory.set_per_process_memory_fraction(0.001)
    with pytest.raises(torch.OutOfMemoryError, match=r"4\.\d\d MiB allowed"):
        torch.ones(16 * MIB, device=dev)


def test_all_memory_comes_back(dev, memory):
    before = memory.memory_allocated(), memory.memory_allocated(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten(), torch.nn.Linear(18, 3)
    )
    optimizer = torch.optim.Adam(model.to(dev).parameters())
    for _ in range(3):
        model(torch.randn(4, 1, 5, 5, device=dev)).sum().backward()
        optimizer.step()
    assert memory.memory_allocated() > before[0]
    del model, optimizer
    gc.collect()
    assert (memory.memory_allocated(), memory.memory_allocated(1)) == before


def test_statistics_agree_with_torch_accelerator(dev, memory):
    x = torch.ones(1000, device=dev)
    mine, its = memory.memory_stats(), torch.accelerator.memory_stats(0)
    for name in (
        "allocated_bytes.all.current",
        "reserved_bytes.all.peak",
        "segment.small_pool.current",
        "num_ooms",
    ):
        assert mine[name] == its[name], name
    assert memory.mem_get_info()[1] == torch_device.capacity()
    assert "Allocated memory" in memory.memory_summary() and "Allocations" not in memory.memory_summary(
        abbreviated=True
    )
    del x


# ---------------------------------------------------------------- sharing: as `differences` says


def test_dlpack_shares_memory_through_a_capsule_only(dev):
    x = torch.arange(4.0, device=dev)
    with pytest.raises(ValueError, match="Unknown device type standin for Dlpack"):
        torch.from_dlpack(x)
    y = torch.from_dlpack(x.__dlpack__())
    assert y.device == x.device and y.data_ptr() == x.data_ptr()
    y[0] = 7
    assert x.tolist() == [7, 1, 2, 3]


def test_a_tensor_is_not_sent_to_another_process_but_pickled(dev):
    import torch.multiprocessing

    x = torch.arange(4.0, device=dev)
    with pytest.raises(RuntimeError, match="only available on CPU"):
        ForkingPickler.dumps(x)
    copy = pickle.loads(pickle.dumps(x))
    assert copy.device == x.device and copy.data_ptr() != x.data_ptr() and copy.tolist() == x.tolist()


# ---------------------------------------------------------------- devices, random numbers


def test_devices_are_entered_and_set(dev):
    with torch.standin.device(1):
        assert torch.standin.current_device() == 1 and torch.ones(1, device="standin").device == device(1)
    assert torch.standin.current_device() == 0
    with torch.standin.device_of(torch.ones(1, device=device(1))), torch.standin.device(-1):
        assert torch.standin.current_device() == 1
    torch.standin.set_device("standin:1")
    torch.standin.set_device(-1)
    assert module.index_of() == 1
    torch.standin.set_device(0)
    with pytest.raises(ValueError, match="Expected a standin device, but got: cpu"):
        torch.standin.set_device("cpu")


def test_random_states_are_the_devices_own(dev):
    torch.manual_seed(5)
    assert torch.standin.initial_seed() == 5
    states = torch.standin.get_rng_state_all()
    first, host = torch.rand(4, device=dev), torch.rand(4)
    other = torch.rand(4, device=device(1))
    torch.standin.set_rng_state_all(states)
    assert torch.equal(first, torch.rand(4, device=dev)) and torch.equal(
        other, torch.rand(4, device=device(1))
    )
    assert not torch.equal(first.cpu(), host)
    with torch.random.fork_rng(devices=[0], device_type="standin"):
        torch.rand(4, device=dev)
    with pytest.raises(TypeError, match="ByteTensor"):
        torch.standin.set_rng_state(torch.ones(4))
    with pytest.raises(RuntimeError, match="wrong size"):
        torch.standin.set_rng_state(torch.ones(4, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="Expected a 'standin' device type for generator but found 'cpu'"):
        torch.rand(2, device=dev, generator=torch.Generator())


def test_streams_and_events_are_there(dev):
    start, end = (torch.Event(device="standin", enable_timing=True) for _ in range(2))
    with torch.Stream(device=dev):
        start.record()
        torch.ones(3, device=dev) + 1
        end.record()
    torch.accelerator.synchronize()
    assert start.elapsed_time(end) >= 0 and end.query()
    assert torch.standin.Stream() != torch.standin.current_stream()
