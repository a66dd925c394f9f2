"""Finds what a source declares (kernels, device variables, shared memory) and makes the text that is compiled."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

FILE = "kernel.cu"  # the name of a learner's source in messages
TAIL = "h2d-tail"  # the name of the text that is added at its end

COMMENT_OR_TEXT = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
TOKEN = re.compile(r'[A-Za-z_]\w*|::|"C"|[-+*/%&|^<>=!]=|[{}()<>\[\],;=]|[^\sA-Za-z_{}()<>\[\],;=]')
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
SHARED = re.compile(r"\b__shared__\b")
SPACES = ("__constant__", "__device__", "__managed__")
ASIDE = ("__launch_bounds__", "__align__", "__attribute__", "alignas", "__cluster_dims__", "decltype")


@dataclass
class Kernel:
    """A kernel's definition; `first` and `last` are its lines, counted from 1."""

    name: str
    c_linkage: bool
    template: bool
    parameters: tuple[str, ...]
    first: int = 0
    last: int = 0


@dataclass
class Declared:
    """The declarations found in a source."""

    kernels: list[Kernel] = field(default_factory=list)
    variables: dict[str, bool] = field(default_factory=dict)  # name: whether it is constant
    refused: tuple[int, str] | None = None  # a line that NVRTC refuses, and the reason
    # Positions of `__global__` and `__device__` in templates of kernels and device functions.
    templates: list[int] = field(default_factory=list)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def mask(source: str) -> str:
    """Return the source with comments and strings replaced by spaces; lines and columns stay as they are."""

    def blank(match: re.Match) -> str:
        found = match.group()
        return found if found == '"C"' else _blank(found)

    return COMMENT_OR_TEXT.sub(blank, source)


def needs_expansion(masked: str) -> bool:
    """Return whether a source's declarations may depend on the preprocessor."""
    return any(
        re.match(r"\s*#\s*(if|include)", line.group())
        or re.search(r"##|__global__|__device__|__constant__", line.group())
        for line in DIRECTIVE.finditer(masked)
    )


def declarations(source: str) -> Declared:
    """Find kernels and variables at namespace level."""
    masked = DIRECTIVE.sub(lambda match: _blank(match.group()), mask(source))
    lines = [match.start() for match in re.finditer("\n", masked)]
    tokens = [(match.group(), match.start()) for match in TOKEN.finditer(masked)]
    found = Declared()

    def line(position: int) -> int:
        return bisect.bisect_left(lines, position) + 1

    def closing(start: int, opening: str = "{", end: str = "}") -> int:
        depth = 0
        for i in range(start, len(tokens)):
            depth += (tokens[i][0] == opening) - (tokens[i][0] == end)
            if depth == 0:
                return i
        return len(tokens) - 1

    def walk(i: int, spaces: tuple[str, ...], c_linkage: bool) -> int:
        statement: list[str] = []
        start = word = 0
        while i < len(tokens):
            token, position = tokens[i]
            if not statement:
                start, word = position, -1
            if token in ("__global__", "__device__") and word < 0:
                word = position
            if token == "}":
                return i
            if token in ";{" and word >= 0 and _is_free_template(statement):
                found.templates.append(word)
            if token == ";":
                _variable(statement, spaces, found)
                statement = []
            elif token == "{":
                c_block = statement[:2] == ["extern", '"C"']
                if "namespace" in statement[:2]:
                    name = [each for each in statement if each not in ("namespace", "inline")]
                    i = walk(i + 1, (*spaces, *name), c_linkage)
                    statement = []
                elif c_block and len(statement) == 2:
                    i = walk(i + 1, spaces, True)
                    statement = []
                elif "__global__" in statement:
                    end = closing(i)
                    kernel = _kernel(statement, spaces, c_linkage or c_block)
                    if kernel is not None:
                        kernel.first, kernel.last = line(start), line(tokens[end][1])
                        found.kernels.append(kernel)
                    i, statement = end, []
                else:
                    _, i = statement.append("{"), closing(i)
                    statement.append("}")
                    if "(" in _top(statement) and "=" not in statement:  # a function's body
                        if _is_host_function(statement) and found.refused is None:
                            name = _top(statement)[_top(statement).index("(") - 1]
                            found.refused = (
                                line(start),
                                f"{name}() has no __device__: host functions are refused",
                            )
                        statement = []
            else:
                statement.append(token)
            i += 1
        return i

    i = 0
    while i < len(tokens):
        i = walk(i, (), False) + 1
    return found


def _is_free_template(statement: list[str]) -> bool:
    """Return whether a statement declares a template of a function that may become static."""
    return (
        statement[:2] == ["template", "<"]
        and statement[2:3] != [">"]  # an explicit specialization, whose storage class is that of its template
        and "(" in _top(statement)
        and not {"static", "=", "friend", "struct", "class", "::"} & set(_behind_angles(statement))
    )


def _is_host_function(statement: list[str]) -> bool:
    marks = {
        "__device__",
        "__global__",
        "__host__",
        "constexpr",
        "struct",
        "class",
        "union",
        "enum",
        "operator",
    }
    top = _top(statement)
    before = top[: top.index("(")]
    return not marks & set(statement) and len(before) > 1 and _is_name(before[-1])


def _behind_angles(statement: list[str]) -> list[str]:
    depth = 0
    for i, token in enumerate(statement):
        depth += (token == "<") - (token == ">")
        if token == ">" and depth == 0:
            return statement[i + 1 :]
    return statement


