"""What a person looks for in a listing is shown, named, and below the right line of the source."""

import inspect
import re

import pytest

import host_to_device as h2d
from tests.corpora.listings import SOURCES, numba_kernels, told, wanted

pytestmark = pytest.mark.usefixtures("compilers")

NVIDIA, AMD = ("sm_75", "sm_80", "sm_90", "sm_100"), ("gfx90a", "gfx942", "gfx1100")


def shown_below(listing):
    """Return the shown instructions, each with its kind and the number of the line that it stands below."""
    found, line = [], None
    for row in listing.rows:
        if row.sort == "source":
            line = row.number
        elif row.sort == "instruction":
            found.append((line, row.kind, re.sub(r"^@!?%?\w+ ", "", row.text)))
    return found


def missing(listing, expected):
    shown = shown_below(listing)
    return [
        each
        for each in expected
        if not any(
            (line, kind) == (each.line, each.kind) and text.startswith(each.begins)
            for line, kind, text in shown
        )
    ]


def cases():
    for name, text in SOURCES.items():
        for what, archs in (("ptx", ("sm_90",)), ("sass", NVIDIA), ("gcn", AMD)):
            some = [arch for arch in archs if not (told(text, "arch") and arch in ("sm_75", "gfx1100"))]
            for arch in some:
                if wanted(text, what, arch=arch):
                    often = arch in ("sm_90", "gfx942")
                    yield pytest.param(name, what, arch, marks=() if often else pytest.mark.slow)


@pytest.mark.parametrize(("name", "what", "arch"), list(cases()))
def test_a_source(name, what, arch, tmp_path):
    text = SOURCES[name]
    options = told(text, "options")
    if options:
        kernel = type("RawKernel", (), {"code": text, "name": "many", "options": (options,)})()
    else:
        kernel = tmp_path / name
        kernel.write_text(text, encoding="utf-8")
    listing = h2d.show(kernel, what, arch, entry=told(text, "entry"))
    assert not missing(listing, wanted(text, what, arch=arch)), str(listing)
    assert listing.arch == arch and listing.stamp.startswith(f"compiled for {arch} by ")
    assert listing.stamp.endswith(", not run")
    if what == "ptx" or (what == "gcn" and "part" not in name):
        part = told(text, "part")
        assert listing.part.startswith(part.split(" to ")[0]) or what == "gcn", str(listing)


@pytest.mark.parametrize("what", ["ptx", "sass"])
@pytest.mark.parametrize(
    ("kernel", "args", "part"),
    [  # Numba takes a second and a half to compile one
        pytest.param(*each, marks=[pytest.mark.slow] * (place % 2))
        for place, each in enumerate(numba_kernels.KERNELS)
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_numba_kernel(kernel, args, part, what):
    listing = h2d.show(kernel, what, args=args)
    lines, first = inspect.getsourcelines(kernel.py_func)
    expected = wanted("".join(lines), what, first)
    if kernel is numba_kernels.blurred:
        lines, first = inspect.getsourcelines(numba_kernels.smooth.py_func)
        expected += wanted("".join(lines), what, first)
    assert expected and not missing(listing, expected), str(listing)
    assert listing.part.startswith(part) or what == "sass"
    assert listing.kernel == kernel.__name__


@pytest.mark.parametrize("name", sorted(SOURCES))
@pytest.mark.parametrize("what", ["ptx", "sass", "gcn"])
def test_listings_are_short_and_narrow(name, what, tmp_path):
    text = SOURCES[name]
    if not wanted(text, what):
        pytest.skip(f"no {what} for it")
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    listing = h2d.show(path, what, None, entry=told(text, "entry"))
    lines = str(listing).splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 60
    whole = h2d.show(path, what, None, entry=told(text, "entry"), whole=True)
    shown = [row for row in whole.rows if row.sort == "instruction"]
    assert len(shown) == len(whole.instructions) == len(listing.instructions)
    assert not any(row.sort == "fold" for row in whole.rows)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_every_instruction_is_read_and_has_a_remark(name, tmp_path):
    """None of the compiler's lines is lost, and few are left without a word: copies of registers."""
    text = SOURCES[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    for what, arch in [("ptx", "sm_90"), ("sass", "sm_90"), ("gcn", "gfx942")]:
        if not wanted(text, what):
            continue
        listing = h2d.show(path, what, arch, entry=told(text, "entry"), whole=True)
        silent = {
            each.op for each, said in zip(listing.instructions, listing.remarks, strict=True) if not said.text
        }
        assert not {op for op in silent if not re.match(r"mov", op)}, (what, arch, silent)


def test_no_line_of_sass_is_lost():
    listing = h2d.show(SOURCES["matmul_tiled.cu"], "sass")
    numbered = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", listing.text, re.M)
    unread = len(numbered) - len(listing.instructions)
    padding = [each for each in numbered if each.strip().startswith(("NOP", "BRA"))]
    assert 0 <= unread <= len(padding)


def test_the_whole_of_a_kernel_has_each_instruction_below_its_own_line():
    text = SOURCES["vector_add.cu"]
    listing = h2d.show(text, whole=True)
    index = next(number for number, line in enumerate(text.splitlines(), 1) if "int i =" in line)
    assert (index, "special", "mov.u32 %r5, %tid.x") in shown_below(listing)
    assert (index, "index", "mad.lo.s32 %r1, %r3, %r4, %r5") in shown_below(listing)
    assert len([row for row in listing.rows if row.sort == "instruction"]) == len(listing.instructions)


def test_lines_of_the_source_can_be_left_out():
    listing = h2d.show(SOURCES["vector_add.cu"], lines=False)
    assert not any(row.sort == "source" for row in listing.rows)


def test_the_page_of_a_listing_says_the_same():
    listing = h2d.show(SOURCES["vector_add.cu"])
    page = listing._repr_html_()
    for row in listing.rows:
        words = re.sub(r"<wbr>", "", page)
        assert row.text.replace("<", "&lt;").replace(">", "&gt;") in words
    assert listing.stamp in page and "role='group'" in page and "<script" not in page
