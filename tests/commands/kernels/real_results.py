"""Runs the programs of `tests/corpora/real_results` on the real numba-cuda, in the rehearsal, and stores their outcomes.

python -m tests.commands.kernels.real_results             prints what differs from what is stored
python -m tests.commands.kernels.real_results --record    stores the outcomes
python -m tests.commands.kernels.real_results --stand-in  the stand-in's, compiled and interpreted, beside what is stored
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

import numpy as np

from tests.corpora.real_results import RESULTS, load, outcome, stored


def here() -> dict[str, dict]:
    """Return the outcomes with the `numba.cuda` of this process."""
    return {name: outcome(function) for name, function in load().items()}


def on_rehearsal(environment: dict[str, str] | None = None) -> tuple[dict[str, dict], dict[str, str]]:
    """Return the outcomes of the real compiler, and the versions of the libraries."""
    from rehearsal import run

    environment = environment or run.environment()
    environment |= {
        "H2D_MACHINE": "gpu",
        "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "tests.commands.kernels.real_results", "--here"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    return told["outcomes"], told["versions"]


def same(one: dict, other: dict) -> bool:
    """Return whether two outcomes agree: dtype and values, but for the last bit of a float, or that both raise."""
    if "raises" in one or "raises" in other:
        return "raises" in one and "raises" in other
    if one["dtype"] != other["dtype"] or not one["dtype"].startswith("float"):
        return one == other
    values = [np.array(each["values"].split(), float) for each in (one, other)]
    near = [np.isclose(*values, rtol=4e-16, atol=0, equal_nan=True), values[0] == values[1]]
    return values[0].shape == values[1].shape and bool(np.logical_or(*near).all())


def said(found: dict) -> str:
    text = (
        f"{found['raises']}: {' '.join(found['words'].split())}"
        if "raises" in found
        else f"{found['dtype']} {found['values']}"
    )
    return text[:150]


def differences(found: dict[str, dict], wanted: dict[str, dict]) -> list[str]:
    """Return a text for each program whose outcome is not the stored one."""
    return [
        f"{name}\n    real: {said(wanted[name])}\n    here: {said(found[name])}"
        for name in wanted
        if name in found and not same(found[name], wanted[name])
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for flag in ("--record", "--stand-in", "--here"):
        parser.add_argument(flag, action="store_true")
    asked = parser.parse_args()
    if asked.here:
        import numba
        import numba_cuda

        versions = {
            "numba-cuda": numba_cuda.__version__,
            "numba": numba.__version__,
            "NumPy": np.__version__,
        }
        print(json.dumps({"versions": versions, "outcomes": here()}))
        return 0
    if asked.stand_in:
        from host_to_device.standins import imports

        imports.redirect()
        from host_to_device.standins.numba_cuda.settings import stand_in

        wrong = 0
        for interpreted in (False, True):
            with stand_in(interpreted=interpreted):
                lines = differences(here(), stored())
            print(
                f"{'interpreted' if interpreted else 'compiled'}: {len(lines)} of {len(stored())} differ",
                *lines,
                sep="\n",
            )
            wrong += len(lines)
        return wrong > 0
    outcomes, versions = on_rehearsal()
    if asked.record:
        RESULTS.write_text(
            json.dumps({"versions": versions, "outcomes": outcomes}, indent=1) + "\n", encoding="utf-8"
        )
        print(f"{len(outcomes)} outcomes stored")
        return 0
    lines = differences(outcomes, stored())
    print(*lines, f"{len(lines)} of {len(outcomes)} differ", sep="\n")
    return len(lines) > 0


if __name__ == "__main__":
    raise SystemExit(main())
