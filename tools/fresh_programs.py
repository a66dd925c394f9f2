"""Generated programs with fresh seeds against the real compilers: `python tools/fresh_programs.py NUMBER`.

Each number stands for seeds of its own. Every finding is printed, shrunk to the smallest program, and ends in status 1.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
COMMANDS = (
    ("typed_programs", "--count", "350"),
    ("cuda_cpp_programs", "--count", "700"),
    ("cooperative_kernels", "--count", "700", "--modes", "interpreted"),
)


def main(number: str) -> int:
    first = str(1_000_000 + 1000 * int(number))  # beyond the seeds of the tests and of the stored samples
    found = 0
    for name, *options in COMMANDS:
        command = [PYTHON, "-m", f"tests.commands.kernels.{name}", "--first", first, "--shrink", *options]
        found |= subprocess.run(command, cwd=ROOT).returncode != 0
    return int(found)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit("give a number, such as that of the run: python tools/fresh_programs.py 17")
    sys.exit(main(sys.argv[1]))
