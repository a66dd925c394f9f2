extern "C" __global__ void choose(const int *x, int *out)
{
    out[threadIdx.x] = x[threadIdx.x] > 9 ? 5 : 7;
}
