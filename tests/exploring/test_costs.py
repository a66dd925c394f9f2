"""The explorer of what copying costs: its model, its picture, its limits and its two faces."""

import re
from types import SimpleNamespace

import pytest

import host_to_device as h2d
from host_to_device.exploring.costs import CostPicture
from host_to_device.measuring.predicting import predict
from host_to_device.rendering import units

CONTROLS = CostPicture.controls

MACHINE = SimpleNamespace(
    machine_name="a machine of the test",
    stamp="the test",
    limits={
        "launch latency": {"value": 2e-6},
        "wait latency": {"value": 5e-6},
        "host to device, pageable": {"value": 10e9},
        "device to host, pageable": {"value": 10e9},
        "matmul float32": {"value": 1e13},
        "copy bandwidth": {"value": 5e11},
    },
)


@pytest.mark.parametrize("operations", [1, 50, 100_000 / 7])
@pytest.mark.parametrize("n, batch", [(3_000, 8), (30_000_000, 1)])
def test_the_model_is_that_of_predict(n, batch, operations):
    k = 4
    rates = dict(launch=2, wait=5, bandwidth=10, memory=500, device_rate=10_000)
    picture = CostPicture(n, batch, k, min(operations, 10_000), **rates)
    moved = {"host to device": 4 * n * batch, "device to host": 4 * n * batch}
    kernels = {"flops": picture.operations * n * k * batch, "traffic": 8 * n * k * batch}
    whole = predict(copies=2, waits=2, launches=k, bytes=moved, **kernels, machine=MACHINE)
    assert picture.device(n) == pytest.approx(whole.seconds / batch)


def test_the_defaults_are_the_prices_of_predict():
    n = 10_000
    moved = {"host to device": 4 * n, "device to host": 4 * n}
    work = {"launches": 1, "flops": 200 * n, "traffic": 8 * n}
    whole = predict(copies=2, waits=2, bytes=moved, pinned=True, **work, machine="V100")
    assert CostPicture().device(n) == pytest.approx(whole.seconds)
    assert {name: getattr(CostPicture(), name) for name in ("launch", "wait", "bandwidth", "memory")} == {
        "launch": 3.8, "wait": 5.8, "bandwidth": 12, "memory": 898,
    }  # fmt: skip


def test_the_lines_meet_where_it_says():
    for values in (
        {},
        {"k": 10},
        {"batch": 64},
        {"bandwidth": 500.0, "operations": 3},
        {"operations": 3_000, "device_rate": 150.0},  # kernels outlast the issuing
    ):
        picture = CostPicture(**values)
        n = picture.crossover
        assert picture.host(n) == pytest.approx(picture.device(n))
        assert picture.host(2 * n) > picture.device(2 * n) and picture.host(n / 2) < picture.device(n / 2)


def test_the_crossover_moves_as_the_chapter_says():
    base = CostPicture().crossover
    assert CostPicture(launch=38).crossover > base and CostPicture(wait=58.0).crossover > base
    assert CostPicture(batch=100).crossover < base / 50
    assert CostPicture(k=100).crossover < base and CostPicture(bandwidth=120).crossover < base


def test_an_addition_that_crosses_the_bus_never_pays():
    picture = CostPicture(operations=1)
    assert picture.crossover is None
    assert "never cross" in picture.summary() and '<p style="color' in picture.html()
    assert "<circle" in picture.svg()
    assert "most of it on the way" in picture.summary()
    slow = CostPicture(operations=1_000, device_rate=100, host_rate=10_000)
    assert "never cross" in slow.summary() and "most of it in its kernels" in slow.summary()


def test_the_parts_are_the_whole():
    picture = CostPicture(12_345, 7, 3)
    assert sum(picture.parts(500).values()) == pytest.approx(picture.device(500))
    assert all(name in picture.svg() for name in picture.parts(500))


def test_alternative_text_says_what_the_picture_shows():
    alt = CostPicture().alt()
    assert "10,000 elements: host 20.0 µs, device" in alt and "The lines cross at 17," in alt


def test_the_lines_stand_as_a_table_below_the_picture():
    picture = CostPicture(size=12_345)
    rows = re.findall(r'<tr><th scope="row"[^>]*>([\d,]+)</th>(.*?)</tr>', picture.html())
    assert [size for size, _ in rows] == [
        *("100", "1,000", "10,000", "12,345", "100,000", "1,000,000", "10,000,000", "100,000,000")
    ]
    cells = re.findall("<td[^>]*>(.*?)</td>", dict(rows)["12,345"])
    seconds = [picture.host(12_345), *picture.parts(12_345).values(), picture.device(12_345)]
    assert cells == [units.seconds(each) for each in seconds]


@pytest.mark.parametrize("name", CONTROLS)
def test_numbers_outside_the_picture_are_refused_by_name(name):
    low, high = CONTROLS[name].low, CONTROLS[name].high
    for value in (low / 2, high * 2, "3", True, None):
        with pytest.raises(ValueError, match=f"{name} is .*: give a"):
            h2d.explore_cost(**{name: value})


@pytest.mark.parametrize("name", CONTROLS)
def test_both_ends_of_every_slider_draw_a_picture(name):
    low, high = CONTROLS[name].low, CONTROLS[name].high
    for value in (low, high):
        svg = CostPicture(**{name: value}).svg()
        assert "nan" not in svg and "inf" not in svg


def test_sliders_redraw_the_picture():
    explorer = h2d.explore_cost()
    *sliders, view = explorer.widget().children
    assert len(sliders) == len(CONTROLS)
    before = view.value
    sliders[1].value = 100
    assert view.value != before and explorer.picture.batch == 100
    for slider in sliders:
        for end in (slider.min, slider.max):
            slider.value = 10**end
    assert explorer.picture.host_rate == 10_000


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_cost()._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and bundle["text/plain"].startswith("10,000 elements")
