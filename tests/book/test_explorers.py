"""Explorers in a page: a picture for every choice, and the first of them is what the page shows without a script."""

import math

import pytest

from book.explorers import EXPLORERS


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_choice_of_the_menus_has_a_picture_of_its_own(name):
    of = EXPLORERS[name]
    data = of.data()
    assert len(data) == math.prod(map(len, of.menus.values()))
    assert len({said for _, said, _, _ in data.values()}) > len(data) // 2
    for svg, said, warns, table in data.values():
        assert svg.count("<svg") == 1 and 'role="img"' in svg and said and warns in ("", "warns")
        assert table.startswith('<div class="h2d-count"><table>')


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_page_begins_with_a_choice_that_the_menus_have(name):
    of = EXPLORERS[name]
    at = " ".join(
        str(list(menu).index(value)) for menu, value in zip(of.menus.values(), of.first, strict=True)
    )
    assert of.data()[at] == of.parts(of.first)
    assert not of.drawn(of.first).warns or name != "epoch"


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_menus_are_controls_of_the_explorer_with_its_labels(name):
    of = EXPLORERS[name]
    controls = of.drawn(of.first).controls
    assert set(of.menus) <= set(controls)
    for menu, words in of.menus.items():
        for value in words:
            assert controls[menu].checked(menu, value) == value
