"""A training step that was recorded on a GPU, shown from a file of `measurements/traces/`.

`{recorded-runs}` is a table of what nvidia-smi and the clocks said, a row for each batch size and way; its body is the
caption:

    ```{recorded-runs} nvidia-h100-80gb-hbm3-contrastive-step
    :name: tab-util
    One training step, eager and as a graph
    ```

`{recorded-rows}` is a table of some of the profiler's rows for one step; its body is a line for each row, with words for
the last column, and `:caption:` and `:words:` are the caption and the head of that column:

    ```{recorded-rows} nvidia-h100-80gb-hbm3-contrastive-step 256
    :caption: Rows of the profiler
    :words: what it is
    aten::mm | an operation
    ```

`{recorded-timeline}` is the picture of one step as `h2d.timeline` draws it; its body is the caption. Below each stands
where the numbers are from. A file, a step or a row that is not there stops the build. `python -m
benchmarks.contrastive_step` writes the files.
"""

from __future__ import annotations

import datetime
import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from host_to_device.counting.timelines import Timeline, from_trace
from host_to_device.measuring import ledger
from host_to_device.measuring.points import unbroken
from host_to_device.rendering import units

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "measurements" / "traces"
TOTAL = "Self CUDA time total"


def path_of(name: str) -> Path:
    """Return the path of a file of recorded steps.

    Raises
    ------
    LookupError
        If there is none: the message lists those that are there.
    """
    there = {path.stem: path for path in sorted(FOLDER.glob("*.json")) if path.name != "schema.json"}
    if name not in there:
        raise LookupError(f"measurements/traces has no {name!r}, only {', '.join(there) or 'no file'}")
    return there[name]


def read(name: str) -> dict[str, Any]:
    """Return the content of a file of recorded steps; `LookupError` if there is none."""
    return json.loads(path_of(name).read_text(encoding="utf-8"))


def trace(data: dict[str, Any], samples: int) -> dict[str, Any]:
    """Return the recorded step of a batch size.

    Raises
    ------
    LookupError
        If there is none: the message lists those that are there.
    """
    of_size = {each["samples"]: each for each in data["traces"]}
    if samples not in of_size:
        raise LookupError(f"no step of {samples} samples is recorded, only {', '.join(map(str, of_size))}")
    return of_size[samples]


def timeline(data: dict[str, Any], samples: int) -> Timeline:
    """Return the recorded step of a batch size as `h2d.timeline` has it; kernels have the names of their operations."""
    events = [
        {**each, "name": each["args"].get("operation", each["name"]).removeprefix("aten::")}
        if each["cat"] == "kernel"
        else each
        for each in trace(data, samples)["events"]
    ]
    found = Timeline()
    found.events, found.where = from_trace(events), f"GPU {data['machine']['name']}, by CUPTI"
    return found


def busy(seconds: float) -> str:
    """Return a time in ms to two digits, as exact as GPU-Util in whole per cent."""
    time = seconds * 1e3
    return f"{time:.{2 if time < 1 else 1 if time < 10 else 0}f} ms"


def run_table(data: dict[str, Any]) -> list[list[str]]:
    """Return head and rows of the table of runs."""
    rows = [["samples", "way", "step", "busy cores", "GPU-Util", "GPU-Util × step", "power"]]
    for run in data["runs"]:
        util = run["gpu_util"]
        rows.append(
            [
                f"{run['samples']:,}",
                run["way"],
                f"{units.digits(run['seconds'] * 1e3)} ms",
                f"{run['cores']:.2f}",
                "–" if util is None else f"{util:.0f} %",
                "–" if util is None else busy(util / 100 * run["seconds"]),
                "–" if run["power"] is None else f"{run['power']:.0f} W",
            ]
        )
    # A number and its unit stay on one line.
    return [rows[0], *([unbroken(cell) for cell in row] for row in rows[1:])]


def sum_table(data: dict[str, Any], samples: int, lines: list[str], words: str) -> list[list[str]]:
    """Return head and rows of the profiler's table: for each line "name | words" the row of that name.

    The name `TOTAL` is the line below the profiler's own table.

    Raises
    ------
    LookupError
        If the step has no such row, or no step of this batch size is recorded.
    """
    found = trace(data, samples)["sums"]
    of_name = {each["name"]: each for each in found}
    rows = [["row", "calls", "Self CPU, µs", "Self CUDA, µs", words]]
    for line in filter(str.strip, lines):
        name, _, says = (part.strip() for part in line.partition("|"))
        if name == TOTAL:
            rows.append([TOTAL, "", "", f"{sum(each['device'] for each in found) * 1e6:.0f}", says])
            continue
        if name not in of_name:
            raise LookupError(f"the step of {samples} samples has no row {name!r}, only {', '.join(of_name)}")
        row = of_name[name]
        times = [f"{row[part] * 1e6:.0f}" for part in ("host", "device")]
        rows.append([f"`{name}`", str(row["calls"]), *times, says])
    return rows


