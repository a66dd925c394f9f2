"""The errors of CUDA as numba-cuda and CuPy raise them: `python -m rehearsal.errors` raises all and stores their texts.

Each program runs in a process of its own on the rehearsal. `errors.json` keeps what the real libraries raised, with
their versions: the texts are theirs, raised in our tests without a GPU. The names of the results and the driver's own
sentences in them are those of NVIDIA's documentation ("CUDA Driver API", "Data types used by CUDA driver"; "CUDA Runtime
API", "Error Handling"); the lines of ptxas and of the linker are worded as users have reported them. Numba links through
the driver here, because nvJitLink takes machine code only: where it is installed, it words what the linker refuses.

A thread's assert also prints a line of its own on a GPU; the line that the rehearsal prints is none of CUDA's, and is
not stored. A GPU may let a kernel read freed memory without an error, as long as its pages are mapped.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal import run
from rehearsal.versions import TODAY

STORED = Path(__file__).with_name("errors.json")
LABEL = "raised in our tests without a GPU"
LIBRARIES = {"Numba": "numba-cuda", "CuPy": "cupy"}

NUMBA = """
from types import SimpleNamespace

import numpy as np
from numba import cuda

@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2 * x[i]

@cuda.jit
def outside(x):
    x[cuda.grid(1) + 1_000_000] = 1

@cuda.jit
def endless(x):
    while x[0] == 0:
        cuda.threadfence()

missing = cuda.declare_device("missing", "float64(float64)")

@cuda.jit
def calls_missing(x):
    x[0] = missing(x[0])

SOURCE = r'''
extern "C" __device__ int class_of(long long* out, long long label) { assert(label < 3); *out = label; return 0; }
'''
class_of = cuda.declare_device("class_of", "int64(int64)", link=cuda.CUSource(SOURCE))

@cuda.jit
def asserted(labels):
    i = cuda.grid(1)
    labels[i] = class_of(labels[i])

@cuda.jit(debug=True, opt=False)
def raising(labels):
    if labels[cuda.grid(1)] >= 3:
        raise ValueError("the label is too large")

@cuda.jit(debug=True, opt=False)
def asserting(labels):
    assert labels[cuda.grid(1)] < 3, "the label is too large"

def freed():
    owner = cuda.to_device(np.zeros(4))
    return cuda.as_cuda_array(SimpleNamespace(__cuda_array_interface__=owner.__cuda_array_interface__))
"""
CUPY = """
from types import SimpleNamespace

import cupy as cp

SOURCE = r'''
extern "C" __global__ void twice(double* x) { x[threadIdx.x] *= 2; }
extern "C" __global__ void outside(double* x) { x[threadIdx.x + 1000000] = 1; }
extern "C" __global__ void endless(volatile double* x) { while (x[0] == 0) __threadfence(); }
extern "C" __global__ void asserted(const long long* labels) { assert(labels[threadIdx.x] < 3); }
'''
module = cp.RawModule(code=SOURCE)

def freed():
    cp.cuda.set_allocator(None)
    owner = cp.zeros(4)
    return cp.asarray(SimpleNamespace(__cuda_array_interface__=owner.__cuda_array_interface__))
