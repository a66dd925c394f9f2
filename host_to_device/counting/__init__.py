"""`h2d.count()`: count the copies, waits, allocations and operations that a program asks of a device.

The table says what each call counts as, for the libraries as they behave on a GPU. Its sources are the code of
numba-cuda 0.22 and 0.30 (`numba/cuda`) and of CuPy 13 and 14 (`cupy/_core`), and NVIDIA's "CUDA Driver API", chapter
"API synchronization behavior" [NV]. Where the two versions of numba-cuda differ, the stand-in counts as 0.22 does, which
Colab has.

=========================================  =======================================================================
Numba
=========================================  =======================================================================
to_device, copy_to_device(host array)      allocation (to_device), copy to the device; a wait without a stream:
                                           cuMemcpyHtoD, before which the stream is waited for [NV]
copy_to_host, d[i], record["field"]        copy to the host; a wait without a stream (cuMemcpyDtoH)
copy_to_device(device array)               copy on the device; no wait [NV]
kernel[grid, block](...)                   operation; for each host array what to_device and copy_to_host count,
                                           without the copy that cuda.In or cuda.Out leaves out (args.py). In 0.30 the
                                           copy to the device does not wait
d[i] = x, d[:] = x                         copy of x without a wait, operation, and a wait without a stream
                                           (devicearray.py, _do_setitem); a record's field: copy on the device
transpose; cuda.reduce                     allocation, operation; one to three operations, copy of the result
a CuPy or PyTorch array as an argument     0.22: wait for the stream that it names (api.py, from_cuda_array_interface);
                                           0.30: nothing, because the stream of the launch waits for that stream on the
                                           device (devicearray.py, _to_strided_memory_view, which uses DLPack)
as_cuda_array(CuPy or PyTorch array)       wait for the stream that it names
device_array, managed_array                allocation; pinned and mapped arrays are memory of the host: nothing
synchronize of a stream, an event, cuda    wait; so at the end of auto_synchronize
=========================================  =======================================================================
CuPy
=========================================  =======================================================================
array, asarray of a host array             allocation, copy to the device through pinned memory, no wait unless
                                           blocking=True (core.pyx, _array_default); of a number: operation
get, asnumpy, item, float, print, bool ... copy to the host, wait unless blocking=False; before it operation and
                                           allocation where the array has gaps (core.pyx, get)
set                                        copy to the device, no wait (core.pyx, set)
a + b, functions, reductions               operation: one, where CuPy launches one kernel; otherwise at least one,
                                           and one for each array that is made; allocation for each of those
                                           (a GPU's count has one more for a sum, product, maximum or minimum through
                                           CUB: its workspace, cuda/cub.pyx)
copy, astype, reshape that copies          operation: CuPy copies by a kernel (core.pyx, _astype)
a[...] = b                                 copy on the device, if both lie in memory in the same way; otherwise
                                           operation (_routines_indexing.pyx, _scatter_op); a number: operation
views: slices, .T, reshape, real           nothing
a[mask], a[mask] = x, nonzero, compress,   copy of the size to the host, and wait (_routines_indexing.pyx);
unique, bincount, histogram, trim_zeros    likewise what else looks at a result before it goes on
memory                                     allocation: a block asked of the pool, new or not
ElementwiseKernel, RawKernel, fuse, jit    operation
synchronize of a stream, event or device   wait
=========================================  =======================================================================
PyTorch
=========================================  =======================================================================
everything                                 see `host_to_device.standins.torch_device`, which counts by itself
=========================================  =======================================================================

A copy of 0 bytes is not counted. A copy in a stream from or to memory that is not pinned may also stop the host; CUDA
leaves that open [NV], so it does not count as a wait. An operation is a kernel or a memset; on a stand-in, a step that
would be at least one of these on a GPU. "Launches" are counted on a GPU only. A wait for a stream directly after a copy
that has waited is no second wait: numba-cuda 0.30 makes one for each host array that a launch copies back.
"""

from host_to_device.counting.counts import Copies, Count, count
from host_to_device.counting.lines import Line

__all__ = ["Copies", "Count", "Line", "count"]
