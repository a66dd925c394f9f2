"""PTX on the rehearsal, without a compiler of kernels: what each instruction computes, and what is refused."""

import math
import struct

import pytest

from rehearsal.ptx.emitting import translate
from rehearsal.ptx.parsing import Unsupported, parse

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
KERNEL = HEAD + ".visible .entry {name}(.param .u64 out)\n{{\n{body}\nret;\n}}\n"


@pytest.mark.parametrize(
    "body, named",
    [
        (".reg .b32 %r<3>; mma.sync.m8n8k4 %r1, %r2;", "mma.sync.m8n8k4"),
        (".reg .f32 %f<3>; add.sideways.f32 %f1, %f2, %f2;", "sideways"),
        (".reg .b32 %r<3>; add.s32 %r1, %r2, %r9;", "%r9"),
        (".reg .b32 %r<3>; add.sat.s32 %r1, %r2, %r2;", "sat"),
        (".reg .b32 %r<3>; mov.u32 %r1, %envreg3;", "%envreg3"),
        (".reg .b64 %rd<3>; ld.global.mystery.u64 %rd1, [%rd2];", "mystery"),
        ("call.uni cudaGraphLaunch, ();", "cudaGraphLaunch"),
    ],
)
def test_what_is_not_known_is_named_with_its_kernel(body, named):
    with pytest.raises(Unsupported) as raised:
        translate(KERNEL.format(name="lonely", body=body))
    assert named in str(raised.value) and "the kernel lonely" in str(raised.value)


def test_scopes_labels_and_lines_are_read():
    module = parse(
        KERNEL.format(
            name="k",
            body='{ .reg .pred p; setp.eq.s32 p, 1, 1; @!p bra $done; }\n.loc 1 7 3 // "a" }\n$done: /* } */',
        )
    )
    kinds = [type(each).__name__ for each in module.functions[0].statements]
    assert kinds == ["Scope", "Registers", "Instruction", "Instruction", "Scope", "Line", "Label", "Instruction"]  # fmt: skip
    assert module.functions[0].statements[3].guard == "!p" and module.version == (7, 0)


