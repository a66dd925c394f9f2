"""Device memory: what is allocated, what is kept, what is free in pieces, and what happens when it is used up.

Sizes are those of CUDA's caching allocator. Where a program needs memory that nobody has cached, it asks for more
than any other leaves behind.
"""

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, program, source

MANAGEMENT = documentation("notes/cuda", "Memory management")
SIZES = source("c10/core/AllocatorConfig.h", "kMinBlockSize, kSmallBuffer, kRoundLarge")
ALLOCATOR = source("c10/cuda/CUDACachingAllocator.cpp", "DeviceCachingAllocator::malloc")
STATS = documentation("generated/torch.cuda.memory.memory_stats", "memory_stats")
FRACTION = documentation("generated/torch.cuda.memory.set_per_process_memory_fraction", "memory fraction")
AUTOGRAD = documentation("notes/autograd", "Saved tensors")
ACCELERATOR = documentation("accelerator", "torch.accelerator.memory")

KIB, MIB, GIB = 2**10, 2**20, 2**30

PARTS = (
    r"out of memory\. Tried to allocate [\d.]+ [GM]iB\. \S+ 0 has a total capacity of [\d.]+ [GM]iB of which "
    r"[\d.]+ ([GMK]iB|bytes) is free\..*Of the allocated memory [\d.]+ ([GMK]iB|bytes) is allocated by PyTorch, "
    r"and [\d.]+ ([GMK]iB|bytes) is reserved by PyTorch but unallocated\."
)


@program((512, 512, 1024), SIZES, "memory")
def sizes_are_rounded_up_to_512_bytes(torch, first, gpu):
    start, sizes, kept = gpu.memory_allocated(first), [], []
    for count in (1, 512, 513):
        kept.append(torch.empty(count, dtype=torch.uint8, device=first))
        sizes.append(gpu.memory_allocated(first) - start - sum(sizes))
    return tuple(sizes)


@program((0, 0), ALLOCATOR, "memory")
def an_empty_tensor_takes_nothing(torch, first, gpu):
    allocated, reserved = gpu.memory_allocated(first), gpu.memory_reserved(first)
    x = torch.empty(0, 5, device=first)
    return gpu.memory_allocated(first) - allocated + x.numel(), gpu.memory_reserved(first) - reserved


@program((0, 4 * MIB, 0), MANAGEMENT, "memory", "views")
def views_take_nothing_and_keep_everything(torch, first, gpu):
    start = gpu.memory_allocated(first)
    x = torch.empty(MIB, device=first)
    view = x[:2]
    with_view = gpu.memory_allocated(first) - start - 4 * MIB
    del x
    kept = gpu.memory_allocated(first) - start
    del view
    return with_view, kept, gpu.memory_allocated(first) - start


@program((True, 64 * MIB, 64 * MIB, 0), MANAGEMENT, "memory")
def freed_memory_is_kept_until_the_cache_is_emptied(torch, first, gpu):
    allocated, reserved = gpu.memory_allocated(first), gpu.memory_reserved(first)
    x = torch.empty(64 * MIB, dtype=torch.uint8, device=first)
    grown = gpu.memory_reserved(first) - reserved
    del x
    freed, kept = gpu.memory_allocated(first) == allocated, gpu.memory_reserved(first) - reserved
    gpu.empty_cache()
    return freed, grown, kept, gpu.memory_reserved(first) - reserved


@program((True, 0), MANAGEMENT, "memory")
def freed_memory_is_used_again(torch, first, gpu):
    x = torch.empty(64 * MIB, dtype=torch.uint8, device=first)
    address, reserved = x.data_ptr(), gpu.memory_reserved(first)
    del x
    y = torch.empty(64 * MIB, dtype=torch.uint8, device=first)
    return y.data_ptr() == address, gpu.memory_reserved(first) - reserved


def grown_by(torch, device, gpu, size):
    """Allocate tensors of so many bytes until the reserved memory grows; return by how much it did."""
    start, kept = gpu.memory_reserved(device), []
    while gpu.memory_reserved(device) == start:
        kept.append(torch.empty(size, dtype=torch.uint8, device=device))
        assert len(kept) < 1000
    return gpu.memory_reserved(device) - start


@program((2 * MIB, 20 * MIB), SIZES, "memory")
def memory_is_reserved_in_segments(torch, first, gpu):
    return grown_by(torch, first, gpu, 100 * KIB), grown_by(torch, first, gpu, 4 * MIB)


@program((64 * MIB + 512, 66 * MIB), SIZES, "memory")
def a_large_segment_is_a_multiple_of_2_mib(torch, first, gpu):
    allocated, reserved = gpu.memory_allocated(first), gpu.memory_reserved(first)
    x = torch.empty(64 * MIB + 1, dtype=torch.uint8, device=first)
    return gpu.memory_allocated(first) - allocated + 0 * x.dim(), gpu.memory_reserved(first) - reserved


