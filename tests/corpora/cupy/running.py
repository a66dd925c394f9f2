"""Devices, streams, events, memory pools, pinned memory and timing."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, program, source

DEVICE = "cupy/cuda/device.pyx"
STREAM = "cupy/cuda/stream.pyx"
MEMORY = "cupy/cuda/memory.pyx"
POOL = documentation("user_guide/memory", "Memory Pool Operations")
TIMING = documentation("user_guide/performance", "Benchmarking")


@program((True, "<CUDA Device 0>", 0), documentation("user_guide/basic", "Current Device"), "devices")
def an_array_knows_its_device(cp):
    with cp.cuda.Device(0):
        x = cp.arange(3)
    return x.device == cp.cuda.Device(0), repr(x.device), x.device.id


@program((0, 0), documentation("user_guide/basic", "Current Device"), "devices")
def a_device_is_current_within_with(cp):
    with cp.cuda.Device(0):
        return cp.cuda.Device().id, cp.cuda.runtime.getDevice()


@program(
    Raises("CUDARuntimeError", "cudaErrorInvalidDevice: invalid device ordinal"),
    source(DEVICE, "Device.use"),
    "devices",
)
def a_device_that_is_not_there(cp):
    cp.cuda.Device(1000).use()


@program((True, True), source("cupy_backends/cuda/api/runtime.pyx", "getDeviceCount"), "devices")
def there_is_a_device(cp):
    return cp.cuda.is_available(), cp.cuda.runtime.getDeviceCount() >= 1


@program((bytes, 1024, True), source("cupy_backends/cuda/api/runtime.pyx", "getDeviceProperties"), "devices")
def properties_of_a_device(cp):
    properties = cp.cuda.runtime.getDeviceProperties(0)
    sizes = {"warpSize", "multiProcessorCount", "totalGlobalMem", "sharedMemPerBlock", "major", "minor"}
    return type(properties["name"]), properties["maxThreadsPerBlock"], sizes <= properties.keys()


@program((32, 1024), source(DEVICE, "Device.attributes"), "devices")
def attributes_of_a_device(cp):
    attributes = cp.cuda.Device(0).attributes
    return attributes["WarpSize"], attributes["MaxThreadsPerBlock"]


@program((str, True), source(DEVICE, "Device.compute_capability"), "devices")
def the_compute_capability_is_a_string_of_digits(cp):
    capability = cp.cuda.Device(0).compute_capability
    return type(capability), capability.isdigit()


@program((2, True), source(DEVICE, "Device.mem_info"), "devices", "memory")
def free_and_total_memory(cp):
    free, total = cp.cuda.Device(0).mem_info
    return len((free, total)), 0 < free <= total


@program(None, source(DEVICE, "Device.synchronize"), "devices")
def a_device_is_waited_for(cp):
    return cp.cuda.Device().synchronize()


@program((0, True), source(STREAM, "get_current_stream"), "streams")
def the_null_stream_is_current_at_first(cp):
    return cp.cuda.Stream.null.ptr, cp.cuda.get_current_stream() == cp.cuda.Stream.null


@program((True, True, True), documentation("user_guide/basic", "Current Stream"), "streams")
def a_stream_is_current_within_with(cp):
    outer, inner = cp.cuda.Stream(), cp.cuda.Stream(non_blocking=True)
    with outer:
        with inner:
            within = cp.cuda.get_current_stream() == inner
        after = cp.cuda.get_current_stream() == outer
    return within, after, cp.cuda.get_current_stream() == cp.cuda.Stream.null


@program((device([0, 2, 4], "int64"), True), source(STREAM, "_BaseStream.synchronize"), "streams")
def work_on_a_stream_is_done_after_synchronize(cp):
    stream = cp.cuda.Stream()
    with stream:
        x = cp.arange(3) * 2
    stream.synchronize()
    return x, stream.done


@program("<Stream 0 (device -1)>", source(STREAM, "_BaseStream.__repr__"), "streams")
def the_null_stream_prints(cp):
    return repr(cp.cuda.Stream.null)


@program(["done"], source(STREAM, "_BaseStream.launch_host_func"), "streams")
def a_host_function_runs_in_stream_order(cp):
    heard = []
    stream = cp.cuda.Stream()
    stream.launch_host_func(heard.append, "done")
    stream.synchronize()
    return heard


@program((True, True), source(STREAM, "Event.done"), "events")
def an_event_is_done_after_synchronize(cp):
    event = cp.cuda.Event()
    event.record()
    event.synchronize()
    return event.done, isinstance(cp.cuda.Stream().record(), cp.cuda.Event)


@program((float, True), TIMING, "events")
def two_events_give_milliseconds(cp):
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    cp.arange(1000).sum()
    end.record()
    end.synchronize()
    elapsed = cp.cuda.get_elapsed_time(start, end)
    return type(elapsed), elapsed >= 0


@program(
    Raises("CUDARuntimeError", matching="^cudaErrorInvalidResourceHandle"),
    source(STREAM, "get_elapsed_time"),
    "events",
)
def events_that_were_never_recorded(cp):
    return cp.cuda.get_elapsed_time(cp.cuda.Event(), cp.cuda.Event())


@program(
    Raises("CUDARuntimeError", matching="^cudaErrorInvalidResourceHandle"),
    source(STREAM, "get_elapsed_time"),
    "events",
)
def events_without_timing(cp):
    start, end = cp.cuda.Event(disable_timing=True), cp.cuda.Event(disable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    return cp.cuda.get_elapsed_time(start, end)


@program(
    Raises("ValueError", "Timing must be disabled for interprocess events"),
    source(STREAM, "Event.__init__"),
    "events",
)
def an_event_for_processes_has_no_timing(cp):
    return cp.cuda.Event(interprocess=True)


@program(device([0.0, 1.0, 2.0], "float64"), source(STREAM, "_BaseStream.wait_event"), "streams", "events")
def a_stream_waits_for_an_event(cp):
    first, second = cp.cuda.Stream(), cp.cuda.Stream()
    with first:
        x = cp.arange(3.0)
        event = first.record()
    second.wait_event(event)
    with second:
        y = x.copy()
    second.synchronize()
    return y


@program((512, 512, 0, 512, 0), POOL, "memory")
def a_pool_counts_in_blocks_of_512_bytes(cp):
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.empty(100, dtype=cp.float32)
        used, total = pool.used_bytes(), pool.total_bytes()
        del x
        freed, kept = pool.used_bytes(), pool.total_bytes()
    pool.free_all_blocks()
    return used, total, freed, kept, pool.total_bytes()


@program((1, 512, 0), source(MEMORY, "MemoryPool.n_free_blocks"), "memory")
def a_freed_block_is_kept_and_used_again(cp):
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.empty(100, dtype=cp.float32)
        del x
        free = pool.n_free_blocks()
        y = cp.empty(128, dtype=cp.float32)
        total, left = pool.total_bytes(), pool.n_free_blocks()
        del y
    return free, total, left


@program(
    Raises(
        "OutOfMemoryError",
        "Out of memory allocating 8,192 bytes (allocated so far: 0 bytes, limit set to: 1,024 bytes).",
    ),
    source(MEMORY, "OutOfMemoryError.__init__"),
    "memory",
)
def a_pool_with_a_limit_runs_out(cp):
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=1024)
    with cp.cuda.using_allocator(pool.malloc):
        return cp.empty(1000)


@program((True, 1024, 512), source(MEMORY, "OutOfMemoryError"), "memory")
def running_out_of_memory_is_a_memory_error_and_harms_nothing(cp):
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=1024)
    caught = False
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.empty(64)
        try:
            cp.empty(1000)
        except MemoryError as error:
            caught = isinstance(error, cp.cuda.memory.OutOfMemoryError)
        used = pool.used_bytes()
        del x
    return caught, pool.get_limit(), used


@program(
    Raises("ValueError", "memory limit fraction out of range: 2"),
    source(MEMORY, "SingleDeviceMemoryPool.set_limit"),
    "memory",
)
def a_limit_of_twice_the_memory(cp):
    cp.cuda.MemoryPool().set_limit(fraction=2)


@program(
    Raises("ValueError", "size and fraction cannot be specified at one time"),
    source(MEMORY, "SingleDeviceMemoryPool.set_limit"),
    "memory",
)
def a_limit_given_twice(cp):
    cp.cuda.MemoryPool().set_limit(size=1024, fraction=0.5)


@program((True, 0), POOL, "memory")
def the_default_pool_has_no_limit(cp):
    pool = cp.get_default_memory_pool()
    return isinstance(pool, cp.cuda.MemoryPool), cp.cuda.MemoryPool().get_limit()


@program((True, "float32", (3,)), source("cupyx/_pinned_array.py", "zeros_pinned"), "pinned memory")
def a_pinned_array_is_a_host_array(cp):
    import cupyx

    x = cupyx.zeros_pinned(3, dtype=np.float32)
    return type(x) is np.ndarray, str(x.dtype), x.shape


@program(
    (512, device([0, 1, 2, 3], "float32")),
    source("cupy/cuda/pinned_memory.pyx", "PinnedMemoryPool.malloc"),
    "pinned memory",
)
def pinned_memory_holds_a_host_array(cp):
    memory = cp.cuda.alloc_pinned_memory(16)
    on_host = np.frombuffer(memory, np.float32, 4)
    on_host[...] = np.arange(4)
    x = cp.empty(4, dtype=np.float32)
    x.set(on_host)
    cp.cuda.Stream.null.synchronize()
    return memory.size(), x


@program((3, (3,), (1, 3), "float64", True), TIMING, "timing")
def benchmark_repeats_and_keeps_its_times(cp):
    from cupyx.profiler import benchmark

    calls = []
    result = benchmark(calls.append, (0,), n_repeat=3, n_warmup=0)
    return (
        len(calls),
        result.cpu_times.shape,
        result.gpu_times.shape,
        str(result.gpu_times.dtype),
        type(result.gpu_times) is np.ndarray,
    )


@program((True, True), TIMING, "timing")
def benchmark_prints_a_line(cp):
    from cupyx.profiler import benchmark

    def my_func(a):
        return cp.sqrt(cp.sum(a**2, axis=-1))

    line = str(benchmark(my_func, (cp.ones((4, 4)),), n_repeat=2, n_warmup=1))
    return line.startswith("my_func             :    CPU:"), "GPU-0:" in line


@program(
    Raises("ValueError", "`args` should be of tuple type."),
    source("cupyx/profiler/_time.py", "benchmark"),
    "timing",
)
def benchmark_wants_a_tuple(cp):
    from cupyx.profiler import benchmark

    return benchmark(len, [[1]], n_repeat=1)
