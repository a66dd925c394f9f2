"""Kernels that look plausible and that Numba refuses, with its own words.

The words are those of numba-cuda 0.30.4 with Numba 0.68.1; `python -m tests.commands.kernels.compile_for_gpu --refused`
compares them with what the compiler says. Long messages are represented by their telling line.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refused:
    name: str
    arguments: str  # the types of the kernel's arguments
    source: str  # knows math, np, numba, cuda, float32 and int32
    error: str  # the name of the exception's class
    words: str  # in its message


@dataclass(frozen=True)
class RefusedLaunch:
    name: str
    launch: str  # of `kernel(x, n)`, with an array `x` of four float32
    error: str
    words: str


REFUSED = [
    Refused(
        name="a field that is not aligned",
        arguments="Array(Record([('a', {'type': int32, 'offset': 0}), ('b', {'type': float64, 'offset': 4})], 12, False), 1, 'C')",
        source="""
@cuda.jit
def kernel(x):
    x[0].b = x[1].a
""",
        error="NumbaTypeError",
        words=".b of type float64 is not aligned",
    ),
    Refused(
        name="shape of a shared array: an expression",
        arguments="float32[::1]",
        source="""
TILE = 16
@cuda.jit
def kernel(x):
    tile = cuda.shared.array((TILE, TILE + 1), float32)
    tile[0, 0] = x[0]
""",
        error="TypingError",
        words=">>> array(Tuple(Literal[int](16), int64), class(float32))",
    ),
    Refused(
        name="shape of a shared array: a product",
        arguments="float32[::1]",
        source="""
TILE = 16
@cuda.jit
def kernel(x):
    tile = cuda.shared.array(TILE * 2, float32)
    tile[0] = x[0]
""",
        error="TypingError",
        words=">>> array(int64, class(float32))",
    ),
    Refused(
        name="shape of a shared array: an argument",
        arguments="float32[::1], int64",
        source="""
@cuda.jit
def kernel(x, n):
    tile = cuda.shared.array(n, float32)
    tile[0] = x[0]
