"""What all explorers share: controls that the reader moves, a picture of their values, and the two put together.

Python draws each picture as SVG. With a kernel, moving a control draws the picture anew. A static page shows the
picture of the first values, so that picture is worth looking at without moving anything.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Generic, TypeVar

from host_to_device.rendering.palette import DARK, QUIET, WARNING
from host_to_device.rendering.table import Table


@dataclass(frozen=True)
class Number:
    """A number within limits, moved by a slider.

    Attributes
    ----------
    label, unit
        What stands beside the slider; `unit` is "" for a plain number.
    low, high
        The smallest and the largest value.
    whole
        Whether it must be a whole number.
    log
        Whether the slider is logarithmic.
    """

    label: str
    low: float
    high: float
    unit: str = ""
    whole: bool = True
    log: bool = False

    @property
    def description(self) -> str:
        """What stands beside the slider."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def checked(self, name: str, value: Any) -> Any:
        """Return the value of the parameter `name`, or raise ValueError if it is outside the limits."""
        fits = isinstance(value, int if self.whole else int | float) and not isinstance(value, bool)
        if fits and self.low <= value <= self.high:
            return value
        wanted = f"a {'whole ' * self.whole}number from {self.low:,} to {self.high:,} {self.unit}".rstrip()
        raise ValueError(f"{name} is {value!r}: give {wanted}")

    def slider(self, value: Any, **look: Any) -> Any:
        """Return an ipywidgets slider at `value`."""
        import ipywidgets

        shared = {"value": value, "description": self.description, **look}
        if self.log:
            ends = {"min": math.log10(self.low), "max": math.log10(self.high), "step": 0.05}
            return ipywidgets.FloatLogSlider(readout_format=",.0f" if self.whole else ".3g", **ends, **shared)
        kind = ipywidgets.IntSlider if self.whole else ipywidgets.FloatSlider
        return kind(min=self.low, max=self.high, **shared)

    def read(self, value: float) -> float:
        """Return the number that a slider at `value` means; at its ends, rounding may carry `value` past the limit."""
        value = min(max(value, self.low), self.high)
        return round(value) if self.whole else value


@dataclass(frozen=True)
class Choice:
    """One of several values, picked from a menu or with a slider.

    Attributes
    ----------
    label
        What stands beside the menu.
    values
        The values; a mapping also has the menu's words for each.
    ordered
        Whether a slider takes the menu's place.
    offered
        Tells of a value whether the menu has it on this machine.
    """

    label: str
    values: Iterable[Any] | Mapping[Any, str]
    ordered: bool = False
    offered: Callable[[Any], bool] = lambda value: True

    @property
    def description(self) -> str:
        """What stands beside the menu."""
        return self.label

    def checked(self, name: str, value: Any) -> Any:
        """Return the value of the parameter `name`, or raise ValueError if it is not one of the values."""
        known = tuple(self.values)
        if isinstance(value, bool) or value not in known:
            raise ValueError(f"{name} is {value!r}: give one of {', '.join(map(repr, known))}")
        return known[known.index(value)]

    def slider(self, value: Any, **look: Any) -> Any:
        """Return an ipywidgets menu or slider at `value`."""
        import ipywidgets

        words = self.values if isinstance(self.values, Mapping) else {each: str(each) for each in self.values}
        options = [(said, each) for each, said in words.items() if self.offered(each)]
        shared = {"options": options, "value": value, "description": self.description, **look}
        if self.ordered:
            return ipywidgets.SelectionSlider(**shared)
        shared.pop("continuous_update")
        return ipywidgets.Dropdown(**shared)

    def read(self, value: Any) -> Any:
        """Return the value that was picked."""
        return value


@dataclass(frozen=True)
class Picture(ABC):
    """A picture of some values. A subclass has a field for each of its controls.

    Attributes
    ----------
    controls
        The controls by the names of their fields.
    slow
        Whether drawing takes so long that a slider should wait until it is let go.
    key
        How the picture is to be read, for pictures whose marks need it.
    folded
        What the folded table below the picture is called.

    Raises
    ------
    ValueError
        If a control does not take its field's value.
    """

    controls: ClassVar[Mapping[str, Number | Choice]]
    slow: ClassVar[bool] = False
    key: ClassVar[str] = ""
    folded: ClassVar[str] = "These numbers as a table"

    def __post_init__(self) -> None:
        for name, control in self.controls.items():
            object.__setattr__(self, name, control.checked(name, getattr(self, name)))

    @abstractmethod
    def svg(self) -> str:
        """Return the picture."""

    @abstractmethod
    def summary(self) -> str:
        """Return what the picture shows, in a few sentences."""

    @abstractmethod
    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""

    @property
    def warns(self) -> bool:
        """Whether the summary tells of something bad, and so has the colour of warnings."""
        return False

    def table(self) -> Table | None:
        """Return the picture's numbers, or None where the summary has them all."""
        return None

    def html(self) -> str:
        """Return the picture with its key, its summary and its numbers below it."""
        key = f'<p style="color: {QUIET}">{escape(self.key)}</p>' if self.key else ""
        colour = f' style="color: {WARNING}"' if self.warns else ""
        table = self.table()
        folded = (
            ""
            if table is None
            else (
                f"<details><summary>{escape(self.folded)}</summary>"
                f'<div role="region" aria-label="Table: {escape(table.caption)}" tabindex="0" '
                f'style="overflow-x: auto">{table._repr_html_()}</div></details>'
            )
        )
        summary = f"<p{colour}>{escape(self.summary())}</p>"
        return f'{DARK}<div class="h2d-explorer">{self.svg()}{key}{summary}{folded}</div>'

    def _repr_html_(self) -> str:
        return self.html()


Drawn = TypeVar("Drawn", bound=Picture)


class Explorer(Generic[Drawn]):
    """Controls and a picture where a kernel runs; the picture alone in a static page."""

    def __init__(self, picture: Drawn) -> None:
        self.picture = picture

    def widget(self) -> Any:
        """Return the controls and the picture as one ipywidgets box; moving a control draws the picture anew."""
        import ipywidgets

        kind, declared = type(self.picture), self.picture.controls
        letters = max(len(control.description) for control in declared.values())
        look = {
            "style": {"description_width": f"{2.5 + 0.4 * letters:.3g}em"},
            "layout": {"width": f"min(100%, {23 + 0.4 * letters:.3g}em)"},
            "continuous_update": not self.picture.slow,
        }
        moved = {
            name: control.slider(getattr(self.picture, name), **look) for name, control in declared.items()
        }
        view = ipywidgets.HTML(self.picture.html())

        def redraw(_change: object) -> None:
            self.picture = kind(**{name: declared[name].read(each.value) for name, each in moved.items()})
            view.value = self.picture.html()

        for each in moved.values():
            each.observe(redraw, names="value")
        return ipywidgets.VBox([*moved.values(), view])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        # Spelled out, because ipywidgets 7 (Colab's) has no method that returns it.
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget().model_id}
        bundle: dict[str, Any] = {
            "application/vnd.jupyter.widget-view+json": view,
            "text/plain": self.picture.summary(),
        }
        # Colab would show the still picture beside the widget; other front ends choose the widget.
        if "google.colab" not in sys.modules:
            bundle["text/html"] = self.picture.html()
        return bundle
