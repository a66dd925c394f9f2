"""Copies between devices: when there is one, what it shares, what it leaves alone."""

import copy
import pickle

import numpy as np

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, program, source

TO = documentation("generated/torch.Tensor.to", "torch.Tensor.to")
CPU = documentation("generated/torch.Tensor.cpu", "torch.Tensor.cpu")
VIEWS = documentation("tensor_view", "Tensor Views")
STORAGE = documentation("storage", "torch.UntypedStorage")
NUMPY = documentation("generated/torch.Tensor.numpy", "torch.Tensor.numpy")
TO_NUMPY = source("torch/csrc/utils/tensor_numpy.cpp", "tensor_to_numpy")
BEST = documentation("notes/cuda", "Best practices")


@program(("cuda:0", "cpu", [1.0, 2.0]), TO, "copies")
def to_gives_a_copy_on_the_device(torch, first):
    x = torch.tensor([1.0, 2.0])
    d_x = x.to(first)
    return str(d_x.device), str(x.device), d_x.tolist()


@program((True, True, True), TO, "copies", "identity")
def to_gives_back_what_is_there(torch, first):
    x = torch.ones(2, device=first)
    return x.to(first) is x, x.to(first.type) is x, x.to(x) is x


@program((True, True), CPU, "copies", "identity")
def cpu_gives_back_what_is_on_the_host(torch):
    x = torch.ones(2)
    return x.cpu() is x, x.to("cpu") is x


@program((False, False, True), TO, "copies", "identity")
def copy_true_always_copies(torch, first):
    x = torch.ones(2, device=first)
    y = x.to(first, copy=True)
    return y is x, y.data_ptr() == x.data_ptr(), torch.equal(x, y)


@program(([1.0, 1.0], [5.0, 1.0]), TO, "copies")
def changing_the_copy_leaves_the_original(torch, first):
    x = torch.ones(2)
    d_x = x.to(first)
    d_x[0] = 5.0
    return x.tolist(), d_x.tolist()


@program(([5.0, 1.0], [1.0, 1.0]), TO, "copies")
def changing_the_original_leaves_the_copy(torch, first):
    x = torch.ones(2)
    d_x = x.to(first)
    x[0] = 5.0
    return x.tolist(), d_x.tolist()


@program((True, [5.0, 1.0]), TO, "copies", "identity")
def a_copy_that_was_none_shares_memory(torch, first):
    x = torch.ones(2, device=first)
    y = x.to(first)
    y[0] = 5.0
    return y.data_ptr() == x.data_ptr(), x.tolist()


@program(("cuda:0", "torch.float16", "torch.float32"), TO, "copies", "dtypes")
def device_and_dtype_in_one_call(torch, first):
    x = torch.ones(2)
    d_x = x.to(first, torch.float16)
    return str(d_x.device), str(d_x.dtype), str(x.dtype)


@program((True, False, "cuda:0"), TO, "dtypes", "identity")
def to_a_dtype_stays_on_the_device(torch, first):
    x = torch.ones(2, device=first)
    y = x.to(torch.float64)
    return x.to(torch.float32) is x, y is x, str(y.device)


@program(("cuda:0", "torch.int32", "cpu", "torch.float32"), TO, "copies", "dtypes")
def to_another_tensor_takes_its_device_and_dtype(torch, first):
    x, other = torch.ones(2), torch.zeros(3, dtype=torch.int32, device=first)
    there, back = x.to(other), other.to(x)
    return str(there.device), str(there.dtype), str(back.device), str(back.dtype)


@program(
    ("cuda:0", "torch.float64"),
    documentation("generated/torch.Tensor.type_as", "torch.Tensor.type_as"),
    "copies",
    "dtypes",
)
def type_as_moves_too(torch, first):
    x = torch.ones(2).type_as(torch.ones(1, device=first, dtype=torch.float64))
    return str(x.device), str(x.dtype)


@program((1.5, [-1, 0, 1, 2], [True, False]), TO, "copies", "dtypes")
def values_come_back_as_they_went(torch, first):
    there = (
        torch.tensor(1.5, dtype=torch.float64),
        torch.arange(-1, 3, dtype=torch.int8),
        torch.tensor([True, False]),
    )
    return tuple(x.to(first).cpu().tolist() for x in there)


