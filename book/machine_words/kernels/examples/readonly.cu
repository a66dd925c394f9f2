extern "C" __global__ void readonly(const float *__restrict__ x, float *__restrict__ out)
{
    out[threadIdx.x] = x[threadIdx.x];
}