def single(value):
    """Return the bits of a number in single precision."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def double(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


F, D = single, double
NAN = 0x7FC00000
# instruction, type of its result, operands (as bits), result (as bits); the meaning is that of the PTX ISA
CASES = [
    ("add.s32", "b32", (2**31 - 1, 1), 2**31),
    ("sub.s64", "b64", (0, 1), 2**64 - 1),
    ("mul.hi.u32", "b32", (2**32 - 1, 2**32 - 1), 2**32 - 2),
    ("mul.hi.s32", "b32", (2**32 - 1, 5), 2**32 - 1),
    ("mul.wide.s32", "b64", (2**32 - 3, 7), 2**64 - 21),
    ("mad.wide.u16", "b32", (65535, 65535, 9), 65535**2 + 9),
    ("mul24.lo.u32", "b32", (0xFF000003, 0xFF000005), 15),
    ("div.s32", "b32", (2**32 - 7, 2), 2**32 - 3),
    ("rem.s32", "b32", (2**32 - 7, 2), 2**32 - 1),
    ("min.s32", "b32", (2**32 - 1, 0), 2**32 - 1),
    ("max.u32", "b32", (2**32 - 1, 0), 2**32 - 1),
    ("abs.s32", "b32", (2**32 - 5,), 5),
    ("sad.u32", "b32", (3, 10, 100), 107),
    ("shl.b32", "b32", (1, 32), 0),
    ("shr.s32", "b32", (2**31, 40), 2**32 - 1),
    ("shr.u32", "b32", (2**31, 31), 1),
    ("shf.l.wrap.b32", "b32", (0x80000000, 1, 33), 3),
    ("shf.r.clamp.b32", "b32", (5, 7, 99), 7),
    ("shf.l.clamp.b32", "b32", (5, 7, 99), 5),
    ("popc.b64", "b32", (2**64 - 1,), 64),
    ("clz.b32", "b32", (1,), 31),
    ("clz.b64", "b32", (0,), 64),
    ("brev.b32", "b32", (1,), 2**31),
    ("bfind.s32", "b32", (2**32 - 1,), 2**32 - 1),
    ("bfind.u32", "b32", (2**31,), 31),
    ("bfind.shiftamt.u32", "b32", (1,), 31),
    ("bfe.u32", "b32", (0xABCD1234, 8, 8), 0x12),
    ("bfe.s32", "b32", (0x0000FF00, 8, 8), 2**32 - 1),
    ("bfe.s32", "b32", (2**31, 28, 8), 0xFFFFFFF8),
    ("bfi.b32", "b32", (0xF, 0, 4, 4), 0xF0),
    ("lop3.b32", "b32", (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA, 0x96), 0x96969696),
    ("prmt.b32", "b32", (0x44332211, 0x88776655, 0x7531), 0x88664422),
    ("prmt.b32", "b32", (0x000000F0, 0, 0x0008), 0xF0F0F0FF),
    ("cnot.b32", "b32", (0,), 1),
    ("add.rn.f32", "f32", (F(1.0), F(2.0**-24)), F(1.0)),
    ("add.rp.f32", "f32", (F(1.0), F(2.0**-24)), F(1.0 + 2.0**-23)),
    ("add.rz.f32", "f32", (F(-1.0), F(-(2.0**-24))), F(-1.0)),
    ("add.rm.f32", "f32", (F(-1.0), F(-(2.0**-24))), F(-1.0 - 2.0**-23)),
    ("add.ftz.f32", "f32", (1, 1), 0),
    ("mul.sat.f32", "f32", (F(3.0), F(2.0)), F(1.0)),
    ("fma.rn.f64", "f64", (D(1 + 2.0**-30), D(1 + 2.0**-30), D(-1.0)), D(2.0**-29 + 2.0**-60)),
    ("min.f32", "f32", (NAN, F(2.0)), F(2.0)),
    ("min.f32", "f32", (F(0.0), F(-0.0)), F(-0.0)),
    ("max.f32", "f32", (F(-0.0), F(0.0)), F(0.0)),
    ("copysign.f32", "f32", (F(-1.0), F(5.0)), F(-5.0)),
    ("sqrt.rn.f64", "f64", (D(2.0),), D(math.sqrt(2))),
    ("cvt.rzi.s32.f32", "b32", (F(-2.7),), 2**32 - 2),
    ("cvt.rni.s32.f32", "b32", (F(2.5),), 2),
    ("cvt.rmi.s32.f32", "b32", (F(-2.1),), 2**32 - 3),
    ("cvt.rzi.s32.f32", "b32", (F(1e20),), 2**31 - 1),
    ("cvt.rzi.u32.f32", "b32", (F(-1.0),), 0),
    ("cvt.rzi.s32.f32", "b32", (NAN,), 0),
    ("cvt.rzi.s64.f32", "b64", (NAN,), 2**63),
    ("cvt.rn.f32.f64", "f32", (D(1 + 2.0**-30),), F(1.0)),
    ("cvt.rp.f32.f64", "f32", (D(1 + 2.0**-30),), F(1 + 2.0**-23)),
    ("cvt.rn.f32.s64", "f32", (2**64 - 3,), F(-3.0)),
    ("cvt.s64.s32", "b64", (2**32 - 1,), 2**64 - 1),
    ("cvt.u64.u32", "b64", (2**32 - 1,), 2**32 - 1),
    ("cvt.s32.s8", "b32", (0x1FF,), 2**32 - 1),
    ("cvt.u32.u8", "b32", (0x1FF,), 0xFF),
    ("cvt.sat.u8.s32", "b32", (300,), 255),
    ("cvt.rn.f16.f32", "b16", (F(1.0009765625 / 2),), 0x3801),
    ("cvt.rn.f16.f32", "b16", (F(65520.0),), 0x7C00),
    ("cvt.f32.f16", "f32", (0x0001,), F(2.0**-24)),
    ("cvt.rmi.f32.f32", "f32", (F(-1.5),), F(-2.0)),
    ("add.rn.f16", "b16", (0x3C00, 0x1400), 0x3C01),
    ("fma.rn.f16x2", "b32", (0x3C004000, 0x40004000, 0x00000000), 0x40004400),
    ("neg.f16", "b16", (0x3C00,), 0xBC00),
    ("dp4a.s32.s32", "b32", (0x01FF02FE, 0x01010101, 10), 10),
]


def register(bits):
    return {"b16": "%h", "b32": "%r", "b64": "%d", "f32": "%f", "f64": "%e"}[bits]


def source_types(instruction, count):
    """Return the kind of register for each operand of an instruction."""
    name, *parts = instruction.split(".")
    wide = {"f16": "b16", "f16x2": "b32", "f32": "f32", "f64": "f64"}
    own = wide.get(parts[-1]) or {"8": "b32", "16": "b16", "32": "b32", "64": "b64"}[parts[-1].lstrip("usb")]
    kinds = [own] * count
    if name in ("shl", "shr", "bfe"):
        kinds[1:] = ["b32"] * (count - 1)
    elif name == "bfi":
        kinds[2:] = ["b32"] * (count - 2)
    elif name == "mad" and "wide" in parts:
        kinds[2] = {"b16": "b32", "b32": "b64"}[own]
    return kinds


def test_instructions_compute_what_the_isa_says(rehearsed):
    body = [".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %e<9>;"]
    body += ["ld.param.u64 %d8, [out];"]
    for place, (instruction, kind, operands, _) in enumerate(CASES):
        names = []
        for number, (value, type_) in enumerate(
            zip(operands, source_types(instruction, len(operands)), strict=True), 1
        ):
            constant = {"f32": f"0f{value:08X}", "f64": f"0d{value:016X}"}.get(type_, str(value))
            names.append(f"{register(type_)}{number}")
            body.append(f"mov.{type_} {names[-1]}, {constant};")
        if instruction.startswith("lop3"):
            names[-1] = str(operands[-1])
        body.append(f"{instruction} {register(kind)}0, {', '.join(names)};")
        body.append(f"st.global.{kind} [%d8+{8 * place}], {register(kind)}0;")
    text = KERNEL.format(name="all", body="\n".join(body))
    printed = rehearsed(LOAD.format(text=text, bytes=8 * len(CASES)))
    results = [int(word) for word in printed.split()]
    wrong = [
        f"{instruction} of {[hex(value) for value in operands]} is {result:#x}, not {right:#x}"
        for (instruction, _, operands, right), result in zip(CASES, results, strict=True)
        if result != right
    ]
    assert not wrong, "\n".join(wrong)


LOAD = """
import ctypes
from cuda.bindings import driver

