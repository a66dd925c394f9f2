"""The placement explorer: one training step, put together from choices, run line by line, and counted.

Nothing in its picture is computed from a model. It runs the lines that it shows, on the device of `h2d.device()`: a GPU
or the stand-in. `h2d.count()` counts each line, an error is PyTorch's own, and the model was trained if its weight
after the step differs from its weight before.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from host_to_device.counting import count
from host_to_device.exploring.explorer import Choice, Explorer, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, INK, LINE, ORANGE, ORANGE_SOFT, QUIET, WARNING
from host_to_device.rendering.table import Table
from host_to_device.starting.devices import device as device_of
from host_to_device.support.installed import SetUpError

HOST, DEVICE = BLUE, ORANGE
PLACES = {"cpu": "CPU", "device": "device", "second": "second device"}
FORWARD, UPDATE = "out = model(x)", "optimizer.step()"
ROWS, COLUMNS, CLASSES = 32, 4, 3  # of the data, of which only the place matters here

# Lengths in the SVG's own units: the width of a letter of code and of a place, the height of a line and of the names.
LETTER, COLUMN, ROW, TOP = 7.3, 64, 26, 26


@dataclass(frozen=True)
class Ran:
    """One line of the program and what was seen while it ran.

    Attributes
    ----------
    code
        The line, as it was run.
    place
        Where its result lies, None if it has none.
    there, back, waits, operations
        Copies to the device and to the host, waits of the host, operations of the device; None if not counted.
    """

    code: str
    place: str | None
    there: int | None = None
    back: int | None = None
    waits: int | None = None
    operations: int | None = None


@dataclass(frozen=True)
class Step:
    """What a program did.

    Attributes
    ----------
    ran, left
        The lines that ran, with the refused one, and the lines that were not reached.
    error
        The first line of PyTorch's error; empty if there was none.
    trained, held
        Whether the weight has changed, and whether the optimizer holds the model's weight; both after all lines.
    where
        Where it was counted, as `h2d.count()` says it.
    """

    ran: tuple[Ran, ...]
    left: tuple[str, ...]
    error: str
    trained: bool
    held: bool
    where: str


def _offered(place: str) -> bool:
    """Whether a menu offers a place: a second device only where there is one."""
    return place != "second" or devices() > 1


@dataclass(frozen=True)
class PlacementPicture(Picture):
    """A training step as it was placed, line by line, as a picture; see `explore_placement` for the parameters."""

    model: str = "device"
    x: str = "device"
    y: str = "device"
    spread: str = "buffer"
    order: str = "move, optimizer"
    parameters: str = "kept"
    outputs: str = "stay"

    controls: ClassVar = {
        "model": Choice("the model", PLACES, offered=_offered),
        "x": Choice("the rows x", PLACES, offered=_offered),
        "y": Choice("the labels y", PLACES, offered=_offered),
        "spread": Choice(
            "model.spread",
            {
                "buffer": "a buffer",
                "attribute": "a plain attribute",
                "carried": "an attribute, moved in forward",
            },
        ),
        "order": Choice(
            "the order",
            {
                "move, optimizer": "move, then optimizer",
                "optimizer, move": "optimizer, then move",
                "optimizer, step, move": "optimizer, a step, then move",
            },
        ),
        "parameters": Choice(
            "in a move, parameters",
            {"kept": "get new memory (CUDA, the stand-in)", "new": "are made anew (a TPU, say)"},
        ),
        "outputs": Choice("the loss", {"stay": "where the outputs are", "cpu": "on the CPU"}),
    }
    key: ClassVar = (
        "A dot shows where the line's result lies, a number the number in it counts the device's operations; "
        "an arrow is a copy, two bars are a wait of the host."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("model", "x", "y"):
            if not _offered(getattr(self, name)):
                raise ValueError(
                    f"{name} is 'second', but this machine has one device: give 'device' or 'cpu'"
                )

    def program(self) -> list[tuple[str, str]]:
        """Return the lines of the step, each with the expression whose place is its result's."""
        move = [] if self.model == "cpu" else [(f"model.to({self.model})", "model.layer.weight")]
        held = "optimizer.param_groups[0]['params'][0]"
        steps = {
            "move": move,
            "optimizer": [("optimizer = SGD(model.parameters())", held)],
            "step": [("train_one_step(model, optimizer)", held)],
        }
        lines = [("model = Classifier()", "model.layer.weight")]
        if self.parameters == "new":
            lines.insert(0, ("set_overwrite_module_params_on_conversion(True)", ""))
        for name in self.order.split(", "):
            lines += steps[name]
        lines += [
            (f"{name} = {name}.to({to})", name) for name, to in (("x", self.x), ("y", self.y)) if to != "cpu"
        ]
        outputs = "out" if self.outputs == "stay" else "out.cpu()"
        return [
            *lines,
            (FORWARD, "out"),
            (f"loss = cross_entropy({outputs}, y)", "loss"),
            ("loss.backward()", "model.layer.weight.grad"),
            (UPDATE, held),
            ("number = loss.item()", "number"),
        ]

    @cached_property
    def step(self) -> Step:
        """What happened when the program ran. It runs at the first access."""
        self._run(counting=False)  # a first run loads libraries, and their work is not to be counted
        return self._run(counting=True)

    def _run(self, *, counting: bool) -> Step:
        import torch

        ran: list[Ran] = []
        names = self._names()
        error, where = "", ""
        before: Any = None
        program = self.program()
        future = torch.__future__
        overwriting = future.get_overwrite_module_params_on_conversion()
        with torch.random.fork_rng(devices=[]):  # the reader's random numbers do not change
            torch.default_generator.manual_seed(0)
            try:
                future.set_overwrite_module_params_on_conversion(False)
                for code, result in program:
                    if code == FORWARD:
                        before = names["model"].layer.weight.detach().clone()
                    with _counted() if counting else contextlib.nullcontext() as counts:
                        try:
                            exec(code, names)  # the line that the picture shows
                        except (RuntimeError, TypeError) as problem:
                            error = f"{type(problem).__name__}: {str(problem).splitlines()[0]}"
                    place = None if error or not result else _place(eval(result, names))
                    ran.append(Ran(code, place, *_numbers(counts)))
                    where = where or (counts.where if counts is not None else "")
                    if error:
                        break
            finally:
                future.set_overwrite_module_params_on_conversion(overwriting)
        left = tuple(code for code, _ in program[len(ran) :])
        if error:
            return Step(tuple(ran), left, error, False, False, where)
        weight, held = names["model"].layer.weight, names["optimizer"].param_groups[0]["params"][0]
        return Step(tuple(ran), left, "", not torch.equal(before, weight), held is weight, where)

    def _names(self) -> dict[str, Any]:
        """Return the names that the program's lines use: the places, the data on the CPU, and the functions."""
        import torch

        rows = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(8))
        names: dict[str, Any] = {"device": device_of()}
        if devices() > 1:
            names["second"] = device_of(1)

        def train_one_step(model: Any, optimizer: Any) -> None:
            torch.nn.functional.cross_entropy(model(rows), rows[:, :CLASSES].argmax(1)).backward()
            optimizer.step()
            optimizer.zero_grad()

        return names | {
            "x": rows,
            "y": rows[:, :CLASSES].argmax(1),
            "Classifier": functools.partial(_classifier, self.spread),
            "SGD": functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9),
            "cross_entropy": torch.nn.functional.cross_entropy,
            "set_overwrite_module_params_on_conversion": torch.__future__.set_overwrite_module_params_on_conversion,
            "train_one_step": train_one_step,
        }

    @property
    def warns(self) -> bool:
        """Whether a line was refused or nothing was trained."""
        return bool(self.step.error) or not self.step.trained

    def summary(self) -> str:
        """Return what happened, in a few sentences."""
        step = self.step
        if step.error:
            return f"Line {len(step.ran)} of {len(step.ran) + len(step.left)} raises an error. {step.error}"
        if step.trained:
            said = "All lines ran, and the weight has changed."
        elif not step.held:
            said = "All lines ran, but the weight has not changed: the optimizer holds parameters that no longer belong to the model."
        else:
            said = "All lines ran, but the weight has not changed."
        if any(each.operations is None for each in step.ran):
            return f"{said} The explorer has no counts: this machine has no profiler."
        if not any(each.operations for each in step.ran):
            return f"{said} The device got no work. Counted on: {step.where}."
        codes = [each.code for each in step.ran]
        core = step.ran[codes.index(FORWARD) : codes.index(UPDATE) + 1]
        there, back, waits, operations = (
            sum(getattr(each, name) or 0 for each in core)
            for name in ("there", "back", "waits", "operations")
        )
        return (
            f"{said} From {FORWARD} to {UPDATE}: {_many(there, 'copy')} to the device, {_many(back, 'copy')} to the "
            f"host, {_many(waits, 'wait')}, {_many(operations, 'operation')} of the device. Counted on: {step.where}."
        )

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        lines = []
        for number, each in enumerate(self.step.ran, 1):
            told = [f"{number}: {each.code}"]
            told += [f"its result is on {each.place}"] if each.place else []
            told += [f"{each.there} to the device"] if each.there else []
            told += [f"{each.back} to the host"] if each.back else []
            told += ["the host waits"] if each.waits else []
            told += [f"{each.operations} operations of the device"] if each.operations else []
            lines.append(", ".join(told))
        return f"A training step, line by line, with a column for each place. {'; '.join(lines)}. {self.summary()}"

    def places(self) -> list[str]:
        """Return the columns: the CPU, the device, and the second device if the program names it."""
        second = "second" in (self.model, self.x, self.y)
        return ["cpu", str(device_of()), *([str(device_of(1))] if second else [])]

    def svg(self) -> str:
        """Return the picture: a row for each line, a dot where its result lies, arrows for copies."""
        step, places = self.step, self.places()
        lines = [*(each.code for each in step.ran), *step.left]
        code = round(LETTER * max(map(len, lines)))
        at = {place: code + COLUMN * (number + 0.5) for number, place in enumerate(places)}
        width, height = code + COLUMN * len(places), TOP + ROW * len(lines)
        parts = []
        for place, x in at.items():
            colour = HOST if place == "cpu" else DEVICE
            parts.append(svg.text(x, 15, place.upper() if place == "cpu" else place, colour, "middle"))
            parts.append(svg.line(x, TOP, x, height, LINE))
        device, top = places[1], TOP
        for number, each in enumerate(step.ran):
            stopped = bool(step.error) and number == len(step.ran) - 1
            y = top + ROW / 2
            parts.append(_code(y, each.code, WARNING if stopped else INK))
            if each.place not in (None, "cpu"):
                device = each.place
            parts += self._marks(each, y, at, device)
            if stopped:
                parts.append(svg.text(at[places[0]] - COLUMN * 0.55, y + 5, "✗", WARNING, "middle", 15))
            top += ROW
        for line in step.left:
            parts.append(_code(top + ROW / 2, line, QUIET, opacity=0.55))
            top += ROW
        return svg.picture(parts, self.alt(), (0, 0, width, height + 4), width * 1.3)

    def _marks(self, each: Ran, y: float, at: dict[str, float], device: str) -> Iterator[str]:
        """Yield what a line did: copies as arrows, a wait as two bars, its result as a dot with its operations."""
        host = at["cpu"]
        if each.there:
            tip = 12 if each.operations else 7
            yield _arrow(host, at[device], y - 5 if each.back else y, each.there, tip)
        if each.back:
            yield _arrow(at[device], host, y + 5 if each.there else y, each.back)
        if each.waits:
            for shift in (-19, -14):
                yield svg.box(host + shift, y - 6, 3, 12, WARNING)
        if each.operations:
            yield svg.circle(at[device], y, 10, ORANGE_SOFT, stroke=DEVICE, stroke_width=1.5)
            yield svg.text(at[device], y + 4, str(each.operations), anchor="middle")
        if each.place is not None and not (each.operations and each.place == device):
            yield svg.circle(at[each.place], y, 5, HOST if each.place == "cpu" else DEVICE)

    def table(self) -> Table:
        """Return the lines with what was counted."""

        def written(number: int | None) -> str:
            return "?" if number is None else str(number)

        rows = [
            (
                each.code,
                each.place or "–",
                *map(written, (each.there, each.back, each.waits, each.operations)),
            )
            for each in self.step.ran
        ]
        rows += [(code, "not reached", "", "", "", "") for code in self.step.left]
        head = ("line", "its result", "copies to the device", "to the host", "waits", "operations")
        caption = f"The training step, line by line; counted on: {self.step.where}"
        return Table(caption, head, tuple(rows), (2, 3, 4, 5), code=0)


