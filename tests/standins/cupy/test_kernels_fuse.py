"""`cupy.fuse` of the stand-in: one kernel for a function, with CuPy's refusals.

"Guide" is CuPy's "Kernel fusion" (docs/source/user_guide/kernel.rst); refusals are those of CuPy 14's
cupy/_core/_fusion_interface.py and fusion.pyx, behaviour that of its tests/cupy_tests/core_tests/fusion_tests.
"""

import numpy as np
import pytest

import host_to_device.standins.cupy as cp

X = np.arange(12.0).reshape(3, 4)
Y = np.arange(12.0, 24.0).reshape(3, 4)


def same(function, *arguments, rtol=1e-12):
    """Check a fused function against the same function on NumPy arrays; return the kernel."""
    fused = cp.fuse(kernel_name="fused")(function)
    on_device = [cp.asarray(each) if isinstance(each, np.ndarray) else each for each in arguments]
    result, expected = fused(*on_device), function(*arguments)
    results, expecteds = (each if isinstance(each, tuple) else (each,) for each in (result, expected))
    assert isinstance(result, tuple) == isinstance(expected, tuple) and len(results) == len(expecteds)
    for got, wanted in zip(results, expecteds, strict=True):
        if wanted is not None:
            assert isinstance(got, cp.ndarray) and got.dtype == wanted.dtype and got.shape == np.shape(wanted)
            np.testing.assert_allclose(got.get(), wanted, rtol=rtol)
    return next(iter(fused._memo.values()))


def with_modules(body):
    """Return a function that calls `body` with the module that fits its arguments."""
    return lambda *arguments: body(
        np if all(isinstance(each, np.ndarray | float | int) for each in arguments) else cp, *arguments
    )


def test_the_guides_example():
    @cp.fuse()
    def squared_diff(x, y):
        """Say something."""
        return (x - y) * (x - y)

    x, y = cp.arange(10), cp.arange(10)[::-1]
    assert squared_diff(x, y).get().tolist() == [81, 49, 25, 9, 1, 1, 9, 25, 49, 81]
    assert squared_diff(np.arange(10), np.arange(10)[::-1]).tolist() == [81, 49, 25, 9, 1, 1, 9, 25, 49, 81]
    assert isinstance(squared_diff(np.arange(3), 1), np.ndarray) and squared_diff(5, 2) == 9
    assert squared_diff.__name__ == "squared_diff" and squared_diff.__doc__ == "Say something."
    assert repr(squared_diff) == "<Fusion 'squared_diff'>"


