"""What all explorers share: each declares its parameters once, as controls, and a control reads what it shows."""

import inspect

import pytest

import host_to_device as h2d
from host_to_device.exploring.explorer import Choice, Number

EXPLORERS = sorted(name for name in h2d.__all__ if name.startswith("explore_"))


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "stand-in")


def test_there_are_explorers():
    assert len(EXPLORERS) >= 9


@pytest.mark.parametrize("name", EXPLORERS)
def test_controls_are_the_functions_parameters_and_begin_at_its_defaults(name):
    function = getattr(h2d, name)
    defaults = {each.name: each.default for each in inspect.signature(function).parameters.values()}
    explorer = function()
    controls = explorer.picture.controls
    assert list(controls) == list(defaults)
    assert {each: getattr(explorer.picture, each) for each in controls} == defaults
    *moved, view = explorer.widget().children
    assert view.value == explorer.picture.html()
    for (parameter, control), slider in zip(controls.items(), moved, strict=True):
        assert control.read(slider.value) == pytest.approx(defaults[parameter])
        assert slider.description == control.description
    assert explorer.picture.svg().count("<svg") == 1 and len(explorer.picture.alt()) > 40


def test_a_logarithmic_slider_stays_within_its_limits_and_on_whole_numbers():
    control = Number("things", 3, 300, log=True)
    slider = control.slider(30)
    for end, limit in ((slider.min, 3), (slider.max, 300)):
        slider.value = 10**end
        assert control.read(slider.value) == limit
    assert control.read(31.4) == 31 and control.read(2.999) == 3
    assert Number("share", 0.5, 2, whole=False, log=True).read(0.7) == 0.7


@pytest.mark.parametrize("value", [2.5, "3", True, None, 2, 301, float("nan")])
def test_a_number_says_what_it_takes(value):
    control = Number("things", 3, 300, "GB")
    with pytest.raises(ValueError, match=r"many is .*: give a whole number from 3 to 300 GB$"):
        control.checked("many", value)


def test_a_choice_takes_equal_values_and_offers_what_the_machine_has():
    control = Choice("lanes", {32: "32 lanes", 64: "64 lanes"}, offered=lambda value: value == 32)
    assert control.checked("lanes", 32.0) == 32 and isinstance(control.checked("lanes", 32.0), int)
    assert control.slider(32, continuous_update=True).options == (("32 lanes", 32),)
    for value in (True, "32", [32]):
        with pytest.raises(ValueError, match=r"lanes is .*: give one of 32, 64$"):
            control.checked("lanes", value)
