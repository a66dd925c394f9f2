"""CuPy's array type: its elements lie in device memory, and only `.get()` or `cupy.asnumpy` copies them to the host."""

from __future__ import annotations

import builtins
import functools
import operator
import pickle
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy import exchange, indexing, methods
from host_to_device.standins.cupy.base import Base, adopt, cast, check_dtype, order_of, reach, view_of
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.cuda.device import Device
from host_to_device.standins.cupy.cuda.memory import MemoryPointer, UnownedMemory, memory_of, new_array
from host_to_device.standins.cupy.cuda.stream import get_current_stream
from host_to_device.standins.cupy.names import NotInStandIn, missing
from host_to_device.standins.cupy.operators import Operators
from host_to_device.standins.cupy.results import COMPLEX_TO_REAL

IMPLICIT = "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
NO_BUFFER = (
    "Accessing a CuPy ndarry on CPU is not allowed except when using system memory (on HMM or ATS enabled systems, need "
    "to set CUPY_ENABLE_UMP=1) or managed memory"
)


class Flags:
    """The layout of an array's elements in memory: `c_contiguous`, `f_contiguous`, `owndata`."""

    def __init__(self, array: ndarray) -> None:
        flags = array._array.flags
        self._values = {
            "C_CONTIGUOUS": flags.c_contiguous,
            "F_CONTIGUOUS": flags.f_contiguous,
            "OWNDATA": array.base is None,
        }

    c_contiguous = property(lambda self: self._values["C_CONTIGUOUS"])
    f_contiguous = property(lambda self: self._values["F_CONTIGUOUS"])
    owndata = property(lambda self: self._values["OWNDATA"])
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)

    def __getitem__(self, name: str) -> bool:
        if name not in self._values:
            raise KeyError(f"{name} is not defined for cupy.ndarray.flags")
        return self._values[name]

    def __repr__(self) -> str:
        return "\n".join(f"  {name} : {value}" for name, value in self._values.items())


