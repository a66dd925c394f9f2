"""Run the check over a case of the corpora, launch by launch, and judge what it found."""

from __future__ import annotations

import numpy as np
from numba import cuda

from host_to_device.checking import Report, check
from tests.corpora.kernels.case import Case, Launch, _to_device
from tests.corpora.kernels.wrong.case import Wrong

OF_ACCESSES = ("out of bounds", "race", "uninitialised read")  # findings that name an element
# For a launch. Only kernels that make no progress take so long, or a machine that does other things: then the longer
# time decides.
SECONDS, PATIENT = 0.3, 10


def names_of(launch: Launch, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Give the parameters for which a launch gets these inputs of its case."""
    parameters = launch.kernel.program.kernel.parameters
    return tuple(name for name, given in zip(parameters, launch.arguments, strict=True) if given in inputs)


def reports(
    case: Case, outputs: tuple[str, ...] = (), run: bool = True, seconds: float = SECONDS, **options
) -> list[Report]:
    """Check every launch of a case, and run it afterwards so that the next one finds what it needs."""
    given = case.fresh()
    on_device = {name: _to_device(value, cuda) for name, value in given.items()}
    found = []
    # The links of a list and the slots of a table depend on who comes first; what is made of them does not.
    free = (
        tuple(
            name
            for name in set(given) - set(case.expected(case.fresh()))
            if isinstance(given[name], np.ndarray)
        )
        if "any order" in case.kinds
        else ()
    )
    launches = case.plan(given)
    for launch in launches:
        arguments = [on_device[name] for name in launch.arguments]
        configuration = launch.grid, launch.block, 0, launch.shared
        checked = check(
            launch.kernel,
            outputs=names_of(launch, outputs),
            any_order=names_of(launch, case.unordered),
            not_compared=names_of(launch, free),
            seconds=seconds,
            **options,
        )
        found.append(checked[configuration](*arguments))
        if run and launch is not launches[-1]:
            with cuda.stand_in(interpreted=True):  # compiling it for one launch would take longer
                launch.kernel[configuration](*arguments)
    return found


def alarms(case: Case, **options) -> list[str]:
    """Say what the check holds against a right case: nothing, if all is well."""
    return [
        f"{finding.kind}, line {finding.lines}: {finding.text}"
        for report in reports(case, seconds=60, **options)
        for finding in report.findings
    ]


def missed(wrong: Wrong, seconds: float = SECONDS, **options) -> list[str]:
    """Say what the check of a wrong case lacks, or says besides that is not so; nothing if all is well."""
    return _missed(wrong, seconds, options) and _missed(wrong, PATIENT, options)


def _missed(wrong: Wrong, seconds: float, options: dict) -> list[str]:
    found = [
        finding
        for report in reports(wrong.case, outputs=wrong.outputs, run=False, seconds=seconds, **options)
        for finding in report.findings
    ]
    right_kind = [finding for finding in found if finding.kind == wrong.finding]
    words = []
    if not right_kind:
        words.append(f"no {wrong.finding}")
    elif wrong.lines and not any(set(finding.lines) & wrong.lines for finding in right_kind):
        words.append(f"lines {[finding.lines for finding in right_kind]}, not of {sorted(wrong.lines)}")
    elif (
        wrong.space
        and wrong.finding in OF_ACCESSES
        and not any(finding.space in (wrong.space, "") for finding in right_kind)
    ):
        words.append(f"in {[finding.space for finding in right_kind]} memory, not {wrong.space}")
    elif wrong.pair and not any(finding.pair == wrong.pair for finding in right_kind):
        words.append(f"as {[finding.pair for finding in right_kind]}, not {wrong.pair}")
    words += [
        f"besides {finding.kind}, line {finding.lines}: {finding.text}"
        for finding in found
        if finding.kind not in (wrong.finding, *wrong.also)
    ]
    return words
