"""`{shipped-software}`: what this site ships beside its own code, with the licence that each package names.

The list has Python for the browser and the editor only where the book is built with them. The texts of the licences go into
one file of the site, `_static/licences.txt`.
"""

import json
import zipfile
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.live import bundle, runtime

NODE_MODULES = bundle.NODE_MODULES
TEXTS = "_static/licences.txt"
# What npm installs for the live pages; the other dependencies are on every page that needs them.
FOR_LIVE = ("pyodide", "@codemirror/", "@lezer/")


def of_package(package: str) -> dict[str, str]:
    """Return what a package of npm says of itself: "name", "version", "licence", and the address of its source as "text"."""
    said = json.loads((NODE_MODULES / package / "package.json").read_text(encoding="utf-8"))
    source = said.get("repository", "")
    source = source["url"] if isinstance(source, dict) else source
    source = source.removeprefix("git+").removesuffix(".git").replace("git://", "https://")
    if "://" not in source:
        source = f"https://github.com/{source.removeprefix('github:')}"
    return {"name": package, "version": said["version"], "licence": said["license"], "text": source}


def shipped(live: bool) -> list[dict[str, str]]:
    """Return what the site ships: "name", "version", "licence", and as "text" where the licence or the source is.

    Parameters
    ----------
    live
        Whether the pages run code, so that Python and the editor are shipped, too.
    """
    wanted = json.loads((NODE_MODULES.parent / "package.json").read_text(encoding="utf-8"))["dependencies"]
    packages = [name for name in wanted if not name.startswith(FOR_LIVE)]
    if live:
        packages += bundle.editor()[1]
    return [*(runtime.licences() if live else []), *(of_package(each) for each in packages)]


def texts(listed: list[dict[str, str]], numpy: Path | None) -> str:
    """Return the texts of these licences, each as its package has it, or else where the text is.

    Parameters
    ----------
    listed
        What `shipped` returned.
    numpy
        The wheel of NumPy for the browser, if it is shipped.
    """
    parts = []
    for each in listed:
        found = [
            path.read_text(encoding="utf-8")
            for path in sorted((NODE_MODULES / each["name"]).glob("LICEN[CS]E*"))
        ]
        if each["name"] == "NumPy" and numpy:
            with zipfile.ZipFile(numpy) as wheel:
                names = [name for name in wheel.namelist() if ".dist-info/LICENSE" in name]
                found = [wheel.read(name).decode() for name in names]
        head = "{name} {version}: {licence}, {text}".format(**each)
        parts.append("\n\n".join([head, *(text.strip() for text in found[:1])]))
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


class ShippedSoftware(SphinxDirective):
    """`{shipped-software}`: a table of what the site ships, and a link to the texts of the licences."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(NODE_MODULES.parent / "package-lock.json"))
        live = bool(getattr(self.env.app, "h2d_numpy", None))
        lines = [":::{list-table}", ":header-rows: 1", "", "* - software", "  - version", "  - licence"]
        for each in shipped(live):
            lines += [
                f"* - [{each['name']}]({each['text']})",
                f"  - {each['version']}",
                f"  - {each['licence']}",
            ]
        up = "../" * self.env.docname.count("/")
        link = f'<a href="{up}{TEXTS}">The texts of these licences</a> are in one file.'
        return self.parse_text_to_nodes("\n".join([*lines, ":::", "", link]))


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the file with the texts."""
    if exception or app.builder.format != "html":
        return
    numpy = getattr(app, "h2d_numpy", None)
    text = texts(shipped(bool(numpy)), numpy)
    (Path(app.outdir) / TEXTS).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_directive("shipped-software", ShippedSoftware)
    app.connect("build-finished", write)
