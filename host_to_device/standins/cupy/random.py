"""CuPy's `cupy.random`: its names, signatures and dtypes, with NumPy's numbers.

The same seed gives the same numbers again, but not those that cuRAND gives on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, adopt, check_dtype, made_on_device, upload
from host_to_device.standins.cupy.forwarding import signature
from host_to_device.standins.cupy.names import public, raise_missing

_FLOATS, _INTEGERS, _LONGS = "size=None, dtype=float", "size=None, dtype=int", "size=None, dtype='l'"

# The distributions of RandomState by their parameters, as CuPy has them; then size and dtype.
_DISTRIBUTIONS = {
    "beta": f"a, b, {_FLOATS}",
    "binomial": f"n, p, {_INTEGERS}",
    "chisquare": f"df, {_FLOATS}",
    "dirichlet": f"alpha, {_FLOATS}",
    "exponential": f"scale=1.0, {_FLOATS}",
    "f": f"dfnum, dfden, {_FLOATS}",
    "gamma": f"shape, scale=1.0, {_FLOATS}",
    "geometric": f"p, {_LONGS}",
    "gumbel": f"loc=0.0, scale=1.0, {_FLOATS}",
    "hypergeometric": f"ngood, nbad, nsample, {_LONGS}",
    "laplace": f"loc=0.0, scale=1.0, {_FLOATS}",
    "logistic": f"loc=0.0, scale=1.0, {_FLOATS}",
    "lognormal": f"mean=0.0, sigma=1.0, {_FLOATS}",
    "logseries": f"p, {_LONGS}",
    "negative_binomial": f"n, p, {_INTEGERS}",
    "noncentral_chisquare": f"df, nonc, {_FLOATS}",
    "noncentral_f": f"dfnum, dfden, nonc, {_FLOATS}",
    "normal": f"loc=0.0, scale=1.0, {_FLOATS}",
    "pareto": f"a, {_FLOATS}",
    "poisson": f"lam=1.0, {_LONGS}",
    "power": f"a, {_FLOATS}",
    "random_sample": _FLOATS,
    "rayleigh": f"scale=1.0, {_FLOATS}",
    "standard_cauchy": _FLOATS,
    "standard_exponential": _FLOATS,
    "standard_gamma": f"shape, {_FLOATS}",
    "standard_normal": _FLOATS,
    "standard_t": f"df, {_FLOATS}",
    "triangular": f"left, mode, right, {_FLOATS}",
    "uniform": f"low=0.0, high=1.0, {_FLOATS}",
    "vonmises": f"mu, kappa, {_FLOATS}",
    "wald": f"mean, scale, {_FLOATS}",
    "weibull": f"a, {_FLOATS}",
    "zipf": f"a, {_INTEGERS}",
}

# Those of Generator.
_OF_GENERATOR = {
    "beta": "a, b, size=None, dtype=np.float64",
    "binomial": "n, p, size=None",
    "chisquare": "df, size=None",
    "dirichlet": "alpha, size=None",
    "exponential": "scale=1.0, size=None",
    "f": "dfnum, dfden, size=None",
    "gamma": "shape, scale=1.0, size=None",
    "geometric": "p, size=None",
    "hypergeometric": "ngood, nbad, nsample, size=None",
    "integers": "low, high=None, size=None, dtype=np.int64, endpoint=False",
    "logseries": "p, size=None",
    "poisson": "lam=1.0, size=None",
    "power": "a, size=None",
    "random": "size=None, dtype=np.float64, out=None",
    "standard_exponential": "size=None, dtype=np.float64, method='inv', out=None",
    "standard_gamma": "shape, size=None, dtype=np.float64, out=None",
    "standard_normal": "size=None, dtype=np.float64, out=None",
    "uniform": "low=0.0, high=1.0, size=None, dtype=np.float64",
}


def _host(value: Any) -> Any:
    """Return a distribution's parameter for NumPy."""
    return value._array if isinstance(value, Base) else value


def _checked(dtype: Any, default: str) -> np.dtype:
    """Return the dtype of a sample; distributions of floats give float32 and float64 only."""
    dtype = check_dtype(dtype)
    if default == "float" and dtype.char not in "fd":
        raise TypeError("cupy.random only supports float32 and float64")
    return dtype


def _of_state(name: str, text: str) -> Callable:
    """Return the method of RandomState that draws from a distribution."""
    parameters = signature(text)
    default = text.rpartition("dtype=")[2]

    def draw(self: RandomState, *args: Any, **kwargs: Any) -> Any:
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        values = {key: _host(value) for key, value in bound.arguments.items()}
        dtype = _checked(values.pop("dtype"), default)
        for key in ("scale", "sigma"):
            if key in values and np.any(np.asarray(values[key]) < 0):
                raise ValueError(f"{key} < 0")
        size = values.pop("size")
        sample = getattr(self._state, name)(*values.values(), size=size)
        return adopt(upload(np.asarray(sample).astype(dtype), name))

    draw.__name__, draw.__qualname__ = name, f"RandomState.{name}"
    draw.__doc__ = (
        f"Return a sample of the distribution `{name}`; parameters as in NumPy, and the sample's dtype."
    )
    draw.__signature__ = signature(f"self, {text}")
    return draw


