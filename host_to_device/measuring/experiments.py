"""`h2d.experiment`: the samples of a lesson's measurement, drawn beside those of recorded machines.

In a measuring run (`make measure`) `H2D_MEASURE` names a folder, and an experiment leaves its samples there. The
source of the cell that made it goes with them, as a digest: by that the run finds the cell, and a record can tell
later whether the cell has changed.
"""

from __future__ import annotations

import json
import math
import numbers
import os
import sys
from pathlib import Path
from typing import Any

from host_to_device.measuring import ledger
from host_to_device.measuring.ledger import NAME
from host_to_device.measuring.timing import Timing
from host_to_device.starting import machine

FOLDER = "H2D_MEASURE"
RESERVED = ",@|"  # what a reference in the book's prose is written with
PLACES = ("GPU", "stand-in", "CPU")

# Experiments of this session, by name: the request, as Jupyter numbers them, in which each was entered.
entered: dict[str, str | None] = {}


class ExperimentError(ValueError):
    """An experiment was given what cannot be a sample, or a name that it cannot have: one line says what to do."""

    def _render_traceback_(self) -> list[str]:
        return [f"host_to_device: {self}"]


class Experiment:
    """The samples of one experiment; `with h2d.experiment("copy-cost", …) as e:` makes one.

    Attributes
    ----------
    name, title
        What it is called, in the ledger and above a figure.
    x, y
        Label and unit of what is varied, or None, and of what is measured.
    limits
        Names of the machine's limits that are drawn beside it.
    samples
        What was collected: series, x, values, and where they were measured, in the form of a record.
    """

    def __init__(
        self,
        name: str,
        title: str,
        x: dict[str, str] | None,
        y: dict[str, str],
        limits: tuple[str, ...] = (),
    ) -> None:
        self.name, self.title, self.x, self.y, self.limits = name, title, x, y, limits
        self.samples: list[dict[str, Any]] = []
        self._open = False

    @property
    def where(self) -> str:
        """What measured: "stand-in" if any sample is a stand-in's, else "GPU" if any is a GPU's, else "CPU"."""
        places = {sample["where"] for sample in self.samples}
        return next((place for place in ("stand-in", "GPU") if place in places), "CPU")

    def __enter__(self) -> Experiment:
        request = _request()
        # Running a cell again is what notebooks are for; in a measuring run each cell runs once.
        if self.name in entered and (FOLDER in os.environ or (request and request == entered[self.name])):
            raise ExperimentError(
                f"there are two experiments {self.name!r} in this notebook: give one of them another name"
            )
        entered[self.name] = request
        self._open = True
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        self._open = False
        if kind is not None:
            entered.pop(self.name, None)
            return
        if not self.samples:
            raise ExperimentError(f"experiment {self.name!r} has no samples: call e.add(…) inside its block")
        if folder := os.environ.get(FOLDER):
            self._leave(Path(folder))

    def add(
        self,
        measured: Any,
        *,
        x: float | str | None = None,
        series: str = "",
        where: str | None = None,
    ) -> None:
        """Add samples.

        Parameters
        ----------
        measured
            What `h2d.time` returned, of which all samples are taken (as a rate, where the experiment's unit is B/s or
            FLOP/s and the measurement was given `bytes` or `flops`); or a number, or several, in the experiment's unit.
        x
            The number or the word that stands for them on the x axis, where the experiment has one.
        series
            Which line they belong to, where there are several.
        where
            For plain numbers: "CPU" if no device took part in them. Otherwise they count as the device's.

        Raises
        ------
        ExperimentError
            If a sample is not a finite number from 0, if there is none, or if x or series do not fit.
        """
        if not self._open:
            raise self._error("is over: call e.add(…) inside its block")
        if not isinstance(series, str) or any(each in series for each in RESERVED):
            raise self._error(
                f"has a series {series!r}: name it in words without any of {' '.join(RESERVED)}"
            )
        x = self._checked_x(x)
        values = self._values(measured)
        place = self._place(measured, where)
        doubts = [doubt.kind for doubt in measured.doubts] if isinstance(measured, Timing) else []
        same = next((each for each in self.samples if (each["series"], each["x"]) == (series, x)), None)
        if same is None:
            same = {"series": series, "x": x, "values": [], "where": place}
            self.samples.append(same)
        elif same["where"] != place:
            raise self._error(
                f"has samples of a {same['where']} and of a {place} under one name: give each a series of its own"
            )
        same["values"] += values
        if doubts:
            same["doubts"] = sorted({*same.get("doubts", ()), *doubts})

    def draw(self) -> Any:
        """Return the figure: this machine beside the recorded ones, with its table."""
        from host_to_device.measuring import figures

        return figures.draw(self, ledger.records(), this_machine=ledger.own_name())

    def __repr__(self) -> str:
        many = sum(len(each["values"]) for each in self.samples)
        return f"experiment {self.name!r}: {many} samples{f' ({self.where})' if self.samples else ''}"

    def _error(self, problem: str) -> ExperimentError:
        return ExperimentError(f"experiment {self.name!r} {problem}")

    def _values(self, measured: Any) -> list[float]:
        if isinstance(measured, Timing):
            values = self._of_timing(measured)
        else:
            values = measured.tolist() if hasattr(measured, "tolist") else measured
            values = list(values) if isinstance(values, list | tuple) else [values]
        if not values:
            raise self._error("was given no samples: measure something first")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise self._error(
                    f"was given {value!r}, which is no number: give a Timing, a number or a list of numbers"
                )
            if not math.isfinite(value) or value < 0:
                raise self._error(
                    f"was given {float(value)!r}, which nothing can measure: look at what it comes from"
                )
        return [int(value) if isinstance(value, numbers.Integral) else float(value) for value in values]

    def _of_timing(self, timing: Timing) -> list[float]:
        unit = self.y["unit"]
        if unit == "s":
            return list(timing.samples)
        amount = {"B/s": timing.bytes, "FLOP/s": timing.flops}.get(unit)
        if amount is None:
            raise self._error(
                f"measures in {unit or 'numbers'} and was given a time: give numbers, or y=(…, 's'), or y=(…, 'B/s') "
                "and h2d.time(…, bytes=…)"
            )
        if not all(timing.samples):
            raise self._error("was given a time of 0, which is no rate: measure something longer")
        return [amount / sample for sample in timing.samples]

    def _checked_x(self, x: Any) -> float | str | None:
        if self.x is None:
            if x is not None:
                raise self._error(f"has no x axis and was given x={x!r}: h2d.experiment(…, x=(label, unit))")
            return None
        x = x.item() if hasattr(x, "item") else x
        if isinstance(x, str) and x:
            return x
        if isinstance(x, bool) or not isinstance(x, numbers.Real) or not math.isfinite(x):
            raise self._error(
                f"was given x={x!r}: give the number or the word that stands for {self.x['label']}"
            )
        return int(x) if isinstance(x, numbers.Integral) else float(x)

    def _place(self, measured: Any, where: str | None) -> str:
        """Return what did the work. Plain numbers could be a stand-in's, so where there is one, they are."""
        device = {"gpu": "GPU", "stand-in": "stand-in"}.get(machine.chosen or "", "CPU")
        if where is None:
            return measured.where if isinstance(measured, Timing) else device
        if where not in PLACES or isinstance(measured, Timing):
            raise self._error(f"was given where={where!r}: for plain numbers, give 'CPU' or nothing")
        if where != "CPU" and where != device:
            raise self._error(f"was given where={where!r} and runs on a {device} here: leave it out")
        return where

    def _leave(self, folder: Path) -> None:
        """Leave the samples where the measuring run looks for them."""
        if not folder.is_dir():
            raise self._error(
                f"finds no folder {folder}, which {FOLDER} names: `make measure` sets it, nobody else"
            )
        found = {
            **{part: getattr(self, part) for part in ("name", "title", "x", "y", "where", "samples")},
            "limits": list(self.limits),
            "cell_hash": ledger.digest(_source()),
        }
        try:
            ledger.write_whole(folder / f"{self.name}.json", json.dumps(found, allow_nan=False))
        except OSError as problem:
            raise self._error(f"cannot leave its samples in {folder} ({problem.strerror})") from None


