extern "C" __global__ void minimum(const int *x, int *least)
{
    __shared__ int part;
    if (threadIdx.x == 0)
        part = 1000;
    __syncthreads();
    atomicMin(&part, x[threadIdx.x]);
    __syncthreads();
    *least = part;
}
