"""The tables of generated programs on the page "Stand-ins: how we know"."""

import json
import re
from pathlib import Path

from book import generated
from tests.corpora.kernels.generated import figures

PAGE = Path(generated.FILE).parents[1] / "chapters" / "stand-ins-tested.md"


def test_a_column_without_numbers_is_left_out_unless_its_zero_is_the_news():
    data = {
        "columns": ["kind", "mode", "programs", "same", "failed", "silently different"],
        "rows": [["mixed", "compiled", 1200, 1200, 0, 0]],
    }
    assert generated.table_of(data) == [
        ["kind", "mode", "programs", "same", "silently different"],
        ["mixed", "compiled", "1,200", "1,200", "0"],
    ]


def test_figures_of_one_mode_leave_those_of_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FILE", tmp_path / "figures.json")
    for mode, outcome in (("compiled", "same"), ("interpreted", "different"), ("interpreted", "same")):
        table = figures.Table(("same", "different"))
        table.count("mixed", mode, outcome)
        figures.write("typed programs", table, "versions")
    assert json.loads(figures.FILE.read_text())["typed programs"]["rows"] == [
        ["mixed", "compiled", 1, 1, 0],
        ["mixed", "interpreted", 1, 1, 0],
        ["all", "compiled", 1, 1, 0],
        ["all", "interpreted", 1, 1, 0],
    ]


def test_page_has_every_table_and_no_fault_is_hidden():
    kept = json.loads(generated.FILE.read_text())
    assert set(re.findall(r"\{generated-programs\} (.*)", PAGE.read_text())) == set(kept)
    for data in kept.values():
        head = generated.table_of(data)[0]
        assert {"programs", "kind", "mode"} < set(head)
        for row in data["rows"]:
            assert sum(row[3:]) == row[2], row