@program(
    (128 * MIB, 0, 64 * MIB),
    documentation("generated/torch.cuda.memory.max_memory_allocated", "max_memory_allocated"),
    "memory",
)
def the_peak_is_remembered_until_it_is_reset(torch, first, gpu):
    gpu.reset_peak_memory_stats(first)
    start = gpu.memory_allocated(first)
    x, y = (torch.empty(64 * MIB, dtype=torch.uint8, device=first) for _ in range(2))
    del x
    peak = gpu.max_memory_allocated(first) - start
    gpu.reset_peak_memory_stats(first)
    after = gpu.max_memory_allocated(first) - start
    del y
    return peak, gpu.memory_allocated(first) - start, after


@program((8 * MIB, 4 * MIB), MANAGEMENT, "memory")
def an_intermediate_result_is_in_the_peak(torch, first, gpu):
    x = torch.ones(MIB, device=first)
    gpu.reset_peak_memory_stats(first)
    start = gpu.memory_allocated(first)
    y = (x + 1) * 2
    return gpu.max_memory_allocated(first) - start, gpu.memory_allocated(first) - start + 0 * y.dim()


@program((0, 4 * MIB), MANAGEMENT, "memory", "in place")
def in_place_takes_no_memory(torch, first, gpu):
    x = torch.ones(MIB, device=first)
    start = gpu.memory_allocated(first)
    x += 1
    in_place = gpu.memory_allocated(first) - start
    y = x + 1
    return in_place, gpu.memory_allocated(first) - start + 0 * y.dim()


@program((512, 8 * MIB + 512), AUTOGRAD, "memory", "autograd")
def a_graph_keeps_its_intermediate_results(torch, first, gpu):
    def used(x):
        start = gpu.memory_allocated(first)
        y = x.exp().exp().sum()
        return gpu.memory_allocated(first) - start + 0 * y.dim()

    return used(torch.zeros(MIB, device=first)), used(torch.zeros(MIB, device=first, requires_grad=True))


@program((4 * MIB, 0), AUTOGRAD, "memory", "autograd")
def gradients_take_as_much_as_weights(torch, first, gpu):
    w = torch.ones(MIB, device=first, requires_grad=True)
    start = gpu.memory_allocated(first)
    (w * w).sum().backward()
    grown = gpu.memory_allocated(first) - start
    w.grad = None
    return grown, gpu.memory_allocated(first) - start


