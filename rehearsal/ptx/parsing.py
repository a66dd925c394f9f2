"""Read the text of a PTX module: its variables, its functions, and the statements of each function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


class Unsupported(Exception):
    """The translator does not know what the PTX asks for; the message names it."""


@dataclass(frozen=True)
class Variable:
    """A variable of the module, of a function, or a parameter: `count` is None where the PTX gives no array.

    `initial` holds the words of its initial value, and `external` says that its size is given at launch.
    """

    space: str
    type: str
    name: str
    align: int = 0
    count: int | None = None
    initial: tuple[str, ...] = ()
    external: bool = False


@dataclass(frozen=True)
class Registers:
    """`.reg`: the type, and the names that it declares."""

    type: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """One instruction: `add.s32` is the name "add" with the modifiers ("s32",)."""

    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""  # "%p1" or "!%p1"

    @property
    def opcode(self) -> str:
        """The instruction as the PTX writes it, without operands."""
        return ".".join((self.name, *self.modifiers))


@dataclass(frozen=True)
class Label:
    """A place that branches name."""

    name: str


@dataclass(frozen=True)
class Line:
    """The statements that follow belong to this line of the source."""

    number: int


@dataclass(frozen=True)
class Scope:
    """A brace: it opens a scope of names, or closes it."""

    opens: bool


@dataclass(frozen=True)
class Targets:
    """`.branchtargets`: the labels that an indexed branch chooses from."""

    name: str
    labels: tuple[str, ...]


Statement = Registers | Variable | Instruction | Label | Line | Scope | Targets


@dataclass
class Function:
    """A kernel (`entry`) or a device function, with its statements."""

    name: str
    entry: bool
    parameters: tuple[Variable, ...]
    result: Variable | None
    most_threads: int
    statements: list[Statement] = field(default_factory=list)


@dataclass
class Module:
    """A PTX module: the version and target that it asks for, its variables and functions."""

    version: tuple[int, int]
    target: str
    variables: list[Variable]
    functions: list[Function]


COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
LINKING = r"(?:\.(?:visible|weak|extern|common|managed)\s+)*"
SKIPPED = re.compile(r"\.(?:file|address_size|alias|pragma)\b[^\n]*|\.section\s+\S+\s*\{.*?\}|@@[^\n]*", re.S)
VERSION = re.compile(r"\.version\s+(\d+)\.(\d+)")
TARGET = re.compile(r"\.target\s+(\w+)[^\n]*")
VARIABLE = re.compile(
    r"\s*(\.extern\s+)?" + LINKING + r"\.(global|const|shared|local|param|reg)\s+(?:\.attribute\([^)]*\)\s*)?"
    r"(?:\.align\s+(\d+)\s+)?(?:\.ptr\b[^,;)]*?\s)?\.(\w+)\s+(?:\.ptr\b(?:\s+\.\w+(?:\s+\d+)?)*\s+)?([\w$.%]+)((?:\s*\[\d*\])*)\s*(?:=\s*(.*))?",
    re.S,
)
FUNCTION = re.compile(
    LINKING
    + r"\.(entry|func)\s+(?:\((?P<result>[^)]*)\)\s*)?(?P<name>[\w$%]+)\s*(?:\((?P<parameters>[^)]*)\))?(?P<more>[^{;]*)(?P<end>[{;])"
)
INSTRUCTION = re.compile(r"(?:@(!?[\w%$]+)\s+)?([a-z]\w*)((?:[.:]+\w+)*)\s*(.*)", re.S)
LABEL = re.compile(r"([\w$%]+)\s*:(?!:)")
LINE = re.compile(r"\.loc\s+\d+\s+(\d+)[^\n]*")


def parse(text: str) -> Module:
    """Return the module that a PTX text holds, or several that were linked by putting them one after another.

    Raises
    ------
    Unsupported
        If a part of it is not known.
    """
    text = COMMENTS.sub(lambda found: found[1] or " ", text.replace("\0", ""))
    module = Module((0, 0), "", [], [])
    at = 0
    while at < len(text):
        if text[at].isspace() or text[at] == ";":
            at += 1
        elif found := VERSION.match(text, at):
            module.version = max(module.version, (int(found[1]), int(found[2])))
            at = found.end()
        elif found := TARGET.match(text, at):
            module.target = max(module.target, found[1])
            at = found.end()
        elif found := SKIPPED.match(text, at):
            at = found.end()
        elif found := FUNCTION.match(text, at):
            at = found.end()
            if found["end"] == "{":
                end = closing(text, at)
                module.functions.append(_function(found, text[at:end]))
                at = end + 1
        else:
            end = text.find(";", at)
            if end < 0:
                raise Unsupported(f"the module's text ends within {text[at : at + 60]!r}")
            module.variables.append(variable(text[at:end]))
            at = end + 1
    return module


def closing(text: str, start: int) -> int:
    """Return the position of the brace that closes the one before `start`."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    raise Unsupported("a brace is not closed")


