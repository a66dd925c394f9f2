/* NVIDIA's wheels of headers do not have this one. */
#pragma once
#include <cuda_runtime_api.h>
extern "C" { cudaError_t cudaProfilerStart(void); cudaError_t cudaProfilerStop(void); }
