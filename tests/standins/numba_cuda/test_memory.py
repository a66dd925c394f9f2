"""Device memory of the stand-in, against Numba's own classes.

`CASES` are evaluated twice: here, and in another process by Numba's `DeviceNDArray` itself, which runs without a
GPU once the few driver calls under it (allocate, copy) are played by NumPy: `python tests/standins/numba_cuda/test_memory.py`.
Values, strides, kinds of errors and the bytes of every copy must agree, and our errors begin with Numba's words.
"""

import contextlib
import copy
import ctypes
import json
import math
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from host_to_device.standins import events
from host_to_device.standins.numba_cuda import allocation, devices, hints, layouts, memory, streams
from tests.numbas_own import uncover

cuda = SimpleNamespace(**(vars(streams) | vars(allocation) | vars(hints) | vars(memory)))

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}

RECORD = np.dtype([("a", np.int32), ("b", np.float64), ("c", np.int16, (2,))])

# Each sees `d`, 5 float32 on the device, `m`, 3 × 4 float64, `f`, the same in Fortran order, `r`, 3 records.
CASES = """
d.shape, d.strides, str(d.dtype), d.ndim, d.size, d.nbytes, d.alloc_size, d.stream
len(d), len(m), bool(d), bool(cuda.device_array(0)), isinstance(d, np.ndarray)
d.is_c_contiguous(), d.is_f_contiguous(), m.is_f_contiguous(), f.is_f_contiguous(), f.is_c_contiguous()
m.flags, f.flags, m[:, 1:3].flags, cuda.to_device(np.broadcast_to(np.arange(3), (2, 3))).flags
str(d._numba_type_), str(f._numba_type_), str(m[:, 1:3]._numba_type_), str(r._numba_type_)
d == d
d == cuda.to_device(np.arange(5))
d == 3
d == None
d == np.arange(5)
np.arange(5) != d
d < d
d + d
d + 1
1 + d
d - d
d * 2
d / d
d // 1
d % 2
d ** 2
d @ d
d & d
-d
~d
abs(d)
divmod(d, 2)
round(d)
d + np.ones(5, np.float32)
np.ones(5) + d
np.float32(1) + d
d @ np.ones(5, np.float32)
np.add(d, 1)
np.sum(d)
np.concatenate([d, d])
np.shape(m), np.ndim(m)
np.copyto(d, np.zeros(5, np.float32))
list(d)
sum(d)
3 in d, 99 in d
[row.copy_to_host() for row in m]
float(d)
float(cuda.to_device(np.ones(1)))
int(d)
hash(d) == hash(d)
f"{d:>3}"
d.sum()
d.astype(int)
d.copy()
d.fill(1)
d.tolist()
d.nothing_of_the_kind
copy.copy(d)
d.bind(0)
np.asarray(d)
np.array(d, dtype=np.int64)
np.array(d, copy=True)
d.__array__()
d.__array__(np.int32)
{k: v for k, v in m.__cuda_array_interface__.items() if k in ("shape", "strides", "typestr", "stream", "version")}
{k: v for k, v in m[:, 1:3].__cuda_array_interface__.items() if k in ("shape", "strides", "stream", "version")}
m[1]
m[1, 2]
m[1][2]
m[-1, -1]
m[np.int64(1), np.int32(2)]
d[True]
d[-5]
d[5]
d[-6]
m[3]
m[5, 0]
m[1, 2, 3]
d[1.5]
d[None]
d[...]
d[[0, 1]]
m[:, 1]
m[:, 1][1]
m[:, 1:3]
m[:, 1:3].alloc_size, m[::2].alloc_size, m[:, 1].alloc_size
m[::2, ::2]
m[1:, 1:][1:, 1:]
m[1:2, 1:2]
d[::2]
d[1:3]
d[3:3]
d[10:20]
m[1:1, :]
m[:, 2:2].shape
d[::-1].strides, d[::-1].shape
d[::-1].copy_to_host()
np.asarray(m[:, ::-1])
d[::-1][0]
m[::-1][0]
m[:, ::-1][:, 0]
d.getitem(2)
d.getitem(slice(1, 3), stream=0)
d.__setitem__(0, 3)
d.__setitem__(slice(None), 3.5)
d.__setitem__(slice(1, 3), [7, 8])
d.__setitem__(slice(None), d)
d.__setitem__(slice(None, None, 2), d[2:])
d.__setitem__(slice(None), [1, 2, 3])
d.__setitem__(slice(None), np.ones((2, 5)))
d.__setitem__(slice(None), np.ones(10)[::2])
d.__setitem__(7, 1)
d.__setitem__([0, 1], 1)
m.__setitem__(slice(None), np.ones(4))
m.__setitem__(1, 2)
m.__setitem__((slice(None), 1), np.arange(3))
m.__setitem__(0, np.ones(3))
m.__setitem__(slice(None), m[:, 1])
m.__setitem__(slice(None, 2), m[:2, 0:1])
m.setitem((0, 0), 9, stream=0)
d.reshape(5, 1)
d.reshape((1, 5))
d.reshape(2, 3)
d.reshape(-1)
m.reshape(-1, 2)
m.reshape(-1, -1)
m.reshape(-1, 5)
m.reshape(4, 3, order="F")
f.reshape(4, 3)
f.reshape(4, 3, order="A")
m.reshape(4, 3, order="Q")
m.reshape(4, 3, foo=1)
m[:, 1:3].reshape(6)
m[:, 1:3].reshape(3, 2)
m.ravel()
f.ravel("F")
f.ravel("A")
m.ravel("F")
m.ravel("Q")
m[:, 1:3].ravel()
m.view(np.int32)
m.view(np.complex128).shape
m[:, 1:3].view(np.int64).shape
d.view(np.float64)
m[:, 1:3].view(np.int32)
d.view("u1").shape
m.squeeze()
m.reshape(3, 1, 4).squeeze()
m.reshape(3, 1, 4).squeeze(1)
m.reshape(3, 1, 4).squeeze(-2).shape
m.reshape(3, 1, 4).squeeze(0)
m.squeeze(9)
d.T
m.transpose((0, 2))
m.transpose((0, 1)) is m
list(d.split(2))
list(m.split(2))
list(d[::2].split(2))
d.copy_to_host()
m.copy_to_host()
f.copy_to_host()
d.copy_to_host(np.empty(5, np.float32))
d.copy_to_host(np.empty((5, 1), np.float32))
d.copy_to_host(np.empty(4, np.float32))
d.copy_to_host(np.empty(5))
d.copy_to_host(np.empty(10, np.float32)[::2])
d[::2].copy_to_host(np.empty(6, np.float32)[::2])
d[::2].copy_to_host(np.empty(3, np.float32))
m.copy_to_host(np.empty((3, 4), order="F"))
d.copy_to_host(np.frombuffer(bytes(20), np.float32))
d.copy_to_host([1, 2])
d.copy_to_host(d)
m.copy_to_device(np.arange(12.).reshape(3, 4, order="F"))
m.copy_to_device(np.arange(24.).reshape(3, 8)[:, ::2])
m.copy_to_device(np.ones((1, 3, 4)))
m.copy_to_device(np.ones((4, 3)))
m.copy_to_device(np.ones((3, 4), np.float32))
m.copy_to_device(np.broadcast_to(np.ones(4), (3, 4)))
m.copy_to_device(np.ones(0))
m.copy_to_device(m)
m.copy_to_device(f)
m.copy_to_device(m[:, 1:3])
m[:, 1:3].copy_to_device(np.ones((3, 2)))
m[1].copy_to_device(np.ones(4))
m.copy_to_device([[1.0] * 4] * 3)
m.copy_to_device(1.0)
m.copy_to_device(None)
d.copy_to_device(np.frombuffer(bytes(20), np.float32))
cuda.to_device([1, 2])
cuda.to_device((1, 2.5))
cuda.to_device(range(3))
cuda.to_device([[1, 2], [3]])
cuda.to_device(3.5)
cuda.to_device(3.5)[()]
cuda.to_device(3.5)[0]
len(cuda.to_device(3.5))
cuda.to_device(True)
cuda.to_device(1 + 2j)
cuda.to_device(np.float16(2))
cuda.to_device(np.array(["2020-01-01"], "M8[D]")).copy_to_host().astype(str)
cuda.to_device(np.arange(10)[::2])
cuda.to_device(np.arange(10)[::-1])
cuda.to_device(np.arange(12).reshape(3, 4)[:, 1:3])
cuda.to_device(np.broadcast_to(np.arange(3), (2, 3)))
cuda.to_device(np.empty((0, 3)))
cuda.to_device(np.frombuffer(bytes(8)))
cuda.to_device(d) is d
cuda.to_device(np.arange(5), to=d)
cuda.to_device(np.arange(5, dtype=np.float32), to=d)
cuda.to_device(np.arange(5), copy=False, to=d)
cuda.to_device(np.arange(5), copy=False).shape
cuda.device_array(5).strides
cuda.device_array((2, 3), np.int8, order="F").strides
cuda.device_array((2, 3), order="Q")
cuda.device_array([2, 3]).shape
cuda.device_array(()).shape
cuda.device_array(5, dtype="float32").nbytes
cuda.device_array(5, dtype=numba.float32)
cuda.device_array(5, dtype="nope")
cuda.device_array(5, strides=16).alloc_size
cuda.device_array((2, 3), strides=(8,))
cuda.device_array(5.0)
cuda.device_array(None)
cuda.device_array_like(d).shape
cuda.device_array_like(f).strides
cuda.device_array_like(np.ones((2, 3, 4)).transpose(1, 0, 2)).strides
cuda.device_array_like(m[:, 1:3]).strides
cuda.device_array_like([1, 2])
cuda.is_cuda_array(d), cuda.is_cuda_array(np.ones(3))
cuda.as_cuda_array(np.ones(3))
r[1]["a"], r[1]["b"]
r[1]["c"]
r[1]["nothing"]
r[1].copy_to_host().tolist()
r[1].shape, r[1].alloc_size
r[1].__setitem__("a", 7)
r.view(np.uint8).shape
""".strip().splitlines()


