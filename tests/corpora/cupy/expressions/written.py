"""Programs by hand: what a learner would write, right or wrong, by the question that they ask."""

from __future__ import annotations

WRITTEN: dict[str, str] = {}  # name of the question and number -> program


def ask(question: str, *programs: str) -> None:
    for number, text in enumerate(programs, 1):
        WRITTEN[f"{question} {number}"] = text.strip()


FLOATS = "[-5, -1.5, 0.9, 127.5, 128, 200, 255.9, 256, 300, 40000, 65535, 65536, 70000]"
LARGE = "[3e9, 5e9, 1e19, 1e20, -3e9, -1e20, float('inf'), -float('inf'), float('nan')]"

ask(
    "floats that do not fit",
    *(
        f"""
x = cp.array({FLOATS} + {LARGE}, '{source}')
y = x.astype('{target}')
z = cp.zeros(x.shape, '{target}')
z[...] = x
"""
        for source in ("f2", "f4", "f8")
        for target in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?")
    ),
    # assignments of numbers
    *(
        f"x = cp.zeros(3, '{target}')\nx[0] = {value}\nx[1:] = {value}"
        for target in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
        for value in ("-5.0", "300.7", "3e9", "np.float32(-5)", "np.float64(300.7)", "np.float32(3e9)")
    ),
    *(
        f"x = cp.zeros(3, 'u1')\nx[1] = {value}"
        for value in ("300", "-1", "np.int64(300)", "np.int64(-1)", "True", "float('nan')", "1e30", "2 + 1j")
    ),
    "x = cp.zeros(2, 'i4')\nx[0] = 3000000000",
    "x = cp.zeros(2, 'i4')\nx[0] = np.int64(3000000000)",
    "x = cp.zeros(2, 'i8')\nx[...] = cp.array(1e20)",
    "x = cp.zeros(2, 'u1')\nx[...] = cp.array(-5.0)",
    "x = cp.zeros(2, 'u1')\nx.fill(300)",
    "x = cp.zeros(2, 'u1')\nx.fill(300.5)",
    "x = cp.zeros(2, 'u1')\nx.fill(-5.0)",
    "x = cp.full(2, 300.5, 'u1')\ny = cp.full(2, -5.0, 'u1')",
    "x = cp.full(2, 300, 'u1')",
    "x = cp.full(2, cp.array(-5.0), 'u1')",
    "x = cp.array([-5.0, 300.0], dtype='u1')",
    "x = cp.array([-5, 300], dtype='u1')",
    "x = cp.asarray(np.array([-5.0, 300.0]), dtype='u1')",
    "x = cp.asarray(cp.array([-5.0, 300.0]), dtype='u1')",
    "x = cp.full_like(cp.zeros(2, 'u1'), -5.0)",
    # through masks, arrays of indices and functions
    "x = cp.zeros(4, 'u1')\nx[cp.array([0, 2])] = cp.array([-5.0, 300.0])",
    "x = cp.zeros(4, 'u1')\nx[cp.array([0, 2])] = -5.0",
    "x = cp.zeros(4, 'u1')\nx[cp.array([True, False, True, False])] = 300.5",
    "x = cp.zeros(4, 'u1')\nx[cp.array([True, False, True, False])] = cp.array([-5.0, 300.0])",
    "x = cp.zeros(4, 'u1')\nx[[0, 2]] = 300",
    "x = cp.zeros(4, 'u1')\ncp.copyto(x, cp.array([-5.0, 300.0, 70000.0, 1.5]), casting='unsafe')",
    "x = cp.zeros(4, 'u1')\ncp.add(cp.array([-5.0, 300.0, 70000.0, 1.5]), 0, out=x, casting='unsafe')",
    "x = cp.zeros(4, 'i1')\ncp.multiply(cp.array([-5, 300, 70000, 1]), 2, out=x, casting='unsafe')",
    "x = cp.array([-5.0, 300.0, 3e9]).sum(dtype='u1')",
    "x = cp.array([-5.0, 300.0, 3e9]).sum(dtype='i4')",
    "x = cp.array([-5.5, 2.5], 'f4').cumsum(dtype='u1')",
    "x = cp.zeros((), 'u1')\ncp.sum(cp.array([-5.0, 1.0]), out=x)",
    "x = cp.zeros((), 'u1')\ncp.mean(cp.array([-5.0, 1.0]), out=x)",
    "x = cp.where(cp.array([True, False]), cp.array([-5.0, 300.0]), 0).astype('u1')",
    "x = cp.clip(cp.array([-5.0, 300.0]), 0, 255).astype('u1')",
    "x = cp.arange(-2.5, 3, dtype='i4')",
    "x = cp.arange(0, 300.5, 100, dtype='u1')",
    "x = cp.linspace(-5, 300, 4, dtype='u1')",
    "x = cp.linspace(-5, 300, 4).astype('u1')",
    "x = cp.zeros(3, 'u1')\nx.put([0, 1], cp.array([-5.0, 300.0]))",
    "x = cp.zeros(2, 'u1')\ncp.putmask(x, cp.array([True, False]), cp.array([-5.0, 300.0]))",
    "x = cp.zeros(2, 'u1')\ncp.place(x, cp.array([True, False]), cp.array([-5.0]))",
    "x = cp.concatenate([cp.zeros(1, 'u1'), cp.array([-5.0])], dtype='u1', casting='unsafe')",
    "x = cp.zeros(2, 'i4')\nx += cp.array([1.5, 2.5])",
    "x = cp.array([1 + 2j, -5 + 0j, 300 + 1j]).astype('u1')",
    "x = cp.array([-1.5, 0.5, 2.0]).astype('?')",
    # kernels by element and reductions
    *(
        f"""
k = cp.ElementwiseKernel('{source} x', '{target} y', 'y = x', 'narrow')
x = k(cp.array({FLOATS} + {LARGE}, '{source}'))
"""
        for source in ("float32", "float64")
        for target in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    ),
    """
k = cp.ElementwiseKernel('float32 x', 'uint8 y', 'y = (unsigned char)(x * 255.0f + 0.5f)', 'grey')
x = k(cp.array([-0.5, 0.0, 0.5, 1.0, 1.5], 'f4'))
""",
    """
k = cp.ElementwiseKernel('T x', 'uint8 y', 'y = min(max(x, T(0)), T(255))', 'clamped')
x = k(cp.array([-0.5, 0.0, 0.5, 300.0], 'f4'))
""",
    """
k = cp.ElementwiseKernel('float32 x', 'int32 y', 'int i = x; y = i / 2', 'halves')
x = k(cp.array([-5.5, 3e9, -3e9, float('nan')], 'f4'))
""",
    """
k = cp.ReductionKernel('float32 x', 'uint8 y', 'x', 'a + b', 'y = a', '0', 'total', reduce_type='float')
x = k(cp.array([-5.5, 2.0], 'f4'))
y = k(cp.array([200.0, 100.0], 'f4'))
""",
    "f = cp.fuse()(lambda x: x)\nx = cp.array([-5.0, 300.0])",
    """
@cp.fuse()
def f(x):
    return (x * 2).astype(np.uint8)
x = f(cp.array([-2.5, 150.0, 1e10]))
""",
)

