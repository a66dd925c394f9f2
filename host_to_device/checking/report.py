"""What a check found: a line if all is well, otherwise one entry for each distinct cause."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from html import escape

ADVICE = {
    "out of bounds": "Guard the access with the array's size, or launch fewer threads.",
    "race": "Put a barrier between the two accesses, use an atomic, or let one thread own the element.",
    "uninitialised read": "Store something there before the first read; shared and local memory start with anything.",
    "unwritten output": "Launch enough threads, and let the guard ask the size of the array that is written.",
    "barrier divergence": "Move the barrier to where every thread of the block comes by.",
    "warp synchronisation": "Use cuda.syncwarp() between the two, or a mask that names exactly the lanes that take part.",
    "launch limit": "Use smaller blocks and more of them.",
    "order dependence": "Make the result independent of which thread comes first.",
    "no progress": "Threads of a launch cannot wait for each other except at barriers.",
    "failed": "Mend what the kernel raises first.",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, once per distinct cause.

    `kind` is one of the keys of `ADVICE`; `lines` the learner's lines, the one at fault first; `block` and
    `thread` say where it was seen first, and `count` how often.
    """

    kind: str
    text: str
    file: str
    lines: tuple[int, ...]
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    count: int = 1

    @property
    def advice(self) -> str:
        return ADVICE[self.kind]

    def source(self) -> list[str]:
        """Return the lines at fault as they stand in the file, with their numbers."""
        return [f"{line:>6} | {linecache.getline(self.file, line).rstrip()}" for line in self.lines]

    def place(self) -> str:
        if self.block is None:
            return ""
        return (
            f" (block {self.block}, thread {self.thread}{f', {self.count} times' if self.count > 1 else ''})"
        )


@dataclass(frozen=True)
class Report:
    """The result of a check: what was looked at, and what was found."""

    kernel: str
    findings: tuple[Finding, ...]
    threads: int
    accesses: int
    schedules: int
    seconds: float
    partial: str = ""  # why not everything was looked at

    def __bool__(self) -> bool:
        """Return whether nothing was found."""
        return not self.findings

    def summary(self) -> str:
        seen = (
            f"{self.threads:,} threads, {self.accesses:,} accesses, {self.schedules} schedule"
            f"{'s' * (self.schedules != 1)}, {self.seconds:.2f} s"
        )
        verdict = f"{len(self.findings)} found" if self.findings else "nothing wrong found"
        partial = f"; looked at a part only: {self.partial}" if self.partial else ""
        return f"check of {self.kernel}: {verdict} ({seen}{partial})"

    def __str__(self) -> str:
        lines = [self.summary()]
        for number, finding in enumerate(self.findings, 1):
            lines += ["", f"{number}. {finding.kind}: {finding.text}{finding.place()}"]
            lines += [f"   {line}" for line in finding.source()]
            lines.append(f"   {finding.advice}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li><p><strong>{escape(finding.kind)}</strong>: {escape(finding.text)}{escape(finding.place())}</p>"
            f"<pre>{escape(chr(10).join(finding.source()))}</pre><p>{escape(finding.advice)}</p></li>"
            for finding in self.findings
        )
        found = f"<ol>{items}</ol>" if items else ""
        return f'<div class="h2d-report" role="group" aria-label="Report of a check"><p>{escape(self.summary())}</p>{found}</div>'
