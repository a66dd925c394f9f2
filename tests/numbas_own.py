"""Numba's own `numba.cuda`, which the stand-in is held against, also where numba-cuda is installed over it.

numba-cuda puts a finder before Python's own, which leads imports of `numba.cuda` to itself. Processes that ask Numba
for what is right take it away first.
"""

UNCOVER = "import sys; sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != 'NumbaCudaFinder']\n"


def uncover():
    """Let this process find Numba's own."""
    exec(UNCOVER)
