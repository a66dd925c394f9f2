"""The twelve idioms: what is stored of them is whole, every instruction has its sentence, and compilers still agree."""

import importlib
import json
import operator
import os
import re
from pathlib import Path

import pytest

from book.machine_words import (
    EXAMPLES,
    EXAMPLES_FILE,
    IDIOMS,
    KINDS,
    SIDE_BY_SIDE,
    TARGETS,
    page,
    reference,
    sentences,
)
from book.machine_words.entries import ENTRIES, GROUPS
from host_to_device.inspecting import remarks, tools
from host_to_device.inspecting.errors import MissingTool

PAGE = Path(page.__file__).parents[2] / "chapters" / "machine-words.md"
each_idiom = pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)


def listings(idiom):
    """Give name, kind and rows of every stored listing of an idiom."""
    for name in idiom.stored()["listings"]:
        yield name, name.removeprefix("Numba ").split()[0], page.rows_of(idiom, name)


def test_there_are_twelve():
    assert len(IDIOMS) == len({idiom.name for idiom in IDIOMS}) == 12
    assert sum(idiom.python for idiom in IDIOMS) >= 2


@each_idiom
def test_what_is_stored_is_whole(idiom):
    stored = idiom.stored()
    names = {f"{kind} {arch}" for kind, arch in TARGETS}
    names |= {f"Numba PTX {TARGETS[0][1]}"} if idiom.python else set()
    assert set(stored["listings"]) == names
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", stored["date"])
    assert {"NVRTC", "ptxas", "clang"} <= set(stored["compilers"])
    assert {f"{kind} {arch}" for kind, arch in SIDE_BY_SIDE} <= names


@each_idiom
def test_its_key_instruction_is_in_every_listing(idiom):
    for name, kind, rows in listings(idiom):
        assert any(row["key"] for row in rows), name
        assert not all(row["key"] for row in rows), name
        assert rows[-1]["text"] in {"PTX": ("ret",), "SASS": ("EXIT",), "GCN": ("s_endpgm",)}[kind]


@each_idiom
def test_every_instruction_has_a_sentence(idiom):
    for name, _, rows in listings(idiom):
        for row in rows:
            if row["number"] is None:
                assert re.fullmatch(r"\d+ more", row["text"])
            elif row["text"].endswith(":"):
                assert row["said"] is None
            else:
                assert row["said"] and row["said"].endswith("."), (name, row["text"])
                assert not re.search(r"\$\d|None|\bRZ\b", row["said"]), (name, row["text"], row["said"])


@each_idiom
def test_a_sentence_names_the_operands_of_its_instruction(idiom):
    """A rule that mixed up its operands would name registers that are not there, or leave out where the result goes."""
    register = re.compile(
        r"%\w+|\bU?R\d+\b|\bv\[\d+:\d+\]|\bs\[\d+:\d+\]|\b[vs]\d+\b|\bvcc(?:_lo)?\b|\bP\d\b"
    )
    for name, _, rows in listings(idiom):
        for row in rows:
            if not row["said"] or re.search(r"wmma|HMMA|mfma|s_delay|s_clause", row["text"]):
                continue
            there = set(register.findall(row["text"]))
            said = set(register.findall(row["said"]))
            # A value of 64 or 128 bits is named by its first and last register, of which SASS writes the first.
            last = {
                f"{a}R{int(n) + k}" for a, n in re.findall(r"\b(U?)R(\d+)\b", row["text"]) for k in (1, 3)
            }
            assert said <= there | last, (name, row["text"], row["said"])
            target = re.match(r"(?:@!?\S+ )?\S+ (%\w+|U?R\d+|v\[\d+:\d+\]|v\d+)\b", row["text"])
            if target and " = " in row["said"]:
                assert row["said"].split(" = ")[0].endswith(target[1]) or target[1] in row["said"], (
                    name,
                    row,
                )


