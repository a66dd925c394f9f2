"""Generated programs in CUDA C++ against NVRTC: `python -m tests.commands.kernels.cuda_cpp_programs`.

It runs each program on the stand-in and with the real CuPy on the rehearsal, prints every program that is not the same, and
then the table by kind.

    --first 1000 --count 700    700 programs, from seed 1000
    --shrink                    shrinks each finding to the smallest program
    --figures                   writes the table to the page "Stand-ins: how we know"
    --store                     stores a sample with the real compiler's results for `make test`
"""

from __future__ import annotations

import argparse
import dataclasses
import sys

from host_to_device.standins import imports
from rehearsal import versions

imports.redirect()

from tests.corpora.kernels.generated import cuda_cpp, figures, judging, running_cpp, sample, shrinking  # noqa: E402
from tests.corpora.kernels.generated.cuda_cpp import Program  # noqa: E402

AT_ONCE = 210


def smallest(program: Program, outcome: str, real: judging.Real) -> Program:
    """Return the smallest program of the same parameters with the same outcome."""

    def shows(sources: list[str]) -> list[bool]:
        tried = [dataclasses.replace(program, source=source) for source in sources]
        verdicts = map(judging.judge, tried, real.results(tried), running_cpp.results(tried))
        return [verdict.outcome == outcome for verdict in verdicts]

    source = shrinking.shrink(program.source, shows, smaller=shrinking.smaller_cpp, size=len)
    return dataclasses.replace(program, source=source)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=700, help="how many programs")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--store", action="store_true")
    asked = parser.parse_args()
    with judging.real("running_cpp", cupy=True) as real:
        if asked.store:
            print(sample.store(real, cuda_cpp))
            return 0
        table = figures.Table(("same", "refused by name", "silently different", "accepted", "failed"))
        failed, programs = 0, cuda_cpp.programs(asked.count, asked.first)
        for start in range(0, len(programs), AT_ONCE):
            some = programs[start : start + AT_ONCE]
            for program, right, got in zip(some, real.results(some), running_cpp.results(some), strict=True):
                verdict = judging.judge(program, right, got)
                table.count(program.kind, "compiled", verdict.outcome)
                if verdict.outcome == judging.SAME:
                    continue
                print(f"{program.name}: {verdict.outcome}: {verdict.words[:300]}", flush=True)
                failed += 1
                if asked.shrink:
                    print(smallest(program, verdict.outcome, real).source, flush=True)
    print(table)
    if asked.figures:
        figures.write("programs in CUDA C++", table, f"CuPy {versions.TODAY.cupy}, NVRTC")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
