// CUDA C++ for the machine's own compiler. This header declares everything that NVRTC declares before it reads a
// source, and includes no header of the system. Functions that access memory or wait get the caller's line from a
// default argument: they are functions, not macros, so a learner can overload them and take their addresses.
#pragma once
#include "h2d_runtime.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static __attribute__((used))  // kept even if only written, so that a wrong index is found
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define H2D_LINE int line = __builtin_LINE()
#define H2D_INLINE inline __attribute__((unused))
#if defined(__APPLE__)
#define H2D_DYNAMIC __asm__("_h2d_dynamic") __attribute__((visibility("hidden")))
#else
#define H2D_DYNAMIC __asm__("h2d_dynamic") __attribute__((visibility("hidden")))
#endif

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __NVCC__ 1
#define __CUDA_ARCH__ 750
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 13000

// ---------------------------------------------------------------- where a thread is

namespace h2d {
extern "C" {
uint3 h2d_thread, h2d_block;
dim3 h2d_block_dim, h2d_grid_dim;
}
}  // namespace h2d
static const uint3 &threadIdx __attribute__((unused)) = h2d::h2d_thread;
static const uint3 &blockIdx __attribute__((unused)) = h2d::h2d_block;
static const dim3 &blockDim __attribute__((unused)) = h2d::h2d_block_dim;
static const dim3 &gridDim __attribute__((unused)) = h2d::h2d_grid_dim;
// A variable, as in NVRTC: it cannot be the length of an array, and the compiler still knows its value.
namespace h2d { static int warp_size = H2D_WARP; }
static const int &warpSize __attribute__((unused)) = h2d::warp_size;

// ---------------------------------------------------------------- vectors

#define H2D_VECTOR(T, name, a1, a2, a4)                                                              \
    struct name##1 { T x; };                                                                         \
    struct __attribute__((aligned(a2))) name##2 { T x, y; };                                         \
    struct name##3 { T x, y, z; };                                                                   \
    struct __attribute__((aligned(a4))) name##4 { T x, y, z, w; };                                   \
    H2D_INLINE constexpr name##1 make_##name##1(T x) { return {x}; }                                 \
    H2D_INLINE constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                         \
    H2D_INLINE constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                 \
    H2D_INLINE constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
struct uint1 { unsigned x; };
struct __attribute__((aligned(8))) uint2 { unsigned x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned x, y, z, w; };
H2D_INLINE constexpr uint1 make_uint1(unsigned x) { return {x}; }
H2D_INLINE constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
H2D_INLINE constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
H2D_INLINE constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
H2D_VECTOR(signed char, char, 1, 2, 4)
H2D_VECTOR(unsigned char, uchar, 1, 2, 4)
H2D_VECTOR(short, short, 2, 4, 8)
H2D_VECTOR(unsigned short, ushort, 2, 4, 8)
H2D_VECTOR(int, int, 4, 8, 16)
H2D_VECTOR(long, long, 8, 16, 16)
H2D_VECTOR(unsigned long, ulong, 8, 16, 16)
H2D_VECTOR(long long, longlong, 8, 16, 16)
H2D_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
H2D_VECTOR(float, float, 4, 8, 16)
H2D_VECTOR(double, double, 8, 16, 16)

// ---------------------------------------------------------------- functions that check their accesses

namespace h2d {

template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<volatile T> { typedef T type; };
template <class T> struct Plain<const T> { typedef T type; };
template <class T> struct Same { typedef T type; };  // keeps a parameter out of template argument deduction
template <int N> struct Word;
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef unsigned type; };
template <> struct Word<8> { typedef unsigned long long type; };

template <class To, class From> H2D_UNCHECKED H2D_INLINE To bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    __builtin_memcpy(&to, &value, sizeof to);
    return to;
}
template <class T> H2D_INLINE Bits pack(T value) {
    static_assert(sizeof(T) <= 8, "a warp exchanges values of at most eight bytes");
    Bits to = 0;
    __builtin_memcpy(&to, &value, sizeof value);
    return to;
}
template <class T> H2D_INLINE T unpack(Bits value) {
    T to;
    __builtin_memcpy(&to, &value, sizeof to);
    return to;
}

