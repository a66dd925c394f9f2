"""Numbers that we measured, in prose and on the page *Measurements*: all of them read from `measurements/`.

`{measured}` stands where a number stands in prose, with the words for a machine that has no record yet:

    {measured}`copy-cost, pinned, 1 MiB @ NVIDIA H200 | (not measured yet)`
    {measured}`limit: copy bandwidth @ NVIDIA H200 | (not recorded)`

The words have to say "not measured" or "not recorded", because they stand in the sentence in place of the number: words
that read like a finding stop the build where no record has the number.

Before the `@` is the name of an experiment, then, where it has several, the series and the place on its x axis; or
`limit:` and the name of a limit. Behind it are the machine's name as in its record, and the words. The number is a
median. `{measured-machines}`, `{measured-limits}` and `{measured-experiments}` are the parts of the page.
"""

import hashlib
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from host_to_device.measuring import figures, ledger
from host_to_device.measuring.known_limits import KNOWN
from host_to_device.measuring.points import Point, shown_at, unbroken
from host_to_device.measuring.timings import quartiles
from host_to_device.rendering import units

ROOT = Path(__file__).resolve().parent.parent
PAGE = "chapters/measurements"

GRAMMAR = "{measured}`experiment, series, x @ machine | words for a machine without a record`"
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6, "n": 1e-9,
            "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}  # fmt: skip

LIBRARIES = {"python": "Python", "numpy": "NumPy", "numba": "Numba", "torch": "PyTorch", "cupy": "CuPy",
             "host-to-device": "Host to Device"}  # fmt: skip

log = logging.getLogger(__name__)


# The words in place of a number say with one of these that there is none.
PLAIN = re.compile(r"\bnot (?:yet )?(?:measured|recorded)\b", re.I)


class MeasuredError(ValueError):
    """A reference to a number that cannot be right: the message is one line that says why."""


@dataclass(frozen=True)
class Wanted:
    """What a `{measured}` asks for: of an experiment or a limit, on a machine, and the words in its place."""

    experiment: str
    limit: str
    details: tuple[str, ...]  # the series, the place on the x axis, or both
    machine: str
    otherwise: str


@dataclass(frozen=True)
class Answer:
    """What stands on the page: a text and, where it is measured, by what and on which record's machine."""

    text: str
    source: str = ""
    slug: str = ""


def parsed(text: str) -> Wanted:
    """Return what the text of a `{measured}` asks for.

    Raises
    ------
    MeasuredError
        If it does not have the parts that it needs.
    """
    what, bar, otherwise = (part.strip() for part in text.partition("|"))
    what, at, machine = (part.strip() for part in what.rpartition("@"))
    if not (bar and at and what and machine and otherwise):
        raise MeasuredError(f"{text!r} lacks a part: write {GRAMMAR}")
    if what.startswith("limit:"):
        return Wanted("", what.removeprefix("limit:").strip(), (), machine, otherwise)
    experiment, *details = (part.strip() for part in what.split(","))
    if len(details) > 2 or not all(details):
        raise MeasuredError(f"{text!r} has too many parts or an empty one: write {GRAMMAR}")
    return Wanted(experiment, "", tuple(details), machine, otherwise)


