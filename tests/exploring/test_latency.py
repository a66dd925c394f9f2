"""The explorer of latency hiding: its simulation against Little's law, its bound, its picture, its limits."""

import random
import re

import pytest

import host_to_device as h2d
from host_to_device.exploring.latency import ROUNDS, LatencyPicture, simulate

CONTROLS = LatencyPicture.controls


def drawn(seed):
    """Return a random setting of all sliders."""
    generator = random.Random(seed)
    return {name: generator.randint(each.low, each.high) for name, each in CONTROLS.items()}


def by_cycles(warps, work, requests, latency, gap, cycles):
    """Return the share of busy cycles of the same machine, stepped cycle by cycle: slow, and written differently."""
    left, loads, due = [work + requests] * warps, [[] for _ in range(warps)], [0] * warps
    current, memory, busy, log = None, 0, 0, []
    for cycle in range(cycles):
        ready = [w for w in range(warps) if due[w] <= cycle]
        if current is None or left[current] == 0:
            if current is not None:
                due[current], left[current], current = max(loads[current]), work + requests, None
                ready = [w for w in range(warps) if due[w] <= cycle]
            current = min(ready, key=lambda w: (due[w], w), default=None)
            if current is not None:
                loads[current] = []
        if current is not None:
            left[current] -= 1
            busy += 1
            if left[current] < requests:
                began = max(cycle + 1, memory)
                memory = began + gap
                loads[current].append(began + latency)
        log.append(current is not None)
    return log


@pytest.mark.parametrize("seed", range(40))
def test_the_simulation_reproduces_littles_law(seed):
    counted = simulate(**drawn(seed))
    assert counted.under_way == pytest.approx(counted.rate * counted.waited, rel=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_a_machine_that_is_stepped_cycle_by_cycle(seed):
    values = drawn(seed) | {"latency": 20 + 7 * seed}
    counted = simulate(**values)
    first = counted.turns[0]
    log = by_cycles(**values, cycles=first[-1][0])
    low = first[ROUNDS // 3][0]
    assert counted.busy == pytest.approx(sum(log[low:]) / len(log[low:]), rel=0.02)


def test_no_setting_does_better_than_the_bound():
    for seed in range(60):
        values = drawn(seed)
        picture = LatencyPicture(**values)
        assert picture.now.busy <= picture.bound(picture.warps) * (1 + 1e-9)


def test_without_a_queue_the_bound_is_reached():
    for warps in (1, 5, 10, 11, 16):
        picture = LatencyPicture(warps, work=40, requests=1, latency=400, gap=1)
        assert picture.now.busy == pytest.approx(picture.bound(warps))
    assert (
        LatencyPicture(11).now.busy == 1 and LatencyPicture(10).now.busy < 1 and LatencyPicture().enough == 11
    )


def test_one_warp_is_issuing_for_its_share_of_a_turn():
    counted = simulate(1, work=30, requests=2, latency=200, gap=1)
    assert counted.busy == pytest.approx(32 / 232)
    assert counted.rate == pytest.approx(2 / 232)


def test_loads_at_a_time_do_what_warps_do():
    more_warps, more_loads = simulate(16, 10, 1, 400, 1), simulate(8, 20, 2, 400, 1)
    assert more_warps.under_way == pytest.approx(more_loads.under_way, rel=0.05)
    assert simulate(8, 20, 1, 400, 1).under_way < 0.6 * more_loads.under_way


def test_memory_takes_no_more_than_its_bandwidth():
    for warps in (8, 12, 16):  # four have at most 16 loads under way, of 400 cycles: fewer than one every 25
        assert simulate(warps, 10, 4, 400, 25).rate == pytest.approx(1 / 25, rel=0.01)
    assert simulate(4, 10, 4, 400, 25).rate < 16 / 400
    queued = LatencyPicture(16, 10, 4, 400, 25)
    assert "memory is the limit" in queued.summary() and queued.now.waited > 400
    assert "the scheduler" in LatencyPicture(16).summary()


def test_the_summary_says_littles_law_with_numbers_that_agree():
    for values in ({}, {"warps": 1}, {"warps": 13, "requests": 5, "gap": 9}):
        text = LatencyPicture(**values).summary()
        counted, product = re.search(r"Counted: ([\d.]+) loads.* = ([\d.]+)\. ", text).groups()
        assert float(counted) == pytest.approx(float(product), abs=0.011)
    assert "1 warp:" in LatencyPicture(1).summary()


def test_alternative_text_says_what_the_picture_shows():
    alt = LatencyPicture().alt()
    assert (
        "6 warps: an instruction is issued in 56% of the cycles" in alt and "11 warps would be enough" in alt
    )


def test_the_picture_has_a_row_for_each_warp_and_a_point_for_each_number_of_them():
    svg = LatencyPicture(3).svg()
    assert [name for name in ("warp 0", "warp 1", "warp 2") if name in svg] == ["warp 0", "warp 1", "warp 2"]
    assert svg.count("<circle") == CONTROLS["warps"].high


@pytest.mark.parametrize("name", CONTROLS)
def test_numbers_outside_the_picture_are_refused_by_name(name):
    low, high = CONTROLS[name].low, CONTROLS[name].high
    for value in (low - 1, high + 1, float(low), "3", True, None):
        with pytest.raises(ValueError, match=f"{name} is .*: give a whole number from"):
            h2d.explore_latency(**{name: value})


@pytest.mark.parametrize("name", CONTROLS)
def test_both_ends_of_every_slider_draw_a_picture(name):
    low, high = CONTROLS[name].low, CONTROLS[name].high
    for value in (low, high):
        svg = LatencyPicture(**{name: value}).svg()
        assert "nan" not in svg and 'width="-' not in svg


def test_sliders_redraw_the_picture():
    explorer = h2d.explore_latency()
    *sliders, view = explorer.widget().children
    assert len(sliders) == len(CONTROLS)
    before = view.value
    sliders[0].value = 12
    assert view.value != before and explorer.picture.warps == 12


def test_a_static_page_has_the_picture():
    bundle = h2d.explore_latency()._repr_mimebundle_()
    assert 'role="img"' in bundle["text/html"] and bundle["text/plain"].startswith("6 warps")
