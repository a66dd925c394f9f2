"""Write the headers of cuBLAS, cuRAND, cuSPARSE, cuSOLVER and cuFFT from what CuPy declares of them.

CuPy's `cdef extern` blocks hold the real signatures of the functions that it calls, so these headers have no others.
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rehearsal.ptx import compiling

# Types that NVIDIA's own headers of the runtime have already.
KNOWN = {"cudaStream_t", "cudaDataType", "libraryPropertyType_t"}
KNOWN |= {name + star for name in ("cuComplex", "cuDoubleComplex") for star in ("", "*")}
# NVIDIA's header turns an old compute type (a cudaDataType) into a new one, in C++; without it, `@` of a batch is 0.
COMPUTE_TYPE = (
    "(cublasComputeType_t)(computetype == CUDA_R_16F ? 64 : computetype == CUDA_R_32I ? 72 : "
    "computetype == CUDA_R_64F || computetype == CUDA_C_64F ? 70 : 68)"
)


CUSPARSE_VERSION = 12300


@dataclass(frozen=True)
class Library:
    """One library: CuPy's module of it, the version in its file's name by CUDA's, and what a missing function answers."""

    name: str
    module: str
    versions: dict[int, int]
    refusal: int
    headers: tuple[str, ...]
    includes: tuple[str, ...] = ()
    more: str = ""

    def file(self, cuda: int) -> str:
        """Return the name of its file for this major version of CUDA."""
        return f"lib{self.name}.so.{self.versions[cuda]}"


LIBRARIES = (
    Library("cublas", "cupy_backends/cuda/libs/cublas", {12: 12, 13: 13}, 15, ("cublas_v2.h",)),
    Library("curand", "cupy_backends/cuda/libs/curand", {12: 10, 13: 10}, 999, ("curand.h",)),
    Library(
        "cusparse",
        "cupy_backends/cuda/libs/cusparse",
        {12: 12, 13: 12},
        10,
        ("cusparse.h",),
        ("cublas_v2.h",),
        f"#define CUSPARSE_STATUS_SUCCESS 0\n#define CUSPARSE_VERSION {CUSPARSE_VERSION}",
    ),
    Library(
        "cusolver",
        "cupy_backends/cuda/libs/cusolver",
        {12: 11, 13: 12},
        9,
        ("cusolverDn.h", "cusolverSp.h"),
        ("cublas_v2.h", "cusparse.h"),
        "typedef int cusolverStatus_t;",
    ),
    Library("cufft", "cupy/cuda/cufft", {12: 11, 13: 12}, 16, ("cufft.h", "cufftXt.h")),
)


@dataclass
class Declarations:
    """What CuPy declares of a library: lines of C for its types, and a declaration for each function."""

    types: list[str]
    functions: dict[str, str]


def blocks(text: str) -> Iterator[str]:
    """Yield the bodies of the `cdef extern` blocks, without comments, C code and what is for AMD's GPUs."""
    text = re.sub(r"#.*", "", re.sub(r'""".*?"""', "", text, flags=re.S))
    lines = re.sub(r"^( *)IF CUPY_HIP_VERSION > 0:\n(\1 +.*\n)*", "", text, flags=re.M).split("\n")
    for number, line in enumerate(lines):
        found = re.match(r"( *)cdef extern from .*:\s*$", line)
        if not found:
            continue
        body = []
        for each in lines[number + 1 :]:
            if each.strip() and len(each) - len(each.lstrip()) <= len(found[1]):
                break
            body.append(each)
        yield "\n".join(body) + "\n"


def declarations(module: Path) -> Declarations:
    """Return what one of CuPy's modules declares."""
    types: list[str] = []
    signatures: dict[str, tuple[str, str]] = {}
    names = {"MAX_CUDA_DESCRIPTOR_GPUS": "64"}

    def in_c(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)

    for suffix in (".pxd", ".pyx"):
        for body in blocks(module.with_suffix(suffix).read_text()):
            for found in re.finditer(
                r"^( *)ctypedef (struct|enum) (\w+) ?'?(\w*)'?:\n((?:\1 +.*\n|\n)*)", body, re.M
            ):
                names[found[3]] = found[4] or found[3]
                if names[found[3]] not in KNOWN:
                    rows = [in_c(row.strip()) for row in found[5].split("\n") if row.strip() not in ("", "pass")]  # fmt: skip
                    types.append(_type(found[2], names[found[3]], rows))
            for found in re.finditer(r"^ *ctypedef (\w+\*?) (\w+)(?: '([^']+)')?$", body, re.M):
                names[found[2]] = found[3] or found[2]
                if names[found[2]] not in KNOWN:
                    types.append(f"typedef {found[1]} {names[found[2]]};")
            for found in re.finditer(r"^ *((?:const )?\w+\*?) +(\w+)\(([^()]*)\)", body, re.M):
                signatures[found[2]] = (found[1], " ".join(found[3].split()))
    for name in [each for each in signatures if each.endswith("_v11")]:  # macros of the plain names in CuPy
        signatures[name.removesuffix("_v11")] = signatures.pop(name)
    functions = {
        name: f"{in_c(result)} {name}({in_c(parameters)});"
        for name, (result, parameters) in signatures.items()
    }
    return Declarations([each for each in types if "SpGEAM" not in each], functions)


