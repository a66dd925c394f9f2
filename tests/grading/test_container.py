"""The container command of the page for instructors, where a container engine is present."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def answers(engine):
    """Whether a container engine is there and works: the command of Docker may be there without its daemon."""
    asked = [engine, "info"]
    return shutil.which(engine) and not subprocess.run(asked, capture_output=True, timeout=60).returncode


ENGINE = next(filter(answers, ("docker", "podman")), None)


def command():
    page = (ROOT / "chapters" / "teaching.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```bash\n(docker build .*?)```", page, re.S)
    return block


def test_the_page_has_one_container_command_without_a_network():
    words = command().replace("\\\n", " ").split()
    assert "run" in words and words[words.index("--network") + 1] == "none" and "--cap-drop" in words
    assert "--unsafe" not in words, "each notebook stays in a sandbox of its own"
    assert (ROOT / words[words.index("--file") + 1]).is_file()


@pytest.mark.slow
@pytest.mark.skipif(ENGINE is None, reason="no container engine (docker or podman) answers")
def test_the_container_command_grades(tmp_path):
    (tmp_path / "grades").mkdir(mode=0o777)
    (tmp_path / "grades").chmod(0o777)
    (tmp_path / "submissions").mkdir()
    shutil.copy(next((ROOT / "exercises").glob("02-*.ipynb")), tmp_path / "submissions" / "Ana.ipynb")
    text = command().replace("docker ", f"{ENGINE} ").replace("$PWD/", f"{tmp_path}/")
    subprocess.run(["bash", "-euc", text], cwd=ROOT, check=True, timeout=590)
    assert (tmp_path / "grades" / "grades.csv").read_text().count("\n") == 2
