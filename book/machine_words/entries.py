"""The entries of the reference "Reading the machine's words": one for each instruction or group of instructions.

An entry has its words in PTX, SASS and GCN, one sentence, a kernel whose listing shows it, and the sections of the course
that teach it. `reference` finds the lines of the listings. Sources: NVIDIA, "PTX ISA" and "CUDA Binary Utilities"; AMD, "CDNA
3 Instruction Set Architecture" and "RDNA 3 Instruction Set Architecture"; LLVM, "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One instruction, or several that do the same.

    Attributes
    ----------
    name
        Its anchor, after `mw-`.
    title
        The heading: what the instruction does, in the field's words.
    says
        What it does, in plain sentences; Markdown.
    ptx, sass, gcn
        Its words. A word stands for all instructions that begin with it: `LDG` for `LDG.E.64` too. The longest word wins.
        `@%p` stands for any predicate before an instruction.
    example
        The kernel whose listing shows it: an idiom or an example.
    python
        The same in Python, where the kernel's line of CUDA C++ does not tell.
    taught
        The sections that teach it.
    only
        By language, a regular expression for lines that belong to this entry whatever their word is.
    pick
        A regular expression that chooses the shown line, by its text or its remark, among all lines of the example.
    source
        The line of the source, where the listing does not tell.
    """

    name: str
    title: str
    says: str
    ptx: tuple[str, ...] = ()
    sass: tuple[str, ...] = ()
    gcn: tuple[str, ...] = ()
    example: str = ""
    python: str = ""
    taught: tuple[str, ...] = ()
    only: dict[str, str] = field(default_factory=dict)
    pick: str = ""
    source: str = ""

    def words(self, kind: str) -> tuple[str, ...]:
        """Return its words in "PTX", "SASS" or "GCN"."""
        return getattr(self, kind.lower())


