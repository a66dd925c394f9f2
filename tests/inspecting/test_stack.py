"""`h2d.stack`: the layers of processes whose maps and packages are written here, and those of this process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import host_to_device as h2d
from host_to_device.inspecting import stack as module
from host_to_device.inspecting.layers import LAYERS
from host_to_device.inspecting.loaded import LETTERS, WIDTH, drawing
from host_to_device.inspecting.stack import read
from host_to_device.support.installed import REHEARSAL

SITE = "/venv/lib/python3.12/site-packages"
PYTHON = "/usr/bin/python3.12"
GPU_DRIVER = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build  (dvs-builder)\n"
TORCH_FILES = (
    "_C.cpython-312-x86_64-linux-gnu.so",
    "lib/libc10.so",
    "lib/libtorch.so",
    "lib/libtorch_cpu.so",
)
CUDA_12 = {
    "cublas-cu12": ("12.8.4.1", "cublas/lib/libcublas.so.12", "cublas/lib/libcublasLt.so.12"),
    "cuda-nvrtc-cu12": ("12.8.93", "cuda_nvrtc/lib/libnvrtc.so.12"),
    "cuda-runtime-cu12": ("12.8.90", "cuda_runtime/lib/libcudart.so.12"),
    "cudnn-cu12": (
        "9.10.2.21",
        "cudnn/lib/libcudnn.so.9",
        "cudnn/lib/libcudnn_graph.so.9",
        "cudnn/lib/libcudnn_ops.so.9",
    ),
    "cusparselt-cu12": ("0.7.1", "cusparselt/lib/libcusparseLt.so.0"),
    "nccl-cu12": ("2.27.5", "nccl/lib/libnccl.so.2"),
    "nvjitlink-cu12": ("12.8.93", "nvjitlink/lib/libnvJitLink.so.12"),
}


def maps(*paths):
    """Return the text of /proc/PID/maps: two lines for each file, as the kernel writes them, and what is no file."""
    lines = ["7ffd0a1c2000-7ffd0a1e3000 rw-p 00000000 00:00 0                          [stack]", ""]
    for number, path in enumerate(paths):
        for part, rights in enumerate(("r--p", "r-xp")):
            begin = 0x7F0000000000 + number * 0x200000 + part * 0x1000
            lines.append(
                f"{begin:x}-{begin + 0x1000:x} {rights} 0000{part}000 fe:00 {1000 + number}    {path}"
            )
    return "\n".join([*lines, "7f1111111000-7f1111112000 rw-p 00000000 00:00 0 ", ""])


def write(system, path, content=""):
    file = system / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def install(system, name, version, *files, site=SITE, installer="pip\n"):
    """Record a distribution as pip does, and return the paths of its files."""
    info = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
    write(system, f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    write(system, f"{info}/INSTALLER", installer)
    write(system, f"{info}/RECORD", "".join(f"{file},sha256=x,1\n" for file in files))
    return [f"{site}/{file}" for file in files]


def torch(system, version, *more):
    return install(system, "torch", version, *(f"torch/{each}" for each in (*TORCH_FILES, *more)))


def cuda_12(system):
    return [
        path
        for name, (version, *files) in CUDA_12.items()
        for path in install(system, f"nvidia-{name}", version, *(f"nvidia/{file}" for file in files))
    ]


def with_driver(system, version):
    write(system, "/proc/driver/nvidia/version", GPU_DRIVER.format(version))


def test_torch_for_the_cpu(tmp_path):
    files = torch(tmp_path, "2.13.0+cpu")
    numpy = install(tmp_path, "numpy", "2.3.5", "numpy.libs/libscipy_openblas64_-fdde5778.so")
    built = (
        "PyTorch built with:\n  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product\n"
        "  - Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa)\n"
    )
    found = read(
        maps(PYTHON, "/usr/lib/x86_64-linux-gnu/libc.so.6", *files, *numpy), tmp_path, "process 7", built
    )
    assert repr(found) == (
        "Loaded in process 7, from the program down to the driver:\n"
        "your program\n"
        "  Python 3.12, from the system\n"
        "    python3.12\n"
        "framework\n"
        "  PyTorch 2.13.0+cpu, from pip: torch\n"
        "    libtorch_cpu.so and 3 more files\n"
        "CPU math libraries\n"
        "  MKL 2024.2 (inside PyTorch), from pip: torch\n"
        "    libtorch_cpu.so\n"
        "  OpenBLAS, from pip: numpy\n"
        "    libscipy_openblas64_-fdde5778.so\n"
        "  oneDNN 3.12.0 (inside PyTorch), from pip: torch\n"
        "    libtorch_cpu.so\n"
        "CUDA libraries\n"
        "  none: this PyTorch is built for the CPU\n"
        "CUDA runtime\n"
        "  none: this PyTorch is built for the CPU\n"
        "user-mode driver\n"
        "  not loaded: this machine has no GPU driver\n"
        "kernel-mode driver\n"
        "  none: this machine has no /proc/driver/nvidia/version"
    )


def test_torch_with_the_wheels_of_cuda_12(tmp_path):
    files = torch(tmp_path, "2.9.1+cu128", "lib/libc10_cuda.so", "lib/libtorch_cuda.so")
    driver = "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.15"
    with_driver(tmp_path, "570.86.15")
    found = read(
        maps(PYTHON, *files, *cuda_12(tmp_path), driver, "/dev/nvidiactl", "/dev/nvidia0"), tmp_path, "it"
    )
    assert found.layers == {
        "your program": [("Python", "3.12", PYTHON)],
        "framework": [("PyTorch", "2.9.1+cu128", f"{SITE}/torch/lib/libtorch_cuda.so")],
        "CPU math libraries": [],
        "CUDA libraries": [
            ("cuDNN", "9.10.2.21", f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"),
            ("cuBLAS", "12.8.4.1", f"{SITE}/nvidia/cublas/lib/libcublas.so.12"),
            ("cuSPARSELt", "0.7.1", f"{SITE}/nvidia/cusparselt/lib/libcusparseLt.so.0"),
            ("NCCL", "2.27.5", f"{SITE}/nvidia/nccl/lib/libnccl.so.2"),
            ("NVRTC", "12.8.93", f"{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
            ("nvJitLink", "12.8.93", f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12"),
        ],
        "CUDA runtime": [("CUDA runtime", "12.8.90", f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12")],
        "user-mode driver": [("CUDA driver", "570.86.15", driver)],
        "kernel-mode driver": [("nvidia", "570.86.15", "/proc/driver/nvidia/version")],
    }
    text = repr(found)
    assert "  cuDNN 9.10.2.21, from pip: nvidia-cudnn-cu12\n    libcudnn.so.9 and 2 more files\n" in text
    assert "  CUDA driver 570.86.15, from the driver package\n    libcuda.so.570.86.15\n" in text
    assert found.remarks == ("The process has opened /dev/nvidia0: it uses the GPU.",)


def test_before_the_first_call_of_cuda_the_driver_is_not_loaded_yet(tmp_path):
    with_driver(tmp_path, "580.65.06")
    files = torch(tmp_path, "2.12.0+cu130", "lib/libc10_cuda.so")
    found = read(maps(PYTHON, *files), tmp_path)
    assert found.absent["user-mode driver"] == "not loaded: the process has not called CUDA yet"
    assert found.absent["CUDA runtime"] == "none yet: a library is loaded when it is first used"
    assert found.of("kernel-mode driver")[0].version == "580.65.06"


def test_cupy_has_the_runtime_inside_of_itself(tmp_path):
    inside = "cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so"
    files = install(tmp_path, "cupy-cuda12x", "14.0.1", "cupy/_core/core.cpython-312.so", inside)
    without = read(maps(PYTHON, *files), tmp_path, "it")
    assert "CUDA runtime" in without.absent  # the file cannot be read here: nothing is claimed
    write(tmp_path, f"{SITE}/{inside}", b"\x7fELF" + module.TEXT_OF_THE_RUNTIME + b"\0")
    found = read(maps(PYTHON, *files), tmp_path, "it")
    assert found.layers["CUDA runtime"] == [("CUDA runtime (inside CuPy)", None, f"{SITE}/{inside}")]
    assert found.layers["framework"][0][:2] == ("CuPy", "14.0.1")
    assert "  CUDA runtime (inside CuPy), from pip: cupy-cuda12x\n" in repr(found)


def test_conda(tmp_path):
    prefix = "/srv/me/miniconda3/envs/gpu"
    site = f"{prefix}/lib/python3.12/site-packages"
    packages = {
        "pytorch": ("2.5.1", ["lib/python3.12/site-packages/torch/lib/libtorch_cuda.so"]),
        "libcublas": ("12.4.5.8", ["lib/libcublas.so.12.4.5.8", "lib/libcublas.so.12"]),
        "cuda-cudart": ("12.4.127", ["lib/libcudart.so.12.4.127"]),
        "mkl": ("2023.1.0", ["lib/libmkl_core.so.2"]),
        "python": ("3.12.2", ["bin/python3.12"]),
    }
    for name, (version, files) in packages.items():
        about = {"name": name, "version": version, "files": files}
        write(tmp_path, f"{prefix}/conda-meta/{name}-{version}-0.json", json.dumps(about))
    write(tmp_path, f"{prefix}/conda-meta/damaged.json", "{")
    write(tmp_path, f"{prefix}/conda-meta/odd.json", "[1]")
    cupy = install(tmp_path, "cupy-cuda12x", "13.3.0", "cupy/_core/core.so", site=site)
    mapped = [f"{prefix}/{file}" for _, files in packages.values() for file in files[:1]]
    found = read(maps(*mapped, *cupy), tmp_path, "it")
    assert [(str(each), str(each.owner)) for each in found.loaded] == [
        ("Python 3.12", "conda: python"),
        ("PyTorch 2.5.1", "conda: pytorch"),
        ("CuPy 13.3.0", "pip: cupy-cuda12x"),
        ("MKL 2023.1.0", "conda: mkl"),
        ("cuBLAS 12.4.5.8", "conda: libcublas"),
        ("CUDA runtime 12.4.127", "conda: cuda-cudart"),
    ]


def test_a_container_with_cuda_compat(tmp_path):
    with_driver(tmp_path, "535.129.03")
    compat = "/usr/local/cuda-12.8/compat/libcuda.so.570.86.15"
    toolkit = "/usr/local/cuda-12.8/targets/x86_64-linux/lib/libcudart.so.12.8.57"
    found = read(maps(PYTHON, toolkit, compat), tmp_path, "it")
    assert str(found.of("user-mode driver")[0].owner) == "cuda-compat"
    assert found.layers["CUDA runtime"] == [("CUDA runtime", "12.8.57", toolkit)]
    assert str(found.of("CUDA runtime")[0].owner) == "a CUDA toolkit"
    assert found.remarks == (
        "The user-mode driver has version 570.86.15, the kernel-mode driver 535.129.03: cuda-compat brings the newer one.",
    )


def test_a_driver_that_was_updated_without_a_restart(tmp_path):
    with_driver(tmp_path, "535.129.03")
    found = read(maps(PYTHON, "/usr/lib/libcuda.so.550.54.14"), tmp_path, "it")
    assert found.remarks[0].endswith(". They have to be the same: restart the machine.")


def test_wsl(tmp_path):
    write(tmp_path, "/dev/dxg")
    lib = "/usr/lib/wsl/lib/libcuda.so.1"
    real = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_0a1b/libcuda.so.1.1"
    found = read(maps(PYTHON, lib, real), tmp_path, "it")
    assert found.layers["user-mode driver"] == [("CUDA driver", None, lib)]
    assert found.layers["kernel-mode driver"] == [("dxgkrnl", None, "/dev/dxg")]
    assert {str(each.owner) for each in found.loaded[1:]} == {"Windows' driver"} and not found.remarks


def test_the_rehearsal_says_that_it_is_no_gpu(tmp_path):
    path = "/srv/me/.cache/host-to-device-rehearsal/driver-0a1b/libcuda.so.1"
    write(tmp_path, path, b"\x7fELF..." + REHEARSAL.encode() + b" (T4, 40 multiprocessors)\0")
    found = read(maps(PYTHON, path), tmp_path, "it")
    assert found.layers["user-mode driver"] == [("rehearsal, not a GPU", None, path)]
    assert "without a GPU" in found.remarks[0] and "from this course" in repr(found)
    write(tmp_path, path, b"\x7fELF...")  # another small driver is not taken for it
    assert read(maps(PYTHON, path), tmp_path, "it").layers["user-mode driver"][0][0] == "CUDA driver"


def test_rocm_has_the_same_layers_under_its_own_names(tmp_path):
    files = torch(tmp_path, "2.9.1+rocm6.4", "lib/libtorch_hip.so", "lib/libc10_hip.so")
    write(tmp_path, "/dev/kfd")
    write(tmp_path, "/sys/module/amdgpu/version", "6.12.12\n")
    rocm = [
        f"/opt/rocm-6.4.0/lib/{name}"
        for name in ("libamdhip64.so.6.4.60400", "libhsa-runtime64.so.1.15.60400")
    ]
    found = read(maps(PYTHON, *files, *rocm, "/opt/rocm-6.4.0/lib/librocblas.so.4.4.60400"), tmp_path, "it")
    assert list(found.layers) == list(LAYERS)
    assert [each.product for each in found.loaded] == [
        "Python",
        "PyTorch",
        "rocBLAS",
        "HIP runtime",
        "ROCr",
        "amdgpu",
    ]
    assert "\nROCm libraries\n  rocBLAS 4.4.60400, from ROCm\n" in repr(found) and "\nHIP runtime\n" in repr(
        found
    )
    assert found.of("kernel-mode driver")[0].version == "6.12.12" and "CUDA" not in drawing(found)


def test_two_copies_of_a_library_are_remarked(tmp_path):
    system = "/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7"
    found = read(maps(PYTHON, *cuda_12(tmp_path), system), tmp_path, "it")
    assert found.remarks == ("cuDNN is loaded 2 times, from different packages.",)
    assert [each.version for each in found.of("CUDA libraries") if each.product == "cuDNN"] == [
        "9.10.2.21",
        "8.9.7",
    ]


def test_files_that_pip_replaced_while_they_were_in_use(tmp_path):
    files = torch(tmp_path, "2.13.0+cpu")
    found = read(maps(PYTHON, *(f"{path} (deleted)" for path in files)), tmp_path, "it")
    assert found.layers["framework"] == [("PyTorch", "2.13.0+cpu", f"{SITE}/torch/lib/libtorch_cpu.so")]
    assert found.remarks[0].startswith("Replaced or deleted on disk") and "Restart Python" in found.remarks[0]


def test_paths_with_spaces(tmp_path):
    site = "/srv/me/my work/env 1/lib/python3.12/site-packages"
    files = install(tmp_path, "torch", "2.13.0", "torch/lib/libtorch_cpu.so", site=site)
    found = read(maps("/srv/me/my work/env 1/bin/python3.12", *files), tmp_path, "it")
    assert found.layers["framework"] == [("PyTorch", "2.13.0", f"{site}/torch/lib/libtorch_cpu.so")]
    assert str(found.of("framework")[0].owner) == "pip: torch"


def test_another_program_is_named_by_its_file(tmp_path):
    found = read(maps("/opt/app/render", "/usr/lib/x86_64-linux-gnu/libc.so.6"), tmp_path, "it")
    assert found.layers["your program"] == [("render", None, "/opt/app/render")]


@pytest.mark.parametrize("text", ["", "nothing of a map\n", "7f00-7f01 r--p 0 0 0\n"])
def test_a_process_without_files_has_no_layers_but_reasons(tmp_path, text):
    found = read(text, tmp_path, "it")
    assert not found.loaded and set(found.absent) == set(LAYERS)


def test_this_process():
    import numpy  # noqa: F401

    found = h2d.stack()
    (name, version, path) = found.layers["your program"][0]
    assert name == "Python" and version == sys.version.split()[0] and Path(path).exists()
    assert found.of("CPU math libraries")  # NumPy's
    assert repr(h2d.stack(os.getpid())) == repr(found) == str(found)


def test_an_import_adds_its_libraries():
    code = "import host_to_device as h2d; h2d.stack(); print(h2d.stack().layers['framework'])"
    run = [sys.executable, "-c"]
    before = subprocess.run([*run, code], capture_output=True, text=True, check=True).stdout
    after = subprocess.run([*run, f"import torch; {code}"], capture_output=True, text=True, check=True).stdout
    assert before == "[]\n" and "('PyTorch', " in after


def test_another_process_of_mine():
    child = subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); input()"], stdin=-1, stdout=-1, text=True
    )
    try:
        child.stdout.readline()
        assert "process" in repr(h2d.stack(child.pid)) and h2d.stack(child.pid).layers["your program"]
    finally:
        child.communicate("\n")
    with pytest.raises(ValueError, match=f"^there is no process {child.pid}: "):
        h2d.stack(child.pid)


@pytest.mark.parametrize("pid", [0, -1, True, "1", 1.5])
def test_what_is_no_pid_is_refused(pid):
    with pytest.raises(ValueError, match=r"^pid is .*: give the number of a process$"):
        h2d.stack(pid)


def test_a_process_of_another_user_is_one_line(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ValueError, match=r"^process 1 belongs to another user: ") as caught:
        h2d.stack(1)
    assert len(caught.value._render_traceback_()) == 1


def test_without_proc_it_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SYSTEM", tmp_path)
    found = h2d.stack()
    assert repr(found) == module.NO_PROC and "\n" not in repr(found)
    assert set(found.layers) == set(LAYERS) and not any(found.layers.values())
    assert list(found._repr_mimebundle_()) == ["text/plain"]


def test_the_picture_has_a_box_for_each_layer_and_fits_a_phone(tmp_path):
    files = torch(tmp_path, "2.9.1+cu128", "lib/libc10_cuda.so", "lib/libtorch_cuda.so")
    with_driver(tmp_path, "570.86.15")
    found = read(maps(PYTHON, *files, *cuda_12(tmp_path), "/usr/lib/libcuda.so.570.86.15"), tmp_path)
    svg = drawing(found)
    assert (
        WIDTH <= 390 - 16 and svg.count("<rect") == len(LAYERS) and svg.count("<polygon") == len(LAYERS) - 1
    )
    assert svg.count("stroke-dasharray") == len(found.absent) == 1
    words = [line.partition("<")[0] for line in svg.split(">") if "</text" in line]
    assert all(len(line) <= LETTERS for line in words) and "from the driver package" in words
    html = found._repr_mimebundle_()["text/html"]
    assert "nvidia/cudnn/lib/libcudnn.so.9" in html and SITE not in html
    assert 'role="img"' in svg and "cuDNN 9.10.2.21" in svg.partition('class="')[0]


def test_numba_cuda_is_not_numba(tmp_path):
    numba = install(tmp_path, "numba", "0.68.1", "numba/_helperlib.so")
    cuda = install(tmp_path, "numba-cuda", "0.30.4", "numba_cuda/numba/cuda/cext/_helperlib.so")
    found = read(maps(PYTHON, *numba, *cuda), tmp_path, "it")
    assert [str(each) for each in found.of("framework")] == ["numba-cuda 0.30.4", "Numba 0.68.1"]
