"""Results that are the same wherever they are computed, and mistakes that are told with the same words."""

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, program, source

ACCURACY = documentation("notes/numerical_accuracy", "Numerical accuracy")
EXTENSIONS = documentation("notes/cuda", "CUDA semantics")
SHAPES = source("aten/src/ATen/native/LinearAlgebra.cpp", "ADDMM_META")


def agree(torch, first, functions, *tensors, tolerance=1e-4):
    """Say which functions give on the device, of the same tensors, another dtype, shape or value, or stay elsewhere."""
    wrong = []
    on_device = [x.to(first) for x in tensors]
    for name, function in functions.items():
        here, there = function(*tensors), function(*on_device)
        if not isinstance(here, tuple):
            here, there = (here,), (there,)
        for a, b in zip(here, there, strict=True):
            same = b.device == first and a.dtype == b.dtype and a.shape == b.shape
            if same and a.is_floating_point():
                same = torch.allclose(a, b.cpu(), rtol=tolerance, atol=tolerance, equal_nan=True)
            elif same:
                same = torch.equal(a, b.cpu())
            if not same:
                wrong.append(name)
    return wrong


@program([], ACCURACY, "values", "element-wise")
def element_by_element(torch, first):
    torch.manual_seed(0)
    functions = {
        "arithmetic": lambda x, y: (x + y) * x - y / (x * x + 1),
        "powers": lambda x, y: x.abs().sqrt() + y**3,
        "functions": lambda x, y: x.sin() + y.exp() + x.tanh() + torch.sigmoid(y) + torch.erf(x),
        "integers": lambda x, y: (x * 10).int() // 3 + (y * 10).int() % 4,
        "bits": lambda x, y: (x * 10).to(torch.int32) ^ (y * 10).to(torch.int32),
        "comparisons": lambda x, y: (x > y) & ~(x < 0) | (x == 0),
        "clamp": lambda x, y: x.clamp(-0.5, 0.5) + y.clamp(min=0),
        "where": lambda x, y: torch.where(x > y, x, y),
        "rounding": lambda x, y: x.round() + y.floor() + x.trunc() + y.ceil(),
        "broadcast": lambda x, y: x[:, None] + y[None],
        "half": lambda x, y: x.half() + y.half(),
        "double": lambda x, y: x.double() * y,
    }
    return agree(torch, first, functions, torch.randn(40), torch.randn(40), tolerance=1e-3)


@program([], ACCURACY, "values", "reductions")
def reductions_and_orders(torch, first):
    torch.manual_seed(0)
    functions = {
        "sum": lambda x: (x.sum(), x.sum(0), x.sum(1, keepdim=True), x.int().sum()),
        "mean": lambda x: (x.mean(), x.std(), x.var(0), x.prod(1)),
        "extrema": lambda x: (x.max(), x.min(), *x.max(1), x.amax(0), x.argmin()),
        "logical": lambda x: ((x > 0).all(), (x > 0).any(1)),
        "cumulative": lambda x: (x.cumsum(0), x.cumprod(1), x.cummax(0).values),
        "norms": lambda x: (
            x.norm(),
            torch.linalg.norm(x),
            torch.linalg.vector_norm(x, dim=1),
            x.logsumexp(1),
        ),
        "sort": lambda x: (*x.sort(1), *x.topk(3), x.argsort(0), x.median()),
        "counts": lambda x: (torch.bincount((x.abs() * 3).int().flatten()), torch.histc(x, 5, -3, 3)),
        "quantile": lambda x: x.quantile(0.3),
    }
    return agree(torch, first, functions, torch.randn(7, 6))


@program([], ACCURACY, "values", "products")
def products_and_linear_algebra(torch, first):
    torch.manual_seed(0)
    functions = {
        "matrices": lambda a, b: (
            a @ b,
            a.mm(b),
            a.t() @ b,
            a.addmm(b, a),
            a.matmul(b[0]),
            torch.outer(a[0], b[0]),
        ),
        "batches": lambda a, b: (a.expand(3, 5, 5) @ b.expand(3, 5, 5), torch.einsum("ij,jk->ki", a, b)),
        "systems": lambda a, b: (torch.linalg.solve(a, b), torch.linalg.inv(a), torch.linalg.det(a)),
        "decompositions": lambda a, b: (torch.linalg.svdvals(a), torch.linalg.cholesky(a @ a.t())),
        "structure": lambda a, b: (a.tril(), a.triu(), a.diag(), a.trace(), torch.kron(a, b)),
    }
    a = torch.randn(5, 5) + 4 * torch.eye(5)
    return agree(torch, first, functions, a, torch.randn(5, 5), tolerance=1e-3)


