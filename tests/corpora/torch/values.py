"""Values that leave the device, and results whose shape depends on the data."""

import math

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, program, source

ITEM = documentation("generated/torch.Tensor.item", "torch.Tensor.item")
NONZERO = documentation("generated/torch.nonzero", "torch.nonzero")
INDEXING = documentation("tensor_view", "Tensor Views, indexing")
RANDOM = documentation("notes/randomness", "PyTorch random number generator")


@program((6.0, 6.0, 6, True), ITEM, "values")
def a_0d_tensor_becomes_a_number(torch, first):
    total = torch.tensor([1.0, 2.0, 3.0], device=first).sum()
    return total.item(), float(total), int(total), bool(total)


@program(
    Raises("RuntimeError", "a Tensor with 2 elements cannot be converted to Scalar"),
    ITEM,
    "values",
    "refused",
)
def item_of_two_elements(torch, first):
    return torch.ones(2, device=first).item()


@program(
    Raises("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous"),
    source("aten/src/ATen/native/TensorProperties.cpp", "is_nonzero"),
    "values",
    "refused",
)
def a_vector_is_no_condition(torch, first):
    if torch.ones(2, device=first) > 0:
        return "yes"


@program(
    ([[0, 1], [2, 3]], [0, 1, 2, 3]),
    documentation("generated/torch.Tensor.tolist", "torch.Tensor.tolist"),
    "values",
)
def tolist_gives_python_numbers(torch, first):
    x = torch.arange(4, device=first)
    return x.reshape(2, 2).tolist(), x.tolist()


@program((3, ["cuda:0"] * 3, [(), (), ()]), source("torch/_tensor.py", "Tensor.__iter__"), "values")
def iteration_gives_0d_tensors_on_the_device(torch, first):
    elements = list(torch.arange(3, device=first))
    return len(elements), [str(x.device) for x in elements], [tuple(x.shape) for x in elements]


@program(
    ([0, 1, 2], 2.0, True),
    source("torch/csrc/autograd/python_variable_methods.cpp", "index_scalar"),
    "values",
)
def python_takes_a_0d_tensor_for_a_number(torch, first):
    return (
        list(range(torch.tensor(3, device=first))),
        math.sqrt(torch.tensor(4.0, device=first)),
        2 in torch.arange(3, device=first),
    )


@program(("cpu", [6.0, 2.0]), documentation("generated/torch.tensor", "torch.tensor"), "values")
def a_list_of_0d_tensors_becomes_a_tensor_on_the_host(torch, first):
    x = torch.tensor([1.0, 2.0, 3.0], device=first)
    y = torch.tensor([x.sum(), x.mean()])
    return str(y.device), y.tolist()


@program(("cuda:0", [2.0, 3.0]), NONZERO, "data-dependent shapes")
def a_mask_selects_on_the_device(torch, first):
    x = torch.tensor([1.0, 2.0, 3.0], device=first)
    y = x[x > 1]
    return str(y.device), y.tolist()


@program(("cuda:0", [[0], [2]], (3, 1)), NONZERO, "data-dependent shapes")
def nonzero_stays_on_the_device(torch, first):
    where = torch.tensor([1, 0, 4], device=first).nonzero()
    return str(where.device), where.tolist(), (3, where.shape[1])


@program(
    ("cuda:0", [1, 2, 5], [2, 1, 3]),
    documentation("generated/torch.unique", "torch.unique"),
    "data-dependent shapes",
)
def unique_values_with_their_counts(torch, first):
    found, counts = torch.tensor([5, 1, 5, 2, 1, 5], device=first).unique(return_counts=True)
    return str(found.device), found.tolist(), counts.tolist()


@program(
    ("cuda:0", [1.0, 1.0, 2.0]),
    documentation("generated/torch.repeat_interleave", "torch.repeat_interleave"),
    "data-dependent shapes",
)
def repeats_that_are_data(torch, first):
    y = torch.repeat_interleave(torch.tensor([1.0, 2.0], device=first), torch.tensor([2, 1], device=first))
    return str(y.device), y.tolist()


