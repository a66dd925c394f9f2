// part: from the guard to the last store
// entry: second
__global__ void first(float* x) { x[threadIdx.x] = 1.0f; }

__global__ void second(const float4* x, float4* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];  //! ptx load ld.global.v4.u32, store st.global.v4.u32; sass load LDG.E.128, store STG.E.128; gcn load global_load_dwordx4, store global_store_dwordx4
}

__global__ void third(int* x) { x[threadIdx.x] = 3; }
