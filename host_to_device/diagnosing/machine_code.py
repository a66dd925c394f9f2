"""Which GPUs a file has code for: the fatbins inside libraries, wheels and installed packages.

nvcc puts the code for GPUs into *fatbins*. A fatbin is a header of 16 bytes and a row of entries; an entry is machine
code for one architecture (a cubin, in the language SASS) or PTX for one architecture. NVIDIA does not document the
format, so the layout of both headers comes from public notes (`fat_elf_header` and `fat_text_header` in
https://github.com/n-eiling/cuda-fatbin-decompression), and the two bits of the flags that hold the suffix from files that
we compiled for known architectures with CUDA 13.0. NVIDIA's cuobjdump 13.4 counts the same entries of each architecture
in libtorch_cuda.so of PyTorch 2.13 and libcublas.so of CUDA 12.8. It lists machine code for 10.0f as sm_100.

Reading goes forwards only, keeps at most `LARGE` bytes and jumps over the code itself, so a library of several gigabytes
needs neither its size in memory nor, on a disk, most of its bytes.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import IO, NamedTuple

from host_to_device.support.installed import SetUpError

MAGIC = struct.pack("<I", 0xBA55ED50)
HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of all entries
# Kind, attributes, size of this header, size of the payload; compressed size, -, minor and major version, architecture;
# offset and size of the name; flags.
ENTRY = struct.Struct("<HHIQIIHHIIIQ")
VERSION = 1
SHORTEST, LONGEST = 64, 4096  # bytes of an entry's header; 64, 80, 104, 112 and 120 occur
KINDS = {1: "PTX", 2: "SASS"}
SUFFIXES = ((1 << 20, "a"), (1 << 21, "f"))  # flags: architecture-specific, family-specific
SMALL, LARGE = (
    1 << 12,
    1 << 20,
)  # bytes read at once: behind a fatbin, where often another one follows, and later

# A library also links other people's kernels: PyTorch's has MAGMA's, which are built for more GPUs, NVSHMEM's with PTX, and
# some of its own for a single GPU. So what the package as a whole runs on shows in the fatbins for many GPUs: an
# architecture counts if it is in a third of them. This finds the lists that PyTorch documents for its builds.
MANY, SHARE = 3, 1 / 3

BINARY = re.compile(r"\.(so(\.[\d.]+)?|pyd|dll|exe|a|lib|o|obj|fatbin)$", re.IGNORECASE)
WHEEL = re.compile(r"\.(whl|zip)$", re.IGNORECASE)
STORED = Path(__file__).with_name("wheel_code.json")


@dataclass(frozen=True)
class Code:
    """The GPU code of a file or a package: printed, it is one line.

    Attributes
    ----------
    name
        The file, the wheel or the installed package.
    sass
        The compute capabilities that have machine code, such as "7.5", "9.0a" (this GPU only) or "10.0f" (its family).
    ptx
        The compute capabilities that have PTX.
    few
        What only few kernels have, such as "SASS 9.0a" or "PTX 9.0".
    isa
        The newest version of the PTX language in it, such as "9.0"; empty where there is no PTX.
    cut
        Whether a file ends in the middle of its GPU code.
    """

    name: str
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    few: tuple[str, ...] = ()
    isa: str = ""
    cut: bool = False

    def __str__(self) -> str:
        parts = [
            f"{kind} for {', '.join(found)}"
            for kind, found in (("SASS", self.sass), ("PTX", self.ptx))
            if found
        ]
        if self.few:
            parts.append(f"in few kernels also {', '.join(self.few)}")
        end = " (a file ends in the middle of its GPU code)" if self.cut else ""
        return f"{self.name}: {'; '.join(parts) or 'no GPU code'}{end}"

    __repr__ = __str__


@dataclass(frozen=True)
class Wheel:
    """A wheel whose GPU code was read, as `h2d.known_wheels` lists it.

    Attributes
    ----------
    name, version, file
        The package, its version, and the file on PyPI.
    cuda
        The release of CUDA that it was built with, such as "12.4".
    sass, ptx, few
        As in `Code`: the compute capabilities with machine code, those with PTX, and what only few kernels have. All are
        empty for a package that compiles each kernel at run time.
    read
        The day on which the file was read.
    """

    name: str
    version: str
    cuda: str
    file: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    few: tuple[str, ...]
    read: str

    def __str__(self) -> str:
        return str(Code(f"{self.name} {self.version} for CUDA {self.cuda}", self.sass, self.ptx, self.few))

    __repr__ = __str__


class Entry(NamedTuple):
    """One entry of a fatbin: "SASS" or "PTX", its architecture as "9.0a", and for PTX the version of the language."""

    kind: str
    architecture: str
    version: tuple[int, int]


class Fatbin(NamedTuple):
    """The entries of a fatbin, and whether the end of its file cuts it off."""

    entries: tuple[Entry, ...]
    cut: bool


def code_in(path: str | os.PathLike[str]) -> Code:
    """Return for which GPUs a file, a wheel or an installed package has machine code and PTX.

    Parameters
    ----------
    path
        A library (`.so`, `.dll`, `.pyd`), a wheel, a folder, or the name of an installed package such as "torch". Of a
        wheel, a folder and a package, all libraries are read.

    Returns
    -------
    Code
        Printed, it is one line. `sass` has the compute capabilities with machine code, such as "7.5", "9.0a" (this GPU
        only) or "10.0f" (its family), and `ptx` those with PTX. What only few kernels have stands in `few` instead, such
        as "SASS 9.0a". `isa` is the newest version of the PTX language, such as "8.4".

    Raises
    ------
    SetUpError
        If there is no such file, folder or package, or if it cannot be read.
    TypeError
        If `path` is no path and no name.

    Examples
    --------
    NumPy computes on the CPU only:

    >>> print(h2d.code_in("numpy"))
    numpy: no GPU code

    `known_wheels` lists what this function found in wheels of PyPI.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path has to be a path or the name of a package, not {type(path).__name__}")
    place, name = Path(path), os.fspath(path)
    with _in_one_line(name):
        if place.is_dir():
            return _code(place.name or name, _of_files(_below(place)))
        if place.is_file():
            return _code(place.name, _of_wheel(place) if WHEEL.search(place.name) else _of_files([place]))
        return _code(name, _of_files(_of_package(name)))


