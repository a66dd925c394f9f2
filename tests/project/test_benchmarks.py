"""The benchmark command: it says what it measured. How fast anything is, is not tested."""

import re
import subprocess
import sys

import pytest

from benchmarks import __main__, check, simt
from host_to_device.standins import imports


def test_ratios_are_printed_as_a_table(monkeypatch, capsys):
    monkeypatch.setattr(
        simt, "RATIOS", [simt.Row("vector add", 64), simt.Row("vector add", 6_400, simulated=64)]
    )
    monkeypatch.setattr(simt, "TABLES", [simt.ratio_table])
    assert __main__.main(["simt", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "Numba 0." in out and "Python 3." in out
    first, second = re.findall(r"^vector add.*", out, re.M)
    assert re.fullmatch(
        r"vector add 64 +[\d.]+ .?s +[\d.]+ .?s ± *\d+% +[\d.]+ .?s ± *\d+% +[\d,]+× +[\d,]+×", first
    )
    assert second.startswith("vector add 6,400 *") and "extrapolated from 64" in out


def test_other_tables_are_printed(monkeypatch, capsys):
    monkeypatch.setattr(simt, "ABSOLUTE", [simt.Row("tiled matmul", 16)])
    monkeypatch.setattr(simt, "FIRST", [simt.Row("histogram", 64)])
    monkeypatch.setattr(simt, "TABLES", [simt.first_table, simt.absolute_table])
    assert __main__.main(["simt", "--quick"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^histogram 64 +[\d.]+ .?s +[\d.]+ .?s", out, re.M)
    assert re.search(r"^tiled matmul 16×16 +[\d.]+ .?s ± *\d+%$", out, re.M)


@pytest.mark.slow
def test_the_check_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(check, "RATIOS", [simt.Row("vector add", 64)])
    monkeypatch.setattr(check, "STEPS", [("tiled matmul", 16)])
    monkeypatch.setattr(check, "ADDRESSES", [("vector add", 64)])
    monkeypatch.setattr(check, "FIRST", [("vector add", 64)])
    assert __main__.main(["check", "--quick"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"^vector add 64 +[\d.]+ .?s +[\d.]+ .?s ± *\d+% +[\d.]+ .?s ± *\d+% +[\d,]+× +[\d,]+×$", out, re.M
    )
    assert re.search(r"^tiled matmul 16×16 +[\d,]+ +768 +[\d.]+ MiB +[\d.]+ MiB$", out, re.M)


def test_a_check_that_finds_something_is_not_timed(monkeypatch):
    imports.redirect()
    from benchmarks import kernels

    def too_small(size):
        problem = kernels.vector_add(size)
        a, *_, out = problem.arguments
        problem.kernel, problem.arguments = kernels.block_sums, (a, out[:0])
        return problem

    monkeypatch.setitem(kernels.PROBLEMS, "wrong", too_small)
    with pytest.raises(RuntimeError, match="wrong 64: check of block_sums: 1 error"):
        check.checked(simt.Row("wrong", 64), 1, interpreted=True)


@pytest.mark.parametrize("name", ["block reduction", "stencil", "tiled matmul", "histogram"])
def test_problems_check_their_results(name):
    imports.redirect()
    assert len(simt.stand_in(simt.Row(name, 40), 2, interpreted=True)) == 2


def test_wrong_result_is_not_timed(monkeypatch):
    imports.redirect()
    from benchmarks import kernels

    monkeypatch.setitem(
        kernels.PROBLEMS,
        "wrong",
        lambda size: kernels.Problem(kernels.add, 1, 1, kernels.vector_add(1).arguments, lambda _: False),
    )
    with pytest.raises(RuntimeError, match="the result is wrong"):
        simt.stand_in(simt.Row("wrong", 1), 1)


def test_unknown_benchmark_is_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "simd"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.splitlines() == [
        "no benchmark is called 'simd': there is simt, check, cuda_cpp, counting, torch_device, show"
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(73.68, "73.7 s"), (1.0, "1.00 s"), (0.123, "123 ms"), (0.00145, "1.45 ms"), (2e-7, "0.20 µs")],
)
def test_durations(seconds, text):
    assert simt.duration(seconds) == text


def test_looking_inside_is_timed(monkeypatch, capsys):
    from benchmarks import inspecting

    monkeypatch.setattr(inspecting, "LOOKS", [("a look", lambda: "a listing")])
    assert __main__.main(["show", "--quick"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"^a look +[\d.]+ .?s ± *\d+% +[\d.]+ .?s +3\.00 s +[\d.]+ .?s ± *\d+% +50\.0 ms", out, re.M
    )
