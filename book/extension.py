"""The book's Sphinx extension: the parts that it is made of."""

from sphinx.application import Sphinx

from book import (
    accessibility,
    assets,
    cells,
    doctor,
    drawings,
    error_game,
    exercises,
    explorers,
    generated,
    lessons,
    live,
    measured,
    origins,
    pages,
    predictions,
    races,
    raised,
    readings,
    recorded,
    stacks,
    struggles,
    tested,
    tracks,
    webgpu,
)
from book.checks import directive
from book.machine_words import page
from book.tables import differences, drivers, gpus, wheels


def setup(app: Sphinx) -> dict[str, bool]:
    for part in (
        accessibility,
        assets,
        cells,
        directive,
        differences,
        doctor,
        drawings,
        drivers,
        error_game,
        exercises,
        explorers,
        generated,
        gpus,
        lessons,
        live,
        page,
        measured,
        origins,
        pages,
        predictions,
        races,
        raised,
        readings,
        recorded,
        stacks,
        struggles,
        tested,
        tracks,
        webgpu,
        wheels,
    ):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
