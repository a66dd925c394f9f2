"""Store what `h2d.stack()` shows around `import torch` where PyTorch is built for CUDA (`python -m tools.stored_stack`).

The book's own machines have PyTorch for the CPU. A Python with a build for CUDA runs this file, with the checkout as its
folder, and needs no GPU:

    python -m venv /somewhere/else && /somewhere/else/bin/pip install torch numpy
    /somewhere/else/bin/python -m tools.stored_stack

It stores the stack before the import and after it, and refuses if a matrix product on the CPU then loads anything more:
the book says that it does not. Two things are replaced: the folder of the environment by `ENVIRONMENT`, and the folder of
Python by `PROGRAMS`. The printed text has neither, so it is as it was printed.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from host_to_device import stack
from host_to_device.inspecting.layers import KERNEL, PROGRAM
from host_to_device.inspecting.loaded import Stack

STORED = Path(__file__).resolve().parent.parent / "book" / "stored" / "stack_torch_cuda.json"
ENVIRONMENT, PROGRAMS = "/venv", "/usr/bin"


def facts(found: Stack, environment: str) -> dict[str, Any]:
    """Return a stack as JSON takes it, with no folder of this machine in it."""
    whole = asdict(found)
    for each in whole["loaded"]:
        each["owner"] = list(each["owner"])
        each["files"] = [
            f"{PROGRAMS}/{Path(file).name}"
            if each["layer"] == PROGRAM
            else file.replace(environment, ENVIRONMENT, 1)
            for file in each["files"]
        ]
        strange = [file for file in each["files"] if not file.startswith((ENVIRONMENT, PROGRAMS))]
        if strange:
            raise SystemExit(f"{strange[0]} is not in {environment}: store from an environment of its own")
    return whole


def main() -> None:
    before = stack()
    import torch

    after = stack()
    if torch.version.cuda is None:
        raise SystemExit(f"PyTorch {torch.__version__} is built for the CPU: run this with a build for CUDA")
    if after.of(KERNEL):
        raise SystemExit("this machine has a GPU driver: the stored text is of a machine without one")
    torch.ones(64, 64) @ torch.ones(64, 64)
    if str(stack()) != str(after):
        raise SystemExit("a product on the CPU has loaded more: the book says that it does not")
    stored = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "gpu": "no GPU",
        "read": f"{datetime.now(UTC):%Y-%m-%d}",
        "replaced": f"the environment's folder by {ENVIRONMENT}, Python's folder by {PROGRAMS}",
        "before": facts(before, sys.prefix),
        "after": facts(after, sys.prefix),
    }
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(f"{json.dumps(stored, indent=1)}\n", encoding="utf-8")
    print(f"{STORED.name}: stored")


if __name__ == "__main__":
    main()
