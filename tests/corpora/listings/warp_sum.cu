// part: from the first access to memory to the last
__global__ void warp_sum(const float* x, float* sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i];  //! ptx load ld.global.f32; sass load LDG.E; gcn load global_load_dword
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(~0ull, value, distance);  //! ptx shuffle shfl.sync.down, arithmetic add.f32; sass shuffle SHFL.DOWN, arithmetic FADD; gcn shuffle ds_bpermute_b32, arithmetic v_add_f32
    if (threadIdx.x % 32 == 0)  //! ptx guard bra; gcn guard s_cbranch_execz
        sums[i / 32] = value;  //! ptx store st.global.f32; sass store STG.E; gcn store global_store_dword
}
