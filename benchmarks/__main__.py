"""The benchmark command: `python -m benchmarks simt|check|cuda_cpp|counting|torch_device|show [--quick]`."""

from __future__ import annotations

import argparse
import sys

from benchmarks import check, counting, cuda_cpp, inspecting, simt, torch_device

BENCHMARKS = {
    "simt": simt.report,
    "check": check.report,
    "cuda_cpp": cuda_cpp.report,
    "counting": counting.report,
    "torch_device": torch_device.report,
    "show": inspecting.report,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark and print its report; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", metavar="|".join(BENCHMARKS), help="what to measure")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    asked = parser.parse_args(arguments)
    if asked.name not in BENCHMARKS:
        print(f"no benchmark is called {asked.name!r}: there is {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    try:
        for line in BENCHMARKS[asked.name](quick=asked.quick):
            print(line, flush=True)
    except RuntimeError as problem:
        print(f"{asked.name}: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
