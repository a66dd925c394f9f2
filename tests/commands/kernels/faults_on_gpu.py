"""Run the wrong cases that access memory outside of an array on this machine's GPU, each in a process of its own.

One line a case: the error that ended it, or "nothing" if the access went unseen. Name cases to run only those.
"""

import os
import sys

from tests.corpora.kernels.case import run
from tests.corpora.kernels.wrong.case import OUT_OF_BOUNDS
from tests.corpora.kernels.wrong.corpus import ALL


def outcome(wrong) -> str:
    """Run a case and say what error it raised; it has to be the first use of CUDA in this process."""
    from numba import cuda

    try:
        run(wrong.case, cuda)
    except Exception as problem:
        return " ".join(f"{type(problem).__name__}: {problem}".split())[:160]
    return "nothing"


def main() -> None:
    for wrong in ALL:
        if wrong.finding != OUT_OF_BOUNDS or (sys.argv[1:] and wrong.case.name not in sys.argv[1:]):
            continue
        child = os.fork()  # an error ends the context of the process that it was raised in
        if not child:
            print(f"{wrong.case.name}  {wrong.space or 'global'}  {outcome(wrong)}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
