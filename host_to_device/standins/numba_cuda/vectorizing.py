"""`@vectorize` and `@guvectorize` for CUDA: a function of elements becomes one that takes whole arrays.

Numba's decorators ask for `CUDAVectorize` and `CUDAGUFuncVectorize` if they get `target="cuda"`. Each signature makes a
kernel whose threads call the learner's function, one for each element. The rules are those of numba-cuda 0.30: an array
must have exactly the type of a signature, a result stays on the device if an argument lies there, and `out=` takes either.
"""

from __future__ import annotations

import importlib
import linecache
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda import declarations, dispatching, inferring, memory
from host_to_device.standins.numba_cuda.allocation import device_array
from host_to_device.standins.numba_cuda.layouts import as_dtype
from host_to_device.standins.numba_cuda.memory import DeviceNDArray, to_device
from host_to_device.standins.numba_cuda.numbas_types import Number
from host_to_device.standins.numba_cuda.settings import HAS_NUMBA
from host_to_device.standins.numba_cuda.streams import stream as new_stream

Kind = tuple[np.dtype, int | None]  # of an argument: its dtype, and the number of axes of an array

# ---- signatures


def read(signature: Any) -> tuple[list[Kind], np.dtype | None]:
    """Return the kinds of a signature's arguments, and the dtype of its result; None if it has none or names none.

    Raises
    ------
    TypeError
        If the signature cannot be read.
    """
    if HAS_NUMBA:
        from numba.core import sigutils

        try:
            arguments, result = sigutils.normalize_signature(signature)
        except Exception as problem:
            raise TypeError(f"the signature {signature!r} cannot be read: {problem}") from None
        kinds = [
            (as_dtype(each.dtype), each.ndim) if hasattr(each, "ndim") else (as_dtype(each), None)
            for each in arguments
        ]
        return kinds, None if str(result) in ("none", "None") else as_dtype(result)
    text = str(signature)
    found = re.findall(r"(\w+)\s*(\[[^\]]*\])?\s*[,)]", text.partition("(")[2])
    if not found:
        raise TypeError(f"the signature {signature!r} cannot be read: write it like 'float32(float32)'")
    _, result = declarations._parsed(text)
    kinds = [
        (declarations._parsed(f"void({name})")[0][0], axes.count(":") if axes else None)
        for name, axes in found
    ]
    return kinds, None if isinstance(result, str) else result


def parse_symbols(text: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the symbols of a general signature's inputs and outputs: `(m,n),(n)->(m)`.

    Raises
    ------
    ValueError
        If it is not written in this way.
    NameError
        If an output has a symbol that no input has.
    """
    plain = re.sub(r"\s", "", text)
    group = r"\((?:[A-Za-z_]\w*(?:,[A-Za-z_]\w*)*,?)?\)"
    if not re.fullmatch(rf"{group}(?:,{group})*->{group}(?:,{group})*", plain):
        raise ValueError(f'bad token in signature "{text}": write it like "(m,n),(n)->(m)"')
    sides = [
        [tuple(filter(None, each.strip("()").split(","))) for each in re.findall(r"\([^)]*\)", side)]
        for side in plain.split("->")
    ]
    known = {symbol for each in sides[0] for symbol in each}
    unknown = sorted({symbol for each in sides[1] for symbol in each} - known)
    if unknown:
        raise NameError(f"undefined output symbols: {','.join(unknown)}")
    return sides[0], sides[1]


def check_identity(identity: Any) -> None:
    if identity not in (None, 0, 1, "reorderable"):
        raise ValueError(f"invalid identity value {identity!r}")


def kernel_of(source: str, name: str, core: Any) -> Any:
    """Return the kernel with this source, which calls `core`; its text is kept where Python looks for sources."""
    file = f"vectorize {name}"
    public = "".join(each if each.isalnum() else "_" for each in name.partition(" ")[0])
    source = source.replace("def elements(", f"def __vectorized_{public}(")
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space: dict[str, Any] = {"__name__": __name__, "cuda": importlib.import_module(__package__), "core": core}
    exec(compile(source, file, "exec"), space)
    return dispatching.jit(space[f"__vectorized_{public}"])


# ---- vectorize


class CUDAVectorize:
    """Collects the signatures of a function of elements; Numba's `vectorize` calls it."""

    def __init__(
        self, func: Callable, identity: Any = None, cache: bool = False, targetoptions: dict | None = None
    ) -> None:
        if cache:
            raise TypeError("caching is not supported")
        for option in targetoptions or {}:
            if option != "nopython":
                raise KeyError(
                    f"Unrecognized options. cuda vectorize target does not support option: '{option}'"
                )
            warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=4)
        check_identity(identity)
        self.py_func = self.pyfunc = func
        self.identity = identity
        self.kernelmap: dict[tuple[np.dtype, ...], tuple[np.dtype, Any]] = {}

    def add(self, sig: Any = None) -> None:
        """Make the kernel of one signature."""
        kinds, result = read(sig)
        core = dispatching.jit(sig, device=True)(self.py_func)
        names = [f"a{k}" for k in range(len(kinds))]
        source = (
            f"def elements({', '.join([*names, 'out'])}):\n"
            "    i = cuda.grid(1)\n"
            "    if i < out.shape[0]:\n"
            f"        out[i] = core({', '.join(f'{name}[i]' for name in names)})\n"
        )
        kernel = kernel_of(source, f"{self.py_func.__name__} of {len(names)}", core)
        dtypes = tuple(dtype for dtype, _ in kinds)
        self.kernelmap[dtypes] = result if result is not None else _result_of(kernel, dtypes), kernel

    def disable_compile(self) -> None:
        """Do nothing: a signature that was not given has no kernel."""

    def build_ufunc(self) -> CUDAUFuncDispatcher:
        return CUDAUFuncDispatcher(self.kernelmap, self.py_func)


