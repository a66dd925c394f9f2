"""Compile the kernels that `gathering` wrote down, with the compilers of the Python that runs this.

`python -m tests.rehearsal.compiling LIBRARY KERNELS OPTIONS ANSWERS`: the library of NVRTC; the file of `gathering`;
NVRTC's options in JSON; the file for the answers, one line of JSON a kernel: nothing, or the compiler's words. Nothing runs.
"""

import ctypes
import json
import runpy
import sys
import warnings
from pathlib import Path

CHILDREN = Path(__file__).parents[2] / "host_to_device" / "inspecting" / "children"
HEADERS = ("cupy/complex.cuh", "cupy/carray.cuh", "cupy/atomics.cuh", "cupy/math_constants.h")


def main(path, kernels, options, answers):
    numba, nvrtc, cupy = (
        runpy.run_path(CHILDREN / f"{name}.py") for name in ("numba_ptx", "nvrtc", "cupy_source")
    )
    for builtins in Path(path).parent.glob("libnvrtc-builtins.so.*"):
        if ".alt" not in builtins.name:
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(path)

    def from_cuda(request, more=()):
        given = ["--gpu-architecture=compute_75", *request["options"], *more, *json.loads(options)]
        answer = nvrtc["compiled"](
            library, {"capability": 75, "file": "kernel.cu", **request, "options": given}
        )
        return None if ".entry" in answer["ptx"] else answer["log"] or "there is no kernel in its PTX"

    def from_numba(request):
        if "refused" in request:
            return request["refused"]
        answer = numba["answer_to"](request)
        return (
            None
            if ".entry" in answer.get("ptx", "")
            else answer.get("log") or "there is no kernel in its PTX"
        )

    def from_cupy(request):
        import cupy as library_of_cupy

        include = Path(library_of_cupy.__file__).parent / "_core" / "include"
        folders = [include, *(each for each in (include / "cupy" / "_cccl").glob("*") if each.is_dir())]
        written = cupy["MAKERS"][request["kind"]](request)
        source = "".join(f"#include <{name}>\n" for name in HEADERS) + written["text"]
        more = [*written["options"], *(f"-I{folder}" for folder in folders)]
        return from_cuda({"source": source, "expression": None, "options": []}, more)

    compilers = {"numba": from_numba, "cuda": from_cuda, "cupy": from_cupy}
    with open(answers, "w") as file:
        for line in Path(kernels).read_text().splitlines():
            each = json.loads(line)
            if each["kind"] in compilers:
                words = compilers[each["kind"]](each["request"])
                told = {name: each[name] for name in ("cell", "kernel", "kind")}
                file.write(json.dumps({**told, "words": words}) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
