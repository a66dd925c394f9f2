// Half precision: stored in 16 bits, computed in float and rounded to nearest after every operation.
#pragma once
#ifndef H2D_EXPAND  // then only the learner's own declarations matter

namespace h2d {
H2D_INLINE float half_to_float(unsigned short h) {
    unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, rest = h & 1023;
    if (exponent == 31) return bits<float>(sign | 0x7f800000u | rest << 13);
    if (exponent) return bits<float>(sign | (exponent + 112) << 23 | rest << 13);
    float tiny = (float)rest * 5.9604644775390625e-8f;  // 2 to the power of -24
    return sign ? -tiny : tiny;
}
H2D_INLINE unsigned short float_to_half(float value) {
    unsigned x = bits<unsigned>(value), sign = x >> 16 & 0x8000, size = x & 0x7fffffff;
    if (size > 0x7f800000) return (unsigned short)(sign | 0x7fff);
    if (size >= 0x477ff000) return (unsigned short)(sign | 0x7c00);  // rounds to more than 65504, the largest half
    if (size < 0x38800000)  // below 2 to the power of -14: steps of 2 to the power of -24
        return (unsigned short)(sign | (unsigned)__builtin_rintf(bits<float>(size) * 16777216.0f));
    size += 0xfff + (size >> 13 & 1);
    return (unsigned short)(sign | (size - 0x38000000) >> 13);
}
}  // namespace h2d

struct __attribute__((aligned(2))) __half {
    unsigned short x;
    __half() = default;
    __half(float v) : x(h2d::float_to_half(v)) {}
    __half(double v) : x(h2d::float_to_half((float)v)) {}
    __half(int v) : x(h2d::float_to_half((float)v)) {}
    __half(unsigned v) : x(h2d::float_to_half((float)v)) {}
    __half(long long v) : x(h2d::float_to_half((float)v)) {}
    __half(unsigned long long v) : x(h2d::float_to_half((float)v)) {}
    operator float() const { return h2d::half_to_float(x); }
};
typedef __half half;
struct __attribute__((aligned(4))) __half2 { __half x, y; };
typedef __half2 half2;

#define H2D_HALF(sign, name)                                                                         \
    H2D_INLINE __half operator sign(__half a, __half b) { return __half((float)a sign(float) b); }   \
    H2D_INLINE __half &operator sign##=(__half &a, __half b) { return a = a sign b; }                \
    H2D_INLINE __half name(__half a, __half b) { return a sign b; }                                  \
    H2D_INLINE __half2 operator sign(__half2 a, __half2 b) { return {a.x sign b.x, a.y sign b.y}; }  \
    H2D_INLINE __half2 name##2(__half2 a, __half2 b) { return a sign b; }
H2D_HALF(+, __hadd)
H2D_HALF(-, __hsub)
H2D_HALF(*, __hmul)
H2D_HALF(/, __hdiv)
H2D_INLINE __half operator-(__half a) { return __half(-(float)a); }
#define H2D_HALF_COMPARE(sign, name)                                                                 \
    H2D_INLINE bool operator sign(__half a, __half b) { return (float)a sign(float) b; }             \
    H2D_INLINE bool name(__half a, __half b) { return a sign b; }
H2D_HALF_COMPARE(==, __heq)
H2D_HALF_COMPARE(!=, __hne)
H2D_HALF_COMPARE(<, __hlt)
H2D_HALF_COMPARE(<=, __hle)
H2D_HALF_COMPARE(>, __hgt)
H2D_HALF_COMPARE(>=, __hge)

H2D_INLINE __half __float2half(float v) { return __half(v); }
H2D_INLINE __half __float2half_rn(float v) { return __half(v); }
H2D_INLINE __half __double2half(double v) { return __half(v); }
H2D_INLINE float __half2float(__half v) { return v; }
H2D_INLINE __half __int2half_rn(int v) { return __half(v); }
H2D_INLINE int __half2int_rn(__half v) { return __float2int_rn(v); }
H2D_INLINE int __half2int_rz(__half v) { return __float2int_rz(v); }
H2D_INLINE unsigned short __half_as_ushort(__half v) { return v.x; }
H2D_INLINE __half __ushort_as_half(unsigned short x) {
    __half v;
    v.x = x;
    return v;
}
H2D_INLINE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
H2D_INLINE __half2 __float2half2_rn(float v) { return {__half(v), __half(v)}; }
H2D_INLINE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
H2D_INLINE __half2 __half2half2(__half v) { return {v, v}; }
H2D_INLINE __half2 make_half2(__half x, __half y) { return {x, y}; }
H2D_INLINE __half __low2half(__half2 v) { return v.x; }
H2D_INLINE __half __high2half(__half2 v) { return v.y; }
H2D_INLINE float __low2float(__half2 v) { return v.x; }
H2D_INLINE float __high2float(__half2 v) { return v.y; }
H2D_INLINE float2 __half22float2(__half2 v) { return {v.x, v.y}; }
H2D_INLINE __half __hneg(__half a) { return -a; }
H2D_INLINE __half __habs(__half a) { return __half(__builtin_fabsf(a)); }
H2D_INLINE __half __hfma(__half a, __half b, __half c) {
    return __half(__builtin_fma((double)(float)a, (double)(float)b, (double)(float)c));
}
H2D_INLINE __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
H2D_INLINE __half __hmax(__half a, __half b) { return __half(__builtin_fmaxf(a, b)); }
H2D_INLINE __half __hmin(__half a, __half b) { return __half(__builtin_fminf(a, b)); }
H2D_INLINE bool __hisnan(__half a) { return __builtin_isnan((float)a); }
H2D_INLINE __half hsqrt(__half a) { return __half(__builtin_sqrtf(a)); }
H2D_INLINE __half hrsqrt(__half a) { return __half(1 / __builtin_sqrtf(a)); }
H2D_INLINE __half hexp(__half a) { return __half(__builtin_expf(a)); }
H2D_INLINE __half hlog(__half a) { return __half(__builtin_logf(a)); }
H2D_INLINE __half hsin(__half a) { return __half(__builtin_sinf(a)); }
H2D_INLINE __half hcos(__half a) { return __half(__builtin_cosf(a)); }
H2D_INLINE __half atomicAdd(__half *p, __half v, H2D_LINE) {
    return __ushort_as_half(h2d::atomic(
        (unsigned short *)p, [=](unsigned short old) H2D_UNCHECKED { return (__ushort_as_half(old) + v).x; }, line));
}
#endif
