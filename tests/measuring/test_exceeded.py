"""Limits that another measurement of the same machine exceeds, in made-up records."""

import re

import pytest

from host_to_device.measuring import figures, known_limits, ledger
from host_to_device.measuring.exceeded import MARGIN, exceeded
from host_to_device.measuring.predicting import predict
from tests.measuring import example


def limit(value, unit="B/s"):
    return {"value": value, "unit": unit, "samples": [value], "how": "made up for this test"}


def rates(*samples, unit="FLOP/s", **more):
    samples = [
        {"series": series, "x": x, "values": [value] * 3, **rest} for series, x, value, rest in samples
    ]
    y = {"label": "rate", "unit": unit}
    return {"title": "Made-up rates", "x": None, "y": y, "where": "CPU", "samples": samples, **more}


MATMUL = {"matmul float64": limit(6e10, "FLOP/s"), "matmul float32": limit(1.2e11, "FLOP/s")}


@pytest.mark.parametrize("name", ["cores scaling", "cores scaling, copy"])
@pytest.mark.parametrize(
    "value, cores, wrong",
    [(2.87, 2, True), (1.9, 2, False), (2.01, 2, False), (1.2, 1, True), (9, None, False)],
)
def test_cores_cannot_bring_more_than_their_number(name, value, cores, wrong):
    found = exceeded({name: limit(value, "×")}, cores=cores)
    assert set(found) == ({name} if wrong else set())
    if wrong:
        assert f"cannot be more than {cores} times as fast as one" in found[name].text


@pytest.mark.parametrize("suffix, kind", [("", "cpu"), (", CPU", "gpu")])
def test_one_core_cannot_be_faster_than_all(suffix, kind):
    whole, one = f"copy bandwidth{suffix}", f"copy bandwidth, one core{suffix}"
    found = exceeded({whole: limit(1.32e10), one: limit(1.39e10)}, kind=kind)
    assert set(found) == {whole} and found[whole].text == "one core alone reached 13.9 GB/s"
    assert not exceeded({whole: limit(1.39e10), one: limit(1.32e10)}, kind=kind)
    assert not exceeded({whole: limit(1e10), one: limit(1e10 * (MARGIN - 0.01))}, kind=kind)


def test_no_product_is_faster_than_the_limit_of_products():
    found = exceeded(MATMUL, experiments=[rates(("product", 170.7, 1.84e11, {}), ("sum", 1, 4e9, {}))])
    assert set(found) == {"matmul float32"} and found["matmul float32"].by == 1.84e11
    assert found["matmul float32"].text == "“Made-up rates” reached 184 GFLOP/s (product, 170.7)"


def test_a_rate_of_another_type_is_compared_with_the_fastest_product():
    faster = MATMUL | {"matmul float16": limit(9e11, "FLOP/s")}
    assert not exceeded(faster, experiments=[rates(("float16", None, 8e11, {}))])


def test_doubtful_samples_and_times_exceed_nothing():
    limits = MATMUL | {"copy bandwidth": limit(1e10)}
    cached = rates(("small", 1e3, 9e10, {"doubts": ["fits in cache"]}), unit="B/s")
    assert not exceeded(limits, experiments=[cached, rates(("time", 1, 9e12, {}), unit="s")])
    assert set(exceeded(limits, experiments=[rates(("large", 1e9, 2e10, {}), unit="B/s")])) == {
        "copy bandwidth"
    }


def test_a_rate_is_compared_with_the_limit_that_its_experiment_names():
    limits = {"copy bandwidth": limit(1e12), "host to device, pinned": limit(1e10)}
    over_link = rates(("pinned", None, 2e10, {"where": "GPU"}), unit="B/s", limits=["host to device, pinned"])
    assert set(exceeded(limits, kind="gpu", experiments=[over_link])) == {"host to device, pinned"}


def test_a_cpus_rate_is_not_compared_with_its_gpus_limit():
    limits = {"copy bandwidth": limit(1e12), "copy bandwidth, CPU": limit(1e10)}
    on_cpu = rates(("copy", None, 2e10, {"where": "CPU"}), unit="B/s")
    assert set(exceeded(limits, kind="gpu", experiments=[on_cpu])) == {"copy bandwidth, CPU"}


@pytest.fixture
def doubtful(tmp_path):
    data = example.record(limits={**MATMUL, "copy bandwidth": limit(1e10), "cores scaling": limit(1.9, "×")})
    made = next(iter(data["experiments"].values()))
    data["experiments"] = {
        "two-limits": {**made, **rates(("product", None, 1.84e11, {}), ("sum", None, 4e9, {}))}
    }
    return ledger.Record(data, tmp_path / "made-up.json")


def test_a_record_says_which_of_its_limits_are_none(doubtful):
    assert set(doubtful.exceeded) == {"matmul float32"}


def test_no_figure_draws_an_exceeded_limit_as_a_limit(doubtful):
    figure = figures.draw("two-limits", [doubtful])
    assert "“matmul float32” is no limit: “Made-up rates” reached 184 GFLOP/s (product)." in figure.caption()
    drawn = re.sub(r"<[^>]+>", " ", figure.html())
    assert "exceeded, no limit: matmul float32" in drawn and "> limit: matmul" not in figure.html()


def test_the_run_of_this_moment_may_exceed_a_recorded_limit(doubtful):
    doubtful.data["experiments"] = {}
    now = {"name": "now", **rates(("product", None, 2e11, {}))}
    name = doubtful.machine_name
    assert "is no limit" in figures.draw(now, [doubtful], this_machine=name).caption()
    slower = {"name": "now", **rates(("product", None, 1e11, {}))}
    assert "is no limit" not in figures.draw(slower, [doubtful], this_machine=name).caption()


def test_a_prediction_from_such_a_limit_says_so(doubtful):
    p = predict(flops=1e9, machine=doubtful)
    assert (
        "\n  doubtful: “matmul float32” is no limit: “Made-up rates” reached 184 GFLOP/s (product)." in str(p)
    )
    assert not predict(flops=1e9, dtype="float64", machine=doubtful).doubts


def test_a_measurement_is_held_against_the_larger_number(doubtful, monkeypatch):
    monkeypatch.setattr(known_limits, "_own_record", lambda chosen: doubtful)
    assert (
        known_limits.peak("matmul", "CPU") == 1.84e11 and known_limits.peak("copy bandwidth", "CPU") == 1e10
    )
