"""Run cases with the `numba.cuda` that is there, one line a case."""

import argparse
import time
import traceback

from tests.corpora.kernels.case import Case, differences, run


def judge(case: Case, cuda, seed: int) -> tuple[str, str]:
    """Run one case: "ok", "differs" or "error", and what there is to say."""
    try:
        wrong = differences(case, run(case, cuda, seed), seed)
    except Exception:
        return "error", traceback.format_exc().strip().splitlines()[-1]
    return ("differs", "; ".join(wrong)) if wrong else ("ok", "")


def chosen(names: list[str], among: list[Case]) -> list[Case]:
    """Give the cases whose name or kind is asked for; all of them if none is."""
    if not names:
        return among
    unknown = [name for name in names if not any(name == case.name or name in case.kinds for case in among)]
    if unknown:
        raise SystemExit(f"no such case or kind: {', '.join(unknown)}")
    return [case for case in among if case.name in names or set(case.kinds) & set(names)]


def arguments(description: str, *flags: tuple[str, str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help="names or kinds of cases; all if none is given")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs")
    for flag, meaning in flags:
        parser.add_argument(flag, action="store_true", help=meaning)
    return parser.parse_args()


def report(cases: list[Case], cuda, seed: int) -> int:
    """Run the cases, print what came of each, and give the exit status."""
    failed = 0
    start = time.perf_counter()
    for case in cases:
        began = time.perf_counter()
        verdict, words = judge(case, cuda, seed)
        failed += verdict != "ok"
        print(f"{verdict:8}{time.perf_counter() - began:7.2f} s  {case.name}  {words}".rstrip(), flush=True)
    print(f"{len(cases) - failed} of {len(cases)} ok in {time.perf_counter() - start:.1f} s")
    return 1 if failed else 0
