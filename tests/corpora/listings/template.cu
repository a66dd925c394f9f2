// part: from the guard to the last store
// entry: add<double>
template <typename T>
__device__ T sum(T x, T y) { return x + y; }  //! ptx double add.f64; sass double DADD; gcn double v_add_f64

template <typename T>
__global__ void add(const T* x, T* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = sum(x[i], y[i]);  //! ptx load ld.global.f64, store st.global.f64; sass load LDG.E.64, store STG.E.64; gcn load global_load_dwordx2, store global_store_dwordx2
}
