"""`cupy.RawKernel` and `cupy.RawModule` without a GPU: CUDA C++ as it is, compiled for this machine.

The classes follow CuPy 14's `cupy/_core/raw.pyx` and `cupy/cuda/function.pyx`.
"""

from __future__ import annotations

import operator
import os
import pickle
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TextIO

import numpy as np

from host_to_device.hardware.launch_limits import MAX_SHARED, MAX_THREADS
from host_to_device.standins.cupy import launching, parameters
from host_to_device.standins.cupy.cuda.memory import MemoryPointer
from host_to_device.standins.cupy.generated import translated

NOT_FOUND = ("CUDA_ERROR_NOT_FOUND", "named symbol not found")

# Attributes of a compiled kernel (CuPy's list). The stand-in knows those of shared memory and of the block; the others
# are -1, which no compiled kernel has.
ATTRIBUTES = (
    *("max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs"),
    *("ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes"),
    "preferred_shared_memory_carveout",
)
OF_A_GPU = {
    "const_size_bytes",
    "local_size_bytes",
    "num_regs",
    "ptx_version",
    "binary_version",
    "cache_mode_ca",
}

PARAMETER_BYTES = 4096  # that a kernel's parameters may take together


class RawKernel:
    """A kernel written in CUDA C++: `kernel(grid, block, args, *, shared_mem=0)`.

    Parameters
    ----------
    code
        The source.
    name
        The kernel's name; the source must declare it `extern "C"`.
    options
        Options of the compiler, as for NVRTC.
    backend
        'nvrtc' or 'nvcc'; here both are this machine's own compiler.
    translate_cucomplex, enable_cooperative_groups, jitify
        As in CuPy; ignored here.

    Notes
    -----
    Arguments are passed as bytes, without conversion, as in CuPy. A Python float is a double (8
    bytes), an int is a long long, a complex a double2, a bool a bool; NumPy scalars keep their type. So 2.0 for a
    parameter of type float arrives as the lower half of a double, which is 0.0: write `numpy.float32(2)`. An int for
    an int parameter arrives whole if it fits 32 bits. Arrays are passed as pointers to their first element, whatever
    their strides and dtype.
    """

    _raw_ver = 2  # of the pickled form

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        expect("code", code, str)
        expect("name", name, str)
        expect("options", options, tuple)
        expect("backend", backend, str)
        self.code, self.name, self.options, self.backend = code, name, options, backend
        self.__name__ = name
        self.translate_cucomplex = bool(translate_cucomplex)
        self.enable_cooperative_groups = bool(enable_cooperative_groups)
        self.jitify = bool(jitify)
        self.file_path: str | None = None
        self._expressions: tuple[str, ...] | None = None
        self._function: Any = None
        self._max_dynamic = MAX_SHARED
        self._carveout = -1

    def __call__(self, grid: tuple, block: tuple, args: Iterable, **kwargs: Any) -> None:
        """Compile the kernel if necessary, and run it to completion.

        Parameters
        ----------
        grid, block
            The numbers of blocks and of threads per block: tuples of 1 to 3 ints.
        args
            The arguments: CuPy arrays, numbers, NumPy scalars, NumPy arrays of one element (structures), None for a
            null pointer.
        shared_mem
            Dynamic shared memory per block, in bytes.
        stream
            Ignored here: the launch has finished when the call returns.

        Raises
        ------
        CompileException
            If the source does not compile.
        CUDADriverError
            If there is no such kernel, or the launch exceeds the device's limits.
        TypeError
            If an argument cannot be passed, or the number of arguments is wrong, which a GPU would not notice.
        """
        self._launch(grid, block, args, **kwargs)

    def _launch(
        self,
        grid: tuple,
        block: tuple,
        args: Iterable,
        shared_mem: int = 0,
        stream: Any = None,
        *,
        seed: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """Run the kernel as a call does; `seed` shuffles the order of blocks and threads, `seconds` is the limit."""
        function = self.kernel
        expect("grid", grid, tuple)
        expect("block", block, tuple)
        sizes = [tuple(max(1, operator.index(each)) for each in (*size, 1, 1)[:3]) for size in (grid, block)]
        passed = self._passed(function, list(args))
        shared_mem = operator.index(shared_mem)
        if shared_mem < 0:
            raise OverflowError("can't convert negative value to size_t")
        static = function.shared_size_bytes
        if shared_mem > self._max_dynamic or static + shared_mem > max(self._max_dynamic, MAX_SHARED):
            raise launching.driver_error(
                "CUDA_ERROR_INVALID_VALUE",
                f"invalid argument: {self.name} needs {static + shared_mem:,} bytes of shared memory a block; at most "
                f"{max(self._max_dynamic, MAX_SHARED):,} are allowed",
            )
        launching.launch(
            function,
            *sizes,
            passed,
            shared_mem,
            seed=seed,
            seconds=seconds,
            cooperative=self.enable_cooperative_groups,
        )

    def _passed(self, function: Any, arguments: list[Any]) -> list[Any]:
        """Return the values to pass: arrays for pointers, exactly the parameter's bytes for values."""
        wanted = function.parameters
        if len(arguments) != len(wanted):
            raise TypeError(
                f"{function.name} takes {len(wanted)} argument{'s' * (len(wanted) != 1)} "
                f"({', '.join(map(spelled, wanted))}), {len(arguments)} "
                f"{'was' if len(arguments) == 1 else 'were'} given; a GPU would read beyond them"
            )
        return [
            self._value(function.name, place, parameter, argument)
            for place, (parameter, argument) in enumerate(zip(wanted, arguments, strict=True), 1)
        ]

    def _value(self, name: str, place: int, parameter: Any, argument: Any) -> Any:
        """Return one argument in the form in which the kernel gets it.

        Raises
        ------
        TypeError
            If CuPy cannot pass the argument, or a number is passed for a pointer or an array for a number.
        """
        address = device_address(argument)
        if address is None:
            data = value_bytes(argument)
            if parameter.pointer and len(data) < 8:
                raise TypeError(
                    f"{name}: argument {place} is {type(argument).__name__}, the parameter is a pointer "
                    f"({spelled(parameter)}): pass a cupy.ndarray"
                )
        else:
            if not parameter.pointer and parameter.size != 8:
                raise TypeError(
                    f"{name}: argument {place} is an array, the parameter is a value ({spelled(parameter)}): "
                    "pass a number"
                )
            if parameter.pointer and launching.is_array(argument):
                return argument._array
            data = address.to_bytes(8, "little")
        size = 8 if parameter.pointer else parameter.size
        if isinstance(argument, np.ndarray) and len(data) < size:
            raise TypeError(
                f"{name}: argument {place} has {len(data)} bytes, the parameter {size} ({spelled(parameter)})"
            )
        return np.void(data[:size].ljust(size, b"\0"))

    @property
    def kernel(self) -> Any:
        """The compiled function; the first access compiles it."""
        if self._function is None:
            self._function = self._compiled().function(self.name)
        return self._function

    def _compiled(self) -> Module:
        return raw_module(
            self.code,
            self.file_path,
            self.options,
            self.backend,
            self._expressions,
            self.translate_cucomplex,
        )

    def compile(self, log_stream: TextIO | None = None) -> None:
        """Compile the kernel now; the compiler's log is written to `log_stream`."""
        module = self._compiled()
        write_log(module, log_stream)
        self._function = module.function(self.name)

    @property
    def attributes(self) -> dict[str, int]:
        """All attributes of the compiled kernel; -1 for those that only code compiled for a GPU has."""
        return {name: -1 if name in OF_A_GPU else getattr(self, name) for name in ATTRIBUTES}

    @property
    def max_threads_per_block(self) -> int:
        """The maximum number of threads per block."""
        self.kernel  # noqa: B018  a source that does not compile has no attributes
        return MAX_THREADS

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory per block, in bytes."""
        return self.kernel.shared_size_bytes

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """The maximum dynamic shared memory per block, in bytes; it can be set, up to the device's limit."""
        return self._max_dynamic - (self.kernel.shared_size_bytes if self._max_dynamic == MAX_SHARED else 0)

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, value: int) -> None:
        if not 0 <= value <= launching.most_shared_memory() - self.kernel.shared_size_bytes:
            raise launching.driver_error("CUDA_ERROR_INVALID_VALUE", "invalid argument")
        self._max_dynamic = int(value)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """The preferred share of shared memory in the L1 cache's memory, in percent; -1 leaves it to the driver."""
        return self._carveout

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, value: int) -> None:
        if not -1 <= value <= 100:
            raise launching.driver_error("CUDA_ERROR_INVALID_VALUE", "invalid argument")
        self._carveout = int(value)

    def __getattr__(self, name: str) -> Any:
        if name in OF_A_GPU:
            self.kernel  # noqa: B018  a source that does not compile has no attributes
            return -1
        raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        kept = ("code", "name", "options", "backend", "translate_cucomplex", "file_path", "_expressions")
        kept += ("enable_cooperative_groups", "jitify")
        return {**{name: getattr(self, name) for name in kept}, "raw_ver": self._raw_ver}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("raw_ver") != self._raw_ver:
            raise pickle.UnpicklingError(
                "The pickled RawKernel object is not supported by the current CuPy version. "
                "It should not be used. Please recompile."
            )
        self.__init__(state["code"] or "", state["name"], state["options"], state["backend"])
        self.__dict__.update({name: value for name, value in state.items() if name != "raw_ver"})