ask(
    "fused functions of arrays that share memory",
    """
@cp.fuse()
def f(x, z):
    x += z
x = cp.arange(9.0).reshape(3, 3)
f(x, x.T)
f(x, x.T)
""",
    """
@cp.fuse()
def f(x, z):
    x += z
x = cp.arange(6)
f(x[1:], x[:-1])
""",
    """
@cp.fuse()
def f(x, z):
    x += z
x = cp.arange(6)
f(x[:-1], x[1:])
""",
    """
@cp.fuse()
def f(x, z):
    x += z
    x += z
x = cp.arange(6)
f(x[1:], x[:-1])
""",
    """
@cp.fuse()
def f(x, z):
    x += z
    x += z
x = cp.arange(9.0).reshape(3, 3)
f(x, x.T)
""",
    """
@cp.fuse()
def f(x, y):
    x += 1
    y += x
x = cp.arange(4)
f(x, x)
""",
    """
@cp.fuse()
def f(x, y):
    x[...] = y
x = cp.arange(5)
f(x, x[::-1])
""",
    """
@cp.fuse()
def f(x, y):
    x[...] = y * 2
    return x + y
x = cp.arange(5)
y = f(x, x[::-1])
""",
    """
@cp.fuse()
def f(x, y):
    y *= 2
    x += y
x = cp.arange(5)
f(x, x[::-1])
""",
    """
@cp.fuse()
def f(x, y):
    return x + y
x = cp.arange(9).reshape(3, 3)
y = f(x, x.T)
""",
    """
@cp.fuse()
def f(x):
    y = x
    y += 1
    return y
x = cp.arange(3)
y = f(x)
""",
    """
@cp.fuse()
def f(x, y):
    y += x.sum()
x = cp.arange(4.0)
f(x, x)
""",
    """
@cp.fuse()
def f(x, y):
    x += y
x = cp.arange(8)
f(x[::2], x[1::2])
""",
    """
@cp.fuse()
def f(x, y):
    x += y
    y += x
x = cp.arange(8)
f(x[:4], x[2:6])
""",
    """
@cp.fuse()
def f(x, y):
    cp.add(x, y, x)
    cp.add(x, y, y)
x = cp.arange(4)
y = cp.arange(4) * 10
f(x, y)
""",
    """
@cp.fuse()
def f(x, y):
    x += y
x = cp.zeros((2, 3), 'f4')
f(x, cp.arange(3, dtype='f4'))
""",
    """
@cp.fuse()
def f(x, y):
    x += y
x = cp.arange(3)
f(x, cp.zeros((2, 3), int))
""",
    """
@cp.fuse()
def f(x, y):
    x += y
x = cp.broadcast_to(cp.arange(3), (2, 3))
f(x, x)
""",
)

ask(
    "reshape that copies",
    *(
        f"x = {source}\ny = x.reshape({shape}, order='{order}')\ny[...] = 0"
        for source in (
            "cp.arange(24).reshape(2, 3, 4)",
            "cp.arange(24).reshape(4, 6).T",
            "cp.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)",
            "cp.arange(48)[::2]",
            "cp.arange(24).reshape(2, 3, 4)[:, ::-1]",
        )
        for shape in ("(4, 6)", "(6, 4)", "(2, 12)", "-1", "(24, 1)", "(2, 2, 6)")
        for order in "CFA"
        if source != "cp.arange(48)[::2]" or order != "A"
    ),
    "x = cp.arange(6).reshape(2, 3, order='F')\ny = x.ravel(order='F')\nz = x.ravel(order='C')",
    "x = cp.arange(6).reshape(2, 3).T\ny = x.ravel(order='A')\nz = x.ravel(order='K')",
    "x = cp.arange(6).reshape(2, 3).T\ny = x.flatten(order='F')\nz = x.flatten(order='K')",
    "x = cp.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)\ny = x.copy(order='K')\nz = x.copy()",
    "x = cp.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)\ny = x.astype('f4')\nz = x.astype('f4', order='C')",
    "x = cp.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)\ny = cp.empty_like(x).strides\nz = cp.zeros_like(x, order='F')",
    "x = cp.arange(6).reshape(2, 3).T\ny = x + x\nz = cp.sin(x)\na = x.copy(order='K') * 2",
    "x = cp.reshape(cp.arange(6).reshape(2, 3), (3, 2), order='F')\ny = x.flags.f_contiguous",
    "x = cp.arange(6).reshape(2, 3)\ny = x.reshape(3, 2, order='F', copy=True)",
    "x = cp.arange(6).reshape(2, 3)\ny = x.reshape(3, 2, copy=True)\ny[...] = 0",
    "x = cp.arange(6).reshape(2, 3).T\nx.reshape(6, copy=False)",
    "x = cp.arange(6).reshape(2, 3)\ny = x.reshape(6, copy=False)\ny[0] = 9",
    "x = cp.arange(6).reshape(2, 3)\nx.shape = (3, 2)",
    "x = cp.arange(6).reshape(2, 3).T\nx.shape = (6,)",
    "x = cp.arange(6)[::2]\nx.shape = (3, 1)",
    "x = cp.zeros((0, 3)).reshape(3, 0, order='F')",
    "x = cp.array(5).reshape(1, 1, order='F')",
    "x = cp.arange(6).reshape((2, -1), order='F')",
    "x = cp.arange(6).reshape(-1, -1)",
    "x = cp.arange(6).reshape(-2, 3)",
    "x = cp.arange(6).reshape(2.0, 3)",
    "x = cp.arange(6).reshape((2.0, 3))",
    "x = cp.arange(6).reshape(np.int64(2), np.int32(3))",
    "x = cp.arange(6).reshape(cp.array(2), 3)",
    "x = cp.arange(6).reshape()",
    "x = cp.arange(1).reshape()",
    "x = cp.arange(6).reshape('2', 3)",
    "x = cp.arange(6).reshape(None)",
    "x = cp.arange(6).reshape(2, 3, order='Q')",
    "x = cp.arange(6).reshape(2, 3, order='f')",
    "x = cp.arange(6).reshape(2, 3, order='K')",
    "x = cp.arange(6).reshape(2, 3, order=None)",
    "x = cp.arange(6).reshape(2, 3, order=1)",
    *(f"x = cp.arange(6).reshape(2, 3, copy={copy})" for copy in ("'x'", "'True'", "1", "0", "[]", "''")),
    *(f"x = cp.reshape(cp.arange(6), (2, 3), copy={copy})" for copy in ("'x'", "1", "0")),
)

