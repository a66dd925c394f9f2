#include <cstdio>
#include <vector>

__global__ void vec_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main()
{
    const int n = 1000;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n, 1.0f), b(n, 2.0f), c(n);

    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, bytes);
    cudaMalloc(&d_b, bytes);
    cudaMalloc(&d_c, bytes);
    cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice);

    int threads_per_block = 256;
    int blocks_per_grid = (n + threads_per_block - 1) / threads_per_block;
    vec_add<<<blocks_per_grid, threads_per_block>>>(d_a, d_b, d_c, n);

    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) {
        std::printf("launch failed: %s\n", cudaGetErrorString(status));
        return 1;
    }
    cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost);
    std::printf("c[0] = %g, c[%d] = %g\n", c[0], n - 1, c[n - 1]);

    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
}