START = (
    Entry(
        "thread-number",
        "Thread and block numbers",
        "The thread reads a number that the hardware has set: its place in the block, the block's place in the grid, or one "
        "of their sizes. On AMD `threadIdx.x` is in `v0` when the kernel starts, so no instruction fetches it; where "
        "all three numbers share `v0`, `v_and_b32` and `v_bfe_u32` take the bits apart.",
        ("mov.u32 %tid", "mov.u32 %ctaid", "mov.u32 %ntid", "mov.u32 %nctaid", "mov.u32 %laneid"),
        ("S2R", "S2UR", "CS2R"),
        ("v_bfe_u32", "v_mbcnt"),
        "padding",
        "cuda.threadIdx.x",
        ("hd-grid",),
        {"PTX": r"mov\.u32 \S+ %(n?tid|n?ctaid|laneid)\b.*", "GCN": r"v_and_b32_e32 v\d+, 0x3ff, .*"},
    ),
    Entry(
        "parameter",
        "Kernel arguments",
        "The thread reads an argument of the kernel. On NVIDIA the arguments lie in constant memory, "
        "where the launch has put them; the same memory holds the block's size. `ULDC` and `LDCU` read a value "
        "once for the whole warp.",
        ("ld.param", "ld.const"),
        ("LDC", "ULDC", "LDCU"),
        ("s_load",),
        "guard",
        taught=("hd-returns",),
        pick=r"ld\.param|LDC.* c\[0x0\]\[0x2[1-3]\d|s_load_dwordx",
    ),
    Entry(
        "mad",
        "Integer multiply-add",
        "The thread multiplies two integers and adds a third. In most kernels this is the index: "
        "`blockIdx.x * blockDim.x + threadIdx.x`.",
        ("mad.lo", "mad.hi", "mad.wide"),
        ("IMAD", "UIMAD"),
        ("v_mad_u64_u32", "v_mad_i64_i32", "s_mul", "v_mul_lo", "v_mul_hi"),
        "index",
        "cuda.grid(1)",
        ("hd-grid",),
    ),
    Entry(
        "address",
        "Index to address",
        "The thread multiplies an index by the size of an element, 4 bytes for a float32, and adds the address "
        "at which the array begins.",
        ("mul.wide",),
        ("IMAD.WIDE", "LEA", "ULEA"),
        ("v_lshl_add", "v_add_lshl", "v_lshl_or", "v_mul_u32_u24"),
        "index",
        "out[i]",
        ("kc-pointer", "kn-index"),
    ),
    Entry(
        "address-space",
        "Address in global memory",
        "The compiler states that an address is in global memory, so that the loads can be `ld.global` "
        "instead of loads that first have to find out which memory is meant. It costs nothing: SASS has no instruction for it.",
        ("cvta",),
        (),
        (),
        "guard",
        taught=("kn-ptx",),
    ),
    Entry(
        "integer",
        "Integer arithmetic",
        "The thread adds, subtracts, shifts or combines integers bit by bit. Most of these "
        "compute indices and addresses. A shift by 2 multiplies by 4.",
        (
            "add.s32",
            "sub.s32",
            "shl",
            "and",
            "add.s",
            "add.u",
            "sub.s",
            "sub.u",
            "mul.lo",
            "mul.hi",
            "shr",
            "shf",
            "or",
            "xor",
            "not",
            "min.s",
            "max.s",
            "rem",
            "div.s",
            "div.u",
            "neg.s",
            "abs.s",
            "bfe",
            "bfi",
            "prmt",
            "lop3",
            "sad",
            "popc",
            "clz",
        ),
        (
            "IADD3",
            "IADD",
            "UIADD3",
            "VIADD",
            "LOP3",
            "ULOP3",
            "SHF",
            "USHF",
            "PRMT",
            "UPRMT",
            "IABS",
            "IMNMX",
            "VIMNMX",
            "POPC",
            "FLO",
            "UFLO",
            "BREV",
            "BMSK",
            "SGXT",
            "IDP",
            "ISCADD",
        ),
        (
            "v_add_u32",
            "v_add_nc_u32",
            "v_add_co_u32",
            "v_addc_co",
            "v_add_co_ci",
            "v_sub",
            "v_lshlrev",
            "v_lshrrev",
            "v_ashrrev",
            "v_and",
            "v_or",
            "v_xor",
            "v_not",
            "v_bfi",
            "v_min_i",
            "v_max_i",
            "v_min_u",
            "v_max_u",
            "s_add",
            "s_addc",
            "s_andn2",
            "s_min",
            "s_max",
            "s_brev",
            "s_sub",
            "s_and",
            "s_or",
            "s_xor",
            "s_lshl",
            "s_lshr",
            "s_ashr",
            "s_bfe",
            "s_ff1",
            "s_bitset",
            "s_bcnt",
            "v_add3",
            "v_or3",
            "v_xad",
            "v_perm_b32",
        ),
        "tile",
        "255 - t",
        taught=("kn-index",),
        pick=r"sub\.s32|IADD3|v_sub_",
    ),
    Entry(
        "copy-register",
        "Copy a register or a constant",
        "The thread copies a register, or puts a constant into one. SASS writes a copy as a multiply-add with zero "
        "(`IMAD.MOV`), and some constants as a multiply-add of two float16 numbers whose bits are the wanted ones "
        "(`HFMA2 R7, -RZ, RZ, 0, …`).",
        ("mov",),
        ("MOV", "UMOV", "IMAD.MOV", "IMAD.U32", "R2UR", "HFMA2 -RZ, RZ", "HFMA2.MMA -RZ, RZ"),
        ("v_mov", "s_mov", "s_movk", "v_accvgpr_read", "v_accvgpr_write", "v_dual_mov"),
        "predicate",
        only={"SASS": r"HFMA2(?:\.MMA)? R\d+, -RZ, RZ, .*"},
        taught=(),
        pick=r"(mov\S*|MOV\S*) .*\b(0x)?7$",
    ),
)

