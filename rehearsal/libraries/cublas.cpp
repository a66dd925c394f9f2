// cuBLAS, as far as CuPy's everyday calls need it: products of matrices and vectors, dot products, norms, transposition.
//
// Plain loops in double precision: right to rounding, and not bit for bit what a GPU gives. Matrices stand in columns.
#include <cmath>
#include <complex>
#include <cstring>
#include <vector>
#include "rehearsal.hpp"

typedef std::complex<double> Z;
typedef std::complex<float> C;
enum Type { SINGLE = 0, DOUBLE = 1, HALF = 2, INT8 = 3, COMPLEX_SINGLE = 4, COMPLEX_DOUBLE = 5, INT32 = 10, BFLOAT16 = 14 };   // cudaDataType
enum { SUCCESS = 0, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };

static double half_value(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? std::ldexp(1024.0 + fraction, exponent - 25) : std::ldexp(double(fraction), -24);
    return h & 0x8000 ? -size : size;
}
static uint16_t half_bits(double value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return 0x7fff;
    value = std::fabs(value);
    if (value >= 65520.0) return sign | 0x7c00;
    if (value < 0x1p-14) return sign | uint16_t(std::nearbyint(value * 0x1p24));
    int exponent;
    const double fraction = std::frexp(value, &exponent);
    return uint16_t(sign + ((exponent + 14) << 10) + uint16_t(std::nearbyint(fraction * 2048) - 1024));
}
static int size_of(int type) {
    switch (type) {
        case SINGLE: case INT32: return 4;
        case DOUBLE: case COMPLEX_SINGLE: return 8;
        case HALF: case BFLOAT16: return 2;
        case INT8: return 1;
        case COMPLEX_DOUBLE: return 16;
    }
    return 0;
}
static Z get(const void* p, uint64_t i, int type) {
    switch (type) {
        case SINGLE: return ((const float*)p)[i];
        case DOUBLE: return ((const double*)p)[i];
        case HALF: return half_value(((const uint16_t*)p)[i]);
        case INT8: return ((const int8_t*)p)[i];
        case COMPLEX_SINGLE: return ((const C*)p)[i];
        case COMPLEX_DOUBLE: return ((const Z*)p)[i];
        case INT32: return ((const int32_t*)p)[i];
    }
    const uint32_t bits = uint32_t(((const uint16_t*)p)[i]) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static void put(void* p, uint64_t i, int type, Z v) {
    switch (type) {
        case SINGLE: ((float*)p)[i] = float(v.real()); return;
        case DOUBLE: ((double*)p)[i] = v.real(); return;
        case HALF: ((uint16_t*)p)[i] = half_bits(v.real()); return;
        case COMPLEX_SINGLE: ((C*)p)[i] = C(v); return;
        case COMPLEX_DOUBLE: ((Z*)p)[i] = v; return;
        case INT32: ((int32_t*)p)[i] = int32_t(v.real()); return;
    }
    const float value = float(v.real());
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    ((uint16_t*)p)[i] = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// -- products of matrices: C = alpha op(A) op(B) + beta C -------------------------------------------------------------------
struct Matrix {
    const void* at;
    int type, leading;
    int operation;                               // 0 as it is, 1 transposed, 2 transposed and conjugated
    uint64_t elements(int rows, int columns) const { return operation ? uint64_t(leading) * (rows - 1) + columns : uint64_t(leading) * (columns - 1) + rows; }
    uint64_t place(int row, int column) const { return operation ? uint64_t(row) * leading + column : uint64_t(column) * leading + row; }
};
template <class T> static T number(Z v, int operation) {
    if constexpr (std::is_same_v<T, Z>) return operation == 2 ? std::conj(v) : v;
    else return v.real();
}
template <class T> static bool taken(std::vector<T>* values, const Matrix& m, int rows, int columns, bool by_rows) {
    if (!rows || !columns) return true;
    const void* from = rehearsal_bytes(m.at, m.elements(rows, columns) * size_of(m.type));
    if (!from) return false;
    values->resize(uint64_t(rows) * columns);
    for (int i = 0; i < rows; i++) for (int j = 0; j < columns; j++) (*values)[by_rows ? uint64_t(i) * columns + j : uint64_t(j) * rows + i] = number<T>(get(from, m.place(i, j), m.type), m.operation);
    return true;
}
template <class T> static int multiply(int m, int n, int k, T alpha, Matrix a, Matrix b, T beta, Matrix c) {
    std::vector<T> x, y;
    if (!m || !n) return SUCCESS;
    void* out = rehearsal_bytes(c.at, c.elements(m, n) * size_of(c.type));
    if (!out || !taken(&x, a, m, k, true) || !taken(&y, b, k, n, false)) return INVALID_VALUE;
    for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) {
        T sum = 0;
        for (int l = 0; l < k; l++) sum += x[uint64_t(i) * k + l] * y[uint64_t(j) * k + l];
        const T before = beta == T(0) ? T(0) : beta * number<T>(get(out, c.place(i, j), c.type), 0);
        put(out, c.place(i, j), c.type, Z(alpha * sum + before));
    }
    return SUCCESS;
}
static int gemm(int m, int n, int k, const void* alpha, Matrix a, Matrix b, const void* beta, Matrix c, int scalars) {
    for (int type : {a.type, b.type, c.type, scalars}) if (!size_of(type)) return NOT_SUPPORTED;
    const void *p = rehearsal_bytes(alpha, size_of(scalars)), *q = rehearsal_bytes(beta, size_of(scalars));
    if (!p || !q) return INVALID_VALUE;
    const Z x = get(p, 0, scalars), y = get(q, 0, scalars);
    if (c.type == COMPLEX_SINGLE || c.type == COMPLEX_DOUBLE) return multiply<Z>(m, n, k, x, a, b, y, c);
    return multiply<double>(m, n, k, x.real(), a, b, y.real(), c);
}
static int scalars_of(int compute, int type) {   // cublasComputeType_t
    if (compute == 64 || compute == 65) return HALF;
    if (compute == 70 || compute == 71) return type == COMPLEX_DOUBLE ? COMPLEX_DOUBLE : DOUBLE;
    if (compute == 72 || compute == 73) return INT32;
    return type == COMPLEX_SINGLE ? COMPLEX_SINGLE : SINGLE;
}

struct Handle { void* stream; int pointers, mathematics; };
EXPORT int cublasCreate_v2(Handle** h) { *h = new Handle{}; return SUCCESS; }
EXPORT int cublasDestroy_v2(Handle* h) { delete h; return SUCCESS; }
EXPORT int cublasGetVersion_v2(Handle*, int* version) { *version = 130000; return SUCCESS; }
EXPORT int cublasSetStream_v2(Handle* h, void* s) { h->stream = s; return SUCCESS; }
EXPORT int cublasGetStream_v2(Handle* h, void** s) { *s = h->stream; return SUCCESS; }
EXPORT int cublasSetPointerMode_v2(Handle* h, int mode) { h->pointers = mode; return SUCCESS; }
EXPORT int cublasGetPointerMode_v2(Handle* h, int* mode) { *mode = h->pointers; return SUCCESS; }
EXPORT int cublasSetMathMode(Handle* h, int mode) { h->mathematics = mode; return SUCCESS; }
EXPORT int cublasGetMathMode(Handle* h, int* mode) { *mode = h->mathematics; return SUCCESS; }
EXPORT int cublasSetWorkspace_v2(Handle*, void*, size_t) { return SUCCESS; }

EXPORT int cublasSgemmEx(Handle*, int ta, int tb, int m, int n, int k, void* alpha, void* a, int at, int lda, void* b, int bt, int ldb, void* beta, void* c, int ct, int ldc) {
    return gemm(m, n, k, alpha, {a, at, lda, ta}, {b, bt, ldb, tb}, beta, {c, ct, ldc, 0}, SINGLE);
}
EXPORT int cublasGemmEx(Handle*, int ta, int tb, int m, int n, int k, void* alpha, void* a, int at, int lda, void* b, int bt, int ldb, void* beta, void* c, int ct, int ldc, int compute, int) {
    return gemm(m, n, k, alpha, {a, at, lda, ta}, {b, bt, ldb, tb}, beta, {c, ct, ldc, 0}, scalars_of(compute, ct));
}
EXPORT int cublasGemmStridedBatchedEx(Handle*, int ta, int tb, int m, int n, int k, void* alpha, char* a, int at, int lda, long sa, char* b, int bt, int ldb, long sb, void* beta, char* c, int ct, int ldc, long sc, int count, int compute, int) {
    for (int i = 0; i < count; i++) if (const int error = gemm(m, n, k, alpha, {a + i * sa * size_of(at), at, lda, ta}, {b + i * sb * size_of(bt), bt, ldb, tb}, beta, {c + i * sc * size_of(ct), ct, ldc, 0}, scalars_of(compute, ct))) return error;
    return SUCCESS;
}

// -- products with a vector, and C = alpha op(A) + beta op(B), with which CuPy copies to Fortran order ---------------------------
static int gemv(int operation, int m, int n, const void* alpha, const void* matrix, int leading, const void* X, int ix, const void* beta, void* Y, int iy, int type) {
    if (ix < 1 || iy < 1) return NOT_SUPPORTED;
    const int rows = operation ? n : m, columns = operation ? m : n;
    const Matrix a = {matrix, type, leading, operation};
    if (!rows) return SUCCESS;
    const void *p = rehearsal_bytes(alpha, size_of(type)), *q = rehearsal_bytes(beta, size_of(type));
    std::vector<Z> values;
    const void* x = columns ? rehearsal_bytes(X, (uint64_t(columns - 1) * ix + 1) * size_of(type)) : X;
    void* y = rehearsal_bytes(Y, (uint64_t(rows - 1) * iy + 1) * size_of(type));
    if (!p || !q || !x || !y || !taken(&values, a, rows, columns, true)) return INVALID_VALUE;
    const Z scale = get(p, 0, type), old = get(q, 0, type);
    for (int i = 0; i < rows; i++) {
        Z sum = 0;
        for (int j = 0; j < columns; j++) sum += values[uint64_t(i) * columns + j] * get(x, uint64_t(j) * ix, type);
        put(y, uint64_t(i) * iy, type, scale * sum + (old == Z(0) ? Z(0) : old * get(y, uint64_t(i) * iy, type)));
    }
    return SUCCESS;
}
static int geam(int m, int n, const void* alpha, Matrix a, const void* beta, Matrix b, Matrix c) {
    const void *p = rehearsal_bytes(alpha, size_of(c.type)), *q = rehearsal_bytes(beta, size_of(c.type));
    if (!p || !q) return INVALID_VALUE;
    const Z x = get(p, 0, c.type), y = get(q, 0, c.type);
    std::vector<Z> left, right;
    void* out = rehearsal_bytes(c.at, c.elements(m, n) * size_of(c.type));
    if (!out || (x != Z(0) && !taken(&left, a, m, n, true)) || (y != Z(0) && !taken(&right, b, m, n, true))) return INVALID_VALUE;
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        const uint64_t at = uint64_t(i) * n + j;
        put(out, c.place(i, j), c.type, (x == Z(0) ? Z(0) : x * left[at]) + (y == Z(0) ? Z(0) : y * right[at]));
    }
    return SUCCESS;
}
#define OF_EACH_TYPE(X) X(S, SINGLE) X(D, DOUBLE) X(C, COMPLEX_SINGLE) X(Z, COMPLEX_DOUBLE)
#define PRODUCTS(L, type)                                                                                                                                                                     \
    EXPORT int cublas##L##gemm_v2(Handle*, int ta, int tb, int m, int n, int k, void* alpha, void* a, int lda, void* b, int ldb, void* beta, void* c, int ldc) {                                \
        return gemm(m, n, k, alpha, {a, type, lda, ta}, {b, type, ldb, tb}, beta, {c, type, ldc, 0}, type);                                                                                     \
    }                                                                                                                                                                                         \
    EXPORT int cublas##L##gemmBatched(Handle*, int ta, int tb, int m, int n, int k, void* alpha, void** a, int lda, void** b, int ldb, void* beta, void** c, int ldc, int count) {              \
        void **x = host<void*>(a, count), **y = host<void*>(b, count), **z = host<void*>(c, count);                                                                                           \
        for (int i = 0; i < count; i++) if (const int error = gemm(m, n, k, alpha, {x[i], type, lda, ta}, {y[i], type, ldb, tb}, beta, {z[i], type, ldc, 0}, type)) return error;               \
        return SUCCESS;                                                                                                                                                                       \
    }                                                                                                                                                                                         \
    EXPORT int cublas##L##gemmStridedBatched(Handle*, int ta, int tb, int m, int n, int k, void* alpha, char* a, int lda, long sa, char* b, int ldb, long sb, void* beta, char* c, int ldc, long sc, int count) { \
        const int bytes = size_of(type);                                                                                                                                                      \
        for (int i = 0; i < count; i++) if (const int error = gemm(m, n, k, alpha, {a + i * sa * bytes, type, lda, ta}, {b + i * sb * bytes, type, ldb, tb}, beta, {c + i * sc * bytes, type, ldc, 0}, type)) return error; \
        return SUCCESS;                                                                                                                                                                       \
    }                                                                                                                                                                                         \
    EXPORT int cublas##L##gemv_v2(Handle*, int op, int m, int n, void* alpha, void* a, int lda, void* x, int ix, void* beta, void* y, int iy) {                                                 \
        return gemv(op, m, n, alpha, a, lda, x, ix, beta, y, iy, type);                                                                                                                       \
    }                                                                                                                                                                                         \
    EXPORT int cublas##L##geam(Handle*, int ta, int tb, int m, int n, void* alpha, void* a, int lda, void* beta, void* b, int ldb, void* c, int ldc) {                                          \
        return geam(m, n, alpha, {a, type, lda, ta}, beta, {b, type, ldb, tb}, {c, type, ldc, 0});                                                                                            \
    }
