// part: from the first access to memory to the last
// The tile is one column wider than it has to be: else the threads of a warp would meet in one bank.
__global__ void transpose(const float* in, float* out, int n)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];  //! ptx load ld.global.f32, shared st.shared.f32; sass load LDG.E, shared STS; gcn load global_load_dword, shared ds_write_b32
    __syncthreads();  //! ptx barrier bar.sync; sass barrier BAR.SYNC; gcn barrier s_barrier
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];  //! ptx shared ld.shared.f32, store st.global.f32; sass shared LDS, store STG.E; gcn shared ds_read_b32, store global_store_dword
}
