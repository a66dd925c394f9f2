"""`{gpu-panel}` and `{race-lottery}`: measurements and races on the reader's own GPU, by WebGPU, beside the recorded machines.

    ```{gpu-panel} sums
    ```

    ```{race-lottery} histogram_quick
    ```

The page has the recorded numbers as a table, with or without JavaScript. `load.js` adds a button; nothing else is fetched
before the reader presses it. Then `gpu.js` opens the GPU, `measuring.js` measures, `drawing.js` draws, and `panels.js`
leads through all of it; `data.js`, which the build writes, has the shaders and the recorded numbers. No number that a
browser measures goes into `measurements/`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book import scripts
from book.webgpu import kernels
from host_to_device.measuring import ledger
from host_to_device.measuring.points import Point, shown_at, unbroken
from host_to_device.rendering import units

HERE = Path(__file__).parent
LOADER = HERE / "load.js"
PARTS = ("gpu.js", "measuring.js", "drawing.js", "panels.js")  # in the order in which a page loads them
MARK = "h2d-gpu"
PAGE = "chapters/your-gpu"
MACHINES = kernels.ROOT / "measurements"


@dataclass(frozen=True)
class Panel:
    """A measurement of the reader's GPU, and the recorded numbers that stand beside it.

    Attributes
    ----------
    title
        What is measured.
    unit
        The unit of its numbers: "B/s", "FLOP/s" or "s".
    axis
        Label and unit of x where the figure is one of lines; nothing where each number has a row.
    limits
        Names of limits in the ledger.
    experiments
        Experiments of the ledger, each with the series and the places on x that are shown (all where empty).
    seconds
        The time after which a browser stops measuring.
    """

    title: str
    unit: str
    axis: tuple[str, str] | None = None
    limits: tuple[str, ...] = ()
    experiments: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    seconds: int = 5


SUMS = ("sum_atomic", "sum_tree", "sum_neighbours", "sum_halves", "sum_many")
TRANSFERS = tuple(
    f"{way}, {kind}" for way in ("host to device", "device to host") for kind in ("pinned", "pageable")
)
PANELS = {
    "copy": Panel(
        "Copy bandwidth within the device",
        "B/s",
        limits=("copy bandwidth",),
        experiments=(("first-kernels", (), ("copy by rows", "copy by columns")),),
    ),
    "float32": Panel(
        "Rate of float32 operations",
        "FLOP/s",
        limits=("matmul float32",),
        experiments=(("tiles", (), ("plain", "tile 8", "tile 16")),),
        seconds=6,
    ),
    "strides": Panel(
        "Bandwidth by stride",
        "B/s",
        axis=("stride in elements", ""),
        experiments=(("first-kernels", (), ("copy by rows", "copy by columns")),),
        seconds=6,
    ),
    "sums": Panel(
        "Five sums: atomics and shared memory",
        "B/s",
        experiments=(("cooperation", (), SUMS),),
        seconds=8,
    ),
    "transfers": Panel(
        "Copies between host and device",
        "s",
        axis=("bytes", "B"),
        limits=TRANSFERS,
        experiments=(("copy-by-size", (), ()),),
        seconds=8,
    ),
    "launches": Panel("Cost of a launch", "s", limits=("launch latency", "wait latency")),
    "batches": Panel(
        "One launch, by the elements of its batch",
        "s",
        axis=("elements", ""),
        experiments=(("margin-launches", ("one Numba kernel",), ()),),
        seconds=6,
    ),
}


def recorded(panel: Panel) -> list[dict[str, Any]]:
    """Return the numbers of the ledger that stand beside a panel's own: machine, what, x, median, middle half, unit."""
    found = []
    for record in ledger.records([MACHINES]):
        wrong = record.exceeded
        for name in panel.limits:
            if (limit := record.limits.get(name)) and name not in wrong:
                found.append(
                    _row(
                        record.machine_name,
                        f"limit: {name}",
                        None,
                        limit["samples"],
                        limit["unit"],
                        record.stamp,
                    )
                )
        for name, series, places in panel.experiments:
            for sample in record.experiments.get(name, {"samples": ()})["samples"]:
                named, x = sample.get("series") or "", sample.get("x")
                if (series and named not in series) or (places and x not in places) or not sample["values"]:
                    continue
                what = x if isinstance(x, str) else named or record.experiments[name]["title"]
                about = record.experiments[name]["y"] or {"unit": "s"}
                at = None if isinstance(x, str) else x
                stamp = record.stamp_of(name)
                found.append(_row(record.machine_name, what, at, sample["values"], about["unit"], stamp))
    return found


def _row(machine: str, what: str, x: float | None, values: Any, unit: str, stamp: str) -> dict[str, Any]:
    point = Point(what, x, tuple(values))
    low, high = point.middle
    return {
        "machine": machine,
        "what": what,
        "x": x,
        "median": point.median,
        "low": low,
        "high": high,
        "unit": unit,
        "stamp": stamp,
    }