def experiment(
    name: str,
    *,
    title: str = "",
    x: tuple[str, str] | None = None,
    y: tuple[str, str] = ("time", "s"),
    limits: tuple[str, ...] = (),
) -> Experiment:
    """Begin an experiment, whose samples are drawn beside those of recorded machines.

    >>> with h2d.experiment("copy-cost", x=("size", "B")) as e:
    ...     e.add(h2d.time(copy), x=2**20)
    >>> e.draw()

    Parameters
    ----------
    name
        Its name in the ledger, in lower-case-words; no other experiment of the book has it.
    title
        What stands above its figure; the name if nothing is given.
    x
        Label and unit of what is varied; None where nothing is.
    y
        Label and unit of what is measured.
    limits
        Names of the machine's limits to draw beside it, such as "copy bandwidth".

    Returns
    -------
    Experiment
        To be entered by `with`. It has `add`, `draw`, `samples` and `where`.

    Raises
    ------
    ExperimentError
        If the name is not in lower-case-words, if x or y is not a label with a unit, or if the notebook has used the
        name already. An exception inside the block goes on, and nothing is written.
    """
    from host_to_device.measuring.limits import KNOWN

    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ExperimentError(
            f"an experiment cannot be called {name!r}: take lower-case words with dashes, as in copy-cost"
        )
    axes = []
    for axis, given in (("x", x), ("y", y)):
        if given is None and axis == "x":
            axes.append(None)
        elif (
            isinstance(given, tuple)
            and len(given) == 2
            and all(isinstance(each, str) for each in given)
            and given[0]
        ):
            axes.append({"label": given[0], "unit": given[1]})
        else:
            raise ExperimentError(
                f"experiment {name!r} has {axis}={given!r}: give a label and a unit, as in ('time', 's')"
            )
    for limit in (limits,) if isinstance(limits, str) else limits:
        if limit not in KNOWN:
            raise ExperimentError(
                f"experiment {name!r} names a limit {limit!r}; there is: {'; '.join(KNOWN)}"
            )
    return Experiment(name, title or name, *axes, (limits,) if isinstance(limits, str) else tuple(limits))


def _message() -> dict[str, Any]:
    """Return the request that Jupyter is working on; empty outside Jupyter."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    message = shell.get_parent() if hasattr(shell, "get_parent") else None
    return message if isinstance(message, dict) else {}


def _request() -> str | None:
    return _message().get("header", {}).get("msg_id")


def _source() -> str:
    """Return the source of the cell that is running, empty outside Jupyter."""
    return _message().get("content", {}).get("code", "")