class RawModule:
    """CUDA C++ with several kernels, templates or global variables.

    Parameters
    ----------
    code
        The source. Exactly one of `code` and `path` must be given.
    path
        A compiled file (cubin or PTX), which the stand-in cannot run.
    options, backend, translate_cucomplex, enable_cooperative_groups, jitify
        As of RawKernel.
    name_expressions
        Kernels of a C++ source, such as 'add<float>': names for `get_function`.

    Raises
    ------
    TypeError
        If both or neither of `code` and `path` are given.
    ValueError
        If `name_expressions` are given with a path or with a backend other than 'nvrtc'.
    """

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ) -> None:
        for name, value, kind in (
            ("code", code, str),
            ("path", path, str),
            ("options", options, tuple),
            ("backend", backend, str),
        ):
            if value is not None or name in ("options", "backend"):
                expect(name, value, kind)
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if name_expressions is not None:
            if code is None:
                raise ValueError("need CUDA C++ code for the requested kernels")
            if backend != "nvrtc":
                raise ValueError(
                    "only nvrtc supports retrieving the mangled names for the given name expressions"
                )
        if jitify and code is None:
            raise ValueError("Jitify does not support precompiled objects")
        if jitify and backend != "nvrtc":
            raise ValueError("Jitify only supports NVRTC")
        self.name_expressions = None if name_expressions is None else tuple(name_expressions)
        self.code, self.file_path = code, path
        self.enable_cooperative_groups, self.jitify = bool(enable_cooperative_groups), bool(jitify)
        self.options = options if code is not None else ()
        self.backend = backend if code is not None else "nvcc"
        self.translate_cucomplex = bool(translate_cucomplex) and code is not None

    @property
    def module(self) -> Module:
        """The compiled module; the first access compiles it."""
        return raw_module(
            self.code,
            self.file_path,
            self.options,
            self.backend,
            self.name_expressions,
            self.translate_cucomplex,
        )

    def compile(self, log_stream: TextIO | None = None) -> None:
        """Compile the source now; the compiler's log is written to `log_stream`."""
        write_log(self.module, log_stream)

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name, or by one of the name expressions.

        The kernel has the name of its compiled code, as in CuPy: `_Z3addIfEvPKT_PS0_i` for `add<float>`.

        Raises
        ------
        CompileException
            If the source does not compile.
        CUDADriverError
            If there is no such kernel.
        """
        expect("name", name, str)
        kernel = RawKernel(
            self.code or "",
            self.module.function(name).symbol,
            self.options,
            self.backend,
            translate_cucomplex=self.translate_cucomplex,
            enable_cooperative_groups=self.enable_cooperative_groups,
            jitify=self.jitify,
        )
        kernel.code, kernel.file_path, kernel._expressions = self.code, self.file_path, self.name_expressions
        return kernel

    def get_global(self, name: str) -> Any:
        """Return the memory of a `__constant__` or `__device__` variable, a cupy.cuda.MemoryPointer.

        Raises
        ------
        CUDADriverError
            If there is no such variable.
        """
        return launching.memory_pointer(self.module.get_global(name), self.module)


class Module:
    """A compiled source, and the names under which CuPy would find its kernels."""

    def __init__(self, compiled: Any, name_expressions: tuple[str, ...] | None) -> None:
        self.compiled = compiled
        kernels = [name for name in name_expressions or () if name in compiled.names]  # others are variables
        self.mapping = {name: compiled.function(name).symbol for name in kernels}
        self.expressions = {symbol: name for name, symbol in self.mapping.items()}

    def function(self, name: str) -> Any:
        """Return a kernel that is `extern "C"` or among the name expressions; raises CUDADriverError if there is none.

        A kernel of a name expression also has the name of its compiled code.
        """
        name = self.expressions.get(name, name)
        try:
            function = self.compiled.function(name)
        except LookupError:
            raise launching.driver_error(*NOT_FOUND) from None
        if name not in self.mapping and not function.c_linkage:
            raise launching.driver_error(
                NOT_FOUND[0],
                f'{NOT_FOUND[1]}: {name} is not declared extern "C", so CUDA knows it by another name',
            )
        return function

    def get_global(self, name: str) -> np.ndarray:
        """Return the bytes of a variable; raises CUDADriverError if there is none."""
        try:
            return self.compiled.get_global(name)
        except LookupError:
            raise launching.driver_error(*NOT_FOUND) from None


@lru_cache(maxsize=256)
def raw_module(
    code: str | None,
    path: str | None,
    options: tuple[str, ...],
    backend: str,
    names: tuple[str, ...] | None,
    translate: bool = False,
) -> Module:
    """Return the module of a source: the same one, with the same constants, for the same source, as in CuPy."""
    if code is None:
        if not os.path.exists(path):
            raise launching.driver_error("CUDA_ERROR_FILE_NOT_FOUND", "file not found")
        raise NotImplementedError(
            f"RawModule(path={path!r}): the stand-in runs CUDA C++ source; a cubin or PTX file needs a GPU"
        )
    if backend not in ("nvrtc", "nvcc"):
        raise ValueError(f"Invalid backend {backend}")
    text = translated(code) if translate else None
    return Module(launching.compiled(code, options, names or (), backend, text), names)


def spelled(parameter: Any) -> str:
    """Return a parameter's type without the space that may stand before its star."""
    return parameter.type.replace(" *", "*")


