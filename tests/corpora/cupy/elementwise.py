"""ElementwiseKernel and ReductionKernel."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, program, source

GUIDE = "user_guide/kernel"
BASICS = documentation(GUIDE, "Basics of elementwise kernels")
GENERIC = documentation(GUIDE, "Type-generic kernels")
RAW = documentation(GUIDE, "Raw argument specifiers")
REDUCTION = documentation(GUIDE, "Reduction kernels")
KERNEL = "cupy/_core/_kernel.pyx"
CALL = source(KERNEL, "ElementwiseKernel.__call__")
TYPES = source(KERNEL, "_decide_params_type_core")


def squared_difference(cp):
    return cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff")


def generic(cp):
    return cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "generic")


def super_generic(cp):
    return cp.ElementwiseKernel("X x, Y y", "Z z", "z = (x - y) * (x - y)", "super_generic")


def norm(cp):
    return cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")


@program(device([[0, 0, 0, 0, 0], [25, 25, 25, 25, 25]], "float32"), BASICS, "elementwise")
def an_elementwise_kernel_broadcasts(cp):
    x = cp.arange(10, dtype=np.float32).reshape(2, 5)
    return squared_difference(cp)(x, cp.arange(5, dtype=np.float32))


@program(device([[25, 16, 9, 4, 1], [0, 1, 4, 9, 16]], "float32"), BASICS, "elementwise")
def an_elementwise_kernel_takes_a_number(cp):
    return squared_difference(cp)(cp.arange(10, dtype=np.float32).reshape(2, 5), 5)


@program((True, device([4, 1, 0], "float32")), BASICS, "elementwise")
def an_elementwise_kernel_writes_into_an_output(cp):
    z = cp.empty(3, dtype=np.float32)
    returned = squared_difference(cp)(cp.arange(3, dtype=np.float32), 2, z)
    return returned is z, z


@program(device([1.0, 1.0], "float64"), GENERIC, "elementwise")
def a_type_letter_takes_the_type_of_the_arguments(cp):
    return generic(cp)(cp.array([1.0, 2.0]), cp.array([2.0, 3.0]))


@program(
    device([4, 1, 0, 1], "int32"), source("cupy/_core/_scalar.pyx", "CScalar.apply_dtype"), "elementwise"
)
def a_python_float_becomes_the_type_of_the_type_letter(cp):
    return generic(cp)(cp.arange(4, dtype=np.int32), 2.5)


@program(Raises("TypeError", "Type is mismatched. y float64 float32 T"), TYPES, "elementwise")
def a_type_letter_with_two_types(cp):
    return generic(cp)(cp.zeros(3, dtype=np.float32), cp.zeros(3))


@program(Raises("TypeError", "Type is mismatched. x float64 float32"), TYPES, "elementwise")
def an_argument_of_another_type(cp):
    return squared_difference(cp)(cp.zeros(3), cp.zeros(3))


@program(Raises("TypeError", "Type is mismatched. z float64 float32"), TYPES, "elementwise")
def an_output_of_another_type(cp):
    x = cp.zeros(3, dtype=np.float32)
    return squared_difference(cp)(x, x, cp.zeros(3))


@program(Raises("TypeError", "Type is mismatched. y float64 float32 T"), TYPES, "elementwise")
def arguments_that_disagree_on_a_type_letter(cp):
    return generic(cp)(cp.zeros(3, dtype=np.float32), cp.zeros(3))


@program(Raises("TypeError", "Type is mismatched. x int32 float32 T"), TYPES, "elementwise")
def an_output_that_disagrees_with_an_argument_on_a_type_letter(cp):
    x = cp.zeros(3, dtype=np.int32)
    return generic(cp)(x, x, cp.zeros(3, dtype=np.float32))


@program(device([4, 1], "int32"), source("cupy/_core/_scalar.pyx", "CScalar.apply_dtype"), "elementwise")
def numbers_take_the_type_that_a_letter_stands_for(cp):
    return generic(cp)(cp.array([0, 1], dtype=np.int32), 2.5)


@program(
    device([4.0, 1.0], "float32"), source("cupy/_core/_scalar.pyx", "CScalar.apply_dtype"), "elementwise"
)
def numpy_scalars_take_the_type_that_a_letter_stands_for(cp):
    return generic(cp)(np.float64(2), cp.array([0, 1], dtype=np.float32))


@program(
    Raises("OverflowError", matching="300 out of bounds for uint8"),
    source("cupy/_core/_scalar.pyx", "CScalar._store_c_value"),
    "elementwise",
)
def a_number_beyond_the_type_that_a_letter_stands_for(cp):
    return generic(cp)(cp.zeros(2, dtype=np.uint8), 300)


@program(Raises("KeyError", "'T'"), TYPES, "elementwise")
def numbers_decide_no_type_letter(cp):
    return cp.ElementwiseKernel("T x, raw int32 y", "T z", "z = x + y[i]", "no_letter")(
        1, cp.zeros(3, dtype=np.int32), size=3
    )


@program(
    (device([0.0, 0.5], "float32"), device([0, 0], "int64")),
    source(KERNEL, "ElementwiseKernel"),
    "elementwise",
)
def a_type_letter_is_decided_anew_in_every_call(cp):
    half = cp.ElementwiseKernel("T x", "T y", "y = x / 2", "half")
    return half(cp.arange(2, dtype=np.float32)), half(cp.arange(2))


@program(Raises("KeyError", "'Z'"), GENERIC, "elementwise")
def a_type_letter_that_no_argument_decides(cp):
    return super_generic(cp)(cp.zeros(3, dtype=np.float32), cp.zeros(3))


@program(device([0.25, 0.25], "float64"), GENERIC, "elementwise")
def an_output_decides_a_type_letter(cp):
    x = cp.array([0.5, 1.5], dtype=np.float32)
    return super_generic(cp)(x, cp.array([1, 2]), cp.empty(2))


@program(
    Raises(
        "TypeError",
        "Wrong number of arguments for 'squared_diff'. It must be either 2 or 3 (with outputs), but given 1.",
    ),
    CALL,
    "elementwise",
)
def an_elementwise_kernel_with_too_few_arguments(cp):
    return squared_difference(cp)(cp.zeros(3, dtype=np.float32))


@program(
    Raises("TypeError", "Unsupported type <class 'numpy.ndarray'>"),
    source(KERNEL, "_preprocess_arg"),
    "elementwise",
)
def an_elementwise_kernel_refuses_a_host_array(cp):
    return squared_difference(cp)(np.zeros(3, np.float32), cp.zeros(3, dtype=np.float32))


@program(Raises("ValueError", "Loop size is undecided."), source(KERNEL, "_broadcast"), "elementwise")
def an_elementwise_kernel_of_numbers_alone(cp):
    return squared_difference(cp)(1.0, 2.0)


@program(
    Raises("ValueError", "operands could not be broadcast together with shapes (4,) (3,)"),
    source("cupy/_core/internal.pyx", "_broadcast_core"),
    "elementwise",
)
def an_elementwise_kernel_of_shapes_that_do_not_fit(cp):
    return squared_difference(cp)(cp.zeros(4, dtype=np.float32), cp.zeros(3, dtype=np.float32))


@program(Raises("TypeError", "Wrong arguments {'blocks': 4}"), CALL, "elementwise")
def an_elementwise_kernel_with_an_unknown_option(cp):
    return squared_difference(cp)(cp.zeros(4, dtype=np.float32), 1, blocks=4)


@program(Raises("ValueError", "block_size must be greater than zero"), CALL, "elementwise")
def an_elementwise_kernel_with_no_threads(cp):
    return squared_difference(cp)(cp.zeros(4, dtype=np.float32), 1, block_size=0)


@program(device([4, 4, 4, 4], "int64"), RAW, "elementwise")
def a_raw_argument_is_indexed_by_hand(cp):
    add_reverse = cp.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")
    return add_reverse(cp.arange(4), cp.arange(1, 5))


@program(device([0, 2, 4], "int64"), RAW, "elementwise")
def a_raw_argument_follows_strides(cp):
    copy = cp.ElementwiseKernel("raw T x", "T y", "y = x[i]", "copy")
    return copy(cp.arange(6)[::2], size=3)


@program(Raises("ValueError", "Loop size is undecided."), RAW, "elementwise")
def raw_arguments_alone_need_a_size(cp):
    return cp.ElementwiseKernel("raw T x", "T y", "y = x[i]", "copy")(cp.arange(6))


@program(
    Raises("ValueError", "Specified 'size' can be used only if all of the ndarray are 'raw'."),
    source(KERNEL, "_broadcast"),
    "elementwise",
)
def a_size_beside_arguments_that_have_one(cp):
    return squared_difference(cp)(cp.zeros(4, dtype=np.float32), 1, size=4)


@program(device([2, 0, 1], "int32"), RAW, "elementwise")
def a_raw_output_is_written_anywhere(cp):
    scatter = cp.ElementwiseKernel("raw int32 where", "raw int32 out", "out[where[i]] = i", "scatter")
    out = cp.zeros(3, dtype=np.int32)
    scatter(cp.array([1, 2, 0], dtype=np.int32), out, size=3)
    return out


@program(
    (device([1, 2], "int64"), device([0, 1], "int64")), source(KERNEL, "ElementwiseKernel"), "elementwise"
)
def an_elementwise_kernel_with_two_outputs(cp):
    split = cp.ElementwiseKernel("T x", "T q, T r", "q = x / 3; r = x % 3", "split")
    return split(cp.array([3, 7]))


@program(device([3.0, 5.0], "float32"), source(KERNEL, "ElementwiseKernel"), "elementwise")
def a_preamble_holds_a_device_function(cp):
    kernel = cp.ElementwiseKernel(
        "float32 x",
        "float32 y",
        "y = twice(x) + 1",
        "with_preamble",
        preamble="__device__ float twice(float v) { return 2 * v; }",
    )
    return kernel(cp.array([1, 2], dtype=np.float32))


@program((None, device([5, 6], "int64")), source(KERNEL, "ElementwiseKernel"), "elementwise")
def an_elementwise_kernel_that_returns_nothing(cp):
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x + 5", "quiet", no_return=True)
    out = cp.zeros(2, dtype=np.int64)
    return kernel(cp.arange(2), out), out


@program((device([0, 1], "int64"),), source(KERNEL, "ElementwiseKernel"), "elementwise")
def an_elementwise_kernel_that_returns_a_tuple(cp):
    return cp.ElementwiseKernel("T x", "T y", "y = x", "as_tuple", return_tuple=True)(cp.arange(2))


@program(device([[0, 20], [100, 3000]], "int64"), CALL, "elementwise")
def an_elementwise_kernel_of_a_transposed_view(cp):
    times = cp.ElementwiseKernel("T x, T y", "T z", "z = x * y", "times")
    return times(cp.arange(4).reshape(2, 2).T, cp.array([[1, 10], [100, 1000]]))


@program(
    Raises("ValueError", "Can not use 'i' as a parameter name"),
    source(KERNEL, "ElementwiseKernel.__init__"),
    "elementwise",
)
def a_parameter_called_i(cp):
    return cp.ElementwiseKernel("T i", "T y", "y = i", "named")


@program(
    Raises("ValueError", 'Invalid kernel name: "my kernel"'),
    source(KERNEL, "ElementwiseKernel.__init__"),
    "elementwise",
)
def a_kernel_name_with_a_blank(cp):
    return cp.ElementwiseKernel("T x", "T y", "y = x", "my kernel")


@program(Raises("Exception", "Syntax error: x"), source(KERNEL, "ParameterInfo.__init__"), "elementwise")
def a_parameter_without_a_type(cp):
    return cp.ElementwiseKernel("x", "T y", "y = x", "untyped")


@program(
    Raises("Exception", 'Unknown keyword "fast"'), source(KERNEL, "ParameterInfo.__init__"), "elementwise"
)
def a_parameter_with_an_unknown_keyword(cp):
    return cp.ElementwiseKernel("fast T x", "T y", "y = x", "keyword")


@program(
    Raises("TypeError", matching="data type 'float3' not understood"),
    source(KERNEL, "ParameterInfo.__init__"),
    "elementwise",
)
def a_parameter_of_a_type_that_numpy_lacks(cp):
    return cp.ElementwiseKernel("float3 x", "T y", "y = x", "vector")


@program(
    Raises("CompileException", matching="nowhere"),
    source("cupy/cuda/compiler.py", "CompileException"),
    "elementwise",
)
def an_undeclared_name_in_an_elementwise_kernel(cp):
    return cp.ElementwiseKernel("T x", "T y", "y = nowhere", "undeclared")(cp.arange(3))


@program(device([5.477226, 15.9687195], "float32", rtol=1e-6), REDUCTION, "reduction kernels")
def a_reduction_kernel_along_an_axis(cp):
    return norm(cp)(cp.arange(10, dtype=np.float32).reshape(2, 5), axis=1)


@program(device(5.0, "float64"), REDUCTION, "reduction kernels", "0-d")
def a_reduction_kernel_over_everything(cp):
    return norm(cp)(cp.array([[3.0, 0.0], [0.0, 4.0]]))


@program(
    device([[5.0], [13.0]], "float64"),
    source("cupy/_core/_reduction.pyx", "ReductionKernel.__call__"),
    "reduction kernels",
)
def a_reduction_kernel_that_keeps_its_dimensions(cp):
    return norm(cp)(cp.array([[3.0, 4.0], [5.0, 12.0]]), axis=1, keepdims=True)


@program(
    (True, device([3.0, 4.0], "float64")),
    source("cupy/_core/_reduction.pyx", "ReductionKernel.__call__"),
    "reduction kernels",
)
def a_reduction_kernel_writes_into_out(cp):
    out = cp.zeros(2)
    returned = norm(cp)(cp.array([[3.0, 0.0], [0.0, 4.0]]), axis=0, out=out)
    return returned is out, out


@program(device(32, "int64"), source("cupy/_core/_reduction.pyx", "ReductionKernel"), "reduction kernels")
def a_reduction_kernel_of_two_arrays(cp):
    dot = cp.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot")
    return dot(cp.array([1, 2, 3]), cp.array([4, 5, 6]))


@program(device(9, "int64"), source("cupy/_core/_reduction.pyx", "ReductionKernel"), "reduction kernels")
def a_reduction_kernel_without_an_identity(cp):
    largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")
    return largest(cp.array([-3, 9, 4]))


@program(
    Raises("ValueError", "zero-size array to reduction operation largest which has no identity"),
    source("cupy/_core/_reduction.pyx", "_AbstractReductionKernel._call"),
    "reduction kernels",
)
def a_reduction_kernel_without_an_identity_over_nothing(cp):
    largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")
    return largest(cp.zeros(0))


@program(
    device(0.0, "float64"),
    source("cupy/_core/_reduction.pyx", "_AbstractReductionKernel._call"),
    "reduction kernels",
)
def a_reduction_kernel_with_an_identity_over_nothing(cp):
    return norm(cp)(cp.zeros(0))


@program(device(600, "int64"), source("cupy/_core/_reduction.pyx", "ReductionKernel"), "reduction kernels")
def a_reduction_kernel_with_a_wider_type_inside(cp):
    total = cp.ReductionKernel(
        "uint8 x", "int64 y", "x", "a + b", "y = a", "0", "total", reduce_type="long long"
    )
    return total(cp.array([200, 200, 200], dtype=np.uint8))


@program(
    Raises("TypeError", "Wrong number of arguments for l2norm"),
    source("cupy/_core/_reduction.pyx", "ReductionKernel.__call__"),
    "reduction kernels",
)
def a_reduction_kernel_with_too_many_arguments(cp):
    return norm(cp)(cp.zeros(3), cp.zeros(3), cp.zeros(3))


@program(
    Raises("AxisError", "axis 5 is out of bounds for array of dimension 1"),
    source("cupy/_core/_reduction.pyx", "_get_axis"),
    "reduction kernels",
)
def a_reduction_kernel_along_an_axis_that_is_not_there(cp):
    return norm(cp)(cp.zeros(3), axis=5)


@program(
    Raises("ValueError", "Out shape is mismatched"),
    source(KERNEL, "_get_out_args_with_params"),
    "reduction kernels",
)
def a_reduction_kernel_into_an_output_of_another_shape(cp):
    return norm(cp)(cp.zeros((2, 3)), axis=1, out=cp.zeros(3))


@program(
    Raises("TypeError", "Unsupported type <class 'numpy.ndarray'>"),
    source(KERNEL, "_preprocess_arg"),
    "reduction kernels",
)
def a_reduction_kernel_refuses_a_host_array(cp):
    return norm(cp)(np.zeros(3))
