// What the instructions of PTX compute, as C++. Every translated kernel includes this file.
//
// A register holds bits. `as<T>` reads them as the type that an instruction names, and `put<T>` writes a result back.
#pragma once
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include "abi.hpp"

using namespace rehearsal;
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int8_t s8; typedef int16_t s16; typedef int32_t s32; typedef int64_t s64;
typedef float f32; typedef double f64; typedef bool pred;

static Running* run;
static const Services* driver;
enum { ILLEGAL_ADDRESS = 700, TIMEOUT = 702, ASSERT = 710, MISALIGNED = 716, INVALID_PC = 718, LAUNCH_FAILED = 719 };

template <class To, class From> static inline To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

// -- half precision: computed in double precision and rounded once -----------------------------------------------------
static inline f64 half_value(u16 h) {
    const u32 exponent = h >> 10 & 31, fraction = h & 1023;
    const f64 size = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? std::ldexp(1024.0 + fraction, int(exponent) - 25) : std::ldexp(f64(fraction), -24);
    return h & 0x8000 ? -size : size;
}
static inline u16 half_bits(f64 value) {
    const u16 sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return 0x7fff;
    value = std::fabs(value);
    if (value >= 65520.0) return sign | 0x7c00;
    if (value < 0x1p-14) return sign | u16(std::nearbyint(value * 0x1p24));
    int exponent;
    const f64 fraction = std::frexp(value, &exponent);
    return u16(sign + ((exponent + 14) << 10) + u16(std::nearbyint(fraction * 2048) - 1024));
}
struct f16 {
    u16 stored;
    f16() = default;
    explicit f16(f64 value) : stored(half_bits(value)) {}
    operator f64() const { return half_value(stored); }
};
struct bf16 {
    u16 stored;
    bf16() = default;
    explicit bf16(f64 value) {
        const f32 near = f32(value);
        const u32 b = bits<u32>(near);
        stored = std::isnan(near) ? 0x7fff : u16((b + 0x7fff + (b >> 16 & 1)) >> 16);
    }
    operator f64() const { return bits<f32>(u32(stored) << 16); }
};
template <class T> struct Pair { T low, high; };
typedef Pair<f16> f16x2; typedef Pair<bf16> bf16x2;

template <class T> constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T> constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;
template <class T> constexpr bool is_pair = std::is_same_v<T, f16x2> || std::is_same_v<T, bf16x2>;
template <size_t> struct Unsigned;
template <> struct Unsigned<1> { typedef u8 type; };
template <> struct Unsigned<2> { typedef u16 type; };
template <> struct Unsigned<4> { typedef u32 type; };
template <> struct Unsigned<8> { typedef u64 type; };
template <class T> using U = typename Unsigned<sizeof(T)>::type;
template <class T> struct Wider;
template <> struct Wider<u16> { typedef u32 type; };
template <> struct Wider<s16> { typedef s32 type; };
template <> struct Wider<u32> { typedef u64 type; };
template <> struct Wider<s32> { typedef s64 type; };
template <> struct Wider<u64> { typedef unsigned __int128 type; };
template <> struct Wider<s64> { typedef __int128 type; };
template <class T> using W = typename Wider<T>::type;

// -- registers ---------------------------------------------------------------------------------------------------------
template <class T, class R> static inline T as(R r) {
    if constexpr (std::is_same_v<R, pred> || std::is_same_v<T, pred>) {
        static_assert(std::is_same_v<R, T>, "a predicate is no number");
        return r;
    } else {
        static_assert(sizeof(T) <= sizeof(R), "the register is too small");
        return bits<T>(U<T>(bits<U<R>>(r)));
    }
}
template <class T, class R> static inline void put(R& r, T value) {
    if constexpr (std::is_same_v<R, pred> || std::is_same_v<T, pred>) {
        static_assert(std::is_same_v<R, T>, "a predicate is no number");
        r = value;
    } else if constexpr (sizeof(T) == sizeof(R)) {
        r = bits<R>(value);
    } else {
        static_assert(sizeof(T) < sizeof(R) && std::is_integral_v<T>, "the register does not fit");
        r = bits<R>(U<R>(std::make_signed_t<U<R>>(value)));   // a signed value keeps its sign, an unsigned one has none
    }
}

