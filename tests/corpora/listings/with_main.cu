// part: from the guard to the last store
// A whole program, as it stands in a tutorial.
#include <cstdio>
#include <vector>

__global__ void square(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * x[i];  //! ptx load ld.global.f32, arithmetic mul.f32, store st.global.f32; sass load LDG.E, arithmetic FMUL, store STG.E; gcn load global_load_dword, arithmetic v_mul_f32, store global_store_dword
}

static void check(cudaError_t status)
{
    if (status != cudaSuccess) { std::printf("} %s {\n", cudaGetErrorString(status)); }
}

int main()
{
    std::vector<float> h(1024, 2.0f);
    float* d = nullptr;
    check(cudaMalloc(&d, h.size() * sizeof(float)));
    check(cudaMemcpy(d, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
    square<<<4, 256>>>(d, 1024);
    check(cudaDeviceSynchronize());
    return 0;
}