def number(text: str, unit: str) -> float | str:
    """Return a place on an x axis: a number in this unit, if the text is one, else the text.

    "1 MiB" on an axis in bytes is 1048576, "20 µs" on one in seconds 2e-5.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?) ?(\D*)", text)
    if not found:
        return text
    value = float(found[1])
    name = "B" if found[2] == "bytes" else found[2]
    if name in ("", unit):
        return value
    prefix = name.removesuffix(unit)
    return value * PREFIXES[prefix] if unit and name.endswith(unit) and prefix in PREFIXES else text


def answer(wanted: Wanted, records: Sequence[Any], made: Mapping[str, Any], root: Path) -> Answer:
    """Return what stands on the page for a `{measured}`.

    Parameters
    ----------
    wanted
        What is asked for.
    records
        The records to look it up in.
    made
        The experiments that notebooks make, by name.
    root
        Where the notebooks are.

    Raises
    ------
    MeasuredError
        If no notebook makes the experiment, there is no such limit, or the record has other series or places.
    """
    if wanted.limit and wanted.limit not in KNOWN:
        raise MeasuredError(f"there is no limit {wanted.limit!r}; there are: {', '.join(KNOWN)}")
    if wanted.experiment and wanted.experiment not in made:
        raise MeasuredError(
            f"no notebook makes an experiment {wanted.experiment!r}; they make: {', '.join(made) or 'none'}"
        )
    record = next((record for record in records if record.machine_name == wanted.machine), None)
    if record is None:
        return Answer(wanted.otherwise)
    if wanted.limit:
        limit = record.limits.get(wanted.limit)
        if limit is None:
            return Answer(wanted.otherwise)
        above = record.exceeded.get(wanted.limit)
        doubt = f"; doubtful: {above.text}" if above else ""
        shown = units.shown(limit["value"], limit["unit"])
        return Answer(shown, f"measured on {record.stamp}{doubt}", record.slug)
    if wanted.experiment not in record.experiments:
        return Answer(wanted.otherwise)
    entry = record.experiments[wanted.experiment]
    stale = record.is_stale(wanted.experiment, root)
    try:
        point = _point(wanted, entry)
    except MeasuredError:
        if stale:  # the record is older than what the sentence asks for
            return Answer(wanted.otherwise)
        raise
    samples = len(point.values)
    how = f"median of {samples} samples, " if samples > 1 else ""
    older = "; the notebook has changed since" if stale else ""
    return Answer(
        units.shown(point.median, entry["y"]["unit"]),
        f"{how}measured on {record.stamp_of(wanted.experiment)}{older}",
        record.slug,
    )


def stated(reference: str, words: str) -> None:
    """Check that the words in place of a number say that it was not measured.

    Raises
    ------
    MeasuredError
        If they could be read as a finding.
    """
    if not PLAIN.search(words):
        raise MeasuredError(
            f"no record has {reference.partition('|')[0].strip()!r}, and the words in its place, {words!r}, read like a "
            "finding: write words that say 'not measured' or 'not recorded', such as '(not measured yet)'"
        )


def _point(wanted: Wanted, entry: Mapping[str, Any]) -> Point:
    """Return the one point of a recorded experiment that is asked for."""
    points = [
        Point(sample.get("series") or "", sample.get("x"), tuple(sample["values"]))
        for sample in entry["samples"]
    ]
    unit = entry["x"]["unit"] if entry["x"] else ""
    details = list(wanted.details)
    found = points
    if details and details[0] in {point.series for point in points}:
        series = details.pop(0)
        found = [point for point in found if point.series == series]
    if details:
        place = number(details.pop(0), unit)
        found = [point for point in found if _same(point.x, place)]
    if details or len(found) != 1:
        known = ", ".join(
            dict.fromkeys(
                " at ".join(filter(None, (point.series, shown_at(point.x, unit).replace(",", ""))))
                for point in points
            )
        )
        asked = ", ".join((wanted.experiment, *wanted.details))
        problem = "is more than one number" if len(found) > 1 else "is not there"
        raise MeasuredError(f"{asked!r} {problem} in the record of {wanted.machine}; there are: {known}")
    return found[0]


def _same(x: float | str | None, place: float | str) -> bool:
    if isinstance(x, str) or isinstance(place, str) or x is None:
        return x == place
    return abs(x - place) <= 1e-6 * abs(place)


def why_stale(entry: Mapping[str, Any], root: Path) -> str:
    """Return why a recorded experiment is stale, in words; "" if its cell is still the one that made it."""
    notebook = root / entry["notebook"]
    if not notebook.exists():
        return f"{notebook.name} is no longer in the book"
    cells = {cell.get("id"): cell.source for cell in nbformat.read(notebook, as_version=4).cells}
    if entry["cell"] not in cells:
        return "its cell is no longer in the notebook"
    same = ledger.digest(cells[entry["cell"]]) == entry["cell_hash"]
    return "" if same else "its cell has changed since"


# --- What the book has -----------------------------------------------------------------------------------------


def records() -> list[Any]:
    """Return the records of the repository. A private folder is never part of the book.

    A file that cannot be read stops the build, as every warning does.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ledger.records(folders=[ROOT / "measurements"])
    for one in caught:
        log.warning("%s", one.message, type="measured")
    return sorted(found, key=lambda record: (record.kind != "gpu", record.machine_name))


def state() -> str:
    """Return a digest of what numbers depend on besides the page: the records and the notebooks."""
    paths = [*ROOT.glob("measurements/*.json"), *ROOT.glob("notebooks/*.ipynb")]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def load(app: Sphinx) -> None:
    """Read the records and the notebooks, once for all pages."""
    _Book.records, _Book.made = records(), ledger.experiments_made(ROOT)


class _Book:
    """What this build goes by."""

    records: Sequence[Any] = ()
    made: Mapping[str, Any] = {}


