"""cupy.fuse and cupyx.jit.rawkernel."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, host, program, source

FUSION = documentation("user_guide/kernel", "Kernel fusion")
JIT = documentation("user_guide/kernel", "JIT kernel definition")
FUSION_PYX = "cupy/_core/fusion.pyx"


def squared_difference(x, y):
    return (x - y) * (x - y)


@program(device([81, 49, 25, 9, 1, 1, 9, 25, 49, 81], "int64"), FUSION, "fusion")
def a_fused_function(cp):
    return cp.fuse()(squared_difference)(cp.arange(10), cp.arange(10)[::-1])


@program(host([4, 0, 4], "int64"), FUSION, "fusion")
def a_fused_function_of_host_arrays_stays_on_the_host(cp):
    return cp.fuse()(squared_difference)(np.arange(3), np.arange(3)[::-1])


@program(1, source(FUSION_PYX, "Fusion.__call__"), "fusion")
def a_fused_function_of_python_numbers_is_the_function(cp):
    return cp.fuse()(squared_difference)(1, 2)


@program(device([4.0, 1.0, 0.0], "float32"), FUSION, "fusion")
def a_fused_function_with_a_number(cp):
    return cp.fuse(kernel_name="squared_diff")(squared_difference)(cp.arange(3, dtype=np.float32), 2)


@program(device([5.0, 50.0], "float64"), FUSION, "fusion")
def a_fused_sum(cp):
    @cp.fuse()
    def sum_of_products(x, y):
        return cp.sum(x * y, axis=-1)

    x = cp.arange(6.0).reshape(2, 3)
    return sum_of_products(x, x)


@program((device([1, 2], "int64"), device([0, 2], "int64")), source(FUSION_PYX, "Fusion.__call__"), "fusion")
def a_fused_function_with_two_results(cp):
    @cp.fuse()
    def both(x):
        return x + 1, x * 2

    return both(cp.arange(2))


@program(
    Raises("TypeError", "Cannot convert to Python scalar in cupy.fuse"),
    source("cupy/_core/_fusion_interface.py", "_VariableProxy"),
    "fusion",
)
def a_fused_function_has_no_branches(cp):
    @cp.fuse()
    def absolute(x):
        return x if x > 0 else -x

    return absolute(cp.arange(3.0))


@program(
    Raises("CompileException", matching="expected an identifier"),
    source("cupy/_core/_fusion_kernel.pyx", "_cuda_compile"),
    "fusion",
)
def a_fused_function_has_a_name(cp):
    return cp.fuse(lambda x: x + 1)(cp.arange(3.0))


@program(Raises("TypeError", matching="unsupported operand type"), FUSION, "fusion")
def a_fused_function_has_no_matrix_product(cp):
    @cp.fuse()
    def product(x):
        return x @ x

    return product(cp.zeros((2, 2)))


@program(
    Raises(
        "TypeError",
        "Invalid argument type for 'squared_difference': (<class 'cupy.ndarray'>, <class 'list'>)",
    ),
    source(FUSION_PYX, "Fusion.__call__"),
    "fusion",
)
def a_fused_function_of_a_list(cp):
    return cp.fuse()(squared_difference)(cp.arange(1), [1])


@program((device([0, 1, 2, 3], "float32"), device([0, 1, 2, 3], "float32")), JIT, "jit")
def a_jit_kernel_is_launched_in_two_ways(cp):
    from cupyx import jit

    @jit.rawkernel()
    def copy(x, y, size):
        tid = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        ntid = jit.gridDim.x * jit.blockDim.x
        for i in range(tid, size, ntid):
            y[i] = x[i]

    x = cp.arange(4, dtype=cp.float32)
    one, two = cp.zeros_like(x), cp.zeros_like(x)
    copy((2,), (1,), (x, one, np.uint32(4)))
    copy[2, 1](x, two, np.uint32(4))
    return one, two


@program(device([7, 6, 5, 4, 3, 2, 1, 0], "int32"), JIT, "jit", "shared memory")
def a_jit_kernel_with_shared_memory(cp):
    from cupyx import jit

    @jit.rawkernel()
    def reverse(x):
        tile = jit.shared_memory(np.int32, 8)
        t = jit.threadIdx.x
        tile[t] = x[t]
        jit.syncthreads()
        x[t] = tile[7 - t]

    x = cp.arange(8, dtype=cp.int32)
    reverse[1, 8](x)
    return x


@program(
    Raises("TypeError", "<class 'list'> is not supported for RawKernel"),
    source("cupyx/jit/_interface.py", "_JitRawKernel.__call__"),
    "jit",
)
def a_jit_kernel_refuses_a_list(cp):
    from cupyx import jit

    @jit.rawkernel()
    def nothing(x):
        x[0] = 0

    nothing[1, 1]([1])
