"""The library as a page's worker gets it: one zip with the modules that the live cells need, and what stands for Numba.

The same sources give the same bytes, so that a browser keeps the file until it changes.
"""

import io
import json
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IN_WORKER = Path(__file__).parent / "in_worker"
# Rooms and folders that no live cell reaches: they need a compiler, PyTorch, a process of their own or a class of students.
LEFT_OUT = ("diagnosing", "grading", "standins/torch_device", "standins/cuda_cpp/include")
LEFT_OUT += ("standins/cuda_cpp/runtime", "inspecting/include")
WHEN = (1980, 1, 1, 0, 0, 0)  # the time of every file in the zip


def files(sets: list[str]) -> dict[str, bytes]:
    """Return what the zip holds, by name.

    Parameters
    ----------
    sets
        The names of the exercise sets whose checks go along, such as "02-host-and-device".
    """
    package = ROOT / "host_to_device"
    found = {}
    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package).as_posix()
        left_out = any(inside.startswith(f"{each}/") for each in LEFT_OUT) or inside.startswith(
            "exercises/sets/"
        )
        if (
            path.suffix in (".py", ".mplstyle", ".css", ".js")
            and "__pycache__" not in path.parts
            and not left_out
        ):
            found[f"host_to_device/{inside}"] = path.read_bytes()
    for path in sorted(IN_WORKER.glob("*.py")):
        name = "numba.py" if path.stem == "numba" else f"live_{path.name}"
        found[name] = path.read_bytes()
    for name in sets:
        found[f"host_to_device/exercises/sets/{name}.ipynb"] = checks(name)
    return found


def checks(name: str) -> bytes:
    """Return the checks of a set, as an installed library has them."""
    solutions = ROOT / "solutions" / f"{name}.ipynb"
    if not solutions.exists():  # a public course
        return (ROOT / "host_to_device" / "exercises" / "sets" / f"{name}.ipynb").read_bytes()
    content = json.loads(solutions.read_text(encoding="utf-8"))
    title, *cells = content["cells"]
    kept = [cell for cell in cells if "check" in cell["metadata"].get("tags", [])]
    slim = [{key: cell[key] for key in ("cell_type", "metadata", "source")} for cell in (title, *kept)]
    return json.dumps({"cells": slim}, ensure_ascii=False, separators=(",", ":")).encode()


def packed(contents: dict[str, bytes]) -> bytes:
    """Return a zip of these files."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, WHEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=9)
    return whole.getvalue()
