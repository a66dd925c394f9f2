"""Where tensors are made, and how they say where they are."""

import numpy as np

from tests.corpora.torch.case import documentation, program, source

CREATION = documentation("torch", "Creation Ops")
DEVICE = documentation("tensor_attributes", "torch.device")
ON_CUDA = documentation("notes/cuda", "CUDA semantics")
DEFAULT = documentation("generated/torch.set_default_device", "torch.set_default_device")
NEW = documentation("tensors", "Tensor.new_tensor, new_zeros, new_full")


@program(("cpu", "cuda:0", "cuda:0", "cuda:0"), CREATION, "creation")
def a_tensor_is_made_where_device_says(torch, first):
    made = (
        torch.zeros(2),
        torch.zeros(2, device=first),
        torch.arange(3, device=first),
        torch.eye(2, device=first),
    )
    return tuple(str(x.device) for x in made)


@program((True, "cuda:0"), ON_CUDA, "creation")
def a_device_without_number_is_the_current_one(torch, first):
    x = torch.ones(2, device=first.type)
    return x.device == first, str(x.device)


@program(("cuda:0", True), DEVICE, "creation")
def a_device_may_be_a_number(torch, first):
    x = torch.ones(2, device=0)
    return str(x.device), x.device == first


@program((["cuda:0"] * 6, [[0.0, 0.0], [1.0, 1.0]]), CREATION, "creation")
def likes_are_made_where_the_original_is(torch, first):
    x = torch.ones(2, device=first)
    makers = torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like, torch.randn_like
    made = [make(x) for make in makers] + [torch.full_like(x, 3.0)]
    return [str(y.device) for y in made], [made[0].tolist(), made[1].tolist()]


@program(("cpu", "cuda:0"), CREATION, "creation")
def likes_go_where_device_says(torch, first):
    on_device, on_host = torch.ones(2, device=first), torch.ones(2)
    return str(torch.zeros_like(on_device, device="cpu").device), str(
        torch.zeros_like(on_host, device=first).device
    )


@program((["cuda:0"] * 5, [1.0, 2.0], "torch.float64"), NEW, "creation")
def new_tensors_follow_the_tensor(torch, first):
    x = torch.zeros(2, dtype=torch.float64, device=first)
    made = x.new_tensor([1.0, 2.0]), x.new_zeros(2), x.new_ones(2), x.new_full((2,), 3.0), x.new_empty(2)
    return [str(y.device) for y in made], made[0].tolist(), str(made[0].dtype)


@program(("cuda:0", [[1, 2], [3, 4]], "torch.int64"), CREATION, "creation")
def a_tensor_of_python_numbers(torch, first):
    x = torch.tensor([[1, 2], [3, 4]], device=first)
    return str(x.device), x.tolist(), str(x.dtype)


@program(("cuda:0", [1.0, 2.0], [9.0, 2.0]), CREATION, "creation", "numpy")
def as_tensor_copies_an_array_to_the_device(torch, first):
    array = np.array([1.0, 2.0])
    x = torch.as_tensor(array, device=first)
    array[0] = 9.0
    return str(x.device), x.tolist(), array.tolist()


@program((True, True, False), CREATION, "creation", "identity")
def as_tensor_gives_back_what_is_there(torch, first):
    x = torch.ones(2, device=first)
    return (
        torch.as_tensor(x) is x,
        torch.as_tensor(x, device=first) is x,
        torch.as_tensor(x, device="cpu") is x,
    )


@program(("cpu", "cuda:0", [1.0, 2.0], [7.0, 2.0]), CREATION, "creation", "numpy")
def from_numpy_shares_memory_until_it_moves(torch, first):
    array = np.array([1.0, 2.0])
    x = torch.from_numpy(array)
    d_x = x.to(first)
    array[0] = 7.0
    return str(x.device), str(d_x.device), d_x.tolist(), x.tolist()


@program(("cuda:0", "cuda:0", "cpu"), DEFAULT, "default device")
def a_default_device(torch, first):
    torch.set_default_device(first)
    inside = torch.ones(2).device, torch.tensor([1, 2]).device
    torch.set_default_device("cpu")
    return str(inside[0]), str(inside[1]), str(torch.ones(2).device)


