// part: from the guard to the last store
// 0.1 is a double, and makes the whole expression one.
__global__ void scale(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * 0.1 + 1.0;  //! ptx double cvt.f64.f32, double fma.rn.f64, double cvt.rn.f32.f64; sass double F2F.F64.F32, double DFMA, double F2F.F32.F64; gcn double v_cvt_f64_f32, double v_fma, double v_cvt_f32_f64
}
