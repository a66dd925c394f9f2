"""One line of a shown listing, as text and HTML both render it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of what is shown.

    Attributes
    ----------
    sort
        'source' for a line of the source, 'label', 'instruction', 'fold' for instructions that are left out, 'code'
        for a line of a generated source.
    text
        The line itself.
    remark
        What is said of it, or nothing.
    kind
        The remark's kind.
    number
        Of a line of a source, its number.
    """

    sort: str
    text: str
    remark: str = ""
    kind: str = "other"
    number: int | None = None
