"""The stand-in needs Python and NumPy only, as in a browser: kernels then run interpreted."""

import subprocess
import sys
import textwrap

SCRIPT = """
import sys

class Without:
    # finds what another finder finds, but for some packages

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in ("numba", "llvmlite", "torch", "scipy"):
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
import numpy as np
from host_to_device.standins import numba_cuda as cuda

BLOCK = 64

@cuda.jit(device=True)
def square(x):
    return x * x

@cuda.jit
def sum_of_squares(x, total):
    partial = cuda.shared.array(BLOCK, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    partial[t] = square(x[i]) if i < x.size else 0
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            partial[t] += partial[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(total, 0, partial[0])

x = np.arange(200, dtype=np.float32)
total = cuda.to_device(np.zeros(1, np.float32))
sum_of_squares[4, BLOCK](cuda.to_device(x), total)
assert total.copy_to_host()[0] == (x * x).sum(), total.copy_to_host()
assert not [name for name in sys.modules if name.split(".")[0] == "numba" and "cuda" not in name]
try:
    with cuda.stand_in(interpreted=False):
        pass
except ValueError as problem:
    print(problem)
"""


def test_kernels_run_without_numba(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "without Numba" in done.stdout
