// The CUDA runtime, as far as CuPy calls it, written in terms of the driver API. CuPy is linked with it when it is built.
//
// The runtime's error codes are those of the driver. What is missing here is refused by name (toolkit/making.py).
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cstdio>
#include <cstring>
#include <map>

static thread_local int last_error;
static int told(int error) {
    if (error && error != cudaErrorNotReady) last_error = error;
    return error;
}
// The first call of a thread makes the primary context its own.
static int begin() {
    static const int initialised = cuInit(0);
    if (initialised) return initialised;
    CUcontext context = nullptr;
    if (const int error = cuCtxGetCurrent(&context)) return error;
    if (context) return 0;
    if (const int error = cuDevicePrimaryCtxRetain(&context, 0)) return error;
    return cuCtxSetCurrent(context);
}
#define RUNTIME(name, parameters, call)                                            \
    extern "C" __attribute__((visibility("default"))) cudaError_t name parameters { \
        const int error = begin();                                                 \
        return cudaError_t(told(error ? error : int(call)));                       \
    }
typedef CUdeviceptr P;
static CUstream S(cudaStream_t stream) { return (CUstream)stream; }
static CUevent E(cudaEvent_t event) { return (CUevent)event; }

// -- errors ---------------------------------------------------------------------------------------------------------------
static const struct { int code; const char* name; } NAMES[] = {
#include "error_names.inc"
};
#define PLAIN extern "C" __attribute__((visibility("default")))
PLAIN const char* cudaGetErrorName(cudaError_t error) {
    for (const auto& each : NAMES) if (each.code == error) return each.name;
    return "unrecognized error code";
}
PLAIN const char* cudaGetErrorString(cudaError_t error) {
    const char* text = nullptr;
    return cuGetErrorString(CUresult(error), &text) ? cudaGetErrorName(error) : text;
}
PLAIN cudaError_t cudaGetLastError() {
    const int error = last_error;
    last_error = 0;
    return cudaError_t(error);
}
PLAIN cudaError_t cudaPeekAtLastError() { return cudaError_t(last_error); }

// -- the device -------------------------------------------------------------------------------------------------------------
static int only(int device) { return device ? cudaErrorInvalidDevice : 0; }
PLAIN cudaError_t cudaDriverGetVersion(int* version) { return cudaError_t(told(cuDriverGetVersion(version))); }
PLAIN cudaError_t cudaRuntimeGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }
RUNTIME(cudaGetDeviceCount, (int* n), cuDeviceGetCount(n))
RUNTIME(cudaGetDevice, (int* device), (*device = 0, 0))
RUNTIME(cudaSetDevice, (int device), only(device))
RUNTIME(cudaDeviceSynchronize, (), cuCtxSynchronize())
RUNTIME(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device), cuDeviceGetAttribute(value, CUdevice_attribute(attribute), device))
RUNTIME(cudaDeviceGetPCIBusId, (char* id, int n, int device), cuDeviceGetPCIBusId(id, n, device))
RUNTIME(cudaDeviceGetByPCIBusId, (int* device, const char* id), cuDeviceGetByPCIBusId(device, id))
RUNTIME(cudaDeviceCanAccessPeer, (int* can, int device, int peer), (*can = 0, only(device) ? only(device) : only(peer)))
RUNTIME(cudaDeviceEnablePeerAccess, (int, unsigned), cudaErrorInvalidDevice)
RUNTIME(cudaDeviceDisablePeerAccess, (int), cudaErrorInvalidDevice)
static std::map<int, size_t>& limits() {
    static std::map<int, size_t> all = {{cudaLimitStackSize, 1024}, {cudaLimitPrintfFifoSize, 1 << 20}, {cudaLimitMallocHeapSize, 8 << 20}};
    return all;
}
static int limit(int which, size_t* get, const size_t* set) {
    const auto found = limits().find(which);
    if (found == limits().end()) return cudaErrorUnsupportedLimit;
    if (get) *get = found->second;
    if (set) found->second = *set;
    return 0;
}
RUNTIME(cudaDeviceGetLimit, (size_t* value, cudaLimit which), limit(which, value, nullptr))
RUNTIME(cudaDeviceSetLimit, (cudaLimit which, size_t value), limit(which, nullptr, &value))
static int attribute(cudaDeviceAttr which) {
    int value = 0;
    cuDeviceGetAttribute(&value, CUdevice_attribute(which), 0);
    return value;
}
static int properties(cudaDeviceProp* p, int device) {
    if (device) return cudaErrorInvalidDevice;
    memset(p, 0, sizeof *p);
    cuDeviceGetName(p->name, sizeof p->name, 0);
    cuDeviceGetUuid((CUuuid*)&p->uuid, 0);
    cuDeviceTotalMem(&p->totalGlobalMem, 0);
    p->sharedMemPerBlock = attribute(cudaDevAttrMaxSharedMemoryPerBlock);
    p->sharedMemPerBlockOptin = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    p->sharedMemPerMultiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    p->regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
    p->regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    p->warpSize = attribute(cudaDevAttrWarpSize);
    p->maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
    for (int axis = 0; axis < 3; axis++) {
        p->maxThreadsDim[axis] = attribute(cudaDeviceAttr(cudaDevAttrMaxBlockDimX + axis));
        p->maxGridSize[axis] = attribute(cudaDeviceAttr(cudaDevAttrMaxGridDimX + axis));
    }
    p->totalConstMem = attribute(cudaDevAttrTotalConstantMemory);
    p->major = attribute(cudaDevAttrComputeCapabilityMajor);
    p->minor = attribute(cudaDevAttrComputeCapabilityMinor);
    p->multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
    p->maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    p->maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    p->l2CacheSize = attribute(cudaDevAttrL2CacheSize);
    p->memoryBusWidth = attribute(cudaDevAttrGlobalMemoryBusWidth);
    p->textureAlignment = attribute(cudaDevAttrTextureAlignment);
    p->memPitch = attribute(cudaDevAttrMaxPitch);
    p->asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount);
    p->unifiedAddressing = attribute(cudaDevAttrUnifiedAddressing);
    p->managedMemory = attribute(cudaDevAttrManagedMemory);
    p->canMapHostMemory = attribute(cudaDevAttrCanMapHostMemory);
    p->concurrentKernels = attribute(cudaDevAttrConcurrentKernels);
    p->streamPrioritiesSupported = attribute(cudaDevAttrStreamPrioritiesSupported);
    p->ECCEnabled = attribute(cudaDevAttrEccEnabled);
    return 0;
}
RUNTIME(cudaGetDeviceProperties, (cudaDeviceProp* p, int device), properties(p, device))
#if CUDART_VERSION >= 13000                       // before, NVIDIA's header makes it the name of the one above
PLAIN cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* p, int device) { return cudaGetDeviceProperties(p, device); }
#endif
RUNTIME(cudaProfilerStart, (), 0)
RUNTIME(cudaProfilerStop, (), 0)