MEMORY = (
    Entry(
        "load",
        "Load from global memory",
        "The thread reads an element of an array from global memory into a register. The address is in a register; "
        "whether the warp's addresses are neighbours, the instruction does not say ([strides](#mw-strided)).",
        ("ld.global", "ld.volatile.global", "ld.relaxed"),
        ("LDG",),
        ("global_load", "flat_load", "buffer_load"),
        "guard",
        "a[i]",
        ("kn-strides",),
    ),
    Entry(
        "load-readonly",
        "Load through the read-only cache",
        "The thread reads global memory that no thread writes while the kernel runs. The compiler may use this load where "
        "the pointer is `const` and `__restrict__`, or where you write `__ldg`; `nc` stands for non-coherent. "
        "AMD's listing has the ordinary load.",
        ("ld.global.nc",),
        ("LDG.E.CONSTANT", "LDG.E.64.CONSTANT", "LDG.E.128.CONSTANT"),
        (),
        "readonly",
        taught=("ar-memory",),
    ),
    Entry(
        "load-vector",
        "Load 8 or 16 bytes at once",
        "The thread reads two or four neighbouring elements with one instruction. NVIDIA's address has to be a multiple "
        "of 8 or 16 bytes.",
        ("ld.global.v2", "ld.global.v4"),
        ("LDG.E.64", "LDG.E.128"),
        ("global_load_dwordx2", "global_load_dwordx4", "global_load_b64", "global_load_b128"),
        "vector",
        taught=("mw-unrolled",),
    ),
    Entry(
        "store",
        "Store to global memory",
        "The thread writes a register to an element of an array in global memory. It does not wait until the value "
        "has arrived.",
        ("st.global", "st.volatile.global", "st.relaxed"),
        ("STG",),
        ("global_store", "flat_store", "buffer_store"),
        "guard",
        "c[i] = …",
        ("kn-strides",),
    ),
    Entry(
        "generic",
        "Load or store with a generic address",
        "The thread accesses an address of which the compiler does not know the memory: global, shared or local. "
        "The hardware finds out at each access.",
        ("ld", "st"),
        ("LD", "ST"),
        (),
        taught=("ar-memory",),
    ),
    Entry(
        "shared-load",
        "Load from shared memory",
        "The thread reads the block's shared memory, which AMD calls LDS. If lanes of a warp read different addresses in one bank, "
        "the hardware serves them one after another.",
        ("ld.shared", "ld.volatile.shared"),
        ("LDS",),
        ("ds_read", "ds_load"),
        "tile",
        "tile[255 - t]",
        ("co-block", "co-banks"),
    ),
    Entry(
        "shared-store",
        "Store to shared memory",
        "The thread writes to the block's shared memory. Other threads may read the value after a barrier.",
        ("st.shared", "st.volatile.shared"),
        ("STS",),
        ("ds_write", "ds_store"),
        "tile",
        "tile[t] = x[first + t]",
        ("co-block",),
    ),
    Entry(
        "local",
        "Local memory",
        "The thread reads or writes memory of its own that lies in DRAM, with caches before it. AMD calls it scratch. "
        "An array in a kernel ends there if its index is not known when the kernel is compiled; so does a "
        "[register spill](#mw-spill).",
        ("ld.local", "st.local"),
        ("LDL", "STL"),
        ("scratch_load", "scratch_store"),
        "local",
        "cuda.local.array(64, float32)",
        ("ar-memory",),
        {"GCN": r"buffer_(load|store)_dword \S+, off, .*"},
    ),
    Entry(
        "copy-async",
        "Asynchronous copy to shared memory",
        "The thread starts a copy from global to shared memory and goes on; the data pass through no register. "
        "The copies are closed into a group, and the thread waits for the group before it reads the tile.",
        ("cp.async", "cp.async.bulk"),
        ("LDGSTS", "UTMALDG", "UBLKCP"),
        (),
        "async",
        taught=("co-tiles",),
    ),
    Entry(
        "copy-wait",
        "Wait for an asynchronous copy",
        "The thread closes a group of asynchronous copies, or waits until such a group has arrived.",
        ("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"),
        ("LDGDEPBAR", "DEPBAR", "CP.ASYNC"),
        (),
        "async",
        taught=("co-tiles",),
    ),
)

