"""What a learner gets wrong gives one line that says what, and where; nothing hangs, and the session goes on.

Everything that does not depend on Numba's compiler is tried in both ways of running a kernel.
"""

import copy
import importlib.util
import inspect
import linecache
import math
import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

import numba  # noqa: E402
from numba import cuda, float32, int32  # noqa: E402
from numba.core.errors import TypingError  # noqa: E402

from host_to_device.standins.numba_cuda import compiling, launching  # noqa: E402
from host_to_device.standins.numba_cuda.errors import KernelStopped  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Host array used in CUDA kernel")
MODES = pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])


def of_block_0(thread=r"\d+"):
    """Return the pattern of a thread's name at the end of a message."""
    return rf"in thread {thread} of block 0"


@pytest.fixture(params=[False, True], ids=["compiled", "interpreted"])
def mode(request):
    """Run the test both ways; yields whether it runs interpreted."""
    with cuda.stand_in(interpreted=request.param, seconds=20):
        yield request.param


def ones(count: int = 4):
    return cuda.to_device(np.ones(count, np.float32))


def here(kernel) -> str:
    """Return `test_bad_input.py, line N` for the line of this kernel that ends with `# here`."""
    lines, first = inspect.getsourcelines(kernel.py_func)
    marked = next(number for number, line in enumerate(lines) if line.rstrip().endswith("# here"))
    return f"test_bad_input.py, line {first + marked}"


def refused(kind: type, pattern: str, call, *arguments) -> str:
    """Check that a call raises this error with one line that matches; return the line."""
    with pytest.raises(kind) as problem:
        call(*arguments)
    line = str(problem.value)
    assert "\n" not in line and len(line) < 400, line
    assert "_h2d_" not in line, line
    assert re.search(pattern, line), line
    return line


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def put(x, i, value):
    x[i] = value


def still_works() -> bool:
    x = ones(3)
    increment[1, 32](x)
    return x.copy_to_host().tolist() == [2, 2, 2]


# ---- what is not a kernel


class AClass:
    def method(self, x):
        x[0] = 1


@pytest.mark.parametrize(
    "thing",
    [AClass, 3, len, np.add, AClass().method, AClass(), math.sqrt],
    ids=lambda thing: repr(thing)[:20],
)
def test_only_functions_are_kernels(thing):
    refused(TypeError, r"^cuda.jit decorates a function, and .* is not one$", cuda.jit, thing)
    refused(TypeError, r"^cuda.jit decorates a function", cuda.jit("void(float32[:])"), thing)


def test_jitted_twice():
    refused(TypeError, r"already jitted function: increment\(\)", cuda.jit, increment)
    refused(TypeError, r"already jitted function: square_of_host\(\)", cuda.jit, numba.njit(square_of_host))


def square_of_host(x):
    return x * x


def test_jit_of_none_is_the_decorator_itself():
    assert repr(cuda.jit(None)(square_of_host)) == "<stand-in kernel square_of_host>"


def test_options():
    refused(TypeError, r"cuda.jit\(\) has no option 'blocks'", lambda: cuda.jit(blocks=3))
    refused(NotImplementedError, "bounds checking", lambda: cuda.jit(boundscheck=True))
    refused(NotImplementedError, "cannot link", lambda: cuda.jit(link=["a.cu"]))
    assert cuda.jit(fastmath=True, max_registers=32, lineinfo=True, inline=True)(square_of_host)


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (
            "void(float33[:])",
            "the signature 'void\\(float33\\[:\\]\\)' cannot be read: name 'float33' is not defined",
        ),
        ("void(", "cannot be read"),
        ("int32(float32)", "CUDA kernel must have void return type"),
        ("void(float32[:], int32)", "takes 1 arguments, and its signature has 2"),
        ([3], "the signature 3 cannot be read"),
    ],
)
def test_signatures_that_do_not_fit_the_function(signature, words):
    refused(TypeError, rf"^square_of_host\(\).*{words}", cuda.jit(signature), square_of_host)


def test_source_not_available(mode):
    space = {"cuda": cuda}
    exec("@cuda.jit\n" + "".join(["def typed", "(x):\n    x[0] = 1\n"]), space)  # the text is in no variable
    words = r"^the source of typed\(\) is not available.*notebook cell or in a file"
    refused(OSError, words, space["typed"][1, 1], ones())


def test_source_of_exec(mode):
    """A text that is in a variable, or in the program, is found; another text with a function of this name is not."""
    other, text = "def made(x):\n    x[0] = 8\n", f"def made(x):\n    x[0] = {3 + 4}\n"
    space = {"cuda": cuda}
    exec(text, space)
    x = ones()
    cuda.jit(space["made"])[1, 1](x)
    assert x.copy_to_host()[0] == 7
    assert other
    exec("@cuda.jit\ndef decorated(x):\n    x[0] = 9\n", space)
    space["decorated"][1, 1](x)
    assert x.copy_to_host()[0] == 9


def test_two_lambdas_on_a_line(mode):
    first, _second = cuda.jit(lambda x: None), cuda.jit(lambda x: x)
    refused(OSError, r"a lambda, test_bad_input.py, line \d+: .*use def", first[1, 1], ones())
    alone = cuda.jit(lambda x: None)
    alone[1, 1](ones())


# ---- what a kernel cannot say


@cuda.jit
def imports_something(x):
    import os  # noqa: F401  # here


@cuda.jit
def tries(x):
    try:  # noqa: SIM105  # here
        x[0] = 1
    except ZeroDivisionError:
        pass


@cuda.jit
def makes_a_list(x):
    x[0] = len([1, 2])  # here


