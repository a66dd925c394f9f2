"""Kernels compiled to be watched: the most recently used are kept, and the others are freed."""

import gc
import sys
import weakref

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.checking import compiled
from host_to_device.standins import numba_cuda as cuda
from host_to_device.standins.numba_cuda import compiling

SOURCE = """
@cuda.jit
def kernel{number}(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = i + {number}
"""


def checked(number, path):
    """Check a kernel of its own, whose number stands in its code; return a weak reference to what was compiled."""
    file = path / f"kernel{number}.py"
    file.write_text(SOURCE.format(number=number))
    space = {"cuda": cuda}
    exec(compile(file.read_text(), str(file), "exec"), space)
    h2d.check(space[f"kernel{number}"], interpreted=False)[2, 32](np.zeros(64))
    key, found = next(reversed(compiled._KEPT.items()))
    assert isinstance(found, compiled.CompiledWatch) and key[0].__name__ == f"kernel{number}"
    return weakref.ref(found)


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(compiled, "MOST_KEPT", 3)
    monkeypatch.setattr(compiled, "_KEPT", type(compiled._KEPT)())


def test_only_the_most_recently_used_are_kept(three, tmp_path):
    loaded = {name for name in sys.modules if name.startswith(compiling.LOADED)}
    made = [checked(number, tmp_path) for number in range(5)]
    gc.collect()
    assert len(compiled._KEPT) == 3
    assert [each() is not None for each in made] == [False, False, True, True, True]
    assert len({name for name in sys.modules if name.startswith(compiling.LOADED)} - loaded) <= 3


def test_using_a_kernel_again_keeps_it(three):
    kernels = []
    for number in range(4):
        space = {}
        exec(f"def kernel{number}(): pass", space)
        kernels.append(space[f"kernel{number}"])
    keys = [(kernel, (), ()) for kernel in kernels]
    compiled._KEPT.update(dict.fromkeys(keys[:3], compiled.Unwatchable("made up")))

    class Program:
        class kernel:
            original = kernels[0]

    class Launch:
        arrays = ()

    with pytest.raises(compiled.Unwatchable, match="made up"):
        compiled.compiled_watch(Program, Launch, ())
    assert list(compiled._KEPT) == [keys[1], keys[2], keys[0]]