// old = *p; *p = f(old), atomically.
template <class T, class F> H2D_UNCHECKED T atomic(T *p, F f, int line) {
    typedef typename Word<sizeof(T)>::type W;
    if (!touch(p, sizeof(T), CHANGE, line)) {
        h2d_busy = true;  // no other thread runs until it is done
        T old = *p;
        *p = f(old);
        h2d_busy = false;
        return old;
    }
    W *word = (W *)p, seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &seen, bits<W>((T)f(bits<T>(seen))), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
    return bits<T>(seen);
}

template <class T> H2D_UNCHECKED T load(const T *p, int line) {
    touch(p, sizeof(T), READ, line);
    return *p;
}
template <class T> H2D_UNCHECKED void store(T *p, T value, int line) {
    touch(p, sizeof(T), WRITE, line);
    *p = value;
}

}  // namespace h2d

#define H2D_ATOMIC(name, T, expression)                                                              \
    H2D_INLINE T name(T *p, T v, H2D_LINE) {                                                         \
        return h2d::atomic(p, [=](T old) H2D_UNCHECKED -> T { return expression; }, line);                         \
    }                                                                                                \
    H2D_INLINE T name##_block(T *p, T v, H2D_LINE) { return name(p, v, line); }                      \
    H2D_INLINE T name##_system(T *p, T v, H2D_LINE) { return name(p, v, line); }
#define H2D_ATOMICS(T)                                                                               \
    H2D_ATOMIC(atomicMin, T, old < v ? old : v)                                                      \
    H2D_ATOMIC(atomicMax, T, old > v ? old : v)                                                      \
    H2D_ATOMIC(atomicAnd, T, old &v)                                                                 \
    H2D_ATOMIC(atomicOr, T, old | v)                                                                 \
    H2D_ATOMIC(atomicXor, T, old ^ v)
H2D_ATOMICS(int)
H2D_ATOMICS(unsigned)
H2D_ATOMICS(unsigned long long)
H2D_ATOMIC(atomicMin, long long, old < v ? old : v)
H2D_ATOMIC(atomicMax, long long, old > v ? old : v)
H2D_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)v))
H2D_ATOMIC(atomicAdd, unsigned, old + v)
H2D_ATOMIC(atomicAdd, unsigned long long, old + v)
H2D_ATOMIC(atomicAdd, float, old + v)
H2D_ATOMIC(atomicAdd, double, old + v)
H2D_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)v))
H2D_ATOMIC(atomicSub, unsigned, old - v)
H2D_ATOMIC(atomicInc, unsigned, old >= v ? 0u : old + 1)
H2D_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)

#define H2D_EXCHANGE(T)                                                                              \
    H2D_INLINE T atomicExch(T *p, T v, H2D_LINE) {                                                   \
        T old = h2d::atomic(p, [=](T) H2D_UNCHECKED -> T { return v; }, line);                                     \
        h2d::relax(line);                                                                            \
        return old;                                                                                  \
    }
H2D_EXCHANGE(int)
H2D_EXCHANGE(unsigned)
H2D_EXCHANGE(unsigned long long)
H2D_EXCHANGE(float)
#define H2D_COMPARE(T)                                                                               \
    H2D_INLINE T atomicCAS(T *p, T compare, T v, H2D_LINE) {                                         \
        T old = h2d::atomic(p, [=](T old) H2D_UNCHECKED -> T { return old == compare ? v : old; }, line);          \
        if (old != compare) h2d::relax(line);                                                        \
        return old;                                                                                  \
    }                                                                                                \
    H2D_INLINE T atomicCAS_block(T *p, T c, T v, H2D_LINE) { return atomicCAS(p, c, v, line); }      \
    H2D_INLINE T atomicCAS_system(T *p, T c, T v, H2D_LINE) { return atomicCAS(p, c, v, line); }
