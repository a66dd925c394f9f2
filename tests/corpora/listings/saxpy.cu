// part: the loop
// Several blocks go over an array that is larger than the grid.
__global__ void saxpy(float a, const float* __restrict__ x, float* y, int n)
{
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {  //! ptx branch bra; gcn branch s_cbranch_execnz
        y[i] = a * x[i] + y[i];  //! ptx load ld.global.nc.f32, load ld.global.f32, fma fma.rn.f32, store st.global.f32; sass load LDG.E.CONSTANT, fma FFMA, store STG.E; gcn load global_load_dword, fma v_fma, store global_store_dword
    }
}
