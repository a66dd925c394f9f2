// part: from the first access to memory to the last
// arch: sm_80 only
__global__ void product(const unsigned* a, const unsigned* b, float* c)
{
    unsigned lane = threadIdx.x;
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a[lane]), "r"(a[lane + 32]), "r"(a[lane + 64]), "r"(a[lane + 96]), "r"(b[lane]), "r"(b[lane + 32]));  //! ptx load ld.global.u32, tensor mma.sync; sass load LDG.E, tensor HMMA.16816.F32
    c[lane] = d0 + d1 + d2 + d3;  //! ptx store st.global.f32; sass store STG.E
}