// -- memory ------------------------------------------------------------------------------------------------------------
template <class T> static inline u8* at(Window& window, u64 address, const char* kind, u64 size = sizeof(T)) {
    if (address % size) driver->fault(MISALIGNED, kind);
    if (address - window.first > window.span) window = driver->find(address, size, kind);
    return (u8*)(address + window.to_host);
}
static inline u8* in_shared(u64 offset, u64 size, const char* kind) {
    if (offset % size) driver->fault(MISALIGNED, kind);
    if (offset + size > run->shared_bytes || offset > run->shared_bytes) driver->find(offset, size, kind);
    return run->shared + offset;
}
template <class T> static inline T fetch(const u8* from) { T v; memcpy(&v, from, sizeof v); return v; }
template <class T> static inline void keep(u8* to, T v) { memcpy(to, &v, sizeof v); }
template <class T, class F> static inline T change(u8* place, F next) {
    const T before = fetch<T>(place);
    keep(place, next(before));
    return before;
}
struct Frame {                                   // the local memory of one call of one function
    const u64 before = run->local_used;
    ~Frame() { run->local_used = before; }
    u8* take(u64 bytes) {
        u8* place = run->local + run->local_used;
        run->local_used += (bytes + 15) / 16 * 16;
        if (run->local_used > LOCAL_BYTES) driver->fault(LAUNCH_FAILED, "local memory is used up");
        memset(place, 0xCB, bytes);              // nothing may rely on zeros
        return place;
    }
};
static inline void call_begins() { if ((u8*)__builtin_frame_address(0) < run->stack_end) driver->fault(LAUNCH_FAILED, "stack overflow: calls nest too deeply"); }
static inline void branch() {
    if (++run->branches > run->branch_limit) driver->fault(TIMEOUT, "the launch does not come to an end");
    if (run->branches % 256 == 0) driver->let_others_run();   // a thread that spins waits for another one
}

// -- arithmetic --------------------------------------------------------------------------------------------------------
template <class T> static inline T opaque(T v) { asm volatile("" : "+m"(v) : : "memory"); return v; }   // not moved across fesetround
template <int MODE, class T, class F> static inline T rounded(F compute) {
    const int before = fegetround();
    fesetround(MODE);
    const T result = opaque(compute());
    fesetround(before);
    return result;
}
template <class T> static inline T flushed(T v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(T(0), v) : v; }
template <class T> static inline T saturated(T v) { return T(f64(v) > 0 ? (f64(v) < 1 ? f64(v) : 1.0) : 0.0); }   // NaN gives 0

template <class P, class F> static inline P lanes(P a, P b, F f) { return {f(a.low, b.low), f(a.high, b.high)}; }
#define ARITHMETIC(NAME, OP)                                                                         \
    template <class T> static inline T NAME(T a, T b) {                                              \
        if constexpr (is_pair<T>) return lanes(a, b, [](auto x, auto y) { return NAME(x, y); });     \
        else if constexpr (is_half<T>) return T(f64(a) OP f64(b));                                   \
        else if constexpr (is_float<T>) return a OP b;                                               \
        else return T(U<T>(U<T>(a) OP U<T>(b)));                                                     \
    }