// -- memory -----------------------------------------------------------------------------------------------------------------
static int allocated(void** p, size_t n) {
    *p = nullptr;
    return n ? cuMemAlloc((P*)p, n) : CUDA_SUCCESS;
}
RUNTIME(cudaMalloc, (void** p, size_t n), allocated(p, n))
RUNTIME(cudaMallocManaged, (void** p, size_t n, unsigned flags), cuMemAllocManaged((P*)p, n, flags))
RUNTIME(cudaHostAlloc, (void** p, size_t n, unsigned flags), cuMemHostAlloc(p, n, flags))
RUNTIME(cudaMallocHost, (void** p, size_t n), cuMemAllocHost(p, n))
RUNTIME(cudaHostRegister, (void* p, size_t n, unsigned flags), cuMemHostRegister(p, n, flags))
RUNTIME(cudaHostUnregister, (void* p), cuMemHostUnregister(p))
RUNTIME(cudaFree, (void* p), cuMemFree(P(p)))
RUNTIME(cudaFreeHost, (void* p), p ? cuMemFreeHost(p) : CUDA_SUCCESS)
RUNTIME(cudaMemGetInfo, (size_t* free, size_t* total), cuMemGetInfo(free, total))
static bool is_device(const void* p) {
    unsigned type = 0;
    return !cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, P(p)) && type == CU_MEMORYTYPE_DEVICE;
}
// Without a stream, the copy is done when the call returns, except between two places on the device.
static int copied(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream, bool later) {
    switch (kind) {
        case cudaMemcpyHostToHost: return later ? cuMemcpyAsync(P(to), P(from), n, S(stream)) : cuMemcpy(P(to), P(from), n);
        case cudaMemcpyHostToDevice: return later ? cuMemcpyHtoDAsync(P(to), from, n, S(stream)) : cuMemcpyHtoD(P(to), from, n);
        case cudaMemcpyDeviceToHost: return later ? cuMemcpyDtoHAsync(to, P(from), n, S(stream)) : cuMemcpyDtoH(to, P(from), n);
        case cudaMemcpyDeviceToDevice: return later ? cuMemcpyDtoDAsync(P(to), P(from), n, S(stream)) : cuMemcpyDtoD(P(to), P(from), n);
        case cudaMemcpyDefault: return later || (is_device(to) && is_device(from)) ? cuMemcpyAsync(P(to), P(from), n, S(stream)) : cuMemcpy(P(to), P(from), n);
    }
    return cudaErrorInvalidMemcpyDirection;
}
static int copied_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind, cudaStream_t stream, bool later) {
    for (size_t i = 0; i < rows; i++) if (const int error = copied((char*)to + i * to_pitch, (const char*)from + i * from_pitch, width, kind, stream, later)) return error;
    return 0;
}
RUNTIME(cudaMemcpy, (void* to, const void* from, size_t n, cudaMemcpyKind kind), copied(to, from, n, kind, nullptr, false))
RUNTIME(cudaMemcpyAsync, (void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t s), copied(to, from, n, kind, s, true))
RUNTIME(cudaMemcpyPeer, (void* to, int, const void* from, int, size_t n), cuMemcpyDtoD(P(to), P(from), n))
RUNTIME(cudaMemcpyPeerAsync, (void* to, int, const void* from, int, size_t n, cudaStream_t s), cuMemcpyDtoDAsync(P(to), P(from), n, S(s)))
RUNTIME(cudaMemcpy2D, (void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h, cudaMemcpyKind kind), copied_rows(to, tp, from, fp, w, h, kind, nullptr, false))
RUNTIME(cudaMemcpy2DAsync, (void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h, cudaMemcpyKind kind, cudaStream_t s), copied_rows(to, tp, from, fp, w, h, kind, s, true))
RUNTIME(cudaMemset, (void* p, int v, size_t n), cuMemsetD8(P(p), (unsigned char)v, n))
RUNTIME(cudaMemsetAsync, (void* p, int v, size_t n, cudaStream_t s), cuMemsetD8Async(P(p), (unsigned char)v, n, S(s)))
#if CUDART_VERSION >= 13000
RUNTIME(cudaMemPrefetchAsync, (const void*, size_t, cudaMemLocation, unsigned, cudaStream_t), 0)
RUNTIME(cudaMemAdvise, (const void*, size_t, cudaMemoryAdvise, cudaMemLocation), 0)
#else
RUNTIME(cudaMemPrefetchAsync, (const void*, size_t, int, cudaStream_t), 0)
RUNTIME(cudaMemAdvise, (const void*, size_t, cudaMemoryAdvise, int), 0)
#endif
static int pointer_attributes(cudaPointerAttributes* a, const void* p) {
    memset(a, 0, sizeof *a);
    unsigned type = 0, managed = 0;
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, P(p))) {
        a->type = cudaMemoryTypeUnregistered;
        a->device = -2;
        a->hostPointer = (void*)p;
        return 0;
    }
    cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, P(p));
    a->type = managed ? cudaMemoryTypeManaged : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    a->devicePointer = (void*)p;
    a->hostPointer = a->type == cudaMemoryTypeDevice ? nullptr : (void*)p;
    return 0;
}
RUNTIME(cudaPointerGetAttributes, (cudaPointerAttributes* a, const void* p), pointer_attributes(a, p))

