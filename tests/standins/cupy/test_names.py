"""The record of CuPy's names and signatures, and the comparison with it."""

import inspect
import sys
from types import ModuleType

import pytest

from host_to_device.standins.cupy import forwarding
from tests.corpora.cupy import names

RECORD = names.recorded()


def test_the_record_is_of_the_version_that_the_corpus_names():
    assert RECORD["version"].startswith("14.2")
    assert tuple(RECORD["places"]) == names.PLACES


@pytest.mark.parametrize("place", names.PLACES)
def test_every_place_has_names(place):
    assert len(RECORD["places"][place]) >= 4


@pytest.mark.parametrize(
    ("place", "name", "signature"),
    [
        ("cupy", "asarray", "(a, dtype=None, order=None, *, copy=None, blocking=False)"),
        ("cupy", "add", "(x1, x2, out=None, *, casting='same_kind', dtype=None)"),
        ("cupy.ndarray", "get", "(stream=None, order='C', out=None, blocking=True)"),
        (
            "cupy.RawModule",
            "__init__",
            "(*, code=None, path=None, options=(), backend='nvrtc', translate_cucomplex=False, "
            "enable_cooperative_groups=False, name_expressions=None, jitify=None)",
        ),
        ("cupy.cuda.MemoryPool", "set_limit", "(size=None, fraction=None)"),
        ("cupy.cuda.Event", "__init__", "(block=False, disable_timing=False, interprocess=False)"),
        (
            "cupyx.profiler",
            "benchmark",
            "(func, args=(), kwargs={}, n_repeat=10000, *, name=None, n_warmup=10, max_duration=inf, devices=None)",
        ),
    ],
)
def test_signatures_in_the_record(place, name, signature):
    assert RECORD["places"][place][name] == signature


def test_a_name_or_a_signature_that_cupy_has_not_is_found():
    module = ModuleType("made_up")

    def asarray(a, dtype=None):
        pass

    def zeros(shape, dtype=float, order="C"):
        pass

    vars(module).update(asarray=asarray, zeros=zeros, own=zeros, ndarray=int, names=names, _private=1)
    record = {
        "asarray": "(a, dtype=None, order=None)",
        "zeros": "(shape, dtype=float, order='C')",
        "ndarray": None,
    }
    assert names.differences(module, record) == [
        "asarray(a, dtype=None): CuPy's is asarray(a, dtype=None, order=None)",
        "own: CuPy has no such name",
    ]


def test_signatures_of_compiled_functions_are_read_from_their_docstrings():
    class Compiled:
        __name__ = "get"
        __doc__ = "_base.get(self, stream=None, int n=(1, 2), *, bool out=None) -> ndarray\n\nReturns a copy."

        def __call__(self, *args, **kwargs):
            pass

    assert names.signature(Compiled()) == "(stream=None, n=(1, 2), *, out=None)"


def test_functions_made_from_a_table_row_are_whole():
    for name, function in forwarding.ALL.items():
        assert function.__module__ == "host_to_device.standins.cupy"
        found = getattr(sys.modules[function.__module__], name)  # `refusals` may check its first argument
        assert inspect.unwrap(found) is inspect.unwrap(function)
        assert function.__doc__.startswith("Return ") and function.__doc__.endswith(".")
    with pytest.raises(TypeError, match=r"^hanning\(\) missing 1 required positional argument: 'M'$"):
        forwarding.ALL["hanning"]()
