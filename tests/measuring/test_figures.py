"""How an experiment is drawn: what picture, caption, words and table say, and what is kept apart."""

import itertools
import re
import statistics

import pytest
from bs4 import BeautifulSoup

from host_to_device.measuring import figures, ledger, machines, plotting, points
from host_to_device.rendering import palette, units

SIZES = [2**10, 2**15, 2**20, 2**25]


def experiment(factor=1.0, where="GPU", series=("pinned", "pageable"), **more):
    """An experiment of nobody's: numbers from a formula."""
    samples = [
        {"series": name, "x": x, "values": [factor * (at + 1) * (1e-5 + x / 5e10) * (1 + k / 50) for k in range(9)]}
        for at, name in enumerate(series)
        for x in SIZES
    ]  # fmt: skip
    about = {
        "title": "Time of a copy",
        "x": {"label": "size", "unit": "B"},
        "y": {"label": "time", "unit": "s"},
        "where": where,
        "notebook": "notebooks/01-none.ipynb",
        "cell": "copy",
        "cell_hash": "0" * 64,
        "date": "2001-02-03",
        "commit": "abcdef0123",
        "clean": True,
        "limits": ["host to device, pinned"],
        "samples": samples,
    }
    return about | more


def rates(**more):
    samples = [
        {"series": name, "x": None, "values": [value]}
        for name, value in (("float64", 1e12), ("float32", 2e12))
    ]
    y = {"label": "rate", "unit": "FLOP/s"}
    return experiment(title="Matrices", x=None, y=y, limits=[], samples=samples, **more)


def record(name, tmp_path, **experiments):
    """A record of a machine that does not exist."""
    limits = {
        "host to device, pinned": {"value": 5.5e10, "unit": "B/s", "samples": [5.5e10], "how": "made up"},
        "matmul float32": {"value": 2.2e12, "unit": "FLOP/s", "samples": [2.2e12], "how": "made up"},
    }
    machine = {"name": name, "kind": "gpu", "driver": "1.2", "gpus": []}
    data = {
        "machine": machine,
        "versions": {},
        "date": "2001-02-03",
        "limits": limits,
        "commit": None,
        "clean": None,
    }
    named = {key.replace("_", "-"): value for key, value in experiments.items()}
    return ledger.Record(data | {"experiments": named}, tmp_path / f"{ledger.machines.slug(name)}.json")


@pytest.fixture
def two(tmp_path):
    return [
        record("Made-up A", tmp_path, copy_cost=experiment(), rates=rates()),
        record("Made-up B", tmp_path, copy_cost=experiment(3), rates=rates()),
    ]


def soup(figure):
    return BeautifulSoup(figure.html(), "html.parser")


# --- What is drawn -----------------------------------------------------------------------------------------------


def test_each_machine_has_a_panel_with_the_same_axes(two):
    pictures = soup(figures.draw("copy-cost", two)).find_all("svg")
    assert len(pictures) == 2
    for picture, name in zip(pictures, ("Made-up A", "Made-up B"), strict=True):
        assert name in picture.get_text() and "pinned" in picture.get_text()
    ticks = [re.findall(r"\d+ (?:µs|ms|KiB|MiB)", picture.get_text(" ")) for picture in pictures]
    assert ticks[0] == ticks[1] and len(ticks[0]) >= 4


def test_machines_share_a_panel_where_there_is_one_series(tmp_path):
    records = [record(f"Made-up {k}", tmp_path, one=experiment(k, series=("",))) for k in (1, 2)]
    (picture,) = soup(figures.draw("one", records)).find_all("svg")
    assert "Made-up 1" in picture.get_text() and "Made-up 2" in picture.get_text()


def test_this_machine_comes_first_and_says_that_it_is_this_one(two):
    figure = figures.draw({"name": "copy-cost", **experiment(2)}, two, this_machine="Made-up C")
    assert [run.name for run in figure.runs] == ["this machine: Made-up C", "Made-up A", "Made-up B"]
    assert "Made-up C, measured now" in figure.caption()


def test_this_machine_is_drawn_beside_its_own_recorded_limits(two):
    figure = figures.draw({"name": "copy-cost", **experiment(2)}, two, this_machine="Made-up B")
    assert figure.runs[0].limits == {"host to device, pinned": (5.5e10, "B/s")}


