"""Compile a PTX module into a library that the driver loads: `python -m rehearsal.ptx.compiling FILE.ptx FILE.so`.

The driver calls this in a process of its own. The last line on stderr is what the program hears of a failure.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

from rehearsal.ptx.emitting import translate
from rehearsal.ptx.parsing import Unsupported

HERE = Path(__file__).parent
ABI = HERE.parent / "driver"
COMPILER = os.environ.get("CXX", "g++")
REFUSED = 3  # the exit status where the PTX asks for what the translator does not know


def flags() -> list[str]:
    """Return the compiler's options: floating-point arithmetic as written, and no assumptions about overflow."""
    options = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden"]
    options += ["-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv", "-fno-exceptions"]
    return options + (["-mfma"] if has_fma() else [])  # without it, std::fma is a slow call


def has_fma() -> bool:
    """Return whether this CPU can multiply and add in one instruction."""
    try:
        return platform.machine() == "x86_64" and " fma " in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def key() -> str:
    """Return what a compiled kernel depends on beside its PTX, as a digest."""
    digest = hashlib.sha256(" ".join([COMPILER, *flags()]).encode())
    for path in sorted([*HERE.glob("*.py"), *HERE.glob("*.hpp"), ABI / "abi.hpp"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compile_ptx(source: Path, target: Path) -> None:
    """Translate and compile one module; the PTX and the C++ stay beside the library.

    Raises
    ------
    Unsupported
        If the PTX asks for what the translator does not know, or the C++ compiler refuses what it wrote.
    """
    code = target.with_suffix(".cpp")
    code.write_text(translate(source.read_text(errors="replace")))
    new = target.with_name(f"{target.name}.{os.getpid()}")
    command = [COMPILER, *flags(), f"-I{HERE}", f"-I{ABI}", str(code), "-o", str(new)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        found = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr[-300:])
        raise Unsupported(f"{COMPILER} refuses the translation {code}: {found}")
    new.rename(target)


def main(source: str, target: str) -> int:
    """Compile, and say on stderr why that could not be."""
    try:
        compile_ptx(Path(source), Path(target))
    except Unsupported as problem:
        print(f"the rehearsal cannot run this PTX: {problem}", file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
