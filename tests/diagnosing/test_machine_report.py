"""The doctor on a machine: snapshots of machines that have a fault, probes that fail, and the command."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from host_to_device import __main__ as command_line
from host_to_device.diagnosing import gathering, matrix, of_snapshot
from tests.diagnosing import fatbins

ROOT = Path(__file__).resolve().parents[2]
SMI = """
| NVIDIA-SMI 550.54.14              Driver Version: 550.54.14      CUDA Version: 12.4     |
|   0  Tesla T4                       Off | 00000000:00:04.0 Off |                    0 |
"""
KERNEL = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 2024\nGCC version: 12"
NODE = {"path": "/dev/nvidia0", "mode": "0o666", "usable": True}
T4 = {
    "platform": "linux",
    "executable": "/venv/bin/python",
    "kernel_driver": KERNEL,
    "modules_loaded": True,
    "libcuda": "libcuda.so.1",
    "nodes": [NODE],
    "pci_gpus": 1,
    "nvidia_smi": SMI,
    "capabilities": ["7.5"],
    "environment": {},
    "distributions": {"torch": "2.5.1", "numpy": "2.1.0", "numba-cuda": "0.22.2", "cupy-cuda12x": "13.3.0"},
    "torch": {"__version__": "2.5.1+cu124", "cuda": "12.4"},
}
NO_GPU = {
    "platform": "linux",
    "nodes": [],
    "pci_gpus": 0,
    "nvidia_smi": "",
    "distributions": {},
    "environment": {},
}


def found(changes, machine=T4):
    return [each.id for each in of_snapshot({**machine, **changes}).findings]


def test_a_machine_in_order_has_no_findings():
    assert found({}) == []
    assert "Nothing known is wrong" in str(of_snapshot(T4))


def test_a_machine_without_a_gpu_is_in_order():
    diagnosis = of_snapshot(NO_GPU)
    assert not diagnosis.findings
    assert "No NVIDIA GPU: the stand-ins run" in str(diagnosis)
    assert found({"torch": {"__version__": "2.13.0+cpu"}}, NO_GPU) == []


CPU = {"__version__": "2.5.1+cpu"}
LINUX_DRIVER = {
    "wsl": {"kernel": "microsoft-standard-WSL2"},
    "linux_driver_in_wsl": ["/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"],
}


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"torch": CPU}, "torch-cpu-only-build"),
        ({"torch": {"__version__": "2.5.1+rocm6.2", "hip": "6.2"}}, "torch-rocm-build-on-nvidia"),
        ({"torch": {"__version__": "2.13.0", "cuda": "13.0"}}, "driver-too-old-for-runtime"),
        ({"distributions": {"cupy-cuda13x": "14.2.0"}}, "driver-too-old-for-runtime"),
        ({"distributions": {"cupy-cuda11x": "13.3.0", "cupy-cuda12x": "13.3.0"}}, "two-cupy-packages"),
        (
            {"toolkits": [{"path": "/usr/local/cuda/bin/nvcc", "version": "11.8"}]},
            "cupy-for-other-cuda-major",
        ),
        ({"distributions": {"numba-cuda": "0.30.4", "numpy": "2.5.1"}}, "numba-numpy-too-new"),
        ({"distributions": {"torch": "2.5.1", "torchvision": "0.19.0"}}, "torch-torchvision-mismatch"),
        ({"environment": {"CUDA_VISIBLE_DEVICES": ""}}, "cuda-visible-devices-hides-gpu"),
        ({"environment": {"CUDA_VISIBLE_DEVICES": "-1"}}, "cuda-visible-devices-hides-gpu"),
        ({"environment": {"NUMBA_ENABLE_CUDASIM": "1"}}, "numba-simulator-on"),
        ({"nodes": [{**NODE, "mode": "0o600", "usable": False}]}, "device-node-permission"),
        ({"container": "/.dockerenv", "nodes": [], "nvidia_smi": ""}, "container-started-without-gpus"),
        (
            {"nvidia_smi": "Failed to initialize NVML: Driver/library version mismatch"},
            "driver-library-mismatch",
        ),
        (
            {"kernel_driver": "", "modules_loaded": False, "nodes": [], "nvidia_smi": "", "capabilities": []},
            "driver-not-loaded",
        ),
        (
            {"kernel_driver": "", "modules_loaded": False, "nodes": [], "nvidia_smi": "", "libcuda": None},
            "driver-missing",
        ),
        (
            {"wsl": {"kernel": "microsoft-standard-WSL2", "libraries": True}, "libcuda": None},
            "wsl-libcuda-not-on-path",
        ),
        (LINUX_DRIVER, "wsl-linux-driver-installed"),
        (
            {"capabilities": ["12.0"], "nvidia_smi": SMI.replace("Tesla T4", "NVIDIA GeForce RTX 5090")},
            "torch-too-old-for-card",
        ),
        (
            {"capabilities": ["3.7"], "nvidia_smi": SMI.replace("Tesla T4", "Tesla K80")},
            "torch-too-new-for-card",
        ),
    ],
)
def test_a_fault_of_a_machine_is_named_first(changes, cause):
    assert found(changes)[:1] == [cause]


def with_code(card, code, **changes):
    return {**T4, "capabilities": [card], "code": code, **changes}


@pytest.mark.parametrize(
    ("card", "sass", "ptx", "causes"),
    [
        ("8.9", ["8.0", "8.6"], [], []),
        ("9.0", ["8.0", "8.6"], [], ["torch-too-old-for-card"]),
        ("12.1", ["9.0", "12.0"], [], []),
        ("12.1", ["9.0", "12.0a"], [], ["torch-too-old-for-card"]),
        ("12.0", ["8.0"], ["9.0"], []),
        ("7.0", ["7.5", "8.0"], ["9.0"], ["torch-too-new-for-card"]),
    ],
)
def test_the_code_in_the_installed_build_decides(card, sass, ptx, causes):
    """Also against the table by version: 2.5 for CUDA 12.4 has code for 5.0 to 9.0, says PyTorch's documentation."""
    assert found(with_code(card, {"torch": {"sass": sass, "ptx": ptx}})) == causes


