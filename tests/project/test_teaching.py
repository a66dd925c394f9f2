"""The commands of "Set up your course, step by step" work one after the other, from an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "chapters" / "teaching.md").read_text(encoding="utf-8")


def commands():
    """Return the commands of the steps, in order."""
    steps = PAGE.split("## Set up your course, step by step\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^ *```bash\n(.*?)^ *```", steps, re.M | re.S)
    return [line.strip() for block in blocks for line in block.splitlines()]


def here(command):
    """Return a command as it runs without a network: this clone, this Python, and make's recipes without set-up."""
    made = re.fullmatch(r'make ([a-z]+)(?: ARGS="(.*)")?', command)
    if made:
        recipe = re.search(rf"^{made[1]}:.*\n\t@(.+)$", (ROOT / "Makefile").read_text(), re.M)[1]
        command = recipe.replace("$(VENV)/python", sys.executable).replace("$(ARGS)", made[2] or "")
    command = re.sub(r"git clone \S+", f"git clone -q --no-local --depth 1 file://{ROOT}", command)
    return re.sub(r"(?<![\w/])\.venv/bin/python", sys.executable, command)


@pytest.mark.slow
def test_the_steps_make_a_private_and_a_public_course(tmp_path):
    steps = commands()
    assert len(steps) > 10
    script = "set -e\nexport PYTHONPATH=\n" + "\n".join(map(here, steps))
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=os.environ | identity,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    public = tmp_path / "public-course"
    assert not list((public / "solutions").glob("*.ipynb")) and (public / "exercises").is_dir()
    assert "YOU/YOUR-COURSE" in (public / "README.md").read_text(encoding="utf-8")
    tags = subprocess.run(["git", "tag"], cwd=public, capture_output=True, text=True).stdout
    version = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert tags.split() == [f"v{version}"], "the tag is the version that Colab installs"
    assert (tmp_path / "my-course" / "_build" / "teacher" / "solutions" / "exams" / "key.toml").is_file()
    handed = sorted(path.name for path in (tmp_path / "hand-outs").iterdir())
    assert [name[:2] for name in handed] == ["02", "02"]
    again = next((tmp_path / "hand-outs-again").glob("*.ipynb")).read_text(encoding="utf-8")
    assert re.findall(r'h2d\.answer\(\\"([\d.\w]+)\\"\)', again) == ["02.a", "02.b", "02.1", "02.4"]
    page = next((tmp_path / "hand-outs").glob("*.md")).read_text(encoding="utf-8")
    assert "colab.research.google.com/github/YOU/YOUR-COURSE/" in page
    assert "as last year, so last year's answers earn their points: 02.a" in done.stdout
