// What a kernel in HIP or CUDA C++ needs to be compiled for an AMD GPU with clang alone, without ROCm: the names of
// HIP's device side, on clang's built-in functions (LLVM, "User Guide for AMDGPU Backend"; ROCm, "HIP C++ language
// extensions"). Only for looking at what the compiler makes: nothing here is ever run.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define H2D_BOUNDS_2(threads, blocks) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(blocks)))
#define H2D_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define H2D_PICK(a, b, name, ...) name
#define __launch_bounds__(...) H2D_PICK(__VA_ARGS__, H2D_BOUNDS_2, H2D_BOUNDS_1)(__VA_ARGS__)
#define H2D_INLINE static __device__ inline __attribute__((always_inline))
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long long ulonglong;

// ---- where a thread is

#define H2D_AXES(name, X, Y, Z)                                     \
  struct h2d_##name {                                               \
    __declspec(property(get = get_x)) unsigned x;                   \
    __declspec(property(get = get_y)) unsigned y;                   \
    __declspec(property(get = get_z)) unsigned z;                   \
    __device__ inline unsigned get_x() const { return X; }          \
    __device__ inline unsigned get_y() const { return Y; }          \
    __device__ inline unsigned get_z() const { return Z; }          \
  };                                                                \
  static const __device__ __attribute__((unused)) h2d_##name name = {};
