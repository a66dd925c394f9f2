"""`cupy.ReductionKernel` without a GPU: map, reduce, map once more, each an expression in CUDA C++.

The call follows CuPy 14's `cupy/_core/_reduction.pyx`. One thread computes one element of the result. It keeps 512
partial results, as a block of 512 threads does on a GPU, and combines them in a tree, tile by tile. Sums are therefore
about as accurate as on a GPU, and more accurate than one running sum.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from host_to_device.standins.cupy import launching, parameters
from host_to_device.standins.cupy.elementwise import (
    CodeCache,
    Kind,
    Source,
    loop_shape,
    output_arrays,
    output_dtype,
    reduced,
)
from host_to_device.standins.cupy.generated import prelude
from host_to_device.standins.cupy.parameters import Types

LANES = 512  # partial results that one thread keeps
TILE = 32 * LANES  # elements after which they are combined


class ReductionKernel(CodeCache):
    """A kernel that reduces arrays along axes.

    Parameters
    ----------
    in_params, out_params
        As of ElementwiseKernel.
    map_expr
        Expression applied to each element.
    reduce_expr
        Expression that combines two of the mapped values, `a` and `b`.
    post_map_expr
        Statement that assigns the result `a` to the output.
    identity
        Start value of the reduction. None starts from the type's zero and refuses empty arrays.
    name
        The kernel's name in the generated source.
    reduce_type
        The C++ type of `a` and `b`; by default that of the first output.
    reduce_dims, preamble, options
        As of ElementwiseKernel.

    Raises
    ------
    ValueError
        If the name is not an identifier in C.
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        parameters.check_kernel_name(name)
        self.in_params = parameters.parse(in_params, True)
        self.out_params = parameters.parse(out_params, False)
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity = "" if identity is None else str(identity)
        self.name = self.__name__ = name
        self.reduce_type = self.out_params[0].ctype if reduce_type is None else reduce_type
        self.reduce_dims, self.preamble, self.options = reduce_dims, preamble, options
        self._functions: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the reduction.

        Parameters
        ----------
        args
            The inputs, or the inputs and the outputs.
        out
            The output array.
        axis
            The axis or axes to reduce; all by default.
        keepdims
            True to keep the reduced axes with length one.

        Returns
        -------
        cupy.ndarray
            The (first) output.

        Raises
        ------
        TypeError, KeyError
            As of ElementwiseKernel.
        ValueError
            If shapes do not fit, an axis is named twice, or an empty array is reduced without an identity.
        numpy.exceptions.AxisError
            If there is no such axis.
        """
        out, axis = kwargs.pop("out", None), kwargs.pop("axis", None)
        keepdims = kwargs.pop("keepdims", False)
        kwargs.pop("stream", None)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name}")
        given = list(args[self.nin :])
        if out is not None:
            if self.nout != 1:
                raise NotImplementedError("")
            if given:
                raise ValueError("cannot specify 'out' as both a positional and keyword argument")
            given = [out]
        inputs = [launching.argument(each) for each in args[: self.nin]]
        outputs = [launching.argument(each) for each in given]
        shape = loop_shape(inputs, self.in_params, -1)
        types = parameters.resolve(
            self.in_params,
            self.out_params,
            [each.dtype if launching.is_array(each) else None for each in inputs],
            [output_dtype(each) for each in outputs],
        )
        over, kept = split_axes(axis, len(shape))
        out_shape = (
            tuple(1 if place in over else length for place, length in enumerate(shape))
            if keepdims
            else tuple(shape[place] for place in kept)
        )
        outputs = output_arrays(outputs, types, out_shape, self.out_params)
        if outputs[0].size == 0:
            return outputs[0]
        if not self.identity and 0 in shape:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        order = over + kept
        if order != tuple(range(len(shape))) and any(each.raw for each in self.in_params):
            raise NotImplementedError("Illegal conditions")
        values = [
            each if launching.is_array(each) else parameters.stored(each, dtype)
            for each, dtype in zip(inputs, types.inputs, strict=True)
        ]
        self._run(values, outputs, types, shape, order)
        return outputs[0]

    def _run(
        self,
        inputs: list[Any],
        outputs: list[Any],
        types: Types,
        shape: tuple[int, ...],
        order: tuple[int, ...],
    ) -> None:
        """Launch the reduction of arrays broadcast to `shape`, its axes in this order: the reduced ones first."""
        in_views = [
            None
            if not launching.is_array(each)
            else each._array
            if parameter.raw
            else np.broadcast_to(each._array, shape).transpose(order)
            for each, parameter in zip(inputs, self.in_params, strict=True)
        ]
        out_views = [each._array for each in outputs]
        in_shape = tuple(shape[place] for place in order)
        out_shape = outputs[0].shape
        if self.reduce_dims:
            in_shape = reduced(in_views, self.in_params, in_shape)
            out_shape = reduced(out_views, self.out_params, out_shape)
        views = in_views + out_views
        kinds = tuple(
            Kind(each.dtype, None) if view is None else Kind(view.dtype, view.ndim, view.flags.c_contiguous)
            for each, view in zip([*inputs, *outputs], views, strict=True)
        )
        function = self._function_for(kinds, types, len(in_shape), len(out_shape))
        layout = [math.prod(in_shape), *in_shape, math.prod(out_shape), *out_shape]
        passed = []
        for each, view in zip([*inputs, *outputs], views, strict=True):
            if view is None:
                passed.append(each)
            else:
                passed.append(view)
                layout += [view.size, *view.shape, *view.strides]
        passed.append(launching.layout(tuple(layout)))
        size = math.prod(out_shape)
        launching.launch_generated(function, size, 128, passed, range(0))

    def _function_for(self, kinds: tuple[Kind, ...], types: Types, in_ndim: int, out_ndim: int) -> Any:
        """Return the compiled kernel for arguments of these kinds."""
        key = (kinds, types, in_ndim, out_ndim)
        if key not in self._functions:
            source = self._source(kinds, types, in_ndim, out_ndim)
            dtypes = [kind.dtype for kind in kinds]
            self._functions[key] = launching.generated(
                prelude(dtypes, source), source, self.name, tuple(self.options)
            )
            arrays = tuple(kind.dtype for kind in kinds if kind.ndim is not None)
            self._cached_codes.setdefault(arrays, source)
        return self._functions[key]

    def _source(self, kinds: tuple[Kind, ...], types: Types, in_ndim: int, out_ndim: int) -> str:
        """Return the CUDA C++ for arguments of these kinds."""
        ins, text = Source([], [], []), Source([], [], [])
        text.indexer("_in_ind", in_ndim)
        text.indexer("_out_ind", out_ndim)
        ins.layout = text.layout
        for parameter, kind in zip(self.in_params, kinds[: self.nin], strict=True):
            ins.argument(parameter, kind, "_in_ind")
        outs = Source([], [], [], ins.layout)
        for parameter, kind in zip(self.out_params, kinds[self.nin :], strict=True):
            outs.argument(parameter, kind, "_out_ind")
        declared = ", ".join([*ins.parameters, *outs.parameters, "const ptrdiff_t* _layout"])
        arrays = "\n  ".join(text.arrays + ins.arrays + outs.arrays)
        return f"""{types.typedefs()}typedef int IndexT;
{self.preamble}
#define REDUCE(a, b) ({self.reduce_expr})
#define POST_MAP(a) ({self.post_map_expr})
typedef {self.reduce_type} _type_reduce;
extern "C" __global__ void {self.name}({declared}) {{
  {arrays}
  const ptrdiff_t _length = _in_ind.size() / _out_ind.size();
  int _lanes = 1;
  while (_lanes < {LANES} && 2 * _lanes <= _length) _lanes *= 2;
  alignas(16) char _sdata_raw[{LANES} * sizeof(_type_reduce)];
  _type_reduce *_sdata = reinterpret_cast<_type_reduce*>(_sdata_raw);
  CUPY_FOR(_i, _out_ind.size()) {{
    _type_reduce _s = _type_reduce({self.identity});
    for (ptrdiff_t _from = 0; _from < _length; _from += {TILE}) {{
      const ptrdiff_t _to = _from + {TILE} < _length ? _from + {TILE} : _length;
      for (int _tid = 0; _tid < _lanes; ++_tid) _sdata[_tid] = _type_reduce({self.identity});
      for (IndexT _J = _from; _J < _to; ++_J) {{
        const ptrdiff_t _j = _i + _J * _out_ind.size();
        _in_ind.set(_j);
        {" ".join(ins.elements)}
        _type_reduce _a = static_cast<_type_reduce>({self.map_expr});
        _type_reduce &_b = _sdata[_J & (_lanes - 1)];
        _b = REDUCE(_b, _a);
      }}
      for (int _block = _lanes / 2; _block > 0; _block /= 2)
        for (int _tid = 0; _tid < _block; ++_tid) {{
          _type_reduce _a = _sdata[_tid], _b = _sdata[_tid + _block];
          _sdata[_tid] = REDUCE(_a, _b);
        }}
      _s = REDUCE(_s, _sdata[0]);
    }}
    _out_ind.set(_i);
    {" ".join(outs.elements)}
    POST_MAP(_s);
  }}
}}
#undef REDUCE
#undef POST_MAP
"""


def split_axes(axis: Any, ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes that are reduced and those that are kept, each in increasing order."""
    if axis is None:
        return tuple(range(ndim)), ()
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    for each in axes:
        if not -ndim <= operator.index(each) < ndim:
            raise np.exceptions.AxisError(each, ndim)
    over = tuple(sorted(each % ndim for each in axes))
    kept = tuple(each for each in range(ndim) if each not in over)
    if len(over) + len(kept) != ndim:
        raise ValueError("duplicate value in 'axis'")
    return over, kept
