"""Scripts of ours that only the pages with something for them load."""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def load_where(app: Sphinx, mark: str | tuple[str, ...], script: Path, name: str = "") -> None:
    """Load a script, deferred, on the pages that have an element of one class, or of one of several.

    Parameters
    ----------
    app
        The build.
    mark
        The class, or classes; each has to be its element's only one.
    script
        The script's file; the build puts it beside the site's other scripts.
    name
        Its name there, where this is not the file's.
    """
    name = name or script.name
    marks = (mark,) if isinstance(mark, str) else mark

    def load(
        app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
    ) -> None:
        if any(f'class="{each}"' in context.get("body", "") for each in marks):
            app.add_js_file(name, loading_method="defer")

    def copy(app: Sphinx, exception: Exception | None) -> None:
        if not exception and app.builder.format == "html":
            shutil.copyfile(script, Path(app.outdir) / "_static" / name)

    app.connect("html-page-context", load)
    app.connect("build-finished", copy)