def described(value):
    """Return what can be compared, as JSON has it."""
    if hasattr(value, "copy_to_host"):
        rest = described(value.copy_to_host()) if value.dtype.names is None else value.dtype.str
        shape, strides = (tuple(map(int, sizes)) for sizes in (value.shape, value.strides))
        return [type(value).__name__, str(shape), str(strides), str(value.dtype), rest]
    if isinstance(value, np.ndarray):
        return ["ndarray", value.dtype.str, list(value.shape), list(value.strides), repr(value.tolist())]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(described, value)]
    return [type(value).__name__, repr(value)]


def outcome(case, cuda, log):
    """Return what one case gives, the copies that it makes, and what is in `d` and `m` afterwards."""
    log.clear()
    names = {
        "d": cuda.to_device(np.arange(5, dtype=np.float32)),
        "m": cuda.to_device(np.arange(12.0).reshape(3, 4)),
        "f": cuda.to_device(np.asfortranarray(np.arange(12.0).reshape(3, 4))),
        "r": cuda.to_device(np.array([(1, 2.5, (3, 4))] * 3, RECORD)),
    }
    import numba

    log.clear()
    try:
        result = eval(case, {"cuda": cuda, "np": np, "numba": numba, "copy": copy, **names})
        copies = list(log)
        result = ["value", described(result)]
    except Exception as error:
        copies, result = list(log), ["error", type(error).__name__, str(error)]
    after = [described(names[name].copy_to_host()) for name in "dmr"]
    return json.loads(json.dumps([result, copies, after]))


