"""The versions of the libraries that are rehearsed: today's pins, or those that Google Colab ships.

Today's are installed where the rehearsal itself runs. Colab's get an environment of their own in the rehearsal's cache,
made from `colab.txt` on first use. PyTorch joins them where the rehearsal's own Python has a build of it for the CPU;
PyPI's builds for Linux bring CUDA (3 GB) and other versions of what numba-cuda stands on.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rehearsal import build

PINS = Path(__file__).parent / "colab.txt"


@dataclass(frozen=True)
class Versions:
    """One set of versions: `name` chooses it, and `pins` make its environment if it has one of its own.

    This environment has the Python that `python` names, or else the one that runs the rehearsal, and its PyTorch.
    `cupy` is a release of CuPy, `cuda` the major version of CUDA that it is built for, and `wheels` a pattern of the
    folders below `nvidia` in which NVIDIA's wheels put their files.
    """

    name: str
    cupy: str
    cuda: int
    wheels: str
    python: str = ""
    pins: Path | None = None

    def interpreter(self) -> Path:
        """Return the Python that has these versions; an environment of its own is made if need be (a minute).

        Raises
        ------
        build.BuildError
            If there is no Python that the pins support, or pip cannot install them.
        """
        return _environment(self) / "bin" / "python" if self.pins else Path(sys.executable)

    def state(self) -> str:
        """Return what a build for these versions depends on: the Python, and NVIDIA's headers."""
        if self.pins:
            return _environment(self).name
        return f"{sys.version} {importlib.metadata.version('nvidia-cuda-runtime')}"

    def nvidia(self) -> list[Path]:
        """Return the folders of NVIDIA's wheels, which hold `include` and `lib`.

        Raises
        ------
        build.BuildError
            If they are not installed.
        """
        if self.pins:
            places = list(_environment(self).glob("lib/python*/site-packages/nvidia"))
        else:
            spec = importlib.util.find_spec("nvidia")
            places = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
        found = [path for place in places for path in sorted(place.glob(self.wheels))]
        if any((path / "include" / "cuda_runtime_api.h").is_file() for path in found):
            return found
        raise build.BuildError(
            "the rehearsal of CuPy needs NVIDIA's headers and NVRTC: pip install -r requirements-inspect.txt"
        )

    def file(self, name: str) -> Path:
        """Return this file of NVIDIA's wheels, such as include/cuda.h."""
        return next(path / name for path in self.nvidia() if (path / name).is_file())


TODAY = Versions("today", "14.2.0", 13, "cu13")
COLAB = Versions("colab", "14.0.1", 12, "cuda_*", "", PINS)
COLAB_PYTHON = Versions("colab-3.13", "14.0.1", 12, "cuda_*", "3.13", PINS)
ALL = {versions.name: versions for versions in (TODAY, COLAB, COLAB_PYTHON)}


def base_python(wanted: str) -> str:
    """Return the path of this Python, such as 3.13.

    Raises
    ------
    build.BuildError
        If it is not to be had.
    """
    # pyenv puts a python3.13 on PATH that runs only if this variable chooses it.
    chosen = {**os.environ, "PYENV_VERSION": wanted}
    command = [f"python{wanted}", "-c", "import ensurepip, sys; print(sys.executable)"]
    done = (
        subprocess.run(command, env=chosen, capture_output=True, text=True)
        if shutil.which(command[0])
        else None
    )
    if done is None or done.returncode:
        raise build.BuildError(f"there is no Python {wanted} here: install it, as python{wanted} on PATH")
    return done.stdout.strip()


def torch_for_cpu() -> str:
    """Return the version of the PyTorch for the CPU that is installed where the rehearsal runs; "" if there is none."""
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""
    return found if found.endswith("+cpu") else ""


@functools.cache
def _environment(versions: Versions) -> Path:
    assert versions.pins is not None
    python = base_python(versions.python) if versions.python else sys.executable
    torch = "" if versions.python else torch_for_cpu()

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = (done.stdout + done.stderr)[-3000:]
            raise build.BuildError(f"the environment of {versions.name} could not be made:\n{said}")

    def make(folder: Path) -> None:
        build.say(f"installing the versions of {versions.pins}, once (200 MB to download)")
        run(python, "-m", "venv", str(folder))
        pip = (
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "-q",
            "--disable-pip-version-check",
            "install",
            "--no-deps",
        )
        run(*pip, "-r", str(versions.pins), *([f"torch=={torch}"] if torch else []))

    return build.once(versions.name, build.digest([versions.pins], sys.version, versions.python, torch), make)
