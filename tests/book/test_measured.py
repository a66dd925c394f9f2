"""Measured numbers in prose, and the page that compares machines. The machines of these tests do not exist."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from book import measured
from book.measured import MeasuredError, Wanted, answer, number, parsed, why_stale
from host_to_device.measuring import known_limits, ledger

ROOT = Path(__file__).resolve().parents[2]
CELL = 'with h2d.experiment("copy-cost", x=("size", "B")) as e:\n    pass'
SLOWER = [{"series": s, "x": x, "values": [v, v, v * 2]} for s, x, v in (
    ("pinned", 2**10, 1e-5), ("pinned", 2**20, 3e-5), ("pageable", 2**10, 2e-5), ("pageable", 2**20, 9e-5),
)]  # fmt: skip


def data(name="Made-up A", kind="gpu", **experiments):
    """The content of a record, of a machine that does not exist."""
    gpus = [{"name": name, "memory": 8 * 2**30, "compute_capability": "9.9"}] if kind == "gpu" else []
    known = {
        "copy bandwidth": {"value": 1.5e12, "unit": "B/s", "samples": [1.4e12, 1.5e12, 1.5e12, 1.7e12], "how": "A copy in memory."},
        "cores scaling": {"value": 1.9, "unit": known_limits.KNOWN["cores scaling"], "samples": [1.9], "how": "All cores."},
    }  # fmt: skip
    if kind == "gpu":
        known["launch latency"] = {"value": 4e-6, "unit": "s", "samples": [4e-6], "how": "Empty kernels."}
    return {
        "schema": 1,
        "machine": {
            "name": name, "kind": kind, "cpu": "Made-up CPU", "cores": 2, "memory": 16 * 2**30, "os": "Linux",
            "gpus": gpus, "driver": "123.4" if gpus else None, "cuda": "13.0" if gpus else None,
        },
        "versions": {"python": "3.11.0", "numpy": "2.0.0", "numba": None, "torch": None, "cupy": None,
                     "numba-cuda": None, "host-to-device": "0.1.0"},
        "date": "2001-02-03",
        "commit": "abcdef0123456789abcdef0123456789abcdef01",
        "clean": True,
        "limits": known,
        "experiments": {each.replace("_", "-"): about for each, about in experiments.items()},
    }  # fmt: skip


def copy_cost(**more):
    about = {
        "title": "Time of a copy",
        "x": {"label": "size", "unit": "B"},
        "y": {"label": "time", "unit": "s"},
        "notebook": "notebooks/01-made-up.ipynb",
        "cell": "copy",
        "cell_hash": ledger.digest(CELL),
        "date": "2001-02-04",
        "commit": None,
        "clean": None,
        "where": "GPU",
        "samples": SLOWER,
    }
    return about | more


def write_notebook(root, source=CELL, cell="copy"):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, id=cell)])
    (root / "notebooks").mkdir(exist_ok=True)
    nbformat.write(notebook, root / "notebooks" / "01-made-up.ipynb")


def write_record(root, content):
    (root / "measurements").mkdir(exist_ok=True)
    path = root / "measurements" / f"{ledger.machines.slug(content['machine']['name'])}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def root(tmp_path):
    write_notebook(tmp_path)
    return tmp_path


def look_up(text, root, content=None, made=("copy-cost",)):
    path = root / "measurements" / "made-up-a.json"
    records = [] if content is None else [ledger.Record(content, path)]
    return answer(parsed(text), records, dict.fromkeys(made), root)


# --- The words of a reference ----------------------------------------------------------------------------------


def test_a_reference_has_four_parts():
    assert parsed("copy-cost, pinned, 1 MiB @ AMD, 2 cores | a while") == Wanted(
        "copy-cost", "", ("pinned", "1 MiB"), "AMD, 2 cores", "a while"
    )
    assert parsed("limit: host to device, pinned@H200|fast") == Wanted(
        "", "host to device, pinned", (), "H200", "fast"
    )


@pytest.mark.parametrize(
    "text", ["", "copy-cost", "copy-cost @ H200", "copy-cost | a while", "@ H200 | a while", "copy-cost @ | a while",
             "copy-cost @ H200 |", "copy-cost, , 1 MiB @ H200 | a while", "a, b, c, d @ H200 | a while"],
)  # fmt: skip
def test_a_reference_without_all_its_parts_says_how_to_write_one(text):
    with pytest.raises(MeasuredError, match=re.escape(measured.GRAMMAR)):
        parsed(text)


@pytest.mark.parametrize(
    "text, unit, value",
    [("1 MiB", "B", 2**20), ("1.5 KiB", "B", 1536), ("100 bytes", "B", 100), ("2 MB", "B", 2e6), ("20 µs", "s", 2e-5),
     ("1000", "", 1000), ("1e3", "B", 1000), ("64 threads", "threads", 64), ("3 GFLOP/s", "FLOP/s", 3e9)],
)  # fmt: skip
def test_a_place_on_the_axis_may_have_a_unit(text, unit, value):
    assert number(text, unit) == pytest.approx(value)


@pytest.mark.parametrize("text, unit", [("large", "B"), ("1 minute", "s"), ("1 MiB", "s"), ("3d", "")])
def test_what_is_no_number_in_this_unit_stays_a_word(text, unit):
    assert number(text, unit) == text


# --- What it becomes -------------------------------------------------------------------------------------------


def test_a_machine_without_a_record_gives_the_words(root):
    for text in ("copy-cost, pinned, 1 MiB @ H200 | a while", "limit: copy bandwidth @ H200 | a while"):
        assert look_up(text, root) == measured.Answer("a while")


def test_a_record_without_the_experiment_or_limit_gives_the_words(root):
    assert look_up("copy-cost, pinned, 1 MiB @ Made-up A | a while", root, data()).text == "a while"
    assert look_up("limit: matmul tf32 @ Made-up A | fast", root, data()).text == "fast"


def test_a_recorded_number_is_the_median_with_unit_and_stamp(root):
    found = look_up("copy-cost, pinned, 1 MiB @ Made-up A | a while", root, data(copy_cost=copy_cost()))
    assert found.text == "30.0 µs" and found.slug == "made-up-a"
    assert found.source == "median of 3 samples, measured on Made-up A, 2001-02-04, driver 123.4"


def test_a_limit_has_its_unit_and_stamp(root):
    found = look_up("limit: copy bandwidth @ Made-up A | fast", root, data())
    assert found.text == "1.50 TB/s" and "Made-up A, 2001-02-03, driver 123.4, commit abcdef0" in found.source


def test_one_part_is_enough_where_there_is_one(root):
    one = data(copy_cost=copy_cost(samples=SLOWER[:1]))
    texts = (
        "copy-cost",
        "copy-cost, pinned",
        "copy-cost, 1 KiB",
        "copy-cost, 1024",
        "copy-cost, pinned, 1 KiB",
    )
    assert {look_up(f"{text} @ Made-up A | a while", root, one).text for text in texts} == {"10.0 µs"}


def test_an_experiment_that_no_notebook_makes_is_a_mistake_even_without_a_record(root):
    for content in (None, data(copy_costs=copy_cost())):
        with pytest.raises(
            MeasuredError, match=r"no notebook makes an experiment 'copy-costs'; they make: copy-cost"
        ):
            look_up("copy-costs, pinned @ Made-up A | a while", root, content)


def test_a_limit_that_does_not_exist_is_a_mistake(root):
    with pytest.raises(MeasuredError, match=r"no limit 'speed of light'; there are: copy bandwidth"):
        look_up("limit: speed of light @ H200 | fast", root)


@pytest.mark.parametrize(
    "asked, problem",
    [
        ("copy-cost, pined, 1 MiB", "is not there"),
        ("copy-cost, pinned, 2 MiB", "is not there"),
        ("copy-cost, pinned", "more than one"),
        ("copy-cost", "more than one"),
    ],
)
def test_a_number_that_the_record_does_not_have_is_a_mistake(root, asked, problem):
    with pytest.raises(
        MeasuredError, match=f"{problem}.*; there are: pinned at 1 KiB, pinned at 1 MiB, pageable"
    ):
        look_up(f"{asked} @ Made-up A | a while", root, data(copy_cost=copy_cost()))


def test_a_stale_number_says_so_and_a_missing_one_gives_the_words(root):
    old = data(copy_cost=copy_cost(cell_hash="0" * 64))
    assert "has changed since" in look_up("copy-cost, pinned, 1 MiB @ Made-up A | a while", root, old).source
    assert look_up("copy-cost, managed, 1 MiB @ Made-up A | a while", root, old).text == "a while"


def test_why_a_record_is_stale(root):
    assert why_stale(copy_cost(), root) == ""
    assert why_stale(copy_cost(cell_hash="0" * 64), root) == "its cell has changed since"
    assert why_stale(copy_cost(cell="gone"), root) == "its cell is no longer in the notebook"
    assert "01-gone.ipynb is no longer" in why_stale(copy_cost(notebook="notebooks/01-gone.ipynb"), root)
    for about in (copy_cost(), copy_cost(cell_hash="0" * 64), copy_cost(cell="gone")):
        record = ledger.Record(data(copy_cost=about), root / "made-up-a.json")
        assert record.is_stale("copy-cost", root) == bool(why_stale(about, root))


@pytest.mark.parametrize(
    "source, names",
    [
        ('with h2d.experiment("one") as e:\n    pass', ["one"]),
        (
            '%matplotlib inline\n!ls\nfor k in range(2):\n    with experiment("two", title="Two"): pass',
            ["two"],
        ),
        ('with h2d.experiment("a") as a, h2d.experiment("b") as b: pass', ["a", "b"]),
        ('# h2d.experiment("one")\ntext = \'h2d.experiment("one")\'', []),
        ("h2d.experiment(name)\nh2d.experiment()\nh2d.time('one')", []),
        ('%%bash\nexperiment("one', []),
    ],
)
def test_an_experiment_is_a_call_in_a_notebook(source, names):
    assert ledger.experiments_of(source) == names


# --- A book --------------------------------------------------------------------------------------------------------

PROSE = "It takes {measured}`copy-cost, pinned, 1 MiB @ Made-up A | (not measured yet)`.\n"


class Book:
    """A small book around the extension: what it warns of, and its pages."""

    def __init__(self, root):
        self.root = root
        (root / "chapters").mkdir()
        (root / "index.md").write_text(
            "# A book\n\n```{toctree}\nchapters/prose\nchapters/measurements\n```\n"
        )
        (root / "chapters" / "prose.md").write_text(f"# Prose\n\n{PROSE}")
        page = ROOT / "chapters" / "measurements.md"
        parts = re.findall(
            r"^## .*?^```\{measured-\w+\}\n```$", page.read_text(encoding="utf-8"), re.M | re.S
        )
        (root / "chapters" / "measurements.md").write_text("# Measurements\n\n" + "\n\n".join(parts))

    def build(self):
        """Build, and return what was read anew; a warning is an error as in `make book`."""
        read, warnings = [], io.StringIO()
        settings = {
            "extensions": ["myst_parser", "book.measured"],
            "suppress_warnings": ["ref", "myst.xref_missing"],
        }
        out = self.root / "_build"
        with docutils_namespace(), patch_docutils():
            app = Sphinx(self.root, None, out, out / "trees", "html", settings, io.StringIO(), warnings)
            app.connect("source-read", lambda app, page, source: read.append(page))
            app.build()
        self.warnings = warnings.getvalue()
        return set(read)

    def page(self, name):
        return BeautifulSoup(
            (self.root / "_build" / "chapters" / f"{name}.html").read_text("utf-8"), "html.parser"
        )

    def text(self, name):
        return " ".join(self.page(name).select_one("[role=main]").get_text(" ").split())


@pytest.fixture
def book(root, monkeypatch):
    monkeypatch.setattr(measured, "ROOT", root)
    monkeypatch.setenv("H2D_MEASUREMENTS", str(root / "private"))
    return Book(root)


def test_a_book_without_records_has_the_words_and_an_empty_page(book):
    book.build()
    assert book.warnings == ""
    assert "It takes (not measured yet)." in book.text("prose")
    page = book.text("measurements")
    assert "No machine has a record" in page and "No limit has been measured" in page
    assert "not recorded yet: copy-cost" in page


def test_a_number_in_prose_leads_to_its_machine_and_says_where_it_is_from(book):
    write_record(book.root, data(copy_cost=copy_cost()))
    book.build()
    assert book.warnings == ""
    (link,) = book.page("prose").select("p a.measured")
    assert link["href"] == "measurements.html#machine-made-up-a"
    assert "Made-up A, 2001-02-04" in link["title"]
    assert "Made-up A, 2001-02-04" in link.select_one(".visually-hidden").get_text()
    assert book.page("measurements").find(id="machine-made-up-a").h3.get_text().startswith("Made-up A")


def test_the_page_compares_machines_and_shows_their_stamps(book):
    write_record(book.root, data(copy_cost=copy_cost()))
    write_record(book.root, data("Made-up C", "cpu"))
    book.build()
    assert book.warnings == ""
    page = book.page("measurements")
    table = page.find("caption", string=re.compile("^Limits")).parent
    assert [head.get_text() for head in table.select("thead th")] == ["limit", "Made-up A", "Made-up C"]
    cells = {
        row.th.get_text(): [cell.get_text().replace("\u00a0", " ") for cell in row.find_all("td")]
        for row in table.select("tbody tr")
    }
    assert cells["copy bandwidth"] == ["1.50 TB/s1.48 TB/s to 1.55 TB/s"] * 2
    assert cells["launch latency"][0] == "4.00 µs" and "not measured" in cells["launch latency"][1]
    stamp = page.find(id="machine-made-up-a").get_text(" ")
    for part in ("8 GiB", "driver 123.4", "CUDA 13.0", "NumPy 2.0.0", "2001-02-03, commit abcdef0", "16 GiB"):
        assert part in stamp
    assert "none" in page.find(id="machine-made-up-c").get_text(" ")
    assert page.find(id="experiment-copy-cost").find("svg")
    places = {link["href"] for link in page.select("[role=main] a[href^='#']")}
    assert {place[1:] for place in places} <= {tag["id"] for tag in page.find_all(id=True)}


@pytest.mark.parametrize(
    "clean, said", [(False, "changes that were not committed"), (None, "state of the files not known")]
)
def test_the_page_says_if_the_files_were_not_those_of_the_commit(book, clean, said):
    write_record(book.root, data() | {"clean": clean})
    book.build()
    assert said in book.text("measurements")


def test_a_stale_experiment_is_listed_with_why_and_stops_nothing(book):
    write_record(book.root, data(copy_cost=copy_cost(cell_hash="0" * 64)))
    book.build()
    assert book.warnings == ""
    row = book.page("measurements").find(id="machine-made-up-a").select_one("tbody tr").get_text(" ")
    assert "copy-cost" in row and "stale: its cell has changed since" in row
    assert "The record of Made-up A is stale" in book.text("measurements")


def test_an_experiment_that_no_notebook_makes_any_more_is_shown_as_such(book):
    write_record(book.root, data(old_one=copy_cost(cell="gone")))
    book.build()
    assert book.warnings == "" and "no notebook makes it any more" in book.text("measurements")


def test_a_reference_stands_in_a_table_too(book):
    row = "| a copy | {measured}`copy-cost, pinned, 1 MiB @ Made-up A \\| long` | {measured}`limit: copy bandwidth @ H200 \\| (not recorded)` |"
    (book.root / "chapters" / "prose.md").write_text(
        f"# Prose\n\n| what | A | H200 |\n|---|---|---|\n{row}\n"
    )
    write_record(book.root, data(copy_cost=copy_cost()))
    book.build()
    assert book.warnings == ""
    _, measured_here, words = book.page("prose").select("tbody td")
    assert measured_here.a.get_text().startswith("30.0\u00a0µs") and words.get_text() == "(not recorded)"


@pytest.mark.parametrize(
    "words", ["as long as two additions", "measured", "a notable time", "nothing recorded"]
)
def test_words_that_read_like_a_finding_stop_every_build_where_there_is_no_number(book, words):
    page = book.root / "chapters" / "prose.md"
    page.write_text(f"# Prose\n\nIt takes {{measured}}`copy-cost, pinned, 1 MiB @ Made-up A | {words}`.\n")
    for _ in range(2):
        book.build()
        assert re.search(
            r"prose\.md:3: WARNING: .*no record has 'copy-cost, pinned, 1 MiB @ Made-up A'", book.warnings
        )
        assert f"{words!r}, read like a finding: write words that say 'not measured'" in book.warnings
    write_record(book.root, data(copy_cost=copy_cost()))
    book.build()
    assert book.warnings == "" and "30.0 µs" in book.text("prose")


@pytest.mark.parametrize("words", ["(not measured yet)", "a time that was not recorded", "Not yet measured"])
def test_words_that_say_that_there_is_no_number_stop_nothing(words):
    measured.stated("copy-cost @ H200 | " + words, words)


def test_a_limit_that_another_measurement_exceeds_is_marked_with_the_reason(book):
    record = data("Made-up C", "cpu")
    record["limits"]["cores scaling"] |= {"value": 2.87, "samples": [2.87]}
    write_record(book.root, record)
    write_record(book.root, data())
    (book.root / "chapters" / "prose.md").write_text(
        "# Prose\n\nIt is {measured}`limit: cores scaling @ Made-up C | (not recorded)`.\n"
    )
    book.build()
    assert book.warnings == ""
    page = book.page("measurements")
    row = next(row for row in page.select("tbody tr") if row.th and row.th.get_text() == "cores scaling")
    fine, wrong = row.find_all("td")
    assert "doubtful" not in fine.get_text()
    assert "doubtful: 2\u00a0cores cannot be more than 2\u00a0times as fast as one" in wrong.get_text()
    assert page.find(id=wrong.a["href"].removeprefix("#")), "the mark leads to what it means"
    (link,) = book.page("prose").select("p a.measured")
    assert "doubtful: 2 cores cannot be more than 2 times" in link["title"]


def test_an_unknown_experiment_stops_every_build(book):
    page = book.root / "chapters" / "prose.md"
    page.write_text("# Prose\n\nIt takes {measured}`copy-costs @ Made-up A | a while`.\n")
    book.build()
    book.build()
    assert re.search(r"prose\.md:3: WARNING: .*no notebook makes an experiment 'copy-costs'", book.warnings)


def test_a_broken_record_stops_every_build(book):
    path = write_record(book.root, data(copy_cost=copy_cost()))
    book.build()
    path.write_text(path.read_text()[:100])
    for _ in range(2):
        book.build()
        assert "made-up-a.json is broken" in book.warnings


def test_a_private_record_is_no_part_of_the_book(book):
    (book.root / "private").mkdir()
    write_record(book.root, data()).rename(book.root / "private" / "made-up-a.json")
    assert [record.machine_name for record in ledger.records() if record.private] == ["Made-up A"]
    book.build()
    assert "No machine has a record" in book.text("measurements")


def test_pages_with_numbers_are_read_again_when_a_record_or_a_notebook_changes(book):
    (book.root / "index.md").write_text((book.root / "index.md").read_text() + "\nNo number.\n")
    assert book.build() == {"index", "chapters/prose", "chapters/measurements"}
    assert book.build() == set()
    both = {"chapters/prose", "chapters/measurements"}
    path = write_record(book.root, data(copy_cost=copy_cost()))
    assert book.build() == both and "30.0 µs" in book.text("prose")
    assert book.build() == set()
    write_notebook(book.root, CELL + " # changed")
    assert book.build() == both and "stale" in book.text("measurements")
    path.unlink()
    assert book.build() == both and "(not measured yet)" in book.text("prose")


# --- This book -----------------------------------------------------------------------------------------------------


def test_it_is_built_without_numba_and_torch():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('numba', 'torch', 'cupy'))); "
        "from book import measured; measured.records(); print(len(measured.table_html('', 'a', [])))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_records_of_this_book_name_their_machines():
    for record in measured.records():
        assert record.machine_name and "made-up" not in record.machine_name.lower()
        assert dict(measured.stamp_rows(record))["Date"].startswith(record.data["date"])