class Address:
    """Device memory of Numba's, in the form of an address on the host."""

    __cuda_memory__ = True

    def __init__(self, memory, start, size):
        self.memory, self.start, self.size = memory, int(start), int(size)
        self._cuda_memsize_ = self.size
        self.device_ctypes_pointer = ctypes.c_void_p(memory.ctypes.data + self.start)

    def view(self, start, stop=None):
        return Address(self.memory, self.start + start, self.size - start if stop is None else stop - start)


def numbas_memory_on_the_host(log):
    """Return Numba's own host API, its driver played by NumPy. For a process of its own: it patches Numba."""
    from numba import cuda
    from numba.cuda.cudadrv import devicearray, devices, driver

    def allocate(size):
        log.append(["allocation", size])
        return Address(np.zeros(size, np.uint8), 0, size)

    def copier(kind, address_to, address_from):
        def move(dst, src, size, stream=0):
            ctypes.memmove(address_to(dst), address_from(src), int(size))
            log.append([kind, int(size)])

        return move

    def on_device(array):
        return array.device_ctypes_pointer.value

    def array_at(array):
        size = driver.memory_size_from_info(array.shape, array.strides, array.dtype.itemsize)
        memory = (ctypes.c_byte * size).from_address(on_device(array))
        return np.ndarray(array.shape, array.dtype, memory, strides=array.strides)

    class Assign:
        def forall(self, _count, stream):
            def run(target, source):
                array_at(target)[...] = array_at(source)

            return run

    context = SimpleNamespace(
        memalloc=allocate, get_default_stream=lambda: SimpleNamespace(synchronize=lambda: None, handle=None)
    )
    devices._runtime.get_or_create_context = lambda _number: context
    devices._runtime.ensure_context = contextlib.nullcontext
    devicearray._assign_kernel = lambda _ndim: Assign()
    driver.MemoryPointer = lambda context, pointer, size: Address(np.zeros(1, np.uint8), 0, 0)
    driver.host_to_device = copier("host to device", on_device, lambda src: driver.host_pointer(src, True))
    driver.device_to_host = copier("device to host", driver.host_pointer, on_device)
    driver.device_to_device = copier("device to device", on_device, on_device)
    return cuda