ask(
    "mistakes",
    # a NumPy array, a list or a number where an array of the device is asked for
    *(
        f"x = cp.{name}({value})"
        for name in (
            "cumprod", "cumsum", "sum", "prod", "max", "min", "mean", "std", "var", "argmax", "any", "all",
            "sort", "argsort", "unique", "diff", "ravel", "transpose", "squeeze", "nonzero", "median", "nansum",
            "nanmax", "flip", "count_nonzero", "round", "ptp", "isfinite", "negative", "exp", "sqrt", "trace",
            "copy", "atleast_1d", "atleast_2d", "fix", "argwhere", "flatnonzero", "isnan", "triu", "amax",
            "cumulative_sum", "isscalar", "ndim", "shape", "size", "real", "imag", "angle", "nan_to_num", "sinc",
            "percentile", "average", "bincount", "interp", "meshgrid", "diag", "flipud", "rot90", "roll",
        )
        for value in ("np.arange(4.0)", "[1.0, 2.0]", "2.5", "3", "np.float32(2)")
        if name not in ("percentile", "roll", "interp")
    ),
    *(
        f"x = cp.{name}({value}, {second})"
        for name, second in (
            ("percentile", "50"), ("roll", "1"), ("reshape", "(2, 1)"), ("repeat", "2"), ("tile", "2"),
            ("clip", "0, 1"), ("take", "[0]"), ("expand_dims", "0"), ("concatenate", "0"), ("searchsorted", "1"),
            ("swapaxes", "0, 0"), ("moveaxis", "0, 0"), ("where", "1, 2"), ("dot", "cp.arange(4.0)"),
            ("add", "cp.arange(4.0)"), ("maximum", "1"), ("matmul", "cp.arange(4.0)"), ("full_like", "1"),
            ("array_equal", "cp.arange(4.0)"), ("allclose", "cp.arange(4.0)"), ("split", "2"), ("broadcast_to", "(2, 4)"),
            ("inner", "cp.arange(4.0)"), ("outer", "cp.arange(4.0)"), ("convolve", "cp.arange(4.0)"), ("append", "1"),
            ("isin", "cp.arange(4.0)"), ("polyval", "cp.arange(4.0)"), ("digitize", "cp.arange(4.0)"),
        )
        for value in ("np.arange(4.0)", "[1.0, 2.0]", "2.5", "3")
    ),
    # shapes, axes and dtypes
    *(f"x = cp.ndarray({shape})" for shape in ("(1.0,)", "1.0", "'3'", "(2, '3')", "-1", "(2, -1)", "None", "[2.5]")),
    *(f"x = cp.{name}({shape})" for name in ("zeros", "ones", "empty") for shape in ("(1.0,)", "1.0", "'3'", "-1", "None")),
    "x = cp.zeros((np.int64(2), np.uint8(3)))",
    "x = cp.zeros(cp.array(2))",
    "x = cp.zeros((cp.array(2), 1))",
    "x = cp.zeros(cp.array([2, 3]))",
    "x = cp.zeros(np.array([2, 3]))",
    "x = cp.zeros(True)",
    "x = cp.zeros([2, 3])",
    "x = cp.full((1.0,), 2)",
    "x = cp.full(2.0, 2)",
    "x = cp.zeros(3, order='Q')",
    "x = cp.zeros((2, 3), order='f')",
    "x = cp.zeros((2, 3), order='A')",
    "x = cp.zeros((2, 3), order=None)",
    "x = cp.zeros(3, 'float33')",
    "x = cp.zeros(3, 'S4')",
    "x = cp.zeros(3, np.datetime64)",
    "x = cp.zeros(3, '>f4')",
    "x = cp.zeros(3, 'g')",
    "x = cp.zeros(3, None)",
    *(
        f"x = cp.{function}({array}, axis={axis})"
        for function in ("sum", "max", "argmax", "mean", "cumsum", "sort", "argsort", "all", "std", "median")
        for array, axis in (
            ("cp.array(3)", "0"), ("cp.array(3)", "-1"), ("cp.array(3)", "None"), ("cp.arange(3)", "1"),
            ("cp.arange(3)", "1.0"), ("cp.ones((2, 2))", "(0, 0)"), ("cp.ones((2, 2))", "(0, 2)"), ("cp.ones((2, 2))", "'0'"),
            ("cp.ones((2, 2))", "()"), ("cp.ones((2, 2))", "[0]"), ("cp.ones((2, 2))", "np.int64(1)"), ("cp.array(3)", "()"),
            ("cp.ones((2, 2))", "cp.array(1)"), ("cp.ones((2, 2))", "True"),
        )
    ),
    *(
        f"x = {text}"
        for text in (
            "cp.flip(cp.array(3), 0)", "cp.roll(cp.array(3), 1, 0)", "cp.expand_dims(cp.array(3), 1)",
            "cp.squeeze(cp.ones((2, 1)), 0)", "cp.squeeze(cp.array(3), 0)", "cp.repeat(cp.array(3), 2, 0)",
            "cp.take(cp.array(3), 0, 0)", "cp.take(cp.array(3), 0)", "cp.diff(cp.array(3))", "cp.concatenate([cp.array(3), cp.array(4)])",
            "cp.stack([cp.array(3), cp.array(4)])", "cp.stack([cp.array(3), cp.array(4)], 1)", "cp.cumsum(cp.array(3))",
            "cp.cumprod(cp.array(3), 0)", "cp.unique(cp.array(3))", "cp.sort(cp.array(3))", "cp.argsort(cp.array(3))",
            "cp.nonzero(cp.array(3))", "cp.argwhere(cp.array(3))", "cp.flatnonzero(cp.array(3))", "cp.median(cp.array(3))",
            "cp.swapaxes(cp.array(3), 0, 1)", "cp.transpose(cp.array(3))", "cp.moveaxis(cp.array(3), 0, 0)", "cp.split(cp.array(3), 1)",
            "cp.count_nonzero(cp.array(3), 0)", "cp.trace(cp.array(3))", "cp.diag(cp.array(3))", "cp.dot(cp.array(3), cp.arange(2))",
            "cp.matmul(cp.array(3), cp.arange(2))", "cp.array(3) @ 2", "cp.tile(cp.array(3), 2)", "cp.array(3)[0]", "cp.array(3)[()]",
            "cp.array(3)[...]", "cp.array(3)[None]", "cp.array(3)[:]", "cp.partition(cp.array(3), 0)", "cp.searchsorted(cp.array(3), 1)",
            "cp.lexsort(cp.array(3))", "cp.lexsort(cp.arange(3))", "cp.lexsort(cp.ones((2, 3)))", "cp.lexsort(cp.ones((2, 2, 2)))",
            "cp.lexsort((cp.arange(3), cp.arange(3)))", "cp.lexsort([])", "cp.lexsort(np.ones((2, 3)))", "cp.lexsort(cp.zeros((0, 2)))",
            "cp.fix(cp.ones(2, complex))", "cp.floor(cp.ones(2, complex))", "cp.ceil(cp.ones(2, complex))", "cp.trunc(cp.ones(2, complex))",
            "cp.rint(cp.ones(2, complex))", "cp.fix(cp.array([-1.5, 1.5]))", "cp.fix(cp.array([1, 2]))", "cp.fix(cp.array([True]))",
            "cp.sign(cp.ones(2, complex))", "cp.sinc(cp.ones(2, complex))", "cp.i0(cp.ones(2, complex))", "cp.isposinf(cp.ones(2, complex))",
            "cp.fabs(cp.ones(2, complex))", "cp.cbrt(cp.ones(2, complex))", "cp.maximum(cp.ones(2, complex), 1)", "cp.signbit(cp.ones(2, complex))",
            "cp.floor(cp.array([1, 2]))", "cp.ceil(cp.array([True]))", "cp.trunc(cp.array([3], 'u1'))", "cp.rint(cp.array([3], 'u1'))",
            "cp.sqrt(cp.array([True, False]))", "cp.floor_divide(cp.array([True]), cp.array([True]))", "cp.ones(2, complex) // 2",
            "cp.ones(2, complex) % 2", "cp.ones(2, complex) < 2", "cp.array([True]) + cp.array([True])", "cp.array([True]) * 2",
            "cp.array([True]) / cp.array([True])", "cp.array([True]) ** 2", "cp.array([True]) << 1", "cp.array([1.5]) << 1",
            "cp.array([1.5]) & 1", "cp.array([2, 3]) ** -1", "cp.array([0, 1, -1, 2]) ** cp.array([-1, -1, -1, -2])", "cp.array([2.0]) ** -1",
            "2 ** cp.array([-1, 3])", "cp.array([1, 2]) // 0", "cp.array([1, -2]) % 0", "cp.array([1.0, -2.0]) // 0", "cp.array([1.0]) % 0",
            "cp.array([200], 'u1') + 100", "cp.array([200], 'u1') + 300", "cp.array([200], 'u1') + np.uint8(100)", "cp.array([200], 'u1') * -1",
            "cp.array([1], 'u1') - 2", "-cp.array([1], 'u1')", "abs(cp.array([-128], 'i1'))", "cp.array([1], 'u8') + cp.array([1], 'i8')",
            "cp.array([1], 'u8') + 1.5", "cp.array([1], 'i1') << 8", "cp.array([1], 'i4') << 40", "cp.array([-8], 'i4') >> 1", "cp.array([1]) << -1",
            "cp.sum(cp.arange(3), dtype='f4', keepdims=True)", "cp.arange(3).sum(0, 'f4')", "cp.sum(cp.arange(3), 0, None, None, False)",
            "cp.arange(3).sum(where=cp.array([True, False, True]))", "cp.sum(cp.arange(3), initial=1)", "cp.max(cp.zeros(0))", "cp.sum(cp.zeros(0))",
            "cp.max(cp.zeros((0, 2)), axis=1)", "cp.max(cp.zeros((0, 2)), axis=0)", "cp.mean(cp.zeros(0))", "cp.argmax(cp.zeros(0))", "cp.prod(cp.zeros(0, 'i4'))",
            "cp.concatenate([cp.ones(2), cp.ones((2, 2))])", "cp.concatenate([cp.ones((2, 3)), cp.ones((2, 2))])", "cp.concatenate([])", "cp.concatenate(cp.ones((2, 2)))",
            "cp.stack([cp.ones(2), cp.ones(3)])", "cp.stack([])", "cp.vstack([cp.ones(2), cp.ones((2, 2))])", "cp.hstack([cp.ones(2), cp.ones((2, 2))])",
            "cp.concatenate([cp.ones(2), np.ones(2)])", "cp.concatenate([cp.ones(2), [1.0]])", "cp.where(cp.array([True]), np.ones(1), 0)", "cp.where([True], cp.ones(1), 0)",
            "cp.where(True, cp.ones(1), 0)", "cp.where(cp.array([1, 0]), 1, 2)", "cp.where(cp.array([1, 0]), 1.5, cp.array([2], 'f4'))", "cp.clip(cp.arange(5), 1)", "cp.clip(cp.arange(5), 1, None)",
            "cp.clip(cp.arange(5), None, None)", "cp.clip(cp.arange(5), 1.5, 3)", "cp.clip(cp.arange(5), cp.arange(5), 3)", "cp.clip(cp.arange(5), np.arange(5), 3)", "cp.clip(cp.arange(5, dtype='u1'), -1, 300)",
            "cp.round(cp.array([2.5, 3.5, -0.5]))", "cp.round(cp.array([1234]), -2)", "cp.round(cp.array([1.005]), 2)", "cp.round(cp.array([True]))", "cp.linspace(0, 1, 3.0)", "cp.linspace(0, 1, -1)", "cp.arange('3')",
            "cp.arange(3, dtype='?')", "cp.arange(2, dtype='?')", "cp.arange(0, 1, 0)", "cp.arange(cp.array(3))", "cp.arange(3 + 1j)", "cp.eye(3.0)", "cp.eye(2, 3, 1, 'i4')", "cp.array([[1, 2], [3]])", "cp.array('abc')",
            "cp.array(None)", "cp.array([1, None])", "cp.array([1, 2], order='Q')", "cp.array([1, 2], ndmin=2)", "cp.array([[1, 2]], copy='x')", "cp.asarray([1, 2], order=1)", "cp.arange(3).astype('x')", "cp.arange(3).astype()",
            "cp.arange(3).astype('f4', order='Q')", "cp.arange(3).copy('Q')", "cp.arange(3).transpose(1)", "cp.arange(3).transpose(0, 0)", "cp.ones((2, 3)).transpose(0)", "cp.ones((2, 3)).transpose((1, 0), 2)", "cp.ones((2, 3)).transpose('a')",
            "cp.arange(3)[3]", "cp.arange(3)[-4]", "cp.arange(3)[1.0]", "cp.arange(3)['a']", "cp.arange(3)[0, 0]", "cp.arange(3)[[0, 5]]", "cp.arange(3)[cp.array([0.0])]", "cp.arange(3)[cp.array([True, False])]", "cp.arange(3)[::0]", "cp.arange(3)[None, ..., None]",
            "cp.arange(3)[..., ...]", "cp.arange(3)[True]", "cp.arange(3)[False]", "cp.arange(3)[cp.array(1)]", "cp.arange(3)[np.array([1, 2])]", "cp.arange(3)[(1,)]", "cp.arange(3)[[]]", "cp.arange(9).reshape(3, 3)[[0, 1], [1, 2]]", "cp.arange(9).reshape(3, 3)[:, [0, 2]]",
            "cp.arange(9).reshape(3, 3)[[0], :, None]", "cp.split(cp.arange(4), 3)", "cp.split(cp.arange(4), [1, 3])", "cp.split(cp.arange(4), 0)", "cp.array_split(cp.arange(4), 3)", "cp.unique(cp.array([3, 1, 3]), return_counts=True)", "cp.bincount(cp.array([1.0]))",
            "cp.bincount(cp.array([-1]))", "cp.searchsorted(cp.arange(4), cp.array([1, 9]), side='middle')", "cp.searchsorted(cp.arange(4), [1])", "cp.searchsorted(cp.arange(4), 1.5)", "cp.dot(cp.ones(2), cp.ones(3))", "cp.dot(cp.ones((2, 2)), 2)", "cp.matmul(cp.ones((2, 3)), cp.ones((2, 3)))",
            "cp.ones((2, 3)) + cp.ones((3, 2))", "cp.ones(2) + [1, 2]", "cp.ones(2) + np.ones(2)", "np.ones(2) + cp.ones(2)", "[1, 2] + cp.ones(2)", "cp.ones(2) + None", "cp.ones(2) + 'a'", "cp.ones(2) == 'a'", "cp.ones(2) == None", "cp.ones(2) == [1, 1]", "cp.add(cp.ones(2), 1, out=np.ones(2))",
            "cp.add(cp.ones(2), 1, out=cp.ones(3))", "cp.add(cp.ones(2), 1, out=cp.ones(2, 'i4'))", "cp.add(cp.ones(2))", "cp.add(cp.ones(2), 1, 2, 3)", "cp.add(cp.ones(2), 1, foo=1)", "cp.add(cp.ones(2, 'f4'), 1, dtype='f8')", "cp.add(cp.ones(2), 1, dtype='i4')", "cp.sin(cp.ones(2, 'i4'), dtype='f4')",
            "cp.take(cp.arange(3), 5)", "cp.take(cp.arange(3), [5, -1])", "cp.take(cp.arange(3), 1.0)", "cp.repeat(cp.arange(2), [1, 2])", "cp.repeat(cp.arange(2), cp.array([1, 2]))", "cp.repeat(cp.arange(2), -1)", "cp.repeat(cp.arange(2), 1.5)", "cp.tile(cp.arange(2), (2, 2))", "cp.broadcast_to(cp.arange(2), (3,))",
            "cp.broadcast_to(cp.arange(2), 2)", "cp.pad(cp.arange(2), 1)", "cp.pad(cp.arange(2), -1)", "cp.diff(cp.arange(3), n=-1)", "cp.diff(cp.arange(3), n=0)", "cp.diff(cp.arange(3), n=5)", "cp.diff(cp.array([True, False]))", "cp.diff(cp.array([1, 3], 'u1'))", "cp.percentile(cp.arange(5), 200)", "cp.percentile(cp.arange(5), [25, 75])",
            "cp.mean(cp.array([True, False]))", "cp.mean(cp.array([1, 2], 'f2'))", "cp.var(cp.array([1, 2]), ddof=2)", "cp.std(cp.arange(3), ddof=1)", "cp.prod(cp.array([100, 100], 'u1'))", "cp.sum(cp.array([200, 100], 'u1'))", "cp.cumsum(cp.array([200, 100], 'u1'))", "cp.cumprod(cp.ones((2, 2), 'i2'), 1)", "cp.trace(cp.ones((2, 3), 'u1'))",
        )
    ),
    "x = cp.arange(3)\nx[5] = 1",
    "x = cp.arange(3)\nx['a'] = 1",
    "x = cp.arange(3)\nx[0] = [1]",
    "x = cp.arange(3)\nx[:] = [1, 2, 3]",
    "x = cp.arange(3)\nx[:2] = cp.arange(3)",
    "x = cp.arange(3)\nx[0] = None",
    "x = cp.arange(3)\nx[0] = 'a'",
    "x = cp.arange(3)\nx[0] = 1j",
    "x = cp.arange(3)\nx[cp.array([0, 1])] = cp.arange(3)",
    "x = cp.arange(3)\nx[[0, 1]] = [7, 8]",
    "x = cp.arange(3)\nx[[0, 1]] = np.array([7, 8])",
    "x = cp.arange(3)\nx += [1, 2, 3]",
    "x = cp.arange(3)\nx += np.arange(3)",
    "x = cp.arange(3)\nx += cp.ones((2, 3), int)",
    "x = cp.arange(3)\nx /= 2",
    "x = cp.arange(3)\nx //= 2\nx **= 2\nx <<= 1",
    "x = cp.arange(3)\nx **= -1",
    "x = cp.arange(3.0)\nx += 1j",
    "x = cp.arange(3, dtype='u1')\nx -= 1",
    "x = cp.arange(3, dtype='u1')\nx += 300",
    "x = cp.arange(3, dtype='u1')\nx += cp.array([1.5])",
    "x = cp.arange(3)\nx.sort(axis=1)",
    "x = cp.array(3)\nx.sort()",
    "x = cp.array(3)\nx += 1",
    "x = 3\nx += cp.arange(2)",
    "x = cp.arange(3)\nx.fill([1])",
    "x = cp.arange(3)\nx.fill(cp.array(2.5))",
    "x = cp.arange(3)\nx.fill('a')",
    "x = int(cp.arange(3))",
    "x = float(cp.array([1.5]))",
    "x = bool(cp.zeros(0))",
    "x = len(cp.array(3))",
    "x = range(3)[cp.array(1)]",
    "x = [1, 2, 3][cp.array(1)]",
    "x = np.sum(cp.arange(3))",
    "x = np.add(cp.arange(3), 1)",
    "x = np.sqrt(cp.arange(3))",
    "x = np.concatenate([cp.arange(3), cp.arange(3)])",
    "x = np.asarray(cp.arange(3))",
    "x = np.array([1, 2]) * cp.array(2)",
    "x = np.float64(2) * cp.arange(3)",
    "x = np.float32(2) * cp.arange(3, dtype='f4')",
    "x = sum(cp.arange(3))\ny = max(cp.arange(3))\nz = sorted(cp.array([3, 1, 2]))",
)  # fmt: skip

