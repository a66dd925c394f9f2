"""Script in a process of its own: lets CuPy write the CUDA C++ of a kernel without a GPU, and answers in JSON.

It calls CuPy's functions that write sources with a description of the arguments, because arrays need a GPU
(`cupy/_core/_kernel.pyx`, `cupy/_core/_reduction.pyx`, `cupyx/jit/_interface.py`).
"""

import json
import linecache
import sys
from typing import Any

ARRAY, INDEXER, SCALAR = 1, 2, 3  # _ArgKind of cupy/_core/_kernel.pxd
BLOCK = 512  # threads of a reduction's block (`_default_block_size`)


def main() -> None:
    request = json.load(sys.stdin)
    try:
        answer = MAKERS[request["kind"]](request)
    except Exception as problem:
        answer = {"error": type(problem).__name__, "text": str(problem)}
    sys.stdout.write("\n\x1e" + json.dumps(answer))


def described(argument: dict) -> Any:
    """Return CuPy's description of an argument: an array, or a number."""
    import cupy
    import numpy
    from cupy._core import _kernel, _scalar

    dtype = numpy.dtype(argument["dtype"])
    if argument["ndim"] is None:
        return _kernel._ArgInfo(SCALAR, _scalar.CScalar, dtype, 0, True, True)
    small = argument["small"]
    return _kernel._ArgInfo(ARRAY, cupy.ndarray, dtype, argument["ndim"], argument["contiguous"], small)


def indexer(ndim: int) -> Any:
    from cupy._core import _carray, _kernel

    return _kernel._ArgInfo(INDEXER, _carray.Indexer, None, ndim, True, True)


def types(arguments: list) -> tuple:
    """Return the types of arrays, which decide what type letters mean; None for a number, which decides nothing."""
    import numpy

    return tuple(None if each["ndim"] is None else numpy.dtype(each["dtype"]).type for each in arguments)


def given_types(infos: list, chosen: tuple) -> list:
    """Return the descriptions with the types that CuPy chose for the numbers."""
    import numpy
    from cupy._core import _kernel, _scalar

    return [
        _kernel._ArgInfo(SCALAR, _scalar.CScalar, numpy.dtype(kind), 0, True, True)
        if info.arg_kind == SCALAR
        else info
        for info, kind in zip(infos, chosen, strict=True)
    ]


def elementwise(request: dict) -> dict:
    import cupy
    from cupy._core import _kernel

    kernel = cupy.ElementwiseKernel(
        request["in_params"],
        request["out_params"],
        request["operation"],
        request["name"],
        preamble=request["preamble"],
    )
    arguments = request["arguments"]
    ins, outs = arguments[: kernel.nin], arguments[kernel.nin :]
    in_types, out_types, type_map = kernel._decide_params_type(types(ins), types(outs))
    infos = given_types([described(each) for each in ins], in_types)
    for place, kind in enumerate(out_types):
        shape = {"ndim": request["ndim"], "contiguous": True, "small": request["small"]}
        infos.append(described(outs[place] if outs else {"dtype": name_of(kind), **shape}))
    code = _kernel._get_elementwise_kernel_code(
        (*infos, indexer(request["ndim"])),
        type_map,
        kernel.params,
        kernel.operation,
        kernel.name,
        kernel.preamble,
        request.get("loop_prep", ""),
        request.get("after_loop", ""),
    )
    return made(code, kernel.name)


def reduction(request: dict) -> dict:
    import cupy
    import numpy
    from cupy._core import _kernel, _reduction, _scalar

    texts = (
        "in_params",
        "out_params",
        "map_expr",
        "reduce_expr",
        "post_map_expr",
        "identity",
        "name",
        "reduce_type",
    )
    kernel = cupy.ReductionKernel(*(request[each] for each in texts), preamble=request["preamble"])
    arguments = request["arguments"]
    ins, outs = arguments[: kernel.nin], arguments[kernel.nin :]
    in_types, out_types, type_map = _kernel._decide_params_type(
        kernel.in_params, kernel.out_params, types(ins), types(outs)
    )
    type_map = _kernel._TypeMap((*type_map._pairs, ("IndexT", numpy.int32)))
    infos = given_types([described(each) for each in ins], in_types)
    shape = {"ndim": request["out_ndim"], "contiguous": True, "small": request["small"]}
    infos += [described({"dtype": name_of(kind), **shape}) for kind in out_types]
    infos += [indexer(request["ndim"]), indexer(request["out_ndim"])]
    infos.append(_kernel._ArgInfo(SCALAR, _scalar.CScalar, numpy.dtype(numpy.int32), 0, True, True))
    code = _reduction._ReductionKernel_get_cached_function_code(
        kernel.nin,
        kernel.nout,
        kernel._params,
        tuple(infos),
        type_map,
        kernel.name,
        BLOCK,
        kernel.reduce_type,
        kernel.identity,
        kernel.map_expr,
        kernel.reduce_expr,
        kernel.post_map_expr,
        kernel.preamble,
        (),
    )
    return made(code, kernel.name)


def jit(request: dict) -> dict:
    import numpy
    from cupyx import jit as cupyx_jit
    from cupyx.jit import _compile, _cuda_typerules, _cuda_types

    file = "kernel.py"
    source = request["source"]
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    import cupy

    space = {"__name__": "kernel", "numpy": numpy, "np": numpy, "cupy": cupy, "cp": cupy, "jit": cupyx_jit}
    space.update(request["numbers"])
    for name, (module, path) in request["names"].items():
        found = sys.modules.get(module) or __import__(module, fromlist=["_"])
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
        space[name] = found
    exec(compile(source, file, "exec"), space)
    kernel = space[request["name"]]
    in_types = []
    for each in request["arguments"]:
        dtype = numpy.dtype(each["dtype"])
        if each["ndim"] is None:
            in_types.append(_cuda_typerules.get_ctype_from_scalar(kernel._mode, dtype.type(0)))
        else:
            in_types.append(_cuda_types.CArray(dtype, each["ndim"], each["contiguous"], each["small"]))
    result = _compile.transpile(
        kernel._func, ['extern "C"', "__global__"], kernel._mode, tuple(in_types), _cuda_types.void
    )
    return made(result.code, result.func_name, tuple(result.options))


def name_of(kind: Any) -> str:
    import numpy

    return numpy.dtype(kind).str


def made(code: str, name: str, options: tuple = ()) -> dict:
    import cupy

    return {"text": code, "name": name, "options": list(options), "version": cupy.__version__}


MAKERS = {"elementwise": elementwise, "reduction": reduction, "jit": jit}

if __name__ == "__main__":
    main()