def explore_placement(
    model: str = "device",
    x: str = "device",
    y: str = "device",
    *,
    spread: str = "buffer",
    order: str = "move, optimizer",
    parameters: str = "kept",
    outputs: str = "stay",
) -> Explorer[PlacementPicture]:
    """Run one training step with the given placement, and show what each line did; menus change every choice.

    The step runs on the device of `h2d.device()`. Its model divides by `model.spread` and applies a linear layer; its
    data are 32 rows of 4 numbers (float32) in 3 classes; its optimizer is SGD with momentum. Model and data begin on
    the CPU.

    Parameters
    ----------
    model, x, y
        Where the model, the rows and the labels are in the step: "cpu", where they begin, "device", or "second", the
        second device where there is one.
    spread
        What `model.spread` is: "buffer", "attribute", or "carried", an attribute that `forward` moves to `x`.
    order
        "move, optimizer", "optimizer, move" or "optimizer, step, move"; the first step runs on the CPU.
    parameters
        What moving the model does to its parameters: "kept", they get new memory, as on CUDA; "new", new parameters
        replace them, as `torch.__future__.set_overwrite_module_params_on_conversion` makes every device do.
    outputs
        "stay", the loss is computed where the outputs are; "cpu", the outputs are copied to the CPU first.

    Raises
    ------
    ValueError
        If a choice is none of these, or "second" where there is one device.
    SetUpError
        If PyTorch is not installed, or no compiler to build its stand-in device.

    Examples
    --------
    >>> explorer = h2d.explore_placement(
    ...     model="device", x="device", y="device"
    ... )  # a notebook shows it with its menus
    >>> print(explorer.picture.summary())
    All lines ran, and the weight has changed...
    """
    return Explorer(PlacementPicture(model, x, y, spread, order, parameters, outputs))