H2D_COMPARE(int)
H2D_COMPARE(unsigned)
H2D_COMPARE(unsigned short)
H2D_COMPARE(unsigned long long)

#define H2D_LOAD(name)                                                                               \
    template <class T> H2D_INLINE T name(const T *p, H2D_LINE) { return h2d::load(p, line); }
H2D_LOAD(__ldg)
H2D_LOAD(__ldcg)
H2D_LOAD(__ldca)
H2D_LOAD(__ldcs)
H2D_LOAD(__ldlu)
H2D_LOAD(__ldcv)
#define H2D_STORE(name)                                                                              \
    template <class T> H2D_INLINE void name(T *p, typename h2d::Same<T>::type v, H2D_LINE) { h2d::store(p, v, line); }
H2D_STORE(__stwb)
H2D_STORE(__stcg)
H2D_STORE(__stcs)
H2D_STORE(__stwt)

H2D_INLINE void __threadfence() { h2d::fence(true); }
H2D_INLINE void __threadfence_block() { h2d::fence(false); }
H2D_INLINE void __threadfence_system() { h2d::fence(true); }

H2D_INLINE void *malloc(size_t size) { return h2d::take(size); }
H2D_INLINE void free(void *p) { h2d::give(p); }
#ifdef __clang__
#pragma clang diagnostic ignored "-Winline-new-delete"
#endif
inline void *operator new(size_t, void *p) noexcept { return p; }
inline void *operator new[](size_t, void *p) noexcept { return p; }
inline void *operator new(size_t size) { return h2d::take(size); }
inline void *operator new[](size_t size) { return h2d::take(size); }
inline void operator delete(void *p) noexcept { h2d::give(p); }
inline void operator delete[](void *p) noexcept { h2d::give(p); }
inline void operator delete(void *p, size_t) noexcept { h2d::give(p); }
inline void operator delete[](void *p, size_t) noexcept { h2d::give(p); }
extern "C" {
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
}

// ---------------------------------------------------------------- barriers, shuffles and votes

H2D_INLINE void __syncthreads(H2D_LINE) { h2d::meet(h2d::SYNC_BLOCK, 0, 0, 0, line); }
H2D_INLINE int __syncthreads_count(int p, H2D_LINE) { return (int)h2d::meet(h2d::COUNT_BLOCK, 0, p != 0, 0, line); }
H2D_INLINE int __syncthreads_and(int p, H2D_LINE) { return (int)h2d::meet(h2d::AND_BLOCK, 0, p != 0, 0, line); }
H2D_INLINE int __syncthreads_or(int p, H2D_LINE) { return (int)h2d::meet(h2d::OR_BLOCK, 0, p != 0, 0, line); }

#if H2D_WARP == 64
typedef unsigned long long H2D_Mask;
// The type of a mask. HIP refuses masks of fewer than 64 bits (amd_warp_sync_functions.h): a mask that was written for
// 32 lanes would be widened with zeros, and name only the lower half of a warp.
struct H2D_GivenMask {
    H2D_Mask lanes;
    inline H2D_GivenMask(unsigned long long mask) : lanes(mask) {}
    inline H2D_GivenMask(long long mask) : lanes((H2D_Mask)mask) {}
    inline H2D_GivenMask(unsigned long mask) : lanes(mask) {}
    inline H2D_GivenMask(long mask) : lanes((H2D_Mask)mask) {}
    template <class T> H2D_GivenMask(T) = delete;
    inline operator H2D_Mask() const { return lanes; }
};
#else
typedef unsigned H2D_Mask;
typedef H2D_Mask H2D_GivenMask;
#endif
H2D_INLINE void __syncwarp(H2D_GivenMask mask = (H2D_Mask)-1, H2D_LINE) { h2d::meet(h2d::SYNC_WARP, mask, 0, 0, line); }
H2D_INLINE H2D_Mask __activemask(H2D_LINE) { return (H2D_Mask)h2d::meet(h2d::ACTIVE, (H2D_Mask)-1, 0, 0, line); }

