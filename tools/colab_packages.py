"""Hold the library against what Google Colab ships (`make lock ARGS=--colab`).

Colab publishes its package lists. Installing this library there must change nothing that Colab brought, above
all not its torch, NumPy or CUDA packages. This reads the lists of both runtimes, holds our bounds against them,
then makes an environment of the same versions, installs the library into it, compares what was there before and
after, and runs the notebooks in it.

`make lock ARGS=--colab-list` stores today's lists in `colab.json`. The tests hold our bounds against the stored lists,
and `tests/project/test_colab.py` runs every notebook in a replica made of them, without asking Colab.
"""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / "_build" / "colab"

LISTS = "https://raw.githubusercontent.com/googlecolab/backend-info/main/"
RUNTIMES = {"without a GPU": "pip-freeze.txt", "with a GPU": "pip-freeze.gpu.txt"}
SYSTEM = "os-info.txt"
STORED = Path(__file__).with_name("colab.json")
QUIET = ("--disable-pip-version-check", "--quiet")
BROUGHT_BY_TORCH = ("torch==", "triton==", "nvidia-", "sympy==", "setuptools==")
NBVAL = ("--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/nbval-sanitize.cfg")

# What the notebooks stand on at Colab, besides the library's own dependencies.
BESIDE = (
    "torch",
    "anywidget",
    "dask",
    "distributed",
    "ipykernel",
    "ipython",
    "ipython-genutils",
    "nbclient",
    "nbformat",
    "pytest",
)
# What the tests of the notebooks need and Colab does not ship.
EXTRA = ("nbval",)


def packages(listing: str) -> dict[str, str]:
    """Return the versions in an output of `pip freeze` by name; what has no version is left out."""
    found = {}
    for line in listing.splitlines():
        name, _, rest = line.partition("#")[0].replace(" @ ", "@").strip().partition("@")
        if rest:  # from an address: the version stands in a wheel's file name
            wheel = re.search(
                r"/[^/]+?-([^/-]+)(?:-[^/-]+)?-[^/-]+-[^/-]+-[^/-]+\.whl$", rest.replace("%2B", "+")
            )
            version = wheel[1] if wheel else ""
        else:
            name, _, version = name.partition("==")
        if version:
            found[canonicalize_name(name.strip())] = version.strip()
    return found


def python_version(system: str) -> str:
    """Return the minor version of Python, such as 3.12, that this system description names."""
    return re.search(r"^Python (\d+\.\d+)", system, re.M)[1]


def dependencies(pyproject: str) -> list[Requirement]:
    """Return what installing the library asks of pip."""
    return [Requirement(line) for line in tomllib.loads(pyproject)["project"]["dependencies"]]


def unmet(wanted: list[Requirement], there: dict[str, str]) -> list[str]:
    """Return what pip would fetch or replace on a machine with these packages."""
    problems = []
    for requirement in wanted:
        version = there.get(canonicalize_name(requirement.name))
        if version is None:
            problems.append(f"{requirement.name} is not there")
        elif not requirement.specifier.contains(version, prereleases=True):
            problems.append(f"{requirement} does not hold for {version}")
    return problems


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return what installing the library did to the packages that were there."""
    return [
        f"{name}: {version} became {after.get(name, 'nothing')}"
        for name, version in sorted(before.items())
        if after.get(name) != version
    ]


def requirements(there: dict[str, str], wanted: list[Requirement]) -> tuple[list[str], list[str]]:
    """Return what to install for the notebooks to run as at Colab, and the constraints to install it under."""
    names = [canonicalize_name(requirement.name) for requirement in wanted]
    install = [name for name in (*names, *BESIDE) if name in there] + list(EXTRA)
    # A local version such as 2.11.0+cu128 is PyTorch's own index's; the plain number is the same release.
    return install, [f"{name}=={version.partition('+')[0]}" for name, version in sorted(there.items())]


def fetch(name: str) -> str:
    """Return one of Colab's published lists."""
    try:
        with urllib.request.urlopen(LISTS + name, timeout=60) as answer:
            return answer.read().decode()
    except OSError as problem:
        sys.exit(f"make lock ARGS=--colab: cannot read Colab's list {LISTS + name}: {problem}")


def store(fetched: dict[str, str], on: str) -> str:
    """Return the text of `colab.json`: the day, the Python, and the versions of both runtimes by name."""
    without, with_gpu = (packages(fetched[name]) for name in RUNTIMES.values())
    others = {name: version for name, version in with_gpu.items() if without.get(name) != version}
    content = {
        "on": on,
        "python": python_version(fetched[SYSTEM]),
        "without a GPU": dict(sorted(without.items())),
        "other with a GPU": dict(sorted(others.items())),
    }
    return json.dumps(content, indent=1) + "\n"


