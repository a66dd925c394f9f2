"""What someone pastes, as text: any bytes, in any encoding, with the colours of a terminal taken out."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_BYTES = 64 * 2**20  # beyond, the middle is left out
LONG = 500_000  # characters: of a longer text, only the lines that may say something are read
LONGEST_LINE = 1000  # characters; a longer line is cut into several
NEIGHBOURS = 2  # lines before and after one that may say something
REPEATED = 3  # times that one line is read
# What the lines of a report contain, in small letters.
SPEAKING = [
    "cuda",
    "gpu",
    "nvidia",
    "nvrm",
    "torch",
    "cudnn",
    "cublas",
    "nccl",
    "nvcc",
    "nvrtc",
    "ptx",
    "triton",
    "numba",
    "numpy",
    "cupy",
    "tensorflow",
    "jax",
    "driver",
    "wsl",
    "docker",
    "container",
    "error",
    "fatal",
    "fail",
    "cannot",
    "found",
    "unsupported",
    "version",
    "libc",
    "kernel",
    "compiler",
    "module",
    "dll",
    ".so",
    ".h",
]
COLOURS = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")
# Tried in this order: a Korean, a Japanese and a Chinese Windows. What no rule reads may come out wrong.
ENCODINGS = ("utf-8", "cp949", "cp932", "gbk")
BYTE_ORDER = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class Paste:
    """A pasted text.

    Attributes
    ----------
    text, small
        The text with its lines, and the same in small ASCII letters, of the same length.
    flat, flat_small
        The text with one space for any white space, so that a message that a terminal has wrapped is whole.
    """

    text: str
    small: str
    flat: str
    flat_small: str


def decoded(data: bytes) -> str:
    """Return bytes as text. No bytes are refused: what no encoding fits is read as Latin-1, which keeps ASCII."""
    if len(data) > MOST_BYTES:
        data = data[: MOST_BYTES // 2] + b"\n" + data[-MOST_BYTES // 2 :]
    for mark, encoding in BYTE_ORDER.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if data[:200].count(0) > len(data[:200]) // 3:  # PowerShell writes UTF-16, at times without a mark
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be", errors="replace")
    for encoding in ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def read(data: bytes | str) -> Paste:
    """Return a pasted text in the forms that rules and facts are read from."""
    text = decoded(data) if isinstance(data, bytes) else data
    if "\x1b" in text:
        text = COLOURS.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ").replace("\xa0", " ")
    if len(text) > LONG:
        text = shortened(text)
    flat = " ".join(text.split())
    return Paste(text, _small(text), flat, _small(flat))


def shortened(text: str) -> str:
    """Return the lines of a long text that may say something, with their neighbours, and no line many times.

    Where they still are too long, their beginning and their end are returned.
    """
    lines = [
        line[start : start + LONGEST_LINE]
        for line in text.split("\n")
        for start in range(0, len(line), LONGEST_LINE)
    ]
    times: dict[str, int] = {}
    kept: set[int] = set()
    for at, line in enumerate(lines):
        times[line] = times.get(line, 0) + 1
        if times[line] > REPEATED:
            continue
        small = line.lower()
        if any(word in small for word in SPEAKING):
            kept.update(range(at - NEIGHBOURS, at + NEIGHBOURS + 1))
    short = "\n".join(line for at, line in enumerate(lines) if at in kept)
    return short if len(short) <= LONG else f"{short[: LONG // 2]}\n{short[-LONG // 2 :]}"


def _small(text: str) -> str:
    """Return the text with small ASCII letters; other letters stay, because some change their length."""
    return (
        text.encode("utf-8", errors="replace").lower().decode("utf-8")
        if text.isascii()
        else text.translate(SMALL)
    )


SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