namespace h2d {
// The source lane within the same part of the warp; the thread's own lane if that lies outside, as in CUDA's shfl.
H2D_INLINE int across(int to, int width, bool up_or_down) {
    int me = (int)lane(), start = me & ~(width - 1);
    if (!up_or_down) return start + (to & (width - 1));
    return to < start || to >= start + width ? me : to;
}
template <class T> H2D_INLINE T shuffle(H2D_Mask mask, T v, int source, int line) {
    return unpack<T>(meet(SHUFFLE, mask, pack(v), source, line));
}
}  // namespace h2d
template <class T> H2D_INLINE T __shfl_sync(H2D_GivenMask mask, T v, int source, int width = warpSize, H2D_LINE) {
    return h2d::shuffle(mask, v, h2d::across(source, width, false), line);
}
template <class T>
H2D_INLINE T __shfl_up_sync(H2D_GivenMask mask, T v, unsigned delta, int width = warpSize, H2D_LINE) {
    return h2d::shuffle(mask, v, h2d::across((int)h2d::lane() - (int)delta, width, true), line);
}
template <class T>
H2D_INLINE T __shfl_down_sync(H2D_GivenMask mask, T v, unsigned delta, int width = warpSize, H2D_LINE) {
    return h2d::shuffle(mask, v, h2d::across((int)h2d::lane() + (int)delta, width, true), line);
}
template <class T> H2D_INLINE T __shfl_xor_sync(H2D_GivenMask mask, T v, int lanes, int width = warpSize, H2D_LINE) {
    int to = (int)h2d::lane() ^ lanes, end = ((int)h2d::lane() & ~(width - 1)) + width;
    return h2d::shuffle(mask, v, to >= end ? (int)h2d::lane() : to, line);
}
H2D_INLINE H2D_Mask __ballot_sync(H2D_GivenMask mask, int p, H2D_LINE) {
    return (H2D_Mask)h2d::meet(h2d::BALLOT, mask, p != 0, 0, line);
}
H2D_INLINE int __any_sync(H2D_GivenMask mask, int p, H2D_LINE) {
    return h2d::meet(h2d::BALLOT, mask, p != 0, 0, line) != 0;
}
H2D_INLINE int __all_sync(H2D_GivenMask mask, int p, H2D_LINE) {
    return h2d::meet(h2d::BALLOT, mask, p == 0, 0, line) == 0;
}
template <class T> H2D_INLINE H2D_Mask __match_any_sync(H2D_GivenMask mask, T v, H2D_LINE) {
    return (H2D_Mask)h2d::meet(h2d::MATCH_ANY, mask, h2d::pack(v), 0, line);
}
template <class T> H2D_INLINE H2D_Mask __match_all_sync(H2D_GivenMask mask, T v, int *all, H2D_LINE) {
    H2D_Mask found = (H2D_Mask)h2d::meet(h2d::MATCH_ALL, mask, h2d::pack(v), 0, line);
    *all = found != 0;
    return found;
}
#define H2D_REDUCE(name, T, operation)                                                               \
    H2D_INLINE T name(H2D_GivenMask mask, T v, H2D_LINE) {                                                \
        return (T)h2d::meet(h2d::operation, mask, (h2d::Bits)v, 0, line);                            \
    }
H2D_REDUCE(__reduce_add_sync, int, REDUCE_ADD)
H2D_REDUCE(__reduce_add_sync, unsigned, REDUCE_ADD)
H2D_REDUCE(__reduce_min_sync, int, REDUCE_MIN_SIGNED)
H2D_REDUCE(__reduce_min_sync, unsigned, REDUCE_MIN)
H2D_REDUCE(__reduce_max_sync, int, REDUCE_MAX_SIGNED)
H2D_REDUCE(__reduce_max_sync, unsigned, REDUCE_MAX)
H2D_REDUCE(__reduce_and_sync, unsigned, REDUCE_AND)
H2D_REDUCE(__reduce_or_sync, unsigned, REDUCE_OR)
H2D_REDUCE(__reduce_xor_sync, unsigned, REDUCE_XOR)

