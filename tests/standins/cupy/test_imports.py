"""`import cupy` finds the stand-in; names that the stand-in lacks raise an error of one line."""

import subprocess
import sys
import textwrap

import pytest

import host_to_device.standins.cupy as cp
from host_to_device.standins import imports
from host_to_device.standins.cupy.names import MISSING, NotInStandIn
from tests.corpora.cupy import names


def script(code):
    """Run code in a fresh Python and return what it prints, line by line."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_start_redirects_and_stop_undoes_it():
    lines = script("""
        import sys
        import host_to_device as h2d
        h2d.start()
        assert "cupy" not in sys.modules
        import cupy as cp, cupyx
        import cupy.cuda.runtime
        from cupyx.profiler import benchmark
        from cupy import linalg
        from cupy.cuda.memory import OutOfMemoryError
        import host_to_device.standins.cupy as ours
        assert cp is ours and cupy.cuda is ours.cuda and linalg is ours.linalg
        assert cp.__spec__.name == "host_to_device.standins.cupy"
        h2d.start()
        import cupy
        assert cupy is ours
        h2d.stop()
        assert not [name for name in sys.modules if name.split(".")[0] in ("cupy", "cupyx")]
        try:
            import cupy
            print("host_to_device" in cupy.__file__)
        except ModuleNotFoundError as problem:
            print(problem)
        """)
    (installed,) = script("import importlib.util; print(importlib.util.find_spec('cupy') is not None)")
    assert lines[0] == lines[1] and lines[2:] == [
        "False" if installed == "True" else "No module named 'cupy'"
    ]


def test_a_real_cupy_comes_back_and_is_named_if_it_was_imported_too_early(tmp_path):
    package = tmp_path / "cupy"
    package.mkdir()
    (package / "__init__.py").write_text("not_ours = True\nfrom cupy import cuda\n")
    (package / "cuda.py").write_text("")
    lines = script(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import host_to_device as h2d
        from host_to_device.standins import imports
        __import__("cupy")
        imports.redirect()
        import cupy
        assert not hasattr(cupy, "not_ours") and "stand-in" in cupy.__version__
        imports.restore()
        import cupy as cp
        assert cp.not_ours and cp.cuda is sys.modules["cupy.cuda"]
        try:
            h2d.start()
        except h2d.SetUpError as problem:
            print(problem)
        """)
    assert lines == [
        "cupy was imported before h2d.start(), so cp would not use the stand-ins: restart the kernel and run "
        "this cell first"
    ]


def test_modules_that_the_stand_in_does_not_have():
    lines = script("""
        from host_to_device.standins import imports
        imports.redirect()
        for statement in ("import cupyx.scipy.sparse", "from cupy import DataSource", "import cupy.nonsense"):
            try:
                exec(statement)
            except ImportError as problem:
                print(problem)
        """)
    assert lines[0].startswith("cupyx.scipy is not in host_to_device's stand-in for CuPy: ")
    assert lines[1].startswith("cupy.DataSource is not in host_to_device's stand-in for CuPy: ")
    assert lines[2] == "No module named 'cupy.nonsense'"


def test_it_needs_numpy_only():
    script("""
        import sys

        class Without:
            def __init__(self, finder):
                self.finder = finder

            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] not in ("numba", "llvmlite", "scipy", "torch"):
                    return self.finder.find_spec(name, path, target)

        sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
        import host_to_device.standins.cupy as cp
        assert cp.arange(4).sum() == 6 and cp.linalg.norm(cp.ones(4)) == 2
        """)


def test_importing_is_fast(tmp_path, monkeypatch):
    """Importing the stand-in takes less time than importing NumPy, once `h2d.start()` has loaded Numba's stand-in."""
    # Both from bytecode, as on a learner's machine.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    code = """
        import time
        before = time.process_time()
        import numpy
        between = time.process_time()
        import host_to_device.standins.numba_cuda
        start = time.process_time()
        import host_to_device.standins.cupy
        print((time.process_time() - start) / (between - before))
        """
    script(code)  # writes the bytecode
    assert min(float(script(code)[0]) for _ in range(3)) < 0.8


@pytest.mark.parametrize(
    "path", [f"{module}.{name}".strip(".") for module in MISSING for name in MISSING[module].split()]
)
def test_what_is_left_out_is_one_line(path):
    module, _, name = path.rpartition(".")
    where = imports.OF_CUPY[module if module.startswith("cupyx") else f"cupy.{module}".strip(".")]
    thing = sys.modules.get(where) or __import__(where, fromlist=["*"])
    with pytest.raises(
        NotInStandIn, match=rf"^(cupy\.)?{path} is not in host_to_device's stand-in for CuPy: [^\n]+$"
    ):
        getattr(thing, name)
    assert not hasattr(thing, name)


def test_a_name_that_cupy_does_not_have_either():
    with pytest.raises(AttributeError, match=r"^module 'cupy' has no attribute 'nonsense'$") as problem:
        cp.nonsense  # noqa: B018
    assert not isinstance(problem.value, NotImplementedError)


OURS = [
    place
    for place in names.PLACES
    if not place.startswith(("cupyx.jit", "cupy.Elem", "cupy.Red", "cupy.Raw"))
]
# CuPy documents the two outputs of these in a form that no Python signature has.
TWO_OUTPUTS = ("divmod", "frexp", "modf")


@pytest.mark.parametrize("place", OURS)
def test_names_and_signatures_are_cupys(place):
    record = names.recorded()["places"][place]
    path, _, name = place.rpartition(".")
    is_class = place not in imports.OF_CUPY
    where = __import__(imports.OF_CUPY[path if is_class else place], fromlist=["*"])
    thing = getattr(where, name) if is_class else where
    differences = [line for line in names.differences(thing, record) if not line.startswith(TWO_OUTPUTS)]
    if place == "cupy.ufunc":  # nobody makes one by hand
        differences = [line for line in differences if not line.startswith("__init__")]
    assert not differences
    if not is_class:
        known = {*dir(thing), *MISSING.get(place.removeprefix("cupy").strip("."), "").split()}
        if place.startswith("cupyx"):
            known |= set(MISSING.get(place, "").split())
        # Modules that CuPy's modules import for themselves.
        assert set(record) - known <= {"warnings", "contextlib", "annotations"}
