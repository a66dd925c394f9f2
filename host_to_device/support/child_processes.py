"""Ends child processes with everything that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress


def end(process: subprocess.Popen) -> None:
    """End a process that was started in a session of its own (`start_new_session`), and its children."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