"""
FILE = """
from pathlib import Path
file = Path("a_kernel.ptx")
file.write_text(".version {version}\\n.target {target}\\n.address_size 64\\n.visible .entry k() {{ ret; }}\\n")
"""


@dataclass(frozen=True)
class Program:
    """A mistake: its lines in each library, of which every one raises, and the settings of its process.

    A library that cannot make the mistake has no lines.
    """

    numba: str
    cupy: str
    settings: dict[str, str] = field(default_factory=dict)
    before: str = ""


LIMIT = {"REHEARSAL_MEMORY": str(64 << 20)}
FREE_AT_ONCE = {"NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT": "0"}
PROGRAMS = {
    "out of memory": Program("cuda.device_array(1 << 30, np.uint8)", "cp.empty(1 << 30, cp.uint8)", LIMIT),
    "too many threads in a block": Program(
        "double[1, 2048](cuda.device_array(64))",
        "module.get_function('twice')((1,), (2048,), (cp.zeros(64),))",
    ),
    "too much shared memory": Program(
        "double[1, 64, 0, 100_000](cuda.device_array(64))",
        "module.get_function('twice')((1,), (64,), (cp.zeros(64),), shared_mem=100_000)",
    ),
    "block too deep": Program(
        "double[1, (1, 1, 128)](cuda.device_array(64))",
        "module.get_function('twice')((1,), (1, 1, 128), (cp.zeros(64),))",
    ),
    # CuPy launches one block in its place, and raises nothing.
    "grid without blocks": Program("double[0, 64](cuda.device_array(64))", ""),
    "grid too large": Program(
        "double[(1, 65_536), 64](cuda.device_array(64))",
        "module.get_function('twice')((1, 65_536), (64,), (cp.zeros(64),))",
    ),
    # The first line ends the context; then a new array and the array from before raise.
    "illegal address": Program(
        "x = cuda.device_array(64); outside[1, 64](x); cuda.synchronize()\n"
        "cuda.to_device(np.zeros(4))\nx.copy_to_host()",
        "x = cp.zeros(64); module.get_function('outside')((1,), (64,), (x,)); cp.cuda.Device().synchronize()\n"
        "cp.zeros(4).get()\nx.get()",
    ),
    "device-side assert": Program(
        "labels = cuda.to_device(np.arange(4)); asserted[1, 4](labels); cuda.synchronize()\n"
        "cuda.to_device(np.zeros(4))\nlabels.copy_to_host()",
        "labels = cp.arange(4); module.get_function('asserted')((1,), (4,), (labels,)); cp.cuda.Device().synchronize()\n"
        "cp.zeros(4).get()\nlabels.get()",
    ),
    # Numba carries an exception from the thread to the host; the context lives on.
    "exception in a kernel": Program(
        "raising[1, 4](cuda.to_device(np.arange(4)))\nasserting[1, 4](cuda.to_device(np.arange(4)))",
        "",
    ),
    "copy of freed memory": Program("freed().copy_to_host()", "freed().get()", FREE_AT_ONCE),
    "kernel on freed memory": Program(
        "double[1, 4](freed()); cuda.synchronize()",
        "module.get_function('twice')((1,), (4,), (freed(),)); cp.cuda.Device().synchronize()",
        FREE_AT_ONCE,
    ),
    "launch time-out": Program(
        "endless[1, 1](cuda.to_device(np.zeros(1))); cuda.synchronize()",
        "module.get_function('endless')((1,), (1,), (cp.zeros(1),)); cp.cuda.Device().synchronize()",
        {"REHEARSAL_BRANCHES": "1000000"},
    ),
    "missing symbol": Program(
        "calls_missing[1, 1](cuda.device_array(1))",
        "module.get_function('thrice')",
    ),
    "PTX newer than the driver": Program(
        "double[1, 64](cuda.device_array(64))",
        "cp.RawModule(path=str(file)).get_function('k')",
        {"REHEARSAL_DRIVER_VERSION": "12020"},
        FILE.format(version="9.0", target="sm_75"),
    ),
    "no kernel image": Program(
        "double[1, 64](cuda.device_array(64))",
        "cp.RawModule(path=str(file)).get_function('k')",
        {"NUMBA_FORCE_CUDA_CC": "9.0"},
        FILE.format(version="8.0", target="sm_90"),
    ),
}
RAISED = """
import json, sys
raised = []
for line in {lines!r}:
    try:
        exec(line)
    except Exception as problem:
        raised.append([f"{{type(problem).__module__}}.{{type(problem).__qualname__}}", str(problem)])
    else:
        raised.append(["", ""])
print("\\n" + json.dumps(raised), flush=True)
"""


def raised(program: Program, library: str, environment: dict[str, str], folder: Path) -> list[list[str]]:
    """Run a program in `folder`; return the type and the text of what each of its lines raised.

    Raises
    ------
    RuntimeError
        If the program ended in another way.
    """
    begin, lines = (NUMBA, program.numba) if library == "Numba" else (CUPY, program.cupy)
    if not lines:
        return []
    begin += program.before if library == "CuPy" else ""
    # Under a name, as in a file: Numba's exceptions name it.
    code = f"exec(compile({begin!r}, 'program.py', 'exec'))" + RAISED.format(lines=lines.splitlines())
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **program.settings},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        raise RuntimeError(f"a program of {library} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    # Numba's exceptions name the program's file with its folder, which is another one each time.
    return [[kind, text.replace(f"{folder}{os.sep}", "")] for kind, text in found]


def collect(environment: dict[str, str], folder: Path) -> dict[str, object]:
    """Raise every error with both libraries and return what `errors.json` keeps.

    Parameters
    ----------
    environment
        The environment of a program with CuPy, of `run.environment`.
    folder
        An empty folder, in which the programs run.
    """
    entries = []
    for name, program in PROGRAMS.items():
        for library, package in LIBRARIES.items():
            lines = (program.numba if library == "Numba" else program.cupy).splitlines()
            found = raised(program, library, environment, folder)
            entries += [
                {"error": name, "library": package, "line": line, "type": kind, "text": text}
                for line, (kind, text) in zip(lines, found, strict=True)
            ]
    return {"label": LABEL, "versions": versions(), "errors": entries}


def versions() -> dict[str, str]:
    """Return the versions of the libraries, and that of CUDA's driver API that the rehearsal answers."""
    found = {"numba-cuda": importlib.metadata.version("numba-cuda"), "cupy": TODAY.cupy}
    return {**found, "driver": os.environ.get("REHEARSAL_DRIVER_VERSION", "13000")}


def main() -> None:
    """Store the texts anew."""
    import tempfile

    quiet = {**os.environ, "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"}
    with tempfile.TemporaryDirectory() as folder:
        found = collect(run.environment(quiet, cupy=True), Path(folder))
    STORED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
