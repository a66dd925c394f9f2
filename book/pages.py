"""What every page gets, and what it is spared: previews, scripts, the 404 page; and no page stays behind."""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from pybtex import plugin
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from book import address

HERE = Path(__file__).parent

# Pages that no source file stands behind.
MADE_BY_SPHINX = {"404", "genindex", "search"}


def sources_digest() -> str:
    """Return a digest of what shapes every page: this package and the table of contents."""
    shaping = [
        *(
            path
            for part in (".", "accessibility", "checks", "doctor", "error_game", "machine_words", "tables")
            for path in (HERE / part).glob("*.py")
        ),
        HERE / "drawings" / "__init__.py",
        HERE.parent / "_toc.yml",
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(shaping))).hexdigest()


def configure(app: Sphinx, config: Config) -> None:
    """Set what follows from the repository address: canonical links, previews, and the 404 page's links."""
    where = address.read()
    config.book_sources = sources_digest()
    config.project = config.html_title
    config.html_baseurl = where.site
    config.html_context = {"default_mode": "auto"} | config.html_context
    config.templates_path.insert(0, str(HERE / "templates"))  # before the themes' own
    config.ogp_site_url = where.site
    config.ogp_site_name = config.html_title
    config.ogp_social_cards = {"enable": False}
    config.ogp_image = where.site + "_static/social-preview.png"
    config.ogp_image_alt = "Host to Device: learn GPU computing from Python on the computer you have"
    config.ogp_custom_meta_tags = ['<meta name="twitter:card" content="summary_large_image" />']
    config.notfound_urls_prefix = where.site_path
    config.notfound_template = "not-found.html"
    config.notfound_context = {
        "title": "Page not found",
        "body": "",
        "repository_issues": f"{where.url}/issues",
    }


# What the extensions we use write, and what a screen reader needs in its place.
MENDED = {
    '<summary aria-label="Toggle hidden content">': "<summary>",  # hid the words that stand on it
    '<div role="list" class="citation-list">': '<div class="citation-list">',  # its items are no list items
    'role="doc-biblioentry"': "",
}

# A name in a line of text, or in a table's column, which is as wide as the longest of its words.
LONG_CODE = re.compile(r'(?<=<span class="pre">)[^<]{24,}')


def mend(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Mend in a page's text what axe-core finds wrong with it, and let long names break where their parts end."""
    for written, meant in MENDED.items():
        context["body"] = context.get("body", "").replace(written, meant)
    context["body"] = LONG_CODE.sub(
        lambda found: re.sub(r"(?<=[._/(,])(?=\w)", "<wbr>", found[0]), context["body"]
    )


def spare_mathjax(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load MathJax on pages with formulas only: Sphinx does so on every page above one with formulas too."""
    if 'class="math' not in context.get("body", ""):
        context["script_files"][:] = [
            script
            for script in context["script_files"]
            if "mathjax" not in str(getattr(script, "filename", script))
            and "window.MathJax" not in getattr(script, "attributes", {}).get("body", "")
        ]


def write_all(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """When a page changed, write every page: its title stands in the menu and beside its neighbours."""
    return env.found_docs if getattr(env, "book_read", None) else []


def note_read(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    env.book_read = bool(docnames)


def remove_stale(app: Sphinx, exception: Exception | None) -> None:
    """Remove pages of the built site whose source is gone."""
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for page in site.rglob("*.html"):
        name = page.relative_to(site).with_suffix("").as_posix()
        if not name.startswith("_") and name not in app.env.found_docs | MADE_BY_SPHINX:
            page.unlink()


def setup(app: Sphinx) -> None:
    # Each citation asks for its style, and pybtex would read what all installed packages offer each time: a tenth of
    # the seconds of a build.
    plugin._load_entry_point = cache(plugin._load_entry_point)
    app.add_config_value("book_sources", "", "env")
    app.connect("config-inited", configure, priority=10)
    app.connect("env-before-read-docs", note_read)
    app.connect("env-updated", write_all)
    app.connect("html-page-context", mend)
    app.connect("html-page-context", spare_mathjax, priority=900)
    app.connect("build-finished", remove_stale)
