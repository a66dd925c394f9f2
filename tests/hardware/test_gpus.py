"""The table of GPUs: every cell has its source, and the cells agree with each other."""

import dataclasses
import re
from pathlib import Path

import pytest

from host_to_device.hardware import gpus

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "references.bib").read_text(encoding="utf-8"), re.M))
ROWS = [*gpus.ARCHITECTURES, *gpus.GPUS]
NAMES = {"name", "target", "vendor", "family", "architecture", "released", "aliases", "sources"}

wanted = [
    "T4",
    "V100",
    "A100 40 GB",
    "A100 80 GB",
    "A10",
    "RTX 3060 Ti",
    "RTX 4090",
    "L4",
    "H100",
    "H200",
    "B200",
    "RTX PRO 6000",
    "MI250X",
    "MI300X",
    "RX 7900 XTX",
]


def label(row):
    return getattr(row, "name", None) or row.target


@pytest.mark.parametrize("name", wanted)
def test_every_gpu_that_the_book_speaks_of_is_there(name):
    found = gpus.find(name)
    assert (
        found.multiprocessors and found.memory_gb and found.memory_bandwidth and found.fp32
    ) or name == "RTX 3060 Ti"


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_every_cell_has_a_source_that_the_book_lists(row):
    cells = {
        field.name: getattr(row, field.name) for field in dataclasses.fields(row) if field.name not in NAMES
    }
    assert {name for name, value in cells.items() if value is not None} == set(row.sources)
    assert set(row.sources.values()) <= REFERENCES
    assert len(cells) - list(cells.values()).count(None) >= 6


@pytest.mark.parametrize("gpu", gpus.GPUS, ids=label)
def test_the_peak_is_what_units_and_clock_make(gpu):
    """A typing error in one of four cells of two rows shows here."""
    architecture = gpu.architecture
    for stated, per_clock in (
        (gpu.fp32, architecture.fp32_per_clock),
        (gpu.fp64, architecture.fp64_per_clock),
    ):
        if None not in (stated, per_clock, gpu.boost_clock):
            assert stated == pytest.approx(2 * per_clock * gpu.multiprocessors * gpu.boost_clock, rel=0.01)


@pytest.mark.parametrize(
    ("name", "flops_per_clock", "cell"),  # of a CU, from AMD's tables
    [
        ("MI300X", 256, "fp32"),
        ("MI300X", 128, "fp64"),
        ("MI300X", 2048, "fp16_matrix"),
        ("MI250X", 128, "fp64"),
        ("MI250X", 1024, "fp16_matrix"),
        ("RX 7900 XTX", 256, "fp32"),
    ],
)
def test_the_peak_of_amd_is_what_its_units_make(name, flops_per_clock, cell):
    gpu = gpus.find(name)
    assert getattr(gpu, cell) == pytest.approx(
        flops_per_clock * gpu.multiprocessors * gpu.boost_clock, rel=0.01
    )


def test_there_are_enough_peaks_to_compare():
    whole = [gpu for gpu in gpus.GPUS if gpu.fp32 and gpu.boost_clock and gpu.architecture.fp32_per_clock]
    assert len(whole) >= 7


@pytest.mark.parametrize("architecture", gpus.ARCHITECTURES, ids=label)
def test_limits_of_an_architecture_agree_with_each_other(architecture):
    a = architecture
    assert a.warps_per_multiprocessor * a.warp_size == a.threads_per_multiprocessor
    assert a.shared_per_block_default <= a.shared_per_block <= a.shared_per_multiprocessor
    assert a.registers_per_multiprocessor % (a.parts * a.register_unit) == 0 or a.vendor == "AMD"
    assert a.vendor != "NVIDIA" or (a.shared_per_block + a.shared_reserved == a.shared_per_multiprocessor)


def test_they_stand_in_the_order_of_their_days():
    days = [gpu.released for gpu in gpus.GPUS]
    assert days == sorted(days)
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", day) for day in days)


@pytest.mark.parametrize("spelling", ["h100", "NVIDIA H100 80GB HBM3", "H100-SXM", "Nvidia h100 sxm5"])
def test_a_gpu_is_found_in_any_spelling(spelling):
    assert gpus.find(spelling).name == "H100 SXM"


def test_an_unknown_gpu_is_one_line_with_what_comes_near():
    with pytest.raises(ValueError, match="no GPU 'RTX 4080' in the table; there is RTX 4090") as caught:
        gpus.find("RTX 4080")
    assert "\n" not in str(caught.value)


def test_architectures_are_found_by_target():
    assert gpus.find_architecture("sm_90a") is gpus.find_architecture("sm_90")
    assert gpus.find_architecture("gfx90a").family == "CDNA 2"
    assert gpus.find_architecture("sm_35") is None
    assert gpus.typical(gpus.find_architecture("sm_80")).name == "A100 40 GB"


def test_a_field_that_does_not_exist_has_no_source():
    with pytest.raises(AttributeError, match="no field 'speed'"):
        gpus.find("T4").source("speed")
    assert gpus.find("T4").source("fp64") is None