def test_a_stand_ins_time_stands_apart_under_its_name(two):
    mixed = experiment(1, "stand-in", limits=[])
    for sample in mixed["samples"]:
        sample["where"] = "CPU" if sample["series"] == "pinned" else "stand-in"
    figure = figures.draw({"name": "copy-cost", **mixed}, two, this_machine="A laptop")
    pictures = soup(figure).find_all("svg")
    *real, apart = [picture.get_text(" ") for picture in pictures]
    assert "stand-in on A laptop" in apart and "not a GPU's time" in apart
    assert len(real) == 3 and not any("stand-in" in text for text in real)
    assert "says nothing about a GPU" in figure.caption()
    assert {row[0] for row in figure.rows() if "stand-in" in row[0]} == {"stand-in on A laptop"}


def test_a_stand_ins_time_does_not_move_the_axes_of_the_others(two):
    slow = {"name": "copy-cost", **experiment(1e4, "stand-in")}
    beside = soup(figures.draw(slow, two, this_machine="A laptop")).find_all("svg")
    assert beside[:2] == soup(figures.draw("copy-cost", two)).find_all("svg")


def test_a_stand_in_alone_is_drawn_and_labelled():
    figure = figures.draw({"name": "copy-cost", **experiment(1, "stand-in")}, [], this_machine="A laptop")
    (picture,) = soup(figure).find_all("svg")
    assert "not a GPU's time" in picture.get_text()


def test_a_record_in_other_units_is_another_experiment(two, tmp_path):
    two[1].experiments["copy-cost"]["y"]["unit"] = "B/s"
    assert [run.machine for run in figures.draw("copy-cost", two).runs] == ["Made-up A"]


def test_limits_are_dashed_and_named(two):
    figure = figures.draw("copy-cost", two[:1])
    (picture,) = soup(figure).find_all("svg")
    assert "stroke-dasharray" in str(picture) and "limit: host to" in picture.get_text()
    assert "“host to device, pinned”" in figure.caption()


def test_a_limit_fits_by_its_unit(two):
    figure = figures.draw("copy-cost", two)
    assert plotting.limit_at(figure, (5e9, "B/s"), 1e9) == pytest.approx(0.2)
    assert plotting.limit_at(figure, (1e-6, "s"), 1e9) == 1e-6
    assert plotting.limit_at(figure, (1e12, "FLOP/s"), 1e9) is None
    rate = figures.draw("rates", two)
    assert plotting.limit_at(rate, (1e12, "FLOP/s"), None) == 1e12
    assert rate.runs[0].limits == {"matmul float32": (2.2e12, "FLOP/s")}, "a rate has a usual limit"


@pytest.mark.parametrize(
    "samples",
    [
        [("a", 1, [1.0])],
        [("a", 1, [1.0]), ("a", 2, [1.0])],
        [("a", 1, [0.0]), ("a", 2, [0.0])],
        [("a", -1, [3.0, 4.0]), ("a", 5, [2.0])],
        [("a", "small", [1e-9]), ("a", "large", [1e9])],
        [(f"series {k}", x, [k + x]) for k in range(8) for x in (1, 10)],
        [("", None, [5.0])],
    ],
    ids=["one", "level", "zero", "negative x", "words", "many", "bare"],
)
def test_everything_that_can_be_measured_can_be_drawn(samples):
    about = experiment(samples=[{"series": s, "x": x, "values": v} for s, x, v in samples])
    if samples[0][1] is None:
        about["x"] = None
    page = soup(figures.draw({"name": "odd", **about}, []))
    assert page.find("svg") and len(page.select("tbody tr")) == len(samples)


# --- The picture as the page has it --------------------------------------------------------------------------------


def test_two_pictures_of_the_same_are_the_same_text(two):
    first, second = (figures.draw("copy-cost", two).html() for _ in range(2))
    assert first == second
    assert "2001-02-03" in first and not re.search(r"dc:date|Matplotlib v", first)


def test_ids_are_used_and_stand_once(two):
    page = BeautifulSoup("".join(figures.draw(n, two).html() for n in ("copy-cost", "rates")), "html.parser")
    ids = [tag["id"] for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids)) > 0
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', str(page)))
    assert used == set(ids)


