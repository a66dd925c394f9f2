"""Facts: what a report says of a machine, as names and short values.

A fact has the words that it was read from. What is not known is not there: no condition on it holds.

>>> facts = read("NVIDIA-SMI 550.54.14   Driver Version: 550.54.14   CUDA Version: 12.4")
>>> facts["driver"].value, facts["driver_cuda"].value
('550.54.14', '12.4')
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from host_to_device.diagnosing import matrix

LONGEST_LINE = 400  # characters of a line that are read
MOST_LINES = 2000  # lines that have the words of one fact


@dataclass(frozen=True)
class Fact:
    """A value, always as text, and the words from which it was read."""

    value: str
    words: str


Facts = dict[str, Fact]

# With re.ASCII, \w, \d and \b mean in these patterns what they mean in JavaScript: book/doctor reads texts with them, too.

# Name of a fact, a word that its line contains in small letters, and the expression that reads the value.
LINES = (
    ("driver", "driver version", r"\b(?:nvidia )?driver version: ?\s{0,4}([\d]{3}\.[\d.]+)"),
    ("driver", "kmd version", r"\bKMD Version: ?\s{0,4}(\d{3}\.[\d.]+)"),
    ("driver", "nvrm version", r"NVRM version: .{0,60}\s(\d{3}\.[\d.]+)\s"),
    ("driver_cuda", "cuda version", r"\|.{0,70}\bCUDA Version: ?\s{0,4}(\d{1,2}\.\d)"),
    ("driver_cuda", "cuda umd version", r"CUDA UMD Version: ?\s{0,4}(\d{1,2}\.\d)"),
    ("toolkit", "cuda compilation tools", r"Cuda compilation tools, release (\d{1,2}\.\d)"),
    ("torch", "pytorch version", r"PyTorch version: ?(\d[\w.+]{0,30})"),
    ("torch_built", "cuda used to build", r"CUDA used to build PyTorch: ?([\w./ ]{1,24})"),
    ("torch_rocm", "rocm used to build", r"ROCM used to build PyTorch: ?(\d[\w.-]{0,20})"),
    ("torch_available", "is cuda available", r"Is CUDA available: ?(True|False)"),
    ("python", "python version", r"^Python version: ?(\d\.\d{1,2})"),
    ("macos", "os: mac", r"^OS: (mac ?OS.{0,20})"),
    ("windows", "os: ", r"^OS: (?:Microsoft )?(Windows.{0,20})"),
    ("capability", "capability", r"\bcapability (?:is )?sm_(\d{2,3})a?\b(?=.{0,40} not compatible)"),
    ("capability", "which is of cuda capability", r"which is of cuda capability (\d{1,2}\.\d)"),
    ("visible_index", "cuda_visible_devices", r"CUDA_VISIBLE_DEVICES\W{1,6}(\d{1,2})\b(?!,)"),
    ("no_device", "no cuda gpus", r"(No CUDA GPUs are available)"),
    ("no_device", "no cuda-capable", r"(no CUDA-capable device is detected)"),
    ("found_version", "found version", r"too old \(found version (\d{4,5})\)"),
)
# Packages of pip list, pip freeze, conda list and collect_env.
PACKAGE = r"^\W{{0,4}}(?:\[?(?:pip3?|conda)\]?)?\s{{0,4}}{name}(?:==|\s{{1,60}})(\d[\w.+!-]{{0,40}})(?=\s|$)(?!\s{{1,4}}(?:is|was|and|has|in|on|requires|depends)\b)"
PACKAGES = {
    "torch": "pip_torch",
    "pytorch": "conda_torch",
    "torchvision": "torchvision",
    "torchaudio": "torchaudio",
    "numpy": "numpy",
    "numba": "numba",
    "numba-cuda": "numba_cuda",
    "triton": "triton",
    "tensorflow": "tensorflow",
}
GPU = re.compile(
    r"\|\s{1,4}(\d{1,2})\s{1,4}(\S[^|]{2,40}?)\s{1,20}(?:On|Off|WDDM|TCC|MCDM|N/A)\s{0,4}\|", re.ASCII
)
GPU_OF_LIST = re.compile(
    r"^\s{0,8}(?:GPU models and configuration: )?(?:GPU )?(\d{1,2}): ((?:NVIDIA|Tesla|GeForce|Quadro)[^(|]{1,50})",
    re.ASCII,
)
CUPY = re.compile(
    r"^\W{0,4}(?:\[?(?:pip3?|conda)\]?)?\s{0,4}(cupy(?:-cuda\d{2,3}x?)?)(?:==|\s{1,60})(\d[\w.]{1,20})(?=\s|$)",
    re.ASCII,
)
CUPY_LIBRARY = (
    r"^\W{{0,4}}(?:\[?(?:pip3?|conda)\]?)?\s{{0,4}}nvidia-cuda-(?:nvrtc|runtime)-cu{major}(?:==|\s)"
)
CUPY_LIBRARIES = ("11", "12")  # the versions of CUDA whose libraries CuPy takes from such packages
CONDA_BUILD = re.compile(r"[\s_](cpu|cuda)(\d{1,2}\.\d)?\S{0,40}", re.ASCII)
CUDA_OF_CUPY = re.compile(r"cuda(1\d)")
CUDA_OF_TORCH = re.compile(r"^\d{1,2}\.\d$", re.ASCII)
TAG = re.compile(r"\+(cpu|cu(\d{2,3})|rocm[\d.]*)", re.ASCII)
NO_CUDA = ("None", "Could not collect")  # what collect_env prints for a build without CUDA
GPU_WORDS = ("gpu ", ": nvidia", ": tesla", ": geforce")


def lines_with(text: str, small: str, word: str) -> list[str]:
    """Return the lines of a text that contain a word; `small` is the text in small letters."""
    found: list[str] = []
    at = small.find(word)
    while at >= 0 and len(found) < MOST_LINES:
        start, end = small.rfind("\n", 0, at) + 1, small.find("\n", at)
        end = len(text) if end < 0 else end
        if at - start > LONGEST_LINE:
            start = at - LONGEST_LINE
        found.append(text[start : min(end, at + LONGEST_LINE)])
        at = small.find(word, end)
    return found


def read(text: str, small: str | None = None) -> Facts:
    """Return the facts that a pasted text states.

    Parameters
    ----------
    text
        nvidia-smi, `torch.utils.collect_env`, a list of packages, nvcc, an error message, or all of these.
    small
        The text in small letters, of the same length, where the caller has it.
    """
    small = text.lower() if small is None else small
    facts: Facts = {"pasted": Fact("yes", "")}

    def take(name: str, value: str, words: str) -> None:
        facts.setdefault(name, Fact(value.strip(), " ".join(words.split())))

    for name, word, expression in LINES:
        for line in lines_with(text, small, word):
            if found := re.search(expression, line, re.IGNORECASE | re.ASCII):
                take(name, found[1], found[0])
                break
    _packages(text, small, take)
    _gpus(text, small, take)
    _torch_of_report(facts, take)
    if "windows" in facts:
        take("platform", "windows", facts["windows"].words)
    if "macos" in facts:
        take("platform", "mac", facts["macos"].words)
    if "found_version" in facts:
        number = int(facts["found_version"].value)
        take("driver_cuda", f"{number // 1000}.{number % 1000 // 10}", facts["found_version"].words)
    if "capability" in facts and "." not in facts["capability"].value:
        digits = facts["capability"]
        facts["capability"] = Fact(f"{digits.value[:-1]}.{digits.value[-1]}", digits.words)
    derive(facts)
    return facts


def package_pattern(package: str) -> str:
    """Return the expression that reads a package's version from a line of a list."""
    return PACKAGE.format(name=re.escape(package))


