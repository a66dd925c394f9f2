"""RawKernel and RawModule of the stand-in: CUDA C++ by CuPy's rules.

"Guide" is CuPy's "User-Defined Kernels", "raw" cupy/_core/raw.pyx, "function" cupy/cuda/function.pyx of CuPy 14.
"""

import io
import pickle

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
from host_to_device.standins.cuda_cpp import KernelFault
from host_to_device.standins.cupy.cuda.compiler import CompileException
from host_to_device.standins.cupy.cuda.driver import CUDADriverError

ADD = r"""
extern "C" __global__
void my_add(const float* x1, const float* x2, float* y) {
    int tid = blockDim.x * blockIdx.x + threadIdx.x;
    y[tid] = x1[tid] + x2[tid];
}
"""

SCALE = r"""
extern "C" __global__ void scale(float* y, float a) { y[threadIdx.x] *= a; }
extern "C" __global__ void fill(long long* y, int a) { y[threadIdx.x] = a; }
extern "C" __global__ void wide(double* y, double a) { y[threadIdx.x] = a; }
extern "C" __global__ void truth(int* y, bool a) { y[threadIdx.x] = a ? 10 : 20; }
"""

TWO = r"""
extern "C" {
__global__ void test_sum(const TYPE* x1, const TYPE* x2, TYPE* y, unsigned int N) {
    unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
    if (tid < N) y[tid] = x1[tid] + x2[tid];
}
__global__ void test_multiply(const TYPE* x1, const TYPE* x2, TYPE* y, unsigned int N) {
    unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
    if (tid < N) y[tid] = x1[tid] * x2[tid];
}
}
"""

CONSTANT = r"""
extern "C" {
__constant__ float some_array[100];
__global__ void multiply_by_const(float* x, int N) {
    int id = threadIdx.x + blockIdx.x * blockDim.x;
    if (id < N) x[id] *= some_array[id];
}
}
"""

TEMPLATE = r"""
template<typename T>
__global__ void fx3(T* arr, int N) {
    unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < N) arr[tid] = arr[tid] * 3;
}
__global__ void plain(double* arr) { arr[threadIdx.x] += 1; }
"""


def numbers(*shape, dtype=np.float32):
    return cp.asarray(np.arange(np.prod(shape), dtype=dtype).reshape(shape))


# RawKernel


def test_the_guides_example():
    kernel = cp.RawKernel(ADD, "my_add")
    x1, x2, y = numbers(5, 5), numbers(5, 5), cp.zeros((5, 5), dtype=np.float32)
    assert kernel((5,), (5,), (x1, x2, y)) is None
    assert y.get().tolist() == (2 * x1.get()).tolist()


def test_views_are_passed_as_their_first_element():  # Guide: "RawKernel ignores any views on CuPy arrays"
    kernel = cp.RawKernel(ADD, "my_add")
    x, y = numbers(4, 4), cp.zeros((4, 4), dtype=np.float32)
    kernel((4,), (4,), (x.T, x, y))
    assert y.get().tolist() == (2 * x.get()).tolist()
    kernel((1,), (4,), (x[2], x[3], y))
    assert y.get()[0].tolist() == (x.get()[2] + x.get()[3]).tolist()


def test_grids_and_blocks_of_three_dimensions():
    kernel = cp.RawKernel(
        """extern "C" __global__ void where(int* y) {
          int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
          int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
          y[block * blockDim.x * blockDim.y * blockDim.z + thread] = 100 * block + thread;
        }""",
        "where",
    )
    y = cp.zeros((24, 6), dtype=np.int32)
    kernel((2, 3, 4), (1, 2, 3), (y,))
    assert y.get().tolist() == [[100 * block + thread for thread in range(6)] for block in range(24)]
    y = cp.zeros((2, 3), dtype=np.int32)
    kernel((2,), (3,), [y])
    assert y.get().tolist() == [[0, 1, 2], [100, 101, 102]]


def test_zeros_in_a_launch_count_as_ones():  # function: max(1, grid[0])
    y = cp.ones(1, dtype=np.float32)
    cp.RawKernel(SCALE, "scale")((0,), (0, 0), (y, np.float32(3)))
    assert y.get().tolist() == [3]


# Guide, "Kernel arguments": bytes are passed as they are


