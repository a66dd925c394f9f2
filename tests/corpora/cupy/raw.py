"""RawKernel and RawModule: CUDA C++ as it stands."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, program, source

GUIDE = "user_guide/kernel"
RAW = documentation(GUIDE, "Raw kernels")
ARGUMENTS = documentation(GUIDE, "Kernel arguments")
STRUCTS = documentation(GUIDE, "Custom user types")
MODULES = documentation(GUIDE, "Raw modules")
RAW_PYX = "cupy/_core/raw.pyx"
FUNCTION = "cupy/cuda/function.pyx"

ADD = r"""
extern "C" __global__
void add(const float* x1, const float* x2, float* y) {
    int tid = blockDim.x * blockIdx.x + threadIdx.x;
    y[tid] = x1[tid] + x2[tid];
}
"""
STORE = r"""
extern "C" __global__ void store(TYPE value, TYPE* out) { out[threadIdx.x] = value; }
"""
TILES = r"""
__constant__ float factors[4];
__device__ int calls;
template <typename T> __global__ void triple(T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 3;
}
extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= factors[threadIdx.x]; }
extern "C" __global__ void count() { atomicAdd(&calls, 1); }
"""


def store(cp, type_):
    return cp.RawKernel(STORE.replace("TYPE", type_), "store")


@program((None, device([0, 2, 4, 6, 8, 10], "float32")), RAW, "raw kernels")
def a_raw_kernel_adds_and_returns_nothing(cp):
    x = cp.arange(6, dtype=cp.float32)
    y = cp.zeros(6, dtype=cp.float32)
    return cp.RawKernel(ADD, "add")((2,), (3,), (x, x, y)), y


@program(device([[0, 1, 2], [3, 4, 5]], "int32"), RAW, "raw kernels")
def a_raw_kernel_on_a_two_dimensional_grid(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void number(int* out, int width) {
            int column = blockIdx.x * blockDim.x + threadIdx.x;
            int row = blockIdx.y * blockDim.y + threadIdx.y;
            out[row * width + column] = row * width + column;
        }
        """,
        "number",
    )
    out = cp.zeros((2, 3), dtype=cp.int32)
    kernel((3, 1), (1, 2), (out, np.int32(3)))
    return out


@program(device([0, 1, 2, 3], "float32"), RAW, "raw kernels")
def a_raw_kernel_ignores_a_transposed_view(cp):
    kernel = cp.RawKernel(
        'extern "C" __global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }',
        "copy",
    )
    y = cp.zeros(4, dtype=cp.float32)
    kernel((1,), (4,), (cp.arange(4, dtype=cp.float32).reshape(2, 2).T, y))
    return y


@program(device([2, 3], "float32"), source(FUNCTION, "_pointer"), "raw kernels")
def a_raw_kernel_begins_where_a_slice_begins(cp):
    kernel = cp.RawKernel(
        'extern "C" __global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }',
        "copy",
    )
    y = cp.zeros(2, dtype=cp.float32)
    kernel((1,), (2,), (cp.arange(4, dtype=cp.float32)[2:], y))
    return y


@program(device([1065353216], "int32"), ARGUMENTS, "raw kernels")
def a_raw_kernel_does_not_check_dtypes(cp):
    kernel = cp.RawKernel('extern "C" __global__ void one(float* x) { x[0] = 1.0f; }', "one")
    x = cp.zeros(1, dtype=cp.int32)
    kernel((1,), (1,), (x,))
    return x


@program(device([7], "int64"), ARGUMENTS, "raw kernels")
def a_python_int_is_a_long_long(cp):
    out = cp.zeros(1, dtype=cp.int64)
    store(cp, "long long")((1,), (1,), (7, out))
    return out


@program(device([0.1], "float64"), ARGUMENTS, "raw kernels")
def a_python_float_is_a_double(cp):
    out = cp.zeros(1)
    store(cp, "double")((1,), (1,), (0.1, out))
    return out


@program(device([0.0], "float32"), ARGUMENTS, "raw kernels")
def a_python_float_for_a_float_parameter_arrives_as_half_a_double(cp):
    out = cp.ones(1, dtype=cp.float32)
    store(cp, "float")((1,), (1,), (1.0, out))
    return out


@program(device([0.5], "float32"), ARGUMENTS, "raw kernels")
def a_numpy_float32_is_a_float(cp):
    out = cp.zeros(1, dtype=cp.float32)
    store(cp, "float")((1,), (1,), (np.float32(0.5), out))
    return out


@program(device([-3], "int8"), ARGUMENTS, "raw kernels")
def a_numpy_int8_is_a_signed_char(cp):
    out = cp.zeros(1, dtype=cp.int8)
    store(cp, "signed char")((1,), (1,), (np.int8(-3), out))
    return out