class RandomState:
    """The older generator of random numbers, which the module's functions use.

    Parameters
    ----------
    seed
        Integer, or None for an arbitrary seed.
    method
        Ignored here.
    """

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        self.seed(seed)

    def seed(self, seed: Any = None) -> None:
        """Set the seed."""
        if isinstance(seed, np.ndarray | list):
            seed = abs(hash(np.asarray(seed).tobytes())) % (1 << 32)
        elif seed is not None:
            try:
                seed = int(np.asarray(seed, np.int64 if not isinstance(seed, float) else float))
            except (TypeError, ValueError):
                raise TypeError("Seed must be an integer.") from None
            if seed < 0 or seed >= 1 << 32:
                raise ValueError("Seed must be an integer between 0 and 2**32 - 1")
        self._state = np.random.RandomState(seed)

    def rand(self, *size: int, **kwarg: Any) -> Any:
        """Return numbers from 0 to 1, evenly distributed."""
        return self.random_sample(size or None, **_only_dtype("rand", kwarg))

    def randn(self, *size: int, **kwarg: Any) -> Any:
        """Return numbers with mean 0 and variance 1, normally distributed."""
        return self.standard_normal(size or None, **_only_dtype("randn", kwarg))

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Return integers from `low`, below `high`."""
        low, high = _host(low), _host(high)
        if high is None:
            low, high = 0, low
        if np.any(np.asarray(low) >= np.asarray(high)):
            raise ValueError("low >= high")
        dtype = check_dtype(dtype)
        limits = np.iinfo(dtype)
        if np.min(low) < limits.min:
            raise ValueError(f"low is out of bounds for {dtype}")
        if np.max(high) > limits.max + 1:
            raise ValueError(f"high is out of bounds for {dtype}")
        return adopt(upload(np.asarray(self._state.randint(low, high, size, dtype.type))))

    def tomaxint(self, size: Any = None) -> Any:
        """Return integers from 0 to the largest of the host's C `long`."""
        return adopt(upload(np.asarray(self._state.tomaxint(size))))

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Return elements of a vector, or integers below a number, drawn at random."""
        if isinstance(a, Base) and a.ndim != 1:
            raise ValueError("a must be 1-dimensional or an integer")
        return adopt(upload(np.asarray(self._state.choice(_host(a), size, replace, _host(p)))))

    def shuffle(self, a: Any) -> None:
        """Reorder an array in place, along its first axis."""
        if not isinstance(a, Base):
            raise TypeError("The array must be cupy.ndarray")
        if a.ndim == 0:
            raise TypeError("An array whose ndim is 0 is not supported")
        self._state.shuffle(a._array)
        events.operated("shuffle")

    def permutation(self, a: Any) -> Any:
        """Return an array reordered, or the numbers below an integer."""
        return adopt(upload(self._state.permutation(_host(a))))

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "ignore",
        tol: float = 1e-08,
        method: str = "cholesky",
        dtype: Any = float,
    ) -> Any:
        """Return vectors, normally distributed with a mean and a covariance."""
        sample = self._state.multivariate_normal(_host(mean), _host(cov), size, check_valid, tol)
        return adopt(upload(sample.astype(_checked(dtype, "float"))))


for _name, _text in _DISTRIBUTIONS.items():
    setattr(RandomState, _name, _of_state(_name, _text))


def _only_dtype(function: str, kwarg: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in kwarg.items() if name != "dtype"}
    if rest:
        raise TypeError(f"{function}() got unexpected keyword arguments {', '.join(rest)}")
    return kwarg


class BitGenerator:
    """A source of random bits; here all of them are NumPy's PCG64.

    Parameters
    ----------
    seed
        Integer, or None for an arbitrary seed.
    size
        Ignored here.
    """

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        self._bits = np.random.PCG64(_host(seed))


class XORWOW(BitGenerator):
    """The generator of bits that `default_rng` uses in CuPy."""


class MRG32k3a(BitGenerator):
    """Another of cuRAND's generators."""


class Philox4x3210(BitGenerator):
    """Another of cuRAND's generators."""


