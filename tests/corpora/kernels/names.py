"""Programs whose outcome may depend on Numba's name: `numba.cuda` (numba-cuda 0.30.4) or `numba_cuda_mlir.cuda` (0.6.0).

Each was compiled by both real compilers without a GPU; `tests/standins/numba_cuda/test_successor.py` holds this list against
them where both are installed, and the stand-in against this list. An outcome is the type of a device function's result,
"compiles", or the name of an error and words of its message.
"""

from dataclasses import dataclass

COMPILES = "compiles"


@dataclass(frozen=True)
class Program:
    name: str
    source: str  # defines `program`; knows cuda, types, math, np, and numba, which is Numba itself
    arguments: str  # their types
    old: str
    new: str
    kernel: bool = True


def function(name: str, body: str, arguments: str, old: str, new: str = "") -> Program:
    """Return a device function whose result's type is the outcome."""
    names = ", ".join("abc"[: arguments.count(",") + 1]) if arguments else ""
    return Program(
        name, f"def program({names}):\n    return {body}\n", arguments, old, new or old, kernel=False
    )


PROGRAMS = [
    # Types of results. All of arithmetic is as in numba-cuda: integers become 64 bits wide.
    function("the number of a thread in the grid", "cuda.grid(1)", "", "int64", "int32"),
    function("the number of threads in the grid", "cuda.gridsize(1)", "", "int64", "int32"),
    function("the number of a thread in its block", "cuda.threadIdx.x", "", "int32"),
    function("the thread's number plus one", "cuda.grid(1) + 1", "", "int64"),
    function("a product of blockIdx and blockDim", "cuda.blockIdx.x * cuda.blockDim.x", "", "int64"),
    function("int32 plus int32", "a + b", "int32, int32", "int64"),
    function("uint32 plus int32", "a + b", "uint32, int32", "int64"),
    function("uint64 plus int64", "a + b", "uint64, int64", "int64"),
    function("float32 times two", "a * 2", "float32", "float64"),
    function("float32 squared", "a ** 2", "float32", "float32"),
    function("float32 plus int32", "a + b", "float32, int32", "float64"),
    function("a root of float32", "math.sqrt(a)", "float32", "float32"),
    function("an exponential of an integer", "math.exp(a)", "int32", "float64", "int32"),
    function("a floor of float32", "math.floor(a)", "float32", "float32", "int32"),
    function("the lowest bit", "cuda.ffs(a)", "int32", "uint32", "int32"),
    function("divmod", "divmod(a, 3)[0]", "int32", "int64", "UserFacingInternalCompilerError: compiler bug"),
    # Kernels.
    Program(
        "a shared array with a type of numba",
        "@cuda.jit\ndef program(a):\n    t = cuda.shared.array(4, numba.float32)\n    t[0] = a[0]\n    a[1] = t[0]\n",
        "float32[::1]",
        COMPILES,
        "TypingError: of type Module",
    ),
    Program(
        "a shared array with a type of NumPy",
        "@cuda.jit\ndef program(a):\n    t = cuda.shared.array(4, np.float32)\n    t[0] = a[0]\n    a[1] = t[0]\n",
        "float32[::1]",
        COMPILES,
        COMPILES,
    ),
    Program(
        "a shared array whose size is a product",
        "N = 4\n@cuda.jit\ndef program(a):\n    t = cuda.shared.array(N * 2, types.float32)\n    t[0] = a[0]\n    a[1] = t[0]\n",
        "float32[::1]",
        "TypingError: No implementation of function",
        COMPILES,
    ),
    Program(
        "an ufunc",
        "@cuda.vectorize(['float32(float32)'], target='cuda')\ndef program(x):\n    return 2 * x\n",
        "",
        COMPILES,
        "NotImplementedError: vectorize is not implemented",
    ),
    Program(
        "debugging of optimized code",
        "@cuda.jit(debug=True)\ndef program(a):\n    a[0] = 1\n",
        "float32[::1]",
        COMPILES,
        "ValueError: debug=True requires opt_level=0",
    ),
    Program(
        "debugging without optimization",
        "@cuda.jit(debug=True, opt=False)\ndef program(a):\n    a[0] = 1\n",
        "float32[::1]",
        COMPILES,
        COMPILES,
    ),
    Program(
        "an option that does not exist",  # numba-cuda looks at it when it compiles for a device
        "@cuda.jit(no_such=1)\ndef program(a):\n    a[0] = 1\n",
        "float32[::1]",
        COMPILES,
        "ValueError: Got invalid options: no_such.",
    ),
    Program(
        "a signature and annotations",
        "@cuda.jit('void(float32[::1])')\ndef program(a: types.float32[::1]):\n    a[0] = 1\n",
        "float32[::1]",
        COMPILES,
        "TypeError: Conflicting signature sources for 'program'",
    ),
]