// The numbers of blocks are the first of the arguments that the runtime adds to a kernel's own.
#define H2D_BLOCKS(axis) (((const __attribute__((opencl_constant)) unsigned*)__builtin_amdgcn_implicitarg_ptr())[axis])
H2D_AXES(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
H2D_AXES(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
H2D_AXES(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z())
H2D_AXES(gridDim, H2D_BLOCKS(0), H2D_BLOCKS(1), H2D_BLOCKS(2))
#define warpSize ((int)__builtin_amdgcn_wavefrontsize())

// ---- waiting and ordering

H2D_INLINE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// What a kernel gives as a mask: 64 bits on every AMD GPU. HIP refuses fewer (amd_warp_sync_functions.h), since a mask
// that was written for 32 lanes would be widened with zeros.
struct h2d_mask {
  unsigned long long lanes;
  __device__ inline h2d_mask(unsigned long long mask) : lanes(mask) {}
  __device__ inline h2d_mask(long long mask) : lanes(mask) {}
  __device__ inline h2d_mask(unsigned long mask) : lanes(mask) {}
  __device__ inline h2d_mask(long mask) : lanes(mask) {}
  template <typename T> h2d_mask(T) = delete;
};
H2D_INLINE void __syncwarp(h2d_mask = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
H2D_INLINE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
H2D_INLINE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
H2D_INLINE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// ---- within a wavefront

H2D_INLINE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
H2D_INLINE int h2d_from_lane(int value, int lane) { return __builtin_amdgcn_ds_bpermute(lane << 2, value); }
template <typename T>
H2D_INLINE T h2d_from_lane_any(T value, int lane) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  int parts[sizeof(T) / 4];
  __builtin_memcpy(parts, &value, sizeof(T));
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) parts[i] = h2d_from_lane(parts[i], lane);
  __builtin_memcpy(&value, parts, sizeof(T));
  return value;
}
template <typename T>
H2D_INLINE T __shfl(T value, int from, int width = warpSize) {
  int self = __lane_id();
  return h2d_from_lane_any(value, (from & (width - 1)) + (self & ~(width - 1)));
}
template <typename T>
H2D_INLINE T __shfl_up(T value, unsigned delta, int width = warpSize) {
  int self = __lane_id(), from = self - (int)delta;
  return h2d_from_lane_any(value, from < (self & ~(width - 1)) ? self : from);
}
template <typename T>
H2D_INLINE T __shfl_down(T value, unsigned delta, int width = warpSize) {
  int self = __lane_id();
  return h2d_from_lane_any(value, (int)((self & (width - 1)) + delta) >= width ? self : self + (int)delta);
}
template <typename T>
H2D_INLINE T __shfl_xor(T value, int mask, int width = warpSize) {
  int self = __lane_id(), from = self ^ mask;
  return h2d_from_lane_any(value, from >= ((self + width) & ~(width - 1)) ? self : from);
}
template <typename T, typename... Rest> H2D_INLINE T __shfl_sync(h2d_mask, T value, Rest... rest) { return __shfl(value, rest...); }
template <typename T, typename... Rest> H2D_INLINE T __shfl_up_sync(h2d_mask, T value, Rest... rest) { return __shfl_up(value, rest...); }
template <typename T, typename... Rest> H2D_INLINE T __shfl_down_sync(h2d_mask, T value, Rest... rest) { return __shfl_down(value, rest...); }
template <typename T, typename... Rest> H2D_INLINE T __shfl_xor_sync(h2d_mask, T value, Rest... rest) { return __shfl_xor(value, rest...); }
H2D_INLINE unsigned long long __ballot(int predicate) { return __builtin_amdgcn_ballot_w64(predicate); }
H2D_INLINE unsigned long long __ballot_sync(h2d_mask, int predicate) { return __ballot(predicate); }
H2D_INLINE unsigned long long __activemask() { return __ballot(1); }
H2D_INLINE int __any(int predicate) { return __ballot(predicate) != 0; }
H2D_INLINE int __all(int predicate) { return __ballot(predicate) == __activemask(); }
H2D_INLINE int __any_sync(h2d_mask, int predicate) { return __any(predicate); }
H2D_INLINE int __all_sync(h2d_mask, int predicate) { return __all(predicate); }

// ---- atomics; as in HIP they order nothing else

#define H2D_ATOMIC(cuda, builtin)                                                         \
  template <typename T, typename U>                                                       \
  H2D_INLINE T cuda(T* address, U value) {                                                \
    return builtin(address, (T)value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);        \
  }
H2D_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
H2D_ATOMIC(atomicSub, __hip_atomic_fetch_sub)
H2D_ATOMIC(atomicMin, __hip_atomic_fetch_min)
H2D_ATOMIC(atomicMax, __hip_atomic_fetch_max)
H2D_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
H2D_ATOMIC(atomicOr, __hip_atomic_fetch_or)
H2D_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
H2D_ATOMIC(atomicExch, __hip_atomic_exchange)
template <typename T, typename U, typename V>
H2D_INLINE T atomicCAS(T* address, U compare, V value) {
  T expected = (T)compare;
  __hip_atomic_compare_exchange_strong(
      address, &expected, (T)value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

// ---- numbers

#define H2D_MATH(name, builtin)                                               \
  H2D_INLINE float name##f(float x) { return builtin##f(x); }                 \
  H2D_INLINE double name(double x) { return builtin(x); }                     \
  H2D_INLINE float name(float x) { return builtin##f(x); }
H2D_MATH(sqrt, __builtin_sqrt)
H2D_MATH(exp, __builtin_exp)
H2D_MATH(exp2, __builtin_exp2)
H2D_MATH(log, __builtin_log)
H2D_MATH(log2, __builtin_log2)
H2D_MATH(log10, __builtin_log10)
H2D_MATH(sin, __builtin_sin)
H2D_MATH(cos, __builtin_cos)
H2D_MATH(fabs, __builtin_fabs)
H2D_MATH(floor, __builtin_floor)
H2D_MATH(ceil, __builtin_ceil)
H2D_MATH(trunc, __builtin_trunc)
H2D_MATH(rint, __builtin_rint)
H2D_MATH(round, __builtin_round)
#define H2D_MATH_2(name, builtin)                                                       \
  H2D_INLINE float name##f(float x, float y) { return builtin##f(x, y); }               \
  H2D_INLINE double name(double x, double y) { return builtin(x, y); }                  \
  H2D_INLINE float name(float x, float y) { return builtin##f(x, y); }
H2D_MATH_2(fmin, __builtin_fmin)
H2D_MATH_2(fmax, __builtin_fmax)
H2D_MATH_2(copysign, __builtin_copysign)
H2D_INLINE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
H2D_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
H2D_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
H2D_INLINE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
H2D_INLINE float rsqrtf(float x) { return __builtin_amdgcn_rsqf(x); }
H2D_INLINE double rsqrt(double x) { return __builtin_amdgcn_rsq(x); }
H2D_INLINE float __expf(float x) { return __builtin_expf(x); }
H2D_INLINE float __logf(float x) { return __builtin_logf(x); }
H2D_INLINE float __sinf(float x) { return __builtin_amdgcn_sinf(x * 0.15915494f); }
H2D_INLINE float __cosf(float x) { return __builtin_amdgcn_cosf(x * 0.15915494f); }
H2D_INLINE float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
H2D_INLINE int abs(int x) { return __builtin_abs(x); }
H2D_INLINE float abs(float x) { return __builtin_fabsf(x); }
H2D_INLINE double abs(double x) { return __builtin_fabs(x); }
#define H2D_EXTREMES(type)                                          \
  H2D_INLINE type min(type x, type y) { return y < x ? y : x; }     \
  H2D_INLINE type max(type x, type y) { return x < y ? y : x; }
H2D_EXTREMES(int)
H2D_EXTREMES(unsigned)
H2D_EXTREMES(long)
H2D_EXTREMES(unsigned long)
H2D_EXTREMES(long long)
H2D_EXTREMES(unsigned long long)
H2D_INLINE float min(float x, float y) { return __builtin_fminf(x, y); }
H2D_INLINE float max(float x, float y) { return __builtin_fmaxf(x, y); }
H2D_INLINE double min(double x, double y) { return __builtin_fmin(x, y); }
H2D_INLINE double max(double x, double y) { return __builtin_fmax(x, y); }
H2D_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
H2D_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
H2D_INLINE int __clz(int x) { return x ? __builtin_clz(x) : 32; }
H2D_INLINE int __ffs(int x) { return __builtin_ffs(x); }
H2D_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
H2D_INLINE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
H2D_INLINE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
H2D_INLINE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
template <typename T> H2D_INLINE T __ldg(const T* address) { return *address; }

// ---- 16-bit floating point

typedef _Float16 half;
typedef _Float16 __half;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef half2 __half2;
H2D_INLINE half __float2half(float x) { return (half)x; }
H2D_INLINE float __half2float(half x) { return (float)x; }
H2D_INLINE half __hadd(half x, half y) { return x + y; }
H2D_INLINE half __hmul(half x, half y) { return x * y; }
H2D_INLINE half __hfma(half x, half y, half z) { return __builtin_fmaf16(x, y, z); }
H2D_INLINE half2 __hadd2(half2 x, half2 y) { return x + y; }
H2D_INLINE half2 __hmul2(half2 x, half2 y) { return x * y; }
H2D_INLINE half2 __hfma2(half2 x, half2 y, half2 z) { return x * y + z; }

// ---- vectors

#define H2D_VECTORS(type, name)                                                                       \
  typedef type name##2 __attribute__((ext_vector_type(2)));                                           \
  typedef type name##4 __attribute__((ext_vector_type(4)));                                           \
  struct name##3 { type x, y, z; };                                                                   \
  H2D_INLINE name##2 make_##name##2(type x, type y) { return name##2{x, y}; }                         \
  H2D_INLINE name##3 make_##name##3(type x, type y, type z) { return name##3{x, y, z}; }              \
  H2D_INLINE name##4 make_##name##4(type x, type y, type z, type w) { return name##4{x, y, z, w}; }
H2D_VECTORS(char, char)
H2D_VECTORS(unsigned char, uchar)
H2D_VECTORS(short, short)
H2D_VECTORS(int, int)
H2D_VECTORS(unsigned, uint)
H2D_VECTORS(long long, longlong)
H2D_VECTORS(float, float)
H2D_VECTORS(double, double)
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