// -- streams and events -------------------------------------------------------------------------------------------------------
RUNTIME(cudaStreamCreate, (cudaStream_t* s), cuStreamCreate((CUstream*)s, 0))
RUNTIME(cudaStreamCreateWithFlags, (cudaStream_t* s, unsigned flags), cuStreamCreate((CUstream*)s, flags))
RUNTIME(cudaStreamCreateWithPriority, (cudaStream_t* s, unsigned flags, int priority), cuStreamCreateWithPriority((CUstream*)s, flags, priority))
RUNTIME(cudaStreamGetFlags, (cudaStream_t s, unsigned* flags), cuStreamGetFlags(S(s), flags))
RUNTIME(cudaStreamGetPriority, (cudaStream_t s, int* priority), cuStreamGetPriority(S(s), priority))
RUNTIME(cudaStreamDestroy, (cudaStream_t s), cuStreamDestroy(S(s)))
RUNTIME(cudaStreamSynchronize, (cudaStream_t s), cuStreamSynchronize(S(s)))
RUNTIME(cudaStreamQuery, (cudaStream_t s), cuStreamQuery(S(s)))
RUNTIME(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned flags), cuStreamWaitEvent(S(s), E(e), flags))
RUNTIME(cudaStreamIsCapturing, (cudaStream_t s, cudaStreamCaptureStatus* status), cuStreamIsCapturing(S(s), (CUstreamCaptureStatus*)status))
RUNTIME(cudaStreamAddCallback, (cudaStream_t s, cudaStreamCallback_t call, void* data, unsigned flags), cuStreamAddCallback(S(s), (CUstreamCallback)call, data, flags))
RUNTIME(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t call, void* data), cuLaunchHostFunc(S(s), call, data))
RUNTIME(cudaEventCreateWithFlags, (cudaEvent_t* e, unsigned flags), cuEventCreate((CUevent*)e, flags))
RUNTIME(cudaEventCreate, (cudaEvent_t* e), cuEventCreate((CUevent*)e, 0))
RUNTIME(cudaEventDestroy, (cudaEvent_t e), cuEventDestroy(E(e)))
RUNTIME(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), cuEventRecord(E(e), S(s)))
RUNTIME(cudaEventQuery, (cudaEvent_t e), cuEventQuery(E(e)))
RUNTIME(cudaEventSynchronize, (cudaEvent_t e), cuEventSynchronize(E(e)))
RUNTIME(cudaEventElapsedTime, (float* ms, cudaEvent_t a, cudaEvent_t b), cuEventElapsedTime(ms, E(a), E(b)))