@pytest.fixture
def log(monkeypatch):
    """Every copy and allocation of a test, as [kind, bytes]."""
    seen = []
    directions = {"h2d": "host to device", "d2h": "device to host", "d2d": "device to device"}

    def note(kind, nbytes):
        if nbytes:
            seen.append([kind, nbytes])

    monkeypatch.setattr(events, "listening", True)
    monkeypatch.setattr(events, "copied", lambda direction, nbytes: note(directions[direction], nbytes))
    monkeypatch.setattr(events, "allocated", lambda nbytes, owner=None: note("allocation", nbytes))
    return seen


@pytest.fixture(scope="module")
def numbas_outcomes():
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_as_numbas_own_class(case, numbas_outcomes, log):
    result, copies, after = numbas_outcomes[case]
    our_result, our_copies, our_after = outcome(case, cuda, log)
    assert our_copies == copies
    assert our_after == after
    if result[0] == "value" or our_result[0] == "value":
        assert our_result == result
    else:
        assert our_result[1] == result[1]
        if result[1:] not in NO_HELP:
            assert our_result[2].startswith(result[2])
        assert our_result[2] and "\n" not in our_result[2]


# Errors that Numba does not word itself (Python's own, from inside its index arithmetic), or words in two ways.
NO_HELP = [
    ["NotImplementedError", "operation requires copying"],
    ["TypeError", "slice indices must be integers or None or have an __index__ method"],
    ["TypeError", "unsupported operand type(s) for +: 'NoneType' and 'int'"],
    ["TypeError", "unsupported operand type(s) for +: 'ellipsis' and 'int'"],
    ["TypeError", 'can only concatenate list (not "int") to list'],
]


def test_arrays_are_copied_as_by_numba_cuda_0_30():
    """Numba's own class knows no `copy`; tests/rehearsal/test_parity.py asks numba-cuda's."""
    d = cuda.to_device(np.arange(3))
    assert np.array(d, copy=True).tolist() == d.__array__(copy=True).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"`copy=False` is not supported\. A copy is always created\."):
        d.__array__(copy=False)


# What differs on purpose


