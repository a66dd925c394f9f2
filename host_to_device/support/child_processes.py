"""Ends child processes with everything that they have started."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any


def end(process: Any) -> None:
    """End a process, a `subprocess.Popen` or its like, that was started in a session of its own, and its children."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
