"""What PyTorch moves, and how often the host waits: counts that are certain on CUDA.

A copy that blocks is a copy and a wait (`cudaMemcpyAsync`, then `cudaStreamSynchronize`), in either direction.
What one operation is differs, so of operations only relations are said.
"""

import numpy as np

from tests.corpora.torch.case import documentation, program, source

COPY = source("aten/src/ATen/native/cuda/Copy.cu", "copy_kernel_cuda")
BETWEEN = source("aten/src/ATen/native/cuda/Copy.cu", "copy_device_to_device")
ITEM = source("aten/src/ATen/native/cuda/CUDAScalar.cu", "_local_scalar_dense_cuda")
NEW = source("torch/csrc/utils/tensor_new.cpp", "internal_new_from_data")
NONZERO = documentation("generated/torch.nonzero", "torch.nonzero: it makes host and device synchronize")
PRINT = source("torch/_tensor_str.py", "_Formatter.__init__")
TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html: Avoid unnecessary CPU-GPU synchronization"
ASYNCHRONOUS = documentation("notes/cuda", "Asynchronous execution")
PINNED = documentation("notes/cuda", "Use pinned memory buffers")
STATS = documentation("generated/torch.cuda.memory.memory_stats", "allocation.all.allocated")
SCALARS = source("aten/src/ATen/native/cuda/Loops.cuh", "opmath_symmetric_gpu_kernel_with_scalars")

NOTHING = (0, 0, 0, 0, 0)


def moved(c):
    """Give what moved: copies and bytes to the device, copies and bytes to the host, waits."""
    up, down = c.host_to_device, c.device_to_host
    return up.count, up.bytes, down.count, down.bytes, c.waits


@program((1, 400, 0, 0, 1), COPY, "counts", "copies")
def counted_to_the_device(torch, h2d, first):
    x = torch.ones(100)
    with h2d.count() as c:
        x.to(first)
    return moved(c)


@program((0, 0, 1, 400, 1), COPY, "counts", "copies")
def counted_to_the_host(torch, h2d, first):
    x = torch.ones(100, device=first)
    with h2d.count() as c:
        x.cpu()
    return moved(c)


@program(((0, 0, 1, 400, 1), (0, 0, 1, 400, 1)), COPY, "counts", "copies", "numpy")
def counted_to_numpy(torch, h2d, first):
    x = torch.ones(100, device=first)
    with h2d.count() as c:
        x.cpu().numpy()
    with h2d.count() as d:
        x.numpy(force=True)
    return moved(c), moved(d)


@program(NOTHING, documentation("generated/torch.Tensor.to", "torch.Tensor.to"), "counts", "copies")
def counted_what_is_there_already(torch, h2d, first):
    x, d_x = torch.ones(100), torch.ones(100, device=first)
    with h2d.count() as c:
        d_x.to(first), d_x.to(first.type), x.cpu(), x.to("cpu"), x.numpy()
    return moved(c)


@program((NOTHING, 0, 0, 0), documentation("tensor_view", "Tensor Views"), "counts", "views")
def counted_views(torch, h2d, first):
    x = torch.arange(12.0, device=first)
    with h2d.count() as c:
        y = x.view(3, 4)
        (
            y.t(),
            y[1],
            y[:, 1:3],
            y[None],
            y.expand(2, 3, 4),
            y.reshape(12),
            y.detach(),
            y.unsqueeze(0),
            y.contiguous(),
        )
        len(y), y.shape, y.dtype, y.numel()
    return moved(c), c.device_to_device.count, c.allocations, c.operations


@program(NOTHING, documentation("torch", "Creation Ops"), "counts", "creation")
def counted_what_is_made_on_the_device(torch, h2d, first):
    with h2d.count() as c:
        torch.zeros(100, device=first)
        torch.ones(100, device=first)
        torch.arange(100, device=first)
        torch.full((100,), 3.0, device=first)
        torch.rand(100, device=first)
        torch.empty(100, device=first)
    return moved(c)