OF_EACH_TYPE(PRODUCTS)

// -- dot products and norms ---------------------------------------------------------------------------------------------------
static int dot(int n, const void* X, int ix, const void* Y, int iy, void* result, int type, bool conjugate) {
    if (ix < 1 || iy < 1) return NOT_SUPPORTED;
    void* out = rehearsal_bytes(result, size_of(type));
    const void* x = n ? rehearsal_bytes(X, (uint64_t(n - 1) * ix + 1) * size_of(type)) : X;
    const void* y = n ? rehearsal_bytes(Y, (uint64_t(n - 1) * iy + 1) * size_of(type)) : Y;
    if (!out || (n && (!x || !y))) return INVALID_VALUE;
    Z sum = 0;
    for (int i = 0; i < n; i++) {
        const Z v = get(x, uint64_t(i) * ix, type);
        sum += (conjugate ? std::conj(v) : v) * get(y, uint64_t(i) * iy, type);
    }
    put(out, 0, type, sum);
    return SUCCESS;
}
static int norm(int n, const void* X, int ix, void* result, int type, int result_type) {
    if (ix < 1) return NOT_SUPPORTED;
    void* out = rehearsal_bytes(result, size_of(result_type));
    const void* x = n ? rehearsal_bytes(X, (uint64_t(n - 1) * ix + 1) * size_of(type)) : X;
    if (!out || (n && !x)) return INVALID_VALUE;
    double sum = 0;
    for (int i = 0; i < n; i++) sum += std::norm(get(x, uint64_t(i) * ix, type));
    put(out, 0, result_type, std::sqrt(sum));
    return SUCCESS;
}
#define DOT(NAME, type, conjugate) EXPORT int cublas##NAME##_v2(Handle*, int n, void* x, int ix, void* y, int iy, void* r) { return dot(n, x, ix, y, iy, r, type, conjugate); }
DOT(Sdot, SINGLE, false) DOT(Ddot, DOUBLE, false) DOT(Cdotu, COMPLEX_SINGLE, false) DOT(Cdotc, COMPLEX_SINGLE, true) DOT(Zdotu, COMPLEX_DOUBLE, false) DOT(Zdotc, COMPLEX_DOUBLE, true)
#define NORM(NAME, type, result_type) EXPORT int cublas##NAME##_v2(Handle*, int n, void* x, int ix, void* r) { return norm(n, x, ix, r, type, result_type); }
NORM(Snrm2, SINGLE, SINGLE) NORM(Dnrm2, DOUBLE, DOUBLE) NORM(Scnrm2, COMPLEX_SINGLE, SINGLE) NORM(Dznrm2, COMPLEX_DOUBLE, DOUBLE)
