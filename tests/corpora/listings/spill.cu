// part: the loop
// options: --maxrregcount=32
// More values alive at once than there are registers for.
__global__ void many(const float* x, float* out, int rounds)
{
    float v[64];
    for (int j = 0; j < 64; ++j) v[j] = x[j * 1024 + threadIdx.x];
    for (int r = 0; r < rounds; ++r)  //! sass spill STL, spill LDL
        for (int j = 0; j < 64; ++j)
            v[j] = v[j] * v[(j + 17) % 64] + v[(j + 5) % 64];  //! ptx fma fma.rn.f32; sass fma FFMA
    for (int j = 0; j < 64; ++j) out[j * 1024 + threadIdx.x] = v[j];
}
