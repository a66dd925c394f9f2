"""`{wheel-matrix}`: which CUDA and cuDNN each framework's wheel asks for, from `host_to_device/diagnosing/wheel_versions.json`.

    ```{wheel-matrix}
    :name: tab-wheels

    What each wheel asks for
    ```

`python -m tools.wheel_matrix` stores the rows. Each row shows the day on which it was read, so that readers see which
rows are older: those that could not be read when the others were.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

STORED = Path(__file__).resolve().parents[2] / "host_to_device" / "diagnosing" / "wheel_versions.json"
HEAD = ("wheel", "CUDA", "cuDNN", "for CUDA", "Triton", "read")
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
    return [f"{found[1]} {found[2]}", *wants, row["read"].replace("-", "\N{NON-BREAKING HYPHEN}")]


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
        lines = [f":::{{list-table}} {' '.join(self.content)}", ":header-rows: 1", ":class: h2d-wheels"]
        lines += [f":name: {self.options['name']}"] if "name" in self.options else []
        lines.append("")
        for row in [HEAD, *rows]:
            lines += [f"{'* -' if place == 0 else '  -'} {cell}" for place, cell in enumerate(row)]
        holder = nodes.container()
        self.state.nested_parse(StringList([*lines, ":::"], source=""), self.content_offset, holder)
        return holder.children


def setup(app: Sphinx) -> None:
    app.add_directive("wheel-matrix", WheelMatrix)
