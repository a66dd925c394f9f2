"""Mutants of kernels in CUDA C++, which stand in a string: the operators of `mutating`, as far as text will do.

Nothing here parses C++. Comments are blanked out, brackets are counted, and what a pattern finds is changed; a
change that no compiler takes counts as rejected, as it would for a learner.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

Edit = tuple[int, int, str]

ATOMICS = {
    "Add": "{0} += {1}",
    "Sub": "{0} -= {1}",
    "And": "{0} &= {1}",
    "Or": "{0} |= {1}",
    "Xor": "{0} ^= {1}",
    "Max": "{0} = {0} > {1} ? {0} : {1}",
    "Min": "{0} = {0} < {1} ? {0} : {1}",
    "Exch": "{0} = {1}",
}
TYPES = {"float": "int", "double": "float", "int": "char", "long long": "int"}
DECLARED = re.compile(r"\b(?:float|double|int|unsigned|char|long|bool|__shared__)\s+(?:\w+\s+)*$")


def without_comments(code: str) -> str:
    """Return the code with blanks in the place of comments, so that every character keeps its position."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), code, flags=re.DOTALL)


def closing(code: str, at: int) -> int:
    """Return where the bracket that opens at `at` closes, or -1."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opening, closed, depth = code[at], pairs[code[at]], 0
    for place in range(at, len(code)):
        depth += (code[place] == opening) - (code[place] == closed)
        if depth == 0:
            return place
    return -1


def split(code: str, separator: str) -> list[str]:
    """Split at a separator that no bracket encloses."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(code):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0 and code.startswith(separator, at):
            parts.append(code[start:at])
            start = at = at + len(separator)
        else:
            at += 1
    return [*parts, code[start:]]