ARITHMETIC(add, +)
ARITHMETIC(sub, -)
template <class T> static inline T mul(T a, T b) {
    if constexpr (is_pair<T>) return lanes(a, b, [](auto x, auto y) { return mul(x, y); });
    else if constexpr (is_half<T>) return T(f64(a) * f64(b));
    else return a * b;
}
template <class T> static inline T mul_lo(T a, T b) { return T(u64(a) * u64(b)); }
template <class T> static inline T mul_hi(T a, T b) { return T((W<T>(a) * W<T>(b)) >> (8 * sizeof(T))); }
template <class T> static inline W<T> mul_wide(T a, T b) { return W<T>(a) * W<T>(b); }
template <class T> static inline T mad_lo(T a, T b, T c) { return add(mul_lo(a, b), c); }
template <class T> static inline T mad_hi(T a, T b, T c) { return add(mul_hi(a, b), c); }
template <class T> static inline W<T> mad_wide(T a, T b, W<T> c) { return add(mul_wide(a, b), c); }
template <class T> static inline T mul24_lo(T a, T b) { return mul_lo(T(T(U<T>(a) << 8) >> 8), T(T(U<T>(b) << 8) >> 8)); }
template <class T> static inline T mad24_lo(T a, T b, T c) { return add(mul24_lo(a, b), c); }
template <class T> static inline T fma_(T a, T b, T c) {
    if constexpr (is_pair<T>) return {fma_(a.low, b.low, c.low), fma_(a.high, b.high, c.high)};
    else if constexpr (is_half<T>) return T(std::fma(f64(a), f64(b), f64(c)));
    else return std::fma(a, b, c);
}
template <class T> static inline T div(T a, T b) {
    if constexpr (is_float<T>) return a / b;
    else if (b == 0) return T(-1);
    else if (std::is_signed_v<T> && b == T(-1)) return T(0 - u64(a));   // the lowest number has no opposite
    else return a / b;
}
template <class T> static inline T rem(T a, T b) { return b == 0 ? a : std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b); }
template <class T> static inline bool is_nan(T v) { if constexpr (is_float<T>) return std::isnan(f64(v)); else return false; }
template <class T> static inline T min(T a, T b) {
    if constexpr (is_pair<T>) return lanes(a, b, [](auto x, auto y) { return min(x, y); });
    else if constexpr (is_float<T>) return is_nan(a) ? b : is_nan(b) ? a : f64(a) == f64(b) ? (std::signbit(f64(a)) ? a : b) : f64(a) < f64(b) ? a : b;
    else return a < b ? a : b;
}
template <class T> static inline T max(T a, T b) {
    if constexpr (is_pair<T>) return lanes(a, b, [](auto x, auto y) { return max(x, y); });
    else if constexpr (is_float<T>) return is_nan(a) ? b : is_nan(b) ? a : f64(a) == f64(b) ? (std::signbit(f64(a)) ? b : a) : f64(a) > f64(b) ? a : b;
    else return a > b ? a : b;
}
template <class T> static inline T neg(T a) {
    if constexpr (is_pair<T>) return {neg(a.low), neg(a.high)};
    else if constexpr (is_half<T>) return bits<T>(u16(bits<u16>(a) ^ 0x8000));
    else if constexpr (is_float<T>) return -a;
    else return T(0 - u64(a));
}
template <class T> static inline T abs_(T a) {
    if constexpr (is_pair<T>) return {abs_(a.low), abs_(a.high)};
    else if constexpr (is_half<T>) return bits<T>(u16(bits<u16>(a) & 0x7fff));
    else if constexpr (is_float<T>) return std::fabs(a);
    else return a < 0 ? neg(a) : a;
}
template <class T> static inline T copysign_(T sign, T size) { return std::copysign(size, sign); }
// The approximate ones are computed exactly: a GPU's result may differ in the last bits.
template <class T> static inline T sqrt_(T a) { return T(std::sqrt(a)); }
template <class T> static inline T rsqrt(T a) { return T(1 / std::sqrt(f64(a))); }
template <class T> static inline T rcp(T a) { return T(1) / a; }
template <class T> static inline T ex2(T a) { return T(std::exp2(f64(a))); }
template <class T> static inline T lg2(T a) { return T(std::log2(f64(a))); }
template <class T> static inline T sin_(T a) { return T(std::sin(f64(a))); }
template <class T> static inline T cos_(T a) { return T(std::cos(f64(a))); }
template <class T> static inline T tanh_(T a) { return T(std::tanh(f64(a))); }

template <class T> static inline T sad(T a, T b, T c) { return add(c, T(a < b ? U<T>(b) - U<T>(a) : U<T>(a) - U<T>(b))); }
template <class A, class B> static inline s32 dp4a(u32 a, u32 b, u32 c) {
    u32 sum = c;
    for (int i = 0; i < 4; i++) sum += u32(s32(A(a >> 8 * i)) * s32(B(b >> 8 * i)));
    return s32(sum);
}

// -- bits --------------------------------------------------------------------------------------------------------------
template <class T> static inline T and_(T a, T b) { return T(a & b); }
template <class T> static inline T or_(T a, T b) { return T(a | b); }
template <class T> static inline T xor_(T a, T b) { return T(a ^ b); }
template <class T> static inline T not_(T a) { if constexpr (std::is_same_v<T, pred>) return !a; else return T(~a); }
template <class T> static inline T cnot(T a) { return a == 0; }
template <class T> static inline T shl(T a, u32 n) { return n >= 8 * sizeof(T) ? T(0) : T(U<T>(a) << n); }
template <class T> static inline T shr(T a, u32 n) { return n < 8 * sizeof(T) ? T(a >> n) : a < 0 ? T(-1) : T(0); }
static inline u32 shf_l(u32 low, u32 high, u32 n) { return u32(((u64(high) << 32 | low) << n) >> 32); }
static inline u32 shf_r(u32 low, u32 high, u32 n) { return n == 32 ? high : u32((u64(high) << 32 | low) >> n); }
static inline u32 shf_l_wrap(u32 low, u32 high, u32 n) { return shf_l(low, high, n & 31); }
static inline u32 shf_r_wrap(u32 low, u32 high, u32 n) { return shf_r(low, high, n & 31); }
static inline u32 shf_l_clamp(u32 low, u32 high, u32 n) { return n >= 32 ? low : shf_l(low, high, n); }
static inline u32 shf_r_clamp(u32 low, u32 high, u32 n) { return shf_r(low, high, n > 32 ? 32 : n); }
template <class T> static inline u32 popc(T a) { return u32(__builtin_popcountll(a)); }
template <class T> static inline u32 clz(T a) { return a ? u32(__builtin_clzll(a)) - (64 - 8 * sizeof(T)) : 8 * sizeof(T); }
template <class T> static inline T brev(T a) {
    T reversed = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); i++) reversed |= T(a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return reversed;
}
template <class T> static inline u32 bfind(T a) {            // of a negative number, the highest 0
    const U<T> b = std::is_signed_v<T> && a < 0 ? U<T>(~a) : U<T>(a);
    return b ? 8 * sizeof(T) - 1 - clz<U<T>>(b) : ~0u;
}
template <class T> static inline u32 bfind_shiftamt(T a) { const u32 at = bfind(a); return at == ~0u ? at : 8 * sizeof(T) - 1 - at; }
template <class T> static inline T bfi(T a, T b, u32 position, u32 length) {
    position &= 255; length &= 255;
    const T mask = shl<T>(length >= 8 * sizeof(T) ? T(~T(0)) : T((T(1) << length) - 1), position);
    return T((b & ~mask) | (shl<T>(a, position) & mask));
}
template <class T> static inline T bfe(T a, u32 position, u32 length) {
    position &= 255; length &= 255;
    const u32 width = 8 * sizeof(T);
    if (!length) return 0;
    const T moved = shr(a, position);                        // what lies beyond the highest bit is the sign, or 0
    if (length >= width) return moved;
    const u32 spare = width - length;
    if (position + length > width && std::is_signed_v<T>) return moved;
    return T(T(U<T>(moved) << spare) >> spare);
}
static inline u32 lop3(u32 a, u32 b, u32 c, u32 table) {
    u32 result = 0;
    for (int i = 0; i < 8; i++) if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}