def test_colours_are_the_pages(two):
    text = figures.draw("copy-cost", two).html(in_book=True)
    bare = re.sub(r"var\(--h2d-\w+, #[0-9a-f]{6}\)", "", text)
    assert "var(--h2d-blue, #0072b2)" in text and "var(--h2d-ink, #1a1a1a)" in text
    assert not re.findall(r"#[0-9a-f]{6}\b", bare), "a colour that does not follow light and dark"


def contrast(one, other):
    """Contrast of two colours as WCAG 2.2 defines it (relative luminance)."""

    def light(colour):
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_letters_and_lines_stand_out_in_light_and_in_dark():
    names = {colour: f"--h2d-{name}" for name, colour in palette.COLOURS.items()}
    lines = [names[colour] for colour in plotting.COLOURS]
    dark = dict(re.findall(r"(--h2d-[\w-]+): (#[0-9a-f]{6})", palette.DARK))
    for colours in ({name: colour for colour, name in names.items()}, dark):
        paper = colours["--h2d-paper"]
        assert contrast(colours["--h2d-line"], paper) > 1
        assert min(contrast(colours[name], paper) for name in ("--h2d-ink", "--h2d-quiet")) >= 4.5
        assert min(contrast(colours[line], paper) for line in lines) >= 3


def test_a_notebook_brings_the_dark_colours_and_the_book_has_them(two):
    figure = figures.draw("copy-cost", two)
    assert "<style>" in figure.html() and "<style>" not in re.sub(
        r"<svg.*?</svg>", "", figure.html(in_book=True)
    )


def test_what_a_notebook_is_given(two):
    figure = figures.draw("copy-cost", two)
    bundle = figure._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"} and bundle["text/html"] == figure._repr_html_()
    assert (
        "Made-up A" in bundle["text/plain"]
        and "<" not in bundle["text/plain"]
        and repr(figure) == figure.text()
    )


def test_names_are_escaped(tmp_path):
    wild = r'<b>"& $_$ \1'
    about = experiment(title=wild, series=(wild,))
    about["y"]["label"] = wild
    page = figures.draw("copy-cost", [record("Made-up", tmp_path, copy_cost=about)]).html()
    page = BeautifulSoup(page, "html.parser")
    assert not page.find("b") and wild in page.svg["aria-label"] and page.caption.get_text() == wild


# --- Words and table -------------------------------------------------------------------------------------------------


def test_the_words_say_what_the_picture_shows(two):
    pictures = soup(figures.draw("copy-cost", two)).find_all("svg")
    assert all(picture["role"] == "img" for picture in pictures)
    said = pictures[0]["aria-label"]
    assert said.startswith("Time of a copy. Made-up A: pinned 10.8 µs at 1 KiB,") and "at 32 MiB" in said
    assert "Made-up B" not in said


def test_the_table_holds_every_number(two):
    table = soup(figures.draw("copy-cost", two)).select_one("details table")
    assert table.caption.get_text() == "Time of a copy"
    assert all(head["scope"] == "col" for head in table.select("thead th"))
    rows = table.select("tbody tr")
    assert len(rows) == 2 * 2 * len(SIZES) and all(row.th["scope"] == "row" for row in rows)
    first = [cell.get_text().replace("\u00a0", " ") for cell in rows[0].find_all(["th", "td"])]
    values = experiment()["samples"][0]["values"]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    expected = [units.shown(value, "s") for value in (statistics.median(values), low, high)]
    assert first == ["Made-up A", "pinned", "1 KiB", expected[0], f"{expected[1]} to {expected[2]}", "9"]


def test_the_table_scrolls_with_the_keyboard(two):
    box = soup(figures.draw("copy-cost", two)).select_one("details div")
    assert (box["tabindex"], box["role"]) == ("0", "region") and box["aria-label"]


def test_columns_that_say_nothing_are_left_out(two):
    heads = [head.get_text() for head in soup(figures.draw("rates", two)).select("thead th")]
    assert heads == ["machine", "series", "rate, median", "middle half", "samples"]


def test_a_doubtful_measurement_says_so(tmp_path):
    about = experiment()
    about["samples"][0]["doubts"] = ["too few", "zeros"]
    figure = figures.draw("copy-cost", [record("Made-up", tmp_path, copy_cost=about)])
    assert "doubtful" in figure.caption() and figure.rows()[0][-1] == "too few, zeros"


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (1.2e-5, "s", "12.0 µs"),
        (5e10, "B/s", "50.0 GB/s"),
        (2**20, "B", "1.00 MiB"),
        (3.0, "", "3.00"),
        (42, "threads", "42.0 threads"),
    ],
)
def test_numbers_have_their_unit(value, unit, text):
    assert units.shown(value, unit) == text


