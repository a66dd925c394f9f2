"""The sentence at each instruction of the page: what it does, with its own operands.

`host_to_device.inspecting.languages` has the facts that `h2d.show` uses too: thread numbers, sizes of accesses. The rules
here add a sentence with operands for each instruction of the twelve kernels. Sources: PTX ISA; NVIDIA, "CUDA Binary
Utilities"; AMD's and LLVM's references. `Place` finds the name of a constant or an argument from its offset, by the
calling conventions. An instruction without a rule has no sentence; a test finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from book.machine_words import Idiom
from host_to_device.inspecting.languages import gcn, sass
from host_to_device.inspecting.languages.words import NUMBERS


@dataclass(frozen=True)
class Place:
    """The listing that an instruction is from: kernel; PTX, SASS or GCN; architecture."""

    idiom: Idiom
    kind: str
    arch: str
    python: bool = False  # a Numba kernel

    def parameter(self, number: int) -> str:
        """Return the meaning of a parameter of the PTX, by its number."""
        if (
            self.python
        ):  # an array of one dimension is seven parameters; the kernels use the fifth and the sixth
            name = self.idiom.parameters[number // 7][0]
            return {4: f"where the array `{name}` begins", 5: f"the length of `{name}`"}[number % 7]
        return f"the parameter `{self.idiom.parameters[number][0]}`"

    def at(self, offset: int, size: int) -> str | None:
        """Return the names of the parameters in these bytes of the arguments; None if there are none."""
        found, place = [], 0
        for name, width in self.idiom.parameters:
            place = -(-place // width) * width
            if place < offset + size and offset < place + width:
                half = " (its upper half)" if width == 8 and offset == place + 4 else ""
                found.append(f"`{name}`{half}")
            place += width
        return " and ".join(filter(None, (", ".join(found[:-1]), found[-1]))) if found else None

    @property
    def end(self) -> int:
        """The offset of the first byte after the parameters, where AMD's hidden arguments begin."""
        place = 0
        for _, width in self.idiom.parameters:
            place = -(-place // width) * width + width
        return -(-place // 8) * 8

    def constant(self, bank: str, offset: str, size: int = 4) -> str:
        """Return what NVIDIA's constant bank has at an offset. The layout differs by architecture."""
        number = 0 if offset == "RZ" else int(offset, 16)
        if bank == "0x2":
            return "a constant of the compiler"
        first, block, descriptor, stack = {
            "sm_75": (0x160, 0x0, 0x118, 0x28),
            "sm_80": (0x160, 0x0, 0x118, 0x28),
            "sm_90": (0x210, 0x0, 0x208, 0x28),
            "sm_100": (0x380, 0x360, 0x358, 0x37C),
        }[self.arch]
        if number >= first:
            name = self.at(number - first, size)
            if name:
                return f"the parameter{'s' * (' and ' in name)} {name}"
        known = {
            block: "blockDim.x",
            descriptor: "a descriptor of global memory",
            stack: "the top of the stack",
        }
        return known[number]


Rule = tuple[str, str | Callable[[re.Match, Place], str]]


def sentence(text: str, place: Place) -> str | None:
    """Return a sentence that says what an instruction does; None for a label and for an unknown instruction."""
    if text.endswith(":"):
        return None
    if place.kind != "GCN" and (match := re.fullmatch(r"@(!?)(%?U?P\d+|%p\d+) (.*)", text)):
        inner = sentence(match[3], place)
        where = f"Only where {match[2]} does not hold" if match[1] else f"Only where {match[2]} holds"
        return inner and f"{where}: {inner[0].lower()}{inner[1:]}"
    for pattern, said in RULES[place.kind]:
        if match := re.fullmatch(pattern, text):
            return said(match, place) if callable(said) else _fill(said, match)
    return None


def _fill(said: str, match: re.Match) -> str:
    return re.sub(r"\$(\d)", lambda found: _operand(match[int(found[1])] or ""), said)


HALVES_OF_A_TENTH = {
    "0x9999999a": "the lower half of what 0.1 is in float64",
    "0x3fb99999": "the upper half of what 0.1 is in float64",
}


def _operand(text: str) -> str:
    """Return an operand for the sentence: numbers in decimal, the zero register as 0."""
    text = text.strip()
    if text in HALVES_OF_A_TENTH:
        return f"{text}, {HALVES_OF_A_TENTH[text]}"
    if text in ("RZ", "URZ", "-RZ"):
        return "0"
    if re.fullmatch(r"-?0x[0-9a-f]+", text):
        return str(int(text, 16))
    if match := re.fullmatch(r"0f([0-9A-F]{8})", text):
        import struct

        return repr(struct.unpack(">f", bytes.fromhex(match[1]))[0])
    return text


def _power(text: str) -> str:
    return str(1 << int(text, 0))


R = r"([^,]+)"  # an operand


# --- PTX: virtual registers, without a limit; the assembler ptxas allocates the real ones --------------------------

BYTES = {
    "f32": "a float32",
    "u32": "4 bytes",
    "b32": "4 bytes",
    "f64": "a float64",
    "u64": "8 bytes",
    "f16": "float16 numbers",
}


def _ptx_shuffle(match: re.Match, _: Place) -> str:
    return (
        f"{match[1]} = {match[3]} of the lane that is {match[4]} further on in the warp; %r6, all ones, says that all "
        "32 lanes take part."
        if match[6] == "%r6"
        else f"{match[1]} = {match[3]} of the lane that is {match[4]} further on in the warp."
    )


PTX_RULES: list[Rule] = [
    (r"\.shared \.align (\d+) \.b8 \S+\[(\d+)\]", "Room for $2 bytes in the shared memory of the block."),
    (
        r"ld\.param\.\w+ (\S+), \[\w+_param_(\d+)\]",
        lambda match, place: f"{match[1]} = {place.parameter(int(match[2]))}.",
    ),
    (r"cvta\.to\.global\.u64 (\S+), (\S+)", "$1 = $2, as an address within global memory."),
    (
        r"mov\.u32 (\S+), %(n?tid|n?ctaid)\.([xyz])",
        lambda match, _: f"{match[1]} = {NUMBERS[match[2]]}.{match[3]}.",
    ),
    (rf"mad\.lo\.s32 {R}, {R}, {R}, {R}", "$1 = $2 × $3 + $4, the lower 32 bits of it."),
    (rf"mul\.wide\.[su]32 {R}, {R}, {R}", "$1 = $2 × $3, with 64 bits for the product."),
    (rf"add\.s(32|64) {R}, {R}, {R}", "$2 = $3 + $4, $1 bits."),
    (rf"sub\.s32 {R}, {R}, {R}", "$1 = $2 − $3."),
    (
        rf"shl\.b32 {R}, {R}, (\d+)",
        lambda match, _: f"{match[1]} = {match[2]} × {_power(match[3])}, as a shift.",
    ),
    (
        rf"shl\.b64 {R}, {R}, (\d+)",
        lambda match, _: f"{match[1]} = {match[2]} × {_power(match[3])}, as a shift of 64 bits.",
    ),
    (rf"cvt\.s64\.s32 {R}, {R}", "$1 = $2, extended to 64 bits."),
    (rf"shr\.s64 {R}, {R}, 63", "$1 = the sign of $2 in every bit: all ones if it is negative, else 0."),
    (
        rf"and\.b64 {R}, {R}, {R}",
        "$1 = $2 AND $3, bit by bit: $3 if the index is negative, else 0.",
    ),
    (rf"setp\.ge\.s32 {R}, {R}, {R}", "$1 = whether $2 ≥ $3: a predicate, one bit a thread."),
    (r"bra (?:\.uni )?(\S+)", "Go on at $1."),
    (
        rf"ld\.global\.(\w+) {R}, \[([^]+]+)\]",
        lambda m, _: f"Load {BYTES[m[1]]} from global memory, at {m[3]}, into {m[2]}.",
    ),
    (
        rf"ld\.global\.(\w+) {R}, \[([^]+]+)\+(\d+)\]",
        lambda m, _: f"Load {BYTES[m[1]]} from global memory, {m[4]} bytes behind {m[3]}, into {m[2]}.",
    ),
    (
        rf"st\.global\.(\w+) \[([^]]+)\], {R}",
        lambda m, _: f"Store {BYTES[m[1]]}, {m[3]}, in global memory at {m[2]}.",
    ),
    (rf"ld\.shared\.f32 {R}, \[([^]]+)\]", "Load a float32 from shared memory, at $2, into $1."),
    (rf"st\.shared\.f32 \[([^]]+)\], {R}", "Store a float32, $2, in shared memory at $1."),
    (r"bar\.sync 0", "Wait until all threads of the block have arrived."),
    (rf"add\.f32 {R}, {R}, {R}", "$1 = $2 + $3."),
    (rf"mul\.f32 {R}, {R}, {R}", "$1 = $2 × $3."),
    (rf"fma\.rn\.f32 {R}, {R}, {R}, {R}", "$1 = $2 × $3 + $4, rounded once."),
    (r"mov\.u64 (\S+), _Z\S+", "$1 = where the tile begins in shared memory."),
    (rf"mov\.b32 {R}, {R}", "$1 = the bits of $2, as they are."),
    (rf"mov\.[uf](?:32|64) {R}, {R}", "$1 = $2."),
    (rf"shfl\.sync\.down\.b32 (\S+)\|(\S+), {R}, {R}, {R}, {R}", _ptx_shuffle),
    (
        rf"atom\.global\.add\.u32 {R}, \[([^]]+)\], {R}",
        "Add $3 to the number at $2, atomically; $1 is the old value.",
    ),
    (rf"cvt\.f64\.f32 {R}, {R}", "$1 = $2, converted to float64."),
    (rf"cvt\.rn\.f32\.f64 {R}, {R}", "$1 = $2, rounded to a float32."),
    (rf"mul\.f64 {R}, {R}, 0d3FB999999999999A", "$1 = $2 × 0.1 in float64; 3FB9…9A are the bits of 0.1."),
    (
        r"wmma\.load\.([ab])\.sync\S+ .*",
        lambda match, _: (
            f"All lanes together load {match[1]}, 16 × 16 numbers in float16; each lane gets its part of it."
        ),
    ),
    (
        r"wmma\.mma\.sync\S+ .*",
        "The whole warp multiplies two 16 × 16 matrices of float16 and adds a third in float32: 4,096 multiply-adds.",
    ),
    (r"wmma\.store\.d\.sync\S+ .*", "All lanes together store the 16 × 16 sums."),
    (r"ret", "The thread is done."),
]


# --- SASS: R is a register of a thread, UR a register of the whole warp, P a predicate; RZ is always 0, PT true -------

C = r"c\[(0x\d)\]\[(\w+)\]"
SPECIAL = {
    **sass.SPECIAL,
    "SR_LANEID": "the thread's place in its warp, 0 to 31",
    "SR_CgaCtaId": "the block's number within its cluster",
}


def _wide(register: str, words: int = 2) -> str:
    """Return the registers that hold a value of several words: R2 becomes R2:R3."""
    name, number = re.fullmatch(r"(U?R)(\d+)", register).groups()
    return f"{register}:{name}{int(number) + words - 1}"


def _value(text: str, place: Place, words: int = 1) -> str:
    """Return an operand of SASS for the sentence, constants by their meaning."""
    if match := re.fullmatch(C, text.strip()):
        return place.constant(match[1], match[2], 4 * words)
    text = _operand(text)
    return _wide(text) if words > 1 and re.fullmatch(r"U?R\d+", text) else text


def _load_constant(match: re.Match, place: Place) -> str:
    words = int(match[2] or 32) // 32
    what = place.constant(match[4], match[5], 4 * words)
    if "stack" in what:
        return f"{match[3]} = {what}, the thread's own memory."
    register = _wide(match[3], words) if words > 1 else match[3]
    return f"{register} = {what}{', for the whole warp' if match[1] != 'LDC' else ''}."


def _address(text: str) -> str:
    """Return an address such as desc[UR4][R2.64+0x4] for the sentence."""
    inner = re.sub(r"^desc\[\w+\]", "", text).strip("[]").replace(".64", "").replace(".X4", "")
    base, _, offset = inner.partition("+")
    return f"{_operand(base)} + {_operand(offset)}" if offset else _operand(base)


def _load(match: re.Match, _: Place) -> str:
    register = _wide(match[2], 2) if match[1] else match[2]
    return (
        f"Load {sass.size(match[0].split()[0])} from global memory, at {_address(match[3])}, into {register}."
    )


def _store(match: re.Match, _: Place) -> str:
    register = _wide(match[3], 2) if match[1] else match[3]
    return f"Store {sass.size(match[0].split()[0])}, {register}, in global memory at {_address(match[2])}."


def _halves(match: re.Match, _: Place) -> str:
    number = round(float(match[2]) * 2**24)
    return (
        f"{match[1]} = {number}: read as two float16 numbers, the same bits are 0 and {float(match[2]):.3g}."
    )


def _of(said: str, *wide: int) -> Callable[[re.Match, Place], str]:
    """Return a rule whose operands `_value` reads; `wide` has the numbers of those that are 64 bits wide."""

    def fill(match: re.Match, place: Place) -> str:
        def one(found: re.Match) -> str:
            number = int(found[1])
            return _value(match[number], place, 2 if number in wide else 1)

        return re.sub(r"\$(\d)", one, said)

    return fill


ATOMIC = r"(desc\S+|\[\S+\])"

SASS_RULES: list[Rule] = [
    (rf"(LDC|U?LDCU?)(?:\.(64|128))? (\w+), {C}", _load_constant),
    (
        rf"(?:MOV|IMAD\.MOV\.U32) (R1), (?:RZ, RZ, )?{C}",
        lambda match, place: f"{match[1]} = {place.constant(match[2], match[3])}, the thread's own memory.",
    ),
    (rf"IMAD\.MOV\.U32 {R}, RZ, RZ, {R}", _of("$1 = $2.")),
    (r"S2R (\w+), (\S+)", lambda match, _: f"{match[1]} = {SPECIAL[match[2]]}."),
    (r"S2UR (\w+), (\S+)", lambda match, _: f"{match[1]} = {SPECIAL[match[2]]}, for the whole warp."),
    (rf"IMAD\.SHL\.U32 {R}, {R}, {R}, RZ", _of("$1 = $2 × $3.")),
    (rf"IMAD {R}, {R}, {R}, {R}", _of("$1 = $2 × $3 + $4.")),
    (rf"IMAD\.WIDE(?:\.U32)? {R}, {R}, {R}, {R}", _of("$1 = $2 × $3 + $4, in 64 bits.", 1, 4)),
    (rf"ISETP\.GE\.AND (P\d), PT, {R}, {R}, PT", _of("$1 = whether $2 ≥ $3.")),
    (r"EXIT", "The thread is done."),
    (rf"LDG\.E(\.64)?(?:\.SYS)? {R}, (.*)", _load),
    (rf"STG\.E(\.64)?(?:\.SYS)? (\S+), {R}", _store),
    (rf"FADD {R}, {R}, {R}", _of("$1 = $2 + $3.")),
    (rf"FMUL {R}, {R}, {R}", _of("$1 = $2 × $3.")),
    (rf"FFMA {R}, {R}, {R}, {R}", _of("$1 = $2 × $3 + $4, rounded once.")),
    (rf"DMUL {R}, {R}, {R}", _of("$1 = $2 × $3 in float64.", 1, 2, 3)),
    (rf"F2F\.F64\.F32 {R}, {R}", _of("$1 = $2, converted to float64.", 1)),
    (rf"F2F\.F32\.F64 {R}, {R}", _of("$1 = $2, rounded to a float32.", 2)),
    (rf"SHF\.L\.U32 {R}, {R}, (\w+), RZ", lambda m, _: f"{m[1]} = {m[2]} × {_power(m[3])}, as a shift."),
    (rf"SHF\.R\.U32\.HI {R}, RZ, (\w+), {R}", lambda m, _: f"{m[1]} = {m[3]} ÷ {_power(m[2])}, as a shift."),
    (
        rf"LEA {R}, (P\d), {R}, {R}, (\w+)",
        lambda m, p: (
            f"{m[1]} = {m[3]} × {_power(m[5])} + {_value(m[4], p)}, the lower half of an address; {m[2]} is the carry."
        ),
    ),
    (
        rf"LEA\.HI\.X {R}, {R}, {R}, {R}, (\w+), (P\d)",
        lambda m, p: (
            f"{m[1]} = the upper half: {m[4]}:{m[2]} × {_power(m[5])}, above 32 bits, + {_value(m[3], p)} + the carry {m[6]}."
        ),
    ),
    (
        rf"U?LEA {R}, {R}, {R}, (\w+)",
        lambda m, p: f"{m[1]} = {_value(m[2], p)} × {_power(m[4])} + {_value(m[3], p)}.",
    ),
    (rf"(?:U?MOV) {R}, {R}", _of("$1 = $2.")),
    (rf"IADD3 {R}, (?:PT, PT, )?(-?\w+), (-?\w+), RZ", lambda m, _: _sum(m[1], m[2], m[3])),
    (rf"LOP3\.LUT {R}, {R}, {R}, RZ, 0xc0, !PT", _of("$1 = $2 AND $3, bit by bit.")),
    (r"HFMA2(?:\.MMA)? (\w+), -RZ, RZ, 0, (\S+)", _halves),
    (rf"STS (\S+), {R}", lambda m, _: f"Store 4 bytes, {m[2]}, in shared memory at {_address(m[1])}."),
    (
        rf"LDS(?:\.U)? {R}, (\S+)",
        lambda m, _: f"Load 4 bytes from shared memory, at {_address(m[2])}, into {m[1]}.",
    ),
    (r"BAR\.SYNC(?:\.DEFER_BLOCKING)? 0x0", "Wait until all threads of the block have arrived."),
    (rf"SHFL\.DOWN PT, {R}, {R}, (\w+), 0x1f", "$1 = $2 of the lane that is $3 further on."),
    (
        rf"REDG?\.E\.ADD\.STRONG\.GPU {ATOMIC}, {R}",
        lambda m, _: (
            f"Add {m[2]} to the number at {_address(m[1])}, atomically; the old value is not returned."
        ),
    ),
    (
        rf"ATOMG\.E\.ADD\.STRONG\.GPU PT, {R}, {ATOMIC}, {R}",
        lambda m, _: f"Add {m[3]} to the number at {_address(m[2])}, atomically; {m[1]} is the old value.",
    ),
    (
        rf"HMMA\.1688\.F32 {R}, {R}, {R}, {R}",
        _of(
            "The Tensor Core multiplies a 16 × 8 by an 8 × 8 matrix for the warp and adds $4; each lane has its part in the registers from $1 on."
        ),
    ),
    (
        rf"HMMA\.16816\.F32 {R}, {R}, {R}, {R}",
        _of(
            "The Tensor Core multiplies a 16 × 16 by a 16 × 8 matrix for the warp and adds $4; each lane has its part in the registers from $1 on."
        ),
    ),
    (rf"STL (\S+), {R}", lambda m, _: f"Spill {m[2]} to local memory, at {_address(m[1])}."),
    (rf"LDL(?:\.LU)? {R}, (\S+)", lambda m, _: f"Reload {m[1]} from local memory, at {_address(m[2])}."),
]


def _sum(target: str, *parts: str) -> str:
    text = " + ".join(_operand(part) for part in parts).replace("+ -", "− ")
    if text.startswith("-") and "+ " in text:
        first, _, second = text[1:].partition(" + ")
        text = f"{second} − {first}"
    return f"{target} = {text}."


# --- GCN: s is a register of the whole wavefront, v a register of a lane; exec is the mask of active lanes -------------


def _scalar_load(match: re.Match, place: Place) -> str:
    offset, size = int(match[4], 16), gcn.width(match[1])
    hidden = (
        place.end + 12
    )  # after the parameters: three numbers of blocks, then the block's sizes, 16 bits each
    if offset == hidden:
        return f"{match[2]} = the block's size: blockDim.x in the lower 16 bits, blockDim.y in the upper."
    name = place.at(offset, size)
    return f"{match[2]} = the parameter{'s' * (' and ' in name)} {name}."


def _wait(match: re.Match, _: Place) -> str:
    what = {
        "lgkmcnt": "loads of parameters and accesses to LDS",
        "vmcnt": "accesses to memory",
    }
    said = [
        f"{'no' if number == '0' else f'at most {number}'} {what[name]}"
        for name, number in re.findall(r"(\w+)\((\d+)\)", match[1])
    ]
    return f"Wait until {' and '.join(said)} are under way."


def _vector_address(address: str, base: str) -> str:
    register, _, offset = base.partition(" offset:")
    where = address if register == "off" else f"{register} + {address}"
    return f"{where} + {offset}" if offset else where


def _gcn_load(match: re.Match, _: Place) -> str:
    return f"Load {gcn.size(match[1])} a lane from global memory, at {_vector_address(match[3], match[4])}, into {match[2]}."


def _gcn_store(match: re.Match, _: Place) -> str:
    return f"Store {gcn.size(match[1])} a lane, {match[3]}, in global memory at {_vector_address(match[2], match[4])}."


def _gcn_atomic(match: re.Match, _: Place) -> str:
    target, address, value = match[1], match[2], match[3]
    return f"Add {value} to the number at {address}, atomically; " + (
        f"{target} is the old value." if target else "the old value is not returned."
    )


def _offset(text: str | None) -> str:
    return f"offset {text or 0}"


GCN_RULES: list[Rule] = [
    (r"(s_load_\w+) (\S+), (s\[\d+:\d+\]), (0x[0-9a-f]+)", _scalar_load),
    (r"s_waitcnt (.*)", _wait),
    (rf"s_and_b32 {R}, {R}, 0xffff", "$1 = the lower 16 bits of $2, which are blockDim.x."),
    (rf"s_mul_i32 {R}, {R}, {R}", "$1 = $2 × $3, once for the whole wavefront."),
    (rf"s_add_u32 {R}, {R}, {R}", "$1 = $2 + $3: where the wavefront's scratch memory begins."),
    (rf"s_addc_u32 {R}, {R}, {R}", "$1 = $2 + $3 + the carry: the upper half of it."),
    (rf"s_mov_b(?:32|64) {R}, (exec\w*)", "$1 = exec: the mask of active lanes, kept for later."),
    (rf"s_mov_b(?:32|64) {R}, {R}", "$1 = $2."),
    (rf"v_mad_u64_u32 {R}, null, {R}, {R}, {R}", "$1 = $2 × $3 + $4, with 64 bits."),
    (rf"v_add_u32_e32 {R}, {R}, {R}", "$1 = $2 + $3."),
    (rf"v_sub_(?:nc_)?u32_e32 {R}, 0, {R}", "$1 = −$2."),
    (rf"v_sub_(?:nc_)?u32_e32 {R}, {R}, {R}", "$1 = $2 − $3."),
    (rf"v_add_co_u32(?:_e32)? {R}, {R}, {R}, {R}", "$1 = $3 + $4; $2 keeps the carry of each lane."),
    (
        rf"v_add(?:c_co|_co_ci)_u32_e(?:32|64) (\S+), \S+, 0, \1, {R}",
        "$1 = $1 + 1 in the lanes of $2.",
    ),
    (
        rf"v_add(?:c_co|_co_ci)_u32_e(?:32|64) {R}, (?:vcc|null), {R}, {R}, {R}",
        "$1 = $2 + $3 + the carry in $4.",
    ),
    (rf"v_add_co_ci_u32_e64 {R}, null, 0, {R}, {R}", "$1 = $2 + 1 in the lanes of $3."),
    (rf"v_ashrrev_i32_e32 {R}, 31, {R}", "$1 = the sign of $2 in every bit, which makes 64 bits of its 32."),
    (
        rf"v_lshlrev_b(?:32|64)(?:_e32)? {R}, (\d+), {R}",
        lambda m, _: f"{m[1]} = {m[3]} × {_power(m[2])}, as a shift.",
    ),
    (rf"v_lshl_add_u(?:32|64) {R}, {R}, 0, {R}", "$1 = $2 + $3."),
    (
        rf"v_lshl_add_u(?:32|64) {R}, {R}, (\d+), {R}",
        lambda m, _: f"{m[1]} = {m[2]} × {_power(m[3])} + {m[4]}.",
    ),
    (rf"v_add_lshl_u32 {R}, {R}, {R}, (\d+)", lambda m, _: f"{m[1]} = ({m[2]} + {m[3]}) × {_power(m[4])}."),
    (
        rf"v_lshl_or_b32 {R}, {R}, (\d+), {R}",
        lambda m, _: f"{m[1]} = {m[2]} × {_power(m[3])}, with the bit of {m[4]} set.",
    ),
    (rf"v_mul_u32_u24_e32 {R}, {R}, {R}", "$1 = $3 × $2, of 24 bits each."),
    (rf"v_mov_b32_e32 {R}, {R}", "$1 = $2, in every lane."),
    (rf"v_and_b32_e32 {R}, 0x3ff, {R}", "$1 = the lower 10 bits of $2, which are threadIdx.x."),
    (rf"v_and_b32_e32 {R}, {R}, {R}", "$1 = $2 AND $3, bit by bit."),
    (rf"v_bfe_u32 {R}, {R}, 10, 10", "$1 = the next 10 bits of $2, which are threadIdx.y."),
    (rf"v_cmp_gt_[iu]32_e32 {R}, {R}, {R}", "$1 = one bit a lane: whether $2 > $3."),
    (rf"v_cmp_ne_u32_e32 {R}, {R}, {R}", "$1 = one bit a lane: whether $3 is not $2."),
    (rf"v_cmpx_gt_i32_e64 {R}, {R}", "Only the lanes with $1 > $2 stay active: exec has a bit for each."),
    (rf"s_and_saveexec_b64 {R}, {R}", "$1 keeps exec; of its lanes, only those in $2 stay active."),
    (rf"s_cbranch_execz {R}", "If no lane is active any more, go on at $1."),
    (rf"s_or_b64 exec, exec, {R}", "The lanes kept in $1 are active again."),
    (rf"v_cndmask_b32_e64 {R}, {R}, {R}, {R}", "$1 = $3 in the lanes of $4, $2 in the others."),
    (rf"(global_load_\w+) {R}, {R}, (.*)", _gcn_load),
    (rf"(global_store_\w+) {R}, {R}, (.*)", _gcn_store),
    (r"global_atomic_add(?:_u32)? ()(v\[\d+:\d+\]), (v\d+), off", _gcn_atomic),
    (r"global_atomic_add(?:_u32)? (v\d+), (v\[\d+:\d+\]), (v\d+), off (?:glc|sc0)", _gcn_atomic),
    (rf"v_add_f32_e32 {R}, {R}, {R}", "$1 = $2 + $3."),
    (
        r"v_dual_add_f32 (\w+), (\w+), (\w+) :: v_dual_lshlrev_b32 (\w+), (\d+), (\w+)",
        lambda m, _: f"Two at once: {m[1]} = {m[2]} + {m[3]}, and {m[4]} = {m[6]} × {_power(m[5])}.",
    ),
    (rf"v_fmac_f32_e32 {R}, {R}, {R}", "$1 = $2 × $3 + $1, rounded once."),
    (rf"v_fma_f32 {R}, {R}, {R}, {R}", "$1 = $2 × $3 + $4, rounded once."),
    (
        r"v_dual_fmac_f32 (\w+), (\w+), (\w+) :: v_dual_fmac_f32 (\w+), (\w+), (\w+)",
        "Two at once: $1 = $2 × $3 + $1, and $4 = $5 × $6 + $4.",
    ),
    (rf"v_mul_f64(?:_e32)? {R}, {R}, {R}", "$1 = $2 × $3 in float64."),
    (rf"v_cvt_f64_f32_e32 {R}, {R}", "$1 = $2, converted to float64."),
    (rf"v_cvt_f32_f64_e32 {R}, {R}", "$1 = $2, rounded to a float32."),
    (
        rf"ds_(?:write|store)_b32 {R}, (\w+)(?: offset:(\d+))?",
        lambda m, _: f"Store 4 bytes a lane, {m[2]}, in LDS, the block's shared memory, at {m[1]}.",
    ),
    (
        rf"ds_(?:read|load)_b32 {R}, (\w+)(?: offset:(\d+))?",
        lambda m, _: f"Load 4 bytes a lane from LDS, at {m[2]}{f' + {m[3]}' if m[3] else ''}, into {m[1]}.",
    ),
    (r"s_barrier", "Wait until all wavefronts of the block have arrived."),
    (r"buffer_gl0_inv", "Invalidate the nearest cache, so that loads see what other threads have stored."),
    (rf"ds_bpermute_b32 {R}, {R}, {R}", "$1 = $3 of the lane whose number, times 4, is in $2."),
    (rf"v_mbcnt_lo_u32_b32 {R}, -1, 0", "$1 = how many of the first 32 lanes come before this one."),
    (rf"v_mbcnt_hi_u32_b32 {R}, -1, {R}", "$1 = $2 + those of the other 32: the lane's own number."),
    (
        r"scratch_store_\w+ off, (\S+), off(?: offset:(\d+))?",
        lambda m, _: f"Spill {m[1]} to scratch memory, {_offset(m[2])}.",
    ),
    (
        r"scratch_load_\w+ (\S+), off, off(?: offset:(\d+))?",
        lambda m, _: f"Reload {m[1]} from scratch memory, {_offset(m[2])}.",
    ),
    (
        r"buffer_store_dword (\S+), off, \S+, 0(?: offset:(\d+))?",
        lambda m, _: f"Spill {m[1]} to scratch memory, {_offset(m[2])}.",
    ),
    (
        r"buffer_load_dword (\S+), off, \S+, 0(?: offset:(\d+))?",
        lambda m, _: f"Reload {m[1]} from scratch memory, {_offset(m[2])}.",
    ),
    (
        r"s_nop (\d+)",
        lambda m, _: f"Do nothing for {int(m[1]) + 1} cycle{'s' * (m[1] != '0')}, until a result is ready.",
    ),
    (r"s_delay_alu .*", "A hint to the scheduler: how many instructions back the next operand was computed."),
    (
        r"s_clause (\w+)",
        lambda m, _: (
            f"The next {int(m[1], 16) + 1} memory instructions belong together and are issued in a row."
        ),
    ),
    (
        rf"v_mfma_f32_16x16x16_?f16 {R}, {R}, {R}, {R}",
        "The Matrix Core multiplies two 16 × 16 matrices of float16 for the wavefront and adds $4: 4,096 multiply-adds.",
    ),
    (
        rf"v_wmma_f32_16x16x16_f16 {R}, {R}, {R}, {R}",
        "The wavefront multiplies two 16 × 16 matrices of float16 and adds $4: 4,096 multiply-adds.",
    ),
    (r"s_endpgm", "The wavefront is done."),
]

RULES: dict[str, list[Rule]] = {"PTX": PTX_RULES, "SASS": SASS_RULES, "GCN": GCN_RULES}
