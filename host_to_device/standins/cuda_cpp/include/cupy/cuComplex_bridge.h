// For CuPy's option translate_cucomplex: CUDA's C interface for complex numbers, on CuPy's complex numbers.
#pragma once
#include "complex.cuh"
#ifndef H2D_EXPAND  // then only the learner's own declarations matter

typedef complex<float> cuFloatComplex, cuComplex;
typedef complex<double> cuDoubleComplex;

// The functions for one of the two types; their names end in f for floats.
#define H2D_COMPLEX(Z, T, make, f)                                                      \
    H2D_INLINE T cuCreal##f(Z z) { return z.re; }                                       \
    H2D_INLINE T cuCimag##f(Z z) { return z.im; }                                       \
    H2D_INLINE Z make(T re, T im) { return Z(re, im); }                                 \
    H2D_INLINE Z cuConj##f(Z z) { return conj(z); }                                     \
    H2D_INLINE Z cuCadd##f(Z a, Z b) { return a + b; }                                  \
    H2D_INLINE Z cuCsub##f(Z a, Z b) { return a - b; }                                  \
    H2D_INLINE Z cuCmul##f(Z a, Z b) { return a * b; }                                  \
    H2D_INLINE Z cuCdiv##f(Z a, Z b) { return a / b; }                                  \
    H2D_INLINE T cuCabs##f(Z z) { return abs(z); }                                      \
    H2D_INLINE Z cuCfma##f(Z a, Z b, Z c) { return a * b + c; }
H2D_COMPLEX(cuFloatComplex, float, make_cuFloatComplex, f)
H2D_COMPLEX(cuDoubleComplex, double, make_cuDoubleComplex, )
#undef H2D_COMPLEX
H2D_INLINE cuComplex make_cuComplex(float re, float im) { return cuComplex(re, im); }
H2D_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return z; }
H2D_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return z; }
#endif
