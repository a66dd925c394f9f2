extern "C" __global__ void maximum(const float *x, float *out)
{
    out[threadIdx.x] = fmaxf(x[threadIdx.x], 0.0f);
}