def test_a_cupy_whose_compiler_has_dropped_the_card_is_found_before_it_fails():
    code = {"cupy-cuda13x": {"sass": ["7.5", "8.0"], "ptx": ["12.0"]}}
    driver = SMI.replace("CUDA Version: 12.4", "CUDA Version: 13.0").replace("550.54.14", "580.65.06")
    machine = with_code(
        "6.1", code, nvidia_smi=driver, kernel_driver="", distributions={"cupy-cuda13x": "14.2.0"}, torch={}
    )
    [finding] = of_snapshot(machine).findings
    assert (
        finding.id == "nvrtc-dropped-card"
        and "cupy-cuda13x: SASS for 7.5, 8.0; PTX for 12.0" in finding.evidence
    )
    assert found({**machine, "capabilities": ["7.5"]}) == []


def test_a_report_shows_the_code_of_the_installed_builds():
    shown = str(of_snapshot(with_code("7.5", {"torch": {"sass": ["7.5", "9.0"], "ptx": []}})))
    assert "  GPU code    torch: SASS for 7.5, 9.0\n" in shown
    assert "GPU code" not in str(of_snapshot(T4))


def test_the_code_of_a_wheel_that_is_stored_is_not_read_again(monkeypatch):
    monkeypatch.setattr(
        gathering.machine_code, "of_package", lambda *_: pytest.fail("the libraries were read")
    )
    code = gathering.gpu_code(
        {"torch": "2.6.0", "cupy-cuda12x": "13.6.0"}, {"__version__": "2.6.0+cu124", "cuda": "12.4"}
    )
    assert code["torch"]["sass"][-1] == "9.0" and code["cupy-cuda12x"]["ptx"] == ["10.0"]


def test_other_builds_are_read_from_their_libraries(monkeypatch, tmp_path):
    folder = tmp_path / "torch" / "lib"
    folder.mkdir(parents=True)
    (folder / "libtorch_cuda.so").write_bytes(fatbins.code(["8.0", "9.0"]))
    (folder / "libtorch_cpu.so").write_bytes(fatbins.code(["3.5"]))
    asked = []

    def package(name):
        asked.append(name)
        return sorted(folder.iterdir())

    monkeypatch.setattr(gathering.machine_code, "_of_package", package)
    build = {"__version__": "2.6.0+cu126", "cuda": "12.6"}  # stored is the wheel of PyPI, for CUDA 12.4
    assert gathering.gpu_code({}, build) == {"torch": {"sass": ["8.0", "9.0"], "ptx": []}}
    assert gathering.gpu_code({}, {"__version__": "2.6.0+cpu"}) == {} and asked == ["torch"]
    monkeypatch.setattr(gathering, "SECONDS_FOR_CODE", -1)
    assert gathering.gpu_code({}, build) == {}


