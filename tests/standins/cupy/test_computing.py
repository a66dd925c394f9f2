"""CuPy's functions on the stand-in agree with NumPy's where CuPy says that they do, and differ where it says so."""

import itertools
import warnings

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
import host_to_device.standins.cupy.cupyx as cupyx
from host_to_device.standins.cupy.ufuncs import ALL

DTYPES = ["?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "F", "D"]
RANDOM = np.random.default_rng(3)
A, B = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(4, 5))


def same(device, host, rtol=0):
    assert type(device) is cp.ndarray
    host = np.asarray(host)
    assert device.dtype == host.dtype and device.shape == host.shape
    np.testing.assert_allclose(device.get(), host, rtol=rtol)


def of(dtype):
    return np.array([0, 1, 2, 3, 1], dtype)


@pytest.mark.parametrize("name", [name for name in ALL if isinstance(getattr(np, name, None), np.ufunc)])
def test_ufuncs_give_numpys_values_and_dtypes(name):
    ours, theirs = getattr(cp, name), getattr(np, name)
    tried = 0
    for dtypes in itertools.product(DTYPES, repeat=ours.nin):
        hosts = [of(dtype) for dtype in dtypes]
        if name.startswith("logical_") and any(host.dtype.kind == "c" for host in hosts):
            with pytest.raises(TypeError, match=f"^Wrong type .* of arguments for cupy_{name}$"):
                ours(*map(cp.asarray, hosts))
            continue
        try:
            with np.errstate(all="ignore"):
                expected = theirs(*hosts)
            if name == "reciprocal" and hosts[0].dtype.kind in "iu":
                expected[hosts[0] == 0] = 0  # CuPy's; NumPy's is another on each CPU
        except (TypeError, ValueError):  # of booleans, and integers to negative powers
            continue
        results = ours(*(cp.asarray(host) for host in hosts))
        for result, host in zip(*((x,) if ours.nout == 1 else x for x in (results, expected)), strict=True):
            same(result, host)
        tried += 1
    assert tried


# NEP 50, as CuPy 14: Python's numbers take the array's dtype, NumPy's numbers have their own.
@pytest.mark.parametrize("number", [True, 1, 1.5, 1j, np.float32(2), np.int64(3), np.float64(2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_beside_arrays(dtype, number):
    host = of(dtype)
    same(cp.asarray(host) + number, host + number)
    same(number * cp.asarray(host), number * host)


def test_an_integer_that_does_not_fit_is_refused():
    with pytest.raises(OverflowError, match=r"out of bounds for uint8"):
        cp.ones(3, "u1") + 300


# _kernel.pyx: guess_routine, _get_out_args_from_optionals, ufunc.__call__
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: a & a, TypeError, r"Wrong type \(.*\) of arguments for cupy_bitwise_and"),
        (
            lambda a: cp.add(a, 1, out=cp.zeros(3, "i4")),
            TypeError,
            "Cannot cast output operand from .* 'same_kind'",
        ),
        (lambda a: cp.add(a, a, out=cp.zeros(1)), ValueError, "Out shape is mismatched"),
        (lambda a: cp.add(a, a, where=a), TypeError, "Wrong arguments .*where.*"),
        (
            lambda a: cp.add(a),
            TypeError,
            "Wrong number of arguments for 'cupy_add'. It must be .*, but given 1.",
        ),
        (
            lambda a: a + cp.zeros(4),
            ValueError,
            r"operands could not be broadcast together with shapes \(3,\) \(4,\)",
        ),
        (lambda a: cp.maximum.reduce(a), NotImplementedError, "`cupy_maximum.reduce` is not supported yet"),
        (lambda a: (a > 0) - (a > 0), TypeError, "cupy boolean subtract, .*"),
        (
            lambda a: cp.zeros(0).max(),
            ValueError,
            "zero-size array to reduction operation cupy_max which has no identity",
        ),
        (lambda a: cp.dot(a, np.ones(3)), TypeError, "Argument 'b' has incorrect type .*numpy.ndarray.*"),
        (lambda a: cp.linalg.inv(np.eye(2)), np.linalg.LinAlgError, "cupy.linalg only supports cupy.ndarray"),
        (lambda a: cp.histogram(np.ones(3)), ValueError, "x must be a cupy.ndarray"),
        (lambda a: a.astype("i4", casting="safe"), TypeError, "casting is not supported yet"),
        (lambda a: cp.random.rand(3, dtype="i4"), TypeError, "cupy.random only supports float32 and float64"),
        (lambda a: cp.sort(a, kind="heapsort"), ValueError, "kind can only be None or 'stable'"),
    ],
)
def test_refusals_in_cupys_words(call, error, text):
    with pytest.raises(error, match=f"^{text}$"):
        call(cp.arange(3, dtype="f8"))


