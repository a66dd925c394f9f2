extern "C" __global__ void divide(const float *x, const float *y, float *out)
{
    out[threadIdx.x] = x[threadIdx.x] / y[threadIdx.x];
}
