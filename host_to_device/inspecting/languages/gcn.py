"""GCN: reads a listing of clang into instructions and has the remark on each.

Sources: AMD, "CDNA 3 Instruction Set Architecture" and "RDNA 3 Instruction Set Architecture"; LLVM, "User Guide for
AMDGPU Backend".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from host_to_device.inspecting.instructions import Instruction, Reader, Sources
from host_to_device.inspecting.languages.words import COMPARISONS, FUNCTIONS, TYPES


def read(text: str, entry: str, sources: Sources) -> list[Instruction]:
    """Return the instructions of one kernel as clang writes them for AMD's GPUs."""
    section = re.search(rf"^{re.escape(entry)}:.*?\n(.*?)^\s*\.section", text, re.M | re.S)
    reader = Reader(sources)
    for line in (section.group(1) if section else "").splitlines():
        if re.match(r"\s*\.loc\s", line):
            # The comment names the place and, in brackets, where it was inlined, from the innermost outwards.
            reader.at((path, int(row)) for path, row in re.findall(r"([^\s\[\]@;]+):(\d+):\d+", line))
            continue
        if match := re.match(r"(\.L\w+):", line):
            if match.group(1).startswith(".LBB"):
                reader.labels.append(match.group(1))
            continue
        match = re.match(r"\s+([a-z]\w+)\s*(.*?)\s*(?:;.*)?$", line)
        if match is None:
            continue
        op, operands = match.groups()
        target = operands if op.startswith(("s_cbranch", "s_branch")) else None
        reader.add(op, operands, "", target)
    return reader.found


# The remarks: functions that word them, then the rules.
def width(op: str) -> int | None:
    """Return the number of bytes that a load or a store moves for a lane; None where the name does not say."""
    if match := re.search(r"dword(?:x(\d+))?$", op):
        return 4 * int(match.group(1) or 1)
    if match := re.search(r"_b(\d+)$", op):
        return int(match.group(1)) // 8
    if re.search(r"byte|_[iu]8|_b8", op):
        return 1
    return 2 if re.search(r"short|16", op) else None


def size(op: str) -> str:
    """Return the size of what a load or a store moves for a lane, in words."""
    number = width(op)
    return "data" if number is None else f"{number} byte{'s' * (number > 1)}"


def _memory(doing: str, where: str) -> Callable[[re.Match], str]:
    return lambda match: f"{doing} {size(match.group(1))} a lane {where}"


def _compared(match: re.Match) -> str:
    test, kind, operands = (
        match.group(1),
        match.group(2),
        [each.strip() for each in match.group(3).split(",")],
    )
    if len(operands) < 3:
        return "a comparison, one bit a lane"
    note = f" ({TYPES[kind]})" if kind.startswith("f") and kind in TYPES else ""
    return (
        f"{operands[0]}: is {operands[1]} {COMPARISONS.get(test, test)} {operands[2]}? One bit a lane{note}"
    )


def _tensor(match: re.Match) -> str:
    shape = re.search(r"(\d+)x(\d+)x(\d+)", match.group(1))
    sizes = "×".join(shape.groups()) + " " if shape else ""
    return f"matrix core: {sizes}matrix product by the wavefront"


def _waits(match: re.Match) -> str:
    counters = match.group(0)
    for_what = []
    if "vmcnt" in counters or "loadcnt" in counters:
        for_what.append("loads from global memory")
    if "lgkmcnt" in counters or "dscnt" in counters or "kmcnt" in counters:
        for_what.append("LDS or scalar loads")
    if "storecnt" in counters or "vscnt" in counters or "expcnt" in counters:
        for_what.append("stores")
    return f"waits for {' and '.join(for_what) or 'what is under way'}"


