"""Device functions with a signature: arguments and results have its types, as in C."""

import numpy as np
from numba import complex64, cuda, float32, float64, int32, int64, uint8, void

from tests.corpora.real_results import program


def result(kernel, dtype=np.float64, size=4):
    out = np.zeros(size, dtype)
    kernel[1, 1](out)
    return out


@program
def floats_for_integers():
    @cuda.jit("int64(int64, int64)", device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = add(1.5, 2.5)
        out[1] = add(-1.5, 2)
        out[2] = add(True, 7)

    return result(kernel)


@program
def integers_for_floats():
    @cuda.jit("float32(float32)", device=True)
    def third(a):
        return a / 3

    @cuda.jit
    def kernel(out):
        out[0] = third(1)
        out[1] = third(16777217)
        out[2] = third(0.1)

    return result(kernel)


@program
def a_narrow_result():
    @cuda.jit("uint8(int64)", device=True)
    def low(a):
        return a

    @cuda.jit
    def kernel(out):
        out[0] = low(300)
        out[1] = low(-1)
        out[2] = low(255) + 1

    return result(kernel)


@program
def an_integer_result_of_a_division():
    @cuda.jit("int32(int32, int32)", device=True)
    def ratio(a, b):
        return a / b

    @cuda.jit
    def kernel(out):
        out[0] = ratio(7, 2)
        out[1] = ratio(-7, 2)

    return result(kernel)


@program
def a_float_result_of_integers():
    @cuda.jit("float64(int32, int32)", device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = add(7, 2) / 2

    return result(kernel)


@program
def arguments_that_wrap():
    @cuda.jit("int64(int32, int32)", device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = add(3000000000, 1)
        out[1] = add(2147483647, 1)

    return result(kernel)


@program
def a_type_instead_of_a_text():
    @cuda.jit(float32(float32, float32), device=True)
    def product(a, b):
        return a * b

    @cuda.jit
    def kernel(out):
        out[0] = product(0.1, 0.1)

    return result(kernel)


@program
def a_tuple_of_types():
    @cuda.jit((int32, int32), device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = add(1.9, 2.9)

    return result(kernel)


@program
def a_list_of_one():
    @cuda.jit([int64(int64)], device=True)
    def half(a):
        return a / 2

    @cuda.jit
    def kernel(out):
        out[0] = half(5.9)

    return result(kernel)


@program
def the_best_of_two():
    @cuda.jit([int64(int64), float64(float64)], device=True)
    def half(a):
        return a / 2

    @cuda.jit
    def kernel(out):
        out[0] = half(5)
        out[1] = half(5.0)
        out[2] = half(np.float32(5))

    return result(kernel)


@program
def a_single_precision_call_of_two():
    @cuda.jit(["float32(float32)", "float64(float64)"], device=True)
    def third(a):
        return a / 3

    @cuda.jit
    def kernel(x, out):
        out[0] = third(x[0])
        out[1] = third(1.0)

    out = np.zeros(2)
    kernel[1, 1](np.ones(1, np.float32), out)
    return out


@program
def a_loop_over_its_argument():
    @cuda.jit("float64(int32)", device=True)
    def harmonic(n):
        total = 0.0
        while n > 0:
            total += 1.0 / n
            n -= 1
        return total

    @cuda.jit
    def kernel(out):
        out[0] = harmonic(4.9)

    return result(kernel)


@program
def a_clamped_pixel():
    @cuda.jit("uint8(float32)", device=True)
    def pixel(value):
        return max(0.0, min(255.0, value))

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = pixel(x[i] * 2 - 50)

    x = np.arange(0, 256, 5).astype(np.uint8)
    out = np.zeros_like(x)
    kernel[1, 64](x, out)
    return out


@program
def an_array_and_an_index():
    @cuda.jit("float32(float32[:], int32)", device=True)
    def at(x, i):
        return x[i]

    @cuda.jit
    def kernel(x, out):
        out[0] = at(x, 2.7)

    out = np.zeros(1)
    kernel[1, 1](np.arange(4, dtype=np.float32), out)
    return out


@program
def a_function_that_stores():
    @cuda.jit("void(int32[:], int32, int32)", device=True)
    def put(x, i, value):
        x[i] = value

    @cuda.jit
    def kernel(out):
        put(out, 1, 2.9)
        put(out, 2.9, -3.9)

    return result(kernel, np.int32)


@program
def two_declared_functions():
    @cuda.jit("int32(int32)", device=True)
    def whole(a):
        return a

    @cuda.jit("float32(float32)", device=True)
    def scaled(a):
        return whole(a) * 1.5

    @cuda.jit
    def kernel(out):
        out[0] = scaled(3.9)

    return result(kernel)


@program
def by_keyword():
    @cuda.jit("int64(int64, int64)", device=True)
    def difference(a, b):
        return a - b

    @cuda.jit
    def kernel(out):
        out[0] = difference(b=1.9, a=5.9)

    return result(kernel)


@program
def a_function_that_waits():
    @cuda.jit("int32(int32)", device=True)
    def neighbour(value):
        return cuda.shfl_xor_sync(0xFFFFFFFF, value, 1)

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        got = neighbour(i * 1.75)
        out[i] = got

    out = np.zeros(32)
    kernel[1, 32](out)
    return out


@program
def two_returns():
    @cuda.jit("int32(float64)", device=True)
    def sign(a):
        if a < 0:
            return -1.5
        return 2.5

    @cuda.jit
    def kernel(out):
        out[0] = sign(-1)
        out[1] = sign(1)

    return result(kernel)


@program
def a_float_kernel_argument():
    @cuda.jit("int32(int32, int32)", device=True)
    def power(base, exponent):
        found = 1
        for _ in range(exponent):
            found *= base
        return found

    @cuda.jit
    def kernel(out, base):
        out[0] = power(base, 3)

    out = np.zeros(1)
    kernel[1, 1](out, 2.9)
    return out


@program
def a_complex_for_an_integer():
    @cuda.jit("int64(int64, int64)", device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = add(1j, 2)

    return result(kernel)


@program
def a_complex_for_a_float():
    @cuda.jit(float32(float32), device=True)
    def same(a):
        return a

    @cuda.jit
    def kernel(x, out):
        out[0] = same(x[0])

    out = np.zeros(1)
    kernel[1, 1](np.ones(1, np.complex64), out)
    return out


@program
def a_float_for_a_complex():
    @cuda.jit(complex64(complex64), device=True)
    def square(a):
        return a * a

    @cuda.jit
    def kernel(out):
        out[0] = square(2.5).real

    return result(kernel)


@program
def an_array_for_a_number():
    @cuda.jit("float32(float32)", device=True)
    def twice(a):
        return a + a

    @cuda.jit
    def kernel(out):
        out[0] = twice(out)

    return result(kernel)


@program
def an_array_of_another_type():
    @cuda.jit("float32(float32[:])", device=True)
    def first(x):
        return x[0]

    @cuda.jit
    def kernel(out):
        out[1] = first(out)

    return result(kernel)


@program
def too_few_arguments():
    @cuda.jit("int64(int64, int64)", device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = add(1)

    return result(kernel)


@program
def a_result_that_cannot_be_converted():
    @cuda.jit("int64(int64)", device=True)
    def rotated(a):
        return a * 1j

    @cuda.jit
    def kernel(out):
        out[0] = rotated(1)

    return result(kernel)


@program
def two_that_fit_equally():
    @cuda.jit([float32(float32, float64), float32(float64, float32)], device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def kernel(out):
        out[0] = add(1, 2)

    return result(kernel)


@program
def a_kernel_that_two_signatures_fit_equally():
    @cuda.jit([void(float64[:], float32, float64), void(float64[:], float64, float32)])
    def kernel(out, a, b):
        out[0] = a + b

    out = np.zeros(1)
    kernel[1, 1](out, 1, 2)
    return out


@program
def a_kernel_with_two_signatures():
    @cuda.jit([void(float64[:], int32), void(float64[:], float64)])
    def kernel(out, a):
        out[0] = a / 2

    out = np.zeros(2)
    kernel[1, 1](out[:1], 5.5)
    kernel[1, 1](out[1:], np.int32(5))
    return out


@program
def a_kernel_whose_signature_narrows():
    @cuda.jit(void(int64[:], uint8, int32))
    def kernel(out, a, b):
        out[0] = a
        out[1] = b

    out = np.zeros(2, np.int64)
    kernel[1, 1](out, 300, 2**32 + 5)
    return out


@program
def a_kernel_whose_signature_makes_a_float_whole():
    @cuda.jit("void(int64[:], int32)")
    def kernel(out, a):
        out[0] = a

    out = np.zeros(2, np.int64)
    kernel[1, 1](out, 2.75)
    return out


@program
def a_kernel_whose_signature_gets_a_complex():
    @cuda.jit("void(int64[:], int32)")
    def kernel(out, a):
        out[0] = a

    out = np.zeros(2, np.int64)
    kernel[1, 1](out, 2j)
    return out