ask(
    "numbers in fused functions",
    *(
        f"@cp.fuse()\ndef g(x):\n    return {body}\nx = g(cp.array([{values}], '{dtype}'))"
        for body in ("x + 1", "x + 1.5", "1 + 2.5*x", "x + 300", "cp.maximum(x, 2.5)", "x / 2", "x ** 2", "x + np.int64(1)",
                     "cp.where(x > 0, x, 1.5)", "cp.where(x > 0, 1, 2)", "cp.clip(x, 0, 1)", "abs(x)")
        for dtype, values in (("?", "True, False"), ("i1", "1, -2"), ("u1", "250, 3"), ("i4", "1, -2"), ("f4", "1.5, 2"))
    ),
)  # fmt: skip

ask(
    "quotients",
    "x = cp.array([1.0, 0.3, 7.5, -1.0]) // 0.1",
    "x = cp.array([1.0, 0.3, 7.5, -1.0]) % 0.1",
    "x = cp.divmod(cp.array([1.0, -1.0]), 0.1)",
    "x = cp.array([1.0, 1e8, -7.0], 'f4') % 3",
    "x = cp.array([1.0, -1.0, 0.0]) // cp.array([0.0, 0.0, 0.0])",
    "x = cp.array([1.0, -1.0]) % cp.array([float('inf'), float('inf')])",
    "x = cp.array([7, -7]) // 2\ny = cp.array([7, -7]) % 2\nz = cp.array([7, -7]) // 0",
    "x = cp.reciprocal(cp.array([0, 1, -1, 2], 'i4'))",
    "x = cp.array([1 + 1j, 0j]) / cp.array([0j, 0j])",
    "@cp.fuse()\ndef g(x):\n    return x // 0.1, x % 0.1\nx = g(cp.array([1.0, -1.0, 0.3]))",
)


