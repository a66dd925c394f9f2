"""Hold the library against what Google Colab ships (`make lock ARGS=--colab`).

Colab publishes its package lists. Installing this library there must change nothing that Colab brought, above
all not its torch, NumPy or CUDA packages. This reads the lists of both runtimes, holds our bounds against them,
then makes an environment of the same versions, installs the library into it, compares what was there before and
after, and runs the notebooks in it.
"""

import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / "_build" / "colab"

LISTS = "https://raw.githubusercontent.com/googlecolab/backend-info/main/"
RUNTIMES = {"without a GPU": "pip-freeze.txt", "with a GPU": "pip-freeze.gpu.txt"}
SYSTEM = "os-info.txt"

# What the notebooks stand on at Colab, besides the library's own dependencies.
BESIDE = (
    "torch",
    "anywidget",
    "dask",
    "distributed",
    "ipykernel",
    "ipython",
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


def run(*command: str | Path) -> str:
    """Run a command of the check; show what it prints, and stop where it fails."""
    print("  $", *command, flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout[-4000:]}\nmake lock ARGS=--colab: this failed: {' '.join(map(str, command))}")
    return done.stdout


def main() -> int:
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
    python = shutil.which(f"python{version}")
    if python is None:
        sys.exit(
            f"make lock ARGS=--colab: Colab runs Python {version}, and no python{version} is on PATH: install it"
        )
    install, constraints = requirements(lists["without a GPU"], wanted)
    run(python, "-m", "venv", "--clear", ENVIRONMENT)
    python = ENVIRONMENT / "bin" / "python"
    (ENVIRONMENT / "constraints.txt").write_text("\n".join(constraints) + "\n")
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "install", "--constraint", ENVIRONMENT / "constraints.txt", *install)

    before = packages(run(*pip, "freeze", "--all"))
    run(*pip, "install", ROOT)
    if differences := changed(before, packages(run(*pip, "freeze", "--all"))):
        sys.exit(
            "make lock ARGS=--colab: installing the library changed packages:\n  " + "\n  ".join(differences)
        )
    print("Installing the library changed nothing that was there")
    notebooks = ("--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/nbval-sanitize.cfg")
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *notebooks, "notebooks", "solutions"]
    return subprocess.call(command, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
