// part: the loop
#define TILE 16

__global__ void matmul(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int t = 0; t < n / TILE; ++t) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];  //! ptx load ld.global.f32, shared st.shared.f32; sass load LDG.E, shared STS; gcn load global_load_dword
        tile_b[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + column];  //! ptx load ld.global.f32, shared st.shared.f32; sass load LDG.E, shared STS; gcn load global_load_dword, shared ds_write2st64_b32
        __syncthreads();  //! ptx barrier bar.sync; sass barrier BAR.SYNC; gcn barrier s_barrier
        for (int k = 0; k < TILE; ++k)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];  //! ptx shared ld.shared.f32, fma fma.rn.f32; sass shared LDS, fma FFMA; gcn shared ds_read, fma v_fma
        __syncthreads();  //! ptx barrier bar.sync; sass barrier BAR.SYNC; gcn barrier s_barrier
    }
    c[row * n + column] = sum;
}
