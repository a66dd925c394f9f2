"""Build the package for PyPI and check it: `python tools/package.py`.

Writes a source archive and a wheel into `dist/`. `twine check` reads their metadata as PyPI would. In a workflow that runs
for a tag, the tag has to name the package's version.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def mismatch(version: str, kind: str, name: str) -> str:
    """Return in one line why this tag is not the one of a version; nothing if it is, or if there is no tag."""
    if kind != "tag" or name == f"v{version}":
        return ""
    return f"the tag is {name}, and pyproject.toml has version {version}: tag v{version}"


def main() -> int:
    """Build and check; return what the first command that failed returned."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    tag = os.environ.get("GITHUB_REF_TYPE", ""), os.environ.get("GITHUB_REF_NAME", "")
    if problem := mismatch(version, *tag):
        print(f"tools/package.py: {problem}", file=sys.stderr)
        return 2
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="host-to-device-package-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        commands = [
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "build", "twine"],
            [python, "-m", "build", "--outdir", DIST, ROOT],
        ]
        for command in commands:
            if status := subprocess.run(command).returncode:
                return status
        return subprocess.run(
            [python, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir())]
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
