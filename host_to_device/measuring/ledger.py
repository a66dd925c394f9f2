"""The ledger: read, check, write and search the records of what was measured on which machine.

Each machine has one record, a JSON file in the form of `measurements/schema.json`. The repository keeps its records in
`measurements/`, and the wheel carries a copy; a reader's own records are in a private folder. A file that is not a
record is passed over, with one line that says what to do.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import math
import os
import re
import statistics
import uuid
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_to_device.measuring import machines
from host_to_device.measuring.exceeded import Exceeded, exceeded
from host_to_device.rendering import units
from host_to_device.starting import machine as machine_here
from host_to_device.support import folders as places
from host_to_device.support.messages import OneLine

SCHEMA = 1
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
STATISTICS = ("median", "min", "max", "low", "high", "count")
PLACES = ("GPU", "CPU")


class LedgerError(OneLine, ValueError):
    """A file is not a record: the message says why, and what to do."""


class LedgerWarning(UserWarning):
    """A record was passed over."""


_warned: dict = {}  # `warnings` notes here which lines it has shown


@dataclass(frozen=True)
class Record:
    """What was measured on one machine.

    Attributes
    ----------
    data
        The file's content, in the form of `measurements/schema.json`.
    path
        The file.
    private
        Whether it is the reader's own record.
    machine_name
        The machine's name.
    """

    data: dict[str, Any]
    path: Path
    private: bool = False
    machine_name: str = ""

    def __post_init__(self) -> None:
        if not self.machine_name:
            object.__setattr__(self, "machine_name", self.data["machine"]["name"])

    @property
    def slug(self) -> str:
        """The name of the file, without its suffix."""
        return self.path.stem

    @property
    def kind(self) -> str:
        """The kind of machine: "gpu" or "cpu"."""
        return self.data["machine"]["kind"]

    @property
    def machine(self) -> dict[str, Any]:
        """The machine: name, kind, CPU, cores, memory, operating system, GPUs, driver."""
        return self.data["machine"]

    @property
    def versions(self) -> dict[str, str | None]:
        """The versions of Python and of the libraries, None for those that were not installed."""
        return self.data["versions"]

    @property
    def limits(self) -> dict[str, dict[str, Any]]:
        """The machine's limits by name, each with value, unit, samples and how it was measured."""
        return self.data["limits"]

    @functools.cached_property
    def exceeded(self) -> dict[str, Exceeded]:
        """The limits that another measurement of the record exceeds, by name: such a number is no limit."""
        return exceeded_in(self.data)

    @property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """The experiments by name."""
        return self.data["experiments"]

    @property
    def stamp(self) -> str:
        """One line with machine, date of its limits, versions and commit."""
        return self._stamp(self.data)

    def stamp_of(self, experiment: str) -> str:
        """Return one line with machine, versions, and the date and commit of one experiment."""
        return self._stamp(self.experiments[experiment])

    def _stamp(self, when: dict[str, Any]) -> str:
        parts = [self.machine_name, when["date"]]
        if self.machine["driver"]:
            parts.append(f"driver {self.machine['driver']}")
        for library in ("torch", "cupy") if self.kind == "gpu" else ("numpy", "torch"):
            if version := self.versions.get(library):
                number = re.match(r"\d+\.\d+", version)
                parts.append(f"{library} {number[0] if number else version}")
        if when["commit"]:
            parts.append(f"commit {when['commit'][:7]}{'' if when['clean'] else ', tree not clean'}")
        return ", ".join(parts)

    def is_stale(self, experiment: str, root: Path) -> bool:
        """Return whether the cell of an experiment has changed or gone, in the checkout at `root`, since it was measured."""
        about = self.experiments[experiment]
        cells = dict(code_cells(Path(root) / about["notebook"]))
        return about["cell"] not in cells or digest(cells[about["cell"]]) != about["cell_hash"]

    def stale(self, root: Path) -> list[str]:
        """Return the names of the experiments that are stale."""
        return [name for name in self.experiments if self.is_stale(name, root)]


def exceeded_in(data: dict[str, Any]) -> dict[str, Exceeded]:
    """Return the limits of a record's content that another of its measurements exceeds, by name."""
    return exceeded(
        data["limits"],
        cores=data["machine"].get("cores"),
        kind=data["machine"].get("kind", "cpu"),
        experiments=data["experiments"].values(),
    )


class Value(float):
    """A number from the ledger; `str` writes it with its unit.

    Attributes
    ----------
    unit
        Its unit.
    record
        The record that has it.
    experiment
        The name of the experiment.
    """

    unit: str
    record: Record
    experiment: str

    def __str__(self) -> str:
        return units.shown(float(self), self.unit)


# --- Where records are -----------------------------------------------------------------------------------------


