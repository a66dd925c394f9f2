"""The explorer of device placement: one training step, put together by choices, run line by line, and counted.

Nothing in its picture is computed from a model. The lines that it shows are the lines that it runs, on the device of
`h2d.device()`, a GPU or the stand-in; each is counted by `h2d.count()`, its error is PyTorch's own, and whether the
model was trained is found out by comparing its weight before the step with its weight after it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from typing import Any

from host_to_device.counting import count
from host_to_device.exploring.explorer import INK, QUIET, WARNING, Explorer
from host_to_device.rendering.table import Table
from host_to_device.starting.devices import device as device_of
from host_to_device.support.installed import SetUpError

LINE, HOST, DEVICE = "var(--h2d-line, #d9d9d9)", "var(--h2d-blue, #0072b2)", "var(--h2d-orange, #d55e00)"
FILL = "var(--h2d-orange-soft, #fbe5d6)"

# What can be chosen: label, and for each value what the menu calls it.
PLACES = {"cpu": "CPU", "device": "device", "second": "second device"}
CHOICES: dict[str, tuple[str, dict[str, str]]] = {
    "model": ("the model", PLACES),
    "x": ("the rows x", PLACES),
    "y": ("the labels y", PLACES),
    "spread": (
        "model.spread",
        {"buffer": "a buffer", "attribute": "a plain attribute", "carried": "an attribute, moved in forward"},
    ),
    "order": (
        "the order",
        {
            "move, optimizer": "move, then optimizer",
            "optimizer, move": "optimizer, then move",
            "optimizer, step, move": "optimizer, a step, then move",
        },
    ),
    "parameters": (
        "in a move, parameters",
        {"kept": "get new memory (CUDA, the stand-in)", "new": "are made anew (a TPU, say)"},
    ),
    "outputs": ("the loss", {"stay": "where the outputs are", "cpu": "on the CPU"}),
}
FORWARD, UPDATE = "out = model(x)", "optimizer.step()"
ROWS, COLUMNS, CLASSES = 32, 4, 3  # of the data: all that matters here is where they lie

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
        Copies to the device and to the host, waits of the host, operations of the device; None if nobody counted.
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
        The lines that ran, the refused one included, and those that were not reached.
    error
        What PyTorch said when it refused, the first line of it; empty if it did not.
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


@dataclass(frozen=True)
class PlacementPicture:
    """A training step as it was placed, line by line, as a picture; see `explore_placement` for the parameters."""

    model: str = "device"
    x: str = "device"
    y: str = "device"
    spread: str = "buffer"
    order: str = "move, optimizer"
    parameters: str = "kept"
    outputs: str = "stay"

    def __post_init__(self) -> None:
        for field in fields(self):
            value, (_, known) = getattr(self, field.name), CHOICES[field.name]
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{field.name} is {value!r}: it takes {' or '.join(map(repr, known))}")
            if value == "second" and devices() < 2:
                raise ValueError(
                    f"{field.name} is 'second', and there is one device here: take 'device' or 'cpu'"
                )

    def program(self) -> list[tuple[str, str]]:
        """Return the lines of the step, and for each the expression that says where its result lies."""
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
        """What happened when the program ran; it runs when it is asked for, and once."""
        self._run(
            counting=False
        )  # libraries are loaded during a first run, and that is not what is to be counted
        return self._run(counting=True)

    def _run(self, *, counting: bool) -> Step:
        import torch

        ran: list[Ran] = []
        names = self._names()
        error, before, where = "", None, ""
        program = self.program()
        future = torch.__future__
        overwriting = future.get_overwrite_module_params_on_conversion()
        with torch.random.fork_rng(devices=[]):  # the reader's random numbers stay what they would have been
            torch.default_generator.manual_seed(0)
            try:
                future.set_overwrite_module_params_on_conversion(False)
                for code, result in program:
                    if code == FORWARD:
                        before = names["model"].layer.weight.detach().clone()
                    with _counted() if counting else contextlib.nullcontext() as counts:
                        try:
                            exec(code, names)  # what is shown is what runs
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
        """Return what the program's lines find: the places, the data on the CPU, and what they call."""
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

    def summary(self) -> str:
        """Return what happened, in a few sentences."""
        step = self.step
        if step.error:
            return f"Line {len(step.ran)} of {len(step.ran) + len(step.left)} is refused. {step.error}"
        if step.trained:
            said = "All lines ran, and the weight has changed."
        elif not step.held:
            said = "All lines ran, and nothing was trained: the optimizer holds parameters that are the model's no more."
        else:
            said = "All lines ran, and the weight is what it was."
        if any(each.operations is None for each in step.ran):
            return f"{said} Nothing was counted: there is no profiler here."
        if not any(each.operations for each in step.ran):
            return f"{said} The device did nothing. Counted on: {step.where}."
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
        """Return what the picture shows, for those who do not see it."""
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
        """Return the columns: the CPU, the device, and a second one if the program names it."""
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
            parts.append(_text(x, 15, place.upper() if place == "cpu" else place, colour, "middle"))
            parts.append(_rule(x, TOP, x, height))
        device, top = places[1], TOP
        for number, each in enumerate(step.ran):
            stopped = bool(step.error) and number == len(step.ran) - 1
            y = top + ROW / 2
            parts.append(_code(y, each.code, WARNING if stopped else INK))
            if each.place not in (None, "cpu"):
                device = each.place
            parts += self._marks(each, y, at, device)
            if stopped:
                parts.append(_text(at[places[0]] - COLUMN * 0.55, y + 5, "✗", WARNING, "middle", 15))
            top += ROW
        for line in step.left:
            parts.append(_code(top + ROW / 2, line, QUIET, ' opacity="0.55"'))
            top += ROW
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 4}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" '
            f'style="width: {width * 1.3:.0f}px; max-width: 100%; height: auto; font-family: inherit">{"".join(parts)}</svg>'
        )

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
                yield f'<rect x="{host + shift}" y="{y - 6}" width="3" height="12" fill="{WARNING}"/>'
        if each.operations:
            yield f'<circle cx="{at[device]}" cy="{y}" r="10" fill="{FILL}" stroke="{DEVICE}" stroke-width="1.5"/>'
            yield _text(at[device], y + 4, str(each.operations), INK, "middle")
        if each.place is not None and not (each.operations and each.place == device):
            colour = HOST if each.place == "cpu" else DEVICE
            yield f'<circle cx="{at[each.place]}" cy="{y}" r="5" fill="{colour}"/>'

    def table(self) -> str:
        """Return the lines and what was counted as a table, folded."""

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
        table = Table(f"Counted on: {self.step.where}", head, tuple(rows), (2, 3, 4, 5), code=0)
        return (
            "<details><summary>These numbers as a table</summary>"
            '<div role="region" aria-label="Table: the training step, line by line" tabindex="0" '
            f'style="overflow-x: auto">{table._repr_html_()}</div></details>'
        )

    def html(self) -> str:
        """Return the picture with its key, its sentences and its numbers below it."""
        good = self.step.trained and not self.step.error
        colour = "" if good else f' style="color: {WARNING}"'
        key = (
            "A dot is where the line's result lies, a number in it how many operations the device had to do; "
            "an arrow is a copy, two bars are a wait of the host."
        )
        return (
            f'<div class="h2d-explorer">{self.svg()}<p style="color: {QUIET}">{key}</p>'
            f"<p{colour}>{escape(self.summary())}</p>{self.table()}</div>"
        )

    def _repr_html_(self) -> str:
        return self.html()