""",
        error="TypingError",
        words=">>> array(int64, class(float32))",
    ),
    Refused(
        name="shape of a shared array: blockDim",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    tile = cuda.shared.array(cuda.blockDim.x, float32)
    tile[0] = x[0]
""",
        error="TypingError",
        words=">>> array(int32, class(float32))",
    ),
    Refused(
        name="shape of a shared array: the size of another",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    tile = cuda.shared.array(x.size, float32)
    tile[0] = x[0]
""",
        error="TypingError",
        words=">>> array(int64, class(float32))",
    ),
    Refused(
        name="shape of a shared array: a length",
        arguments="float32[::1]",
        source="""
W = (1, 2, 3)
@cuda.jit
def kernel(x):
    s = cuda.shared.array(len(W), float32)
    s[0] = x[0]
""",
        error="TypingError",
        words=">>> array(int64, class(float32))",
    ),
    Refused(
        name="shape of a shared array: a list",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    tile = cuda.shared.array([16, 16], float32)
    tile[0, 0] = x[0]
""",
        error="TypingError",
        words=">>> array(list(int64)<iv=[16, 16]>, class(float32))",
    ),
    Refused(
        name="shape of a shared array: a float",
        arguments="float32[::1]",
        source="""
N = 16.0
@cuda.jit
def kernel(x):
    s = cuda.shared.array(N, float32)
    s[0] = x[0]
""",
        error="TypingError",
        words=">>> array(float64, class(float32))",
    ),
    Refused(
        name="shape of a shared array: a NumPy number",
        arguments="float32[::1]",
        source="""
N = np.int32(16)
@cuda.jit
def kernel(x):
    s = cuda.shared.array(N, float32)
    s[0] = x[0]
""",
        error="TypingError",
        words=">>> array(int32, class(float32))",
    ),
    Refused(
        name="type of a shared array: Python's float",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    tile = cuda.shared.array(16, float)
    tile[0] = x[0]
""",
        error="TypingError",
        words=">>> array(Literal[int](16), Function(<class 'float'>))",
    ),
    Refused(
        name="type of a shared array: forgotten",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    tile = cuda.shared.array(16)
    tile[0] = x[0]
""",
        error="TypingError",
        words="TypingError: missing a required argument: 'dtype'",
    ),
    Refused(
        name="shape of a local array: an argument",
        arguments="float32[::1], int64",
        source="""
@cuda.jit
def kernel(x, n):
    values = cuda.local.array(n, float32)
    values[0] = x[0]
""",
        error="TypingError",
        words=">>> array(int64, class(float32))",
    ),
    Refused(
        name="list",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    values = [1.0, 2.0, 3.0]
    x[0] = values[1]
""",
        error="NumbaRuntimeError",
        words="NRT required but not enabled",
    ),
    Refused(
        name="list that grows",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    values = []
    values.append(x[0])
    x[0] = values[0]
""",
        error="TypingError",
        words="Unknown attribute 'append' of type list(undefined)<iv=None>",
    ),
    Refused(
        name="list comprehension",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    values = [2 * i for i in range(4)]
    x[0] = values[1]
""",
        error="TypingError",
        words="Unknown attribute 'append' of type list(undefined)<iv=None>",
    ),
    Refused(
        name="dict that grows",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    counts = {}
    counts[0] = x[0]
""",
        error="TypingError",
        words=">>> setitem(DictType[undefined,undefined]<iv={}>, Literal[int](0), float32)",
    ),
    Refused(
        name="dict",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    counts = {0: 1.0}
    x[0] = counts[0]
""",
        error="TypingError",
        words=">>> getitem(DictType[int64,float64]<iv=None>, Literal[int](0))",
    ),
    Refused(
        name="set",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    seen = {1, 2}
    if 1 in seen:
        x[0] = 1
""",
        error="AttributeError",
        words="'CUDATargetContext' object has no attribute 'build_set'",
    ),
    Refused(
        name="np.zeros",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    values = np.zeros(4, np.float32)
    x[0] = values[0]
""",
        error="TypingError",
        words=">>> zeros(Literal[int](4), class(float32))",
    ),
    Refused(
        name="np.empty",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    a = np.empty(3)
    x[0] = a[0]
""",
        error="TypingError",
        words=">>> empty(Literal[int](3))",
    ),
    Refused(
        name="np.array",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    a = np.array([1.0, 2.0])
    x[0] = a[0]
""",
        error="TypingError",
        words=">>> array(list(float64)<iv=None>)",
    ),
    Refused(
        name="np.arange",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    for i in np.arange(4):
        x[i] = 1
""",
        error="TypingError",
        words=">>> arange(Literal[int](4))",
    ),
    Refused(
        name="np.sqrt",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = np.sqrt(x[0])
""",
        error="KeyError",
        words="<ufunc 'sqrt'>",
    ),
    Refused(
        name="np.exp",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = np.exp(x[0])
""",
        error="KeyError",
        words="<ufunc 'exp'>",
    ),
    Refused(
        name="whole arrays: sum",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[:] = x + 1
""",
        error="TypingError",
        words="NRT required but not enabled",
    ),
    Refused(
        name="whole arrays: a new one",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    y = x * 2
    x[0] = y[0]
""",
        error="TypingError",
        words="NRT required but not enabled",
    ),
    Refused(
        name="whole arrays: a mask",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[x > 0] = 0
""",
        error="TypingError",
        words="NRT required but not enabled",
    ),
    Refused(
        name="whole arrays: one row into another",
        arguments="float32[:, ::1]",
        source="""
@cuda.jit
def kernel(a):
    a[0] = a[1]
""",
        error="NumbaRuntimeError",
        words="NRT required but not enabled",
    ),
    Refused(
        name="whole arrays: rows that swap",
        arguments="float32[:, ::1]",
        source="""
@cuda.jit
def kernel(a):
    a[0], a[1] = a[1], a[0]
""",
        error="NumbaRuntimeError",
        words="NRT required but not enabled",
    ),
    Refused(
        name="copy of an array",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    y = x.copy()
    x[0] = y[1]
""",
        error="TypingError",
        words="NRT required but not enabled",
    ),
    Refused(
        name="sorted",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    y = sorted(x)
    x[0] = y[0]
""",
        error="TypingError",
        words=">>> sorted(array(float32, 1d, C))",
    ),
    Refused(
        name="any",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    if any(x):
        x[0] = 1
""",
        error="TypingError",
        words="Untyped global name 'any': Cannot determine Numba type of <class 'builtin_function_or_method'>",
    ),
    Refused(
        name="reversed",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    for i in reversed(range(4)):
        x[i] = i
""",
        error="TypingError",
        words="Untyped global name 'reversed': Cannot determine Numba type of <class 'type'>",
    ),
    Refused(
        name="generator expression",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = sum(x[i] for i in range(3))
""",
        error="UnsupportedError",
        words="The use of yield in a closure is unsupported.",
    ),
    Refused(
        name="np.random",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = np.random.rand()
""",
        error="TypingError",
        words="Unknown attribute 'rand' of type Module(<module 'numpy.random'",
    ),
    Refused(
        name="random",
        arguments="float32[::1]",
        source="""
import random
@cuda.jit
def kernel(x):
    x[0] = random.random()
""",
        error="TypingError",
        words="Unknown attribute 'random' of type Module(<module 'random'",
    ),
    Refused(
        name="time",
        arguments="float32[::1]",
        source="""
import time
@cuda.jit
def kernel(x):
    x[0] = time.time()
""",
        error="TypingError",
        words="Unknown attribute 'time' of type Module(<module 'time' (built-in)>)",
    ),
    Refused(
        name="a function that math has and Numba has not",
        arguments="int32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = math.factorial(x[0])
""",
        error="TypingError",
        words="Unknown attribute 'factorial' of type Module(<module 'math'",
    ),
    Refused(
        name="print with an f-string",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    print(f"thread {i}")
""",
        error="TypingError",
        words=">>> str(int64)",
    ),
    Refused(
        name="print with %",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    print("thread %d" % i)
""",
        error="TypingError",
        words=">>> mod(Literal[str](thread %d), int64)",
    ),
    Refused(
        name="print with format",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    print("thread {}".format(i))
""",
        error="TypingError",
        words="Unknown attribute 'format' of type Literal[str](thread {})",
    ),
    Refused(
        name="print of an array",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    print(x)
""",
        error="NotImplementedError",
        words="printing unimplemented for values of type array(float32, 1d, C)",
    ),
    Refused(
        name="print with end",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    print(x[0], end=" ")
""",
        error="UnsupportedError",
        words="Numba's print() function implementation does not support keyword arguments.",
    ),
    Refused(
        name="try and except",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    try:
        x[0] = 1 / x[1]
    except ZeroDivisionError:
        x[0] = 0
""",
        error="TypingError",
        words="UnsupportedError: Exception matching is limited to <class 'Exception'>",
    ),
    Refused(
        name="try and bare except",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    try:
        x[0] = 1 / x[1]
    except:
        x[0] = 0
""",
        error="AttributeError",
        words="'CUDACallConv' object has no attribute 'set_try_status'",
    ),
    Refused(
        name="with",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    with open("log.txt") as log:
        x[0] = 1
""",
        error="UnsupportedBytecodeError",
        words="The 'with (context manager) as (variable):' construct is not supported.",
    ),
    Refused(
        name="import",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    import math
    x[0] = math.sqrt(x[0])
""",
        error="UnsupportedBytecodeError",
        words="Use of unsupported opcode (IMPORT_NAME) found.",
    ),
    Refused(
        name="global variable that changes",
        arguments="float32[::1]",
        source="""
counter = 0
@cuda.jit
def kernel(x):
    global counter
    counter += 1
    x[0] = counter
""",
        error="UnsupportedBytecodeError",
        words="Use of unsupported opcode (STORE_GLOBAL) found.",
    ),
    Refused(
        name="class",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    class Point:
        pass
    x[0] = 1
""",
        error="UnsupportedBytecodeError",
        words="Use of unsupported opcode (LOAD_BUILD_CLASS) found.",
    ),
    Refused(
        name="starred unpacking",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    a, *b = (1, 2, 3)
    x[0] = a
""",
        error="UnsupportedBytecodeError",
        words="Use of unsupported opcode (UNPACK_EX) found.",
    ),
    Refused(
        name="yield",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    for i in range(3):
        yield x[i]
""",
        error="AttributeError",
        words="'NoneType' object has no attribute 'get_function_type'",
    ),
    Refused(
        name="del",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    x[i] = 1
    del i
""",
        error="CompilerError",
        words="Illegal IR, del found at: del i",
    ),
    Refused(
        name="return of a value",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    return x[0] + 1
""",
        error="TypingError",
        words="No conversion from float64 to none for '$24return_value.5'",
    ),
    Refused(
        name="object of a class",
        arguments="float32[::1]",
        source="""
class Point:
    def __init__(self, a):
        self.a = a
@cuda.jit
def kernel(x):
    p = Point(x[0])
    x[1] = p.a
""",
        error="TypingError",
        words="Untyped global name 'Point': Cannot determine Numba type of <class 'type'>",
    ),
    Refused(
        name="undecorated function",
        arguments="float32[::1]",
        source="""
def helper(v):
    return v * 2
@cuda.jit
def kernel(x):
    x[0] = helper(x[0])
""",
        error="TypingError",
        words="Untyped global name 'helper': Cannot determine Numba type of <class 'function'>",
    ),
    Refused(
        name="launch of a kernel in a kernel",
        arguments="float32[::1]",
        source="""
@cuda.jit
def other(x):
    x[0] = 1
@cuda.jit
def kernel(x):
    other[1, 1](x)
""",
        error="TypingError",
        words=">>> getitem(type(CUDADispatcher(<function other at",
    ),
    Refused(
        name="too few arguments of a device function",
        arguments="float32[::1]",
        source="""
@cuda.jit(device=True)
def add(a, b):
    return a + b
@cuda.jit
def kernel(x):
    x[0] = add(x[0])
""",
        error="TypingError",
        words="due to \"TypeError: missing a required argument: 'b'\"",
    ),
    Refused(
        name="recursion",
        arguments="float32[::1]",
        source="""
@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)
@cuda.jit
def kernel(x):
    x[0] = factorial(5)
""",
        error="AttributeError",
        words="'JITCUDACodegen' object has no attribute 'insert_unresolved_ref'",
    ),
    Refused(
        name="syncthreads_count of a bool",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    n = cuda.syncthreads_count(x[0] > 0)
    x[0] = n
""",
        error="TypingError",
        words=">>> syncthreads_count(bool)",
    ),
    Refused(
        name="syncthreads_and of a bool",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    n = cuda.syncthreads_and(x[0] > 0)
    x[0] = n
""",
        error="TypingError",
        words=">>> syncthreads_and(bool)",
    ),
    Refused(
        name="syncthreads_or of a float",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    n = cuda.syncthreads_or(x[0])
    x[0] = n
""",
        error="TypingError",
        words=">>> syncthreads_or(float32)",
    ),
    Refused(
        name="syncthreads with an argument",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    cuda.syncthreads(1)
    x[0] = 1
""",
        error="TypeError",
        words="syncthreads() takes 1 positional argument but 2 were given",
    ),
    Refused(
        name="atomic.add on int8",
        arguments="int8[::1]",
        source="""
@cuda.jit
def kernel(counts):
    cuda.atomic.add(counts, 0, 1)
""",
        error="TypingError",
        words=">>> add(array(int8, 1d, C), Literal[int](0), Literal[int](1))",
    ),
    Refused(
        name="atomic.add on uint8",
        arguments="uint8[::1]",
        source="""
@cuda.jit
def kernel(counts):
    cuda.atomic.add(counts, 0, 1)
""",
        error="TypingError",
        words=">>> add(array(uint8, 1d, C), Literal[int](0), Literal[int](1))",
    ),
    Refused(
        name="atomic.add on bool",
        arguments="boolean[::1]",
        source="""
@cuda.jit
def kernel(counts):
    cuda.atomic.add(counts, 0, 1)
""",
        error="TypingError",
        words=">>> add(array(bool, 1d, C), Literal[int](0), Literal[int](1))",
    ),
    Refused(
        name="atomic.add on complex64",
        arguments="complex64[::1]",
        source="""
@cuda.jit
def kernel(counts):
    cuda.atomic.add(counts, 0, 1)
""",
        error="TypingError",
        words=">>> add(array(complex64, 1d, C), Literal[int](0), Literal[int](1))",
    ),
    Refused(
        name="atomic.and_ on float32",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    cuda.atomic.and_(x, 0, 1)
""",
        error="TypingError",
        words=">>> and_(array(float32, 1d, C), Literal[int](0), Literal[int](1))",
    ),
    Refused(
        name="atomic.inc on int32",
        arguments="int32[::1]",
        source="""
@cuda.jit
def kernel(counts):
    cuda.atomic.inc(counts, 0, 7)
""",
        error="TypingError",
        words=">>> inc(array(int32, 1d, C), Literal[int](0), Literal[int](7))",
    ),
    Refused(
        name="atomic.exch on float32",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    cuda.atomic.exch(x, 0, x[1])
""",
        error="TypingError",
        words=">>> exch(array(float32, 1d, C), Literal[int](0), float32)",
    ),
    Refused(
        name="atomic.cas on float32",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    cuda.atomic.cas(x, 0, x[1], x[2])
""",
        error="TypingError",
        words=">>> cas(array(float32, 1d, C), Literal[int](0), float32, float32)",
    ),
    Refused(
        name="atomic.add without an index",
        arguments="int32[::1]",
        source="""
@cuda.jit
def kernel(counts):
    cuda.atomic.add(counts, 1)
""",
        error="ValueError",
        words="not enough values to unpack (expected 3, got 2)",
    ),
    Refused(
        name="atomic.add on a matrix with one index",
        arguments="float32[:, ::1]",
        source="""
@cuda.jit
def kernel(a):
    cuda.atomic.add(a, 0, 1)
""",
        error="TypeError",
        words="indexing 2-D array with 1-D index",
    ),
    Refused(
        name="atomic.mul",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    cuda.atomic.mul(x, 0, 2)
""",
        error="AttributeError",
        words="type object 'atomic' has no attribute 'mul'",
    ),
    Refused(
        name="index: a float",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    x[i / 2] = 1
""",
        error="TypingError",
        words="NumbaTypeError: Unsupported array index type float64 in [float64]",
    ),
    Refused(
        name="index: too many",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i, j = cuda.grid(2)
    x[i, j] = 1
""",
        error="TypingError",
        words="NumbaTypeError: cannot index array(float32, 1d, C) with 2 indices: UniTuple(int64 x 2)",
    ),
    Refused(
        name="index: a list",
        arguments="float32[:, ::1]",
        source="""
@cuda.jit
def kernel(a):
    i, j = cuda.grid(2)
    a[[i, j]] = 1
""",
        error="TypingError",
        words="NumbaTypeError: Unsupported array index type list(int64)<iv=None> in [List(int64, False)]",
    ),
    Refused(
        name="index: threadIdx without x",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[cuda.threadIdx] = 1
""",
        error="TypingError",
        words="NumbaTypeError: Unsupported array index type Dim3 in [Dim3]",
    ),
    Refused(
        name="threadIdx[0]",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[cuda.threadIdx[0]] = 1
""",
        error="TypingError",
        words=">>> getitem(Dim3, Literal[int](0))",
    ),
    Refused(
        name="threadIdx.w",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[cuda.threadIdx.w] = 1
""",
        error="TypingError",
        words="Unknown attribute 'w' of type Dim3",
    ),
    Refused(
        name="two names for cuda.grid(1)",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i, j = cuda.grid(1)
    x[i] = j
""",
        error="TypingError",
        words="failed to unpack int64",
    ),
    Refused(
        name="one name for cuda.grid(2)",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid(2)
    if i < x.size:
        x[i] = 1
""",
        error="TypingError",
        words=">>> lt(UniTuple(int64 x 2), int64)",
    ),
    Refused(
        name="cuda.grid(4)",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid(4)
    x[0] = 1
""",
        error="ValueError",
        words="argument can only be 1, 2, 3",
    ),
    Refused(
        name="cuda.grid()",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    i = cuda.grid()
    x[i] = 1
""",
        error="TypeError",
        words="grid() missing 1 required positional argument: 'ndim'",
    ),
    Refused(
        name="cuda.grid of a variable",
        arguments="float32[::1], int64",
        source="""
@cuda.jit
def kernel(x, n):
    i = cuda.grid(n)
    x[0] = 1
""",
        error="TypingError",
        words="RequireLiteralValue: int64",
    ),
    Refused(
        name="misspelt barrier",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    cuda.syncThreads()
""",
        error="AttributeError",
        words="module 'numba.cuda' has no attribute 'syncThreads'",
    ),
    Refused(
        name="name that is not there",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = factor * x[0]
""",
        error="TypingError",
        words="NameError: name 'factor' is not defined",
    ),
    Refused(
        name="None as a number",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    best = None
    for i in range(x.size):
        if best is None or x[i] > best:
            best = x[i]
    x[0] = best
""",
        error="TypingError",
        words=">>> gt(float32, none)",
    ),
    Refused(
        name="tuples of two lengths for one name",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    t = (1, 2)
    if x[0] > 0:
        t = (1, 2, 3)
    x[1] = t[0]
""",
        error="TypingError",
        words="Cannot unify Tuple(Literal[int](1), Literal[int](2)) and",
    ),
    Refused(
        name="mixed tuple with a variable index",
        arguments="float32[::1], int64",
        source="""
@cuda.jit
def kernel(x, n):
    t = (1, 2.5)
    x[0] = t[n]
""",
        error="TypingError",
        words=">>> getitem(Tuple(Literal[int](1), float64), int64)",
    ),
    Refused(
        name="tuple that changes",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    t = (1, 2)
    t[0] = 5
""",
        error="TypingError",
        words=">>> setitem(Tuple(Literal[int](1), Literal[int](2)), Literal[int](0), Literal[int](5))",
    ),
    Refused(
        name="global array that changes",
        arguments="float32[::1]",
        source="""
TABLE = np.arange(4, dtype=np.float32)
@cuda.jit
def kernel(x):
    TABLE[0] = x[0]
""",
        error="TypingError",
        words="NumbaTypeError: Cannot modify readonly array of type: readonly array(float32, 1d, C)",
    ),
    Refused(
        name="constant memory that changes",
        arguments="float32[::1]",
        source="""
TABLE = np.arange(4, dtype=np.float32)
@cuda.jit
def kernel(x):
    t = cuda.const.array_like(TABLE)
    t[0] = x[0]
""",
        error="TypingError",
        words="NumbaTypeError: Cannot modify readonly array of type: readonly array(float32, 1d, C)",
    ),
    Refused(
        name="global list",
        arguments="float32[::1]",
        source="""
WEIGHTS = [1.0, 2.0]
@cuda.jit
def kernel(x):
    x[0] = WEIGHTS[1]
""",
        error="NumbaNotImplementedError",
        words="(List(float64, True),)",
    ),
    Refused(
        name="global dict",
        arguments="float32[::1]",
        source="""
SETTINGS = {"rate": 0.1}
@cuda.jit
def kernel(x):
    x[0] = SETTINGS["rate"]
""",
        error="TypingError",
        words="Untyped global name 'SETTINGS': Cannot determine Numba type of <class 'dict'>",
    ),
    Refused(
        name="cuda.device_array in a kernel",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    y = cuda.device_array(4)
    x[0] = y[0]
""",
        error="TypingError",
        words="Unknown attribute 'device_array' of type Module(<module 'numba.cuda'",
    ),
    Refused(
        name="cuda.synchronize in a kernel",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    cuda.synchronize()
""",
        error="TypingError",
        words="Unknown attribute 'synchronize' of type Module(<module 'numba.cuda'",
    ),
    Refused(
        name="shuffle without a mask",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = cuda.shfl_down_sync(x[0], 1)
""",
        error="TypeError",
        words="shfl_down_sync() missing 1 required positional argument: 'delta'",
    ),
    Refused(
        name="shuffle of old",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = cuda.shfl_down(x[0], 1)
""",
        error="AttributeError",
        words="module 'numba.cuda' has no attribute 'shfl_down'",
    ),
    Refused(
        name="shuffle of int8",
        arguments="int8[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = cuda.shfl_sync(0xFFFFFFFF, x[0], 0)
""",
        error="TypingError",
        words="TypingError: shfl_sync only supports 32- and 64-bit ints and floats",
    ),
    Refused(
        name="shift of a float",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = x[0] << 2
""",
        error="TypingError",
        words=">>> lshift(float32, Literal[int](2))",
    ),
    Refused(
        name="bits of a float",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = x[0] & 1
""",
        error="TypingError",
        words=">>> and_(float32, Literal[int](1))",
    ),
    Refused(
        name="pow with a modulus",
        arguments="int32[::1]",
        source="""
@cuda.jit
def kernel(x):
    x[0] = pow(x[0], 2, 5)
""",
        error="TypingError",
        words=">>> pow(int32, Literal[int](2), Literal[int](5))",
    ),
    Refused(
        name="default that the launch leaves out",
        arguments="float32[::1]",
        source="""
@cuda.jit
def kernel(x, n=4):
    x[0] = n
""",
        error="TypeError",
        words="Signature mismatch: 1 argument types given, but function takes 2 arguments",
    ),
]

REFUSED_LAUNCHES = [
    RefusedLaunch(
        "names at launch",
        "kernel[1, 32](x=x, n=4)",
        "TypeError",
        "_LaunchConfiguration.__call__() got an unexpected keyword argument 'x'",
    ),
    RefusedLaunch(
        "no configuration",
        "kernel(x, 4)",
        "ValueError",
        "Kernel launch configuration was not specified. Use the syntax:",
    ),
    RefusedLaunch("only blocks", "kernel[1](x, 4)", "TypeError", "object of type 'int' has no len()"),
    RefusedLaunch(
        "too much configuration",
        "kernel[1, 32, 0, 0, 0](x, 4)",
        "ValueError",
        "must specify at least the griddim and blockdim",
    ),
    RefusedLaunch(
        "blocks as a float",
        "kernel[4 / 2, 32](x, 4)",
        "TypeError",
        "griddim must be a sequence of integers, got [2.0]",
    ),
    RefusedLaunch(
        "grid of four dimensions",
        "kernel[(1, 1, 1, 1), 32](x, 4)",
        "ValueError",
        "griddim must be a sequence of 1, 2 or 3 integers, got [1, 1, 1, 1]",
    ),
    RefusedLaunch(
        "block of four dimensions",
        "kernel[1, (1, 1, 1, 1)](x, 4)",
        "ValueError",
        "blockdim must be a sequence of 1, 2 or 3 integers, got [1, 1, 1, 1]",
    ),
    RefusedLaunch("block as a list", "kernel[1, [32]](x, 4)", "TypeError", "unhashable type: 'list'"),
    RefusedLaunch(
        "too few arguments",
        "kernel[1, 32](x)",
        "TypeError",
        "Signature mismatch: 1 argument types given, but function takes 2 arguments",
    ),
    RefusedLaunch(
        "too many arguments",
        "kernel[1, 32](x, 4, 5)",
        "TypeError",
        "Signature mismatch: 3 argument types given, but function takes 2 arguments",
    ),
    RefusedLaunch(
        "list as an argument",
        "kernel[1, 32]([1.0, 2.0], 2)",
        "NumbaRuntimeError",
        "NRT required but not enabled",
    ),
    RefusedLaunch(
        "string as an argument",
        "kernel[1, 32]('text', 4)",
        "TypingError",
        ">>> setitem(unicode_type, int64, Literal[int](1))",
    ),
    RefusedLaunch("None as an argument", "kernel[1, 32](x, None)", "TypingError", ">>> lt(int64, none)"),
    RefusedLaunch(
        "array of objects",
        "kernel[1, 32](np.array([None]), 1)",
        "TypingError",
        "non-precise type array(pyobject, 1d, C)",
    ),
    RefusedLaunch(
        "launch of a device function",
        "helper[1, 32](x)",
        "RuntimeError",
        "Cannot compile a device function as a kernel",
    ),
    RefusedLaunch(
        "call of a device function",
        "helper(x)",
        "ValueError",
        "Kernel launch configuration was not specified. Use the syntax:",
    ),
    RefusedLaunch(
        "barrier on the host",
        "cuda.syncthreads()",
        "NotImplementedError",
        "<intrinsic syncthreads> is not usable in pure-python",
    ),
    RefusedLaunch(
        "cuda.grid on the host",
        "cuda.grid(1)",
        "NotImplementedError",
        "<intrinsic grid> is not usable in pure-python",
    ),
    RefusedLaunch(
        "shared array on the host",
        "cuda.shared.array(4, float32)",
        "NotImplementedError",
        "cannot be called from host code",
    ),
    RefusedLaunch(
        "bounds checks",
        "cuda.jit(boundscheck=True)(kernel.py_func)",
        "NotImplementedError",
        "bounds checking is not supported for CUDA",
    ),
    RefusedLaunch(
        "signature with a result",
        "cuda.jit('float32(float32[:], int64)')(kernel.py_func)",
        "TypeError",
        "CUDA kernel must have void return type.",
    ),
]
