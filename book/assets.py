"""JavaScript that the site serves itself: MathJax, RequireJS and the widget manager, installed by npm.

Sphinx and its themes would load these from public content networks. Here they are copied from
`book/node_modules` (pinned by `package-lock.json`) into the built site, and the page weight that nobody
needs is taken out.
"""

import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset

NODE_MODULES = Path(__file__).parent / "node_modules"

# Where each asset goes below `_static`, and what it is copied from.
ASSETS = {
    "vendor/mathjax/tex-chtml.js": "mathjax/es5/tex-chtml.js",
    "vendor/mathjax/output/chtml/fonts/woff-v2": "mathjax/es5/output/chtml/fonts/woff-v2",
    "vendor/require.js": "requirejs/require.js",
    "vendor/html-manager/embed-amd.js": "@jupyter-widgets/html-manager/dist/embed-amd.js",
}


def configure(app: Sphinx, config: Config) -> None:
    """Point Sphinx and MyST-NB at the copies below `_static`."""
    missing = [source for source in ASSETS.values() if not (NODE_MODULES / source).exists()]
    if missing:
        raise ExtensionError(f"the book's JavaScript is not installed ({missing[0]}): run `make book`")
    config.mathjax_path = "vendor/mathjax/tex-chtml.js"
    config.nb_ipywidgets_js = {"vendor/require.js": {}, "vendor/html-manager/embed-amd.js": {}}


def copy(app: Sphinx, exception: Exception | None) -> None:
    """Copy the assets into the built site and blank what no page needs."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for target, source in ASSETS.items():
        origin = NODE_MODULES / source
        if origin.is_dir():
            copy_asset(str(origin), str(static / target))
        else:
            (static / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin, static / target)
    # The theme loads 1.5 MB of Font Awesome as JavaScript on every page, and draws its icons from the
    # web font even without it.
    for script in static.glob("scripts/fontawesome.js*"):
        script.write_text("// The icons come from the web font: see book/assets.py\n")


def setup(app: Sphinx) -> None:
    app.connect("config-inited", configure, priority=10)
    app.connect("build-finished", copy)