@program(device([True], "bool"), ARGUMENTS, "raw kernels")
def a_python_bool_is_a_bool(cp):
    out = cp.zeros(1, dtype=bool)
    store(cp, "bool")((1,), (1,), (True, out))
    return out


@program(device([2.5], "float32"), ARGUMENTS, "raw kernels")
def a_host_array_of_one_element_is_passed_by_value(cp):
    out = cp.zeros(1, dtype=cp.float32)
    store(cp, "float")((1,), (1,), (np.array([2.5], np.float32), out))
    return out


@program(device([1.0, 2.0, 42.0], "float32"), STRUCTS, "raw kernels")
def a_structure_is_passed_by_value(cp):
    float3 = np.dtype({"names": ["x", "y", "z"], "formats": [np.float32] * 3})
    kernel = cp.RawKernel(
        'extern "C" __global__ void unpack(float3 v, float* out) { out[0] = v.x; out[1] = v.y; out[2] = v.z; }',
        "unpack",
    )
    out = cp.zeros(3, dtype=cp.float32)
    kernel((1,), (1,), (np.array([1, 2, 42], np.float32).view(float3), out))
    return out


@program(
    Raises(
        "TypeError",
        "You are trying to pass a numpy.ndarray of shape (3,) as a kernel parameter. Only numpy.ndarrays of size "
        "one can be passed by value. If you meant to pass a pointer to __global__ memory, you need to pass a "
        "cupy.ndarray instead.",
    ),
    source(FUNCTION, "_pointer"),
    "raw kernels",
)
def a_raw_kernel_refuses_a_host_array(cp):
    x = np.zeros(3, np.float32)
    cp.RawKernel(ADD, "add")((1,), (3,), (x, x, x))


@program(Raises("TypeError", "Unsupported type <class 'list'>"), source(FUNCTION, "_pointer"), "raw kernels")
def a_raw_kernel_refuses_a_list(cp):
    cp.RawKernel(ADD, "add")((1,), (3,), ([1.0], [1.0], [1.0]))


@program(
    Raises("TypeError", matching="expected tuple, got int"),
    source(FUNCTION, "Function.__call__"),
    "raw kernels",
)
def a_grid_that_is_no_tuple(cp):
    x = cp.zeros(3, dtype=cp.float32)
    cp.RawKernel(ADD, "add")(1, 3, (x, x, x))


@program(device([2.0, 0.0], "float32"), source(FUNCTION, "Function.__call__"), "raw kernels")
def a_grid_of_zero_blocks_is_one_block(cp):
    x = cp.array([1, 0], dtype=cp.float32)
    y = cp.zeros(2, dtype=cp.float32)
    cp.RawKernel(ADD, "add")((0,), (2,), (x, x, y))
    return y


@program(
    Raises("CUDADriverError", "CUDA_ERROR_INVALID_VALUE: invalid argument"),
    source("cupy_backends/cuda/api/driver.pyx", "launchKernel"),
    "raw kernels",
)
def a_block_of_too_many_threads(cp):
    x = cp.zeros(2048, dtype=cp.float32)
    cp.RawKernel(ADD, "add")((1,), (2048,), (x, x, x))


@program(
    Raises("CUDADriverError", "CUDA_ERROR_INVALID_VALUE: invalid argument"),
    source("cupy_backends/cuda/api/driver.pyx", "launchKernel"),
    "raw kernels",
)
def a_block_with_too_much_shared_memory(cp):
    x = cp.zeros(3, dtype=cp.float32)
    cp.RawKernel(ADD, "add")((1,), (3,), (x, x, x), shared_mem=1 << 20)


@program(
    Raises("CUDADriverError", "CUDA_ERROR_NOT_FOUND: named symbol not found"),
    source("cupy_backends/cuda/api/driver.pyx", "moduleGetFunction"),
    "raw kernels",
)
def a_kernel_name_that_is_not_in_the_source(cp):
    x = cp.zeros(3, dtype=cp.float32)
    cp.RawKernel(ADD, "subtract")((1,), (3,), (x, x, x))


@program(
    Raises("CompileException", matching=r"(?s)[(:]3[:)].*\bfactor\b"),
    source("cupy/cuda/compiler.py", "CompileException"),
    "raw kernels",
)
def an_undeclared_name_with_its_line(cp):
    kernel = cp.RawKernel(
        'extern "C" __global__\nvoid scale(float* x) {\n    x[threadIdx.x] *= factor;\n}\n', "scale"
    )
    kernel((1,), (1,), (cp.zeros(1, dtype=cp.float32),))


@program("broken", source(RAW_PYX, "RawKernel"), "raw kernels")
def a_raw_kernel_is_not_compiled_before_its_first_call(cp):
    return cp.RawKernel("this is no C++", "broken").name