def _type(kind: str, name: str, rows: list[str]) -> str:
    if kind == "struct":
        return f"typedef struct {{ {' '.join(row + ';' for row in rows)} }} {name};"
    if not rows:
        return f"typedef int {name};"
    return f"typedef enum {{ {', '.join(row.rstrip(',') for row in rows)} }} {name};"


@functools.cache
def cupys_own(source: Path, cuda: int) -> str:
    """Return what CuPy's own headers define for this major version of CUDA: what it has no longer, or not yet."""
    headers = sorted((source / "cupy_backends/cuda").glob("*.h"))
    text = "".join(re.sub(r"^\s*#\s*include.*", "", path.read_text(), flags=re.M) for path in headers)
    macros = [f"-DCUDA_VERSION={cuda * 1000}", f"-DCUSPARSE_VERSION={CUSPARSE_VERSION}"]
    command = [compiling.COMPILER, "-E", "-P", "-x", "c++", *macros, "-"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def functions_of(library: Library, source: Path, cuda: int) -> dict[str, str]:
    """Return the functions that a library has to have, by name, without those that CuPy's own headers define."""
    defined = set(re.findall(r"\b(\w+)\(\.\.\.\)", cupys_own(source, cuda)))
    found = declarations(source / library.module).functions
    return {name: text for name, text in found.items() if name not in defined and name.startswith(library.name)}  # fmt: skip


def types_of(library: Library, source: Path, cuda: int) -> list[str]:
    """Return the types that CuPy declares of a library, without enumerations that its own headers define."""
    defined = set(re.findall(r"typedef enum \{\} (\w+);", cupys_own(source, cuda)))
    found = declarations(source / library.module).types
    return [text for text in found if text.rstrip(";").split()[-1] not in defined]


def _as_nvidia_has_them(library: Library, functions: dict[str, str]) -> dict[str, str]:
    """Mend the signatures in which CuPy's declaration is not NVIDIA's: `const`, and signed characters."""
    if library.name == "cublas":
        kinds = r"\b(?:const )?(float|double|cuComplex|cuDoubleComplex) ?"
        return {
            name: re.sub(
                kinds + r"\*(?! ?(\*|const|\w+\[))",
                r"const \1*",
                re.sub(kinds + r"\*\*", r"const \1* const*", text),
            )
            for name, text in functions.items()
        }
    if library.name == "cusolver":
        return {name: re.sub(r"\bchar\b(?!\*)", "signed char", text) for name, text in functions.items()}
    return functions


def write(source: Path, include: Path, exported: dict[str, set[str]], cuda: int) -> None:
    """Write the headers of all libraries into a folder.

    Parameters
    ----------
    source
        The folder of CuPy's source package.
    include
        The folder of the headers.
    exported
        The names that each library exports: a function that is there as `name_v2` is called by this name.
    cuda
        The major version of CUDA.
    """
    seen: set[str] = set()
    for library in LIBRARIES:
        functions = _as_nvidia_has_them(library, functions_of(library, source, cuda))
        types = [
            each
            for each in types_of(library, source, cuda)
            if not (each in seen or seen.add(each))  # type: ignore[func-returns-value]
        ]
        lines = ["#pragma once", "#include <cuda_runtime.h>", "#include <cuComplex.h>", "#include <library_types.h>"]  # fmt: skip
        lines += [f"#include <{each}>" for each in library.includes]
        lines += [library.more, 'extern "C" {', *types]
        for name, text in functions.items():
            if name + "_v2" in exported[library.name]:
                lines.append(f"#define {name} {name}_v2")
            lines.append(text)
        lines.append("}")
        for name in ("cublasGemmEx", "cublasGemmStridedBatchedEx") if library.name == "cublas" else ():
            old = functions[name][:-1].replace("cublasComputeType_t", "cudaDataType")
            arguments = re.findall(r"(\w+)[,)]", functions[name])
            given = ", ".join(COMPUTE_TYPE if each == "computetype" else each for each in arguments)
            lines.append(f"static inline {old} {{ return {name}({given}); }}")
        others = {other: f"#include <{library.headers[0]}>\n" for other in library.headers[1:]}
        for name, text in {library.headers[0]: "\n".join(lines) + "\n", **others}.items():
            (include / name).unlink(missing_ok=True)  # NVIDIA's own may be linked here: it is not written to
            (include / name).write_text(text)
