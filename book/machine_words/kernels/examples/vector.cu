extern "C" __global__ void vector(const float4 *x, float4 *out)
{
    out[threadIdx.x] = x[threadIdx.x];
}