@program([], ACCURACY, "values", "joining", "indexing")
def shapes_and_indices(torch, first):
    functions = {
        "joins": lambda x: (
            torch.cat([x, x], 1),
            torch.stack([x, x], 1),
            x.repeat(2, 1),
            torch.vstack([x, x]),
        ),
        "parts": lambda x: (x.split(2)[0], x.chunk(2, 1)[1], x[1:, ::2], x[..., None], x[-1], x.unbind()[0]),
        "shapes": lambda x: (
            x.t(),
            x.reshape(-1),
            x.permute(1, 0).contiguous(),
            x.flip(0),
            x.roll(1),
            x.rot90(),
        ),
        "gather": lambda x: (x.gather(1, (x % 3).long()), x[[0, 2]], x[x > 5], x.take((x % 7).long())),
        "select": lambda x: (x.index_select(0, x[0, :2].long()), x.masked_fill(x > 5, 0), x.nonzero()),
        "scatter": lambda x: torch.zeros_like(x).scatter_add(1, (x % 3).long(), x),
        "add": lambda x: torch.zeros_like(x).index_add_(0, torch.tensor([1, 1, 0], device=x.device), x),
        "put": lambda x: x.clone().index_put_((torch.tensor([0, 2], device=x.device),), x[0, 0]),
        "pad": lambda x: torch.nn.functional.pad(x, (1, 2)),
        "one hot": lambda x: torch.nn.functional.one_hot((x % 3).long(), 3),
        "unfold": lambda x: x.unfold(1, 2, 1),
    }
    return agree(torch, first, functions, torch.arange(12).reshape(3, 4))


@program([], ACCURACY, "values", "layers")
def layers_without_weights(torch, first):
    torch.manual_seed(0)
    f = torch.nn.functional
    functions = {
        "activations": lambda x: (f.relu(x), f.gelu(x), f.silu(x), f.leaky_relu(x), f.elu(x), f.softplus(x)),
        "softmax": lambda x: (f.softmax(x, 1), f.log_softmax(x, -1)),
        "pooling": lambda x: (f.max_pool2d(x, 2), f.avg_pool2d(x, 2), f.adaptive_avg_pool2d(x, 1)),
        "norms": lambda x: (
            f.layer_norm(x, x.shape[1:]),
            f.group_norm(x, 2),
            f.instance_norm(x),
            f.normalize(x),
        ),
        "interpolate": lambda x: (
            f.interpolate(x, scale_factor=2),
            f.interpolate(x, size=5, mode="bilinear"),
        ),
        "losses": lambda x: (
            f.mse_loss(x, x * 2),
            f.l1_loss(x, -x),
            f.smooth_l1_loss(x, x * 3),
            f.huber_loss(x, -x),
        ),
        "attention": lambda x: f.scaled_dot_product_attention(x, x, x),
    }
    return agree(torch, first, functions, torch.randn(2, 4, 6, 6), tolerance=1e-2)


@program([], ACCURACY, "values", "layers")
def layers_with_weights(torch, first):
    torch.manual_seed(0)
    wrong = []
    for make, shape in (
        (lambda: torch.nn.Linear(6, 3), (4, 5, 6)),
        (lambda: torch.nn.Conv1d(4, 3, 3), (2, 4, 8)),
        (lambda: torch.nn.Conv2d(4, 6, 3, stride=2, groups=2), (2, 4, 8, 8)),
        (lambda: torch.nn.ConvTranspose2d(4, 3, 2), (2, 4, 5, 5)),
        (lambda: torch.nn.BatchNorm2d(4), (2, 4, 5, 5)),
        (lambda: torch.nn.GroupNorm(2, 4), (2, 4, 5)),
        (lambda: torch.nn.PReLU(), (3, 4)),
        (lambda: torch.nn.MultiheadAttention(8, 2, batch_first=True), (2, 5, 8)),
        (lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 5, 8)),
    ):
        here, x = make(), torch.randn(*shape)
        there = make().to(first)
        there.load_state_dict(here.state_dict())
        results = []
        for layer, given in ((here, x.clone().requires_grad_()), (there, x.to(first).requires_grad_())):
            y = (
                layer(given, given, given)[0]
                if isinstance(layer, torch.nn.MultiheadAttention)
                else layer(given)
            )
            y.square().sum().backward()
            results.append([y, given.grad, *(p.grad for p in layer.parameters())])
        # Convolutions may use TensorFloat-32 on a GPU: three digits, not seven.
        if not all(torch.allclose(a, b.cpu(), rtol=2e-2, atol=2e-2) for a, b in zip(*results, strict=True)):
            wrong.append(type(here).__name__)
    return wrong


@program((True, True), ACCURACY, "values", "layers")
def a_recurrent_layer(torch, first):
    torch.manual_seed(0)
    here, x = torch.nn.LSTM(4, 6, batch_first=True), torch.randn(2, 5, 4)
    there = torch.nn.LSTM(4, 6, batch_first=True).to(first)
    there.load_state_dict(here.state_dict())
    (y, (h, _)), (d_y, (d_h, _)) = here(x), there(x.to(first))
    d_y.sum().backward()
    y.sum().backward()
    same = torch.allclose(y, d_y.cpu(), atol=1e-2) and torch.allclose(h, d_h.cpu(), atol=1e-2)
    return same, torch.allclose(here.weight_hh_l0.grad, there.weight_hh_l0.grad.cpu(), rtol=2e-2, atol=2e-2)


