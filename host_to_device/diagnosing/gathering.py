"""A snapshot of this machine as plain data: the driver, its files, toolkits, environment and installed packages.

Nothing here imports PyTorch, CuPy or Numba, and nothing starts CUDA. Each probe has a time limit, and a probe that
fails leaves its field empty: gathering never raises.
"""

from __future__ import annotations

import ctypes.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from host_to_device.diagnosing import compatibility, machine_code
from host_to_device.diagnosing.facts import Fact, Facts, derive, take_cupy
from host_to_device.diagnosing.facts import read as read_facts

SECONDS = 10  # for one command
MOST_CHARACTERS = 20_000  # of a command's output
VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "NUMBA_ENABLE_CUDASIM",
    "NVIDIA_VISIBLE_DEVICES",
    "CONDA_PREFIX",
)
DISTRIBUTIONS = re.compile(
    r"(torch|torchvision|torchaudio|numpy|numba|numba-cuda|numba-cuda-mlir|triton|tensorflow|jax|jaxlib|cupy(-cuda\d+x?)?"
    r"|nvidia-.+|cuda-(bindings|core|toolkit|pathfinder))",
    re.IGNORECASE,
)
# The libraries that have the GPU code of PyTorch and CuPy.
TORCH_CODE = re.compile(r"/torch/lib/[^/]*torch_cuda[^/]*\.(so|dll)$")
CUPY_CODE = re.compile(r"/cupy/.+\.(so|pyd)$")
SECONDS_FOR_CODE = 1  # for one package: as a rule a quarter of a second, from a cold disk a second
SYSTEM = Path("/")