static inline u32 prmt(u32 a, u32 b, u32 selector) {
    const u64 bytes = u64(b) << 32 | a;
    u32 result = 0;
    for (int i = 0; i < 4; i++) {
        const u32 pick = selector >> 4 * i & 15;
        u8 byte = u8(bytes >> 8 * (pick & 7));
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= u32(byte) << 8 * i;
    }
    return result;
}

// -- comparisons and conversions -------------------------------------------------------------------------------------
template <class T> static inline bool ordered(T a, T b) { return !is_nan(a) && !is_nan(b); }
template <class T> static inline bool eq(T a, T b) { return ordered(a, b) && a == b; }
template <class T> static inline bool ne(T a, T b) { return ordered(a, b) && a != b; }
template <class T> static inline bool lt(T a, T b) { return ordered(a, b) && a < b; }
template <class T> static inline bool le(T a, T b) { return ordered(a, b) && a <= b; }
template <class T> static inline bool gt(T a, T b) { return ordered(a, b) && a > b; }
template <class T> static inline bool ge(T a, T b) { return ordered(a, b) && a >= b; }

template <class T> static inline T whole(T v, int mode) {    // rounded to a whole number
    const f64 x = f64(v);
    return T(mode == FE_TONEAREST ? std::nearbyint(x) : mode == FE_TOWARDZERO ? std::trunc(x) : mode == FE_DOWNWARD ? std::floor(x) : std::ceil(x));
}
template <class D, class S> static inline D to_integer(S v, int mode) {
    if (is_nan(v)) return sizeof(S) == 8 || sizeof(D) == 8 ? D(u64(1) << (8 * sizeof(D) - 1)) : D(0);
    const f64 x = f64(whole(v, mode));
    if (x <= f64(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    if (x >= f64(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
    return D(x);
}
template <class D, class S> static inline D to_float(S v) {
    if constexpr (is_half<D>) return D(f64(v));
    else if constexpr (is_half<S>) return D(f64(v));
    else return D(v);
}
template <class D, class S> static inline D clamped(S v) {
    const __int128 x = v, low = std::numeric_limits<D>::min(), high = std::numeric_limits<D>::max();
    return D(x < low ? low : x > high ? high : x);
}

// -- what is asked of the driver ---------------------------------------------------------------------------------------
static inline bool in_window(u64 address, const u8* start, u64 bytes) { return address - u64(start) < bytes; }
static inline bool is_shared(u64 address) { return in_window(address, run->shared, run->shared_bytes); }
static inline bool is_local(u64 address) { return in_window(address, run->local, LOCAL_BYTES); }
static inline u32 lanes_below(u32 lane) { return lane ? ~0u >> (32 - lane) : 0; }
static inline u64 clock_now() { return ++run->branches * 8; }   // it goes forward, and says nothing about time
typedef void (*Function)(u8* result, u8** parameters);

static void call_vprintf(u8* result, u8** p) {
    const s32 n = driver->print(fetch<u64>(p[0]), fetch<u64>(p[1]));
    if (result) keep(result, n);
}
static void call_malloc(u8* result, u8** p) { keep(result, driver->allocate(fetch<u64>(p[0]))); }
static void call_free(u8*, u8** p) { driver->release(fetch<u64>(p[0])); }
static void call_assertfail(u8*, u8**) { driver->fault(ASSERT, "an assertion in the kernel failed"); }
