"""Collects programs from modules, and keeps the record of their runs on real GPUs, for every library alike."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from tests.corpora.cupy.case import Program

# name of a program -> {"where": GPU, versions and date, "digest": mark of the program that ran}
Record = dict[str, dict[str, str]]


def read(path: Path) -> Record:
    """Return the record of runs on real GPUs; an empty one if there is no file."""
    return json.loads(path.read_text()) if path.exists() else {}


def programs_of(modules: Iterable[ModuleType], record: Record) -> list[Program]:
    """Return the modules' programs, each with its run on a GPU; a program that has changed since counts as not seen."""
    found = []
    for module in modules:
        for program in vars(module).values():
            if not isinstance(program, Program):
                continue
            entry = record.get(program.name, {})
            known = entry.get("digest") == program.digest()
            found.append(dataclasses.replace(program, seen_on_gpu=entry["where"] if known else None))
    return found


def write(path: Path, ran: Iterable[Program], right: Iterable[Program], where: str) -> None:
    """Record the programs that gave their outcome; remove those that ran and did not."""
    ran, right = list(ran), list(right)
    record = read(path) | {one.name: {"where": where, "digest": one.digest()} for one in right}
    wrong = {one.name for one in ran} - {one.name for one in right}
    record = {name: record[name] for name in sorted(record) if name not in wrong}
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"recorded: {len(right)} programs in {path.name}")
