"""What runs here: every branch of start(), with and without a driver."""

import os
import subprocess
import sys
import tempfile
import textwrap
from types import SimpleNamespace

import pytest

from host_to_device.starting import devices, machine
from host_to_device.starting.machine import Gpu, Machine
from host_to_device.support.installed import SetUpError

T4 = Gpu("Tesla T4", 15_637_086_208, (7, 5))
ONE_GPU = Machine((T4,), "580.65.06", (13, 0))


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Run code in a fresh Python, where numba has not been imported; from a file, so that kernels have a source."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as script:
        script.write(textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, "-W", "ignore", script.name],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )


@pytest.fixture
def on(monkeypatch):
    """Pretend to be on a given machine, with the given modules installed."""

    def pretend(
        found: Machine, installed: tuple[str, ...] = ("cupy", "numba_cuda"), choice: str = ""
    ) -> None:
        monkeypatch.setattr(machine, "find", lambda: found)
        monkeypatch.setattr(machine, "is_installed", lambda module: module in installed)
        monkeypatch.setattr(machine, "cuda_of_packages", lambda: None)
        monkeypatch.setattr(machine, "chosen", None)
        monkeypatch.setenv("H2D_MACHINE", choice)

    return pretend


def test_stand_in_runs_a_kernel_and_says_what_it_is_in_one_line():
    done = run("""
        import host_to_device as h2d
        h2d.start()
        h2d.start()
        import numpy as np
        from numba import cuda
        @cuda.jit
        def fill(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] = i
        x = np.zeros(5)
        fill[1, 8](x)
        print(x.tolist(), h2d.size(stand_in=1, gpu=2))
    """)
    assert done.returncode == 0, done.stderr
    first, second, values = done.stdout.splitlines()
    assert first == second
    assert "No GPU found: kernels run on the CPU" in first and "times are not a GPU's" in first
    assert values == "[0.0, 1.0, 2.0, 3.0, 4.0] 1"


def test_numba_cuda_imported_too_early_is_named():
    done = run("""
        from numba import cuda
        import host_to_device as h2d
        h2d.start()
    """)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert "numba.cuda was imported before h2d.start(), so cuda would not use the stand-ins" in last
    assert "restart the kernel" in last


def test_numba_alone_may_be_imported_before():
    done = run("""
        import numba
        from numba import njit, prange
        import host_to_device as h2d
        h2d.start()
        from numba import cuda
        assert cuda is numba.cuda and "stand-in" in cuda.implementation
        assert njit(lambda x: x + 1)(1) == 2
        h2d.stop()
        from numba import cuda
        assert cuda.implementation != "host_to_device stand-in"
        h2d.stop()
    """)
    assert done.returncode == 0, done.stderr


def test_gpu_line_names_gpu_memory_driver_and_versions(on, capsys):
    on(ONE_GPU)
    machine.start()
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    for part in ("Tesla T4", "14.6 GiB", "7.5", "580.65.06", "CUDA 13.0", "numba-cuda", "CuPy"):
        assert part in line
    assert machine.size(stand_in=1, gpu=2) == 2


def test_several_gpus_are_counted(on, capsys):
    on(Machine((T4, T4, T4), "580", (13, 0)))
    machine.start()
    assert "Tesla T4 (and 2 more)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cuda", "installed", "wanted", "not_wanted"),
    [
        ((13, 0), (), ['"cupy-cuda13x[ctk]"', '"numba-cuda[cu13]"'], []),
        ((12, 4), (), ['"cupy-cuda12x[ctk]"', '"numba-cuda[cu12]"'], []),
        ((12, 4), ("cupy",), ['"numba-cuda[cu12]"'], ["cupy"]),
        ((13, 1), ("numba_cuda",), ['"cupy-cuda13x[ctk]"'], ["numba-cuda"]),
    ],
)
def test_gpu_without_its_packages_gets_the_command_not_a_stand_in(on, cuda, installed, wanted, not_wanted):
    on(Machine((T4,), "560", cuda), installed)
    with pytest.raises(SetUpError) as problem:
        machine.start()
    command = str(problem.value).split("restart the kernel:")[1].split("(to go on")[0]
    assert "pip install" in command
    assert all(package in command for package in wanted)
    assert '"numpy<2.5"' in command, "pip would leave or install a NumPy that numba-cuda does not know"
    assert not any(package in command for package in not_wanted)
    with pytest.raises(SetUpError):
        machine.size(stand_in=1, gpu=2)


