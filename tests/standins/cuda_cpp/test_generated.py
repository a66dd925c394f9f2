"""Generated programs in CUDA C++ give what NVRTC's PTX gives.

`make test` runs a stored sample, whose results the real CuPy computed on the rehearsal. `make test-all` generates 2,000
programs and asks the real compiler.
"""

import pytest

from host_to_device.standins import imports

imports.redirect()

from tests.corpora.kernels.generated import cuda_cpp, judging, running_cpp, sample, shrinking  # noqa: E402

SAMPLE = sample.stored(cuda_cpp)


def faults(programs):
    """Name the programs that are not the same."""
    got = running_cpp.results([program for program, _ in programs])
    verdicts = [(each[0], judging.judge(*each, found)) for each, found in zip(programs, got, strict=True)]
    return [
        f"{each.name}: {verdict.outcome}: {verdict.words}"
        for each, verdict in verdicts
        if verdict.outcome != judging.SAME
    ]


def test_a_sample():
    assert faults(SAMPLE) == []


def test_sample_has_every_kind_and_results():
    assert {program.kind for program, _ in SAMPLE} == set(cuda_cpp.KINDS)
    assert not any("refused" in real for _, real in SAMPLE)


def test_types_follow_the_usual_conversions():
    assert cuda_cpp.common("int8", "uint16") == "int32"
    assert cuda_cpp.common("int32", "uint32") == "uint32"
    assert cuda_cpp.common("uint32", "int64") == "int64"
    assert cuda_cpp.common("int64", "uint64") == "uint64"
    assert cuda_cpp.common("uint64", "float32") == "float32"


def test_shrinking_keeps_what_shows_the_finding():
    source = sample.stored(cuda_cpp)[3][0].source
    small = shrinking.shrink(
        source,
        lambda tried: ["program(" in each and each.count("{") == each.count("}") for each in tried],
        smaller=shrinking.smaller_cpp,
        size=len,
    )
    assert len(small) < len(source) / 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(0, 290, 29))
def test_many_programs(first):
    pytest.importorskip("numba_cuda", reason="the packages of requirements-inspect.txt are not installed")
    programs = cuda_cpp.programs(203, first)
    with judging.real("running_cpp", cupy=True) as real:
        known = list(zip(programs, real.results(programs), strict=True))
    assert faults(known) == []
