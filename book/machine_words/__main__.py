"""Compiles the idioms for every architecture and stores the listings: `python -m book.machine_words`.

It needs the compilers of `requirements-inspect.txt` and no GPU. With `--check` it writes nothing: it names what differs
from the stored listings, and its exit status is 1 if anything does.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import re
import sys
from typing import Any

import host_to_device as h2d
from book.machine_words import (
    EXAMPLES,
    EXAMPLES_FILE,
    HERE,
    IDIOMS,
    PTX,
    SIDE_BY_SIDE,
    TARGETS,
    Example,
    Idiom,
)
from book.machine_words.lines import excerpt, lines
from host_to_device.inspecting import listing
from host_to_device.inspecting.sources import compiled

TYPES = {"index": "(int32[::1],)", "literal": "(float32[::1], float32[::1])"}  # of the Numba kernels


def numba_kernel(idiom: Idiom) -> Any:
    """Return the idiom's kernel in Python."""
    path = HERE / "kernels" / f"{idiom.name}.py"
    spec = importlib.util.spec_from_file_location(f"book.machine_words.kernels.{idiom.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(value for name, value in vars(module).items() if hasattr(value, "py_func"))


def compile_idiom(idiom: Idiom) -> dict[str, Any]:
    """Return the data to store for an idiom, without the date: listings and resources by "PTX sm_90", versions."""
    found: dict[str, Any] = {"compilers": {}, "listings": {}, "resources": {}}
    for kind, arch in TARGETS:
        made, sources = compiled(idiom.source(kind), arch)
        _add(found, f"{kind} {arch}", kind, idiom.key[kind], made, sources)
    if idiom.python:
        made, sources = compiled(numba_kernel(idiom), PTX, types=TYPES[idiom.name], upto="resources")
        _add(found, f"Numba PTX {PTX}", "PTX", idiom.key["PTX"], made, sources)
    return found


def _add(found: dict[str, Any], name: str, kind: str, key: str, made: Any, sources: Any) -> None:
    instructions, _ = listing.read(made, kind.lower(), sources)
    rows = excerpt(lines(instructions, made), key)
    found["listings"][name] = [[each.number, each.source, each.text] for each in rows]
    found["resources"][name] = {word: value for word, value in made.resources.items() if value}
    found["compilers"] |= made.tools


def compile_example(example: Example) -> tuple[dict[str, Any], dict[str, str]]:
    """Return an example's listings by "PTX sm_90" and the like, and the versions of the compilers."""
    found, versions = {}, {}
    for kind, arch in SIDE_BY_SIDE:
        if kind in example.kinds:
            made, sources = compiled(example.source(kind), arch)
            instructions, _ = listing.read(made, kind.lower(), sources)
            found[f"{kind} {arch}"] = [
                [each.number, each.source, each.text] for each in lines(instructions, made)
            ]
            versions |= made.tools
    return found, versions


def _examples(check: bool) -> bool:
    """Compile the examples, store them unless `check` is set, and return whether they differ from the stored ones."""
    kernels, versions = {}, {}
    for example in EXAMPLES:
        kernels[example.name], tools = compile_example(example)
        versions |= tools
    stored = json.loads(EXAMPLES_FILE.read_text(encoding="utf-8")) if EXAMPLES_FILE.exists() else {}
    changed = [name for name in kernels if kernels[name] != stored.get("kernels", {}).get(name)]
    changed += ["the compilers"] if versions != stored.get("compilers") else []
    print(f"examples: {', '.join(changed) or 'as stored'}", flush=True)
    if changed and not check:
        date = datetime.date.today().isoformat()
        data = {"date": date, "compilers": versions, "kernels": kernels}
        text = json.dumps(data, indent=1, ensure_ascii=False)
        text = re.sub(r'\[\s*(null|\d+),\s*(null|\d+),\s*(".*")\s*\]', r"[\1, \2, \3]", text)
        EXAMPLES_FILE.write_text(text + "\n", encoding="utf-8")
    return bool(changed)


def differences(idiom: Idiom, made: dict[str, Any]) -> list[str]:
    """Return the parts in which new data differ from the stored data."""
    if not idiom.path.exists():
        return ["nothing is stored"]
    stored = idiom.stored()
    if stored["compilers"] != made["compilers"]:
        return [f"the compilers are others: {made['compilers']}"]
    parts = [
        f"{part} of {name}"
        for part in ("listings", "resources")
        for name in sorted({*stored[part], *made[part]})
        if stored[part].get(name) != made[part].get(name)
    ]
    return parts


def _written(data: dict[str, Any]) -> str:
    """Return the data as JSON with a line for each line of a listing."""
    listings = data.pop("listings")
    head = json.dumps(data, indent=1, ensure_ascii=False)[:-2]
    parts = [
        f'  "{name}": [\n' + ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in rows) + "\n  ]"
        for name, rows in listings.items()
    ]
    return head + ',\n "listings": {\n' + ",\n".join(parts) + "\n }\n}\n"


def main() -> int:
    """Compile and store, or compare."""
    parser = argparse.ArgumentParser(prog="python -m book.machine_words", description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and name what differs")
    check = parser.parse_args().check
    h2d.start()
    differ = 0
    for idiom in IDIOMS:
        made = compile_idiom(idiom)
        changed = differences(idiom, made)
        differ += bool(changed)
        print(f"{idiom.name}: {'; '.join(changed) or 'as stored'}", flush=True)
        if changed and not check:
            idiom.path.parent.mkdir(exist_ok=True)
            made = {"date": datetime.date.today().isoformat(), **made}
            idiom.path.write_text(_written(made), encoding="utf-8")
    differ += _examples(check)
    return int(check and differ > 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except h2d.SetUpError as problem:
        sys.exit(f"{problem}")