@pytest.mark.parametrize(
    "x, unit, text",
    [
        (2**20, "B", "1 MiB"),
        (1536, "B", "1.5 KiB"),
        (0, "B", "0"),
        (1e-4, "s", "100 µs"),
        (1000, "", "1,000"),
        (64, "threads", "64 threads"),
        ("large", "B", "large"),
        (None, "", ""),
    ],
)
def test_places_have_no_digits_that_say_nothing(x, unit, text):
    assert points.shown_at(x, unit) == text


# --- Axes ------------------------------------------------------------------------------------------------------------


def test_an_axis_is_logarithmic_where_values_span_much():
    assert plotting.scale([1e-6, 1e-3]).log and not plotting.scale([1.0, 2.0]).log
    assert not plotting.scale([0.0, 1e6]).log


@pytest.mark.parametrize(
    "low, high, base, ticks",
    [
        (2**10, 2**30, 2, [2**10, 2**15, 2**20, 2**25, 2**30]),
        (0.9, 110, 10, [1, 10, 100]),
        (0.9, 60, 10, [1, 2, 5, 10, 20, 50]),
    ],
)
def test_ticks_are_round(low, high, base, ticks):
    assert plotting.log_ticks(low, high, base) == pytest.approx(ticks)


def test_names_at_the_edge_do_not_cover_each_other():
    places = plotting.apart([0.5, 0.5, 0.51, 0.99, 1.0], [0.1] * 5, 0.02)
    assert all(after - before >= 0.12 - 1e-9 for before, after in itertools.pairwise(places))
    assert places[0] > 0 and places[-1] <= 0.95 + 1e-9


# --- Bad input -------------------------------------------------------------------------------------------------------


def test_an_unknown_experiment_lists_what_there_is(two):
    with pytest.raises(LookupError, match="copy-cost, rates"):
        figures.draw("copy-costs", two)


@pytest.mark.parametrize("values", [[], [float("nan")], [1.0, float("inf")]])
def test_samples_have_to_be_numbers(values):
    about = experiment(samples=[{"series": "", "x": 1, "values": values}])
    with pytest.raises(ValueError, match=r"'copy-cost'.*(no samples|not a finite number)"):
        figures.draw({"name": "copy-cost", **about}, [])


def test_what_the_cpu_did_does_not_carry_the_name_of_the_gpu(tmp_path, monkeypatch):
    both = rates(where="GPU")
    both["samples"] = [
        {"series": "CuPy", "x": None, "values": [2e12], "where": "GPU"},
        {"series": "NumPy", "x": None, "values": [1e11], "where": "CPU"},
    ]
    card = record("Made-up A", tmp_path, rates=both)
    card.machine["cpu"] = "Made-up CPU"
    figure = figures.draw("rates", [card])
    assert [(row[0], row[1]) for row in figure.rows()] == [
        ("Made-up A", "CuPy"),
        ("Made-up CPU beside Made-up A", "NumPy"),
    ]
    assert figure.caption().count("ecorded on Made-up A and Made-up CPU, 2") == 1
    monkeypatch.setattr(machines, "hardware", lambda: ("Made-up CPU", 2, ["Made-up B"]))
    alone = {"name": "rates", **both, "where": "CPU", "samples": both["samples"][1:]}
    figure = figures.draw(alone, [], this_machine="Made-up B")
    assert [row[0] for row in figure.rows()] == ["this machine: Made-up CPU beside Made-up B"]
    assert "Made-up CPU beside Made-up B, measured now." in figure.caption()
    figure = figures.draw({**alone, "samples": both["samples"]}, [], this_machine="Made-up B")
    assert "Made-up B and Made-up CPU, measured now." in figure.caption()
    figure = figures.draw({**alone, "samples": both["samples"][:1]}, [], this_machine="Made-up B")
    assert "Made-up B, measured now." in figure.caption()


# --- Pictures with long names, many ticks and several series in rows ---------------------------------------------------


def drawn_labels(picture):
    """The texts of a picture, from left to right and from top to bottom as they stand in it."""
    return [" ".join(text.get_text(" ").split()) for text in picture.find_all("text")]


