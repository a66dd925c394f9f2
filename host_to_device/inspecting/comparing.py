"""`h2d.compare`: two listings side by side, with a table that counts the instructions of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from host_to_device.inspecting import pages
from host_to_device.inspecting.errors import CannotShow
from host_to_device.inspecting.listing import NAMES, WIDTH, Listing, clipped
from host_to_device.inspecting.remarks import KINDS
from host_to_device.inspecting.resources import COMPARED, ROWS
from host_to_device.inspecting.showing import show

SIDE = 49  # columns of each side


@dataclass(frozen=True)
class Comparison:
    """Two listings. `print` it, or let a notebook show it.

    Attributes
    ----------
    sides
        The two listings.
    """

    sides: tuple[Listing, Listing]

    @property
    def names(self) -> tuple[str, str]:
        """A name for each side, made of what differs: kernel, language or architecture, or else the compiler."""
        a, b = self.sides
        parts = []
        if a.kernel != b.kernel:
            parts.append((a.kernel, b.kernel))
        if a.what != b.what:
            parts.append((NAMES[a.what], NAMES[b.what]))
        if a.arch != b.arch:
            parts.append((a.arch, b.arch))
        if not parts:
            one, other = (re.search(r" by (\S+)", each.stamp) for each in self.sides)
            if one is None or other is None or one[1] == other[1]:
                return "first", "second"
            parts.append((one[1], other[1]))
        return tuple(", ".join(each) for each in zip(*parts, strict=True))  # type: ignore[return-value]

    @property
    def title(self) -> str:
        """Both names."""
        a, b = self.names
        return f"{a} beside {b}"

    def table(self) -> list[tuple[str, str, str]]:
        """Return rows of a name and a number for each side: kinds of instructions, then resources."""
        counts = [each.count() for each in self.sides]
        rows = [("instructions", *(str(len(each.instructions)) for each in self.sides))]
        rows += [
            (words, *(str(count.get(kind, 0)) for count in counts))
            for kind, words in KINDS.items()
            if kind not in ("other", "index", "argument", "special")
            and any(kind in count for count in counts)
        ]
        rows += [
            (f"{called}, {unit}", *(str(each.resources.get(name, "–")) for each in self.sides))
            for name, called, unit in ROWS
            if name in COMPARED and any(each.resources.get(name) for each in self.sides)
        ]
        return rows  # type: ignore[return-value]

    def __str__(self) -> str:
        rows = [("", *self.names), *self.table()]
        first = max(len(row[0]) for row in rows)
        second = max(len(row[1]) for row in rows)
        lines = [clipped(f"{what:<{first}}  {one:>{second}}  {other}", WIDTH) for what, one, other in rows]
        left, right = (_column(each) for each in self.sides)
        lines += ["", f"{clipped(self.names[0], SIDE):<{SIDE + 2}}{clipped(self.names[1], SIDE)}", ""]
        for place in range(max(len(left), len(right))):
            one, other = (side[place] if place < len(side) else "" for side in (left, right))
            lines.append(f"{one:<{SIDE + 2}}{other}".rstrip())
        return "\n".join([*lines, "", *dict.fromkeys(each.stamp for each in self.sides)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sides = [(each.title, each.rows, each.stamp) for each in self.sides]
        return pages.comparison(self.title, self.names, self.table(), sides)


def _column(side: Listing) -> list[str]:
    """Return a listing as lines of `SIDE` columns, without its remarks."""
    lines = []
    for row in side.rows:
        mark = {"source": f"line {row.number} | ", "label": "", "fold": "  … ", "code": f"{row.number} | "}
        text = mark.get(row.sort, "  ") + row.text + (":" if row.sort == "label" else "")
        lines.append(clipped(text, SIDE))
    return lines


def compare(
    first: Any,
    second: Any = None,
    what: str | Sequence[str] = "ptx",
    arch: Any = None,
    *,
    types: Any = None,
    args: Sequence[Any] | None = None,
    entry: str | Sequence[str] | None = None,
    whole: bool = False,
) -> Comparison:
    """Show two listings side by side: of two kernels, of one in two languages, or for two architectures.

    Parameters
    ----------
    first, second
        Kernels as `h2d.show` takes them, or listings that it returned. Without a second kernel, `compare` shows the first
        one twice, and `what`, `arch` or `entry` is a pair: `h2d.compare(kernel, what=("sass", "gcn"))`,
        `arch=("sm_75", "sm_90")`.
    what, arch, entry
        As for `h2d.show`, one for both sides or a pair.
    types, args, whole
        As for `h2d.show`, for both sides.

    Returns
    -------
    Comparison
        Both listings with the lines of the source, and a table that counts instructions by kind, and resources.

    Raises
    ------
    MissingTool, CannotShow
        As for `h2d.show`, and if there is nothing to compare.

    Examples
    --------
    >>> source = '''
    ... extern "C" __global__ void twice(const float *x, float *out, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) out[i] = 2 * x[i];
    ... }
    ... '''
    >>> print(h2d.compare(source, what=("sass", "gcn")))
                                  SASS, sm_90  GCN, gfx942
    instructions ...
    loads from global memory                1  1
    stores to global memory                 1  1
    ...
    """
    whats, archs, entries = _pair("what", what), _pair("arch", arch), _pair("entry", entry)
    if second is None and whats[0] == whats[1] and archs[0] == archs[1] and entries[0] == entries[1]:
        raise CannotShow(
            "compare needs a second kernel, or a pair for what= or arch=, such as arch=('sm_75', 'sm_90')"
        )
    kernels = (first, first if second is None else second)
    sides = [
        kernel
        if isinstance(kernel, Listing)
        else show(kernel, each, place, types=types, args=args, entry=name, whole=whole)
        for kernel, each, place, name in zip(kernels, whats, archs, entries, strict=True)
    ]
    for side in sides:
        if not isinstance(side, Listing):
            raise CannotShow("compare takes what='ptx', 'sass', 'gcn', 'cuda' or 'hip'")
    return Comparison((sides[0], sides[1]))


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    """Return a value for each side. A tuple of two numbers is one value: a compute capability."""
    if isinstance(value, tuple | list) and not all(isinstance(each, int) for each in value):
        if len(value) != 2:
            raise CannotShow(f"{name} is {value!r}: give one for both sides, or a pair")
        return tuple(value)
    return value, value
