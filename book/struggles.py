"""The section "What students find hard" of the page for instructors: chosen wrong answers of each set, in their words.

The page's source has the marker below where the section goes. A public course has no section without solutions.
"""

from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from authoring.solutions import WRONG_ANSWER, read_set

PAGE = "chapters/teaching"
MARKER = "<!-- what students find hard -->"
INTRODUCTION = """## What students find hard

The sentence in bold is what a student believes, and the text after it is what you can say.
The number names the exercise in which the mistake shows; its solution has the wrong code.
"""
CHOSEN = (
    ("01.a", "Throughput is one divided by latency"),
    ("01.3", "Compute-bound is whatever has more operations than bytes"),
    ("01.4", "Weight each factor by its share of the time"),
    ("02.1", "The array raises an error if an index is too large"),
    ("02.2", "Numba copies the arrays for me"),
    ("02.4", "A launch waits for the kernel"),
    ("03.c", "Plus is one step"),
    ("03.6", "A thread has an element"),
    ("03.7", "Write constants with a point"),
    ("04.3", "Assign the new arrays to the old names"),
    ("04.5", "A Python float is a float"),
    ("05.b", "The line above has stored everything"),
    ("05.2", "A barrier for the warp is enough"),
    ("05.3", "A thread without elements returns"),
    ("06.a", "nvidia-smi prints the CUDA that is installed"),
    ("06.3", "PTX runs on everything"),
    ("06.6", "Data on the GPU is work on the GPU"),
    ("07.2", "First the fastest, then ask for its memory"),
    ("07.5", "Deterministic algorithms are enough"),
    ("08.a", "Results come back"),
    ("08.2", "A model is its parameters"),
    ("08.5", "Move the batch"),
    ("09.1", "First collect, then convert"),
    ("09.3", "The call has returned, so it is done"),
    ("09.5", "I compare tensors, so nothing is copied"),
    ("10.b", "The launch before it"),
    ("10.1", "Delete the variable"),
    ("10.c", "One tensor for each name"),
    ("11.b", "One line, one launch"),
    ("11.5", "Three points make a parabola"),
    ("12.b", "The launch waits"),
    ("12.2", "A rank without rows has nothing to add"),
    ("12.6", "A checkpoint is the weights"),
    ("13.1", "No CUDA, no GPU"),
    ("13.5", "A width for each vendor"),
    ("13.6", "The check finds every error"),
)


def explained(path: Path) -> tuple[str, dict[tuple[str, str], str]]:
    """Return the title of a set of solutions, and what it says about each wrong answer, by exercise and title."""
    notebook = nbformat.read(path, as_version=4)
    sources = {cell.id: cell.source for cell in notebook.cells}
    said = {}
    for part in read_set(notebook, f"solutions/{path.name}"):
        for wrong in part.wrong:
            lines = WRONG_ANSWER.match(sources[wrong.cell])["after"].split("\n")
            told = [line.strip() for line in lines if line.strip() and not line.startswith(">")]
            said[part.number, wrong.title] = " ".join(told)
    title = notebook.cells[0].source.splitlines()[0].partition(":")[2].strip()
    return title, said


def section(root: Path) -> str:
    """Return the section as Markdown: "" without solutions.

    Raises
    ------
    ValueError
        If a set of solutions has no wrong answer with a chosen title.
    """
    found = []
    for path in sorted((root / "solutions").glob("[0-8][0-9]-*.ipynb")):
        title, said = explained(path)
        rows = [(number, each) for number, each in CHOSEN if number[:2] == path.name[:2]]
        if missing := [f"{number} {each}" for number, each in rows if (number, each) not in said]:
            raise ValueError(
                f"solutions/{path.name} has no wrong answer {missing[0]!r}: mend {__name__}.CHOSEN"
            )
        found.append(f"### Lesson {int(path.name[:2])}: {title}\n")
        found += [f"- **{each}** ({number}). {said[number, each]}" for number, each in rows]
        found.append("")
    return "\n".join([INTRODUCTION, *found]) if found else ""


def rewrite(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the section where the page has its marker."""
    if page == PAGE:
        for path in (Path(app.srcdir) / "solutions").glob("*.ipynb"):
            app.env.note_dependency(str(path))
        source[0] = source[0].replace(MARKER, section(Path(app.srcdir)))


def setup(app: Sphinx) -> None:
    app.connect("source-read", rewrite)
