"""The remark on each instruction: what it does, in a few words; the rules stand in `languages`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from host_to_device.inspecting.instructions import Instruction
from host_to_device.inspecting.languages import gcn, ptx, sass

# The kinds of remarks, with their names in tables of counts.
KINDS = {
    "load": "loads from global memory",
    "store": "stores to global memory",
    "shared": "accesses to shared memory",
    "barrier": "barriers",
    "fma": "fused multiply-adds",
    "tensor": "tensor-core instructions",
    "arithmetic": "other arithmetic",
    "double": "float64 instructions",
    "atomic": "atomics",
    "shuffle": "shuffles",
    "copy": "asynchronous copies",
    "spill": "accesses to local memory",
    "guard": "guards",
    "branch": "branches",
    "compare": "comparisons",
    "index": "instructions for indices and addresses",
    "special": "reads of thread and block numbers",
    "argument": "reads of arguments",
    "wait": "waits",
    "other": "others",
}


@dataclass(frozen=True)
class Remark:
    """What an instruction does: its kind, one of `KINDS`, and a few words without a full stop."""

    kind: str
    text: str


# A pattern that the instruction starts with, the kind, and the remark; {0} in it is the pattern's first group.
Rule = tuple[str, str, str | Callable[[re.Match], str]]
RULES: Mapping[str, Sequence[Rule]] = {
    "ptx": ptx.RULES,
    "sass": sass.RULES,
    "gcn": gcn.RULES,
}
COMPILED = {
    what: [(re.compile(pattern), kind, said) for pattern, kind, said in rules]
    for what, rules in RULES.items()
}


def of(
    what: str,
    instructions: Sequence[Instruction],
    resources: Mapping[str, int],
    parameters: Sequence[str] = (),
) -> list[Remark]:
    """Return a remark for each instruction.

    Parameters
    ----------
    what
        'ptx', 'sass' or 'gcn'.
    instructions
        The instructions of one kernel, in order: the remark on a branch depends on its target.
    resources
        The resources of the kernel. If the compiler reports spills, accesses to local memory count as spills.
    parameters
        The names of the kernel's parameters, in the order of the PTX.
    """
    at = {label: place for place, each in enumerate(instructions) for label in each.labels}
    spills = any(
        resources.get(name) for name in ("spill_stores", "spill_loads", "vgpr_spills", "sgpr_spills")
    )
    told = any(each.note == "SpillRefill" for each in instructions)  # newer disassemblers mark each one
    found = []
    for place, each in enumerate(instructions):
        if each.target is not None and not each.op.startswith("BSSY"):  # BSSY names a place and does not jump
            found.append(_branch(what, each, at.get(each.target, place + 1) <= place))
            continue
        remark = _ruled(what, each, parameters)
        if remark.kind == "spill":
            remark = _local(each, each.note == "SpillRefill" if told else spills)
        elif remark.kind == "arithmetic" and _is_double(each):
            remark = Remark("double", remark.text)
        found.append(remark)
    return found


def _ruled(what: str, each: Instruction, parameters: Sequence[str]) -> Remark:
    for pattern, kind, said in COMPILED[what]:
        if match := pattern.match(each.text):
            text = said(match) if callable(said) else said.format(*match.groups())
            if kind == "argument" and (number := re.search(r"_param_(\d+)", each.operands)):
                place = int(number.group(1))
                if place < len(parameters):
                    text = f"argument {parameters[place]}"
            return Remark(kind, text)
    return Remark("other", "")


def _branch(what: str, each: Instruction, back: bool) -> Remark:
    label = (each.target or "").lstrip("$.")
    if back:
        return Remark("branch", f"back to {label}: the next round of the loop")
    if what == "gcn":
        said = {
            "s_cbranch_execz": "skips ahead if no lane is left",
            "s_cbranch_execnz": "goes on there while any lane is left",
        }
        kind = "guard" if each.op == "s_cbranch_execz" else "branch"
        conditional = each.op.startswith("s_cbranch")
        return Remark(kind, said.get(each.op, f"{'may skip' if conditional else 'goes'} ahead to {label}"))
    if each.guard:
        flag = each.guard.lstrip("@!%")
        which = "without" if "!" in each.guard else "with"
        return Remark("guard", f"guard: threads {which} {flag} skip ahead to {label}")
    return Remark("branch", f"goes ahead to {label}")


def _local(each: Instruction, spills: bool) -> Remark:
    store = bool(re.match(r"st\.|STL|scratch_store|buffer_store", each.op))
    if spills:
        return Remark("spill", f"spill: register {'put into' if store else 'fetched from'} local memory")
    return Remark("spill", f"{'store to' if store else 'load from'} local memory: the thread's own")


def _is_double(each: Instruction) -> bool:
    return bool(re.search(r"\.f64$|\bf64\b|^D(ADD|MUL|FMA|SETP)|_f64\b|_f64_", each.op))
