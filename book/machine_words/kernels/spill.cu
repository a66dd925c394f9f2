// At most 1024 threads a block, at least 2 blocks on an SM.
extern "C" __global__ void __launch_bounds__(1024, 2)
horner(const float *x, float *out)
{
    float v[96];
    for (int k = 0; k < 96; ++k)
        v[k] = x[1024 * k + threadIdx.x];
    float sum = 0.0f;
    for (int k = 95; k >= 0; --k)
        sum = sum * v[k] + v[95 - k];
    out[threadIdx.x] = sum;
}
