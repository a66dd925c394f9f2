"""Modules and optimizers that move: what goes along, what keeps its identity, what stays where it was."""

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, found_two, program, source

TO = documentation("generated/torch.nn.Module", "Module.to")
APPLY = source("torch/nn/modules/module.py", "Module._apply")
BUFFERS = documentation("generated/torch.nn.Module", "Module.register_buffer")
OPTIM = documentation("optim", "Constructing it")
LOAD = documentation("generated/torch.nn.Module", "Module.load_state_dict")


@program((True, ["cuda:0", "cuda:0"]), TO, "modules")
def a_module_moves_itself(torch, first):
    model = torch.nn.Linear(3, 2)
    moved = model.to(first)
    return moved is model, [str(p.device) for p in model.parameters()]


@program((True, True, "cuda:0"), APPLY, "modules", "identity")
def parameters_keep_their_identity(torch, first):
    model = torch.nn.Linear(3, 2)
    weight, bias = model.weight, model.bias
    model.to(first)
    return model.weight is weight, model.bias is bias, str(weight.device)


@program((True, True, "cpu"), APPLY, "modules", "identity")
def parameters_keep_their_identity_on_the_way_back(torch, first):
    model = torch.nn.Linear(3, 2, device=first)
    weight = model.weight
    model.cpu()
    return model.weight is weight, isinstance(weight, torch.nn.Parameter), str(weight.device)


@program((False, True), APPLY, "modules", "identity")
def the_memory_of_a_parameter_is_another(torch, first):
    model = torch.nn.Linear(3, 2)
    before, values = model.weight.data_ptr(), model.weight.detach().clone()
    model.to(first)
    return model.weight.data_ptr() == before, torch.equal(model.weight.detach().cpu(), values)


@program(True, APPLY, "modules", "identity")
def a_module_that_is_there_keeps_its_memory(torch, first):
    model = torch.nn.Linear(3, 2, device=first)
    before = [p.data_ptr() for p in model.parameters()]
    return [p.data_ptr() for p in model.to(first).parameters()] == before


@program(("cuda:0", "cuda:0", "cuda:0"), BUFFERS, "modules")
def buffers_move(torch, first):
    norm = torch.nn.BatchNorm1d(2).to(first)
    return str(norm.running_mean.device), str(norm.running_var.device), str(norm.num_batches_tracked.device)


@program((False, "cpu", "cuda:0"), APPLY, "modules", "identity")
def a_buffer_becomes_another_tensor(torch, first):
    norm = torch.nn.BatchNorm1d(2)
    mean = norm.running_mean
    norm.to(first)
    return norm.running_mean is mean, str(mean.device), str(norm.running_mean.device)


@program(("cpu", "cuda:0", "cuda:0"), BUFFERS, "modules")
def a_plain_attribute_is_left_behind(torch, first):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = torch.ones(2)
            self.register_buffer("kept", torch.ones(2))
            self.weight = torch.nn.Parameter(torch.ones(2))

    model = Scaled().to(first)
    return str(model.plain.device), str(model.kept.device), str(model.weight.device)


@program(
    found_two(),
    BUFFERS,
    "modules",
    "refused",
)
def a_plain_attribute_that_was_left_behind_is_found_in_use(torch, first):
    class Shifted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = torch.ones(2)

        def forward(self, x):
            return x + self.shift

    return Shifted().to(first)(torch.ones(2, device=first))


@program(("cuda:0", "cpu"), BUFFERS, "modules")
def layers_in_a_plain_list_are_left_behind(torch, first):
    class Layers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.known = torch.nn.ModuleList([torch.nn.Linear(2, 2)])
            self.hidden = [torch.nn.Linear(2, 2)]

    model = Layers().to(first)
    return str(model.known[0].weight.device), str(model.hidden[0].weight.device)


@program((True, True, "cuda:0"), APPLY, "modules", "identity")
def tied_weights_remain_tied(torch, first):
    model = torch.nn.ModuleDict(
        {"words": torch.nn.Embedding(5, 2), "back": torch.nn.Linear(2, 5, bias=False)}
    )
    model["back"].weight = model["words"].weight
    model.to(first)
    tied = model["back"].weight is model["words"].weight
    with torch.no_grad():
        model["back"].weight.fill_(3.0)
    return tied, bool((model["words"].weight == 3.0).all()), str(model["words"].weight.device)


@program(("cuda:0", "cpu", "cuda:0"), TO, "modules")
def a_module_moves_in_part(torch, first):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 2))
    model[0].to(first)
    y = model[0](torch.ones(4, 3, device=first))
    return str(model[0].weight.device), str(model[1].weight.device), str(y.device)


@program(("cuda:0", "cpu", "cpu", "cuda:0"), TO, "modules", "autograd")
def a_model_in_two_places_works_with_a_move_between(torch, first):
    head, tail = torch.nn.Linear(3, 3).to(first), torch.nn.Linear(3, 2)
    x = torch.ones(4, 3)
    y = tail(head(x.to(first)).cpu())
    y.sum().backward()
    return str(head.weight.device), str(tail.weight.device), str(y.device), str(head.weight.grad.device)


@program(("cuda:0", "cuda:1", "cuda:1"), TO, "modules", "two devices")
def a_model_on_two_accelerators(torch, first, second):
    head, tail = torch.nn.Linear(3, 3).to(first), torch.nn.Linear(3, 2).to(second)
    y = tail(head(torch.ones(4, 3, device=first)).to(second))
    y.sum().backward()
    return str(head.weight.grad.device), str(tail.weight.grad.device), str(y.device)


