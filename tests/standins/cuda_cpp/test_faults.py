"""What a kernel must not do: one line each, with the line of the source; and the next launch works."""

import os
import shutil
import signal
import threading
import time

import numpy as np
import pytest

from host_to_device.standins import cuda_cpp
from host_to_device.standins.cuda_cpp import CompileError, KernelFault, KernelStopped, worker

SOURCE = r"""
extern "C" __global__ void no_guard(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 2 *
        x[i];
    y[i] = value;
}
extern "C" __global__ void before(float* y) {
    y[(int)threadIdx.x - 1] = 0;
}
extern "C" __global__ void shared_array(int k) {
    __shared__ float first[8][8], second[3];
    first[0][0] = second[0] = 0;
    __syncthreads();
    first[threadIdx.x][k] = 1;
    __syncthreads();
    if (first[0][0] + second[0] == 3) __trap();
}
extern "C" __global__ void dynamic(int n) {
    extern __shared__ float part[];
    for (int i = 0; i < n; i++)
        part[i] = 1;
}
template <int N> __global__ void of_template(int k) {
    __shared__ int box[N];
    box[k] = 1;
    __syncthreads();
    if (box[0] == 3) __trap();
}
__device__ int table[4];
__device__ int look_up(int k) {
    return table[k];
}
extern "C" __global__ void in_a_function(int* out, int k) {
    out[0] = look_up(k);
}
extern "C" __global__ void null_pointer(int* p) {
    p[3] = 1;
}
extern "C" __global__ void atomic_outside(int* p) {
    atomicAdd(&p[threadIdx.x], 1);
}
extern "C" __global__ void left_early(int* p) {
    if (threadIdx.x < 3) return;
    __syncthreads();
}
extern "C" __global__ void two_lines(int* p) {
    if (threadIdx.x < 3)
        __syncthreads();
    else
        __syncthreads();
}
extern "C" __global__ void warp_divides(int* p) {
    if (threadIdx.x < 16)
        p[threadIdx.x] = __shfl_down_sync(0xffffffff, 1, 1);
    else
        __syncthreads();
}
extern "C" __global__ void not_in_mask(int* p) {
    __syncwarp(0xff);
}
extern "C" __global__ void forever(volatile int* p) {
    while (p[0] == 0)
        p[1] = 1;
}
extern "C" __global__ void forever_without_access(int* p) {
    for (unsigned i = 1; i; i = i * 3 | 1)
        asm volatile("" : : : "memory");
}
extern "C" __global__ void forever_at_a_barrier(int* p) {
    for (;;)
        __syncthreads();
}
extern "C" __global__ void eats(int* p) {
    int count = 0;
    while (char* more = (char*)malloc(10000)) { more[0] = 1; count++; }
    p[0] = count;
}
__device__ int deeper(int n, volatile int* p) {
    volatile int local[100];
    local[n % 100] = n;
    return n == 0 ? 0 : deeper(n - 1, p) + local[n % 100] + p[0];
}
extern "C" __global__ void recursion(int* p, int n) { p[0] = deeper(n, p); }
extern "C" __global__ void division(int* p, int n) {
    p[0] = 7 / n;
}
extern "C" __global__ void assertion(int* p) {
    assert(p[0] == 77);
}
extern "C" __global__ void trap(int* p) { printf("before\n");
    __trap();
}
extern "C" __global__ void illegal(int* p) {
    __builtin_trap();
}
extern "C" __global__ void at(float* x, float* y, long long i) {
    x[i] = 1;
}
extern "C" __global__ void good(int* p) { p[threadIdx.x] = threadIdx.x + 1; }
"""

ONE = (1, 1, 1)


def line_of(text):
    return 1 + next(number for number, line in enumerate(SOURCE.splitlines()) if text in line)


@pytest.fixture(scope="module")
def module():
    return cuda_cpp.compile(SOURCE, name_expressions=["of_template<5>"])


def fault(module, name, grid, block, args, kind=KernelFault, **more):
    with pytest.raises(kind) as caught:
        module.function(name)(grid, block, args, **more)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.fixture(params=[None, 1], ids=["in order", "seeded"])
def seed(request):
    return request.param


