"""The lines that say what was read: of this machine, and of a pasted text."""

from __future__ import annotations

import platform
import textwrap
from typing import Any

from host_to_device.diagnosing import matrix
from host_to_device.diagnosing.facts import Facts
from host_to_device.diagnosing.machine_code import Code

COLUMN = 12
# What a text states, in the words of the report.
STATED = {
    "driver": "driver",
    "driver_cuda": "the driver's newest CUDA",
    "gpu_name": "GPU",
    "capability": "compute capability",
    "torch": "PyTorch",
    "torch_cuda": "PyTorch's CUDA",
    "toolkit": "toolkit",
    "numpy": "NumPy",
    "numba": "Numba",
    "numba_cuda": "numba-cuda",
}
NEWER_DRIVER = "Driver {driver} is newer than the doctor's table of {day}. What it adds is not known yet; it runs what older drivers run."
NEWER_TORCH = (
    "PyTorch {torch} is newer than the doctor's table. Which GPUs its builds have code for is not known yet."
)


def stated(facts: Facts) -> dict[str, str]:
    """Return the facts of the report by their names."""
    return {name: facts[name].value for name in STATED if name in facts}


def of_paste(facts: Facts) -> tuple[str, ...]:
    """Return one line with what a text states of its machine, or none."""
    found = [f"{STATED[name]} {value}" for name, value in stated(facts).items()]
    return tuple(textwrap.wrap(f"The text states: {'; '.join(found)}.", 100)) if found else ()


def of_machine(snapshot: dict[str, Any], facts: Facts) -> tuple[str, ...]:
    """Return what this machine has, one layer a line, from the driver up."""
    installed = snapshot.get("distributions") or {}
    rows = {
        "driver": _driver(facts, snapshot),
        "GPU": _gpu(facts),
        "toolkit": "; ".join(
            f"{each['path']}, CUDA {each['version'] or '?'}" for each in snapshot.get("toolkits") or []
        )
        or "none (the Python packages bring the parts that they use)",
        "PyTorch": _torch(facts),
        "CuPy": ", ".join(
            _cupy(name, number) for name, number in installed.items() if name.startswith("cupy")
        )
        or "none",
        "GPU code": "; ".join(
            str(Code(name, tuple(has["sass"]), tuple(has["ptx"])))
            for name, has in (snapshot.get("code") or {}).items()
        ),
        "numba-cuda": ", ".join(
            f"{name} {installed[name]}" for name in ("numba-cuda", "numba-cuda-mlir") if name in installed
        )
        or "none",
        "NumPy": installed.get("numpy", "none"),
        "where": _where(facts),
        "environment": ", ".join(
            f"{name}={value}"[:80] for name, value in (snapshot.get("environment") or {}).items()
        )
        or "no variable of CUDA is set",
    }
    head = f"This machine: {platform.system()} {snapshot.get('machine')}, Python {snapshot.get('python')}"
    return (head, *(f"  {name:<{COLUMN}}{value}" for name, value in rows.items() if value))


def _driver(facts: Facts, snapshot: dict[str, Any]) -> str:
    if "driver" in facts:
        cuda = f", up to CUDA {facts['driver_cuda'].value}" if "driver_cuda" in facts else ""
        return f"{facts['driver'].value}{cuda}"
    if snapshot.get("libcuda"):
        return f"{snapshot['libcuda']} is installed, but no kernel module runs"
    return "none"


def _gpu(facts: Facts) -> str:
    if "gpu_name" in facts:
        more = f" (of {facts['gpus'].value})" if facts["gpus"].value != "1" else ""
        capability = f", compute capability {facts['capability'].value}" if "capability" in facts else ""
        return f"{facts['gpu_name'].value}{more}{capability}"
    return facts["pci_gpus"].words if "pci_gpus" in facts else "no NVIDIA GPU"


def _torch(facts: Facts) -> str:
    if "torch" not in facts:
        return "none"
    kind = facts["torch_kind"].value if "torch_kind" in facts else ""
    built = {"cpu": ", built for the CPU", "rocm": ", built for AMD's GPUs"}.get(kind, "")
    if "torch_cuda" in facts:
        needs = (
            f", which needs driver {facts['torch_min_driver'].value} or newer"
            if "torch_min_driver" in facts
            else ""
        )
        built = f", built for CUDA {facts['torch_cuda'].value}{needs}"
        wheel = matrix.wheels().get(f"torch=={facts['torch'].value.partition('+')[0]}", {})
        if wheel.get("cudnn"):
            built += f"; its wheel on PyPI asks for cuDNN {wheel['cudnn']}, Triton {wheel['triton']}"
    return facts["torch"].value + built


def _cupy(name: str, number: str) -> str:
    major = name.partition("cuda")[2].rstrip("x")
    lowest = matrix.lowest_driver(major)
    needs = f", built for CUDA {major}, which needs driver {lowest} or newer" if lowest else ""
    return f"{name} {number}{needs}"


def _where(facts: Facts) -> str:
    places = [words for name, words in (("wsl", "WSL"), ("container", "a container")) if name in facts]
    return " and ".join(places) or "neither WSL nor a container"


def verdict(facts: Facts) -> str:
    """Return what a machine without findings can do."""
    if "gpus" in facts or "nodes" in facts:
        return "Nothing known is wrong here. The first cell of a notebook, h2d.start(), tries the GPU."
    return "No NVIDIA GPU: the stand-ins run the kernels on the CPU. Nothing needs to be repaired."


def _same_major(one: str, two: str) -> bool:
    return one.partition(".")[0] == two.partition(".")[0]


def notes(facts: Facts) -> tuple[str, ...]:
    """Return what the tables do not know yet, and what may matter and is no fault by itself."""
    found = []
    driver = facts.get("driver")
    if driver and matrix.numbers(driver.value)[:1] > matrix.numbers(matrix.newest_known_driver())[:1]:
        day = matrix.tables()["driver_of_cuda"]["read"]
        found.append(NEWER_DRIVER.format(driver=driver.value, day=day))
    maker, newest = facts.get("ptx_maker"), facts.get("driver_cuda")
    if (
        maker
        and newest
        and _same_major(maker.value, newest.value)
        and matrix.numbers(maker.value) > matrix.numbers(newest.value)
    ):
        found.append(
            f"{maker.words} makes PTX of CUDA {maker.value}, and this driver compiles PTX up to CUDA {newest.value}. If a "
            f'kernel fails with "unsupported toolchain", install the packages of CUDA {newest.value} or a newer driver.'
        )
    if "searched_toolkits" in facts and "torch_cuda" in facts:
        found.append(
            f"LD_LIBRARY_PATH names {facts['searched_toolkits'].value}: its libraries come before those that PyTorch "
            "brings. If an import ends with an undefined symbol, unset it."
        )
    torch = facts.get("torch")
    unknown = "torch_oldest_card" not in facts
    if (
        torch
        and unknown
        and matrix.numbers(torch.value)[:2] > matrix.numbers(matrix.newest_known_torch())[:2]
    ):
        found.append(NEWER_TORCH.format(torch=torch.value))
    return tuple(found)
