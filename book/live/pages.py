"""Puts Run and Edit below the cells of live pages, and what they fetch into `_static/live` of the built site."""

import gzip
import hashlib
import json
import os
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

from book import address, scripts
from book.live import bundle, cells, library, licences, runtime

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "checks" / "examples"
SCRIPT, WORKER = HERE / "live.js", HERE / "worker.js"
MARK = "h2d-live"
FOLDERS = ("notebooks", "exercises")
CHECKS = "checks"  # in the place of a folder: the examples of the check
PACKED = (".js", ".wasm")  # compressed here, because not every server compresses them
SUFFIX = ".packed"

logger = logging.getLogger(__name__)


def find_runtime(app: Sphinx) -> None:
    """Find Pyodide and NumPy before the pages are read; without them, build the book without Run, and say so."""
    app.h2d_numpy = None  # type: ignore[attr-defined]
    if app.builder.format != "html":
        return
    try:
        app.h2d_numpy = runtime.numpy()  # type: ignore[attr-defined]
    except runtime.NoRuntime as problem:
        if os.environ.get("CI"):
            raise ExtensionError(f"the pages cannot run code: {problem}") from None
        logger.info("Pages are built without Run: %s", problem)


def is_live(notebook: str) -> bool:
    """Return whether the cells of a notebook, such as "notebooks/02-host-and-device", run on pages."""
    folder, _, name = notebook.partition("/")
    return folder == CHECKS or (folder in FOLDERS and name in cells.LESSONS)


def notebooks() -> list[str]:
    """Return the names of all notebooks whose cells run on pages, and of the examples of the check."""
    lessons = [f"{folder}/{lesson}" for folder in FOLDERS for lesson in cells.LESSONS]
    return lessons + [f"{CHECKS}/{path.stem}" for path in sorted(EXAMPLES.glob("*.py"))]


def cells_of(root: Path, notebook: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook, or of an example of the check, such as "checks/race_global"."""
    folder, _, name = notebook.partition("/")
    path = EXAMPLES / f"{name}.py" if folder == CHECKS else root / f"{notebook}.ipynb"
    return _cells(path, path.stat().st_mtime_ns)


@cache
def _cells(path: Path, _: int) -> list[dict[str, Any]]:
    return cells.check_cells(path) if path.suffix == ".py" else cells.live_cells(path)


def bar(app: Sphinx, notebook: str, ids: list[str], line: int = 1) -> list[nodes.Node]:
    """Return the empty bar that `live.js` fills for cells of a notebook, or nothing where pages do not run it.

    Parameters
    ----------
    app
        The build.
    notebook
        Its name, such as "notebooks/02-host-and-device".
    ids
        The cells that stand in the block of code above the bar.
    line
        The number of the block's first line.
    """
    if not getattr(app, "h2d_numpy", None) or not is_live(notebook):
        return []
    for rule in (HERE / "cells.py", HERE / "in_worker" / "running.py"):
        app.env.note_dependency(str(rule))
    reasons = {each["id"]: each.get("why", "") for each in cells_of(Path(app.srcdir), notebook)}
    why = next((reasons[each] for each in ids if reasons[each]), "")
    where = address.read().colab(f"{notebook}.ipynb") if why else ""
    html = (
        f'<div class="{MARK}" data-notebook="{escape(notebook)}" data-cells="{escape(" ".join(ids))}" '
        f'data-line="{line}" data-colab="{escape(where)}" data-why="{escape(why)}" hidden></div>'
    )
    return [nodes.raw("", html, format="html")]


def add_bars(app: Sphinx, doctree: nodes.document) -> None:
    """Put a bar behind the code of each code cell of a live notebook's page."""
    page = app.env.docname
    if not is_live(page) or not getattr(app, "h2d_numpy", None):
        return
    known = cells_of(Path(app.srcdir), page)
    found = [each for each in doctree.findall(nodes.container) if each.get("nb_element") == "cell_code"]
    if len(found) != len(known):
        raise ExtensionError(f"{page}: {len(found)} cells on the page, {len(known)} in the notebook")
    for cell, container in zip(known, found, strict=True):
        code = next(
            (at for at, each in enumerate(container.children) if "cell_input" in each.get("classes", ())),
            None,
        )
        if code is not None:
            container[code + 1 : code + 1] = bar(app, page, [cell["id"]])


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write what the worker fetches, and the list of it."""
    if exception or not getattr(app, "h2d_numpy", None):
        return
    target = Path(app.outdir) / "_static" / "live"
    target.mkdir(parents=True, exist_ok=True)
    lock = json.loads((runtime.PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))
    lock["packages"] = {"numpy": lock["packages"]["numpy"]}
    contents = {
        name: (runtime.PYODIDE / name).read_bytes() for name in runtime.CORE if name != "pyodide-lock.json"
    }
    contents["pyodide-lock.json"] = json.dumps(lock).encode()
    contents[app.h2d_numpy.name] = app.h2d_numpy.read_bytes()  # type: ignore[attr-defined]
    contents["library.zip"] = library.packed(library.files(list(cells.LESSONS)))
    listed = []
    for name, data in contents.items():
        if name.endswith(PACKED):
            name, data = name + SUFFIX, gzip.compress(data, 9, mtime=0)
        _write(target / name, data)
        listed.append({"name": name, "bytes": len(data), "hash": hashlib.sha256(data).hexdigest()[:16]})
    _write(target / "worker.js", WORKER.read_bytes())
    for notebook in notebooks():
        if notebook in app.env.found_docs or notebook.startswith(CHECKS):
            whole = json.dumps(
                cells_of(Path(app.srcdir), notebook), ensure_ascii=False, separators=(",", ":")
            )
            _write(target / f"{notebook.replace('/', '-')}.json", whole.encode())
    _write(target / "editor.js", bundle.editor()[0])
    manifest: dict[str, Any] = {"files": listed, "licences": licences.shipped(live=True)}
    _write(target / "manifest.json", json.dumps(manifest, indent=1).encode())


def _write(path: Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", find_runtime)
    app.connect("doctree-read", add_bars)
    app.connect("build-finished", write)
    scripts.load_where(app, MARK, SCRIPT)
    licences.setup(app)