CONTROL = (
    Entry(
        "compare",
        "Compare, and keep yes or no",
        "The thread compares two numbers and keeps the answer in a predicate. On AMD the answer is one bit for each lane, "
        "in `vcc` or in a pair of scalar registers; `s_cmp` compares once for the whole wavefront.",
        ("setp", "set", "and.pred", "or.pred", "xor.pred", "not.pred", "mov.pred"),
        ("ISETP", "UISETP", "FSETP", "HSETP2", "FSET", "PLOP3", "UPLOP3", "P2R", "R2P"),
        ("v_cmp", "s_cmp", "s_cmpk"),
        "guard",
        "i < n",
        ("hd-guard",),
    ),
    Entry(
        "guard-branch",
        "Branch of a guard",
        "Threads without an element skip the body of the kernel. A thread jumps if the predicate after `@` is true, or false "
        "with `@!`. SASS often ends such a thread at once (`@P0 EXIT`). On AMD `s_cbranch_execz` skips the body "
        "if no lane is active.",
        ("@%p bra", "@%p ret", "@%p exit"),
        ("@P BRA", "@P EXIT"),
        ("s_cbranch_execz", "s_cbranch_vccz", "s_cbranch_vccnz"),
        "guard",
        "if i < n:",
        ("hd-guard", "ar-divergence"),
    ),
    Entry(
        "exec",
        "Switch lanes off and on",
        "On AMD the register `exec` has one bit for each lane, and only lanes with their bit set are active. "
        "`s_and_saveexec` keeps the old bits and switches off the lanes that fail the test; `s_or … exec` switches "
        "them on again. NVIDIA's hardware keeps the active lanes itself.",
        (),
        (),
        (
            "s_and_saveexec",
            "s_or_saveexec",
            "s_andn2_saveexec",
            "s_and_not1_saveexec",
            "v_cmpx",
            "s_or_b64 exec",
            "s_or_b32 exec_lo",
        ),
        "guard",
        "if i < n:",
        ("ar-divergence", "hr-width"),
        {
            "GCN": r"s_(?:or|xor|and|andn2|and_not1|mov)_b(?:32|64) exec(?:_lo)?, .*|s_mov_b(?:32|64) \S+, exec\w*"
        },
    ),
    Entry(
        "predicated",
        "Instruction with a predicate",
        "The instruction is executed only by threads whose predicate is true, or false with `@!`. "
        "The other threads pass over it, so a short `if` needs no jump.",
        ("@%p",),
        ("@P",),
        (),
        "predicate",
        taught=("ar-divergence",),
        pick=r"^@P\d LDG",
    ),
    Entry(
        "loop",
        "Jump back: the next round of a loop",
        "The thread goes on at a label. A jump back, to a label above, is a loop; "
        "if the listing has none, the compiler has [unrolled](#mw-unrolled) the loop.",
        ("bra", "brx"),
        ("BRA", "BRX", "JMP"),
        ("s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_execnz"),
        "loop",
        "for k in range(…):",
        ("kn-stride-loop",),
        pick=r"back to",
    ),
    Entry(
        "reconverge",
        "Diverged threads meet again",
        "`BSSY` names the place at which threads that take different branches shall meet, and `BSYNC` waits there. "
        "A listing with this pair has a branch at which a warp can diverge.",
        (),
        ("BSSY", "BSYNC", "BREAK"),
        (),
        "branches",
        taught=("ar-divergence",),
    ),
    Entry(
        "select",
        "Choose between two values",
        "The thread takes one of two values, by a predicate or by its bit in a mask. Nothing branches.",
        ("selp",),
        ("SEL", "USEL", "FSEL"),
        ("v_cndmask", "s_cselect", "s_cmov"),
        "choose",
        taught=("ar-divergence",),
    ),
    Entry(
        "call",
        "Call a function",
        "The thread calls a function that the compiler has not put in line, or returns from it. "
        "Division of float32 calls such a function for rare operands only.",
        ("call",),
        ("CALL", "RET"),
        ("s_swappc", "s_setpc", "s_getpc", "s_call"),
        "divide",
        taught=(),
    ),
    Entry(
        "trap",
        "Stop the kernel with an error",
        "The thread stops the kernel, and the host gets an error at its next call that waits. A failed `assert` ends here.",
        ("trap", "brkpt"),
        ("BPT", "KILL"),
        ("s_trap",),
        taught=("kn-errors",),
    ),
    Entry(
        "end",
        "End of the kernel",
        "The thread, or on AMD the wavefront, is done.",
        ("ret", "exit"),
        ("EXIT",),
        ("s_endpgm",),
        "index",
        taught=("hd-grid",),
    ),
)

