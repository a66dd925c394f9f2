"""`h2d.predict`: counted work and a machine's limits make seconds, by a formula that can be redone by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from host_to_device.counting import Copies, count
from host_to_device.measuring import ledger
from host_to_device.measuring.predicting import DIRECTIONS, predict, records
from host_to_device.standins import numba_cuda as cuda


def limit(value, unit):
    return {"value": value, "unit": unit, "samples": [value], "how": "made up"}


GPU = SimpleNamespace(
    machine_name="A GPU",
    slug="a-gpu",
    stamp="A GPU, 2026-11-20, driver 580, commit abc1234",
    limits={
        "copy bandwidth": limit(2e12, "B/s"),
        "host to device, pageable": limit(1e10, "B/s"),
        "host to device, pinned": limit(5e10, "B/s"),
        "device to host, pageable": limit(8e9, "B/s"),
        "device to host, pinned": limit(4e10, "B/s"),
        "launch latency": limit(4e-6, "s"),
        "wait latency": limit(6e-6, "s"),
        "matmul float64": limit(5e13, "FLOP/s"),
        "matmul float32": limit(4e13, "FLOP/s"),
        "matmul float16": limit(8e14, "FLOP/s"),
    },
)
CPU = SimpleNamespace(
    machine_name="A CPU",
    slug="a-cpu",
    stamp="A CPU, 2026-11-20",
    limits={"copy bandwidth": limit(2e10, "B/s"), "matmul float32": limit(1e11, "FLOP/s")},
)


@pytest.mark.parametrize(
    "given, seconds, formula",
    [
        ({"copies": 3}, 12e-6, "3 copies × 4.00 µs = 12.0 µs"),
        ({"copies": 1}, 4e-6, "1 copy × 4.00 µs = 4.00 µs"),
        ({"launches": 1000}, 4e-3, "1,000 launches × 4.00 µs = 4.00 ms"),
        ({"waits": 2}, 12e-6, "2 waits × 6.00 µs = 12.0 µs"),
        ({"bytes": 10**8}, 0.01, "100 MB host to device ÷ 10.0 GB/s = 10.0 ms"),
        ({"bytes": 10**8, "pinned": True}, 0.002, "100 MB host to device ÷ 50.0 GB/s = 2.00 ms"),
        (
            {"bytes": {"device to host": 8e6, "device to device": 1e9}},
            0.002,
            "8.00 MB device to host ÷ 8.00 GB/s + 2 × 1.00 GB device to device ÷ 2.00 TB/s = 2.00 ms",
        ),
        ({"flops": 4e10}, 0.001, "40.0 GFLOP ÷ 40.0 TFLOP/s (matmul float32) = 1.00 ms"),
        (
            {"flops": 4e10, "dtype": "float16"},
            5e-5,
            "40.0 GFLOP ÷ 800 TFLOP/s (matmul float16) = 50.0 µs",
        ),
    ],
)
def test_each_term(given, seconds, formula):
    p = predict(machine=GPU, **given)
    assert p.seconds == pytest.approx(seconds)
    assert p.formula == formula


def test_the_sum():
    p = predict(copies=2, bytes=10**8, waits=1, launches=10, flops=4e10, machine=GPU)
    assert [part.name for part in p.parts] == ["copies", "host to device", "launches", "waits", "flops"]
    assert [part.count for part in p.parts] == [2, 10**8, 10, 1, 4e10]
    assert [part.seconds for part in p.parts] == pytest.approx([8e-6, 0.01, 40e-6, 6e-6, 0.001])
    assert all(part.seconds == part.count * part.cost for part in p.parts)
    assert all(part.limit in GPU.limits for part in p.parts)
    assert p.seconds == pytest.approx(0.011054)
    assert p.formula == " + ".join(part.text for part in p.parts) + " = 11.1 ms"


def test_it_says_that_it_is_predicted():
    text = str(predict(waits=1, machine=GPU))
    first, second = text.splitlines()
    assert (
        first == "predicted, not measured, from the limits of A GPU, 2026-11-20, driver 580, commit abc1234:"
    )
    assert second == "  1 wait × 6.00 µs = 6.00 µs"
    assert repr(predict(waits=1, machine=GPU)) == text
    unstamped = SimpleNamespace(machine_name="mine", limits=GPU.limits)
    assert "from the limits of mine:" in str(predict(waits=1, machine=unstamped))


@pytest.mark.parametrize("dtype", [np.float64, np.dtype("float64"), "float64", "torch.float64"], ids=str)
def test_dtypes_of_any_library(dtype):
    assert predict(flops=5e13, dtype=dtype, machine=GPU).seconds == pytest.approx(1.0)


# Counts


@pytest.fixture
def counts():
    """What Numba's stand-in counted for a copy there, a kernel, and a copy back."""

    @cuda.jit
    def increase(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    with count() as c:
        d_x = cuda.to_device(np.ones(1000))
        increase[4, 256](d_x)
        d_x.copy_to_host()
    return c


def test_counts_on_a_laptop_become_seconds_on_a_gpu(counts):
    p = predict(counts, machine=GPU)
    terms = {part.name: part.count for part in p.parts}
    assert terms == {"copies": 2, "host to device": 8000, "device to host": 8000, "launches": 1, "waits": 2}
    by_hand = (2 + 1) * 4e-6 + 2 * 6e-6 + 8000 / 1e10 + 8000 / 8e9
    assert p.seconds == pytest.approx(by_hand)


def test_numbers_come_on_top_of_counts(counts):
    more = predict(counts, launches=9, flops=4e13, machine=GPU)
    assert {part.name: part.count for part in more.parts}["launches"] == 10
    assert more.seconds == pytest.approx(predict(counts, machine=GPU).seconds + 9 * 4e-6 + 1)


def test_a_count_of_nothing_takes_no_time():
    with count() as c:
        pass
    p = predict(c, machine=GPU)
    assert (p.seconds, p.parts, p.formula) == (0, (), "nothing = 0 s")


# What goes wrong


@pytest.mark.parametrize("name", ["copies", "waits", "launches", "flops", "bytes"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "3", None, True])
def test_numbers_that_are_none(name, value):
    with pytest.raises(ValueError, match="give a number from 0"):
        predict(machine=GPU, **{name: value})


@pytest.mark.parametrize("given", [{}, {"copies": 0, "bytes": 0}, {"bytes": {}}])
def test_nothing_to_predict(given):
    with pytest.raises(ValueError, match="there is nothing to predict: give "):
        predict(machine=GPU, **given)


def test_a_direction_that_is_none():
    with pytest.raises(
        ValueError, match=f"bytes has 'up', which is no direction: give {', '.join(DIRECTIONS)}"
    ):
        predict(bytes={"up": 3}, machine=GPU)


def test_counts_that_cannot_be_used():
    with pytest.raises(TypeError, match="counts is int: give what "):
        predict(3, machine=GPU)
    with pytest.raises(ValueError, match="nothing was counted yet"):
        predict(count(), machine=GPU)
    unknown = Copies(None, None)
    blind = SimpleNamespace(
        host_to_device=unknown, device_to_host=unknown, device_to_device=unknown, waits=None, operations=3
    )
    with pytest.raises(ValueError, match=r"host to device, .*copies, waits: not known in this count"):
        predict(blind, machine=GPU)


def test_a_limit_that_the_record_lacks():
    with pytest.raises(
        LookupError, match="the record of A CPU has no limit 'launch latency'; it has: copy bandwidth, "
    ):
        predict(launches=1, machine=CPU)
    with pytest.raises(LookupError, match="A GPU has no limit 'matmul int8'"):
        predict(flops=1, dtype="int8", machine=GPU)
    assert predict(flops=1e11, machine=CPU).seconds == pytest.approx(1), (
        "what is not needed need not be there"
    )
    with pytest.raises(LookupError, match="the record of empty has no limit 'wait latency'; it has: none"):
        predict(waits=1, machine=SimpleNamespace(machine_name="empty", limits={}))


@pytest.mark.parametrize("value", [0, -1, math.nan, None])
def test_a_limit_that_is_none(value):
    broken = SimpleNamespace(machine_name="broken", limits={"wait latency": limit(value, "s")})
    with pytest.raises(
        LookupError, match="for 'wait latency', which is no limit: measure it again"
    ) as caught:
        predict(waits=1, machine=broken)
    assert "\n" not in str(caught.value)


def test_the_recorded_machines_can_be_named(monkeypatch):
    monkeypatch.setattr(ledger, "records", lambda: [GPU, CPU])
    assert [predict(flops=1e9, machine=each.machine_name).machine for each in records()] == ["A GPU", "A CPU"]


def test_machines_by_name(monkeypatch):
    monkeypatch.setattr(ledger, "records", lambda: [GPU, CPU])
    assert predict(waits=1, machine="A GPU").machine == predict(waits=1, machine="a-gpu").machine == "A GPU"
    with pytest.raises(LookupError, match="there is no record of 'Another'; there is: A GPU, A CPU"):
        predict(waits=1, machine="Another")
    with pytest.raises(LookupError, match="no machine is named: give machine=…, one of: A GPU, A CPU"):
        predict(waits=1)
    with pytest.raises(TypeError, match="machine is int: give the name of a recorded machine, or a record"):
        predict(waits=1, machine=3)
    monkeypatch.setattr(ledger, "records", list)
    with pytest.raises(LookupError, match="one of: none yet"):
        predict(waits=1)