def test_code_is_read_beside_a_gpu_only(monkeypatch, tmp_path):
    monkeypatch.setattr(gathering, "gpu_code", lambda *_: {"torch": {"sass": ["9.0"], "ptx": []}})
    monkeypatch.setattr(gathering, "output", lambda *_: "")
    assert "code" not in gathering.gather(tmp_path)
    monkeypatch.setattr(gathering, "output", lambda *_: "9.0\n")
    assert gathering.gather(tmp_path)["code"]["torch"]["sass"] == ["9.0"]


def test_a_command_names_this_python():
    [finding] = of_snapshot({**T4, "torch": CPU}).findings
    assert "/venv/bin/python -m pip uninstall torch" in finding.cure and "whl/cu126" in finding.cure


def test_a_toolkit_beside_cupys_own_libraries_does_not_matter():
    own = {**T4["distributions"], "nvidia-cuda-nvrtc-cu12": "12.4.127"}
    assert found({"distributions": own, "toolkits": [{"path": "nvcc", "version": "11.8"}]}) == []


def test_a_probe_that_fails_leaves_its_field_empty(monkeypatch, tmp_path):
    def broken(*_):
        raise MemoryError

    for name in (
        "nodes",
        "pci_gpus",
        "toolkits",
        "distributions",
        "torch_build",
        "wsl",
        "container",
        "nvidia_smi",
    ):
        monkeypatch.setattr(gathering, name, broken)
    snapshot = gathering.gather(tmp_path)
    assert snapshot["nodes"] is None and snapshot["distributions"] is None
    assert not of_snapshot(snapshot).findings
    assert not of_snapshot({}).findings


def test_files_of_the_system_are_read(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("proc/driver/nvidia/version", KERNEL)
    write("proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2")
    write("proc/1/cgroup", "0::/docker/0123456789")
    write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n")
    write("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n")
    write("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n")
    write("sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n")
    write("dev/nvidia0", "")
    write("usr/lib/wsl/lib/libcuda.so.1", "")
    write("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "")
    snapshot = gathering.gather(tmp_path)
    assert snapshot["pci_gpus"] == 1 and "550.54.14" in snapshot["kernel_driver"]
    assert snapshot["nodes"][0]["usable"] and snapshot["wsl"]["libraries"]
    assert snapshot["container"].startswith("docker") and len(snapshot["linux_driver_in_wsl"]) == 1
    assert gathering.facts_of(snapshot)["driver"].value == "550.54.14"


def test_a_command_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(gathering, "SECONDS", 0.2)
    assert gathering.output(sys.executable, "-c", "import time; time.sleep(30)") == ""
    assert gathering.output("there-is-no-such-command") == ""


def test_gathering_imports_no_heavy_package():
    code = (
        "import sys, json; from host_to_device.diagnosing import gathering; s = gathering.gather(); json.dumps(s);"
        "print([m for m in ('torch', 'cupy', 'numba', 'numpy') if m in sys.modules], s['torch'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] {'__version__': ")


# -- versions


def test_versions_fit_as_the_tables_say():
    assert matrix.lowest_driver("12") == "525.60.13" and matrix.lowest_driver("99") is None
    assert matrix.cuda_of_driver("535.104.05") == "12.2" and matrix.cuda_of_driver("565.57") == "12.6"
    assert matrix.cuda_of_driver("999.1") is None and matrix.cuda_of_driver("300.1") is None
    assert matrix.cards_of("2.11", "13.0") == ("7.5", "12.1") and matrix.cards_of("99.0", "13.0") is None
    assert (
        matrix.torch_of("torchvision", "0.20.1+cu124") == "2.5"
        and matrix.torch_of("torchvision", "0.99") is None
    )
    assert matrix.numpy_of("0.61.2") == "2.2" and matrix.numpy_of("0.99") is None
    assert matrix.wheels()["torch==2.13.0"]["cuda"] == "13.0.3"


@pytest.mark.parametrize(
    ("cuda", "capability", "index"),
    [("13.0", "", "cu130"), ("12.4", "", "cu126"), ("11.4", "", "cu118"), ("10.2", "", None), ("13.3", "6.1", "cu126"),
     ("12.9", "12.0", "cu128"), ("13.0", "12.0", "cu130"), ("11.4", "8.9", "cu118"), ("13.0", "3.0", None)],
)  # fmt: skip
def test_an_index_of_pytorch_fits_driver_and_gpu(cuda, capability, index):
    assert matrix.torch_index(cuda, capability) == index


@pytest.mark.parametrize(
    ("driver_cuda", "capability", "known"),
    [("12.8", "12.0", True), ("12.6", "12.0", False), ("13.2", "12.0", True), ("13.0", "7.0", True), ("13.1", "7.0", False),
     ("11.4", "3.7", True), ("12.0", "3.7", False), ("12.4", "8.7", None)],
)  # fmt: skip
def test_a_driver_knows_a_gpu_from_one_branch_to_another(driver_cuda, capability, known):
    assert matrix.drives(driver_cuda, capability) is known


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"distributions": {"nvidia-nvvm": "13.2.51"}}, None),  # another major version: a finding, not a note
        ({"distributions": {"nvidia-cuda-nvcc-cu12": "12.9.86"}}, "PTX up to CUDA 12.4"),
        ({"distributions": {"nvidia-cuda-nvcc-cu12": "12.4.131"}}, None),
        (
            {"environment": {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64:/lib"}},
            "LD_LIBRARY_PATH names /usr/local/cuda/lib64:",
        ),
        ({"environment": {"LD_LIBRARY_PATH": "/usr/lib/wsl/lib"}}, None),
    ],
)
def test_what_may_matter_is_a_note_and_no_finding(changes, words):
    diagnosis = of_snapshot({**T4, **changes})
    assert not diagnosis.findings
    assert [words in note for note in diagnosis.notes] == ([True] if words else [])