@pytest.mark.parametrize(
    ("call", "words"),
    [
        # Numba copies the addresses of the objects; a kernel cannot read them.
        (lambda: cuda.to_device(np.array([object()])), "not Python objects"),
        (lambda: cuda.to_device(None), "not Python objects"),
        (lambda: cuda.to_device({"a": 1}), "not Python objects"),
        (lambda: cuda.device_array(3, dtype=object), "not Python objects"),
        (lambda: cuda.device_array(3).__setitem__(0, None), "not Python objects"),
        # Numba makes an array of one text.
        (lambda: cuda.to_device("abc"), "not text: 'abc'"),
        # Numba fails inside an empty-handed comparison (an array's truth value is ambiguous).
        (lambda: cuda.device_array(3)[np.array([0, 1])], "integers and slices as indices, not ndarray"),
        # Numba would make an array of -1 elements.
        (lambda: cuda.device_array(-1), "negative dimensions are not allowed"),
        (lambda: cuda.device_array((2, 2.0)), "all elements of shape must be ints"),
        (lambda: cuda.device_array(np.int64(3)), "has no len(): the shape is an int or a tuple of ints"),
        (lambda: cuda.device_array("5"), "the shape is an int or a tuple of ints"),
        # Numba finds no way to convert these when it compiles the assignment (TypingError).
        (
            lambda: cuda.device_array(3).__setitem__(0, 1j),
            "cannot store complex128 in a device array of float64",
        ),
        (lambda: cuda.device_array(3).__setitem__(0, np.array("a")), "cannot store <U1"),
        # Numba asserts.
        (lambda: cuda.to_device([1], stream=3), "stream is 3: give a stream made by cuda.stream(), or 0"),
        (lambda: cuda.device_array(3).copy_to_host(stream="s"), "stream is 's'"),
        # Numba's message speaks of weak references.
        (
            lambda: pickle.dumps(cuda.device_array(3)),
            "cannot pickle a DeviceNDArray: pickle its copy_to_host()",
        ),
        (lambda: copy.deepcopy(cuda.device_array(3)), "cannot pickle a DeviceNDArray"),
    ],
)
def test_bad_input_gets_one_line_that_says_what_to_do(call, words):
    with pytest.raises((TypeError, ValueError)) as problem:
        call()
    assert words in str(problem.value)
    assert "\n" not in str(problem.value)


def test_slices_of_a_backwards_view_are_refused_where_numba_gives_them_empty():
    # numba/cuda/cudadrv/dummyarray.py, Dim.__getitem__: start and stop are counted upwards whatever the stride.
    with pytest.raises(IndexError, match="runs backwards"):
        cuda.to_device(np.arange(5))[::-1][1:3]


def test_it_says_what_it_is():
    array = cuda.to_device(np.zeros(5, np.float32))
    assert repr(array) == str(array) == "<stand-in DeviceNDArray shape=(5,) dtype=float32>"
    assert repr(cuda.to_device(np.zeros(1, RECORD))[0]).startswith("<stand-in DeviceRecord shape=() dtype=")


# Copies are copies, views are views


def test_neither_side_sees_the_others_changes():
    host = np.zeros(4)
    device = cuda.to_device(host)
    host[:] = 1
    assert device.copy_to_host().tolist() == [0] * 4
    back = device.copy_to_host()
    back[:] = 2
    assert device.copy_to_host().tolist() == [0] * 4
    device.copy_to_device(host)
    host[:] = 3
    assert device.copy_to_host().tolist() == [1] * 4
    element = device[0]
    device[0] = 9
    assert element == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[1:],
        lambda a: a.reshape(2, 2)[:, 1],
        lambda a: a.ravel(),
        lambda a: a.view(np.int64),
        lambda a: a.squeeze(),
        lambda a: list(a.split(2))[1],
        lambda a: a.bind(0),
        lambda a: cuda.as_cuda_array(a),
    ],
)
def test_views_share_memory(view):
    array = cuda.to_device(np.zeros(4))
    view(array)[-1] = 1
    assert array[-1] != 0


def test_transposing_is_a_copy():
    # numba/cuda/kernels/transpose.py: a kernel fills a new array in C order.
    array = cuda.to_device(np.arange(6.0).reshape(2, 3))
    turned = array.T
    assert turned.copy_to_host().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert turned.is_c_contiguous()
    turned[0, 0] = 9
    assert array[0, 0] == 0


