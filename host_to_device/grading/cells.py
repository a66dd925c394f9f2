"""Read the code cells of a student's notebook: of any version of the format, with any metadata or none."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

LARGEST = 32 * 2**20  # bytes of a notebook
MOST = 2_000  # code cells
ANSWER = re.compile(r"""\banswer\(\s*["'](\d{1,2}\.(?:\d{1,2}|[A-Za-z]))["']""")
ENCODINGS = ("utf-8-sig", "utf-16", "latin-1")


class Unreadable(Exception):
    """A file is no notebook; the message is one line for the log and for the student."""


@dataclass(frozen=True)
class Notebook:
    """The code of a notebook, cell by cell, in the order of the file; `remarks` says what was unusual."""

    cells: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def answered(self) -> set[str]:
        """The numbers of the exercises that `h2d.answer` is called for."""
        return {number for cell in self.cells for number in ANSWER.findall(cell)}


def read(content: bytes) -> Notebook:
    """Read a notebook.

    Parameters
    ----------
    content
        The bytes of the file.

    Raises
    ------
    Unreadable
        If the file is no notebook, or too large.
    """
    if not content.strip():
        raise Unreadable("the file is empty")
    if len(content) > LARGEST:
        raise Unreadable(
            f"the file has {len(content) / 2**20:,.0f} MB, and the limit is {LARGEST / 2**20:.0f} MB"
        )
    text, remarks = _decoded(content)
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("the file is no notebook: it does not hold JSON, or was cut off") from None
    found = _cells(book)
    code = [each for each in found if isinstance(each, dict) and each.get("cell_type") == "code"]
    if len(code) > MOST:
        raise Unreadable(f"the notebook has {len(code):,} code cells, and the limit is {MOST:,}")
    if "cells" not in book:
        remarks.append("the notebook has format 3, which Jupyter wrote before 2015")
    return Notebook(tuple(_source(each) for each in code), tuple(remarks))


def _decoded(content: bytes) -> tuple[str, list[str]]:
    for encoding in ENCODINGS:
        if encoding == "utf-16" and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            continue
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text, [] if encoding == "utf-8-sig" else [
            f"the file is not in UTF-8: it was read as {encoding}"
        ]
    raise Unreadable("the file is no text")  # Latin-1 reads everything, so nothing comes here


def _cells(book: Any) -> list[Any]:
    if isinstance(book, dict):
        if isinstance(book.get("cells"), list):
            return book["cells"]
        sheets = book.get("worksheets")
        if isinstance(sheets, list) and all(isinstance(each, dict) for each in sheets):
            return [cell for each in sheets for cell in each.get("cells") or []]
    raise Unreadable("the file is no notebook: it has no list of cells")


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))  # the second name is format 3's
    if isinstance(source, list):
        source = "".join(each for each in source if isinstance(each, str))
    return source if isinstance(source, str) else ""