#if H2D_WARP == 64  // HIP's forms without a mask, for the lanes that have arrived
template <class T> H2D_INLINE T __shfl(T v, int source, int width = warpSize, H2D_LINE) {
    return __shfl_sync(~0ull, v, source, width, line);
}
template <class T> H2D_INLINE T __shfl_up(T v, unsigned delta, int width = warpSize, H2D_LINE) {
    return __shfl_up_sync(~0ull, v, delta, width, line);
}
template <class T> H2D_INLINE T __shfl_down(T v, unsigned delta, int width = warpSize, H2D_LINE) {
    return __shfl_down_sync(~0ull, v, delta, width, line);
}
template <class T> H2D_INLINE T __shfl_xor(T v, int lanes, int width = warpSize, H2D_LINE) {
    return __shfl_xor_sync(~0ull, v, lanes, width, line);
}
H2D_INLINE unsigned long long __ballot(int p, H2D_LINE) { return __ballot_sync(~0ull, p, line); }
H2D_INLINE int __any(int p, H2D_LINE) { return __any_sync(~0ull, p, line); }
H2D_INLINE int __all(int p, H2D_LINE) { return __all_sync(~0ull, p, line); }
H2D_INLINE unsigned __lane_id() { return h2d::lane(); }
#endif

// ---------------------------------------------------------------- output, time, assertions