@pytest.mark.parametrize("numpy", ["2.3.5", "2.5.5"])  # numba-cuda compiles nothing with the newer one
def test_the_successor_alone_is_taken_and_the_line_says_what_the_lessons_need(on, monkeypatch, capsys, numpy):
    on(ONE_GPU, installed=("cupy", "numba_cuda_mlir"))
    known = {"numba-cuda-mlir": "0.6.0", "numpy": numpy, "cupy-cuda13x": "14.2.0"}
    monkeypatch.setattr(machine, "version_of", lambda *names: known.get(names[0], "?"))
    machine.start()
    line = capsys.readouterr().out
    assert line.count("\n") == 1 and "; numba-cuda-mlir 0.6.0, CuPy 14.2.0. " in line
    assert "the lessons import it from numba" in line
    assert line.endswith(f'{sys.executable} -m pip install numba-cuda "numpy<2.5"\n')
    assert machine.chosen == "gpu"


def test_the_successor_without_cupy_needs_cupy_alone(on):
    on(ONE_GPU, installed=("numba_cuda_mlir",))
    with pytest.raises(SetUpError) as problem:
        machine.start()
    command = str(problem.value).split("restart the kernel:")[1].split("(to go on")[0]
    assert command.strip() == f'{sys.executable} -m pip install "cupy-cuda13x[ctk]"'


def test_both_compilers_are_named_as_before(on, capsys):
    on(ONE_GPU, installed=("cupy", "numba_cuda", "numba_cuda_mlir"))
    machine.start()
    assert "; numba-cuda " in (line := capsys.readouterr().out) and "mlir" not in line


# The packages of Colab's GPU runtime (rehearsal/colab.txt), of the course's own pins, and of PyTorch's builds alone.
OF_COLAB = {"cuda-bindings": "12.9.7", "nvidia-cuda-nvrtc-cu12": "12.8.93", "numba-cuda": "0.22.2"}
OF_TODAY = {"cuda-bindings": "13.0.3", "nvidia-cuda-nvrtc": "13.0.88", "numba-cuda": "0.30.4"}


@pytest.mark.parametrize(
    ("driver", "packages", "wanted"),
    [
        ((13, 0), OF_COLAB, 12),
        ((12, 4), OF_COLAB, 12),
        ((13, 0), OF_TODAY, 13),
        ((12, 4), OF_TODAY, 12),  # which does not run CUDA 13's packages
        ((13, 0), {}, 13),
        ((12, 4), {}, 12),
        ((13, 0), {"cupy-cuda12x": "14.0.1"}, 12),
        ((13, 0), {"cupy-cuda13x": "14.2.0", "nvidia-cuda-nvrtc-cu12": "12.8.93"}, 13),
        ((13, 0), {"nvidia-cuda-nvrtc-cu12": "12.6.77"}, 12),  # PyTorch for CUDA 12
        ((13, 0), {"nvidia-cuda-nvrtc": "13.0.88"}, 13),  # PyTorch for CUDA 13
    ],
)
def test_what_is_missing_is_advised_for_the_cuda_of_what_is_there(monkeypatch, on, driver, packages, wanted):
    """cupy-cuda13x beside CUDA 12's packages would bring a second CUDA, which nothing else uses."""
    asked = machine.cuda_of_packages
    on(Machine((T4,), "580.65.06", driver), installed=())
    monkeypatch.setattr(machine, "cuda_of_packages", asked)
    monkeypatch.setattr(machine, "version_of", lambda name: packages.get(name, "?"))
    command = machine.missing_command(machine.find())
    assert f'"cupy-cuda{wanted}x[ctk]" "numba-cuda[cu{wanted}]" "numpy<2.5"' in command


def versions(monkeypatch, numba_cuda, numpy):
    installed = {"numba-cuda": numba_cuda, "numpy": numpy}
    monkeypatch.setattr(machine, "version_of", lambda *names: installed.get(names[0], "?"))


# numba-cuda 0.30.4, numba/cuda/np/arrayobj.py, line 6860: overload(np.row_stack). With NumPy 2.5.5 the first launch raises
# "AttributeError: module 'numpy' has no attribute 'row_stack'".
@pytest.mark.parametrize("numpy", ["2.5.0", "2.5.5", "2.5.0rc1", "3.0"])
def test_a_numpy_with_which_numba_compiles_nothing_is_refused_in_one_line(on, monkeypatch, numpy):
    on(ONE_GPU)
    versions(monkeypatch, "0.30.4", numpy)
    with pytest.raises(SetUpError) as problem:
        machine.start()
    message = str(problem.value)
    assert f"numba-cuda 0.30.4 compiles no kernel with NumPy {numpy}: " in message and "\n" not in message
    assert message.endswith(f'{sys.executable} -m pip install "numpy<2.5"')
    assert machine.chosen is None


