"""Runs the cells of one notebook, for `benchmarks.others`, in this process; it writes a line for each cell.

`python -m benchmarks.other_notebook CELLS LINES NBYTES`: a JSON list of cells, the file for the lines, and the bytes of
memory that this process may ask for.
"""

from __future__ import annotations

import contextlib
import io
import json
import socket
import sys
from pathlib import Path


def limit(nbytes: int) -> None:
    """Limit the memory that this process and its children may each ask for, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (nbytes, nbytes))


def stay_here() -> None:
    """Let this process reach no other machine."""
    connect, find = socket.socket.connect, socket.getaddrinfo
    why = "nothing is fetched here: this command runs notebooks without a network"

    def find_here(host: object, *more: object, **named: object) -> list:
        if host not in (None, "", "localhost", "127.0.0.1", "::1"):
            raise socket.gaierror(why)
        return find(host, *more, **named)

    def refuse(self: socket.socket, address: object) -> None:
        if self.family == socket.AF_UNIX or (
            isinstance(address, tuple) and address[0] in ("127.0.0.1", "::1")
        ):
            return connect(self, address)
        raise ConnectionError(why)

    socket.socket.connect, socket.getaddrinfo = refuse, find_here


def main(arguments: list[str]) -> None:
    """Run the cells, each even if one before it failed."""
    cells, lines, nbytes = (
        json.loads(Path(arguments[0]).read_text(encoding="utf-8")),
        arguments[1],
        arguments[2],
    )
    limit(int(nbytes))
    stay_here()
    from IPython.core.interactiveshell import InteractiveShell

    import host_to_device as h2d

    class Shell(InteractiveShell):
        def enable_gui(self, gui: str | None = None) -> None:
            """Draw nothing on a screen."""

    shell = Shell.instance()
    with contextlib.redirect_stdout(io.StringIO()):
        h2d.start()
    sys.argv = [""]
    with open(lines, "a", encoding="utf-8") as written:
        print(json.dumps("ready"), file=written, flush=True)
        for cell in cells:
            done = shell.run_cell(cell, store_history=True)
            error = done.error_before_exec or done.error_in_exec
            line = "" if error is None else " ".join(f"{type(error).__name__}: {error}".split())[:300]
            print(json.dumps({"error": line}), file=written, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