def gather(system: Path = SYSTEM) -> dict[str, Any]:
    """Return what this machine is, as strings, numbers, lists and dicts.

    Parameters
    ----------
    system
        The folder that stands for the root of the file system.
    """
    probes: dict[str, Callable[[], Any]] = {
        "platform": lambda: {"Darwin": "mac", "Windows": "windows"}.get(platform.system(), "linux"),
        "machine": platform.machine,
        "python": platform.python_version,
        "executable": lambda: sys.executable,
        "kernel_driver": lambda: text_of(system / "proc/driver/nvidia/version"),
        "modules_loaded": lambda: "nvidia " in text_of(system / "proc/modules"),
        "nodes": lambda: nodes(system / "dev"),
        "pci_gpus": lambda: pci_gpus(system / "sys/bus/pci/devices"),
        "libcuda": lambda: ctypes.util.find_library("nvcuda" if sys.platform == "win32" else "cuda"),
        "nvidia_smi": nvidia_smi,
        "capabilities": lambda: output(
            "nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"
        ).split(),
        "toolkits": lambda: toolkits(system),
        "environment": lambda: {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "distributions": distributions,
        "torch": torch_build,
        "wsl": lambda: wsl(system),
        "linux_driver_in_wsl": lambda: [
            str(path) for path in (system / "usr/lib").glob("*-linux-gnu/libnvidia-ml.so.*")
        ][:3],
        "container": lambda: container(system),
    }
    found = {name: attempted(probe) for name, probe in probes.items()}
    if found["capabilities"]:  # beside a GPU
        found["code"] = attempted(lambda: gpu_code(found["distributions"] or {}, found["torch"] or {}))
    return found


def attempted(probe: Callable[[], Any]) -> Any:
    """Return what a probe finds, or None if it fails, whatever it fails with."""
    try:
        return probe()
    except Exception:
        return None


def text_of(path: Path) -> str:
    """Return a small file as text; nothing where it is not there."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_CHARACTERS).decode("utf-8", errors="replace")
    except OSError:
        return ""


def output(*command: str) -> str:
    """Return what a command prints, on both its streams; nothing where it is missing or takes too long."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout[:MOST_CHARACTERS].decode("utf-8", errors="replace")


def kernel_version(text: str) -> str:
    """Return the version of NVIDIA's kernel-mode driver from /proc/driver/nvidia/version; "" if the text has none."""
    found = re.search(r"NVRM version: .{0,80}?\b(\d{3}\.[\d.]+)", text)
    return found[1] if found else ""


def nvidia_smi() -> str:
    """Return what nvidia-smi prints; in WSL it may stand outside the path."""
    return output("nvidia-smi") or output("/usr/lib/wsl/lib/nvidia-smi")


def nodes(folder: Path) -> list[dict[str, Any]]:
    """Return the device nodes of NVIDIA's driver and of WSL, each with its mode and whether this user may open it."""
    found = []
    for path in [*sorted(folder.glob("nvidia*")), folder / "dxg"]:
        if not path.exists() or path.is_dir():
            continue
        usable = os.access(path, os.R_OK | os.W_OK)
        found.append({"path": str(path), "mode": oct(path.stat().st_mode & 0o777), "usable": usable})
    return found


def pci_gpus(folder: Path) -> int:
    """Return how many display controllers of NVIDIA the PCI bus has."""
    return sum(
        text_of(each / "vendor").strip() == "0x10de" and text_of(each / "class").startswith("0x03")
        for each in folder.iterdir()
    )


def toolkits(system: Path) -> list[dict[str, str]]:
    """Return the CUDA toolkits of this machine: the path and the version of each."""
    named = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    folders = [Path(name) for name in named if name] + sorted((system / "usr/local").glob("cuda*"))
    nvccs = [folder / "bin" / "nvcc" for folder in folders]
    on_path = shutil.which("nvcc")
    found: dict[Path, dict[str, str]] = {}
    for nvcc in [*([Path(on_path)] if on_path else []), *nvccs]:
        if nvcc.is_file() and (real := nvcc.resolve()) not in found:
            said = re.search(r"release (\d{1,2}\.\d)", output(str(nvcc), "--version"))
            found[real] = {"path": str(nvcc), "version": said[1] if said else ""}
    return list(found.values())


def distributions() -> dict[str, str]:
    """Return the installed packages that have to do with GPUs, by their names."""
    found = {}
    for each in metadata.distributions():
        name = each.metadata["Name"] or ""
        if DISTRIBUTIONS.fullmatch(name):
            found[name.lower().replace("_", "-")] = each.version
    return dict(sorted(found.items()))


def torch_build() -> dict[str, str]:
    """Return what the installed PyTorch was built for, from its file version.py, without importing it."""
    for file in metadata.distribution("torch").files or ():
        if str(file) == "torch/version.py":
            content = text_of(Path(str(file.locate())))
            pairs = re.findall(r"^(\w+)[^=\n]{0,60}= '([^'\n]{1,60})'", content, re.MULTILINE)
            return {name: value for name, value in pairs if name in ("__version__", "cuda", "hip")}
    return {}


def gpu_code(installed: dict[str, str], torch: dict[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return the compute capabilities with machine code and with PTX in the installed PyTorch and CuPy.

    Parameters
    ----------
    installed
        The versions of the packages, by name.
    torch
        What the installed PyTorch was built for.
    """
    wanted = []
    if torch.get("cuda"):
        wanted.append(("torch", torch["__version__"].partition("+")[0], torch["cuda"], TORCH_CODE))
    cupys = [name for name in installed if name.startswith("cupy-cuda")]
    if len(cupys) == 1:
        wanted.append((cupys[0], installed[cupys[0]], "", CUPY_CODE))
    found = {}
    for name, version, cuda, libraries in wanted:
        code = attempted(partial(code_of, name, version, cuda, libraries))
        if code and (code.sass or code.ptx):
            found[name] = {"sass": list(code.sass), "ptx": list(code.ptx)}
    return found


def code_of(
    name: str, version: str, cuda: str, libraries: re.Pattern[str]
) -> machine_code.Wheel | machine_code.Code:
    """Return the code of an installed package: what is stored of its wheel, otherwise what its libraries have.

    To read PyTorch's libraries takes a quarter of a second, and more than a second where no part of the file is in
    memory yet; to ask PyTorch itself means to import it.
    """
    for wheel in machine_code.known_wheels():
        if (wheel.name, wheel.version) == (name, version) and cuda in ("", wheel.cuda):
            return wheel
    return machine_code.of_package(name, libraries, SECONDS_FOR_CODE)


def wsl(system: Path) -> dict[str, Any]:
    """Return what tells WSL: its kernel, its device and its libraries; nothing elsewhere."""
    kernel = text_of(system / "proc/version")
    if "microsoft" not in kernel.lower():
        return {}
    return {
        "kernel": kernel.strip()[:120],
        "dxg": (system / "dev/dxg").exists(),
        "libraries": (system / "usr/lib/wsl/lib/libcuda.so.1").exists(),
    }


def container(system: Path) -> str:
    """Return by what a container is recognised; nothing outside of one."""
    for name in (".dockerenv", "run/.containerenv"):
        if (system / name).exists():
            return f"/{name}"
    found = re.search(
        r"\b(?:docker|kubepods|containerd|lxc|libpod)\b[^\n]{0,60}", text_of(system / "proc/1/cgroup")
    )
    return found[0] if found else ""


def facts_of(snapshot: dict[str, Any]) -> Facts:
    """Return the facts of a snapshot, by the names that rules use."""
    facts: Facts = {
        name: fact for name, fact in read_facts(snapshot.get("nvidia_smi") or "").items() if name != "pasted"
    }

    def take(name: str, value: object, words: str) -> None:
        if value:
            facts.setdefault(name, Fact(str(value), words))

    take("platform", snapshot.get("platform"), f"this machine: {snapshot.get('platform')}")
    take("pip", snapshot.get("executable") and f"{snapshot['executable']} -m pip", "")
    if kernel := kernel_version(snapshot.get("kernel_driver") or ""):
        take("kernel_driver", kernel, f"/proc/driver/nvidia/version: {kernel}")
        take("driver", kernel, f"/proc/driver/nvidia/version: {kernel}")
    if kernel or snapshot.get("modules_loaded"):
        take("driver_loaded", "yes", "the kernel module nvidia is loaded")
    if snapshot.get("libcuda"):
        take("driver_files", 1, f"the library {snapshot['libcuda']} is installed")
    count = snapshot.get("pci_gpus")
    take("pci_gpus", count, f"{count} NVIDIA GPU{'s' if count != 1 else ''} on the PCI bus")
    _nodes(snapshot.get("nodes") or [], take)
    take("container", snapshot.get("container"), f"a container ({snapshot.get('container')})")
    if snapshot.get("wsl"):
        take("wsl", "yes", snapshot["wsl"]["kernel"])
        take("wsl_libraries", snapshot["wsl"].get("libraries") and "yes", "/usr/lib/wsl/lib/libcuda.so.1")
        paths = snapshot.get("linux_driver_in_wsl") or []
        take("linux_driver_in_wsl", len(paths), ", ".join(paths))
    _environment(snapshot.get("environment") or {}, take)
    for toolkit in (snapshot.get("toolkits") or [])[:1]:
        take("toolkit", toolkit["version"], f"{toolkit['path']}: CUDA {toolkit['version']}")
    _distributions(snapshot, take)
    for capability in (snapshot.get("capabilities") or [])[:1]:
        if re.fullmatch(r"\d{1,2}\.\d", capability):
            facts["capability"] = Fact(capability, f"compute capability {capability}")
    derive(facts)
    return facts


def _nodes(found: list[dict[str, Any]], take: Callable[[str, object, str], None]) -> None:
    cards = [node for node in found if re.search(r"nvidia\d+$", node["path"])]
    closed = [node for node in found if not node["usable"] and "nvidia" in node["path"]]
    take("nodes", len(cards), ", ".join(node["path"] for node in cards))
    take("nodes_closed", len(closed), ", ".join(f"{node['path']} ({node['mode']})" for node in closed))


def _environment(variables: dict[str, str], take: Callable[[str, object, str], None]) -> None:
    visible = variables.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1", "none", "NoDevFiles"):
        take("visible_none", "yes", f"CUDA_VISIBLE_DEVICES={visible!r}")
    searched = variables.get("LD_LIBRARY_PATH", "")
    folders = [each for each in searched.split(":") if re.search(r"cuda|cudnn", each) and "wsl" not in each]
    take("searched_toolkits", ":".join(folders), f"LD_LIBRARY_PATH={searched}"[:160])
    simulator = variables.get("NUMBA_ENABLE_CUDASIM", "0")
    if simulator not in ("", "0"):
        take("cudasim", simulator, f"NUMBA_ENABLE_CUDASIM={simulator}")


def _distributions(snapshot: dict[str, Any], take: Callable[[str, object, str], None]) -> None:
    installed: dict[str, str] = snapshot.get("distributions") or {}
    build = snapshot.get("torch") or {}
    version = build.get("__version__") or installed.get("torch")
    if version:
        words = f"torch {version}"
        take("torch", version, words)
        take("torch_cuda", build.get("cuda"), f"{words}, built for CUDA {build.get('cuda')}")
        kind = "cuda" if build.get("cuda") else "rocm" if build.get("hip") else "cpu" if build else ""
        take("torch_kind", kind, f"{words}, built for {'the CPU' if kind == 'cpu' else kind}")
    for name, has in (snapshot.get("code") or {}).items():
        code = machine_code.Code(name, tuple(has["sass"]), tuple(has["ptx"]))
        oldest, newest = compatibility.reach(code) or ("", "")
        take(f"{name.partition('-')[0]}_oldest_card", oldest, str(code))
        take(f"{name.partition('-')[0]}_newest_card", newest, str(code))
    for name in ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc", "nvidia-cuda-nvrtc"):
        if release := re.match(r"\d{2}\.\d", installed.get(name, "")):
            take("ptx_maker", release[0], f"{name} {installed[name]}")
    for name in ("torchvision", "torchaudio", "numpy", "numba", "numba-cuda", "triton", "tensorflow"):
        take(name.replace("-", "_"), installed.get(name), f"{name} {installed.get(name)}")
    take_cupy(
        {name: f"{name} {number}" for name, number in installed.items() if name.startswith("cupy")}, take
    )
    for major in ("11", "12"):
        name = f"nvidia-cuda-nvrtc-cu{major}"
        take(f"libraries_{major}", installed.get(name), f"{name} {installed.get(name)}")
    if (installed.get("nvidia-cuda-nvrtc") or "").startswith("13"):
        take("libraries_13", "yes", f"nvidia-cuda-nvrtc {installed['nvidia-cuda-nvrtc']}")
