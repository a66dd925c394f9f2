// thrust::complex, which CuPy's header has as well.
#pragma once
#include "../cupy/complex.cuh"