@cuda.jit
def formats(x):
    print(f"{x[0]}")  # here


@cuda.jit
def returns(x):
    return x[0]  # here


@cuda.jit
async def is_async(x):  # here
    x[0] = 1


@cuda.jit
def opens_a_file(x):
    x[0] = open("nothing")  # noqa: SIM115  # here


@cuda.jit
def copies(x):
    cuda.to_device(x)  # here


@cuda.jit
def calls_the_host(x):
    x[0] = square_of_host(x[0])  # here


@cuda.jit
def calls_itself(x):
    calls_itself(x)  # here


@cuda.jit
def knows_no_cuda_name(x):
    x[0] = cuda.frobnicate()  # here


@cuda.jit
def wants_an_axis(x):
    x[0] = cuda.threadIdx.w  # here


@cuda.jit
def wants_no_axis(x):
    x[0] = cuda.threadIdx  # here


@cuda.jit
def moves_itself(x):
    cuda.threadIdx.x = 3  # here


@cuda.jit
def knows_no_math(x):
    x[0] = math.frobnicate(x[0])  # here


@cuda.jit
def shared_of_unknown_size(x):
    s = cuda.shared.array(x.size, float32)  # here
    s[0] = 1


@cuda.jit
def four_dimensions(x):
    x[0] = cuda.grid(4)  # here


CANNOT_SAY = {
    imports_something: "import cannot be used in a kernel",
    tries: "try cannot be used in a kernel",
    makes_a_list: "a list cannot be used in a kernel",
    formats: "an f-string cannot be used in a kernel",
    returns: "a kernel cannot return a value",
    is_async: "an async function cannot be a kernel",
    opens_a_file: r"open\(\) is not available in a kernel",
    copies: r"cuda.to_device\(\) belongs to the host",
    calls_the_host: r"square_of_host\(\) is an ordinary Python function.*device=True",
    calls_itself: r"cannot type infer runaway recursion: it always calls itself",
    knows_no_cuda_name: "cuda.frobnicate is not in host_to_device's stand-in",
    wants_an_axis: "cuda.threadIdx has no 'w'",
    wants_no_axis: "cuda.threadIdx is used by its parts: x, y, z",
    moves_itself: "cuda.threadIdx.x cannot be assigned to",
    knows_no_math: "module 'math' has no attribute 'frobnicate'",
    shared_of_unknown_size: "must be a literal or a constant of the module, and x.size is not",
    four_dimensions: r"cuda.grid\(\) takes the number of dimensions as a literal",
}


@pytest.mark.parametrize("kernel", CANNOT_SAY, ids=lambda kernel: kernel.__name__)
def test_what_a_kernel_cannot_say(kernel, mode):
    words = rf"^{kernel.__name__}\(\), {here(kernel)}: .*{CANNOT_SAY[kernel]}"
    refused(Exception, words, kernel[1, 1], ones())


@cuda.jit
def uses_an_undefined_name(x):
    x[0] = undefined  # noqa: F821  # here


def test_undefined_name(mode):
    words = rf"^uses_an_undefined_name\(\), {here(uses_an_undefined_name)}: NameError: name 'undefined' is not defined"
    refused(TypingError, words, uses_an_undefined_name[1, 1], ones())


@cuda.jit(device=True)
def nested(n):
    if n <= 0:
        return None
    return n, nested(n - 1)  # here


def test_what_a_signature_makes_numba_refuse_before_a_launch():
    """Numba compiles a kernel with a signature at once."""

    def votes(mask, x):
        x[0] = cuda.all_sync(mask[0], x[1])

    def nests(n):
        nested(n)

    def mixes(records):
        records[0].a = records[0].b

    unaligned = numba.from_dtype(np.dtype([("a", "i4"), ("b", "f8")]))
    words = r"^votes\(\), test_bad_input.py, line \d+: cuda.all_sync\(\): "
    for kinds, more in (
        ("float32[:], int32[:]", "Mask type must be an integer, but got float32$"),
        ("int32[:], float32[:]", "Predicate must be an integer or boolean, but got float32$"),
    ):
        refused(TypingError, words + more, cuda.jit(f"void({kinds})"), votes)
    cuda.jit("void(uint64[:], boolean[:])")(votes)
    words = rf"^nested\(\), {here(nested)}: Return type of recursive function does not converge"
    refused(TypingError, words, cuda.jit("void(int32)"), nests)
    words = r"^mixes\(\), test_bad_input.py, line \d+: .*type float64 is not aligned"
    refused(TypingError, words, cuda.jit((unaligned[:],)), mixes)


@numba.njit("int32(int32)")
def for_the_host_alone(value):
    return value + 1


@cuda.jit
def calls_what_the_host_has(x):
    x[0] = for_the_host_alone(x[0])  # here


def test_a_function_that_numba_compiles_for_the_host_alone(mode):
    words = rf"{here(calls_what_the_host_has)}: .*Untyped global name 'for_the_host_alone': using cpu function on device"
    refused(TypingError, words, calls_what_the_host_has[1, 1], ones())


# ---- typing errors of Numba, in one line about the learner's line


@cuda.jit
def adds_a_string(x):
    x[0] = (
        x[0]
        + x[1]
        + "a"
    )  # fmt: skip


@cuda.jit
def indexes_a_number(x):
    y = x[0]
    x[0] = y[1]  # here


@cuda.jit
def wants_an_attribute(x):
    i = cuda.grid(1)
    if i < x.length:  # here
        x[i] = 1


@cuda.jit
def too_many_indices(x):
    i = cuda.grid(1)
    x[i, i, i] = 3  # here


@cuda.jit
def calls_a_number(x):
    y = 3
    x[0] = y(2)  # here


