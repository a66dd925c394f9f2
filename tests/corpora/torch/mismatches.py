"""Tensors on different devices: what is refused, with which words, and what is allowed."""

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, found_two, got, program, source

ITERATOR = source("aten/src/ATen/TensorIterator.cpp", "TensorIteratorBase::compute_types")
WRAPPER = source("aten/src/ATen/core/adaption.cpp", "common_device_check_failure")
LINEAR = source("aten/src/ATen/native/Linear.cpp", "linear (addmm with a bias, matmul without)")
INDEX = source("aten/src/ATen/native/TensorAdvancedIndexing.cpp", "index")
PUT = source("aten/src/ATen/native/TensorAdvancedIndexing.cpp", "_index_put_impl_")
CONVOLUTION = source("aten/src/ATen/native/Convolution.cpp", "check_input_same_type_as_parameters")
EMBEDDING = source("aten/src/ATen/native/Embedding.cpp", "embedding_symint (index_select)")
LOSS = source("aten/src/ATen/native/LossNLL.cpp", "cross_entropy_loss (nll_loss_forward)")
SCALARS = documentation("notes/cuda", "CUDA semantics; 0-d CPU tensors")


@program(found_two(), ITERATOR, "element-wise", "refused")
def a_sum_across_devices(torch, first):
    return torch.ones(2, device=first) + torch.ones(2)


@program(found_two(), ITERATOR, "element-wise", "refused")
def the_order_of_the_operands_does_not_matter(torch, first):
    return torch.ones(2) * torch.ones(2, device=first)


@program(found_two("cuda:0", "cuda:1"), ITERATOR, "element-wise", "refused", "two devices")
def a_sum_across_two_accelerators(torch, first, second):
    return torch.ones(2, device=first) + torch.ones(2, device=second)


@program(found_two("cuda:1", "cuda:0"), ITERATOR, "element-wise", "refused", "two devices")
def a_sum_across_two_accelerators_the_other_way(torch, first, second):
    return torch.ones(2, device=second) + torch.ones(2, device=first)


@program(found_two(), ITERATOR, "comparisons", "refused")
def a_comparison_across_devices(torch, first):
    return torch.ones(2, device=first) == torch.ones(2)


@program(found_two(), ITERATOR, "comparisons", "refused")
def the_larger_of_two_across_devices(torch, first):
    return torch.maximum(torch.ones(2), torch.ones(2, device=first))


@program(found_two(), source("aten/src/ATen/native/TensorCompare.cpp", "isclose"), "comparisons", "refused")
def allclose_across_devices(torch, first):
    return torch.allclose(torch.ones(2, device=first), torch.ones(2))


@program(got("other", "cpu", "cuda:0"), WRAPPER, "comparisons", "refused")
def equal_across_devices(torch, first):
    return torch.equal(torch.ones(2, device=first), torch.ones(2))


@program(
    Raises("AssertionError", matching="The values for attribute 'device' do not match: cpu != cuda:0"),
    source("torch/testing/_comparison.py", "TensorLikePair._compare_attributes"),
    "comparisons",
    "refused",
)
def assert_close_across_devices(torch, first):
    torch.testing.assert_close(torch.ones(2), torch.ones(2, device=first))


@program(found_two(), ITERATOR, "in place", "refused")
def in_place_into_the_host(torch, first):
    x = torch.ones(2)
    x += torch.ones(2, device=first)


@program(found_two(), ITERATOR, "in place", "refused")
def in_place_into_the_device(torch, first):
    torch.ones(2, device=first).mul_(torch.ones(2))


@program([1.0, 1.0], ITERATOR, "in place")
def a_refused_operation_changes_nothing(torch, first):
    x = torch.ones(2, device=first)
    try:
        x += torch.ones(2)
    except RuntimeError:
        return x.tolist()
    return "it was not refused"


@program(found_two(), ITERATOR, "element-wise", "refused")
def a_result_for_another_device(torch, first):
    x = torch.ones(2, device=first)
    return torch.add(x, x, out=torch.empty(2))


@program(got("mat2", "cpu", "cuda:0"), WRAPPER, "products", "refused")
def a_matrix_product_across_devices(torch, first):
    return torch.ones(2, 2, device=first) @ torch.ones(2, 2)


@program(got("mat2", "cuda:0", "cpu"), WRAPPER, "products", "refused")
def a_matrix_product_across_devices_the_other_way(torch, first):
    return torch.mm(torch.ones(2, 2), torch.ones(2, 2, device=first))


@program(got("mat2", "cuda:1", "cuda:0"), WRAPPER, "products", "refused", "two devices")
def a_matrix_product_across_two_accelerators(torch, first, second):
    return torch.ones(2, 2, device=first) @ torch.ones(2, 2, device=second)


