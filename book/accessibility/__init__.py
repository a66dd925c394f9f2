"""`{accessibility-report}` and `{accessibility-manual}`: what axe-core found, and what a person still has to try.

`python -m tests.commands.accessibility` runs axe-core on the built site and writes `results.json`.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
NOT_EVALUATED = "Not Evaluated"


def read(name: str) -> dict[str, Any]:
    """Return one of the data files beside this module."""
    text = (HERE / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else tomllib.loads(text)


def remark(criterion: str, results: dict[str, Any]) -> str:
    """Return what axe's rules for a criterion found; a rule that finds nothing proves no conformance."""
    tag = "wcag" + criterion.replace(".", "")
    rules = {name: rule for name, rule in results["rules"].items() if tag in rule["tags"]}
    if not rules:
        return "No automated rule ran."
    faults = sorted(name for name, rule in rules.items() if rule["violations"])
    ran = [name for name, rule in sorted(rules.items()) if rule["passes"] or rule["violations"]]
    unsure = sorted(name for name, rule in rules.items() if rule["incomplete"])
    said = [f"Fault found by {', '.join(faults)}." if faults else ""]
    said.append(
        f"No fault found by {', '.join(each for each in ran if each not in faults)}."
        if set(ran) - set(faults)
        else ""
    )
    said.append(f"A person has to decide: {', '.join(unsure)}." if unsure else "")
    said.append("Its rules found nothing to look at." if not ran and not unsure else "")
    return " ".join(filter(None, said))


def report() -> str:
    """Return the table of criteria as Markdown."""
    results = read("results.json")
    pages = ", ".join(results["pages"])
    rows = [
        f"axe-core {results['axe']} looked at {len(results['pages'])} pages on {results['date']}: {pages}.",
        "",
        "| criterion | level | version | conformance | what axe-core's rules found |",
        "|---|---|---|---|---|",
    ]
    for number, (level, name, *version) in read("criteria.toml").items():
        which = {"2.2": "2.2 only", "2.1": "2.1 only"}[version[0]] if version else "2.1, 2.2"
        rows.append(f"| {number} {name} | {level} | {which} | {NOT_EVALUATED} | {remark(number, results)} |")
    return "\n".join(rows)


def manual() -> str:
    """Return what a person has to try, and what became of it, as a Markdown table."""
    rows = ["| what to try | result | by | date | tool |", "|---|---|---|---|---|"]
    for each in read("manual.toml").values():
        done = all(each.get(key) for key in ("by", "date", "tool", "result"))
        cells = (
            [each["result"], each["by"], each["date"], each["tool"]]
            if done
            else ["not evaluated", "", "", ""]
        )
        rows.append(f"| {each['what']} | {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


class Made(SphinxDirective):
    """A table of this module."""

    def run(self) -> list[nodes.Node]:
        for path in HERE.glob("*.*"):
            self.env.note_dependency(str(path))
        return self.parse_text_to_nodes(report() if self.name == "accessibility-report" else manual())


def setup(app: Sphinx) -> None:
    app.add_directive("accessibility-report", Made)
    app.add_directive("accessibility-manual", Made)
