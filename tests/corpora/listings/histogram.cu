// part: from the guard to the last access to memory
__global__ void histogram(const unsigned char* values, int* counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)  //! ptx guard bra; sass guard EXIT; gcn guard s_and_saveexec
        atomicAdd(&counts[values[i]], 1);  //! ptx load ld.global.u8, atomic atom.global.add.u32; sass load LDG.E.U8, atomic RED; gcn load global_load_ubyte, atomic global_atomic_add
}
