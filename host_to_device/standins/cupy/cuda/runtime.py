"""The part of CUDA's runtime API that lessons use: devices, limits, memory, versions, and errors with CUDA's texts."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.names import public, raise_missing
from host_to_device.standins.numba_cuda import devices

is_hip = False

# CUDA runtime API, "Data types used by CUDA Runtime": cudaDeviceAttr; only the attributes of the stand-in's device.
cudaDevAttrMaxThreadsPerBlock = 1
cudaDevAttrMaxBlockDimX = 2
cudaDevAttrMaxBlockDimY = 3
cudaDevAttrMaxBlockDimZ = 4
cudaDevAttrMaxGridDimX = 5
cudaDevAttrMaxGridDimY = 6
cudaDevAttrMaxGridDimZ = 7
cudaDevAttrMaxSharedMemoryPerBlock = 8
cudaDevAttrTotalConstantMemory = 9
cudaDevAttrWarpSize = 10
cudaDevAttrMaxRegistersPerBlock = 12
cudaDevAttrMultiProcessorCount = 16
cudaDevAttrKernelExecTimeout = 17
cudaDevAttrIntegrated = 18
cudaDevAttrCanMapHostMemory = 19
cudaDevAttrMaxThreadsPerMultiProcessor = 39
cudaDevAttrUnifiedAddressing = 41
cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81
cudaDevAttrMaxRegistersPerMultiprocessor = 82
cudaDevAttrManagedMemory = 83
cudaDevAttrMaxSharedMemoryPerBlockOptin = 97

# The other attributes: their names are there, and `deviceGetAttribute` refuses them.
_OTHER_ATTRIBUTES = """
MaxPitch=11 ClockRate=13 TextureAlignment=14 GpuOverlap=15 ComputeMode=20 MaxTexture1DWidth=21 MaxTexture2DWidth=22
MaxTexture2DHeight=23 MaxTexture3DWidth=24 MaxTexture3DHeight=25 MaxTexture3DDepth=26 MaxTexture2DLayeredWidth=27
MaxTexture2DLayeredHeight=28 MaxTexture2DLayeredLayers=29 SurfaceAlignment=30 ConcurrentKernels=31 EccEnabled=32
PciBusId=33 PciDeviceId=34 TccDriver=35 MemoryClockRate=36 GlobalMemoryBusWidth=37 L2CacheSize=38 AsyncEngineCount=40
MaxTexture1DLayeredWidth=42 MaxTexture1DLayeredLayers=43 MaxTexture2DGatherWidth=45 MaxTexture2DGatherHeight=46
MaxTexture3DWidthAlt=47 MaxTexture3DHeightAlt=48 MaxTexture3DDepthAlt=49 PciDomainId=50 TexturePitchAlignment=51
MaxTextureCubemapWidth=52 MaxTextureCubemapLayeredWidth=53 MaxTextureCubemapLayeredLayers=54 MaxSurface1DWidth=55
MaxSurface2DWidth=56 MaxSurface2DHeight=57 MaxSurface3DWidth=58 MaxSurface3DHeight=59 MaxSurface3DDepth=60
MaxSurface1DLayeredWidth=61 MaxSurface1DLayeredLayers=62 MaxSurface2DLayeredWidth=63 MaxSurface2DLayeredHeight=64
MaxSurface2DLayeredLayers=65 MaxSurfaceCubemapWidth=66 MaxSurfaceCubemapLayeredWidth=67
MaxSurfaceCubemapLayeredLayers=68 MaxTexture1DLinearWidth=69 MaxTexture2DLinearWidth=70 MaxTexture2DLinearHeight=71
MaxTexture2DLinearPitch=72 MaxTexture2DMipmappedWidth=73 MaxTexture2DMipmappedHeight=74 MaxTexture1DMipmappedWidth=77
StreamPrioritiesSupported=78 GlobalL1CacheSupported=79 LocalL1CacheSupported=80 IsMultiGpuBoard=84
MultiGpuBoardGroupID=85 HostNativeAtomicSupported=86 SingleToDoublePrecisionPerfRatio=87 PageableMemoryAccess=88
ConcurrentManagedAccess=89 ComputePreemptionSupported=90 CanUseHostPointerForRegisteredMem=91 Reserved92=92
Reserved93=93 Reserved94=94 CooperativeLaunch=95 CooperativeMultiDeviceLaunch=96 CanFlushRemoteWrites=98
HostRegisterSupported=99 PageableMemoryAccessUsesHostPageTables=100 DirectManagedMemAccessFromHost=101
MaxBlocksPerMultiprocessor=106 ReservedSharedMemoryPerBlock=111 SparseCudaArraySupported=112
HostRegisterReadOnlySupported=113 MaxTimelineSemaphoreInteropSupported=114 MemoryPoolsSupported=115
GPUDirectRDMASupported=116 GPUDirectRDMAFlushWritesOptions=117 GPUDirectRDMAWritesOrdering=118
MemoryPoolSupportedHandleTypes=119
"""
for _each in _OTHER_ATTRIBUTES.split():
    _name, _number = _each.split("=")
    globals()[f"cudaDevAttr{_name}"] = int(_number)
cudaDevAttrCooperativeLaunch = 95

_ATTRIBUTES = {
    cudaDevAttrMaxThreadsPerBlock: "MAX_THREADS_PER_BLOCK",
    cudaDevAttrMaxBlockDimX: "MAX_BLOCK_DIM_X",
    cudaDevAttrMaxBlockDimY: "MAX_BLOCK_DIM_Y",
    cudaDevAttrMaxBlockDimZ: "MAX_BLOCK_DIM_Z",
    cudaDevAttrMaxGridDimX: "MAX_GRID_DIM_X",
    cudaDevAttrMaxGridDimY: "MAX_GRID_DIM_Y",
    cudaDevAttrMaxGridDimZ: "MAX_GRID_DIM_Z",
    cudaDevAttrMaxSharedMemoryPerBlock: "MAX_SHARED_MEMORY_PER_BLOCK",
    cudaDevAttrTotalConstantMemory: "TOTAL_CONSTANT_MEMORY",
    cudaDevAttrWarpSize: "WARP_SIZE",
    cudaDevAttrMaxRegistersPerBlock: "MAX_REGISTERS_PER_BLOCK",
    cudaDevAttrMultiProcessorCount: "MULTIPROCESSOR_COUNT",
    cudaDevAttrKernelExecTimeout: "KERNEL_EXEC_TIMEOUT",
    cudaDevAttrIntegrated: "INTEGRATED",
    cudaDevAttrCanMapHostMemory: "CAN_MAP_HOST_MEMORY",
    cudaDevAttrMaxThreadsPerMultiProcessor: "MAX_THREADS_PER_MULTI_PROCESSOR",
    cudaDevAttrUnifiedAddressing: "UNIFIED_ADDRESSING",
    cudaDevAttrMaxSharedMemoryPerMultiprocessor: "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    cudaDevAttrMaxRegistersPerMultiprocessor: "MAX_REGISTERS_PER_MULTIPROCESSOR",
    cudaDevAttrManagedMemory: "MANAGED_MEMORY",
    cudaDevAttrMaxSharedMemoryPerBlockOptin: "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    75: "COMPUTE_CAPABILITY_MAJOR",
    76: "COMPUTE_CAPABILITY_MINOR",
}

# The same page: cudaMemcpyKind, cudaEvent…, cudaStream… and cudaHostAlloc… flags.
memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = range(5)
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4
streamDefault, streamNonBlocking = 0, 1
streamLegacy, streamPerThread = 1, 2
hostAllocDefault, hostAllocPortable, hostAllocMapped, hostAllocWriteCombined = 0, 1, 2, 4

# The same page: cudaError.
_ERRORS = {
    1: ("cudaErrorInvalidValue", "invalid argument"),
    2: ("cudaErrorMemoryAllocation", "out of memory"),
    101: ("cudaErrorInvalidDevice", "invalid device ordinal"),
    400: ("cudaErrorInvalidResourceHandle", "invalid resource handle"),
}


class CUDARuntimeError(RuntimeError):
    """Raised for a failed call of CUDA's runtime.

    Parameters
    ----------
    status
        CUDA's number of the error.
    """

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__("{}: {}".format(*_ERRORS.get(status, ("cudaErrorUnknown", "unknown error"))))

    def __reduce__(self) -> Any:
        return type(self), (self.status,)


def check_status(status: int) -> None:
    """Raise CUDARuntimeError unless the status is 0."""
    if status:
        raise CUDARuntimeError(status)


def _check_device(device: int) -> None:
    if device != 0:
        raise CUDARuntimeError(101)


def getDeviceCount() -> int:
    """Return the number of devices: 1, the stand-in."""
    return 1


def getDevice() -> int:
    """Return the number of the current device: 0."""
    return 0


def setDevice(device: int) -> None:
    """Make a device the current one.

    Raises
    ------
    CUDARuntimeError
        cudaErrorInvalidDevice, unless it is 0.
    """
    _check_device(device)


def _is_known(attrib: int) -> bool:
    """Return whether the stand-in has an attribute."""
    return attrib in _ATTRIBUTES or attrib == cudaDevAttrCooperativeLaunch


def deviceGetAttribute(attrib: int, device: int) -> int:
    """Return one of the device's limits.

    Raises
    ------
    CUDARuntimeError
        cudaErrorInvalidValue for one that the stand-in does not have; cudaErrorInvalidDevice.
    """
    _check_device(device)
    if not _is_known(attrib):
        raise CUDARuntimeError(1)
    if attrib == cudaDevAttrCooperativeLaunch:
        return 1
    return devices.ATTRIBUTES[_ATTRIBUTES[attrib]]


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Return the device's name (bytes) and limits by the names of CUDA's `cudaDeviceProp`.

    Properties that only a GPU has (clock rates, bus width, cache sizes) are left out. The UUID is a text that says what
    this device is.

    Raises
    ------
    CUDARuntimeError
        cudaErrorInvalidDevice, unless it is 0.
    """
    _check_device(device)
    limits = devices.ATTRIBUTES
    return {
        "name": devices.NAME.encode(),
        "uuid": b"host_to_device".ljust(16, b"\0"),
        "cooperativeLaunch": 1,
        "totalGlobalMem": memGetInfo()[1],
        "sharedMemPerBlock": limits["MAX_SHARED_MEMORY_PER_BLOCK"],
        "regsPerBlock": limits["MAX_REGISTERS_PER_BLOCK"],
        "warpSize": limits["WARP_SIZE"],
        "maxThreadsPerBlock": limits["MAX_THREADS_PER_BLOCK"],
        "maxThreadsDim": tuple(limits[f"MAX_BLOCK_DIM_{axis}"] for axis in "XYZ"),
        "maxGridSize": tuple(limits[f"MAX_GRID_DIM_{axis}"] for axis in "XYZ"),
        "totalConstMem": limits["TOTAL_CONSTANT_MEMORY"],
        "major": limits["COMPUTE_CAPABILITY_MAJOR"],
        "minor": limits["COMPUTE_CAPABILITY_MINOR"],
        "multiProcessorCount": limits["MULTIPROCESSOR_COUNT"],
        "kernelExecTimeoutEnabled": limits["KERNEL_EXEC_TIMEOUT"],
        "integrated": limits["INTEGRATED"],
        "canMapHostMemory": limits["CAN_MAP_HOST_MEMORY"],
        "unifiedAddressing": limits["UNIFIED_ADDRESSING"],
        "maxThreadsPerMultiProcessor": limits["MAX_THREADS_PER_MULTI_PROCESSOR"],
        "sharedMemPerMultiprocessor": limits["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"],
        "regsPerMultiprocessor": limits["MAX_REGISTERS_PER_MULTIPROCESSOR"],
        "managedMemory": limits["MANAGED_MEMORY"],
        "sharedMemPerBlockOptin": limits["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"],
    }


