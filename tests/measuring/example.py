"""A record as it should be, and small notebooks, for the tests of the ledger and of the measuring run."""

import json
from pathlib import Path

import nbformat

HASH = "0" * 64


def experiment(**changes):
    return {
        "title": "What a copy costs",
        "x": {"label": "size", "unit": "B"},
        "y": {"label": "time of a copy", "unit": "s"},
        "notebook": "notebooks/09-copy-cost.ipynb",
        "cell": "copies",
        "cell_hash": HASH,
        "date": "2026-11-20",
        "commit": "0123456789abcdef",
        "clean": True,
        "where": "CPU",
        "samples": [
            {"series": "pinned", "x": 1024, "values": [1e-6, 2e-6, 3e-6, 9e-6]},
            {"series": "pinned", "x": 1048576, "values": [1e-4, 3e-4]},
            {"series": "pageable", "x": 1024, "values": [4e-6]},
        ],
        **changes,
    }


def record(gpu=False, **changes):
    name = "NVIDIA H200" if gpu else "AMD EPYC, 2 cores"
    gpus = [{"name": "NVIDIA H200", "memory": 150_000_000_000, "compute_capability": "9.0"}]
    return {
        "schema": 1,
        "machine": {
            "name": name,
            "kind": "gpu" if gpu else "cpu",
            "cpu": "AMD EPYC (family 26, model 2)",
            "cores": 2,
            "memory": 2**34,
            "os": "Debian GNU/Linux 12 (bookworm), Linux 6.1.0, x86_64",
            "gpus": gpus if gpu else [],
            "driver": "580.65.06" if gpu else None,
            "cuda": "13.0" if gpu else None,
        },
        "versions": {
            "python": "3.12.3",
            "numpy": "2.3.5",
            "numba": "0.68.1",
            "torch": "2.13.0+cpu",
            "cupy": "14.2.0" if gpu else None,
            "numba-cuda": None,
            "host-to-device": "0.1.0",
        },
        "date": "2026-11-20",
        "commit": "abc1234def",
        "clean": True,
        "limits": {
            "copy bandwidth": {
                "value": 2e10,
                "unit": "B/s",
                "samples": [1e10, 2e10, 3e10],
                "how": "np.copyto between two arrays that are larger than the cache",
            }
        },
        "experiments": {"copy-cost": experiment(where="GPU" if gpu else "CPU")},
        **changes,
    }


def write(folder, data, name="amd-epyc-2-cores"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def notebook(path: Path, *cells: str) -> Path:
    """Write a notebook with these code cells, called cell-1, cell-2 and so on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number, source in enumerate(cells, 1):
        cell = nbformat.v4.new_code_cell(source)
        cell.id = f"cell-{number}"
        made.cells.append(cell)
    path.write_text(nbformat.writes(made), encoding="utf-8")
    return path