def run(name, y, value):
    cp.RawKernel(SCALE, name)((1,), (y.size,), (y, value))
    return y.get().tolist()


def test_a_python_float_is_a_double():
    assert run("scale", cp.ones(3, dtype=np.float32), np.float32(2)) == [2, 2, 2]
    assert run("scale", cp.ones(3, dtype=np.float32), 2.0) == [0, 0, 0]  # the lower half of a double
    garbage = np.frombuffer(np.float64(0.1).tobytes()[:4], np.float32)[0]
    assert run("scale", cp.ones(1, dtype=np.float32), 0.1) == [garbage]
    assert run("wide", cp.zeros(2), 0.1) == [0.1, 0.1]


def test_a_python_int_is_a_long_long():
    assert run("fill", cp.zeros(2, dtype=np.int64), -3) == [-3, -3]
    assert run("fill", cp.zeros(2, dtype=np.int64), 2**32 + 5) == [5, 5]
    assert run("fill", cp.zeros(2, dtype=np.int64), np.int32(7)) == [7, 7]
    with pytest.raises(OverflowError):
        run("fill", cp.zeros(2, dtype=np.int64), 2**64)


def test_bools_and_arrays_of_one_element():
    assert run("truth", cp.zeros(1, dtype=np.int32), True) == [10]
    assert run("truth", cp.zeros(1, dtype=np.int32), np.bool_(False)) == [20]
    assert run("scale", cp.ones(1, dtype=np.float32), np.array([4], dtype=np.float32)) == [4]


def test_structures_are_passed_by_value():  # Guide, "Custom user types"
    code = """
    struct Line { float slope; int more; double start; };
    extern "C" __global__ void line(double* y, Line f) {
      y[threadIdx.x] = f.slope * threadIdx.x + f.more + f.start;
    }"""
    dtype = np.dtype([("slope", "f4"), ("more", "i4"), ("start", "f8")])
    y = cp.zeros(3)
    cp.RawKernel(code, "line")((1,), (3,), (y, np.array([(2, 10, 0.5)], dtype)))
    assert y.get().tolist() == [10.5, 12.5, 14.5]
    cp.RawKernel(code, "line")((1,), (3,), (y, np.array([(1, 0, 0)], dtype)[0]))
    assert y.get().tolist() == [0, 1, 2]


def test_null_pointers_and_pieces_of_memory():
    code = (
        'extern "C" __global__ void given(const float* x, int* y) { y[0] = x == nullptr ? -1 : int(x[0]); }'
    )
    y = cp.zeros(1, dtype=np.int32)
    kernel = cp.RawKernel(code, "given")
    kernel((1,), (1,), (None, y))
    assert y.get().tolist() == [-1]
    kernel((1,), (1,), ((numbers(4) + 7).data, y))
    assert y.get().tolist() == [7]
    x = numbers(4) + 8
    kernel((1,), (1,), (x.data.ptr + 4, y))
    assert y.get().tolist() == [9]


