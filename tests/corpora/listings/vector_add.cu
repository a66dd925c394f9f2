// part: from the guard to the last store
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {  //! ptx compare setp.ge.s32, guard bra; sass compare ISETP.GE, guard EXIT; gcn compare v_cmp_gt_i32, guard s_and_saveexec
        out[i] = a[i] + b[i];  //! ptx load ld.global.f32, arithmetic add.f32, store st.global.f32; sass load LDG.E, arithmetic FADD, store STG.E; gcn load global_load_dword, arithmetic v_add_f32, store global_store_dword
    }
}
