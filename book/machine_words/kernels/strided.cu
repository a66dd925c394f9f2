extern "C" __global__ void strided(const float *x, float *near, float *far)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    near[i] = x[i];
    far[i] = x[32 * i];
}
