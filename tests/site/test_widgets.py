"""A page with saved widgets draws them with the widget manager that the site serves itself.

The book's own pages may have none. With every commit the manager of the built site draws widgets in a page that only the
browser is given. In `make test-all` a small book is made, with the extension and the settings of ours.
"""

import http.server
import json
import shutil
import subprocess
import sys
import threading
from functools import partial

import nbformat
import pytest
import yaml

from tests.site.reading import ROOT

pytestmark = [pytest.mark.site, pytest.mark.browser]

BASE, CONTROLS = ("@jupyter-widgets/base", "2.0.0"), ("@jupyter-widgets/controls", "2.0.0")
VIEW = "application/vnd.jupyter.widget-view+json"


def model(name: str, module: tuple[str, str], **state) -> dict:
    names = {"_model_module": module[0], "_model_module_version": module[1], "_model_name": name}
    return {
        "model_name": name,
        "model_module": module[0],
        "model_module_version": module[1],
        "state": names | state,
    }


def notebook_with_linked_widgets() -> nbformat.NotebookNode:
    """Return a notebook as JupyterLab saves it: a slider, a bar, and a link that works without a kernel."""
    style = {"layout": "IPY_MODEL_layout"}
    models = {
        "layout": model("LayoutModel", BASE),
        "slider": model("IntSliderModel", CONTROLS, value=30, description="threads", **style),
        "bar": model("IntProgressModel", CONTROLS, value=30, **style),
        "link": model(
            "LinkModel", CONTROLS, source=["IPY_MODEL_slider", "value"], target=["IPY_MODEL_bar", "value"]
        ),
        "box": model("VBoxModel", CONTROLS, children=["IPY_MODEL_slider", "IPY_MODEL_bar"], **style),
    }
    shown = nbformat.v4.new_output(
        "display_data", {VIEW: {"model_id": "box", "version_major": 2, "version_minor": 0}}
    )
    cells = [
        nbformat.v4.new_markdown_cell("# A page with widgets"),
        nbformat.v4.new_code_cell("box", execution_count=1, outputs=[shown]),
    ]
    states = {
        "application/vnd.jupyter.widget-state+json": {"version_major": 2, "version_minor": 0, "state": models}
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}, "widgets": states}
    )


@pytest.fixture(scope="module")
def widget_book(tmp_path_factory):
    """A book of one notebook, built with the settings and the extension of ours, and served."""
    book = tmp_path_factory.mktemp("widget-book")
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings["sphinx"]["local_extensions"] = {"book.extension": str(ROOT)}
    (book / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (book / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters: [{file: page}]\n", encoding="utf-8"
    )
    (book / "index.md").write_text("# A small book\n", encoding="utf-8")
    (book / "references.bib").touch()
    shutil.copytree(ROOT / "_static", book / "_static")
    nbformat.write(notebook_with_linked_widgets(), book / "page.ipynb")
    jupyter_book = [
        sys.executable,
        "-c",
        "from jupyter_book.cli.main import main; main()",
        "build",
        str(book),
    ]
    build = subprocess.run(
        [*jupyter_book, "-n", "-W", "--keep-going"], capture_output=True, text=True, cwd=book
    )
    assert build.returncode == 0, (build.stdout + build.stderr)[-4000:]
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(book / "_build" / "html"))
    handler.func.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow
def test_widgets_are_drawn_and_linked_without_a_kernel(chromium, widget_book):
    widgets_are_drawn_and_linked(chromium, widget_book, None)


def test_the_manager_of_the_site_draws_widgets_and_links_them(chromium, url):
    notebook = notebook_with_linked_widgets()
    (states,) = notebook.metadata.widgets.items()
    scripts = ("require.js", "widgets.js", "@jupyter-widgets/html-manager/dist/embed-amd.js")
    parts = [f'<script src="_static/vendor/{script}"></script>' for script in scripts]
    parts += [
        f'<script type="{kind}">{json.dumps(value)}</script>'
        for kind, value in (states, *notebook.cells[1].outputs[0].data.items())
    ]
    widgets_are_drawn_and_linked(
        chromium, url, "<!doctype html><link rel=icon href=data:,><body>" + "".join(parts)
    )


def widgets_are_drawn_and_linked(chromium, book: str, html: str | None):
    """Open the page with widgets of a book, or one of this text in its place, and move the slider."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page, faults, requests = context.new_page(), [], []
    if html:
        page.route(f"{book}page.html", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.set_default_timeout(20_000)
    page.on(
        "console",
        lambda said: said.type == "error" and faults.append(f"{said.text} ({said.location['url']})"),
    )
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{book}page.html")
    slider, bar = page.locator(".widget-slider"), page.locator(".progress-bar")
    slider.wait_for()
    assert page.locator(".widget-label", has_text="threads").is_visible()
    before = bar.bounding_box()["width"]
    slider.locator("[role=slider], .noUi-handle").first.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(200)
    assert bar.bounding_box()["width"] > before * 1.3, "the link between the widgets does nothing"
    assert any("vendor/@jupyter-widgets/" in request for request in requests)
    assert [request for request in requests if not request.startswith((book, "data:", "blob:"))] == []
    assert not faults, "\n".join(faults)
    context.close()