def _packages(text: str, small: str, take: Callable[[str, str, str], None]) -> None:
    for package, name in PACKAGES.items():
        expression = re.compile(package_pattern(package), re.ASCII)
        for line in lines_with(text, small, package):
            if found := expression.search(line.replace("|", " ")):
                take(name, found[1], found[0])
                if package == "pytorch" and (build := CONDA_BUILD.search(line)):
                    take("torch_kind", build[1], line)
                    if build[2]:
                        take("torch_cuda", build[2], line)
                break
    cupys: dict[str, str] = {}
    for line in lines_with(text, small, "cupy"):
        if found := CUPY.search(line):
            cupys.setdefault(found[1], found[0])
    take_cupy(cupys, take)
    for major in CUPY_LIBRARIES:
        for line in lines_with(text, small, f"-cu{major}"):
            if found := re.search(CUPY_LIBRARY.format(major=major), line, re.ASCII):
                take(f"libraries_{major}", "yes", found[0])
                break


def take_cupy(cupys: dict[str, str], take: Callable[[str, str, str], None]) -> None:
    """Take the facts of the CuPy packages: names with the words that name them."""
    if not cupys:
        return
    take("cupy_packages", str(len(cupys)), "; ".join(cupys.values()))
    take("cupy_names_plain", " ".join(cupys), "; ".join(cupys.values()))
    if len(cupys) > 1:
        take("cupy_names", f" ({', '.join(cupys)})", "; ".join(cupys.values()))
    for name, words in cupys.items():
        if major := CUDA_OF_CUPY.search(name):
            take("cupy_cuda", major[1], words)


def _gpus(text: str, small: str, take: Callable[[str, str, str], None]) -> None:
    names: dict[str, str] = {}
    for line in lines_with(text, small, "|"):
        if found := GPU.search(line):
            names.setdefault(found[1], found[2])
    for word in GPU_WORDS:
        for line in lines_with(text, small, word):
            if found := GPU_OF_LIST.search(line):
                names.setdefault(found[1], found[2].strip())
    if names:
        words = ", ".join(dict.fromkeys(names.values()))
        take("gpus", str(len(names)), words)
        take("gpu_name", names[min(names, key=int)], words)


