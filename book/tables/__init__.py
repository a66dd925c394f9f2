"""Tables of the book that are made from data: wheels, drivers, GPUs, differences of the stand-ins."""

from collections.abc import Iterable, Sequence


def list_table(
    caption: str, rows: Iterable[Sequence[str]], name: str | None = None, classes: str = ""
) -> list[str]:
    """Return a table as lines of MyST.

    Parameters
    ----------
    caption
        What stands above it.
    rows
        Its rows in MyST, one text a cell; the first one is the head.
    name
        The name that pages refer to it by.
    classes
        Its classes in the style sheet.
    """
    lines = [f":::{{list-table}} {caption}", ":header-rows: 1"]
    lines += [f":class: {classes}"] if classes else []
    lines += [f":name: {name}"] if name else []
    lines.append("")
    for row in rows:
        lines += [f"{'* -' if place == 0 else '  -'} {cell}" for place, cell in enumerate(row)]
    return [*lines, ":::"]


def day(date: str) -> str:
    """Return a day that stays in one line: "2026-11-24" with hyphens that do not break."""
    return date.replace("-", "\N{NON-BREAKING HYPHEN}")