def test_ways_to_decorate():
    def plain(x):
        return x + x

    for fused in (cp.fuse(plain), cp.fuse()(plain), cp.fuse(kernel_name="doubled")(plain)):
        assert fused(cp.arange(3)).get().tolist() == [0, 2, 4]
    assert cp.fuse(kernel_name="doubled")(plain).name == "doubled"


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y * 2,
        lambda x, y: -x / (y + 1.5) - np.absolute(x - 6),
        lambda x, y: (x > 4) & (y < 20),
        lambda x, y: x**2 % 7 + y // 5,
        lambda x, y: (x + y, y - x, x * y),
        lambda x, y: (x,),
        lambda x, y: 3 - x,
        lambda x, y: x.astype("float32") * 2,
        lambda x, y: x.astype(np.int32) << 2,
        lambda x, y: ~(x > y),
        lambda x, y: np.float32(2) * x,
    ],
)
def test_operators(function):
    assert same(function, X, Y) is not None
    assert same(function, X, Y[0]) is not None
    assert same(function, X, 3.0) is not None


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "f4"])
def test_integers_divide_as_in_python(dtype):
    values = np.array([1, 2, 3, 5, 100], dtype)
    other = np.array([7, 2, 2, 3, 9], dtype)
    same(lambda x, y: (x // y, x % y, x / y, x + 1), values, other, rtol=1e-6)
    if dtype != "u1":
        same(lambda x, y: (-x // y, -x % y), values, other)


@pytest.mark.parametrize(
    "name",
    [
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tanh",
        "floor",
        "ceil",
        "rint",
        "square",
        "sign",
        "negative",
        "absolute",
        "expm1",
        "log1p",
        "arctan",
        "reciprocal",
        "isnan",
    ],
)
def test_functions_of_one_array(name):
    body = with_modules(lambda xp, x: getattr(xp, name)(x))
    assert same(body, X + 0.5) is not None


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "arctan2",
        "hypot",
        "power",
        "fmod",
        "logical_and",
        "less_equal",
        "remainder",
    ],
)
def test_functions_of_two_arrays(name):
    body = with_modules(lambda xp, x, y: getattr(xp, name)(x, y))
    assert same(body, X, Y / 10) is not None


def test_where_and_clip():
    assert same(with_modules(lambda xp, x, y: xp.where(x > 5, x, y)), X, Y) is not None
    assert same(with_modules(lambda xp, x: xp.clip(x, 2, 7)), X) is not None


def test_not_a_number_stays():
    x = np.array([1.0, np.nan, np.inf])
    same(with_modules(lambda xp, x: (xp.maximum(x, 2), xp.minimum(2, x), xp.isnan(x), x == x)), x)


def test_arguments_that_are_changed():
    def twice(x, y):
        x += y
        x *= 2

    x, y = cp.asarray(X), cp.asarray(Y)
    assert cp.fuse(twice)(x, y) is None
    assert x.get().tolist() == ((X + Y) * 2).tolist() and y.get().tolist() == Y.tolist()


def test_out_and_whole_assignments():
    @cp.fuse()
    def into(x, y, z, u):
        cp.add(x, y, out=z)
        u[...] = z - x
        return u

    z, u = cp.zeros((3, 4)), cp.zeros((3, 4))
    assert into(cp.asarray(X), cp.asarray(Y), z, u).get().tolist() == Y.tolist()
    assert z.get().tolist() == (X + Y).tolist() and u.get().tolist() == Y.tolist()


def test_none_is_passed_on():
    @cp.fuse()
    def maybe(x, y, z):
        return x * z if y is None else x + y + z

    x = cp.arange(3)
    assert maybe(x, None, x).get().tolist() == [0, 1, 4]
    assert maybe(x, x, x).get().tolist() == [0, 3, 6]


def test_fused_functions_call_each_other():
    @cp.fuse()
    def inner(x, y):
        return x - y * 2, x + y

    @cp.fuse()
    def outer(x, y):
        first, second = inner(x + y, y * 3)
        return first - second

    x, y = cp.asarray(X), cp.asarray(Y)
    assert outer(x, y).get().tolist() == ((X + Y - Y * 6) - (X + Y + Y * 3)).tolist()
    assert not inner._memo


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions(name, axis):
    body = with_modules(lambda xp, x, y: getattr(xp, name)(x * y / 100, axis=axis))
    assert same(body, X + 1, Y) is not None
    method = with_modules(lambda xp, x, y: getattr(x - y, name)(axis=axis))
    assert same(method, X, Y) is not None


def test_reductions_with_something_after_them():
    body = with_modules(lambda xp, x: xp.sqrt(xp.sum(x, axis=1) + 10) * 2)
    assert same(body, X) is not None
    ints = with_modules(lambda xp, x: xp.sum(x))
    assert same(ints, np.arange(5, dtype=np.int16)) is not None
    booleans = with_modules(lambda xp, x: (x > 3).any(axis=0))
    assert same(booleans, X) is not None


def test_what_one_kernel_cannot_do_runs_step_by_step():
    softmax = with_modules(lambda xp, x: xp.exp(x - x.max(axis=-1, keepdims=True)) / xp.exp(x).sum())
    assert same(softmax, X / 10) is None
    same(lambda x, y: (x + y, y * 2), X, Y[0])  # outputs of two shapes


def test_kernels_are_kept_by_type_and_forgotten_on_request():
    fused = cp.fuse(kernel_name="scaled")(lambda x, a: x * a)
    x = cp.arange(3)
    for second in (1, 2, 2.5, np.float32(2)):
        fused(x, second)
    assert len(fused._memo) == 3
    fused.clear_cache()
    assert fused._memo == {}


def branch(x):
    return x if x > 0 else -x


def loop(x):
    return x + float(x)


def shape(x):
    return x * x.shape[0]


def part(x):
    x[0] = 1


def order(x):
    return x.astype("f4", order="C")


def text(x):
    return "text"


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (branch, TypeError, "Cannot convert to Python scalar in cupy.fuse"),
        (loop, TypeError, "Cannot convert to Python scalar in cupy.fuse"),
        (shape, NotImplementedError, "`shape` is not supported, currently."),
        (part, ValueError, "The fusion supports `[...]` or `[:]`."),
        (order, TypeError, "order is not supported yet"),
        (text, TypeError, "Fusion function can't return <class 'str'>"),
    ],
)
def test_refused(function, error, words):
    with pytest.raises(error) as caught:
        cp.fuse(function)(cp.asarray(X))
    assert str(caught.value) == words


def test_a_lambda_has_no_name_that_the_compiler_takes():
    nameless = cp.fuse(lambda x: x + 1)
    with pytest.raises(cp.cuda.compiler.CompileException) as caught:
        nameless(cp.asarray(X))
    assert "<lambda>" in str(caught.value) and "kernel_name" in str(caught.value)
    with pytest.raises(TypeError, match="Cannot convert to Python scalar"):  # that comes before the compiler
        cp.fuse(lambda x: x if x > 0 else -x)(cp.asarray(X))
    assert nameless(3) == 4


def test_arguments_that_are_refused():
    fused = cp.fuse(lambda x, y: x + y)
    with pytest.raises(TypeError) as caught:
        fused(cp.asarray(X), [1, 2])
    assert str(caught.value).startswith("Invalid argument type for '<lambda>': (<class")
    with pytest.raises(TypeError, match="Unsupported type <class 'numpy\\.ndarray'>"):
        fused(cp.asarray(X), X)


def test_the_modules_functions_are_what_they_were():
    before = {name: getattr(cp, name) for name in ("sum", "where", "copy", "max")}
    with pytest.raises(TypeError):
        cp.fuse(branch)(cp.asarray(X))
    assert all(getattr(cp, name) is value for name, value in before.items())
