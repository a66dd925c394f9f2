"""`host-to-device doctor`: the doctor in a terminal."""

from __future__ import annotations

import argparse
import json
import os
import sys

from host_to_device.diagnosing import doctor
from host_to_device.diagnosing.findings import Diagnosis

HELP = "look for what keeps the GPU from working, here or in a pasted report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the sub-command."""
    parser.description = (
        "Look for what keeps the GPU of this machine from working. With --paste, read a report of any machine instead: an "
        "error message, nvidia-smi, python -m torch.utils.collect_env, pip list or conda list. Nothing is sent anywhere, "
        "and nothing is changed. The exit status is 0 if nothing known is wrong, and 1 if there are findings."
    )
    parser.add_argument(
        "--paste",
        nargs="?",
        const="-",
        metavar="FILE",
        help="read a report from FILE, or from standard input: paste it, then press Enter and Ctrl+D",
    )
    parser.add_argument("--json", action="store_true", help="print the diagnosis as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the diagnosis; return the exit status."""
    if arguments.paste is None:
        diagnosis = doctor()
    else:
        try:
            diagnosis = doctor(pasted(arguments.paste))
        except OSError as problem:
            print(f"host-to-device doctor: {arguments.paste}: {problem.strerror}", file=sys.stderr)
            return 2
    try:
        show(diagnosis, as_json=arguments.json)
    except BrokenPipeError:  # `| head` has read what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if diagnosis.findings else 0


def pasted(name: str) -> bytes:
    """Return the bytes of a file, or of standard input for "-"."""
    if name != "-":
        with open(name, "rb") as file:
            return file.read()
    if sys.stdin.isatty():
        print("Paste the report, then press Enter and Ctrl+D (Windows: Ctrl+Z, Enter).", file=sys.stderr)
    return sys.stdin.buffer.read()


def show(diagnosis: Diagnosis, *, as_json: bool) -> None:
    """Print a diagnosis; characters that the terminal does not have become question marks."""
    text = json.dumps(diagnosis.as_dict(), indent=1) if as_json else str(diagnosis)
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding), flush=True)
