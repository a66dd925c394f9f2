"""Names of compiled code lead back to the name expressions that CuPy's learners write."""

import ctypes

import pytest

from host_to_device.standins import mangling

# What NVRTC 13.0 calls these kernels.
NAMES = {
    "saxpy": "saxpy",
    "_Z5plainPf": "plain",
    "_Z5twiceIfEvPKT_PS0_i": "twice<float>",
    "_ZN2my6thriceIfLi3EEEvPT_": "my::thrice<float, 3>",
    "_Z5twiceI6__halfEvPT_": "twice<__half>",
}
BY_THE_RUNTIME = {
    "_Z6reduceI3SumIfELj256ELb1EL4Kind2EEvPKf": "reduce<Sum<float>, 256u, true, (Kind)2>",
    "_Z1kIJfdEEvv": "k<float, double>",
    "_Z1kIPFvfEEvT_": "k<void (*)(float)>",
}


def has_runtime():
    try:
        return bool(ctypes.CDLL("libstdc++.so.6"))
    except OSError:
        return False


@pytest.mark.parametrize(("name", "expression"), NAMES.items())
def test_names_lead_to_expressions(name, expression):
    assert mangling.expression(name) == expression


@pytest.mark.skipif(not has_runtime(), reason="needs libstdc++")
@pytest.mark.parametrize(("name", "expression"), BY_THE_RUNTIME.items())
def test_the_runtime_reads_what_the_library_cannot(name, expression):
    assert mangling.readable(name) == name
    assert mangling.expression(name) == expression


def test_what_cannot_be_read_stays(monkeypatch):
    assert mangling.expression("_Zno") == "_Zno"

    def missing(*_):
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    name = "_Z1kIJddEEvv"
    assert mangling.expression(name) == name


@pytest.mark.parametrize(
    ("static", "external"),
    [
        ("saxpy", "saxpy"),
        ("_Z5twiceIfEvPT_", "_Z5twiceIfEvPT_"),
        ("_ZL5twiceIfEvPT_", "_Z5twiceIfEvPT_"),
        ("_ZN2myL6thriceILi3EEEvPf", "_ZN2my6thriceILi3EEEvPf"),
        ("_ZL1kIL4Kind1EEvv", "_Z1kIL4Kind1EEvv"),
    ],
)
def test_static_is_left_out_of_symbols(static, external):
    assert mangling.external(static) == external