class PlacementExplorer(Explorer):
    """Menus and the picture where a kernel runs; the picture alone in a static page."""

    picture: PlacementPicture

    def widget(self) -> Any:
        """Return the menus and the picture as one ipywidgets box."""
        import ipywidgets

        menus = {}
        for name, (label, known) in CHOICES.items():
            offered = [(said, value) for value, said in known.items() if value != "second" or devices() > 1]
            menus[name] = ipywidgets.Dropdown(
                options=offered,
                value=getattr(self.picture, name),
                description=label,
                style={"description_width": "11em"},
                layout={"width": "min(100%, 32em)"},
            )
        view = ipywidgets.HTML(self.picture.html())

        def redraw(_change: object) -> None:
            self.picture = PlacementPicture(**{name: menu.value for name, menu in menus.items()})
            view.value = self.picture.html()

        for menu in menus.values():
            menu.observe(redraw, names="value")
        return ipywidgets.VBox([*menus.values(), view])


def explore_placement(
    model: str = "device",
    x: str = "device",
    y: str = "device",
    *,
    spread: str = "buffer",
    order: str = "move, optimizer",
    parameters: str = "kept",
    outputs: str = "stay",
) -> PlacementExplorer:
    """Run one training step as it is placed here, and show what each line did; menus move every choice.

    The step is really run, on the device of `h2d.device()`: a linear layer behind a division by `model.spread`, on
    32 rows of 4 numbers (float32) in 3 classes, which begin on the CPU like the model; SGD with momentum.

    Parameters
    ----------
    model, x, y
        Where the model, the rows and the labels are when the step is made: "cpu", where they begin, "device", or
        "second", the second device where there is one.
    spread
        What `model.spread` is: "buffer", "attribute", or "carried", an attribute that `forward` moves to `x`.
    order
        "move, optimizer", "optimizer, move" or "optimizer, step, move"; the step is made on the CPU.
    parameters
        What a move does with them: "kept", they get new memory, as on CUDA; "new", other ones take their place, which
        `torch.__future__.set_overwrite_module_params_on_conversion` does on every device.
    outputs
        "stay", the loss is computed where they are; "cpu", they are brought there first.

    Raises
    ------
    ValueError
        If a choice is none of these, or "second" where there is one device.
    SetUpError
        If there is no PyTorch, or no compiler to build its stand-in with.
    """
    return PlacementExplorer(PlacementPicture(model, x, y, spread, order, parameters, outputs))