def conditions(code: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where each `if`'s condition begins and ends, and whether it guards nothing but leaving."""
    for found in re.finditer(r"\bif\s*\(", code):
        end = closing(code, found.end() - 1)
        if end > 0:
            leaves = re.match(r"\s*\{?\s*(return|continue|break)\b", code[end + 1 :]) is not None
            yield found.end(), end, leaves


def drop_guard(code: str) -> Iterator[list[Edit]]:
    for start, end, leaves in conditions(code):
        yield [(start, end, "false" if leaves else "true")]
        word = "||" if leaves else "&&"
        parts = split(code[start:end], word)
        for left_out in range(len(parts) if len(parts) > 1 else 0):
            rest = f" {word} ".join(part.strip() for k, part in enumerate(parts) if k != left_out)
            yield [(start, end, rest)]


def drop_barrier(code: str) -> Iterator[list[Edit]]:
    for found in re.finditer(r"\b(?:__syncthreads|__syncwarp)\s*\([^()]*\)\s*(?=;)", code):
        yield [(*found.span(), "")]


def drop_fence(code: str) -> Iterator[list[Edit]]:
    for found in re.finditer(r"\b__threadfence(?:_block|_system)?\s*\(\s*\)\s*(?=;)", code):
        yield [(*found.span(), "")]


def plain_atomic(code: str) -> Iterator[list[Edit]]:
    for found in re.finditer(rf"(?<=[;{{}})])(\s*)atomic({'|'.join(ATOMICS)})\s*\(", code):
        end = closing(code, found.end() - 1)
        given = [each.strip() for each in split(code[found.end() : end], ",")]
        if end > 0 and len(given) == 2:
            target = given[0][1:] if given[0].startswith("&") else f"*({given[0]})"
            yield [(found.end(1), end + 1, ATOMICS[found[2]].format(target, f"({given[1]})"))]


def subscripts(code: str) -> Iterator[tuple[int, int]]:
    """Yield where each index begins and ends; the size of an array that is declared is none."""
    for found in re.finditer(r"[\w\])]\s*\[", code):
        start, end = found.end(), closing(code, found.end() - 1)
        name = re.search(r"\w+(?:\s*\[[^\]]*\])*\s*$", code[: start - 1])
        declared = name and DECLARED.search(code[: name.start()])
        if end > 0 and code[start:end].strip() and not declared:
            yield start, end


def plus(term: str, step: int) -> str:
    term = term.strip()
    if term.isdigit():
        return str(int(term) + step)
    return f"{term} {'+' if step > 0 else '-'} 1" if re.fullmatch(r"[\w.]+", term) else f"({term}) + {step}"


def shift_index(code: str) -> Iterator[list[Edit]]:
    for start, end in subscripts(code):
        for step in (1, -1):
            yield [(start, end, plus(code[start:end], step))]


def swap_indices(code: str) -> Iterator[list[Edit]]:
    places = list(subscripts(code))
    for (start, end), (second, last) in itertools.pairwise(places):
        if re.fullmatch(r"\]\s*\[", code[end:second]) and code[start:end] != code[second:last]:
            yield [(start, end, code[second:last]), (second, last, code[start:end])]
    for start, end in places:
        row_and_column = re.fullmatch(r"\s*(\w+)\s*\*\s*(\w+)\s*\+\s*(\w+)\s*", code[start:end])
        if row_and_column:
            row, width, column = row_and_column.groups()
            yield [(start, end, f"{column} * {width} + {row}")]
    for found in re.finditer(r"\b(?:threadIdx|blockIdx)\.([xy])\b", code):
        other = "y" if found[1] == "x" else "x"
        if re.search(rf"\b(?:threadIdx|blockIdx)\.{other}\b", code):
            yield [(*found.span(1), other)]


def wrong_thread(code: str) -> Iterator[list[Edit]]:
    for found in re.finditer(
        r"blockIdx\.([xyz])\s*\*\s*blockDim\.\1\s*\+\s*threadIdx\.\1|"
        r"blockDim\.([xyz])\s*\*\s*blockIdx\.\2\s*\+\s*threadIdx\.\2",
        code,
    ):
        axis = found[1] or found[2]
        for of in ("threadIdx", "blockIdx"):
            yield [(*found.span(), f"{of}.{axis}")]


def change_stride(code: str) -> Iterator[list[Edit]]:
    for found in re.finditer(r"blockDim\.[xyz]", code):
        yield [(*found.span(), f"({found[0]} + 1)")]
    for found in re.finditer(r"\+=\s*([^;)]+?)\s*\)", code):
        if found[1] != "1":
            yield [(*found.span(1), f"{found[1]} + 1")]


def loosen_comparison(code: str) -> Iterator[list[Edit]]:
    for start, end, leaves in conditions(code):
        for found in re.finditer(r"(?<![<>=-])(<|>)(?![<>=])|(<=|>=)", code[start:end]):
            at = start + found.start()
            if leaves and found[2]:
                yield [(at, at + 2, found[2][0])]
            elif not leaves and found[1]:
                yield [(at, at + 1, found[1] + "=")]


def shorten_loop(code: str) -> Iterator[list[Edit]]:
    for found in re.finditer(r"\bfor\s*\(", code):
        end = closing(code, found.end() - 1)
        parts = code[found.end() : end].split(";") if end > 0 else []
        if len(parts) == 3:
            start = found.end() + len(parts[0]) + 1
            stop = re.fullmatch(r"(.*?)(<=?|>=?)(.*)", parts[1], flags=re.DOTALL)
            if stop:
                step = "- 1" if "<" in stop[2] else "+ 1"
                yield [(start, start + len(parts[1]), f"{stop[1]}{stop[2]} ({stop[3].strip()}) {step}")]


def wrong_dtype(code: str) -> Iterator[list[Edit]]:
    body = code.find("{", code.find("__global__"))
    for found in re.finditer(rf"\b({'|'.join(TYPES)})\s+\w+\s*(?:=|;|\[)", code):
        counter = found[1] == "int" and re.search(
            r"Idx|for\s*\($", code[max(0, found.start() - 6) : found.end() + 20]
        )
        if found.start() > body and not counter:
            yield [(*found.span(1), TYPES[found[1]])]


def constant_output(code: str) -> Iterator[list[Edit]]:
    head = re.search(r"__global__[^(]*?(\w+)\s*\(([^)]*)\)\s*\{", code)
    pointers = set(re.findall(r"\*\s*(?:__restrict__\s*)?(\w+)", head[2])) if head else set()
    for found in re.finditer(r"\b(\w+)\s*\[", code):
        end = closing(code, found.end() - 1)
        value = re.match(r"\s*[-+*/|&^]?=(?!=)\s*([^;]+);", code[end + 1 :]) if end > 0 else None
        if value and found[1] in pointers:
            yield [(end + 1 + value.start(1), end + 1 + value.end(1), "0")]
    for found in re.finditer(r"\batomic\w+\s*\(", code):
        end = closing(code, found.end() - 1)
        given = split(code[found.end() : end], ",") if end > 0 else []
        target = re.match(r"\s*&?\s*(\w+)", given[0]) if len(given) == 2 else None
        if target and target[1] in pointers:
            yield [(end - len(given[1]), end, " 0")]


def early_return(code: str) -> Iterator[list[Edit]]:
    for head in re.finditer(r"__global__[^(]*\([^)]*\)\s*\{", code):
        end = closing(code, head.end() - 1)
        yield [(head.end(), head.end(), " return;")]
        steps = list(re.finditer(r"\n[ \t]*(?=[^\s}])", code[head.end() : max(end, 0)]))
        if len(steps) > 1:  # before the last line of the body
            at = head.end() + steps[-1].end()
            yield [(at, at, "return; ")]
    for found in re.finditer(r"\b(?:for|while)\s*\(", code):
        end = closing(code, found.end() - 1)
        body = re.match(r"\s*\{", code[end + 1 :]) if end > 0 else None
        if body:
            stop = closing(code, end + body.end())
            yield [(stop, stop, "break; ")]


OPERATORS = {
    "drop a guard": drop_guard,
    "drop a barrier": drop_barrier,
    "drop a fence": drop_fence,
    "make an atomic plain": plain_atomic,
    "shift an index": shift_index,
    "swap indices": swap_indices,
    "take the wrong thread": wrong_thread,
    "change a stride": change_stride,
    "loosen a comparison": loosen_comparison,
    "shorten a loop": shorten_loop,
    "take a wrong dtype": wrong_dtype,
    "store a constant": constant_output,
    "return early": early_return,
}


def edits(literal: str) -> Iterator[tuple[str, list[Edit]]]:
    """Yield every change of a string literal's text, with the operator's name; positions count bytes."""
    code = without_comments(literal)
    for operator, edits_of in OPERATORS.items():
        for made in edits_of(code):
            yield (
                operator,
                [(len(literal[:at].encode()), len(literal[:end].encode()), new) for at, end, new in made],
            )
