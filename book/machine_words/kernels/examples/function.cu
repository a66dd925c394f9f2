extern "C" __global__ void function(const float *x, float *out)
{
    out[threadIdx.x] = rsqrtf(x[threadIdx.x]);
}