class ndarray(Operators, methods.Calculation, Base):
    """An array on the device.

    Parameters
    ----------
    shape
        Size along each axis; an int for one axis.
    dtype
        NumPy's dtype of numbers, booleans, or records of them.
    memptr
        Pointer to the device memory to use; None for new memory with undefined contents.
    strides
        Bytes from one element to the next along each axis; in new memory they must not lead beyond what an array without
        gaps has.
    order
        `C` or `F`.

    Raises
    ------
    ValueError
        If the shape is negative, or device memory cannot hold the dtype.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, _obj: Any = None, _no_init: bool = False, **kwargs: Any) -> Any:
        """Make the array; a subclass gets a call of `__array_finalize__`, as in CuPy (core.pyx)."""
        made = object.__new__(cls)
        if not _no_init:
            made._init(*args, **kwargs)
            if cls is not ndarray:
                made.__array_finalize__(_obj)
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        pass  # `__new__` has done it: a subclass may take other arguments

    def __array_finalize__(self, obj: Any) -> None:
        """Do nothing: for subclasses, which get the array that they come from."""

    def _init(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str | None = "C"
    ) -> None:
        if shape is None:
            raise TypeError("Use () not None as shape arguments ().")
        if isinstance(shape, bool):
            raise TypeError("an integer is required")
        sizes = shape if np.iterable(shape) and not isinstance(shape, str) else (shape,)
        shape = tuple(map(operator.index, sizes))
        if any(size < 0 for size in shape):
            raise ValueError("Negative dimensions are not allowed")
        order = "C" if order is None or order_of(order) == "C" else "F"  # A and K count as F, as in CuPy
        dtype = check_dtype(dtype)
        self.base = None
        if memptr is None:
            self._array = new_array(shape, dtype, order)
            if strides is not None:
                self._array = _strided(self._array, tuple(strides))
            return
        if strides is None and order == "F":
            strides = np.empty(shape, dtype, order="F").strides if 0 not in shape else None
        memory, offset = memptr.mem, memptr.ptr - memptr.mem.ptr
        self._array = memory.view(shape, dtype, strides, offset)

    # Shape and memory

    @property
    def shape(self) -> tuple[int, ...]:
        """Size along each axis. Setting it gives the same memory another shape."""
        return self._array.shape

    @shape.setter
    def shape(self, newshape: Any) -> None:
        reshaped = self._array.reshape(newshape)
        if self._array.size and not np.shares_memory(reshaped, self._array):
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self._array = reshaped

    strides = property(lambda self: self._array.strides, doc="Bytes to the next element along each axis.")
    dtype = property(lambda self: self._array.dtype, doc="NumPy's dtype of the elements.")
    ndim = property(lambda self: self._array.ndim, doc="Number of axes.")
    size = property(lambda self: self._array.size, doc="Number of elements.")
    itemsize = property(lambda self: self._array.itemsize, doc="Bytes of one element.")
    nbytes = property(lambda self: self._array.nbytes, doc="Bytes of all elements.")
    flags = property(Flags, doc="How the elements lie in memory.")
    T = property(lambda self: view_of(self._array.T, self), doc="View with the axes in reverse order.")

    @property
    def mT(self) -> ndarray:
        """View with the last two axes swapped."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return view_of(self._array.swapaxes(-1, -2), self)

    @property
    def data(self) -> MemoryPointer:
        """Pointer to the first element in device memory; `.data.ptr` is its address."""
        address = self._array.__array_interface__["data"][0] if self.size else 0
        memory = memory_of(self._array)
        if memory is None:
            memory = UnownedMemory(address, self.nbytes, self._array, 0)
        return MemoryPointer(memory, address - memory.ptr)

    @property
    def device(self) -> Device:
        """The device that holds the array."""
        return Device(0)

    @property
    def real(self) -> ndarray:
        """View of the real parts; of real numbers, the array itself."""
        return view_of(self._array.real, self) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """View of the imaginary parts; of real numbers, zeros."""
        if self.dtype.kind == "c":
            return view_of(self._array.imag, self)
        zeros = ndarray.__new__(type(self), self.shape, self.dtype)
        zeros.fill(0)
        return zeros

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("cupy.ndarray does not have imaginary part to set")
        self.imag[...] = value

    @property
    def flat(self) -> Iterator:
        """All elements in C order, as arrays without axes."""
        return indexing.flatiter(self)

    @property
    def cstruct(self) -> NoReturn:
        """Not in the stand-in."""
        raise NotInStandIn(missing("ndarray.cstruct"))

    def mdspan(self, *, index_type: Any, allow_unsafe: bool = False) -> NoReturn:
        """Refuse: not in the stand-in."""
        raise NotInStandIn(missing("ndarray.mdspan"))

    # To the host and back

    def get(
        self, stream: Any = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True
    ) -> Any:
        """Copy to the host.

        Parameters
        ----------
        stream
            Ignored here: the copy is complete when the call returns.
        blocking
            Whether the host waits for the copy; it counts as a wait, and changes nothing else here.
        order
            `C`, `F` or `A`: how the host array lies in memory.
        out
            NumPy array to copy into, of the same shape and dtype; None for a new one.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        TypeError, ValueError, RuntimeError
            If `out` has another type, shape or dtype, or is not contiguous.
        """
        array = self._array
        if out is not None:
            if not isinstance(out, np.ndarray):
                raise TypeError("Only numpy.ndarray can be obtained fromcupy.ndarray")
            if array.dtype != out.dtype:
                raise TypeError(f"{out.dtype} array cannot be obtained from {array.dtype} array")
            if array.shape != out.shape:
                raise ValueError(f"Shape mismatch. Expected shape: {array.shape}, actual shape: {out.shape}")
            if not (out.flags.c_contiguous or out.flags.f_contiguous):
                raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
            self._report(out.flags.c_contiguous, out.flags.f_contiguous, blocking)
            out[...] = array
            return out
        order = order.upper()
        if order not in ("C", "F", "A"):
            raise ValueError(f"unsupported order: {order}")
        self._report(order != "F", order != "C", blocking)
        return array.copy(order=order)

    def _report(self, in_c: bool, in_f: bool, blocking: bool) -> None:
        """Report a copy to the host in C order, in Fortran order or in either (CuPy's core.pyx, `get`).

        An array in another order, or with gaps, is first brought into that order on the device.
        """
        array = self._array
        if not events.listening or not array.size:
            return
        if not ((in_c and array.flags.c_contiguous) or (in_f and array.flags.f_contiguous)):
            events.allocated(array.nbytes)
            events.operated("copy")
        events.copied("d2h", array.nbytes)
        if blocking:
            events.waited("copy to the host")

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """Copy a NumPy array of the same shape and dtype into this one.

        Raises
        ------
        TypeError, ValueError, RuntimeError
            If `arr` has another type, shape or dtype, or this array is not contiguous.
        """
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if self.shape != arr.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        if not self._array.flags.forc:
            raise RuntimeError("Cannot set to non-contiguous array")
        events.copied("h2d", self.nbytes)
        self._array[...] = arr

    def item(self) -> Any:
        """Copy the only element to the host, as a Python number."""
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.get().item()

    def tolist(self) -> Any:
        """Copy to the host, as nested lists."""
        return self.get().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """Copy to the host, as bytes."""
        return self.get().tobytes(order)

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file, as NumPy does."""
        self.get().tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        """Pickle the array to an open file; `cupy.load` reads it."""
        pickle.dump(self, file, -1)

    def dumps(self) -> bytes:
        """Pickle the array."""
        return pickle.dumps(self, -1)

    def __reduce__(self) -> Any:
        return array, (self.get(),)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(IMPLICIT)

    def __buffer__(self, flags: int) -> NoReturn:
        # `memoryview` calls this method from Python 3.12 on.
        raise TypeError(NO_BUFFER)

    def __bool__(self) -> bool:
        if self.size == 0:
            warnings.warn(
                "The truth value of an empty array is ambiguous. Returning False, but in future this will result in "
                "an error. Use `array.size > 0` to check that an array is not empty.",
                DeprecationWarning,
                stacklevel=2,
            )
            return False
        if self.size > 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())

    def __bytes__(self) -> bytes:
        return bytes(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __format__(self, format_spec: str) -> str:
        return format(self.get(), format_spec)

    # Copies and views

    def astype(
        self, dtype: Any, order: str | None = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        """Return the array converted to a dtype, as a GPU converts.

        Parameters
        ----------
        dtype
            Dtype of the result.
        order
            `C`, `F`, `A` or `K`: how the result lies in memory.
        copy
            False to return the array itself if it has the dtype and the order already.

        Raises
        ------
        TypeError
            If `casting` or `subok` is given, which CuPy does not have.
        """
        for name, value in (("casting", casting), ("subok", subok)):
            if value is not None:
                raise TypeError(f"{name} is not supported yet")
        dtype, array, order = check_dtype(dtype), self._array, "K" if order is None else order_of(order)
        flags = array.flags
        fits = {"K": True, "A": flags.forc, "C": flags.c_contiguous, "F": flags.f_contiguous}[order]
        if not copy and dtype == array.dtype and fits:
            return self
        target = new_like(array, dtype, order)
        if array.dtype.kind == "c" and dtype.kind not in "cb":
            warnings.warn(COMPLEX_TO_REAL, np.exceptions.ComplexWarning, stacklevel=2)
        cast(array, target)
        if array.size:
            events.operated("copy")
        return adopt(target)

    def copy(self, order: str | None = "C") -> ndarray:
        """Return a copy on the device."""
        target = new_like(self._array, self.dtype, "K" if order is None else order.upper())
        target[...] = self._array
        if target.size:
            events.operated("copy")
        return adopt(target)

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        """Return the same memory read as another dtype, or as an array of another class.

        Raises
        ------
        ValueError
            If the class is none of arrays, or the elements have another size and the last axis cannot be divided into them.
        """
        if isinstance(dtype, builtins.type) and issubclass(dtype, ndarray):
            if type is not None:
                raise ValueError("Cannot specify output type twice.")
            dtype, type = None, dtype
        if type is not None and not (isinstance(type, builtins.type) and issubclass(type, ndarray)):
            raise ValueError("Type must be a sub-type of ndarray type")
        if dtype is None:
            return view_of(self._array.view(), self, type)
        dtype = check_dtype(dtype)
        if dtype.itemsize != self.itemsize and self.ndim == 0:
            raise ValueError(
                "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
            )
        return view_of(self._array.view(dtype), self, type)

    def fill(self, value: Any) -> None:
        """Set all elements to one number."""
        indexing.fill(self._array, value)
        if self.size:
            events.operated("fill")

    def byteswap(self, inplace: bool = False) -> ndarray:
        """Return the array, or this one changed in place, with the bytes of each element reversed."""
        if inplace:
            self._array.byteswap(inplace=True)
            events.operated("byteswap")
            return self
        result = self.copy()
        result._array.byteswap(inplace=True)
        return result

    # Elements

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return len(self._array)

    def __iter__(self) -> Iterator[ndarray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(len(self._array)))

    def __getitem__(self, slices: Any) -> ndarray:
        return indexing.getitem(self, slices)

    def __setitem__(self, slices: Any, value: Any) -> None:
        indexing.setitem(self, slices, value)

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Add values at indices, once for each time an index occurs; see `cupyx.scatter_add`."""
        indexing.scatter_named(self, slices, value, "add")

    def scatter_max(self, slices: Any, value: Any) -> None:
        """Store the larger of element and value at indices; see `cupyx.scatter_max`."""
        indexing.scatter_named(self, slices, value, "max")

    def scatter_min(self, slices: Any, value: Any) -> None:
        """Store the smaller of element and value at indices; see `cupyx.scatter_min`."""
        indexing.scatter_named(self, slices, value, "min")

    # Other libraries

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return exchange.interface(self, get_current_stream().ptr)

    def toDlpack(self) -> Any:
        """Return a DLPack capsule over the same memory, for `cupy.fromDlpack`."""
        return self.__dlpack__()

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        return exchange.capsule(self, dl_device, copy, stream, max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0  # DLPack's kDLCUDA, device 0

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return exchange.numpy_ufunc(function, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        try:
            path = func.__module__.split(".")[1:]
            ours = getattr(functools.reduce(getattr, path, Base._package), func.__name__)
        except AttributeError:
            return NotImplemented
        if ours is func or not all(issubclass(kind, Base | np.ndarray) for kind in types):
            return NotImplemented
        return ours(*args, **kwargs)


def _strided(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """Return new memory with other strides (core.pyx, `_init`).

    Raises
    ------
    ValueError
        If there is not one for each axis, one is negative, or the last element would lie beyond the memory.
    """
    if len(strides) != array.ndim:
        raise ValueError("len(shape) != len(strides)")
    before, nbytes = reach(array.shape, strides, array.itemsize)
    if before:
        raise ValueError("ndarray() with strides currently does not allow negative strides")
    if nbytes > array.nbytes:
        raise ValueError(
            f"ndarray() with strides must stay withing a contiguous size of {array.nbytes} but got {nbytes}."
        )
    return np.lib.stride_tricks.as_strided(array, array.shape, strides)


def new_like(array: np.ndarray, dtype: np.dtype, order: str) -> np.ndarray:
    """Return new device memory in the shape of an array, in the order named: `C`, `F`, `A` or `K`."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order not understood: {order}")
    if order in "AK":
        flags = array.flags
        if order == "K" and not flags.forc and array.ndim > 1:
            # Axes in the order of their strides, as NumPy keeps them.
            axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
            fresh = new_array(tuple(array.shape[axis] for axis in axes), dtype)
            return fresh.transpose(np.argsort(axes))
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    return new_array(array.shape, dtype, order)


ndarray.__module__ = "cupy"
Base._final = ndarray
