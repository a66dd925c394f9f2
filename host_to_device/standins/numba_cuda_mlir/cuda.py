"""A stand-in for `numba_cuda_mlir.cuda`: the stand-in for `numba.cuda`, with what differs in the successor.

What differs was read in the source of numba-cuda-mlir 0.6.0 and compiled with it; `tests/corpora/kernels/names.py` lists
the programs.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from host_to_device.standins import numba_cuda
from host_to_device.standins.numba_cuda import dispatching, launching, memory, names, submodules
from host_to_device.standins.numba_cuda.errors import refusal
from host_to_device.standins.numba_cuda.settings import HAS_NUMBA

vars().update({name: value for name, value in vars(numba_cuda).items() if not name.startswith("_")})

__path__: list[str] = []  # modules below it are found by `imports`
# Names that numba.cuda does not have.
shared_array, local_array = names.shared.array, names.local.array
DeviceNDArray = memory.DeviceNDArray
implementation = "host_to_device stand-in for numba_cuda_mlir"

# The options of its cuda.jit. Those that print or change what the compiler does change nothing here.
OPTIONS = {
    *("abi", "abi_info", "annotations_as_signatures", "cache", "capi", "cc", "chip", "debug", "device"),
    *("dump", "dump_ast", "dump_ast_after_all", "dump_cubin", "dump_llvmir", "dump_mlir", "dump_numba_ir"),
    *("dump_ptx", "experimental_ast_transforms", "extensions", "fast_math", "fastmath", "features"),
    *("forceinline", "inline", "launch_bounds", "lineinfo", "link", "lto", "max_registers", "nopython"),
    *("no_cpython_wrapper", "opt", "opt_level", "print_after_all", "print_before_all", "profile_jit"),
    *("ptxas_options", "shared_memory_carveout", "signature", "_nrt", "_dbg_optnone"),
}
# Options that change how a kernel is read or compiled, in a way that the stand-in does not follow.
REFUSED = {
    "experimental_ast_transforms": "the stand-in does not rewrite kernels before it runs them",
    "signature": "write the signature as the first argument of cuda.jit",
}
# Further names of its own, and why the stand-in lacks them.
LEFT_OUT = {
    "inline_ptx": "no PTX can be written into a kernel here",
    "compile_cubin": "kernels are not compiled for a GPU here: h2d.show shows their code",
    "compile_for": "kernels are not compiled for a GPU here: h2d.show shows their code",
    "compile_mlir": "kernels are not compiled for a GPU here: h2d.show shows their code",
    "experimental": "it belongs to the compiler for a GPU",
    "intrin": "it belongs to the compiler for a GPU",
    "tensor_map": "it belongs to the compiler for a GPU",
}


class MLIRDispatcher(dispatching.CUDADispatcher):
    """A function decorated with the `cuda.jit` of `numba_cuda_mlir`."""

    successor = True

    @property
    def program(self) -> Any:
        """The rewritten kernel, as for `numba.cuda`.

        Raises
        ------
        numba.core.errors.TypingError
            If the kernel uses a name of the module `numba`, which the successor does not know.
        """
        space = {**self.py_func.__globals__, **inspect.getclosurevars(self.py_func).nonlocals}
        for name in self.py_func.__code__.co_names + self.py_func.__code__.co_freevars:
            if getattr(space.get(name), "__name__", "") == "numba" and inspect.ismodule(space[name]):
                raise refusal(
                    f"Unknown attribute of type Module(numba): {self.__name__}() uses {name}, which numba_cuda_mlir does not know. Take the types "
                    "from numba_cuda_mlir.types"
                )
        return super().program

    def __getitem__(self, configuration: Any) -> launching.Launch:
        if isinstance(configuration, tuple) and len(configuration) == 5:
            *configuration, cluster = configuration
            if cluster is not None:
                raise NotImplementedError(
                    "the stand-in has no thread block clusters: launch the kernel without the fifth number in its brackets"
                )
        return super().__getitem__(tuple(configuration) if isinstance(configuration, list) else configuration)


def jit(func_or_sig: Any = None, **options: Any) -> Any:
    """Make a kernel, or with `device=True` a function that kernels call.

    Parameters
    ----------
    func_or_sig
        The function, a signature, or a list of signatures, as for `numba.cuda.jit`. A function whose parameters are all
        annotated with Numba's types has the signature that its annotations say, unless
        `annotations_as_signatures=False`.
    options
        The options of `numba_cuda_mlir.cuda.jit`. Most change nothing here.

    Raises
    ------
    ValueError
        For an option that it does not have, and for `debug=True` without `opt=False`.
    TypeError
        If a function has both a signature and annotations that are one.
    NotImplementedError
        For `link`, `extensions`, `signature` and `experimental_ast_transforms`, which the stand-in does not follow.
    """
    if unknown := sorted(set(options) - OPTIONS):
        raise ValueError(f"Got invalid options: {', '.join(unknown)}.")
    for name, why in REFUSED.items():
        if options.get(name):
            raise NotImplementedError(f"cuda.jit({name}=…): {why}")
    if "opt" in options and "opt_level" in options:
        raise ValueError("Cannot specify both opt and opt_level at the same time.")
    optimized = options.get("opt_level", 3) > 0 and options.get("opt") is not False
    dispatching.warn_of_debugging(
        options.get("debug"), options.get("opt", True), options.get("lineinfo", False)
    )
    if options.get("debug") and optimized:
        raise ValueError(
            "debug=True requires opt_level=0 (ptxas does not support optimized debugging). Set opt_level=0 or opt=False."
        )
    of_numba = {
        name: value
        for name, value in options.items()
        if name in dispatching.ACCEPTED | {"device", "inline", "link", "cache", "extensions"}
    }

    def decorate(function: Any, signature: Any = func_or_sig) -> MLIRDispatcher:
        own = annotated(function) if options.get("annotations_as_signatures", True) else None
        if own is not None and signature is not None:
            raise TypeError(
                f"Conflicting signature sources for '{function.__name__}': both an explicit signature and type annotations "
                "are provided. Remove one of them, or set annotations_as_signatures=False."
            )
        given = signature if signature is not None else own
        made = dispatching.jit(given, **of_numba)(function)
        return MLIRDispatcher(
            made.py_func, made.device, made.given_signatures, {**made.targetoptions, **options}
        )

    return decorate(func_or_sig, None) if callable(func_or_sig) else decorate


def annotated(function: Any) -> tuple | None:
    """Return the types with which all parameters of a function are annotated, or None."""
    if not HAS_NUMBA or not inspect.isfunction(function):
        return None
    from numba.core import types

    kinds = [each.annotation for each in inspect.signature(function).parameters.values()]
    return tuple(kinds) if kinds and all(isinstance(each, types.Type) for each in kinds) else None


def vectorize(*_: Any, **__: Any) -> Any:
    """Raise NotImplementedError, as numba_cuda_mlir does."""
    raise NotImplementedError("vectorize is not implemented")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in LEFT_OUT:
        raise AttributeError(
            f"cuda.{name} is not in host_to_device's stand-in for numba_cuda_mlir: {LEFT_OUT[name]}"
        )
    if name == "random" or submodules.is_known(name):
        return importlib.import_module(f"numba_cuda_mlir.cuda.{name}")
    try:
        return getattr(numba_cuda, name)
    except AttributeError as problem:
        words = str(problem).replace("stand-in for numba.cuda", "stand-in for numba_cuda_mlir")
        raise AttributeError(words) from None
