"""The names of CuPy that the stand-in lacks, and the one-line error for them.

The lists are CuPy 14.2's public names less the stand-in's own; tests/standins/cupy/test_imports.py keeps them true.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

VERSION = "14.2.0"  # of the CuPy whose names and refusals the stand-in has
STAND_IN_VERSION = f"{VERSION}+host-to-device.stand-in"

MISSING: dict[str, str] = {
    "": """
DataSource disable_experimental_feature_warning disp find_common_type
format_parser get_array_wrap issctype issubclass_ issubsctype make_aligned_dtype obj2sctype
polynomial safe_eval sctype2char set_string_function typing who
""",
    "cuda": """
CFunctionAllocator Function Graph MemoryAsync MemoryAsyncPool MemoryHook Module PythonFunctionAllocator common
cublas cufft curand cusolver cusparse function get_cublas_handle get_hipcc_path get_rocm_path graph jitify
malloc_async memory_hook memory_hooks nccl nvrtc texture
""",
    "cuda.driver": """
CUDA_ERROR_INVALID_VALUE CU_AD_FORMAT_FLOAT CU_AD_FORMAT_HALF CU_AD_FORMAT_SIGNED_INT16
CU_AD_FORMAT_SIGNED_INT32 CU_AD_FORMAT_SIGNED_INT8 CU_AD_FORMAT_UNSIGNED_INT16 CU_AD_FORMAT_UNSIGNED_INT32
CU_AD_FORMAT_UNSIGNED_INT8 CU_FUNC_ATTRIBUTE_BINARY_VERSION CU_FUNC_ATTRIBUTE_CACHE_MODE_CA
CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
CU_FUNC_ATTRIBUTE_NUM_REGS CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT CU_FUNC_ATTRIBUTE_PTX_VERSION
CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES CU_JIT_CACHE_MODE CU_JIT_ERROR_LOG_BUFFER
CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES CU_JIT_FALLBACK_STRATEGY CU_JIT_FAST_COMPILE CU_JIT_FMA CU_JIT_FTZ
CU_JIT_GENERATE_DEBUG_INFO CU_JIT_GENERATE_LINE_INFO CU_JIT_GLOBAL_SYMBOL_ADDRESSES CU_JIT_GLOBAL_SYMBOL_COUNT
CU_JIT_GLOBAL_SYMBOL_NAMES CU_JIT_INFO_LOG_BUFFER CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES CU_JIT_INPUT_CUBIN
CU_JIT_INPUT_FATBINARY CU_JIT_INPUT_LIBRARY CU_JIT_INPUT_NVVM CU_JIT_INPUT_OBJECT CU_JIT_INPUT_PTX
CU_JIT_LOG_VERBOSE CU_JIT_LTO CU_JIT_MAX_REGISTERS CU_JIT_NEW_SM3X_OPT CU_JIT_NUM_OPTIONS
CU_JIT_OPTIMIZATION_LEVEL CU_JIT_PREC_DIV CU_JIT_PREC_SQRT CU_JIT_TARGET CU_JIT_TARGET_FROM_CUCONTEXT
CU_JIT_THREADS_PER_BLOCK CU_JIT_WALL_TIME CU_TRSA_OVERRIDE_FORMAT CU_TRSF_NORMALIZED_COORDINATES
CU_TRSF_READ_AS_INTEGER CU_TRSF_SRGB CU_TR_ADDRESS_MODE_BORDER CU_TR_ADDRESS_MODE_CLAMP
CU_TR_ADDRESS_MODE_MIRROR CU_TR_ADDRESS_MODE_WRAP CU_TR_FILTER_MODE_LINEAR CU_TR_FILTER_MODE_POINT
check_status ctxCreate ctxDestroy ctxGetCurrent ctxGetDevice ctxSetCurrent devicePrimaryCtxRelease
funcGetAttribute funcSetAttribute launchCooperativeKernel launchKernel linkAddData linkAddFile linkComplete
linkCreate linkDestroy moduleGetFunction moduleGetGlobal moduleLoad moduleLoadData moduleUnload
occupancyMaxActiveBlocksPerMultiprocessor occupancyMaxPotentialBlockSize streamGetCtx
""",
    "cuda.runtime": """
