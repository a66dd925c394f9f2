"""Raise the version everywhere at once: `python tools/release.py 0.2.0`.

Notebooks on Colab install the library from the tag of its version, so version, tag, first cells and changelog belong
together. This writes the new version into all files that name it, turns the changelog's "Unreleased" into an entry of
today, and records the public names, parameters and exercises of the library in `tools/released.json`. A test holds the
notebooks against that record: one that uses a newer name needs a release.
"""

from __future__ import annotations

import datetime
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import host_to_device as h2d
from book import address
from host_to_device.exercises import catalogue

ROOT = Path(__file__).resolve().parent.parent
RECORD = "tools/released.json"
UNRELEASED = "## Unreleased\n"


class CannotRelease(ValueError):
    """The version cannot be raised; the message says why and what to do."""


def names() -> dict[str, Any]:
    """Return what notebooks can use of the library as it is: names with their parameters, modules and exercises."""
    parameters = {}
    for name in h2d.__all__:
        try:
            parameters[name] = list(inspect.signature(getattr(h2d, name)).parameters)
        except (TypeError, ValueError):  # an exception class has none
            parameters[name] = []
    library = ROOT / "host_to_device"
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in library.rglob("*.py")
        if path.parent.name != "sets"
    }
    exercises = [
        exercise.number for number in catalogue.set_numbers() for exercise in catalogue.in_set(number)
    ]
    return {"names": parameters, "modules": sorted(modules), "exercises": sorted(exercises)}


def parts(version: str) -> tuple[int, ...]:
    """Return a version's three numbers.

    Raises
    ------
    CannotRelease
        If it has another form.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise CannotRelease(f"{version!r} is no version: write three numbers, such as 0.2.0")
    return tuple(map(int, version.split(".")))


def release(new: str, root: Path = ROOT, today: datetime.date | None = None) -> list[Path]:
    """Write a new version into all files that name it; return those that changed.

    Raises
    ------
    CannotRelease
        If the version is not newer, or if the changelog has nothing under "Unreleased".
    """
    old, where = address.version(root), address.read(root)
    if parts(new) <= parts(old):
        raise CannotRelease(f"{new} is not newer than {old}")
    log = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    entry = log.partition(UNRELEASED)[2].partition("\n## ")[0].strip()
    if not entry:
        raise CannotRelease('CHANGELOG.md has nothing under "## Unreleased": say there what has changed')
    day = today or datetime.date.today()
    edits = {
        "pyproject.toml": (f'\nversion = "{old}"', f'\nversion = "{new}"'),
        "host_to_device/__init__.py": (f'__version__ = "{old}"', f'__version__ = "{new}"'),
        "CITATION.cff": (f"\nversion: {old}", f"\nversion: {new}"),
        "README.md": (f"`v{old}`", f"`v{new}`"),
        "chapters/teaching.md": (f"git tag v{old}", f"git tag v{new}"),
        "CHANGELOG.md": (UNRELEASED, f"{UNRELEASED}\n## {day} · {new}\n"),
    }
    texts = {}
    for name, (before, after) in edits.items():
        text = (root / name).read_text(encoding="utf-8")
        if before not in text:
            raise CannotRelease(f"{name} does not say {before.strip()!r}: mend it first")
        texts[root / name] = text.replace(before, after, 1)
    cited = root / "CITATION.cff"
    texts[cited] = re.sub(r'date-released: "[^"]*"', f'date-released: "{day}"', texts[cited])
    for path in address.named_files(root):
        text = texts.get(path) or path.read_text(encoding="utf-8")
        moved = text.replace(where.archive(old), where.archive(new))
        if moved != text:
            texts[path] = moved
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return sorted(texts)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tools/release.py VERSION", file=sys.stderr)
        return 2
    try:
        changed = release(arguments[0])
    except CannotRelease as problem:
        print(problem, file=sys.stderr)
        return 1
    record = ROOT / RECORD
    record.write_text(json.dumps({"version": arguments[0], **names()}, indent=1) + "\n", encoding="utf-8")
    print("\n".join(str(path.relative_to(ROOT)) for path in [*changed, record]))
    print(f"Now commit, and push the tag v{arguments[0]}: Colab installs the library from it.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
