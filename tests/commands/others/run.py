"""Run the libraries' own tests on the stand-ins: `python -m tests.commands.others.run numba_cuda|cupy|torch [FILES…]`.

Prints, for each file, how many tests passed, failed and were skipped, then each failure with its class. `--to` keeps
the outcomes as JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import sys
from pathlib import Path

from tests.corpora.kernels.generated import figures
from tests.others import running, suites
from tests.others.expected import CLASSES, Expected, counts


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=["numba_cuda", "cupy", "torch", "simulator"])
    parser.add_argument("files", nargs="*", help="parts of the files' names; without one, all files")
    parser.add_argument("--to", type=Path, help="a file for the outcomes, as JSON")
    parser.add_argument("--entries", action="store_true", help="print entries for failures that have none")
    parser.add_argument(
        "--figures", action="store_true", help="keep the counts for the page about the stand-ins"
    )
    parser.add_argument("--quiet", action="store_true", help="no line for each failure")
    asked = parser.parse_args(arguments)
    suite = suites.numba_cuda(True) if asked.suite == "simulator" else getattr(suites, asked.suite)()
    expected = suites.expected_of(suite)
    found = {}
    for file in suites.files(suite):
        if asked.files and not any(part in file for part in asked.files):
            continue
        began = cpu_seconds()
        found[file] = running.outcomes(suite, file, expected.not_run(file))
        each = counts(found[file])
        print(
            f"{file}: {each['passed']} passed, {each['failed']} failed, {each['skipped']} skipped, {cpu_seconds() - began:.0f} s of CPU",
            flush=True,
        )
        for outcome in found[file]:
            if outcome.outcome == "failed" and not asked.quiet:
                entry = expected.entry(outcome.test)
                print(
                    f"    {outcome.test.partition('::')[2] or outcome.test}: [{entry.kind if entry else 'new'}] {outcome.why[:250]}",
                    flush=True,
                )
        if asked.to:
            asked.to.write_text(
                json.dumps(
                    {name: [dataclasses.asdict(one) for one in rows] for name, rows in found.items()},
                    indent=1,
                )
            )
    if asked.entries:
        print(entries(found, expected))
    if asked.figures:
        figures.write("tests of the libraries", table_of(asked.suite, found, expected), VERSIONS)
    each = counts(one for rows in found.values() for one in rows)
    print(
        f"all {len(found)} files: {each['passed']} passed, {each['failed']} failed, {each['skipped']} skipped, {cpu_seconds():.0f} s of CPU"
    )
    return 0


VERSIONS = "numba-cuda 0.30.4, CuPy 14.2.0, PyTorch 2.13.0"


def table_of(suite: str, found: dict[str, list[running.Outcome]], expected: Expected) -> figures.Table:
    """Return how many tests of each folder passed, were skipped, or failed, by the class of the failure."""
    table = figures.Table(("passed", "skipped", *CLASSES))
    for file, rows in found.items():
        for one in rows:
            entry = expected.entry(one.test)
            outcome = one.outcome if one.outcome != "failed" else entry.kind if entry else "open"
            table.count(str(Path(file).parent), NAMES[suite], outcome)
    return table


def entries(found: dict[str, list[running.Outcome]], expected: Expected) -> str:
    """Return the text of entries for the failures that have none, each open: give them their class and reason by hand."""
    reasons: dict[str, list[str]] = {}
    for rows in found.values():
        for one in rows:
            if one.outcome == "failed" and expected.entry(one.test) is None:
                reasons.setdefault(one.why[:160], []).append(one.test)
    return "\n".join(
        "\n".join(
            [
                "",
                "[[fails]]",
                'class = "open"',
                f"reason = {json.dumps(why)}",
                f"tests = {json.dumps(tests, indent=4)}",
            ]
        )
        for why, tests in reasons.items()
    )


NAMES = {"numba_cuda": "numba-cuda", "cupy": "CuPy", "torch": "PyTorch"}


def cpu_seconds() -> float:
    """Return what the processes of all files so far have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
