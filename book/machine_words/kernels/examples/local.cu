extern "C" __global__ void local(const int *x, float *out)
{
    float own[64];
#pragma unroll 1
    for (int k = 0; k < 64; ++k)
        own[x[k]] = x[k];
    out[threadIdx.x] = own[x[threadIdx.x]];
}
