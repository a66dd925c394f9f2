"""The kernels of the page "Reading the machine's words", and the listings that compilers make of them.

Twelve idioms of GPU code are in `kernels/`, and examples of single instructions in `kernels/examples/`, in CUDA C++ that is
valid HIP too; a kernel that needs different code for AMD has a second file. `python -m book.machine_words` compiles them and
stores the listings in `stored/`. The page shows lines of these: `entries` has its instructions, `reference` finds the lines,
and `sentences` has a sentence for each line of an idiom. Building the book needs no compiler.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent

# The architectures that the page shows side by side, and all that the explorer offers.
PTX = "sm_90"
SASS = ("sm_75", "sm_80", "sm_90", "sm_100")
GCN = ("gfx90a", "gfx942", "gfx1100")
SIDE_BY_SIDE = (("PTX", PTX), ("SASS", "sm_90"), ("GCN", "gfx942"))
KINDS = tuple(kind for kind, _ in SIDE_BY_SIDE)
TARGETS = (("PTX", PTX), *(("SASS", arch) for arch in SASS), *(("GCN", arch) for arch in GCN))


@dataclass(frozen=True)
class Idiom:
    """One kernel, and the instructions to look for in its listings.

    Attributes
    ----------
    name
        Its file in `kernels/`, without the ending.
    title
        Its subject.
    parameters
        Name and size in bytes of each of the kernel's parameters.
    threads
        Dimensions of its blocks: 1 or 2.
    key
        Its characteristic instructions, as a regular expression for each of PTX, SASS and GCN.
    python
        Whether there is a Numba kernel too, whose PTX is shown beside.
    beside
        Lines that the page shows beside the characteristic ones, as a regular expression by language.
    """

    name: str
    title: str
    parameters: tuple[tuple[str, int], ...]
    key: dict[str, str]
    threads: int = 1
    python: bool = False
    beside: dict[str, str] = field(default_factory=dict)

    def source(self, kind: str) -> str:
        """Return the kernel's source for "PTX", "SASS" or "GCN"."""
        own = HERE / "kernels" / f"{self.name}.hip"
        path = own if kind == "GCN" and own.exists() else HERE / "kernels" / f"{self.name}.cu"
        return path.read_text(encoding="utf-8")

    @property
    def path(self) -> Path:
        """The file that stores its listings."""
        return HERE / "stored" / f"{self.name}.json"

    def stored(self) -> dict:
        """Return the stored data: date, versions of the compilers, listings and resources by "PTX sm_90" and the like."""
        return json.loads(self.path.read_text(encoding="utf-8"))


def _pointers(*names: str) -> tuple[tuple[str, int], ...]:
    return tuple((name, 8) for name in names)


IDIOMS = (
    Idiom(
        "index",
        "Which element is mine",
        _pointers("out"),
        {
            "PTX": r"mad\.lo\.s32|mul\.wide\.s32 %rd\d+, %r\d+, %r\d+",
            "SASS": r"IMAD R\d+, R\d+, U?R\d+, R\d+|IMAD R\d+, R\d+, c\[",
            "GCN": r"s_mul_i32|v_mad_u64",
        },
        python=True,
    ),
    Idiom(
        "guard",
        "A guard",
        (*_pointers("a", "b", "c"), ("n", 4)),
        {"PTX": r"setp\.|@%p\d+ bra", "SASS": r"ISETP|@P\d+ EXIT", "GCN": r"v_cmp|saveexec|s_cbranch_execz"},
    ),
    Idiom(
        "strided",
        "Neighbours and strides",
        _pointers("x", "near", "far"),
        {"PTX": r"ld\.global", "SASS": r"LDG", "GCN": r"global_load"},
        beside={
            "PTX": r"mul\.wide\.s32 %rd\d+, %r4, \d+",
            "SASS": r"IMAD\.WIDE R(2|6), R11, .*",
            "GCN": r"v_lshlrev_b\d+\S* \S+ \d, v.*",
        },
    ),
    Idiom(
        "fma",
        "Multiply and add in one",
        (("a", 4), *_pointers("x", "y")),
        {"PTX": r"fma\.rn\.f32", "SASS": r"FFMA", "GCN": r"v_fmac?_f32"},
    ),
    Idiom(
        "unrolled",
        "A loop that is gone",
        _pointers("x", "out"),
        {"PTX": r"ld\.global|add\.f32", "SASS": r"LDG|FADD", "GCN": r"global_load|v_add_f32"},
    ),
    Idiom(
        "tile",
        "A tile in shared memory",
        _pointers("x", "out"),
        {
            "PTX": r"(st|ld)\.shared|bar\.sync",
            "SASS": r"STS|LDS|BAR\.SYNC",
            "GCN": r"ds_(write|read|store|load)|s_barrier",
        },
    ),
    Idiom(
        "padding",
        "One column more",
        _pointers("x", "out"),
        {
            "PTX": r"mul\.wide\.s32 .*, 132",
            "SASS": r"IMAD .*, 0x84,",
            "GCN": r"v_mul_u32_u24.*0x84|v_mad.*0x84",
        },
        threads=2,
    ),
    Idiom(
        "shuffle",
        "A sum within a warp",
        _pointers("x", "out"),
        {"PTX": r"shfl\.sync\.down", "SASS": r"SHFL\.DOWN", "GCN": r"ds_bpermute"},
    ),
    Idiom(
        "atomic",
        "Counting without losing count",
        _pointers("bins", "counts", "next", "places"),
        {"PTX": r"(atom|red)\.global\.add", "SASS": r"RED|ATOMG", "GCN": r"global_atomic_add"},
    ),
    Idiom(
        "spill",
        "Too few registers",
        _pointers("x", "out"),
        {"PTX": r"fma\.rn\.f32", "SASS": r"STL|LDL", "GCN": r"scratch_|buffer_(load|store)_dword v\d+, off"},
    ),
    Idiom(
        "literal",
        "Float64 by accident",
        _pointers("x", "out"),
        {"PTX": r"cvt\.\S*f64|mul\.f64", "SASS": r"F2F|DMUL", "GCN": r"v_cvt_f(32|64)_f|v_mul_f64"},
        python=True,
    ),
    Idiom(
        "tensor_core",
        "A matrix in one instruction",
        _pointers("a", "b", "c"),
        {"PTX": r"wmma\.mma", "SASS": r"HMMA", "GCN": r"v_mfma|v_wmma"},
    ),
)


@dataclass(frozen=True)
class Example:
    """A kernel that shows an instruction that no idiom has.

    Attributes
    ----------
    name
        Its file in `kernels/examples/`, without the ending.
    kinds
        The languages that it is compiled to.
    """

    name: str
    kinds: tuple[str, ...] = KINDS

    def source(self, kind: str) -> str:
        """Return the kernel's source for "PTX", "SASS" or "GCN"."""
        folder = HERE / "kernels" / "examples"
        own = folder / f"{self.name}.hip"
        path = own if kind == "GCN" and own.exists() else folder / f"{self.name}.cu"
        return path.read_text(encoding="utf-8")


EXAMPLES_FILE = HERE / "stored" / "examples.json"
EXAMPLES = (
    *map(
        Example,
        (
            *(
                "branches",
                "choose",
                "divide",
                "fence",
                "float64",
                "function",
                "half2",
                "local",
                "loop",
            ),
            *("maximum", "minimum", "predicate", "readonly", "vector", "vote", "warp_barrier"),
        ),
    ),
    Example("async", ("PTX", "SASS")),  # AMD's compiler has no header of these functions
)
