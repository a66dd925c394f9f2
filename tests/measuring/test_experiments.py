"""`h2d.experiment`: what it takes for samples, what it refuses, and what it leaves for a measuring run."""

import json
import math

import numpy as np
import pytest

from host_to_device.measuring import experiments, ledger
from host_to_device.measuring.experiments import ExperimentError, experiment
from host_to_device.measuring.timings import Doubt, Timing
from host_to_device.starting import machine


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A session that has run nothing, and no device."""
    monkeypatch.setattr(experiments, "entered", {})
    monkeypatch.setattr(machine, "chosen", None)
    monkeypatch.delenv("H2D_MEASURE", raising=False)


@pytest.fixture
def cell(monkeypatch):
    """Run what follows as a cell of a notebook: `cell(source)` begins one."""
    number = iter(range(100))

    def begin(source):
        message = {"header": {"msg_id": f"request-{next(number)}"}, "content": {"code": source}}
        monkeypatch.setattr(experiments, "_message", lambda: message)

    begin("first")
    return begin


@pytest.fixture
def measuring(tmp_path, monkeypatch):
    monkeypatch.setenv("H2D_MEASURE", str(tmp_path))
    return tmp_path


def timing(*samples, where="CPU", **more):
    return Timing("copy", samples, where=where, **more)


# --- What it takes ---------------------------------------------------------------------------------------------


def test_a_timing_gives_all_its_samples():
    with experiment("copy-cost", x=("size", "B")) as e:
        e.add(timing(1e-3, 2e-3), x=1024, series="pinned")
        e.add(timing(3e-3), x=2048, series="pinned")
    assert e.samples == [
        {"series": "pinned", "x": 1024, "values": [1e-3, 2e-3], "where": "CPU"},
        {"series": "pinned", "x": 2048, "values": [3e-3], "where": "CPU"},
    ]
    assert e.x == {"label": "size", "unit": "B"} and e.y == {"label": "time", "unit": "s"}
    assert e.title == e.name == "copy-cost"


@pytest.mark.parametrize(
    "given, values",
    [
        (3, [3]),
        (0.5, [0.5]),
        ([1, 2.5], [1, 2.5]),
        ((1,), [1]),
        (np.float32(0.5), [0.5]),
        (np.arange(3), [0, 1, 2]),
    ],
)
def test_numbers_are_taken_alone_and_in_lists(given, values):
    with experiment("counts", y=("copies", "")) as e:
        e.add(given)
    assert e.samples[0]["values"] == values
    json.dumps(e.samples, allow_nan=False)


def test_samples_of_one_place_come_together():
    with experiment("copy-cost", x=("size", "B")) as e:
        for seconds in (1.0, 2.0):
            e.add(seconds, x=np.int64(8))
    assert e.samples == [{"series": "", "x": 8, "values": [1.0, 2.0], "where": "CPU"}]


def test_a_timing_is_a_rate_where_a_rate_is_measured():
    with experiment("bandwidth", y=("bandwidth", "B/s")) as e:
        e.add(timing(0.5, 0.25, bytes=100))
    assert e.samples[0]["values"] == [200, 400]
    with experiment("rate", y=("rate", "FLOP/s")) as e:
        e.add(timing(0.5, flops=100))
    assert e.samples[0]["values"] == [200]
    with (
        experiment("other", y=("bandwidth", "GB/s")) as e,
        pytest.raises(ExperimentError, match="was given a time"),
    ):
        try:
            e.add(timing(0.5, bytes=100))
        finally:
            e.add(1)


def test_doubts_go_with_the_samples():
    with experiment("copy-cost") as e:
        e.add(timing(1.0, doubts=(Doubt("zeros", "all zeros"), Doubt("too few", "one"))), series="wrong")
        e.add(timing(1.0), series="right")
    assert [sample.get("doubts") for sample in e.samples] == [["too few", "zeros"], None]


# --- Where it was measured -------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen, where", [(None, "CPU"), ("stand-in", "stand-in"), ("gpu", "GPU")])
def test_plain_numbers_are_the_devices_unless_said_otherwise(monkeypatch, chosen, where):
    monkeypatch.setattr(machine, "chosen", chosen)
    with experiment("copy-cost") as e:
        e.add(1.0)
    assert e.where == where
    with experiment("copy-cost") as e:
        e.add(1.0, where="CPU")
    assert e.where == "CPU"


def test_a_timings_place_is_its_own(monkeypatch):
    monkeypatch.setattr(machine, "chosen", "stand-in")
    with experiment("copy-cost") as e:
        e.add(timing(1.0, where="CPU"), series="NumPy")
        assert e.where == "CPU"
        e.add(timing(1.0, where="stand-in"), series="device")
    assert e.where == "stand-in"


@pytest.mark.parametrize("chosen", [None, "stand-in"])
def test_no_number_is_a_gpus_without_one(monkeypatch, chosen):
    monkeypatch.setattr(machine, "chosen", chosen)
    with experiment("copy-cost") as e:
        e.add(1.0)
        with pytest.raises(ExperimentError, match="where='GPU'"):
            e.add(1.0, where="GPU")
        with pytest.raises(ExperimentError, match="where='TPU'"):
            e.add(1.0, where="TPU")
        with pytest.raises(ExperimentError, match="where='CPU'"):
            e.add(timing(1.0, where="stand-in"), where="CPU")


def test_one_place_is_of_one_device():
    with experiment("copy-cost") as e:
        e.add(timing(1.0, where="CPU"))
        with pytest.raises(ExperimentError, match="of a CPU and of a GPU under one name"):
            e.add(timing(1.0, where="GPU"))


# --- What it refuses -------------------------------------------------------------------------------------------

REFUSED = {
    "NaN": math.nan,
    "infinite": math.inf,
    "negative": -1e-9,
    "NaN in a list": [1.0, math.nan],
    "NaN of NumPy": np.float32("nan"),
    "empty list": [],
    "empty array": np.array([]),
    "word": "1 ms",
    "nothing": None,
    "true": True,
    "complex": 1j,
    "list of lists": [[1.0]],
    "function": print,
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_sample_is_refused_in_one_line(what):
    with experiment("copy-cost") as e:
        e.add(1.0)
        with pytest.raises(ExperimentError) as raised:
            e.add(REFUSED[what])
    line = str(raised.value)
    assert line.startswith("experiment 'copy-cost' ") and ": " in line and "\n" not in line
    assert e.samples == [{"series": "", "x": None, "values": [1.0], "where": "CPU"}]
    assert raised.value._render_traceback_() == [f"host_to_device: {line}"]


@pytest.mark.parametrize("x", [None, math.nan, math.inf, True, "", [1], 1j])
def test_a_place_on_the_axis_is_a_number_or_a_word(x):
    with experiment("copy-cost", x=("size", "B")) as e:
        e.add(1.0, x="all")
        with pytest.raises(ExperimentError, match="'copy-cost' was given x="):
            e.add(1.0, x=x)


def test_without_an_axis_there_is_no_place_on_it():
    with experiment("copy-cost") as e:
        e.add(1.0)
        with pytest.raises(ExperimentError, match="no x axis"):
            e.add(1.0, x=3)


@pytest.mark.parametrize("series", ["a, b", "a @ b", "a | b", 3, None])
def test_a_series_can_be_referred_to(series):
    with experiment("copy-cost") as e:
        e.add(1.0)
        with pytest.raises(ExperimentError, match="series"):
            e.add(1.0, series=series)


@pytest.mark.parametrize(
    "name", ["", "Copy", "copy_cost", "copy cost", "-copy", "1-copy", "copy--cost", "../x", None, 3]
)
def test_a_name_is_in_words_with_dashes(name):
    with pytest.raises(ExperimentError, match="cannot be called"):
        experiment(name)


@pytest.mark.parametrize(
    "axes", [{"x": "size"}, {"x": ("size",)}, {"y": ("", "s")}, {"y": None}, {"y": ("time", 1)}]
)
def test_an_axis_is_a_label_and_a_unit(axes):
    with pytest.raises(ExperimentError, match="give a label and a unit"):
        experiment("copy-cost", **axes)


def test_a_limit_is_one_that_there_is():
    assert experiment("copy-cost", limits="copy bandwidth").limits == ("copy bandwidth",)
    with pytest.raises(ExperimentError, match="names a limit 'speed'; there is: copy bandwidth;"):
        experiment("copy-cost", limits=("speed",))


def test_an_empty_experiment_is_refused():
    with pytest.raises(ExperimentError, match="'copy-cost' has no samples"), experiment("copy-cost"):
        pass


def test_samples_belong_into_the_block():
    e = experiment("copy-cost")
    with pytest.raises(ExperimentError, match="inside its block"):
        e.add(1.0)
    with e:
        e.add(1.0)
    with pytest.raises(ExperimentError, match="inside its block"):
        e.add(1.0)


# --- Names in a notebook ---------------------------------------------------------------------------------------


def once():
    with experiment("copy-cost") as e:
        e.add(1.0)


def test_a_cell_can_be_run_again(cell):
    once()
    cell("first")
    once()
    cell("first, edited")
    once()


def test_a_cell_makes_an_experiment_once(cell):
    once()
    with pytest.raises(ExperimentError, match="two experiments 'copy-cost' in this notebook"):
        once()


def test_in_a_measuring_run_a_notebook_makes_it_once(cell, measuring):
    once()
    cell("second")
    with pytest.raises(ExperimentError, match="two experiments"):
        once()


# --- What it leaves --------------------------------------------------------------------------------------------


def test_outside_a_measuring_run_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    once()
    assert not list(tmp_path.iterdir())


def test_in_a_measuring_run_it_leaves_its_samples_and_its_cell(cell, measuring):
    source = "with h2d.experiment('copy-cost') as e:\n    e.add(1.0)"
    cell(source)
    with experiment("copy-cost", title="A copy", limits=("copy bandwidth",)) as e:
        e.add(1.0)
        assert not list(measuring.iterdir())
    (file,) = measuring.iterdir()
    assert file.name == "copy-cost.json"
    assert json.loads(file.read_text()) == {
        "name": "copy-cost",
        "title": "A copy",
        "x": None,
        "y": {"label": "time", "unit": "s"},
        "where": "CPU",
        "samples": [{"series": "", "x": None, "values": [1.0], "where": "CPU"}],
        "limits": ["copy bandwidth"],
        "cell_hash": ledger.digest(source),
    }


def test_an_exception_goes_on_and_nothing_is_written(cell, measuring):
    with pytest.raises(KeyError), experiment("copy-cost") as e:
        e.add(1.0)
        raise KeyError("x")
    assert not list(measuring.iterdir())
    once()


def test_a_folder_that_is_not_there_is_named(cell, measuring, monkeypatch):
    monkeypatch.setenv("H2D_MEASURE", str(measuring / "none"))
    with pytest.raises(ExperimentError, match="finds no folder"):
        once()


def test_a_folder_that_cannot_be_written_to_is_named(cell, measuring, monkeypatch):
    def refuse(path, text):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ledger, "write_whole", refuse)
    with pytest.raises(ExperimentError, match=r"cannot leave its samples in .* \(Permission denied\)"):
        once()


def test_the_source_of_a_cell_comes_from_jupyter(monkeypatch):
    """As ipykernel has it, also where no history is kept; nothing outside Jupyter."""
    import IPython

    class Shell:
        def get_parent(self):
            return {"header": {"msg_id": "1"}, "content": {"code": "a = 1\n"}}

    assert experiments._source() == "" and experiments._request() is None
    monkeypatch.setattr(IPython, "get_ipython", lambda: Shell())
    assert experiments._source() == "a = 1\n" and experiments._request() == "1"


def test_it_draws_itself_beside_the_records(monkeypatch):
    monkeypatch.setattr(ledger, "records", lambda: [])
    with experiment("copy-cost", title="A copy", x=("size", "B")) as e:
        e.add([1e-3, 2e-3], x=1024)
    figure = e.draw()
    assert "A copy" in figure._repr_html_() and "<details>" in figure._repr_html_()
    assert repr(e) == "experiment 'copy-cost': 2 samples (CPU)"