def memGetInfo() -> tuple[int, int]:
    """Return the bytes of this machine's memory, which stands for the device's: (free, total)."""
    return tuple(devices.memory_of_this_machine())


def driverGetVersion() -> int:
    """Return 0, which is CUDA's own answer where no driver is installed."""
    return 0


def runtimeGetVersion() -> int:
    """Return 0: there is no CUDA runtime here."""
    return 0


def deviceSynchronize() -> None:
    """Return at once: each operation has finished when its call returns."""
    events.waited("synchronize")


def streamSynchronize(stream: int) -> None:
    """Return at once: each operation has finished when its call returns."""
    events.waited("synchronize")


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Return 0: there is no second device."""
    _check_device(device)
    return 0


def profilerStart() -> None:
    """Do nothing: NVIDIA's profilers cannot observe the stand-in."""


def profilerStop() -> None:
    """Do nothing: NVIDIA's profilers cannot observe the stand-in."""


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy bytes from one address to another.

    Parameters
    ----------
    dst, src
        Addresses.
    size
        Bytes.
    kind
        One of the five `memcpy…` constants.
    """
    memcpyAsync(dst, src, size, kind, 0)
    if size and kind in (memcpyHostToDevice, memcpyDeviceToHost):
        events.waited("copy to the host" if kind == memcpyDeviceToHost else "copy to the device")


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    """Run `memcpy`, which does not count as a wait here."""
    if size:
        ctypes.memmove(dst, src, size)
        directions = {memcpyHostToDevice: "h2d", memcpyDeviceToHost: "d2h", memcpyDeviceToDevice: "d2d"}
        if kind in directions:
            events.copied(directions[kind], size)


def memset(ptr: int, value: int, size: int) -> None:
    """Set bytes to a value from 0 to 255."""
    if size:
        ctypes.memset(ptr, int(np.uint8(value)), size)
        events.operated("memset")


def __getattr__(name: str) -> Any:
    raise_missing("cuda.runtime", name)


def __dir__() -> list[str]:
    return public(globals())
