// What CuPy compiles from Thrust: sorting. The functions are CuPy's own, declared in its header.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <vector>
#include "cupy_thrust.h"
#include "rehearsal.hpp"

struct Half {
    uint16_t bits;
    double value() const {
        const int exponent = bits >> 10 & 31, fraction = bits & 1023;
        const double size = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? std::ldexp(1024.0 + fraction, exponent - 25) : std::ldexp(double(fraction), -24);
        return bits & 0x8000 ? -size : size;
    }
};
template <class T> static bool less(T a, T b) {  // NaN comes last
    if constexpr (std::is_floating_point_v<T>) if (std::isnan(b)) return !std::isnan(a);
    return a < b;
}
static bool less(Half a, Half b) { return less(a.value(), b.value()); }
template <class T> static bool less(std::complex<T> a, std::complex<T> b) {
    const auto bad = [](std::complex<T> c) { return std::isnan(c.real()) || std::isnan(c.imag()); };
    if (bad(a) || bad(b)) return !bad(a) || (bad(b) && !std::isnan(a.real()) && std::isnan(b.real()));
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
// CuPy's numbers of the types of elements (cupy_thrust.cu and cupy.cuda.common).
template <class F> static void of_type(int type, const char* what, F go) {
    switch (type) {
        case 0: return go(int8_t());
        case 1: case 13: return go(uint8_t());
        case 2: return go(int16_t());
        case 3: return go(uint16_t());
        case 4: return go(int32_t());
        case 5: return go(uint32_t());
        case 6: return go(int64_t());
        case 7: return go(uint64_t());
        case 8: return go(Half());
        case 9: return go(float());
        case 10: return go(double());
        case 11: return go(std::complex<float>());
        case 12: return go(std::complex<double>());
    }
    rehearsal_refuse(what, 0);
}
static uint64_t product(const std::vector<ptrdiff_t>& shape) { return std::accumulate(shape.begin(), shape.end(), uint64_t(1), [](uint64_t a, ptrdiff_t b) { return a * uint64_t(b); }); }

void thrust_sort(int type, void* data, size_t*, const std::vector<ptrdiff_t>& shape, intptr_t, void*) {
    of_type(type, "sort of this type", [&](auto zero) {
        typedef decltype(zero) T;
        const uint64_t all = product(shape), row = shape.back();
        T* values = all ? host<T>(data, all) : nullptr;
        for (uint64_t i = 0; values && i < all; i += row) std::stable_sort(values + i, values + i + row, [](T a, T b) { return less(a, b); });
    });
}
void thrust_argsort(int type, size_t* index, void* data, void*, const std::vector<ptrdiff_t>& shape, intptr_t, void*) {
    of_type(type, "argsort of this type", [&](auto zero) {
        typedef decltype(zero) T;
        const uint64_t all = product(shape), row = shape.back();
        T* values = all ? host<T>(data, all) : nullptr;
        size_t* places = all ? host<size_t>(index, all) : nullptr;
        for (uint64_t i = 0; values && places && i < all; i += row) {
            std::iota(places + i, places + i + row, 0);
            std::stable_sort(places + i, places + i + row, [&](size_t a, size_t b) { return less(values[i + a], values[i + b]); });
            std::vector<T> sorted(row);
            for (uint64_t k = 0; k < row; k++) sorted[k] = values[i + places[i + k]];
            std::copy(sorted.begin(), sorted.end(), values + i);
        }
    });
}
void thrust_lexsort(int type, size_t* index, void* keys, size_t k, size_t n, intptr_t, void*) {
    of_type(type, "lexsort of this type", [&](auto zero) {
        typedef decltype(zero) T;
        T* values = k * n ? host<T>(keys, k * n) : nullptr;
        size_t* places = n ? host<size_t>(index, n) : nullptr;
        if (!values || !places) return;
        std::iota(places, places + n, 0);
        for (size_t i = 0; i < k; i++) std::stable_sort(places, places + n, [&](size_t a, size_t b) { return less(values[i * n + a], values[i * n + b]); });
    });
}
