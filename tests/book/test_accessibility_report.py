"""The accessibility report says no more than what was tried."""

from book import accessibility


def test_no_criterion_is_called_conforming_by_a_machine():
    report = accessibility.report()
    rows = [line for line in report.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert len(rows) == len(accessibility.read("criteria.toml")) == 56
    assert all("| Not Evaluated |" in row for row in rows)


def test_every_criterion_of_axes_rules_at_a_and_aa_is_in_the_list():
    listed = {"wcag" + number.replace(".", "") for number in accessibility.read("criteria.toml")}
    rules = accessibility.read("results.json")["rules"].values()
    graded = {"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"}
    named = {tag for rule in rules if graded & set(rule["tags"]) for tag in rule["tags"] if tag[4:].isdigit()}
    assert named and named - {"wcag213"} <= listed  # 2.1.3 is of level AAA


def test_a_rule_with_a_fault_is_named():
    rule = {"tags": ["wcag111"], "passes": 2, "violations": 1, "incomplete": 0, "inapplicable": 0}
    other = rule | {"violations": 0}
    results = {"rules": {"image-alt": rule, "svg-alt": other}}
    said = accessibility.remark("1.1.1", results)
    assert said == "Fault found by image-alt. No fault found by svg-alt."
    assert accessibility.remark("1.2.1", results) == "No automated rule ran."


def test_an_item_is_evaluated_only_with_name_date_tool_and_result(monkeypatch):
    done = {"what": "x", "by": "A. Person", "date": "2027-01-31", "tool": "NVDA", "result": "works"}
    for left_out, expected in ((None, "works"), ("by", "not evaluated"), ("tool", "not evaluated")):
        entry = {key: value for key, value in done.items() if key != left_out}
        monkeypatch.setattr(accessibility, "read", lambda name, entry=entry: {"x": entry})
        assert expected in accessibility.manual()
