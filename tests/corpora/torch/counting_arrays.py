"""What Numba and CuPy move, and how often the host waits: counts that are certain on CUDA."""

import numpy as np

from tests.corpora.torch.case import program
from tests.corpora.torch.counting import moved

NOTHING = (0, 0, 0, 0, 0)


def numba(section: str) -> str:
    return f"https://nvidia.github.io/numba-cuda/user/{section}"


def cupy(page: str) -> str:
    return f"https://docs.cupy.dev/en/stable/{page}"


TRANSFERS = numba("memory.html: Data transfer")
AUTOMATIC = numba("memory.html: Data transfer, automatic transfer of NumPy arrays")
BASICS = cupy("user_guide/basic.html: Data Transfer")
DIFFERENCES = cupy("user_guide/difference.html: Zero-dimensional array")


@program((1, 800, 0, 0), TRANSFERS, "counts", "Numba")
def counted_to_device_by_numba(h2d, cuda):
    with h2d.count() as c:
        cuda.to_device(np.ones(100))
    return moved(c)[:4]


@program((0, 0, 1, 800, 1), TRANSFERS, "counts", "Numba")
def counted_copy_to_host_by_numba(h2d, cuda):
    d_x = cuda.to_device(np.ones(100))
    with h2d.count() as c:
        d_x.copy_to_host()
    return moved(c)


@program((NOTHING, 1), TRANSFERS, "counts", "Numba")
def counted_device_array_of_numba(h2d, cuda):
    with h2d.count() as c:
        cuda.device_array(100)
    return moved(c), c.allocations


@program((NOTHING, 0), numba("memory.html: Device arrays"), "counts", "Numba", "views")
def counted_views_of_numba(h2d, cuda):
    d_x = cuda.to_device(np.ones((4, 5)))
    with h2d.count() as c:
        d_x[1:3], d_x.reshape(5, 4), d_x.ravel(), d_x.shape
    return moved(c), c.operations


def add_one(cuda):
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    return kernel


@program((1, 400, 1, 400), AUTOMATIC, "counts", "Numba")
def counted_a_numpy_array_given_to_a_kernel(h2d, cuda):
    kernel, x = add_one(cuda), np.ones(100, np.float32)
    kernel[1, 128](cuda.to_device(x))
    with h2d.count() as c:
        kernel[1, 128](x)
    return moved(c)[:4]


@program((NOTHING, True), AUTOMATIC, "counts", "Numba")
def counted_a_device_array_given_to_a_kernel(h2d, cuda):
    kernel, d_x = add_one(cuda), cuda.to_device(np.ones(100, np.float32))
    kernel[1, 128](d_x)
    with h2d.count() as c:
        kernel[1, 128](d_x)
    return moved(c), c.operations >= 1


@program(((10, 10), (1, 1)), AUTOMATIC, "counts", "Numba")
def counted_ten_kernels_with_host_and_device_arrays(h2d, cuda):
    kernel, x = add_one(cuda), np.ones(100, np.float32)
    kernel[1, 128](cuda.to_device(x))
    with h2d.count() as c:
        for _ in range(10):
            kernel[1, 128](x)
    with h2d.count() as d:
        d_x = cuda.to_device(x)
        for _ in range(10):
            kernel[1, 128](d_x)
        d_x.copy_to_host(x)
    return tuple((each.host_to_device.count, each.device_to_host.count) for each in (c, d))


@program((0, 0, 1, 8, 1), numba("memory.html: Device arrays"), "counts", "Numba", "waits")
def counted_an_element_of_a_device_array(h2d, cuda):
    d_x = cuda.to_device(np.ones(100))
    with h2d.count() as c:
        d_x[3]
    return moved(c)


@program(
    (0, 0, 0, 0, 3), numba("kernels.html: Kernel invocation; events, streams"), "counts", "Numba", "waits"
)
def counted_synchronize_of_numba(h2d, cuda):
    stream, event = cuda.stream(), cuda.event()
    event.record(stream)
    with h2d.count() as c:
        cuda.synchronize()
        stream.synchronize()
        event.synchronize()
    return moved(c)


