// part: the loop
// arch: sm_80 only
#include <mma.h>
using namespace nvcuda;

__global__ void matmul(const half* a, const half* b, float* c, int k)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
#pragma unroll 1
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(tile_a, a + i, k);  //! ptx load wmma.load.a; sass load LDG.E
        wmma::load_matrix_sync(tile_b, b + i, k);  //! ptx load wmma.load.b; sass load LDG.E
        wmma::mma_sync(sum, tile_a, tile_b, sum);  //! ptx tensor wmma.mma; sass tensor HMMA.16816.F32
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
