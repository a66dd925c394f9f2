extern "C" __global__ void vote(const int *x, unsigned long long *out)
{
    out[threadIdx.x] = __ballot_sync(~0ull, x[threadIdx.x] > 0);
}