CUDA_C_16F CUDA_C_32F CUDA_C_64F CUDA_C_8I CUDA_C_8U CUDA_R_16BF CUDA_R_16F CUDA_R_32F CUDA_R_64F CUDA_R_8I
CUDA_R_8U MemPoolProps PointerAttributes createSurfaceObject createTextureObject cudaAddressModeBorder
cudaAddressModeClamp cudaAddressModeMirror cudaAddressModeWrap cudaArrayDefault cudaArraySurfaceLoadStore
cudaChannelFormatKindFloat cudaChannelFormatKindNone cudaChannelFormatKindSigned cudaChannelFormatKindUnsigned
cudaCpuDeviceId 
cudaFilterModeLinear
cudaFilterModePoint cudaGraphDebugDotFlagsConditionalNodeParams cudaGraphDebugDotFlagsEventNodeParams
cudaGraphDebugDotFlagsExtSemasSignalNodeParams cudaGraphDebugDotFlagsExtSemasWaitNodeParams
cudaGraphDebugDotFlagsHandles cudaGraphDebugDotFlagsHostNodeParams cudaGraphDebugDotFlagsKernelNodeAttributes
cudaGraphDebugDotFlagsKernelNodeParams cudaGraphDebugDotFlagsMemcpyNodeParams
cudaGraphDebugDotFlagsMemsetNodeParams cudaGraphDebugDotFlagsVerbose cudaInvalidDeviceId
cudaIpcMemLazyEnablePeerAccess cudaLimitDevRuntimePendingLaunchCount cudaLimitDevRuntimeSyncDepth
cudaLimitMallocHeapSize cudaLimitMaxL2FetchGranularity cudaLimitPrintfFifoSize cudaLimitStackSize
cudaMemAdviseSetAccessedBy cudaMemAdviseSetPreferredLocation cudaMemAdviseSetReadMostly
cudaMemAdviseUnsetAccessedBy cudaMemAdviseUnsetPreferredLocation cudaMemAdviseUnsetReadMostly
cudaMemAllocationTypePinned cudaMemAttachGlobal cudaMemAttachHost cudaMemAttachSingle cudaMemHandleTypeNone
cudaMemHandleTypePosixFileDescriptor cudaMemLocationTypeDevice cudaMemLocationTypeHost
cudaMemLocationTypeHostNuma cudaMemLocationTypeHostNumaCurrent cudaMemLocationTypeInvalid
cudaMemPoolAttrReleaseThreshold cudaMemPoolAttrReservedMemCurrent cudaMemPoolAttrReservedMemHigh
cudaMemPoolAttrUsedMemCurrent cudaMemPoolAttrUsedMemHigh cudaMemPoolReuseAllowInternalDependencies
cudaMemPoolReuseAllowOpportunistic cudaMemPoolReuseFollowEventDependencies cudaMemoryTypeDevice
cudaMemoryTypeHost cudaReadModeElementType cudaReadModeNormalizedFloat cudaResourceTypeArray
cudaResourceTypeLinear cudaResourceTypeMipmappedArray cudaResourceTypePitch2D destroySurfaceObject
destroyTextureObject deviceDisablePeerAccess deviceEnablePeerAccess deviceGetByPCIBusId
deviceGetDefaultMemPool deviceGetLimit deviceGetMemPool deviceGetPCIBusId deviceSetLimit deviceSetMemPool
eventCreate eventCreateWithFlags eventDestroy eventElapsedTime eventQuery eventRecord eventSynchronize free
freeArray freeAsync freeHost graphDebugDotPrint graphDestroy graphExecDestroy graphInstantiate graphLaunch
graphUpload hostAlloc hostRegister hostUnregister ipcCloseMemHandle ipcGetEventHandle ipcGetMemHandle
ipcOpenEventHandle ipcOpenMemHandle launchHostFunc malloc malloc3DArray mallocArray mallocAsync
mallocFromPoolAsync mallocManaged memAdvise memPoolCreate memPoolDestroy memPoolGetAttribute
memPoolSetAttribute memPoolTrimTo memPrefetchAsync memcpy2D memcpy2DAsync memcpy2DFromArray
memcpy2DFromArrayAsync memcpy2DToArray memcpy2DToArrayAsync memcpy3D memcpy3DAsync memcpyPeer memcpyPeerAsync
memoryTypeDevice memoryTypeHost memoryTypeManaged memoryTypeUnregistered memsetAsync pointerGetAttributes
pointerGetMemoryType streamAddCallback streamBeginCapture streamCaptureModeGlobal streamCaptureModeRelaxed
streamCaptureModeThreadLocal streamCaptureStatusActive streamCaptureStatusInvalidated streamCaptureStatusNone
streamCreate streamCreateWithFlags streamCreateWithPriority streamDestroy streamEndCapture streamGetFlags
streamGetPriority streamIsCapturing streamQuery streamWaitEvent
""",
    "cuda.cub": """
