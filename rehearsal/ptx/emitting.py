"""Write a PTX module as C++ for the driver: each function, and the tables by which the driver finds its parts."""

from __future__ import annotations

import re
from collections.abc import Callable

from rehearsal.ptx import instructions
from rehearsal.ptx.parsing import (
    Function,
    Instruction,
    Label,
    Line,
    Module,
    Registers,
    Scope,
    Targets,
    Unsupported,
    Variable,
    parse,
)
from rehearsal.ptx.types import FLOATS, cpp, register, size

AXES = {"x": 0, "y": 1, "z": 2}
SPECIAL = {
    **{f"%tid.{axis}": f"run->thread->index[{i}]" for axis, i in AXES.items()},
    **{f"%ntid.{axis}": f"run->block_size[{i}]" for axis, i in AXES.items()},
    **{f"%ctaid.{axis}": f"run->block_index[{i}]" for axis, i in AXES.items()},
    **{f"%nctaid.{axis}": f"run->grid_size[{i}]" for axis, i in AXES.items()},
    "%laneid": "run->thread->lane",
    "%warpid": "run->thread->warp",
    "%lanemask_eq": "(1u << run->thread->lane)",
    "%lanemask_lt": "lanes_below(run->thread->lane)",
    "%lanemask_le": "lanes_below(run->thread->lane + 1)",
    "%lanemask_gt": "~lanes_below(run->thread->lane + 1)",
    "%lanemask_ge": "~lanes_below(run->thread->lane)",
    "%dynamic_smem_size": "run->dynamic_shared_bytes",
    "%total_smem_size": "u32(run->shared_bytes)",
    "%smid": "(run->block_index[0] % 40)",
    "%nsmid": "40u",
    "%clock": "u32(clock_now())",
    "%clock64": "clock_now()",
    "%globaltimer": "clock_now()",
    "WARP_SZ": "32u",
}
# Functions that CUDA gives every kernel.
PROVIDED = {"vprintf": "call_vprintf", "malloc": "call_malloc", "free": "call_free", "__assertfail": "call_assertfail"}  # fmt: skip
NOT_COMPUTED = {"membar", "fence", "prefetch", "prefetchu", "applypriority", "discard"}  # order and hints
ORDER = {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "cta", "gpu", "sys"}
CACHE = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1", "L2", "evict_first", "evict_last", "evict_normal", "no_allocate", "64B", "128B", "256B", "cache_hint"}  # fmt: skip
SPACES = {"global", "shared", "local", "const", "param"}
VECTORS = {"v2": 2, "v4": 4}
ATOMIC = {
    "add": "add<{t}>(before, value)",
    "min": "min<{t}>(before, value)",
    "max": "max<{t}>(before, value)",
    "and": "{t}(before & value)",
    "or": "{t}(before | value)",
    "xor": "{t}(before ^ value)",
    "exch": "value",
    "inc": "before >= value ? {t}(0) : {t}(before + 1)",
    "dec": "before == 0 || before > value ? value : {t}(before - 1)",
    "cas": "before == value ? other : before",
}


def translate(text: str) -> str:
    """Return the C++ of a PTX module.

    Raises
    ------
    Unsupported
        If a part of it is not known: the message names the instruction and the kernel.
    """
    return _Module(parse(text)).text()


def identifier(name: str) -> str:
    """Return a C++ name for one of PTX."""
    return "r_" + re.sub(r"\W", "_", name)