# -- what other people's programs write

ask(
    "lists and numbers of NumPy",
    "x = cp.diag([1, 2, 3])",
    "x = cp.diag([[1, 2], [3, 4]])",
    "x = cp.diag((1, 2), 1)",
    "x = cp.diag(np.array([1., 2.]))",
    "x = cp.diag(5)",
    "x = cp.diagflat([1, 2])",
    "x = cp.diagflat([[1, 2], [3, 4]])",
    "x = cp.append([1, 2], [3, 4])",
    "x = cp.append(cp.arange(3), [3, 4])",
    "x = cp.append(cp.arange(3), 9)",
    "x = cp.append(cp.arange(3), np.arange(2))",
    "x = cp.append(cp.ones((1, 2)), [[3, 4]], axis=0)",
    "x = cp.delete(cp.arange(5), [1, 2])",
    "x = cp.delete(cp.arange(5), 1)",
    "x = cp.delete(cp.arange(5), -1)",
    "x = cp.delete(cp.arange(5), slice(1, 3))",
    "x = cp.delete(cp.arange(6).reshape(2, 3), [0, 2], axis=1)",
    "x = cp.delete([1, 2, 3], 1)",
    "x = cp.delete(cp.arange(5), cp.array([1, 3]))",
    "x = cp.delete(cp.arange(3), [True, False, True])",
    "x = cp.delete(cp.arange(5), 7)",
    "x = cp.resize([1, 2, 3], (2, 3))",
    "x = cp.resize([1, 2, 3], 5)",
    "x = cp.resize(7, (2, 2))",
    "x = cp.resize(np.arange(2), (3,))",
    "x = cp.resize(cp.arange(0), 3)",
    "x = cp.ix_([0, 1], [2, 4])",
    "x = cp.ix_([True, False, True], [1])",
    "x = cp.ix_(cp.array([0, 1]), [2])",
    "x = cp.ix_([], [1])",
    "x = cp.arange(20).reshape(4, 5)[cp.ix_([0, 1], [2, 4])]",
    "x = cp.ix_([[1]], [2])",
    "x = cp.tile([1, 2], 2)",
    "x = cp.tril([[1, 2], [3, 4]])",
    "x = cp.triu(np.ones((2, 2)))",
    "x = cp.trace(cp.ones((2, 2)))",
    "x = cp.average([1, 2, 3])",
    "x = cp.roll(cp.arange(4), np.int64(1))",
    "x = cp.cuda.alloc_pinned_memory(np.int64(80)).mem.size",
    "x = cp.cuda.alloc_pinned_memory(np.int32(80)).size()",
    "x = cp.cuda.alloc(np.int64(512)).mem.size",
    "x = cp.cuda.Memory(np.int64(64)).size",
    "x = cp.zeros(np.int64(3))",
    "x = cp.zeros(np.array(3))",
    "x = cp.zeros(cp.array(3))",
    "x = cp.zeros((np.int32(2), 2))",
    "x = cp.zeros(3.0)",
)

ask(
    "orders",
    "x = cp.zeros(3, order=None)",
    "x = cp.ones(3, order=None)",
    "x = cp.empty((2, 2), order=None).flags.c_contiguous",
    "x = cp.full((2, 2), 3, order=None)",
    "x = cp.full((2, 2), 3, order='A').flags.f_contiguous",
    "x = cp.zeros_like(cp.ones((2, 2), order='F'), order=None).flags.f_contiguous",
    "x = cp.ones_like(cp.ones((2, 2), order='F'), order='A').flags.f_contiguous",
    "x = cp.empty_like(cp.ones((2, 2), order='F'), order='C').flags.f_contiguous",
    "x = cp.array([1, 2], order=None)",
    "x = cp.asarray([[1, 2]], order=None)",
    "x = cp.arange(4).reshape(2, 2, order=None)",
    "x = cp.arange(4).reshape(2, 2).ravel(order=None)",
    "x = cp.arange(4).reshape(2, 2).flatten(order=None)",
    "x = cp.arange(4).reshape(2, 2).copy(order=None)",
    "x = cp.copy(cp.arange(4), order=None)",
    "x = cp.arange(4).astype('f', order=None)",
    "x = cp.ravel(cp.arange(4), order=None)",
    "x = cp.eye(3, order=None)",
    "x = cp.asfortranarray([[1, 2]])",
    "x = cp.asnumpy(cp.arange(3), order=None)",
    "x = cp.arange(3).get(order=None)",
)

