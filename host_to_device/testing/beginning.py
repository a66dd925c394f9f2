"""Puts the stand-ins in place for a program that does not call `h2d.start()` itself."""

from __future__ import annotations

import os

from host_to_device.starting import machine


def begin() -> str:
    """Put the stand-ins in place where there is no GPU, or where `H2D_MACHINE=stand-in` asks for them.

    Unlike `h2d.start()` it prints nothing, and asks for no package on a machine with a GPU: a program may use one library.

    Returns
    -------
    str
        One line that says what runs here.

    Raises
    ------
    SetUpError
        As for `h2d.start()` on a machine without a GPU.
    """
    if os.environ.get("H2D_MACHINE", "") in ("", "gpu"):
        found = machine.find()
        if found.gpus:
            machine.chosen = "gpu"
            return f"GPU found: {found.gpus[0].name}. Nothing is replaced; H2D_MACHINE=stand-in uses the stand-ins."
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as said:
        machine.start()
    return said.getvalue().strip()


def has_gpu() -> bool:
    """Return whether kernels run on a GPU in this process."""
    return machine.chosen == "gpu" or (machine.chosen is None and bool(machine.find().gpus))
