"""Run the programs on this machine's GPU: `python -m tests.commands.torch.on_gpu [names or kinds…]`.

`--record` writes down where each program gave the expected outcome, in `tests/corpora/torch/seen_on_gpu.json`.
Programs that need what the machine has not (a second GPU, CuPy, Numba) are left out, and said to be.
"""

import datetime
import importlib
import sys

from tests.corpora.cupy import collecting, runner
from tests.corpora.torch import corpus
from tests.corpora.torch.case import Place


def libraries() -> dict[str, object]:
    """Return real CuPy and `numba.cuda`, where they are, by the names that programs use."""
    found = {}
    for name, module in (("cp", "cupy"), ("cuda", "numba.cuda")):
        try:
            one = importlib.import_module(module)
        except ImportError:
            continue
        if one.is_available():
            found[name] = one
    return found


def main() -> int:
    asked = runner.arguments(__doc__, ("--record", "write down which programs gave their outcome here"))
    try:
        import torch
    except ImportError as error:
        print(f"no PyTorch here: {error}")
        return 2
    if not torch.cuda.is_available():
        print("no GPU that PyTorch can use")
        return 2
    import host_to_device as h2d

    if h2d.device().type != "cuda":
        print("this is the stand-in: unset H2D_MACHINE, or use python -m tests.commands.torch.on_stand_in")
        return 2
    where = f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, {datetime.date.today()}"
    print(where)
    place = Place(torch, h2d, **libraries())
    programs = []
    for program in runner.chosen(asked.names, corpus.ALL):
        lacking = place.lacks(program)
        if lacking:
            print(f"left out           {program.name}: this machine has not {lacking}")
        else:
            programs.append(program)
    right = runner.report(programs, place.difference)
    if asked.record:
        collecting.write(corpus.SEEN, programs, right, where)
    return 0 if len(right) == len(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