def test_complex_numbers():
    code = r"""
    #include <cupy/complex.cuh>
    extern "C" __global__
    void my_func(const complex<float>* x1, const complex<float>* x2, complex<float>* y, float a) {
        int tid = blockDim.x * blockIdx.x + threadIdx.x;
        y[tid] = x1[tid] + a * x2[tid];
    }"""
    x1 = numbers(5, 5, dtype=np.complex64)
    x2, y = 1j * x1, cp.zeros((5, 5), dtype=np.complex64)
    cp.RawKernel(code, "my_func")((5,), (5,), (x1, x2, y, np.float32(2)))
    assert y.get().tolist() == (x1.get() * (1 + 2j)).tolist()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (lambda y: (y,), "scale takes 2 arguments (float*, float), 1 was given"),
        (lambda y: (y, np.float32(1), 2), "scale takes 2 arguments (float*, float), 3 were given"),
        (lambda y: (np.zeros(3, np.float32), np.float32(1)), "You are trying to pass a numpy.ndarray of shape (3,) as a kernel parameter. Only numpy.ndarrays of size one can be passed by value. If you meant to pass a pointer to __global__ memory, you need to pass a cupy.ndarray instead."),
        (lambda y: ([1, 2], np.float32(1)), "Unsupported type <class 'list'>"),
        (lambda y: (y, "2"), "Unsupported type <class 'str'>"),
        (lambda y: (y, y), "scale: argument 2 is an array, the parameter is a value (float): pass a number"),
        (lambda y: (np.float32(1), np.float32(1)), "scale: argument 1 is float32, the parameter is a pointer (float*): pass a cupy.ndarray"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments, words):
    kernel = cp.RawKernel(SCALE, "scale")
    with pytest.raises(TypeError) as caught:
        kernel((1,), (3,), arguments(cp.ones(3, dtype=np.float32)))
    assert str(caught.value).startswith(words) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda k, y: k(1, (3,), (y, 1)), TypeError, "Argument 'grid' has incorrect type (expected tuple, got int)"),
        (lambda k, y: k((1,), [3], (y, 1)), TypeError, "Argument 'block' has incorrect type (expected tuple, got list)"),
        (lambda k, y: k((1.0,), (3,), (y, 1)), TypeError, "'float' object cannot be interpreted as an integer"),
        (lambda k, y: k((1,), (1025,), (y, 1)), CUDADriverError, "CUDA_ERROR_INVALID_VALUE: invalid argument"),
        (lambda k, y: k((1,), (32, 33), (y, 1)), CUDADriverError, "CUDA_ERROR_INVALID_VALUE: invalid argument"),
        (lambda k, y: k((1,), (1, 1, 65), (y, 1)), CUDADriverError, "CUDA_ERROR_INVALID_VALUE: invalid argument"),
        (lambda k, y: k((1, 65536), (1,), (y, 1)), CUDADriverError, "CUDA_ERROR_INVALID_VALUE: invalid argument"),
        (lambda k, y: k((1,), (1,), (y, 1), shared_mem=49153), CUDADriverError, "CUDA_ERROR_INVALID_VALUE: invalid argument"),
        (lambda k, y: k((1,), (1,), (y, 1), shared_mem=-1), OverflowError, "can't convert negative value to size_t"),
    ],
)  # fmt: skip
def test_wrong_launches(call, error, words):
    with pytest.raises(error) as caught:
        call(cp.RawKernel(SCALE, "scale"), cp.ones(3, dtype=np.float32))
    assert str(caught.value).startswith(words) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ((3, "k"), {}, "Argument 'code' has incorrect type (expected str, got int)"),
        ((ADD, None), {}, "Argument 'name' has incorrect type (expected str, got NoneType)"),
        ((ADD, "my_add", ["-DA"]), {}, "Argument 'options' has incorrect type (expected tuple, got list)"),
    ],
)
def test_wrong_kinds_of_source(arguments, named, words):
    with pytest.raises(TypeError) as caught:
        cp.RawKernel(*arguments, **named)
    assert str(caught.value) == words


def test_a_source_is_compiled_when_it_is_first_used():
    kernel = cp.RawKernel('extern "C" __global__ void k(int* x) {\n  x[0] = missing_name;\n}', "k")
    with pytest.raises(CompileException) as caught:
        kernel((1,), (1,), (cp.zeros(1, dtype=np.int32),))
    assert "missing_name" in str(caught.value) and "2" in str(caught.value)
    assert "missing_name" in caught.value.source and caught.value.backend == "nvrtc"
    text = io.StringIO()
    caught.value.dump(text)
    assert "NVRTC compilation error: " in text.getvalue() and "2   x[0] = missing_name;" in text.getvalue()
    with pytest.raises(ValueError, match=r"^Invalid backend hipcc$"):
        cp.RawKernel(ADD, "my_add", backend="hipcc").compile()


def test_faults_name_array_line_and_thread():
    kernel = cp.RawKernel('extern "C" __global__ void k(float* x) {\n  x[threadIdx.x + 3] = 1;\n}', "k")
    with pytest.raises(
        KernelFault,
        match=r"^k, line 2: out of bounds: thread 2 of block 0 writes x\[5\], but x has 5 elements",
    ):
        kernel((1,), (32,), (cp.zeros(5, dtype=np.float32),))
    x = cp.zeros(35, dtype=np.float32)
    kernel((1,), (32,), (x,))
    assert x.get().sum() == 32


