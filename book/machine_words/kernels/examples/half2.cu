#include <cuda_fp16.h>

extern "C" __global__ void pairs(const __half2 *x, __half2 *out)
{
    out[threadIdx.x] = __hfma2(x[threadIdx.x], x[threadIdx.x], out[threadIdx.x]);
}