def outdated(app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set) -> list[str]:
    """Read the pages with measured numbers again when a record or a notebook has changed."""
    before, env.measured_state = getattr(env, "measured_state", None), state()
    if before == env.measured_state:
        return []
    return [page for page, about in env.metadata.items() if about.get("measured") and page in env.found_docs]


# --- In prose --------------------------------------------------------------------------------------------------


class Measured(SphinxRole):
    """The role `{measured}`: see the head of this module."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        self.env.metadata[self.env.docname]["measured"] = True
        try:
            found = answer(parsed(self.text), _Book.records, _Book.made, ROOT)
            if not found.slug:
                stated(self.text, found.text)
        except MeasuredError as problem:
            log.warning("measured: %s", problem, location=self.get_location(), type="measured")
            self.env.note_reread()  # the next build has to stop too
            return [nodes.Text(self.text)], []
        if not found.slug:
            return [nodes.Text(found.text)], []
        place = f"{self.env.app.builder.get_relative_uri(self.env.docname, PAGE)}#machine-{found.slug}"
        link = nodes.reference(
            "",
            found.text.replace(" ", "\u00a0"),
            internal=True,
            refuri=place,
            reftitle=found.source,
            classes=["measured"],
        )
        # The title is for a mouse alone; this is for those who listen.
        link += nodes.inline("", f" ({found.source})", classes=["visually-hidden"])
        return [link], []


# --- The page --------------------------------------------------------------------------------------------------


def section(directive: SphinxDirective, name: str, title: str, *inside: nodes.Node) -> nodes.section:
    """Return a section of the page, with a name to link to."""
    made = nodes.section("", nodes.title("", title), *inside, ids=[name], names=[name])
    directive.state.document.ids[name] = made
    directive.set_source_info(made)
    return made


def scrolling(table: str, about: str) -> nodes.raw:
    """Return a table that scrolls where it is wider than the page, with the keyboard too."""
    return nodes.raw(
        "",
        f'<div role="region" aria-label="{escape(about)}" tabindex="0" style="overflow-x: auto">{table}</div>',
        format="html",
    )


def table_html(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table: the cells are HTML, the first of each row is its head."""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row" style="font-weight: 500">{row[0]}</th>'
        + "".join(f"<td>{cell}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<table class="table"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def tree(clean: bool | None) -> str:
    """Return what a record says about the files that it was measured from."""
    return {True: "", False: ", with changes that were not committed"}.get(
        clean, ", state of the files not known"
    )


def gibibytes(size: int) -> str:
    return f"{size / 2**30:.0f} GiB"


def stamp_rows(record: Any) -> list[tuple[str, str]]:
    """Return a record's stamp as pairs: what, and the text."""
    data, machine = record.data, record.data["machine"]
    gpus = [
        f"{gpu['name']}, {gibibytes(gpu['memory'])}, compute capability {gpu['compute_capability']}"
        for gpu in machine["gpus"]
    ]
    driver = [f"driver {machine['driver']}"] if machine.get("driver") else []
    cuda = [f"CUDA {machine['cuda']}"] if machine.get("cuda") else []
    versions = [
        f"{LIBRARIES.get(name, name)} {version}" for name, version in data["versions"].items() if version
    ]
    commit = f", commit {data['commit'][:7]}" if data.get("commit") else ""
    return [
        ("GPU" if len(gpus) < 2 else "GPUs", "; ".join(gpus) or "none"),
        ("CPU", f"{machine['cpu']}, {machine['cores']} core{'s' * (machine['cores'] != 1)}"),
        ("Memory", gibibytes(machine["memory"])),
        ("System", ", ".join([machine["os"], *driver, *cuda])),
        ("Versions", ", ".join(versions)),
        ("Date", data["date"] + commit + tree(data.get("clean"))),
    ]


class Machines(SphinxDirective):
    """`{measured-machines}`: a section for each record, with its stamp and its experiments."""

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["measured"] = True
        if not _Book.records:
            return [nodes.paragraph("", "No machine has a record in this edition yet.")]
        return [self.machine(record) for record in _Book.records]

    def machine(self, record: Any) -> nodes.section:
        fields = nodes.field_list()
        for name, text in stamp_rows(record):
            fields += nodes.field(
                "", nodes.field_name("", name), nodes.field_body("", nodes.paragraph("", text))
            )
        parts: list[nodes.Node] = [fields]
        if record.experiments:
            rows = [self.experiment(record, name) for name in record.experiments]
            caption = f"Experiments recorded on {record.machine_name}"
            parts.append(scrolling(table_html(caption, ("experiment", "measured", "state"), rows), caption))
        return section(self, f"machine-{record.slug}", record.machine_name, *parts)

    def experiment(self, record: Any, name: str) -> tuple[str, ...]:
        entry = record.experiments[name]
        why = why_stale(entry, ROOT)
        commit = f", commit {entry['commit'][:7]}" if entry.get("commit") else ""
        return (
            f'<a href="#experiment-{escape(name)}">{escape(name)}</a>',
            escape(entry["date"] + commit + tree(entry.get("clean"))),
            escape(f"stale: {why}" if why else "as the notebook has it"),
        )


class Limits(SphinxDirective):
    """`{measured-limits}`: what each machine can do at best, side by side."""

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["measured"] = True
        measured = [record for record in _Book.records if record.limits]
        names = [name for name in KNOWN if any(name in record.limits for record in measured)]
        if not names:
            return [nodes.paragraph("", "No limit has been measured for this edition yet.")]
        rows = [[escape(name), *(self.cell(record, name) for record in measured)] for name in names]
        columns = [
            "limit",
            *(f'<a href="#machine-{record.slug}">{escape(record.machine_name)}</a>' for record in measured),
        ]
        caption = "Limits measured on each machine: the median, and below it the middle half of the samples"
        ways = {
            name: list(
                dict.fromkeys(record.limits[name]["how"] for record in measured if name in record.limits)
            )
            for name in names
        }
        how = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(' '.join(said))}</dd>" for name, said in ways.items()
        )
        return [
            scrolling(table_html(caption, columns, rows), caption),
            nodes.raw(
                "",
                f"<details><summary>How each was measured</summary><dl>{how}</dl></details>",
                format="html",
            ),
        ]

    def cell(self, record: Any, name: str) -> str:
        limit = record.limits.get(name)
        if limit is None:
            return '<span aria-hidden="true">–</span><span class="visually-hidden">not measured</span>'
        text = unbroken(units.shown(limit["value"], limit["unit"]))
        if len(samples := limit["samples"]) > 1:
            low, high = (units.shown(value, limit["unit"]) for value in quartiles(samples))
            text += f"<br><small>{unbroken(f'{low} to {high}')}</small>"
        if above := record.exceeded.get(name):
            text += f'<br><small><a href="#measured-doubtful">doubtful</a>: {unbroken(above.text)}</small>'
        return text


