"""The rehearsal says what it is, wherever a GPU's name would stand."""

import pytest

pytestmark = pytest.mark.rehearsal(why="a GPU has a name, sizes and times of its own")


def test_start_names_it(rehearsed):
    line, size = rehearsed(
        "import host_to_device as h2d\nh2d.start()\nprint(h2d.size(stand_in=100, gpu=10**8))"
    ).splitlines()
    assert size == "100"
    assert line.startswith("GPU found: rehearsal, not a GPU (T4") and "compute capability 7.5" in line


def test_its_times_are_not_recorded(process_of, tmp_path):
    code = f"import sys\nfrom host_to_device.measuring.notebook_runs import main\nsys.exit(main(['--to', {str(tmp_path / 'records')!r}]))"
    done = process_of(code)
    assert done.returncode and "rehearsal, not a GPU" in done.stderr + done.stdout
    assert not list(tmp_path.glob("records/*"))