def of(answer):
    error, *values = answer
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if values else None

of(driver.cuInit(0))
of(driver.cuCtxSetCurrent(of(driver.cuDevicePrimaryCtxRetain(0))))
out = of(driver.cuMemAlloc({bytes}))
of(driver.cuMemsetD8(out, 0, {bytes}))
module = of(driver.cuModuleLoadData(b'''{text}\\0'''))
kernel = of(driver.cuModuleGetFunction(module, b"all"))
of(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, ((int(out),), (ctypes.c_uint64,)), 0))
result = bytearray({bytes})
of(driver.cuMemcpyDtoH(result, out, {bytes}))
print(*(int.from_bytes(result[i : i + 8], "little") for i in range(0, {bytes}, 8)))
"""

REFUSALS = """
from cuda.bindings import driver
driver.cuInit(0)
_, context = driver.cuDevicePrimaryCtxRetain(0)
driver.cuCtxSetCurrent(context)

def load(text):
    log = bytearray(500)
    options = [driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    error, module = driver.cuModuleLoadDataEx(text.encode() + b"\\0", 2, options, [log, len(log)])
    return error.name, log.rstrip(b"\\0").decode(), module

good = '''{good}'''
print(*load(good.replace(".version 7.0", ".version 9.1"))[:2], sep="|")
print(*load(good.replace("sm_75", "sm_80"))[:2], sep="|")
print(*load(good.replace("ret;", "mma.sync.m8n8k4 %r1, %r2; ret;"))[:2], sep="|")
print(*load("not PTX at all")[:2], sep="|")
error, text, module = load(good)
print(error, driver.cuModuleGetFunction(module, b"absent")[0].name, sep="|")
"""


def test_modules_that_cannot_run_are_refused(rehearsed):
    good = KERNEL.format(name="k", body=".reg .b32 %r<3>;")
    version, target, unknown, other, absent = rehearsed(REFUSALS.format(good=good)).splitlines()
    assert version.startswith("CUDA_ERROR_UNSUPPORTED_PTX_VERSION|") and "9.1" in version
    assert target.startswith("CUDA_ERROR_NO_BINARY_FOR_GPU|") and ".target" in target
    assert unknown.startswith("CUDA_ERROR_NOT_SUPPORTED|")
    assert "mma.sync.m8n8k4" in unknown and "the kernel k" in unknown
    assert other.startswith("CUDA_ERROR_INVALID_IMAGE|")
    assert absent == "CUDA_SUCCESS|CUDA_ERROR_NOT_FOUND"