ask(
    "comparisons with something else",
    "x = cp.arange(3) == None",
    "x = cp.arange(3) != None",
    "x = None == cp.arange(3)",
    "x = cp.arange(3) == ...",
    "x = cp.arange(3) != object()",
    "x = cp.arange(3) == 'a'",
    "x = cp.arange(3) == [0, 1, 2]",
    "x = cp.arange(3) == (0, 1, 2)",
    "x = cp.arange(3) < None",
    "x = cp.array(3) == None",
    "x = cp.arange(3, dtype='b') < 300",
    "x = cp.arange(3, dtype='b') == 300",
    "x = cp.arange(3, dtype='B') > -1",
    "x = cp.arange(3, dtype='B') != -1",
    "x = 300 > cp.arange(3, dtype='b')",
    "x = cp.arange(3, dtype='i') <= 2**40",
    "x = cp.arange(3, dtype='l') < 2**70",
    "x = cp.arange(3, dtype='L') >= -2**70",
    "x = cp.arange(3, dtype='f') < 2**70",
    "x = cp.array([True]) < 2**70",
    "x = cp.equal(cp.arange(3, dtype='b'), 300)",
    "x = cp.less(300, cp.arange(3, dtype='b'))",
    "x = cp.maximum(cp.arange(3, dtype='b'), 300)",
    "x = cp.arange(3, dtype='b') + 300",
    "x = cp.where(cp.arange(3, dtype='b') < 300, 1, 0)",
    "x = cp.greater(cp.arange(3, dtype='b'), 300, dtype='?')",
    "x = cp.ones(2, '?') == 2**63\ny = cp.ones(2, '?') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, '?'))",
    "x = cp.ones(2, '?') == 2**64\ny = cp.ones(2, '?') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, '?'))",
    "x = cp.ones(2, '?') == -2**63 - 1\ny = cp.ones(2, '?') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, '?'))",
    "x = cp.ones(2, '?') == 2**64 - 1\ny = cp.ones(2, '?') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, '?'))",
    "x = cp.ones(2, 'b') == 2**63\ny = cp.ones(2, 'b') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'b'))",
    "x = cp.ones(2, 'b') == 2**64\ny = cp.ones(2, 'b') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'b'))",
    "x = cp.ones(2, 'b') == -2**63 - 1\ny = cp.ones(2, 'b') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'b'))",
    "x = cp.ones(2, 'b') == 2**64 - 1\ny = cp.ones(2, 'b') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'b'))",
    "x = cp.ones(2, 'B') == 2**63\ny = cp.ones(2, 'B') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'B'))",
    "x = cp.ones(2, 'B') == 2**64\ny = cp.ones(2, 'B') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'B'))",
    "x = cp.ones(2, 'B') == -2**63 - 1\ny = cp.ones(2, 'B') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'B'))",
    "x = cp.ones(2, 'B') == 2**64 - 1\ny = cp.ones(2, 'B') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'B'))",
    "x = cp.ones(2, 'h') == 2**63\ny = cp.ones(2, 'h') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'h'))",
    "x = cp.ones(2, 'h') == 2**64\ny = cp.ones(2, 'h') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'h'))",
    "x = cp.ones(2, 'h') == -2**63 - 1\ny = cp.ones(2, 'h') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'h'))",
    "x = cp.ones(2, 'h') == 2**64 - 1\ny = cp.ones(2, 'h') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'h'))",
    "x = cp.ones(2, 'H') == 2**63\ny = cp.ones(2, 'H') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'H'))",
    "x = cp.ones(2, 'H') == 2**64\ny = cp.ones(2, 'H') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'H'))",
    "x = cp.ones(2, 'H') == -2**63 - 1\ny = cp.ones(2, 'H') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'H'))",
    "x = cp.ones(2, 'H') == 2**64 - 1\ny = cp.ones(2, 'H') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'H'))",
    "x = cp.ones(2, 'i') == 2**63\ny = cp.ones(2, 'i') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'i'))",
    "x = cp.ones(2, 'i') == 2**64\ny = cp.ones(2, 'i') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'i'))",
    "x = cp.ones(2, 'i') == -2**63 - 1\ny = cp.ones(2, 'i') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'i'))",
    "x = cp.ones(2, 'i') == 2**64 - 1\ny = cp.ones(2, 'i') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'i'))",
    "x = cp.ones(2, 'I') == 2**63\ny = cp.ones(2, 'I') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'I'))",
    "x = cp.ones(2, 'I') == 2**64\ny = cp.ones(2, 'I') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'I'))",
    "x = cp.ones(2, 'I') == -2**63 - 1\ny = cp.ones(2, 'I') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'I'))",
    "x = cp.ones(2, 'I') == 2**64 - 1\ny = cp.ones(2, 'I') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'I'))",
    "x = cp.ones(2, 'l') == 2**63\ny = cp.ones(2, 'l') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'l'))",
    "x = cp.ones(2, 'l') == 2**64\ny = cp.ones(2, 'l') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'l'))",
    "x = cp.ones(2, 'l') == -2**63 - 1\ny = cp.ones(2, 'l') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'l'))",
    "x = cp.ones(2, 'l') == 2**64 - 1\ny = cp.ones(2, 'l') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'l'))",
    "x = cp.ones(2, 'L') == 2**63\ny = cp.ones(2, 'L') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'L'))",
    "x = cp.ones(2, 'L') == 2**64\ny = cp.ones(2, 'L') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'L'))",
    "x = cp.ones(2, 'L') == -2**63 - 1\ny = cp.ones(2, 'L') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'L'))",
    "x = cp.ones(2, 'L') == 2**64 - 1\ny = cp.ones(2, 'L') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'L'))",
    "x = cp.ones(2, 'e') == 2**63\ny = cp.ones(2, 'e') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'e'))",
    "x = cp.ones(2, 'e') == 2**64\ny = cp.ones(2, 'e') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'e'))",
    "x = cp.ones(2, 'e') == -2**63 - 1\ny = cp.ones(2, 'e') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'e'))",
    "x = cp.ones(2, 'e') == 2**64 - 1\ny = cp.ones(2, 'e') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'e'))",
    "x = cp.ones(2, 'f') == 2**63\ny = cp.ones(2, 'f') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'f'))",
    "x = cp.ones(2, 'f') == 2**64\ny = cp.ones(2, 'f') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'f'))",
    "x = cp.ones(2, 'f') == -2**63 - 1\ny = cp.ones(2, 'f') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'f'))",
    "x = cp.ones(2, 'f') == 2**64 - 1\ny = cp.ones(2, 'f') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'f'))",
    "x = cp.ones(2, 'd') == 2**63\ny = cp.ones(2, 'd') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'd'))",
    "x = cp.ones(2, 'd') == 2**64\ny = cp.ones(2, 'd') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'd'))",
    "x = cp.ones(2, 'd') == -2**63 - 1\ny = cp.ones(2, 'd') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'd'))",
    "x = cp.ones(2, 'd') == 2**64 - 1\ny = cp.ones(2, 'd') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'd'))",
    "x = cp.ones(2, 'F') == 2**63\ny = cp.ones(2, 'F') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'F'))",
    "x = cp.ones(2, 'F') == 2**64\ny = cp.ones(2, 'F') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'F'))",
    "x = cp.ones(2, 'F') == -2**63 - 1\ny = cp.ones(2, 'F') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'F'))",
    "x = cp.ones(2, 'F') == 2**64 - 1\ny = cp.ones(2, 'F') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'F'))",
    "x = cp.ones(2, 'D') == 2**63\ny = cp.ones(2, 'D') <= 2**63\nz = cp.not_equal(2**63, cp.ones(2, 'D'))",
    "x = cp.ones(2, 'D') == 2**64\ny = cp.ones(2, 'D') <= 2**64\nz = cp.not_equal(2**64, cp.ones(2, 'D'))",
    "x = cp.ones(2, 'D') == -2**63 - 1\ny = cp.ones(2, 'D') <= -2**63 - 1\nz = cp.not_equal(-2**63 - 1, cp.ones(2, 'D'))",
    "x = cp.ones(2, 'D') == 2**64 - 1\ny = cp.ones(2, 'D') <= 2**64 - 1\nz = cp.not_equal(2**64 - 1, cp.ones(2, 'D'))",
)