def test_reading_behind_an_array(module, device, seed):
    error = fault(
        module,
        "no_guard",
        (4, 1, 1),
        (256, 1, 1),
        (device(np.zeros(1000, "f")), device(np.zeros(1024, "f"))),
        seed=seed,
    )
    assert error.kind == "out of bounds" and error.line in (line_of("2 *"), line_of("x[i];"))
    if seed is None:
        assert error.block == (3, 0, 0) and error.thread == (232, 0, 0)
        assert str(error) == (
            f"no_guard, line {error.line}: out of bounds: thread 232 of block 3 reads x[1000], "
            "but x has 1,000 elements"
        )


def test_writing_behind_an_array(module, device, seed):
    error = fault(
        module,
        "no_guard",
        (4, 1, 1),
        (256, 1, 1),
        (device(np.zeros(1024, "f")), device(np.zeros(1000, "f"))),
        seed=seed,
    )
    assert error.line == line_of("y[i] = value")
    assert "writes y[1" in str(error)


def test_writing_before_an_array(module, device):
    error = fault(module, "before", ONE, (4, 1, 1), (device(np.zeros(9, "f")),))
    assert error.line == line_of("y[(int)threadIdx.x - 1]") and "writes y[-1], but y has 9 elements" in str(
        error
    )


@pytest.mark.parametrize("beyond", [0, 1, 1000])
def test_an_access_near_an_array_is_named_as_its_element(module, device, beyond):
    taken = []  # free pieces of the arena, from which other tests' arrays are not far
    for _ in range(50):
        x, behind = device(np.zeros(1_000_000, "f")), device(np.zeros(1_000_000, "f"))
        if 0 < behind.ctypes.data - x.ctypes.data - x.nbytes < 4000:
            break
        taken += [x, behind]
    del behind  # now nothing lies there
    error = fault(module, "at", ONE, ONE, (x, x, np.int64(x.size + beyond)))
    assert f"writes x[{x.size + beyond}], but x has 1,000,000 elements" in str(error)


def test_an_access_far_from_every_array_is_not_said_to_be_of_the_nearest(module, device):
    x, y = device(np.zeros(9, "f")), device(np.zeros(50_000_000, "f"))
    end = (y.ctypes.data + y.nbytes - x.ctypes.data) // 4
    assert end > 0
    gone = device(np.zeros(4_000_000, "f"))  # nothing else lies where it lay
    if gone.ctypes.data < y.ctypes.data:
        pytest.skip("the arena had a free piece of this size")
    del gone
    error = fault(module, "at", ONE, ONE, (x, y, np.int64(end + 10_000)))
    address = y.ctypes.data + y.nbytes + 40_000
    assert error.kind == "out of bounds" and error.line == line_of("x[i] = 1")
    assert (
        f"writes 4 bytes at {address:#x}, but no array on the device is there; counted from the launch's arrays "
        f"it would be x[{end + 10_000}] or y[50010000]"
    ) in str(error)


def test_an_address_far_away_mentions_no_array(module, device):
    x = device(np.zeros(9, "f"))
    error = fault(module, "at", ONE, ONE, (x, x, np.int64(1 << 40)))
    assert "but no array on the device is there" in str(error)


def test_an_array_that_is_gone(module, device):
    pointers = device(np.zeros(1, np.uint64))
    pointers[0] = device(np.zeros(4, np.int32)).ctypes.data
    error = fault(module, "good", ONE, (4, 1, 1), (np.uint64(pointers[0]),))
    assert error.kind == "out of bounds"


def test_static_shared_memory(module, seed):
    error = fault(module, "shared_array", ONE, (1, 1, 1), (np.int32(64),))
    assert error.line == line_of("first[threadIdx.x][k] = 1")
    assert "shared array first, which has 256 bytes" in str(error)


def test_shared_memory_of_a_template(module):
    error = fault(module, "of_template<5>", ONE, ONE, (np.int32(5),))
    assert error.line == line_of("box[k] = 1") and "byte 20 of shared array box, which has 20 bytes" in str(
        error
    )


def test_dynamic_shared_memory(module, seed):
    module.function("dynamic")(ONE, ONE, (np.int32(4),), shared_mem=16, seed=seed)
    error = fault(module, "dynamic", ONE, ONE, (np.int32(5),), shared_mem=16, seed=seed)
    assert error.line == line_of(
        "part[i] = 1"
    ) and "byte 16 of dynamic shared memory, which has 16 bytes" in str(error)


def test_a_variable_in_a_device_function(module, device):
    error = fault(module, "in_a_function", ONE, ONE, (device([0], np.int32), np.int32(4)))
    assert error.line == line_of("return table[k]") and "variable table, which has 16 bytes" in str(error)


