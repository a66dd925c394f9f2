"""Renders listings as HTML for notebooks and the book: light and dark, on wide pages and on phones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from host_to_device.inspecting.rows import Row
from host_to_device.rendering.palette import BLUE, DARK, GREEN, INK, LINE, PURPLE, QUIET, WARNING

# Colours by the kind of an instruction; the remark says the same in words.
COLOURS = {
    **dict.fromkeys(("load", "store", "copy"), BLUE),
    **dict.fromkeys(("shared", "barrier", "shuffle"), GREEN),
    **dict.fromkeys(("fma", "tensor", "arithmetic"), PURPLE),
    **dict.fromkeys(("double", "spill", "atomic", "note"), WARNING),
    **dict.fromkeys(("guard", "branch"), INK),
}

STYLE = f"""{DARK}<style>
.h2d-listing {{ max-width: 62rem; line-height: 1.45; container-type: inline-size; text-align: left; }}
.h2d-listing p {{ margin: 0.3em 0; }}
.h2d-listing ol {{ list-style: none; margin: 0.6em 0; padding: 0; }}
.h2d-listing li {{ display: grid; grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); gap: 0 1.2em;
  margin: 0; padding: 0.05em 0 0.05em 0.7em; border-left: 3px solid transparent; }}
.h2d-listing li > * {{ min-width: 0; }}
.h2d-listing code {{ display: inline-block; background: none; border: 0; padding: 0 0 0 1.5em; text-indent: -1.5em; color: inherit;
  font-size: 0.85em; white-space: pre-wrap; overflow-wrap: anywhere; }}
.h2d-listing .h2d-remark {{ font-size: 0.88em; }}
.h2d-listing li.h2d-source {{ display: block; margin-top: 0.7em; border-left: 0; padding-left: 0; font-weight: 600; }}
.h2d-listing li.h2d-source span, .h2d-listing .h2d-stamp, .h2d-listing .h2d-fold {{
  color: {QUIET}; font-weight: 400; font-size: 0.85em; }}
.h2d-listing li.h2d-source code {{ padding-left: 0.4em; text-indent: 0; }}
.h2d-listing li.h2d-fold, .h2d-listing li.h2d-label {{ display: block; }}
.h2d-listing .h2d-sides {{ display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1.5em; }}
.h2d-listing .h2d-sides li {{ display: block; }}
.h2d-listing .h2d-sides .h2d-remark {{ display: block; padding-left: 1.3em; color: {QUIET}; }}
.h2d-listing table {{ border-collapse: collapse; font-size: 0.9em; margin: 0.6em 0; }}
.h2d-listing th, .h2d-listing td {{ padding: 0.15em 0.7em 0.15em 0; text-align: left; font-weight: 400; border: 0;
  background: none; }}
.h2d-listing td {{ text-align: right; font-variant-numeric: tabular-nums; }}
@container (max-width: 38rem) {{
  .h2d-listing li {{ display: block; }}
  .h2d-listing .h2d-remark {{ display: block; padding-left: 1.3em; color: {QUIET}; }}
  .h2d-listing .h2d-sides {{ grid-template-columns: minmax(0, 1fr); }}
}}
</style>"""


def listing(title: str, rows: Sequence[Row], stamp: str) -> str:
    """Return a listing as HTML: its title, its rows, and the stamp that says where it comes from."""
    return _frame(_side(title, rows, stamp), title)


def comparison(
    title: str,
    names: Sequence[str],
    table: Iterable[Sequence[str]],
    sides: Iterable[tuple[str, Sequence[Row], str]],
) -> str:
    """Return two listings as HTML, side by side on a wide page and one below the other on a narrow one.

    Parameters
    ----------
    title
        What is compared.
    names
        What tells the two sides apart: the heads of the table's columns.
    table
        What is counted, and its number on each side.
    sides
        Title, rows and stamp of each listing.
    """
    columns = "".join(f"<div>{_side(*each)}</div>" for each in sides)
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in ("", *names))
    body = "".join(
        f"<tr><th scope='row'>{escape(what)}</th>{''.join(f'<td>{escape(each)}</td>' for each in numbers)}</tr>"
        for what, *numbers in table
    )
    counted = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return _frame(f"<p>{escape(title)}</p>{counted}<div class='h2d-sides'>{columns}</div>", title)


def _side(title: str, rows: Sequence[Row], stamp: str) -> str:
    return f"<p>{_title(title)}</p>{_rows(rows)}<p class='h2d-stamp'>{escape(stamp)}</p>"


def _frame(inside: str, label: str) -> str:
    return f"{STYLE}<div class='h2d-listing' role='group' aria-label='{escape(label)}'>{inside}</div>"


def _title(text: str) -> str:
    name, _, rest = text.partition(", ")
    return f"<code style='padding: 0; text-indent: 0'>{escape(name)}</code>, {escape(rest)}"


def _rows(rows: Sequence[Row]) -> str:
    return f"<ol>{''.join(map(_row, rows))}</ol>"


def _row(row: Row) -> str:
    code = f"<code>{_breakable(escape(row.text))}</code>"
    if row.sort == "source":
        return f"<li class='h2d-source'><span>line {row.number}</span>{code}</li>"
    if row.sort == "label":
        return f"<li class='h2d-label'><code>{escape(row.text)}:</code></li>"
    if row.sort == "fold":
        return f"<li class='h2d-fold'>… {escape(row.text)}</li>"
    colour = COLOURS.get(row.kind, LINE)
    number = f"<span class='h2d-fold'>{row.number}</span> " if row.sort == "code" else ""
    said = f"<span class='h2d-remark'>{escape(row.remark)}</span>" if row.remark else "<span></span>"
    wide = " class='h2d-label'" if row.sort == "code" and not row.remark else ""
    return f"<li{wide} style='border-color: {colour}'><span>{number}{code}</span>{said}</li>"


def _breakable(text: str) -> str:
    """Let long names break after a dot or an underscore before they break anywhere."""
    return re.sub(r"([._])(?=\w)", r"\1<wbr>", text)
