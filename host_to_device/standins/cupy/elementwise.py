"""`cupy.ElementwiseKernel` without a GPU: a loop over broadcast arrays, its body written in CUDA C++.

The call follows CuPy 14's `cupy/_core/_kernel.pyx` step by step, so that the same mistake raises the same error.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.standins.cupy import launching, parameters
from host_to_device.standins.cupy.generated import prelude, type_name
from host_to_device.standins.cupy.names import NotInStandIn
from host_to_device.standins.cupy.parameters import Parameter, Types


@dataclass(frozen=True)
class Kind:
    """The properties of an argument that the generated source depends on; `ndim` is None for a number."""

    dtype: np.dtype
    ndim: int | None
    contiguous: bool = True


@dataclass
class Source:
    """A generated kernel's parameters and the declarations of its arrays."""

    parameters: list[str]
    arrays: list[str]
    elements: list[str]  # references to the current element, for arrays that are not raw
    layout: int = 0  # how many numbers of the layout the declarations use

    def indexer(self, name: str, ndim: int) -> None:
        self.arrays.append(f"CIndexer<{ndim}> {name}(_layout + {self.layout});")
        self.layout += 1 + ndim

    def argument(self, parameter: Parameter, kind: Kind, index: str | None) -> None:
        """Declare one argument; `index` is the indexer of arrays that are not raw."""
        name, c_type = parameter.name, type_name(kind.dtype)
        const = "const " if parameter.is_const else ""
        if kind.ndim is None:
            self.parameters.append(f"{const}{c_type} {name}")
            return
        self.parameters.append(f"{const}{c_type}* {launching.DATA}{name}")
        variable = name if parameter.raw else f"_raw_{name}"
        contiguous = "true" if kind.contiguous else "false"
        self.arrays.append(
            f"const CArray<{const}{c_type}, {kind.ndim}, {contiguous}> {variable}"
            f"({launching.DATA}{name}, _layout + {self.layout});"
        )
        self.layout += 1 + 2 * kind.ndim
        if not parameter.raw:
            self.elements.append(f"{const}{parameter.ctype} &{name} = {variable}[{index}.get()];")


class CodeCache:
    """The properties `cached_code` and `cached_codes` of CuPy's kernels, which show the generated source."""

    def __init__(self) -> None:
        self._cached_codes: dict[tuple[np.dtype, ...], str] = {}

    @property
    def cached_codes(self) -> dict[tuple[np.dtype, ...], str]:
        """The generated source for each tuple of the arrays' dtypes; empty before the first call."""
        if not self._cached_codes:
            warnings.warn(
                "No codes are cached because compilation is deferred until the first function call.",
                stacklevel=2,
            )
        return dict(self._cached_codes)

    @property
    def cached_code(self) -> str:
        """The generated source; raises StopIteration before the first call, as in CuPy."""
        if len(self._cached_codes) > 1:
            warnings.warn(
                "The input types of the kernel could not be inferred. Please use `.cached_codes` instead.",
                stacklevel=2,
            )
        return next(iter(self._cached_codes.values()))


