"""CuPy for the rehearsal, made by CuPy's own, unchanged build: its source package, built against our toolkit.

NVIDIA's runtime is linked into the published wheel, and checks the driver that it finds. Nothing here answers or changes
this check: the CuPy that is built here is linked with a runtime of ours instead. Its kernels and NVRTC are the real ones.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from rehearsal import build
from rehearsal.ptx import compiling
from rehearsal.toolkit import headers
from rehearsal.versions import Versions

HERE = Path(__file__).parent
LIBRARIES = HERE.parent / "libraries"
NOT_SUPPORTED = 801  # cudaErrorNotSupported
# What cuda-pathfinder loads before cuBLAS and cuSOLVER, and what stands for it: by CUDA's version. cufft.cpp is empty.
LOADED_FIRST = {
    12: {"cublasLt": "cufft.cpp", "nvJitLink": "nvjitlink.cpp"},
    13: {"cublasLt": "cufft.cpp", "nvJitLink": "cufft.cpp"},
}
FLAGS = ["-std=c++17", "-O2", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,--no-as-needed"]
SETTINGS = {
    "CUPY_INSTALL_NO_RPATH": "1",
    "CUPY_NVCC_GENERATE_CODE": "arch=compute_75,code=compute_75",  # nothing is compiled for a GPU
    "CFLAGS": "-O1 -g0",
    "CXXFLAGS": "-O1 -g0",
    "LDFLAGS": "-s",
}
IN_CUPY = ("sorting.cpp", "distributions.cpp", "cub.cpp", "random.hpp", "rehearsal.hpp")  # compiled into CuPy


def source(versions: Versions) -> Path:
    """Return the folder of CuPy's source package, fetched with pip if need be.

    Raises
    ------
    build.BuildError
        If it cannot be fetched.
    """

    def make(folder: Path) -> None:
        build.say(f"fetching the source package of CuPy {versions.cupy}, once")
        # pip runs setup.py even to fetch a package, and that looks for CUDA: not in stub mode.
        _pip(versions, "download", "--no-binary", "cupy", "--no-deps", "-d", str(folder), f"cupy=={versions.cupy}", CUPY_INSTALL_USE_STUB="1")  # fmt: skip
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")

    return build.once("cupy-source", versions.cupy, make) / f"cupy-{versions.cupy}"


def _pip(versions: Versions, *arguments: str, **environment: str) -> None:
    command = [str(versions.interpreter()), "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise build.BuildError(
            f"pip {arguments[0]} failed for CuPy {versions.cupy}:\n{(done.stdout + done.stderr)[-3000:]}"
        )


def _exported(library: Path) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    )
    return set(re.findall(r" [TWi] (\w+)", listed.stdout))


def _library(folder: Path, file: str, code: Path, wanted: set[str], refusal: int, *options: str) -> set[str]:
    """Compile a library, and link it again with a refusal for each wanted function that it lacks."""
    target, refusals = folder / file, folder / f"{file}.cpp"
    link = [
        f"-Wl,-soname,{file}",
        f"-I{LIBRARIES}",
        f"-L{build.driver()}",
        "-l:libcuda.so.1",
        *options,
    ]
    build.compile_shared(target, [code], *FLAGS, *link)
    there = _exported(target)
    missing = sorted(name for name in wanted if name not in there and f"{name}_v2" not in there)
    rows = [
        f'extern "C" __attribute__((visibility("default"))) int {name}() {{ return rehearsal_refuse("{name}", {refusal}); }}'
        for name in missing
    ]
    refusals.write_text("\n".join(['#include "rehearsal.hpp"', *rows, ""]))
    build.compile_shared(target, [code, refusals], *FLAGS, *link)
    (folder / (file.partition(".so")[0] + ".so")).symlink_to(file)
    return there


def libraries(versions: Versions) -> Path:
    """Return the folder of the libraries beside the driver: the runtime, cuBLAS, cuRAND and what CuPy loads besides."""
    sources = [*LIBRARIES.glob("*.cpp"), *LIBRARIES.glob("*.hpp"), HERE / "headers.py"]

    def make(folder: Path) -> None:
        build.say("building the libraries beside the driver, once")
        include = [*(f"-I{path / 'include'}" for path in versions.nvidia()), f"-I{folder}"]
        enumeration = versions.file("include/driver_types.h").read_text()
        names = re.findall(r"^\s+(cuda(?:Error\w*|Success))\s*=\s*(\d+)", enumeration, re.M)
        rows = "".join(f'{{{number}, "{name}"}},\n' for name, number in names)
        (folder / "error_names.inc").write_text(rows)
        called = (source(versions) / "cupy_backends/cuda/api/_runtime_extern.pxi").read_text()
        wanted = set(re.findall(r"\b(cuda[A-Z]\w+)\(", called))
        runtime = f"libcudart.so.{versions.cuda}"
        _library(folder, runtime, LIBRARIES / "runtime.cpp", wanted, NOT_SUPPORTED, *include)
        for name, code in LOADED_FIRST[versions.cuda].items():
            _library(folder, f"lib{name}.so.{versions.cuda}", LIBRARIES / code, set(), 0)
        for each in headers.LIBRARIES:
            functions = set(headers.functions_of(each, source(versions), versions.cuda))
            code = f"{each.name}.cpp"
            _library(folder, each.file(versions.cuda), LIBRARIES / code, functions, each.refusal)

    key = build.digest(sources, versions.cupy, str(versions.cuda), build.driver().name, *FLAGS)
    return build.once("libraries", key, make)


def toolkit(folder: Path, versions: Versions) -> None:
    """Make what CuPy's build looks for at `CUDA_PATH`: headers in `include`, libraries in `lib64`."""
    include, lib = folder / "include", folder / "lib64"
    include.mkdir(parents=True)
    lib.mkdir()
    for place in (*(path / "include" for path in versions.nvidia()), HERE / "include"):
        for path in place.iterdir():
            if not (include / path.name).exists():
                (include / path.name).symlink_to(path)
    exported = {}
    for path in [*libraries(versions).glob("lib*.so*"), *build.driver().glob("libcuda.so*")]:
        if path.suffix != ".cpp":
            (lib / path.name).symlink_to(path.resolve())
    for each in headers.LIBRARIES:
        exported[each.name] = _exported(lib / each.file(versions.cuda))
    headers.write(source(versions), include, exported, versions.cuda)
    # CuPy links this file by its name. It is a linker script that names our runtime and driver.
    script = f"INPUT({lib / f'libcudart.so.{versions.cuda}'} {lib / 'libcuda.so.1'})\n"
    (lib / "libcudart_static.a").write_text(script)
    (lib / "libnvrtc.so").symlink_to(versions.file(f"lib/libnvrtc.so.{versions.cuda}"))


