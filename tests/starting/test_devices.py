"""The stand-in's device. Rules: numba/cuda/api.py, numba/cuda/cudadrv/devices.py and driver.py."""

import sys
from types import SimpleNamespace

import pytest

from host_to_device.standins.numba_cuda import devices as cuda


def test_there_is_one_device_and_its_name_is_honest():
    device = cuda.get_current_device()
    assert "stand-in" in device.name and "host_to_device" in device.name
    assert repr(device) == "<CUDA device 0 'host_to_device stand-in (CPU)'>"
    assert device.id == 0
    assert len(cuda.gpus) == len(cuda.gpus.lst) == len(list(cuda.gpus)) == 1
    assert cuda.list_devices() is cuda.gpus
    assert str(cuda.gpus) == str(cuda.gpus[0]) == str(cuda.gpus.current) == "<Managed Device 0>"
    assert cuda.gpus[0].name == device.name and cuda.gpus[0].compute_capability == (7, 5)
    assert cuda.current_context().device is device
    assert device == cuda.Device() and hash(device) == hash(cuda.Device()) and device != 0


def test_limits_are_those_of_compute_capability_7_5():
    # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    device = cuda.get_current_device()
    assert (
        device.compute_capability
        == (device.COMPUTE_CAPABILITY_MAJOR, device.COMPUTE_CAPABILITY_MINOR)
        == (7, 5)
    )
    assert [getattr(device, f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ"] == [1024, 1024, 64]
    assert [getattr(device, f"MAX_GRID_DIM_{axis}") for axis in "XYZ"] == [2147483647, 65535, 65535]
    assert (device.MAX_THREADS_PER_BLOCK, device.WARP_SIZE) == (1024, 32)
    assert (device.MAX_SHARED_MEMORY_PER_BLOCK, device.MULTIPROCESSOR_COUNT) == (49152, 40)


@pytest.mark.parametrize(
    "name", ["CLOCK_RATE", "MEMORY_CLOCK_RATE", "PCI_BUS_ID", "uuid", "nothing_of_the_kind"]
)
def test_what_only_a_gpu_has_is_one_clear_line(name):
    with pytest.raises(AttributeError, match=rf"^host_to_device stand-in \(CPU\) has no {name}: [^\n]*$"):
        getattr(cuda.get_current_device(), name)
    assert not hasattr(cuda.gpus[0], name)


def test_devices_are_entered_and_selected():
    # _DeviceContextManager.__enter__ returns nothing.
    with cuda.gpus[0] as nothing:
        assert nothing is None
    assert cuda.select_device(0) is cuda.get_current_device()
    assert cuda.close() is None
    assert cuda.current_context(0) is cuda.current_context()


@pytest.mark.parametrize(
    "select", [cuda.select_device, cuda.current_context, lambda number: cuda.gpus[number]]
)
def test_other_devices_are_out_of_range(select):
    # gpus[number] asks the list of devices, whose words these are.
    with pytest.raises(IndexError, match=r"^list index out of range: 1, but the stand-in has one device, 0$"):
        select(1)


def test_memory_is_this_machines():
    context = cuda.current_context()
    free, total = info = context.get_memory_info()
    assert 0 < free <= total and (info.free, info.total) == (free, total)
    assert "Host" in repr(info)


def test_memory_without_a_table_is_asked_of_psutil(monkeypatch, tmp_path):
    monkeypatch.setattr(cuda, "Path", lambda _: tmp_path / "absent")
    answer = SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=3, total=5))
    monkeypatch.setitem(sys.modules, "psutil", answer)
    assert cuda.memory_of_this_machine() == (3, 5)
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(NotImplementedError, match="pip install psutil"):
        cuda.memory_of_this_machine()


def test_contexts_change_nothing():
    context = cuda.current_context()
    assert context.push() is context.pop() is context.reset() is context.synchronize() is None
    assert context.device.reset() is None and context.device.get_primary_context() is context
    with context.defer_cleanup():
        pass
    with pytest.raises(
        AttributeError, match=r"cuda.current_context\(\).memalloc is not in host_to_device's stand-in"
    ):
        _ = context.memalloc


def test_detect_says_what_it_found(capsys):
    assert cuda.detect() is True
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Found 0 CUDA devices and 1 stand-in"
    assert "stand-in (CPU)" in lines[1] and "[SUPPORTED]" in lines[1]
    assert any("times are not a GPU's" in line for line in lines)


def test_kernels_can_run():
    assert cuda.is_available() is True and cuda.is_supported_version() is True and cuda.cuda_error() is None
    assert cuda.require_context(len) is len


def test_errors_are_numbas_kinds():
    # numba/cuda/cudadrv/error.py and driver.py.
    assert issubclass(cuda.CudaSupportError, ImportError)
    error = cuda.CudaAPIError(2, "Call to x results in y")
    assert isinstance(error, cuda.CudaDriverError) and str(error) == "[2] Call to x results in y"
    assert (error.code, error.msg) == (2, "Call to x results in y")


@pytest.mark.parametrize("name", [*cuda.LEFT_OUT, "something_else"])
def test_what_is_left_out_is_named(name):
    line = cuda.missing(name)
    assert line.startswith(f"cuda.{name} is not in host_to_device's stand-in for numba.cuda: ")
    assert "\n" not in line and "meant" not in line


@pytest.mark.parametrize(
    "name, meant", [("gird", "grid"), ("threadidx", "threadIdx"), ("sycnthreads", "syncthreads")]
)
def test_a_misspelt_name_is_told_the_one_it_resembles(name, meant):
    assert cuda.missing(name).endswith(f"; did you mean cuda.{meant}?")
