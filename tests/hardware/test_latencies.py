"""The table of latencies: its GPUs, its sources and the order of its levels; and the table that the book makes of it."""

import re
from pathlib import Path

import pytest

from book.tables import gpus as gpu_tables
from host_to_device.hardware import gpus, latencies

ROOT = Path(__file__).resolve().parents[2]
KEYS = set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "references.bib").read_text(encoding="utf-8"), re.M))


@pytest.mark.parametrize("row", latencies.LATENCIES, ids=lambda row: row.gpu)
def test_each_row_is_of_a_known_gpu_has_a_source_and_rises_from_level_to_level(row):
    assert gpus.find(row.gpu).name == row.gpu
    assert row.source in KEYS
    assert 0 < row.l1 < row.l2 < row.memory < 2_000


def test_no_gpu_stands_there_twice():
    assert len({row.gpu for row in latencies.LATENCIES}) == len(latencies.LATENCIES)


def test_it_is_found_by_any_name_of_the_gpu():
    assert latencies.find("nvidia h100").l2 == latencies.find("H100 SXM").l2 == 291
    assert latencies.find("T4") is None
    with pytest.raises(ValueError, match="no GPU 'H1000'"):
        latencies.find("H1000")


def test_the_book_s_table_shows_what_the_two_tables_say():
    row = gpu_tables.cells("H100")
    assert row == [
        "H100 SXM",
        "132",
        "256 KiB",
        "228 KiB",
        "256 KiB",
        "50 MiB",
        "80 GB HBM3",
        "3,352 GB/s",
        "40, 291, 700",
    ]
    assert len(row) == len(gpu_tables.HEAD)
    assert gpu_tables.cells("T4")[-1] == "–"
    assert gpu_tables.cells("RTX PRO 6000")[0] == "RTX PRO 6000"  # of the family Blackwell, without its name
    assert "apart from it" in gpu_tables.cells("MI300X")[4] and "L3 256 MiB" in gpu_tables.cells("MI300X")[5]


@pytest.mark.parametrize("name", ["T4", "A100 80 GB", "H100", "H200", "RTX 4090", "RTX PRO 6000", "MI300X"])
def test_every_number_of_a_row_has_its_source_in_the_list_below(name):
    said = gpu_tables.sources(name)
    cited = re.findall(r"\{cite\}`([^`]+)`", said)
    assert cited and set(cited) <= KEYS
    words = ["SMs", "registers", "shared memory", "L1", "L2", "memory", "bandwidth"]
    shown = [word for word, cell in zip(words, gpu_tables.cells(name)[1:], strict=False) if cell != "–"]
    assert all(re.search(rf"\b{word}\b", said) for word in shown)
    assert ("cycles" in said) == (latencies.find(name) is not None)
