extern "C" __global__ void branches(const int *x, int *out)
{
    int value = x[threadIdx.x];
    if (value > 0)
#pragma unroll 1
        while (value > 1)
            value = out[value];
    else
        value = atomicAdd(&out[0], value);
    __syncwarp();
    out[threadIdx.x] = value;
}
