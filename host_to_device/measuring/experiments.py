"""`h2d.experiment`: collect the samples of a lesson's measurement and draw them beside those of recorded machines.

In a measuring run (`make measure`) `H2D_MEASURE` names a folder, and an experiment leaves its samples there, with a
digest of the cell that made it. By that digest the run finds the cell, and a record shows later whether the cell has
changed.
"""

from __future__ import annotations

import json
import math
import numbers
import os
import sys
from pathlib import Path
from typing import Any

from host_to_device.measuring import figures, ledger
from host_to_device.measuring.known_limits import KNOWN
from host_to_device.measuring.timings import Timing
from host_to_device.starting import machine
from host_to_device.support.messages import OneLine

FOLDER = "H2D_MEASURE"
RESERVED = ",@|"  # the signs of a reference in the book's prose
PLACES = ("GPU", "stand-in", "CPU")

# The experiments of this session: each name with the id of the Jupyter request that entered it.
entered: dict[str, str | None] = {}


class ExperimentError(OneLine, ValueError):
    """An experiment was given something that is not a sample, or a name that is not allowed: one line says what to do."""


class Experiment:
    """The samples of one experiment; `with h2d.experiment("copy-cost", …) as e:` makes one.

    Attributes
    ----------
    name, title
        Its name in the ledger, and its title above a figure.
    x, y
        Label and unit of the variable, or None; label and unit of the measured quantity.
    limits
        The names of the machine's limits that are drawn beside it.
    samples
        The samples so far: series, x, values, and where they were measured, in the form of a record.
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
        """What did the work: "stand-in" if it did for any sample, else "GPU" if it did for any, else "CPU"."""
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
            The result of `h2d.time`, of which all samples are taken; in an experiment whose unit is B/s or FLOP/s they
            become rates, so the measurement needs `bytes` or `flops`. Or one or several numbers in the experiment's
            unit.
        x
            The place on the x axis, a number or a word, where the experiment has an x axis.
        series
            The line to which the samples belong, where there are several.
        where
            For plain numbers: "CPU" if no device took part. Otherwise they count as the device's.

        Raises
        ------
        ExperimentError
            If there is no sample, if a sample is not a finite number from 0, or if x or series do not fit.
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

    def draw(self) -> figures.ExperimentFigure:
        """Return the figure: this machine beside the recorded ones, with its table."""
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
                    f"was given {value!r}, which is not a number: give a Timing, a number or a list of numbers"
                )
            if not math.isfinite(value) or value < 0:
                raise self._error(
                    f"was given {float(value)!r}, which is not a possible measurement: check where it comes from"
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
            raise self._error("was given a time of 0, which gives no rate: measure something longer")
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
        """Return what did the work. Plain numbers count as a stand-in's where one is in use, as they could be its."""
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
            raise self._error(f"finds no folder {folder}, which {FOLDER} names: only `make measure` sets it")
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

    Parameters
    ----------
    name
        Its name in the ledger, in lower-case-words, which no other experiment of the book has.
    title
        The title above its figure; the name if nothing is given.
    x
        Label and unit of the variable; None where nothing varies.
    y
        Label and unit of the measured quantity.
    limits
        The names of the machine's limits to draw beside it, such as "copy bandwidth".

    Returns
    -------
    Experiment
        To be entered by `with`. It has `add`, `draw`, `samples` and `where`.

    Raises
    ------
    ExperimentError
        If the name is not in lower-case-words, if x or y is not a label with a unit, if a limit is not known, or if
        the notebook has used the name already. An exception inside the block passes through, and nothing is written.

    Examples
    --------
    >>> with h2d.experiment("copy-on-host", x=("size", "B")) as e:
    ...     for size in (2**16, 2**20):
    ...         array = np.ones(size, dtype=np.uint8)
    ...         e.add(h2d.time(array.copy, repeat=5), x=size)
    >>> e
    experiment 'copy-on-host': 10 samples (CPU)
    >>> figure = e.draw()  # the last line of a cell shows it: pictures and a table
    """
    if not isinstance(name, str) or not ledger.NAME.fullmatch(name):
        raise ExperimentError(
            f"an experiment cannot be called {name!r}: take lower-case words with dashes, as in copy-cost"
        )
    axes: list[dict[str, str] | None] = []
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
    about_x, about_y = axes
    assert about_y is not None  # y has been checked
    limits = (limits,) if isinstance(limits, str) else tuple(limits)
    return Experiment(name, title or name, about_x, about_y, limits)


def _message() -> dict[str, Any]:
    """Return the Jupyter request that is being worked on; empty outside Jupyter."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    message = shell.get_parent() if shell is not None and hasattr(shell, "get_parent") else None
    return message if isinstance(message, dict) else {}


def _request() -> str | None:
    return _message().get("header", {}).get("msg_id")


def _source() -> str:
    """Return the source of the cell that is running, empty outside Jupyter."""
    return _message().get("content", {}).get("code", "")
