"""Run the libraries' own tests on the stand-ins: `python -m tests.commands.others.run numba_cuda|cupy|torch [FILES…]`.

Prints, for each file, how many tests passed, failed and were skipped, then each failure with its class. `--to` keeps
the outcomes as JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path

from tests.others import running, suites
from tests.others.expected import counts


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=["numba_cuda", "cupy", "torch", "simulator"])
    parser.add_argument("files", nargs="*", help="parts of the files' names; without one, all files")
    parser.add_argument("--to", type=Path, help="a file for the outcomes, as JSON")
    parser.add_argument("--quiet", action="store_true", help="no line for each failure")
    asked = parser.parse_args(arguments)
    suite = suites.numba_cuda(True) if asked.suite == "simulator" else getattr(suites, asked.suite)()
    expected = suites.expected_of(suite)
    found = {}
    for file in suites.files(suite):
        if asked.files and not any(part in file for part in asked.files):
            continue
        began = time.monotonic()
        found[file] = running.outcomes(suite, file, expected.not_run(file))
        each = counts(found[file])
        print(
            f"{file}: {each['passed']} passed, {each['failed']} failed, {each['skipped']} skipped, {time.monotonic() - began:.0f} s",
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
    print("all:", counts(one for rows in found.values() for one in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
