"""JavaScript that the site serves itself: MathJax, RequireJS and the widget manager, installed by npm.

Sphinx and its themes would load these from public content networks. Here they are copied from
`book/node_modules` (pinned by `package-lock.json`) into the built site, without the parts that no page
uses.
"""

import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from book import icons

HERE = Path(__file__).parent
NODE_MODULES = HERE / "node_modules"
WIDGETS = "@jupyter-widgets/html-manager/dist"

MATHJAX_PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex/extensions",
    "output/chtml.js",
    "output/chtml/fonts/tex.js",
    "output/chtml/fonts/woff-v2",
    "a11y/assistive-mml.js",
)

# What goes below `_static/vendor`, and the file or folder of `node_modules` that it is copied from.
ASSETS = {"require.js": "requirejs/require.js", f"{WIDGETS}/embed-amd.js": f"{WIDGETS}/embed-amd.js"}
ASSETS |= {f"mathjax/{part}": f"mathjax/es5/{part}" for part in MATHJAX_PARTS}
# The widget manager looks for its fonts where npm has it and, for its first half, one folder higher.
for font in (NODE_MODULES / WIDGETS).glob("*.woff2"):
    ASSETS |= {f"{folder}/{font.name}": f"{WIDGETS}/{font.name}" for folder in (WIDGETS, "@jupyter-widgets")}

# TeX in, HTML out, and MathML for screen readers. The one-file `tex-chtml.js` is 100 KB (gzipped) heavier: it
# brings a context menu whose own functions would have to come from elsewhere.
MATHJAX = {"loader": {"load": ["input/tex", "output/chtml", "a11y/assistive-mml"]}}


def configure(app: Sphinx, config: Config) -> None:
    """Point Sphinx and MyST-NB at the copies below `_static`."""
    missing = [source for source in ASSETS.values() if not (NODE_MODULES / source).exists()]
    if missing:
        raise ExtensionError(f"the book's JavaScript is not installed ({missing[0]}): run `make book`")
    config.mathjax_path = "vendor/mathjax/startup.js"
    config.mathjax3_config = MATHJAX | (config.mathjax3_config or {})
    scripts = ("require.js", "widgets.js", f"{WIDGETS}/embed-amd.js")
    config.nb_ipywidgets_js = {f"vendor/{script}": {} for script in scripts}


def copy_if_changed(source: Path, target: Path) -> None:
    """Copy a file, or each file of a folder, leaving what is already there and the same."""
    if source.is_dir():
        for part in source.iterdir():
            copy_if_changed(part, target / part.name)
    elif not target.exists() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def mend_search(script: Path) -> None:
    """Let search results quote a page's text; Sphinx's script starts with the names of the theme's buttons."""
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace('[role="main"]', "article.bd-article"), encoding="utf-8")


def prepare(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Before pages are written anew, and the theme's files with them, clear the way for those."""
    if docnames and app.builder.format == "html":
        icons.clear(Path(app.outdir))
        (Path(app.outdir) / "_static" / "searchtools.js").unlink(missing_ok=True)


def copy(app: Sphinx, exception: Exception | None) -> None:
    """Copy the assets into the built site and take out what no page needs."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for target, source in ASSETS.items():
        copy_if_changed(NODE_MODULES / source, static / "vendor" / target)
    copy_if_changed(HERE / "widgets.js", static / "vendor" / "widgets.js")
    mend_search(static / "searchtools.js")
    icons.trim(Path(app.outdir))
    for unread in ("scripts/*.map", "styles/*.map", "*webpack-macros.html"):
        for path in static.glob(unread):
            path.unlink()


def setup(app: Sphinx) -> None:
    app.connect("config-inited", configure, priority=10)
    app.connect("env-before-read-docs", prepare)
    app.connect("build-finished", copy)
