"""`with_warp_size(kernel, 64)[grid, block](…)`: run a kernel on the stand-in in warps of 32 or 64 lanes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from host_to_device.standins.host_copies import HostCopies, on_gpu, without_stream
from host_to_device.standins.kernels import expressions_of, is_raw, name_of, stand_in_of
from host_to_device.standins.numba_cuda.launching import dimensions, settings_now

WARP_SIZES = (32, 64)


def known_warp_size(value: Any) -> int:
    """Return a warp size in lanes, if it is one that GPUs have.

    Raises
    ------
    ValueError
        If it is neither 32 nor 64.
    """
    if value not in WARP_SIZES:
        raise ValueError(f"warp_size is {value!r}: a warp has 32 lanes, or 64 on some GPUs of AMD")
    return int(value)


def with_warp_size(kernel: Any, warp_size: int) -> OfWarpSize:
    """Return a kernel that runs on the CPU in warps of 32 or 64 lanes: give it `[grid, block]` and the arguments.

    The kernel runs on the stand-in, also on a machine with a GPU. After the launch the arrays hold what the kernel has
    stored, as after any launch. `cuda.warpsize`, `warpSize`, lane numbers, shuffles and votes are those of warps of
    that size, and masks have as many bits. Everything else is as on the stand-in. In CUDA C++ the variables of a
    module begin with the values that the source gives them. At 64 lanes CUDA C++ also has HIP's shuffles and votes
    without a mask, and it refuses a mask of 32 bits, as HIP does.

    Parameters
    ----------
    kernel
        A kernel made by `cuda.jit`, the stand-in's or Numba's own, or CuPy's `RawKernel`.
    warp_size
        32 lanes, as on NVIDIA's GPUs, or 64, as on AMD's GPUs for data centres.

    Raises
    ------
    TypeError
        If `kernel` is not a kernel.
    ValueError
        If `warp_size` is neither 32 nor 64.

    Examples
    --------
    >>> from numba import cuda
    >>> @cuda.jit
    ... def lanes(out):
    ...     out[cuda.grid(1)] = cuda.laneid
    >>> out = np.zeros(128, np.int64)
    >>> h2d.with_warp_size(lanes, 64)[1, 128](out)
    >>> int(out.max())
    63
    """
    return OfWarpSize(kernel, known_warp_size(warp_size))


class OfWarpSize:
    """A kernel with its warp size; give it a launch configuration and arguments as for a launch."""

    def __init__(self, kernel: Any, warp_size: int) -> None:
        if isinstance(kernel, str):
            raise TypeError(
                "with_warp_size takes a kernel and got a string: make a kernel of it with cp.RawKernel(source, name)"
            )
        self.kernel = stand_in_of(kernel, "with_warp_size", f", {warp_size}")
        self.warp_size = warp_size
        self.is_raw = is_raw(self.kernel)
        self.name = name_of(self.kernel)

    def __repr__(self) -> str:
        return f"<{self.name} in warps of {self.warp_size}: give it [grid, block] and the arguments>"

    def __call__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            f"the launch configuration is missing: with_warp_size({self.name}, {self.warp_size})[grid, block](arguments)"
        )

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        if not isinstance(configuration, tuple) or len(configuration) not in (2, 3, 4):
            raise ValueError("must specify at least the griddim and blockdim")
        run = self.run_raw if self.is_raw else self.run_python
        return lambda *arguments: run(configuration, arguments)

    def run_python(self, configuration: tuple, arguments: tuple) -> None:
        kernel = self.kernel
        if kernel.warp_size != self.warp_size:
            signatures = kernel.given_signatures
            kernel = type(kernel)(kernel.py_func, False, signatures, warp_size=self.warp_size)
        copies = HostCopies(arguments)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # about host arrays that a launch copies: here nothing crosses a bus
            kernel[without_stream(configuration)](*copies.values)
        copies.copy_back()

    def run_raw(self, configuration: tuple, arguments: tuple) -> None:
        from host_to_device.standins import cuda_cpp
        from host_to_device.standins.cupy import launching
        from host_to_device.standins.cupy.copying import copies, copy_back
        from host_to_device.standins.cupy.generated import translated
        from host_to_device.standins.cupy.raw import RawKernel

        given = self.kernel
        options = tuple(given.options or ())
        grid, block, *rest = configuration
        sizes = dimensions(grid, "griddim", None), dimensions(block, "blockdim", None)
        shared = int(rest[1]) if len(rest) > 1 else 0
        module = cuda_cpp.compile(
            translated(given.code) if getattr(given, "translate_cucomplex", False) else given.code,
            name_expressions=expressions_of(given),
            options=options,
            warp_size=self.warp_size,
        )
        function = module.function(self.name)
        on_stand_in = copies({number: each for number, each in enumerate(arguments) if on_gpu(each)})
        values = [on_stand_in.get(number, each) for number, each in enumerate(arguments)]
        passed = RawKernel(given.code, self.name, options)._passed(function, values)
        now = settings_now()
        launching.launch(
            function,
            *sizes,
            passed,
            shared,
            seed=now.seed,
            seconds=now.seconds,
            cooperative=getattr(given, "enable_cooperative_groups", False),
        )
        for number, copy in on_stand_in.items():
            copy_back(copy, arguments[number])
