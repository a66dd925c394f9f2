"""The book's Sphinx extension: the parts that it is made of."""

from sphinx.application import Sphinx

from book import (
    assets,
    cells,
    check_reports,
    differences,
    drawings,
    exercises,
    gpu_tables,
    lessons,
    machine_words,
    measured,
    pages,
    readings,
    wheel_table,
)


def setup(app: Sphinx) -> dict[str, bool]:
    for part in (
        assets,
        cells,
        check_reports,
        differences,
        drawings,
        exercises,
        gpu_tables,
        lessons,
        machine_words,
        measured,
        pages,
        readings,
        wheel_table,
    ):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
