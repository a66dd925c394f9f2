"""Mistakes that Numba refuses: arrays of impossible shapes and dtypes, wrong options, arguments of votes."""

import numpy as np
from numba import cuda, float32, int32, uint32, void  # noqa: F401 (uint32: used by sources below)

from tests.corpora.real_results import program

SIZE, HALF, FLAG, NUMPY_SIZE, TEXT, NOTHING = 8, 4.0, True, np.int64(8), "float32", None
RECORD = np.dtype([("a", np.int32), ("b", np.float32)])


def ends(kernel, dtype=np.float64, block=1):
    out = np.zeros(4, dtype)
    kernel[1, block](out)
    return out


def with_shape(space, name, shape):
    text = f"""
def kernel(out):
    a = cuda.{space}.array({shape}, float32)
    out[0] = 1
"""

    def run():
        return ends(cuda.jit(from_text(text, name)))

    run.__module__, run.__name__ = __name__, f"{space} array: {name}"
    program(run)


def with_dtype(space, name, dtype):
    text = f"""
def kernel(out):
    a = cuda.{space}.array(4, {dtype})
    out[0] = 1
"""

    def run():
        return ends(cuda.jit(from_text(text, name)))

    run.__module__, run.__name__ = __name__, f"{space} array: {name}"
    program(run)


def from_text(text, name):
    """Return the function `kernel` of a text, whose lines Python can find."""
    import linecache

    file = f"<{name} {abs(hash(text))}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    space = dict(globals())
    exec(compile(text, file, "exec"), space)
    return space["kernel"]


for memory in ("shared", "local"):
    for title, given in (
        ("a float", "4.0"),
        ("a global float", "HALF"),
        ("a bool", "True"),
        ("a global bool", "FLAG"),
        ("a NumPy integer", "NUMPY_SIZE"),
        ("a float in a tuple", "(4, 2.0)"),
        ("a bool in a tuple", "(4, True)"),
        ("an empty tuple", "()"),
        ("None", "None"),
        ("a text", "'4'"),
        ("a negative size", "-4"),
        ("a negative size in a tuple", "(4, -1)"),
        ("an argument", "out.size"),
        ("a sum with a global", "SIZE + 1"),
        ("a sum of literals", "8 + 1"),
        ("a global", "SIZE"),
        ("a tuple of globals", "(SIZE, SIZE)"),
        ("a tuple in a tuple", "((2, 2), 2)"),
        ("zero in a tuple", "(0, 4)"),
    ):
        with_shape(memory, title, given)
    for title, given in (
        ("the dtype float", "float"),
        ("the dtype int", "int"),
        ("the dtype bool", "bool"),
        ("the dtype complex", "complex"),
        ("a dtype as a literal text", "'float32'"),
        ("a dtype as a wrong text", "'float33'"),
        ("a dtype as a global text", "TEXT"),
        ("the dtype None", "NOTHING"),
        ("a number for a dtype", "4"),
        ("the dtype of NumPy", "np.float32"),
        ("the bool of NumPy", "np.bool_"),
        ("a NumPy dtype", "RECORD"),
        ("the dtype of an array", "out.dtype"),
        ("an array for a dtype", "out"),
        ("the dtype void", "void"),
        ("the dtype object", "np.object_"),
        ("the dtype str", "str"),
        ("an array type for a dtype", "ARRAY"),
    ):
        with_dtype(memory, title, given)

ARRAY = float32[:]


@program
def a_shared_array_without_a_dtype():
    @cuda.jit
    def kernel(out):
        a = cuda.shared.array(4)
        a[0] = 1
        out[0] = a[0]

    return ends(kernel)


@program
def a_local_array_without_a_shape():
    @cuda.jit
    def kernel(out):
        a = cuda.local.array(dtype=float32)
        a[0] = 1
        out[0] = a[0]

    return ends(kernel)


@program
def a_shared_array_with_an_unknown_option():
    @cuda.jit
    def kernel(out):
        a = cuda.shared.array(4, float32, order="F")
        a[0] = 1
        out[0] = a[0]

    return ends(kernel)


