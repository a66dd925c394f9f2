"""The errors of CUDA as numba-cuda and CuPy raise them: `python -m rehearsal.errors` raises all and stores their texts.

Each program runs in a process of its own on the rehearsal. `errors.json` keeps what the real libraries raised, with
their versions: the texts are theirs, raised in our tests without a GPU. The names of the results and the driver's own
sentences in them are those of NVIDIA's documentation ("CUDA Driver API", "Data types used by CUDA driver"; "CUDA Runtime
API", "Error Handling"); the lines of ptxas and of the linker are worded as users have reported them. Numba links through
the driver here, because nvJitLink takes machine code only: where it is installed, it words what the linker refuses.
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
"""
CUPY = """
import cupy as cp

SOURCE = r'''
extern "C" __global__ void twice(double* x) { x[threadIdx.x] *= 2; }
extern "C" __global__ void outside(double* x) { x[threadIdx.x + 1000000] = 1; }
extern "C" __global__ void endless(volatile double* x) { while (x[0] == 0) __threadfence(); }
'''
module = cp.RawModule(code=SOURCE)
"""
FILE = """
from pathlib import Path
file = Path("a_kernel.ptx")
file.write_text(".version {version}\\n.target {target}\\n.address_size 64\\n.visible .entry k() {{ ret; }}\\n")
"""


@dataclass(frozen=True)
class Program:
    """A mistake: its lines in each library, of which every one raises, and the settings of its process."""

    numba: str
    cupy: str
    settings: dict[str, str] = field(default_factory=dict)
    before: str = ""


LIMIT = {"REHEARSAL_MEMORY": str(64 << 20)}
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
    "illegal address": Program(
        "outside[1, 64](cuda.device_array(64)); cuda.synchronize()\ncuda.to_device(np.zeros(4))",
        "module.get_function('outside')((1,), (64,), (cp.zeros(64),)); cp.cuda.Device().synchronize()\ncp.zeros(4).get()",
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
    code = begin + (program.before if library == "CuPy" else "") + RAISED.format(lines=lines.splitlines())
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
    return json.loads(done.stdout.splitlines()[-1])


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
