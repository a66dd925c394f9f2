"""Script in a process of its own: compiles CUDA C++ to PTX with NVRTC, and answers in JSON.

Source: NVRTC's documentation, "Basic Usage" and "Accessing Lowered Names".
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    request = json.load(sys.stdin)
    path = Path(request["library"])
    # NVRTC looks for its library of built-in functions by name, and not in its own folder: load it first.
    for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")):
        if ".alt" not in builtins.name:
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    answer = compiled(ctypes.CDLL(str(path)), request)
    sys.stdout.write("\n\x1e" + json.dumps(answer))


def compiled(library: ctypes.CDLL, request: dict) -> dict:
    major, minor, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    library.nvrtcGetNumSupportedArchs(ctypes.byref(number))
    architectures = (ctypes.c_int * number.value)()
    library.nvrtcGetSupportedArchs(architectures)
    answer = {"version": f"{major.value}.{minor.value}", "architectures": list(architectures)}
    if request["capability"] not in answer["architectures"]:
        return {**answer, "status": -1, "log": "", "ptx": "", "lowered": None}
    program = ctypes.c_void_p()
    source, name = request["source"].encode(), request["file"].encode()
    status = library.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
    if status:
        return {
            **answer,
            "status": status,
            "log": "NVRTC refuses the source",
            "ptx": "",
            "lowered": None,
        }
    expression = request["expression"]
    if expression:
        library.nvrtcAddNameExpression(program, expression.encode())
    options = [option.encode() for option in request["options"]]
    status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    lowered = ctypes.c_char_p()
    if expression and status == 0:
        library.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(lowered))
    return {
        **answer,
        "status": status,
        "log": text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program),
        "ptx": text(library.nvrtcGetPTXSize, library.nvrtcGetPTX, program) if status == 0 else "",
        "lowered": lowered.value.decode() if lowered.value else None,
    }


def text(size_of: Any, get: Any, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value + 1)
    get(program, buffer)
    return buffer.value.decode("utf-8", "replace").strip()


if __name__ == "__main__":
    main()
