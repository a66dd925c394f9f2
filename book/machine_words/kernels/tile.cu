extern "C" __global__ void reversed(const float *x, float *out)
{
    __shared__ float tile[256];
    int t = threadIdx.x, first = blockIdx.x * 256;
    tile[t] = x[first + t];
    __syncthreads();
    out[first + t] = tile[255 - t];
}
