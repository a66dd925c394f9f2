"""PTX: reads a listing into instructions and has the remark on each.

Source: NVIDIA, "PTX ISA", "Instruction Set".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from host_to_device.inspecting.instructions import Instruction, Reader, Sources
from host_to_device.inspecting.languages.words import COMPARISONS, FUNCTIONS, NUMBERS, TYPES


def read(text: str, entry: str, sources: Sources) -> list[Instruction]:
    """Return the instructions of one kernel of a PTX module."""
    files = {number: path for number, path in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M)}
    body = _body(text, entry)
    reader = Reader(sources)
    # An instruction ends with a semicolon, however many lines it takes; labels and directives with their line.
    pending = ""
    for raw in body.splitlines():
        line = re.sub(r"//.*", "", raw).strip()
        if not pending:
            if match := re.match(r"\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*?inlined_at\s+(\d+)\s+(\d+))?", line):
                first, row, outer, outer_row = match.groups()
                places = [(files.get(first, ""), int(row))]
                places += [(files.get(outer, ""), int(outer_row))] if outer else []
                reader.at(places)
                continue
            if match := re.match(r"(\$?[\w$]+):\s*(.*)$", line):
                reader.labels.append(match.group(1))
                line = match.group(2)
            line = line.strip("{} ") if re.fullmatch(r"[{}\s]*", line) else line
            if line.startswith("{") and not line.endswith(";"):
                line = line[1:].strip()
            if not line or (line.startswith(".") and not line.startswith(".reg .pred p;")):
                continue
        pending = f"{pending} {line}".strip()
        if not pending.endswith(";"):
            continue
        for each in pending.split(";"):
            _instruction(reader, re.sub(r"\s+", " ", each.strip(" \t{}" if each.strip() == "}" else " \t")))
        pending = ""
    return reader.found


def _body(text: str, entry: str) -> str:
    start = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(", text) or re.search(
        rf"\.entry\s+{re.escape(entry)}\b", text
    )
    if start is None:
        return ""
    opened = text.find("\n{", start.end())
    closed = text.find("\n}", opened)
    return text[opened + 2 : closed]


def _instruction(reader: Reader, text: str) -> None:
    text = text.strip()
    if text.startswith("{") and not text.endswith("}"):
        text = text[1:].strip()
    match = re.match(r"(@!?%?\w+\s+)?([a-z][\w.:]*)\s*(.*)$", text)
    if match is None or text.startswith("."):
        return
    guard, op, operands = (match.group(1) or "").strip(), match.group(2), match.group(3)
    target = None
    if op.startswith(("bra", "brx")):
        target = operands.split(",")[0].strip()
    reader.add(op, operands, guard, target)


# The remarks: functions that word them, then the rules.
ATOMICS = {
    **{"add": "atomic add", "min": "atomic minimum", "max": "atomic maximum", "exch": "atomic exchange"},
    **{"cas": "atomic compare and swap", "and": "atomic and", "or": "atomic or", "xor": "atomic xor"},
    **{"inc": "atomic increment", "dec": "atomic decrement"},
}


def kind_of(op: str) -> str:
    """Return the type that an instruction works on, by its name in Python."""
    return TYPES.get(op.rpartition(".")[2], op.rpartition(".")[2])


def moved(op: str) -> str:
    """Return the data that a load or a store moves: 'float32', 'four float32 at once'."""
    number = re.search(r"\.v([248])\.", op)
    many = {"2": "two ", "4": "four ", "8": "eight "}[number.group(1)] if number else ""
    return f"{many}{kind_of(op)}{' at once' if many else ''}"


def _memory(doing: str, where: str) -> Callable[[re.Match], str]:
    return lambda match: f"{doing} {moved(match.group(1))} {where}"


def _loaded(match: re.Match) -> str:
    op = match.group(1)
    cached = ", through the read-only cache" if ".nc" in op else ""
    return f"load: {moved(op)} from global memory{cached}"


def _atomic(match: re.Match) -> str:
    op = match.group(1)
    doing = next((said for part in op.split(".") if (said := ATOMICS.get(part))), "atomic")
    where = "shared" if ".shared" in op else "global"
    return f"{doing} of {kind_of(op)} in {where} memory"


def shape(op: str) -> str:
    """Return the shape of a matrix product: 'm16n8k16' becomes '16×8×16'."""
    match = re.search(r"m(\d+)n(\d+)k(\d+)", op)
    return "×".join(match.groups()) + " " if match else ""


def _tensor(match: re.Match) -> str:
    return f"tensor core: {shape(match.group(1))}matrix product by the warp"


def _shuffle(match: re.Match) -> str:
    ways = {
        "down": "a higher lane",
        "up": "a lower lane",
        "bfly": "the lane across (xor)",
    }
    way = next((said for name, said in ways.items() if f".{name}" in match.group(1)), "another lane")
    return f"shuffle: a value from {way} of the warp"


def _compared(match: re.Match) -> str:
    parts = match.group(1).split(".")
    test = next(
        (COMPARISONS[part.removesuffix("u")] for part in parts[1:] if part.removesuffix("u") in COMPARISONS),
        "?",
    )
    operands = [each.strip() for each in match.group(2).split(",")]
    if len(operands) >= 3:
        return f"{operands[0].lstrip('%').partition('|')[0]}: is {operands[1].lstrip('%')} {test} {operands[2].lstrip('%')}?"
    return "a comparison"


def _converted(match: re.Match) -> str:
    parts = match.group(1).split(".")
    types = [part for part in parts if part in TYPES]
    if len(types) < 2:
        return "a conversion"
    return f"converts {TYPES[types[-1]]} to {TYPES[types[-2]]}"


def _special(match: re.Match) -> str:
    name, axis = match.groups()
    return f"{NUMBERS[name]}.{axis}"


def _scaled(match: re.Match) -> str:
    return f"index × {match.group(1)}: its distance in bytes"


def _shifted(match: re.Match) -> str:
    return f"× {2 ** int(match.group(1))}: an index becomes a distance in bytes"


RULES = (
    (r"ld\.param\S* .*", "argument", "an argument of the kernel"),
    (r"(?:@\S+ )?(ld\.(?:volatile\.|relaxed\.\w+\.|weak\.)?global\S*)", "load", _loaded),
    (
        r"(?:@\S+ )?(st\.(?:volatile\.|relaxed\.\w+\.|weak\.)?global\S*)",
        "store",
        _memory("store:", "to global memory"),
    ),
    (r"(?:@\S+ )?(ld\.(?:volatile\.)?shared\S*)", "shared", _memory("load:", "from shared memory")),
    (r"(?:@\S+ )?(st\.(?:volatile\.)?shared\S*)", "shared", _memory("store:", "to shared memory")),
    (r"(?:@\S+ )?(ld|st)\.local", "spill", ""),
    (r"ld\.const", "argument", "load from constant memory"),
    (r"ldmatrix", "shared", "loads 8×8 tiles from shared memory"),
    (r"(ld\S*)", "load", _memory("load:", "from a generic address")),
    (r"(st\S*)", "store", _memory("store:", "to a generic address")),
    (
        r"(?:bar(?:rier)?)(?:\.cta)?\.(?:sync|red|arrive)",
        "barrier",
        "barrier: waits for all threads of the block",
    ),
    (r"(?:bar\.warp\.sync)", "barrier", "barrier of the warp"),
    (r"mbarrier|fence|membar", "barrier", "orders accesses to memory"),
    (
        r"((?:wgmma\.)?mma(?:_async)?\.\S+|wgmma\.mma_async\S*|wmma\.mma\S*|tcgen05\.mma\S*)",
        "tensor",
        _tensor,
    ),
    (r"wmma\.load\.[abc]\S*", "load", "loads a tile for the tensor cores"),
    (r"wmma\.store\S*", "store", "stores a tile of results"),
    (r"wgmma\.(?:fence|commit_group|wait_group)", "wait", "keeps order among tensor-core instructions"),
    (r"cp\.async\.commit", "wait", "closes a group of asynchronous copies"),
    (r"cp\.async\.wait", "wait", "waits for asynchronous copies"),
    (r"cp\.async", "copy", "copies global to shared, the thread goes on"),
    (r"((?:atom|red)\.\S+)", "atomic", _atomic),
    (r"(shfl\.sync\S*)", "shuffle", _shuffle),
    (r"vote|match|activemask|redux", "shuffle", "asks all lanes of the warp"),
    (r"fma\.\S*f64", "double", "fused multiply-add of float64: one rounding"),
    (r"fma\.\S*f16x2", "fma", "fused multiply-add of two float16 at once"),
    (
        r"fma\.\S*?\.?(f\d+|bf16)\b",
        "fma",
        lambda match: f"fused multiply-add of {TYPES[match.group(1)]}: one rounding",
    ),
    (r"(cvt\.\S*f64\S*)", "double", _converted),
    (r"(cvt\.\S+)", "index", _converted),
    (r"(?:@\S+ )?(setp?\.\S+) (.*)", "compare", _compared),
    (r"mov\.u32 \S+ %(n?tid|n?ctaid)\.([xyz])$", "special", _special),
    (r"mov\.\w+ \S+ %laneid", "special", "the thread's lane in its warp"),
    (r"cvta\.to\.global", "index", "this address is in global memory"),
    (r"cvta", "index", "turns an address into a generic one, or back"),
    (r"mul\.wide\.\w+ \S+ \S+ (2|4|8|16);?$", "index", _scaled),
    (r"shl\.b(?:32|64) \S+ \S+ ([1-4]);?$", "index", _shifted),
    (r"shr\.s64 \S+ \S+ 63;?$", "index", "all bits set if it is negative, else none"),
    (r"(?:and|or|xor|not|mov)\.pred", "compare", "logic of predicates"),
    (r"mad\.(?:lo|wide)\.", "index", "multiply-add of integers: an index"),
    (r"(?:add|sub)\.(?:cc\.)?[bus]64 ", "index", "64-bit sum: an address or an index"),
    (r"(add|sub|mul|div|min|max|neg|abs)\.\S*?(f64)", "double", "{0} of float64"),
    (
        r"(add|sub|mul|div|min|max|neg|abs)\.\S*?(f32|f16x2|f16|bf16x2|bf16)\b",
        "arithmetic",
        lambda match: f"{match.group(1)} of {TYPES[match.group(2)]}",
    ),
    (
        r"(sqrt|rsqrt|rcp|ex2|lg2|sin|cos|tanh)\.\S*",
        "arithmetic",
        lambda match: FUNCTIONS[match.group(1)],
    ),
    (
        r"(?:add|sub|mul|div|rem|min|max|and|or|xor|not|shl|shr|shf|bfe|bfi|prmt|neg|abs|selp|mad|lop3|sad)\b",
        "index",
        "integer arithmetic",
    ),
    (r"mov\.[fb]\d+ \S+ (?:0f00000000|0d0000000000000000)", "other", "zero"),
    (r"mov", "other", ""),
    (r"@(\S+) (?:ret|exit)", "guard", "guard: threads with {0} are done"),
    (r"ret|exit", "branch", "the end of the kernel"),
    (r"call", "branch", "calls a function that was not inlined"),
    (r"trap|brkpt", "branch", "stops the kernel with an error"),
)
