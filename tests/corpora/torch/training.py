"""Gradients across devices, and models that train to the losses of the CPU."""

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, program, source

AUTOGRAD = documentation("notes/autograd", "Autograd mechanics")
ENGINE = source("torch/csrc/autograd/engine.cpp", "validate_outputs")
GRAD = source("torch/csrc/autograd/python_variable.cpp", "THPVariable_set_grad")
LEAF = documentation("generated/torch.Tensor.is_leaf", "torch.Tensor.is_leaf")
NORM = documentation("generated/torch.nn.BatchNorm2d", "torch.nn.BatchNorm2d")
REPRODUCE = documentation("notes/numerical_accuracy", "Numerical accuracy")


@program(("cuda:0", [2.0, 2.0]), AUTOGRAD, "autograd")
def a_gradient_lives_with_its_tensor(torch, first):
    x = torch.ones(2, device=first, requires_grad=True)
    (2 * x).sum().backward()
    return str(x.grad.device), x.grad.tolist()


@program(("cpu", [2.0, 2.0]), AUTOGRAD, "autograd")
def a_gradient_goes_back_across_the_copy(torch, first):
    x = torch.ones(2, requires_grad=True)
    (2 * x.to(first)).sum().backward()
    return str(x.grad.device), x.grad.tolist()


@program(("cuda:0", [3.0, 3.0]), AUTOGRAD, "autograd")
def a_gradient_goes_to_the_device_across_cpu(torch, first):
    x = torch.ones(2, device=first, requires_grad=True)
    (3 * x.cpu()).sum().backward()
    return str(x.grad.device), x.grad.tolist()


@program(("cuda:0", "cpu", [12.0, 12.0], [4.0, 4.0]), AUTOGRAD, "autograd")
def a_graph_across_two_devices(torch, first):
    x, w = torch.ones(2, device=first, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    y = (2 * x).cpu() * w
    (2 * y.to(first)).sum().backward()
    return str(x.grad.device), str(w.grad.device), x.grad.tolist(), w.grad.tolist()


@program(("cuda:0", "cuda:1", [6.0, 6.0], [2.0, 2.0]), AUTOGRAD, "autograd", "two devices")
def a_graph_across_two_accelerators(torch, first, second):
    x = torch.ones(2, device=first, requires_grad=True)
    w = torch.full((2,), 3.0, device=second, requires_grad=True)
    ((2 * x).to(second) * w).sum().backward()
    return str(x.grad.device), str(w.grad.device), x.grad.tolist(), w.grad.tolist()


@program((False, True, True), LEAF, "autograd")
def a_copy_on_the_device_is_no_leaf(torch, first):
    moved = torch.ones(2, requires_grad=True).to(first)
    made = torch.ones(2, device=first, requires_grad=True)
    asked = torch.ones(2).to(first).requires_grad_()
    return moved.is_leaf, made.is_leaf, asked.is_leaf


@program("ToCopyBackward0", source("tools/autograd/derivatives.yaml", "_to_copy"), "autograd")
def a_copy_is_part_of_the_graph(torch, first):
    return torch.ones(2, requires_grad=True).to(first).grad_fn.name()


@program(
    Raises(
        "RuntimeError",
        matching="^attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'",
    ),
    GRAD,
    "autograd",
    "refused",
)
def a_gradient_of_another_device_is_not_assigned(torch, first):
    x = torch.ones(2, device=first, requires_grad=True)
    x.grad = torch.ones(2)


@program(
    Raises("RuntimeError", matching="invalid gradient at index 0 - expected device cuda:0 but got cpu"),
    ENGINE,
    "autograd",
    "refused",
)
def backward_starts_on_the_device_of_the_result(torch, first):
    y = 2 * torch.ones(2, device=first, requires_grad=True)
    y.backward(torch.ones(2))


@program(("cuda:0", [4.0, 4.0]), AUTOGRAD, "autograd")
def gradients_add_up_on_the_device(torch, first):
    x = torch.ones(2, device=first, requires_grad=True)
    for _ in range(2):
        (2 * x).sum().backward()
    return str(x.grad.device), x.grad.tolist()


@program(
    (["cuda:0"], [[6.0, 12.0]]),
    documentation("generated/torch.autograd.grad", "torch.autograd.grad"),
    "autograd",
)
def grad_of_a_function_on_the_device(torch, first):
    x = torch.tensor([1.0, 2.0], device=first, requires_grad=True)
    found = torch.autograd.grad((3 * x * x).sum(), x)
    return [str(g.device) for g in found], [g.tolist() for g in found]


@program(([2.0, 3.0], [2.0, 3.0]), documentation("notes/extending", "Extending torch.autograd"), "autograd")
def a_function_of_ones_own_on_the_device(torch, first):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(factor)
            return x * factor

        @staticmethod
        def backward(ctx, gradient):
            (factor,) = ctx.saved_tensors
            return gradient * factor, None

    x = torch.ones(2, device=first, requires_grad=True)
    y = Scale.apply(x, torch.tensor([2.0, 3.0], device=first))
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


def losses(torch, model, optimizer, data, labels, device, loss_of, steps):
    """Train a model on a device; return the loss of each step."""
    model.to(device)
    data, labels, found = data.to(device), labels.to(device), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(data), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def train_twice(torch, first, make_model, make_optimizer, data, labels, loss_of, steps=8, tolerance=1e-3):
    """Train the same model on the host and on the device; say whether losses and weights agree and losses fall.

    Adam makes full steps of the smallest gradients: with it, weights may part where losses do not.
    """
    found, models = [], []
    for device in ("cpu", first):
        torch.manual_seed(1)
        model = make_model()
        optimizer = make_optimizer(model.parameters())
        found.append(losses(torch, model, optimizer, data, labels, device, loss_of, steps))
        models.append(model)
    here, there = (torch.tensor(each) for each in found)
    weights = all(
        torch.allclose(a, b.cpu(), rtol=tolerance, atol=tolerance)
        for a, b in zip(models[0].state_dict().values(), models[1].state_dict().values(), strict=True)
    )
    return torch.allclose(here, there, rtol=tolerance, atol=tolerance), weights, found[1][-1] < found[1][0]


@program((True, True, True), REPRODUCE, "training")
def an_mlp_with_sgd(torch, first):
    torch.manual_seed(0)
    data, labels = torch.randn(32, 10), torch.randint(0, 3, (32,))

    def model():
        return torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))

    return train_twice(
        torch,
        first,
        model,
        lambda p: torch.optim.SGD(p, lr=0.1),
        data,
        labels,
        torch.nn.functional.cross_entropy,
    )


