"""Read which GPUs the wheels of PyPI have code for, and store it (`python -m tools.wheel_code`).

Each wheel is fetched with pip into a temporary folder, read there with `h2d.code_in`, and removed before the next one is
fetched. A wheel of PyTorch has up to 1 GB, so all rows together move some 12 GB. A row that could not be had this time
keeps what was stored, with the day on which it was read.

    python -m tools.wheel_code              # every row
    python -m tools.wheel_code torch==2.6   # the rows that begin so
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from host_to_device import SetUpError, code_in
from host_to_device.diagnosing.machine_code import STORED, Code
from tools.wheel_matrix import PLATFORMS, PYTHONS, ROOT, without_address

SECONDS = 600  # for one wheel

WHEELS = (
    "torch==1.13.1",
    "torch==2.0.1",
    "torch==2.4.1",
    "torch==2.6.0",
    "torch==2.7.1",
    "torch==2.8.0",
    "torch==2.9.1",
    "torch==2.13.0",
    "torch==2.15.0",
    "cupy-cuda11x==13.6.0",
    "cupy-cuda12x==13.6.0",
    "cupy-cuda13x==14.2.0",
    "tensorflow==2.20.0",
    "nvidia-cublas-cu12==12.8.4.1",
    "nvidia-cudnn-cu12==9.10.2.21",
    "numba-cuda[cu12]==0.30.4",
    "numba-cuda[cu13]==0.30.4",
)
# The release of CUDA by the PTX that its compilers write (PTX ISA, "PTX ISA version history",
# https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes). CUDA 12.6 kept the PTX of 12.5.
CUDA_OF_PTX = (
    {f"7.{minor}": f"11.{minor}" for minor in range(9)}
    | {f"8.{minor}": f"12.{minor}" for minor in range(6)}
    | {f"8.{minor}": f"12.{minor + 1}" for minor in range(6, 9)}
    | {f"9.{minor}": f"13.{minor}" for minor in range(6)}
)


def fetch(wheel: str, folder: Path) -> Path:
    """Fetch a wheel, as for Linux, into an empty folder, and return its file.

    Raises
    ------
    LookupError
        The index did not give it: pip's last line, or that the time was up.
    """
    exactly = re.sub(r"\[.*?\]", "", wheel).replace(
        "==", "==="
    )  # not a local build of that version, as 2.13.0+cpu
    problem = "no answer"
    for version in PYTHONS:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
        command += ["--only-binary", ":all:", "--dest", str(folder), "--python-version", version]
        command += [option for name in PLATFORMS for option in ("--platform", name)]
        try:
            done = subprocess.run([*command, exactly], capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise LookupError(f"not fetched within {SECONDS} s") from None
        found = list(folder.glob("*.whl"))
        if done.returncode == 0 and found:
            return found[0]
        problem = (done.stderr.strip().splitlines() or [problem])[-1]
        if "No matching distribution" not in problem:
            break
    raise LookupError(problem)


def row_of(wheel: str, file: Path) -> dict[str, str | list[str]]:
    """Return what is stored of a wheel."""
    name, _, version = wheel.partition("==")
    code = code_in(file)
    return {
        "name": name,
        "version": version,
        "cuda": cuda_of(wheel, file, code),
        "file": file.name,
        "sass": list(code.sass),
        "ptx": list(code.ptx),
        "few": list(code.few),
    }


def cuda_of(wheel: str, file: Path, code: Code) -> str:
    """Return the release of CUDA that a wheel was built with.

    PyTorch's wheel says it. Otherwise the version of its PTX tells it. A package without code that has an extra for a
    major release of CUDA, such as numba-cuda[cu12], works with any release of it: the first one is returned.

    Raises
    ------
    LookupError
        None of these tells it.
    """
    with zipfile.ZipFile(file) as archive:
        if "torch/version.py" in archive.namelist():
            content = archive.read("torch/version.py").decode("utf-8")
            if stated := re.search(r"^cuda\b[^=\n]*= '(\d+\.\d+)'", content, re.MULTILINE):
                return stated[1]
    if code.isa in CUDA_OF_PTX:
        return CUDA_OF_PTX[code.isa]
    if extra := re.search(r"\[cu(\d+)\]", wheel):
        return f"{extra[1]}.0"
    raise LookupError(f"nothing tells for which CUDA {file.name} was built")


def read(wheel: str) -> dict[str, str | list[str]]:
    """Fetch a wheel, return what is stored of it, and remove it.

    Raises
    ------
    LookupError
        It could not be fetched or read.
    """
    with tempfile.TemporaryDirectory() as name:
        try:
            return row_of(wheel, fetch(wheel, Path(name)))
        except SetUpError as problem:
            raise LookupError(str(problem)) from None


def renewed(
    stored: dict[str, dict], wheels: list[str], read: Callable[[str], dict], today: str
) -> tuple[dict[str, dict], list[str]]:
    """Return the rows after reading some wheels again, and which of them could not be had.

    Parameters
    ----------
    stored
        The rows by wheel.
    wheels
        Which to read.
    read
        Gives what is stored of a wheel, or raises LookupError.
    today
        The day that a row which is read now gets, as 2026-11-24.
    """
    rows, failed = dict(stored), []
    for place, wheel in enumerate(wheels, 1):
        print(f"{place} of {len(wheels)}  {wheel} …", end=" ", flush=True)
        try:
            rows[wheel] = read(wheel) | {"read": today}
        except LookupError as problem:
            failed.append(wheel)
            kept = f"kept as of {stored[wheel]['read']}" if wheel in stored else "left out"
            print(f"{kept}: {without_address(str(problem))}")
            continue
        print(f"CUDA {rows[wheel]['cuda']}, {' '.join(rows[wheel]['sass']) or 'no GPU code'}", flush=True)
    return rows, failed


def load() -> dict[str, dict]:
    """Return the stored rows by wheel."""
    rows = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else []
    return {f"{row['name']}=={row['version']}": row for row in rows}


def store(rows: dict[str, dict]) -> None:
    """Store the rows in the order of `WHEELS`, one a line."""
    lines = ",\n".join(json.dumps(rows[wheel]) for wheel in WHEELS if wheel in rows)
    STORED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    chosen = [wheel for wheel in WHEELS if not arguments or wheel.startswith(tuple(arguments))]
    if not chosen:
        print(
            f"wheel_code: no row begins with {' or '.join(arguments)}: give the beginning of a line of WHEELS"
        )
        return 2
    rows, failed = renewed(load(), chosen, read, datetime.now(UTC).date().isoformat())
    store(rows)
    print(f"{STORED.relative_to(ROOT)}: {len(chosen) - len(failed)} of {len(chosen)} rows read today")
    return 0 if len(failed) < len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
