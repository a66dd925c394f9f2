"""The suites of tests that run here: where their files are, and which of them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests.others.expected import Expected
from tests.others.running import Suite

EXPECTED = Path(__file__).parent / "expected"
SIMULATOR = EXPECTED / "simulator.json"  # which tests of a file pass on Numba's simulator
# CuPy's folders of tests, by what a course uses.
OF_CUPY = (
    *(
        "cupy_tests/" + name + "_tests"
        for name in ("binary", "core", "creation", "cuda", "functional", "indexing")
    ),
    *(
        "cupy_tests/" + name + "_tests"
        for name in ("lib", "linalg", "logic", "manipulation", "math", "padding")
    ),
    *("cupy_tests/" + name + "_tests" for name in ("sorting", "statistics")),
    *("cupy_tests", "cupy_tests/core_tests/fusion_tests"),
    *("cupyx_tests", "cupyx_tests/jit_tests", "cupyx_tests/profiler_tests"),
)


def numba_cuda(simulated: bool = False) -> Suite:
    """Return numba-cuda's own tests, which are in its wheel; `simulated` runs them on Numba's simulator.

    Raises
    ------
    ImportError
        If numba-cuda is not installed.
    """
    spec = importlib.util.find_spec("numba_cuda")
    if spec is None:
        raise ImportError("numba-cuda is not installed (make set-up-tests; there is none for macOS)")
    folder = Path(spec.submodule_search_locations[0]) / "numba" / "cuda" / "tests"
    environment = {"NUMBA_ENABLE_CUDASIM": "1"} if simulated else {}
    return Suite(
        "numba_cuda", folder, "numba.cuda.tests", "tests.others.numba_names", environment=environment
    )


def cupy() -> Suite:
    """Return CuPy's own tests, which are in its source package; pip fetches it, once, into the user's cache.

    Raises
    ------
    rehearsal.build.BuildError
        If it cannot be fetched.
    """
    from rehearsal import versions
    from rehearsal.toolkit import cupy as toolkit

    folder = toolkit.source(versions.TODAY) / "tests"
    return Suite(
        "cupy",
        folder,
        "",
        "tests.others.cupy_names",
        most=2,
        most_of_file=60,
        costly=COSTLY,
        environment={"CUPY_TEST_GPU_LIMIT": "1"},
    )


def torch() -> Suite:
    """Return tests of PyTorch's operators, generated from the database in its wheel."""
    return Suite(
        "torch", Path(__file__).parent / "generated", "tests.others.generated", "tests.others.torch_names"
    )


# Files of CuPy's that compile kernels: CUDA C++ for each dtype.
COSTLY = (
    "cupy_tests/core_tests/fusion_tests/",
    "cupyx_tests/jit_tests/",
    *(
        f"cupy_tests/core_tests/test_{name}"
        for name in ("elementwise", "raw", "reduction", "userkernel", "mdspan")
    ),
)


def files(suite: Suite) -> list[str]:
    """Return the suite's files of tests that are not left out whole, as paths below its folder."""
    if suite.name == "torch":
        return ["torch_operators.py"]
    folders = {"numba_cuda": ["cudapy", "doc_examples"], "cupy": OF_CUPY}[suite.name]
    found = sorted(
        f"{folder}/{path.name}" for folder in folders for path in (suite.folder / folder).glob("test_*.py")
    )
    expected = expected_of(suite)
    return [file for file in found if not expected.leaves_out(file)]


def expected_of(suite: Suite) -> Expected:
    """Return what is expected to fail of a suite."""
    return Expected.read(EXPECTED / f"{suite.name}.toml")