class Experiments(SphinxDirective):
    """`{measured-experiments}`: a section for each recorded experiment, with its figure on all machines."""

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["measured"] = True
        recorded = {name for record in _Book.records for name in record.experiments}
        order = [name for name in _Book.made if name in recorded] + sorted(recorded - set(_Book.made))
        parts: list[nodes.Node] = [self.experiment(name) for name in order]
        waiting = [name for name in _Book.made if name not in recorded]
        if waiting:
            said = f"Made by a notebook and not recorded yet: {', '.join(waiting)}."
            parts.insert(0, nodes.paragraph("", said))
        if not recorded and not waiting:
            parts.append(nodes.paragraph("", "No experiment has been recorded for this edition yet."))
        return parts

    def experiment(self, name: str) -> nodes.section:
        figure = figures.draw(name, _Book.records)
        picture = nodes.raw("", figure.html(in_book=True), format="html")
        self.set_source_info(picture)
        return section(self, f"experiment-{name}", figure.title, self.origin(name), picture)

    def origin(self, name: str) -> nodes.paragraph:
        """Return a sentence that leads to the notebook that makes an experiment."""
        if name not in _Book.made:
            gone = nodes.Text(" was recorded once; no notebook makes it any more.")
            return nodes.paragraph("", "", nodes.literal("", name), gone)
        notebook = str(_Book.made[name][0][0]).removesuffix(".ipynb")
        said = nodes.paragraph("", "", nodes.literal("", name), nodes.Text(", from "))
        if notebook in self.env.found_docs:
            place = self.env.app.builder.get_relative_uri(self.env.docname, notebook)
            said += nodes.reference("", f"the notebook {Path(notebook).name}", internal=True, refuri=place)
        else:
            said += nodes.Text(f"the notebook {Path(notebook).name}")
        said += nodes.Text(".")
        for record in _Book.records:
            if name in record.experiments and (why := why_stale(record.experiments[name], ROOT)):
                said += nodes.Text(f" The record of {record.machine_name} is stale: {why}.")
        return said


def setup(app: Sphinx) -> None:
    app.add_role("measured", Measured())
    app.add_directive("measured-machines", Machines)
    app.add_directive("measured-limits", Limits)
    app.add_directive("measured-experiments", Experiments)
    app.connect("builder-inited", load)
    app.connect("env-get-outdated", outdated)
