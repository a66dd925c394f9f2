// part: the loop
// arch: gfx90a and newer of CDNA
#include <hip/hip_runtime.h>
typedef float float16 __attribute__((ext_vector_type(16)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));

extern "C" __global__ void matmul(const half4* a, const half4* b, float16* c, int k)
{
    float16 sum = {0};
    for (int i = 0; i < k; ++i) {
        half4 x = a[i * 64 + threadIdx.x];  //! gcn load global_load_dwordx2
        half4 y = b[i * 64 + threadIdx.x];  //! gcn load global_load_dwordx2
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);  //! gcn tensor v_mfma_f32_32x32x8
    }
    c[threadIdx.x] = sum;
}
