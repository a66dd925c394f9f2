// At most 1024 threads a block, at least so many wavefronts on a SIMD.
#ifdef __GFX11__
#define AT_LEAST 16
#else
#define AT_LEAST 8
#endif
extern "C" __global__ void __launch_bounds__(1024, AT_LEAST)
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
