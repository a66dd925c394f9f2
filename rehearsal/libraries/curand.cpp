// cuRAND's host interface, as far as CuPy's RandomState calls it.
#include "random.hpp"

enum { SUCCESS = 0, PREEXISTING_FAILURE = 202 };
struct Generator { uint64_t state; };
EXPORT int curandCreateGenerator(Generator** g, int) { *g = new Generator{0}; return SUCCESS; }
EXPORT int curandDestroyGenerator(Generator* g) { delete g; return SUCCESS; }
EXPORT int curandGetVersion(int* version) { *version = 10400; return SUCCESS; }
EXPORT int curandSetStream(Generator*, void*) { return SUCCESS; }
EXPORT int curandSetPseudoRandomGeneratorSeed(Generator* g, unsigned long long seed) { g->state = seed * 2654435761u + 1; return SUCCESS; }
EXPORT int curandSetGeneratorOffset(Generator* g, unsigned long long offset) { g->state += offset * 0x9E3779B97F4A7C15ull; return SUCCESS; }
EXPORT int curandSetGeneratorOrdering(Generator*, int) { return SUCCESS; }
#define GENERATE(NAME, T, draw, ...) EXPORT int curandGenerate##NAME(Generator* g, void* out, size_t n, ##__VA_ARGS__) { return fill<T>(out, n, [&] { return draw; }) ? SUCCESS : PREEXISTING_FAILURE; }
GENERATE(, uint32_t, next(g->state) >> 32)
GENERATE(LongLong, uint64_t, next(g->state))
GENERATE(Uniform, float, (next(g->state) >> 40) * 0x1p-24f + 0x1p-25f)      // above 0, up to 1
GENERATE(UniformDouble, double, 1 - uniform(g->state))
GENERATE(Normal, float, mean + deviation * normal(g->state), float mean, float deviation)
GENERATE(NormalDouble, double, mean + deviation * normal(g->state), double mean, double deviation)
GENERATE(LogNormal, float, std::exp(mean + deviation * normal(g->state)), float mean, float deviation)
GENERATE(LogNormalDouble, double, std::exp(mean + deviation * normal(g->state)), double mean, double deviation)
