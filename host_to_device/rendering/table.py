"""A small table that prints as text and, in a notebook, as an HTML table with row and column headers."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Rows of text under a caption; the first column is the name of its row.

    Attributes
    ----------
    caption
        What the table shows.
    header
        The columns' names.
    rows
        Each row has one text for each column.
    right
        The columns of numbers, which are aligned to the right.
    remarks
        Lines below the table.
    code
        The column of source code; None if there is none.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()
    code: int | None = None

    def __str__(self) -> str:
        everything = [self.header, *self.rows]
        widths = [max(len(row[place]) for row in everything) for place in range(len(self.header))]
        lines = [
            "  ".join(
                text.rjust(width) if place in self.right else text.ljust(width)
                for place, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in everything
        ]
        return "\n".join([self.caption, *(lines if self.rows else ()), *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(self._cell(place, text, "col") for place, text in enumerate(self.header))
        body = "".join(
            f"<tr>{''.join(self._cell(place, text, '' if place else 'row') for place, text in enumerate(row))}</tr>"
            for row in self.rows
        )
        table = f"<table><caption>{escape(self.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        parts = [table if self.rows else f"<p>{escape(self.caption)}</p>"]
        parts += [f"<p>{escape(each)}</p>" for each in self.remarks]
        return f'<div class="h2d-count">{"".join(parts)}</div>'

    def _cell(self, place: int, text: str, scope: str) -> str:
        words = escape(text)
        if place == self.code and scope != "col":
            words = f"<code>{words}</code>"
        side = "right" if place in self.right else "left"
        tag, mark = ("th", f' scope="{scope}"') if scope else ("td", "")
        return f'<{tag}{mark} style="text-align: {side}">{words}</{tag}>'
