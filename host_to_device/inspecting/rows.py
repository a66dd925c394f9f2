"""One line of a shown listing, as text and HTML both render it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of a shown listing.

    Attributes
    ----------
    sort
        'source' for a line of the source, 'label', 'instruction', 'fold' for folded instructions, 'code' for a line of a
        generated source.
    text
        The line itself.
    remark
        The remark on it, or nothing.
    kind
        The remark's kind.
    number
        The line's number in its source; None for a line that is not of a source.
    """

    sort: str
    text: str
    remark: str = ""
    kind: str = "other"
    number: int | None = None
