"""`h2d.stack`: which libraries a process has loaded, from the program down to the driver, and who brought each.

The kernel of Linux lists the files that a process has mapped in `/proc/PID/maps`; a shared library is one of them from
the moment when it is loaded.
"""

from __future__ import annotations

import mmap
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from host_to_device.diagnosing.gathering import kernel_version, text_of
from host_to_device.inspecting.errors import CannotRead
from host_to_device.inspecting.layers import (
    FRAMEWORK,
    KERNEL,
    LAYERS,
    LIBRARIES,
    MATH,
    MAY_HOLD_THE_RUNTIME,
    OPENED,
    ORDER,
    PROGRAM,
    RUNTIME,
    TEXT_OF_THE_RUNTIME,
    USER,
    row_of,
)
from host_to_device.inspecting.loaded import Loaded, Stack, short
from host_to_device.inspecting.owners import COMPAT, CONDA, DRIVER, PIP, WSL, Owner, owners
from host_to_device.support.installed import REHEARSAL

SYSTEM = Path("/")
NVIDIAS, AMDS, DXG = "/proc/driver/nvidia/version", "/dev/kfd", "/dev/dxg"
MOST_SEARCHED = 64 * 2**20  # bytes of a file in which a text is looked for
NO_PROC = "h2d.stack() reads /proc, which only Linux has, and this machine has none. Call it on Linux, in WSL or on Colab."