@program(
    (1, 800, 0, 0, 0), "CuPy source, cupy/_core/core.pyx: _array_default (blocking=False)", "counts", "CuPy"
)
def counted_asarray_of_cupy(h2d, cp):
    x = np.ones(100)
    with h2d.count() as c:
        cp.asarray(x)
    return moved(c)


@program(((0, 0, 1, 800, 1), (0, 0, 1, 800, 1)), BASICS, "counts", "CuPy")
def counted_get_and_asnumpy(h2d, cp):
    x = cp.ones(100)
    with h2d.count() as c:
        x.get()
    with h2d.count() as d:
        cp.asnumpy(x)
    return moved(c), moved(d)


@program(NOTHING, BASICS, "counts", "CuPy")
def counted_an_array_of_cupy_that_is_there(h2d, cp):
    x = cp.ones(100)
    with h2d.count() as c:
        cp.asarray(x), x[1:], x.T, x.reshape(10, 10), x.shape
    return moved(c)


@program((NOTHING, True), BASICS, "counts", "CuPy")
def counted_work_of_cupy_that_stays_on_the_device(h2d, cp):
    x = cp.ones((10, 10))

    def work():
        y = cp.exp((x + 1) * 2) @ x
        y.sum(), y.max(), y.argmax(), cp.arange(10), cp.zeros(10)

    work()  # the first time, CuPy compiles its kernels
    with h2d.count() as c:
        work()
    return moved(c), c.operations >= 6


@program((0, 0, 3, 24, 3), DIFFERENCES, "counts", "CuPy", "waits")
def counted_numbers_of_cupy(h2d, cp):
    x = cp.ones(100).sum()
    with h2d.count() as c:
        float(x), x.item(), bool(x)
    return moved(c)


@program((0, 0, 1, 1, 1), DIFFERENCES, "counts", "CuPy", "waits")
def counted_a_condition_of_cupy(h2d, cp):
    x = cp.ones(100)
    with h2d.count() as c:
        if x.sum() > 3:
            pass
    return moved(c)


@program(
    (0, 0, 1, 800, 1), "CuPy source, cupy/_core/core.pyx: _ndarray_base.__str__", "counts", "CuPy", "waits"
)
def counted_a_printed_array_of_cupy(h2d, cp):
    x = cp.ones(100)
    with h2d.count() as c:
        str(x)
    return moved(c)


@program(((5, 5), (1, 1)), cupy("user_guide/performance.html: Benchmarking"), "counts", "CuPy", "waits")
def counted_a_loop_of_cupy_with_and_without_float(h2d, cp):
    x = cp.ones(10)
    with h2d.count() as c:
        total = 0.0
        for _ in range(5):
            total += float(x.sum())
    with h2d.count() as d:
        total = cp.zeros(())
        for _ in range(5):
            total += x.sum()
        float(total)
    return tuple((each.device_to_host.count, each.waits) for each in (c, d))


@program(
    (True, True),
    "CuPy source, cupy/_core/_routines_indexing.pyx: _ndarray_nonzero, _prepare_mask_indexing_single",
    "counts",
    "CuPy",
    "waits",
    "data-dependent shapes",
)
def counted_shapes_of_cupy_that_depend_on_data(h2d, cp):
    x = cp.arange(10)
    mask = x > 4
    with h2d.count() as c:
        cp.nonzero(x)
    with h2d.count() as d:
        x[mask]
    return c.waits >= 1, d.waits >= 1


@program((0, 0, 0, 0, 3), cupy("user_guide/basic.html: Current Stream"), "counts", "CuPy", "waits")
def counted_synchronize_of_cupy(h2d, cp):
    event = cp.cuda.Event()
    event.record()
    with h2d.count() as c:
        cp.cuda.Device().synchronize()
        cp.cuda.get_current_stream().synchronize()
        event.synchronize()
    return moved(c)


@program(((1, 800), (1, 400), (1, 400)), BASICS, "counts", "CuPy", "Numba", "PyTorch")
def counted_three_libraries_in_one(torch, h2d, first, cp, cuda):
    found = []
    for use in (
        lambda: cp.asarray(np.ones(100)),
        lambda: cuda.to_device(np.ones(100, np.float32)),
        lambda: torch.ones(100).to(first),
    ):
        with h2d.count() as c:
            use()
        found.append((c.host_to_device.count, c.host_to_device.bytes))
    return tuple(found)
