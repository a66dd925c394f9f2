#ifdef __GFX11__
typedef _Float16 halves __attribute__((ext_vector_type(16)));
typedef float sums __attribute__((ext_vector_type(8)));
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#else
typedef _Float16 halves __attribute__((ext_vector_type(4)));
typedef float sums __attribute__((ext_vector_type(4)));
#define MULTIPLY(a, b, c) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0)
#endif

extern "C" __global__ void multiply(const halves *a, const halves *b, sums *c)
{
    int lane = threadIdx.x;
    c[lane] = MULTIPLY(a[lane], b[lane], c[lane]);
}
