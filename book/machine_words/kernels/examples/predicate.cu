extern "C" __global__ void predicate(const int *x, int *out)
{
    out[threadIdx.x] = x[threadIdx.x] > 9 ? x[threadIdx.x + 1] : 7;
}