@cuda.jit
def wants_a_method(x):
    x.frobnicate()  # here


@cuda.jit
def array_or_tuple(x):
    t = x
    if x[0] > 1:
        t = (1, 2)
    x[0] = t[0]  # here


@cuda.jit
def index_is_a_float(x):
    i = x.size / 2
    x[i] = 3  # here


@cuda.jit
def atomic_on_floats(x):
    cuda.atomic.and_(x, 0, 3)  # here


@cuda.jit
def calculates_with_none(x):
    y = None
    x[0] = y + 1  # here


@cuda.jit
def slices(x):
    x[0] = 1
    y = x[1:3] * 2  # here
    x[0] = y[0]


@cuda.jit(device=True)
def wrong_inside(p, q):
    r = q + 1
    return p.shape + r  # here


@cuda.jit
def calls_what_is_wrong_inside(x):
    x[0] = wrong_inside(x, 1)


@cuda.jit
def forgets_an_argument(x):
    x[0] = wrong_inside(1)  # here


@cuda.jit
def wrong_after_a_barrier(x):
    s = cuda.shared.array(4, float32)
    i = cuda.threadIdx.x
    s[i] = x[i]
    cuda.syncthreads()
    y = s[i] + 1
    if i < 3:
        y = s[i, 0]  # here
    cuda.syncthreads()
    x[i] = y


@cuda.jit
def the_second_of_two_alike(x, y):
    if x[0] > 1:
        a = x
        x[0] = a[0] + 1
    else:
        a = y
        x[0] = a[0] + 1


TYPING = {
    adds_a_string: r"No implementation of function add found for signature: add\(float32, str\)",
    indexes_a_number: r"function getitem found for signature: getitem\(float32, int64\)",
    wants_an_attribute: r"Unknown attribute 'length' of type array\(float32, 1d, C\)",
    too_many_indices: r"cannot index array\(float32, 1d, C\) with 3 indices",
    calls_a_number: r"Invalid use of int64 with parameters \(int64\)",
    wants_a_method: r"Unknown attribute 'frobnicate' of type array",
    array_or_tuple: r"Cannot unify array\(float32, 1d, C\) and Tuple\(int64, int64\) for 't'",
    index_is_a_float: r"Unsupported array index type float64",
    atomic_on_floats: r"cuda.atomic.and_\(\) is not defined for arrays of float32: use int32",
    calculates_with_none: r"found for signature: add\(none, int64\)",
    slices: r"a kernel cannot allocate",
    calls_what_is_wrong_inside: r"found for signature: add\(UniTuple\(int64 x 1\), int64\)",
    forgets_an_argument: r"missing a required argument: 'q' of \(p, q\)",
    wrong_after_a_barrier: r"cannot index array\(float32, 1d, C\) with 2 indices|Cannot unify",
}


@pytest.mark.parametrize("kernel", TYPING, ids=lambda kernel: kernel.__name__)
def test_typing_error_names_the_line(kernel):
    place = {
        adds_a_string: f"test_bad_input.py, line {adds_a_string.py_func.__code__.co_firstlineno + 2}",
        calls_what_is_wrong_inside: here(wrong_inside) if kernel is calls_what_is_wrong_inside else "",
    }
    place = place.get(kernel) or here(kernel)
    words = rf"^{kernel.__name__}\(\), {place}: .*{TYPING[kernel]}"
    refused(numba.core.errors.TypingError, words, kernel[1, 4], ones())


def test_of_two_equal_lines_the_right_one_is_named():
    first = the_second_of_two_alike.py_func.__code__.co_firstlineno
    words = rf"test_bad_input.py, line {first + 7}: .*getitem\(float32"
    # `a` is an array in one branch and a number in the other, so each has a type of its own.
    refused(numba.core.errors.TypingError, words, the_second_of_two_alike[1, 1], ones(), np.float32(1))


@pytest.mark.parametrize("kernel", TYPING, ids=lambda kernel: kernel.__name__)
def test_interpreted_names_the_line_where_it_stops(kernel):
    with cuda.stand_in(interpreted=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            kernel[1, 4](ones())
        except Exception as problem:
            line = str(problem)
            assert "\n" not in line and "_h2d_" not in line
            assert re.match(rf"{kernel.__name__}\(\), test_bad_input.py, line \d+: .*{of_block_0()}", line), (
                line
            )


# ---- arguments


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.array([1, None], object), "numbers, not Python objects"),
        ([1.0, 2.0], r"it is of type list, .*np.array"),
        ({1: 2}, "it is of type dict"),
        (None, "it is None"),
        ("abc", "it is of type str"),
        (b"abc", "it is of type bytes"),
        ({1}, "it is of type set"),
        (range(3), "it is of type range"),
        (len, "it is of type builtin_function_or_method"),
        (AClass(), "it is of type AClass"),
        (increment, "it is of type CUDADispatcher"),
        ((1, "a"), "it is of type str"),
        (np.ma.array([1.0, 2.0]), "Unsupported array type: numpy.ma.MaskedArray"),
        (np.ones(3, np.longdouble), "Unsupported array dtype"),
        (np.ones(3, np.dtype(np.float32).newbyteorder()), "Unsupported array dtype"),
        (np.ones((4, 4), np.float32)[:, ::2], "non-contiguous buffer and cannot be transferred"),
        (2**64, "too large for 64 bits"),
        (-(2**70), "too large for 64 bits"),
    ],
    ids=lambda value: type(value).__name__ + str(value)[:12] if not isinstance(value, str) else None,
)
def test_values_that_are_no_arguments(value, words, mode):
    line = rf"^increment\(\): argument x: .*{words}"
    refused((TypeError, ValueError, OverflowError), line, increment[1, 4], value)


