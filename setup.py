"""What pyproject.toml cannot say: files from other folders of the repository go into the package when it is built.

The library reads them where they are in a checkout, and so in an editable installation, which copies nothing.
"""

import json
import re
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


def checks_of(notebook: Path) -> str:
    """Return a solution notebook with its title and its checks alone, as `exercises.catalogue` reads it."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    title, *cells = content["cells"]
    checks = [cell for cell in cells if "check" in cell["metadata"].get("tags", [])]
    for cell in checks:
        cell.update(outputs=[], execution_count=None)
    return json.dumps({**content, "cells": [title, *checks]}, indent=1, ensure_ascii=False) + "\n"


def readme() -> str:
    """Return the README for PyPI, where a link has to say in which repository its file is."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository, text = project["urls"]["Repository"], Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^\]]*\]\()(?![a-z]+:|#)", rf"\1{repository}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?![a-z]+:|#)", rf"\1{repository}/blob/main/", text)


class WithRecordsAndChecks(build_py):
    """Adds the records of measurements and the checks of the exercises to the modules."""

    def added(self) -> list[Path]:
        return [*sorted(Path("measurements").glob("*.json")), *sorted(Path("solutions").glob("*.ipynb"))]

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for path in self.added():
            inside = "measurements" if path.suffix == ".json" else "exercises/sets"
            folder = Path(self.build_lib, "host_to_device", inside)
            folder.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8") if path.suffix == ".json" else checks_of(path)
            (folder / path.name).write_text(text, encoding="utf-8")

    def get_source_files(self) -> list[str]:  # what a source distribution has
        return [*super().get_source_files(), *(path.as_posix() for path in self.added())]


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": WithRecordsAndChecks},
        long_description=readme(),
        long_description_content_type="text/markdown",
    )
