"""Leaving out what of a .cu file is for the host: compilers that compile for a GPU alone do not take it.

A learner's file has a `main` that allocates and launches, and headers of the C++ library for it. Their lines stay, so
that all others keep their numbers, and are blank.
"""

from __future__ import annotations

import re

# Headers whose names only the host's code uses.
HOST_HEADERS = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<(?:c?assert(?:\.h)?|algorithm|array|chrono|c?errno(?:\.h)?|exception|fstream|"
    r"functional|iomanip|iostream|iterator|c?limits(?:\.h)?|list|map|memory|numeric|random|set|sstream|stdexcept|"
    r"stdio\.h|cstdio|stdlib\.h|cstdlib|string|string\.h|cstring|thread|time\.h|ctime|unordered_map|utility|vector|"
    r"math\.h|cmath|sys/time\.h|unistd\.h|cuda_runtime(?:_api)?\.h|cuda\.h|device_launch_parameters\.h|"
    r"hip/hip_runtime(?:_api)?\.h|cublas\w*\.h|curand\.h|thrust/.*?)>[^\n]*",
    re.M,
)
FOR_DEVICE = re.compile(r"__global__|__device__|__constant__|__shared__")
NO_FUNCTION = re.compile(r"\b(?:struct|class|union|enum|namespace|extern)\b")


def without(text: str) -> str:
    """Return a source without its host functions and without the headers that they need.

    What is a function is told by its shape: at the outermost level, in a namespace or in a class, a head with
    parentheses before a body in braces. One that is marked neither `__global__` nor `__device__` is the host's.
    """
    text = HOST_HEADERS.sub("", text)
    plain = _without_words(text)
    result, start, place = list(text), 0, 0
    while place < len(plain):
        letter = plain[place]
        if letter in ";}":
            head = plain[start:place]
            if letter == ";" and "<<<" in head:
                _blank(result, start, place + 1)
            start = place + 1
        elif letter == "{":
            head = plain[start:place]
            if NO_FUNCTION.search(head) and not re.search(r"\)\s*(?:const|noexcept)?\s*$", head):
                start = place + 1  # what is inside is looked at
            else:
                end = _closing(plain, place)
                if "(" in head and not FOR_DEVICE.search(head) and "=" not in head.partition("(")[0]:
                    _blank(result, start, end)
                place = end - 1
                start = end
        elif letter == "\n" and plain[start:place].lstrip().startswith("#"):
            while plain[place - 1] == "\\" and plain.find("\n", place + 1) > 0:
                place = plain.find("\n", place + 1)
            start = place + 1
        place += 1
    return "".join(result)


def _without_words(text: str) -> str:
    """Return the text with the letters of comments and strings blanked: braces in them count for nothing."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match.group(0)), text, flags=re.S)


def _closing(plain: str, opened: int) -> int:
    """Return the place behind the brace that closes the one at `opened`, or the end."""
    depth = 0
    for place in range(opened, len(plain)):
        depth += {"{": 1, "}": -1}.get(plain[place], 0)
        if depth == 0:
            return place + 1
    return len(plain)


def _blank(letters: list[str], start: int, stop: int) -> None:
    for place in range(start, stop):
        if letters[place] != "\n":
            letters[place] = " "
