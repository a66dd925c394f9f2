// cuSOLVER: a handle, and the solution of linear equations. Everything else is refused by name.
#include <algorithm>
#include <complex>
#include "rehearsal.hpp"

enum { SUCCESS = 0, INVALID_VALUE = 3, NOT_SUPPORTED = 9 };
struct Handle { void* stream; };
EXPORT int cusolverDnCreate(Handle** h) { *h = new Handle{}; return SUCCESS; }
EXPORT int cusolverDnDestroy(Handle* h) { delete h; return SUCCESS; }
EXPORT int cusolverDnSetStream(Handle* h, void* s) { h->stream = s; return SUCCESS; }
EXPORT int cusolverDnGetStream(Handle* h, void** s) { *s = h->stream; return SUCCESS; }

// LU with partial pivoting, in place, columns first; rows are counted from 1, as in LAPACK.
template <class T> static int factorize(int m, int n, void* A, int leading, void* rows, void* info) {
    T* a = host<T>(A, uint64_t(leading) * n);
    int *pivots = rows ? host<int>(rows, std::min(m, n)) : nullptr, *singular = host<int>(info);
    if (!a || !singular) return INVALID_VALUE;
    const auto at = [&](int i, int j) -> T& { return a[i + uint64_t(j) * leading]; };
    *singular = 0;
    for (int k = 0; k < std::min(m, n); k++) {
        int best = k;
        if (pivots) {
            for (int i = k; i < m; i++) if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
            pivots[k] = best + 1;
        }
        if (at(best, k) == T(0)) {
            if (!*singular) *singular = k + 1;
            continue;
        }
        if (best != k) for (int j = 0; j < n; j++) std::swap(at(k, j), at(best, j));
        for (int i = k + 1; i < m; i++) {
            const T factor = at(i, k) /= at(k, k);
            for (int j = k + 1; j < n; j++) at(i, j) -= factor * at(k, j);
        }
    }
    return SUCCESS;
}
template <class T> static int solve(int operation, int n, int columns, const void* A, int leading, const void* rows, void* B, int leading_b, void* info) {
    T *a = host<T>(A, uint64_t(leading) * n), *b = host<T>(B, uint64_t(leading_b) * columns);
    int *pivots = host<int>(rows, n), *singular = host<int>(info);
    if (!a || !b || !pivots || !singular) return INVALID_VALUE;
    if (operation == 2) return NOT_SUPPORTED;
    *singular = 0;
    const auto at = [&](int i, int j) { return operation ? a[j + uint64_t(i) * leading] : a[i + uint64_t(j) * leading]; };
    for (int c = 0; c < columns; c++) {
        T* x = b + uint64_t(c) * leading_b;
        if (!operation) for (int i = 0; i < n; i++) std::swap(x[i], x[pivots[i] - 1]);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < i; j++) x[i] -= at(i, j) * x[j];
            if (operation) x[i] /= at(i, i);
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int j = i + 1; j < n; j++) x[i] -= at(i, j) * x[j];
            if (!operation) x[i] /= at(i, i);
        }
        if (operation) for (int i = n - 1; i >= 0; i--) std::swap(x[i], x[pivots[i] - 1]);
    }
    return SUCCESS;
}
#define OF(L, T)                                                                                                                                       \
    EXPORT int cusolverDn##L##getrf_bufferSize(Handle*, int m, int n, void*, int, int* size) { *size = std::max(1, m * n); return SUCCESS; }                \
    EXPORT int cusolverDn##L##getrf(Handle*, int m, int n, void* a, int lda, void*, void* rows, void* info) { return factorize<T>(m, n, a, lda, rows, info); } \
    EXPORT int cusolverDn##L##getrs(Handle*, int op, int n, int k, void* a, int lda, void* rows, void* b, int ldb, void* info) { return solve<T>(op, n, k, a, lda, rows, b, ldb, info); }
OF(S, float) OF(D, double) OF(C, std::complex<float>) OF(Z, std::complex<double>)
