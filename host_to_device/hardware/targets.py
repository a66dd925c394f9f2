"""Compile targets by their names: turns "9.0", "H100" or "gfx942" into what a compiler calls that architecture.

Targets and GPUs come from the tables of `gpus`. The tables below add further ones, which need no figures. Sources:
NVIDIA, "CUDA GPU Compute Capability"; LLVM, "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace

from host_to_device.hardware import gpus
from host_to_device.support.messages import OneLine


class UnknownTarget(OneLine, ValueError):
    """No compile target has this name, or it is the other vendor's.

    Attributes
    ----------
    found
        The other vendor's target, where the name is one of its names; else None.
    """

    def __init__(self, message: str, found: Target | None = None) -> None:
        super().__init__(message)
        self.found = found


@dataclass(frozen=True)
class Target:
    """An architecture that a compiler makes code for.

    Attributes
    ----------
    name
        The compiler's name: 'sm_90', 'gfx942'.
    vendor
        'NVIDIA' or 'AMD'.
    family
        The vendor's name: 'Hopper', 'CDNA 3'.
    """

    name: str
    vendor: str
    family: str

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability of an NVIDIA target: (9, 0) for sm_90 and sm_90a."""
        digits = re.sub(r"\D", "", self.name)
        return int(digits[:-1]), int(digits[-1])

    def __str__(self) -> str:
        return self.name


ALL = {
    each.name: each
    for each in (
        *(Target(each.target, each.vendor, each.family) for each in gpus.ARCHITECTURES),
        Target("sm_50", "NVIDIA", "Maxwell"),
        Target("sm_52", "NVIDIA", "Maxwell"),
        Target("sm_60", "NVIDIA", "Pascal"),
        Target("sm_61", "NVIDIA", "Pascal"),
        Target("sm_87", "NVIDIA", "Ampere"),
        Target("sm_103", "NVIDIA", "Blackwell"),
        Target("sm_110", "NVIDIA", "Blackwell"),
        Target("sm_121", "NVIDIA", "Blackwell"),
        Target("gfx900", "AMD", "GCN 5"),
        Target("gfx906", "AMD", "GCN 5"),
        Target("gfx908", "AMD", "CDNA"),
        Target("gfx950", "AMD", "CDNA 4"),
        Target("gfx1030", "AMD", "RDNA 2"),
        Target("gfx1101", "AMD", "RDNA 3"),
        Target("gfx1200", "AMD", "RDNA 4"),
        Target("gfx1201", "AMD", "RDNA 4"),
    )
}
FURTHER_GPUS = {
    **{"GTX 750 Ti": "sm_50", "GTX 980": "sm_52", "P100": "sm_60", "GTX 1080": "sm_61", "P4": "sm_61"},
    **{"RTX 2080": "sm_75", "A30": "sm_80", "RTX 3090": "sm_86", "Jetson Orin": "sm_87", "L40": "sm_89"},
    **{"GH200": "sm_90", "GB200": "sm_100", "B300": "sm_103", "Jetson Thor": "sm_110"},
    **{"RTX 5090": "sm_120", "DGX Spark": "sm_121"},
    **{"MI25": "gfx900", "MI50": "gfx906", "MI60": "gfx906", "MI100": "gfx908", "MI210": "gfx90a"},
    **{"MI300A": "gfx942", "MI350X": "gfx950", "MI355X": "gfx950", "RX 6800": "gfx1030"},
    **{"RX 6900 XT": "gfx1030", "RX 7800 XT": "gfx1101", "RX 9060 XT": "gfx1200", "RX 9070 XT": "gfx1201"},
}
# Variants with instructions that only one family has: sm_90a for wgmma.
SUFFIXED = re.compile(r"(sm_(?:90|1\d\d))([af])")

DEFAULT = {"NVIDIA": "sm_90", "AMD": "gfx942"}


def _plain(text: str) -> str:
    return re.sub(r"[\s_.-]", "", text.lower())


BY_GPU = {
    **{_plain(name): gpu.architecture.target for gpu in gpus.GPUS for name in (gpu.name, *gpu.aliases)},
    **{_plain(name): target for name, target in FURTHER_GPUS.items()},
}


def find(arch: object, vendor: str) -> Target:
    """Return a compile target by its name, its compute capability or the name of a GPU.

    Parameters
    ----------
    arch
        'sm_90', 'compute_90', '9.0', (9, 0), 'H100', 'gfx942', 'MI300X'; None for sm_90 or gfx942.
    vendor
        The vendor that it has to be of: 'NVIDIA' or 'AMD'.

    Raises
    ------
    UnknownTarget
        No target has this name, or it is the other vendor's.
    """
    given = DEFAULT[vendor] if arch is None else arch
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(each, int) for each in given):
        given = f"sm_{given[0]}{given[1]}"
    if not isinstance(given, str):
        raise UnknownTarget(f"arch is {arch!r}: give a name such as {_examples(vendor)}")
    found = _look_up(given.strip())
    if found is None:
        near = difflib.get_close_matches(given.lower(), [*ALL, *BY_GPU], 1, 0.7)
        near = [BY_GPU.get(name, name) for name in near]
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise UnknownTarget(
            f"there is no architecture {given!r}: {meant}Names are such as {_examples(vendor)}"
        )
    if found.vendor != vendor:
        code = "GCN is" if vendor == "AMD" else "PTX and SASS are"
        raise UnknownTarget(
            f"{found} is {found.vendor} ({found.family}), and {code} code for {vendor} GPUs: give {_examples(vendor)}",
            found,
        )
    return found


def _look_up(given: str) -> Target | None:
    name = re.sub(r"^(compute_|cc\s*)", "sm_", given.lower())
    if re.fullmatch(r"\d+\.\d", name):
        name = f"sm_{name.replace('.', '')}"
    elif re.fullmatch(r"\d{2,3}[af]?", name):
        name = f"sm_{name}"
    elif re.fullmatch(r"sm\d+[af]?", name):
        name = f"sm_{name[2:]}"
    if match := SUFFIXED.fullmatch(name):
        base = ALL.get(match.group(1))
        return base and replace(base, name=name)
    return ALL.get(name) or ALL.get(BY_GPU.get(_plain(given), ""))


def _examples(vendor: str) -> str:
    return "'sm_75', 'sm_90' or 'H100'" if vendor == "NVIDIA" else "'gfx90a', 'gfx942' or 'MI300X'"
