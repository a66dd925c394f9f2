"""Names of GPU architectures: what a compiler is asked to compile for.

NVIDIA's are compute capabilities (CUDA C++ Programming Guide, "Compute Capabilities"; the GPUs of each: NVIDIA,
"CUDA GPU Compute Capability"), AMD's are the processors of LLVM's "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from host_to_device.inspecting.errors import CannotShow


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    Attributes
    ----------
    name
        As compilers have it: 'sm_90', 'gfx942'.
    vendor
        'NVIDIA' or 'AMD'.
    generation
        What the vendor calls it.
    gpus
        Some GPUs that have it.
    """

    name: str
    vendor: str
    generation: str
    gpus: tuple[str, ...]

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability of one of NVIDIA's: (9, 0) for sm_90 and sm_90a."""
        digits = re.sub(r"\D", "", self.name)
        return int(digits[:-1]), int(digits[-1])

    def __str__(self) -> str:
        return self.name


NVIDIA = (
    ("sm_50", "Maxwell", "GTX 750 Ti"),
    ("sm_52", "Maxwell", "GTX 980"),
    ("sm_60", "Pascal", "P100"),
    ("sm_61", "Pascal", "GTX 1080", "P4"),
    ("sm_70", "Volta", "V100"),
    ("sm_75", "Turing", "T4", "RTX 2080"),
    ("sm_80", "Ampere", "A100", "A30"),
    ("sm_86", "Ampere", "A10", "RTX 3060 Ti", "RTX 3090"),
    ("sm_87", "Ampere", "Jetson Orin"),
    ("sm_89", "Ada Lovelace", "L4", "RTX 4090", "L40"),
    ("sm_90", "Hopper", "H100", "H200", "GH200"),
    ("sm_100", "Blackwell", "B200", "GB200"),
    ("sm_103", "Blackwell", "B300"),
    ("sm_110", "Blackwell", "Jetson Thor"),
    ("sm_120", "Blackwell", "RTX PRO 6000 Blackwell", "RTX 5090"),
    ("sm_121", "Blackwell", "DGX Spark"),
)
AMD = (
    ("gfx900", "GCN 5", "MI25"),
    ("gfx906", "GCN 5", "MI50", "MI60"),
    ("gfx908", "CDNA", "MI100"),
    ("gfx90a", "CDNA 2", "MI210", "MI250X"),
    ("gfx942", "CDNA 3", "MI300A", "MI300X"),
    ("gfx950", "CDNA 4", "MI350X", "MI355X"),
    ("gfx1030", "RDNA 2", "RX 6800", "RX 6900 XT"),
    ("gfx1100", "RDNA 3", "RX 7900 XTX"),
    ("gfx1101", "RDNA 3", "RX 7800 XT"),
    ("gfx1200", "RDNA 4", "RX 9060 XT"),
    ("gfx1201", "RDNA 4", "RX 9070 XT"),
)
ALL = {
    name: Architecture(name, vendor, generation, tuple(gpus))
    for vendor, table in (("NVIDIA", NVIDIA), ("AMD", AMD))
    for name, generation, *gpus in table
}
# Variants with instructions that only their own generation has: sm_90a for wgmma.
SUFFIXED = re.compile(r"(sm_(?:90|1\d\d))([af])")

DEFAULT = {"NVIDIA": "sm_90", "AMD": "gfx942"}


def _plain(text: str) -> str:
    return re.sub(r"[\s_.-]", "", text.lower())


BY_GPU = {_plain(gpu): each for each in ALL.values() for gpu in each.gpus}


def find(arch: object, vendor: str) -> Architecture:
    """Return an architecture by its name, its compute capability or the name of a GPU.

    Parameters
    ----------
    arch
        'sm_90', 'compute_90', '9.0', (9, 0), 'H100', 'gfx942', 'MI300X'; None for sm_90 or gfx942.
    vendor
        Whose it has to be: 'NVIDIA' or 'AMD'.

    Raises
    ------
    CannotShow
        If there is no such architecture, or if it is the other vendor's.
    """
    given = DEFAULT[vendor] if arch is None else arch
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(each, int) for each in given):
        given = f"sm_{given[0]}{given[1]}"
    if not isinstance(given, str):
        raise CannotShow(f"arch is {arch!r}: give a name such as {_examples(vendor)}")
    found = _look_up(given.strip())
    if found is None:
        near = difflib.get_close_matches(given.lower(), [*ALL, *BY_GPU], 1, 0.7)
        near = [BY_GPU[name].name if name in BY_GPU else name for name in near]
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise CannotShow(f"there is no architecture {given!r}: {meant}Names are such as {_examples(vendor)}")
    if found.vendor != vendor:
        instead = "what='gcn' is AMD's" if vendor == "AMD" else "PTX and SASS are NVIDIA's"
        raise CannotShow(
            f"{found} is an architecture of {found.vendor}'s ({found.generation}), and {instead}: "
            f"give {_examples(vendor)}"
        )
    return found


def _look_up(given: str) -> Architecture | None:
    name = re.sub(r"^(compute_|cc\s*)", "sm_", given.lower())
    if re.fullmatch(r"\d+\.\d", name):
        name = f"sm_{name.replace('.', '')}"
    elif re.fullmatch(r"\d{2,3}[af]?", name):
        name = f"sm_{name}"
    elif re.fullmatch(r"sm\d+[af]?", name):
        name = f"sm_{name[2:]}"
    if match := SUFFIXED.fullmatch(name):
        base = ALL.get(match.group(1))
        return base and Architecture(name, base.vendor, base.generation, base.gpus)
    return ALL.get(name) or BY_GPU.get(_plain(given))


def _examples(vendor: str) -> str:
    return "'sm_75', 'sm_90' or 'H100'" if vendor == "NVIDIA" else "'gfx90a', 'gfx942' or 'MI300X'"