def stack(pid: int | None = None) -> Stack:
    """Return which libraries a process has loaded, from the program down to the driver, and who brought each.

    It reads the files that the process has mapped from `/proc/PID/maps`, and the records of pip and conda for who
    installed them. It loads nothing, so call it before and after an import to see what the import loads.

    Parameters
    ----------
    pid
        The number of a process of yours; left out, it is this process.

    Returns
    -------
    Stack
        Printed, it is a text; a notebook shows a picture. `layers` has for each layer a list of (name, version or None,
        path). Without `/proc` (macOS, Windows), it is one line that says so, and its layers are empty.

    Raises
    ------
    ValueError
        If `pid` is not a positive whole number, or if there is no such process, or if it belongs to another user.

    Examples
    --------
    >>> print(h2d.stack())
    Loaded in this process, from the program down to the driver:
    your program
      Python 3...
    kernel-mode driver
      ...
    """
    if pid is not None and (isinstance(pid, bool) or not isinstance(pid, int) or pid < 1):
        raise CannotRead(f"pid is {pid!r}: give the number of a process")
    if not (SYSTEM / "proc/self/maps").exists():
        return Stack("this process", (), {}, (NO_PROC,))
    own = pid is None or pid == os.getpid()
    try:
        # A path may have any bytes.
        maps = (SYSTEM / f"proc/{pid or 'self'}/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except PermissionError:
        raise CannotRead(
            f"process {pid} belongs to another user: give the pid of a process of yours"
        ) from None
    except OSError:
        raise CannotRead(f"there is no process {pid}: `ps` lists the processes that run") from None
    torch: Any = sys.modules.get("torch")
    built = torch.__config__.show() if own and hasattr(torch, "__config__") else ""
    return read(maps, SYSTEM, "" if own else f"process {pid}", built)


def read(maps: str, system: Path = SYSTEM, process: str = "", torch_built: str = "") -> Stack:
    """Return the stack of a process from the text of its `/proc/PID/maps`.

    Parameters
    ----------
    maps
        The text.
    system
        The folder that stands for the root of the file system.
    process
        What the process is called; "" for this process.
    torch_built
        What `torch.__config__.show()` returns in the process; "" where that is not known.
    """
    mapped = list(dict.fromkeys(re.findall(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ +(/.*)$", maps, re.M)))
    replaced = [path.removesuffix(" (deleted)") for path in mapped if path.endswith(" (deleted)")]
    paths = list(dict.fromkeys(path.removesuffix(" (deleted)") for path in mapped))
    loaded = [*_products(paths, system, process), *_linked(paths, system), *_in_torch(paths, torch_built)]
    loaded += _kernel(system)
    if not process:
        loaded = [
            replace(each, version=platform.python_version()) if each.product == "Python" else each
            for each in loaded
        ]
    loaded.sort(key=_place)
    opened = [path for path in paths if OPENED.search(path)]
    return Stack(
        process or "this process",
        tuple(loaded),
        _absent(loaded),
        tuple(_remarks(loaded, replaced, opened)),
    )


def _place(each: Loaded) -> tuple[int, int, bool]:
    """Return the place of a product: by its layer, then by its row of the table."""
    row = ORDER.index(each.product) if each.product in ORDER else len(ORDER)
    return LAYERS.index(each.layer), row, bool(each.inside)


def _products(paths: list[str], system: Path, process: str) -> list[Loaded]:
    """Return the products whose files are mapped, in the order of the table's layers."""
    rows = {path: row for path in paths if (row := row_of(path))}
    if not any(layer == PROGRAM for layer, _ in rows.values()):
        program = next((path for path in paths if not path.startswith(("/dev/", "/memfd:"))), "")
        rows |= {program: (PROGRAM, Path(program).name)} if program else {}
    brought = owners(((layer, path) for path, (layer, _) in rows.items()), system)
    groups: dict[tuple[str, str, Owner], list[str]] = {}
    for path, row in rows.items():
        groups.setdefault((*row, brought[path]), []).append(path)
    found = []
    for (layer, product, owner), files in groups.items():
        files.sort(key=_prominence)
        if product == "CUDA driver" and _is_rehearsal(files[0], system):
            product, owner = REHEARSAL, Owner("this course")
        found.append(Loaded(layer, product, _version(layer, owner, files), tuple(files), owner))
    return found


def _prominence(path: str) -> tuple[bool, bool, int, str]:
    """Return the order of a product's files: the one that says most about the build comes first."""
    name = Path(path).name
    return not re.match("libtorch_(cuda|hip)", name), not name.startswith("libtorch_cpu"), len(name), name


def _version(layer: str, owner: Owner, files: list[str]) -> str | None:
    """Return the version of a product: its package's, or what stands behind ".so." in its file's name."""
    if layer == PROGRAM:
        found = re.search(r"python(\d\.\d+)", files[0])
        return found[1] if found else None
    # A package with a purpose of its own may bring other libraries: numpy brings OpenBLAS.
    if layer == FRAMEWORK or owner.by == CONDA or owner.package.startswith(("nvidia-", "mkl", "rocm")):
        return owner.version or None
    numbers = [found[1] for path in files if (found := re.search(r"\.so\.(\d+(?:\.\d+)*)$", path))]
    longest = max(numbers, key=len, default=None)
    if layer == USER and longest and not re.match(r"\d{3}\.", longest):
        return None  # libcuda.so.1 is the interface's number; the driver's is like 570.86.15
    return longest


def _contains(path: str, text: bytes, system: Path) -> bool:
    """Return whether a file contains a text; False where the file cannot be read or is very large."""
    try:
        with (system / path.lstrip("/")).open("rb") as file:
            if not 0 < os.fstat(file.fileno()).st_size <= MOST_SEARCHED:
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(text) >= 0
    except (OSError, ValueError):
        return False


def _is_rehearsal(path: str, system: Path) -> bool:
    return path.endswith("/libcuda.so.1") and _contains(path, REHEARSAL.encode(), system)


def _linked(paths: list[str], system: Path) -> Iterator[Loaded]:
    """Yield NVIDIA's runtime where it is linked into a module."""
    holders = [path for path in paths if MAY_HOLD_THE_RUNTIME.search(path)]
    brought = owners(((FRAMEWORK, path) for path in holders), system)
    for path in holders:
        row = row_of(path)
        if row and _contains(path, TEXT_OF_THE_RUNTIME, system):
            yield Loaded(RUNTIME, "CUDA runtime", None, (path,), brought[path], row[1])


def _in_torch(paths: list[str], built: str) -> Iterator[Loaded]:
    """Yield the libraries for the CPU that PyTorch says are linked into it."""
    holder = next((path for path in paths if path.endswith("/libtorch_cpu.so")), "")
    for product, pattern in (
        ("oneDNN", r"MKL-DNN v([\d.]+)|oneDNN v([\d.]+)"),
        ("MKL", r"oneAPI Math Kernel Library Version ([\d.]+)"),
    ):
        found = re.search(pattern, built)
        linked = not any(f"/lib{name}" in path for path in paths for name in ("mkl_", "dnnl"))
        if holder and found and linked:
            yield Loaded(
                MATH, product, found[found.lastindex or 1], (holder,), Owner(PIP, "torch"), "PyTorch"
            )


def _kernel(system: Path) -> Iterator[Loaded]:
    """Yield the driver in the machine's kernel, which all processes share."""
    if text := text_of(system / NVIDIAS.lstrip("/")):
        yield Loaded(KERNEL, "nvidia", kernel_version(text) or None, (NVIDIAS,), Owner(DRIVER))
    elif (system / DXG.lstrip("/")).exists():
        yield Loaded(KERNEL, "dxgkrnl", None, (DXG,), Owner(WSL))
    elif (system / AMDS.lstrip("/")).exists():
        version = text_of(system / "sys/module/amdgpu/version").strip()
        yield Loaded(KERNEL, "amdgpu", version or None, (AMDS,), Owner(DRIVER))


def _absent(loaded: list[Loaded]) -> dict[str, str]:
    """Return for each empty layer why it is empty, as far as the other layers tell."""
    products = {each.product for each in loaded}
    for_cpu = "PyTorch" in products and not any(
        re.search("_(cuda|hip)", Path(path).name) for each in loaded for path in each.files
    )
    others = products & {"CuPy", "numba-cuda", "cuda-bindings", "JAX", "TensorFlow"}
    if for_cpu and not others:
        below = "none: this PyTorch is built for the CPU"
    elif products & {"PyTorch", *others}:
        below = "none yet: a library is loaded when it is first used"
    else:
        below = "none: no framework has loaded one"
    driver = any(each.layer == KERNEL for each in loaded)
    reasons = {
        PROGRAM: "not known",
        FRAMEWORK: "none: neither PyTorch, CuPy nor Numba is loaded",
        MATH: "none in a file of its own" if "PyTorch" in products else "none is loaded",
        LIBRARIES: below,
        RUNTIME: below,
        USER: "not loaded: the process has not called CUDA yet"
        if driver
        else "not loaded: this machine has no GPU driver",
        KERNEL: f"none: this machine has no {NVIDIAS}",
    }
    present = {each.layer for each in loaded}
    return {layer: reason for layer, reason in reasons.items() if layer not in present}


def _remarks(loaded: list[Loaded], replaced: list[str], opened: list[str]) -> Iterator[str]:
    """Yield what stands out."""
    user = next((each for each in loaded if each.layer == USER and each.product == "CUDA driver"), None)
    kernel = next((each for each in loaded if each.layer == KERNEL), None)
    if any(each.product == REHEARSAL for each in loaded):
        yield "The driver is the course's rehearsal: it computes on the CPU, without a GPU."
    if user and kernel and user.version and kernel.version and user.version != kernel.version:
        said = f"The user-mode driver has version {user.version}, the kernel-mode driver {kernel.version}"
        yield (
            f"{said}: cuda-compat brings the newer one."
            if user.owner.by == COMPAT
            else f"{said}. They have to be the same: restart the machine."
        )
    for product, copies in _several(loaded):
        yield f"{product} is loaded {copies} times, from different packages."
    if replaced:
        yield f"Replaced or deleted on disk since they were loaded: {short(replaced)}. Restart Python."
    if opened:
        yield f"The process has opened {', '.join(opened)}: it uses the GPU."


def _several(loaded: Iterable[Loaded]) -> list[tuple[str, int]]:
    """Return the products of which the process has more than one copy, with how many."""
    copies: dict[str, int] = {}
    for each in loaded:
        if each.layer in (LIBRARIES, RUNTIME, USER) and not each.inside:
            copies[each.product] = copies.get(each.product, 0) + 1
    return [(product, number) for product, number in copies.items() if number > 1]
