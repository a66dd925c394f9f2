// What CuPy compiles from cuRAND's device interface: cupy.random.Generator. The functions are declared in CuPy's header;
// a signature that changes there is an undefined name when CuPy is imported. Distributions that are not here end the context.
#include "cupy_distributions.cuh"
#include "random.hpp"
#include <type_traits>

typedef intptr_t P;
#define STATE uint64_t& s = *host<uint64_t>((void*)state)
void init_curand_generator(int generator, P state, uint64_t seed, ssize_t, P) { STATE; s = seed * 2654435761u + 977 * uint64_t(generator) + 1; }
void random_uniform(int, P state, ssize_t, P out, ssize_t n, P) { STATE; fill<double>((void*)out, n, [&] { return uniform(s); }); }
void random_uniform_float(int, P state, ssize_t, P out, ssize_t n, P) { STATE; fill<float>((void*)out, n, [&] { return (next(s) >> 40) * 0x1p-24f; }); }
void raw(int, P state, ssize_t, P out, ssize_t n, P) { STATE; fill<uint32_t>((void*)out, n, [&] { return next(s) >> 32; }); }
void standard_normal(int, P state, ssize_t, P out, ssize_t n, P) { STATE; fill<double>((void*)out, n, [&] { return normal(s); }); }
void standard_normal_float(int, P state, ssize_t, P out, ssize_t n, P) { STATE; fill<float>((void*)out, n, [&] { return normal(s); }); }
void exponential(int, P state, ssize_t, P out, ssize_t n, P) { STATE; fill<double>((void*)out, n, [&] { return -std::log(1 - uniform(s)); }); }
template <class T> static T within(uint64_t& s, T top, T mask) {
    for (;;) {
        const T value = T(next(s) >> 1) & mask;
        if (value <= top) return value;
    }
}
#define INTERVAL(NAME, T) void NAME(int, P state, ssize_t, P out, ssize_t n, P, T top, T mask) { STATE; fill<T>((void*)out, n, [&] { return within<std::make_unsigned_t<T>>(s, top, mask); }); }
INTERVAL(interval_32, uint32_t) INTERVAL(interval_64, uint64_t) INTERVAL(interval_32, int32_t) INTERVAL(interval_64, int64_t)  // CuPy 14.0 declares signed ones
#define REFUSE(NAME, ...) void NAME(int, P, ssize_t, P, ssize_t, P, ##__VA_ARGS__) { rehearsal_refuse("cupy.random " #NAME, 0); }
REFUSE(beta, P, P) REFUSE(geometric, P) REFUSE(hypergeometric, P, P, P) REFUSE(logseries, P) REFUSE(poisson, P) REFUSE(standard_gamma, P) REFUSE(binomial, P, P, P)
