"""The explorer of "Reading the machine's words", in a real browser: with the keyboard, and without JavaScript."""

import pytest

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "chapters/machine-words.html"


def opened(chromium, url, **how):
    page = chromium.new_context(**how).new_page()
    page.goto(url + PAGE)
    return page


def test_a_kernel_and_two_architectures_can_be_picked(chromium, url):
    page = opened(chromium, url)
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


def test_what_a_kernel_does_not_have_is_not_offered(chromium, url):
    page = opened(chromium, url)
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


def test_it_works_with_the_keyboard(chromium, url):
    page = opened(chromium, url)
    page.locator(".h2d-words-explorer select[name=kernel]").focus()
    page.keyboard.type("Multiply")
    page.locator(".h2d-words-explorer [data-side=left]").get_by_text("fma.rn.f32").first.wait_for()


def test_without_javascript_the_first_pair_is_there(chromium, url):
    page = opened(chromium, url, java_script_enabled=False)
    box = page.locator(".h2d-words-explorer")
    assert not box.locator("form").is_visible()
    assert "setp.ge.s32" in box.inner_text()
    assert "Other kernels and architectures can be picked where JavaScript is allowed." in box.inner_text()
