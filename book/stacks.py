"""`{stored-stack}`: what `h2d.stack()` printed around `import torch` of a build for CUDA, on a machine with no GPU.

    ```{stored-stack} after
    :picture:
    ```

The argument is `before` or `after` the import. `:picture:` shows the picture of a notebook in place of the text. The line
below it names the versions, the day and the machine. `python -m tools.stored_stack` stores the facts, and the library
words them, so text and picture are what today's `h2d.stack()` shows for them.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from host_to_device.inspecting import loaded
from host_to_device.inspecting.loaded import Loaded, Stack
from host_to_device.inspecting.owners import Owner

STORED = Path(__file__).parent / "stored" / "stack_torch_cuda.json"


def stored() -> dict[str, Any]:
    """Return the file: versions, day, and the facts of both stacks."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def stack(moment: str) -> Stack:
    """Return the stack of a moment: "before" or "after" the import."""
    found = stored()[moment]
    products = tuple(
        Loaded(**each | {"files": tuple(each["files"]), "owner": Owner(*each["owner"])})
        for each in found["loaded"]
    )
    return Stack(found["process"], products, found["absent"], tuple(found["remarks"]))


def stamp() -> str:
    """Return where and when the stacks were recorded."""
    found = stored()
    return (
        f"Recorded on {found['read']} on a machine with {found['gpu']}: PyTorch {found['torch'].partition('+')[0]}, "
        f"built for CUDA {found['cuda']}, Python {found['python']}, {found['platform']}."
    )


class StoredStack(SphinxDirective):
    """`{stored-stack} before` or `{stored-stack} after`, with the option `:picture:`."""

    required_arguments = 1
    option_spec = {"picture": directives.flag}  # noqa: RUF012 - the directive interface wants a plain attribute

    def run(self) -> list[nodes.Node]:
        moment = self.arguments[0]
        if moment not in ("before", "after"):
            raise self.error(f"stored-stack: {moment!r} is neither 'before' nor 'after'")
        self.env.note_dependency(str(STORED))
        shown = stack(moment)
        if "picture" in self.options:
            block: nodes.Node = nodes.raw("", loaded.page(shown), format="html")
        else:
            block = nodes.literal_block("", str(shown), language="none", classes=["h2d-output"])
        line = nodes.paragraph("", stamp(), classes=["h2d-stamp"])
        self.set_source_info(block)
        return [block, line]


def setup(app: Sphinx) -> None:
    app.add_directive("stored-stack", StoredStack)