def shipped_folder() -> Path:
    """Return the repository's `measurements/`, or the copy of it in an installed library."""
    in_checkout = places.PACKAGE.parent / "measurements"
    return in_checkout if (in_checkout / "schema.json").is_file() else places.PACKAGE / "measurements"


def private_folder() -> Path:
    """Return the folder of the reader's own records: `H2D_MEASUREMENTS`, or one among the user's data."""
    if named := os.environ.get("H2D_MEASUREMENTS"):
        return Path(named).expanduser()
    return places.data("measurements")


def records(folders: Iterable[Path] | None = None) -> list[Record]:
    """Return all records, GPUs first; what cannot be read is passed over with one `LedgerWarning` a file.

    Parameters
    ----------
    folders
        The folders to look in, instead of the shipped records and the reader's private folder. The book is built from
        the repository's records alone.
    """
    if folders is not None:
        return [record for folder in folders for record in _records_in(Path(folder), private=False)]
    shipped = _records_in(shipped_folder(), private=False)
    names = {record.machine_name for record in shipped}
    own = [] if _same(private_folder(), shipped_folder()) else _records_in(private_folder(), private=True)
    for record in own:
        name = record.machine_name
        shipped.append(Record(record.data, record.path, True, f"{name} (yours)" if name in names else name))
    return shipped


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _records_in(folder: Path, private: bool) -> list[Record]:
    try:
        paths = sorted(
            path for path in folder.glob("*.json") if path.name[0] != "." and path.name != "schema.json"
        )
    except OSError as problem:
        _warn(
            folder,
            f"{folder} cannot be read ({problem.strerror}): make it readable, or name another in H2D_MEASUREMENTS",
        )
        return []
    found = []
    for path in paths:
        try:
            found.append(Record(read(path), path, private))
        except LedgerError as problem:
            _warn(path, str(problem))
    return sorted(found, key=lambda record: (record.kind != "gpu", record.machine_name))


def _warn(path: Path, message: str) -> None:
    # Line 0 of the record has no text. With a real line, Python would print its code below the warning.
    warnings.warn_explicit(message, LedgerWarning, path.name, 0, registry=_warned)


def record(name: str, among: Sequence[Record] | None = None) -> Record:
    """Return the record of a machine by its name, or by the name of its file.

    Raises
    ------
    LookupError
        If there is none: the message lists the machines that have one.
    """
    among = records() if among is None else among
    for each in among:
        if name.lower() == each.machine_name.lower() or name == each.slug:
            return each
    known = ", ".join(each.machine_name for each in among) or "none yet, and `make measure` writes one"
    raise LookupError(f"there is no record of {name!r}; there is: {known}")


def own_record() -> Record | None:
    """Return the record of hardware like this machine's: the reader's own if there is one, otherwise a shipped one."""
    cpu, cores, gpus = machines.hardware()
    alike = [
        each
        for each in records()
        if [gpu["name"] for gpu in each.machine["gpus"]] == gpus
        and (gpus or (each.machine["cpu"], each.machine["cores"]) == (cpu, cores))
    ]
    return next((each for each in alike if each.private), alike[0] if alike else None)


def own_name() -> str:
    """Return this machine's name: that of the reader's own record, or the one that a new record would have."""
    own = own_record()
    return own.machine["name"] if own is not None and own.private else machines.name_of(*machines.hardware())


def value(
    experiment: str,
    series: str | None = None,
    x: float | str | None = None,
    statistic: str = "median",
    machine: str | None = None,
    among: Sequence[Record] | None = None,
) -> Value:
    """Return a number that was measured, with its unit.

    Parameters
    ----------
    experiment
        The experiment's name.
    series, x
        Which of its samples; not needed where there is only one.
    statistic
        "median", "min", "max", "low" or "high" (first and third quartile), or "count" of the samples.
    machine
        The machine's name. If nothing is given, the first record that has the experiment, GPUs first.
    among
        The records to look in, instead of all.

    Raises
    ------
    LookupError
        If there is no such number: the message lists the names that exist.
    """
    among = records() if among is None else among
    if statistic not in STATISTICS:
        raise LookupError(f"there is no statistic {statistic!r}; there is: {', '.join(STATISTICS)}")
    looked = [record(machine, among)] if machine is not None else list(among)
    holding = next((each for each in looked if experiment in each.experiments), None)
    if holding is None:
        known = ", ".join(sorted({name for each in looked for name in each.experiments})) or "none"
        of = f" of {machine}" if machine is not None else ""
        raise LookupError(f"no record{of} has an experiment {experiment!r}; recorded: {known}")
    about = holding.experiments[experiment]
    samples = _only(about["samples"], "series", series, f"{experiment!r} on {holding.machine_name}")
    (sample,) = _only(samples, "x", x, f"{experiment!r}, {samples[0]['series']!r} on {holding.machine_name}")
    found = Value(_statistic(sample["values"], statistic))
    found.unit = "" if statistic == "count" else about["y"]["unit"]
    found.record, found.experiment = holding, experiment
    return found