RULES = (
    (r"(global_load_\w+|flat_load_\w+)", "load", _memory("load:", "from global memory")),
    (r"(global_store_\w+|flat_store_\w+)", "store", _memory("store:", "to global memory")),
    (r"(?:global|flat|buffer)_atomic_(\w+)", "atomic", "atomic in global memory: {0}"),
    (r"(buffer_load_\w+) .*s\[0:3\]|scratch_load|scratch_store|(buffer_store_\w+) .*s\[0:3\]", "spill", ""),
    (r"(buffer_load_\w+)", "load", _memory("load:", "from global memory")),
    (r"(buffer_store_\w+)", "store", _memory("store:", "to global memory")),
    (r"v_(?:accvgpr_(?:read|write)\w*)", "other", "to or from the accumulation registers"),
    (r"ds_bpermute|ds_permute|ds_swizzle", "shuffle", "shuffle: a value from another lane"),
    (
        r"v_mov_b32_dpp|v_\w+_dpp|v_permlane|v_readlane|v_readfirstlane|v_writelane",
        "shuffle",
        "takes a value from another lane",
    ),
    (r"ds_(?:add|sub|min|max|and|or|xor|cmpst|cmpstore|inc|dec|wrxchg)\w*", "atomic", "atomic in LDS"),
    (
        r"(ds_(?:read|load)\w*)",
        "shared",
        lambda m: (
            f"load: from LDS (shared memory){', two at once' if '2' in m.group(1).split('_')[1] else ''}"
        ),
    ),
    (
        r"(ds_(?:write|store)\w*)",
        "shared",
        lambda m: (
            f"store: to LDS (shared memory){', two at once' if '2' in m.group(1).split('_')[1] else ''}"
        ),
    ),
    (r"s_barrier", "barrier", "barrier: waits for all wavefronts of the block"),
    (r"buffer_(?:inv|wbl2|wbinv|gl[01]_inv)|s_dcache", "barrier", "orders accesses to memory"),
    (r"s_wait(?:cnt)?(?:_\w+)? ?.*", "wait", _waits),
    (r"(v_(?:s?mfmac?|wmma|swmmac)_\w+)", "tensor", _tensor),
    (r"v_dual_fmac?\S* .* ::|v_dual_.* :: v_dual_fma", "fma", "two at once, with a fused multiply-add"),
    (
        r"v_dual_.*(?:add|mul|sub)_f32.* ::|v_dual_.* :: v_dual_(?:add|mul|sub)_f32",
        "arithmetic",
        "two at once, with arithmetic of float32",
    ),
    (r"v_dual_", "other", "two at once"),
    (r"v_pk_(?:fma|fmac)_f32", "fma", "fused multiply-add of two float32 at once"),
    (r"v_(?:pk_)?(?:fma|fmac|fmaak|fmamk)_f64", "double", "fused multiply-add of float64"),
    (
        r"v_(?:dual_)?(?:pk_)?(?:fma|fmac|fmaak|fmamk|mad|mac)_(?:mix_)?f(32|16)",
        "fma",
        "fused multiply-add of float{0}",
    ),
    (r"v_dot\w+", "fma", "several products, summed"),
    (
        r"v_cvt_f64_(\w+?)(?:_e\d+)? ",
        "double",
        lambda m: f"converts {TYPES.get(m.group(1), m.group(1))} to float64",
    ),
    (r"v_cvt_(\w+?)_f64", "double", lambda m: f"converts float64 to {TYPES.get(m.group(1), m.group(1))}"),
    (r"v_cvt\w*", "arithmetic", "a conversion between number types"),
    (r"v_(add|mul|min|max|sub)\w*_f64", "double", "{0} of float64"),
    (r"v_(?:dual_|pk_)?(add|mul|min|max|sub)\w*?_f(32|16)", "arithmetic", "{0} of float{1}"),
    (
        r"v_(rcp|rsq|sqrt|exp|log|sin|cos)(?:_iflag)?_f(\d+)",
        "arithmetic",
        lambda m: f"{FUNCTIONS[m.group(1)]} of float{m.group(2)}",
    ),
    (
        r"v_(?:div_\w+|ldexp|frexp\w*|trunc|floor|ceil|rndne|fract)\w*",
        "arithmetic",
        "part of a division or a function",
    ),
    (r"v_cmpx_", "guard", "guard: compares, and switches lanes off"),
    (r"v_cmp_(\w+?)_(\w\d+)(?:_e\d+)? (.*)", "compare", _compared),
    (r"s_cmpk?_(\w+?)_(\w\d+) (.*)", "compare", "a comparison for the whole wavefront"),
    (
        r"s_and_saveexec|s_andn2_saveexec|s_and_not1_saveexec",
        "guard",
        "guard: lanes that fail the test are switched off",
    ),
    (r"s_or_saveexec|s_xor_b(?:32|64) exec|s_or_b(?:32|64) exec", "branch", "switches lanes on again"),
    (r"s_andn2_b(?:32|64) exec|s_and_not1_b(?:32|64) exec", "branch", "lanes that are done are switched off"),
    (r"s_\w+ exec(?:_lo)?\b", "branch", "sets which lanes take part"),
    (r"s_load_\w+", "argument", "arguments, into scalar registers"),
    (r"v_mbcnt", "special", "the lane's number in its wavefront"),
    (
        r"v_lshlrev_b(?:32|64)\S* \S+ ([1-4]), ",
        "index",
        lambda m: f"× {2 ** int(m.group(1))}: an index becomes a distance in bytes",
    ),
    (
        r"v_lshl_add_u64|v_add_co_u32|v_addc_co|v_add_co_ci|v_lshl_add|v_add_lshl|v_lshl_or",
        "index",
        "address or index",
    ),
    (r"v_(?:mad|mul)_(?:u|i)\w+|s_mul\w*|v_mul_(?:lo|hi)\w*", "index", "product of integers: an index"),
    (r"v_cndmask", "index", "chooses by a bit a lane"),
    (r"v_mov_b\w+ \S+ 0$", "other", "zero"),
    (r"[sv]_mov|s_movk|s_cmov|s_cselect|v_accvgpr", "other", "a copy of a register or a constant"),
    (r"s_endpgm", "branch", "the end of the kernel"),
    (
        r"s_(?:nop|delay_alu|sleep|clause|code_end|set_gpr\w*|setprio|sendmsg|inst_prefetch|set_inst_prefetch\w*)",
        "other",
        "a hint to the hardware",
    ),
    (
        r"[sv]_(?:add|sub|and|or|xor|not|lshl|lshr|ashr|bfe|bfi|bfm|bcnt|min|max|med3|perm|alignbit|ff1|flbit|brev|bitcmp|sext|pack|abs|xad|andn2|nor|xnor|lshlrev|ashrrev|lshrrev|subrev|sad|add3|or3|and_or|mul|ctz|clz)\w*",
        "index",
        "integer arithmetic",
    ),
    (r"s_(?:getpc|setpc|swappc|call)\w*", "branch", "calls, or comes back"),
    (r"s_trap", "branch", "stops the kernel with an error"),
)
