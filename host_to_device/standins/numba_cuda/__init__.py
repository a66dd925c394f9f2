"""A stand-in for `numba.cuda`: the same names, kernels that run on the CPU, memory that behaves as a GPU's.

Where there is no GPU, a lesson's `from numba import cuda` imports this package. It implements what the course uses,
with Numba's names, errors and refusals. A name that it lacks is refused in one line.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from host_to_device.standins.numba_cuda import random, submodules, vectors
from host_to_device.standins.numba_cuda.allocation import (
    defer_cleanup,
    device_array,
    device_array_like,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
)
from host_to_device.standins.numba_cuda.devices import (
    CudaAPIError,
    CudaDriverError,
    CudaSupportError,
    close,
    cuda_error,
    current_context,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_supported_version,
    list_devices,
    missing,
    require_context,
    select_device,
)
from host_to_device.standins.numba_cuda.dispatching import jit
from host_to_device.standins.numba_cuda.hints import In, InOut, Out
from host_to_device.standins.numba_cuda.memory import (
    as_cuda_array,
    from_cuda_array_interface,
    is_cuda_array,
    to_device,
)
from host_to_device.standins.numba_cuda.names import (
    activemask,
    all_sync,
    any_sync,
    atomic,
    ballot_sync,
    blockDim,
    blockIdx,
    brev,
    cbrt,
    cg,
    clz,
    const,
    eq_sync,
    ffs,
    fma,
    grid,
    gridDim,
    gridsize,
    laneid,
    lanemask_lt,
    ldca,
    ldcg,
    ldcs,
    ldcv,
    ldlu,
    local,
    match_all_sync,
    match_any_sync,
    nanosleep,
    popc,
    selp,
    shared,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    stcg,
    stcs,
    stwb,
    stwt,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    threadfence,
    threadfence_block,
    threadfence_system,
    threadIdx,
    warpsize,
)
from host_to_device.standins.numba_cuda.reducing import reduce
from host_to_device.standins.numba_cuda.reducing import reduce as Reduce
from host_to_device.standins.numba_cuda.settings import stand_in
from host_to_device.standins.numba_cuda.streams import (
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)
from host_to_device.standins.numba_cuda.vectorizing import guvectorize, vectorize

implementation = "host_to_device stand-in"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        import numba

        kind = getattr(numba.types, name, None)
    except ImportError:
        kind = None
    if kind is not None:  # Numba's module has the types too: cuda.float32
        return kind
    if name in ("devicearray", "devices", "driver"):
        name = f"cudadrv.{name}"
    if name in vectors.NAMES:
        return vectors.NAMES[name]
    if submodules.is_known(name) and sys.modules.get("numba.cuda") is sys.modules[__name__]:
        return importlib.import_module(f"numba.cuda.{name}")
    raise AttributeError(missing(name))
