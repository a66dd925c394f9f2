"""SASS: reads a listing of nvdisasm into instructions and has the remark on each.

Source: NVIDIA, "CUDA Binary Utilities", "Instruction Set Reference", which lists SASS and does not specify it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from host_to_device.inspecting.instructions import Instruction, Reader, Sources
from host_to_device.inspecting.languages.words import COMPARISONS, FUNCTIONS, NUMBERS


def read(text: str, entry: str, sources: Sources) -> list[Instruction]:
    """Return the instructions of one kernel as nvdisasm writes them."""
    section = re.search(rf"^\.text\.{re.escape(entry)}:\n(.*?)(?=^//-{{5,}}|\Z)", text, re.M | re.S)
    reader = Reader(sources)
    places: list[tuple[str, int]] = []
    for line in (section.group(1) if section else "").splitlines():
        if match := re.match(
            r'\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?', line
        ):
            file, row, outer, outer_row = match.groups()
            places += [(file, int(row))] + ([(outer, int(outer_row))] if outer else [])
            continue
        if match := re.match(r"(\.L_\w+|\$[\w$.]+):", line):
            reader.labels.append(match.group(1))
            continue
        match = re.match(
            r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(@!?\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;?\s*\}?\s*$", line
        )
        if match is None:
            continue
        if places:
            reader.at(places)
            places = []
        guard, op, operands = (match.group(1) or "").strip(), match.group(2), match.group(3).rstrip(" ;")
        branch = re.search(r"`\((\.L_\w+)\)", operands)
        said = re.search(r'\s*\(\*"(\w+)"\*\)', operands)
        operands = operands.replace(said.group(0), "") if said else operands
        reader.add(
            op,
            re.sub(r"`\((.*?)\)", r"\1", operands),
            guard,
            branch.group(1) if branch else None,
            said.group(1) if said else "",
        )
    while reader.found and reader.found[-1].op == "NOP":  # NOPs fill the last line of the instruction cache
        reader.found.pop()
    if len(reader.found) > 1 and (last := reader.found[-1]).op == "BRA" and last.target in last.labels:
        reader.found.pop()  # ptxas puts an endless loop after the end
    return reader.found


# The remarks: functions that word them, then the rules.
LANES = {"DOWN": "a lane further up", "UP": "a lane further down", "BFLY": "the lane across (xor)"}
SPECIAL = {
    **{
        f"SR_{name.upper()}.{axis.upper()}": f"{NUMBERS[name]}.{axis}"
        for name in ("tid", "ctaid")
        for axis in "xyz"
    },
    "SR_LANEID": "the thread's lane in its warp",
}
P = r"(?:@\S+ )?"


def size(op: str) -> str:
    """Return the number of bytes that a load or a store moves, in words."""
    for part, said in (("128", "16 bytes"), ("64", "8 bytes"), ("U16", "2 bytes"), ("S16", "2 bytes")):
        if f".{part}" in op:
            return said
    return "1 byte" if re.search(r"\.[US]8", op) else "4 bytes"


def _memory(doing: str, where: str) -> Callable[[re.Match], str]:
    def say(match: re.Match) -> str:
        op = match.group(1)
        cached = ", through the read-only cache" if ".CONSTANT" in op else ""
        return f"{doing} {size(op)} {where}{cached}"

    return say


def _tensor(match: re.Match) -> str:
    op = match.group(1)
    found = re.search(r"\.(\d+)x(\d+)x(\d+)", op) or re.search(r"\.(16|8)(8)(\d+)\b", op)
    shape = "×".join(found.groups()) + " " if found else ""
    kind = {"D": "float64 ", "I": "integer "}.get(op[0], "")
    return f"tensor core: {shape}{kind}matrix product by the warp"


def _compared(match: re.Match) -> str:
    op, operands = match.group(1), [each.strip() for each in match.group(2).split(",")]
    test = next((COMPARISONS[part] for part in op.lower().split(".") if part in COMPARISONS), None)
    kind = {"D": " of float64", "F": " of float32", "H": " of float16"}.get(op[0], "")
    if test is None or len(operands) < 4:
        return f"a comparison{kind}"
    return f"{operands[0]}: is {operands[2]} {test} {operands[3]}?{kind and ' (' + kind.strip()[3:] + ')'}"


CONSTANT = "constant memory: an argument or the launch size"

RULES = (
    (P + r"S2U?R \S+ (SR_(?:(?:TID|CTAID)\.[XYZ]|LANEID))", "special", lambda m: SPECIAL[m.group(1)]),
    (P + r"S2U?R|CS2R", "special", "reads a special register"),
    (P + r"LDGSTS", "copy", "copies global to shared, the thread goes on"),
    (P + r"UTMALDG|UBLKCP", "copy", "the copy engine brings a tile to shared memory"),
    (P + r"LDGDEPBAR", "wait", "closes a group of asynchronous copies"),
    (P + r"DEPBAR|CP\.ASYNC", "wait", "waits for asynchronous copies"),
    (P + r"(LDG\S*)", "load", _memory("load:", "from global memory")),
    (P + r"(STG\S*)", "store", _memory("store:", "to global memory")),
    (P + r"(LDSM\S*)", "shared", "loads 8×8 tiles from shared memory"),
    (P + r"(LDS\S*)", "shared", _memory("load:", "from shared memory")),
    (P + r"(STS\S*)", "shared", _memory("store:", "to shared memory")),
    (P + r"(LDL|STL)", "spill", ""),
    (P + r"U?LDCU?\S* \S+ \S*c\[", "argument", CONSTANT),
    (P + r"U?LDCU?\b", "argument", CONSTANT),
    (P + r"(LD\S*)", "load", _memory("load:", "from a generic address")),
    (P + r"(ST\S*)", "store", _memory("store:", "to a generic address")),
    (P + r"BAR\.(?:SYNC|RED|ARV)", "barrier", "barrier: waits for all threads of the block"),
    (P + r"MEMBAR|FENCE|ERRBAR|CCTL", "barrier", "orders accesses to memory"),
    (P + r"SYNCS", "barrier", "a barrier in shared memory"),
    (P + r"WARPSYNC", "barrier", "barrier of the warp"),
    (P + r"((?:H|I|D|B|Q|F|O)(?:G)?MMA\S*|UTC\w*MMA\S*)", "tensor", _tensor),
    (P + r"WARPGROUP", "wait", "keeps order among tensor-core instructions"),
    (P + r"(ATOMS\S*)", "atomic", "atomic in shared memory"),
    (P + r"(ATOMG?\.\S*|ATOM\b)", "atomic", "atomic in global memory"),
    (P + r"(RED(?:G)?\.\S*)", "atomic", "atomic in global memory"),
    (
        P + r"SHFL\.(\w+)",
        "shuffle",
        lambda m: f"shuffle: a value from {LANES.get(m.group(1), 'another lane')} of the warp",
    ),
    (P + r"VOTEU?|MATCH|REDUX", "shuffle", "asks all lanes of the warp"),
    (P + r"DFMA", "double", "fused multiply-add of float64"),
    (
        P + r"D(ADD|MUL|MNMX)",
        "double",
        lambda m: {"ADD": "add", "MUL": "mul", "MNMX": "min or max"}[m.group(1)] + " of float64",
    ),
    (P + r"(DSETP\S*) (.*)", "double", _compared),
    (P + r"FFMA2?", "fma", "fused multiply-add of float32"),
    (P + r"HFMA2\S* \S+ -RZ, RZ, ", "other", "a constant"),
    (P + r"HFMA2", "fma", "fused multiply-add of two float16 at once"),
    (P + r"F2F\.F64\.F32", "double", "converts float32 to float64"),
    (P + r"F2F\.F32\.F64", "double", "converts float64 to float32"),
    (P + r"(?:F2F|I2F|F2I|F2FP|I2FP|I2I|F2IP)\S*", "arithmetic", "a conversion between number types"),
    (
        P + r"MUFU\.(\w+)",
        "arithmetic",
        lambda m: f"special-function unit: {FUNCTIONS.get(m.group(1).lower(), m.group(1))}",
    ),
    (
        P + r"F(ADD|MUL|MNMX)2?",
        "arithmetic",
        lambda m: {"ADD": "add", "MUL": "mul", "MNMX": "min or max"}[m.group(1)] + " of float32",
    ),
    (P + r"H(ADD2|MUL2|MNMX2)", "arithmetic", "arithmetic of two float16 at once"),
    (P + r"((?:U?I|F|H)SETP2?\S*|HSET\S*) (.*)", "compare", _compared),
    (P + r"U?PLOP3|R2P|P2R|U?R2UP", "compare", "logic of predicates"),
    (r"@(\S+) (?:EXIT|RET)", "guard", "guard: threads with {0} are done"),
    (P + r"EXIT", "branch", "the end of the kernel"),
    (P + r"IMAD\.MOV|U?MOV|IMAD\.U32 \S+ RZ, RZ", "other", "a copy of a register or a constant"),
    (P + r"IMAD\.WIDE", "index", "address: start + index × size of an element"),
    (P + r"U?LEA", "index", "address: start + index shifted"),
    (P + r"U?IMAD", "index", "multiply-add of integers"),
    (
        P
        + r"(?:U?IADD3|U?IADD|U?LOP3|U?SHF|U?PRMT|U?ISCADD|U?IABS|U?SEL|VIADD|VIMNMX|U?SGXT|U?POPC|U?FLO|U?BREV|BMSK|U?IMNMX|LOP|IDP|FSEL|UVIADD)",
        "index",
        "integer arithmetic",
    ),
    (P + r"BSSY|BSYNC|BREAK", "branch", "threads that took different branches meet again"),
    (P + r"CALL|RET|BRX|JMP|WARPSYNC", "branch", "calls, or comes back"),
    (P + r"BPT|KILL", "branch", "stops the kernel with an error"),
    (P + r"NANOSLEEP|YIELD", "wait", "lets other warps go first"),
    (P + r"NOP", "other", "nothing"),
    (P + r"R2UR", "other", "a copy into a register of the whole warp"),
)
