"""`h2d.predict`: counted work and a machine's limits make seconds, by a formula that can be redone by hand."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from authoring import notebooks
from host_to_device.counting import Copies, count
from host_to_device.counting.numbers import NOT_KNOWN
from host_to_device.hardware import gpus
from host_to_device.measuring import known_limits, ledger, prices
from host_to_device.measuring.predicting import DIRECTIONS, predict, records
from host_to_device.standins import numba_cuda as cuda

ROOT = Path(__file__).resolve().parents[2]


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
        ({"traffic": 1e9}, 5e-4, "1.00 GB in device memory ÷ 2.00 TB/s = 500 µs"),
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


def test_the_longer_of_host_and_device_counts_and_waits_come_on_top():
    p = predict(copies=2, bytes=10**8, waits=1, launches=10, flops=4e10, machine=GPU)
    assert [part.name for part in p.parts] == ["copies", "launches", "host to device", "flops", "waits"]
    assert [part.count for part in p.parts] == [2, 10, 10**8, 4e10, 1]
    assert [part.seconds for part in p.parts] == pytest.approx([8e-6, 40e-6, 0.01, 0.001, 6e-6])
    assert all(part.seconds == part.count * part.cost for part in p.parts)
    assert all(part.limit in GPU.limits for part in p.parts)
    assert (p.host, p.device, p.waits) == pytest.approx((48e-6, 0.011, 6e-6))
    assert p.seconds == pytest.approx(0.011006)
    assert p.formula == (
        "max(2 copies × 4.00 µs + 10 launches × 4.00 µs, 100 MB host to device ÷ 10.0 GB/s + "
        "40.0 GFLOP ÷ 40.0 TFLOP/s (matmul float32)) + 1 wait × 6.00 µs = 11.0 ms"
    )


@pytest.mark.parametrize("flops, traffic, seconds", [(4e10, 1e9, 1e-3), (4e10, 4e9, 2e-3), (0, 2e9, 1e-3)])
def test_of_a_kernels_arithmetic_and_traffic_the_longer_counts(flops, traffic, seconds):
    p = predict(launches=1, flops=flops, traffic=traffic, machine=GPU)
    assert p.device == p.seconds == pytest.approx(seconds)


def test_arithmetic_and_traffic_stand_beside_each_other_in_the_formula():
    p = predict(launches=2, flops=4e10, traffic=1e9, machine=GPU)
    assert p.formula == (
        "max(2 launches × 4.00 µs, 40.0 GFLOP ÷ 40.0 TFLOP/s (matmul float32), "
        "1.00 GB in device memory ÷ 2.00 TB/s) = 1.00 ms"
    )
    copied = predict(bytes={"device to device": 1e9}, flops=4e10, traffic=1e9, machine=GPU)
    assert copied.seconds == pytest.approx(1e-3 + 1e-3)
    assert "÷ 2.00 TB/s + max(40.0 GFLOP" in copied.formula


def test_launches_that_outlast_the_device_hide_its_work():
    few, many = (predict(launches=n, traffic=2e6, machine=GPU) for n in (0, 1_000))
    assert few.seconds == pytest.approx(1e-6) and many.seconds == many.host == pytest.approx(4e-3)


@pytest.mark.parametrize(
    "copies, waits, overlaps", [(1, 1, False), (3, 3, False), (3, 2, True), (3, 0, True), (0, 0, True)]
)
def test_bytes_overlap_with_issuing_unless_the_host_waits_for_every_copy(copies, waits, overlaps):
    p = predict(copies=copies, launches=10_000, bytes=10**8, waits=waits, machine=GPU)
    issuing, waiting, crossing = (copies + 10_000) * 4e-6, waits * 6e-6, 0.01
    assert p.seconds == pytest.approx(
        max(issuing, crossing) + waiting if overlaps else issuing + waiting + crossing
    )


def test_a_copy_within_the_device_is_no_reason_to_wait():
    moved = (
        SimpleNamespace(count=1, bytes=8e6),
        SimpleNamespace(count=0, bytes=0),
        SimpleNamespace(count=9, bytes=0),
    )
    names = "host_to_device", "device_to_host", "device_to_device"
    counts = SimpleNamespace(**dict(zip(names, moved, strict=True)), waits=1, operations=0)
    assert predict(counts, machine=GPU).seconds == pytest.approx(10 * 4e-6 + 6e-6 + 8e6 / 1e10)


# The documented prices


def test_a_kernel_with_a_wait_takes_what_nvidia_measured():
    assert pytest.approx(9.6e-6) == prices.LAUNCH + prices.WAIT
    assert predict(launches=1, waits=1, machine="V100").seconds == pytest.approx(9.6e-6)
    assert predict(copies=1, waits=1, bytes=12e9, pinned=True, machine="V100").seconds == pytest.approx(
        1 + 9.6e-6
    )


def test_every_documented_limit_has_a_source():
    keys = set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "references.bib").read_text(encoding="utf-8"), re.M))
    for gpu in gpus.GPUS:
        found = prices.documented(gpu.name)
        assert all(limit["how"].removeprefix("documented: ") in keys for limit in found.limits.values()), (
            gpu.name
        )
        assert all(
            name in known_limits.KNOWN and known_limits.KNOWN[name] == limit["unit"]
            for name, limit in found.limits.items()
        )


def test_only_the_documented_v100_has_a_link():
    assert prices.documented("V100").limits["host to device, pinned"]["value"] == prices.LINK == 12e9
    card = predict(launches=5, traffic=448e9, machine="RTX 3060 Ti")
    assert card.seconds == pytest.approx(1) and "as documented, with a V100's launches" in str(card)
    with pytest.raises(LookupError, match="no limit 'host to device, pinned'"):
        predict(bytes=1, pinned=True, machine="RTX 3060 Ti")
    with pytest.raises(LookupError, match="For pinned memory give pinned=True"):
        predict(bytes=1, machine="V100")


def test_a_recorded_machine_comes_before_a_documented_one(monkeypatch):
    mine = SimpleNamespace(machine_name="V100", slug="v100", limits={"wait latency": limit(1.0, "s")})
    monkeypatch.setattr(ledger, "records", lambda: [mine])
    assert predict(waits=1, machine="V100").seconds == 1


PRICE = re.compile(r"\b(9\.6|3\.8|5\.8)0?e-0?6\b|\b(12|898)(\.0)?e0?9\b|\b15\.70?e12\b|\b16e9\b")
# Files that state such a number for another reason.
OTHERS = {
    "host_to_device/measuring/prices.py": "the prices",
    "host_to_device/hardware/gpus.py": "the table of GPUs, from which the prices take their rates",
    "book/drawings/copy_transfer.py": "16e9 is drawn as the link's peak",
}


def test_prices_stand_in_one_place():
    found = {}
    for path in [
        *ROOT.glob("host_to_device/**/*.py"),
        *ROOT.glob("book/**/*.py"),
        *ROOT.glob("notebooks/*.ipynb"),
    ]:
        if "node_modules" in path.parts or "sets" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = "\n".join(cell.source for cell in notebooks.read(path).cells if cell.cell_type == "code")
        if hits := [match[0] for match in PRICE.finditer(text)]:
            found[path.relative_to(ROOT).as_posix()] = hits
    assert set(found) == set(OTHERS), (
        "take prices from host_to_device.measuring.prices, or h2d.predict(machine='V100')"
    )
    assert found["book/drawings/copy_transfer.py"] == ["16e9"]


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
    assert more.seconds == pytest.approx(predict(counts, machine=GPU).seconds - 3 * 4e-6 + 1)


def test_a_count_of_nothing_takes_no_time():
    with count() as c:
        pass
    p = predict(c, machine=GPU)
    assert (p.seconds, p.parts, p.formula) == (0, (), "nothing = 0 s")


# What goes wrong


@pytest.mark.parametrize("name", ["copies", "waits", "launches", "flops", "traffic", "bytes"])
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
        ValueError, match=f"bytes has 'up', which is not a direction: give {', '.join(DIRECTIONS)}"
    ):
        predict(bytes={"up": 3}, machine=GPU)


def test_counts_that_cannot_be_used():
    with pytest.raises(TypeError, match="counts is int: give what "):
        predict(3, machine=GPU)
    with pytest.raises(ValueError, match="the count is empty"):
        predict(count(), machine=GPU)
    unknown = Copies(NOT_KNOWN, NOT_KNOWN)
    blind = SimpleNamespace(
        host_to_device=unknown,
        device_to_host=unknown,
        device_to_device=unknown,
        waits=NOT_KNOWN,
        operations=3,
    )
    predicted = predict(blind, machine=GPU)  # a lesson goes on
    assert (predicted.seconds, predicted.host, predicted.device, predicted.waits) == (NOT_KNOWN,) * 4
    assert f"{1e3 * predicted.seconds:8.2f} ms" == "       ? ms"
    assert "not known, because the count does not know: host to device, device to host, " in str(predicted)


@pytest.mark.parametrize("name", ["copies", "waits", "launches", "flops", "traffic", "bytes"])
def test_a_number_that_a_count_could_not_count_gives_a_time_that_is_not_known(name):
    predicted = predict(machine=GPU, **{"launches": 3, name: NOT_KNOWN / 2})
    assert predicted.seconds is NOT_KNOWN and f"{predicted.seconds * 1e6:8.1f}" == "       ?"
    assert predicted.unknown == ("host to device" if name == "bytes" else name,)


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
        LookupError, match="for 'wait latency', which is not a limit: measure it again"
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