@program(([[0, 2], [1, 3]], (1, 2), True), TO, "copies", "views")
def a_transposed_tensor_keeps_its_strides(torch, first):
    x = torch.arange(4).reshape(2, 2).t()
    d_x = x.to(first)
    return d_x.tolist(), d_x.stride(), torch.equal(d_x.cpu(), x)


@program(([[0], [2]], (1, 1)), TO, "copies", "views")
def a_slice_arrives_without_gaps(torch, first):
    d_x = torch.arange(4).reshape(2, 2)[:, :1].to(first)
    return d_x.tolist(), d_x.stride()


@program(("cuda:1", "cuda:0", [0, 1, 2]), TO, "copies", "two devices")
def a_copy_from_device_to_device(torch, first, second):
    x = torch.arange(3, device=first)
    y = x.to(second)
    return str(y.device), str(x.device), y.tolist()


@program(([1.0, 1.0], [5.0, 1.0]), TO, "copies", "two devices")
def two_devices_share_nothing(torch, first, second):
    x = torch.ones(2, device=first)
    y = x.to(second)
    y[0] = 5.0
    return x.tolist(), y.tolist()


@program(
    ("cuda:0", [3.0, 4.0], [3.0, 4.0]),
    documentation("generated/torch.Tensor.copy_", "torch.Tensor.copy_"),
    "copies",
)
def copy_in_place_crosses_devices(torch, first):
    d_x, x = torch.zeros(2, device=first), torch.zeros(2)
    d_x.copy_(torch.tensor([3.0, 4.0]))
    x.copy_(d_x)
    return str(d_x.device), d_x.tolist(), x.tolist()


@program(("cuda:0", [[0.0, 0.0], [3.0, 4.0]]), source("aten/src/ATen/TensorIndexing.h", "copy_to"), "copies")
def a_row_may_be_set_from_the_host(torch, first):
    d_x = torch.zeros(2, 2, device=first)
    d_x[1] = torch.tensor([3.0, 4.0])
    return str(d_x.device), d_x.tolist()


@program((True, True, 4), VIEWS, "views", "identity")
def views_share_the_storage(torch, first):
    x = torch.arange(6.0, device=first)
    y = x[1:]
    same = y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    y[0] = 9.0
    return same, x[1].item() == 9.0, y.data_ptr() - x.data_ptr()


@program([True] * 7, VIEWS, "views", "identity")
def what_is_a_view(torch, first):
    x = torch.arange(6.0, device=first)
    views = (
        x.view(2, 3),
        x.reshape(3, 2),
        x.view(2, 3).t(),
        x[None],
        x.detach(),
        x.expand(2, 6),
        x.unsqueeze(0),
    )
    start = x.untyped_storage().data_ptr()
    return [y.untyped_storage().data_ptr() == start for y in views]


@program([False] * 4, VIEWS, "views", "identity")
def what_is_a_copy(torch, first):
    x = torch.arange(6.0, device=first)
    copies = x.clone(), x[[0, 1]], x.view(2, 3).t().contiguous(), x + 0
    start = x.untyped_storage().data_ptr()
    return [y.untyped_storage().data_ptr() == start for y in copies]


@program(
    (True, False),
    documentation("generated/torch.Tensor.contiguous", "torch.Tensor.contiguous"),
    "views",
    "identity",
)
def contiguous_copies_only_where_it_must(torch, first):
    x = torch.arange(6.0, device=first).view(2, 3)
    return x.contiguous() is x, x.t().contiguous() is x


@program(("cuda:0", 24, 2, 16), STORAGE, "views")
def a_storage_knows_its_device_and_size(torch, first):
    x = torch.arange(6.0, device=first)
    y = x[2:]
    storage = y.untyped_storage()
    return str(storage.device), storage.nbytes(), y.storage_offset(), y.nbytes


@program((False, 8), STORAGE, "views", "copies")
def a_view_moves_without_the_rest_of_its_storage(torch, first):
    x = torch.arange(6.0)
    d_y = x[2:4].to(first)
    return d_y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), d_y.untyped_storage().nbytes()


