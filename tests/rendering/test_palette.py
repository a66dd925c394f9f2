"""The palette: each colour stands in one place, the style sheet sets each of them, and pictures follow the page."""

import re
from pathlib import Path

import pytest

from host_to_device.rendering.palette import COLOURS, INK, themed, variable

ROOT = Path(__file__).resolve().parents[2]
PALETTE = ROOT / "host_to_device" / "rendering" / "palette.py"
COLOUR = re.compile(r"#[0-9a-f]{6}\b", re.I)


def test_no_other_file_writes_a_colour_down():
    files = [path for room in ("host_to_device", "book") for path in (ROOT / room).rglob("*.py")]
    files = [path for path in files if "node_modules" not in path.parts]
    assert PALETTE in files and len(files) > 100
    found = {path.relative_to(ROOT).as_posix() for path in files if COLOUR.search(path.read_text("utf-8"))}
    assert found == {PALETTE.relative_to(ROOT).as_posix()}


def test_drawings_and_figures_have_colours_of_the_palette():
    drawings = list((ROOT / "book" / "drawings").glob("*.svg"))
    assert len(drawings) > 5
    for path in drawings:
        assert set(map(str.lower, COLOUR.findall(path.read_text("utf-8")))) <= set(COLOURS.values()), path
    style = (ROOT / "host_to_device" / "figures.mplstyle").read_text("utf-8")
    used = {f"#{each.lower()}" for each in re.findall(r"\b(?=\w*\d)[0-9a-fA-F]{6}\b", style)}
    assert len(used) > 5 and used <= set(COLOURS.values())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_style_sheet_sets_every_colour(theme):
    css = (ROOT / "_static" / "book.css").read_text("utf-8")
    block = css.partition(f'html[data-theme="{theme}"] {{')[2].partition("}")[0]
    assert set(COLOURS) <= set(re.findall(r"--h2d-([\w-]+): #", block))


def test_a_colour_becomes_its_variable_in_any_case_and_only_whole():
    assert themed('<g fill="#0072B2" stroke="#1a1a1a"/>') == f'<g fill="{variable("blue")}" stroke="{INK}"/>'
    assert themed("#0072b2ff #123456") == "#0072b2ff #123456"
    with pytest.raises(KeyError):
        variable("mauve")
