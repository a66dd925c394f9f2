"""What `import numba` finds in a page's worker, where there is no Numba: `cuda`, the names of types, and refusals.

`cuda` is the library's stand-in, which interprets kernels. Whatever needs Numba's compiler is refused in one line.
"""

import sys

import numpy as np

__version__ = "0 (this page has no Numba)"

NEEDS_THE_COMPILER = (
    "cfunc",
    "generated_jit",
    "guvectorize",
    "jit",
    "jit_module",
    "njit",
    "prange",
    "stencil",
    "vectorize",
)
TYPES = {
    **{name: getattr(np, name) for name in ("float16", "float32", "float64", "complex64", "complex128")},
    **{f"{sign}int{bits}": getattr(np, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{"boolean": np.bool_, "bool_": np.bool_, "intp": np.intp, "uintp": np.uintp},
}


def refused(name):
    """Return the sentence that refuses a name."""
    return (
        f"numba.{name} needs Numba's compiler, which this page does not have: open the notebook in Colab, or on your "
        "computer"
    )


def _refusing(name):
    def refuse(*_, **__):
        raise NotImplementedError(refused(name)) from None

    refuse.__name__ = name
    return refuse


def __getattr__(name):
    if name == "cuda":
        if "numba.cuda" in sys.modules:
            return sys.modules["numba.cuda"]
        raise ImportError("run h2d.start() first: it puts the stand-in for numba.cuda in place")
    if name in TYPES:
        return TYPES[name]
    if name in NEEDS_THE_COMPILER:  # imported beside `cuda` in one line: refused where it is used
        return _refusing(name)
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(refused(name))
