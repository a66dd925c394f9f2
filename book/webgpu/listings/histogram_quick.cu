extern "C" __global__
void histogram_quick(const int* x, int n, int* out)
{
    __shared__ int bins[16];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    if (tid < 16)
        bins[tid] = 0;
    __syncthreads();
    if (i < n)
        bins[x[i]] += 1;
    __syncthreads();
    if (tid < 16)
        atomicAdd(&out[tid], bins[tid]);
}
