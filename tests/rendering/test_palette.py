"""The palette: each colour stands in one place, the style sheet sets each of them, and pictures follow the page."""

import re
from pathlib import Path

import pytest

from host_to_device.counting.memory_timelines import MemoryTimeline
from host_to_device.counting.timelines import Timeline
from host_to_device.exploring.banks import BankPicture
from host_to_device.rendering.animation import animate
from host_to_device.rendering.palette import COLOURS, DARK, DARK_COLOURS, INK, SHOWN, themed, variable

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


def test_every_colour_has_a_dark_one_and_the_style_sheet_has_the_same():
    css = (ROOT / "_static" / "book.css").read_text("utf-8")
    block = css.partition('html[data-theme="dark"] {')[2].partition("}")[0]
    assert set(DARK_COLOURS) == set(COLOURS)
    assert DARK_COLOURS.items() <= dict(re.findall(r"--h2d-([\w-]+): (#[0-9a-f]{6})", block)).items()
    assert dict(re.findall(r"--h2d-([\w-]+): (#[0-9a-f]{6})", DARK)) == DARK_COLOURS


@pytest.mark.parametrize(
    "mark", ["data-jp-theme-light", "vscode-dark", "vscode-high-contrast", 'theme="dark"']
)
def test_dark_colours_follow_the_marks_of_front_ends(mark):
    assert mark in DARK and "prefers-color-scheme" not in DARK


@pytest.mark.parametrize(
    "shown",
    [
        BankPicture(2),
        Timeline(),
        MemoryTimeline(),
        animate([[[0, 1]], [[1, 0]]], alt="two boards: the living cell moves from right to left"),
    ],
    ids=["explorer", "timeline", "memory timeline", "animation"],
)
def test_what_a_notebook_shows_brings_the_dark_colours(shown):
    html = shown._repr_html_()
    kind = re.search(r'<div class="h2d-(\w+)', html)[1]
    assert html.startswith(DARK) and kind in SHOWN and f".h2d-{kind}" in DARK