@each_idiom
def test_lines_of_the_source_exist(idiom):
    for name, kind, rows in listings(idiom):
        text = idiom.source(kind)
        if name.startswith("Numba"):
            text = (page.HERE / "kernels" / f"{idiom.name}.py").read_text(encoding="utf-8")
        lines = text.splitlines()
        found = {row["source"] for row in rows if row["source"]}
        assert found and all(1 <= each <= len(lines) and lines[each - 1].strip() for each in found), name


@each_idiom
def test_every_parameter_is_fetched_somewhere(idiom):
    """What an argument is called follows from where it lies; a wrong place would leave a name out."""
    for name, _, rows in listings(idiom):
        said = " ".join(row["said"] or "" for row in rows)
        missing = [each for each, _ in idiom.parameters if f"`{each}`" not in said]
        assert not missing or idiom.name == "spill", (name, missing)


@pytest.mark.parametrize(
    ("kind", "arch", "text", "said"),
    [
        (
            "PTX",
            "sm_90",
            "setp.ge.s32 %p1, %r1, %r2",
            "%p1 = whether %r1 ≥ %r2: a predicate, one bit a thread.",
        ),
        ("PTX", "sm_90", "add.f32 %f2, %f1, 0f3F000000", "%f2 = %f1 + 0.5."),
        ("PTX", "sm_90", "shl.b32 %r3, %r2, 8", "%r3 = %r2 × 256, as a shift."),
        (
            "SASS",
            "sm_75",
            "ISETP.GE.AND P0, PT, R6, c[0x0][0x178], PT",
            "P0 = whether R6 ≥ the parameter `n`.",
        ),
        ("SASS", "sm_90", "ULDC UR4, c[0x0][0x228]", "UR4 = the parameter `n`, for the whole warp."),
        ("SASS", "sm_100", "LDC.64 R2, c[0x0][0x388]", "R2:R3 = the parameter `b`."),
        ("SASS", "sm_75", "IMAD R6, R6, c[0x0][0x0], R3", "R6 = R6 × blockDim.x + R3."),
        ("SASS", "sm_90", "@P0 EXIT", "Only where P0 holds: the thread is done."),
        ("SASS", "sm_90", "@!P0 EXIT", "Only where P0 does not hold: the thread is done."),
        (
            "SASS",
            "sm_80",
            "HFMA2.MMA R7, -RZ, RZ, 0, 2.384185791015625e-07",
            "R7 = 4: read as two float16 numbers",
        ),
        ("SASS", "sm_90", "IADD3 R4, -R9, 0xff, RZ", "R4 = 255 − R9."),
        ("SASS", "sm_90", "IADD3 R1, R1, -0x220, RZ", "R1 = R1 − 544."),
        (
            "SASS",
            "sm_90",
            "LDG.E R3, desc[UR4][R2.64+0x10]",
            "Load 4 bytes from global memory, at R2 + 16, into R3.",
        ),
        ("GCN", "gfx942", "s_load_dwordx4 s[4:7], s[0:1], 0x0", "s[4:7] = the parameters `a` and `b`."),
        ("GCN", "gfx942", "s_load_dword s4, s[0:1], 0x18", "s4 = the parameter `n`."),
        ("GCN", "gfx942", "s_load_dword s3, s[0:1], 0x2c", "s3 = the block's size: blockDim.x in the lower"),
        ("GCN", "gfx942", "v_lshlrev_b64 v[0:1], 2, v[0:1]", "v[0:1] = v[0:1] × 4, as a shift."),
        ("GCN", "gfx90a", "v_addc_co_u32_e32 v3, vcc, v4, v3, vcc", "v3 = v4 + v3 + the carry in vcc."),
        ("GCN", "gfx90a", "v_addc_co_u32_e32 v2, vcc, 0, v2, vcc", "v2 = v2 + 1 in the lanes of vcc."),
        ("GCN", "gfx942", "s_waitcnt vmcnt(2)", "Wait until at most 2 accesses to memory are under way."),
        ("GCN", "gfx1100", "s_clause 0x1", "The next 2 memory instructions belong together"),
    ],
)
def test_sentences_say_what_the_instruction_does(kind, arch, text, said):
    guard = next(idiom for idiom in IDIOMS if idiom.name == "guard")
    assert (sentences.sentence(text, sentences.Place(guard, kind, arch)) or "").startswith(said)