class _Module:
    """What the functions of a module share: the places of its variables, the numbers of its functions."""

    def __init__(self, module: Module):
        self.module = module
        self.variables = [each for each in module.variables if each.space in ("global", "const")]
        self.numbers = {each.name: number for number, each in enumerate(self.variables)}
        self.functions = {each.name: number for number, each in enumerate(module.functions)}
        self.shared_bytes = 0
        self.shared: dict[str, int] = {}
        self.windows = 0
        self.places = 0
        for each in sorted(module.variables, key=lambda one: one.external):  # those of no size come last
            if each.space == "shared":
                self.shared[each.name] = self.shared_place(each)

    def shared_place(self, variable: Variable) -> int:
        """Return the offset of a variable in shared memory, behind those before it."""
        align = max(variable.align, size(variable.type), 16 if variable.external else 1)
        place = -(-self.shared_bytes // align) * align
        self.shared_bytes = place + (0 if variable.external else _bytes(variable))
        return place

    def text(self) -> str:
        bodies = [_Body(self, each) for each in self.module.functions]
        texts = [each.text() for each in bodies]
        names = [identifier(f"function_{i}") for i in range(len(bodies))]
        protos = [
            f"static void {name}({'' if body.function.entry else 'u8* result, u8** p'});"
            for name, body in zip(names, bodies, strict=True)
        ]
        indirect = [name for name, body in zip(names, bodies, strict=True) if not body.function.entry]
        lines = [
            '#include "instructions.hpp"',
            f"static Window windows[{max(self.windows, 1)}];",
            *protos,
            f"static const Function functions[] = {{{', '.join([*indirect, 'nullptr'])}}};",
            CALL_BY_ADDRESS,
            *texts,
            *self.tables(bodies, names),
        ]
        return "\n".join(lines) + "\n"

    def tables(self, bodies: list[_Body], names: list[str]) -> list[str]:
        """Return the tables that `abi.hpp` describes."""
        lines, entries, variables = [], [], []
        constants = sum(_bytes(each) for each in self.variables if each.space == "const")
        for body, name in zip(bodies, names, strict=True):
            if not body.function.entry:
                continue
            sizes, offsets = body.sizes or [0], list(body.offsets.values()) or [0]
            lines += [
                f"static const u32 sizes_{name}[] = {{{', '.join(map(str, sizes))}}};",
                f"static const u32 offsets_{name}[] = {{{', '.join(map(str, offsets))}}};",
            ]
            own = sum(_bytes(each) for each in body.shared_used.values() if not each.external)
            entries.append(
                f'{{"{body.function.name}", {name}, {own}, {self.shared_bytes}, {body.local_bytes}, {constants}, '
                f"{body.function.most_threads}, {len(body.sizes)}, sizes_{name}, offsets_{name}}}"
            )
        for number, each in enumerate(self.variables):
            values, addresses = self.initial(each)
            start, pointers = "nullptr", "nullptr"
            if any(values):
                lines.append(f"static const u8 initial_{number}[] = {{{', '.join(map(str, values))}}};")
                start = f"initial_{number}"
            if addresses:
                rows = ", ".join(f"{{{at}, {other}, {more}}}" for at, other, more in addresses)
                lines.append(f"static const Address addresses_{number}[] = {{{rows}}};")
                pointers = f"addresses_{number}"
            variables.append(f'{{"{each.name}", {_bytes(each)}, {start}, {len(addresses)}, {pointers}}}')
        return [
            *lines,
            f"static const Entry entries[] = {{{', '.join([*entries, '{}'])}}};",
            f"static const Variable variables[] = {{{', '.join([*variables, '{}'])}}};",
            'extern "C" __attribute__((visibility("default"))) const Image rehearsal_image = '
            f"{{entries, {len(entries)}, variables, {len(variables)}, windows, {self.windows}, &run, &driver}};",
        ]

    def initial(self, variable: Variable) -> tuple[bytes, list[tuple[int, int, int]]]:
        """Return the initial bytes of a variable, and where addresses of others stand in it."""
        width, values, addresses = size(variable.type), b"", []
        for word in variable.initial:
            if re.fullmatch(r"0[fFdD][0-9a-fA-F]+", word):
                values += int(word[2:], 16).to_bytes(width, "little")
            elif re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", word):
                values += (int(word.rstrip("U"), 0) % 2 ** (8 * width)).to_bytes(width, "little")
            else:
                found = re.fullmatch(r"(?:generic\()?([\w$]+)\)?(?:\+(\d+))?", word)
                if found is None or found[1] not in self.numbers or width != 8:
                    raise Unsupported(f"the initial value {word!r} of the variable {variable.name}")
                addresses.append((len(values), self.numbers[found[1]], int(found[2] or 0)))
                values += bytes(8)
        return values.ljust(_bytes(variable), b"\0"), addresses


CALL_BY_ADDRESS = """
static void call_by_address(u64 address, u8* result, u8** p) {
    for (const Function* each = functions; *each; each++) if (u64(*each) == address) return (*each)(result, p);
    driver->fault(INVALID_PC, "a call of an address that is no function");
}"""


def _bytes(variable: Variable) -> int:
    return size(variable.type) * (1 if variable.count is None else variable.count)


class _Body:
    """One function: its names, and its statements as C++."""

    def __init__(self, module: _Module, function: Function):
        self.module, self.function = module, function
        self.scopes: list[dict[str, str]] = [{}]  # types of the registers
        self.pointers: dict[str, str] = {}  # parameters and local variables: C++ of where they are
        self.shared = dict(module.shared)
        self.shared_used: dict[str, Variable] = {}
        self.targets = {each.name: each.labels for each in function.statements if isinstance(each, Targets)}
        self.local_bytes = 0
        self.sizes = [_bytes(each) for each in function.parameters]
        self.offsets: dict[str, int] = {}
        at = 0
        for each, bytes_ in zip(function.parameters, self.sizes, strict=True):
            align = max(each.align, size(each.type))
            at = -(-at // align) * align
            self.offsets[each.name] = at
            at += bytes_
        for number, each in enumerate(function.parameters):
            self.pointers[each.name] = (
                f"(run->parameters + {self.offsets[each.name]})" if function.entry else f"p[{number}]"
            )
        if function.result is not None:
            self.pointers[function.result.name] = "result"

    def text(self) -> str:
        head = identifier(f"function_{self.module.functions[self.function.name]}")
        lines = [f"// {self.function.name}"]
        lines += [f"static void {head}({'' if self.function.entry else 'u8* result, u8** p'}) {{"]
        lines += ["u64 carry = 0; (void)carry; Frame frame; (void)frame;"]
        lines += [] if self.function.entry else ["call_begins();"]
        lines += self.locals()
        depth = 0
        for each in self.function.statements:
            depth += (each.opens - (not each.opens)) if isinstance(each, Scope) else 0
            if isinstance(each, Registers) and depth == 0:
                lines.append(self.registers(each, " = 0") + ";")
        depth = 0
        for each in self.function.statements:
            if isinstance(each, Scope):
                depth += 1 if each.opens else -1
                self.scopes.append({}) if each.opens else self.scopes.pop()
                lines.append("{" if each.opens else "}")
            elif isinstance(each, Label):
                lines.append(f"{identifier(each.name)}: ;")
            elif isinstance(each, Line):
                lines.append(f"run->thread->line = {each.number};")
            elif isinstance(each, Registers):
                if depth:  # a jump may not pass an initial value
                    lines.append(self.registers(each, "") + ";")
                    lines += [f"{identifier(name)} = 0;" for name in each.names]
            elif isinstance(each, Variable):
                lines += self.declared(each)
            elif isinstance(each, Instruction):
                lines.append(self.statement(each))
        return "\n".join([*lines, "}"])

    def locals(self) -> list[str]:
        lines = []
        for each in self.function.statements:
            if isinstance(each, Variable) and each.space == "local":
                name = identifier(each.name)
                lines.append(f"u8* const {name} = frame.take({_bytes(each)});")
                self.pointers[each.name] = name
                self.local_bytes += _bytes(each)
        return lines

    def registers(self, declared: Registers, initial: str) -> str:
        self.scopes[-1].update(dict.fromkeys(declared.names, declared.type))
        return f"{register(declared.type)} " + ", ".join(
            identifier(name) + initial for name in declared.names
        )

    def declared(self, variable: Variable) -> list[str]:
        if variable.space == "local":
            return []
        if variable.space == "shared":
            self.shared[variable.name] = self.module.shared_place(variable)
            self.shared_used[variable.name] = variable
            return []
        if variable.space != "param":
            raise Unsupported(f"in {self.kind()}: a variable of .{variable.space} memory in a function")
        name = identifier(variable.name)
        self.pointers[variable.name] = name
        return [f"alignas(16) u8 {name}[{max(_bytes(variable), 1)}];", f"memset({name}, 0, sizeof {name});"]

    def kind(self) -> str:
        return f"the {'kernel' if self.function.entry else 'device function'} {self.function.name}"

    # -- operands

    def type_of(self, name: str) -> str | None:
        """Return the type of a register, or None if there is no such register."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def read(self, operand: str, type_: str) -> str:
        """Return the C++ expression of an operand as the C++ type `type_`."""
        if operand.startswith("!"):
            return f"(!{self.read(operand[1:], type_)})"
        if operand.startswith("-") and self.type_of(operand[1:]):
            return f"neg<{type_}>({self.read(operand[1:], type_)})"
        if (own := self.type_of(operand)) is not None:
            return f"as<{type_}>({identifier(operand)})"
        if operand in SPECIAL:
            return f"{type_}({SPECIAL[operand]})"
        if found := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand):
            return f"as<{type_}>(bits<f32>(0x{found[1]}u))"
        if found := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", operand):
            return f"as<{type_}>(bits<f64>(u64(0x{found[1]}ull)))"
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|0b[01]+|\d+)U?", operand):
            number = int(operand.rstrip("U"), 0)
            if type_ in FLOATS:
                return f"as<{type_}>(bits<f64>(u64({number % 2**64}ull)))" if type_ == "f64" else f"as<{type_}>(u32({number % 2**32}u))"  # fmt: skip
            return f"({number} != 0)" if type_ == "pred" else f"{type_}({number % 2**64}ull)"
        if type_ != "u64" and type_ != "s64" and operand not in self.shared:
            raise Unsupported(f"the operand {operand!r} ({own}) as {type_}")
        return f"{type_}({self.address_of(operand)})"

    def address_of(self, name: str) -> str:
        """Return the C++ expression of a variable's address; in shared memory, of its offset."""
        if name in self.shared:
            each = next((one for one in self.module.module.variables if one.name == name), None)
            if each is not None:
                self.shared_used[name] = each
            return f"{self.shared[name]}ull"
        if name in self.module.numbers:
            return f"run->variables[{self.module.numbers[name]}]"
        if name in self.pointers and (self.function.entry or name not in self.offsets):
            return f"u64({self.pointers[name]})"
        if name in self.module.functions:
            return f"u64(&{identifier(f'function_{self.module.functions[name]}')})"
        raise Unsupported(f"the operand {name!r}")

    def place(self, operand: str, space: str) -> tuple[str, str]:
        """Return a memory operand as a C++ expression, with its base: `[%rd1+8]`."""
        found = re.fullmatch(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
        if found is None:
            raise Unsupported(f"the address {operand!r}")
        base, more = found[1], int(found[2] or 0)
        type_ = self.type_of(base)
        text = self.read(base, register(type_) if type_ else "u64")
        return base, f"u64(u64({text}) + {more % 2**64}ull)" if more else f"u64({text})"

    def memory(self, operand: str, modifiers: tuple[str, ...], type_: str, bytes_: int, kind: str) -> str:
        """Return the C++ expression of the host address behind a memory operand, checked."""
        space = next((each for each in modifiers if each in SPACES), "")
        name = re.split(r"[\[\]+\s]+", operand)[1]
        if space == "param" and name in self.pointers:
            more = re.search(r"\+\s*(\d+)", operand)
            return f"({self.pointers[name]} + {more[1] if more else 0})"
        _, text = self.place(operand, space)
        if space == "shared":
            return f'in_shared({text}, {bytes_}, "{kind}")'
        self.module.windows += 1
        return f'at<{type_}>(windows[{self.module.windows - 1}], {text}, "{kind}", {bytes_})'

    def write(self, target: str, type_: str, text: str) -> str:
        """Return the C++ statement that writes a value into a register; `_` takes it and forgets it."""
        return f"(void)({text});" if target == "_" else f"put<{type_}>({self.target(target)}, {text});"

    def target(self, name: str) -> str:
        if self.type_of(name) is None:
            raise Unsupported(f"the register {name!r}")
        return identifier(name)

    # -- statements

    def statement(self, instruction: Instruction) -> str:
        try:
            text = self.computed(instruction)
            if instruction.guard:
                text = f"if ({self.read(instruction.guard, 'pred')}) {{ {text} }}"
            return text
        except Unsupported as problem:
            raise Unsupported(
                f"in {self.kind()}: {problem} of the instruction {instruction.opcode!r}"
            ) from None

    def computed(self, instruction: Instruction) -> str:
        special: Callable[[Instruction], str] | None = getattr(self, f"do_{instruction.name}", None)
        if "cc" in instruction.modifiers or instruction.name in ("addc", "subc", "madc"):
            return self.with_carry(instruction)
        if special is not None:
            return special(instruction)
        if instruction.name in NOT_COMPUTED:
            return ";"
        found = instructions.row_of(instruction)
        if found is None:
            raise Unsupported("the name")
        row, modifiers = found
        result, types = instructions.types(instruction, row)
        target, *operands = instruction.operands
        if len(operands) != len(types):
            raise Unsupported(f"{len(operands)} operands in place of {len(types)}")
        read = [self.read(each, type_) for each, type_ in zip(operands, types, strict=True)]
        return self.write(target, result, instructions.value(instruction, row, modifiers, read))

    @staticmethod
    def known(instruction: Instruction, *allowed: set[str] | dict) -> None:
        """Refuse a modifier that is in none of the sets; the last one is the type."""
        for each in instruction.modifiers[:-1]:
            if not any(each in some for some in allowed):
                raise Unsupported(f"the modifier .{each}")

    def with_carry(self, instruction: Instruction) -> str:
        name = instruction.name.removesuffix("c") if instruction.name != "sub" else "sub"
        uses = instruction.name.endswith("c")
        if set(instruction.modifiers[:-1]) - {"cc", "lo", "hi"}:
            raise Unsupported("a modifier")
        type_ = f"u{8 * size(instruction.modifiers[-1])}"
        target, *operands = instruction.operands
        a, b, *c = (f"(unsigned __int128)({self.read(each, type_)})" for each in operands)
        bits = 8 * size(instruction.modifiers[-1])
        if name == "mad":
            product = f"({a} * {b})"
            half = f"({product} >> {bits})" if "hi" in instruction.modifiers else f"{type_}({product})"
            total = f"(unsigned __int128)({half}) + {c[0]}"
        else:
            total = f"{a} {'-' if name == 'sub' else '+'} {b}"
        total += f" {'-' if name == 'sub' else '+'} carry" if uses else ""
        keeps = f"carry = u64(sum >> {bits}) & 1;" if "cc" in instruction.modifiers else ""
        return f"{{ const unsigned __int128 sum = {total}; {keeps} {self.write(target, type_, f'{type_}(sum)')} }}"

    def do_mov(self, instruction: Instruction) -> str:
        (type_,) = instruction.modifiers
        target, source = instruction.operands
        own = cpp(type_)
        if target.startswith("{"):
            parts = [each.strip() for each in target[1:-1].split(",")]
            bits = 8 * size(type_) // len(parts)
            writes = [
                self.write(each, f"u{bits}", f"u{bits}(all >> {i * bits})") for i, each in enumerate(parts)
            ]
            return f"{{ const {own} all = {self.read(source, own)}; {' '.join(writes)} }}"
        if source.startswith("{"):
            parts = [each.strip() for each in source[1:-1].split(",")]
            bits = 8 * size(type_) // len(parts)
            joined = " | ".join(
                f"({own}({self.read(each, f'u{bits}')}) << {i * bits})" for i, each in enumerate(parts)
            )
            return self.write(target, own, f"{own}({joined})")
        return self.write(target, own, self.read(source, own))

    def do_ld(self, instruction: Instruction) -> str:
        self.known(instruction, SPACES, ORDER, CACHE, VECTORS)
        type_ = cpp(instruction.modifiers[-1])
        targets, count = self.vector(instruction, instruction.operands[0])
        width = size(instruction.modifiers[-1])
        memory = self.memory(instruction.operands[1], instruction.modifiers, type_, width * count, "read")
        reads = [
            self.write(each, type_, f"fetch<{type_}>(from + {i * width})") for i, each in enumerate(targets)
        ]
        return f"{{ const u8* from = {memory}; {' '.join(reads)} }}"

    do_ldu = do_ld

    def do_st(self, instruction: Instruction) -> str:
        self.known(instruction, SPACES, ORDER, CACHE, VECTORS)
        type_ = cpp(instruction.modifiers[-1])
        sources, count = self.vector(instruction, instruction.operands[1])
        width = size(instruction.modifiers[-1])
        memory = self.memory(instruction.operands[0], instruction.modifiers, type_, width * count, "write")
        writes = [
            f"keep<{type_}>(to + {i * width}, {self.read(each, type_)});" for i, each in enumerate(sources)
        ]
        return f"{{ u8* to = {memory}; {' '.join(writes)} }}"

    @staticmethod
    def vector(instruction: Instruction, operand: str) -> tuple[list[str], int]:
        count = next((VECTORS[each] for each in instruction.modifiers if each in VECTORS), 1)
        parts = [each.strip() for each in operand[1:-1].split(",")] if count > 1 else [operand]
        if len(parts) != count:
            raise Unsupported(f"{len(parts)} registers")
        return parts, count

    def do_atom(self, instruction: Instruction) -> str:
        self.known(instruction, SPACES, ORDER, ATOMIC, {"noftz"})
        kind = next((each for each in instruction.modifiers[:-1] if each in ATOMIC), "")
        type_ = cpp(instruction.modifiers[-1])
        operands = instruction.operands if instruction.name == "atom" else ("_", *instruction.operands)
        memory = self.memory(operands[1], instruction.modifiers, type_, size(type_), "atomic access")
        other = f"const {type_} other = {self.read(operands[3], type_)};" if kind == "cas" else ""
        if not kind or len(operands) != (4 if kind == "cas" else 3):
            raise Unsupported("the operands")
        change = f"change<{type_}>({memory}, [&]({type_} before) -> {type_} {{ return {ATOMIC[kind].format(t=type_)}; }})"
        return f"{{ const {type_} value = {self.read(operands[2], type_)}; {other} {self.write(operands[0], type_, change)} }}"

    do_red = do_atom

    def do_cvta(self, instruction: Instruction) -> str:
        self.known(instruction, SPACES, {"to"})
        target, source = instruction.operands
        text = self.read(source, "u64")
        if "shared" in instruction.modifiers:
            text += f" {'-' if 'to' in instruction.modifiers else '+'} u64(run->shared)"
        return self.write(target, "u64", text)

    def do_isspacep(self, instruction: Instruction) -> str:
        target, source = instruction.operands
        address = self.read(source, "u64")
        tests = {
            "shared": f"is_shared({address})",
            "local": f"is_local({address})",
            "global": f"!is_shared({address}) && !is_local({address})",
        }
        if instruction.modifiers[0] not in tests:
            raise Unsupported(f"the modifier .{instruction.modifiers[0]}")
        return self.write(target, "pred", tests[instruction.modifiers[0]])

    def do_setp(self, instruction: Instruction) -> str:
        type_ = cpp(instruction.modifiers[-1])
        self.known(instruction, {instruction.modifiers[0]}, {"and", "or", "xor", "ftz"})
        targets = instruction.operands[0].split("|")
        a, b = (self.read(each, type_) for each in instruction.operands[1:3])
        text = instructions.comparison(instruction.modifiers, a, b, type_)
        joint = next((each for each in instruction.modifiers[1:-1] if each in ("and", "or", "xor")), None)
        more = ""
        if joint:
            sign = {"and": "&", "or": "|", "xor": "^"}[joint]
            more = f" {sign} {self.read(instruction.operands[3], 'pred')}"
        results = [f"pred(holds{more})", f"pred(!holds{more})"]
        writes = [
            self.write(each.strip(), "pred", text) for each, text in zip(targets, results, strict=False)
        ]
        return f"{{ const pred holds = {text}; {' '.join(writes)} }}"

    def do_selp(self, instruction: Instruction) -> str:
        (type_,) = map(cpp, instruction.modifiers)
        target, a, b, choice = instruction.operands
        return self.write(
            target,
            type_,
            f"{self.read(choice, 'pred')} ? {self.read(a, type_)} : {self.read(b, type_)}",
        )

    def do_slct(self, instruction: Instruction) -> str:
        *_, type_, sign = map(cpp, instruction.modifiers)
        target, a, b, choice = instruction.operands
        return self.write(target, type_, f"{self.read(choice, sign)} >= 0 ? {self.read(a, type_)} : {self.read(b, type_)}")  # fmt: skip

    def do_cvt(self, instruction: Instruction) -> str:
        to, source = map(cpp, instruction.modifiers[-2:])
        target, operand = instruction.operands
        return self.write(
            target, to, instructions.conversion(instruction.modifiers, self.read(operand, source))
        )

    def do_dp4a(self, instruction: Instruction) -> str:
        kinds = [{"u32": "u8", "s32": "s8"}[each] for each in instruction.modifiers]
        target, *operands = instruction.operands
        a, b, c = (self.read(each, "u32") for each in operands)
        return self.write(target, "s32", f"dp4a<{', '.join(kinds)}>({a}, {b}, {c})")

    def do_testp(self, instruction: Instruction) -> str:
        kind, type_ = instruction.modifiers
        tests = {"nan": "std::isnan", "finite": "std::isfinite", "infinite": "std::isinf", "normal": "std::isnormal"}  # fmt: skip
        if kind not in tests:
            raise Unsupported(f"the modifier .{kind}")
        target, operand = instruction.operands
        return self.write(target, "pred", f"{tests[kind]}({self.read(operand, cpp(type_))})")

    # -- where the thread goes on

    def do_bra(self, instruction: Instruction) -> str:
        return f"branch(); goto {identifier(instruction.operands[0])};"

    def do_brx(self, instruction: Instruction) -> str:
        index, name = instruction.operands
        rows = [f"case {i}: goto {identifier(label)};" for i, label in enumerate(self.targets.get(name, ()))]
        if not rows:
            raise Unsupported(f"the targets {name!r}")
        return f"branch(); switch ({self.read(index, 'u32')}) {{ {' '.join(rows)} }}"

    def do_ret(self, _: Instruction) -> str:
        return "return;"

    def do_exit(self, _: Instruction) -> str:
        return "return;" if self.function.entry else "driver->end_thread();"

    def do_trap(self, instruction: Instruction) -> str:
        return f'driver->fault(LAUNCH_FAILED, "{instruction.name}");'

    do_brkpt = do_trap

    def do_call(self, instruction: Instruction) -> str:
        operands = [each for each in instruction.operands if each]
        result = operands.pop(0)[1:-1].strip() if operands[0].startswith("(") else ""
        callee = operands.pop(0)
        arguments = [each.strip() for each in operands[0][1:-1].split(",")] if operands and operands[0].startswith("(") else []  # fmt: skip
        given = ", ".join(self.pointers[each] for each in arguments if each) or "nullptr"
        to = self.pointers[result] if result else "nullptr"
        if callee in self.module.functions:
            call = f"{identifier(f'function_{self.module.functions[callee]}')}({to}, given);"
        elif callee in PROVIDED:
            call = f"{PROVIDED[callee]}({to}, given);"
        elif self.type_of(callee):
            call = f"call_by_address({self.read(callee, 'u64')}, {to}, given);"
        else:
            raise Unsupported(f"the function {callee!r}, which is not in the module,")
        return f"{{ u8* given[] = {{{given}}}; {call} }}"

    # -- other threads

    def do_bar(self, instruction: Instruction) -> str:
        modifiers = [each for each in instruction.modifiers if each not in ("aligned", "cta")]
        if modifiers == ["warp", "sync"]:
            return self.warp("sync", instruction.operands[0], "0")
        if modifiers[0] == "sync":
            number, *threads = instruction.operands
            count = self.read(threads[0], "u32") if threads else "0"
            return f"driver->wait_at_barrier({self.read(number, 'u32')}, {count}, Reduction::none, 0);"
        if modifiers[0] == "red" and modifiers[1] in ("popc", "and", "or"):
            target, number, *threads, value = instruction.operands
            kind = {"popc": "count", "and": "all", "or": "any"}[modifiers[1]]
            count = self.read(threads[0], "u32") if threads else "0"
            text = f"driver->wait_at_barrier({self.read(number, 'u32')}, {count}, Reduction::{kind}, {self.read(value, 'pred')})"
            return self.write(target, "u32", text) if kind == "count" else self.write(target, "pred", f"{text} != 0")  # fmt: skip
        raise Unsupported(f"the modifier .{modifiers[0]}")

    do_barrier = do_bar

    def warp(self, operation: str, mask: str, a: str, b: str = "0", c: str = "0", flag: str = "nullptr") -> str:  # fmt: skip
        self.module.places += 1
        return (
            f"driver->warp_operation(WarpOperation::{operation}, {self.read(mask, 'u32')}, {a}, {b}, {c}, "
            f"{self.module.places}, {flag});"
        )

    def with_flag(self, target: str, call: str) -> str:
        value, _, flag = target.partition("|")
        writes = self.write(value, "u32", "result") + (self.write(flag, "pred", "flag") if flag else "")
        return f"{{ bool flag = false; const u32 result = {call} {writes} }}"

    def do_shfl(self, instruction: Instruction) -> str:
        sync, mode, _ = instruction.modifiers
        names = {"up": "shuffle_up", "down": "shuffle_down", "bfly": "shuffle_xor", "idx": "shuffle_index"}
        target, value, by, clamp, mask = instruction.operands
        if sync != "sync":
            raise Unsupported(f"the modifier .{sync}")
        a, b, c = (self.read(each, "u32") for each in (value, by, clamp))
        return self.with_flag(target, self.warp(names[mode], mask, a, b, c, "&flag"))

    def do_vote(self, instruction: Instruction) -> str:
        sync, mode, _ = instruction.modifiers
        if sync != "sync":
            raise Unsupported(f"the modifier .{sync}")
        names = {"all": "all", "any": "any", "uni": "uniform", "ballot": "ballot"}
        target, value, mask = instruction.operands
        call = self.warp(names[mode], mask, self.read(value, "pred"), flag="&flag")
        target = target if mode == "ballot" else f"_|{target}"
        return self.with_flag(target, call)

    def do_match(self, instruction: Instruction) -> str:
        mode, sync, type_ = instruction.modifiers
        target, value, mask = instruction.operands
        if sync != "sync" or mode not in ("any", "all"):
            raise Unsupported("a modifier")
        call = self.warp(f"match_{mode}", mask, self.read(value, f"u{8 * size(type_)}"), flag="&flag")
        return self.with_flag(target, call)

    def do_activemask(self, instruction: Instruction) -> str:
        return self.with_flag(instruction.operands[0], self.warp("active", "0", "0", flag="&flag"))

    def do_nanosleep(self, _: Instruction) -> str:
        return "driver->let_others_run();"