def test_a_tensor_on_the_cpu_is_told_what_to_give(mode):
    torch = pytest.importorskip("torch")
    line = r"^increment\(\): argument x: it is of type Tensor, .*x\.numpy\(\)"
    refused(TypeError, line, increment[1, 4], torch.ones(4))


def test_string_arrays_are_refused_where_they_are_calculated_with(mode):
    words = r"^increment\(\), test_bad_input.py, line \d+: "
    refused(Exception, words, increment[1, 4], np.array(["a", "b"]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), r"^put\(\) takes 3 arguments \(x, i, value\), 0 were given$"),
        ((1,), r"^put\(\) takes 3 arguments \(x, i, value\), 1 was given$"),
        ((1, 2, 3, 4), r"^put\(\) takes 3 arguments \(x, i, value\), 4 were given$"),
    ],
)
def test_wrong_number_of_arguments(arguments, words, mode):
    refused(TypeError, words, put[1, 1], *arguments)


def test_arguments_by_name(mode):
    refused(TypeError, r"^increment\(\) was given x=: a launch takes no", lambda: increment[1, 1](x=ones()))


@cuda.jit("void(float32[:], int32)")
def with_signature(x, n):
    x[0] = n


@cuda.jit(["void(float32[:], int64)", "void(float64[:], float64)"])
def with_signatures(x, n):
    x[0] = n / 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (np.ones(4), 3),
            r"array\(float64, 1d, C\) is given where the signature says array\(float32, 1d, A\)",
        ),
        ((np.ones((4, 4), np.float32), 3), r"2d, C\) is given where"),
        ((3, 3), "int64 is given where the signature says array"),
        ((np.ones(4, np.float32), 2.7), "float64 is given where the signature says int32"),
        ((np.ones(4, np.float32), 2j), "complex128 is given where the signature says int32"),
    ],
)
def test_arguments_that_do_not_fit_the_signature(arguments, words, mode):
    start = r"^No matching definition for argument type\(s\) of with_signature\(\): "
    refused(TypeError, start + ".*" + words, with_signature[1, 1], *arguments)


def test_arguments_are_brought_to_the_signature(mode):
    x = ones()
    with_signature[1, 1](x, 2**32 + 5)  # wraps, as a C int does
    assert x.copy_to_host()[0] == 5
    with_signatures[1, 1](x, 7)
    assert x.copy_to_host()[0] == 3.5
    y = cuda.to_device(np.ones(2))
    with_signatures[1, 1](y, 7)
    assert y.copy_to_host()[0] == 3.5
    words = (
        r"^No matching definition for argument type\(s\) of with_signatures\(\): array\(int32, 1d, C\), int64"
    )
    refused(TypeError, words, with_signatures[1, 1], np.ones(3, np.int32), 7)


def test_read_only_host_array(mode):
    x = np.ones(4, np.float32)
    x.flags.writeable = False
    refused(ValueError, r"^increment\(\): argument x cannot be copied back: .*read-only", increment[1, 4], x)
    assert x.tolist() == [1, 1, 1, 1]
    device, y = cuda.to_device(x), ones()
    add_into[1, 4](device, y)
    assert y.copy_to_host().tolist() == [2, 2, 2, 2]