def table(panel: Panel, rows: list[dict[str, Any]]) -> str:
    """Return recorded numbers as a table in HTML."""
    with_x = any(row["x"] is not None for row in rows)
    head = [
        "machine",
        "what",
        *([panel.axis[0] if panel.axis else "x"] if with_x else []),
        "median",
        "middle half",
    ]
    body = []
    for row in rows:
        at = [shown_at(row["x"], panel.axis[1] if panel.axis else "")] if with_x else []
        middle = " to ".join(units.shown(row[end], row["unit"]) for end in ("low", "high"))
        cells = [row["what"], *at, units.shown(row["median"], row["unit"]), middle]
        first = f'<th scope="row" title="{escape(row["stamp"])}">{escape(row["machine"])}</th>'
        body.append(f"<tr>{first}" + "".join(f"<td>{unbroken(cell)}</td>" for cell in cells) + "</tr>")
    return (
        f'<table class="table"><caption>{escape(panel.title)}: recorded</caption><thead><tr>'
        + "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
        + f"</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


MORE = '<p class="h2d-gpu-more"><a href="your-gpu.html">All measurements, and what their numbers mean</a></p>'


def panel_html(name: str, more: bool = False) -> str:
    """Return a panel as HTML: its title and its recorded numbers, to which `load.js` adds the buttons.

    With `more`, a link leads to the page with all panels, which is in the same folder.
    """
    panel = PANELS[name]
    rows = recorded(panel)
    words = f"Recorded machines: {panel.title[0].lower()}{panel.title[1:]}"
    shown = (
        f'<details class="h2d-gpu-recorded"><summary>{escape(words)}</summary><div role="region" '
        f'aria-label="{escape(words)}" tabindex="0">{table(panel, rows)}</div></details>'
        if rows
        else '<p class="h2d-gpu-none">No machine on record has this measurement.</p>'
    )
    return (
        f'<section aria-label="{escape(panel.title)}, on your GPU"><div class="{MARK}"></div>'
        f'<div class="h2d-gpu-box" data-panel="{escape(name)}"><p class="h2d-gpu-title">{escape(panel.title)}</p>'
        f"{shown}{MORE * more}<noscript><p>Measuring your own GPU needs JavaScript.</p></noscript></div></section>"
    )


WRONG = {
    "sum_missing_barrier": "This kernel is <code>sum_halves</code> without the barrier in its loop.",
    "histogram_quick": "This kernel is the seventh bug above: threads add to a bin without an atomic.",
}


def lottery_html(name: str) -> str:
    """Return the panel of a race as HTML: what the check says of the kernel."""
    said = kernels.lottery()[name]["said"]
    return (
        f'<section aria-label="{escape(name)} a thousand times, on your GPU"><div class="{MARK}"></div>'
        f'<div class="h2d-gpu-box" data-race="{escape(name)}"><p class="h2d-gpu-title">Run <code>{escape(name)}</code> '
        f"1,000 times on your GPU</p><p>{WRONG[name]} A test passes if the GPU happens to run the threads in a harmless "
        f"order. How often does your GPU get it wrong?</p><p>The check says that the rule is broken: {escape(said)}.</p>"
        "<noscript><p>Running it on your own GPU needs JavaScript.</p></noscript></div></section>"
    )


class GpuPanel(SphinxDirective):
    """A panel by its name in `PANELS`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in PANELS:
            raise self.error(f"gpu-panel: no panel {name!r}, only {', '.join(PANELS)}")
        _depend(self)
        return [nodes.raw("", panel_html(name, more=self.env.docname != PAGE), format="html")]


class RaceLottery(SphinxDirective):
    """A wrong kernel of `kernels.lottery`, to be run a thousand times; below it, side by side, in Numba, CUDA C++ and WGSL."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        races = kernels.lottery()
        if name not in races:
            raise self.error(f"race-lottery: no kernel {name!r}, only {', '.join(races)}")
        _depend(self)
        race = races[name]
        found: list[nodes.Node] = [nodes.raw("", lottery_html(name), format="html")]
        cuda = (kernels.LISTINGS / f"{name}.cu").read_text(encoding="utf-8")
        found.append(nodes.raw("", '<div class="h2d-gpu-codes">', format="html"))
        for title, text, language in (
            ("Numba", kernels.source_of(race["kernel"]), "python"),
            ("CUDA C++", cuda, "cpp"),
            ("WGSL, translated from Numba", race["shader"].text, "none"),
        ):
            found += [
                nodes.raw("", f'<div><p class="h2d-gpu-language">{title}</p>', format="html"),
                nodes.literal_block(text, text, language=language),
                nodes.raw("", "</div>", format="html"),
            ]
        found.append(nodes.raw("", "</div>", format="html"))
        return found


def _depend(directive: SphinxDirective) -> None:
    for path in (
        *HERE.glob("*.py"),
        *HERE.glob("*.js"),
        *kernels.LISTINGS.glob("*.cu"),
        *MACHINES.glob("*.json"),
    ):
        directive.env.note_dependency(str(path))


def data() -> dict[str, Any]:
    """Return what `panels.js` reads: the panels with their recorded numbers, the shaders and the races."""
    panels = {
        name: {
            "title": panel.title,
            "unit": panel.unit,
            "axis": panel.axis,
            "seconds": panel.seconds,
            "recorded": recorded(panel),
        }
        for name, panel in PANELS.items()
    }
    return {"panels": panels, **kernels.data()}


def script_of_data() -> str:
    """Return `data()` as the script that a page loads."""
    return f"window.h2dGpu.data={json.dumps(data(), ensure_ascii=False, separators=(',', ':'))};\n"


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write what a page loads on the first click."""
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "webgpu"
    target.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        (target / part).write_bytes((HERE / part).read_bytes())
    (target / "data.js").write_text(script_of_data(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_directive("gpu-panel", GpuPanel)
    app.add_directive("race-lottery", RaceLottery)
    app.connect("build-finished", write)
    scripts.load_where(app, MARK, LOADER, "gpu-panels.js")