class ElementwiseKernel(CodeCache):
    """A kernel over all elements of broadcast arrays; `operation` is its loop's body in CUDA C++.

    Parameters
    ----------
    in_params, out_params
        Lists such as 'T x, raw float32 y': a dtype's name or one letter (a type that the arguments decide), and
        a name. `raw` arrays are indexed in the body, as `y[i]`; `_ind.size()` is the number of elements.
    operation
        The body; it assigns to the outputs.
    name
        The kernel's name in the generated source.
    reduce_dims
        True treats contiguous arrays as one-dimensional; False keeps their shapes.
    preamble, loop_prep, after_loop
        Source before the kernel, before the loop and after it.
    no_return, return_tuple
        True to return None, and to return a tuple even of one array.
    options
        Options of the compiler, as for NVRTC.

    Raises
    ------
    ValueError
        If the name is not an identifier in C, or a parameter is called 'i'.

    Notes
    -----
    CuPy's documentation, "User-Defined Kernels".
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        parameters.check_kernel_name(name)
        self.in_params = parameters.parse(in_params, True)
        self.out_params = parameters.parse(out_params, False)
        self.params = self.in_params + self.out_params
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self.operation, self.preamble = operation, preamble
        self.name = self.__name__ = name
        self.reduce_dims, self.no_return, self.return_tuple = reduce_dims, no_return, return_tuple
        self.kwargs = kwargs
        if any(parameter.name == "i" for parameter in self.params):
            raise ValueError("Can not use 'i' as a parameter name")
        self._functions: dict[Any, Any] = {}
        self._lines: dict[Any, range] = {}  # of each function's source: the operation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel.

        Parameters
        ----------
        args
            The inputs, or the inputs and the outputs: CuPy arrays, and numbers for inputs.
        size
            The number of elements: required if all arrays are raw, refused otherwise.
        block_size
            Threads per block, 128 by default.

        Returns
        -------
        cupy.ndarray, tuple or None
            The outputs.

        Raises
        ------
        TypeError
            If the number of arguments or their types do not fit; NumPy arrays are always refused.
        ValueError
            If the shapes cannot be broadcast together, or no argument decides the number of elements.
        KeyError
            If no argument decides what a type letter stands for.
        """
        size = kwargs.pop("size", -1)
        kwargs.pop("stream", None)
        block_size = kwargs.pop("block_size", 128)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if block_size <= 0:
            raise ValueError("block_size must be greater than zero")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or {self.nargs} "
                f"(with outputs), but given {len(args)}."
            )
        for each in args:
            if hasattr(each, "__cupy_override_elementwise_kernel__"):
                return each.__cupy_override_elementwise_kernel__(self, *args, **kwargs)
        arguments = [launching.argument(each) for each in args]
        shape = loop_shape(arguments, self.params, size)
        inputs, outputs = arguments[: self.nin], arguments[self.nin :]
        types = parameters.resolve(
            self.in_params,
            self.out_params,
            [each.dtype if launching.is_array(each) else None for each in inputs],
            [output_dtype(each) for each in outputs],
        )
        outputs = output_arrays(outputs, types, shape, self.out_params, size != -1)
        result = tuple(outputs) if self.return_tuple or self.nout != 1 else outputs[0]
        if 0 not in shape:
            values = [
                each if launching.is_array(each) else parameters.stored(each, dtype)
                for each, dtype in zip(inputs, types.inputs, strict=True)
            ]
            self._run([*values, *outputs], types, shape, block_size)
        return None if self.no_return else result

    def _run(self, arguments: list[Any], types: Types, shape: tuple[int, ...], block_size: int) -> None:
        """Launch the kernel over all elements of `shape`."""
        views = [
            None
            if not launching.is_array(each)
            else each._array
            if parameter.raw
            else np.broadcast_to(each._array, shape)
            for each, parameter in zip(arguments, self.params, strict=True)
        ]
        refuse_overlaps(self.name, views, self.params)
        if self.reduce_dims:
            shape = reduced(views, self.params, shape)
        kinds = tuple(
            Kind(each.dtype, None) if view is None else Kind(view.dtype, view.ndim, view.flags.c_contiguous)
            for each, view in zip(arguments, views, strict=True)
        )
        function = self._function_for(kinds, types, len(shape))
        size = math.prod(shape)
        layout = [size, *shape]
        passed = []
        for each, view in zip(arguments, views, strict=True):
            if view is None:
                passed.append(each)
            else:
                passed.append(view)
                layout += [view.size, *view.shape, *view.strides]
        passed.append(launching.layout(tuple(layout)))
        launching.launch_generated(function, size, block_size, passed, self._lines[function])

    def _function_for(self, kinds: tuple[Kind, ...], types: Types, ndim: int) -> Any:
        """Return the compiled kernel for arguments of these kinds."""
        key = (kinds, types, ndim)
        if key not in self._functions:
            source = self._source(kinds, types, ndim)
            dtypes = [kind.dtype for kind in kinds]
            self._functions[key] = launching.generated(
                prelude(dtypes, source), source, self.name, tuple(self.kwargs.get("options", ()))
            )
            above = source.count("\n", 0, source.index(f"    {self.operation};\n  }}")) + 1
            self._lines[self._functions[key]] = range(above, above + self.operation.count("\n") + 1)
            arrays = tuple(kind.dtype for kind in kinds if kind.ndim is not None)
            self._cached_codes.setdefault(arrays, source)
        return self._functions[key]

    def _source(self, kinds: tuple[Kind, ...], types: Types, ndim: int) -> str:
        """Return the CUDA C++ for arguments of these kinds, a loop over `ndim` dimensions."""
        text = Source([], [], [])
        text.indexer("_ind", ndim)
        for parameter, kind in zip(self.params, kinds, strict=True):
            text.argument(parameter, kind, "_ind")
        text.parameters.append("const ptrdiff_t* _layout")
        declarations = "\n  ".join(text.arrays)
        elements = "".join(f"    {each}\n" for each in text.elements)
        return (
            f"{types.typedefs()}{self.preamble}\n"
            f'extern "C" __global__ void {self.name}({", ".join(text.parameters)}) {{\n'
            f"  {declarations}\n"
            f"  {self.kwargs.get('loop_prep', '')};\n"
            f"  CUPY_FOR(i, _ind.size()) {{\n"
            f"    _ind.set(i);\n"
            f"{elements}"
            f"    {self.operation};\n"
            f"  }}\n"
            f"  {self.kwargs.get('after_loop', '')};\n"
            f"}}\n"
        )