def test_values_are_converted_as_a_kernel_would():
    array = cuda.device_array(3, np.uint8)
    array[0], array[1], array[2] = 300, -1, 2.9
    assert array.copy_to_host().tolist() == [44, 255, 2]


def test_overlapping_assignment_takes_the_old_values():
    array = cuda.to_device(np.arange(4))
    array[1:] = array[:-1]
    assert array.copy_to_host().tolist() == [0, 0, 1, 2]


# Observers


def test_copies_and_allocations_are_reported(log):
    array = cuda.to_device(np.zeros((2, 3), np.float32))
    assert log == [["allocation", 24], ["host to device", 24]]
    log.clear()
    array.copy_to_device(cuda.device_array((2, 3), np.float32))
    array.copy_to_host()
    array[0, 0]
    assert log == [
        ["allocation", 24],
        ["device to device", 24],
        ["device to host", 24],
        ["device to host", 4],
    ]
    log.clear()
    array[:, 0].copy_to_host()  # Numba copies the gaps too: from the first element to the end of the last
    assert log == [["device to host", 16]]
    log.clear()
    array[0] = 1  # a kernel stores it; the value, an int64, is copied to the device first
    assert log == [["allocation", 8], ["host to device", 8]]
    log.clear()
    array[0], array.T, cuda.pinned_array(3), cuda.to_device(array), cuda.to_device(np.zeros(0))
    assert log == [["allocation", 24]]  # the transpose's


# Arrays that host and device share


def test_pinned_arrays_are_host_arrays():
    array = cuda.pinned_array((2, 3), np.int16, order="F")
    assert type(array) is np.ndarray and array.flags.f_contiguous and array.dtype == np.int16
    assert cuda.pinned_array_like(array).strides == array.strides
    with cuda.pinned(array, np.zeros(3)) as nothing:
        assert nothing is None


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_mapped_and_managed_arrays_are_both(make):
    # numba/cuda/cudadrv/devicearray.py: MappedNDArray and ManagedNDArray are subclasses of numpy.ndarray.
    array = make(3, np.int32)
    array[:] = [1, 2, 3]
    assert isinstance(array, np.ndarray) and (array + 1).tolist() == [2, 3, 4]
    assert memory.is_device_memory(array) and cuda.to_device(array) is array
    array._array[0] = 7
    assert array[0] == 7
    assert cuda.as_cuda_array(array)[0] == 7
    for other in (array[1:], array + 1):
        with pytest.raises(AttributeError, match="has no attribute 'gpu_data'"):
            _ = other._array
    with pytest.raises(AttributeError):
        array.copy_to_host()


def test_mapped_array_like_keeps_the_order():
    assert cuda.mapped_array_like(np.zeros((2, 3), order="F")).flags.f_contiguous


def test_mapping_a_host_array_shares_it():
    first, second = np.zeros(3), np.zeros(2)
    with cuda.mapped(first) as array:
        array[0] = 5
    with cuda.mapped(first, second) as arrays:
        assert [a.shape for a in arrays] == [(3,), (2,)]
    assert first[0] == 5


@pytest.mark.parametrize("context", [cuda.pinned, cuda.mapped])
def test_only_writable_host_arrays_can_be_pinned(context):
    # numba/cuda/cudadrv/driver.py, host_pointer: the words are those of Python's buffer protocol.
    with pytest.raises(TypeError, match="a bytes-like object is required, not 'list'"), context([1, 2]):
        pass
    with (
        pytest.raises(ValueError, match="buffer source array is read-only"),
        context(np.frombuffer(bytes(8))),
    ):
        pass


# Sharing through the array interface


@pytest.mark.parametrize("part", [np.s_[:], np.s_[:, 1:3], np.s_[::2, 1], np.s_[1:1], np.s_[::-1]])
def test_interface_describes_the_memory(part):
    array = cuda.to_device(np.arange(12.0).reshape(3, 4))
    view = array[part]
    twin = cuda.from_cuda_array_interface(view.__cuda_array_interface__, owner=view)
    assert (twin.shape, twin.strides if twin.size else None) == (
        view.shape,
        view.strides if view.size else None,
    )
    assert np.array_equal(twin._array, view._array)
    assert not view.size or np.shares_memory(twin._array, array._array)


