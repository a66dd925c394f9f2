"""`{gpu-memory}`: a table of GPUs' memories, from `host_to_device.hardware.gpus` and `latencies`, with sources.

    {gpu-memory} T4, A100 80 GB, H100 SXM

The table has a row for each GPU. A folded list below it names the source of each number. A number without a source is a
dash.
"""

from dataclasses import fields

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.tables import list_table
from host_to_device.hardware import gpus, latencies
from host_to_device.hardware.gpus import KIB, MIB

HEAD = (
    "GPU",
    "SMs",
    "registers of an SM",
    "its shared memory",
    "its L1, with the shared memory",
    "L2 cache",
    "memory",
    "bandwidth",
    "cycles to L1, L2, memory",
)
# The fields by their names in the list of sources.
WORDS = {
    "multiprocessors": "SMs",
    "registers_per_multiprocessor": "registers",
    "shared_per_multiprocessor": "shared memory",
    "l1": "L1",
    "l2": "L2",
    "l3": "L3",
    "memory_gb": "memory",
    "memory_bandwidth": "bandwidth",
}
NOTHING = "–"


def sized(size: int | None, unit: int, name: str) -> str:
    """Return a size in whole units; a dash if it is not known."""
    return NOTHING if size is None else f"{size / unit:,.0f} {name}"


def cells(name: str) -> list[str]:
    """Return the row of a GPU, in MyST.

    Raises
    ------
    ValueError
        The table of GPUs has no such GPU.
    """
    gpu, found = gpus.find(name), latencies.find(name)
    its = gpu.architecture
    second = sized(gpu.l2, MIB, "MiB") + (f", L3 {sized(gpu.l3, MIB, 'MiB')}" if gpu.l3 else "")
    first = sized(its.l1, KIB, "KiB") + ("" if its.vendor == "NVIDIA" else ", apart from it")
    return [
        gpu.name.removesuffix(f" {its.family}"),  # a family in the name takes too much room
        str(gpu.multiprocessors or NOTHING),
        sized(4 * its.registers_per_multiprocessor, KIB, "KiB"),
        sized(its.shared_per_multiprocessor, KIB, "KiB"),
        first,
        second,
        NOTHING if gpu.memory_gb is None else f"{gpu.memory_gb:g} GB {gpu.memory_kind or ''}".strip(),
        NOTHING if gpu.memory_bandwidth is None else f"{gpu.memory_bandwidth / 1e9:,.0f} GB/s",
        NOTHING if found is None else f"{found.l1}, {found.l2}, {found.memory}",
    ]


def sources(name: str) -> str:
    """Return the sources of a GPU's numbers, in MyST."""
    gpu, found = gpus.find(name), latencies.find(name)
    by_source: dict[str, list[str]] = {}
    for field, word in WORDS.items():
        row = gpu.architecture if field in {each.name for each in fields(gpus.Architecture)} else gpu
        if (source := row.source(field)) is not None:
            by_source.setdefault(source, []).append(word)
    if found is not None:
        by_source.setdefault(found.source, []).append("cycles")
    said = "; ".join(f"{', '.join(words)} {{cite}}`{source}`" for source, words in by_source.items())
    return f"{gpu.name}: {said}."


class GpuMemory(SphinxDirective):
    """`{gpu-memory} T4, H100 SXM`: the table of these GPUs."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"name": str}  # noqa: RUF012 - the directive interface wants a plain attribute

    def run(self) -> list[nodes.Node]:
        names = [name.strip() for name in self.arguments[0].split(",")]
        try:
            rows = [HEAD, *map(cells, names)]
        except ValueError as problem:
            raise self.error(f"gpu-memory: {problem}") from None
        lines = list_table(" ".join(self.content), rows, self.options.get("name"))
        holder = nodes.container()
        lines += [
            "",
            ":::{dropdown} Who states which number",
            *(f"- {sources(name)}" for name in names),
            ":::",
        ]
        self.state.nested_parse(StringList(lines, source=""), self.content_offset, holder)
        for module in (gpus, latencies):
            self.env.note_dependency(module.__file__)
        return holder.children


def setup(app: Sphinx) -> None:
    app.add_directive("gpu-memory", GpuMemory)
