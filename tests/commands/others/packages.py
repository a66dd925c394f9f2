"""Functions of packages on PyPI on the stand-ins: `python -m tests.commands.others.packages [PACKAGE…] [--in FOLDER]`.

Installs each package into a folder of its own (or takes it from `--in FOLDER`), runs its GPU functions without a GPU, and
compares them with its own functions for the CPU or with NumPy. `h2d.check` looks at every launch. Prints one row for each
package, and below the table each function that differs or fails and each report of the check. Nothing of a package is
committed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 900


@dataclass(frozen=True)
class Package:
    """A package: what pip installs for it, and pairs of a function's name and an expression that is true if it is right."""

    name: str
    install: tuple[str, ...]
    begin: str
    functions: dict[str, str] = field(default_factory=dict)


PACKAGES = [
    Package(
        "stumpy",
        ("stumpy", "scipy"),
        "import stumpy\nT = np.random.default_rng(0).random(64)\n"
        "def same(a, b): return np.allclose(a[:, 0].astype(float), b[:, 0].astype(float))\n",
        {
            "gpu_stump": "same(stumpy.gpu_stump(T, 8), stumpy.stump(T, 8))",
            "gpu_aamp": "same(stumpy.gpu_aamp(T, 8), stumpy.aamp(T, 8))",
        },
    ),
    Package(
        "sigpy",
        ("sigpy", "scipy", "pywavelets", "tqdm"),
        "import sigpy as sp, cupy as cp\nx = np.random.default_rng(0).random(64)\nd = cp.asarray(x)\n",
        {
            "fft": "np.allclose(sp.fft(d).get(), sp.fft(x))",
            "soft_thresh": "np.allclose(sp.soft_thresh(0.5, d).get(), sp.soft_thresh(0.5, x))",
            "hard_thresh": "np.allclose(sp.hard_thresh(0.5, d).get(), sp.hard_thresh(0.5, x))",
            "resize": "np.allclose(sp.resize(d, (80,)).get(), sp.resize(x, (80,)))",
            "circshift": "np.allclose(sp.circshift(d, (3,)).get(), sp.circshift(x, (3,)))",
        },
    ),
    Package(
        "fbpic",
        ("fbpic", "scipy"),
        "import fbpic\nfrom fbpic.utils import cuda as of_cuda\n",
        {
            "the import finds CUDA": "of_cuda.cuda_installed",
            "cuda_tpb_bpg_1d": "of_cuda.cuda_tpb_bpg_1d(1000)[0] > 0",
        },
    ),
]

CHILD = """
import contextlib, io, json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import host_to_device as h2d
with contextlib.redirect_stdout(io.StringIO()):
    h2d.start()
from host_to_device.testing.launches import watched
begin, functions = json.load(sys.stdin)
names, reports, found = {"np": np}, [], {}
try:
    with contextlib.redirect_stdout(sys.stderr), watched(reports):
        exec(begin, names)
        for name, expression in functions.items():
            try:
                found[name] = "agrees" if eval(expression, names) else "differs"
            except Exception as problem:
                found[name] = f"{type(problem).__name__}: {problem}".splitlines()[0]
except Exception as problem:
    found = dict.fromkeys(functions, f"import: {type(problem).__name__}: {problem}".splitlines()[0])
print(json.dumps([found, reports]))
"""


def run(package: Package, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return what became of each function, and the check's reports with an error."""
    environment = os.environ | {
        "H2D_MACHINE": "stand-in",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]),
    }
    given = json.dumps([package.begin, package.functions])
    words = [sys.executable, "-c", CHILD]
    try:
        done = subprocess.run(
            words, input=given, capture_output=True, text=True, env=environment, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return dict.fromkeys(package.functions, f"not done after {SECONDS} s"), []
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        return dict.fromkeys(package.functions, last), []
    found, reports = json.loads(done.stdout.splitlines()[-1])
    return found, reports


def version(name: str, folder: Path) -> str:
    """Return the version of a package in a folder, or "?"."""
    found = [path.name.split("-")[1] for path in folder.glob(f"{name.replace('-', '_')}-*.dist-info")]
    return found[0].removesuffix(".dist") if found else "?"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", help=f"of {', '.join(each.name for each in PACKAGES)}; without one, all"
    )
    parser.add_argument("--in", dest="folder", type=Path, help="a folder that has the packages already")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - {each.name for each in PACKAGES}:
        parser.error(f"there is no program for {', '.join(sorted(unknown))}")
    rows, details = (
        ["| package | version | functions that agree | launches with a finding |", "|---|---|---|---|"],
        [],
    )
    with tempfile.TemporaryDirectory(prefix="others-") as scratch:
        for package in PACKAGES:
            if asked.names and package.name not in asked.names:
                continue
            folder = asked.folder or Path(scratch) / package.name
            if not asked.folder:
                pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder]
                subprocess.run([*pip, *package.install], check=True)
            found, reports = run(package, folder)
            agree = sum(each == "agrees" for each in found.values())
            rows.append(
                f"| {package.name} | {version(package.name, folder)} | {agree} of {len(found)} | {len(reports)} |"
            )
            details += [f"{package.name}, {name}: {each}" for name, each in found.items() if each != "agrees"]
            details += [f"{package.name}:\n{each}" for each in reports]
    print("\n".join([*rows, "", *details]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