@program((True, True, True), REPRODUCE, "training")
def an_mlp_with_momentum_and_weight_decay(torch, first):
    torch.manual_seed(0)
    data, labels = torch.randn(32, 10), torch.randn(32, 1)

    def model():
        return torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))

    def optimizer(parameters):
        return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=1e-3)

    return train_twice(torch, first, model, optimizer, data, labels, torch.nn.functional.mse_loss)


@program((True, True), REPRODUCE, "training")
def an_mlp_with_adam(torch, first):
    torch.manual_seed(0)
    data, labels = torch.randn(32, 10), torch.randint(0, 3, (32,))

    def model():
        return torch.nn.Sequential(
            torch.nn.Linear(10, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)
        )

    agree, _, falls = train_twice(
        torch,
        first,
        model,
        lambda p: torch.optim.Adam(p, lr=0.01),
        data,
        labels,
        torch.nn.functional.cross_entropy,
    )
    return agree, falls


def small_cnn(torch):
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 3),
    )


@program((True, True, True), REPRODUCE, "training")
def a_small_cnn_with_batch_norm_and_sgd(torch, first):
    torch.manual_seed(0)
    data, labels = torch.randn(16, 1, 8, 8), torch.randint(0, 3, (16,))
    # Convolutions may use TensorFloat-32 on a GPU: three digits, not seven.
    return train_twice(
        torch,
        first,
        lambda: small_cnn(torch),
        lambda p: torch.optim.SGD(p, lr=0.05),
        data,
        labels,
        torch.nn.functional.cross_entropy,
        tolerance=2e-2,
    )


@program((True, True), REPRODUCE, "training")
def a_small_cnn_with_batch_norm_and_adam(torch, first):
    torch.manual_seed(0)
    data, labels = torch.randn(16, 1, 8, 8), torch.randint(0, 3, (16,))
    agree, _, falls = train_twice(
        torch,
        first,
        lambda: small_cnn(torch),
        lambda p: torch.optim.Adam(p, lr=1e-3),
        data,
        labels,
        torch.nn.functional.cross_entropy,
        tolerance=2e-2,
    )
    return agree, falls