@program(got("mat1", "cpu", "cuda:0"), WRAPPER, "products", "refused")
def addmm_across_devices(torch, first):
    return torch.addmm(torch.ones(2, device=first), torch.ones(2, 2), torch.ones(2, 2, device=first))


@program(got("mat2", "cpu", "cuda:0"), WRAPPER, "products", "refused")
def a_batch_of_products_across_devices(torch, first):
    return torch.bmm(torch.ones(1, 2, 2, device=first), torch.ones(1, 2, 2))


@program(got("tensor", "cpu", "cuda:0"), WRAPPER, "products", "refused")
def a_dot_product_across_devices(torch, first):
    return torch.dot(torch.ones(2, device=first), torch.ones(2))


@program(got("mat1", "cpu", "cuda:0"), LINEAR, "layers", "refused")
def a_batch_that_stayed_behind(torch, first):
    return torch.nn.Linear(3, 2).to(first)(torch.ones(4, 3))


@program(got("mat1", "cuda:0", "cpu"), LINEAR, "layers", "refused")
def a_model_that_stayed_behind(torch, first):
    return torch.nn.Linear(3, 2)(torch.ones(4, 3, device=first))


@program(got("mat2", "cuda:0", "cpu"), LINEAR, "layers", "refused")
def a_layer_without_bias(torch, first):
    return torch.nn.Linear(3, 2, bias=False).to(first)(torch.ones(4, 3))


@program(got("mat1", "cuda:0", "cpu"), LINEAR, "layers", "refused")
def a_model_moved_in_part(torch, first):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    model[0].to(first)
    return model(torch.ones(4, 3, device=first))


@program(
    got("weight", "cuda:0", "cpu"),
    source(
        "aten/src/ATen/native/Convolution.cpp", "_select_conv_backend: Slow2d for one small image of the host"
    ),
    "layers",
    "refused",
)
def an_image_that_stayed_behind(torch, first):
    return torch.nn.Conv2d(1, 2, 3).to(first)(torch.ones(1, 1, 5, 5))


@program(
    Raises(
        "RuntimeError",
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input should be "
        "a MKLDNN tensor and weight is a dense tensor",
    ),
    CONVOLUTION,
    "layers",
    "refused",
)
def a_batch_of_images_that_stayed_behind(torch, first):
    return torch.nn.Conv2d(1, 2, 3).to(first)(torch.ones(4, 1, 5, 5))


@program(
    Raises(
        "RuntimeError",
        matching=r"Input type \(torch\.cuda\.FloatTensor\) and weight type \(torch\.FloatTensor\) "
        "should be the same",
    ),
    CONVOLUTION,
    "layers",
    "refused",
)
def a_convolution_that_stayed_behind(torch, first):
    return torch.nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 5, 5, device=first))


@program(
    Raises(
        "RuntimeError",
        matching="^Expected all tensors to be on the same device, but got (weight|running_mean) is "
        "on cpu, different from other tensors on cuda:0",
    ),
    WRAPPER,
    "layers",
    "refused",
)
def a_batch_norm_that_stayed_behind(torch, first):
    return torch.nn.BatchNorm1d(2)(torch.ones(3, 2, device=first))


@program(
    Raises(
        "RuntimeError",
        matching="^Expected all tensors to be on the same device, but got weight is on cpu, "
        "different from other tensors on cuda:0",
    ),
    WRAPPER,
    "layers",
    "refused",
)
def a_layer_norm_that_stayed_behind(torch, first):
    return torch.nn.LayerNorm(2)(torch.ones(3, 2, device=first))


@program(got("index", "cpu", "cuda:0"), EMBEDDING, "layers", "refused")
def words_that_stayed_behind(torch, first):
    return torch.nn.Embedding(5, 2).to(first)(torch.tensor([0, 3]))


@program(got("index", "cuda:0", "cpu"), EMBEDDING, "layers", "refused")
def an_embedding_that_stayed_behind(torch, first):
    return torch.nn.Embedding(5, 2)(torch.tensor([0, 3], device=first))


@program(got("tensors", "cpu", "cuda:0"), WRAPPER, "joining", "refused")
def cat_across_devices(torch, first):
    return torch.cat([torch.ones(2, device=first), torch.ones(2)])


@program(got("tensors", "cuda:0", "cpu"), WRAPPER, "joining", "refused")
def cat_across_devices_the_other_way(torch, first):
    return torch.cat([torch.ones(2), torch.ones(2, device=first)])