def devices() -> int:
    """Return how many devices `h2d.device` finds on this machine."""
    import torch

    first = device_of()
    return torch.get_device_module(first).device_count()


def _classifier(spread: str) -> Any:
    """Return the model: `layer(x / spread)`, with `spread` kept in one of three ways."""
    import torch

    class Classifier(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(COLUMNS, CLASSES)
            values = torch.full((COLUMNS,), 2.0)
            if spread == "buffer":
                self.register_buffer("spread", values)
            else:
                self.spread = values

        def forward(self, x: Any) -> Any:
            return self.layer(x / (self.spread.to(x.device) if spread == "carried" else self.spread))

    return Classifier()


@contextlib.contextmanager
def _counted() -> Iterator[Any]:
    """Count, and yield the counts; yield None on a GPU without a profiler."""
    with contextlib.ExitStack() as around:
        counts = None
        with contextlib.suppress(SetUpError):
            counts = around.enter_context(count())
        yield counts


def _numbers(counts: Any) -> tuple[int | None, ...]:
    if counts is None:
        return None, None, None, None
    numbers = counts.as_dict()
    return tuple(numbers[name] for name in ("host_to_device", "device_to_host", "waits", "operations"))


def _many(number: int, name: str) -> str:
    return f"{number or 'no'} {name if number == 1 else {'copy': 'copies'}.get(name, name + 's')}"


def _place(result: Any) -> str:
    return str(result.device) if hasattr(result, "device") else "cpu"  # a Python number lies on the host


def _code(y: float, code: str, fill: str, **more: Any) -> str:
    # "!important", because the book's style sheet gives every drawing the font of its text, with the same word.
    font = "font-family: ui-monospace, Menlo, Consolas, monospace !important"
    return svg.text(0, y + 4, code, fill, style=font, **more)


def _arrow(begin: float, end: float, y: float, number: int, before: int = 7) -> str:
    """Return an arrow that ends `before` units before a column, with the number of copies above it if it is several."""
    way = 1 if end > begin else -1
    begin, tip = begin + 6 * way, end - before * way
    head = f"{tip:.1f},{y} {tip - 7 * way:.1f},{y - 4} {tip - 7 * way:.1f},{y + 4}"
    return (
        svg.line(begin, y, tip - 6 * way, y, INK, stroke_width=1.6)
        + svg.element("polygon", points=head, fill=INK)
        + (svg.text((begin + tip) / 2, y - 3, f"{number}×", anchor="middle", size=10) if number > 1 else "")
    )
