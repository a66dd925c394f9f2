extern "C" __global__ void fence(float *x, int *ready)
{
    x[threadIdx.x] = 1.0f;
    __threadfence();
    ready[threadIdx.x] = 1;
}
