/* CuPy's cupy_distributions.cuh asks for this file of cuRAND. Host code takes the sizes of the states, and nothing else. */
#pragma once
#include <cstdint>
#include <sys/types.h>
struct curandState { uint64_t words[6]; };
struct curandStateMRG32k3a { uint64_t words[9]; };
struct curandStatePhilox4_32_10_t { uint64_t words[8]; };