def package(versions: Versions) -> Path:
    """Return the folder in which CuPy for the rehearsal is installed; the first build takes some minutes.

    Raises
    ------
    build.BuildError
        If CuPy's source package cannot be fetched, or does not build.
    """
    files = [
        *(LIBRARIES / name for name in IN_CUPY),
        HERE / "headers.py",
        HERE / "nvcc.py",
        *(HERE / "include").iterdir(),
    ]
    made_with = [versions.cupy, versions.state(), str(SETTINGS)]

    def make(folder: Path) -> None:
        found = source(versions)
        build.say(f"building CuPy {versions.cupy} against our toolkit, once (3 minutes on 2 cores)")
        toolkit(folder / "toolkit", versions)
        _pip(
            versions, "install", "--no-deps", "--target", str(folder / "site"), str(found),
            CUDA_PATH=str(folder / "toolkit"),
            NVCC=f"{sys.executable} {HERE / 'nvcc.py'}",
            CXX=compiling.COMPILER,
            LD_LIBRARY_PATH=str(folder / "toolkit" / "lib64"),
            CUPY_NUM_BUILD_JOBS=os.environ.get("CUPY_NUM_BUILD_JOBS", "2"),
            **SETTINGS,
        )  # fmt: skip

    return build.once("cupy", build.digest(files, *made_with), make) / "site"


def environment(base: dict[str, str], versions: Versions) -> dict[str, str]:
    """Return an environment in which `import cupy` finds the CuPy of the rehearsal; `base` has its driver already."""
    found = dict(base)
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(package(versions)), found.get("PYTHONPATH", "")]))
    found["LD_LIBRARY_PATH"] = os.pathsep.join([str(libraries(versions)), found["LD_LIBRARY_PATH"]])
    # NVIDIA's runtime has the same name as ours. cuda-bindings may load it first, and then it would be CuPy's, too.
    preloaded = [str(libraries(versions) / f"libcudart.so.{versions.cuda}"), found.get("LD_PRELOAD", "")]
    found["LD_PRELOAD"] = os.pathsep.join(filter(None, preloaded))
    found["CUPY_COMPILE_WITH_PTX"] = "1"  # NVRTC gives PTX, not machine code
    found["CUPY_ACCELERATORS"] = ""  # CuPy's own reductions, not CUB's
    # The published wheel may be installed as well; ours is found first, and CuPy warns that there are two.
    found.setdefault("PYTHONWARNINGS", "ignore::UserWarning:cupy._environment")
    found.setdefault("CUPY_CACHE_DIR", str(build.cache() / "cupy-kernels"))
    return found
