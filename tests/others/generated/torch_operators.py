"""Tests of PyTorch's operators on the stand-in device, generated from the samples in PyTorch's own database.

PyTorch's wheel describes each operator (`op_db`): its samples of inputs, its dtypes, its variants. Here each sample runs
on the CPU and on the device: result, dtype, shape, device and gradients must be the same.
"""

import torch
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase
from torch.utils._pytree import tree_leaves

# What lessons, solutions and their likely neighbours use, by PyTorch's names.
NAMES = """
abs acos add addcdiv addcmul addmm addmv addr all allclose amax amin aminmax any arange argmax argmin argsort
argwhere asin atan atan2 atleast_1d atleast_2d baddbmm bincount bitwise_and bitwise_or bitwise_xor bmm
broadcast_tensors broadcast_to bucketize cat cdist ceil chunk clamp clamp_max clamp_min clone complex conj
contiguous copysign corrcoef cos cosh count_nonzero cov cross cummax cummin cumprod cumsum diag diag_embed diagonal
diff dist div dot dsplit dstack einsum eq equal erf erfc erfinv exp exp2 expand expand_as expm1 eye fft.fft
fft.ifft fft.irfft fft.rfft fill flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp
full full_like gather ge gt heaviside histc hsplit hstack hypot index_add index_copy index_fill index_put index_select
inner isclose isfinite isin isinf isnan item kron kthvalue ldexp le lerp linalg.cholesky linalg.det linalg.eigh
linalg.inv linalg.lstsq linalg.matrix_norm linalg.norm linalg.qr linalg.solve linalg.svd linalg.vector_norm linspace
log log10 log1p log2 log_softmax logaddexp logcumsumexp logical_and logical_not logical_or logical_xor logit logspace
logsumexp lt masked_fill masked_scatter masked_select matmul max maximum mean median meshgrid min minimum mm mode
movedim msort mul mv nan_to_num nanmean nanmedian nanquantile nansum narrow ne neg new_full
new_ones new_zeros nonzero norm ones ones_like outer permute polar positive pow prod put quantile rad2deg ravel
reciprocal remainder renorm repeat repeat_interleave reshape roll rot90 round rsqrt rsub scatter scatter_add
scatter_reduce searchsorted select select_scatter sgn sigmoid sign signbit sin sinc sinh slice softmax sort split
split_with_sizes sqrt square squeeze stack std std_mean sub sum swapaxes t take take_along_dim tan tanh
tensordot tile topk trace transpose trapezoid triangular_solve tril tril_indices triu true_divide trunc unbind
unflatten unfold unique unique_consecutive unsqueeze var var_mean view view_as vsplit vstack where xlogy zeros
zeros_like
nn.functional.adaptive_avg_pool2d nn.functional.avg_pool2d nn.functional.batch_norm
nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits nn.functional.conv1d
nn.functional.conv2d nn.functional.conv_transpose2d nn.functional.cosine_similarity nn.functional.cross_entropy
nn.functional.elu nn.functional.embedding nn.functional.gelu nn.functional.glu nn.functional.group_norm
nn.functional.hardtanh nn.functional.huber_loss nn.functional.interpolate nn.functional.kl_div nn.functional.l1_loss
nn.functional.layer_norm nn.functional.leaky_relu nn.functional.linear nn.functional.logsigmoid
nn.functional.max_pool2d nn.functional.mse_loss nn.functional.nll_loss nn.functional.normalize nn.functional.one_hot
nn.functional.pad nn.functional.relu nn.functional.relu6 nn.functional.scaled_dot_product_attention
nn.functional.silu nn.functional.smooth_l1_loss nn.functional.softplus nn.functional.unfold
"""
USED = set(NAMES.split())
CHOSEN = [op for op in op_db if op.name in USED]
SAMPLES = 4  # of an operator and a dtype
DTYPES = (torch.float32, torch.int64, torch.bool)


def on(device, value):
    """Return a value with its tensors on a device."""
    return torch.utils._pytree.tree_map(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, value)


class TestOperators(TestCase):
    """Each operator gives on the device what it gives on the CPU."""

    def pairs(self, op, dtype, requires_grad=False):
        """Yield the arguments of an operator on the CPU, and the same on the device."""
        for _, sample in zip(
            range(SAMPLES), op.sample_inputs("cpu", dtype, requires_grad=requires_grad), strict=False
        ):
            here = (sample.input, *sample.args)
            yield here, sample.kwargs

    def check_same(self, found, expected, device):
        """Compare results, tensor by tensor."""
        pairs = list(zip(tree_leaves(found), tree_leaves(expected), strict=True))
        for ours, theirs in pairs:
            if isinstance(theirs, torch.Tensor):
                self.assertEqual(ours.device.type, device.partition(":")[0])
                self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
                self.assertEqual(ours.cpu(), theirs)
            else:
                self.assertEqual(ours, theirs)

    @ops(CHOSEN, dtypes=OpDTypes.supported, allowed_dtypes=DTYPES)
    def test_forward(self, device, dtype, op):
        if dtype not in op.dtypesIfCUDA:
            self.skipTest("CUDA has no kernel for this dtype")
        for given, named in self.pairs(op, dtype):
            torch.manual_seed(0)
            expected = op(*given, **moved_names(named, "cpu"))
            found = op(*on(device, given), **moved_names(on(device, named), device))
            self.check_same(found, expected, device)

    @ops(
        [op for op in CHOSEN if op.supports_autograd],
        dtypes=OpDTypes.supported,
        allowed_dtypes=(torch.float32,),
    )
    def test_backward(self, device, dtype, op):
        for given, named in self.pairs(op, dtype, requires_grad=True):
            there = torch.utils._pytree.tree_map(
                lambda x: (
                    x.detach().to(device).requires_grad_(x.requires_grad)
                    if isinstance(x, torch.Tensor)
                    else x
                ),
                (given, named),
            )
            expected = gradients(op, given, moved_names(named, "cpu"))
            found = gradients(op, there[0], moved_names(there[1], device))
            self.check_same(found, expected, device)


def moved_names(named, device):
    """Return keyword arguments in which `device=` names this device."""
    return {name: device if name == "device" else value for name, value in named.items()}


def gradients(op, given, named):
    """Return the gradients of a sum of the results, for each tensor that asks for one."""
    asked = [x for x in tree_leaves((given, named)) if isinstance(x, torch.Tensor) and x.requires_grad]
    results = [x for x in tree_leaves(op(*given, **named)) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not asked or not results:
        return []
    total = sum((x.abs().sum() if x.is_complex() else x.sum()) for x in results)
    return [x for x in torch.autograd.grad(total, asked, allow_unused=True) if x is not None]


instantiate_device_type_tests(TestOperators, globals(), only_for=("standin", "privateuse1"))