def stamp(data: dict[str, Any], root: Path = ROOT) -> str:
    """Return where a file's numbers are from, and whether its notebook's cells have changed since."""
    day = datetime.date.fromisoformat(data["date"])
    torch = (data["versions"]["torch"] or "").partition("+")[0]
    said = f"Recorded on {data['machine']['name']}, PyTorch {torch}, {day.day} {day:%B %Y}."
    now = {name: ledger.digest(source) for name, source in ledger.code_cells(root / data["notebook"])}
    stale = [name for name, digest in data["cells"].items() if now.get(name) != digest]
    return said + (f" The notebook's cell {', '.join(stale)} has changed since." if stale else "")


class Recorded(SphinxDirective):
    """What the three directives share: they read the file, and say below what it is from."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        name, _, samples = self.arguments[0].partition(" ")
        try:
            path = path_of(name)
            self.env.note_dependency(str(path))
            data = json.loads(path.read_text(encoding="utf-8"))
            self.env.note_dependency(str(ROOT / data["notebook"]))
            shown = self.shown(data, int(samples) if samples.isdecimal() else 0)
        except LookupError as problem:
            raise self.error(f"{self.name}: {problem.args[0]}") from None
        line = nodes.paragraph("", stamp(data), classes=["h2d-stamp"])
        self.set_source_info(line)
        return [*shown, line, *self.below(data)]

    def below(self, data: dict[str, Any]) -> list[nodes.Node]:
        """Return what follows the stamp."""
        return []

    def shown(self, data: dict[str, Any], samples: int) -> list[nodes.Node]:
        raise NotImplementedError

    def table(self, rows: list[list[str]], caption: str) -> list[nodes.Node]:
        """Return a table with a caption; the first row is the head."""
        lines = [f":::{{list-table}} {caption}", ":header-rows: 1"]
        lines += [f":name: {self.options['name']}"] if "name" in self.options else []
        for row in rows:
            lines += ["", *(f"{'* -' if not place else '  -'} {cell}" for place, cell in enumerate(row))]
        holder = nodes.Element()
        source, line = self.get_source_info()
        self.state.nested_parse(StringList([*lines, ":::"], source=source), line, holder)
        return holder.children


class Runs(Recorded):
    """`{recorded-runs} FILE`."""

    option_spec = {"name": directives.unchanged}  # noqa: RUF012 - the directive interface wants a plain attribute

    def shown(self, data: dict[str, Any], samples: int) -> list[nodes.Node]:
        return self.table(run_table(data), " ".join(self.content))

    def below(self, data: dict[str, Any]) -> list[nodes.Node]:
        how = nodes.raw(
            "",
            f"<details><summary>How this was measured</summary><p>{escape(data['how'])}</p></details>",
            format="html",
        )
        self.set_source_info(how)
        return [how]


class Rows(Recorded):
    """`{recorded-rows} FILE SAMPLES`."""

    option_spec = {  # noqa: RUF012 - the directive interface wants a plain attribute
        "name": directives.unchanged,
        "caption": directives.unchanged_required,
        "words": directives.unchanged_required,
    }

    def shown(self, data: dict[str, Any], samples: int) -> list[nodes.Node]:
        if missing := [each for each in ("caption", "words") if each not in self.options]:
            raise self.error(f"{self.name}: say the {' and the '.join(missing)}")
        rows = sum_table(data, samples, list(self.content), self.options["words"])
        return self.table(rows, self.options["caption"])


class Picture(Recorded):
    """`{recorded-timeline} FILE SAMPLES`."""

    option_spec = {"name": directives.unchanged}  # noqa: RUF012 - the directive interface wants a plain attribute

    def shown(self, data: dict[str, Any], samples: int) -> list[nodes.Node]:
        of_step = timeline(data, samples)
        figure = nodes.figure(classes=["drawing"])
        # Its colours follow the page; the style for a notebook's dark theme has no place here.
        page = re.sub(r"<style>.*?</style>", "", of_step.html(len(of_step)), flags=re.S)
        figure += nodes.raw("", page, format="html")
        caption = nodes.caption("", "", *self.parse_inline(" ".join(self.content))[0])
        figure += caption
        for each in (caption, figure):
            self.set_source_info(each)
        self.add_name(figure)
        return [figure]


def setup(app: Sphinx) -> None:
    app.add_directive("recorded-runs", Runs)
    app.add_directive("recorded-rows", Rows)
    app.add_directive("recorded-timeline", Picture)