@pytest.mark.parametrize("name", ["no_such_kernel", "test_sum<float>"])
def test_kernels_that_are_not_there(name):  # raw: tests/cupy_tests/core_tests/test_raw.py
    with pytest.raises(CUDADriverError) as caught:
        cp.RawKernel(ADD, name)((1,), (1,), ())
    assert str(caught.value) == "CUDA_ERROR_NOT_FOUND: named symbol not found"


def test_kernels_have_to_be_extern_c():  # Guide: "to ensure the kernel names are not mangled"
    with pytest.raises(CUDADriverError, match=r"^CUDA_ERROR_NOT_FOUND: named symbol not found") as caught:
        cp.RawKernel(TEMPLATE, "plain")((1,), (1,), (cp.zeros(1),))
    assert 'plain is not declared extern "C"' in str(caught.value)


def test_attributes():
    code = 'extern "C" __global__ void k(float* x) { __shared__ float part[64]; part[0] = x[0]; x[1] = part[0]; }'
    kernel = cp.RawKernel(code, "k")
    assert (kernel.code, kernel.name, kernel.__name__, kernel.options, kernel.backend) == (
        code,
        "k",
        "k",
        (),
        "nvrtc",
    )
    assert not kernel.enable_cooperative_groups
    assert kernel.max_threads_per_block == 1024 and kernel.shared_size_bytes == 256
    assert kernel.attributes["shared_size_bytes"] == 256 and kernel.attributes["num_regs"] == -1
    assert (
        list(kernel.attributes)[:2] == ["max_threads_per_block", "shared_size_bytes"]
        and len(kernel.attributes) == 10
    )
    assert kernel.num_regs == kernel.local_size_bytes == kernel.binary_version == -1
    with pytest.raises(AttributeError, match="'RawKernel' object has no attribute 'registers'"):
        _ = kernel.registers
    kernel.preferred_shared_memory_carveout = 50
    assert kernel.preferred_shared_memory_carveout == 50


def test_dynamic_shared_memory_and_its_limit():
    code = """extern "C" __global__ void reverse(float* x) {
      extern __shared__ float part[];
      part[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      x[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
    }"""
    kernel, x = cp.RawKernel(code, "reverse"), numbers(256)
    kernel((1,), (256,), (x,), shared_mem=1024)
    assert x.get().tolist() == list(range(256))[::-1]
    assert kernel.max_dynamic_shared_size_bytes == 49152
    with pytest.raises(
        CUDADriverError, match="50,000 bytes of shared memory a block; at most 49,152 are allowed"
    ):
        kernel((1,), (256,), (x,), shared_mem=50_000)
    kernel.max_dynamic_shared_size_bytes = 50_000
    assert kernel.max_dynamic_shared_size_bytes == 50_000
    with pytest.raises(CUDADriverError, match="CUDA_ERROR_INVALID_VALUE: invalid argument"):
        kernel.max_dynamic_shared_size_bytes = 10**6


def test_kernels_can_be_pickled():
    kernel = pickle.loads(pickle.dumps(cp.RawKernel(SCALE, "scale", ("-DMORE=1",))))
    y = cp.ones(2, dtype=np.float32)
    kernel((1,), (2,), (y, np.float32(3)))
    assert y.get().tolist() == [3, 3] and kernel.options == ("-DMORE=1",)


def test_a_compilers_log_is_written():
    log = io.StringIO()
    cp.RawKernel(ADD, "my_add").compile(log_stream=log)
    cp.RawModule(code=ADD).compile(log_stream=log)


# RawModule


@pytest.mark.parametrize(
    ("option", "dtype"), [("-DTYPE=float", "f4"), ("-DTYPE=double", "f8"), ("-DTYPE=int", "i4")]
)
def test_several_kernels_and_options(option, dtype):
    module = cp.RawModule(code=TWO, options=(option,))
    x1, x2, y = (
        numbers(10, 10, dtype=dtype),
        cp.full((10, 10), 3, dtype=dtype),
        cp.zeros((10, 10), dtype=dtype),
    )
    module.get_function("test_sum")((10,), (10,), (x1, x2, y, 10**2))
    assert (y.get() == x1.get() + 3).all()
    module.get_function("test_multiply")((10,), (10,), (x1, x2, y, 10**2))
    assert (y.get() == x1.get() * 3).all()
    assert isinstance(module.get_function("test_sum"), cp.RawKernel)


