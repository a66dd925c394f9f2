"""Calls the machine's own C++ compiler, and keeps what it compiled in a cache.

The compiler is g++ or clang++, else the one in the `ziglang` package. It puts a call that checks the address before
every access to memory (`-fsanitize=kernel-address`, with functions of our own instead of a sanitizer's library).
Nothing else has to be installed, and each fault comes with the line of the access.

`DIFFERENCES` lists where NVRTC, the compiler behind `cupy.RawKernel`, accepts or refuses something else.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from host_to_device.standins.cuda_cpp import conversions
from host_to_device.standins.cuda_cpp.errors import CompileError, SourceError
from host_to_device.standins.cuda_cpp.sources import FILE, TAIL
from host_to_device.support import folders
from host_to_device.support.caching import Cache

INCLUDE = Path(__file__).parent / "include"  # headers that a learner's source may include
RUN_TIME = Path(__file__).parent / "runtime"  # the code that runs its kernels
TIMEOUT = 60  # seconds for one run of the compiler

DIFFERENCES = (
    # (what, with NVRTC, here)
    ("variable-length arrays", "refused", "accepted"),
    ("`__int128` without `--device-int128`", "refused", "accepted"),
    ("C++17 under `-std=c++14`", "refused", "accepted"),
    ("inline PTX", "accepted", "refused"),
    ("launching kernels from kernels", "accepted with `-rdc`", "refused"),
    (
        "textures, surfaces, wmma, `curand_kernel.h`",
        "accepted with their headers",
        "refused",
    ),
    (
        "cooperative groups: clusters, tiles of more than a warp, barriers in two halves",
        "accepted",
        "refused",
    ),
    (
        "CUB: all but `BlockReduce`, `BlockScan`, `BlockLoad`, `BlockStore`, `WarpReduce` and `WarpScan`",
        "accepted",
        "refused",
    ),
    (
        "`cuda::` and `cuda::std::`: all but atomics, limits, mathematics, type traits and the small helpers",
        "accepted",
        "refused",
    ),
    (
        "variables that are static in a function",
        "shared by all blocks",
        "one for each process that runs blocks",
    ),
    ("kernels of one name with different parameters", "accepted", "refused"),
)

COMMON = (
    "-O2",
    "-fPIC",
    "-w",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-strict-aliasing",  # CUDA sources read a float as an int, and four floats as one float4
    "-fwrapv",
    "-fno-math-errno",
    "-fno-stack-protector",
    "-ffp-contract=off",
    "-gdwarf-4",
)
# Seeded runs need reads and writes told apart, which the calls of the first option do not do.
CHECKED, SEEDED = "-fsanitize=kernel-address", "-fsanitize=thread"
GCC = (
    "-g1",
    "-fno-aggressive-loop-optimizations",  # else a loop past an array's end may never end
    "-fno-gcse",  # else one instruction may convert a float to two types
    "-fno-code-hoisting",  # else a conversion moves before the call that checks its value
    "-fno-tree-pre",
    "-fno-gnu-unique",
    "-fno-diagnostics-show-caret",
    "--param=asan-stack=0",
    "--param=asan-globals=1",
    "--param=asan-instrumentation-with-call-threshold=0",
)
CLANG = (
    "-gline-tables-only",
    "-fno-caret-diagnostics",
    "-fno-sanitize=undefined",  # a default of zig's
    "-fno-strict-float-cast-overflow",  # floats saturate
    "-UNDEBUG",  # another default of zig's
    "-mllvm",
    "-asan-stack=0",
    "-mllvm",
    "-asan-globals=1",
    "-mllvm",
    "-asan-instrumentation-with-call-threshold=0",
)
TOLD_ALL = ["-mllvm", "-tsan-instrument-read-before-write"]  # else clang leaves out a read before a write
# Seeded runs also compare each index with the length that the array's type has.
INDEXED = {False: "-fsanitize=bounds", True: "-fsanitize=array-bounds"}  # by whether it is clang
UNFIT = "-fsanitize=float-cast-overflow"  # calls a hook before a conversion that C++ leaves undefined
ASSEMBLED = "-Wa,--gdwarf-4"  # the version of the line table, for assembly
# What local variables begin with in seeded runs. g++ takes the option from version 12 on.
LOCALS = "-ftrivial-auto-var-init="
UNSET = {
    False: ("-Wuninitialized", "-Wmaybe-uninitialized"),
    True: ("-Wuninitialized", "-Wsometimes-uninitialized", "-Wconditional-uninitialized"),
}
RUNTIME = ("-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-std=c++17", "-w", "-c")

# Options of NVRTC that change nothing here, with or without a value.
IGNORED = re.compile(
    r"--?(gpu-architecture|arch|fmad|maxrregcount|device-debug|G|generate-line-info|lineinfo|use_fast_math|ftz|"
    r"prec-sqrt|prec-div|extra-device-vectorization|default-device|device-as-default-execution-space|dc|rdc|"
    r"relocatable-device-code|device-c|dw|device-w|w|disable-warnings|restrict|builtin-move-forward|"
    r"builtin-initializer-list|no-source-include|dopt|modify-stack-limit|extensible-whole-program|ewp|"
    r"display-error-number|err-no|no-display-error-number|no-err-no|diag-suppress|diag-error|diag-warn|"
    r"minimal|jitify|device-int128|split-compile|time|optimization-info|opt-info|version-ident)(=.*)?"
)


class Compiler:
    """A C++ compiler.

    Attributes
    ----------
    command
        The command that starts it.
    name
        Its name in messages.
    identity
        A text that changes when the compiler changes.
    """

    def __init__(self, command: list[str], name: str, file: str) -> None:
        self.command, self.name = command, name
        about = os.stat(file)
        self.identity = f"{' '.join(command)} {os.path.realpath(file)} {about.st_size} {about.st_mtime_ns}"

    @functools.cached_property
    def fills_locals(self) -> bool:
        """Whether it can fill the local variables of a function: clang, and g++ from version 12 on."""
        if self.is_clang:
            return True
        said = subprocess.run(
            [*self.command, "-dumpversion"], capture_output=True, text=True, timeout=10, check=False
        )
        return int(said.stdout.partition(".")[0].strip() or 0) >= 12

    @functools.cached_property
    def is_clang(self) -> bool:
        """Whether it takes clang's options. On macOS the command g++ is clang."""
        if self.name == "ziglang":
            return True
        said = subprocess.run(
            [*self.command, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
        return "clang" in said.stdout

    def run(self, arguments: Iterable[str], text: str = "") -> subprocess.CompletedProcess:
        """Run the compiler without a shell, in English, for at most `TIMEOUT` seconds.

        Raises
        ------
        CompileError
            If it does not start or does not finish.
        """
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            return subprocess.run(
                [*self.command, *arguments],
                input=text,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=TIMEOUT,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CompileError(f"{self.name} did not finish within {TIMEOUT} s") from None
        except OSError as problem:
            raise CompileError(f"{self.name} does not start: {problem.strerror}") from None


@functools.cache
def find() -> Compiler:
    """Return the compiler for kernels: g++, clang++, or the one in the package `ziglang`.

    Raises
    ------
    CompileError
        If this machine has none of them, or cannot run kernels.
    """
    if os.name != "posix" or sys.platform == "emscripten":
        raise CompileError("CUDA C++ kernels run on Linux and macOS only; array code works here, too")
    for name in ("g++", "clang++"):
        if path := shutil.which(name):
            return Compiler([path], name, path)
    found = importlib.util.find_spec("ziglang")
    if found is not None and found.origin:
        return Compiler([sys.executable, "-m", "ziglang", "c++"], "ziglang", found.origin)
    raise CompileError(
        "CUDA C++ kernels need a C++ compiler: install g++ or clang++, or `pip install ziglang`"
    )


_caches: dict[Path, Cache] = {}


def cache() -> Cache:
    """Return the cache in the default folder."""
    folder = folders.cache("cuda")
    if folder not in _caches:
        _caches[folder] = Cache(folder, CompileError)
    return _caches[folder]


# ---------------------------------------------------------------- compiling


@functools.cache
def _own_sources() -> str:
    """Return a digest of what compiled code depends on besides the source: the headers and the options."""
    options = COMMON, GCC, CLANG, RUNTIME, CHECKED, SEEDED, TOLD_ALL, INDEXED, LOCALS, UNFIT, ASSEMBLED
    digest = hashlib.sha256(repr(options).encode() + Path(str(conversions.__file__)).read_bytes())
    headers = sorted(each for each in INCLUDE.rglob("*") if each.is_file())
    for path in (*headers, *sorted(RUN_TIME.iterdir())):
        digest.update(path.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def key_of(*parts: object) -> str:
    """Return the key of a compiled file: a hash of everything that it depends on."""
    text = json.dumps([_own_sources(), find().identity, sys.platform, os.uname().machine, *parts])
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def translate(options: Iterable[str]) -> list[str]:
    """Translate NVRTC's options for the C++ compiler.

    Raises
    ------
    CompileError
        If NVRTC has no such option, or an option lacks its value.
    """
    options, result, standard, i = [str(option) for option in options], [], "17", 0
    while i < len(options):
        option = options[i]
        long = re.fullmatch(r"--(define-macro|undefine-macro|include-path|pre-include)(?:=(.*))?", option)
        short = re.fullmatch(r"-([DUI])\s*(.*)", option, re.DOTALL)
        if long or short or option in ("-include",):
            if long:
                letter = {"d": "-D", "u": "-U", "i": "-I", "p": "-include"}[long.group(1)[0]]
                value = long.group(2)
            else:
                letter, value = (f"-{short.group(1)}", short.group(2)) if short else ("-include", "")
            if not value:
                i += 1
                if i == len(options):
                    raise CompileError(f"nvrtc: error: option {option} needs a value")
                value = options[i]
            result += ["-include", value] if letter == "-include" else [letter + value]
        elif match := re.fullmatch(r"--?std=(?:c|gnu)\+\+(\d\d)", option):
            standard = max(match.group(1), "17")
        elif option in ("-arch", "--gpu-architecture", "-maxrregcount", "--maxrregcount"):
            i += 1
        elif not IGNORED.fullmatch(option):
            raise CompileError(f"nvrtc: error: unrecognized option {option} found")
        i += 1
    return [f"-std=c++{standard}", *result]


def expand(source: str, options: Iterable[str]) -> str | None:
    """Return the preprocessed source, in which CUDA's keywords still stand; None where the preprocessor fails."""
    arguments = [*options, "-E", "-P", "-nostdinc", "-nostdinc++", f"-I{INCLUDE}", "-D__CUDACC__=1"]
    arguments += ["-D__CUDA_ARCH__=750", "-D__CUDACC_RTC__=1", "-DH2D_EXPAND", "-x", "c++", "-"]
    done = find().run(arguments, source)
    return done.stdout if done.returncode == 0 else None


def runtime() -> Path:
    """Return the compiled runtime, which is the same for all kernels."""
    key = key_of("runtime")
    found = cache().get(key)
    if found:
        return found[0]

    def make(path: Path) -> dict:
        done = find().run([*RUNTIME, f"-I{INCLUDE}", str(RUN_TIME / "runtime.cpp"), "-o", str(path)])
        if done.returncode:
            _full_disk(done.stderr)
            raise CompileError(f"{find().name} cannot compile the stand-in's runtime", done.stderr)
        return {}

    return cache().put(key, ".o", make)[0]


def build(text: str, options: list[str], target: Path, locals_begin: str = "") -> None:
    """Compile the text of a module to a shared library.

    Parameters
    ----------
    text, options
        The text and the options of the compiler.
    target
        The file to write.
    locals_begin
        For seeded runs what local variables begin with, "pattern" or "zero"; empty for all other runs.

    Raises
    ------
    SourceError
        If the source has errors. The message is the first of them in one line, `log` has all of them.
    CompileError
        If the compiler does not start or does not finish.
    """
    compiler = find()
    seeded = bool(locals_begin)
    sanitizer = [SEEDED, INDEXED[compiler.is_clang]] if seeded else [CHECKED]
    if seeded:
        sanitizer += TOLD_ALL if compiler.is_clang else ["--param=tsan-instrument-func-entry-exit=0"]
        sanitizer += [LOCALS + locals_begin] if compiler.fills_locals else []
    arguments = [*COMMON, *(CLANG if compiler.is_clang else GCC), *sanitizer, UNFIT, *options]
    arguments += ["-nostdinc", "-nostdinc++", f"-I{INCLUDE}", "-include", "h2d_cuda.h", "-x", "c++", "-"]
    linking = ["-shared", *([] if compiler.name == "ziglang" else ["-nodefaultlibs", "-lm", "-lc"])]
    if seeded and compiler.is_clang:  # in one step clang would link a sanitizer's library as well
        with tempfile.TemporaryDirectory(prefix="host-to-device-") as folder:
            part = str(Path(folder, "kernel.o"))
            _check(compiler.run([*arguments, "-c", "-o", part], text), text)
            _check(compiler.run([part, str(runtime()), "-o", str(target), *linking]), text)
    elif conversions.are_replaced(compiler.is_clang):
        done = compiler.run([*arguments, "-mno-red-zone", "-S", "-o", "-"], text)
        _check(done, text)
        assembly = conversions.replaced(done.stdout)
        arguments = [
            ASSEMBLED,
            "-x",
            "assembler",
            "-",
            "-x",
            "none",
            str(runtime()),
            "-o",
            str(target),
            *linking,
        ]
        _check(compiler.run(arguments, assembly), text)
    else:
        done = compiler.run([*arguments, "-x", "none", str(runtime()), "-o", str(target), *linking], text)
        _check(done, text)


def unset_variables(text: str, options: Iterable[str]) -> list[tuple[int, str]]:
    """Return the variables that the compiler's warnings call uninitialised: line and name of each."""
    compiler = find()
    arguments = [each for each in COMMON if each != "-w"]
    arguments += [*UNSET[compiler.is_clang], *options, "-nostdinc", "-nostdinc++", f"-I{INCLUDE}"]
    # g++ finds them while it optimises, clang before.
    arguments += ["-fsyntax-only"] if compiler.is_clang else ["-S", "-o", os.devnull]
    arguments += ["-include", "h2d_cuda.h", "-x", "c++", "-"]
    try:
        log = compiler.run(arguments, text).stderr
    except CompileError:
        return []
    said = rf"^{re.escape(FILE)}:(\d+):\d+: warning: .*?'(\w+).*?uninitialized"
    found = re.findall(said, log.replace("\u2018", "'").replace("\u2019", "'"), re.MULTILINE)
    return sorted({(int(line), name) for line, name in found})


def _check(done: subprocess.CompletedProcess, text: str) -> None:
    if done.returncode:
        _full_disk(done.stderr)
        raise SourceError(*explain(done.stderr, text))


def _full_disk(log: str) -> None:
    if re.search(r"[Nn]o space left on device|[Dd]isk quota exceeded|[Rr]ead-only file system", log):
        raise OSError(28, "no space left on the device")


def explain(log: str, text: str) -> tuple[str, str]:
    """Return the first error in one line, and the log without lines that do not concern the source."""
    log = "\n".join(
        line for line in log.splitlines() if not line.startswith(("cc1plus:", "compilation terminated"))
    )
    asked = re.search(rf"^{re.escape(TAIL)}:(\d+):\d+: (?:fatal )?error: (.*)$", log, re.MULTILINE)
    first = re.search(rf"^{re.escape(FILE)}:(\d+)(?::\d+)?: (?:fatal )?error: (.*)$", log, re.MULTILINE)
    if first is None and asked is not None:
        lines = text.split(f'"{TAIL}"\n', 1)[-1].splitlines()
        line = lines[int(asked.group(1)) - 1] if int(asked.group(1)) <= len(lines) else ""
        name = re.match(r'(?:H2D_KERNEL\(|\{)"(.*?)"', line)
        return f"{name.group(1) if name else 'a name expression'}: {asked.group(2)}", log
    if first is None:
        if "PTX" in log or re.search(r"Assembler messages|<inline asm>", log):
            return "the stand-in cannot run inline PTX: asm() holds instructions of a GPU", log
        error = re.search(r"(?:error|undefined reference).*", log)
        return error.group(0) if error else (log.strip().splitlines() or ["the compiler failed"])[-1], log
    line, words = int(first.group(1)), first.group(2)
    if "H2D_GivenMask" in words:
        words = "a mask of 32 bits for warps of 64 lanes: HIP, too, refuses masks of fewer than 64 bits"
    if "warpSize" in text and re.search(r"n't constant|constant expression|non-constant|length array", words):
        words += " (warpSize is a variable, for NVRTC as well: give a number)"
    if "<<<" in text:
        words = "in the stand-in a kernel cannot launch kernels with <<<…>>>"
    if missing := re.match(r"'?([^':]+)'?(?::| file) (?:No such file|not found)", words):
        header = missing.group(1)
        words = (
            f"the stand-in has no header {header}"
            if header.startswith(("cuda", "cub/", "thrust/", "cupy/", "mma", "cooperative", "nv/", "cu"))
            else f"cannot open source file {header}: NVRTC, too, has no headers of C++ or the system"
        )
    return f"line {line}: {words}", log
