"""`host-to-device run`: a script on the stand-ins, without a change to it."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from host_to_device.support.installed import SetUpError
from host_to_device.testing.beginning import begin

HELP = "run a Python script on this machine's GPU, or without one on the stand-ins"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the sub-command."""
    parser.description = (
        "Run a script as python does. Where there is no GPU, or with H2D_MACHINE=stand-in in the environment, its imports "
        "of numba.cuda, numba_cuda_mlir and cupy get the stand-ins."
    )
    parser.add_argument("script", help="the script")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="the script's own arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run the script; return 2 if it cannot be started."""
    script = Path(arguments.script)
    if not script.is_file():
        print(f"host-to-device run: there is no file {arguments.script}", file=sys.stderr)
        return 2
    try:
        print(begin(), file=sys.stderr)
    except SetUpError as problem:
        print(f"host-to-device run: {problem}", file=sys.stderr)
        return 2
    sys.argv = [arguments.script, *arguments.words]
    sys.path.insert(0, str(script.resolve().parent))
    runpy.run_path(arguments.script, run_name="__main__")
    return 0
