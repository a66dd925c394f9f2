"""The command that runs functions of other packages: what it says of right, wrong and failing ones."""

import pytest

from tests.commands.others import packages

TINY = """
import numpy as np
from numba import cuda

@cuda.jit
def count(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        bins[values[i]] += 1

def histogram(values):
    bins = cuda.to_device(np.zeros(3, np.int32))
    count[1, 32](cuda.to_device(values), bins)
    return bins.copy_to_host()
"""


@pytest.mark.slow
def test_a_table_has_a_row_for_each_package_and_its_findings_below(tmp_path, monkeypatch, capsys):
    (tmp_path / "tiny.py").write_text(TINY)
    (tmp_path / "tiny-1.2.dist-info").mkdir()
    tiny = packages.Package(
        "tiny",
        ("tiny",),
        "import tiny\nv = np.array([2, 0, 2])\n",
        {
            "right": "(tiny.histogram(v) == [1, 0, 2]).all()",
            "wrong": "(tiny.histogram(v) == [1, 1, 1]).all()",
            "missing": "tiny.no_such(v)",
        },
    )
    gone = packages.Package("gone", ("gone",), "import a_module_that_is_not_there\n", {"any": "True"})
    monkeypatch.setattr(packages, "PACKAGES", [tiny, gone])
    assert packages.main(["--in", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "| tiny | 1.2 | 1 of 3 | 1 |" in said and "| gone | ? | 0 of 1 | 0 |" in said
    assert "tiny, wrong: differs" in said and "tiny, missing: AttributeError: module 'tiny' has no" in said
    assert "gone, any: import: ModuleNotFoundError" in said
    assert "bins[values[i]] += 1" in said and "The check found this in 2 launches." in said


def test_an_unknown_package_is_one_line(capsys):
    with pytest.raises(SystemExit):
        packages.main(["no-such"])
    assert "there is no program for no-such" in capsys.readouterr().err
