"""Which functions of NumPy a kernel takes, and with which types: what numba-cuda's own compiler says, into a file.

    python -m tests.commands.kernels.numpy_in_kernels

It needs numba-cuda 0.30.4 and no GPU: it compiles as far as LLVM's language. `numpy_types.json` beside the corpus of features
holds for each expression, and for the types of its names, the type of its value; null where the compiler refuses it.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np

FILE = Path(__file__).parents[2] / "corpora" / "kernels" / "features" / "numpy_types.json"
NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
PAIRS = (
    *((each, each) for each in NUMBERS),
    ("i4", "f4"),
    ("i8", "f4"),
    ("f4", "f8"),
    ("i2", "f4"),
    ("i4", "i8"),
    ("i4", "u4"),
    ("u8", "i8"),
)
ELEMENTS = ("b1", "i1", "i4", "i8", "u1", "u8", "f4", "f8")
METHODS = "sum max min mean prod any all var std argmax argmin ptp item copy astype"
FUNCTIONS = (
    "sum max min amax amin mean prod any all var std argmax argmin nanmax nanmin nansum nanmean nanprod nanvar nanstd "
    "count_nonzero ptp median nanmedian size ndim shape dot linalg.norm vdot trace average cumsum"
)
SCALARS = "isclose isneginf isposinf iscomplex isreal real imag angle round around sinc clip where isscalar nan_to_num float_ float32 int32 int64 uint8 abs"


def expressions() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the expressions, each with the types of `a` and `b` to try; `[f4]` is an array."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for name in sorted(vars(np)):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and ufunc.nin in (1, 2) and ufunc.__name__ == name:
            names = ", ".join("ab"[: ufunc.nin])
            found[f"np.{name}({names})"] = tuple((each,) for each in NUMBERS) if ufunc.nin == 1 else PAIRS
    found |= {f"np.{name}(a)": tuple((each,) for each in NUMBERS) for name in SCALARS.split()}
    found |= {f"np.{name}(a, b)": PAIRS for name in ("isclose",)}
    arrays = tuple((f"[{each}]",) for each in ELEMENTS)
    found |= {f"a.{name}()": arrays for name in METHODS.split()}
    found |= {f"np.{name}(a)": arrays + found.get(f"np.{name}(a)", ()) for name in FUNCTIONS.split()}
    found["a.bit_count()"] = tuple((each,) for each in NUMBERS)
    return found


def main() -> None:
    from numba import types
    from numba.cuda import compiler, dispatcher
    from numba.np import numpy_support

    from tests.commands.kernels.compile_for_gpu import device_that_is_not_there

    warnings.simplefilter("ignore")
    dispatcher.get_current_device = device_that_is_not_there  # for the functions that NumPy's own are made of

    def kind_of(code: str):
        if code.startswith("["):
            return types.Array(numpy_support.from_dtype(np.dtype(code[1:-1])), 1, "C")
        return numpy_support.from_dtype(np.dtype(code))

    def code_of(kind) -> str:
        try:
            return numpy_support.as_dtype(types.unliteral(kind)).str[1:]
        except Exception:
            return str(kind)

    result: dict[str, dict[str, str | None]] = {}
    for text, cases in expressions().items():
        names = "a, b" if "b)" in text and ", b" in text else "a"
        space = {"np": np, "math": math}
        exec(f"def function({names}):\n    return {text}\n", space)
        result[text] = {}
        for codes in cases:
            try:
                made = compiler.compile_cuda(
                    space["function"],
                    None,
                    tuple(map(kind_of, codes)),
                    cc=(7, 5),
                    debug=False,
                    lineinfo=False,
                )
                result[text][" ".join(codes)] = code_of(made.signature.return_type)
            except Exception as problem:
                result[text][" ".join(codes)] = None
                if "-v" in __import__("sys").argv:
                    print(text, codes, type(problem).__name__, str(problem).strip().splitlines()[-1][:150])
    kept = {text: found for text, found in result.items() if any(found.values())}
    refused = sorted(set(result) - set(kept))
    FILE.write_text(json.dumps({"taken": kept, "refused": refused}, indent=1, sort_keys=True) + "\n")
    print(f"{len(kept)} expressions taken, {len(refused)} refused: {FILE.name}")


if __name__ == "__main__":
    main()