def write_log(module: Module, stream: TextIO | None) -> None:
    if stream is not None:
        stream.write(getattr(module.compiled, "log", ""))


def expect(name: str, value: Any, kind: type) -> None:
    """Raise the TypeError of compiled code for an argument of another type."""
    if not isinstance(value, kind):
        raise TypeError(
            f"Argument '{name}' has incorrect type (expected {kind.__name__}, got {type(value).__name__})"
        )


def device_address(argument: Any) -> int | None:
    """Return the address to pass for an array, for device memory or for None; return None for other values."""
    if argument is None:
        return 0
    if launching.is_array(argument):
        return argument._array.__array_interface__["data"][0]
    if isinstance(argument, MemoryPointer):
        return int(argument.ptr)
    return None


def value_bytes(argument: Any) -> bytes:
    """Return the bytes of a value.

    Raises
    ------
    TypeError
        If it is a NumPy array with more than one element, or has a type that cannot be passed: CuPy's messages.
    """
    if isinstance(argument, np.ndarray):
        if argument.size != 1:
            raise TypeError(
                f"You are trying to pass a numpy.ndarray of shape {argument.shape} as a kernel parameter. "
                "Only numpy.ndarrays of size one can be passed by value. If you meant to pass a pointer to "
                "__global__ memory, you need to pass a cupy.ndarray instead."
            )
        return argument.tobytes()
    return parameters.scalar(argument).tobytes()