def test_a_null_pointer(module, seed):
    error = fault(module, "null_pointer", ONE, ONE, (np.uint64(0),), seed=seed)
    assert error.line == line_of("p[3] = 1") and "null pointer" in str(error)


def test_an_address_of_the_host(module):
    here = np.zeros(4, np.int32)
    assert fault(module, "null_pointer", ONE, ONE, (np.uint64(here.ctypes.data),)).kind == "out of bounds"


def test_an_atomic_outside(module, device, seed):
    error = fault(module, "atomic_outside", ONE, (32, 1, 1), (device(np.zeros(31, np.int32)),), seed=seed)
    assert error.line == line_of("atomicAdd(&p[threadIdx.x], 1)") and "p[31]" in str(error)


def test_threads_that_left_before_a_barrier(module, device, seed):
    error = fault(module, "left_early", ONE, (40, 1, 1), (device([0], np.int32),), seed=seed)
    assert error.kind == "barrier divergence" and error.line == line_of("if (threadIdx.x < 3) return") + 1
    assert "37 of 40 threads wait at this barrier, and the others have left the kernel" in str(error)


def test_barriers_in_two_lines(module, device, seed):
    error = fault(module, "two_lines", ONE, (40, 1, 1), (device([0], np.int32),), seed=seed)
    lines = (line_of("two_lines") + 2, line_of("two_lines") + 4)
    assert error.kind == "barrier divergence" and error.line in lines
    assert f"line {sum(lines) - error.line} instead" in str(error)


def test_a_warp_that_divides(module, device):
    error = fault(module, "warp_divides", ONE, (32, 1, 1), (device(np.zeros(32, np.int32)),))
    assert error.kind == "warp divergence" and error.line == line_of("p[threadIdx.x] = __shfl_down_sync")
    assert f"waits at line {error.line + 2} instead" in str(error)


def test_a_lane_outside_its_own_mask(module, device):
    error = fault(module, "not_in_mask", ONE, (32, 1, 1), (device([0], np.int32),))
    assert error.kind == "warp divergence" and "lane 8 is not in the mask 0xff" in str(error)


@pytest.mark.parametrize("name", ["forever", "forever_without_access", "forever_at_a_barrier"])
def test_a_kernel_that_never_ends(module, device, name):
    start = time.monotonic()
    error = fault(module, name, ONE, (2, 1, 1), (device([0, 0], np.int32),), KernelStopped, seconds=0.2)
    assert time.monotonic() - start < 2
    assert 0 <= error.line - line_of(name + "(") <= 2
    assert "stopped after 0.2 s" in str(error)


def test_memory_of_kernels_is_limited(module, device):
    out = device([0], np.int32)
    module.function("eats")(ONE, ONE, (out,))
    assert 0 < out[0] * 10_000 <= 8 << 20


def test_too_deep_a_recursion(module, device):
    out = device([0], np.int32)
    module.function("recursion")(ONE, ONE, (out, np.int32(50)))
    assert out[0] == 50 * 51 // 2
    error = fault(module, "recursion", ONE, ONE, (out, np.int32(10**6)))
    assert error.kind == "stack overflow"


def test_division_by_zero(module, device):
    error = fault(module, "division", ONE, ONE, (device([0], np.int32), np.int32(0)))
    assert error.kind == "division by zero" and error.line == line_of("7 / n")


def test_assertions_and_traps(module, device, capsys):
    error = fault(module, "assertion", ONE, ONE, (device([0], np.int32),))
    assert (
        error.kind == "assertion failed" and error.line == line_of("assert(") and "p[0] == 77" in str(error)
    )
    assert (
        fault(module, "trap", ONE, ONE, (device([0], np.int32),)).line == line_of("trap(int* p) { printf") + 1
    )
    assert capsys.readouterr().out == "before\n"
    assert fault(module, "illegal", ONE, ONE, (device([0], np.int32),)).line == line_of("__builtin_trap()")


