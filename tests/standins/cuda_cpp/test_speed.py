"""The benchmark says what it measured. How fast anything is, is not tested."""

import re

import pytest

from benchmarks import cuda_cpp


@pytest.mark.slow  # a benchmark
def test_the_benchmark_prints_its_tables(monkeypatch):
    monkeypatch.setattr(
        cuda_cpp,
        "problems",
        lambda: [
            cuda_cpp.vector_add(1000),
            cuda_cpp.matmul(32),
            cuda_cpp.block_sums(999),
            cuda_cpp.histogram(999),
        ],
    )
    monkeypatch.setattr(cuda_cpp, "STEPS", cuda_cpp.STEPS[1:3])
    text = "\n".join(cuda_cpp.report(quick=True))
    assert re.search(r"^launch +[\d.]+ .?s ± *\d+% +1.00 ms +\d+%$", text, re.M)
    assert re.search(r"^tiled matmul 32×32 +[\d.]+ .?s ± *\d+% +[\d.]+ .?s ± *\d+% +[\d,]+×", text, re.M)
    assert text.count("one core") == 2