@program(
    ("cuda:0", [1.0, 3.0]),
    documentation("generated/torch.masked_select", "torch.masked_select"),
    "data-dependent shapes",
)
def masked_select_on_the_device(torch, first):
    x = torch.tensor([1.0, 2.0, 3.0], device=first)
    y = torch.masked_select(x, torch.tensor([True, False, True], device=first))
    return str(y.device), y.tolist()


@program(
    Raises("IndexError", matching="index 5 is out of bounds for dimension 0 with size 3"),
    source("aten/src/ATen/native/TensorShape.cpp", "select"),
    "values",
    "refused",
)
def a_python_index_out_of_bounds_is_refused_at_once(torch, first):
    return torch.arange(3, device=first)[5]


@program((True, True), RANDOM, "random")
def a_seed_is_for_every_device(torch, first):
    torch.manual_seed(3)
    on_host, on_device = torch.rand(5), torch.rand(5, device=first)
    torch.manual_seed(3)
    return torch.equal(on_host, torch.rand(5)), torch.equal(on_device, torch.rand(5, device=first))


@program((False, "cuda:0"), RANDOM, "random")
def the_same_seed_gives_other_numbers_on_the_device(torch, first):
    torch.manual_seed(3)
    on_host, on_device = torch.rand(5), torch.rand(5, device=first)
    return torch.equal(on_host, on_device.cpu()), str(on_device.device)


@program(True, RANDOM, "random")
def numbers_drawn_on_the_host_leave_the_device_alone(torch, first):
    torch.manual_seed(3)
    alone = torch.rand(5, device=first)
    torch.manual_seed(3)
    torch.rand(100)
    return torch.equal(alone, torch.rand(5, device=first))


@program(("cuda:0", True, True), documentation("generated/torch.Generator", "torch.Generator"), "random")
def a_generator_has_a_device(torch, first):
    generator = torch.Generator(device=first).manual_seed(7)
    x = torch.rand(4, device=first, generator=generator)
    generator.manual_seed(7)
    y = torch.rand(4, device=first, generator=generator)
    return str(generator.device), torch.equal(x, y), bool(((x >= 0) & (x < 1)).all())


@program(
    Raises("RuntimeError", "Expected a 'cuda' device type for generator but found 'cpu'"),
    source("aten/src/ATen/core/Generator.h", "check_generator"),
    "random",
    "refused",
)
def a_generator_of_the_host_draws_nothing_on_the_device(torch, first):
    return torch.rand(2, device=first, generator=torch.Generator())


@program((True, False), documentation("cuda", "Random Number Generator"), "random")
def the_state_of_the_generator_is_put_back(torch, first, gpu):
    state = gpu.get_rng_state(first)
    x = torch.rand(4, device=first)
    other = torch.rand(4, device=first)
    gpu.set_rng_state(state, first)
    return torch.equal(x, torch.rand(4, device=first)), torch.equal(x, other)


@program((True, True, True), RANDOM, "random")
def normal_numbers_have_their_moments(torch, first):
    x = torch.randn(20000, device=first)
    n = torch.randint(0, 10, (1000,), device=first)
    return (
        abs(x.mean().item()) < 0.05,
        abs(x.std().item() - 1) < 0.05,
        0 <= n.min().item() <= n.max().item() < 10,
    )


@program((True, True), documentation("generated/torch.nn.Dropout", "torch.nn.Dropout"), "random", "modules")
def dropout_on_the_device(torch, first):
    x = torch.ones(10000, device=first)
    y = torch.nn.functional.dropout(x, 0.25)
    zeros = (y == 0).float().mean().item()
    kept = y[y != 0]
    return abs(zeros - 0.25) < 0.03, bool(torch.allclose(kept, torch.full_like(kept, 4 / 3)))
