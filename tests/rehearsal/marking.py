"""What only the rehearsal does, where a GPU can take its place: `REHEARSE_ON=gpu` runs the programs on the machine's GPU."""

import os

import pytest

ON_GPU = os.environ.get("REHEARSE_ON") == "gpu"
# On an H100 of 26 November 2026 these ended otherwise, or never.
GUARDS = "a GPU has no guard around an allocation: an access just behind it may raise nothing"
WATCHDOG = "a GPU without a screen has no time limit for a kernel"


def marked(cases, why):
    """Return parameters for pytest: each case by its name, marked where `why` says that only the rehearsal does it."""
    return [
        pytest.param(case, id=name, marks=[pytest.mark.rehearsal(why=why[name])] if name in why else [])
        for name, case in cases.items()
    ]
