"""What runs here: find the GPU, or choose the stand-in, and say so in one line."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

from host_to_device import standins
from host_to_device.support.installed import REHEARSAL, SetUpError, has_numba, is_installed, version_of

# Asked in a child process: initialising CUDA in this one would break every later fork of it.
PROBE = """
import ctypes, json, sys
cuda = ctypes.CDLL(sys.argv[1])
def ask(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(text))
        print(json.dumps({"error": (text.value or b"error %d" % status).decode()}))
        sys.exit()
ask("cuInit", 0)
version, count, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
name, major, minor = ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_int()
ask("cuDriverGetVersion", ctypes.byref(version))
ask("cuDeviceGetCount", ctypes.byref(count))
gpus = []
for device in range(count.value):
    ask("cuDeviceGetName", name, 256, device)
    ask("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
    ask("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
    ask("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
    gpus.append([name.value.decode(), memory.value, [major.value, minor.value]])
print(json.dumps({"cuda": version.value, "gpus": gpus}))
"""
PROBE_SECONDS = 60

CHOICES = ("gpu", "stand-in")

# What start() chose, one of CHOICES; None before it has run.
chosen: str | None = None
# Whether the GPU that start() found is a rehearsal of one.
rehearsed = False


@dataclass(frozen=True)
class Gpu:
    """One CUDA device: its name, memory in bytes and compute capability."""

    name: str
    memory: int
    compute_capability: tuple[int, int]


@dataclass(frozen=True)
class Machine:
    """What this machine offers: its GPUs, and the versions of the driver and of the CUDA that it supports."""

    gpus: tuple[Gpu, ...] = ()
    driver: str = ""
    cuda: tuple[int, int] = (0, 0)
    problem: str = ""  # why a machine with a driver has no GPU to use


def driver_library() -> str | None:
    """Return the name of CUDA's driver library if it is installed and can be loaded, else None."""
    if sys.platform == "emscripten":  # a browser, where the second attempt to load a missing library succeeds
        return None
    for name in ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so"):
        try:
            ctypes.CDLL(name)
            return name
        except OSError:
            continue
    return None


def driver_version() -> str:
    """Return the NVIDIA driver's version as `nvidia-smi` gives it, or an empty string."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.split("\n")[0].strip() if done.returncode == 0 else ""


def find() -> Machine:
    """Look for CUDA devices; `CUDA_VISIBLE_DEVICES` is respected, because CUDA itself is asked."""
    library = driver_library()
    if library is None:
        return Machine()
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, library], capture_output=True, text=True, timeout=PROBE_SECONDS
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return Machine(problem=f"CUDA's driver did not answer within {PROBE_SECONDS} s")
    except ValueError:
        return Machine(
            problem=f"CUDA's driver ended the process that called it (exit status {done.returncode})"
        )
    if "error" in answer:
        return Machine(problem=f"CUDA's driver says: {answer['error']}")
    gpus = tuple(Gpu(name, memory, tuple(capability)) for name, memory, capability in answer["gpus"])
    major, rest = divmod(answer["cuda"], 1000)
    return Machine(gpus, driver_version(), (major, rest // 10))


# The newest numba-cuda that uses numpy.row_stack (numba/cuda/np/arrayobj.py), and the NumPy that has removed it.
USES_ROW_STACK, WITHOUT_ROW_STACK = (0, 30, 4), (2, 5)
# pip chooses the newest NumPy that numba-cuda's and CuPy's metadata allow, which is too new for the former.
NUMPY = '"numpy<2.5"'


# Packages that show for which CUDA the others are built, the most telling first: numba-cuda calls CUDA through
# cuda-bindings, a build of CuPy has CUDA in its name, and every build of PyTorch for CUDA brings NVRTC. None: CUDA is the
# first number of the package's version.
BUILT_FOR = {
    "cuda-bindings": None,
    "cupy-cuda12x": 12,
    "cupy-cuda13x": 13,
    "nvidia-cuda-nvrtc-cu12": 12,
    "nvidia-cuda-nvrtc": None,
}


def cuda_of_packages() -> int | None:
    """Return the major version of CUDA that the installed packages are built for; None if there are none."""
    for package, major in BUILT_FOR.items():
        if numbers := _numbers(version_of(package)):
            return major or numbers[0]
    return None


def missing_command(machine: Machine) -> str | None:
    """Return the command that installs what the GPU needs and is not there, or None if nothing is missing.

    A driver for CUDA 13 runs programs built for CUDA 12, too: what is missing has to fit what is installed. numba-cuda's
    successor, numba-cuda-mlir, is enough for kernels in Python, and needs no older NumPy.
    """
    of_packages = cuda_of_packages()
    major = 13 if machine.cuda >= (13, 0) and of_packages in (None, 13) else 12
    wanted = {
        "cupy": f'"cupy-cuda{major}x[ctk]"',
        "numba_cuda": f'"numba-cuda[cu{major}]"',
    }
    if has_successor_alone():
        del wanted["numba_cuda"]
    missing = [package for module, package in wanted.items() if not is_installed(module)]
    limits = [NUMPY] if "numba_cuda" in wanted else []
    return f"{sys.executable} -m pip install {' '.join([*missing, *limits])}" if missing else None


def has_successor_alone() -> bool:
    """Return whether numba-cuda-mlir is installed, and numba-cuda is not."""
    return is_installed("numba_cuda_mlir") and not is_installed("numba_cuda")


def mismatch() -> str | None:
    """Return in one line why the installed packages compile no kernel together, and what to do; None if they do."""
    if has_successor_alone():
        return None
    numba_cuda, numpy = version_of("numba-cuda"), version_of("numpy")
    if _numbers(numba_cuda) > USES_ROW_STACK or _numbers(numpy) < WITHOUT_ROW_STACK:
        return None
    return (
        f"numba-cuda {numba_cuda} compiles no kernel with NumPy {numpy}: it uses numpy.row_stack, which NumPy 2.5 has removed. "
        f"Install an older NumPy, then restart the kernel:  {sys.executable} -m pip install {NUMPY}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without what follows them: (2, 5, 0) for "2.5.0rc1"; () for "?"."""
    found = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def quiet_about_small_grids() -> None:
    """Switch off Numba's warning of grids with fewer than 128 blocks, unless the environment has set it.

    Nearly every launch of a lesson is that small. Numba reads the variable when `numba.cuda` is imported.
    """
    value = os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    config = sys.modules.get("numba.cuda.core.config")
    if config is not None and value == "0":
        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0


DOCTOR = "`python -m host_to_device doctor` looks for the cause"


def gpu_line(machine: Machine) -> str:
    """Return the banner of a GPU run."""
    gpu, numba_cuda = machine.gpus[0], f"numba-cuda {version_of('numba-cuda')}"
    afterwards = ""
    if has_successor_alone():
        numba_cuda = f"numba-cuda-mlir {version_of('numba-cuda-mlir')}"
        afterwards = (
            " Kernels import cuda from numba_cuda_mlir; the lessons import it from numba, for which you need "
            f"numba-cuda:  {sys.executable} -m pip install numba-cuda {NUMPY}"
        )
    more = f" (and {len(machine.gpus) - 1} more)" if len(machine.gpus) > 1 else ""
    return (
        f"GPU found: {gpu.name}{more}, {gpu.memory / 2**30:.1f} GiB, "
        f"compute capability {gpu.compute_capability[0]}.{gpu.compute_capability[1]}; "
        f"driver {machine.driver or '?'} (CUDA {machine.cuda[0]}.{machine.cuda[1]}); "
        f"{numba_cuda}, CuPy {version_of('cupy-cuda13x', 'cupy-cuda12x', 'cupy')}.{afterwards}"
    )


def stand_in_line(problem: str) -> str:
    """Return the banner of a stand-in run."""
    found = "No GPU found"
    if os.environ.get("H2D_MACHINE") == "stand-in" and driver_library() is not None:
        found = "No GPU used, because H2D_MACHINE is 'stand-in'"
    how = "" if has_numba() else ", as plain Python because Numba is not installed"
    return (
        f"{found}{f' ({problem}; {DOCTOR})' if problem else ''}: kernels run on the CPU (stand-ins for numba.cuda and "
        f"cupy){how}. Results are computed for real; times are not a GPU's."
    )


def start() -> None:
    """Find what runs here, prepare it, and print one line that says what it is.

    Call it in the first cell, before `numba.cuda` and `cupy` are imported. With a GPU it only switches off Numba's
    warning of small grids, unless `NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS` is set. If only numba-cuda's successor is
    installed there, numba-cuda-mlir, the line says so. Without one, or with
    `H2D_MACHINE=stand-in` in the environment, `numba.cuda`, `cupy` and `cupyx` become the course's stand-ins. Calling
    it again is harmless, and `stop()` undoes it.

    Raises
    ------
    SetUpError
        If there is a GPU but not the packages that drive it (the message is the command that installs them), if
        numba-cuda and NumPy do not fit together, if `H2D_MACHINE=gpu` and there is no GPU, or if the notebook imported
        `numba.cuda` or `cupy` before this.

    Examples
    --------
    >>> h2d.start()
    No GPU ...
    >>> from numba import cuda  # the GPU's, or the stand-in's
    """
    global chosen, rehearsed
    choice = os.environ.get("H2D_MACHINE", "")
    if choice not in ("", *CHOICES):
        raise SetUpError(f"H2D_MACHINE is {choice!r}: set it to 'gpu' or 'stand-in', or leave it out")
    machine = Machine() if choice == "stand-in" else find()
    if machine.gpus:
        command = missing_command(machine)
        if command:
            raise SetUpError(
                f"this machine has a {machine.gpus[0].name}, but the packages that use it are not installed. Install them, "
                f"then restart the kernel:  {command}   (to go on without the GPU: H2D_MACHINE=stand-in)"
            )
        if problem := mismatch():
            raise SetUpError(problem)
        quiet_about_small_grids()
        chosen, rehearsed = "gpu", machine.gpus[0].name.startswith(REHEARSAL)
        print(gpu_line(machine))
        return
    if choice == "gpu":
        why = machine.problem or "this machine has no NVIDIA driver"
        raise SetUpError(
            f"H2D_MACHINE is 'gpu', but {why}: leave H2D_MACHINE out to run kernels on the CPU; {DOCTOR}"
        )
    too_early = standins.redirect()
    if too_early:
        names = sorted({name for bound in too_early.values() for name in bound})
        raise SetUpError(
            f"{' and '.join(too_early)} {'was' if len(too_early) == 1 else 'were'} imported before h2d.start(), so "
            f"{', '.join(names)} would not use the stand-ins: restart the kernel and run this cell first"
        )
    chosen = "stand-in"
    print(stand_in_line(machine.problem))


def size(*, stand_in: int, gpu: int) -> int:
    """Return the problem size that fits what runs here, so that no notebook is edited to fill a GPU.

    Parameters
    ----------
    stand_in, gpu
        Number of elements for what computes on the CPU, and for a GPU.

    Raises
    ------
    SetUpError
        If `h2d.start()` has not run, because it is not yet known what runs here.

    Examples
    --------
    >>> n = h2d.size(stand_in=10_000, gpu=100_000_000)
    >>> n  # where no GPU is in use
    10000
    """
    if chosen is None:
        raise SetUpError("run h2d.start() first: the size depends on whether it finds a GPU")
    return gpu if chosen == "gpu" and not rehearsed else stand_in


def stop() -> None:
    """Undo `start()`: from now on `import numba.cuda` and `import cupy` find what they would have found without it.

    Names that a notebook has already imported stay what they are. It is harmless where `start()` has not run
    or has found a GPU.

    Examples
    --------
    >>> h2d.start()
    No GPU ...
    >>> h2d.stop()
    """
    global chosen, rehearsed
    standins.restore()
    chosen, rehearsed = None, False