def in_words(samples, tmp_path, name="NVIDIA H100 80GB HBM3", **more):
    about = experiment(
        x={"label": "kernel", "unit": ""},
        samples=[{"series": s, "x": x, "values": [v]} for s, x, v in samples],
        **({"limits": []} | more),
    )
    return record(name, tmp_path, rows=about)


def test_a_cpu_beside_a_gpu_has_a_short_name_in_pictures_and_its_whole_one_in_the_table(tmp_path):
    cpu = "Intel(R) Xeon(R) Processor (family 6, model 207)"
    records = []
    for name in "Made-up A", "Made-up B":
        records.append(in_words([("", "NumPy", 1.0), ("", "Numba", 2.0)], tmp_path, name, where="CPU"))
        records[-1].machine["cpu"] = cpu
    figure = figures.draw("rows", records)
    (picture,) = soup(figure).find_all("svg")
    said = picture.get_text(" ")
    assert "beside" in said and "family" not in said
    assert {row[0] for row in figure.rows()} == {f"{cpu} beside Made-up A", f"{cpu} beside Made-up B"}
    assert cpu in figure.caption() and cpu in picture["aria-label"]


def test_a_row_has_room_for_each_line_of_its_name(tmp_path):
    figure = figures.draw(
        "rows", [in_words([("", "a kernel with a name " * 3, 1.0), ("", "b", 2.0)], tmp_path)]
    )
    long, short = plotting._rows(figure, [("", 0, list(figure.runs[0].points))], together=False)
    letters = plotting.LETTERS * 1.2 / 72  # inches of a line
    assert len(long.name) > 2 and long.height >= len(long.name) * letters
    assert short.height == pytest.approx(0.42)


def test_rows_of_one_place_stand_together(tmp_path):
    samples = [(way, shape, 1.0 + k) for k, way in enumerate(("direct", "FFT")) for shape in ("3×3", "5×5")]
    (picture,) = soup(figures.draw("rows", [in_words(samples, tmp_path)])).find_all("svg")
    names = [text for text in drawn_labels(picture) if "×" in text]
    assert names == ["3×3, direct", "3×3, FFT", "5×5, direct", "5×5, FFT"]


def test_ticks_whose_labels_would_touch_are_not_written(tmp_path):
    y = {"label": "operations a second", "unit": "FLOP/s"}
    samples = [("", name, value) for name, value in (("plain", 1.3e12), ("tile 32", 8e12), ("library", 5e13))]
    (picture,) = soup(figures.draw("rows", [in_words(samples, tmp_path, y=y)])).find_all("svg")
    ticks = [text for text in drawn_labels(picture) if re.fullmatch(r"\d+ TFLOP/s", text)]
    assert ticks == ["2 TFLOP/s", "10 TFLOP/s", "50 TFLOP/s"]


def test_the_number_beside_a_wide_band_does_not_cover_the_name_of_its_row(tmp_path):
    wide = in_words([("", "narrow", 1.0)], tmp_path)
    samples = wide.experiments["rows"]["samples"]
    samples.append({"series": "", "x": "wide", "values": [0.1, 0.3, 2.0, 2.4, 2.5]})
    (picture,) = soup(figures.draw("rows", [wide])).find_all("svg")
    places = {" ".join(text.get_text(" ").split()): anchored(text) for text in picture.find_all("text")}
    assert places["2.00 s"][1] == "start" and places["2.00 s"][0] > places["wide"][0]


def anchored(text):
    """Where a text of a picture stands from left to right, and which end of it stands there."""
    place = float(re.search(r"translate\(([\d.]+)|(?<=x=\")([\d.]+)", str(text))[1] or text["x"])
    anchor = re.search(r"text-anchor: (\w+)", str(text))
    return place, anchor[1] if anchor else "start"


def test_the_title_above_rows_ends_within_the_panel(tmp_path):
    title = "stand-in on a machine with 2 cores"
    about = in_words([("", "a kernel", 1.0)], tmp_path).experiments["rows"] | {"where": "stand-in"}
    figure = figures.draw({"name": "rows", **about}, [], this_machine=title.removeprefix("stand-in on "))
    (picture,) = soup(figure).find_all("svg")
    lines = [" ".join(text.get_text(" ").split()) for text in picture.find_all("text")]
    assert "(not a GPU's time)" in " ".join(lines) and not any(len(line) > 32 for line in lines)
