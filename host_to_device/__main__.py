"""The project's one command, `host-to-device` or `python -m host_to_device`, and its sub-commands."""

from __future__ import annotations

import argparse
import sys

from host_to_device.diagnosing import command as doctor
from host_to_device.grading import command as grade
from host_to_device.testing import command as run

COMMANDS = {"doctor": doctor, "grade": grade, "run": run}


def main(arguments: list[str] | None = None) -> int:
    """Run a sub-command.

    Parameters
    ----------
    arguments
        The words after the name of the command; those of this process if left out.

    Returns
    -------
    int
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="host-to-device", description="The commands of the course Host to Device."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=module.HELP))
    chosen = parser.parse_args(arguments)
    return COMMANDS[chosen.command].run(chosen)


if __name__ == "__main__":
    sys.exit(main())
