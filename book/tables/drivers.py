"""`{driver-table}`: which driver a release of CUDA needs, from `host_to_device/diagnosing/versions.toml`.

    ```{driver-table}
    :name: tab-driver-of-cuda
    :since: 11

    Drivers for CUDA on Linux
    ```

A row is a major release of CUDA: the lowest driver that runs programs built for any release of it, and the drivers that
came with its releases. `:since:` leaves out older major releases. The line below names NVIDIA's pages and the days on
which they were read.
"""

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.tables import day, list_table
from host_to_device.diagnosing import matrix

HEAD = ("built for", "lowest driver", "releases, each with its driver")
EACH = "that of its release"  # before CUDA 11, a program needs the driver of its own release


def cells(since: int = 0) -> list[list[str]]:
    """Return a row for each major release of CUDA from `since` on, the newest first."""
    releases: dict[str, list[str]] = {}
    for cuda, driver in reversed(matrix.drivers_by_cuda().items()):
        releases.setdefault(cuda.partition(".")[0], []).append(f"{cuda}:\N{NO-BREAK SPACE}{driver}")
    return [
        [f"CUDA\N{NO-BREAK SPACE}{major}", matrix.lowest_driver(major) or EACH, ", ".join(found)]
        for major, found in releases.items()
        if int(major) >= since
    ]


def sources() -> str:
    """Return where both columns are from, in MyST."""
    said = []
    for words, name in (("lowest drivers", "lowest_driver"), ("drivers of releases", "driver_of_cuda")):
        table = matrix.tables()[name]
        said.append(f"[{words}]({table['source']}), read on {day(str(table['read']))}")
    return f"Documented by NVIDIA: {'; '.join(said)}."


class DriverTable(SphinxDirective):
    """`{driver-table}` with `:name:` and `:since:`, and the caption as its content."""

    has_content = True
    option_spec = {"name": directives.unchanged, "since": directives.nonnegative_int}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(matrix.FOLDER / "versions.toml"))
        rows = cells(self.options.get("since", 0))
        if not rows:
            raise self.error(f"driver-table: there is no CUDA {self.options['since']} in versions.toml")
        caption = " ".join(self.content)
        lines = [*list_table(caption, [HEAD, *rows], self.options.get("name"), "h2d-wheels"), "", sources()]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source=""), self.content_offset, holder)
        return holder.children


def setup(app: Sphinx) -> None:
    app.add_directive("driver-table", DriverTable)