@program(((1, 12, 0, 0, 1), (1, 24, 0, 0, 1)), NEW, "counts", "creation")
def counted_what_is_made_of_host_data(torch, h2d, first):
    array = np.ones(3)
    with h2d.count() as c:
        torch.tensor([1.0, 2.0, 3.0], device=first)
    with h2d.count() as d:
        torch.as_tensor(array, device=first)
    return moved(c), moved(d)


@program((0, 0, 1, 4, 1), ITEM, "counts", "waits")
def counted_item(torch, h2d, first):
    x = torch.ones(3, device=first).sum()
    with h2d.count() as c:
        x.item()
    return moved(c)


@program((0, 0, 4, 16, 4), ITEM, "counts", "waits")
def counted_four_hidden_items(torch, h2d, first):
    x = torch.ones(3, device=first).sum()
    with h2d.count() as c:
        float(x), int(x), bool(x), f"{x:.2f}"
    return moved(c)


@program((0, 0, 1, 1, 1), TUNING, "counts", "waits")
def counted_a_condition(torch, h2d, first):
    x = torch.ones(3, device=first)
    with h2d.count() as c:
        if x.sum() > 2:
            pass
    return moved(c)


@program(((0, 0, 5, 20, 5), (0, 0, 1, 4, 1)), TUNING, "counts", "waits")
def counted_a_loop_with_and_without_item(torch, h2d, first):
    x = torch.ones(10, device=first)
    with h2d.count() as c:
        total = 0.0
        for _ in range(5):
            total += x.sum().item()
    with h2d.count() as d:
        total = torch.zeros((), device=first)
        for _ in range(5):
            total += x.sum()
        total.item()
    return moved(c), moved(d)


@program((True, True), PRINT, "counts", "waits", "printing")
def counted_a_printed_tensor(torch, h2d, first):
    x = torch.ones(5, device=first)
    with h2d.count() as c:
        str(x)
    # Each element is looked at by itself, and a few sums before them.
    return c.waits > 5, c.device_to_host.count > 5


@program((0, 0, 1, 40, 1), source("torch/csrc/utils/tensor_list.cpp", "tensor_to_list"), "counts", "waits")
def counted_tolist(torch, h2d, first):
    x = torch.ones(10, device=first)
    with h2d.count() as c:
        x.tolist()
    return moved(c)


@program((0, 0, 10, 40, 10), ITEM, "counts", "waits")
def counted_iteration(torch, h2d, first):
    x = torch.ones(10, device=first)
    with h2d.count() as c:
        for element in x:
            float(element)
    return moved(c)


@program((1, 1, 1), NONZERO, "counts", "waits", "data-dependent shapes")
def counted_shapes_that_depend_on_data(torch, h2d, first):
    x = torch.arange(10, device=first)
    mask = x > 4
    with h2d.count() as c:
        x.nonzero()
    with h2d.count() as d:
        x[mask]
    with h2d.count() as e:
        torch.masked_select(x, mask)
    return c.waits, d.waits, e.waits


@program(
    (True, 0),
    documentation("generated/torch.unique", "torch.unique"),
    "counts",
    "waits",
    "data-dependent shapes",
)
def counted_unique(torch, h2d, first):
    x = torch.tensor([3, 1, 3], device=first)
    with h2d.count() as c:
        x.unique()
    return c.waits >= 1, c.host_to_device.count


@program((True, 0), documentation("generated/torch.repeat_interleave", "output_size"), "counts", "waits")
def counted_repeats_with_and_without_their_sum(torch, h2d, first):
    x, repeats = torch.arange(3, device=first), torch.tensor([1, 2, 3], device=first)
    with h2d.count() as c:
        x.repeat_interleave(repeats)
    with h2d.count() as d:
        x.repeat_interleave(repeats, output_size=6)
    return c.waits >= 1, d.waits


@program((1, 1, 1), TUNING, "counts", "waits")
def counted_checks_of_a_result(torch, h2d, first):
    x, found = torch.ones(10, device=first), []
    for check in (
        lambda: torch.isnan(x).any().item(),
        lambda: bool((x > 0).all()),
        lambda: torch.equal(x, x + 1),
    ):
        with h2d.count() as c:
            check()
        found.append(c.waits)
    return tuple(found)


