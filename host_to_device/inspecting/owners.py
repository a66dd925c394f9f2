"""Who brought a file: pip, conda, the driver's package, a CUDA toolkit; by the records of packages and by its path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from host_to_device.inspecting.layers import USER

PIP, CONDA, SYSTEM, TOOLKIT, ROCM = "pip", "conda", "the system", "a CUDA toolkit", "ROCm"
DRIVER, COMPAT, WSL = "the driver package", "cuda-compat", "Windows' driver"
SITE = re.compile(r"(.*/(?:site|dist)-packages)/(.+)")


class Owner(NamedTuple):
    """Who brought a file.

    Attributes
    ----------
    by
        Who: "pip", "conda", "the driver package", "the system" and so on.
    package, version
        The package and its version; "" where only the place is known.
    """

    by: str
    package: str = ""
    version: str = ""

    def __str__(self) -> str:
        return f"{self.by}: {self.package}" if self.package else self.by


def owners(files: Iterable[tuple[str, str]], system: Path) -> dict[str, Owner]:
    """Return the owners of files by path.

    Parameters
    ----------
    files
        The layer and the path of each file.
    system
        The folder that stands for the root of the file system.
    """
    found = {path: by_place(layer, path) for layer, path in files}
    by_folder: dict[str, dict[str, str]] = {}
    for path in found:
        if inside := SITE.fullmatch(path):
            by_folder.setdefault(inside[1], {})[inside[2]] = path
    for folder, wanted in by_folder.items():
        found |= _of_pip(_under(system, folder), wanted)
    for prefix in {prefix for path in found for prefix in _environments(path, system)}:
        found |= _of_conda(prefix, found, system)
    return found


def by_place(layer: str, path: str) -> Owner:
    """Return the owner of a file as far as its place tells."""
    if path.startswith("/usr/lib/wsl/"):
        return Owner(WSL)
    if layer == USER and "/compat/" in path:
        return Owner(COMPAT)
    if layer == USER and "/rocm" not in path:
        return Owner(DRIVER)
    if re.search(r"^/usr/local/cuda|/hpc_sdk/", path):
        return Owner(TOOLKIT)
    if re.search(r"/rocm[-/\d]", path):
        return Owner(ROCM)
    return Owner(PIP if SITE.fullmatch(path) and not path.startswith("/usr/lib/") else SYSTEM)


def _under(system: Path, path: str) -> Path:
    return system / path.lstrip("/")


def _of_pip(folder: Path, wanted: dict[str, str]) -> dict[str, Owner]:
    """Return the owners among the distributions of a folder; `wanted` has the paths by their paths inside of it."""
    found: dict[str, Owner] = {}
    for each in metadata.distributions(path=[str(folder)]):
        try:
            record = f"\n{each.read_text('RECORD') or ''}"
            by = CONDA if "conda" in (each.read_text("INSTALLER") or "") else PIP
            owner = Owner(by, each.metadata["Name"], each.version)
        except (OSError, ValueError, KeyError):
            continue  # a damaged entry says nothing of the others
        found |= {path: owner for inside, path in wanted.items() if f"\n{inside}," in record}
    return found


def _environments(path: str, system: Path) -> list[str]:
    """Return the folder above a file that is a conda environment, if there is one."""
    folders = [str(each) for each in Path(path).parents]
    return [each for each in folders if (_under(system, each) / "conda-meta").is_dir()][:1]


def _of_conda(prefix: str, paths: Iterable[str], system: Path) -> dict[str, Owner]:
    """Return the owners of those paths that are of packages of a conda environment."""
    found: dict[str, Owner] = {}
    for file in sorted((_under(system, prefix) / "conda-meta").glob("*.json")):
        try:
            about = json.loads(file.read_text(encoding="utf-8"))
            owner = Owner(CONDA, about["name"], about["version"])
            files = {f"{prefix}/{each}" for each in about["files"]}
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a damaged entry says nothing of the others
        found |= dict.fromkeys(files.intersection(paths), owner)
    return found