def test_each_table_has_its_day_and_its_source():
    for name, table in matrix.tables().items():
        for each in table if isinstance(table, list) else [table]:
            assert each["source"].startswith("https://") and str(each["read"]) >= "2026-11", name


@pytest.mark.parametrize(
    ("name", "capability"),
    [("Tesla T4", "7.5"), ("NVIDIA GeForce RTX 4090", "8.9"), ("NVIDIA H200", "9.0"), ("NVIDIA RTX A6000", "8.6"),
     ("Tesla V100-SXM2-16GB", "7.0"), ("NVIDIA GeForce GTX 1080 Ti", "6.1"), ("NVIDIA A10G", "8.6"), ("Voodoo 2", None),
     ("NVIDIA GeForce RTX 5090", "12.0"), ("Tesla K80", "3.7"), ("NVIDIA L40S", "8.9")],
)  # fmt: skip
def test_capability_of_a_name(name, capability):
    assert matrix.capability_of(name) == capability


# -- the command


def run(*arguments, given=b""):
    return subprocess.run(
        [sys.executable, "-m", "host_to_device", *arguments],
        input=given,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=120,
    )


def test_the_command_reads_standard_input_and_a_file(tmp_path):
    text = "RuntimeError: CUDA out of memory. 메모리".encode("cp949")
    done = run("doctor", "--paste", given=text)
    assert done.returncode == 1 and b"1. The GPU's memory is full" in done.stdout and not done.stderr
    path = tmp_path / "report.txt"
    path.write_bytes(text)
    done = run("doctor", "--paste", str(path), "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["findings"][0]["id"] == "out-of-memory"
    done = run("doctor", "--paste", given=b"hello")
    assert done.returncode == 0 and b"Nothing known" in done.stdout


def test_a_file_that_is_not_there_is_named():
    done = run("doctor", "--paste", "no-such-file")
    assert done.returncode == 2 and b"no-such-file: No such file" in done.stderr


def test_a_closed_pipe_ends_the_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "host_to_device", "doctor", "--paste", os.devnull],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_this_machine_gets_a_report(capsys):
    status = command_line.main(["doctor"])
    said = capsys.readouterr().out
    assert status in (0, 1) and said.startswith("This machine: ")
    assert command_line.main(["doctor", "--json"]) == status
    assert json.loads(capsys.readouterr().out)["snapshot"]["python"]


def test_the_command_is_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"host-to-device": "host_to_device.__main__:main"}
    assert callable(command_line.main)
