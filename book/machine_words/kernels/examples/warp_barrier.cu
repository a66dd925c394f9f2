extern "C" __global__ void warp_barrier(const float *x, float *out)
{
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}
