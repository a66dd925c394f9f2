"""The tables of GPU code in wheels and of drivers: their cells are the library's, and a page that asks wrongly is told."""

import re

import pytest
from docutils.parsers.rst import DirectiveError

import host_to_device as h2d
from book.tables import day, drivers, list_table, wheels
from host_to_device.diagnosing import matrix


def test_a_list_table_is_myst():
    lines = list_table("A caption", [("a", "b"), ("1", "2")], "tab-x", "wide")
    assert lines == [
        ":::{list-table} A caption",
        ":header-rows: 1",
        ":class: wide",
        ":name: tab-x",
        "",
        "* - a",
        "  - b",
        "* - 1",
        "  - 2",
        ":::",
    ]
    assert list_table("", [("a",)])[:2] == [":::{list-table} ", ":header-rows: 1"]


def test_the_table_of_code_has_every_known_wheel_with_its_code():
    known = h2d.known_wheels()
    assert wheels.chosen("") == known
    for wheel in known:
        name, cuda, sass, ptx, read = wheels.code_cells(wheel)
        assert (name, cuda, read) == (f"{wheel.name} {wheel.version}", wheel.cuda, day(wheel.read))
        if wheel.sass:
            assert sass.split(", ") == [*wheel.sass]
            assert ptx == (", ".join(wheel.ptx) or wheels.NOTHING)
        else:
            assert (sass, ptx) == ("none: it compiles at run time", wheels.NOTHING)
        assert len(wheels.CODE_HEAD) == 5


def test_packages_are_picked_by_name_and_an_unknown_one_is_named():
    assert {wheel.name for wheel in wheels.chosen("torch, cupy-cuda12x")} == {"torch", "cupy-cuda12x"}
    with pytest.raises(ValueError, match=r"there is no wheel of 'cupy'; there is torch, cupy-cuda11x, "):
        wheels.chosen("torch, cupy")


def test_the_table_of_drivers_has_every_release_once_under_its_major():
    rows = [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in drivers.cells()]
    listed = dict(each.split(": ") for *_, releases in rows for each in releases.split(", "))
    assert listed == matrix.drivers_by_cuda() and len(listed) >= 28
    for built_for, lowest, releases in rows:
        major = built_for.removeprefix("CUDA ")
        assert all(each.startswith(f"{major}.") for each in releases.split(", "))
        assert lowest == (matrix.lowest_driver(major) or drivers.EACH)
    assert [row[0] for row in rows] == [f"CUDA {major}" for major in (13, 12, 11, 10, 9)]
    assert [row[1] for row in drivers.cells(12)] == ["580", "525.60.13"]
    assert rows[1][2].startswith("12.9: 575.51.03, 12.8: 570.26, ")
    assert (rows[1][1], rows[3][1]) == ("525.60.13", "that of its release")


def test_the_table_of_drivers_names_nvidias_pages_and_the_days():
    said = drivers.sources()
    assert re.findall(r"\]\((https://docs\.nvidia\.com/[^)]+)\)", said) == [
        matrix.tables()[name]["source"] for name in ("lowest_driver", "driver_of_cuda")
    ]
    assert said.count(day(str(matrix.tables()["lowest_driver"]["read"]))) >= 1


class Asked:
    """What a page asks of a directive, and what the directive parses."""

    def __init__(self, kind, **options):
        self.kind, self.options, self.content, self.content_offset, self.parsed = (
            kind,
            options,
            ["Caption"],
            0,
            [],
        )
        self.env = self.state = self

    def note_dependency(self, path):
        self.path = path

    def nested_parse(self, lines, _, holder):
        self.parsed = list(lines)

    def error(self, message):
        return DirectiveError(3, message)

    def run(self):
        return self.kind.run(self)


def test_the_directives_put_caption_name_and_rows():
    for kind, name, head in (
        (wheels.WheelCode, "tab-a", "* - wheel"),
        (drivers.DriverTable, "tab-b", "* - built for"),
        (wheels.WheelMatrix, "tab-c", "* - wheel"),
    ):
        asked = Asked(kind, name=name)
        asked.run()
        assert asked.parsed[0] == ":::{list-table} Caption" and f":name: {name}" in asked.parsed
        assert head in asked.parsed and asked.path.rpartition(".")[2] in ("json", "toml")


def test_a_page_that_asks_for_what_is_not_there_is_told_in_one_line():
    for asked, said in (
        (Asked(wheels.WheelCode, only="jax"), "wheel-code: there is no wheel of 'jax'; there is torch"),
        (Asked(drivers.DriverTable, since=99), "driver-table: there is no CUDA 99 in versions.toml"),
    ):
        with pytest.raises(DirectiveError) as raised:
            asked.run()
        assert raised.value.msg.startswith(said) and "\n" not in raised.value.msg