def _only(samples: list[dict], part: str, wanted: Any, where: str) -> list[dict]:
    """Return the samples of one series, or at one x: the wanted one, or the only one."""
    there = list(dict.fromkeys(each[part] for each in samples))
    if wanted is None and len(there) == 1:
        return samples
    if wanted is not None:
        for each in there:
            if _equal(each, wanted):
                return [sample for sample in samples if sample[part] == each]
    known = ", ".join("(none)" if each in (None, "") else f"{each:.10g}" if isinstance(each, float) else str(each) for each in there)  # fmt: skip
    problem = f"has several {part}, name one" if wanted is None else f"has no {part} {wanted!r}"
    raise LookupError(f"experiment {where} {problem}: {known}")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str) or one is None:
        return str(one) == str(other)
    return math.isclose(one, other, rel_tol=1e-9)


def _statistic(values: Sequence[float], name: str) -> float:
    if name in ("low", "high"):
        low, high = (values[0], values[0]) if len(values) == 1 else statistics.quantiles(values, n=4, method="inclusive")[::2]  # fmt: skip
        return low if name == "low" else high
    ways: dict[str, Callable[[Sequence[float]], float]]
    ways = {"median": statistics.median, "min": min, "max": max, "count": len}
    return ways[name](values)


# --- Cells of notebooks ------------------------------------------------------------------------------------------


def digest(source: str) -> str:
    """Return the digest by which a record knows a cell's source: SHA-256, hexadecimal."""
    return hashlib.sha256(source.encode()).hexdigest()


def code_cells(notebook: Path) -> list[tuple[str, str]]:
    """Return id and source of a notebook's code cells; nothing where the notebook is missing."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [
        (cell.get("id", ""), cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"]))
        for cell in cells
        if cell["cell_type"] == "code"
    ]


def experiments_in(notebook: Path) -> list[tuple[str, str]]:
    """Return the experiments that a notebook's code makes, in order: the name, and the id of the cell.

    Only calls count, `h2d.experiment("name", …)`, not mentions in comments or strings.
    """
    return [(name, cell) for cell, source in code_cells(notebook) for name in experiments_of(source)]


def experiments_of(source: str) -> list[str]:
    """Return the names of the experiments that a cell's code makes; nothing if the code is not Python."""
    try:
        # Commands to Jupyter and to the shell are not Python.
        tree = ast.parse(re.sub(r"^\s*[%!].*", "", source, flags=re.M))
    except SyntaxError:
        return []
    calls = sorted(
        (each for each in ast.walk(tree) if isinstance(each, ast.Call) and each.args),
        key=lambda call: (call.lineno, call.col_offset),
    )
    return [
        call.args[0].value
        for call in calls
        if getattr(call.func, "attr", getattr(call.func, "id", "")) == "experiment"
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    ]