@program([], ACCURACY, "values")
def transforms_and_complex_numbers(torch, first):
    torch.manual_seed(0)
    functions = {
        "there and back": lambda x: torch.fft.ifft(torch.fft.fft(x)).real,
        "spectrum": lambda x: torch.fft.rfft(x).abs(),
        "complex": lambda x: (torch.complex(x, -x) * torch.complex(x, x)).imag,
    }
    return agree(torch, first, functions, torch.randn(16), tolerance=1e-3)


@program(
    (True, "cuda:0"), documentation("generated/torch.autograd.gradcheck.gradcheck", "gradcheck"), "autograd"
)
def gradients_are_checked_on_the_device(torch, first):
    x = torch.randn(4, dtype=torch.float64, device=first, requires_grad=True)
    return torch.autograd.gradcheck(lambda x: (x.exp() * x.sin()).sum(), x), str(x.device)


@program((True, True), documentation("notes/autograd", "Backward hooks"), "autograd")
def hooks_see_gradients_on_the_device(torch, first):
    x, seen = torch.ones(2, device=first, requires_grad=True), []
    y = 3 * x
    y.retain_grad()
    x.register_hook(lambda gradient: seen.append(gradient.device == first))
    y.sum().backward()
    return seen == [True], y.grad.tolist() == [1.0, 1.0]


@program((True, "cuda:0"), documentation("checkpoint", "torch.utils.checkpoint"), "autograd", "memory")
def checkpoints_compute_again(torch, first):
    def block(x):
        return (x * x).exp()

    x = torch.ones(3, device=first, requires_grad=True)
    torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).sum().backward()
    z = torch.ones(3, device=first, requires_grad=True)
    block(z).sum().backward()
    return torch.allclose(x.grad, z.grad), str(x.grad.device)


@program(
    (True, ["cuda:0", "cuda:1"]), documentation("notes/cuda", "CUDA semantics"), "training", "two devices"
)
def data_parallel_by_hand(torch, first, second):
    torch.manual_seed(0)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    whole = torch.nn.Linear(3, 1)
    halves = [torch.nn.Linear(3, 1).to(device) for device in (first, second)]
    torch.nn.functional.mse_loss(whole(x), y).backward()
    for model, part, right in zip(halves, x.chunk(2), y.chunk(2), strict=True):
        model.load_state_dict(whole.state_dict())
        device = model.weight.device
        torch.nn.functional.mse_loss(model(part.to(device)), right.to(device)).backward()
    mean = (halves[0].weight.grad + halves[1].weight.grad.to(first)) / 2
    places = [str(model.weight.grad.device) for model in halves]
    return torch.allclose(mean.cpu(), whole.weight.grad, atol=1e-4), places


@program(
    ("cuda:0", True, False),
    documentation("generated/torch.inference_mode", "torch.inference_mode"),
    "autograd",
)
def inference_on_the_device(torch, first):
    model = torch.nn.Linear(3, 2).to(first)
    with torch.inference_mode():
        y = model(torch.ones(1, 3, device=first))
    return str(y.device), y.is_inference(), y.requires_grad


@program(
    Raises("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (4x2 and 3x2)"),
    SHAPES,
    "layers",
    "refused",
)
def a_layer_of_another_width(torch, first):
    return torch.nn.Linear(3, 2).to(first)(torch.ones(4, 2, device=first))


@program(
    Raises("RuntimeError", "mat1 and mat2 must have the same dtype, but got Double and Float"),
    SHAPES,
    "layers",
    "dtypes",
    "refused",
)
def a_batch_of_another_dtype(torch, first):
    return torch.nn.Linear(3, 2).to(first)(torch.ones(4, 3, dtype=torch.float64, device=first))


@program(
    Raises(
        "RuntimeError",
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    source("aten/src/ATen/ExpandUtils.cpp", "infer_size_impl"),
    "element-wise",
    "refused",
)
def shapes_that_do_not_fit(torch, first):
    return torch.ones(2, device=first) + torch.ones(3, device=first)


@program(
    # AT_DISPATCH refuses by TORCH_CHECK_NOT_IMPLEMENTED.
    Raises("NotImplementedError", matching="""not implemented for 'Long'"""),
    source("aten/src/ATen/native/cuda/Blas.cpp", "addmm_out_cuda_impl"),
    "products",
    "dtypes",
    "refused",
)
def a_product_of_integer_matrices(torch, first):
    x = torch.ones(2, 2, dtype=torch.int64, device=first)
    return x @ x


@program(
    Raises("RuntimeError", matching="^Trying to backward through the graph a second time"),
    documentation("generated/torch.Tensor.backward", "retain_graph"),
    "autograd",
    "refused",
)
def backward_twice(torch, first):
    x = torch.ones(2, device=first, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


@program(
    Raises(
        "RuntimeError",
        matching="^one of the variables needed for gradient computation has been modified by an "
        r"inplace operation: \[torch\.cuda\.FloatTensor \[2\]\]",
    ),
    documentation("notes/autograd", "In-place correctness checks"),
    "autograd",
    "in place",
    "refused",
)
def a_saved_tensor_that_was_changed(torch, first):
    x = torch.ones(2, device=first, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()
