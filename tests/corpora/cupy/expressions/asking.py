"""Asks the real CuPy for the outcomes of programs: a process on the rehearsal, or on this machine's GPU.

As a script, this file is that process: it reads a program a line, and writes an outcome a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from rehearsal import run
from tests.corpora.cupy.expressions.running import OUT_OF_ORDER, Outcome, outcome

MARK = "outcome: "


class Real:
    """The real CuPy in a process of its own, which begins anew after a fault of the device.

    Parameters
    ----------
    environment
        The process's environment, as `rehearsal.run.environment(cupy=True)` returns it.
    python
        The interpreter that has this CuPy.
    """

    def __init__(self, environment: dict[str, str], python: str = sys.executable) -> None:
        path = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), str(run.ROOT))))
        self._environment = {**environment, "PYTHONPATH": path, "H2D_MACHINE": "gpu"}
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def ask(self, statements: Sequence[str]) -> Outcome | None:
        """Return a program's outcome; None if the device had a fault, or the process ended."""
        if self._process is None:
            self._process = subprocess.Popen(
                [self._python, "-m", __name__],
                env=self._environment,
                cwd=run.ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(list(statements)) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.close()
            return None
        for line in self._process.stdout:
            if line.startswith(MARK):
                found = json.loads(line.removeprefix(MARK))
                if any(error[0] in OUT_OF_ORDER for error in found["errors"].values()):
                    self.close()
                    return None
                return found
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def main() -> None:
    import cupy

    for line in sys.stdin:
        print(MARK + json.dumps(outcome(json.loads(line), cupy)), flush=True)


if __name__ == "__main__":
    main()