ARITHMETIC = (
    Entry(
        "fused",
        "Fused multiply-add",
        "The thread computes `a * x + y` and rounds once. Vendors count two operations for it. "
        "[Why the result can differ from NumPy's](#mw-fma).",
        ("fma",),
        ("FFMA", "FFMA2"),
        (
            "v_fma_f32",
            "v_fmac_f32",
            "v_fmaak_f32",
            "v_fmamk_f32",
            "v_mad_f32",
            "v_mac_f32",
            "v_pk_fma_f32",
            "v_dual_fmac_f32",
        ),
        "fma",
        "a * x[i] + y[i]",
        ("ar-counting",),
    ),
    Entry(
        "float32",
        "Add, multiply, maximum of float32",
        "The thread adds or multiplies two float32 numbers, or takes the smaller or larger of them. RDNA's `v_dual_…` "
        "holds two instructions that are executed together.",
        ("add", "sub", "mul", "min", "max", "neg", "abs"),
        ("FADD", "FMUL", "FMNMX", "FADD2", "FMUL2"),
        (
            "v_add_f32",
            "v_sub_f32",
            "v_mul_f32",
            "v_min_f32",
            "v_max_f32",
            "v_pk_add_f32",
            "v_pk_mul_f32",
            "v_dual",
        ),
        "maximum",
        "max(x[i], 0)",
        ("ar-counting",),
    ),
    Entry(
        "divide",
        "Division",
        "The thread divides. PTX has one instruction; SASS and GCN compute an approximate `1 / y`, then "
        "improve it with multiply-adds. `FCHK` finds the operands for which this fails.",
        ("div",),
        ("FCHK",),
        ("v_div_scale", "v_div_fmas", "v_div_fixup", "v_ldexp", "v_frexp"),
        "divide",
        "x[i] / y[i]",
        ("kn-fastmath",),
    ),
    Entry(
        "function",
        "Square root, reciprocal, exponential, sine",
        "The special-function unit returns an approximation: `RCP` is 1 / x, `RSQ` 1 / √x, `EX2` and `v_exp` 2 to the power of x, "
        "`LG2` and `v_log` the logarithm to base 2.",
        ("sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh"),
        ("MUFU",),
        (
            "v_rcp",
            "v_rsq",
            "v_sqrt",
            "v_exp",
            "v_log",
            "v_sin",
            "v_cos",
            "v_fract",
            "v_rndne",
            "v_floor",
            "v_ceil",
            "v_trunc",
        ),
        "function",
        "1 / math.sqrt(x[i])",
        ("kn-fastmath",),
    ),
    Entry(
        "float64",
        "Arithmetic of float64",
        "The thread computes with float64, which most GPUs do far more slowly than float32. If you expected none, look for a "
        "[literal that is a double](#mw-literal).",
        (
            "add.f64",
            "add.rn.f64",
            "sub.f64",
            "mul.f64",
            "mul.rn.f64",
            "fma.rn.f64",
            "div.rn.f64",
            "min.f64",
            "max.f64",
            "neg.f64",
            "abs.f64",
        ),
        ("DADD", "DMUL", "DFMA", "DMNMX", "DSETP"),
        ("v_add_f64", "v_mul_f64", "v_fma_f64", "v_fmac_f64", "v_min_f64", "v_max_f64", "v_fmaak_f64"),
        "float64",
        "x[i] * 0.1",
        ("kn-types",),
    ),
    Entry(
        "convert",
        "Convert between number types",
        "The thread converts a number: an integer to a float, float32 to float64, 32 bits to 64. "
        "Conversions to and from `f64` around one product are the mark of an [unwanted float64](#mw-literal).",
        ("cvt",),
        ("F2F", "I2F", "F2I", "I2FP", "F2FP", "I2I", "F2IP"),
        ("v_cvt",),
        "literal",
        taught=("kn-types",),
    ),
    Entry(
        "float16",
        "Two float16 at once",
        "The thread computes with two float16 numbers that share a register.",
        ("fma.rn.f16x2", "add.f16x2", "mul.f16x2", "add.f16", "mul.f16", "fma.rn.f16"),
        ("HFMA2", "HADD2", "HMUL2", "HMNMX2"),
        (
            "v_pk_fma_f16",
            "v_pk_add_f16",
            "v_pk_mul_f16",
            "v_fma_f16",
            "v_add_f16",
            "v_mul_f16",
            "v_fma_mix",
            "v_dot2",
            "v_dot4",
        ),
        "half2",
        taught=("ar-counting",),
    ),
)