def _torch_of_report(facts: Facts, take: Callable[[str, str, str], None]) -> None:
    """Take which PyTorch there is, and what it was built for."""
    for name in ("pip_torch", "conda_torch"):
        if name in facts:
            take("torch", facts[name].value, facts[name].words)
    if "torch_rocm" in facts:
        take("torch_kind", "rocm", facts["torch_rocm"].words)
    if built := facts.get("torch_built"):
        if CUDA_OF_TORCH.match(built.value):
            take("torch_cuda", built.value, built.words)
            take("torch_kind", "cuda", built.words)
        elif built.value.startswith(NO_CUDA) and "torch" in facts:
            take("torch_kind", "cpu", built.words)
    for library in ("torch", "torchvision", "torchaudio"):
        if library in facts and (tag := TAG.search(facts[library].value)):
            words = facts[library].words
            take(f"{library}_tag", tag[1], words)
            if library == "torch":
                take("torch_kind", "cuda" if tag[2] else tag[1].rstrip("0123456789."), words)
                if tag[2]:
                    take("torch_cuda", f"{tag[2][:-1]}.{tag[2][-1]}", words)


def derive(facts: Facts) -> None:
    """Add what follows from the facts and the tables of versions."""

    def add(name: str, value: str | None, *of: str) -> None:
        if value:
            facts.setdefault(
                name,
                Fact(value, "; ".join(dict.fromkeys(facts[each].words for each in of if facts[each].words))),
            )

    def value(name: str) -> str:
        return facts[name].value if name in facts else ""

    if "gpu_name" in facts:
        add("capability", matrix.capability_of(value("gpu_name")), "gpu_name")
    if "capability" in facts:
        add("capability_digits", value("capability").replace(".", ""), "capability")
        of = f"{value('gpu_name')}, " if "gpu_name" in facts else ""
        add("card_words", f" ({of}compute capability {value('capability')})", "capability")
    if "driver" in facts:
        add("driver_branch", value("driver").partition(".")[0], "driver")
        add("driver_cuda", matrix.cuda_of_driver(value("driver")), "driver")
    for name in ("driver_cuda", "torch_cuda", "toolkit"):
        if name in facts:
            add(f"{name}_major", value(name).partition(".")[0], name)
    if "toolkit" in facts:
        add("toolkit_words", f" (CUDA {value('toolkit')})", "toolkit")
    if "cupy_cuda" in facts:
        add("cupy_words", f" (CUDA {value('cupy_cuda')})", "cupy_cuda")
        add("cupy_min_driver", matrix.lowest_driver(value("cupy_cuda")), "cupy_cuda")
        add("cupy_libraries", value(f"libraries_{value('cupy_cuda')}"), "cupy_cuda")
    if "driver_cuda" in facts:
        major = value("driver_cuda_major")
        if major.isdigit():
            for name, words in matrix.builds_for(int(major)).items():
                add(name, words, "driver_cuda")
        if major == "12":
            add("ptx_toolkit", value("driver_cuda"), "driver_cuda")
        add("torch_index", matrix.torch_index(value("driver_cuda"), value("capability")), "driver_cuda")
    if "torch" in facts:
        add("torch_words", f" ({value('torch')})", "torch")
        add("torch_minor", ".".join(re.findall(r"\d+", value("torch"))[:2]), "torch")
    if "torch_cuda" in facts:
        add("torch_min_driver", matrix.lowest_driver(value("torch_cuda_major")), "torch_cuda")
        if "torch_minor" in facts and (cards := matrix.cards_of(value("torch_minor"), value("torch_cuda"))):
            add("torch_oldest_card", cards[0], "torch")
            add("torch_newest_card", cards[1], "torch")
    for library in ("torchvision", "torchaudio"):
        if library in facts and "torch_minor" in facts:
            add(f"{library}_wants", matrix.torch_of(library, value(library)), library)
    if "numpy" in facts:
        add("numpy_minor", ".".join(re.findall(r"\d+", value("numpy"))[:2]), "numpy")
        add("numpy_words", f" {value('numpy')}", "numpy")
    if "numba" in facts and (numpy := matrix.numpy_of(value("numba"))):
        add("numba_numpy", numpy, "numba")
        first, _, second = numpy.partition(".")
        add("numpy_below", f"{first}.{int(second) + 1}", "numba")
    _needed(facts, add, value)


def _needed(facts: Facts, add: Callable[..., None], value: Callable[[str], str]) -> None:
    """Add which driver the installed builds need, in words."""
    if "driver" in facts:
        add("driver_words", f" ({value('driver')})", "driver")
    of = next((name for name in ("torch_cuda", "cupy_cuda") if name in facts), "")
    if of:
        add("needed_cuda", f" {value(of)}", of)
        lowest = matrix.lowest_driver(value(of).partition(".")[0])
        add("needed_driver", lowest and f"CUDA {value(of)} needs {lowest} or newer", of)