@pytest.mark.parametrize(
    ("numba_cuda", "numpy"), [("0.30.4", "2.4.6"), ("0.22.2", "2.1.3"), ("0.30.5", "2.5.5"), ("1.0", "2.5.5")]
)
def test_other_pairs_are_taken(on, monkeypatch, capsys, numba_cuda, numpy):
    on(ONE_GPU)
    versions(monkeypatch, numba_cuda, numpy)
    machine.start()
    assert f"numba-cuda {numba_cuda}" in capsys.readouterr().out


def test_numba_does_not_warn_of_small_grids_unless_it_is_told_to(on, monkeypatch):
    on(ONE_GPU)
    config = SimpleNamespace(
        CUDA_LOW_OCCUPANCY_WARNINGS=1
    )  # what numba/cuda/core/config.py read when it was imported
    monkeypatch.setitem(sys.modules, "numba.cuda.core.config", config)
    monkeypatch.setenv("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "1")
    machine.start()
    assert config.CUDA_LOW_OCCUPANCY_WARNINGS == 1
    monkeypatch.delenv("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS")
    machine.start()
    assert os.environ["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] == "0"
    assert config.CUDA_LOW_OCCUPANCY_WARNINGS == 0


def test_stand_in_on_a_gpu_machine_is_used_when_asked_for(on, monkeypatch, capsys):
    on(ONE_GPU, choice="stand-in")
    monkeypatch.setattr(machine.standins, "redirect", list)
    machine.start()
    monkeypatch.setattr(machine, "driver_library", lambda: "libcuda.so.1")
    machine.start()
    assert "No GPU used, because H2D_MACHINE is 'stand-in': kernels run on the CPU" in capsys.readouterr().out


def test_gpu_can_be_insisted_on(on):
    on(Machine(), choice="gpu")
    with pytest.raises(SetUpError, match=r"no NVIDIA driver.*host_to_device doctor"):
        machine.start()


def test_unknown_choice_is_refused(on):
    on(ONE_GPU, choice="cpu")
    with pytest.raises(SetUpError, match="'gpu' or 'stand-in'"):
        machine.start()


def test_a_driver_that_finds_no_device_is_quoted(on, monkeypatch, capsys):
    on(Machine(problem="CUDA's driver says: no CUDA-capable device is detected"))
    monkeypatch.setattr(machine.standins, "redirect", list)
    machine.start()
    assert (
        "no CUDA-capable device is detected; `python -m host_to_device doctor` looks"
        in capsys.readouterr().out
    )
    on(Machine())
    machine.start()
    assert "doctor" not in capsys.readouterr().out, "a machine without a driver has no fault"


@pytest.mark.parametrize("word", ["cuda", 0.0, None, True])
def test_a_device_that_is_no_number_is_refused_in_one_line(word):
    with pytest.raises(TypeError) as problem:
        devices.device(word)
    message = str(problem.value)
    assert message.startswith(f"h2d.device() takes the number of a device, from 0, and got {word!r}: ")
    assert "write h2d.device()" in message and "\n" not in message


def test_size_needs_start(monkeypatch):
    monkeypatch.setattr(machine, "chosen", None)
    with pytest.raises(SetUpError, match="start"):
        machine.size(stand_in=1, gpu=2)


def test_notebooks_show_one_line_instead_of_a_traceback():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shown = []
    shell._showtraceback = lambda _kind, _value, lines: shown.extend(lines)
    shell.run_cell("from host_to_device import SetUpError\nraise SetUpError('do this')")
    assert shown == ["host_to_device: do this"]


FAKE_DRIVER = r"""
#include <stdio.h>
#include <string.h>
int cuInit(unsigned flags) { return %(init)d; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Fake GPU", length); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 8ull << 30; return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 75 ? 8 : 6; return 0; }
int cuGetErrorString(int status, const char **text) { *text = "no CUDA-capable device is detected"; return 0; }
"""


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Build a driver library with CUDA's entry points, so that the probe asks a real one."""

    def build(init: int = 0) -> None:
        source, library = tmp_path / "fake.c", tmp_path / f"libcuda{init}.so"
        source.write_text(FAKE_DRIVER % {"init": init})
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("needs a C compiler to build a driver to ask")
        monkeypatch.setattr(machine, "driver_library", lambda: str(library))
        monkeypatch.setattr(machine, "driver_version", lambda: "550.54")

    return build


def test_probe_reads_what_the_driver_says(driver):
    driver()
    assert machine.find() == Machine((Gpu("Fake GPU", 8 << 30, (8, 6)),), "550.54", (12, 4))


def test_probe_quotes_the_drivers_error(driver):
    driver(init=100)
    assert machine.find() == Machine(problem="CUDA's driver says: no CUDA-capable device is detected")


def test_no_driver_is_no_gpu(monkeypatch):
    monkeypatch.setattr(machine, "driver_library", lambda: None)
    assert machine.find() == Machine()
