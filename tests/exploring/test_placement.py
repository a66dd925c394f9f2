"""The explorer of device placement: what it runs, what it says of it, its choices and its two faces."""

import itertools

import pytest
import torch

import host_to_device as h2d
from host_to_device.exploring import placement
from host_to_device.exploring.placement import FORWARD, UPDATE, PlacementPicture

CHOICES = PlacementPicture.controls

ON_CPU = {"model": "cpu", "x": "cpu", "y": "cpu"}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "stand-in")


def line(picture, code):
    return next(each for each in picture.step.ran if each.code == code)


def test_a_step_that_is_well_placed_copies_nothing_between_forward_and_update():
    picture = PlacementPicture()
    assert picture.step.trained and picture.step.held and not picture.step.error and not picture.step.left
    codes = [each.code for each in picture.step.ran]
    core = picture.step.ran[codes.index(FORWARD) : codes.index(UPDATE) + 1]
    assert [each.there + each.back + each.waits for each in core] == [0, 0, 0, 0]
    assert all(each.operations > 0 and each.place == str(h2d.device()) for each in core)
    assert line(picture, "model.to(device)").there == 3  # weight, bias and the buffer
    assert line(picture, "number = loss.item()").back == 1


def test_what_it_counts_is_what_the_same_lines_count_outside_of_it():
    device = h2d.device()
    layer = torch.nn.Linear(4, 3).to(device)
    x, y = torch.randn(32, 4).to(device), torch.zeros(32, dtype=torch.int64)
    out = layer(x / 2)
    with h2d.count() as loss_part:
        loss = torch.nn.functional.cross_entropy(out.cpu(), y)
    with h2d.count() as backward:
        loss.backward()
    picture = PlacementPicture(y="cpu", outputs="cpu")
    shown = line(picture, "loss = cross_entropy(out.cpu(), y)"), line(picture, "loss.backward()")
    for each, counted in zip(shown, (loss_part, backward), strict=True):
        assert (each.there, each.back) == (counted.host_to_device.count, counted.device_to_host.count)
        assert each.waits == counted.waits
    assert shown[0].place == "cpu" and shown[0].back == 1 and shown[1].there == 1


@pytest.mark.parametrize(
    ("choices", "refused", "says"),
    [
        ({"y": "cpu"}, "loss = cross_entropy(out, y)", "target is on cpu"),
        ({"x": "cpu"}, FORWARD, "found at least two devices"),
        ({"model": "cpu"}, FORWARD, "found at least two devices"),
        ({"spread": "attribute"}, FORWARD, "found at least two devices"),
        ({"model": "second", "y": "second"}, FORWARD, "standin:0"),
        ({"order": "optimizer, step, move"}, UPDATE, "found at least two devices"),
    ],
)
def test_a_refusal_is_pytorchs_own_and_stands_at_its_line(choices, refused, says):
    picture = PlacementPicture(**choices)
    step = picture.step
    assert step.ran[-1].code == refused and step.left[-1] == "number = loss.item()"
    assert says in step.error and step.error.startswith("RuntimeError: Expected all tensors")
    assert step.error in picture.summary() and "✗" in picture.svg() and step.left[-1] in picture.svg()


def test_optimizer_first_trains_unless_a_move_makes_new_parameters():
    lucky = PlacementPicture(order="optimizer, move")
    assert lucky.step.trained and line(lucky, "optimizer = SGD(model.parameters())").place == "cpu"
    lost = PlacementPicture(order="optimizer, move", parameters="new")
    assert not lost.step.error and not lost.step.trained and not lost.step.held
    assert (
        line(lost, UPDATE).place == "cpu"
        and "the weight has not changed: the optimizer holds" in lost.summary()
    )
    assert PlacementPicture(parameters="new").step.trained


def test_a_step_on_the_cpu_trains_and_gives_the_device_nothing_to_do():
    picture = PlacementPicture(**ON_CPU)
    assert picture.step.trained and "The device got no work" in picture.summary()
    assert not sum(each.there + each.back + each.waits + each.operations for each in picture.step.ran)


def test_an_attribute_that_is_carried_is_copied_in_the_forward_pass():
    picture = PlacementPicture(spread="carried")
    assert picture.step.trained and line(picture, FORWARD).there == 1 and line(picture, FORWARD).waits == 1
    assert "1 copy to the device, no copies to the host, 1 wait," in picture.summary()


def test_nothing_of_the_readers_is_changed():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    _ = PlacementPicture(order="optimizer, move", parameters="new").step
    assert torch.equal(torch.rand(2), expected)
    assert not torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        assert PlacementPicture(order="optimizer, move").step.trained
        assert torch.__future__.get_overwrite_module_params_on_conversion()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)


def test_every_choice_draws_a_picture_that_says_what_it_shows():
    # Every pair of values of every two choices, the others as they are at first.
    names = list(CHOICES)
    for one, other in itertools.combinations(names, 2):
        for value, second in itertools.product(CHOICES[one].values, CHOICES[other].values):
            picture = PlacementPicture(**{one: value, other: second})
            svg = picture.svg()
            assert 'role="img"' in svg and "nan" not in svg and picture.summary()
            assert all(code in picture.alt() for code in (each.code for each in picture.step.ran))


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["gpu", 0, None, True, ""])
def test_what_is_no_choice_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} is .*: give one of '"):
        h2d.explore_placement(**{name: value})


def test_a_second_device_is_offered_only_where_there_is_one(monkeypatch):
    monkeypatch.setattr(placement, "devices", lambda: 1)
    with pytest.raises(ValueError, match="x is 'second', but this machine has one device"):
        h2d.explore_placement(x="second")
    menus = h2d.explore_placement().widget().children
    assert "second" not in [value for _, value in menus[0].options]


def test_where_nothing_counts_it_says_so(monkeypatch):
    class NoProfiler:
        def __enter__(self):
            raise h2d.SetUpError("no profiler")

        def __exit__(self, *_):
            raise AssertionError

    monkeypatch.setattr(placement, "count", NoProfiler)
    picture = PlacementPicture()
    assert picture.step.trained and "The explorer has no counts" in picture.summary()
    assert "<td" in picture.table()._repr_html_() and "?" in picture.table()._repr_html_()


def test_menus_run_the_step_anew():
    explorer = h2d.explore_placement(y="cpu")
    *menus, view = explorer.widget().children
    assert len(menus) == len(CHOICES) and "Line 6 of 9 raises an error" in view.value
    menus[2].value = "device"
    assert explorer.picture.y == "device" and "the weight has changed" in view.value


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_placement()._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and "These numbers as a table" in bundle["text/html"]
    assert bundle["text/plain"].startswith("All lines ran, and the weight has changed.")