@program((0, 4 * MIB, 8 * MIB), documentation("optim", "Algorithms"), "memory", "optimizers")
def optimizers_take_memory_for_their_state(torch, first, gpu):
    def grown(make):
        w = torch.nn.Parameter(torch.ones(MIB, device=first))
        w.grad = torch.ones_like(w)
        start, optimizer = gpu.memory_allocated(first), make([w])
        optimizer.step()
        return gpu.memory_allocated(first) - start

    return (
        grown(lambda p: torch.optim.SGD(p, lr=0.1)),
        grown(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        grown(torch.optim.Adam),
    )


@program((1024, 0), SIZES, "memory", "modules")
def a_small_model_takes_one_block_for_each_parameter(torch, first, gpu):
    start, model = gpu.memory_allocated(first), torch.nn.Linear(10, 3)
    model.to(first)
    there = gpu.memory_allocated(first) - start
    model.cpu()
    return there, gpu.memory_allocated(first) - start


@program((1, 512, 0, 1), STATS, "memory")
def statistics_count_allocations(torch, first, gpu):
    before = gpu.memory_stats(first)
    x = torch.empty(1, device=first)
    during = gpu.memory_stats(first)
    del x
    after = gpu.memory_stats(first)

    def change(name, now):
        return now[name] - before[name]

    return (
        change("allocation.all.allocated", during),
        change("allocated_bytes.all.current", during),
        change("allocation.all.current", after),
        change("allocation.all.freed", after),
    )


@program((1, 0), STATS, "memory")
def statistics_count_segments(torch, first, gpu):
    before = gpu.memory_stats(first)["segment.all.current"]
    x = torch.empty(64 * MIB, dtype=torch.uint8, device=first)
    during = gpu.memory_stats(first)["segment.all.current"] - before
    del x
    gpu.empty_cache()
    return during, gpu.memory_stats(first)["segment.all.current"] - before


@program((True, True, True, True), ACCELERATOR, "memory", "accelerator")
def the_accelerator_gives_the_same_numbers(torch, first, gpu):
    x = torch.ones(MIB, device=first)
    accelerator = torch.accelerator
    return (
        accelerator.memory_allocated() == gpu.memory_allocated(first) >= x.nbytes,
        accelerator.memory_reserved() == gpu.memory_reserved(first),
        accelerator.max_memory_allocated() == gpu.max_memory_allocated(first),
        accelerator.memory_stats()["allocated_bytes.all.current"] == gpu.memory_allocated(first),
    )


@program((0, True), ACCELERATOR, "memory", "accelerator")
def the_accelerator_empties_the_cache_and_resets_the_peak(torch, first, gpu):
    start = torch.accelerator.memory_reserved()
    x = torch.empty(64 * MIB, dtype=torch.uint8, device=first)
    del x
    torch.accelerator.empty_cache()
    kept = torch.accelerator.memory_reserved() - start
    torch.accelerator.reset_peak_memory_stats()
    return kept, torch.accelerator.max_memory_allocated() == torch.accelerator.memory_allocated()


@program((True, True), documentation("generated/torch.cuda.memory.mem_get_info", "mem_get_info"), "memory")
def free_and_total_memory(torch, first, gpu):
    free, total = gpu.mem_get_info(first)
    x = torch.empty(64 * MIB, dtype=torch.uint8, device=first)
    return 0 < free <= total, gpu.mem_get_info(first)[0] <= free - x.nbytes


@program((4 * MIB, 0), MANAGEMENT, "memory", "two devices")
def each_device_has_its_own_memory(torch, first, second, gpu):
    start = gpu.memory_allocated(first), gpu.memory_allocated(second)
    x = torch.ones(MIB, device=second)
    return gpu.memory_allocated(second) - start[1] + 0 * x.dim(), gpu.memory_allocated(first) - start[0]


@program(True, documentation("generated/torch.cuda.memory.memory_summary", "memory_summary"), "memory")
def memory_is_summarised(torch, first, gpu):
    text = gpu.memory_summary(first)
    return all(words in text for words in ("Allocated memory", "GPU reserved memory", "Allocations"))


@program(Raises("OutOfMemoryError", matching=PARTS), ALLOCATOR, "out of memory", "refused")
def more_than_there_is(torch, first, gpu):
    total = gpu.mem_get_info(first)[1]
    return torch.empty(total + GIB, dtype=torch.uint8, device=first)


@program((True, 1, [2.0, 2.0]), documentation("notes/faq", "My model reports out of memory"), "out of memory")
def work_goes_on_after_running_out_of_memory(torch, first, gpu):
    total, before = gpu.mem_get_info(first)[1], gpu.memory_stats(first)["num_ooms"]
    try:
        torch.empty(total + GIB, dtype=torch.uint8, device=first)
    except RuntimeError as error:
        kind = isinstance(error, torch.OutOfMemoryError)
    ooms = gpu.memory_stats(first)["num_ooms"] - before
    return kind, ooms, (torch.ones(2, device=first) * 2).tolist()


@program(
    Raises(
        "OutOfMemoryError",
        matching=r"Tried to allocate 128\.00 MiB\..* [GM]iB allowed; Of the allocated memory",
    ),
    FRACTION,
    "out of memory",
    "refused",
)
def more_than_a_process_may_have(torch, first, gpu):
    total = gpu.mem_get_info(first)[1]
    gpu.set_per_process_memory_fraction((gpu.memory_reserved(first) + 64 * MIB) / total, first)
    try:
        return torch.empty(128 * MIB, dtype=torch.uint8, device=first)
    finally:
        gpu.set_per_process_memory_fraction(1.0, first)


@program(
    Raises("OutOfMemoryError", matching=r"Tried to allocate 130\.00 MiB\."),
    ALLOCATOR,
    "out of memory",
    "refused",
)
def the_message_names_the_segment_and_not_the_request(torch, first, gpu):
    total = gpu.mem_get_info(first)[1]
    gpu.set_per_process_memory_fraction((gpu.memory_reserved(first) + 64 * MIB) / total, first)
    try:
        return torch.empty(128 * MIB + 1, dtype=torch.uint8, device=first)
    finally:
        gpu.set_per_process_memory_fraction(1.0, first)


@program(("out of memory", 64 * MIB), FRACTION, "out of memory")
def memory_that_was_freed_may_be_had_again(torch, first, gpu):
    total = gpu.mem_get_info(first)[1]
    gpu.set_per_process_memory_fraction((gpu.memory_reserved(first) + 100 * MIB) / total, first)
    try:
        x = torch.empty(64 * MIB, dtype=torch.uint8, device=first)
        try:
            torch.empty(64 * MIB, dtype=torch.uint8, device=first)
            found = "enough"
        except torch.OutOfMemoryError:
            found = "out of memory"
        del x
        return found, torch.empty(64 * MIB, dtype=torch.uint8, device=first).nbytes
    finally:
        gpu.set_per_process_memory_fraction(1.0, first)


@program(
    (64 * MIB, "out of memory", 32 * MIB),
    documentation("notes/cuda", "Optimizing memory usage with PYTORCH_CUDA_ALLOC_CONF"),
    "out of memory",
)
def enough_is_free_and_yet_not_in_one_piece(torch, first, gpu):
    def block(size):
        return torch.empty(size * MIB, dtype=torch.uint8, device=first)

    whole = block(128)
    del whole  # one segment, kept
    pieces = [block(16) for _ in range(8)]
    before = gpu.memory_stats(first)["inactive_split_bytes.all.current"]
    del pieces[::2]
    free = gpu.memory_stats(first)["inactive_split_bytes.all.current"] - before
    total = gpu.mem_get_info(first)[1]
    gpu.set_per_process_memory_fraction((gpu.memory_reserved(first) + MIB) / total, first)
    try:
        try:
            block(32)
            found = "enough"
        except torch.OutOfMemoryError:
            found = "out of memory"
        del pieces[:]
        return free, found, block(32).nbytes
    finally:
        gpu.set_per_process_memory_fraction(1.0, first)
