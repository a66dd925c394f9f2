// What CuPy compiles from CUB. CuPy is told to use its own reductions (CUPY_ACCELERATORS is empty); whatever calls one of
// these all the same ends the context.
#include <cstddef>
#include "cupy_cub.h"
#include "rehearsal.hpp"

typedef void* V;
typedef cudaStream_t S;
typedef size_t N;
#define NO rehearsal_refuse(__func__, 0)
void cub_device_reduce(V, N&, V, V, int, S, int, int) { NO; }
void cub_device_segmented_reduce(V, N&, V, V, int, int, S, int, int) { NO; }
void cub_device_scan(V, N&, V, V, int, S, int, int) { NO; }
void cub_device_histogram_range(V, N&, V, V, int, V, N, S, int) { NO; }
void cub_device_histogram_even(V, N&, V, V, int, int, int, N, S, int) { NO; }
N cub_device_reduce_get_workspace_size(V, V, int, S, int, int) { NO; return 1; }
N cub_device_segmented_reduce_get_workspace_size(V, V, int, int, S, int, int) { NO; return 1; }
N cub_device_scan_get_workspace_size(V, V, int, S, int, int) { NO; return 1; }
N cub_device_histogram_range_get_workspace_size(V, V, int, V, N, S, int) { NO; return 1; }
N cub_device_histogram_even_get_workspace_size(V, V, int, int, int, N, S, int) { NO; return 1; }