def with_alignment(name, value):
    text = f"""
def kernel(out):
    a = cuda.shared.array(4, float32, alignment={value})
    out[0] = 1
"""

    def run():
        return ends(cuda.jit(from_text(text, name)))

    run.__module__, run.__name__ = __name__, f"alignment: {name}"
    program(run)


for title, given in (
    ("16", "16"),
    ("3", "3"),
    ("0", "0"),
    ("-8", "-8"),
    ("2", "2"),
    ("a float", "16.0"),
    ("None", "None"),
    ("an argument", "out.size"),
    ("a global", "SIZE"),
):
    with_alignment(title, given)


def with_bounds(name, bounds, block=32):
    def run():
        @cuda.jit(launch_bounds=bounds)
        def kernel(out):
            out[cuda.threadIdx.x % 4] = 1

        return ends(kernel, block=block)

    run.__module__, run.__name__ = __name__, f"launch bounds: {name}"
    program(run)


with_bounds("a number", 128)
with_bounds("a tuple", (128, 2))
with_bounds("three numbers", (128, 2, 1))
with_bounds("four numbers", (128, 2, 1, 1))
with_bounds("an empty tuple", ())
with_bounds("a float", 128.0)
with_bounds("a text", "128")
with_bounds("a list", [128, 2])
with_bounds("a tuple of floats", (128.0,))
with_bounds("a tuple of texts", ("128",))
with_bounds("zero", 0)
with_bounds("a negative number", -32)
with_bounds("True", True)
with_bounds("None in a tuple", (None,))
with_bounds("a block beyond it", 32, block=64)


def with_sync(name, call, block=32):
    text = f"""
def kernel(out):
    i = cuda.threadIdx.x
    f, d, h, b, u, w, c = np.float32(i), float(i), int32(i), i > 2, uint32(i), int(i), i * 1j
    s, t, o = np.int8(i), np.uint8(i), np.int16(i)
    got = {call}
    if i == 3:
        out[0] = got
"""

    def run():
        return ends(cuda.jit(from_text(text, name)), block=block)

    run.__module__, run.__name__ = __name__, f"{name}: {call}"
    program(run)


ALL = "0xFFFFFFFF"
for given in ("f", "d", "h", "b", "u", "w", "c", "s", "t", "o", "1", "True", "1.0", "out"):
    with_sync("all_sync", f"cuda.all_sync({ALL}, {given})")
    with_sync("ballot_sync", f"cuda.ballot_sync({ALL}, {given})")
    with_sync("shfl_sync", f"cuda.shfl_sync({ALL}, {given}, 2)")
    with_sync("match_any_sync", f"cuda.match_any_sync({ALL}, {given})")
    with_sync("syncthreads_count", f"cuda.syncthreads_count({given})")
for given in ("f", "b", "d", "h", "u"):
    with_sync("any_sync", f"cuda.any_sync({ALL}, {given})")
    with_sync("eq_sync", f"cuda.eq_sync({ALL}, {given})")
    with_sync("shfl_up_sync", f"cuda.shfl_up_sync({ALL}, {given}, 1)")
    with_sync("shfl_down_sync", f"cuda.shfl_down_sync({ALL}, {given}, 1)")
    with_sync("shfl_xor_sync", f"cuda.shfl_xor_sync({ALL}, {given}, 1)")
    with_sync("syncthreads_and", f"cuda.syncthreads_and({given})")
    with_sync("syncthreads_or", f"cuda.syncthreads_or({given})")
    with_sync("match_all_sync", f"cuda.match_all_sync({ALL}, {given})[0]")
    with_sync("the lane of a shuffle", f"cuda.shfl_sync({ALL}, h, {given})")
for given in ("1.0", "True", "None", "'all'", "-1", "(1, 2)", "h * 0 - 1", "w * 0 - 1", "f", "out"):
    with_sync("the mask of a vote", f"cuda.any_sync({given}, 1)")
    with_sync("the mask of a shuffle", f"cuda.shfl_sync({given}, h, 1)")
for given in ("0xFFFFFFFF", "1.0", "True", "None", "out", "-1", "w * 0 - 1"):
    with_sync("the mask of syncwarp", f"(cuda.syncwarp({given}), 1)[1]")