def variable(text: str) -> Variable:
    """Return the variable that a declaration makes."""
    found = VARIABLE.fullmatch(text.strip())
    if found is None:
        raise Unsupported(f"the declaration {' '.join(text.split())[:80]!r}")
    external, space, align, type_, name, dimensions, initial = found.groups()
    sizes = re.findall(r"\[(\d*)\]", dimensions)
    count = None
    for size in sizes:
        count = (1 if count is None else count) * int(size or 0)
    words = tuple(word for word in re.split(r"[\s,{}]+", initial or "") if word)
    return Variable(space, type_, name, int(align or 0), count, words, bool(external) or "" in sizes)


def _function(found: re.Match[str], body: str) -> Function:
    most = 1024
    if limit := re.search(r"\.(?:maxntid|reqntid)\s+(\d+(?:\s*,\s*\d+)*)", found["more"]):
        most = 1
        for size in limit[1].split(","):
            most *= int(size)
    parameters = tuple(variable(each) for each in split(found["parameters"] or ""))
    result = variable(found["result"]) if (found["result"] or "").strip() else None
    function = Function(found["name"], found[1] == "entry", parameters, result, most)
    function.statements = list(statements(body))
    return function


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a function's body, in order."""
    at = 0
    label = ""
    while at < len(text):
        if text[at].isspace() or text[at] == ";":
            at += 1
        elif text[at] in "{}":
            yield Scope(text[at] == "{")
            at += 1
        elif found := LINE.match(text, at):
            yield Line(int(found[1]))
            at = found.end()
        elif found := LABEL.match(text, at):
            label = found[1]
            at = found.end()
            if not text[at:].lstrip().startswith((".branchtargets", ".callprototype")):
                yield Label(label)
        else:
            end = text.find(";", at)
            end = len(text) if end < 0 else end
            each = text[at:end].strip()
            at = end + 1
            if each.startswith(".branchtargets"):
                yield Targets(label, tuple(split(each.removeprefix(".branchtargets"))))
            elif not each.startswith((".callprototype", ".pragma")):
                yield declaration(each) if each.startswith(".") else instruction(each)


def declaration(text: str) -> Registers | Variable:
    """Return what a declaration inside a function declares."""
    if not text.startswith(".reg"):
        return variable(text)
    found = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text, re.S)
    if found is None:
        raise Unsupported(f"the declaration {' '.join(text.split())[:80]!r}")
    names: list[str] = []
    for each in split(found[2]):
        many = re.fullmatch(r"([\w%$]+)<(\d+)>", each)
        names += [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [each]
    return Registers(found[1], tuple(names))


def instruction(text: str) -> Instruction:
    """Return one instruction."""
    found = INSTRUCTION.fullmatch(text)
    if found is None:
        raise Unsupported(f"the statement {text[:80]!r}")
    modifiers = tuple(part for part in re.split(r"[.:]+", found[3]) if part)
    return Instruction(found[2], modifiers, tuple(split(found[4])), found[1] or "")


def split(text: str) -> list[str]:
    """Return the parts between the commas, without those inside brackets."""
    parts, depth, now = [], 0, ""
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(now.strip())
            now = ""
        else:
            now += character
    return [part for part in (*parts, now.strip()) if part]