def of_package(name: str, only: re.Pattern[str], seconds: float) -> Code:
    """Return the code of those libraries of an installed package whose paths have a pattern.

    Raises
    ------
    TimeoutError
        They could not be read in this time.
    SetUpError
        There is no such package.
    """
    end = perf_counter() + seconds

    def in_time(found: Iterable[Fatbin]) -> Iterator[Fatbin]:
        for each in found:
            if perf_counter() > end:
                raise TimeoutError
            yield each

    paths = (path for path in _of_package(name) if only.search(path.as_posix()))
    return _code(name, in_time(_of_files(paths)))


def known_wheels() -> list[Wheel]:
    """Return what `h2d.code_in` found in wheels of PyPI, for Linux on x86.

    Returns
    -------
    list of Wheel
        Each has `name`, `version` and `file`, the release of CUDA that it was built with (`cuda`), its GPU code as in
        `h2d.code_in` (`sass`, `ptx`, `few`), and the day on which the file was read (`read`). A package that compiles
        each kernel at run time, such as numba-cuda, has no code; its `cuda` is the first release that it works with.

    Examples
    --------
    >>> for wheel in h2d.known_wheels():
    ...     if (wheel.name, wheel.version) == ("torch", "2.6.0"):
    ...         print(wheel, wheel.read)
    torch 2.6.0 for CUDA 12.4: SASS for 5.0, 6.0, 7.0, 7.5, 8.0, 8.6, 9.0; in few kernels also SASS 9.0a ...
    """
    return list(_stored())


@cache
def _stored() -> tuple[Wheel, ...]:
    rows = json.loads(STORED.read_text(encoding="utf-8"))
    return tuple(Wheel(**row | {name: tuple(row[name]) for name in ("sass", "ptx", "few")}) for row in rows)


