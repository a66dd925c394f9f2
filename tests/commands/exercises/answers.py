"""Run the tried answers of a set and write what `h2d.answer` says to the wrong ones: `… answers 02 [03 …]`.

It runs `solutions/answers/NN.md`, or the files that are given by their paths, lists the wrong answers that are accepted
and the right ones that are refused, and ends with 1 if there is one. `--show` prints every verdict and writes nothing.
"""

import argparse
import os
import re
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from authoring import answers, notebooks
from authoring.solutions import read_set
from host_to_device.exercises import answering

ROOT = Path(__file__).resolve().parents[3]


def student_names(number: str) -> tuple[dict, dict]:
    """Run a set's solutions; return their names, and the set's wrong answers by title.

    The tests judge an answer in the same names: of an exercise with several functions it may define only some.
    """
    from tests.exercises.test_sets import run_cells

    [path] = (ROOT / "solutions").glob(f"{number}-*.ipynb")
    parts = read_set(notebooks.read(path), path.name)
    names, _, raised = run_cells(path)
    assert not raised, raised
    known = {(part.number, wrong.title): wrong.code for part in parts for wrong in part.wrong}
    return names, known


def verdict(names: dict, number: str, code: str) -> tuple[str, float]:
    """Return what `h2d.answer` prints for an answer, and the seconds that it took."""
    from tests.exercises.test_sets import run_source

    names = dict(names)
    _, error = run_source(textwrap.dedent(code), names, f"<tried {number} {abs(hash(code))}>")
    if error:
        return f"the code raises {error}", 0.0
    began = time.perf_counter()
    printed, error = run_source(f'h2d.answer("{number}")', names, "<answer>")
    said = re.sub(r"^Hints: h2d\.answer\(.*\n?", "", printed, flags=re.M)  # the same for every answer
    return (error or answers.without_place(said)).strip(), time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", help="numbers of sets, or files of answers named like 02.md")
    parser.add_argument("--show", action="store_true", help="print every verdict, write nothing")
    parser.add_argument("--only", default="", help="one exercise, such as 02.1")
    given = parser.parse_args()
    os.environ["H2D_PROGRESS"] = str(Path(tempfile.mkdtemp(), "progress.json"))
    answering.PATIENCE = 60  # what a verdict shows must not depend on the machine
    faults, table = 0, []
    for what in given.what:
        path = Path(what) if what.endswith(".md") else ROOT / "solutions" / "answers" / f"{what}.md"
        number = re.match(r"\d\d(?=\D)", path.name)
        if number is None or not path.is_file():
            sys.exit(
                f"{path}: give the number of a set, such as 02, or a file of answers whose name begins with it, such as 02.md"
            )
        names, known = student_names(number[0])
        text = path.read_text(encoding="utf-8")
        said = {}
        for tried in answers.read(text, path.name):
            if given.only not in ("", tried.number):
                continue
            for answer in tried.answers:
                code = answer.code or known[tried.number, answer.title]
                words, seconds = verdict(names, tried.number, code)
                table.append((seconds, tried.number, answer.title))
                accepted = words.startswith(f"{tried.number} is right")
                if not answer.right:
                    said[tried.number, answer.title] = words
                if given.show:
                    print(
                        f"--- {tried.number} {'right' if answer.right else 'wrong'}: {answer.title} ({seconds:.1f} s)\n{words}"
                    )
                if accepted != answer.right:
                    faults += 1
                    print(
                        f"{'REFUSED' if answer.right else 'ACCEPTED'} {tried.number} {answer.title}\n{textwrap.indent(words, '    ')}"
                    )
        if not given.show:
            path.write_text(answers.with_verdicts(text, said), encoding="utf-8")
    times = sorted(each[0] for each in table)
    if times:
        print(
            f"{len(table)} answer{'s' * (len(table) != 1)}, {faults} judged wrongly; a verdict took {times[len(times) // 2]:.2f} s (median), {times[-1]:.1f} s at worst: {max(table)[1:]}"
        )
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