def devices() -> int:
    """Return how many devices `h2d.device` knows here."""
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
    """Count where something counts; where a GPU has no profiler, nobody does."""
    with contextlib.ExitStack() as around:
        counts = None
        with contextlib.suppress(SetUpError):
            counts = around.enter_context(count())
        yield counts


def _numbers(counts: Any) -> tuple[int | None, ...]:
    if counts is None:
        return None, None, None, None
    return counts.host_to_device.count, counts.device_to_host.count, counts.waits, counts.operations


def _many(number: int, name: str) -> str:
    return f"{number or 'no'} {name if number == 1 else {'copy': 'copies'}.get(name, name + 's')}"


def _place(result: Any) -> str:
    return str(result.device) if hasattr(result, "device") else "cpu"  # a Python number is the host's


def _text(x: float, y: float, text: str, fill: str, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'


def _code(y: float, code: str, fill: str, more: str = "") -> str:
    return (
        f'<text x="0" y="{y + 4:.1f}" font-size="12" fill="{fill}"{more} '
        # The book's style sheet gives every drawing the font of its text, in the same strong words.
        f'style="font-family: ui-monospace, Menlo, Consolas, monospace !important">{escape(code)}</text>'
    )


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{LINE}"/>'


def _arrow(begin: float, end: float, y: float, number: int, before: int = 7) -> str:
    """Return an arrow that ends so far before a column, with the number of copies above it if there are several."""
    way = 1 if end > begin else -1
    begin, tip = begin + 6 * way, end - before * way
    head = f"{tip:.1f},{y} {tip - 7 * way:.1f},{y - 4} {tip - 7 * way:.1f},{y + 4}"
    text = _text((begin + tip) / 2, y - 3, f"{number}×", INK, "middle", 10) if number > 1 else ""
    return (
        f'<line x1="{begin:.1f}" y1="{y}" x2="{tip - 6 * way:.1f}" y2="{y}" stroke="{INK}" stroke-width="1.6"/>'
        f'<polygon points="{head}" fill="{INK}"/>{text}'
    )
