"""The doctor: what is wrong with a set-up, read from this machine or from a pasted report."""

from __future__ import annotations

from host_to_device.diagnosing import describing, gathering, matching, pasting, rules
from host_to_device.diagnosing import facts as reading
from host_to_device.diagnosing.findings import Diagnosis


def doctor(paste: str | bytes | None = None) -> Diagnosis:
    """Look for what keeps the GPU of this machine from working, or read a report of another machine.

    On this machine it reads the driver, its device nodes and `nvidia-smi`, CUDA toolkits, the environment, and the
    installed packages with what they were built for. It imports none of them and changes nothing. A pasted text may be
    an error message, or the output of `nvidia-smi`, `python -m torch.utils.collect_env`, `pip list` or `conda list`.
    In a terminal, `host-to-device doctor` and `host-to-device doctor --paste` do the same.

    Parameters
    ----------
    paste
        The text to read, as text or as bytes in any encoding. Left out, the doctor looks at this machine.

    Returns
    -------
    Diagnosis
        Printed, it is the report. `findings` has the causes, the most likely first, each with its evidence, its cure
        and the place of the book that explains it; it is empty if the doctor finds no cause that it knows.

    Raises
    ------
    TypeError
        If `paste` is neither text nor bytes.

    Examples
    --------
    >>> h2d.doctor("Failed to initialize NVML: Driver/library version mismatch")
    1. The driver was updated without a restart: the running kernel module and the driver's libraries
       have different versions.
       read from: “Failed to initialize NVML: Driver/library version mismatch”
       do this:   Restart the machine: `sudo reboot`.
       ...
    """
    if paste is None:
        return of_snapshot(gathering.gather())
    if not isinstance(paste, (str, bytes)):
        raise TypeError(f"paste has to be text or bytes, not {type(paste).__name__}")
    text = pasting.read(paste)
    facts = reading.read(text.text, text.small)
    found = matching.findings(rules.load(), text, facts)
    return Diagnosis(
        tuple(found),
        describing.stated(facts),
        describing.notes(facts),
        describing.of_paste(facts),
        pasted=True,
    )


def of_snapshot(snapshot: dict) -> Diagnosis:
    """Return the diagnosis of a machine from its snapshot."""
    facts = gathering.facts_of(snapshot)
    found = matching.findings(rules.load(), pasting.read(snapshot.get("nvidia_smi") or ""), facts)
    return Diagnosis(
        tuple(found),
        describing.stated(facts),
        describing.notes(facts),
        describing.of_machine(snapshot, facts),
        verdict=describing.verdict(facts),
        snapshot=snapshot,
    )
