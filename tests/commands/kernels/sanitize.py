"""Run the wrong kernels under NVIDIA's checker, compute-sanitizer, on this machine's GPU, and store its verdicts.

`python -m tests.commands.kernels.sanitize [names…]` runs each case in a process of its own, with the tool that is made
for its mistake: memcheck, racecheck, initcheck or synccheck. `sanitizer.json` beside the cases keeps the number of
errors, the first error in the tool's words, and the lines that it names, with versions. Where a mistake has no tool
(such as an order that nothing fixes), memcheck runs, and finding nothing is what is expected.
"""

import argparse
import functools
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from tests.corpora.kernels.wrong import case as about

ROOT = Path(__file__).parents[3]
STORED = Path(about.__file__).with_name("sanitizer.json")
SECONDS = 20  # for one case; a kernel that never ends is stopped
MEMCHECK, RACECHECK, INITCHECK, SYNCCHECK = "memcheck", "racecheck", "initcheck", "synccheck"
TOOLS = {
    about.RACE: RACECHECK,
    about.UNINITIALISED_READ: INITCHECK,
    about.UNWRITTEN_OUTPUT: INITCHECK,
    about.BARRIER_DIVERGENCE: SYNCCHECK,
    about.WARP_SYNCHRONISATION: SYNCCHECK,
}


def run_one(name: str) -> None:
    """Run a case in this process; its kernels carry line numbers for the sanitizer."""
    from numba import cuda

    cuda.jit = functools.partial(_with_lines, cuda.jit)
    from tests.corpora.kernels.case import run
    from tests.corpora.kernels.wrong.corpus import ALL

    run(next(wrong.case for wrong in ALL if wrong.case.name == name), cuda)


def _with_lines(jit, *arguments, **options):
    if options.get("debug"):
        return jit(*arguments, **options)
    if len(arguments) == 1 and callable(arguments[0]) and not options:
        return jit(lineinfo=True)(arguments[0])
    return jit(*arguments, **{"lineinfo": True, **options})


def verdict(wrong, program: str, tool: str) -> dict:
    """Return what a tool says of a case: errors, the first in its words, and the lines of the case's file that it names."""
    command = [program, "--tool", tool, "--print-limit", "20"]
    if tool == RACECHECK:
        command += ["--racecheck-report", "all"]
    command += [sys.executable, "-m", "tests.commands.kernels.sanitize", "--one", wrong.case.name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        text, ended = done.stdout + done.stderr, str(done.returncode)
    except subprocess.TimeoutExpired as stopped:
        text, ended = (stopped.stdout or b"").decode(errors="replace"), f"stopped after {SECONDS} s"
    lines = [line.removeprefix("=========").strip() for line in text.splitlines() if line.startswith("=====")]
    total = re.findall(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+)", text)
    words = [
        each for each in lines if each and not re.match("COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUM", each)
    ]
    file = Path(sys.modules[wrong.case.plan(wrong.case.fresh())[0].kernel.py_func.__module__].__file__).name
    named = sorted({int(number) for number in re.findall(rf"{re.escape(file)}:(\d+)", "\n".join(lines))})
    return {
        "finding": wrong.finding,
        "tool": tool,
        "errors": int(total[-1]) if total else None,
        "first": words[0][:200] if words else "",
        "lines": named,
        "marked": sorted(wrong.lines & set(named)),
        "ended": ended,
        "last": "" if total else text.strip().splitlines()[-1][:200] if text.strip() else "",
    }


def alone(wrong) -> str:
    """Return the error that ends a case without a tool, or "nothing"."""
    command = [sys.executable, "-m", "tests.commands.kernels.faults_on_gpu", wrong.case.name]
    said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS).stdout
    return next(iter(re.findall(r"CUDA_ERROR_\w+", said)[-1:]), "nothing")


def judged(wrong, program: str) -> dict:
    """Return a case's verdict; of an access outside of an array also what happens without the tool."""
    found = verdict(wrong, program, TOOLS.get(wrong.finding, MEMCHECK))
    return found | ({"alone": alone(wrong)} if wrong.finding == about.OUT_OF_BOUNDS else {})


def where(program: str) -> dict[str, str]:
    """Return the GPU, the versions and the date of this run."""

    def said_by(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    version = re.search(r"Version\s+([\d.]+)", said_by(program, "--version"))
    return {
        "gpu": said_by("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
        "compute-sanitizer": version[1] if version else "",
        "numba-cuda": importlib.metadata.version("numba-cuda"),
        "date": str(date.today()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these cases")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument(
        "--rest", action="store_true", help="only cases that no stored verdict is of; the others stay"
    )
    parser.add_argument("--jobs", type=int, default=4, help="cases at once (%(default)s)")
    given = parser.parse_args()
    if given.one:
        run_one(given.one)
        return 0
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.access(program, os.X_OK):
        print("there is no compute-sanitizer here: it comes with the CUDA toolkit")
        return 2
    from numba import cuda  # noqa: F401  read before the corpus, so that its kernels are Numba's own

    from tests.corpora.kernels.wrong.corpus import ALL

    kept = json.loads(STORED.read_text())["verdicts"] if given.rest and STORED.exists() else {}
    chosen = [
        wrong
        for wrong in ALL
        if (not given.names or wrong.case.name in given.names) and wrong.case.name not in kept
    ]
    about_run, found = {"where": where(program), "verdicts": {}}, dict(kept)
    with ThreadPoolExecutor(given.jobs) as pool:
        tasks = {wrong.case.name: pool.submit(judged, wrong, program) for wrong in chosen}
        for name, task in tasks.items():
            one = found[name] = task.result()
            print(f"{name:50} {one['tool']:10} {one['errors']} {one['first']}", flush=True)
            about_run["verdicts"] = dict(sorted(found.items()))
            STORED.write_text(json.dumps(about_run, indent=1) + "\n")  # at once: a run may be stopped
    return 0


if __name__ == "__main__":
    sys.exit(main())
