"""Blanks the host code of a .cu file, which compilers for the device alone refuse.

A learner's file has a `main` that allocates and launches, and includes headers of the C++ library. Their lines become
blank, so that all other lines keep their numbers.
"""

from __future__ import annotations

import re

# Headers that only host code needs.
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

    A function is recognized by its shape: at the outermost level, in a namespace or in a class, a head with parentheses
    before a body in braces. A function without `__global__` or `__device__` is host code.
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
                start = place + 1  # go on inside the braces
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
    """Return the text with comments and strings blanked, so that braces in them do not count."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match.group(0)), text, flags=re.S)


def _closing(plain: str, opened: int) -> int:
    """Return the place after the brace that closes the one at `opened`, or the end."""
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