def test_what_no_rule_knows_has_no_sentence():
    place = sentences.Place(IDIOMS[0], "SASS", "sm_90")
    assert sentences.sentence("FROBNICATE R1, R2", place) is None
    assert sentences.sentence("@P0 FROBNICATE R1, R2", place) is None
    assert sentences.sentence(".L_x_0:", place) is None


def test_the_page_shows_every_idiom():
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^```\{machine-words\} (\w+)$", text, re.M)
    assert shown == [idiom.name for idiom in IDIOMS]
    assert "```{machine-words-explorer}" in text


def all_stored():
    """Give kind and text of every instruction of every stored listing, idioms and examples."""
    for idiom in IDIOMS:
        for _, kind, rows in listings(idiom):
            yield from ((kind, row["text"]) for row in rows if row["number"] is not None)
    for kernel in json.loads(EXAMPLES_FILE.read_text(encoding="utf-8"))["kernels"].values():
        for name, rows in kernel.items():
            yield from ((name.split()[0], text) for _, _, text in rows)


def test_every_stored_instruction_has_an_entry():
    found = {(kind, text) for kind, text in all_stored() if not text.endswith(":")}
    assert len(found) > 1000
    assert not sorted(each for each in found if reference.entry_of(*each) is None)


# Lines for the rules that no stored listing reaches.
RARE = {
    "PTX": ("mov.u32 %r1, %laneid", "wgmma.fence.sync.aligned", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
    "SASS": (),
    "GCN": (
        "v_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6",
        "s_mov_b64 exec, s[0:1]",
        "v_dot2_f32_f16 v1, v2, v3, v4",
        "v_accvgpr_read_b32 v1, a1",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_remark_of_h2d_show_leads_to_an_entry(kind):
    """A row of h2d.show is the work of a rule; an instruction that the rule explains is on the page."""
    lines = {text for each, text in all_stored() if each == kind} | set(RARE[kind])
    words = {word for entry in ENTRIES for word in entry.words(kind)}
    lines |= {f"{word}{ending}" for word in words for ending in ("", " a, b, c, d", ".f32 a, b")}
    rules = remarks.COMPILED[kind.lower()]
    reached = set()
    for line in lines:
        if reference.entry_of(kind, line):
            reached |= {next((number for number, rule in enumerate(rules) if rule[0].match(line)), None)}
    assert not [rule[0].pattern for number, rule in enumerate(rules) if number not in reached]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_is_whole(entry):
    assert entry.says.endswith(".") and not entry.title.endswith(".")
    assert any(entry.words(kind) for kind in KINDS)
    if not entry.example:
        assert entry.name in ("generic", "trap")  # no small kernel makes the compiler emit these
        return
    lines = [line for kind in KINDS if (line := reference.shown(entry, kind))]
    assert lines
    text = reference.source_of(entry.example)
    assert entry.source in text
    for line in lines:
        assert not line.source or text.splitlines()[line.source - 1].strip()


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("load", "SASS", "load: 4 bytes from global memory"),
        ("load-readonly", "PTX", "load: float32 from global memory, through the read-only cache"),
        ("guard-branch", "PTX", "guard: threads with p1 skip ahead to L__BB0_2"),
        ("guard-branch", "SASS", "guard: threads with P0 are done"),
        ("loop", "GCN", "back to LBB0_2: the next round of the loop"),
        ("parameter", "PTX", "argument a"),
        ("reconverge", "SASS", "threads that took different branches meet again"),
        ("copy-async", "SASS", "copies global to shared, the thread goes on"),
        ("copy-wait", "SASS", "closes a group of asynchronous copies"),
        ("waitcnt", "GCN", "waits for loads from global memory"),
    ],
)
def test_an_entry_shows_the_remark_of_h2d_show(name, kind, says):
    entry = next(each for each in ENTRIES if each.name == name)
    assert reference.shown(entry, kind).remark == says


def test_no_word_is_in_two_entries():
    for kind in KINDS:
        words = [word for entry in ENTRIES for word in entry.words(kind)]
        assert len(words) == len(set(words)), kind


def test_python_forms_are_numbas():
    """What an entry gives as Python is in numba.cuda by that name."""
    cuda = importlib.import_module("numba.cuda")
    for entry in ENTRIES:
        for path in re.findall(r"\bcuda\.([a-zA-Z_.]+)", entry.python):
            assert operator.attrgetter(path)(cuda) is not None, (entry.name, path)


def test_entries_that_the_page_shows_are_all():
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^```\{machine-words-entries\} (\w+)$", text, re.M) == list(GROUPS)
    assert text.index("```{machine-words-search}") < text.index("```{machine-words-entries}")
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    old = [
        "index",
        "guard",
        "strided",
        "fma",
        "unrolled",
        "tile",
        "padding",
        "shuffle",
        "atomic",
        "spill",
        "literal",
        "tensor",
    ]
    assert all(f"(mw-{name})=" in text for name in old)  # links from elsewhere
    assert not {entry.name for entry in ENTRIES} & set(re.findall(r"^\(mw-(\S+)\)=$", text, re.M))


@each_idiom
def test_the_lines_that_matter_are_few_and_marked(idiom):
    for name in (f"{kind} {arch}" for kind, arch in SIDE_BY_SIDE):
        rows = page.rows_of(idiom, name)
        beside = idiom.beside.get(name.split()[0])
        shown = page.matter(rows, beside)
        assert 1 <= len(shown) <= 6 and any(row["key"] for row in shown), name
        assert not beside or any(not row["key"] for row in shown), name


def test_the_explorer_has_everything():
    data = page.data()
    assert set(data) == {idiom.name for idiom in IDIOMS}
    for idiom in IDIOMS:
        assert set(data[idiom.name]["listings"]) == set(idiom.stored()["listings"])
        assert data[idiom.name]["sources"]["cu"] == idiom.source("SASS")


@pytest.fixture(scope="module")
def compilers():
    """Everything that the command needs is installed; in CI it has to be."""
    try:
        for tool in (tools.nvrtc, tools.zig, tools.numba_cuda):
            tool()
        for name in ("ptxas", "nvdisasm"):
            tools.program(name)
    except MissingTool as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    "idiom",
    [
        idiom if idiom.name in ("guard", "literal") else pytest.param(idiom, marks=pytest.mark.slow)
        for idiom in IDIOMS
    ],
    ids=lambda idiom: idiom.name,
)
def test_the_compilers_still_say_what_is_stored(idiom, compilers):
    from book.machine_words.__main__ import compile_idiom, differences

    made = compile_idiom(idiom)
    if made["compilers"] != idiom.stored()["compilers"]:
        pytest.skip(
            f"stored by other compilers than {made['compilers']}: python -m book.machine_words stores it anew"
        )
    assert differences(idiom, made) == []


@pytest.mark.parametrize(
    "example",
    [
        each if each.name in ("readonly", "loop") else pytest.param(each, marks=pytest.mark.slow)
        for each in EXAMPLES
    ],
    ids=lambda example: example.name,
)
def test_the_compilers_still_say_what_is_stored_of_an_example(example, compilers):
    from book.machine_words.__main__ import compile_example

    stored = json.loads(EXAMPLES_FILE.read_text(encoding="utf-8"))
    made, versions = compile_example(example)
    if not versions.items() <= stored["compilers"].items():
        pytest.skip(f"stored by other compilers than {versions}: python -m book.machine_words stores it anew")
    assert made == stored["kernels"][example.name]


def test_every_example_serves_an_entry():
    assert {each.name for each in EXAMPLES} <= {entry.example for entry in ENTRIES}