TOGETHER = (
    Entry(
        "barrier",
        "Barrier of the block",
        "The thread waits until all threads of the block have arrived; after it, they see what the others stored before it.",
        ("bar.sync", "barrier", "bar.red", "bar.arrive"),
        ("BAR",),
        ("s_barrier",),
        "tile",
        "cuda.syncthreads()",
        ("co-order",),
    ),
    Entry(
        "warp-barrier",
        "Barrier of the warp",
        "The threads of a warp wait for each other. Where the compiler knows that they are together, SASS has only a `NOP` in its place.",
        ("bar.warp.sync",),
        ("WARPSYNC",),
        (),
        "warp_barrier",
        "cuda.syncwarp()",
        ("co-warp",),
    ),
    Entry(
        "fence",
        "Memory fence",
        "The thread's stores before the fence become visible to other threads before its stores after it. "
        "The fence does not wait for other threads.",
        ("membar", "fence", "mbarrier"),
        ("MEMBAR", "FENCE", "ERRBAR", "CGAERRBAR", "CCTL", "SYNCS"),
        ("buffer_wbl2", "buffer_inv", "buffer_wbinv", "buffer_gl0_inv", "buffer_gl1_inv", "s_dcache"),
        "fence",
        "cuda.threadfence()",
        ("co-visible",),
    ),
    Entry(
        "shuffle-lane",
        "Warp shuffle",
        "A lane reads a register of another lane, without any memory. `down` reads from a lane further up, "
        "`bfly` from the lane across. AMD's `ds_bpermute` uses the hardware of shared memory and no space in it. "
        "[A sum with shuffles](#mw-shuffle).",
        ("shfl",),
        ("SHFL",),
        (
            "ds_bpermute",
            "ds_permute",
            "ds_swizzle",
            "v_permlane",
            "v_readlane",
            "v_readfirstlane",
            "v_writelane",
            "v_mov_b32_dpp",
        ),
        "shuffle",
        "cuda.shfl_down_sync(mask, value, step)",
        ("co-shuffles",),
    ),
    Entry(
        "vote",
        "Vote of the warp",
        "The thread gets one answer from all lanes: which of them have a true predicate (`ballot`), whether all or any have, "
        "which hold the same value (`match`), or the sum or minimum over the lanes (`redux`). On AMD the result of a comparison "
        "is already a bit for each lane.",
        ("vote", "match", "activemask", "redux"),
        ("VOTE", "VOTEU", "MATCH", "REDUX"),
        (),
        "vote",
        "cuda.ballot_sync(mask, x[i] > 0)",
        ("hr-width",),
    ),
    Entry(
        "atomic-add",
        "Atomic operation",
        "The thread reads a number in memory, changes it and writes it back, and no other thread can come between. "
        "`RED`, and AMD's form without a target register, return no old value, so the thread does not wait for it. [Both forms](#mw-atomic).",
        ("atom", "red"),
        ("ATOMG", "ATOM", "RED", "REDG"),
        ("global_atomic", "flat_atomic", "buffer_atomic"),
        "atomic",
        "cuda.atomic.add(counts, k, 1)",
        ("kn-atomics",),
    ),
    Entry(
        "atomic-shared",
        "Atomic operation in shared memory",
        "The same in the block's shared memory.",
        ("atom.shared", "red.shared"),
        ("ATOMS",),
        (
            "ds_add",
            "ds_sub",
            "ds_min",
            "ds_max",
            "ds_and",
            "ds_or",
            "ds_xor",
            "ds_cmpst",
            "ds_cmpstore",
            "ds_inc",
            "ds_dec",
            "ds_wrxchg",
        ),
        "minimum",
        "cuda.atomic.min(part, 0, x[i])",
        ("co-histogram",),
    ),
    Entry(
        "matrix",
        "Matrix product on Tensor Cores",
        "The whole warp multiplies two small matrices and adds a third; each lane holds a few numbers of each in its registers. "
        "AMD's units are called Matrix Cores. [How to read the sizes](#mw-tensor).",
        (
            "wmma.mma",
            "mma",
            "wgmma.mma_async",
            "tcgen05.mma",
            "wgmma.fence",
            "wgmma.commit_group",
            "wgmma.wait_group",
        ),
        (
            "HMMA",
            "IMMA",
            "DMMA",
            "BMMA",
            "QMMA",
            "HGMMA",
            "IGMMA",
            "QGMMA",
            "UTCHMMA",
            "UTCQMMA",
            "WARPGROUP",
        ),
        ("v_mfma", "v_smfmac", "v_wmma", "v_swmmac"),
        "tensor_core",
        taught=("ar-counting",),
    ),
    Entry(
        "matrix-load",
        "Load or store a tile for Tensor Cores",
        "All lanes together load the parts of a matrix, or store the result.",
        ("wmma.load", "wmma.store", "ldmatrix", "stmatrix"),
        ("LDSM", "STSM", "MOVM"),
        (),
        "tensor_core",
        taught=("ar-counting",),
    ),
)

