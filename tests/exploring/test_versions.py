"""The compatibility explorer: it says what `h2d.runs_on` says, marks the layer that decides, and draws it legibly."""

import re
from xml.etree import ElementTree

import pytest

import host_to_device as h2d
from host_to_device.diagnosing import matrix
from host_to_device.diagnosing.compatibility import NEW_PTX, NO_DEVICE, NO_IMAGE, OLD_DRIVER
from host_to_device.exploring.versions import (
    CARDS,
    DRIVER,
    NO,
    NUMBERS,
    UNUSED,
    WHEEL,
    WHEELS,
    WIDTH,
    YES,
    CompatibilityPicture,
)
from host_to_device.hardware import gpus

# driver, wheel, GPU | kind, message | layer that decides | marks of: built for, GPU, PTX
CASES = [
    (("12.8", "torch 2.6.0", "A10"), ("runs", ""), WHEEL, (YES, YES, UNUSED)),
    (("12.8", "torch 2.6.0", "B200"), ("fails", NO_IMAGE), WHEEL, (YES, YES, UNUSED)),
    (("11.8", "torch 2.6.0", "A10"), ("fails", OLD_DRIVER), DRIVER, (NO, UNUSED, UNUSED)),
    (("12.6", "torch 2.6.0", "B200"), ("fails", NO_DEVICE), DRIVER, (YES, NO, UNUSED)),
    (("13.1", "torch 2.6.0", "V100 SXM2"), ("fails", NO_DEVICE), DRIVER, (YES, NO, UNUSED)),
    (("12.4", "tensorflow 2.20.0", "H100 SXM"), ("fails", NEW_PTX), DRIVER, (YES, YES, NO)),
    (("12.5", "tensorflow 2.20.0", "H100 SXM"), ("compiles", ""), DRIVER, (YES, YES, YES)),
    (("12.8", "numba-cuda[cu12] 0.30.4", "T4"), ("compiles", ""), WHEEL, (YES, YES, UNUSED)),
    (("13.0", "numba-cuda[cu13] 0.30.4", "V100 SXM2"), ("not known", ""), "", (YES, YES, UNUSED)),
    (("10.2", "torch 1.13.1", "T4"), ("fails", OLD_DRIVER), DRIVER, (NO, UNUSED, UNUSED)),
]


def pictures():
    """Give a picture of each wheel and GPU, with drivers of each major release."""
    for wheel in WHEELS:
        for card in CARDS:
            for driver in ("9.0", "10.2", "11.8", "12.0", "12.6", "12.8", "13.0", "13.3"):
                yield CompatibilityPicture(driver, wheel, card)


@pytest.mark.parametrize("case", CASES, ids=[" ".join(case[0]) for case in CASES])
def test_the_layer_that_decides_is_marked(case):
    given, (kind, message), layer, marks = case
    picture = CompatibilityPicture(*given)
    assert (picture.outcome.kind, picture.outcome.message, picture.decides) == (kind, message, layer)
    assert tuple(mark for mark, _ in picture.accepted()) == marks
    drawn = picture.svg()
    assert drawn.count('stroke-width="4"') == drawn.count(">decides<") == (1 if layer else 0)
    assert picture.warns == (kind == "fails")


def test_it_says_what_the_library_decides():
    for picture in pictures():
        outcome = h2d.runs_on(picture.built, picture.driver, picture.capability)
        assert picture.outcome == outcome
        assert outcome.why in picture.summary() and outcome.message.rstrip(".") in picture.summary()
        assert picture.summary() in picture.alt() and picture.card in picture.alt()


def test_the_cards_are_those_of_the_table_of_hardware():
    assert NUMBERS.keys() == CARDS.keys() == {each.name for each in gpus.GPUS if each.vendor == "NVIDIA"}
    assert (CARDS["T4"], CARDS["B200"], CARDS["RTX PRO 6000 Blackwell"]) == ("7.5", "10.0", "12.0")
    for name, capability in CARDS.items():
        assert matrix.drivers_of(capability), "the tables do not have its drivers"
        if matrix.capability_of(name):
            assert matrix.capability_of(name) == capability


def test_used_code_is_filled_and_the_rest_is_not():
    drawn = CompatibilityPicture("12.8", "torch 2.6.0", "A10").svg()
    bold = re.findall(r'font-weight="700"[^>]*>(\d+\.\d\w?)<', drawn)
    assert bold == ["8.0", "8.6"]
    plain = re.findall(r">(\d+\.\d)<", drawn)
    assert set(plain) - set(bold) == {"5.0", "6.0", "7.0", "7.5", "9.0"}


def test_nothing_leaves_its_box():
    """A letter is 7.1 wide at most on average; texts in bold and the chips count their own width."""
    for picture in pictures():
        root = ElementTree.fromstring(picture.svg())
        *_, height = map(float, root.get("viewBox").split())
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            x, y = float(text.get("x")), float(text.get("y"))
            wide = 7.1 * len(text.text)
            end = {"start": x + wide, "middle": x + wide / 2, "end": x}[text.get("text-anchor")]
            assert end <= WIDTH and y < height, text.text
        for box in root.iter("{http://www.w3.org/2000/svg}rect"):
            assert float(box.get("x")) + float(box.get("width")) <= WIDTH
            assert float(box.get("y")) + float(box.get("height")) <= height


def test_the_folded_table_has_every_gpu():
    picture = CompatibilityPicture("12.6", "torch 2.6.0", "A10")
    rows = {row[0]: row for row in picture.table().rows}
    assert rows.keys() == CARDS.keys()
    assert rows["T4"][1:3] == ("runs", "7.5") and rows["B200"][1:] == ("fails", "10.0", NO_DEVICE)
    assert picture.folded in picture.html() and "These numbers" not in picture.html()


@pytest.mark.parametrize(
    ("given", "name"),
    [({"driver": 12.8}, "driver"), ({"driver": "14.0"}, "driver"), ({"wheel": "torch"}, "wheel"),
     ({"wheel": "torch==2.6.0"}, "wheel"), ({"card": "8.6"}, "card"), ({"card": None}, "card")],
)  # fmt: skip
def test_what_it_does_not_have_is_refused_with_what_it_has(given, name):
    with pytest.raises(ValueError, match=rf"{name} is .*: give one of '"):
        h2d.explore_compatibility(**given)


def test_moving_redraws_the_picture():
    explorer = h2d.explore_compatibility()
    driver, wheel, card, view = explorer.widget().children
    assert NO_IMAGE in view.value
    wheel.value = "torch 2.15.0"
    assert explorer.picture.outcome.message == OLD_DRIVER and OLD_DRIVER in view.value
    driver.value = "13.2"
    assert explorer.picture.outcome.kind == "runs" and OLD_DRIVER not in view.value
    card.value = "V100 SXM2"
    assert NO_DEVICE in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_compatibility()._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and NO_IMAGE in bundle["text/plain"]