def test_interface_keeps_its_owner_alive():
    twin = cuda.as_cuda_array(cuda.to_device(np.arange(100_000)))
    cuda.to_device(np.ones(100_000))
    assert twin[99_999] == 99_999


def test_memory_of_a_real_gpu_is_refused():
    array = SimpleNamespace(
        __cuda_array_interface__={"shape": (3,), "typestr": "<f8", "data": (64, False), "version": 3}
    )
    with pytest.raises(TypeError, match="not in the stand-in's memory"):
        cuda.as_cuda_array(array)


def test_masked_arrays_are_refused():
    described = {**cuda.device_array(3).__cuda_array_interface__, "mask": object()}
    with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
        cuda.from_cuda_array_interface(described)


# Kernel arguments


@pytest.mark.parametrize(
    ("hint", "kinds", "after"),
    [
        (hints.In, ["allocation", "host to device"], [0, 0]),
        (hints.Out, ["allocation", "device to host"], [1, 1]),
        (hints.InOut, ["allocation", "host to device", "device to host"], [1, 1]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_hints_copy_what_they_say(hint, kinds, after, log):
    host, later = np.zeros(2), []
    device = hint(host).to_device(later)
    device._array[:] = 1
    for act in later:
        act()
    assert [kind for kind, _ in log] == kinds
    assert host.tolist() == after


def test_an_implicit_copy_gets_numbas_warning_at_the_callers_line():
    from numba.core.errors import NumbaPerformanceWarning

    with pytest.warns(NumbaPerformanceWarning, match="^Host array used in CUDA kernel will incur") as caught:
        hints.InOut(np.zeros(3)).to_device([])
    assert caught[0].filename == __file__


def test_no_warning_without_a_copy_of_an_array():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hints.InOut(cuda.device_array(3)).to_device([])
        hints.Out(np.zeros(3)).to_device([])
        hints.InOut(np.zeros(1, RECORD)[0]).to_device([])


# Other


def test_dtypes_by_any_name():
    import numba

    for name in (numba.float32, np.float32, "f4", np.dtype("f4")):
        assert layouts.as_dtype(name) == np.float32
    assert layouts.as_dtype(numba.types.boolean) == np.bool_
    assert layouts.as_dtype(float) == np.float64
    for wrong in ("nope", 3.5, numba.types.unicode_type):
        with pytest.raises(TypeError):
            layouts.as_dtype(wrong)


def test_running_out_of_memory_is_cudas_error():
    # CUDA driver API: cuMemAlloc gives CUDA_ERROR_OUT_OF_MEMORY, 2; Numba's CudaAPIError shows "[2] Call to …".
    with pytest.raises(
        devices.CudaAPIError, match=r"^\[2\] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY"
    ):
        cuda.device_array(2**55)


def test_importing_needs_no_numba():
    code = "import sys; sys.modules['numba'] = None; import {} as m; assert {}"
    package = "host_to_device.standins.numba_cuda"
    for name, check in {
        "layouts": "m.as_dtype('f4').itemsize == 4",
        "memory": "m.to_device([1.0])[0] == 1",
        "random": "m.create_xoroshiro128p_states(3, 1).copy_to_host().shape == (3,)",
    }.items():
        subprocess.run(
            [sys.executable, "-c", code.format(f"{package}.{name}", check)], check=True, env=ENVIRONMENT
        )


def test_sizes():
    assert layouts.extent((3, 4), (32, 8), 8) == 96
    assert layouts.extent((3, 0), (32, 8), 8) == 0
    assert layouts.fill_in_size((2, -1), 6) == (2, 3)
    assert math.prod(layouts.fill_in_size((), 1)) == 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    uncover()
    its_log = []
    its_cuda = numbas_memory_on_the_host(its_log)
    print(json.dumps([outcome(case, its_cuda, its_log) for case in CASES]))