@program(((4, 32), (1, 8)), COPY, "counts", "copies")
def counted_a_constant_that_is_moved_each_time(torch, h2d, first):
    x = torch.ones(2, device=first)
    with h2d.count() as c:
        for _ in range(4):
            x * torch.tensor([1.0, 2.0]).to(first)
    with h2d.count() as d:
        factor = torch.tensor([1.0, 2.0]).to(first)
        for _ in range(4):
            x * factor
    return tuple((each.host_to_device.count, each.host_to_device.bytes) for each in (c, d))


@program((NOTHING, NOTHING), documentation("generated/torch.where", "torch.where"), "counts", "waits")
def counted_where_in_place_of_a_mask(torch, h2d, first):
    x = torch.arange(10.0, device=first)
    mask = x > 4
    with h2d.count() as c:
        torch.where(mask, x, 0.0)
    with h2d.count() as d:
        x.masked_fill(mask, 0.0)
    return moved(c), moved(d)


@program(
    NOTHING,
    source("aten/src/ATen/native/TensorAdvancedIndexing.cpp", "canDispatchToMaskedFill"),
    "counts",
    "waits",
)
def counted_a_number_set_by_a_mask(torch, h2d, first):
    x = torch.arange(10.0, device=first)
    mask = x > 4
    with h2d.count() as c:
        x[mask] = 0.0
    return moved(c)


@program(NOTHING, ASYNCHRONOUS, "counts")
def counted_work_that_stays_on_the_device(torch, h2d, first):
    x = torch.rand(20, 20, device=first)

    def work():
        y = (x @ x + 1.0).relu().sum(dim=0)
        y.max(), y.argmax(), y.mean(), y.softmax(0), torch.cat([y, y]), y.sort(), y.cumsum(0), y / y.norm()
        y.fill_(2.0)

    work()  # the first time, a GPU sets up its libraries
    with h2d.count() as c:
        work()
    return moved(c)


@program((0, 0, 0, 0, 1), ASYNCHRONOUS, "counts", "waits")
def counted_synchronize(torch, h2d, first):
    torch.ones(100, device=first).sum()
    with h2d.count() as c:
        torch.accelerator.synchronize()
    return moved(c)


@program(
    (0, 0, 0, 0, 2),
    documentation("generated/torch.Event", "Event.synchronize; Stream.synchronize"),
    "counts",
    "waits",
    "streams",
)
def counted_synchronize_of_a_stream_and_an_event(torch, h2d, first):
    event = torch.Event(device=first)
    torch.ones(100, device=first).sum()
    event.record()
    with h2d.count() as c:
        event.synchronize()
        torch.accelerator.current_stream().synchronize()
    return moved(c)


@program(((10, 160, 0, 0, 10), (1, 160, 0, 0, 1)), TUNING, "counts", "copies")
def counted_ten_small_copies_against_one(torch, h2d, first):
    rows = [torch.ones(4) for _ in range(10)]
    with h2d.count() as c:
        for row in rows:
            row.to(first)
    with h2d.count() as d:
        torch.stack(rows).to(first)
    return moved(c), moved(d)


@program(((0, 0, 4, 32, 4), (0, 0, 1, 8, 1)), TUNING, "counts", "waits")
def counted_accuracy_with_and_without_item(torch, h2d, first):
    batches = [
        (torch.rand(8, 3, device=first), torch.zeros(8, dtype=torch.int64, device=first)) for _ in range(4)
    ]
    with h2d.count() as c:
        right = 0
        for scores, labels in batches:
            right += (scores.argmax(dim=1) == labels).sum().item()
    with h2d.count() as d:
        right = torch.zeros((), dtype=torch.int64, device=first)
        for scores, labels in batches:
            right += (scores.argmax(dim=1) == labels).sum()
        right.item()
    return moved(c), moved(d)


