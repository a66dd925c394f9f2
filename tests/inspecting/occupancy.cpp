// Asks NVIDIA's occupancy calculator. A line in: the device's properties, the kernel's needs and the block size, in the
// order in which they are read below. A line out: blocks an SM, and the limits by registers, shared memory, warps, blocks.
#include <climits>
#include <cstdio>

#include "cuda_occupancy.h"

int main()
{
    long of[16];
    for (;;) {
        for (long &each : of)
            if (scanf("%ld", &each) != 1)
                return 0;
        cudaOccDeviceProp device;
        device.computeMajor = of[0];
        device.computeMinor = of[1];
        device.maxThreadsPerBlock = of[2];
        device.maxThreadsPerMultiprocessor = of[3];
        device.regsPerBlock = device.regsPerMultiprocessor = of[4];
        device.warpSize = of[5];
        device.sharedMemPerBlock = of[6];
        device.sharedMemPerMultiprocessor = of[7];
        device.sharedMemPerBlockOptin = of[8];
        device.reservedSharedMemPerBlock = of[9];
        device.numSms = of[10];
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = INT_MAX;
        kernel.numRegs = of[11];
        kernel.sharedSizeBytes = of[12];
        kernel.maxDynamicSharedSizeBytes = of[13];
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.numBlockBarriers = of[14];
        cudaOccDeviceState state;
        cudaOccResult found;
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&found, &device, &kernel, &state, of[15], of[13]);
        if (error)
            printf("error %d\n", error);
        else
            printf("%d %d %d %d %d\n", found.activeBlocksPerMultiprocessor, found.blockLimitRegs,
                   found.blockLimitSharedMem, found.blockLimitWarps, found.blockLimitBlocks);
    }
}