def experiments_made(root: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the experiments of a checkout's notebooks: each name with the notebooks and cells that make it."""
    made: dict[str, list[tuple[str, str]]] = {}
    for path in sorted((Path(root) / "notebooks").glob("*.ipynb")):
        for name, cell in experiments_in(path):
            made.setdefault(name, []).append((f"notebooks/{path.name}", cell))
    return made


# --- Files -------------------------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, Any]:
    """Return the content of a record's file.

    Raises
    ------
    LedgerError
        If it cannot be read, is not a record, or has a later form: one line that says what to do.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise LedgerError(
            f"{path.name} cannot be read ({problem.strerror}): make it readable or remove it"
        ) from None
    except UnicodeDecodeError:
        raise LedgerError(f"{path.name} is not a text file: fetch it from git again, or remove it") from None
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise LedgerError(
            f"{path.name} is broken or half-written ({str(problem).splitlines()[0]}): fetch it from git again, or remove it "
            "and measure anew"
        ) from None
    if isinstance(data, dict) and isinstance(data.get("schema"), int) and data["schema"] > SCHEMA:
        raise LedgerError(
            f"{path.name} is of a later form ({data['schema']}, known is {SCHEMA}): update Host to Device to read it"
        )
    if wrong := what_is_wrong(data):
        raise LedgerError(
            f"{path.name} is not a record ({wrong}): fetch it from git again, or remove it and measure anew"
        )
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def text_of(data: dict[str, Any]) -> str:
    """Return a record as the text of its file: numbers to six digits, each list of numbers on one line.

    Raises
    ------
    LedgerError
        If it is not a record.
    """
    if problem := what_is_wrong(data):
        raise LedgerError(f"this is not a record, so it is not written: {problem}")
    text = json.dumps(_rounded(data), indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[([-+\d.eE,\s]+)\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, float):
        value = float(f"{value:.6g}")
        return int(value) if value.is_integer() else value
    return value


def write_whole(path: Path, text: str) -> None:
    """Write a file so that at every moment either the old or the new one is on the disk, whole.

    Raises
    ------
    OSError
        If it cannot be written; the old file then stays.
    """
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # put the folder's entry on the disk, too
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# --- The form of a record, as far as reading relies on it; measurements/schema.json has all of it ------------------
# Checked by hand, because jsonschema is not a dependency of the library and its messages do not name the part in the
# reader's words. tests/measuring/test_ledger.py holds that the schema and this check refuse the same records.


def what_is_wrong(data: Any) -> str | None:
    """Return in a few words why this is not a record, or None if it is one."""
    try:
        _check(data)
    except _Wrong as problem:
        return str(problem)
    return None


class _Wrong(Exception):
    pass


def _need(true: bool, problem: str) -> None:
    if not true:
        raise _Wrong(problem)


def _check(data: Any) -> None:
    _need(isinstance(data, dict), "it holds no record")
    parts = {"machine": dict, "versions": dict, "date": str, "limits": dict, "experiments": dict}
    for part, kind in parts.items():
        _need(isinstance(data.get(part), kind), f"it has no {part!r}")
    _need(data.get("schema") == SCHEMA, f"its 'schema' is {data.get('schema')!r}")
    machine = data["machine"]
    about_it = {"name": str, "cpu": str, "cores": int, "os": str, "gpus": list}
    for part, of_type in about_it.items():
        _need(isinstance(machine.get(part), of_type), f"its machine has no {part!r}")
    for name in (machine["name"], *(gpu["name"] for gpu in machine["gpus"] if isinstance(gpu, dict) and "name" in gpu)):  # fmt: skip
        _need(
            not str(name).startswith(machine_here.REHEARSAL), f"its times are not a GPU's, but of the {name}"
        )
    _need(machine.get("kind") in ("cpu", "gpu"), "its machine's 'kind' is neither cpu nor gpu")
    _need(bool(machine["gpus"]) == (machine["kind"] == "gpu"), "its machine's 'kind' does not fit its GPUs")
    _need("driver" in machine and {"commit", "clean"} <= set(data), "a part is missing")
    for name, limit in data["limits"].items():
        where = f"limit {name!r}"
        _need(isinstance(limit, dict) and isinstance(limit.get("unit"), str), f"{where} has no unit")
        _need(isinstance(limit.get("how"), str), f"{where} does not say how it was measured")
        _need(_is_number(limit.get("value")), f"{where} has no value")
        _check_values(limit.get("samples"), where)
    for name, about in data["experiments"].items():
        _check_experiment(name, about, machine["kind"])


def _check_experiment(name: str, about: Any, kind: str) -> None:
    where = f"experiment {name!r}"
    _need(NAME.fullmatch(name) is not None, f"{where} is not named in-words-like-this")
    _need(isinstance(about, dict), f"{where} is empty")
    for part in ("title", "notebook", "cell", "cell_hash", "date"):
        _need(isinstance(about.get(part), str), f"{where} has no {part!r}")
    _need({"x", "commit", "clean"} <= set(about), f"{where}: a part is missing")
    for part in ("y",) if about["x"] is None else ("x", "y"):
        axis = about.get(part)
        _need(isinstance(axis, dict) and {"label", "unit"} <= set(axis), f"{where} has no unit for {part}")
    samples = about.get("samples")
    _need(isinstance(samples, list) and bool(samples), f"{where} has no samples")
    for place in (
        about.get("where"),
        *(each["where"] for each in samples if isinstance(each, dict) and "where" in each),
    ):
        _need(place in PLACES, f"{where} was measured on {place!r}, which is neither a GPU nor a CPU")
        _need(place == "CPU" or kind == "gpu", f"{where} was measured on a GPU, and the machine has none")
    for sample in samples:
        _need(
            isinstance(sample, dict) and isinstance(sample.get("series"), str),
            f"{where}: samples without series",
        )
        _need("x" in sample and (sample["x"] is None or isinstance(sample["x"], str) or _is_number(sample["x"], False)), f"{where}: samples without x")  # fmt: skip
        _check_values(sample.get("values"), where)


def _check_values(values: Any, where: str) -> None:
    _need(isinstance(values, list) and bool(values), f"{where} has no samples")
    _need(all(map(_is_number, values)), f"{where} has a sample that is not a number from 0")


def _is_number(value: Any, not_negative: bool = True) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value >= 0 or not not_negative
