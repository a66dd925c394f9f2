extern "C" __global__ void warp_sum(const float *x, float *out)
{
    float sum = x[threadIdx.x];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(~0ull, sum, step);
    out[threadIdx.x] = sum;
}