@program(
    Raises(
        "TypeError",
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    ),
    TO_NUMPY,
    "numpy",
    "refused",
)
def numpy_is_refused(torch, first):
    return torch.ones(2, device=first).numpy()


@program(
    Raises(
        "TypeError",
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    ),
    source("torch/_tensor.py", "Tensor.__array__"),
    "numpy",
    "refused",
)
def asarray_is_refused(torch, first):
    return np.asarray(torch.ones(2, device=first))


@program(
    Raises(
        "TypeError",
        "can't convert cuda:1 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    ),
    TO_NUMPY,
    "numpy",
    "refused",
    "two devices",
)
def the_refusal_names_the_device(torch, second):
    return torch.ones(2, device=second).numpy()


@program(
    Raises("TypeError", matching="can't convert cuda:0 device type tensor to numpy"),
    source("torch/_tensor.py", "Tensor.__array__"),
    "numpy",
    "refused",
)
def a_function_of_numpy_is_refused(torch, first):
    return np.sum(np.add(torch.ones(2, device=first), 1))


@program(
    Raises(
        "RuntimeError",
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    ),
    TO_NUMPY,
    "numpy",
    "refused",
    "autograd",
)
def numpy_of_a_tensor_that_wants_a_gradient(torch, first):
    return torch.ones(2, device=first, requires_grad=True).cpu().numpy()


@program((np.ndarray, [1.0, 2.0], [1.0, 2.0]), NUMPY, "numpy", "copies")
def numpy_after_cpu_and_by_force(torch, first):
    x = torch.tensor([1.0, 2.0], device=first)
    array, forced = x.cpu().numpy(), x.numpy(force=True)
    array[0] = 1.0
    return type(array), array.tolist(), forced.tolist()


@program(True, documentation("dlpack", "torch.utils.dlpack"), "numpy", "refused")
def numpy_takes_no_device_memory_through_dlpack(torch, first):
    try:
        np.from_dlpack(torch.ones(2, device=first))
    except (BufferError, RuntimeError) as error:
        return "nsupported device" in str(error)
    return "taken"


@program((True, "cuda:0"), documentation("dlpack", "torch.from_dlpack"), "identity")
def dlpack_shares_device_memory(torch, first):
    x = torch.ones(2, device=first)
    y = torch.from_dlpack(x)
    return y.data_ptr() == x.data_ptr(), str(y.device)


@program(([0.0, 1.0, 2.0], True), BEST, "copies", "asynchrony")
def a_copy_that_does_not_block_has_arrived_after_synchronize(torch, first):
    x = torch.arange(3.0)
    d_x = x.to(first, non_blocking=True)
    back = d_x.to("cpu", non_blocking=True)
    torch.accelerator.synchronize()
    return back.tolist(), torch.equal(x, back)


@program(
    (False, True, True),
    documentation("generated/torch.Tensor.pin_memory", "torch.Tensor.pin_memory"),
    "pinned memory",
)
def host_memory_can_be_pinned(torch, first):
    x = torch.ones(2)
    pinned = x.pin_memory()
    return x.is_pinned(), pinned.is_pinned(), pinned.is_cpu


@program(
    Raises("RuntimeError", matching="only dense CPU tensors can be pinned"),
    documentation("generated/torch.Tensor.pin_memory", "torch.Tensor.pin_memory"),
    "pinned memory",
    "refused",
)
def device_memory_is_not_pinned(torch, first):
    return torch.ones(2, device=first).pin_memory()


@program(
    ("cuda:0", [1.0, 2.0], False), source("torch/_tensor.py", "Tensor.__deepcopy__"), "copies", "identity"
)
def a_deep_copy_stays_on_the_device(torch, first):
    x = torch.tensor([1.0, 2.0], device=first)
    y = copy.deepcopy(x)
    return str(y.device), y.tolist(), y.data_ptr() == x.data_ptr()


@program(("cuda:0", [1.0, 2.0]), source("torch/_tensor.py", "Tensor._reduce_ex_internal"), "copies")
def a_pickled_tensor_comes_back_to_its_device(torch, first):
    x = pickle.loads(pickle.dumps(torch.tensor([1.0, 2.0], device=first)))
    return str(x.device), x.tolist()
