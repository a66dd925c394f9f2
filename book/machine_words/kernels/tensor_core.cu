#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__ void multiply(const half *a, const half *b, float *c)
{
    fragment<matrix_a, 16, 16, 16, half, row_major> part_of_a;
    fragment<matrix_b, 16, 16, 16, half, col_major> part_of_b;
    fragment<accumulator, 16, 16, 16, float> part_of_c;
    load_matrix_sync(part_of_a, a, 16);
    load_matrix_sync(part_of_b, b, 16);
    fill_fragment(part_of_c, 0.0f);
    mma_sync(part_of_c, part_of_a, part_of_b, part_of_c);
    store_matrix_sync(c, part_of_c, 16, mem_row_major);
}