ask(
    "grids and indices",
    "x = cp.mgrid[0:3]",
    "x = cp.mgrid[:3]",
    "x = cp.mgrid[0:3, 0:2]",
    "x = cp.mgrid[-1:1:5j]",
    "x = cp.mgrid[:2, 1:3]",
    "x = cp.mgrid[0:1:3j, 0:2]",
    "x = cp.mgrid[0:1:0.25]",
    "x = cp.ogrid[0:3, 0:2]",
    "x = cp.ogrid[-1:1:5j, 0:2:3j]",
    "x = cp.ogrid[:3]",
    "x = cp.ogrid[0:3.5]",
    "x = len(cp.mgrid)",
    "x = cp.mgrid[0:1:1j]",
    "x = cp.mgrid[:]",
    "x = cp.mask_indices(3, cp.triu)",
    "x = cp.mask_indices(3, cp.tril, 1)",
    "x = cp.mgrid[0:1:0.3, 0:2:0.5]",
    "x = cp.ogrid[0:3, -1:1:3j, 2:5:2]",
    "x = cp.mgrid[1:3:1.5]",
    "x = cp.ogrid[0:1:3j]",
    "x = cp.mgrid[0:3, 0:2].dtype.name",
    "x = len(cp.ogrid)",
    "x = cp.mgrid[0:2:3j, 0:1]",
    "x = cp.mgrid[3]",
    "x = cp.mgrid[0:5:2]",
    "x = cp.ogrid[5:0:-2]",
)

ask(
    "polynomials",
    "x = cp.poly1d([1, 2, 3])",
    "x = cp.poly1d([1, 2, 3])(2)",
    "x = cp.poly1d(cp.array([1., 2, 3])).coeffs",
    "x = cp.poly1d([1, 2, 3]).order",
    "x = cp.poly1d([1, 2]) * cp.poly1d([1, 2])",
    "x = cp.poly1d([1, 2]) + 1",
    "x = (cp.poly1d([1, 2]) ** 2).c",
    "x = cp.poly1d([1, 2, 3])(cp.arange(3))",
    "x = cp.poly1d([1, 2, 3])[0]",
    "x = cp.poly1d([1, -3, 2]).deriv()",
    "x = cp.poly1d([1, -3, 2]).integ()",
    "x = cp.poly([1, 2])",
    "x = cp.polyval([1, 2, 3], 2)",
    "x = cp.polyval(cp.array([1, 2, 3]), 2)",
    "x = cp.polyval(cp.poly1d([1, 2]), cp.arange(3))",
    "x = cp.polyadd(cp.poly1d([1]), cp.poly1d([1, 2]))",
    "x = cp.poly1d([0, 0, 1])",
    "x = cp.poly1d(cp.poly1d([1, 2]))",
    "x = str(cp.poly1d([1, 2, 3]))",
    "x = cp.poly1d([1, 2, 3], variable='z').variable",
    "x = cp.poly1d([1, 2], True)",
    "x = cp.poly1d([1, 2]) == cp.poly1d([1, 2])",
    "x = len(cp.poly1d([1, 2, 3]))",
    "x = cp.poly1d([1, 2]) / 2",
    "x = -cp.poly1d([1, 2])",
    "p = cp.poly1d([1., 2., 3.])\np[5] = 4\np[0] = 7\nx = p.c\ny = p.order",
    "p = cp.poly1d([1, 2])\np.set(np.poly1d([3, 4, 5]))\nx = p.c",
    "p = cp.poly1d([1, 2])\nx = p - 1\ny = 1 - p\nz = 2 * p\nw = p * 2",
    "x = [each for each in cp.poly1d([1, 2, 3])]",
    "x = cp.poly1d([[1, 2]])",
    "x = cp.poly1d(3)",
    "x = cp.poly1d(cp.array([1, 2, 3]))(cp.poly1d([1, 1]))",
    "x = cp.polymul(cp.poly1d([1, 2]), cp.array([1, 2]))",
    "x = cp.poly1d([1, 2]) + cp.array([1, 2, 3])",
    "x = cp.poly1d([1, 2]) ** -1",
    "x = cp.poly1d([1, 2]) == 3",
    "x = cp.poly1d([1, 2]) != cp.poly1d([1, 3])",
    "x = cp.poly1d([1, 2])[-1]",
    "x = cp.poly1d([1, 2])[9]",
    "x = cp.poly1d([1, 2]).coeffs = 3",
    "p = cp.poly1d([1, 2])\np.coeffs = cp.array([5, 6])\nx = p.c",
    "x = cp.polyadd([1, 2], [3])",
    "x = cp.polyadd(cp.array([1, 2]), cp.array([3]))",
    "x = cp.polysub(cp.poly1d([1, 2]), 3)",
    "x = cp.polyval(cp.poly1d([1, 2]), 3)",
    "x = cp.polyval(cp.array([1, 2]), [1, 2])",
    "x = cp.polyval(cp.array([1, 2]), cp.poly1d([1, 2]))",
    "x = cp.asarray(cp.poly1d([1, 2]).c)",
    "x = str(cp.poly1d([1., -2.5, 0, 3]))",
    "x = repr(cp.poly1d([1., -2.5, 0, 3]))",
    "x = cp.poly1d([1, 2]).get().c",
)

ask(
    "requirements and strides",
    "x = cp.require(cp.ones((2, 2)), dtype='f', requirements=['F']).flags.f_contiguous",
    "x = cp.require([1, 2], requirements='C')",
    "x = cp.require(cp.arange(3), requirements=['O']).flags.owndata",
    "x = cp.require(cp.ones((2, 2)), requirements=['C', 'F'])",
    "x = cp.require(cp.arange(3), requirements=['X'])",
    "x = cp.require(cp.arange(3)[1:], requirements='OWNDATA').base",
    "x = cp.require(cp.arange(3), requirements=[])",
    "x = cp.ndarray((2, 3), dtype='f', strides=(4, 8)).strides",
    "x = cp.ndarray((2, 3), 'f', None, (4, 8)).flags.f_contiguous",
    "x = cp.ndarray((2,), dtype='f', strides=(-4,))",
    "x = cp.ndarray((2,), dtype='f', strides=(8,))",
    "x = cp.ndarray((2, 2), dtype='f', strides=(0, 4)).strides",
    "x = cp.ndarray((2, 2), dtype='f', strides=(4,))",
    "x = cp.require(cp.arange(4).reshape(2, 2), requirements='F').flags.f_contiguous",
    "x = cp.require(cp.arange(4).reshape(2, 2).T, 'f', ['C_CONTIGUOUS', 'OWNDATA']).flags.owndata",
    "x = cp.require(cp.arange(3), requirements='A')",
    "x = cp.require(np.arange(3), requirements=['F_CONTIGUOUS'])",
    "x = cp.require([1, 2])",
    "y = cp.arange(6.)\nx = cp.ndarray((2, 2), 'd', y.data, (8, 16))",
    "y = cp.arange(6.)\nx = cp.ndarray((2, 2), 'd', memptr=y.data + 8, strides=(16, 8))",
)

ask(
    "inputs that may be overwritten",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.median(x, overwrite_input=True)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.median(x, axis=1, overwrite_input=True)",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.median(x, overwrite_input=False)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.median(x, axis=0, overwrite_input=True)",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.percentile(x, 50, overwrite_input=True)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.percentile(x, 50, axis=1, overwrite_input=True)",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.percentile(x, 50, overwrite_input=False)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.percentile(x, 50, axis=0, overwrite_input=True)",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.quantile(x, 0.5, overwrite_input=True)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.quantile(x, 0.5, axis=1, overwrite_input=True)",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.quantile(x, 0.5, overwrite_input=False)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.quantile(x, 0.5, axis=0, overwrite_input=True)",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.nanmedian(x, overwrite_input=True)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.nanmedian(x, axis=1, overwrite_input=True)",
    "x = cp.array([3., 1, 2, 5, 4])\ny = cp.nanmedian(x, overwrite_input=False)",
    "x = cp.array([[3., 1, 2], [5, 0, 4]])\ny = cp.nanmedian(x, axis=0, overwrite_input=True)",
    "x = cp.array([3, 1, 2, 5, 4])[::2]\ny = cp.median(x, overwrite_input=True)",
    "x = cp.array([3, 1, 2], 'i')\ny = cp.percentile(x, [25, 75], overwrite_input=True)",
)