@program(
    Raises("TypeError", matching="expected tuple, got list"),
    source(RAW_PYX, "RawKernel.__init__"),
    "raw kernels",
)
def options_that_are_no_tuple(cp):
    return cp.RawKernel(ADD, "add", options=["-O3"])


@program(Raises("TypeError", matching="not subscriptable"), source(RAW_PYX, "RawKernel"), "raw kernels")
def a_raw_kernel_has_no_square_brackets(cp):
    return cp.RawKernel(ADD, "add")[1, 3]


@program(device([12], "int32"), source(RAW_PYX, "RawKernel"), "raw kernels")
def an_option_defines_a_macro(cp):
    kernel = cp.RawKernel(
        'extern "C" __global__ void size(int* out) { out[0] = WIDTH * 3; }', "size", options=("-DWIDTH=4",)
    )
    out = cp.zeros(1, dtype=cp.int32)
    kernel((1,), (1,), (out,))
    return out


@program(device([8], "int32"), source(RAW_PYX, "RawKernel"), "raw kernels")
def the_standard_is_cpp_17(cp):
    kernel = cp.RawKernel(
        r"""
        template <typename T> __device__ int bytes(T) { if constexpr (sizeof(T) > 4) return 8; else return 4; }
        extern "C" __global__ void size(int* out) { out[0] = bytes(1.0); }
        """,
        "size",
    )
    out = cp.zeros(1, dtype=cp.int32)
    kernel((1,), (1,), (out,))
    return out


@program(device([7, 6, 5, 4, 3, 2, 1, 0], "int32"), RAW, "raw kernels", "shared memory")
def static_shared_memory_and_a_barrier(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void reverse(int* x) {
            __shared__ int tile[8];
            tile[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
        }
        """,
        "reverse",
    )
    x = cp.arange(8, dtype=cp.int32)
    kernel((1,), (8,), (x,))
    return x


@program(device([36], "int32"), source(RAW_PYX, "RawKernel.__call__"), "raw kernels", "shared memory")
def dynamic_shared_memory(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void total(const int* x, int* out) {
            extern __shared__ int tile[];
            int t = threadIdx.x;
            tile[t] = x[t];
            __syncthreads();
            for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
                if (t < stride) tile[t] += tile[t + stride];
                __syncthreads();
            }
            if (t == 0) out[0] = tile[0];
        }
        """,
        "total",
    )
    out = cp.zeros(1, dtype=cp.int32)
    kernel((1,), (8,), (cp.arange(1, 9, dtype=cp.int32), out), shared_mem=8 * 4)
    return out


@program(device([25, 25, 25, 25], "int32"), RAW, "raw kernels", "atomics")
def a_histogram_with_atomics(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void histogram(const int* x, int* bins, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) atomicAdd(&bins[x[i]], 1);
        }
        """,
        "histogram",
    )
    bins = cp.zeros(4, dtype=cp.int32)
    kernel((4,), (32,), (cp.arange(100, dtype=cp.int32) % 4, bins, np.int32(100)))
    return bins


@program(device([496], "int32"), RAW, "raw kernels", "warps")
def a_warp_adds_up_by_shuffles(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void warp_sum(int* out) {
            int value = threadIdx.x;
            for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
            if (threadIdx.x == 0) out[0] = value;
        }
        """,
        "warp_sum",
    )
    out = cp.zeros(1, dtype=cp.int32)
    kernel((1,), (32,), (out,))
    return out


@program(device([0x55555555, 1, 0], "uint32"), RAW, "raw kernels", "warps")
def votes_of_a_warp(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void votes(unsigned int* out) {
            unsigned int even = __ballot_sync(0xffffffff, threadIdx.x % 2 == 0);
            int any = __any_sync(0xffffffff, threadIdx.x == 5);
            int all = __all_sync(0xffffffff, threadIdx.x == 5);
            if (threadIdx.x == 0) { out[0] = even; out[1] = any; out[2] = all; }
        }
        """,
        "votes",
    )
    out = cp.zeros(3, dtype=cp.uint32)
    kernel((1,), (32,), (out,))
    return out


@program(device([3, 0, 1], "int32"), RAW, "raw kernels", "shared memory")
def barriers_that_count(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void count(int* out) {
            int small = __syncthreads_count(threadIdx.x < 3);
            int all = __syncthreads_and(threadIdx.x < 3);
            int any = __syncthreads_or(threadIdx.x < 3);
            if (threadIdx.x == 0) { out[0] = small; out[1] = all != 0; out[2] = any != 0; }
        }
        """,
        "count",
    )
    out = cp.zeros(3, dtype=cp.int32)
    kernel((1,), (64,), (out,))
    return out


