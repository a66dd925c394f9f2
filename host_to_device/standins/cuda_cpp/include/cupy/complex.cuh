// CuPy's complex numbers: the part of thrust::complex that kernels use.
#pragma once
#ifndef H2D_EXPAND  // then only the learner's own declarations matter

namespace thrust {
template <typename T> struct complex {
  typedef T value_type;
  T re, im;
  __device__ complex(T re = T(), T im = T()) : re(re), im(im) {}
  template <typename U> __device__ complex(const complex<U>& z) : re(T(z.re)), im(T(z.im)) {}
  __device__ T real() const { return re; }
  __device__ T imag() const { return im; }
  __device__ void real(T x) { re = x; }
  __device__ void imag(T x) { im = x; }
  __device__ complex operator-() const { return complex(-re, -im); }
  __device__ complex operator+() const { return *this; }
  __device__ friend complex operator+(complex a, complex b) { return complex(a.re + b.re, a.im + b.im); }
  __device__ friend complex operator-(complex a, complex b) { return complex(a.re - b.re, a.im - b.im); }
  __device__ friend complex operator*(complex a, complex b) {
    return complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
  }
  __device__ friend complex operator/(complex a, complex b) {
    T size = (b.re < 0 ? -b.re : b.re) + (b.im < 0 ? -b.im : b.im);
    T ar = a.re / size, ai = a.im / size, br = b.re / size, bi = b.im / size, square = br * br + bi * bi;
    return complex((ar * br + ai * bi) / square, (ai * br - ar * bi) / square);
  }
  __device__ friend bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  __device__ friend bool operator!=(complex a, complex b) { return !(a == b); }
  __device__ friend bool operator<(complex a, complex b) { return a.re != b.re ? a.re < b.re : a.im < b.im; }
  __device__ friend bool operator>(complex a, complex b) { return b < a; }
  __device__ friend bool operator<=(complex a, complex b) { return a == b || a < b; }
  __device__ friend bool operator>=(complex a, complex b) { return a == b || b < a; }
  __device__ complex& operator+=(complex b) { return *this = *this + b; }
  __device__ complex& operator-=(complex b) { return *this = *this - b; }
  __device__ complex& operator*=(complex b) { return *this = *this * b; }
  __device__ complex& operator/=(complex b) { return *this = *this / b; }
};
template <typename T> __device__ T real(complex<T> z) { return z.re; }
template <typename T> __device__ T imag(complex<T> z) { return z.im; }
template <typename T> __device__ complex<T> conj(complex<T> z) { return complex<T>(z.re, -z.im); }
template <typename T> __device__ T norm(complex<T> z) { return z.re * z.re + z.im * z.im; }
template <typename T> __device__ T abs(complex<T> z) { return ::hypot(z.re, z.im); }
template <typename T> __device__ T arg(complex<T> z) { return ::atan2(z.im, z.re); }
template <typename T> __device__ complex<T> polar(T r, T phi = T()) {
  return complex<T>(r * ::cos(phi), r * ::sin(phi));
}
template <typename T> __device__ complex<T> exp(complex<T> z) { return polar(T(::exp(z.re)), z.im); }
template <typename T> __device__ complex<T> log(complex<T> z) { return complex<T>(::log(abs(z)), arg(z)); }
template <typename T> __device__ complex<T> log10(complex<T> z) { return log(z) / T(2.302585092994045684); }
template <typename T> __device__ complex<T> proj(complex<T> z) {
  if (!::isinf(z.re) && !::isinf(z.im)) return z;
  return complex<T>(::hypot(z.re, z.im), ::copysign(T(), z.im));
}
template <typename T> __device__ complex<T> pow(complex<T> z, complex<T> w) {
  return z == complex<T>() ? complex<T>(w == complex<T>() ? T(1) : T()) : exp(w * log(z));
}
template <typename T> __device__ complex<T> sqrt(complex<T> z) {
  T size = abs(z), x = ::sqrt((size + z.re) / 2), y = ::sqrt((size - z.re) / 2);
  return complex<T>(x, z.im < 0 ? -y : y);
}
template <typename T> __device__ complex<T> sin(complex<T> z) {
  return complex<T>(::sin(z.re) * ::cosh(z.im), ::cos(z.re) * ::sinh(z.im));
}
template <typename T> __device__ complex<T> cos(complex<T> z) {
  return complex<T>(::cos(z.re) * ::cosh(z.im), -::sin(z.re) * ::sinh(z.im));
}
template <typename T> __device__ complex<T> sinh(complex<T> z) {
  return complex<T>(::sinh(z.re) * ::cos(z.im), ::cosh(z.re) * ::sin(z.im));
}
template <typename T> __device__ complex<T> cosh(complex<T> z) {
  return complex<T>(::cosh(z.re) * ::cos(z.im), ::sinh(z.re) * ::sin(z.im));
}
template <typename T> __device__ complex<T> tan(complex<T> z) { return sin(z) / cos(z); }
template <typename T> __device__ complex<T> tanh(complex<T> z) { return sinh(z) / cosh(z); }
}
using thrust::complex; using thrust::real; using thrust::imag; using thrust::conj; using thrust::norm;
using thrust::abs; using thrust::arg; using thrust::polar; using thrust::exp; using thrust::log; using thrust::pow;
using thrust::sqrt; using thrust::sin; using thrust::cos; using thrust::tan; using thrust::sinh; using thrust::cosh;
using thrust::tanh; using thrust::log10; using thrust::proj;
#endif