def test_templates():
    names = ["fx3<float>", "fx3<double>", "plain"]
    module = cp.RawModule(code=TEMPLATE, options=("-std=c++11",), name_expressions=names)
    for name, dtype in zip(names, ("f4", "f8"), strict=False):
        a = numbers(10, dtype=dtype)
        module.get_function(name)((1,), (10,), (a, 10))
        assert a.get().tolist() == [3 * each for each in range(10)]
    a = numbers(3, dtype="f8")
    module.get_function("plain")((1,), (3,), (a,))
    assert a.get().tolist() == [1, 2, 3]
    with pytest.raises(CUDADriverError, match="named symbol not found"):
        module.get_function("fx3<int>")
    with pytest.raises(CUDADriverError, match="named symbol not found"):
        cp.RawModule(code=TEMPLATE).get_function("fx3<float>")


def test_a_kernel_of_a_template_has_the_name_of_its_compiled_code():
    """As with CuPy 14.2.0, whose kernels also keep no name expressions."""
    module = cp.RawModule(code=TEMPLATE, options=("-std=c++11",), name_expressions=["fx3<float>", "plain"])
    kernel = module.get_function("fx3<float>")
    assert kernel.name == kernel.__name__ == "_Z3fx3IfEvPT_i" and not hasattr(kernel, "name_expressions")
    a = numbers(10, dtype="f4")
    module.get_function(kernel.name)((1,), (10,), (a, 10))
    assert a.get().tolist() == [3 * each for each in range(10)]
    with pytest.raises(TypeError, match=r"^fx3<float> takes 2 arguments"):
        kernel((1,), (10,), (a,))


def test_name_expressions_that_are_wrong():
    with pytest.raises(CompileException):
        cp.RawModule(code=TEMPLATE, name_expressions=["fx3<no_such_type>"]).get_function("fx3<no_such_type>")


def test_constants():
    module = cp.RawModule(code=CONSTANT)
    kernel = module.get_function("multiply_by_const")
    pointer = module.get_global("some_array")
    assert isinstance(pointer, cp.cuda.MemoryPointer)
    constants = cp.ndarray((100,), np.float32, pointer)
    constants[...] = numbers(100)
    x = cp.ones(100, dtype=np.float32)
    kernel((1,), (100,), (x, np.int32(100)))
    assert x.get().tolist() == list(range(100))
    again = cp.RawModule(code=CONSTANT)  # raw: the module of the same source is the same
    again.get_function("multiply_by_const")((1,), (100,), (x, np.int32(100)))
    assert x.get().tolist() == [each**2 for each in range(100)]
    with pytest.raises(CUDADriverError, match=r"^CUDA_ERROR_NOT_FOUND: named symbol not found$"):
        module.get_global("no_such_name")


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [
        ({}, TypeError, "Exactly one of `code` and `path` keyword arguments must be given."),
        ({"code": ADD, "path": "a.cubin"}, TypeError, "Exactly one of `code` and `path` keyword arguments must be given."),
        ({"path": "a.cubin", "name_expressions": ["f<int>"]}, ValueError, "need CUDA C++ code for the requested kernels"),
        ({"code": ADD, "name_expressions": ["f<int>"], "backend": "nvcc"}, ValueError, "only nvrtc supports retrieving the mangled names for the given name expressions"),
        ({"path": "a.cubin", "jitify": True}, ValueError, "Jitify does not support precompiled objects"),
        ({"code": ADD, "jitify": True, "backend": "nvcc"}, ValueError, "Jitify only supports NVRTC"),
        ({"code": ADD, "options": "-O3"}, TypeError, "Argument 'options' has incorrect type (expected tuple, got str)"),
    ],
)  # fmt: skip
def test_wrong_modules(named, error, words):
    with pytest.raises(error) as caught:
        cp.RawModule(**named)
    assert str(caught.value) == words


def test_compiled_files_need_a_gpu(tmp_path):
    with pytest.raises(CUDADriverError, match=r"^CUDA_ERROR_FILE_NOT_FOUND: file not found$"):
        cp.RawModule(path=str(tmp_path / "none.cubin")).get_function("k")
    path = tmp_path / "some.cubin"
    path.write_bytes(b"")
    with pytest.raises(NotImplementedError, match="a cubin or PTX file needs a GPU"):
        cp.RawModule(path=str(path)).get_function("k")