def test_out_and_in_place():
    a = cp.arange(3.0)
    out = cp.empty(3)
    assert cp.add(a, 1, out=out) is out and cp.add(a, 1, out) is out
    a += 1
    a *= a
    assert a.tolist() == [1, 4, 9]
    assert cp.sum(a, out=cp.empty(())).shape == ()
    same(cp.add.outer(cp.arange(2), cp.arange(3)), np.add.outer(range(2), range(3)))


def test_division_by_zero_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(cp.arange(3) / 0, np.array([np.nan, np.inf, np.inf]))
        same(cp.arange(3) // 0, np.array([0, 0, 0]))
        same(cp.zeros(0).mean(), np.float64(np.nan))


CALLS = {
    name: (arguments if isinstance(arguments, tuple) else (arguments,))
    for name, arguments in {
        "sum": (A, 0), "prod": A, "mean": (A, 1), "std": A, "var": (A, 0), "max": (A, 1), "min": A, "ptp": A,
        "argmax": (A, 1), "argmin": A, "cumsum": (A, 1), "cumprod": A, "median": (A, 0), "percentile": (A, 30),
        "quantile": (A, 0.2), "average": (A, 0), "nansum": A, "nanmean": A, "nanmax": A, "diff": A, "gradient": A[0],
        "sort": (A, 0), "argsort": A, "lexsort": A[:2], "unique": A, "searchsorted": (np.sort(A[0]), B[0]),
        "where": (A > 0, A, B), "nonzero": A > 0, "argwhere": A > 0, "flatnonzero": A > 0, "extract": (A > 0, A),
        "isclose": (A, A), "isin": (A, B), "clip": (A, -0.5, 0.5), "round": (A, 1), "around": A, "all": A, "any": A,
        "dot": (A, B.T), "matmul": (A, B.T), "vdot": (A, B), "inner": (A, B), "outer": (A, B), "kron": (A, B),
        "tensordot": (A, B.T, 1), "cross": (A[:, :3], B[:, :3]), "trace": A, "diagonal": A, "diag": A[0], "tril": A,
        "triu": A, "flip": A, "fliplr": A, "flipud": A, "roll": (A, 2), "rot90": A, "tile": (A, 2), "repeat": (A, 2),
        "transpose": A, "swapaxes": (A, 0, 1), "moveaxis": (A, 0, 1), "expand_dims": (A, 0), "squeeze": A[:1],
        "ravel": A, "pad": (A, 1), "resize": (A, (3, 3)), "histogram": A, "bincount": np.array([0, 2, 2]),
        "digitize": (A[0], np.array([0.0, 1])), "interp": (A[0], np.arange(3.0), np.arange(3.0)), "cov": A,
        "corrcoef": A, "convolve": (A[0], B[0]), "correlate": (A[0], B[0]), "polyfit": (A[0], B[0], 1),
        "polyval": (A[0], B[0]), "trapezoid": A, "angle": A + 1j * B, "real": A + 1j * B, "nan_to_num": A,
        "delete": (A, 1, 0), "append": (A, B), "take": (A, 2), "select": ([A > 0], [A]), "unwrap": A,
        "packbits": A > 0, "intersect1d": (A, A), "setdiff1d": (A, B), "union1d": (A, B), "count_nonzero": A,
    }.items()
}  # fmt: skip


def device(value):
    if isinstance(value, list):
        return [device(item) for item in value]
    return cp.asarray(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", CALLS)
def test_functions_agree_with_numpy(name):
    if not hasattr(np, name):
        pytest.fail(f"NumPy {np.__version__} has no {name}")
    result = getattr(cp, name)(*device(list(CALLS[name])))
    expected = getattr(np, name)(*CALLS[name])
    pairs = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    for ours, theirs in pairs:
        same(ours, theirs, rtol=1e-12)


def test_joining_and_splitting():
    for name in ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"):
        same(getattr(cp, name)([cp.asarray(A), cp.asarray(B)]), getattr(np, name)([A, B]))
    for ours, theirs in zip(cp.array_split(cp.asarray(A), 3), np.array_split(A, 3), strict=True):
        same(ours, theirs)
    same(cp.einsum("ij,kj->ik", cp.asarray(A), cp.asarray(B)), np.einsum("ij,kj->ik", A, B))
    left, right = cp.broadcast_arrays(cp.arange(3), cp.ones((2, 1)))
    assert left.shape == right.shape == (2, 3)


SQUARE = A[:, :4] @ A[:, :4].T + np.eye(4)


@pytest.mark.parametrize(
    "name",
    [
        "inv",
        "pinv",
        "det",
        "slogdet",
        "cholesky",
        "qr",
        "svd",
        "eigh",
        "eigvalsh",
        "norm",
        "matrix_rank",
        "cond",
    ],
)
def test_linear_algebra_agrees_with_numpy(name):
    result = getattr(cp.linalg, name)(cp.asarray(SQUARE))
    expected = getattr(np.linalg, name)(SQUARE)
    pairs = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    for ours, theirs in pairs:
        same(ours, theirs, rtol=1e-9)
    same(cp.linalg.solve(cp.asarray(SQUARE), cp.asarray(A[:, 0])), np.linalg.solve(SQUARE, A[:, 0]), 1e-9)


# linalg/_util.py: errors of cuSOLVER are ignored unless errstate says otherwise.
def test_a_singular_matrix():
    assert cp.isnan(cp.linalg.inv(cp.zeros((2, 2)))).all()
    with cupyx.errstate(linalg="raise"), pytest.raises(np.linalg.LinAlgError):
        cp.linalg.inv(cp.zeros((2, 2)))
    assert cupyx.geterr()["linalg"] == "ignore"


@pytest.mark.parametrize("name", ["fft", "ifft", "fft2", "fftn", "rfft", "irfft", "hfft", "fftshift"])
def test_transforms_agree_with_numpy(name):
    same(getattr(cp.fft, name)(cp.asarray(A)), getattr(np.fft, name)(A), 1e-9)


def test_transforms_of_single_precision_stay_single():
    assert cp.fft.fft(cp.ones(4, "f4")).dtype == np.complex64


def test_random_numbers():
    cp.random.seed(1)
    first = cp.random.rand(3, 4)
    cp.random.seed(1)
    same(cp.random.rand(3, 4), first.get())
    # difference, "Random methods support dtype argument"
    assert cp.random.randn(2, dtype=np.float32).dtype == np.float32
    assert cp.random.rand().shape == () and cp.random.randint(0, 5, 9).max() < 5
    generator = cp.random.default_rng(2)
    assert type(generator.random(3)) is cp.ndarray and generator.integers(0, 9, 4).dtype == np.int64
    assert generator.standard_normal((2, 2), dtype="f4").dtype == np.float32
    deck = cp.arange(10)
    cp.random.shuffle(deck)
    assert sorted(deck.tolist()) == list(range(10))
    assert cp.random.choice(5, 3, replace=False).shape == (3,)
    with pytest.raises(ValueError, match=r"^low >= high$"):
        cp.random.randint(3, 3)
