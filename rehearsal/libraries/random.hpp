// Random numbers: right in their distribution, and not the sequence of NVIDIA's generators.
#pragma once
#include <cmath>
#include "rehearsal.hpp"

static uint64_t next(uint64_t& state) {          // SplitMix64
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}
static double uniform(uint64_t& state) { return double(next(state) >> 11) * 0x1p-53; }            // 0 to below 1
static double normal(uint64_t& state) {
    const double u = 1 - uniform(state), v = uniform(state);
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}
template <class T, class F> static bool fill(void* out, uint64_t count, F draw) {
    T* values = count ? host<T>(out, count) : nullptr;
    if (count && !values) return false;
    for (uint64_t i = 0; i < count; i++) values[i] = T(draw());
    return true;
}