@program((1, 1), source("aten/src/ATen/native/cuda/Equal.cpp", "cuda_equal"), "counts", "waits")
def counted_equal_and_allclose(torch, h2d, first):
    x, y = torch.ones(10, device=first), torch.ones(10, device=first)
    with h2d.count() as c:
        torch.equal(x, y)
    with h2d.count() as d:
        torch.allclose(x, y)
    return c.waits, d.waits


@program(NOTHING, SCALARS, "counts", "0-d")
def counted_numbers_and_0d_tensors_of_the_host(torch, h2d, first):
    x, two = torch.ones(10, device=first), torch.tensor(2.0)
    with h2d.count() as c:
        x + 2.0, x + two, two * x
        x.mul_(two)
    return moved(c)


@program(
    ((1, 16), (1, 16)),
    source("aten/src/ATen/native/TensorAdvancedIndexing.cpp", "make_info"),
    "counts",
    "indexing",
)
def counted_an_index_on_the_host(torch, h2d, first):
    x, index = torch.arange(10, device=first), torch.tensor([0, 2])
    with h2d.count() as c:
        x[index]
    with h2d.count() as d:
        x[[0, 2]]
    return tuple((each.host_to_device.count, each.host_to_device.bytes) for each in (c, d))


@program(
    NOTHING, source("aten/src/ATen/native/cuda/Indexing.cu", "index_select_cuda, index"), "counts", "indexing"
)
def counted_an_index_on_the_device(torch, h2d, first):
    x, index = torch.arange(10, device=first), torch.arange(3, device=first)
    with h2d.count() as c:
        x[index], x.index_select(0, index), x.gather(0, index)
    return moved(c)


@program(((1, 400), (0, 0, 0, 0, 0)), BETWEEN, "counts", "copies")
def counted_a_copy_on_the_device(torch, h2d, first):
    x = torch.ones(100, device=first)
    with h2d.count() as c:
        x.clone()
    return (c.device_to_device.count, c.device_to_device.bytes), moved(c)


@program(((1, 400), (0, 0, 0, 0, 0)), BETWEEN, "counts", "copies", "two devices")
def counted_a_copy_from_device_to_device(torch, h2d, first, second):
    x = torch.ones(100, device=first)
    with h2d.count() as c:
        x.to(second)
    return (c.device_to_device.count, c.device_to_device.bytes), moved(c)


@program((1, 40, 1), COPY, "counts", "copies", "views")
def counted_a_column_to_the_host(torch, h2d, first):
    x = torch.ones(10, 4, device=first)
    with h2d.count() as c:
        x[:, 0].cpu()
    return c.device_to_host.count, c.device_to_host.bytes, c.waits


@program(((1, 400, 0, 0, 1), (0, 0, 1, 400, 1)), COPY, "counts", "copies", "dtypes")
def counted_a_copy_that_changes_the_dtype(torch, h2d, first):
    x, d_x = torch.ones(100, dtype=torch.float64), torch.ones(100, device=first)
    with h2d.count() as c:
        x.to(first, torch.float32)  # a blocking copy converts on the host
    with h2d.count() as d:
        d_x.to("cpu", torch.float64)
    return moved(c), moved(d)


@program((1, 400, 0, 0, 0), PINNED, "counts", "copies", "pinned memory")
def counted_a_copy_from_pinned_memory(torch, h2d, first):
    x = torch.ones(100).pin_memory()
    with h2d.count() as c:
        x.to(first, non_blocking=True)
    return moved(c)


@program((2, 32, 0, 0, 2), COPY, "counts", "modules")
def counted_a_module_that_moves(torch, h2d, first):
    model = torch.nn.Linear(3, 2)
    with h2d.count() as c:
        model.to(first)
        model.to(first)
    return moved(c)


@program((0, 0, 2, 32, 2), COPY, "counts", "modules")
def counted_a_state_dict_to_the_host(torch, h2d, first):
    model = torch.nn.Linear(3, 2, device=first)
    with h2d.count() as c:
        {name: value.cpu() for name, value in model.state_dict().items()}
    return moved(c)


