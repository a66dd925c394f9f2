"""Two tables of wheels, from what is stored of them in `host_to_device/diagnosing/`.

`{wheel-matrix}`: which CUDA and cuDNN each framework's wheel asks for, from `wheel_versions.json`.

    ```{wheel-matrix}
    :name: tab-wheels

    What each wheel asks for
    ```

`{wheel-code}`: for which GPUs each wheel has code, from `wheel_code.json`; `:only:` names the packages to show.

    ```{wheel-code}
    :name: tab-wheel-code
    :only: torch, cupy-cuda12x

    GPU code in wheels
    ```

`python -m tools.wheel_matrix` and `python -m tools.wheel_code` store the rows. Each row shows the day on which it was
read, so that readers see which rows are older: those that could not be read when the others were.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.tables import day, list_table
from host_to_device.diagnosing import machine_code
from host_to_device.diagnosing.machine_code import Wheel

STORED = Path(__file__).resolve().parents[2] / "host_to_device" / "diagnosing" / "wheel_versions.json"
HEAD = ("wheel", "CUDA", "cuDNN", "for CUDA", "Triton", "read")
CODE_HEAD = ("wheel", "CUDA", "machine code (SASS) for", "PTX for", "read")
NOTHING = "–"


def cells(wheel: str, row: dict[str, str | None]) -> list[str]:
    """Return one line of the table: the wheel without its extra, then the versions that it asks for.

    Raises
    ------
    ValueError
        The wheel is not written as `name==version` or `name[extra]==version`.
    """
    found = re.fullmatch(r"([\w-]+)(?:\[[\w-]+\])?==([\w.]+)", wheel)
    if found is None:
        raise ValueError(f"{wheel!r} is no wheel with its version, as in torch==2.13.0")
    wants = map(shown, (row["cuda"], row["cudnn"], row["cudnn_for"], row["triton"]))
    return [f"{found[1]} {found[2]}", *wants, day(row["read"])]


def code_cells(wheel: Wheel) -> list[str]:
    """Return one line of the table of GPU code."""
    if not wheel.sass and not wheel.ptx:
        code = ["none: it compiles at run time", NOTHING]
    else:
        code = [", ".join(each) or NOTHING for each in (wheel.sass, wheel.ptx)]
    return [f"{wheel.name} {wheel.version}", wheel.cuda, *code, day(wheel.read)]


def chosen(only: str) -> list[Wheel]:
    """Return the wheels of these packages, separated by commas; all of them for "".

    Raises
    ------
    ValueError
        If there is no wheel of a package.
    """
    wheels, names = machine_code.known_wheels(), [name.strip() for name in only.split(",") if name.strip()]
    missing = [name for name in names if name not in {wheel.name for wheel in wheels}]
    if missing:
        there = ", ".join(dict.fromkeys(wheel.name for wheel in wheels))
        raise ValueError(f"there is no wheel of {missing[0]!r}; there is {there}")
    return [wheel for wheel in wheels if not names or wheel.name in names]


def shown(version: str | None) -> str:
    """Return a version as it is, a range as code (a leading `>` would be a quotation), a dash for None."""
    if version is None:
        return NOTHING
    return version if re.fullmatch(r"[\w.]+", version) else f"`{version}`"


class WheelMatrix(SphinxDirective):
    """`{wheel-matrix}` with `:name:`, and the caption as its content."""

    has_content = True
    option_spec = {"name": str}  # noqa: RUF012 - the directive interface wants a plain attribute

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(STORED))
        try:
            rows = [cells(*each) for each in json.loads(STORED.read_text(encoding="utf-8")).items()]
        except (OSError, ValueError, KeyError) as problem:
            raise self.error(f"wheel-matrix: {problem}: run `python -m tools.wheel_matrix`") from None
        lines = list_table(" ".join(self.content), [HEAD, *rows], self.options.get("name"), "h2d-wheels")
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source=""), self.content_offset, holder)
        return holder.children


class WheelCode(SphinxDirective):
    """`{wheel-code}` with `:name:` and `:only:`, and the caption as its content."""

    has_content = True
    option_spec = {"name": directives.unchanged, "only": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(machine_code.STORED))
        try:
            rows = [code_cells(wheel) for wheel in chosen(self.options.get("only", ""))]
        except ValueError as problem:
            raise self.error(f"wheel-code: {problem}") from None
        caption = " ".join(self.content)
        lines = list_table(caption, [CODE_HEAD, *rows], self.options.get("name"), "h2d-wheels")
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source=""), self.content_offset, holder)
        return holder.children


def setup(app: Sphinx) -> None:
    app.add_directive("wheel-matrix", WheelMatrix)
    app.add_directive("wheel-code", WheelCode)
