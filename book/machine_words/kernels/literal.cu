extern "C" __global__ void scale(const float *x, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i] * 0.1;
}