def stored() -> dict:
    """Return what `colab.json` has: "on", "python", and the versions of each runtime by name."""
    content = json.loads(STORED.read_text(encoding="utf-8"))
    without = content["without a GPU"]
    return {
        "on": content["on"],
        "python": content["python"],
        "without a GPU": without,
        "with a GPU": {**without, **content["other with a GPU"]},
    }


def archive(to: Path) -> Path:
    """Pack the files that git has as GitHub packs those of a tag, for pip to install; return the zip file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                packed.write(ROOT / name, f"host-to-device/{name}")
    return to


def environment() -> dict[str, str]:
    """Return the variables of a program that runs without a GPU and finds only what its own Python has."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    return {**kept, "H2D_MACHINE": "stand-in"}


def run_notebooks(
    python: Path, notebooks: list[Path], folder: Path, first: str = ""
) -> tuple[set[str], int, str]:
    """Run notebooks in copies, without the repository around them, and compare their outputs with the stored ones.

    Parameters
    ----------
    python
        The Python of an environment that has the library, pytest and nbval.
    notebooks
        The notebooks.
    folder
        An empty folder for the copies.
    first
        A folder whose packages come before those of the environment.

    Returns
    -------
    tuple
        The cells that failed or differ, such as `02-host-and-device.ipynb::Cell 3`; how many cells did not; what pytest
        printed.
    """
    for path in notebooks:
        shutil.copy(path, folder)
    words = (*NBVAL[:2], NBVAL[2], ROOT / NBVAL[3])
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        folder,
        "-c",
        os.devnull,
        *words,
    ]
    variables = environment() | ({"PYTHONPATH": first} if first else {})
    done = subprocess.run([*command, folder], capture_output=True, text=True, env=variables, cwd=folder)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)  # without colours
    failed = {name for name in re.findall(r"^(?:FAILED|ERROR) \S*?([\w-]+\.ipynb::\S+ \d+)", said, re.M)}
    passed = re.search(r"(\d+) passed", said)
    return failed, int(passed[1]) if passed else 0, said


def run(*command: str | Path) -> str:
    """Run a command of the check; show what it prints, and stop where it fails."""
    print("  $", *command, flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout[-4000:]}\nmake lock ARGS=--colab: this failed: {' '.join(map(str, command))}")
    return done.stdout


def make(
    folder: Path, python: str | Path, there: dict[str, str], wanted: list[Requirement], torch: str = ""
) -> Path:
    """Make an environment of these versions, with what the notebooks stand on; return its Python.

    Parameters
    ----------
    folder
        Where the environment goes; what is there is removed.
    python
        The Python that it is made of.
    there
        Colab's versions by name.
    wanted
        What the library asks of pip.
    torch
        The version of PyTorch to take in the place of Colab's, such as 2.13.0+cpu.
    """
    install, constraints = requirements(there, wanted)
    if torch:
        install = [f"torch=={torch}" if name == "torch" else name for name in install]
        constraints = [line for line in constraints if not line.startswith(BROUGHT_BY_TORCH)]
    run(python, "-m", "venv", "--clear", folder)
    (folder / "constraints.txt").write_text("\n".join(constraints) + "\n")
    made = folder / "bin" / "python"
    run(made, "-m", "pip", *QUIET, "install", "--constraint", folder / "constraints.txt", *install)
    return made


def install_course(python: Path, source: Path) -> list[str]:
    """Install the library into an environment; return what that did to the packages that were there."""
    pip = (python, "-m", "pip", *QUIET)
    before = packages(run(*pip, "freeze", "--all"))
    run(*pip, "install", source)
    return changed(before, packages(run(*pip, "freeze", "--all")))


def main(arguments: list[str]) -> int:
    if arguments == ["--store"]:
        fetched = {name: fetch(name) for name in (*RUNTIMES.values(), SYSTEM)}
        STORED.write_text(store(fetched, datetime.date.today().isoformat()), encoding="utf-8")
        print(f"{STORED.relative_to(ROOT)}: Colab's packages of today")
        return 0
    wanted = dependencies((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = {runtime: packages(fetch(name)) for runtime, name in RUNTIMES.items()}
    for runtime, there in lists.items():
        if problems := unmet(wanted, there):
            sys.exit(
                f"make lock ARGS=--colab: on Colab {runtime}, pip would change packages:\n  "
                + "\n  ".join(problems)
            )
        print(f"Colab {runtime}: all of {', '.join(str(requirement) for requirement in wanted)} hold")

    version = python_version(fetch(SYSTEM))
    found = shutil.which(f"python{version}")
    if found is None:
        sys.exit(
            f"make lock ARGS=--colab: Colab runs Python {version}, and no python{version} is on PATH: install it"
        )
    python = make(ENVIRONMENT, found, lists["without a GPU"], wanted)
    if differences := install_course(python, ROOT):
        sys.exit(
            "make lock ARGS=--colab: installing the library changed packages:\n  " + "\n  ".join(differences)
        )
    print("Installing the library changed nothing that was there")
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *NBVAL, "notebooks", "solutions"]
    return subprocess.call(command, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
