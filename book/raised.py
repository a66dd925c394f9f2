"""`{raised} out of memory cupy`: what CuPy raised for this error in our tests without a GPU, as a traceback ends with it.

The last word of the argument is the library, `numba-cuda` or `cupy`; the words before it are the error's name in
`rehearsal/errors.json`, which `python -m rehearsal.errors` stores. Some errors end the context, and the calls after them
raise, too: `:call: 2` shows what the second call raised.

    ```{raised} illegal address numba-cuda
    :call: 2
    ```

The line below says where the text is from, with the version of the library. An error that is not stored stops the build.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

STORED = Path(__file__).resolve().parents[1] / "rehearsal" / "errors.json"
NAMES = {"numba-cuda": "numba-cuda", "cupy": "CuPy"}


def stored() -> dict[str, Any]:
    """Return the file: label, versions and errors."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def entry(error: str, library: str, call: int = 1) -> dict[str, str]:
    """Return the stored error of a library's call, the first call counted as 1.

    Raises
    ------
    LookupError
        It is not stored; the message says what is.
    """
    found = stored()["errors"]
    calls = [each for each in found if (each["error"], each["library"]) == (error, library)]
    if 1 <= call <= len(calls):
        return calls[call - 1]
    if calls:
        raise LookupError(f"{error!r} of {library} has no call {call}: it has {len(calls)}")
    known = sorted({f"{each['error']} {each['library']}" for each in found})
    raise LookupError(f"no error {error!r} of {library!r} is stored, only {', '.join(known)}")


def text(of: dict[str, str]) -> str:
    """Return the last lines of a traceback: the name of the exception, and what it says."""
    return f"{of['type'].removeprefix('builtins.')}: {of['text'].strip()}"


def stamp(library: str) -> str:
    """Return where the texts of a library are from."""
    found = stored()
    label = found["label"]
    return f"{label[0].upper()}{label[1:]}: {NAMES[library]} {found['versions'][library]}, on a CUDA driver of ours."


class Raised(SphinxDirective):
    """`{raised} <error> <library>`, with the option `:call:`."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"call": directives.positive_int}  # noqa: RUF012 - the directive interface wants a plain attribute

    def run(self) -> list[nodes.Node]:
        error, _, library = self.arguments[0].rpartition(" ")
        self.env.note_dependency(str(STORED))
        try:
            shown = text(entry(error, library, self.options.get("call", 1)))
        except LookupError as problem:
            raise self.error(f"raised: {problem}") from None
        block = nodes.literal_block(shown, shown, language="none", classes=["h2d-output"])
        line = nodes.paragraph("", stamp(library), classes=["h2d-stamp"])
        self.set_source_info(block)
        return [block, line]


def setup(app: Sphinx) -> None:
    app.add_directive("raised", Raised)