@program(
    Raises(
        "RuntimeError",
        matching="^Expected all tensors to be on the same device, but got tensors is on cpu, "
        "different from other tensors on cuda:0",
    ),
    source("aten/src/ATen/native/TensorShape.cpp", "stack (cat)"),
    "joining",
    "refused",
)
def stack_across_devices(torch, first):
    return torch.stack([torch.ones(2, device=first), torch.ones(2)])


@program(("cuda:0", [3, 1]), INDEX, "indexing")
def an_index_on_the_host_is_allowed(torch, first):
    y = torch.arange(4, device=first)[torch.tensor([3, 1])]
    return str(y.device), y.tolist()


@program(("cuda:0", [1, 3]), INDEX, "indexing")
def a_mask_on_the_host_is_allowed(torch, first):
    y = torch.arange(4, device=first)[torch.tensor([False, True, False, True])]
    return str(y.device), y.tolist()


@program(
    Raises(
        "RuntimeError", "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
    ),
    INDEX,
    "indexing",
    "refused",
)
def an_index_on_the_device_for_the_host(torch, first):
    return torch.arange(4)[torch.tensor([3, 1], device=first)]


@program(
    Raises(
        "RuntimeError", "indices should be either on cpu or on the same device as the indexed tensor (cuda:0)"
    ),
    INDEX,
    "indexing",
    "refused",
    "two devices",
)
def an_index_on_another_accelerator(torch, first, second):
    return torch.arange(4, device=first)[torch.tensor([3, 1], device=second)]


@program(
    ("cpu", 2), source("torch/csrc/autograd/python_variable_indexing.cpp", "THPVariable_getitem"), "indexing"
)
def a_0d_index_on_the_device_is_a_number(torch, first):
    y = torch.arange(4)[torch.tensor(2, device=first)]
    return str(y.device), y.item()


@program(
    Raises(
        "RuntimeError",
        matching="(Expected all tensors to be on the same device, but found at least two devices, "
        "cuda:0 and cpu!|expected device cuda:0 but got device cpu)",
    ),
    PUT,
    "indexing",
    "refused",
)
def values_on_the_host_for_a_mask(torch, first):
    x = torch.zeros(3, device=first)
    x[torch.tensor([True, False, True], device=first)] = torch.tensor([1.0, 2.0])


@program([5.0, 0.0, 5.0], PUT, "indexing", "0-d")
def one_value_on_the_host_for_a_mask(torch, first):
    x = torch.zeros(3, device=first)
    x[torch.tensor([True, False, True], device=first)] = torch.tensor(5.0)
    return x.tolist()


@program(got("index", "cpu", "cuda:0"), WRAPPER, "indexing", "refused")
def gather_across_devices(torch, first):
    return torch.gather(torch.ones(2, 2, device=first), 1, torch.zeros(2, 1, dtype=torch.int64))


@program(got("index", "cpu", "cuda:0"), WRAPPER, "indexing", "refused")
def index_select_across_devices(torch, first):
    return torch.ones(3, device=first).index_select(0, torch.tensor([0, 1]))


@program(got("mask", "cpu", "cuda:0"), WRAPPER, "indexing", "refused")
def masked_select_across_devices(torch, first):
    return torch.masked_select(torch.ones(2, device=first), torch.tensor([True, False]))


@program(
    Raises(
        "RuntimeError",
        matching="expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    ),
    source("aten/src/ATen/native/cuda/Indexing.cu", "masked_fill__cuda"),
    "indexing",
    "refused",
)
def masked_fill_across_devices(torch, first):
    return torch.ones(2, device=first).masked_fill(torch.tensor([True, False]), 0.0)


@program(
    found_two(), source("aten/src/ATen/native/TensorCompare.cpp", "where_self_out"), "indexing", "refused"
)
def where_across_devices(torch, first):
    x = torch.ones(2, device=first)
    return torch.where(torch.tensor([True, False]), x, x)


@program(("cuda:0", [1.0, 0.0]), source("aten/src/ATen/native/TensorCompare.cpp", "where_self_out"), "0-d")
def where_with_a_0d_tensor_of_the_host(torch, first):
    x = torch.ones(2, device=first)
    y = torch.where(torch.tensor([True, False], device=first), x, torch.tensor(0.0))
    return str(y.device), y.tolist()


@program(got("target", "cpu", "cuda:0"), LOSS, "losses", "refused")
def labels_that_stayed_behind(torch, first):
    return torch.nn.functional.cross_entropy(torch.ones(3, 2, device=first), torch.tensor([0, 1, 0]))


@program(got("target", "cuda:0", "cpu"), LOSS, "losses", "refused")
def labels_that_went_ahead(torch, first):
    return torch.nn.functional.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1, 0], device=first))


