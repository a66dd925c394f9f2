"""The CUDA C++ listings compile, where there is a compiler for them."""

import shutil
import subprocess
from pathlib import Path

import pytest

LISTINGS = sorted((Path(__file__).resolve().parents[2] / "book" / "listings").glob("*.cu"))


def test_there_are_listings():
    assert LISTINGS


@pytest.mark.skipif(
    shutil.which("nvcc") is None, reason="no nvcc here: the CUDA C++ listings are not compiled"
)
@pytest.mark.parametrize("listing", LISTINGS, ids=lambda path: path.name)
def test_listing_compiles_without_a_warning(listing, tmp_path):
    command = ["nvcc", "-Werror", "all-warnings", "-c", "-o", tmp_path / "listing.o", listing]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