@contextmanager
def _in_one_line(name: str) -> Iterator[None]:
    """Turn the errors of files and of archives into one line that says which file and what to do."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError) as problem:
        said = str(problem).rstrip(".") or "it ends too early"
        raise SetUpError(f"{name} is damaged: {said}. Download the wheel again.") from None
    except (OSError, ValueError, RuntimeError) as problem:  # RuntimeError: a member with a password
        if isinstance(problem, SetUpError):
            raise
        raise SetUpError(
            f"{name} cannot be read: {problem}. Check that the file is whole and that you may read it."
        ) from None


def _code(name: str, found: Iterable[Fatbin]) -> Code:
    """Return what the fatbins of a file or a package add up to."""
    counts: Counter[frozenset[tuple[str, str]]] = Counter()
    versions: set[tuple[int, int]] = set()
    cut = False
    for fatbin in found:
        counts[frozenset((entry.kind, entry.architecture) for entry in fatbin.entries)] += 1
        versions.update(entry.version for entry in fatbin.entries if entry.kind == "PTX")
        cut = cut or fatbin.cut
    everything = {each for architectures in counts for each in architectures}
    common = _common(counts) or everything
    of_kind = {
        kind: tuple(sorted((each for one, each in common if one == kind), key=order))
        for kind in ("SASS", "PTX")
    }
    few = sorted(everything - common, key=lambda each: (each[0] == "PTX", order(each[1])))
    return Code(
        name,
        of_kind["SASS"],
        of_kind["PTX"],
        few=tuple(" ".join(each) for each in few),
        isa="{}.{}".format(*max(versions)) if versions else "",
        cut=cut,
    )


def _common(counts: Counter[frozenset[tuple[str, str]]]) -> set[tuple[str, str]]:
    """Return what a third of the fatbins for many architectures have; nothing if there are no such fatbins."""
    wide = {has: count for has, count in counts.items() if len(has) >= MANY}
    having: Counter[tuple[str, str]] = Counter()
    for has, count in wide.items():
        having.update(dict.fromkeys(has, count))
    return {each for each, count in having.items() if count >= SHARE * sum(wide.values())}


def order(architecture: str) -> tuple[int, int, str]:
    """Return by what architectures are sorted and compared: (9, 0, "a") for "9.0a"."""
    number = architecture.rstrip("af")
    major, _, minor = number.partition(".")
    return int(major), int(minor), architecture[len(number) :]


def _below(folder: Path) -> Iterator[Path]:
    for at, _, names in os.walk(folder):
        yield from (Path(at, name) for name in names if BINARY.search(name))


def _of_package(name: str) -> Iterator[Path]:
    """Yield the libraries of an installed package, by its name or by the name under which Python imports it."""
    try:
        found = [metadata.distribution(name)]
    except (metadata.PackageNotFoundError, ValueError):
        owners = metadata.packages_distributions().get(name, [])
        found = [metadata.distribution(owner) for owner in dict.fromkeys(owners)]
    if not found:
        raise SetUpError(
            f"{name!r} is no file, no folder and no installed package. Check its spelling, or give the path of a file."
        )
    for each in found:
        yield from (Path(str(file.locate())) for file in each.files or () if BINARY.search(file.name))


def _of_files(paths: Iterable[Path]) -> Iterator[Fatbin]:
    """Yield the fatbins of files, each once: a library often has links with shorter names beside it."""
    seen = set()
    for path in paths:
        real = path.resolve()
        if real in seen or not real.is_file():
            continue
        seen.add(real)
        with real.open("rb") as file:
            yield from fatbins(file, real.stat().st_size)


def _of_wheel(path: Path) -> Iterator[Fatbin]:
    """Yield the fatbins of a wheel's libraries, which are unpacked in passing and never stored."""
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.infolist():
            if BINARY.search(member.filename):
                with wheel.open(member) as file:
                    yield from fatbins(file, member.file_size)


def fatbins(file: IO[bytes], size: int) -> Iterator[Fatbin]:
    """Yield the fatbins of a file, each with its entries.

    Parameters
    ----------
    file
        An open file at its beginning; it is read forwards.
    size
        Its size in bytes: no jump goes beyond.
    """
    ahead, step = _Ahead(file, size), SMALL
    while ahead.fill(step) >= HEADER.size:
        place = ahead.buffer.find(MAGIC, ahead.at)
        if place < 0:
            ahead.drop(len(ahead.buffer) - ahead.at - len(MAGIC) + 1)  # the magic may begin in the last bytes
            step = min(2 * step, LARGE)
            continue
        ahead.drop(place - ahead.at)
        if (found := _fatbin(ahead)) is not None:
            yield found
        step = SMALL


def _fatbin(ahead: _Ahead) -> Fatbin | None:
    """Return the fatbin that begins here. Where the bytes are no fatbin, pass over the magic alone."""
    whole = ahead.fill(HEADER.size) >= HEADER.size
    _, version, header, length = HEADER.unpack_from(ahead.buffer, ahead.at) if whole else (0, 0, 0, 0)
    if (version, header) != (VERSION, HEADER.size):
        ahead.drop(len(MAGIC))
        return None
    ahead.drop(header)
    cut, left = length > ahead.left, min(length, ahead.left)
    found: list[Entry] = []
    while left >= SHORTEST and ahead.fill(SHORTEST) >= SHORTEST:
        kind, _, own, payload, _, _, minor, major, number, _, _, flags = ENTRY.unpack_from(
            ahead.buffer, ahead.at
        )
        if not (SHORTEST <= own <= LONGEST and 10 <= number <= 999):
            return Fatbin(tuple(found), cut=False) if found else None
        if kind in KINDS:
            suffix = next((letter for bit, letter in SUFFIXES if flags & bit), "")
            found.append(Entry(KINDS[kind], f"{number // 10}.{number % 10}{suffix}", (major, minor)))
        skipped = min(own + payload, left)
        ahead.drop(skipped)
        left -= skipped
    return Fatbin(tuple(found), cut)


class _Ahead:
    """A file that is read forwards, with the bytes that are read and not yet passed."""

    def __init__(self, file: IO[bytes], size: int):
        self.file, self.buffer, self.at = file, b"", 0  # at: where in the buffer the next byte is
        self.left = size  # bytes of the file from there on

    def fill(self, count: int) -> int:
        """Read until this many bytes lie ahead or the file ends, and return how many lie ahead."""
        while (has := len(self.buffer) - self.at) < count and (more := self.file.read(count - has)):
            self.buffer, self.at = self.buffer[self.at :] + more, 0
        return has

    def drop(self, count: int) -> None:
        """Pass over this many bytes."""
        self.at += count
        self.left -= count
        beyond = self.at - len(self.buffer)
        if beyond > 0:
            self.file.seek(beyond, io.SEEK_CUR)
            self.buffer, self.at = b"", 0
