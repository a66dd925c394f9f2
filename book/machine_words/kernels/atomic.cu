extern "C" __global__ void count(const int *bins, int *counts, int *next, int *places)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counts[bins[i]], 1);
    places[i] = atomicAdd(&next[bins[i]], 1);
}