CUB_sum_support_dtype CUB_sum_support_dtype_with_half CUB_sum_support_dtype_without_half CUB_support_dtype
CUB_support_dtype_with_half CUB_support_dtype_without_half cub_histogram cub_reduction cub_scan device_histogram
device_reduce device_scan device_segmented_reduce
""",
    "cuda.thrust": "argsort lexsort sort",
    "fft": "config",
    "testing": """
AssertFunctionIsCalled NumpyAliasBasicTestBase NumpyAliasValuesTestBase assert_array_almost_equal_nulp
assert_array_list_equal assert_array_max_ulp assert_warns fix_random for_CF_orders for_all_dtypes
for_all_dtypes_combination for_complex_dtypes for_contiguous_axes for_dtypes for_dtypes_combination
for_float_dtypes for_int_dtypes for_int_dtypes_combination for_orders for_signed_dtypes
for_signed_dtypes_combination for_unsigned_dtypes for_unsigned_dtypes_combination generate_matrix
generate_seed installed multi_gpu numpy_cupy_allclose numpy_cupy_array_almost_equal
numpy_cupy_array_almost_equal_nulp numpy_cupy_array_equal numpy_cupy_array_less numpy_cupy_array_list_equal
numpy_cupy_array_max_ulp numpy_cupy_equal numpy_cupy_raises numpy_satisfies parameterize product product_dict
shaped_arange shaped_linspace shaped_random shaped_reverse_arange shaped_sparse_random slow with_requires
""",
    "cupyx": """
GeneralizedUFunc allow_synchronize cusolver cusparse cutensor distributed lapack linalg optimizing scipy
signal tools
""",
}

# Why a name is left out, or what to use instead.
REASONS = {
    "cupyx.scipy": "the course does not use it; use SciPy on the host",
}
OTHERWISE = "the course does not use it, or it needs a GPU"


class NotInStandIn(NotImplementedError, AttributeError):
    """Raised for a name that CuPy has and the stand-in lacks; the message is one line with the name."""


def missing(name: str) -> str:
    """Return the message for a name that CuPy has and the stand-in lacks.

    Parameters
    ----------
    name
        The name as it follows `cupy.`, or with `cupyx.` in front.
    """
    where = name if name.startswith("cupyx") else f"cupy.{name}"
    parts = where.split(".")
    known = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    reason = next((REASONS[part] for part in known if part in REASONS), OTHERWISE)
    return f"{where} is not in host_to_device's stand-in for CuPy: {reason}"


def is_missing(module: str, name: str) -> bool:
    """Return whether CuPy's module (`cuda.runtime`, or '' for the top) has a name that the stand-in lacks."""
    return name in MISSING.get(module, "").split()


def public(own: dict[str, Any], *others: str) -> list[str]:
    """Return what `dir` of a module shows: the public names defined in it, and some others; no imports.

    Parameters
    ----------
    own
        The module's globals.
    others
        Public names that the module has from elsewhere.
    """
    here = own["__name__"]
    defined = (name for name, value in own.items() if getattr(value, "__module__", here) == here)
    names = {name for name in defined if not isinstance(own[name], ModuleType | type(annotations))}
    return sorted({name for name in names if not name.startswith("_")} | set(others))


def raise_missing(module: str, name: str) -> NoReturn:
    """Raise the error for a name that a module does not have.

    Raises
    ------
    NotInStandIn
        If CuPy has the name: a message of one line.
    AttributeError
        If CuPy does not have the name either.
    """
    full = f"{module}.{name}".strip(".")
    if is_missing(module, name):
        raise NotInStandIn(missing(full))
    where = module if module.startswith("cupyx") else f"cupy.{module}".strip(".")
    raise AttributeError(f"module '{where}' has no attribute '{name}'")
