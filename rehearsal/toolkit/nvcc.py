"""What CuPy's build calls for nvcc: each of CuPy's `.cu` files becomes the file of `libraries/` that stands for it.

CuPy's own header of the file is included there, so a signature that changes is an undefined name, not a wrong value.
"""

import os
import subprocess
import sys
from pathlib import Path

LIBRARIES = Path(__file__).parent.parent / "libraries"
STANDS_FOR = {
    "cupy_thrust": "sorting.cpp",
    "cupy_distributions": "distributions.cpp",
    "cupy_cub": "cub.cpp",
}


def command(arguments: list[str]) -> list[str]:
    """Return the command for the host's compiler that does what these arguments ask of nvcc."""
    source = Path(next(each for each in arguments if each.endswith(".cu")))
    target = arguments[arguments.index("-o") + 1]
    compiler = os.environ.get("CXX", "g++")
    if "-c" not in arguments:  # CuPy asks whether nvcc works at all
        return [compiler, "-x", "c++", str(source), "-o", target]
    kept = [each for each in arguments if each.startswith(("-I", "-D"))]
    options = ["-c", "-O2", "-fPIC", "-w", "-std=c++17", f"-I{source.parent}", f"-I{LIBRARIES}", *kept]
    return [compiler, *options, str(LIBRARIES / STANDS_FOR[source.stem]), "-o", target]


if __name__ == "__main__":
    sys.exit(subprocess.call(command(sys.argv[1:])))