@program(got("weight", "cpu", "cuda:0"), LOSS, "losses", "refused")
def weights_of_classes_that_stayed_behind(torch, first):
    loss = torch.nn.CrossEntropyLoss(weight=torch.ones(2))
    return loss(torch.ones(3, 2, device=first), torch.tensor([0, 1, 0], device=first))


@program(
    ("cuda:0", True), documentation("generated/torch.nn.CrossEntropyLoss", "weight"), "losses", "modules"
)
def a_loss_with_weights_moves_like_a_model(torch, first):
    loss = torch.nn.CrossEntropyLoss(weight=torch.ones(2)).to(first)
    value = loss(torch.zeros(3, 2, device=first), torch.tensor([0, 1, 0], device=first))
    return str(value.device), abs(value.item() - 0.6931472) < 1e-5


@program(found_two(), ITERATOR, "losses", "refused")
def mse_across_devices(torch, first):
    return torch.nn.functional.mse_loss(torch.ones(2, device=first), torch.ones(2))


@program(found_two(), ITERATOR, "losses", "refused")
def l1_across_devices(torch, first):
    return torch.nn.functional.l1_loss(torch.ones(2), torch.ones(2, device=first))


@program(("cuda:0", [3.0, 3.0], "cuda:0", [4.0, 4.0]), SCALARS, "0-d")
def a_0d_tensor_of_the_host_is_allowed(torch, first):
    x = torch.ones(2, device=first)
    y, z = x + torch.tensor(2.0), torch.tensor(4.0) * x
    return str(y.device), y.tolist(), str(z.device), z.tolist()


@program([3.0, 3.0], SCALARS, "0-d", "in place")
def a_0d_tensor_of_the_host_in_place(torch, first):
    x = torch.ones(2, device=first)
    x += torch.tensor(2.0)
    return x.tolist()


@program(found_two(), ITERATOR, "0-d", "refused")
def a_0d_tensor_of_the_device_with_a_vector_of_the_host(torch, first):
    return torch.ones(2) + torch.tensor(2.0, device=first)


@program(("cuda:0", 5.0), ITERATOR, "0-d")
def two_0d_tensors_meet_on_the_device(torch, first):
    y = torch.tensor(2.0) + torch.tensor(3.0, device=first)
    return str(y.device), y.item()


@program(found_two(), ITERATOR, "0-d", "refused")
def one_element_is_not_0d(torch, first):
    return torch.ones(2, device=first) + torch.ones(1)


@program(("cuda:0", [1.0, 1.5]), SCALARS, "0-d")
def python_numbers_go_anywhere(torch, first):
    y = torch.tensor([0.0, 1.0], device=first) / 2 + 1
    return str(y.device), y.tolist()


@program(("cuda:0", 6.0), SCALARS, "0-d")
def the_sum_of_python_starts_at_a_number(torch, first):
    total = sum(torch.tensor([1.0, 2.0, 3.0], device=first))
    return str(total.device), total.item()


@program(
    Raises(
        "RuntimeError",
        matching="too many CPU scalars to non-CPU kernel|found at least two devices, cuda:0 and cpu!",
    ),
    ITERATOR,
    "0-d",
    "refused",
)
def two_0d_tensors_of_the_host_in_one_operation(torch, first):
    return torch.addcmul(torch.ones(2, device=first), torch.tensor(1.0), torch.tensor(2.0))


@program(
    Raises(
        "RuntimeError",
        "Input and parameter tensors are not at the same device, found input tensor at cpu and parameter tensor at cuda:0",
    ),
    source("aten/src/ATen/native/RNN.cpp", "check_attributes"),
    "layers",
    "refused",
)
def a_sequence_that_stayed_behind(torch, first):
    return torch.nn.LSTM(2, 3).to(first)(torch.ones(4, 1, 2))


@program(got("mat1", "cpu", "cuda:0"), LINEAR, "layers", "refused")
def attention_that_went_ahead(torch, first):
    x = torch.ones(3, 1, 4)
    return torch.nn.MultiheadAttention(4, 2).to(first)(x, x, x)


@program(got("other", "cuda:0", "cpu"), WRAPPER, "comparisons", "refused")
def equal_across_devices_the_other_way(torch, first):
    return torch.equal(torch.ones(2), torch.ones(2, device=first))


@program(got("index", "cpu", "cuda:0"), WRAPPER, "indexing", "in place", "refused")
def scatter_across_devices(torch, first):
    index = torch.zeros(2, 1, dtype=torch.int64)
    return torch.zeros(2, 2, device=first).scatter_(1, index, torch.ones(2, 1, device=first))