@program(("cuda:0", True), APPLY, "modules", "autograd")
def gradients_move_along(torch, first):
    model = torch.nn.Linear(3, 2)
    model(torch.ones(4, 3)).sum().backward()
    before = model.weight.grad.clone()
    model.to(first)
    return str(model.weight.grad.device), torch.equal(model.weight.grad.cpu(), before)


@program(("cuda:0", "torch.float16", "torch.int64"), TO, "modules", "dtypes")
def a_module_changes_device_and_dtype(torch, first):
    norm = torch.nn.BatchNorm1d(2).to(first, torch.float16)
    return str(norm.weight.device), str(norm.weight.dtype), str(norm.num_batches_tracked.dtype)


@program(
    Raises(
        "TypeError",
        "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64",
    ),
    TO,
    "modules",
    "refused",
)
def a_module_of_integers(torch, first):
    torch.nn.Linear(2, 2).to(first, torch.int64)


@program((["cuda:0", "cuda:0"], True), documentation("generated/torch.nn.Linear", "device"), "modules")
def a_layer_is_made_on_the_device(torch, first):
    layer = torch.nn.Linear(3, 2, device=first)
    return [str(p.device) for p in layer.parameters()], layer.weight.is_leaf


@program(("meta", "cuda:0", (2, 3)), documentation("generated/torch.nn.Module", "Module.to_empty"), "modules")
def a_layer_without_memory_gets_some(torch, first):
    layer = torch.nn.Linear(3, 2, device="meta")
    before = str(layer.weight.device)
    layer.to_empty(device=first)
    return before, str(layer.weight.device), tuple(layer.weight.shape)


@program((True, True, True), OPTIM, "optimizers", "identity")
def an_optimizer_made_before_the_move_still_holds_the_parameters(torch, first):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(first)
    held = optimizer.param_groups[0]["params"]
    before = model.weight.detach().clone()
    model(torch.ones(4, 3, device=first)).sum().backward()
    optimizer.step()
    changed = not torch.equal(before, model.weight.detach())
    return held[0] is model.weight, held[1] is model.bias, changed


@program(("cuda:0", "cuda:0", "cpu"), source("torch/optim/adam.py", "Adam._init_group"), "optimizers")
def the_state_of_adam_is_made_where_the_parameters_are(torch, first):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model.to(first)
    model(torch.ones(4, 3, device=first)).sum().backward()
    optimizer.step()
    state = optimizer.state[model.weight]
    return str(state["exp_avg"].device), str(state["exp_avg_sq"].device), str(state["step"].device)


@program(("cuda:0", "cpu"), OPTIM, "optimizers")
def state_stays_where_it_was_made(torch, first):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    model.to(first)
    return str(model.weight.device), str(optimizer.state[model.weight]["exp_avg"].device)


@program(
    found_two(),
    source("aten/src/ATen/native/ForeachUtils.h", "can_use_fast_route: else one after the other, by lerp_"),
    "optimizers",
    "refused",
)
def adam_stops_where_state_and_parameters_part(torch, first):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    for device in (torch.device("cpu"), first):
        model.to(device)
        optimizer.zero_grad()
        model(torch.ones(4, 3, device=device)).sum().backward()
        optimizer.step()


@program(found_two(), source("torch/optim/sgd.py", "_multi_tensor_sgd"), "optimizers", "refused")
def momentum_is_state_too(torch, first):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for device in (torch.device("cpu"), first):
        model.to(device)
        optimizer.zero_grad()
        model(torch.ones(4, 3, device=device)).sum().backward()
        optimizer.step()


@program(True, OPTIM, "optimizers")
def sgd_without_momentum_may_move_between_steps(torch, first):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for device in (torch.device("cpu"), first, torch.device("cpu")):
        model.to(device)
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3, device=device)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0] > losses[1] > losses[2]


@program(
    ("cuda:0", "cuda:0", "cpu", 1.0),
    documentation("generated/torch.optim.Optimizer.load_state_dict", "Optimizer.load_state_dict"),
    "optimizers",
)
def loaded_state_goes_to_the_parameters(torch, first):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    moved = torch.nn.Linear(3, 2).to(first)
    other = torch.optim.Adam(moved.parameters())
    other.load_state_dict(optimizer.state_dict())
    state = other.state[moved.weight]
    places = (str(state[name].device) for name in ("exp_avg", "exp_avg_sq", "step"))
    return *places, state["step"].item()


@program(
    Raises("ValueError", "can't optimize a non-leaf Tensor"),
    source("torch/optim/optimizer.py", "add_param_group"),
    "optimizers",
    "refused",
)
def a_copy_on_the_device_is_no_parameter(torch, first):
    weight = torch.ones(2, requires_grad=True).to(first)
    torch.optim.SGD([weight], lr=0.1)


@program(
    (["cuda:0", "cuda:0"], True), documentation("generated/torch.nn.Module", "Module.state_dict"), "state"
)
def a_state_dict_shares_the_device_memory(torch, first):
    model = torch.nn.Linear(3, 2).to(first)
    state = model.state_dict()
    return [str(x.device) for x in state.values()], state["weight"].data_ptr() == model.weight.data_ptr()


@program(("cuda:0", True, True), LOAD, "state", "identity")
def a_state_dict_of_the_host_is_copied_to_the_device(torch, first):
    source_, model = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2).to(first)
    weight = model.weight
    model.load_state_dict(source_.state_dict())
    same = torch.equal(model.weight.detach().cpu(), source_.weight.detach())
    return str(model.weight.device), same, model.weight is weight


@program(("cpu", False), LOAD, "state", "identity")
def a_state_dict_that_is_assigned_brings_its_device(torch, first):
    source_, model = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2).to(first)
    weight = model.weight
    model.load_state_dict(source_.state_dict(), assign=True)
    return str(model.weight.device), model.weight is weight