TOO_MUCH = 10_000  # steps of the search for a shared element


def refuse_overlaps(name: str, views: list[np.ndarray | None], params: tuple[Parameter, ...]) -> None:
    """Refuse a loop in which one thread writes an element that another thread reads or writes.

    CuPy launches such a kernel as it is, and the result depends on the order of the GPU's threads. It copies an input
    that overlaps an output for its own universal functions only (_kernel.pyx, `_copy_in_args_if_needed`).

    Raises
    ------
    NotInStandIn
        In one line, with the parameters' names.
    """
    looped = [
        (view, each) for view, each in zip(views, params, strict=True) if view is not None and not each.raw
    ]
    for written, parameter in looped:
        if parameter.is_const:
            continue
        if any(step == 0 and size > 1 for step, size in zip(written.strides, written.shape, strict=True)):
            raise _of_order(name, f"several threads write the same element of {parameter.name}")
        for other, read in looped:
            if other is written or not np.may_share_memory(written, other):
                continue
            same_place = written.__array_interface__["data"] == other.__array_interface__["data"]
            if same_place and written.strides == other.strides and written.dtype == other.dtype:
                continue
            if shares_an_element(written, other):
                raise _of_order(
                    name,
                    f"{parameter.name}, which it writes, and {read.name} share memory at different places",
                )


def shares_an_element(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays have memory in common; True as well if that takes too long to find out."""
    try:
        return np.shares_memory(one, other, max_work=TOO_MUCH)
    except np.exceptions.TooHardError:
        return True


def _of_order(name: str, what: str) -> NotInStandIn:
    return NotInStandIn(
        f"{name}: {what}; on a GPU the result depends on the order of the threads, so this "
        "is not in host_to_device's stand-in for CuPy: copy one of the arrays first"
    )


def loop_shape(arguments: list[Any], params: tuple[Parameter, ...], size: int) -> tuple[int, ...]:
    """Return the shape of the loop: the broadcast shape of the arrays, or `(size,)`."""
    arrays = [
        each if launching.is_array(each) and not parameter.raw else None
        for each, parameter in zip(arguments, params, strict=False)
    ]
    if size != -1:
        if any(each is not None for each in arrays):
            raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
        return (int(size),)
    if all(each is None for each in arrays):
        raise ValueError("Loop size is undecided.")
    return parameters.broadcast_shape(arrays)


def output_dtype(output: Any) -> np.dtype:
    if not launching.is_array(output):
        raise TypeError("Output arguments type must be cupy.ndarray")
    return output.dtype


def output_arrays(
    outputs: list[Any],
    types: Types,
    shape: tuple[int, ...],
    params: tuple[Parameter, ...],
    is_size_given: bool = False,
) -> list[Any]:
    """Return the output arrays: the given ones, whose shapes are checked, or new ones."""
    if not outputs:
        if any(parameter.raw for parameter in params) and not is_size_given:
            raise ValueError("Output array size is Undecided")
        return [launching.empty(shape, dtype) for dtype in types.outputs]
    for output, parameter in zip(outputs, params, strict=True):
        if not launching.is_array(output):
            raise TypeError("Output arguments type must be cupy.ndarray")
        if not parameter.raw and output.shape != shape:
            raise ValueError("Out shape is mismatched")
    return outputs


def reduced(
    views: list[np.ndarray | None], params: tuple[Parameter, ...], shape: tuple[int, ...]
) -> tuple[int, ...]:
    """Flatten the views in place if all are contiguous; return the resulting shape of the loop."""
    looped = [
        place
        for place, (view, parameter) in enumerate(zip(views, params, strict=True))
        if view is not None and not parameter.raw
    ]
    if not looped or len(shape) < 2 or not all(views[place].flags.c_contiguous for place in looped):
        return shape
    for place in looped:
        views[place] = views[place].reshape(-1)
    return (math.prod(shape),)