@program(
    ("cuda:0", "cpu"),
    documentation("generated/torch.get_default_device", "torch.get_default_device"),
    "default device",
)
def the_default_device_is_asked_for(torch, first):
    torch.set_default_device(first)
    during = torch.get_default_device()
    torch.set_default_device(None)
    return str(during), str(torch.get_default_device())


@program(("cpu", "cpu", "cuda:0"), DEFAULT, "default device", "numpy")
def a_default_device_leaves_from_numpy_and_an_explicit_device_alone(torch, first):
    torch.set_default_device(first)
    shared = torch.from_numpy(np.ones(2))
    return (
        str(shared.device),
        str(torch.ones(2, device="cpu").device),
        str(torch.as_tensor(np.ones(2)).device),
    )


@program(("cpu", "cuda:0", "cpu", "cpu"), DEVICE, "default device")
def a_device_is_a_context(torch, first):
    before = torch.ones(2).device
    with torch.device(first):
        outer = torch.ones(2).device
        with torch.device("cpu"):
            inner = torch.ones(2).device
    return str(before), str(outer), str(inner), str(torch.ones(2).device)


@program((["cuda:0", "cuda:0"], ["cpu", "cpu"]), DEVICE, "default device", "modules")
def a_layer_made_in_the_context_of_a_device(torch, first):
    with torch.device(first):
        inside = torch.nn.Linear(2, 2)
    outside = torch.nn.Linear(2, 2)
    return [str(p.device) for p in inside.parameters()], [str(p.device) for p in outside.parameters()]


@program((False, True, 0, -1), documentation("tensors", "Tensor.is_cpu, Tensor.get_device"), "attributes")
def a_tensor_says_where_it_is(torch, first):
    x, h_x = torch.ones(2, device=first), torch.ones(2)
    return x.is_cpu, h_x.is_cpu, x.get_device(), h_x.get_device()


@program(
    ("torch.cuda.FloatTensor", "torch.FloatTensor", "torch.cuda.LongTensor"),
    source("aten/src/ATen/core/DeprecatedTypeProperties.cpp", "toString"),
    "attributes",
)
def the_type_names_the_device(torch, first):
    return (
        torch.ones(2, device=first).type(),
        torch.ones(2).type(),
        torch.ones(2, device=first, dtype=torch.int64).type(),
    )


@program("tensor([1., 2.], device='cuda:0')", source("torch/_tensor_str.py", "_str_intern"), "printing")
def a_printed_tensor_names_its_device(torch, first):
    return repr(torch.tensor([1.0, 2.0], device=first))


@program(
    "tensor([1.], device='cuda:0', requires_grad=True)",
    source("torch/_tensor_str.py", "_str_intern"),
    "printing",
)
def a_printed_tensor_says_that_it_wants_a_gradient(torch, first):
    return str(torch.ones(1, device=first, requires_grad=True))


@program(
    "tensor([2.], device='cuda:0', grad_fn=<MulBackward0>)",
    source("torch/_tensor_str.py", "_str_intern"),
    "printing",
    "autograd",
)
def a_printed_tensor_says_where_it_came_from(torch, first):
    return str(torch.ones(1, device=first, requires_grad=True) * 2)


@program(
    "Parameter containing:\ntensor([1.], device='cuda:0', requires_grad=True)",
    source("torch/nn/parameter.py", "Parameter.__repr__"),
    "printing",
    "modules",
)
def a_printed_parameter_names_its_device(torch, first):
    return repr(torch.nn.Parameter(torch.ones(1, device=first)))


@program(
    "tensor([[1.5000, 2.0000],\n        [0.0000,    inf]], device='cuda:0')",
    source("torch/_tensor_str.py", "_str_intern"),
    "printing",
)
def a_printed_matrix_is_set_in_columns(torch, first):
    return str(torch.tensor([[1.5, 2.0], [0.0, float("inf")]], device=first))


@program(
    "tensor([   0,    1,    2,  ..., 1997, 1998, 1999], device='cuda:0')",
    source("torch/_tensor_str.py", "_str_intern"),
    "printing",
)
def a_long_tensor_is_summarised(torch, first):
    return str(torch.arange(2000, device=first))


@program("1.50", source("torch/_tensor.py", "Tensor.__format__"), "printing")
def a_0d_tensor_in_a_format(torch, first):
    return f"{torch.tensor(1.5, device=first):.2f}"