def test_a_process_that_is_killed_is_replaced(module, device):
    out = device(np.zeros(8, np.int32))
    module.function("good")(ONE, (8, 1, 1), (out,))
    os.kill(worker._workers[0].process.pid, signal.SIGKILL)
    out[:] = 0
    time.sleep(0.1)
    module.function("good")(ONE, (8, 1, 1), (out,))
    assert out.tolist() == list(range(1, 9))


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_process_that_dies_when_a_module_is_loaded_is_replaced_once(module, device, monkeypatch, deaths):
    left, send = [deaths], worker.Worker.send

    def dying(self, *message):
        if message[0] == "describe" and left[0]:
            left[0] -= 1
            self.process.kill()
            self.process.wait(5)
        send(self, *message)

    monkeypatch.setattr(worker.Worker, "send", dying)
    source = f'extern "C" __global__ void loaded(int* p) {{ p[0] = {deaths}; }}  // {time.time_ns()}'
    if deaths == 2:
        with pytest.raises(CompileError, match=r"cannot be loaded: its process ended with code -9$"):
            cuda_cpp.compile(source)
        return
    out = device([0], np.int32)
    cuda_cpp.compile(source).function("loaded")(ONE, ONE, (out,))
    assert out.tolist() == [1] and left == [0]


def test_a_process_that_dies_with_its_kernel_is_replaced(module, device):
    out = device(np.zeros(8, np.int32))
    module.function("good")(ONE, (8, 1, 1), (out,))
    victim = worker._workers[0].process
    killer = threading.Timer(0.3, victim.kill)
    killer.start()
    error = fault(module, "forever", ONE, ONE, (device([0, 0], np.int32),), seconds=20)
    assert error.kind == "crash" and "crashed the process that runs it (signal 9)" in str(error)
    module.function("good")(ONE, (8, 1, 1), (out,))
    assert out[7] == 8


def test_a_process_that_has_loaded_many_modules_is_replaced_before_it_has_no_memory_left(device, tmp_path):
    """In one process, the 415th module was too many: the launch ended with signal 11."""
    copied = cuda_cpp.compile('extern "C" __global__ void again(int* p) { p[threadIdx.x] += 1; }')
    source, out = copied.path, device(np.zeros(8, np.int32))
    for number in range(500):
        copied._files[""] = tmp_path / f"{number}.so"
        shutil.copy(source, copied.path)
        copied.function("again")(ONE, (8, 1, 1), (out,))
        copied.path.unlink()
    assert out.tolist() == [500] * 8


def test_every_fault_leaves_the_next_launch_alone(module, device):
    out = device(np.zeros(8, np.int32))
    fault(module, "left_early", (8, 1, 1), (1024, 1, 1), (out,))
    fault(module, "before", (64, 1, 1), (128, 1, 1), (device(np.zeros(9, "f")),))
    module.function("good")(ONE, (8, 1, 1), (out,))
    assert out.tolist() == list(range(1, 9))


@pytest.mark.parametrize(
    ("grid", "block", "shared", "words"),
    [
        (ONE, (1025, 1, 1), 0, r"block=\(1025, 1, 1\): give 1 to 1024 along x"),
        (ONE, (32, 33, 1), 0, "a block of 1056 threads: a device takes at most 1024"),
        (ONE, (1, 1, 65), 0, "give 1 to 64 along z"),
        ((0, 1, 1), ONE, 0, "give 1 to 2147483647 along x"),
        ((1, 65536, 1), ONE, 0, "give 1 to 65535 along y"),
        (ONE, (0, 1, 1), 0, "give 1 to 1024 along x"),
        (ONE, ONE, 49153, "49153 bytes of shared memory for a block: a device gives 49152 at most"),
        (ONE, ONE, -1, "shared memory"),
        ((1, 1), ONE, 0, "give three numbers"),
    ],
)
def test_launch_limits(module, device, grid, block, shared, words):
    with pytest.raises(cuda_cpp.LaunchError, match=words):
        module.function("good")(grid, block, (device(np.zeros(4, np.int32)),), shared_mem=shared)


def test_wrong_arguments(module, device):
    division, memory = module.function("division"), device([0], np.int32)
    for args, words in (
        ((), r"division takes 2 arguments \(int \*p, int n\), but the launch gives 0"),
        ((memory, np.int32(1), np.int32(1)), "but the launch gives 3"),
        ((memory, np.float64(1)), r"parameter 2 of division, int n, takes 4 bytes, but float64 has 8"),
        ((memory, memory), "takes a value, but the launch gives an array"),
        ((np.int32(0), np.int32(0)), r"parameter 1 of division, int \*p, takes 8 bytes, but int32 has 4"),
        ((np.zeros(4, np.int32), np.int32(1)), "takes device memory, but the launch gives a host array"),
    ):
        with pytest.raises(cuda_cpp.ArgumentError, match=words):
            division(ONE, ONE, args)