@program(device([10.0, 26.0], "float32"), RAW, "raw kernels")
def a_kernel_of_float4(cp):
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void add_up(const float4* x, float* out) {
            float4 v = x[threadIdx.x];
            out[threadIdx.x] = v.x + v.y + v.z + v.w;
        }
        """,
        "add_up",
    )
    out = cp.zeros(2, dtype=cp.float32)
    kernel((1,), (2,), (cp.arange(1, 9, dtype=cp.float32), out))
    return out


@program((device([1], "int32"), device([0], "int32")), source(FUNCTION, "_pointer"), "raw kernels")
def none_is_a_null_pointer(cp):
    kernel = cp.RawKernel(
        'extern "C" __global__ void is_null(const float* x, int* out) { out[0] = x == nullptr; }', "is_null"
    )
    yes, no = cp.zeros(1, dtype=cp.int32), cp.ones(1, dtype=cp.int32)
    kernel((1,), (1,), (None, yes))
    kernel((1,), (1,), (cp.zeros(1, dtype=cp.float32), no))
    return yes, no


@program((1024, 0, True), source(RAW_PYX, "RawKernel.attributes"), "raw kernels")
def attributes_of_a_raw_kernel(cp):
    kernel = cp.RawKernel(ADD, "add")
    return kernel.max_threads_per_block, kernel.shared_size_bytes, "num_regs" in kernel.attributes


@program((device([5, 7, 9], "float32"), device([4, 10, 18], "float32")), MODULES, "raw modules")
def a_raw_module_with_two_kernels(cp):
    module = cp.RawModule(
        code=r"""
        extern "C" {
        __global__ void test_sum(const float* x1, const float* x2, float* y, unsigned int n) {
            unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
            if (tid < n) y[tid] = x1[tid] + x2[tid];
        }
        __global__ void test_multiply(const float* x1, const float* x2, float* y, unsigned int n) {
            unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
            if (tid < n) y[tid] = x1[tid] * x2[tid];
        }
        }
        """
    )
    one, two = cp.array([1, 2, 3], dtype=cp.float32), cp.array([4, 5, 6], dtype=cp.float32)
    total, product = cp.zeros(3, dtype=cp.float32), cp.zeros(3, dtype=cp.float32)
    module.get_function("test_sum")((2,), (2,), (one, two, total, 3))
    module.get_function("test_multiply")((2,), (2,), (one, two, product, 3))
    return total, product


@program((device([0, 3, 6], "float32"), device([0, 3, 6], "float64")), MODULES, "raw modules")
def a_template_is_taken_by_its_name_expression(cp):
    module = cp.RawModule(
        code=TILES, options=("-std=c++17",), name_expressions=["triple<float>", "triple<double>"]
    )
    single, double = cp.arange(3, dtype=cp.float32), cp.arange(3, dtype=cp.float64)
    module.get_function("triple<float>")((1,), (4,), (single, 3))
    module.get_function("triple<double>")((1,), (4,), (double, 3))
    return single, double


@program(
    Raises("CUDADriverError", "CUDA_ERROR_NOT_FOUND: named symbol not found"),
    source(RAW_PYX, "RawModule.get_function"),
    "raw modules",
)
def a_template_that_was_not_asked_for(cp):
    return cp.RawModule(code=TILES, name_expressions=["triple<float>"]).get_function("triple<int>")


@program(device([2, 4, 6, 8], "float32"), source(RAW_PYX, "RawModule.get_global"), "raw modules")
def constant_memory_is_filled_through_get_global(cp):
    module = cp.RawModule(code=TILES)
    factors = cp.ndarray((4,), cp.float32, module.get_global("factors"))
    factors[...] = cp.array([2, 2, 2, 2], dtype=cp.float32)
    x = cp.arange(1, 5, dtype=cp.float32)
    module.get_function("scale")((1,), (4,), (x,))
    return x


@program(device([6], "int32"), source(RAW_PYX, "RawModule.get_global"), "raw modules")
def a_device_variable_is_read_through_get_global(cp):
    module = cp.RawModule(code=TILES.replace("int calls", "int counted").replace("&calls", "&counted"))
    calls = cp.ndarray((1,), cp.int32, module.get_global("counted"))
    calls[...] = 0
    module.get_function("count")((2,), (3,), ())
    return calls.copy()


@program(
    Raises("CUDADriverError", "CUDA_ERROR_NOT_FOUND: named symbol not found"),
    source(RAW_PYX, "RawModule.get_global"),
    "raw modules",
)
def a_variable_that_is_not_in_the_module(cp):
    return cp.RawModule(code=TILES).get_global("nothing")


@program(
    Raises("TypeError", "Exactly one of `code` and `path` keyword arguments must be given."),
    source(RAW_PYX, "RawModule.__init__"),
    "raw modules",
)
def a_raw_module_of_nothing(cp):
    return cp.RawModule()


@program(True, source(RAW_PYX, "RawModule.get_function"), "raw modules")
def get_function_gives_a_raw_kernel(cp):
    return isinstance(cp.RawModule(code=ADD).get_function("add"), cp.RawKernel)
