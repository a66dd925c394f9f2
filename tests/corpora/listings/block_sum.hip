// part: from the first access to memory to the last
#include <hip/hip_runtime.h>

__global__ void block_sum(const float* x, float* total)
{
    __shared__ float partial[256];
    unsigned i = threadIdx.x;
    partial[i] = x[blockIdx.x * 256 + i];  //! gcn load global_load_dword, shared ds_write_b32
    __syncthreads();  //! gcn barrier s_barrier
    if (i == 0)  //! gcn guard s_cbranch_execz
        atomicAdd(total, partial[0] + partial[128]);  //! gcn shared ds_read, arithmetic v_add_f32, atomic global_atomic
}