SUBCLASS = """
class A(cp.ndarray):
    def __new__(cls, value, info='none'):
        made = cp.asarray(value).view(cls)
        made.info = info
        return made
    def __array_finalize__(self, obj):
        self.info = 'new' if obj is None else getattr(obj, 'info', 'of ' + type(obj).__name__)
"""
OF_A_SUBCLASS = [
    "a[1:]",
    "a[0]",
    "a[...]",
    "a[None]",
    "a[:,0]",
    "a+1",
    "cp.ones(3)+a",
    "1-a",
    "a*a",
    "a.view()",
    "a.view('i8')",
    "a.view(cp.ndarray)",
    "a.view(type=cp.ndarray)",
    "a.view('f4')",
    "cp.arange(2).view(A)",
    "cp.arange(2).view(type=A)",
    "a.copy()",
    "a.astype('f')",
    "a.astype('d',copy=False)",
    "a.reshape(-1)",
    "a.T",
    "a.transpose(1,0)",
    "a.sum()",
    "a.sum(axis=0)",
    "a.mean(0)",
    "a.max()",
    "a.argmax(0)",
    "cp.sin(a)",
    "cp.exp(a)",
    "a[cp.array([0])]",
    "a[a>2]",
    "a.ravel()",
    "a.T.ravel()",
    "a.flatten()",
    "a.dot(cp.ones(3))",
    "a@cp.ones(3)",
    "a<2",
    "a==a",
    "cp.concatenate([a,a])",
    "cp.stack([a,a])",
    "cp.array(a)",
    "cp.asarray(a)",
    "cp.asanyarray(a)",
    "cp.ascontiguousarray(a)",
    "cp.zeros_like(a)",
    "a.squeeze()",
    "a.real",
    "a.imag",
    "next(iter(a))",
    "a.clip(0,1)",
    "cp.clip(a,0,1)",
    "a.cumsum()",
    "a.take([0])",
    "cp.where(a>1,a,0)",
    "cp.where(cp.ones(3,'?'),0,a)",
    "cp.sort(a)",
    "a.diagonal()",
    "cp.diag(a)",
    "cp.expand_dims(a,0)",
    "cp.broadcast_to(a,(2,2,3))",
    "a.round()",
    "cp.around(a)",
    "-a",
    "abs(a)",
    "+a",
    "cp.split(a,2)[0]",
    "cp.flip(a)",
    "a.swapaxes(0,1)",
    "cp.moveaxis(a,0,1)",
    "cp.add(a,1,out=cp.zeros((2,3)))",
    "cp.add(cp.ones((2,3)),1,out=a)",
    "a.conj()",
    "a.repeat(2)",
    "cp.tile(a,2)",
    "cp.roll(a,1)",
    "cp.maximum(a,2)",
    "cp.divmod(a,2)[1]",
    "cp.modf(a)[0]",
    "a.fill(3)",
    "cp.copy(a)",
    "cp.nan_to_num(a)",
    "a.T.reshape(6)",
    "cp.linalg.norm(a)",
    "cp.percentile(a,50)",
    "cp.atleast_3d(a)",
    "cp.atleast_1d(a)",
    "cp.squeeze(a[None])",
    "cp.rollaxis(a,1)",
    "cp.tril(a)",
    "cp.fix(a)",
    "cp.isnan(a)",
    "a.__iadd__(1)",
    "a.__getitem__(0)",
    "a.nonzero()[0]",
    "a.searchsorted(cp.ones(1))",
    "cp.unique(a)",
    "cp.broadcast_arrays(a,cp.ones((2,3)))[0]",
    "cp.hstack([a,a])",
    "A([1,2],'x')",
    "A(a,'y')",
    "A(a)",
    "cp.ndarray.__new__(A,(2,),dtype='f') * 0",
    "A(cp.ones(3),'first')*A(cp.ones(3),'second')",
    "cp.logical_not(a)",
    "a**2",
    "a//2",
    "2**a",
]
ask(
    "subclasses of ndarray",
    *(
        f"{SUBCLASS.strip()}\na = A(cp.arange(6.).reshape(2, 3), 'mine')\nb = {each}\nx = b\ny = type(b).__name__\nz = getattr(b, 'info', None)"
        for each in OF_A_SUBCLASS
    ),
    f"{SUBCLASS.strip()}\na = cp.arange(3).view(A)\nx = isinstance(a, cp.ndarray)\ny = a.base is not None\nz = a.flags.owndata",
    "x = cp.arange(3).view(type=list)",
    "x = cp.arange(3).view(cp.ndarray, cp.ndarray)",
    "x = cp.arange(3).view(cp.float64, cp.ndarray)",
    f"{SUBCLASS.strip()}\na = cp.arange(3).view(A)\na.more = 5\nx = a.more",
    "a = cp.arange(3)\na.more = 5",
)

ask(
    "fused sums without NaN",
    *(
        f"@cp.fuse()\ndef f(x, y):\n    return cp.{name}(x * y)\nz = f(cp.array([1., {value}, 3.]), cp.array([2., 2., 2.]))"
        for name in (
            "nansum",
            "nanprod",
            "nanmax",
            "sum",
            "amax",
            "mean",
            "cumsum",
            "count_nonzero",
            "ptp",
            "argmax",
            "var",
        )
        for value in ("np.nan", "2.")
    ),
    "@cp.fuse()\ndef f(x):\n    return cp.nansum(x, axis=0)\nz = f(cp.array([[1., 2.], [3., 4.]]))",
    "@cp.fuse()\ndef f(x):\n    return cp.nanprod(x, axis=1)\nz = f(cp.array([[1, 2], [3, 4]]))",
)

ask(
    "what CuPy's own tests found",
    "a, b = cp.zeros(3)[:, None], cp.ones(3)[:, None]\nx = cp.mgrid[a:b:4j]\ny = cp.ogrid[a:b:4j, a:b:4j]",
    "x = cp.mgrid[np.int64(0):np.int64(3)]\ny = cp.mgrid[0:3:1.0, np.float32(0):2]",
    "x = cp.add(cp.poly1d([1, 2]), 1)\ny = cp.power(cp.poly1d([1, 2]), cp.array([2, 2]))\nz = cp.asarray(cp.poly1d([1, 2]))",
    "x = (cp.poly1d([1.5, 2]) ** 0).c",
    *(
        f"@cp.fuse()\ndef f(x):\n    return cp.{name}(x)\nz = f(cp.array([0.5 + 0.25j, -0.5j]))"
        for name in ("isfinite", "arcsin", "log1p", "imag", "exp", "abs", "angle")
    ),
    "@cp.fuse()\ndef f(x):\n    return cp.around(x)\nz = f(cp.array([0.5, 1.5, -2.25]))",
    "x = cp.dot(cp.ones((2, 2)), cp.ones((2, 2)), out=cp.zeros(4))",
    "x = cp.dot(cp.ones((2, 2)), cp.ones((2, 2)), out=cp.zeros((2, 2), 'f'))",
    "x = cp.dot(cp.ones((2, 2)), cp.ones((2, 2)), out=cp.zeros((2, 2), order='F'))",
    "x = cp.vander([1, 2, 3])\ny = cp.vander((1, 2), 3, True)\nz = cp.diagflat(3, 1)",
    "x = cp.vander(3)",
    "x = cp.meshgrid()\ny = cp.meshgrid(cp.arange(2))",
    "x = cp.meshgrid(cp.arange(2), index='ij')",
    "x = cp.r_['r', 1]",
    "x = cp.r_[0:3]",
    "x = cp.select([], [])",
    "x = cp.select([cp.array([True, False])], [cp.array([1, 2])], cp.array(5))",
    "x = cp.select([cp.array([1, 0])], [cp.array([1, 2])])",
    "x = cp.isin(cp.arange(3), [1, 2])",
    "x = cp.in1d(cp.arange(3), 1)",
    "x = cp.asarray(np.arange(3, dtype='>i4'))\ny = cp.asarray([1, 2], dtype='>i4')",
    "x = cp.apply_over_axes(cp.sum, cp.arange(24).reshape(2, 3, 4), [0, 2])",
    "x = cp.apply_along_axis(lambda v: (v.sum(), v.max()), 0, cp.arange(6).reshape(2, 3))",
    *(
        f"x = cp.zeros_like(cp.ones((2, 3, 4), order='F'), shape={shape}, order='{order}')"
        for shape in ("(3, 4)", "(4, 3, 2)", "6")
        for order in "KACF"
    ),
)