def _result_of(kernel: Any, dtypes: tuple[np.dtype, ...]) -> np.dtype:
    """Return the dtype of a function's result for arguments of these types, by Numba's rules."""
    typing = inferring._Typing(kernel.program, [])
    name = next(iter(kernel.program.functions))
    _, kind = typing.version(name, tuple(Number(dtype.str[1:]) for dtype in dtypes))
    if not isinstance(kind, Number):
        raise TypeError(
            f"{name.rpartition('_')[2]}(): the type of its result is not known: give it in the signature"
        )
    return np.dtype(kind.code)


def on_device(value: Any) -> bool:
    return memory.is_cuda_array(value)


def as_device(value: Any) -> DeviceNDArray:
    return value if memory.is_device_memory(value) else memory.as_cuda_array(value)


def _view(array: DeviceNDArray, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceNDArray:
    """Return the same device memory with other axes; a stride of 0 repeats elements."""
    return DeviceNDArray(np.lib.stride_tricks.as_strided(array._array, shape, strides), array.stream)


class CUDAUFuncDispatcher:
    """A function of elements, called with arrays, scalars or device arrays."""

    def __init__(self, types_to_retty_kernels: dict, pyfunc: Callable) -> None:
        self.functions = types_to_retty_kernels
        self.__name__, self.__doc__ = pyfunc.__name__, pyfunc.__doc__

    def __repr__(self) -> str:
        return f"<stand-in ufunc {self.__name__}>"

    def __call__(self, *args: Any, **kws: Any) -> Any:
        """Return the function of every element.

        Parameters
        ----------
        args
            Arrays, device arrays, scalars, or sequences of numbers.
        out
            Array for the result, on the host or on the device.
        stream
            Stream for copies and the launch.

        Raises
        ------
        TypeError
            If no signature has exactly the types of the arrays, or several fit the scalars.
        ValueError
            If the shapes do not fit together.
        """
        stream, out = kws.pop("stream", 0), kws.pop("out", None)
        if kws:
            warnings.warn(f"unrecognized keywords: {', '.join(kws)}", stacklevel=2)
        dtypes = self.resolve(args)
        result, kernel = self.functions[dtypes]
        arrays = broadcast([self.array(*each) for each in zip(args, dtypes, strict=True)])
        shape = arrays[0].shape
        any_device = any(map(on_device, arrays))
        if len(shape) > 1:
            arrays = [_raveled(each, stream) for each in arrays]
        given = [each if on_device(each) else to_device(each, stream=stream) for each in arrays]
        count = arrays[0].shape[0] if shape else _without_axes()
        if out is not None and on_device(out):
            out = as_device(out)
            flat = _raveled(out, stream) if out.ndim > 1 else out
            kernel.forall(count, stream=stream)(*given, flat)
            return flat.reshape(shape)
        if out is not None and (out.shape != (count,) or out.dtype != result):
            raise AssertionError(
                f"out has the shape {out.shape} and dtype {out.dtype}: the result is a one-dimensional array of "
                f"{count} elements of {result} (a device array may have the shape of the arguments)"
            )
        found = device_array((count,), result, stream=stream)
        kernel.forall(count, stream=stream)(*given, found)
        if out is not None:
            return found.copy_to_host(out, stream=stream).reshape(shape)
        return found.reshape(shape) if any_device else found.copy_to_host().reshape(shape)

    def array(self, value: Any, dtype: np.dtype) -> Any:
        """Return an argument as an array, on the host or on the device."""
        if on_device(value):
            return as_device(value)
        return np.array([value], dtype) if _is_scalar(value) else np.asarray(value)

    def resolve(self, args: tuple) -> tuple[np.dtype, ...]:
        """Return the types of the signature for these arguments: a scalar takes the type that a signature wants."""
        given = [
            None
            if _is_scalar(each) and not on_device(each)
            else getattr(each, "dtype", np.asarray(each).dtype)
            if not on_device(each)
            else as_device(each).dtype
            for each in args
        ]
        exact = [
            np.asarray(each).dtype if kind is None else kind for each, kind in zip(args, given, strict=True)
        ]
        fitting: list[tuple[np.dtype, ...]] = []
        if None in given:
            fitting = [
                wanted
                for wanted in self.functions
                if all(map(operator.eq, wanted, exact)) and len(wanted) == len(exact)
            ]
        fitting = fitting or [
            wanted
            for wanted in self.functions
            if len(wanted) == len(given)
            and all(kind is None or kind == each for kind, each in zip(given, wanted, strict=True))
        ]
        if not fitting:
            raise TypeError(
                "No matching version.  GPU ufunc requires array arguments to have the exact types.  This behaves "
                "like regular ufunc with casting='no'."
            )
        if len(fitting) > 1:
            raise TypeError(
                "Failed to resolve ufunc due to ambiguous signature. Too many untyped scalars. "
                "Use numpy dtype object to type tag."
            )
        return fitting[0]

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Return the reduction of a one-dimensional array, in halves: its result has the array's type.

        Raises
        ------
        TypeError
            If the array is empty.
        """
        if len(next(iter(self.functions))) != 2:
            raise AssertionError("must be a binary ufunc")
        if arg.ndim != 1:
            raise AssertionError("must use 1d array")
        if not arg.shape[0]:
            raise TypeError("Reduction on an empty array.")
        if arg.shape[0] == 1:
            return arg[0]
        stream = stream or new_stream()
        with stream.auto_synchronize():
            values = as_device(arg) if on_device(arg) else to_device(arg, stream)
            found = np.zeros((1,), arg.dtype)
            self._reduced(values, stream).copy_to_host(found, stream=stream)
        return found[0]

    def _reduced(self, values: DeviceNDArray, stream: Any) -> DeviceNDArray:
        count = values.shape[0]
        if count % 2:
            most, last = values.split(count - 1)
            found = self._reduced(most, stream) if count > 2 else most
            return self(found, last, out=found, stream=stream)
        left, right = values.split(count // 2)
        self(left, right, out=left, stream=stream)
        return self._reduced(left, stream) if count > 2 else left


def _is_scalar(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.number)


def _without_axes() -> int:
    raise IndexError("tuple index out of range: an array without axes has no elements to go through")


def _raveled(array: Any, stream: Any) -> Any:
    """Return all elements on one axis; those of a device array with gaps go through the host, as Numba sends them."""
    try:
        return array.ravel()
    except NotImplementedError:
        return to_device(array.copy_to_host(stream=stream).ravel(), stream)


def broadcast(arrays: list) -> list:
    """Return the arrays with the axes of all of them, in the order in which they are given.

    Raises
    ------
    ValueError
        If the shapes do not fit; it names the first argument that does not fit those before it.
    """
    shape = arrays[0].shape
    for number, each in enumerate(arrays[1:], start=1):
        try:
            shape = np.broadcast_shapes(shape, each.shape)
        except ValueError:
            raise ValueError(f"failed to broadcast argument #{number}: {shape} and {each.shape}") from None
    return [each if each.shape == shape else _spread(each, shape) for each in arrays]


def _spread(array: Any, shape: tuple[int, ...]) -> Any:
    """Return an array with more elements, by strides of 0, as numba-cuda 0.30 does.

    It compares the axes from the first on and sets the strides from the last on, so that it repeats the first element of
    an array with fewer axes, where NumPy repeats the array. A warning says so.
    """
    repeated = [axis >= array.ndim or array.shape[axis] != size for axis, size in enumerate(shape)]
    steps = [0] * (len(shape) - array.ndim) + list(array.strides)
    numbas = tuple(0 if again else step for again, step in zip(repeated, steps, strict=True))
    own = [1] * (len(shape) - array.ndim) + list(array.shape)
    right = tuple(step if size == wanted else 0 for step, size, wanted in zip(steps, own, shape, strict=True))
    if any(one != other for one, other, size in zip(numbas, right, shape, strict=True) if size > 1):
        warnings.warn(
            f"numba-cuda 0.30 does not repeat an array of shape {array.shape} for {shape} as NumPy does: it takes other "
            f"elements. Give it all axes: array.reshape({tuple(own)})",
            stacklevel=memory.level_of_caller(),
        )
    if on_device(array):
        return _view(array, shape, numbas)
    return np.lib.stride_tricks.as_strided(array, shape, numbas)


# ---- guvectorize


class CUDAGUFuncVectorize:
    """Collects the signatures of a function of parts of arrays; Numba's `guvectorize` calls it."""

    def __init__(
        self,
        func: Callable,
        sig: str,
        identity: Any = None,
        cache: bool = False,
        targetoptions: dict | None = None,
        writable_args: tuple = (),
    ) -> None:
        if cache:
            raise TypeError("caching is not supported")
        if writable_args:
            raise TypeError("writable_args are not supported")
        options = dict(targetoptions or {})
        options.pop("is_dynamic", None)
        if not options.pop("nopython", True):
            raise TypeError("nopython flag must be True")
        if options:
            raise TypeError(
                f"The following target options are not supported: {', '.join(map(repr, options))}"
            )
        check_identity(identity)
        self.py_func = self.pyfunc = func
        self.identity, self.signature = identity, sig
        self.inputsig, self.outputsig = parse_symbols(sig)
        self.kernelmap: dict[tuple[np.dtype, ...], tuple[tuple[np.dtype, ...], Any]] = {}

    def add(self, sig: Any = None) -> None:
        """Make the kernel of one signature."""
        kinds, result = read(sig)
        if result is not None:
            raise TypeError(
                f"guvectorized functions cannot return values: signature {sig} specifies {result} return type"
            )
        axes = [len(each) for each in (*self.inputsig, *self.outputsig)]
        names = [f"a{k}" for k in range(len(axes))]
        parts = []
        for name, count, (_, of_array) in zip(names, axes, kinds, strict=False):
            if count and of_array is None:
                raise ValueError("gufunc signature mismatch: ndim>0 for scalar")
            # A part without axes is a number, or an array of one if the function's own parameter is an array.
            index = ", ".join(["i"] + [":"] * count) if count else "i" if of_array is None else "i:i + 1"
            parts.append(f"{name}[{index}]")
        source = (
            f"def elements({', '.join(names)}):\n"
            "    i = cuda.grid(1)\n"
            f"    if i < min({', '.join(f'{name}.shape[0]' for name in names)}):\n"
            f"        core({', '.join(parts)})\n"
        )
        core = dispatching.jit(device=True)(self.py_func)
        kernel = kernel_of(source, f"{self.py_func.__name__} {self.signature} {axes} {parts}", core)
        dtypes = tuple(dtype for dtype, _ in kinds)
        outputs = len(self.outputsig)
        self.kernelmap[dtypes[:-outputs]] = dtypes[-outputs:], kernel

    def disable_compile(self) -> None:
        """Do nothing: a signature that was not given has no kernel."""

    def build_ufunc(self) -> CUDAGeneralizedUFunc:
        return CUDAGeneralizedUFunc(self.kernelmap, self.inputsig, self.outputsig, self.py_func)


class CUDAGeneralizedUFunc:
    """A function of parts of arrays, called with whole arrays: one thread for each part."""

    def __init__(
        self,
        kernelmap: dict,
        inputs: list[tuple[str, ...]],
        outputs: list[tuple[str, ...]],
        pyfunc: Callable,
    ) -> None:
        self.kernelmap, self.inputs, self.outputs = kernelmap, inputs, outputs
        self.__name__, self.__doc__ = pyfunc.__name__, pyfunc.__doc__

    def __repr__(self) -> str:
        return f"<stand-in generalized ufunc {self.__name__}>"

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0, **_: Any) -> Any:
        """Return the function of every part: an array, or a tuple of them if it has several outputs.

        Parameters
        ----------
        args
            The inputs; the outputs may follow them.
        out
            Array for the output.
        stream
            Stream for copies and the launch.

        Raises
        ------
        TypeError
            If the number of arguments is wrong, or no signature takes their types.
        ValueError
            If the shapes do not fit.
        """
        given, results = self.arguments(args, out)
        all_on_host = not any(map(on_device, (*args, *results)))
        loop, cores, shapes = self.schedule([each.shape for each in given])
        dtypes, (kinds, kernel) = self.kernel_for(tuple(each.dtype for each in given))
        for wanted, result in zip(shapes, results, strict=True):
            if result is not None and result.shape != wanted:
                raise ValueError(f"output shape mismatch: {result.shape}, not {wanted}")
        given = [_as_type(*each) for each in zip(given, dtypes, strict=True)]
        arrays = [
            device_array(shape, kind, stream=stream) if result is None or all_on_host else as_device(result)
            for shape, kind, result in zip(shapes, kinds, results, strict=True)
        ]
        count = math.prod(loop)
        if not count:
            raise AssertionError("zero looping dimension")
        inputs = [as_device(each) if on_device(each) else to_device(each, stream=stream) for each in given]
        parts = [_repeated(each, count, core) for each, core in zip(inputs, cores, strict=True)]
        parts += [
            each.reshape(count, *shape[len(loop) :]) for each, shape in zip(arrays, shapes, strict=True)
        ]
        kernel.forall(count, stream=stream)(*parts)
        if all_on_host:
            found = [
                each.copy_to_host(result, stream=stream) for each, result in zip(arrays, results, strict=True)
            ]
        else:
            found = results if results[0] is not None else arrays
        return found[0] if len(found) == 1 else tuple(found)

    def arguments(self, args: tuple, out: Any) -> tuple[list, list]:
        """Return the inputs as arrays, and the outputs that were given, None for each that was not."""
        takes, gives = len(self.inputs), len(self.outputs)
        if out is None and len(args) not in (takes, takes + gives):

            def words(count: int) -> str:
                return f"{count} positional argument{'s' * (count != 1)}"

            raise TypeError(
                f"This gufunc accepts {words(takes)} (when providing input only) or {words(takes + gives)} "
                f"(when providing input and output). Got {words(len(args))}."
            )
        if out is not None and len(args) > takes:
            raise ValueError("cannot specify argument 'out' as both positional and keyword")
        arrays = [as_device(each) if on_device(each) else np.asarray(each) for each in args]
        results = arrays[takes:] or [out] * gives
        return arrays[:takes], [as_device(each) if on_device(each) else each for each in results]

    def schedule(
        self, shapes: list[tuple[int, ...]]
    ) -> tuple[tuple[int, ...], list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Return the axes to go through, the shape of each input's part, and the shapes of the outputs."""
        sizes: dict[str, int] = {}
        outer, cores = [], []
        for number, (shape, symbols) in enumerate(zip(shapes, self.inputs, strict=True), start=1):
            if len(shape) < len(symbols):
                raise ValueError(f"arg #{number}: insufficient inner dimension")
            outer.append(tuple(shape[: len(shape) - len(symbols)]))
            cores.append(tuple(shape[len(outer[-1]) :]))
            for axis, (size, symbol) in enumerate(zip(cores[-1], symbols, strict=True), len(outer[-1])):
                if sizes.setdefault(symbol, size) != size:
                    raise ValueError(f"arg #{number}: shape[{axis}] mismatch argument")
        loop = outer[int(np.argmax([math.prod(each) for each in outer]))]
        for number, each in enumerate(outer, start=1):
            if each not in (loop, (), (1,)):
                raise ValueError(f"arg #{number}: outer dimension mismatch")
        return loop, cores, [loop + tuple(sizes[symbol] for symbol in each) for each in self.outputs]

    def kernel_for(self, given: tuple[np.dtype, ...]) -> tuple[tuple[np.dtype, ...], tuple]:
        """Return the types of the signature for inputs of these types, its output types and its kernel.

        Without an exact match Numba takes the first signature whose types the inputs' types can hold.
        """
        if given in self.kernelmap:
            return given, self.kernelmap[given]
        for wanted, found in self.kernelmap.items():
            if all(map(np.can_cast, wanted, given)):
                return wanted, found
        raise TypeError(f"no matching signature for {', '.join(map(str, given))}")


def _as_type(value: Any, dtype: np.dtype) -> Any:
    if value.dtype == dtype:
        return value
    if not hasattr(value, "astype"):
        raise TypeError(
            f"compatible signature is possible by casting but {type(value)} does not support .astype()"
        )
    return value.astype(dtype)


def _repeated(array: DeviceNDArray, count: int, core: tuple[int, ...]) -> DeviceNDArray:
    """Return an input with one axis before those of its parts; fewer parts are the same for all threads."""
    if not core and array.size == 1:
        return _view(array, (count,), (0,))
    if array.shape == (count, *core):
        return array
    if array.ndim <= len(core):
        return _view(array, (count, *core), (0, *array.strides))
    return array.reshape(count, *core)


# ---- the decorators


def vectorize(ftylist_or_function: Any = (), target: str = "cuda", **kws: Any) -> Callable:
    """Return a decorator that makes a function of elements into one of arrays: `cuda.vectorize`.

    Parameters
    ----------
    ftylist_or_function
        The signatures, such as `["float32(float32, float32)"]`.
    target
        "cuda".
    """
    if target != "cuda":
        raise ValueError(f"Unsupported target: {target}")
    signatures = _several(ftylist_or_function, "vectorize")

    def wrap(func: Callable) -> CUDAUFuncDispatcher:
        identity, cache = kws.get("identity"), kws.get("cache", False)
        options = {name: value for name, value in kws.items() if name not in ("identity", "cache")}
        made = CUDAVectorize(func, identity, cache, options)
        for each in signatures:
            made.add(each)
        return made.build_ufunc()

    return wrap


def guvectorize(ftylist: Any, signature: str | None = None, target: str = "cuda", **kws: Any) -> Callable:
    """Return a decorator that makes a function of parts of arrays into one of whole arrays: `cuda.guvectorize`.

    Parameters
    ----------
    ftylist
        The signatures of the function, such as `["void(float32[:], float32[:])"]`.
    signature
        The symbols of its axes, such as `"(n)->(n)"`.
    target
        "cuda".
    """
    if target != "cuda":
        raise ValueError(f"Unsupported target: {target}")
    if signature is None:
        raise TypeError("cuda.guvectorize takes the types and the axes: guvectorize([...], '(n)->(n)')")
    signatures = _several(ftylist, "guvectorize")

    def wrap(func: Callable) -> CUDAGeneralizedUFunc:
        known = {name: kws[name] for name in ("identity", "cache", "writable_args") if name in kws}
        options = {name: value for name, value in kws.items() if name not in known}
        made = CUDAGUFuncVectorize(func, signature, **known, targetoptions=options)
        for each in signatures:
            made.add(each)
        return made.build_ufunc()

    return wrap


def _several(signatures: Any, name: str) -> Iterable[Any]:
    if isinstance(signatures, str):
        return [signatures]
    if callable(signatures) and not hasattr(signatures, "args"):
        raise TypeError(f"cuda.{name} needs signatures: write @cuda.{name}(['float32(float32)'])")
    return signatures
