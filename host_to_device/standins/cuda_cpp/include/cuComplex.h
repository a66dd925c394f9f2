// Complex numbers of CUDA's C interface: pairs of floats or doubles, and functions in place of operators.
#pragma once
#ifndef H2D_EXPAND  // then only the learner's own declarations matter

typedef float2 cuFloatComplex;
typedef cuFloatComplex cuComplex;
typedef double2 cuDoubleComplex;

// The functions for one of the two types; their names end in f for floats.
#define H2D_COMPLEX(Z, T, make, f)                                                                                     \
    H2D_INLINE T cuCreal##f(Z z) { return z.x; }                                                                       \
    H2D_INLINE T cuCimag##f(Z z) { return z.y; }                                                                       \
    H2D_INLINE Z make(T re, T im) { return {re, im}; }                                                                 \
    H2D_INLINE Z cuConj##f(Z z) { return {z.x, -z.y}; }                                                                \
    H2D_INLINE Z cuCadd##f(Z a, Z b) { return {a.x + b.x, a.y + b.y}; }                                                \
    H2D_INLINE Z cuCsub##f(Z a, Z b) { return {a.x - b.x, a.y - b.y}; }                                                \
    H2D_INLINE Z cuCmul##f(Z a, Z b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }                        \
    H2D_INLINE Z cuCdiv##f(Z a, Z b) {                                                                                 \
        T scale = 1 / (fabs(b.x) + fabs(b.y)), ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale; \
        T square = 1 / (bx * bx + by * by);                                                                            \
        return {(ax * bx + ay * by) * square, (ay * bx - ax * by) * square};                                           \
    }                                                                                                                  \
    H2D_INLINE T cuCabs##f(Z z) { return hypot(z.x, z.y); }                                                            \
    H2D_INLINE Z cuCfma##f(Z a, Z b, Z c) { return cuCadd##f(cuCmul##f(a, b), c); }
H2D_COMPLEX(cuFloatComplex, float, make_cuFloatComplex, f)
H2D_COMPLEX(cuDoubleComplex, double, make_cuDoubleComplex, )
#undef H2D_COMPLEX
H2D_INLINE cuComplex make_cuComplex(float re, float im) { return {re, im}; }
H2D_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return {z.x, z.y}; }
H2D_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return {(float)z.x, (float)z.y}; }
#endif
