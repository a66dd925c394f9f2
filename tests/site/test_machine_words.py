"""The search field and the explorer of "Reading the machine's words", in a real browser: with the keyboard, and without
JavaScript."""

import json

import pytest

from book.machine_words import EXAMPLES_FILE, IDIOMS, KINDS, reference
from book.machine_words.entries import ENTRIES

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "chapters/machine-words.html"


def test_a_kernel_and_two_architectures_can_be_picked(open_tab, url):
    page = open_tab(url + PAGE)
    box = page.locator(".h2d-words-explorer")
    assert box.locator("form").is_visible()
    box.locator("select[name=kernel]").select_option("spill")
    box.locator("select[name=right]").select_option("GCN gfx90a")
    right = box.locator("[data-side=right]")
    right.get_by_text("buffer_store_dword").first.wait_for()
    assert "GCN, gfx90a" in right.inner_text()
    assert "Spill " in right.inner_text()
    assert "AT_LEAST" in box.locator("pre").inner_text()  # AMD's own source, beside the other
    assert "ld.param" in box.locator("[data-side=left]").inner_text()


def test_what_a_kernel_does_not_have_is_not_offered(open_tab, url):
    page = open_tab(url + PAGE)
    box = page.locator(".h2d-words-explorer")
    box.locator("select[name=kernel]").select_option("index")
    box.get_by_text("out[i] = i").wait_for()
    names = box.locator("select[name=left]").locator("option").all_inner_texts()
    assert "Numba PTX, sm_90" in names
    box.locator("select[name=left]").select_option("Numba PTX sm_90")
    box.get_by_text("cuda.grid(1)").wait_for()
    box.locator("select[name=kernel]").select_option("fma")
    box.get_by_text("float a").wait_for()
    assert "Numba PTX, sm_90" not in box.locator("select[name=left]").locator("option").all_inner_texts()
    assert box.locator("select[name=left]").input_value() == "PTX sm_90"


def test_it_works_with_the_keyboard(open_tab, url):
    page = open_tab(url + PAGE)
    page.locator(".h2d-words-explorer select[name=kernel]").focus()
    page.keyboard.type("Multiply")
    page.locator(".h2d-words-explorer [data-side=left]").get_by_text("fma.rn.f32").first.wait_for()


def test_without_javascript_the_first_pair_is_there(open_tab, url):
    page = open_tab(url + PAGE, scripts=False)
    box = page.locator(".h2d-words-explorer")
    assert not box.locator("form").is_visible()
    assert "setp.ge.s32" in box.inner_text()
    assert "Other kernels and architectures can be picked where JavaScript is allowed." in box.inner_text()


SHOWN = "[...document.querySelectorAll('.h2d-mw-entry:not([hidden])')].map((entry) => entry.id)"
# The same for each of many texts, put into the field as the browser does when somebody types.
SHOWN_FOR = f"""(texts) => texts.map((text) => {{
    const field = document.getElementById("h2d-mw-find");
    field.value = text;
    field.dispatchEvent(new Event("input", {{bubbles: true}}));
    return {SHOWN};
}})"""


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("ld.global.nc", "load-readonly"),
        ("@%p1 bra", "guard-branch"),
        ("BAR.SYNC", "barrier"),
        ("bar.sync 0;", "barrier"),
        ("s_waitcnt", "waitcnt"),
        ("LDG.E R3, desc[UR4][R2.64]", "load"),
        ("v_fmac_f32_e32 v5, s0, v4", "fused"),
        ("load: float32 from global memory, through the read-only cache", "load-readonly"),
        ("guard: threads with p7 skip ahead to L__BB0_9", "guard-branch"),
        ("hgmma.64x8", "matrix"),
    ],
)
def test_an_instruction_or_a_remark_is_found(opened, typed, first):
    opened.locator("#h2d-mw-find").fill(typed)
    assert opened.evaluate(SHOWN)[0] == f"mw-{first}"


def test_every_instruction_of_the_listings_is_found(opened):
    """What the page's script shows for an instruction has the entry that Python finds for it."""
    lines = {}
    for idiom in IDIOMS:
        for name, rows in idiom.stored()["listings"].items():
            for number, _, text in rows:
                if number is not None and not text.endswith(":"):
                    kind = name.removeprefix("Numba ").split()[0]
                    lines.setdefault((kind, text.split(",")[0].rpartition(" ")[0]), (kind, text))
    for kernel in json.loads(EXAMPLES_FILE.read_text(encoding="utf-8"))["kernels"].values():
        for name, rows in kernel.items():
            for _, _, text in rows:
                if not text.endswith(":"):
                    kind = name.split()[0]
                    lines.setdefault((kind, text.split(",")[0].rpartition(" ")[0]), (kind, text))
    assert len(lines) > 150 and {kind for kind, _ in lines} == set(KINDS)
    opened.locator("#h2d-mw-find").fill("load")
    assert opened.evaluate(SHOWN) == opened.evaluate(SHOWN_FOR, ["load"])[0], "not what typing shows"
    shown = opened.evaluate(SHOWN_FOR, [text for _, text in lines.values()])
    lost = [
        (kind, text)
        for (kind, text), entries in zip(lines.values(), shown, strict=True)
        if f"mw-{reference.entry_of(kind, text).name}" not in entries
    ]
    assert not lost


def test_the_field_stays_where_it_is_and_says_how_many(opened):
    field = opened.locator("#h2d-mw-find")
    field.fill("")
    field.scroll_into_view_if_needed()
    top = field.bounding_box()["y"]
    status = opened.locator("#h2d-mw-count")
    assert status.get_attribute("role") == "status"
    for typed, said in (
        ("s_waitcnt", f"1 of {len(ENTRIES)} entries"),
        (
            "frobnicate",
            "No entry has “frobnicate”. Type the instruction alone, such as LDG, or clear the field.",
        ),
    ):
        field.fill(typed)
        assert field.bounding_box()["y"] == top
        assert status.inner_text() == said
    field.press("Escape")
    assert field.input_value() == "" and len(opened.evaluate(SHOWN)) == len(ENTRIES)
    assert field.bounding_box()["y"] == top


def test_enter_goes_to_the_first_entry_and_a_link_shows_all_again(opened):
    field = opened.locator("#h2d-mw-find")
    field.fill("SHFL")
    field.press("Enter")
    assert opened.evaluate("document.activeElement.parentElement.id") == "mw-shuffle-lane"
    opened.evaluate("location.hash = '#mw-load'")
    opened.locator("#mw-load").wait_for()
    assert len(opened.evaluate(SHOWN)) == len(ENTRIES)


def test_without_javascript_every_entry_is_there_and_no_field(open_tab, url):
    page = open_tab(url + PAGE, scripts=False)
    assert not page.locator(".h2d-mw-search").is_visible()
    assert page.locator(".h2d-mw-entry").count() == len(ENTRIES)
    assert page.locator("#mw-waitcnt").is_visible()


def test_the_sites_search_finds_an_instruction(open_tab, url):
    page = open_tab(f"{url}search.html?q=s_waitcnt")
    page.locator("#search-results a[href*='machine-words']").first.wait_for()
