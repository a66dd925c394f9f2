"""Pages of exercises and solutions: what a notebook says with tags, the page shows folded, with words on the folds.

The notebooks stay as they are; what is read of them is changed on its way to the page:

- a task is followed by its hints, from the class in the cell tagged `check`, each folded;
- a solution, whose markers go, a `check` and what begins with "Why it works" are folded under a name of their own;
- a cell tagged `wrong` is folded under its bold first line, under a heading that says what such answers are for;
- under the title of an exercise notebook stands what is in it, and what of it the reader has solved.

That last table is filled by `exercises.js` from the reader's own progress file; without it, it is a list of links.
"""

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.application import Sphinx

from authoring import solutions
from authoring.solutions import Part, nbgrader, read_set, tags
from book import scripts

SCRIPT = Path(__file__).parent / "exercises.js"

PAGES = re.compile(r"(exercises|solutions)/\d\d-")
WHY = re.compile(r"\*\*Why it works\.\*\*\s*")
QUOTE = re.compile(r"^>", re.M)
WRONG_HEADING = "### Answers that look right"
ABOUT_WRONG = (
    "You have to understand most of the task to write one of these. "
    "Each has one mistake: before you open it, guess the mistake from the title."
)


def folded(title: str, body: str) -> str:
    """Return MyST for a body that opens under its title."""
    longest = max([2, *(len(colons) for colons in re.findall(r"^:{3,}", body, re.M))])
    fence = ":" * (longest + 1)
    return f"{fence}{{dropdown}} {title}\n\n{body.strip()}\n\n{fence}"


def hints(part: Part) -> str:
    """Return MyST for the three hints of an exercise."""
    return "\n\n".join(
        folded(f"Hint {number}", hint) for number, hint in enumerate(part.literals["hints"], 1)
    )


def wrong_answer(source: str) -> str:
    """Return MyST for a `wrong` cell: its title on the fold, then the code, what the check says, and why."""
    title, _, body = source.partition("\n")
    code, fence, after = body.partition("\n```\n")
    after = QUOTE.sub("The check says:\n\n>", after, count=1)
    return folded(title.strip().strip("*"), f"{code}{fence}{after}")


def place(part: Part) -> str:
    """Return the name of an exercise's place on its page."""
    return f"exercise-{part.number.replace('.', '-')}"


def progress_table(parts: list[Part]) -> str:
    """Return the list of a set's exercises with room for what is solved, as HTML."""
    rows = "".join(
        f'<tr data-exercise="{part.number}" data-points="{part.points}"><th scope="row">'
        f'<a href="#{place(part)}">{part.number} {html.escape(part.title)}</a></th>'
        f"<td>{part.minutes}{' optional' if part.optional else ''}</td><td>{part.points}</td><td data-solved></td></tr>"
        for part in parts
    )
    return (
        '<section class="exercise-progress" aria-label="Exercises of this set">'
        '<table class="table"><thead><tr><th scope="col">Exercise</th><th scope="col">Minutes</th>'
        '<th scope="col">Points</th><th scope="col" data-solved><span hidden>Yours</span></th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        '<div class="exercise-progress-mine" hidden>'
        '<p id="exercise-progress-about">When you solve an exercise, your notebook writes it down in a file of '
        "yours; <code>h2d.progress()</code> shows it, and says where it is. "
        "Choose that file, and this page shows it too. "
        "Your browser reads it, keeps it, and sends it to no server.</p>"
        '<p><label for="exercise-progress-file">Your progress file</label> '
        '<input type="file" id="exercise-progress-file" accept=".json,application/json" '
        'aria-describedby="exercise-progress-about"> '
        '<button type="button" hidden>Forget it</button></p>'
        '<p class="exercise-progress-state" role="status"></p></div></section>'
    )


def shown(notebook: NotebookNode, parts: list[Part], is_exercises: bool) -> NotebookNode:
    """Return a notebook of exercises or solutions as its page shows it.

    Parameters
    ----------
    notebook
        What the page is made from; it is changed.
    parts
        The exercises of its set.
    is_exercises
        Whether it is the student's notebook, and not the one with the solutions.
    """
    by_number = {part.number: part for part in parts}
    after_wrong, introduced = False, False
    for cell in notebook.cells:
        is_wrong = solutions.WRONG in tags(cell)
        if cell.cell_type == "code":
            fold(cell, is_exercises)
        elif is_wrong:
            before = [] if after_wrong else [WRONG_HEADING, *([] if introduced else [ABOUT_WRONG])]
            cell.source = "\n\n".join([*before, wrong_answer(cell.source)])
            introduced = True
        elif solutions.SOLUTION_ONLY in tags(cell) and WHY.match(cell.source):
            cell.source = folded("Why it works", WHY.sub("", cell.source, count=1))
        elif heading := solutions.HEADING.match(cell.source):
            part = by_number[heading[1]]
            target = f"({place(part)})=\n" if is_exercises else ""
            cell.source = f"{target}{cell.source.rstrip()}\n\n{hints(part)}"
        after_wrong = is_wrong
    if is_exercises:
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(progress_table(parts)))
    return notebook


def fold(cell: Mapping[str, Any], is_exercises: bool) -> None:
    """Fold a solution or a check on its page, under a name that says what it is."""
    if solutions.CHECK in tags(cell):
        what = "how answers are checked"
    elif nbgrader(cell).get("solution") and not is_exercises:
        what = "the solution"
        lines = cell["source"].split("\n")
        cell["source"] = "\n".join(
            line for line in lines if line.strip() not in (solutions.BEGIN, solutions.END)
        )
    else:
        return
    prompts = {"code_prompt_show": f"Show {what}", "code_prompt_hide": f"Hide {what}"}
    cell["metadata"]["tags"] = [*tags(cell), "hide-input"]
    cell["metadata"]["mystnb"] = {**cell["metadata"].get("mystnb", {}), **prompts}


def parts_of(root: Path, name: str) -> tuple[Path, list[Part]]:
    """Return the file that has the checks of a set, and the set's exercises.

    Without solutions, the tasks come from the student's notebook and the checks from the library.

    Parameters
    ----------
    root
        The folder of the course.
    name
        The file name of the set, "02-host-and-device.ipynb".
    """
    path = root / "solutions" / name
    if path.exists():
        return path, read_set(nbformat.read(path, as_version=4), f"solutions/{name}")
    path = root / "host_to_device" / "exercises" / "sets" / name
    checks = [solutions.read_check(cell.source, name) for cell in nbformat.read(path, as_version=4).cells[1:]]
    literals = {check["number"]: check for check in checks}
    parts = []
    for cell in nbformat.read(root / "exercises" / name, as_version=4).cells:
        if cell.cell_type == "markdown" and (heading := solutions.HEADING.match(cell.source)):
            number, title, minutes, optional = heading.groups()
            parts.append(
                Part(number, title.strip(), int(minutes), cell, bool(optional), literals=literals[number])
            )
    return path, parts


def rewrite(app: Sphinx, page: str, source: list[str]) -> None:
    """Change what is read of a notebook of exercises or solutions to what its page shows."""
    if not PAGES.match(page):
        return
    path, parts = parts_of(Path(app.srcdir), f"{page.partition('/')[2]}.ipynb")
    app.env.note_dependency(str(path))
    notebook = nbformat.reads(source[0], as_version=4)
    source[0] = json.dumps(shown(notebook, parts, page.startswith("exercises/")), ensure_ascii=False)


def setup(app: Sphinx) -> None:
    app.connect("source-read", rewrite)
    scripts.load_where(app, "exercise-progress", SCRIPT)
