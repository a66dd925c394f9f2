"""Script in a process of its own: compiles a Numba kernel to PTX with numba-cuda or numba-cuda-mlir, and answers in JSON.

It has a process of its own because the stand-in may replace `numba.cuda` in the learner's process, and because a
compiler that crashes or hangs must not take that process with it. `compilers.numba_ptx` sends the kernel.
"""

import base64
import importlib
import json
import linecache
import marshal
import pickle
import re
import sys
import types
import warnings
from typing import Any


def main() -> None:
    request = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    sys.stdout.write("\n\x1e" + json.dumps(answer_to(request)))


def answer_to(request: dict) -> dict:
    cuda = importlib.import_module(request["library"])
    is_new = request["library"] == "numba_cuda_mlir.cuda"
    if "stand-in" in getattr(cuda, "implementation", ""):
        return {
            "error": "ImportError",
            "text": "the stand-in for numba.cuda is in place of numba-cuda",
            "log": "",
        }
    capability = tuple(request["capability"])
    try:
        functions = Functions(request["functions"], cuda)
        if is_new:
            name_the_successors_device(capability)
            signature = tuple(map(successors_type, request["types"]))
        else:
            name_the_device(capability)
            signature = pickle.loads(base64.b64decode(request["types"]))
        options = {key: value for key, value in request["options"].items() if value is not None}
        ptx, _ = cuda.compile_ptx(
            functions.plain("0"), tuple(signature), cc=capability, lineinfo=True, **options
        )
    except Exception as problem:
        return told(problem)
    return {"ptx": ptx, "version": version(("numba-cuda-mlir",) if is_new else ("numba-cuda", "numba"))}


def name_the_device(capability: tuple) -> None:
    """Make Numba compile the functions that a kernel calls for the same GPU as the kernel.

    Numba asks the current device for its compute capability; this machine may have no device, or another one.
    """
    from numba.cuda import dispatcher

    meant = types.SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: meant


def name_the_successors_device(capability: tuple) -> None:
    """Make numba-cuda-mlir compile for this GPU: it keeps the compute capability of the first device that it asks."""
    from numba_cuda_mlir import tools

    tools._cached_cc = capability


def successors_type(words: list) -> Any:
    """Return the type of numba-cuda-mlir for one in words."""
    from numba_cuda_mlir import types as own

    kind, *parts = words
    if kind == "Array":
        dtype, ndim, layout, readonly = parts
        return own.Array(successors_type(dtype), ndim, layout, readonly=readonly)
    if kind == "Tuple":
        return own.Tuple(tuple(map(successors_type, parts[0])))
    return getattr(own, {"bool": "boolean"}.get(parts[0], parts[0]))


def version(packages: tuple) -> str:
    from importlib import metadata

    for name in packages:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "?"


class Functions:
    """The kernel and the functions that it calls, rebuilt from the request."""

    def __init__(self, sent: dict, cuda: Any) -> None:
        self.sent, self.cuda = sent, cuda
        self.made: dict[str, types.FunctionType] = {}
        self.devices: dict[str, Any] = {}

    def plain(self, key: str) -> types.FunctionType:
        """Return the Python function."""
        if key in self.made:
            return self.made[key]
        sent = self.sent[key]
        code = marshal.loads(base64.b64decode(sent["code"]))
        lines = sent["source"].splitlines(keepends=True)
        linecache.cache[code.co_filename] = (len(sent["source"]), None, lines, code.co_filename)
        space = {"__name__": "kernel", "__builtins__": __builtins__}
        cells = tuple(types.CellType() for _ in code.co_freevars)
        function = types.FunctionType(code, space, sent["name"], None, cells)
        function.__module__, function.__qualname__ = "kernel", sent["name"]
        self.made[key] = function
        for name, value in sent["globals"].items():
            space[name] = self.value(value)
        for cell, name in zip(cells, code.co_freevars, strict=True):
            if name in sent["closure"]:
                cell.cell_contents = self.value(sent["closure"][name])
        return function

    def device(self, key: str) -> Any:
        """Return the function as a device function, which kernels can call."""
        if key not in self.devices:
            options = {name: value for name, value in self.sent[key]["options"].items() if value}
            self.devices[key] = self.cuda.jit(device=True, lineinfo=True, **options)(self.plain(key))
        return self.devices[key]

    def value(self, sent: list) -> Any:
        kind, value = sent
        if kind == "module":
            return importlib.import_module(value)
        if kind == "name":  # a name in a module, such as numba.cuda and threadIdx.x
            module, path = value
            found = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
            return found
        if kind == "device":
            return self.device(value)
        return pickle.loads(base64.b64decode(value))


def told(problem: Exception) -> dict:
    """Return an error: its kind, its text, the place in the learner's source, and the whole log."""
    log = re.sub(r"\x1b\[[\d;]*m", "", str(problem))
    places = re.findall(r'File "([\w.]+)", line (\d+)', log)
    return {
        "error": type(problem).__name__,
        "text": log,
        "place": [places[-1][0], int(places[-1][1])] if places else None,
        "log": log,
    }


if __name__ == "__main__":
    main()
