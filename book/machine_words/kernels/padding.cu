extern "C" __global__ void transposed(const float *x, float *out)
{
    __shared__ float tile[32][32 + 1];
    int column = threadIdx.x, row = threadIdx.y;
    tile[row][column] = x[32 * row + column];
    __syncthreads();
    out[32 * row + column] = tile[column][row];
}