def _of_generator(name: str, text: str) -> Callable:
    """Return the method of Generator that draws from a distribution."""
    parameters = signature(text)

    def draw(self: Generator, *args: Any, **kwargs: Any) -> Any:
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        values = {key: _host(value) for key, value in bound.arguments.items()}
        dtype = values.pop("dtype", None)
        out = values.pop("out", None)
        values.pop("method", None)
        if name == "integers":
            sample = self._generator.integers(**values, dtype=dtype)
        elif name in ("random", "standard_normal", "standard_exponential", "standard_gamma"):
            sample = self._generator.__getattribute__(name)(**values, dtype=_checked(dtype, "float"))
        else:
            sample = getattr(self._generator, name)(*values.values())
        sample = np.asarray(sample) if dtype is None else np.asarray(sample).astype(dtype)
        if out is None:
            return adopt(upload(sample, name))
        bound.arguments["out"]._array[...] = sample
        events.operated(name)
        return bound.arguments["out"]

    draw.__name__, draw.__qualname__ = name, f"Generator.{name}"
    draw.__doc__ = f"Return a sample of the distribution `{name}`; parameters as in NumPy."
    draw.__signature__ = signature(f"self, {text}")
    return draw


class Generator:
    """The newer generator of random numbers, made by `default_rng`.

    Parameters
    ----------
    bit_generator
        Source of its random bits.
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        self.bit_generator = bit_generator
        self._generator = np.random.Generator(bit_generator._bits)


for _name, _text in _OF_GENERATOR.items():
    setattr(Generator, _name, _of_generator(_name, _text))


def default_rng(seed: Any = None) -> Generator:
    """Return a new generator.

    Parameters
    ----------
    seed
        Integer, generator of bits, generator (which is returned), or None.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else XORWOW(seed))


_state: RandomState | None = None


def get_random_state() -> RandomState:
    """Return the generator that the module's functions use."""
    global _state
    if _state is None:
        _state = RandomState()
    return _state


def set_random_state(rs: RandomState) -> None:
    """Set the generator that the module's functions use."""
    global _state
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _state = rs


def seed(seed: Any = None) -> None:
    """Set the seed of the module's generator."""
    get_random_state().seed(seed)


def reset_states() -> None:
    """Drop the module's generator; the next number comes from a new one."""
    global _state
    _state = None


def _of_module(name: str, text: str) -> Callable:
    """Return the module's function that draws from a distribution."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        return getattr(get_random_state(), name)(*args, **kwargs)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = getattr(RandomState, name).__doc__
    draw.__signature__ = signature(text)
    return draw


for _name, _text in _DISTRIBUTIONS.items():
    # CuPy's function asks for the scale, its method does not.
    globals()[_name] = _of_module(_name, _text.replace("=1.0", "") if _name == "exponential" else _text)
random = _of_module("random_sample", _FLOATS)
random.__name__ = "random"
ranf = sample = globals()["random_sample"]


def rand(*size: int, **kwarg: Any) -> Any:
    """Return numbers from 0 to 1, evenly distributed."""
    return get_random_state().rand(*size, **kwarg)


def randn(*size: int, **kwarg: Any) -> Any:
    """Return numbers with mean 0 and variance 1, normally distributed."""
    return get_random_state().randn(*size, **kwarg)


def randint(low: Any, high: Any = None, size: Any = None, dtype: Any = "l") -> Any:
    """Return integers from `low`, below `high`."""
    return get_random_state().randint(low, high, size, dtype)


def random_integers(low: Any, high: Any = None, size: Any = None) -> Any:
    """Return integers from `low` to `high`, both included."""
    if high is None:
        low, high = 1, low
    return randint(low, high + 1, size)


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
    """Return elements of a vector, or integers below a number, drawn at random."""
    return get_random_state().choice(a, size, replace, p)


def shuffle(a: Any) -> None:
    """Reorder an array in place, along its first axis."""
    get_random_state().shuffle(a)


def permutation(a: Any) -> Any:
    """Return an array reordered, or the numbers below an integer."""
    return get_random_state().permutation(a)


def bytes(length: int) -> bytes:
    """Return random bytes, on the host."""
    return get_random_state()._state.bytes(length)


@made_on_device
def multinomial(n: int, pvals: Any, size: Any = None) -> Any:
    """Return the number of occurrences of each outcome in `n` draws."""
    return get_random_state()._state.multinomial(n, pvals, size)


def multivariate_normal(
    mean: Any,
    cov: Any,
    size: Any = None,
    check_valid: str = "ignore",
    tol: float = 1e-08,
    method: str = "cholesky",
    dtype: Any = float,
) -> Any:
    """Return vectors, normally distributed with a mean and a covariance."""
    return get_random_state().multivariate_normal(mean, cov, size, check_valid, tol, method, dtype)


def __getattr__(name: str) -> Any:
    raise_missing("random", name)


def __dir__() -> list[str]:
    return [name for name in public(globals()) if name != "Generator"]  # nor does CuPy list it