@cuda.jit
def add_into(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += x[i]


def test_arrays_without_axes_and_without_elements(mode):
    words = (
        r"^increment\(\), test_bad_input.py, line \d+: .*(cannot index array\(float32, 0d|too many indices)"
    )
    refused(Exception, words, increment[1, 4], np.array(1, np.float32))
    empty = np.empty(0, np.float32)
    increment[1, 4](empty)
    increment[1, 4](cuda.to_device(empty))


@cuda.jit
def number_elements(x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] = 10 * i + j


def test_fortran_order_and_views(mode):
    expected = [[0, 1, 2], [10, 11, 12]]
    host = np.zeros((2, 3), np.float32, order="F")
    number_elements[1, (4, 4)](host)
    assert host.tolist() == expected
    device = cuda.to_device(np.zeros((2, 3), np.float32, order="F"))
    number_elements[1, (4, 4)](device)
    assert device.copy_to_host().tolist() == expected
    number_elements[1, (4, 4)](device[:, 1:])
    assert device.copy_to_host().tolist() == [[0, 0, 1], [10, 10, 11]]
    line = cuda.to_device(np.zeros(8, np.float32))
    increment[1, 8](line[2:4])
    increment[1, 8](line[::2])
    increment[1, 8](line[::-1])
    assert line.copy_to_host().tolist() == [2, 1, 3, 2, 2, 1, 2, 1]


# ---- launch configurations

HUGE = 2**40


@pytest.mark.parametrize(
    ("grid", "block", "kind", "words"),
    [
        (0, 1, cuda.CudaAPIError, "griddim x is 0, it may be 1 to 2,147,483,647"),
        (-1, 1, cuda.CudaAPIError, "griddim x is -1"),
        (2**31, 1, cuda.CudaAPIError, "griddim x is 2,147,483,648"),
        ((1, 65536), 1, cuda.CudaAPIError, "griddim y is 65,536, it may be 1 to 65,535"),
        ((1, 1, 0), 1, cuda.CudaAPIError, "griddim z is 0"),
        (1, 0, cuda.CudaAPIError, "blockdim x is 0, it may be 1 to 1,024"),
        (1, -32, cuda.CudaAPIError, "blockdim x is -32"),
        (1, 1025, cuda.CudaAPIError, "blockdim x is 1,025"),
        (1, HUGE, cuda.CudaAPIError, "blockdim x is 1,099,511,627,776"),
        (1, (32, 33), cuda.CudaAPIError, "a block of 1,056 threads; it may have 1,024"),
        (1, (1, 1, 65), cuda.CudaAPIError, "blockdim z is 65, it may be 1 to 64"),
        (1.5, 1, TypeError, r"griddim must be a sequence of integers, got \[1.5\]"),
        (10 / 5, 1, TypeError, r"griddim must be a sequence of integers, got \[2.0\]"),
        (True, 1, TypeError, r"griddim must be a sequence of integers, got \[True\]"),
        ("1", 1, TypeError, r"griddim must be a sequence of integers, got \['1'\]"),
        (1, (1, 2.0), TypeError, "blockdim must be a sequence of integers"),
        (1, np.float32(2), TypeError, "blockdim must be a sequence of integers"),
        (1, [32], TypeError, "blockdim must be an integer or a tuple of integers"),
        (1, np.array([4]), TypeError, "blockdim must be an integer or a tuple of integers"),
        ((1, 1, 1, 1), 1, ValueError, "griddim must be a sequence of 1, 2 or 3 integers"),
        (1, (), ValueError, "blockdim must be a sequence of 1, 2 or 3 integers"),
        (None, 1, ValueError, "Kernel launch configuration was not specified: griddim is None"),
    ],
)
def test_sizes_that_cannot_be_launched(grid, block, kind, words):
    refused(kind, words, lambda: increment[grid, block](ones()))


def test_a_kernel_with_a_signature_is_not_specialized_again():
    made = cuda.jit("void(float32[:])")(increment.py_func)
    refused(RuntimeError, "Dispatcher already specialized", made.specialize, np.ones(4, np.float32))


def test_configurations_that_are_none():
    words = r"^Kernel launch configuration was not specified.*increment\[blockspergrid, threadsperblock\]"
    refused(ValueError, words, increment, ones())
    refused(ValueError, "must specify at least the griddim and blockdim", lambda: increment[1])
    refused(ValueError, "must specify at least the griddim and blockdim", lambda: increment[1, 1, 0, 0, 0])
    for stream in ("s", 7, 1.0, ones()):
        refused(TypeError, "stream is .*cuda.stream", lambda stream=stream: increment[1, 1, stream])
    assert still_works()


@pytest.mark.filterwarnings("ignore:Host array used")
def test_a_launch_in_a_stream_takes_no_host_array():
    """As numba-cuda 0.30.4: tests/rehearsal/test_numba.py holds it against the real one."""
    words, x = r"^NumPy only supports stream=None\.: .*cuda\.to_device\(array, stream\)$", np.ones(4)
    for stream in (cuda.stream(), cuda.legacy_default_stream()):
        for value in (x, cuda.In(x), cuda.Out(x), cuda.InOut(x)):
            refused(RuntimeError, words, increment[1, 4, stream], value)
    refused(RuntimeError, words, lambda: cuda.reduce(lambda a, b: a + b)(x, stream=cuda.stream()))
    for stream in (0, cuda.default_stream()):
        increment[1, 4, stream](x)
    assert x.tolist() == [3] * 4 and still_works()
    increment[1, 4, cuda.stream()](cuda.to_device(x))


def test_numpy_integers_are_sizes(mode):
    x = ones()
    increment[np.int32(2), (np.int64(2),)](x)
    assert x.copy_to_host().tolist() == [2, 2, 2, 2]


@cuda.jit
def much_shared_memory(x):
    s = cuda.shared.array(20_000, float32)
    s[0] = 1
    x[0] = s[0]


@cuda.jit
def some_shared_memory(x):
    s = cuda.shared.array(6_000, float32)
    s[0] = 1
    x[0] = s[0]


def test_too_much_shared_memory(mode):
    words = "80,000 bytes of shared memory a block; 49,152 are there"
    refused(cuda.CudaAPIError, words, much_shared_memory[1, 1], ones())
    refused(cuda.CudaAPIError, "54,000 bytes of shared memory", some_shared_memory[1, 1, 0, 30_000], ones())
    for size in (-1, 49153, HUGE):
        words = f"{size:,} bytes of dynamic shared memory; 0 to 49,152 are there"
        refused(cuda.CudaAPIError, words, lambda size=size: increment[1, 1, 0, size])
    refused(TypeError, "whole number of bytes, got 1.5", lambda: increment[1, 1, 0, 1.5])


def test_forall(mode):
    x = ones(3)
    increment.forall(0)(x)
    assert x.copy_to_host().tolist() == [1, 1, 1]
    increment.forall(3)(x)
    assert x.copy_to_host().tolist() == [2, 2, 2]
    refused(ValueError, "Can't create ForAll with negative task count: -1", increment.forall, -1)
    refused(TypeError, "takes the number of tasks as an integer, got 1.5", increment.forall, 1.5)
    refused(cuda.CudaAPIError, "blockdim x is 2,000", lambda: increment.forall(3, tpb=2000))
    refused(cuda.CudaAPIError, "blockdim x is -1", lambda: increment.forall(3, tpb=-1))


@pytest.mark.parametrize(
    "settings",
    [{"seconds": 0}, {"seconds": -1}, {"seconds": "1"}, {"seconds": math.nan}, {"seed": -1}, {"seed": "a"}],
)
def test_settings(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} is "), cuda.stand_in(**settings):
        pass


def test_no_time_limit(mode):
    with cuda.stand_in(seconds=math.inf):
        assert still_works()


# ---- printing and failing


@cuda.jit
def says(x):
    i = cuda.grid(1)
    if i < 2:
        print("thread", i, x[i])


def test_prints_to_pythons_stdout(mode, capsys):
    says[1, 4](ones())
    assert capsys.readouterr().out == "thread 0 1.0\nthread 1 1.0\n"


class Unlucky(Exception):
    """An exception of the learner's own."""


@cuda.jit
def raises(x):
    i = cuda.grid(1)
    if i == 5:
        raise ValueError("five is unlucky")  # here


@cuda.jit
def raises_its_own(x):
    if cuda.threadIdx.x == 1:
        raise Unlucky("one")  # here


@cuda.jit
def raises_nothing_said(x):
    if cuda.threadIdx.y == 1:
        raise ValueError  # here


@cuda.jit
def asserts(x):
    i = cuda.grid(1)
    assert x[i] < 1, "too big"  # here


@cuda.jit(device=True)
def fails_below(x):
    if x == 1:
        raise ZeroDivisionError("below")  # here


@cuda.jit
def fails_in_a_device_function(x):
    fails_below(x[cuda.threadIdx.x])


@pytest.mark.parametrize(
    ("kernel", "block", "kind", "words", "thread"),
    [
        (raises, 4, ValueError, ": five is unlucky", "1"),
        (raises_its_own, 4, Unlucky, ": one", "1"),
        (raises_nothing_said, (2, 2), ValueError, "", r"\(0, 1\)"),
        (asserts, 4, AssertionError, ": too big", "0"),
        (fails_in_a_device_function, 4, ZeroDivisionError, ": below", "0"),
    ],
)
def test_exception_in_a_kernel(kernel, block, kind, words, thread, mode):
    place = here(fails_below if kernel is fails_in_a_device_function else kernel)
    number = "1" if kernel is raises else "0"
    line = rf"^{kernel.__name__}\(\), {place}{words}, in thread {thread} of block {number}$"
    refused(kind, line, kernel[2, block], ones(16))
    assert still_works()


@cuda.jit
def prints_and_fails_once(x):
    print("once")
    while x[0] == 0:  # with what the kernel left, this would never end
        pass
    x[0] = 0
    x[100] = 1


def test_looking_for_the_line_is_not_seen(capsys):
    words = rf"^prints_and_fails_once\(\): .*out of bounds, {of_block_0(0)}$"
    refused(IndexError, words, prints_and_fails_once[1, 1], ones())
    assert capsys.readouterr().out == "once\n"


@cuda.jit
def writes_at(x, first):
    i = cuda.grid(1)
    x[i + first] = 7  # here


@cuda.jit
def adds_at(x, first):
    cuda.atomic.add(x, first, 1)  # here


@cuda.jit
def shared_too_small(x, first):
    s = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    s[t] = 1
    cuda.syncthreads()
    x[t] = s[t + first]  # here


@cuda.jit
def local_too_small(x, first):
    mine = cuda.local.array(4, int32)
    mine[first] = 1  # here
    x[0] = mine[0]


@pytest.mark.parametrize(
    ("kernel", "first", "thread"),
    [
        (writes_at, 6, 2),
        (writes_at, 10**6, 0),
        (writes_at, -(10**6), 0),
        (adds_at, 8, 0),
        (adds_at, -9, 0),
        (shared_too_small, 2, 2),
        (local_too_small, 4, 0),
    ],
)
def test_index_out_of_bounds(kernel, first, thread, mode):
    memory = cuda.to_device(np.zeros(24, np.float32))
    size = 8 if kernel in (writes_at, adds_at) else 4
    index = first + (thread if kernel in (writes_at, shared_too_small) else 0)
    words = (
        rf"^{kernel.__name__}\(\), {here(kernel)}: index {index} is out of bounds for axis 0 with size {size}, "
        rf"{of_block_0(thread)}$"
    )
    refused(IndexError, words, kernel[1, 4], memory[8:16], first)
    around = memory.copy_to_host()
    assert not around[:8].any() and not around[16:].any()
    assert still_works()


# ---- what never ends


@cuda.jit
def forever(x):
    while True:
        x[0] += 1


@cuda.jit
def waits_for_a_flag(x):
    while x[0] == 1:
        pass


@cuda.jit
def counts_long(x):
    for i in range(10**15):
        x[0] += i


@cuda.jit
def counts_long_in_short_loops(x):
    for _ in range(4000):
        for _ in range(4000):
            for _ in range(4000):
                x[0] += 1


@cuda.jit
def forever_at_a_barrier(x):
    while True:
        cuda.syncthreads()
        x[cuda.threadIdx.x] += 1


@cuda.jit(device=True)
def spins(x):
    while x[0] > 0:
        x[0] += 1


@cuda.jit
def forever_in_a_device_function(x):
    spins(x)


ENDLESS = [
    *(forever, waits_for_a_flag, counts_long, counts_long_in_short_loops),
    *(forever_at_a_barrier, forever_in_a_device_function),
]


@pytest.mark.parametrize("kernel", ENDLESS, ids=lambda kernel: kernel.__name__)
def test_endless_kernel_is_stopped(kernel, mode):
    """The time is that of the launch: compiling, on the first one, does not count."""
    words = rf"^{kernel.__name__}\(\) was stopped after 0.3 s, {of_block_0()}: .*h2d.stand_in\(seconds=…\)"
    with cuda.stand_in(seconds=0.3):
        refused(KernelStopped, words, kernel[1, 4], ones())
        began = time.monotonic()
        refused(KernelStopped, words, kernel[1, 4], ones())
        assert 0.25 < time.monotonic() - began < 1.5
    assert still_works()


CTRL_C = """
import os, signal, sys, threading, time
from host_to_device.standins import imports
imports.redirect()
import numpy as np
from numba import cuda

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins by ignoring it

@cuda.jit
def forever(x, n):
    while n > 0:
        x[0] += 1

x = cuda.to_device(np.ones(4))
for interpreted in (False, True):
    with cuda.stand_in(interpreted=interpreted):
        forever[1, 1](x, 0)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            forever[1, 4](x, 1)
        except KeyboardInterrupt:
            assert 0.4 < time.monotonic() - began < 1.5, time.monotonic() - began
        forever[1, 4](x, 0)
        print("went on")
"""


def script(tmp_path, text: str, **environment: str) -> str:
    """Run a script in a process of its own; return what it printed."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill(SIGINT) is not Ctrl-C there")
def test_ctrl_c_stops_a_launch_at_once(tmp_path):
    assert script(tmp_path, CTRL_C).split("\n") == ["went on", "went on", ""]


# ---- threads, processes, copies


def test_launches_from_threads(mode):
    results, failures = {}, []

    def work(number: int) -> None:
        try:
            x = ones(1000)
            for _ in range(3):
                increment[8, 128](x)
            results[number] = x.copy_to_host().sum()
        except Exception as problem:
            failures.append(problem)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    assert results == dict.fromkeys(range(4), 4000)


def test_endless_kernel_in_a_second_thread_is_stopped(mode):
    found = []

    def work() -> None:
        try:
            forever[1, 1](ones())
        except KernelStopped as problem:
            found.append(problem)

    with cuda.stand_in(seconds=0.3):
        worker = threading.Thread(target=work)
        worker.start()
        worker.join(10)
    assert len(found) == 1


FORK = """
import multiprocessing, warnings
from host_to_device.standins import imports
imports.redirect()
import numpy as np
from numba import cuda
warnings.simplefilter("ignore")

@cuda.jit
def increment(x):
    x[cuda.grid(1)] += 1

def launch(_):
    x = np.zeros(4)
    increment[1, 4](x)
    return x.tolist()

launch(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map_async(launch, range(2)).get(30))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_launch_in_a_forked_process(tmp_path):
    assert script(tmp_path, FORK) == "[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]\n"


def test_kernels_are_pickled_and_copied():
    assert pickle.loads(pickle.dumps(increment)) is increment
    assert copy.deepcopy({"kernel": increment})["kernel"] is increment
    assert copy.copy(increment) is increment

    @cuda.jit
    def inner(x):
        x[0] = 1

    assert pickle.loads(pickle.dumps(inner)) is inner, "by value, as Numba pickles it"


# ---- notebooks: kernels made anew, closures, globals


def cell(text: str, space: dict, name: str = "<cell>") -> dict:
    """Run text as a notebook's cell: its source can be found."""
    text = textwrap.dedent(text)
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    exec(compile(text, name, "exec"), space)
    return space


def first_element(kernel) -> float:
    x = ones()
    kernel[1, 1](x)
    return x.copy_to_host()[0]


def test_kernel_made_anew(mode):
    space = cell("from numba import cuda\n@cuda.jit\ndef k(x):\n    x[0] = 2\n", {}, "<cell 1>")
    assert first_element(space["k"]) == 2
    cell("@cuda.jit\ndef k(x):\n    x[0] = 3\n", space, "<cell 2>")
    assert first_element(space["k"]) == 3
    cell("@cuda.jit\ndef k(x):\n    x[0] = y\n", space, "<cell 3>")
    refused(
        TypingError,
        r"^k\(\), this cell, line 3: NameError: name 'y' is not defined",
        space["k"][1, 1],
        ones(),
    )
    space["y"] = 4
    assert first_element(space["k"]) == 4


def test_globals_are_frozen_at_the_first_launch(mode):
    text = "from numba import cuda\nN = 5\n@cuda.jit\ndef k(x):\n    x[0] = N\n"
    space = cell(text, {}, "<cell 4>")
    assert first_element(space["k"]) == 5
    space["N"] = 6
    assert first_element(space["k"]) == 5


def factory(value):
    @cuda.jit
    def kernel(x):
        x[0] = value

    def change(other):
        nonlocal value
        value = other

    return kernel, change


def test_closures_are_frozen_at_the_first_launch(mode):
    (one, change_one), (two, _) = factory(1), factory(2.5)
    change_one(10)
    assert (first_element(one), first_element(two)) == (10, 2.5)
    change_one(20)
    assert first_element(one) == 10


@cuda.jit
def calls_what_comes_later(x):
    x[0] = comes_later(x[0]) + comes_later(x[0], 1)


DEFAULT = 5


@cuda.jit(device=True)
def comes_later(x, by=DEFAULT):
    return x * by


@cuda.jit(device=True)
def waits(x, by=DEFAULT):
    cuda.syncthreads()
    return x * by


@cuda.jit
def waits_in_a_device_function(x):
    y = waits(x[0]) + waits(x[0], by=1)
    x[0] = y


def test_device_functions_are_found_late_and_have_defaults(mode):
    assert first_element(calls_what_comes_later) == 6
    assert first_element(waits_in_a_device_function) == 6


def test_device_function_of_the_host():
    refused(TypeError, r"^comes_later\(\) is a device function: only kernels can call it", comes_later, 1)
    refused(
        RuntimeError,
        r"^Cannot compile a device function as a kernel: comes_later\(\)",
        lambda: comes_later[1, 1],
    )


def test_names_of_kernels_on_the_host():
    refused(NotImplementedError, r"cuda.grid\(\) cannot be called from host code", cuda.grid, 1)
    refused(NotImplementedError, "cuda.syncthreads", cuda.syncthreads)
    refused(NotImplementedError, "cuda.shared.array", cuda.shared.array, 3, float32)
    refused(AttributeError, "cuda.threadIdx has no 'w'", lambda: cuda.threadIdx.w)
    refused(AttributeError, "cuda.frobnicate is not in host_to_device's stand-in", lambda: cuda.frobnicate)
    refused(AttributeError, "cuda.profile_start is not in .*profilers", lambda: cuda.profile_start)
    with pytest.raises(ImportError, match="frobnicate"):
        from numba.cuda import frobnicate  # noqa: F401


# ---- what cannot be compiled, and threads that disagree


@cuda.jit
def waits_in_a_for_header(x):
    for i in range(cuda.syncthreads_count(1)):
        x[i] += 1


@cuda.jit
def some_wait(x):
    i = cuda.threadIdx.x
    if i < 2:
        cuda.syncthreads()
    x[i] = 2


@cuda.jit
def some_leave_early(x):
    i = cuda.threadIdx.x
    if i >= 2:
        return
    x[i] = 5
    cuda.syncthreads()
    x[2 + i] = x[1 - i]


def launched(kernel) -> tuple[list[float], list[str]]:
    """Launch twice; return the result of the second launch and all warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            x = ones()
            kernel[1, 4](x)
    return x.copy_to_host().tolist(), [str(each.message) for each in said]


def test_what_cannot_be_cut_runs_interpreted_and_says_so_once():
    result, said = launched(waits_in_a_for_header)
    assert result == [5, 5, 5, 5]
    words = "waits_in_a_for_header() runs interpreted, which is slow, because threads wait in the header"
    assert len(said) == 1 and said[0].startswith(words), said


def test_threads_that_disagree_at_a_barrier_run_interpreted_and_say_so_once():
    result, said = launched(some_wait)
    assert result == [2, 2, 2, 2]
    assert len(said) == 1, said
    assert said[0].startswith("some_wait() runs interpreted, which is slow, because some threads"), said


def test_threads_may_leave_before_a_barrier(mode):
    assert launched(some_leave_early) == ([5, 5, 5, 5], [])


# ---- the cache on disk

KERNEL = """
from numba import cuda

@cuda.jit
def twice(x):
    x[cuda.grid(1)] *= 2
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own, and a kernel in a file, for `fresh`."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (tmp_path / "kernels.py").write_text(KERNEL)
    monkeypatch.setattr(compiling, "cache_folder", lambda: folder)
    return folder


def run_fresh(cache) -> list[float]:
    """Launch the kernel as a new process would: nothing of it has been compiled here."""
    spec = importlib.util.spec_from_file_location("kernels", cache.parent / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = ones()
    module.twice[1, 4](x)
    return x.copy_to_host().tolist()


DAMAGE = {
    "*.py": [b"", b"def launch(", b"\xff\xfe", b"launch = None\n"],
    "__pycache__/*.nbi": [b"", b"no index", b"\x80\x04"],
    "__pycache__/*.nbc": [b"", b"no code"],
}


@pytest.mark.parametrize(
    ("files", "damages"),
    [
        pytest.param(files, damages, marks=marks, id=f"{files} {kinds}")
        for files, every in DAMAGE.items()
        for kinds, damages, marks in (("empty", every[:1], ()), ("not read", every[1:], pytest.mark.slow))
    ],
)
def test_damaged_cache_is_made_anew(cache, files, damages):
    assert run_fresh(cache) == [2, 2, 2, 2]
    for damage in damages:
        damaged = list(cache.glob(files))
        assert damaged
        for path in damaged:
            path.write_bytes(damage)
        assert run_fresh(cache) == [2, 2, 2, 2]
        assert run_fresh(cache) == [2, 2, 2, 2]
        assert not [path for path in cache.glob(files) if path.read_bytes() == damage]


def test_cache_folder_that_is_gone(cache):
    cache.rmdir()
    assert run_fresh(cache) == [2, 2, 2, 2]


@pytest.mark.parametrize("below", ["", "below"])
def test_cache_folder_that_cannot_be_made(cache, below, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.undo()  # of the folder that the fixture gave
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / below))
    compiling.cache_folder.cache_clear()
    try:
        assert compiling.cache_folder() is None
        assert run_fresh(cache) == [2, 2, 2, 2]
    finally:
        monkeypatch.undo()
        compiling.cache_folder.cache_clear()


@pytest.mark.slow
def test_two_processes_compile_at_once(tmp_path):
    path = tmp_path / "kernels.py"
    launch = "import numpy as np\nfor kind in ('f4', 'f8'):\n    x = cuda.to_device(np.ones(4, kind))\n    twice[1, 4](x)\n"
    start = "from host_to_device.standins import imports\nimports.redirect()\n"
    path.write_text(start + KERNEL + launch + "    print(x.copy_to_host().tolist())\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):  # with an empty cache, and with what the two have left
        running = [
            subprocess.Popen(
                [sys.executable, path],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for _ in range(2)
        ]
        for process in running:
            output, problems = process.communicate(timeout=60)
            assert (output, problems) == ("[2.0, 2.0, 2.0, 2.0]\n" * 2, "")


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12, as a browser has it")
def test_in_a_browser_each_turn_of_a_loop_looks_at_the_clock():
    def for_ever():
        while True:
            pass

    with launching.loop_limit(30), pytest.raises(KernelStopped), launching.loop_limit(0.1):
        for_ever()
    with pytest.raises(KernelStopped), launching.loop_limit(0.1):
        [None for _ in iter(int, 1)]
    with launching.loop_limit(30):
        assert sum(range(1000)) == sum(k for k in range(1000))
    assert sys.monitoring.get_tool(4) is None
