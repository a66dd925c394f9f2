"""The marks that divide a file of `book/checks/examples` into cells: `# %% wrong: race`, `# %% repaired`."""

import re
from dataclasses import dataclass

MARK = re.compile(r"# %% (?P<name>[\w-]+)(?:: (?P<finding>.+))?")


@dataclass(frozen=True)
class Marked:
    """A cell as it stands in its file: its name, the finding that it has to give, its lines from 1, and its text."""

    name: str
    finding: str  # empty if the check has to find nothing
    first_line: int
    last_line: int
    text: str


def split(text: str) -> tuple[str, list[Marked]]:
    """Return what stands before the first mark of a file, and the cells below its marks."""
    lines = text.splitlines()
    marks = [(at, found) for at, line in enumerate(lines) if (found := MARK.fullmatch(line))]
    ends = [at for at, _ in marks] + [len(lines)]
    return "\n".join(lines[: ends[0]]), [
        Marked(mark["name"], mark["finding"] or "", at + 2, end, "\n".join(lines[at + 1 : end]).rstrip())
        for (at, mark), end in zip(marks, ends[1:], strict=True)
    ]