def _top(statement: list[str]) -> list[str]:
    """Return a statement without the attributes that take arguments in parentheses."""
    result, i = [], 0
    while i < len(statement):
        if statement[i] in ASIDE and i + 1 < len(statement) and statement[i + 1] == "(":
            depth = 0
            for i in range(i + 1, len(statement)):  # noqa: B020 - goes on behind the parentheses
                depth += (statement[i] == "(") - (statement[i] == ")")
                if depth == 0:
                    break
        else:
            result.append(statement[i])
        i += 1
    return result


def _split(tokens: Iterable[str]) -> Iterator[list[str]]:
    """Split at the commas outside brackets."""
    depth, part = 0, []
    for token in tokens:
        depth += (token in "([{<") - (token in ")]}>")
        if token == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _is_name(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


def _kernel(statement: list[str], spaces: tuple[str, ...], c_linkage: bool) -> Kernel | None:
    rest = _top(statement[statement.index("__global__") :])
    if "(" not in rest:
        return None
    opening = rest.index("(")
    depth, end = 0, opening
    for end in range(opening, len(rest)):
        depth += (rest[end] == "(") - (rest[end] == ")")
        if depth == 0:
            break
    names = []
    for part in _split(rest[opening + 1 : end]):
        part = part[: part.index("=")] if "=" in part else part
        part = part[: part.index("[")] if "[" in part else part
        names.append(next((token for token in reversed(part) if _is_name(token)), ""))
    name = "::".join((*spaces, rest[opening - 1]))
    return Kernel(name, c_linkage, "template" in statement, tuple(names) if names != [""] else ())


def _variable(statement: list[str], spaces: tuple[str, ...], found: Declared) -> None:
    if not any(space in statement for space in SPACES) or "template" in statement:
        return
    if {"struct", "class", "using", "typedef", "__global__", "union", "enum"} & set(statement[:1]):
        return
    c_linkage = '"C"' in statement
    for number, part in enumerate(_split(_top(statement))):
        before = part[: part.index("=")] if "=" in part else part
        if number == 0 and ("(" in before or ("extern" in before and not c_linkage)):
            return  # a declaration of what is elsewhere, or of a function
        if name := _declared_name(part):
            found.variables["::".join((*spaces, name))] = "__constant__" in statement


class Shared(NamedTuple):
    """A declaration of static shared memory: its first and last line, and the declared names."""

    first: int
    last: int
    names: tuple[str, ...]
    initial: bool  # whether it has an initial value, which CUDA refuses


def shared_arrays(masked: str) -> list[Shared]:
    """Return each declaration of shared memory."""
    found = []
    for match in SHARED.finditer(masked):
        end = masked.find(";", match.end())
        end = len(masked) if end < 0 else end
        tokens = TOKEN.findall(masked[match.end() : end])
        names = tuple(name for part in _split(_top(tokens)) if (name := _declared_name(part)))
        first, last = (masked.count("\n", 0, at) + 1 for at in (match.start(), end))
        found.append(Shared(first, last, names, "=" in tokens))
    return found


def _declared_name(part: list[str]) -> str:
    ends = [part.index(mark) for mark in ("=", "[", "{") if mark in part]
    names = [token for token in (part[: min(ends)] if ends else part) if _is_name(token)]
    return names[-1] if names else ""


def as_cpp(source: str) -> str:
    """Return the source with CUDA's storage classes rewritten for C++; lines stay as they are.

    Every `extern __shared__ float s[];` names the same memory, whatever its name and type. `static __shared__` means
    the same as `__shared__`. Templates become static, because g++ leaves gaps between their shared arrays only then.
    """
    masked = mask(source)
    edits = [(at, at + len("__global__"), "static    ") for at in declarations(source).templates]
    for match in re.finditer(
        r"\b(?:extern\s+((?:\w+\s+)*?)__shared__|__shared__\s+extern)\b([^;{}()]*(?:\([^()]*\))?[^;{}]*)",
        masked,
    ):
        text = source[match.start() : match.end()]
        edits.append((match.start(), match.end(), text.replace("__shared__", "") + " H2D_DYNAMIC"))
    for match in re.finditer(r"\bstatic\b(?=\s+(?:\w+\s+)*?__shared__)|(?<=__shared__)\s+static\b", masked):
        edits.append((match.start(), match.end(), _blank(match.group())))
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def tail(kernels: Iterable[str], variables: dict[str, bool], shared: list[Shared]) -> str:
    """Return the text that lists kernels, variables and shared arrays for the runtime, one on each line."""
    kernels = list(kernels)
    lines = [f'H2D_KERNEL("{name}", {name}),' for name in kernels]
    lines.insert(0, 'extern "C" { const h2d::Kernel h2d_kernels[] = {')
    lines.append("{}}; const h2d::Global h2d_globals[] = {")
    lines += [
        f'{{"{name}", (void *)&::{name}, sizeof(::{name}), {str(constant).lower()}}},'
        for name, constant in variables.items()
    ]
    lines.append("{}}; const h2d::Shared h2d_shared[] = {")
    lines += [f'{{{first}, {last}, " {" ".join(names)} "}},' for first, last, names, _ in shared]
    lines.append("{}};")
    lines.append(f"const int h2d_kernel_count = {len(kernels)}, h2d_global_count = {len(variables)};")
    lines.append(f"const int h2d_shared_count = {len(shared)}, h2d_warp = H2D_WARP; }}")
    return "\n".join(lines)