WAITING = (
    Entry(
        "waitcnt",
        "Wait for loads and stores",
        "The wavefront waits until at most `n` accesses are under way: `vmcnt(n)` counts accesses to global memory, `lgkmcnt(n)` accesses to "
        "LDS and loads into scalar registers. On NVIDIA each instruction carries its waits in bits that the listing does not show.",
        (),
        (),
        ("s_waitcnt", "s_wait"),
        "guard",
        taught=("ar-hiding",),
        pick=r"vmcnt",
    ),
    Entry(
        "hint",
        "Wait some cycles, hints to the scheduler",
        "`s_nop` waits some cycles until a result is ready. `s_delay_alu` says how many instructions back an operand was computed, "
        "`s_clause` that the next memory instructions belong together. `NOP` does nothing.",
        ("nanosleep",),
        ("NOP", "NANOSLEEP", "YIELD"),
        (
            "s_nop",
            "s_delay_alu",
            "s_clause",
            "s_sleep",
            "s_setprio",
            "s_code_end",
            "s_sendmsg",
            "s_set_inst_prefetch",
            "s_inst_prefetch",
            "s_set_gpr",
        ),
        "tensor_core",
        taught=("ar-hiding",),
    ),
)

GROUPS = {
    "start": START,
    "memory": MEMORY,
    "control": CONTROL,
    "arithmetic": ARITHMETIC,
    "together": TOGETHER,
    "waiting": WAITING,
}
ENTRIES = tuple(entry for group in GROUPS.values() for entry in group)