#define printf(...) h2d::print(__VA_ARGS__)
typedef long clock_t;
H2D_INLINE clock_t clock() { return (clock_t)h2d::ticks(); }
H2D_INLINE long long clock64() { return h2d::ticks(); }
H2D_INLINE void __nanosleep(unsigned, H2D_LINE) { h2d::relax(line); }
H2D_INLINE void __trap(H2D_LINE) { h2d::fail("trap", "", line); }
H2D_INLINE void __brkpt() {}
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e) ((e) ? (void)0 : h2d::fail("assertion failed", #e, __LINE__))
#endif

// ---------------------------------------------------------------- mathematics

#define H2D_MATH1(name)                                                                              \
    extern "C" double name(double) noexcept;                                                         \
    extern "C" float name##f(float) noexcept;                                                        \
    H2D_INLINE float name(float x) { return __builtin_##name##f(x); }
#define H2D_MATH2(name)                                                                              \
    extern "C" double name(double, double) noexcept;                                                 \
    extern "C" float name##f(float, float) noexcept;                                                 \
    H2D_INLINE float name(float x, float y) { return __builtin_##name##f(x, y); }
#define H2D_EACH1(F)                                                                                 \
    F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh)  \
    F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sqrt) F(cbrt) F(floor) F(ceil)        \
    F(trunc) F(round) F(rint) F(nearbyint) F(erf) F(erfc) F(tgamma) F(lgamma) F(fabs) F(logb)
H2D_EACH1(H2D_MATH1)
H2D_MATH2(pow)
H2D_MATH2(atan2)
H2D_MATH2(fmod)
H2D_MATH2(hypot)
H2D_MATH2(fmin)
H2D_MATH2(fmax)
H2D_MATH2(fdim)
H2D_MATH2(copysign)
H2D_MATH2(remainder)
H2D_MATH2(nextafter)
extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
double modf(double, double *) noexcept;
float modff(float, float *) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long lround(double) noexcept;
long lroundf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
double j0(double) noexcept;
double j1(double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}
H2D_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
H2D_INLINE float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
H2D_INLINE double pow(double x, int n) { return __builtin_pow(x, n); }
H2D_INLINE float pow(float x, int n) { return __builtin_powf(x, (float)n); }
H2D_INLINE long abs(long x) { return x < 0 ? -x : x; }
H2D_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
H2D_INLINE float abs(float x) { return __builtin_fabsf(x); }
H2D_INLINE double abs(double x) { return __builtin_fabs(x); }
H2D_INLINE double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
H2D_INLINE float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
H2D_INLINE float rsqrt(float x) { return rsqrtf(x); }
H2D_INLINE double rcbrt(double x) { return 1 / __builtin_cbrt(x); }
H2D_INLINE float rcbrtf(float x) { return 1 / __builtin_cbrtf(x); }
H2D_INLINE double exp10(double x) { return __builtin_pow(10, x); }
H2D_INLINE float exp10f(float x) { return __builtin_powf(10, x); }
H2D_INLINE double nan(const char *) { return __builtin_nan(""); }
H2D_INLINE float nanf(const char *) { return __builtin_nanf(""); }
H2D_INLINE double sinpi(double x) { return __builtin_sin(x * 3.14159265358979323846); }
H2D_INLINE double cospi(double x) { return __builtin_cos(x * 3.14159265358979323846); }
H2D_INLINE float sinpif(float x) { return (float)sinpi((double)x); }
H2D_INLINE float cospif(float x) { return (float)cospi((double)x); }
H2D_INLINE void sincos(double x, double *s, double *c) { *s = __builtin_sin(x), *c = __builtin_cos(x); }
H2D_INLINE void sincosf(float x, float *s, float *c) { *s = __builtin_sinf(x), *c = __builtin_cosf(x); }
H2D_INLINE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
H2D_INLINE double rhypot(double x, double y) { return 1 / __builtin_hypot(x, y); }
H2D_INLINE float rhypotf(float x, float y) { return 1 / __builtin_hypotf(x, y); }
H2D_INLINE double norm3d(double x, double y, double z) { return __builtin_hypot(__builtin_hypot(x, y), z); }
H2D_INLINE float norm3df(float x, float y, float z) { return __builtin_hypotf(__builtin_hypotf(x, y), z); }
H2D_INLINE double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
H2D_INLINE float rnorm3df(float x, float y, float z) { return 1 / norm3df(x, y, z); }
H2D_INLINE double erfinv(double y) {  // by Newton's method on erf, from Winitzki's approximation
    if (!(y > -1 && y < 1)) return y == 1 || y == -1 ? y * __builtin_huge_val() : __builtin_nan("");
    double l = __builtin_log1p(-y * y), t = 4.330746750799873 + l / 2;
    double x = __builtin_copysign(__builtin_sqrt(__builtin_sqrt(t * t - l / 0.147) - t), y);
    for (int i = 0; i < 4; i++) x -= (__builtin_erf(x) - y) * 0.88622692545275801365 * __builtin_exp(x * x);
    return x;
}
H2D_INLINE float erfinvf(float y) { return (float)erfinv((double)y); }
H2D_INLINE double normcdf(double x) { return __builtin_erfc(-x * 0.70710678118654752440) / 2; }
H2D_INLINE float normcdff(float x) { return (float)normcdf((double)x); }
H2D_INLINE float saturate(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
#define __saturatef saturate
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
H2D_INLINE bool isnan(double x) { return __builtin_isnan(x); }
H2D_INLINE bool isnan(float x) { return __builtin_isnan(x); }
H2D_INLINE bool isinf(double x) { return __builtin_isinf(x); }
H2D_INLINE bool isinf(float x) { return __builtin_isinf(x); }
H2D_INLINE bool isfinite(double x) { return __builtin_isfinite(x); }
H2D_INLINE bool isfinite(float x) { return __builtin_isfinite(x); }
H2D_INLINE bool signbit(double x) { return __builtin_signbit(x); }
H2D_INLINE bool signbit(float x) { return __builtin_signbitf(x); }

#define H2D_LESS(R, A, B)                                                                            \
    H2D_INLINE constexpr R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                       \
    H2D_INLINE constexpr R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
H2D_LESS(int, int, int)
H2D_LESS(unsigned, unsigned, unsigned)
H2D_LESS(unsigned, int, unsigned)
H2D_LESS(unsigned, unsigned, int)
H2D_LESS(long, long, long)
H2D_LESS(unsigned long, unsigned long, unsigned long)
H2D_LESS(unsigned long, long, unsigned long)
H2D_LESS(unsigned long, unsigned long, long)
H2D_LESS(long long, long long, long long)
H2D_LESS(unsigned long long, unsigned long long, unsigned long long)
H2D_LESS(unsigned long long, long long, unsigned long long)
H2D_LESS(unsigned long long, unsigned long long, long long)
#define H2D_FLOAT_LESS(R, A, B, f)                                                                   \
    H2D_INLINE R min(A a, B b) { return __builtin_fmin##f(a, b); }                                   \
    H2D_INLINE R max(A a, B b) { return __builtin_fmax##f(a, b); }
H2D_FLOAT_LESS(float, float, float, f)
H2D_FLOAT_LESS(double, double, double, )
H2D_FLOAT_LESS(double, float, double, )
H2D_FLOAT_LESS(double, double, float, )
H2D_INLINE unsigned umin(unsigned a, unsigned b) { return min(a, b); }
H2D_INLINE unsigned umax(unsigned a, unsigned b) { return max(a, b); }

// Fast and rounded forms: the CPU's own arithmetic, which is more exact than a GPU's fast forms.
#define H2D_FAST(name, expression)                                                                   \
    H2D_INLINE float name(float x) { return expression; }
H2D_FAST(__sinf, __builtin_sinf(x))
H2D_FAST(__cosf, __builtin_cosf(x))
H2D_FAST(__tanf, __builtin_tanf(x))
H2D_FAST(__expf, __builtin_expf(x))
H2D_FAST(__exp10f, __builtin_powf(10, x))
H2D_FAST(__logf, __builtin_logf(x))
H2D_FAST(__log2f, __builtin_log2f(x))
H2D_FAST(__log10f, __builtin_log10f(x))
H2D_FAST(__frcp_rn, 1 / x)
H2D_FAST(__fsqrt_rn, __builtin_sqrtf(x))
H2D_FAST(__frsqrt_rn, 1 / __builtin_sqrtf(x))
H2D_INLINE float __powf(float x, float y) { return __builtin_powf(x, y); }
H2D_INLINE float __fdividef(float x, float y) { return x / y; }
H2D_INLINE float fdividef(float x, float y) { return x / y; }
H2D_INLINE float __fadd_rn(float x, float y) { return x + y; }
H2D_INLINE float __fsub_rn(float x, float y) { return x - y; }
H2D_INLINE float __fmul_rn(float x, float y) { return x * y; }
H2D_INLINE float __fdiv_rn(float x, float y) { return x / y; }
H2D_INLINE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
H2D_INLINE double __dadd_rn(double x, double y) { return x + y; }
H2D_INLINE double __dsub_rn(double x, double y) { return x - y; }
H2D_INLINE double __dmul_rn(double x, double y) { return x * y; }
H2D_INLINE double __ddiv_rn(double x, double y) { return x / y; }
H2D_INLINE double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
H2D_INLINE double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
H2D_INLINE void __sincosf(float x, float *s, float *c) { sincosf(x, s, c); }

// ---------------------------------------------------------------- bits

H2D_INLINE int __popcll(unsigned long long x) {  // the compiler's built-in function needs a library that is not linked
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56);
}
H2D_INLINE int __popc(unsigned x) { return __popcll(x); }
H2D_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
H2D_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
H2D_INLINE int __ffs(int x) { return __builtin_ffs(x); }
H2D_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
H2D_INLINE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
H2D_INLINE unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
H2D_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned s = selector >> (4 * i) & 15, byte = (unsigned)(both >> (8 * (s & 7))) & 255;
        if (s & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}
H2D_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (n & 31) >> 32);
}
H2D_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31));
}
H2D_INLINE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
H2D_INLINE unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
H2D_INLINE long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
H2D_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
H2D_INLINE int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
H2D_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
H2D_INLINE unsigned __sad(int x, int y, unsigned z) { return z + (unsigned)(x < y ? y - x : x - y); }
H2D_INLINE int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++) c += (int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i);
    return c;
}
H2D_INLINE int __float_as_int(float x) { return h2d::bits<int>(x); }
H2D_INLINE unsigned __float_as_uint(float x) { return h2d::bits<unsigned>(x); }
H2D_INLINE float __int_as_float(int x) { return h2d::bits<float>(x); }
H2D_INLINE float __uint_as_float(unsigned x) { return h2d::bits<float>(x); }
H2D_INLINE long long __double_as_longlong(double x) { return h2d::bits<long long>(x); }
H2D_INLINE double __longlong_as_double(long long x) { return h2d::bits<double>(x); }
H2D_INLINE int __double2hiint(double x) { return (int)(h2d::bits<long long>(x) >> 32); }
H2D_INLINE int __double2loint(double x) { return (int)h2d::bits<long long>(x); }
H2D_INLINE double __hiloint2double(int high, int low) {
    return h2d::bits<double>((long long)high << 32 | (unsigned)low);
}
// Conversions to integers saturate, as on a GPU; a NaN becomes 0, or as a double the highest bit alone.
namespace h2d {
template <class T> H2D_INLINE T to_whole(double x, double low, double high, unsigned nan = 0) {
    return x != x ? T(nan) : x <= low ? (T)low : x >= high ? (T)(high - 1) : (T)x;
}
}  // namespace h2d
#define H2D_ROUND(suffix, f)                                                                         \
    H2D_INLINE int __float2int_##suffix(float x) {                                                   \
        return h2d::to_whole<int>(f((double)x), -2147483648.0, 2147483648.0);                        \
    }                                                                                                \
    H2D_INLINE unsigned __float2uint_##suffix(float x) {                                             \
        return h2d::to_whole<unsigned>(f((double)x), 0.0, 4294967296.0);                             \
    }                                                                                                \
    H2D_INLINE int __double2int_##suffix(double x) {                                                 \
        return h2d::to_whole<int>(f(x), -2147483648.0, 2147483648.0, 1u << 31);                      \
    }
