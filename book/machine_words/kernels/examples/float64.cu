extern "C" __global__ void float64(const double *x, double *out)
{
    double sum = x[threadIdx.x] + out[threadIdx.x];
    out[threadIdx.x] = sum * x[threadIdx.x] + 0.5;
}