def training(torch, first, make_optimizer):
    """Give a model on the device with its optimizer, which has made one step, and a batch on the host."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).to(first)
    optimizer = make_optimizer(model.parameters())
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    torch.nn.functional.cross_entropy(model(x.to(first)), y.to(first)).backward()
    optimizer.step()
    return model, optimizer, x, y


@program((NOTHING, NOTHING, NOTHING), ASYNCHRONOUS, "counts", "training")
def counted_forward_backward_and_step(torch, h2d, first):
    model, optimizer, x, y = training(torch, first, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
    d_x, d_y = x.to(first), y.to(first)
    with h2d.count() as forward:
        loss = torch.nn.functional.cross_entropy(model(d_x), d_y)
    with h2d.count() as backward:
        optimizer.zero_grad()
        loss.backward()
    with h2d.count() as step:
        optimizer.step()
    return moved(forward), moved(backward), moved(step)


@program(
    NOTHING,
    source("torch/optim/adam.py", "_multi_tensor_adam: steps are kept on the host"),
    "counts",
    "training",
)
def counted_a_step_of_adam(torch, h2d, first):
    _, optimizer, *_ = training(torch, first, torch.optim.Adam)
    with h2d.count() as c:
        optimizer.step()
    return moved(c)


@program(((2, 384, 0, 0, 2), (2, 384, 1, 4, 3)), TUNING, "counts", "training")
def counted_a_training_step_with_and_without_item(torch, h2d, first):
    model, optimizer, x, y = training(torch, first, lambda p: torch.optim.SGD(p, lr=0.1))
    found = []
    for look in (False, True):
        with h2d.count() as c:
            loss = torch.nn.functional.cross_entropy(model(x.to(first)), y.to(first))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if look:
                loss.item()
        found.append(moved(c))
    return tuple(found)


@program(
    NOTHING,
    documentation("generated/torch.nn.utils.clip_grad_norm_", "clip_grad_norm_"),
    "counts",
    "training",
)
def counted_clipped_gradients(torch, h2d, first):
    model, *_ = training(torch, first, lambda p: torch.optim.SGD(p, lr=0.1))
    with h2d.count() as c:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return moved(c)


@program((8, 8, 4 * (4 * 4 + 8) * 4), documentation("data", "torch.utils.data"), "counts", "training")
def counted_an_epoch_of_batches(torch, h2d, first):
    data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randint(0, 3, (16,)))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    with h2d.count() as c:
        for x, y in loader:
            x.to(first), y.to(first)
    return c.host_to_device.count, c.waits, c.host_to_device.bytes


@program((1, 1, 0, 0, 1), STATS, "counts", "allocations")
def counted_allocations(torch, h2d, first):
    x = torch.ones(100, device=first)
    found = []
    for use in (
        lambda: torch.empty(100, device=first),
        lambda: x + 1,
        lambda: x.add_(1),
        lambda: x[1:],
        lambda: torch.ones(100).to(first),
    ):
        with h2d.count() as c:
            use()
        found.append(c.allocations)
    return tuple(found)


@program((True, True), ASYNCHRONOUS, "counts", "operations")
def counted_operations(torch, h2d, first):
    x = torch.ones(100, device=first)
    with h2d.count() as c:
        ((x + 1) * 2).exp()
    with h2d.count() as d:
        for _ in range(10):
            x.add_(1)
    return c.operations >= 3, d.operations >= 10


@program((NOTHING, (1, 400, 0, 0, 1)), COPY, "counts")
def counted_is_what_happens_within(torch, h2d, first):
    x = torch.ones(100)
    x.to(first).cpu()
    with h2d.count() as c:
        pass
    before = moved(c)
    with h2d.count() as d:
        x.to(first)
    x.to(first).cpu()
    return before, moved(d)


@program(((2, 800), (1, 400)), COPY, "counts")
def counted_within_each_other(torch, h2d, first):
    x = torch.ones(100)
    with h2d.count() as outer:
        x.to(first)
        with h2d.count() as inner:
            x.to(first)
    return tuple((c.host_to_device.count, c.host_to_device.bytes) for c in (outer, inner))