H2D_ROUND(rn, __builtin_rint)
H2D_ROUND(rz, __builtin_trunc)
H2D_ROUND(rd, __builtin_floor)
H2D_ROUND(ru, __builtin_ceil)
H2D_INLINE float __int2float_rn(int x) { return (float)x; }
H2D_INLINE float __uint2float_rn(unsigned x) { return (float)x; }
H2D_INLINE float __double2float_rn(double x) { return (float)x; }

// ---------------------------------------------------------------- calls of kernels

namespace h2d {

template <class T> constexpr const char *type_text() { return __PRETTY_FUNCTION__; }
template <class T> struct IsPointer { static constexpr bool value = false; };
template <class T> struct IsPointer<T *> { static constexpr bool value = true; };
template <int... I> struct Indices {};
template <int N, int... I> struct UpTo : UpTo<N - 1, N - 1, I...> {};
template <int... I> struct UpTo<0, I...> { typedef Indices<I...> type; };

template <class F> struct Signature {
    static_assert(sizeof(F) == 0, "a __global__ function must have a void return type");
};
template <class... A> struct Signature<void (*)(A...)> {
    typedef void (*Pointer)(A...);
    static constexpr int count = sizeof...(A);
    static constexpr Parameter parameters[] = {{type_text<A>(), sizeof(A), IsPointer<A>::value}..., {"", 0, false}};
    template <Pointer K, int... I> H2D_UNCHECKED static void call(void **a, Indices<I...>) {
        (void)a;
        K(*(A *)a[I]...);
    }
    template <Pointer K> H2D_UNCHECKED static void run(void **a) { call<K>(a, typename UpTo<sizeof...(A)>::type()); }
};

}  // namespace h2d
#define H2D_KERNEL(name, ...)                                                                        \
    {name, (const void *)&__VA_ARGS__, h2d::Signature<decltype(&__VA_ARGS__)>::run<&__VA_ARGS__>,    \
     h2d::Signature<decltype(&__VA_ARGS__)>::parameters, h2d::Signature<decltype(&__VA_ARGS__)>::count}