def bag_of_words(torch):
    class Words(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.out = torch.nn.Embedding(20, 6), torch.nn.Linear(6, 3)

        def forward(self, words):
            return self.out(self.words(words).mean(dim=1))

    return Words()


@program((True, True, True), REPRODUCE, "training")
def an_embedding_with_sgd(torch, first):
    torch.manual_seed(0)
    data, labels = torch.randint(0, 20, (24, 5)), torch.randint(0, 3, (24,))
    return train_twice(
        torch,
        first,
        lambda: bag_of_words(torch),
        lambda p: torch.optim.SGD(p, lr=0.5),
        data,
        labels,
        torch.nn.functional.cross_entropy,
    )


@program((True, True), REPRODUCE, "training")
def an_embedding_with_adam(torch, first):
    torch.manual_seed(0)
    data, labels = torch.randint(0, 20, (24, 5)), torch.randint(0, 3, (24,))
    agree, _, falls = train_twice(
        torch,
        first,
        lambda: bag_of_words(torch),
        lambda p: torch.optim.Adam(p, lr=0.01),
        data,
        labels,
        torch.nn.functional.cross_entropy,
    )
    return agree, falls


@program((True, True, 1, "cuda:0"), NORM, "training", "modules")
def running_statistics_are_updated_on_the_device(torch, first):
    x = torch.randn(8, 2, 4, 4)
    here, there = torch.nn.BatchNorm2d(2), torch.nn.BatchNorm2d(2).to(first)
    here(x), there(x.to(first))
    mean = torch.allclose(here.running_mean, there.running_mean.cpu(), atol=1e-5)
    var = torch.allclose(here.running_var, there.running_var.cpu(), atol=1e-5)
    moved = there.running_mean.abs().sum().item() > 0
    return mean and moved, var, there.num_batches_tracked.item(), str(there.running_mean.device)


@program((True, True), NORM, "training", "modules")
def evaluation_uses_the_running_statistics(torch, first):
    x = torch.randn(8, 2)
    norm = torch.nn.BatchNorm1d(2).to(first)
    norm(x.to(first))
    before = norm.running_mean.clone()
    norm.eval()
    y = norm(x.to(first)).cpu()
    right = (x - before.cpu()) / torch.sqrt(norm.running_var.cpu() + norm.eps)
    return torch.equal(before, norm.running_mean), torch.allclose(y, right.detach(), atol=1e-4)


@program(True, documentation("data", "torch.utils.data"), "training")
def batches_are_moved_one_by_one(torch, first):
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randn(12, 1))
    model = torch.nn.Linear(4, 1).to(first)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    epochs = []
    for _ in range(4):
        total = 0.0
        for x, y in torch.utils.data.DataLoader(data, batch_size=4):
            loss = torch.nn.functional.mse_loss(model(x.to(first)), y.to(first))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        epochs.append(total)
    return epochs[-1] < epochs[0]


@program(
    (True, True), documentation("generated/torch.nn.utils.clip_grad_norm_", "clip_grad_norm_"), "training"
)
def gradients_are_clipped_on_the_device(torch, first):
    model = torch.nn.Linear(3, 2).to(first)
    (100 * model(torch.ones(4, 3, device=first))).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    after = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    return norm.item() > 1, abs(after.item() - 1) < 1e-3


@program(([1.0, 1.0], False), documentation("generated/torch.no_grad", "torch.no_grad"), "autograd")
def weights_are_changed_by_hand_without_a_graph(torch, first):
    w = torch.full((2,), 2.0, device=first, requires_grad=True)
    w.square().sum().backward()
    with torch.no_grad():
        w -= 0.25 * w.grad
    y = w.detach()
    return y.tolist(), y.requires_grad


@program(
    ("cuda:0", [0.0, 0.0], [0.0, 0.0]), source("tools/autograd/derivatives.yaml", "sgn, sign"), "autograd"
)
def a_gradient_that_is_known_to_be_zero(torch, first):
    found = []
    for function in (torch.sgn, torch.sign):
        x = torch.ones(2, device=first, requires_grad=True)
        (gradient,) = torch.autograd.grad(function(x).sum(), x)
        found.append(gradient)
    return str(found[0].device), *(gradient.tolist() for gradient in found)


@program([], documentation("optim", "Algorithms"), "training", "optimizers")
def every_optimizer_makes_the_steps_of_the_host(torch, first):
    wrong = []
    for name in (
        "SGD",
        "Adam",
        "AdamW",
        "RMSprop",
        "Adagrad",
        "Adadelta",
        "NAdam",
        "RAdam",
        "Adamax",
        "Rprop",
        "ASGD",
    ):
        ends = []
        for device in ("cpu", first):
            weight = torch.nn.Parameter(torch.linspace(0.5, 2, 6, device=device))
            optimizer = getattr(torch.optim, name)([weight])
            for step in range(5):
                optimizer.zero_grad()
                (weight.square().sum() * (step + 1)).backward()
                optimizer.step()
            ends.append(weight.detach().cpu())
        if not torch.allclose(*ends, atol=1e-4):
            wrong.append(name)
    return wrong
